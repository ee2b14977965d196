//! `report --against` with files of the user.

use crate::support::Home;

#[test]
fn figures_of_files_are_next_to_those_of_a_run_and_a_mistake_has_its_line() {
    let home = Home::new();
    let directory = home.path("mine");
    std::fs::create_dir(&directory).unwrap();
    let on = format!("dir:{}", directory.display());
    let run = home.fsdyno(&[
        "run",
        "--on",
        &on,
        "-n",
        "1",
        "--exec-everywhere",
        "--no-model",
        "--exec",
        "echo FIGURE tps 10 1/s",
    ]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let file = |name: &str, text: &str| {
        let path = home.path(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let report = |files: &[&str]| {
        let mut words = vec!["report", "last"];
        words.extend(files.iter().flat_map(|file| ["--against", *file]));
        home.fsdyno(&words)
    };
    let rates = file(
        "rates.csv",
        "contender,figure,value,unit\nserver,tps,2k,1/s\n",
    );
    let mistaken = report(&[&rates]);
    assert_eq!(mistaken.code, Some(2), "{}", mistaken.err);
    let expected = format!("--against {rates}: line 2: `2k` is no number");
    assert!(mistaken.err.contains(&expected), "{}", mistaken.err);
    let rates = file(
        "rates.csv",
        "contender,figure,value,unit\nserver,tps,2,k/s\n",
    );
    let times = file(
        "laptop.json",
        "{\"results\": [{\"command\": \"echo FIGURE tps 10 1/s\", \"median\": 120, \"user\": 1, \
         \"system\": 1}]}",
    );
    let both = report(&[&rates, &times]);
    assert_eq!(both.code, Some(0), "{}", both.err);
    let words: Vec<&str> = both.out.split_whitespace().collect();
    let words = words.join(" ");
    for part in ["server 2000 -", "laptop 120 -", "exec: return, s"] {
        assert!(words.contains(part), "{part}: {}", both.out);
    }
    let published = report(&[&rates, "btrfs-2008"]);
    assert_eq!(published.code, Some(2), "{}", published.err);
    let none = report(&["no-such"]);
    assert!(
        none.err.contains("neither a published table") && none.err.contains("nor a file"),
        "{}",
        none.err
    );
}
