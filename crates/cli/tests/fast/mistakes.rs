//! Mistakes on the command line: each gets the answer that a person would give, at once.

use crate::support::Home;
use std::fs;

/// A command line, its exit code, and parts of the answer. `DIR` is an empty directory, `HOME` one with
/// a run in its store and the files `own.tar` and `own.bin`.
const MISTAKES: [(&[&str], i32, &[&str]); 26] = [
    // Contenders without their flag, or split by the shell.
    (
        &["run", "ext4", "xfs"],
        2,
        &["did you mean: fsdyno", "--fs ext4,xfs"],
    ),
    (
        &["run", "ext4"],
        2,
        &["is no suite", "did you mean: fsdyno", "--fs ext4"],
    ),
    (
        &["run", "--fs", "ext4,", "xfs"],
        2,
        &["did you mean: fsdyno", "--fs ext4,xfs"],
    ),
    (
        &["run", "--fs", "ext4", "xfs"],
        2,
        &["did you mean: fsdyno", "--fs ext4,xfs"],
    ),
    (
        &["run", "--fs", "ext4[-O", "^dir_index],xfs"],
        2,
        &["did you mean: fsdyno", "--fs 'ext4[-O ^dir_index],xfs'"],
    ),
    (
        &["run", "mail", "--fs", "ext4[-m", "0]"],
        2,
        &["did you mean: fsdyno", "--fs 'ext4[-m 0]'"],
    ),
    (
        &["crash", "ext4"],
        2,
        &["did you mean: fsdyno", "--fs ext4"],
    ),
    // A path without its kind.
    (
        &["run", "--on", "dir:DIR", "--dataset", "HOME"],
        2,
        &["did you mean: fsdyno", "--dataset tree:HOME"],
    ),
    (
        &["run", "--on", "dir:DIR", "--dataset", "HOME/own.tar"],
        2,
        &["--dataset tar:HOME/own.tar"],
    ),
    (
        &["run", "--on", "dir:DIR", "--dataset", "HOME/own.bin"],
        2,
        &["--dataset file:HOME/own.bin"],
    ),
    // Numbers.
    (
        &["run", "--on", "dir:DIR", "--scale", "small"],
        2,
        &["0.1 or 10%"],
    ),
    (&["run", "--on", "dir:DIR", "--scale", "0%"], 2, &["scale"]),
    // Kernels.
    (
        &["run", "--lab", "uml", "--guest-kernel", "/bin/ls"],
        2,
        &[
            "/bin/ls is no kernel of User-mode Linux",
            "fsdyno lab setup",
        ],
    ),
    (
        &["run", "--lab", "uml", "--guest-kernel", "/dev/zero"],
        2,
        &["it is a device"],
    ),
    // Output files of no format.
    (
        &["report", "-o", "HOME/x.pdf"],
        2,
        &[".pdf is the extension of no format", ".html"],
    ),
    (
        &["history", "-o", "HOME/x.pdf"],
        2,
        &[".pdf is the extension of no format"],
    ),
    (
        &["chart", "-o", "HOME/x.pdf"],
        2,
        &[".pdf is the extension of no format", ".svg"],
    ),
    (
        &["advise", "-o", "HOME/x.pdf"],
        2,
        &[".pdf is the extension of no format"],
    ),
    (
        &["chart", "-o", "HOME/x.svg"],
        2,
        &["it is the name of one file", "Name a directory"],
    ),
    // No tip to write `--`, which would be wrong.
    (
        &["run", "--filesystem", "ext4"],
        2,
        &["unexpected argument '--filesystem'"],
    ),
    (&["report", "--frmat", "html"], 2, &["'--format'"]),
    // Names.
    (&["report", "nothing"], 2, &["there is no run `nothing`"]),
    (&["why", "last", "ext4", "xfs"], 2, &["contender"]),
    (&["schema", "reprt"], 2, &["did you mean report?"]),
    (&["rerun", "nothing"], 2, &["cannot be rerun"]),
    (
        &["lab", "setup", "--source", "/dev/zero"],
        4,
        &["it is a device"],
    ),
];

#[test]
fn each_mistake_gets_the_answer_of_a_person() {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let first = "run --dataset mixed --scale 1% --repeats 1 --phases copy,delete --on";
    let first: Vec<&str> = first.split(' ').chain([on.as_str()]).collect();
    let printed = home.fsdyno(&first);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    fs::write(home.path("own.tar"), "").unwrap();
    fs::write(home.path("own.bin"), "text").unwrap();
    let mut wrong = Vec::new();
    for (typed, code, answers) in MISTAKES {
        let filled = |text: &&str| {
            let text = text.replace("DIR", &home.work().display().to_string());
            text.replace("HOME", &home.root.path().display().to_string())
        };
        let words: Vec<String> = typed.iter().map(filled).collect();
        let printed = home.fsdyno(&words);
        let lacks = answers
            .iter()
            .map(filled)
            .find(|one| !printed.err.contains(one));
        let misleads =
            printed.err.contains("as a value, use '--") || printed.err.contains("panicked");
        if printed.code != Some(code) || lacks.is_some() || misleads {
            wrong.push(format!(
                "{typed:?} {:?}, lacks {lacks:?}: {}",
                printed.code, printed.err
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for file in ["x.pdf", "x.svg"] {
        assert!(!home.path(file).exists(), "{file} was made");
    }
}

#[test]
fn a_scale_in_percent_is_a_multiple() {
    let home = Home::new();
    let plan = |scale: &str| {
        let on = format!("dir:{}", home.work().display());
        let words = [
            "run",
            "--on",
            &on,
            "--dataset",
            "mixed",
            "--dry-run",
            "--seed",
            "1",
            "--scale",
            scale,
        ];
        let printed = home.fsdyno(&words);
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        printed.out
    };
    assert_eq!(plan("1%"), plan("0.01"));
    assert_ne!(plan("1%"), plan("0.02"));
}
