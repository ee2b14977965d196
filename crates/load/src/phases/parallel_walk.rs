//! Walks one tree with several workers. Each walks depth first like [`super::walk`], and passes
//! directories to idle workers. The worker that entered a directory leaves it, after all
//! directories passed from it have been left. So times of directories are set, and directories are
//! removed, last.
//!
//! The queue of passed directories is bounded, so that no list of the tree is held in memory. A
//! waiting worker takes directories from the queue meanwhile. There is no deadlock: a worker waits
//! only for work that began later, and higher entries of a stack began after lower ones.

mod pool;

use super::barrier::run_threads;
use super::own_descriptors;
use super::timeline::TimelineRecorder;
use super::walk::{Above, Visitor, WalkState, begin_level, walk};
use crate::engines::listing::{Entry, Listing};
use crate::engines::meta::Kind;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::cancel::CancelToken;
use pool::{DelegatedCount, Pool, QueuedDirectory};
use std::ffi::CStr;

/// A visitor that can take over a directory in the middle of a tree.
pub trait Shared<E: Calls>: Visitor<E> {
    /// Takes over a directory that another worker has entered, by its path below the root of the
    /// walk. Returns the visitor's state of that directory, kept while a directory in it is walked.
    fn reach(&mut self, engine: &mut E, path: &[Box<CStr>]) -> Result<Self::Level, LoadError>;

    /// Called when the passed directory has been left.
    fn release(&mut self, engine: &mut E, level: Self::Level) {
        let _ = (engine, level);
    }

    /// Called when a directory below this one was passed.
    fn delegated(&mut self, level: &mut Self::Level) {
        let _ = level;
    }
}

/// A worker of a walk.
#[derive(Debug)]
pub struct Walker<'a, V> {
    pub visitor: V,
    pub state: &'a mut WalkState,
}

/// Walks the tree `root` in `base` with several workers; returns the calls of all engines,
/// including this one.
///
/// This thread opened `base`. Each worker gets its own descriptor table, in which `base` has the
/// same number.
pub fn walk_in_parallel<E, V>(
    engine: &mut E,
    base: &E::Dir,
    root: &CStr,
    stop: &CancelToken,
    walkers: &mut [Walker<'_, V>],
) -> Result<u64, LoadError>
where
    E: Calls + Send,
    V: Shared<E> + Send,
{
    if let [walker] = walkers {
        walk(engine, base, root, walker.state, stop, &mut walker.visitor)?;
        return Ok(engine.calls());
    }
    let pool = Pool::new(walkers.len());
    let number_them = |(number, walker)| (number, engine.another(), walker);
    let mut workers: Vec<_> = walkers.iter_mut().enumerate().map(number_them).collect();
    let ends = run_threads(&mut workers, |(number, engine, walker)| {
        // The other workers stop waiting when this one ends, even by a panic.
        let _end = pool.ender(*number == 0);
        own_descriptors()?;
        let mut worker = Worker {
            engine,
            visitor: &mut walker.visitor,
            listings: &mut walker.state.listings,
            timeline: &mut walker.state.timeline,
            between: true,
            pool: &pool,
            base,
            root,
            stop,
            open: Vec::with_capacity(64),
        };
        let end = worker.work(*number == 0);
        if end.is_err() {
            pool.end();
        }
        end
    });
    let mut stopped = false;
    for end in ends {
        match end {
            // After a failure of one worker the others stop; its error is reported.
            Err(LoadError::Stopped) => stopped = true,
            end => end?,
        }
    }
    if stopped {
        return Err(LoadError::Stopped);
    }
    let calls = workers.iter().map(|(_, engine, _)| engine.calls());
    Ok(engine.calls() + calls.sum::<u64>())
}

/// A directory that is being walked.
struct Frame<D, L> {
    dir: D,
    level: L,
    /// Its depth below the root of the walk.
    depth: usize,
    /// Whether all its entries were visited.
    seen: bool,
    /// The number of directories that were passed from it and are not complete yet.
    delegated: Option<DelegatedCount>,
    /// The queue entry by which another worker passed it, if any.
    taken: Option<Takeover<D, L>>,
}

/// A directory that was taken over: its parent, opened again.
struct Takeover<D, L> {
    queued: QueuedDirectory,
    above: D,
    level: L,
}

/// One worker, with its open directories: those of its last queue entry are on top.
struct Worker<'a, E: Calls, V: Shared<E>> {
    engine: &'a mut E,
    visitor: &'a mut V,
    listings: &'a mut Vec<Listing>,
    timeline: &'a mut TimelineRecorder,
    /// Whether other work was done since the last file.
    between: bool,
    pool: &'a Pool,
    base: &'a E::Dir,
    root: &'a CStr,
    stop: &'a CancelToken,
    open: Vec<Frame<E::Dir, V::Level>>,
}

impl<E: Calls, V: Shared<E>> Worker<'_, E, V> {
    fn work(&mut self, first: bool) -> Result<(), LoadError> {
        if first {
            let dir = self.engine.open_dir(self.base, self.root)?;
            let above = Above {
                dir: self.base,
                level: None,
            };
            let level = self.visitor.enter(self.engine, &dir, above, self.root)?;
            self.push(dir, level, 0, None);
        }
        loop {
            let Some(frame) = self.open.last() else {
                // The first worker has walked the whole tree when its stack is empty.
                match if first { None } else { self.pool.take(None) } {
                    Some(queued) => self.take_over(queued)?,
                    None => return Ok(()),
                }
                continue;
            };
            if self.stop.requested() || self.pool.ended() {
                return Err(LoadError::Stopped);
            }
            if !frame.seen {
                self.step()?;
                continue;
            }
            self.between = true;
            let awaited = frame.delegated.as_ref().filter(|left| left.some());
            match awaited {
                None => self.leave()?,
                Some(left) => {
                    if let Some(queued) = self.pool.take(Some(left)) {
                        self.take_over(queued)?;
                    }
                }
            }
        }
    }

    fn push(
        &mut self,
        dir: E::Dir,
        level: V::Level,
        depth: usize,
        taken: Option<Takeover<E::Dir, V::Level>>,
    ) {
        begin_level(self.listings, self.open.len(), V::AS_LISTED);
        self.open.push(Frame {
            dir,
            level,
            depth,
            seen: false,
            delegated: None,
            taken,
        });
    }

    /// The next entry of the innermost directory.
    fn step(&mut self) -> Result<(), LoadError> {
        let top = self.open.len() - 1;
        let frame = &mut self.open[top];
        let Some(Entry { name, kind }) = self.listings[top].take() else {
            self.between = true;
            frame.seen = !self.engine.list(&mut frame.dir, &mut self.listings[top])?;
            return Ok(());
        };
        let kind = match kind {
            Some(kind) => kind,
            // Some file systems do not set the kind in a directory entry (readdir(3)).
            None => self.engine.stat(&Target::Entry(&frame.dir, name))?.kind,
        };
        let Frame { dir, level, .. } = frame;
        if kind != Kind::Directory {
            if std::mem::take(&mut self.between) {
                self.timeline.resume();
            }
            self.visitor.entry(self.engine, dir, level, name, kind)?;
            self.timeline.follow(self.visitor.tally());
            return Ok(());
        }
        self.between = true;
        if self.pool.needs_work(frame.depth) {
            self.hand_over(top);
            return Ok(());
        }
        let below = self.engine.open_dir(dir, name)?;
        let above = Above {
            dir: &*dir,
            level: Some(level),
        };
        let entered = self.visitor.enter(self.engine, &below, above, name)?;
        let depth = frame.depth + 1;
        self.push(below, entered, depth, None);
        Ok(())
    }

    /// Offers the last found directory to idle workers.
    fn hand_over(&mut self, top: usize) {
        let met = |at: usize| -> Box<CStr> {
            let entry = self.listings[at].current();
            entry.map_or_else(Box::default, |entry| entry.name.into())
        };
        let begins = self.open.iter().rposition(|frame| frame.taken.is_some());
        let taken = begins.and_then(|at| self.open[at].taken.as_ref());
        let mut above = Vec::with_capacity(self.open[top].depth);
        if let Some(Takeover { queued, .. }) = taken {
            above.extend_from_slice(&queued.above);
            above.push(queued.name.clone());
        }
        above.extend((begins.unwrap_or(0)..top).map(met));
        let name = met(top);
        let frame = &mut self.open[top];
        self.visitor.delegated(&mut frame.level);
        let left = frame.delegated.get_or_insert_default();
        self.pool.give(QueuedDirectory::new(above, name, left));
    }

    /// Enters a directory that another worker found.
    fn take_over(&mut self, queued: QueuedDirectory) -> Result<(), LoadError> {
        let mut above = self.engine.open_dir(self.base, self.root)?;
        for name in &queued.above {
            let below = self.engine.open_dir(&above, name)?;
            self.engine.close_dir(std::mem::replace(&mut above, below));
        }
        let mut level = self.visitor.reach(self.engine, &queued.above)?;
        let dir = self.engine.open_dir(&above, &queued.name)?;
        let around = Above {
            dir: &above,
            level: Some(&mut level),
        };
        let entered = self
            .visitor
            .enter(self.engine, &dir, around, &queued.name)?;
        let depth = queued.above.len() + 1;
        let taken = Takeover {
            queued,
            above,
            level,
        };
        self.push(dir, entered, depth, Some(taken));
        Ok(())
    }

    /// Leaves the innermost directory: all its entries have been visited by any worker.
    fn leave(&mut self) -> Result<(), LoadError> {
        let Some(frame) = self.open.pop() else {
            return Ok(());
        };
        let Frame {
            dir,
            level,
            depth,
            mut taken,
            ..
        } = frame;
        let under = self.open.len();
        let (above, name) = match (&mut taken, self.open.last_mut()) {
            (Some(taken), _) => {
                let above = Above {
                    dir: &taken.above,
                    level: Some(&mut taken.level),
                };
                (above, &*taken.queued.name)
            }
            (None, Some(frame)) => {
                let above = Above {
                    dir: &frame.dir,
                    level: Some(&mut frame.level),
                };
                let met = self.listings[under - 1].current();
                (above, met.map_or(self.root, |entry| entry.name))
            }
            (None, None) => {
                let above = Above {
                    dir: self.base,
                    level: None,
                };
                (above, self.root)
            }
        };
        let again = self.visitor.leave(self.engine, dir, level, above, name)?;
        if let Some((dir, level)) = again {
            self.push(dir, level, depth, taken);
        } else if let Some(taken) = taken {
            self.visitor.release(self.engine, taken.level);
            self.engine.close_dir(taken.above);
            self.pool.left(&taken.queued);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::null::{Facts, NullCalls};
    use fsdyno_model::sample::Tally;

    struct Panics {
        left: u64,
        tally: Tally,
    }

    impl Visitor<NullCalls> for Panics {
        type Level = ();

        fn enter(
            &mut self,
            _engine: &mut NullCalls,
            _dir: &<NullCalls as Calls>::Dir,
            _above: Above<'_, <NullCalls as Calls>::Dir, ()>,
            _name: &CStr,
        ) -> Result<(), LoadError> {
            Ok(())
        }

        fn tally(&self) -> &Tally {
            &self.tally
        }

        fn entry(
            &mut self,
            _engine: &mut NullCalls,
            _dir: &<NullCalls as Calls>::Dir,
            _level: &mut (),
            _name: &CStr,
            _kind: Kind,
        ) -> Result<(), LoadError> {
            self.left -= 1;
            assert!(self.left > 0, "a file too many");
            Ok(())
        }
    }

    impl Shared<NullCalls> for Panics {
        fn reach(&mut self, _engine: &mut NullCalls, _path: &[Box<CStr>]) -> Result<(), LoadError> {
            Ok(())
        }
    }

    #[test]
    fn a_panic_of_a_worker_ends_all_waits() {
        let walked = std::panic::catch_unwind(|| {
            let mut engine = NullCalls::new(Facts::SMALL);
            let base = engine.open_work_dir("/".as_ref()).unwrap();
            let mut workers = [(); 3].map(|()| WalkState::default());
            let walkers = workers.iter_mut().enumerate();
            let walkers = walkers.map(|(number, state)| Walker {
                visitor: Panics {
                    left: 100 + number as u64,
                    tally: Tally::default(),
                },
                state,
            });
            let mut walkers: Vec<_> = walkers.collect();
            let _ = walk_in_parallel(
                &mut engine,
                &base,
                c"tree",
                &CancelToken::new(),
                &mut walkers,
            );
        });
        assert!(walked.is_err());
    }
}
