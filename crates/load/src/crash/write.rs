//! Performs the script: each operation is durable before it is reported.

use super::script::{Act, Operation, Script, State, fill};
use super::{DIRECTORIES, UNSYNCED, directory, path, unsynced};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Performs the script of a seed in an empty directory, and reports the number of acknowledged
/// operations after each. It ends with an error: one of the file system, or one of the receiver.
pub fn write(
    root: &Path,
    seed: u64,
    acknowledged: &mut dyn FnMut(u64) -> io::Result<()>,
) -> io::Result<()> {
    prepare(root)?;
    let mut script = Script::new(seed);
    let mut buffer = Vec::new();
    for done in 1.. {
        let operation = script.next();
        write_unsynced(root, done, operation.unsynced, &mut buffer)?;
        act(root, &operation, &mut buffer)?;
        acknowledged(done)?;
    }
    Ok(())
}

/// Makes the directories durable: each of them, and the name of each in its parent. Without the
/// name of the root, the path to the files is not guaranteed.
fn prepare(root: &Path) -> io::Result<()> {
    let numbered = (0..DIRECTORIES).map(directory);
    for name in numbered.chain([UNSYNCED.to_owned()]) {
        let made = root.join(name);
        fs::create_dir(&made)?;
        sync(&made)?;
    }
    sync(root)?;
    root.parent().map_or(Ok(()), sync)
}

/// Makes a directory, or a file by its path, durable.
fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Writes a file without a durability guarantee.
fn write_unsynced(root: &Path, done: u64, length: u64, buffer: &mut Vec<u8>) -> io::Result<()> {
    buffer.resize(usize::try_from(length).unwrap_or(1), 0);
    fs::write(root.join(unsynced(done)), buffer)
}

fn act(root: &Path, operation: &Operation, buffer: &mut Vec<u8>) -> io::Result<()> {
    let file = operation.file;
    let at = |state: &State| root.join(path(state.directory, file));
    let sync_directory = |state: &State| sync(&root.join(directory(state.directory)));
    match (operation.act, operation.before, operation.after) {
        (Act::Create, _, Some(after)) => {
            let mut made = File::create_new(at(&after))?;
            content(file, &after, 0, buffer);
            made.write_all(buffer)?;
            made.sync_all()?;
            sync_directory(&after)
        }
        (Act::Append, Some(before), Some(after)) => {
            let mut grown = OpenOptions::new().append(true).open(at(&after))?;
            content(file, &after, before.length, buffer);
            grown.write_all(buffer)?;
            grown.sync_all()
        }
        (Act::Replace, _, Some(after)) => {
            let fresh = at(&after).with_extension("new");
            let mut made = File::create(&fresh)?;
            content(file, &after, 0, buffer);
            made.write_all(buffer)?;
            made.sync_all()?;
            fs::rename(&fresh, at(&after))?;
            sync_directory(&after)
        }
        (Act::Move, Some(before), Some(after)) => {
            fs::rename(at(&before), at(&after))?;
            sync_directory(&after)?;
            sync_directory(&before)
        }
        (Act::Remove, Some(before), _) => {
            fs::remove_file(at(&before))?;
            sync_directory(&before)
        }
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

/// The content of a file in that state, from an offset to its end.
fn content(file: u32, state: &State, from: u64, buffer: &mut Vec<u8>) {
    let length = usize::try_from(state.length.saturating_sub(from)).unwrap_or(0);
    buffer.resize(length, 0);
    fill(file, state.generation, from, buffer);
}
