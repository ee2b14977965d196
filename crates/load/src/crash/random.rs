//! The long program of random power cuts, as a program of the crash explorer.

use super::script::{Act, Operation as Step, Script, State};
use super::{DIRECTORIES, UNSYNCED, UNSYNCED_FILES, directory};
use fsdyno_crash::{Operation, Program, Target, WriteKind, content};

/// The maximum number of operations of the script in a program.
pub const MAX_STEPS: u32 = 2000;

/// The first operations of the script of a seed, each as the operations that make it durable, and
/// with a write to another file without fsync before it. Lengths are multiples of 16 bytes.
pub fn random_program(seed: u64, steps: u32) -> Program {
    let directories = (0..DIRECTORIES).map(directory);
    let mkdir = |path| Operation::Mkdir { path };
    let mut program = Program {
        setup: directories
            .chain([UNSYNCED.to_owned()])
            .map(mkdir)
            .collect(),
        operations: Vec::new(),
    };
    let mut script = Script::new(seed);
    for number in 1..=u64::from(steps.min(MAX_STEPS)) {
        let step = script.next();
        write_unsynced(number, step.unsynced, &mut program.operations);
        perform(&step, &mut program.operations);
    }
    program
}

fn target(path: &str) -> Target {
    Target::Path(path.to_owned())
}

fn write(path: &str, offset: Option<u64>, length: u64) -> Operation {
    Operation::Write {
        target: target(path),
        offset,
        length: length.next_multiple_of(content::UNIT as u64),
        kind: WriteKind::Plain,
    }
}

fn fsync(path: &str) -> Operation {
    Operation::Fsync {
        target: target(path),
    }
}

/// A file that is written without fsync: new at first, truncated later.
fn write_unsynced(number: u64, length: u64, into: &mut Vec<Operation>) {
    let path = super::unsynced(number);
    into.push(if number <= UNSYNCED_FILES {
        Operation::Create { path: path.clone() }
    } else {
        Operation::Truncate {
            target: target(&path),
            length: 0,
        }
    });
    into.push(write(&path, Some(0), length));
}

fn perform(step: &Step, into: &mut Vec<Operation>) {
    let path = |state: &State| super::path(state.directory, step.file);
    match (step.act, &step.before, &step.after) {
        (Act::Create, _, Some(after)) => {
            let path = path(after);
            into.push(Operation::Create { path: path.clone() });
            into.extend([write(&path, Some(0), after.length), fsync(&path)]);
            into.push(fsync(&directory(after.directory)));
        }
        (Act::Append, Some(before), Some(after)) => {
            let path = path(after);
            let appended = after.length.saturating_sub(before.length);
            into.extend([write(&path, None, appended), fsync(&path)]);
        }
        (Act::Replace, _, Some(after)) => {
            let to = path(after);
            let from = format!("{to}.new");
            into.push(Operation::Create { path: from.clone() });
            into.extend([write(&from, Some(0), after.length), fsync(&from)]);
            into.push(Operation::Rename { from, to });
            into.push(fsync(&directory(after.directory)));
        }
        (Act::Move, Some(before), Some(after)) => {
            into.push(Operation::Rename {
                from: path(before),
                to: path(after),
            });
            into.push(fsync(&directory(after.directory)));
            into.push(fsync(&directory(before.directory)));
        }
        (Act::Remove, Some(before), _) => {
            let path = path(before);
            into.push(Operation::Unlink { path });
            into.push(fsync(&directory(before.directory)));
        }
        // The script has no other operations.
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_seed_gives_one_program_that_can_succeed_and_has_all_kinds_of_operations() {
        let program = random_program(3, 400);
        program.check().unwrap();
        assert_eq!(program, random_program(3, 400));
        assert_ne!(program, random_program(4, 400));
        let words: BTreeSet<&str> = program.operations.iter().map(Operation::word).collect();
        let all = [
            "append", "create", "fsync", "rename", "truncate", "unlink", "write",
        ];
        assert_eq!(words, BTreeSet::from(all));
        // A shorter program is the beginning of a longer one.
        let short = random_program(3, 20);
        assert!(program.operations.starts_with(&short.operations));
    }
}
