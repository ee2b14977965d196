//! Runs the shards of a distributed run on other machines over ssh. Each host runs one shard at a
//! time, and takes the next one when it ends.

use super::Distributed;
use super::args::SshArgs;
use crate::commands::merge::{MergeArgs, merge};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_files::{Access, TrustedDir};
use fsdyno_host::ssh::Ssh;
use fsdyno_model::Shard;
use std::collections::VecDeque;
use std::io::{Seek as _, SeekFrom};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

pub fn distribute(args: &SshArgs) -> Result<(), CliError> {
    let work = Distributed::of(&args.work)?;
    let logs = work.directory.create()?;
    let hosts = args.hosts.iter().map(|host| Ssh::to(host));
    let hosts: Vec<Ssh> = hosts
        .collect::<Result<_, _>>()
        .map_err(|error| CliError::new(Code::Missing, error))?;
    let open = Shard::all(work.shards).filter(|shard| !work.directory.complete(*shard).exists());
    let queue = Queue::of(open);
    thread::scope(|scope| {
        for host in &hosts {
            let (work, logs, queue) = (&work, &logs, &queue);
            scope.spawn(move || {
                let name = host.destination();
                while let Some(shard) = queue.next() {
                    let result = there(work, logs, host, shard);
                    queue.ended(shard, result.is_ok());
                    match result {
                        Ok(()) => {
                            output::note(format_args!("fsdyno: {name}: shard {shard} is complete"));
                        }
                        Err(why) => {
                            output::note(format_args!(
                                "fsdyno: {name}: shard {shard}: {why}; this host gets no more shards"
                            ));
                            return;
                        }
                    }
                }
            });
        }
    });
    let complete = |shard: &Shard| work.directory.complete(*shard);
    let all: Vec<_> = Shard::all(work.shards)
        .map(|shard| complete(&shard))
        .collect();
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| path.exists());
    if there.is_empty() {
        return Err(CliError::failure(format!(
            "no shard is complete; see {}",
            work.directory.path().join("logs").display()
        )));
    }
    let stores = MergeArgs {
        others: there,
        long: false,
    };
    merge(&stores, &work.directory.merged())?;
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::failure(format!(
        "{} of {} shards are not complete; start the same command again to continue (fsdyno cluster \
         status {})",
        missing.len(),
        work.shards,
        work.directory.path().display()
    )))
}

/// The shards that are left.
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    left: VecDeque<Shard>,
    running: usize,
}

impl Queue {
    fn of(shards: impl Iterator<Item = Shard>) -> Self {
        Self {
            state: Mutex::new(QueueState {
                left: shards.collect(),
                running: 0,
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next shard; none when all are complete. Waits while others run, because one that fails
    /// comes back.
    fn next(&self) -> Option<Shard> {
        let waited = self.changed.wait_while(self.state(), |state| {
            state.left.is_empty() && state.running > 0
        });
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        let shard = state.left.pop_front()?;
        state.running += 1;
        Some(shard)
    }

    fn ended(&self, shard: Shard, complete: bool) {
        let mut state = self.state();
        state.running -= 1;
        if !complete {
            state.left.push_back(shard);
        }
        self.changed.notify_all();
    }
}

/// Runs a shard on a host; its output goes to the log of the shard.
fn there(work: &Distributed, logs: &TrustedDir, host: &Ssh, shard: Shard) -> Result<(), String> {
    let number = shard.number.to_string();
    let path = work.directory.log(&number);
    let name = path.file_name().unwrap_or_default();
    let mut log = logs
        .file(name, Access::Create)
        .map_err(|error| error.to_string())?;
    log.seek(SeekFrom::End(0))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    let mut command = host.command(&work.task(&number));
    let status = command.stdout(log).stderr(errors).status();
    let status = status.map_err(|error| format!("cannot start ssh: {error}"))?;
    if work.directory.complete(shard).exists() {
        return Ok(());
    }
    Err(format!("{status}; see {}", path.display()))
}
