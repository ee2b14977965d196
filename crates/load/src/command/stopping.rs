//! Stops an application at each line that it prints, before it does more.

use rustix::process::{Pid, Signal, kill_process_group};
use std::io;

/// The thread that reads the lines has precedence over the application, so that it stops the
/// application inside the write of a line. Ends on drop.
pub(super) struct Precedence(());

impl Precedence {
    /// For the calling thread, not for processes that it starts (sched(7)). Without the privilege,
    /// the application may do more before it stops.
    pub fn take() -> Self {
        let _ = set_policy(libc::SCHED_FIFO, 1);
        Self(())
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        let _ = set_policy(libc::SCHED_OTHER, 0);
    }
}

fn set_policy(policy: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    let policy = policy | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the pointer is to a live local variable; 0 is the calling thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The stopped processes of an application, which continue on drop.
pub(super) struct Stopped(Pid);

impl Stopped {
    /// Stops a process group. One that has ended needs no stop.
    pub fn stop(group: u32) -> Option<Self> {
        let group = Pid::from_raw(i32::try_from(group).ok()?)?;
        kill_process_group(group, Signal::STOP).ok()?;
        Some(Self(group))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // A group that has ended needs no signal.
        let _ = kill_process_group(self.0, Signal::CONT);
    }
}
