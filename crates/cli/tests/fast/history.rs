//! `fsdyno history` on stores of small runs.

use crate::support::Home;

/// Two runs of the null engine on one directory.
fn two_runs() -> Home {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let line = "--dataset mixed --scale 0.002 --engine null --phases copy,stat-walk --repeats 2";
    for _ in 0..2 {
        let words = ["run", "--on", &on];
        let words: Vec<&str> = words.into_iter().chain(line.split(' ')).collect();
        let printed = home.fsdyno(&words);
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    }
    home
}

#[test]
fn a_history_of_a_store_has_all_formats_and_names_what_is_missing() {
    let home = two_runs();
    let printed = home.fsdyno(&["history", "--by", "date"]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert!(printed.out.contains("in 2 runs"), "{}", printed.out);
    assert!(printed.out.contains("stat-walk"), "{}", printed.out);
    let json = home.fsdyno(&["history", "--phase", "copy", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let series = json["series"].as_array().unwrap();
    assert_eq!(series.len(), 1, "{json}");
    assert_eq!(series[0]["points"].as_array().unwrap().len(), 1, "{json}");
    assert_eq!(series[0]["points"][0]["samples"], 4);
    let file = |name: &str| home.path(name).display().to_string();
    for (name, begin) in [
        ("h.html", &b"<!doctype html>"[..]),
        ("h.csv", b"contender,point"),
        ("h.md", b"# History"),
    ] {
        let printed = home.fsdyno(&["history", "-o", &file(name)]);
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        assert!(
            std::fs::read(file(name)).unwrap().starts_with(begin),
            "{name}"
        );
    }
    for (name, begin) in [("h.svg", &b"<svg"[..]), ("h.png", b"\x89PNG")] {
        let printed = home.fsdyno(&["history", "--phase", "copy", "-o", &file(name)]);
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        assert!(
            std::fs::read(file(name)).unwrap().starts_with(begin),
            "{name}"
        );
    }
    let printed = home.fsdyno(&["history", "--phase", "copy", "-o", &file("h.svg")]);
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    let printed = home.fsdyno(&["history", "--by", "commit"]);
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    assert!(
        printed.err.contains("runs tag RUN commit-HASH"),
        "{}",
        printed.err
    );
    home.fsdyno(&["runs", "tag", "last", "commit-0123456789ab"]);
    let printed = home.fsdyno(&["history", "--by", "commit"]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert!(printed.out.contains("0123456789ab"), "{}", printed.out);
    assert!(printed.out.contains("1 run left out"), "{}", printed.out);
    let printed = home.fsdyno(&["history", "--tag", "commit-0123456789ab"]);
    assert!(printed.out.contains("in 1 run."), "{}", printed.out);
    let printed = home.fsdyno(&["history", "--fs", "ext9"]);
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    let printed = home.fsdyno(&["history", "--function", "ext4_mkdir"]);
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    assert!(printed.err.contains("have no profile"), "{}", printed.err);
}
