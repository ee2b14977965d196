//! A guest in virtual time, its processes and its calendar take turns: two of them never run at the
//! same time. On separate processors each turn would wake another processor, which on a virtual
//! machine costs several times the work of the turn.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Processors that values of [`OneProcessor`] in this process use.
static IN_USE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

fn in_use() -> MutexGuard<'static, Vec<usize>> {
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until it is dropped, its thread and every process that the thread starts stay on one processor.
#[derive(Debug)]
pub struct OneProcessor {
    /// The former affinity, and the processor in use; none if the affinity could not be set.
    changed: Option<(CpuSet, usize)>,
}

impl OneProcessor {
    /// Pins this thread to its current processor, or to the one that the fewest values of this
    /// process use. If the kernel refuses that, guests are only slower.
    pub fn here() -> Self {
        let mut in_use = in_use();
        let Ok(before) = sched_getaffinity(None) else {
            return Self { changed: None };
        };
        let now = sched_getcpu();
        let allowed = (0..CpuSet::MAX_CPU).filter(|number| before.is_set(*number));
        let users = |number: &usize| in_use.iter().filter(|used| *used == number).count();
        let number = allowed
            .min_by_key(|number| (users(number), *number != now))
            .unwrap_or(now);
        let mut one = CpuSet::new();
        one.set(number);
        if sched_setaffinity(None, &one).is_err() {
            return Self { changed: None };
        }
        in_use.push(number);
        Self {
            changed: Some((before, number)),
        }
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        if let Some((before, number)) = &self.changed {
            let mut in_use = in_use();
            if let Some(place) = in_use.iter().position(|used| used == number) {
                in_use.swap_remove(place);
            }
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

    #[test]
    fn threads_that_each_keep_a_processor_share_none_while_another_is_free() {
        let processors = sched_getaffinity(None).unwrap().count() as usize;
        let barrier = std::sync::Barrier::new(processors);
        let kept = std::thread::scope(|scope| {
            let keep = |_| {
                scope.spawn(|| {
                    let one = OneProcessor::here();
                    barrier.wait();
                    one.changed.as_ref().map(|(_, number)| *number)
                })
            };
            let threads: Vec<_> = (0..processors).map(keep).collect();
            let kept = threads.into_iter().map(|thread| thread.join().unwrap());
            kept.collect::<std::collections::BTreeSet<_>>()
        });
        // The other test may keep one of them.
        assert!(kept.len() + 1 >= processors, "{kept:?}");
    }
}
