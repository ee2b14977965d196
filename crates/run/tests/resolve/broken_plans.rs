//! Wrong plan files: the errors and their positions.

use crate::support::*;
use fsdyno_run::resolve::{PlanFileError, ResolveError, resolve};

fn broken(text: &str) -> PlanFileError {
    let (_directory, path) = written(text);
    match resolve(&request(|r| r.plan = Some(path)), &catalogue()) {
        Err(ResolveError::Plan(error)) => error,
        other => panic!("{text}: {other:?}"),
    }
}

/// A text, the line and column of the error, and parts of the message and of the help.
type Broken = (&'static str, (usize, usize), &'static str, &'static str);

/// Whole plan files.
const PLANS: &[Broken] = &[
    ("budget = \"0s\"", (1, 10), "a budget of zero", "20m"),
    (
        "contenders = [{ filesystem = \"ext4\", label = \" \" }]",
        (1, 15),
        "the name of a contender is empty",
        "",
    ),
    ("repeats = \n", (1, 11), "", ""),
    (
        "repeats = 3\nrepaets = 4\n",
        (2, 1),
        "unknown key `repaets`",
        "did you mean `repeats`?",
    ),
    ("repeats = \"many\"\n", (1, 11), "invalid type", ""),
    ("\nrepeats = 0\n", (2, 11), "0 repeats", "write 1 to"),
    ("cell_budget = \"0s\"", (1, 15), "a budget of zero", "20m"),
    (
        "vary = \"dataset-sed\"",
        (1, 8),
        "`dataset-sed` is no property that can vary",
        "all, none, dataset",
    ),
    ("budget = \"soon\"", (1, 10), "`soon` is not a duration", ""),
    (
        "scale = -1",
        (1, 9),
        "a scale of -1 is out of range",
        "above 0",
    ),
    (
        "engine = \"snyc\"",
        (1, 10),
        "`snyc` is no engine",
        "did you mean sync?",
    ),
    (
        "copy_method = \"reflnk\"",
        (1, 15),
        "no copy method",
        "reflink",
    ),
    (
        "device = \"sdb\"",
        (1, 10),
        "no place to measure",
        "dir:PATH",
    ),
    (
        "fragments = \"16K\"",
        (1, 13),
        "expected true, false, or a size that files are above",
        "",
    ),
    (
        "fragments = { abvoe = \"16K\" }",
        (1, 15),
        "unknown key `abvoe`",
        "",
    ),
    (
        "fragments = { above = \"much\" }",
        (1, 23),
        "`much` is not a size",
        "",
    ),
    ("name = \"\"", (1, 8), "the name of a plan is empty", ""),
    (
        "contenders = [\"ext4\", \"xsf\"]",
        (1, 23),
        "`xsf` is no file system",
        "did you mean xfs?",
    ),
    (
        "# ä\ncontenders = [\"ext4\",\n  \"ext4:noatme\"]",
        (3, 3),
        "did you mean `noatime`",
        "",
    ),
    (
        "contenders = [\"ext4\",\n  \"ext4\"]",
        (2, 3),
        "`ext4` is named twice",
        "label",
    ),
    (
        "contenders = [{ filesystem = \"xsf\" }]",
        (1, 30),
        "`xsf` is no file system",
        "xfs",
    ),
    (
        "contenders = [{ filesystem = \"ext4\", muont = [] }]",
        (1, 38),
        "unknown key `muont`",
        "",
    ),
    (
        "contenders = [{ label = \"x\" }]",
        (1, 15),
        "missing field `filesystem`",
        "",
    ),
    (
        "contenders = [3]",
        (1, 15),
        "a string in short form or a table in long form",
        "",
    ),
    (
        "contenders = [{ filesystem = \"btrfs\", layout = \"pool\", devices = 1 }]",
        (1, 15),
        "made of 2 to 16 devices, not 1",
        "",
    ),
    (
        "device = \"dir:/a\"\ncontenders = [\"ext4\"]",
        (1, 10),
        "contenders themselves",
        "",
    ),
    (
        "[[workload]]\nname = \"w\"\nphases = [\"copy\"]",
        (3, 11),
        "finds no tree",
        "--dataset",
    ),
    ("[[workloads]]\n", (1, 3), "unknown key `workloads`", ""),
];

/// The lines of a workload after its name, from the third line of the file on.
const WORKLOADS: &[Broken] = &[
    (
        "dataset = \"portge\"\nphases = [\"copy\"]",
        (3, 11),
        "no dataset",
        "portage",
    ),
    (
        "dataset = \"tree:\"\nphases = [\"copy\"]",
        (3, 11),
        "names no path",
        "tree:/usr",
    ),
    (
        "dataset = \"iso\"\nphases = []",
        (4, 10),
        "has no phases",
        "copy",
    ),
    (
        "dataset = \"iso\"\nphases = [\"copy\", \"coppy\"]",
        (4, 19),
        "no kind of phase",
        "copy",
    ),
    (
        "dataset = \"iso\"\nphases = [{ kind = \"coppy\" }]",
        (4, 20),
        "no kind of phase",
        "copy",
    ),
    (
        "dataset = \"iso\"\nphases = [{ kind = \"copy\", cache = \"hot\" }]",
        (4, 36),
        "no state of the caches",
        "cold",
    ),
    (
        "dataset = \"iso\"\nphases = [\n\"read\",\n\"untar\"]",
        (6, 1),
        "needs an archive",
        "tar:FILE",
    ),
    (
        "dataset = \"ports\"\nphases = [\"copy\", \"untar\"]",
        (4, 11),
        "finds no tree",
        "",
    ),
    (
        "dataset = \"iso\"\nphases = [\"read\", { kind = \"copy\", label = \"read\" }]",
        (4, 19),
        "two phases are labelled `read`",
        "",
    ),
    (
        "dataset = \"iso\"\nphases = [\"read\"]\n[[workload]]\nname = \"w\"\ndataset = \"iso\"\nphases = [\"read\"]",
        (6, 8),
        "two workloads are named `w`",
        "",
    ),
];

#[test]
fn an_error_in_a_plan_file_has_its_position() {
    let workload = |rest: &str| format!("[[workload]]\nname = \"w\"\n{rest}");
    let whole = WORKLOADS
        .iter()
        .map(|&(text, at, message, help)| (workload(text), at, message, help));
    let all = PLANS
        .iter()
        .map(|&(text, at, message, help)| (text.to_owned(), at, message, help))
        .chain(whole);
    for (text, at, message, help) in all {
        let error = broken(&text);
        assert_eq!((error.line(), error.column()), at, "{text}\n{error}");
        assert!(error.message.contains(message), "{text}\n{error}");
        let helped = error.help.clone().unwrap_or_default();
        assert!(helped.contains(help), "{text}\n{error}");
        assert!(text.contains(error.line_text()), "{text}\n{error}");
        let place = format!("plan.toml:{}:{}: ", at.0, at.1);
        assert!(error.to_string().contains(&place), "{error}");
    }
}
