//! Pools: devices that the tools of a file system import and mount. A [`HeldPool`] is recorded in
//! the journal before it exists, and released on drop. The recipes define the tools.

use crate::command::{self, Finished};
use crate::daemons;
use crate::journal::{Entry, Journal, JournalError, Kind, Undo};
use crate::mounts::{self, MountError, table};
use fsdyno_model::step::shell_line;
use fsdyno_model::{CancelToken, Pool};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a release is retried while the pool is in use.
const BUSY_BOUND: Duration = Duration::from_secs(10);

/// The shortest and the longest pause between two attempts.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(500));

/// A pool that is imported or about to be imported. Dropping it releases the pool.
#[derive(Debug)]
pub struct HeldPool {
    pool: Pool,
    // Undone from top to bottom.
    held: Option<Entry>,
    mounted: Option<Entry>,
}

/// The reason why a pool cannot be held or released.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// Its programs do not accept a mount point.
    #[error("cannot mount a pool at {}: its programs take only names that are text; choose \
        another directory with --work-dir", target.display())]
    Name {
        /// The mount point.
        target: PathBuf,
    },
    /// The mount point is in use.
    #[error(transparent)]
    Mount(#[from] MountError),
    /// The pool could not be released.
    #[error("{0}")]
    Release(String),
    /// The journal entry could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl HeldPool {
    /// Records in the journal that a pool is about to be imported, and mounted at an existing
    /// directory on which nothing is mounted.
    pub fn declare(pool: &Pool, journal: &Journal) -> Result<Self, PoolError> {
        if pool.target.to_str().is_none() {
            let target = pool.target.clone();
            return Err(PoolError::Name { target });
        }
        let target = mounts::free_target(&pool.target)?.path;
        // A mount of a daemon that has died is held by no process, and stays.
        let mounted = journal.declare(Kind::Mount.at(&target))?;
        let filesystem = pool.filesystem.clone();
        let held = journal.declare(Kind::Pool { filesystem }.at(target))?;
        Ok(Self {
            pool: pool.clone(),
            held: Some(held),
            mounted: Some(mounted),
        })
    }

    /// Releases it, and retries for some seconds while it is in use. Returns none if it was
    /// never held.
    pub fn release(mut self) -> Result<Option<Finished>, PoolError> {
        let finished = if is_held(&self.pool.held)? {
            Some(release(&self.pool)?)
        } else {
            None
        };
        self.forget()?;
        Ok(finished)
    }

    fn forget(&mut self) -> Result<(), JournalError> {
        for entry in [self.held.take(), self.mounted.take()]
            .into_iter()
            .flatten()
        {
            entry.done()?;
        }
        Ok(())
    }
}

impl Drop for HeldPool {
    fn drop(&mut self) {
        if self.held.is_none() {
            return;
        }
        // A pool that cannot be released stays in the journal.
        if !matches!(clean_up(&self.pool), Undo::Failed(_))
            && !matches!(mounts::unmount_all(&self.pool.target), Undo::Failed(_))
        {
            let _ = self.forget();
        }
    }
}

/// Waits until the threads of the pool's daemon sleep.
///
/// zfs-fuse completes a request before the thread that serves it has finished. To unmount, another
/// thread calls `sync(2)` in a loop until no file is in use (`zfsfuse_destroy`). In virtual time no
/// timer interrupts that loop, and a thread that has called `sched_yield(2)` runs only when no
/// other thread can. So all threads must have finished before.
fn wait_until_idle(pool: &Pool, timeout: Instant) {
    let daemon = || daemons::process_of(pool.pid_file.as_deref()?).ok()?;
    while daemon().is_some_and(|daemon| !daemon.sleeps()) && Instant::now() < timeout {
        std::thread::sleep(PAUSES.0);
    }
}

/// Releases a pool. Cancellation is not checked: this is part of stopping.
fn release(pool: &Pool) -> Result<Finished, PoolError> {
    let (argv, target) = (&pool.release, &pool.target);
    let timeout = Instant::now() + BUSY_BOUND;
    let mut pause = PAUSES.0;
    loop {
        wait_until_idle(pool, timeout);
        let finished = command::run(argv, &CancelToken::new())
            .map_err(|error| PoolError::Release(error.to_string()))?;
        if finished.success() {
            return match table::layers(target) {
                Ok(0) => Ok(finished),
                Ok(_) => Err(PoolError::Release(format!(
                    "`{}` ended with status 0, and left something mounted at {}",
                    shell_line(argv),
                    target.display()
                ))),
                Err(error) => Err(PoolError::Release(error.to_string())),
            };
        }
        if Instant::now() >= timeout {
            return Err(PoolError::Release(finished.failure(argv)));
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Whether it is held. A dead daemon does not respond and holds nothing.
fn is_held(argv: &[String]) -> Result<bool, PoolError> {
    command::query(argv, &CancelToken::new())
        .map(|finished| finished.success())
        .map_err(|error| PoolError::Release(error.to_string()))
}

/// Releases a pool that a dead process recorded.
pub(crate) fn clean_up(pool: &Pool) -> Undo {
    let released = is_held(&pool.held).and_then(|is_held| {
        if is_held {
            release(pool)?;
        }
        Ok(is_held)
    });
    Undo::of(released)
}
