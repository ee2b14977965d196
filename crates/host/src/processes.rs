//! Processes that are ended because a file or a journal leads to them, found by their command line.
//!
//! A process is held by a descriptor (`pidfd_open`(2)) before it is checked, so that its number
//! cannot be reused between the check and the signal. It must belong to the effective user.

use fsdyno_files::ProcessStat;
use fsdyno_model::Nanos;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, geteuid, kill_process, pidfd_open, pidfd_send_signal,
};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::{fs, io};

pub(crate) struct Found {
    pid: Pid,
    /// None if the kernel has no such descriptors (before Linux 5.3).
    held: Option<OwnedFd>,
}

impl Found {
    /// Sends it a signal; whether it still was there.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<bool> {
        let sent = match &self.held {
            Some(held) => pidfd_send_signal(held, signal),
            None => kill_process(self.pid, signal),
        };
        match sent {
            Ok(()) => Ok(true),
            Err(Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether all its threads sleep and can be interrupted (state `S` in `proc_pid_stat(5)`).
    pub(crate) fn sleeps(&self) -> bool {
        let tasks = format!("/proc/{}/task", self.pid.as_raw_nonzero());
        let Ok(mut tasks) = fs::read_dir(tasks) else {
            return true;
        };
        tasks.all(|task| {
            let stat = task.and_then(|task| fs::read_to_string(task.path().join("stat")));
            // A thread that ended meanwhile has no file.
            stat.map_or(true, |stat| {
                stat.rsplit_once(") ")
                    .is_none_or(|(_, rest)| rest.starts_with('S'))
            })
        })
    }
}

/// The process of that number, if it is one of the effective user and its command line, words
/// ended by zero bytes, is such.
pub(crate) fn find(number: i32, matches: impl Fn(&[u8]) -> bool) -> Option<Found> {
    let pid = Pid::from_raw(number)?;
    let held = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => Some(held),
        Err(Errno::NOSYS | Errno::PERM) => None,
        Err(_) => return None,
    };
    let place = Path::new("/proc").join(number.to_string());
    if fs::metadata(&place).ok()?.uid() != geteuid().as_raw() {
        return None;
    }
    // A process that has gone meanwhile has no line.
    let line = fs::read(place.join("cmdline")).ok()?;
    matches(&line).then_some(Found { pid, held })
}

/// Ends all processes of the effective user whose command line is such. Whether there was any.
pub(crate) fn end_all(matches: impl Fn(&[u8]) -> bool) -> io::Result<bool> {
    let mut ended = false;
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(process) = find(number, &matches) {
            ended |= process.signal(Signal::KILL)?;
        }
    }
    Ok(ended)
}

/// The parent of a process, and when the process started, in nanoseconds since the machine did.
pub(crate) fn parent_and_start(number: u32) -> Option<(u32, u64)> {
    let stat = ProcessStat::read(number).ok()?;
    Some((stat.field(4)?.parse().ok()?, stat.ticks_ns(22)?))
}

/// When a process started, in clock ticks since the machine did.
pub(crate) fn start_ticks(number: u32) -> io::Result<u64> {
    let stat = ProcessStat::read(number)?;
    let ticks = stat.field(22).and_then(|field| field.parse().ok());
    ticks.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no start time in it"))
}

/// The time so far in which a process executed its own code, children and system calls excluded. Time
/// in which other programs run does not count. It has a resolution of 10 ms. Most kernels count it by
/// samples at each tick (`CONFIG_TICK_CPU_ACCOUNTING`).
pub fn user_time(number: u32) -> io::Result<Nanos> {
    let stat = ProcessStat::read(number)?;
    let time = stat.ticks_ns(14).ok_or(io::ErrorKind::InvalidData)?;
    Ok(Nanos(time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[test]
    fn user_time_is_that_of_the_process_and_not_of_its_children() {
        let work = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let time_of = |script: &str| {
            let mut shell = Command::new("sh")
                .args(["-c", &format!("{script}; echo; read line")])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut output = BufReader::new(shell.stdout.take().unwrap());
            output.read_line(&mut String::new()).unwrap();
            let time = user_time(shell.id()).unwrap();
            drop(shell.stdin.take());
            shell.wait().unwrap();
            time
        };
        let (own, of_child) = (time_of(work), time_of(&format!("sh -c '{work}'")));
        assert!(own > of_child, "{own} {of_child}");
    }
}
