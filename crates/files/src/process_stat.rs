//! `/proc/PID/stat` (`proc_pid_stat(5)`).

use std::fs;
use std::io;

/// The line of a process, or of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessStat(String);

impl From<String> for ProcessStat {
    fn from(line: String) -> Self {
        Self(line)
    }
}

impl ProcessStat {
    /// The line of the process with this number.
    pub fn read(number: u32) -> io::Result<Self> {
        fs::read_to_string(format!("/proc/{number}/stat")).map(Self)
    }

    /// A field after the name of the program, which may contain anything. The manual counts the fields
    /// from 1; the name is 2.
    pub fn field(&self, at: usize) -> Option<&str> {
        let (_, rest) = self.0.rsplit_once(") ")?;
        rest.split_ascii_whitespace().nth(at.checked_sub(3)?)
    }

    /// A field in ticks, as nanoseconds.
    pub fn ticks_ns(&self, at: usize) -> Option<u64> {
        let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
        Some(self.field(at)?.parse::<u64>().ok()?.saturating_mul(tick_ns))
    }

    /// The processor time in nanoseconds: in user mode, in the kernel, and the same of its children that
    /// have ended and were waited for.
    pub fn times_ns(&self) -> Option<[u64; 4]> {
        let [user, system, of_children, system_of_children] =
            [14, 15, 16, 17].map(|at| self.ticks_ns(at));
        Some([user?, system?, of_children?, system_of_children?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_a_process_is_no_field() {
        let line = "7 (a (b) S 1 c) R 1 7 7 0 -1 0 0 0 0 0 50 25 20 5 20 0 1";
        let stat = ProcessStat::from(line.to_owned());
        let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
        assert_eq!(stat.times_ns(), Some([50, 25, 20, 5].map(|one| one * tick)));
        assert_eq!((stat.field(3), stat.field(4)), (Some("R"), Some("1")));
        assert!(
            ProcessStat::read(std::process::id())
                .unwrap()
                .times_ns()
                .is_some()
        );
    }
}
