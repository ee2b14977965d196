//! What must be there after a cut, held against what is.

use super::script::{Act, Operation, Script, State, fill};
use super::{DIRECTORIES, IN_FLIGHT, path};
use fsdyno_model::{Judgement, Loss};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

/// How many losses are reported one by one.
const TOLD: usize = 5;

/// Judges what is in the directory that the script of a seed was cut off in, after so many
/// operations that were acknowledged.
pub fn judge(root: &Path, seed: u64, acknowledged: u64) -> Judgement {
    let mut script = Script::new(seed);
    let mut last: BTreeMap<u32, (u64, Operation)> = BTreeMap::new();
    for number in 1..=acknowledged {
        let operation = script.next();
        last.insert(operation.file, (number, operation));
    }
    let later: Vec<Operation> = (0..IN_FLIGHT).map(|_| script.next()).collect();
    let mut judgement = Judgement::default();
    let mut told = Vec::new();
    for (file, (number, operation)) in last {
        judgement.files += 1;
        let found = Seen::of(root, file);
        if may_be(file, operation.after, &later, &found) {
            continue;
        }
        let loss = loss(file, &operation, &found);
        *judgement.lost.entry(loss).or_default() += 1;
        told.push((number, in_words(file, (number, operation), loss, &found)));
    }
    // The oldest first: it reports since when nothing is durable.
    told.sort_unstable();
    judgement.messages = told
        .into_iter()
        .map(|(_, words)| words)
        .take(TOLD)
        .collect();
    judgement
}

/// What is there under the name of a file, in which directories.
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
            match fs::read(path(root, directory, file)) {
                Ok(bytes) => seen.copies.push((directory, bytes)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => seen.unreadable = Some(error),
            }
        }
        seen
    }

    /// Whether the file is so, there and nowhere else.
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

/// Whether bytes are the beginning of the content of a generation.
fn begins(file: u32, generation: u32, bytes: &[u8]) -> bool {
    let mut expected = vec![0; bytes.len()];
    fill(file, generation, 0, &mut expected);
    expected == bytes
}

/// Whether what is seen may be: as acknowledged, or as operations in flight leave it.
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

/// Whether what is seen is an operation half done, of a kind that may be half done.
fn half_done(file: u32, operation: &Operation, seen: &Seen) -> bool {
    match (operation.act, operation.before, seen.copies.as_slice()) {
        // What was there stays as it is; what is behind it was not promised yet.
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
        // Its name may be there before, or after, or be both for a moment.
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

/// How it was lost, whose last acknowledged operation was that.
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
    // Shorter is older: files only grow within a generation.
    let shorter = begins(file, state.generation, bytes);
    if last.before.is_some_and(was) || shorter {
        Loss::Stale
    } else {
        Loss::Torn
    }
}

/// A loss in words: what was acknowledged, as which operation, and what is there.
fn in_words(file: u32, last: (u64, Operation), loss: Loss, seen: &Seen) -> String {
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

    /// What is done to a ground.
    type Harm<'a> = &'a dyn Fn(&TempDir);

    /// A ground on which so many operations were done and acknowledged.
    fn cut_after(count: u64) -> TempDir {
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

    /// Files that are after so many operations, none of which the next ones touch.
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
    fn what_was_acknowledged_and_what_was_in_flight_is_no_loss() {
        for count in [1, 10, 100, 300] {
            let work_dir = cut_after(count);
            // The word of up to two operations may not have been heard.
            for heard in count.saturating_sub(IN_FLIGHT as u64)..=count {
                let judgement = judge(work_dir.path(), SEED, heard);
                assert_eq!(judgement.losses(), 0, "{count} {heard}: {judgement:?}");
            }
        }
    }

    #[test]
    fn every_kind_of_loss_is_seen_and_named() {
        let count = 300;
        let files = quiet_files(count);
        let (file, state) = files[files.len() / 2];
        assert!(state.length > 1);
        let at = |work_dir: &TempDir| path(work_dir.path(), state.directory, file);
        let flipped = |work_dir: &TempDir| {
            let mut bytes = fs::read(at(work_dir)).unwrap();
            bytes[0] ^= 1;
            fs::write(at(work_dir), bytes).unwrap();
        };
        let shorter = |work_dir: &TempDir| {
            let bytes = fs::read(at(work_dir)).unwrap();
            fs::write(at(work_dir), &bytes[..bytes.len() - 1]).unwrap();
        };
        let harms: [(Loss, Harm<'_>); 4] = [
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
            let work_dir = cut_after(count);
            harm(&work_dir);
            let judgement = judge(work_dir.path(), SEED, count);
            assert_eq!(judgement.lost, BTreeMap::from([(loss, 1)]), "{judgement:?}");
            assert!(judgement.messages[0].contains(loss.name()), "{judgement:?}");
        }
        let work_dir = cut_after(count);
        let mut script = Script::new(SEED);
        (0..count).for_each(|_| {
            script.next();
        });
        let live = script.live();
        let gone = (1..=script.made()).find(|file| !live.contains_key(file));
        fs::write(path(work_dir.path(), 0, gone.unwrap()), "back").unwrap();
        let judgement = judge(work_dir.path(), SEED, count);
        assert_eq!(judgement.lost, BTreeMap::from([(Loss::Returned, 1)]));
    }

    #[test]
    fn an_append_in_flight_must_keep_what_was_there() {
        let mut script = Script::new(SEED);
        let next = |script: &mut Script| {
            (1_u64..).find_map(|done| {
                let operation = script.next();
                (operation.act == Act::Append).then_some((done, operation))
            })
        };
        let (number, operation) = next(&mut script).unwrap();
        let work_dir = cut_after(number - 1);
        let before = operation.before.unwrap();
        let at = path(work_dir.path(), before.directory, operation.file);
        let mut bytes = fs::read(&at).unwrap();
        bytes.extend([0; 1]);
        fs::write(&at, &bytes).unwrap();
        assert_eq!(judge(work_dir.path(), SEED, number - 1).losses(), 0);
        bytes[0] ^= 1;
        fs::write(&at, &bytes).unwrap();
        assert_eq!(judge(work_dir.path(), SEED, number - 1).losses(), 1);
    }
}
