//! Applications in a plain directory.

use crate::support::Home;

fn run(home: &Home, name: &str, text: &str) -> crate::support::Printed {
    let file = home.path(name).display().to_string();
    std::fs::write(&file, text).unwrap();
    let directory = home.path("place");
    std::fs::create_dir_all(&directory).unwrap();
    let on = format!("dir:{}", directory.display());
    home.fsdyno(&[
        "run",
        "--app",
        &file,
        "--on",
        &on,
        "-n",
        "1",
        "--set",
        "app.count=3",
    ])
}

const VALID: &str = r#"
title = "lines"
programs = { sh = "dash" }
settings = [{ name = "count", about = "lines", default = 1 }]
[[phases]]
name = "write"
about = "writes lines"
load = 'for number in $(seq $count); do echo $number; done >lines; echo "lines = $(wc -l <lines)"'
judge = "written"
figures = [{ name = "written", expression = "lines = ([0-9]+)", direction = "higher" }]
"#;

#[test]
fn a_file_of_the_user_runs_with_its_settings() {
    let home = Home::new();
    let output = run(&home, "lines.toml", VALID);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let sample = &home.result("last")["cells"][0]["samples"][0];
    let mut figures = sample["figures"].as_array().unwrap().iter();
    let written = figures.find(|figure| figure["name"] == "written").unwrap();
    assert_eq!(written["value"], 3.0);
}

#[test]
fn mistakes_and_missing_packages_are_named() {
    let home = Home::new();
    let output = run(&home, "typo.toml", &VALID.replace("load =", "laod ="));
    let place = "typo.toml:8:1: unknown field `laod`";
    assert!(output.err.contains(place), "{}", output.err);
    assert!(output.err.contains("did you mean `load`"), "{}", output.err);
    let missing = VALID.replace("sh = \"dash\"", "fsdyno-none = \"a-package\"");
    let output = run(&home, "missing.toml", &missing);
    assert!(
        output.err.contains("apt-get install a-package"),
        "{}",
        output.err
    );
}
