//! Compares the files after a power cut with the acknowledged state.

use super::script::{Act, Operation, Script, State, fill};
use super::{DIRECTORIES, IN_FLIGHT, path};
use fsdyno_model::{Judgement, Loss};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// The maximum number of losses that are reported one by one.
const REPORTED: usize = 5;

/// Judges a directory in which the script of a seed was interrupted after this number of
/// acknowledged operations.
pub fn judge(root: &Path, seed: u64, acknowledged: u64) -> Judgement {
    let mut script = Script::new(seed);
    let mut last: BTreeMap<u32, (u64, Operation)> = BTreeMap::new();
    for number in 1..=acknowledged {
        let operation = script.next();
        last.insert(operation.file, (number, operation));
    }
    let later: Vec<Operation> = (0..IN_FLIGHT).map(|_| script.next()).collect();
    let mut judgement = Judgement::default();
    let mut messages = Vec::new();
    for (file, (number, operation)) in last {
        judgement.files += 1;
        let found = Seen::of(root, file);
        if may_be(file, operation.after, &later, &found) {
            continue;
        }
        let loss = loss(file, &operation, &found);
        *judgement.lost.entry(loss).or_default() += 1;
        messages.push((number, describe(file, (number, operation), loss, &found)));
    }
    // The oldest first: it shows since when data are not durable.
    messages.sort_unstable();
    judgement.messages = messages
        .into_iter()
        .map(|(_, words)| words)
        .take(REPORTED)
        .collect();
    judgement
}

/// The state of a file name: its directories and contents.
struct Seen {
    copies: Vec<(u32, Vec<u8>)>,
    unreadable: Option<io::Error>,
}

impl Seen {
    fn of(root: &Path, file: u32) -> Self {
        let mut seen = Self {
            copies: Vec::new(),
            unreadable: None,
        };
        for directory in 0..DIRECTORIES {
            match fs::read(root.join(path(directory, file))) {
                Ok(bytes) => seen.copies.push((directory, bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => seen.unreadable = Some(error),
            }
        }
        seen
    }

    /// Whether the file has exactly this state.
    fn is(&self, file: u32, state: Option<State>) -> bool {
        match (state, self.copies.as_slice()) {
            (None, []) => true,
            (Some(state), [(directory, bytes)]) => {
                *directory == state.directory && is_content(file, &state, bytes)
            }
            _ => false,
        }
    }
}

fn is_content(file: u32, state: &State, bytes: &[u8]) -> bool {
    bytes.len() as u64 == state.length && begins(file, state.generation, bytes)
}

/// Whether bytes are a prefix of the content of a generation.
fn begins(file: u32, generation: u32, bytes: &[u8]) -> bool {
    let mut expected = vec![0; bytes.len()];
    fill(file, generation, 0, &mut expected);
    expected == bytes
}

/// Whether a state is valid: as acknowledged, or as operations in flight may leave it.
fn may_be(file: u32, state: Option<State>, later: &[Operation], seen: &Seen) -> bool {
    if seen.unreadable.is_some() {
        return false;
    }
    if seen.is(file, state) {
        return true;
    }
    let of_file = later.iter().filter(|operation| operation.file == file);
    for operation in of_file {
        if seen.is(file, operation.after) || half_done(file, operation, seen) {
            return true;
        }
    }
    false
}

/// Whether a state is that of a partly performed operation of a kind that permits it.
fn half_done(file: u32, operation: &Operation, seen: &Seen) -> bool {
    match (operation.act, operation.before, seen.copies.as_slice()) {
        // Existing data must be unchanged; data after them are not acknowledged yet.
        (Act::Append, Some(before), [(directory, bytes)]) => {
            let kept = usize::try_from(before.length).unwrap_or(usize::MAX);
            *directory == before.directory
                && operation
                    .after
                    .is_some_and(|after| bytes.len() as u64 <= after.length)
                && bytes
                    .get(..kept)
                    .is_some_and(|kept| begins(file, before.generation, kept))
        }
        // Its name may exist before, after, or briefly in both directories.
        (Act::Move, Some(before), copies) => {
            !copies.is_empty()
                && copies
                    .iter()
                    .all(|(_, bytes)| is_content(file, &before, bytes))
        }
        (Act::Create, ..) => true,
        _ => false,
    }
}

/// The kind of a loss, by the last acknowledged operation.
fn loss(file: u32, last: &Operation, seen: &Seen) -> Loss {
    let Some(state) = last.after else {
        return if seen.copies.is_empty() {
            Loss::Unreadable
        } else {
            Loss::Returned
        };
    };
    let Some((directory, bytes)) = seen.copies.first() else {
        return if seen.unreadable.is_some() {
            Loss::Unreadable
        } else {
            Loss::Missing
        };
    };
    if bytes.is_empty() {
        return Loss::Empty;
    }
    let was = |state: State| *directory == state.directory && is_content(file, &state, bytes);
    // Shorter is older: within a generation files only grow.
    let shorter = begins(file, state.generation, bytes);
    if last.before.is_some_and(was) || shorter {
        Loss::Stale
    } else {
        Loss::Torn
    }
}

/// The text of a loss: the acknowledged operation and its state, and the state found.
fn describe(file: u32, last: (u64, Operation), loss: Loss, seen: &Seen) -> String {
    let found = match (seen.copies.as_slice(), &seen.unreadable) {
        (_, Some(error)) => error.to_string(),
        ([], None) => "nothing is there".to_owned(),
        (copies, None) => {
            let copies = copies.iter();
            let each =
                copies.map(|(directory, bytes)| format!("{} bytes in d{directory}", bytes.len()));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let (number, operation) = last;
    let act = operation.act.name();
    let promised = operation.after.map_or_else(
        || "its end".to_owned(),
        |state| format!("{} bytes in d{}", state.length, state.directory),
    );
    format!("f{file} {loss}: operation {number} ({act}) promised {promised}; {found}")
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;
    use tempfile::TempDir;

    const SEED: u64 = 11;

    /// A modification of a work directory.
    type Damage<'a> = &'a dyn Fn(&TempDir);

    /// A work directory with this number of acknowledged operations.
    fn crash_after(count: u64) -> TempDir {
        let work_dir = tempfile::tempdir().unwrap();
        let ended = write(work_dir.path(), SEED, &mut |done| {
            if done < count {
                return Ok(());
            }
            Err(io::Error::from(io::ErrorKind::Interrupted))
        });
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::Interrupted);
        work_dir
    }

    /// Files that exist after this number of operations and that the next ones do not change.
    fn quiet_files(count: u64) -> Vec<(u32, State)> {
        let mut script = Script::new(SEED);
        (0..count).for_each(|_| {
            script.next();
        });
        let live = script.live().clone();
        let later: Vec<u32> = (0..IN_FLIGHT).map(|_| script.next().file).collect();
        live.into_iter()
            .filter(|(file, _)| !later.contains(file))
            .collect()
    }

    #[test]
    fn acknowledged_and_in_flight_operations_are_no_loss() {
        for count in [1, 10, 100, 300] {
            let work_dir = crash_after(count);
            // Up to two operations may be unacknowledged.
            for received in count.saturating_sub(IN_FLIGHT as u64)..=count {
                let judgement = judge(work_dir.path(), SEED, received);
                assert_eq!(judgement.losses(), 0, "{count} {received}: {judgement:?}");
            }
        }
    }

    #[test]
    fn every_kind_of_loss_is_detected() {
        let count = 300;
        let files = quiet_files(count);
        let (file, state) = files[files.len() / 2];
        assert!(state.length > 1);
        let at = |work_dir: &TempDir| work_dir.path().join(path(state.directory, file));
        let flipped = |work_dir: &TempDir| {
            let mut bytes = fs::read(at(work_dir)).unwrap();
            bytes[0] ^= 1;
            fs::write(at(work_dir), bytes).unwrap();
        };
        let shorter = |work_dir: &TempDir| {
            let bytes = fs::read(at(work_dir)).unwrap();
            fs::write(at(work_dir), &bytes[..bytes.len() - 1]).unwrap();
        };
        let harms: [(Loss, Damage<'_>); 4] = [
            (Loss::Missing, &|work_dir| {
                fs::remove_file(at(work_dir)).unwrap();
            }),
            (Loss::Empty, &|work_dir| {
                fs::write(at(work_dir), "").unwrap();
            }),
            (Loss::Torn, &flipped),
            (Loss::Stale, &shorter),
        ];
        for (loss, harm) in harms {
            let work_dir = crash_after(count);
            harm(&work_dir);
            let judgement = judge(work_dir.path(), SEED, count);
            assert_eq!(judgement.lost, BTreeMap::from([(loss, 1)]), "{judgement:?}");
            assert!(judgement.messages[0].contains(loss.name()), "{judgement:?}");
        }
        let work_dir = crash_after(count);
        let mut script = Script::new(SEED);
        (0..count).for_each(|_| {
            script.next();
        });
        let live = script.live();
        let gone = (1..=script.made()).find(|file| !live.contains_key(file));
        fs::write(work_dir.path().join(path(0, gone.unwrap())), "back").unwrap();
        let judgement = judge(work_dir.path(), SEED, count);
        assert_eq!(judgement.lost, BTreeMap::from([(Loss::Returned, 1)]));
    }

    #[test]
    fn an_append_in_flight_must_keep_existing_data() {
        let mut script = Script::new(SEED);
        let next = |script: &mut Script| {
            (1_u64..).find_map(|done| {
                let operation = script.next();
                (operation.act == Act::Append).then_some((done, operation))
            })
        };
        let (number, operation) = next(&mut script).unwrap();
        let work_dir = crash_after(number - 1);
        let before = operation.before.unwrap();
        let at = work_dir.path().join(path(before.directory, operation.file));
        let mut bytes = fs::read(&at).unwrap();
        bytes.extend([0; 1]);
        fs::write(&at, &bytes).unwrap();
        assert_eq!(judge(work_dir.path(), SEED, number - 1).losses(), 0);
        bytes[0] ^= 1;
        fs::write(&at, &bytes).unwrap();
        assert_eq!(judge(work_dir.path(), SEED, number - 1).losses(), 1);
    }
}
