//! Walks a tree depth first, with one open directory and one buffer of entries per level. A visitor
//! processes the entries.

use super::Job;
use super::timeline::TimelineRecorder;
use crate::engines::listing::{Entry, Listing};
use crate::engines::meta::Kind;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use crate::slices;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::sample::Tally;
use std::ffi::CStr;

/// The number of preallocated buffers: deeper trees are rare, and get more on demand.
const LEVELS: usize = 12;

/// The memory of a walk, which is reused, and its timeline.
#[derive(Debug)]
pub struct WalkState {
    /// The buffers of entries, one per level.
    pub listings: Vec<Listing>,
    pub timeline: TimelineRecorder,
}

impl Default for WalkState {
    fn default() -> Self {
        let mut listings = Vec::with_capacity(4 * LEVELS);
        listings.resize_with(LEVELS, Listing::default);
        Self {
            listings,
            timeline: TimelineRecorder::new(),
        }
    }
}

/// The parent directory of an entry: its handle, and the visitor's state for it (none above the
/// root of the walk).
#[derive(Debug)]
pub struct Above<'a, D, L> {
    /// The open directory.
    pub dir: &'a D,
    /// The visitor's state.
    pub level: Option<&'a mut L>,
}

/// The directory to walk again, with its state; none if it was closed.
pub type Revisit<D, L> = Result<Option<(D, L)>, LoadError>;

/// The actions on the entries of a walk.
pub trait Visitor<E: Calls> {
    /// The state of each open directory.
    type Level;
    /// Whether entries are visited in directory order instead of by inode number.
    const AS_LISTED: bool = false;

    /// Called after a directory was opened: `name` in `above`.
    fn enter(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        above: Above<'_, E::Dir, Self::Level>,
        name: &CStr,
    ) -> Result<Self::Level, LoadError>;

    /// The work so far.
    fn tally(&self) -> &Tally;

    /// Processes an entry other than a directory.
    fn entry(
        &mut self,
        engine: &mut E,
        dir: &E::Dir,
        level: &mut Self::Level,
        name: &CStr,
        kind: Kind,
    ) -> Result<(), LoadError>;

    /// Called after all entries of a directory were visited. The visitor closes it, or returns it
    /// to walk it again.
    fn leave(
        &mut self,
        engine: &mut E,
        dir: E::Dir,
        level: Self::Level,
        above: Above<'_, E::Dir, Self::Level>,
        name: &CStr,
    ) -> Revisit<E::Dir, Self::Level> {
        let _ = (level, above, name);
        engine.close_dir(dir);
        Ok(None)
    }
}

/// Walks the tree `root` in the work directory of a job.
pub fn walk_work_dir<E: Calls, V: Visitor<E>>(
    engine: &mut E,
    job: &Job<'_>,
    root: &CStr,
    state: &mut WalkState,
    visitor: &mut V,
) -> Result<(), LoadError> {
    let base = engine.open_work_dir(job.root)?;
    walk(engine, &base, root, state, job.stop, visitor)?;
    engine.close_dir(base);
    Ok(())
}

/// Walks the tree `root` in `base`. The time of directories is not part of any file: the timeline
/// resumes after them.
pub fn walk<E: Calls, V: Visitor<E>>(
    engine: &mut E,
    base: &E::Dir,
    root: &CStr,
    state: &mut WalkState,
    stop: &CancelToken,
    visitor: &mut V,
) -> Result<(), LoadError> {
    let WalkState { listings, timeline } = state;
    let mut open: Vec<(E::Dir, V::Level)> = Vec::with_capacity(4 * LEVELS);
    let dir = engine.open_dir(base, root)?;
    let above = Above {
        dir: base,
        level: None,
    };
    let level = visitor.enter(engine, &dir, above, root)?;
    begin_level(listings, 0, V::AS_LISTED);
    open.push((dir, level));
    let mut between = true;
    while !open.is_empty() {
        stop.check()?;
        let depth = open.len() - 1;
        let (dir, level) = &mut open[depth];
        let Some(Entry { name, kind }) = listings[depth].take() else {
            between = true;
            if !engine.list(dir, &mut listings[depth])? {
                leave(engine, base, root, listings, &mut open, visitor)?;
            }
            continue;
        };
        let kind = match kind {
            Some(kind) => kind,
            // Some file systems do not set the kind in a directory entry (readdir(3)).
            None => engine.stat(&Target::Entry(dir, name))?.kind,
        };
        if kind != Kind::Directory {
            if between {
                timeline.resume();
                between = false;
            }
            visitor.entry(engine, dir, level, name, kind)?;
            timeline.follow(visitor.tally());
            slices::count();
            continue;
        }
        between = true;
        let below = engine.open_dir(dir, name)?;
        let above = Above {
            dir: &*dir,
            level: Some(level),
        };
        let level = visitor.enter(engine, &below, above, name)?;
        open.push((below, level));
        begin_level(listings, depth + 1, V::AS_LISTED);
    }
    Ok(())
}

/// Begins a directory at this level, and allocates its buffer if necessary.
pub(super) fn begin_level(listings: &mut Vec<Listing>, at: usize, as_listed: bool) {
    if listings.len() == at {
        listings.push(Listing::default());
    }
    listings[at].begin(as_listed);
}

/// Leaves the innermost directory after all its entries were visited.
fn leave<E: Calls, V: Visitor<E>>(
    engine: &mut E,
    base: &E::Dir,
    root: &CStr,
    listings: &mut Vec<Listing>,
    open: &mut Vec<(E::Dir, V::Level)>,
    visitor: &mut V,
) -> Result<(), LoadError> {
    let Some((dir, level)) = open.pop() else {
        return Ok(());
    };
    let depth = open.len();
    let name = match depth.checked_sub(1) {
        Some(above) => listings[above].current().map_or(root, |entry| entry.name),
        None => root,
    };
    let above = match open.last_mut() {
        Some((dir, level)) => Above {
            dir,
            level: Some(level),
        },
        None => Above {
            dir: base,
            level: None,
        },
    };
    if let Some(again) = visitor.leave(engine, dir, level, above, name)? {
        open.push(again);
        begin_level(listings, depth, V::AS_LISTED);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::null::{Facts, NullCalls};

    /// Cancels at the tenth file.
    struct Tenth {
        seen: Tally,
        stop: CancelToken,
    }

    impl<E: Calls> Visitor<E> for Tenth {
        type Level = ();

        fn enter(
            &mut self,
            _engine: &mut E,
            _dir: &E::Dir,
            _above: Above<'_, E::Dir, ()>,
            _name: &CStr,
        ) -> Result<(), LoadError> {
            Ok(())
        }

        fn tally(&self) -> &Tally {
            &self.seen
        }

        fn entry(
            &mut self,
            _engine: &mut E,
            _dir: &E::Dir,
            _level: &mut (),
            _name: &CStr,
            _kind: Kind,
        ) -> Result<(), LoadError> {
            self.seen.files += 1;
            if self.seen.files == 10 {
                self.stop.request();
            }
            Ok(())
        }
    }

    #[test]
    fn a_walk_stops_in_the_middle_of_a_directory() {
        let mut engine = NullCalls::new(Facts {
            files: 1000,
            directories: 1,
            bytes: 0,
        });
        let base = engine.open_work_dir("/".as_ref()).unwrap();
        let stop = CancelToken::new();
        let mut tenth = Tenth {
            seen: Tally::default(),
            stop: stop.clone(),
        };
        let mut state = WalkState::default();
        state.timeline.begin();
        let end = walk(&mut engine, &base, c"tree", &mut state, &stop, &mut tenth);
        assert!(matches!(end, Err(LoadError::Stopped)));
        assert_eq!(tenth.seen.files, 10);
        // Every processed file is in the timeline.
        assert_eq!(state.timeline.latencies.count(), 10);
    }
}
