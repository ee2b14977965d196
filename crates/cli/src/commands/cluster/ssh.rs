//! Runs the shards of a distributed run on other machines over ssh. Each host runs one shard at a
//! time, and takes the next one when it ends.

use super::Distributed;
use super::args::SshArgs;
use crate::commands::merge;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_host::ssh::Ssh;
use fsdyno_model::Shard;
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::sync::{Mutex, PoisonError};
use std::thread;

pub fn distribute(args: &SshArgs) -> Result<Code, CliError> {
    let work = Distributed::of(&args.work)?;
    work.directory.create()?;
    let hosts = args.hosts.iter().map(|host| Ssh::to(host));
    let hosts: Vec<Ssh> = hosts
        .collect::<Result<_, _>>()
        .map_err(|error| CliError::new(Code::Missing, error))?;
    let open = Shard::all(work.shards).filter(|shard| !work.directory.complete(*shard).exists());
    let queue: Mutex<VecDeque<Shard>> = Mutex::new(open.collect());
    let next = || {
        queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    thread::scope(|scope| {
        for host in &hosts {
            let (work, queue, next) = (&work, &queue, &next);
            scope.spawn(move || {
                while let Some(shard) = next() {
                    let name = host.destination();
                    match there(work, host, shard) {
                        Ok(()) => output::note(format_args!("fsdyno: {name}: shard {shard} is complete")),
                        Err(why) => {
                            output::note(format_args!(
                                "fsdyno: {name}: shard {shard}: {why}; this host gets no more shards"
                            ));
                            // Another host resumes it.
                            queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(shard);
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
    let code = merge::all(&there, &work.directory.merged())?;
    if missing.is_empty() {
        return Ok(code);
    }
    Err(CliError::failure(format!(
        "{} of {} shards are not complete; start the same command again to continue (fsdyno cluster \
         status {})",
        missing.len(),
        work.shards,
        work.directory.path().display()
    )))
}

/// Runs a shard on a host; its output goes to the log of the shard.
fn there(work: &Distributed, host: &Ssh, shard: Shard) -> Result<(), String> {
    let path = work.directory.log(&shard.number.to_string());
    let log = OpenOptions::new().create(true).append(true).open(&path);
    let log = log.map_err(|error| format!("{}: {error}", path.display()))?;
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    let mut command = host.command(&work.task(&shard.number.to_string(), &[]));
    let status = command.stdout(log).stderr(errors).status();
    let status = status.map_err(|error| format!("cannot start ssh: {error}"))?;
    if work.directory.complete(shard).exists() {
        return Ok(());
    }
    Err(format!("{status}; see {}", path.display()))
}
