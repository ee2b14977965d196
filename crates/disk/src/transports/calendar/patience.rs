//! How long a guest has sent nothing although it could. Time in which it waits for a processor, or
//! for the storage of this machine, does not count: on a busy machine it would look like a hang.

use fsdyno_files::ProcessStat;
use rustix::process::Pid;
use std::fs;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// The wait for one message of a guest.
#[derive(Debug)]
pub struct Patience {
    timeout: Duration,
    /// The process of the guest, if this machine sees it.
    guest: Option<Pid>,
    counted: Duration,
    last: Instant,
    /// Processor time of the guest at `last`; none before the first check.
    used: Option<Duration>,
}

impl Patience {
    /// The guest is the process at the other end of this line.
    pub(super) fn with(line: &UnixStream, timeout: Duration) -> Self {
        let peer = rustix::net::sockopt::socket_peercred(line);
        Self::of(peer.ok().map(|peer| peer.pid), timeout)
    }

    /// Without a process, all time counts.
    pub fn of(guest: Option<Pid>, timeout: Duration) -> Self {
        Self {
            timeout,
            guest,
            counted: Duration::ZERO,
            last: Instant::now(),
            used: None,
        }
    }

    /// Counts the time since the last check. Whether the timeout is reached.
    pub fn is_over(&mut self) -> bool {
        self.waited() >= self.timeout
    }

    /// Counts the time since the last check. Returns all that counts so far.
    pub fn waited(&mut self) -> Duration {
        let passed = self.last.elapsed();
        self.last += passed;
        let activity = self
            .guest
            .and_then(|guest| Activity::of(guest.as_raw_pid()));
        let before = self.used;
        self.used = activity.as_ref().map(|activity| activity.used);
        self.counted += match activity {
            // Its first interval may be one without a processor.
            Some(activity) if activity.is_ready => before.map_or(Duration::ZERO, |before| {
                activity.used.saturating_sub(before)
            }),
            _ => passed,
        };
        self.counted
    }
}

/// The processes of a guest: its kernel, whose children are its programs.
struct Activity {
    /// Processor time of them and of children that have ended.
    used: Duration,
    /// Whether one is ready to run, or waits for a disk.
    is_ready: bool,
}

impl Activity {
    fn of(process: i32) -> Option<Self> {
        let stat = ProcessStat::read(process.unsigned_abs()).ok()?;
        let used = stat.times_ns()?.iter().sum();
        let mut activity = Self {
            used: Duration::from_nanos(used),
            is_ready: matches!(stat.field(3), Some("R" | "D")),
        };
        let children = format!("/proc/{process}/task/{process}/children");
        let children = fs::read_to_string(children).unwrap_or_default();
        // The time of a child that ends meanwhile is its parent's later.
        let children = children.split_whitespace();
        for child in children.filter_map(|child| Self::of(child.parse().ok()?)) {
            activity.used += child.used;
            activity.is_ready |= child.is_ready;
        }
        Some(activity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// The patience with a shell that runs a script.
    fn with_shell(script: &str, timeout: Duration) -> (Child, Patience) {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", script]).stdout(Stdio::null());
        let shell = shell.spawn().unwrap();
        let patience = Patience::of(Some(Pid::from_child(&shell)), timeout);
        (shell, patience)
    }

    fn is_over_in(patience: &mut Patience, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
            if patience.is_over() {
                return true;
            }
        }
        false
    }

    #[test]
    fn a_guest_that_computes_itself_or_in_a_program_or_sleeps_hangs() {
        let busy = "while :; do :; done";
        for script in [busy, &format!("({busy}); :"), "sleep 100; :"] {
            let (mut shell, mut patience) = with_shell(script, Duration::from_millis(200));
            let hangs = is_over_in(&mut patience, Duration::from_secs(60));
            let children = format!("/proc/{0}/task/{0}/children", shell.id());
            for child in fs::read_to_string(children).unwrap().split_whitespace() {
                let child = Pid::from_raw(child.parse().unwrap()).unwrap();
                rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
            }
            shell.kill().unwrap();
            shell.wait().unwrap();
            assert!(hangs, "{script}");
        }
    }

    #[test]
    fn a_guest_that_waits_for_a_processor_does_not_hang() {
        let (mut shell, mut patience) =
            with_shell("while :; do :; done", Duration::from_secs(1000));
        let before = patience.is_over();
        // As if it had waited for a processor since then.
        patience.last -= Duration::from_secs(100_000);
        let after = patience.is_over();
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(!before && !after, "{:?}", patience.counted);
    }
}
