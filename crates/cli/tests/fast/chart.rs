//! `fsdyno chart`: the list of charts, their formats, and its errors.

use crate::support::Home;

#[test]
fn charts_are_listed_and_reproducible_and_unknown_ones_are_refused() {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let run = ["run", "--on", &on, "--dataset", "mixed", "--scale", "0.002"];
    let run = [&run[..], &["--engine", "null"]].concat();
    let phases = ["--phases", "copy,stat-walk", "--repeats", "2"];
    assert_eq!(home.fsdyno(&[&run[..], &phases].concat()).code, Some(0));

    let listed = home.fsdyno(&["chart"]);
    assert_eq!(listed.code, Some(0), "{}", listed.err);
    let first = listed.out.lines().filter_map(|line| line.split(' ').next());
    // A wrapped cell continues on the next line without a name.
    let names: Vec<&str> = first.filter(|name| !name.is_empty()).collect();
    let samples: Vec<&&str> = names.iter().filter(|n| n.starts_with("samples-")).collect();
    assert_eq!(samples.len(), 2, "{}", listed.out);

    // Each chart is a file, and a second run writes the same bytes.
    let draw = |format: &str, into: &str| -> Vec<Vec<u8>> {
        let into = home.work().join(into);
        let output = format!("{}/", into.display());
        let printed = home.fsdyno(&["chart", "last", "--format", format, "--output", &output]);
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        let file = |name: &&str| std::fs::read(into.join(format!("{name}.{format}"))).unwrap();
        names.iter().map(file).collect()
    };
    let drawn = draw("svg", "a");
    assert_eq!(drawn, draw("svg", "b"));
    assert!(drawn.iter().all(|svg| svg.starts_with(b"<svg ")));
    let values = draw("json", "a");
    let value: serde_json::Value = serde_json::from_slice(&values[0]).unwrap();
    assert_eq!(value["schema"], 1);

    let picture = home.work().join("one.png");
    let file = picture.display().to_string();
    let arguments = [
        "chart", "last", samples[0], "--format", "png", "--theme", "dark",
    ];
    let printed = home.fsdyno(&[&arguments[..], &["--width", "300", "--output", &file]].concat());
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let bytes = std::fs::read(&picture).unwrap();
    assert_eq!(bytes[..4], *b"\x89PNG");
    assert_eq!(bytes[16..20], 300_u32.to_be_bytes());

    // Standard output takes one drawing. Several need a directory, except as JSON.
    let one = home.fsdyno(&["chart", "last", samples[0]]);
    assert!(one.out.starts_with("<svg ") && one.out.ends_with("</svg>\n"));
    let several = home.fsdyno(&["chart", "last", "samples"]);
    assert_eq!(several.code, Some(2));
    assert!(several.err.contains("--output DIR"), "{}", several.err);
    let several = home
        .fsdyno(&["chart", "last", "samples", "--format", "json"])
        .out;
    let several: serde_json::Value = serde_json::from_str(&several).unwrap();
    assert_eq!(several.as_array().map(Vec::len), Some(2));

    for (arguments, message) in [
        (["last", "smaples"], names[0]),
        (["last", "flame"], "A B PHASE --functions"),
        (["--phase", "untar"], "it has copy and stat-walk"),
        (["--width", "100000"], "280..=4000"),
        (["--theme", "blue"], "light and dark"),
    ] {
        let printed = home.fsdyno(&[&["chart"][..], &arguments].concat());
        assert_eq!(printed.code, Some(2), "{}", printed.err);
        assert!(printed.err.contains(message), "{}", printed.err);
    }
}
