//! A guest in virtual time, its processes and its calendar take turns: two of them never run at the
//! same time. On separate processors each turn would wake another processor, which on a virtual
//! machine costs several times the work of the turn.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// While this lives, its thread and every process it starts stay on one processor.
#[derive(Debug)]
pub struct OneProcessor {
    /// The processors before; none where the affinity could not be set.
    before: Option<CpuSet>,
}

impl OneProcessor {
    /// Keeps this thread where it runs just now. Where that is refused, all takes longer.
    pub fn here() -> Self {
        let before = sched_getaffinity(None).ok();
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        let before = before.filter(|_| sched_setaffinity(None, &one).is_ok());
        Self { before }
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // If a processor was removed, the whole set is invalid: the kernel reports which are
            // left.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_is_started_meanwhile_shares_its_processor_and_what_comes_after_does_not() {
        let allowed = || {
            let reported = Command::new("cat").arg("/proc/self/status").output();
            let reported = String::from_utf8(reported.unwrap().stdout).unwrap();
            let line = reported
                .lines()
                .find(|l| l.starts_with("Cpus_allowed_list:"));
            line.unwrap().to_owned()
        };
        let before = allowed();
        let one = OneProcessor::here();
        let number = allowed().rsplit('\t').next().unwrap().parse::<usize>();
        assert!(number.is_ok());
        let inside = std::thread::spawn(allowed).join().unwrap();
        assert!(inside.ends_with(&format!("\t{}", number.unwrap())));
        drop(one);
        assert_eq!(allowed(), before);
    }
}
