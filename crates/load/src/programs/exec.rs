//! `exec`: a command of the user, run by `sh -c` in the directory on the contender.

use super::shell::quoted;
use super::{Commands, Program, ProgramReport, Task};
use crate::phase_kind::PhaseKind;
use crate::tool_run::ToolRun;
use fsdyno_model::{Form, Given, Parameter};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The parameter of the figures that a command prints, one a line.
pub(super) const FIGURE: &str = "figure";
/// The parameter of a command that may write everywhere.
pub(super) const EVERYWHERE: &str = "everywhere";

/// A command of the user.
pub static EXEC: Program = Program {
    kind: PhaseKind::standalone(
        "exec",
        "any shell command, by sh -c: --exec 'make -j2'",
        &[
            Parameter {
                given: Given::Required,
                ..Parameter::new(
                    "command",
                    "timed command; {dir} is the directory on the contender, {tree} the newest tree",
                    Form::Text,
                )
            },
            Parameter::new("prepare", "untimed command before it", Form::Text),
            Parameter::number(
                "warmup",
                "untimed runs of the command before the timed one",
                1..=1000,
            ),
            Parameter::one_of(
                "ignore-failure",
                "measure the command with any exit status",
                &["yes", "no"],
            ),
            Parameter::new(
                FIGURE,
                "figure in its output: NAME=REGEX or NAME[UNIT,DIRECTION]=REGEX; a list for several",
                Form::Text,
            ),
            Parameter::one_of(
                EVERYWHERE,
                "yes: it may write outside of the contender too",
                &["yes", "no"],
            ),
        ],
    ),
    executable: None,
    version: &[],
    complete: None,
    commands: |task| Ok(commands(task)),
    read: |_| Ok(ProgramReport::default()),
    describe,
    data: |_| None,
    judged: |_| None,
    figures: |_| Ok(Vec::new()),
};

fn commands(task: &Task<'_>) -> Commands {
    let shell = |text: &str| through_shell(text, task);
    let command = task.get("command").unwrap_or_default();
    let command = match task.get("ignore-failure") {
        // A subshell, so that `exit` ends only the command; on lines of its own, for comments.
        Some("yes") => format!("(\n{command}\n) || true"),
        _ => command.to_owned(),
    };
    let warmup = task.get("warmup").and_then(|n| n.parse().ok()).unwrap_or(0);
    let prepare = task.get("prepare").map(shell).into_iter();
    Commands {
        before: prepare
            .chain((0..warmup).map(|_| shell(&command)))
            .collect(),
        service: None,
        timed: shell(&command),
    }
}

fn through_shell(text: &str, task: &Task<'_>) -> ToolRun {
    let text = filled_in(text, task.directory, task.tree);
    let mut run = ToolRun::new("", ["sh", "-c"]).arg(text);
    run.user_environment = true;
    run
}

/// Replaces `{dir}` and `{tree}` by the quoted paths. `${dir}` is a shell variable, and is kept.
fn filled_in(text: &str, directory: &Path, tree: Option<&Path>) -> OsString {
    let mut filled = Vec::new();
    let mut rest = text.as_bytes();
    while let Some(byte) = rest.first() {
        let place = [("{dir}", Some(directory)), ("{tree}", tree)]
            .into_iter()
            .find_map(|(name, path)| Some((rest.strip_prefix(name.as_bytes())?, path?)));
        match place {
            Some((after, path)) if filled.last() != Some(&b'$') => {
                filled.extend_from_slice(quoted(path.as_os_str()).as_bytes());
                rest = after;
            }
            _ => {
                filled.push(*byte);
                rest = &rest[1..];
            }
        }
    }
    OsString::from_vec(filled)
}

/// The command as one line, for reports.
fn describe(task: &Task<'_>) -> String {
    let text = task.get("command").unwrap_or_default();
    let everywhere = match task.get(EVERYWHERE) {
        Some("yes") => ", may write everywhere",
        _ => "",
    };
    let text = quoted(OsStr::new(text));
    format!("sh -c {}{everywhere}", text.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_filled_in_and_variables_of_the_shell_stay() {
        let tree = Path::new("/m nt/it's");
        let fill = |text| filled_in(text, Path::new("/mnt/ground"), Some(tree));
        assert_eq!(
            fill("tar xf x -C {dir} && ls {tree}/src ${dir} {dirs} {"),
            "tar xf x -C /mnt/ground && ls '/m nt/it'\\''s'/src ${dir} {dirs} {"
        );
        let odd = OsStr::from_bytes(b"/mnt/\xff");
        assert_eq!(
            filled_in("ls {dir}", Path::new(odd), None).as_bytes(),
            b"ls '/mnt/\xff'"
        );
    }
}
