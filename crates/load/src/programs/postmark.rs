//! `postmark`: the small files of a mail server. It reads its commands from standard input, and its
//! figures are in its verbose report.
//!
//! It always exits with status 0, so text on standard error is a failure. It does not report a
//! failed write.

mod report;

use super::printed::whole;
use super::{Commands, Program, Task, VERSION_FORM};
use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::Parameter;
use fsdyno_model::units::Bytes;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const NAME: &str = "postmark";

pub static POSTMARK: Program = Program {
    kind: PhaseKind::standalone(
        NAME,
        "postmark: small files, as on a mail server",
        &[
            Parameter::number("number", "number of files in the pool", 1..=10_000_000)
                .scaled(20_000, 1),
            Parameter::number(
                "transactions",
                "number of transactions; each reads or appends, and creates or deletes",
                1..=1_000_000_000,
            )
            .scaled(250_000, 1),
            Parameter::bytes("size-low", "minimum size of a file", 1..=1 << 30).fixed("500"),
            Parameter::bytes("size-high", "maximum size of a file", 1..=1 << 30).fixed("9770"),
            Parameter::number(
                "subdirectories",
                "number of subdirectories; 0: one directory for all files",
                0..=1_000_000,
            )
            .fixed("0"),
            Parameter::bytes("read", "size of a read", 1..=1 << 30).fixed("512"),
            Parameter::bytes("write", "size of a write", 1..=1 << 30).fixed("512"),
            Parameter::one_of(
                "buffering",
                "true: buffered I/O of the C library",
                &["true", "false"],
            )
            .fixed("true"),
            Parameter::number(
                "bias-read",
                "share of reads among reads and appends, in tenths",
                0..=10,
            )
            .fixed("5"),
            Parameter::number(
                "bias-create",
                "share of creations among creations and deletions, in tenths",
                0..=10,
            )
            .fixed("5"),
            Parameter::number("seed", "seed of random numbers", 1..=i32::MAX as u64).fixed("42"),
        ],
    ),
    executable: Some((NAME, "postmark")),
    version: &["dpkg-query", "--show", VERSION_FORM, NAME],
    complete: None,
    commands,
    read: report::read,
    describe: |task| {
        let (files, transactions) = (task.value("number"), task.value("transactions"));
        format!("postmark, {files} files, {transactions} transactions")
    },
    data,
    judged: |_| None,
    figures: |_| Ok(report::NAMES.map(str::to_owned).to_vec()),
};

/// The initial files at maximum size, and the files created later.
fn data(parameters: &BTreeMap<String, String>) -> Option<Bytes> {
    let of = |name: &str| parameters.get(name)?.parse::<u64>().ok();
    let more = (2 * of("bias-create")?).saturating_sub(10);
    let more = of("transactions")?.saturating_mul(more) / 10;
    // Files grow up to the maximum size; a file takes its blocks and its name.
    let each = of("size-high")?.next_multiple_of(4096) + 1024;
    Some(Bytes(
        of("number")?.saturating_add(more).saturating_mul(each),
    ))
}

fn commands(task: &Task<'_>) -> Result<Commands, LoadError> {
    let number = |name: &str| task.get(name).and_then(whole).unwrap_or_default();
    if number("size-low") > number("size-high") {
        return Err(LoadError::Parameters {
            kind: NAME,
            reason: "size-low is above size-high: set both".to_owned(),
        });
    }
    let mut timed = ToolRun::new("", [NAME]);
    timed.input = Some(input(task).into_bytes());
    timed.fails_on_stderr = true;
    Ok(timed.into())
}

fn input(task: &Task<'_>) -> String {
    let of = |name| task.value(name);
    let mut text = String::from("set location .\n");
    for (command, value) in [
        ("number", of("number").to_owned()),
        ("transactions", of("transactions").to_owned()),
        ("size", format!("{} {}", of("size-low"), of("size-high"))),
        ("subdirectories", of("subdirectories").to_owned()),
        ("read", of("read").to_owned()),
        ("write", of("write").to_owned()),
        ("buffering", of("buffering").to_owned()),
        ("bias read", of("bias-read").to_owned()),
        ("bias create", of("bias-create").to_owned()),
        ("seed", of("seed").to_owned()),
    ] {
        // No subdirectories are its default, and it refuses the number 0.
        if (command, value.as_str()) != ("subdirectories", "0") {
            let _ = writeln!(text, "set {command} {value}");
        }
    }
    // Its printed settings are kept with its output.
    text.push_str("set report verbose\nshow\nrun\nquit\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Given;
    use std::path::Path;

    #[test]
    fn the_command_line_has_the_given_parameters() {
        let mut parameters: BTreeMap<String, String> = BTreeMap::new();
        for one in POSTMARK.kind.parameters {
            let value = match one.given {
                Given::Fixed(text) => text.to_owned(),
                _ => "100".to_owned(),
            };
            parameters.insert(one.name.to_owned(), value);
        }
        let input = |parameters: &BTreeMap<String, String>| {
            let task = Task {
                directory: Path::new("/mnt/d"),
                tree: None,
                parameters,
            };
            let timed = commands(&task)?.timed;
            Ok(String::from_utf8(timed.input.unwrap()).unwrap())
        };
        let text: Result<String, LoadError> = input(&parameters);
        let text = text.unwrap();
        assert!(text.contains("set size 500 9770\nset read 512\n"), "{text}");
        assert!(!text.contains("subdirectories"), "{text}");
        assert!(text.ends_with("set seed 42\nset report verbose\nshow\nrun\nquit\n"));
        parameters.insert("subdirectories".into(), "3".into());
        assert!(
            input(&parameters)
                .unwrap()
                .contains("set subdirectories 3\n")
        );
        parameters.insert("size-low".into(), "9771".into());
        let refused = input(&parameters).unwrap_err().to_string();
        assert!(refused.contains("postmark: size-low"), "{refused}");
    }
}
