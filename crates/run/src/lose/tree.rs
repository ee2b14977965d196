//! The tree of a tested file system: small and large files, half of them overwritten, a
//! directory of several blocks, links and attributes.

use fsdyno_crash::{EntryKind, Operation, Program, Source, Target, Tree, WriteKind};

const DIRECTORIES: u32 = 6;

/// The sizes of the files of a directory, bytes: whole units of content.
const SIZES: [u64; 8] = [160, 2_000, 4_096, 8_192, 20_000, 65_536, 131_072, 262_144];

/// The number of empty files in one directory.
const NAMES: u32 = 400;

/// Makes the tree and syncs it, overwrites every second file in place, and syncs it again.
pub(super) fn program() -> Program {
    let write = |path: &str, length: u64| Operation::Write {
        target: Target::Path(path.to_owned()),
        offset: Some(0),
        length,
        kind: WriteKind::Plain,
    };
    let mut operations = Vec::new();
    let mut second = Vec::new();
    for directory in 0..DIRECTORIES {
        let directory = format!("directory {directory}");
        operations.push(Operation::Mkdir {
            path: directory.clone(),
        });
        for (number, length) in SIZES.into_iter().enumerate() {
            let path = format!("{directory}/file {number}");
            operations.push(Operation::Create { path: path.clone() });
            operations.push(write(&path, length));
            if number % 2 == 1 {
                second.push(write(&path, length));
            }
        }
        let first = format!("{directory}/file 0");
        operations.push(Operation::Symlink {
            text: "file 1".to_owned(),
            path: format!("{directory}/symlink"),
        });
        operations.push(Operation::Link {
            from: Target::Path(first),
            to: format!("{directory}/link"),
        });
    }
    operations.push(Operation::Mkdir {
        path: "names".to_owned(),
    });
    let names = (0..NAMES).map(|number| Operation::Create {
        path: format!("names/a name that takes some room {number}"),
    });
    operations.extend(names);
    operations.push(Operation::Sync);
    operations.extend(second);
    operations.push(Operation::Sync);
    Program {
        setup: Vec::new(),
        operations,
    }
}

/// The first way in which files differ from those of the program.
pub(super) fn unlike_program(tree: &Tree) -> Option<String> {
    let program = program();
    let made = program.operations.iter().filter_map(|one| match one {
        Operation::Mkdir { path }
        | Operation::Create { path }
        | Operation::Symlink { path, .. }
        | Operation::Link { to: path, .. } => Some(path),
        _ => None,
    });
    let missing = |path: &&String| !tree.entries.contains_key(*path);
    if let Some(path) = made.into_iter().find(missing) {
        return Some(format!("`{path}` is missing"));
    }
    tree.entries.iter().find_map(|(path, entry)| {
        if let Some(errno) = &entry.unreadable {
            return Some(format!("`{path}` cannot be read ({errno})"));
        }
        let EntryKind::File { runs, .. } = &entry.kind else {
            return None;
        };
        let known = |source: Source| matches!(source, Source::Operation(_));
        let wrong = runs.iter().any(|run| !known(run.source));
        wrong.then(|| format!("`{path}` has other data than was written"))
    })
}
