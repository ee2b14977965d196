//! Processor time of all processes, divided into ours, the kernel's, and the rest.
//!
//! For each process, its own time and that of its reaped children are added up. The sum stays the
//! same when a process ends and its parent reaps it. So no time is counted twice, and processes
//! that start and end between two readings are counted.

use std::collections::HashMap;
use std::fs;

/// Set for threads of the kernel (`PF_KTHREAD`, include/linux/sched.h).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// A reading of all processes that can be seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    tasks: HashMap<u32, Task>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    parent: u32,
    kernel: bool,
    ran_ns: u64,
}

/// Processor time between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct TaskTimes {
    /// Processor time of kernel threads, and of processes that serve file systems; none if no
    /// kernel thread can be seen.
    pub kernel_ns: Option<u64>,
    /// Processor time of all other processes that do not belong to fsdyno.
    pub others_ns: u64,
}

/// Reads the times of all processes; or why they cannot be seen.
pub(super) fn tasks() -> Result<Tasks, String> {
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let refused = |error| format!("load of others: cannot list /proc: {error}");
    // A mount option of /proc may hide the processes of others, also the first process.
    if fs::read_to_string("/proc/1/stat").is_err() {
        return Err(
            "load of other programs: /proc hides the processes of other users (hidepid); run as \
            root"
                .to_owned(),
        );
    }
    let mut tasks = HashMap::new();
    for entry in fs::read_dir("/proc").map_err(refused)?.flatten() {
        let Some(number) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // The time of a process that just ended is in its parent.
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let Some(mut task) = parse(&stat, tick_ns) else {
            continue;
        };
        // Ticks are too coarse for the many kernel threads that run for moments.
        if task.kernel
            && let Ok(exact) = fs::read_to_string(entry.path().join("schedstat"))
            && let Some(ns) = exact.split(' ').next().and_then(|first| first.parse().ok())
        {
            task.ran_ns = ns;
        }
        tasks.insert(number, task);
    }
    Ok(Tasks { tasks })
}

impl Tasks {
    /// Processor time since an earlier reading, seen from the process `ours`.
    pub(super) fn since(&self, earlier: &Self, ours: u32) -> TaskTimes {
        // Whose time grew as a child is ours, even where it was not there before.
        let sum = |of: &Self, group: Group| -> u64 {
            let all = of.tasks.iter();
            let group = all.filter(|(number, _)| self.group(of, **number, ours, earlier) == group);
            group.map(|(_, task)| task.ran_ns).sum()
        };
        let grown = |group| sum(self, group).saturating_sub(sum(earlier, group));
        let seen = self.tasks.values().any(|task| task.kernel);
        TaskTimes {
            kernel_ns: seen.then(|| grown(Group::Kernel)),
            others_ns: grown(Group::Others),
        }
    }

    /// The group of a process in the reading `of`. Only processes that ran in between are examined
    /// closely.
    fn group(&self, of: &Self, number: u32, ours: u32, earlier: &Self) -> Group {
        let Some(task) = of.tasks.get(&number) else {
            return Group::Others;
        };
        if task.kernel {
            return Group::Kernel;
        }
        if of.descends(number, ours) {
            return Group::Ours;
        }
        let (then, now) = (earlier.tasks.get(&number), self.tasks.get(&number));
        let ran = then.map(|task| task.ran_ns) != now.map(|task| task.ran_ns);
        if ran && now.is_some() && serves_files(number) {
            return Group::Kernel;
        }
        Group::Others
    }

    fn descends(&self, mut number: u32, ancestor: u32) -> bool {
        // Parents may form no circle; the bound is for a list that changed while it was read.
        for _ in 0..self.tasks.len() {
            if number == ancestor {
                return true;
            }
            match self.tasks.get(&number) {
                Some(task) if task.parent != 0 => number = task.parent,
                _ => return false,
            }
        }
        false
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Ours,
    Kernel,
    Others,
}

/// Whether a process serves a file system by FUSE: its work counts as that of the kernel, like a
/// kernel thread.
fn serves_files(number: u32) -> bool {
    let open = fs::read_dir(format!("/proc/{number}/fd"));
    let mut open = open.into_iter().flatten().flatten();
    open.any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == "/dev/fuse"))
}

/// Parses `pid (comm) state ppid pgrp session tty tpgid flags ... utime stime cutime cstime ...`
/// (`proc_pid_stat(5)`). A name may contain spaces and brackets.
fn parse(stat: &str, tick_ns: u64) -> Option<Task> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // Counted from the state, which is the third: 4 ppid, 9 flags, 14 to 17 the times.
    let ticks: u64 = [11, 12, 13, 14]
        .into_iter()
        .map(field)
        .sum::<Option<u64>>()?;
    Some(Task {
        parent: u32::try_from(field(1)?).ok()?,
        kernel: field(6)? & KERNEL_THREAD != 0,
        ran_ns: ticks * tick_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(tasks: &[(u32, u32, bool, u64)]) -> Tasks {
        let tasks = tasks.iter().map(|(number, parent, kernel, ran_ns)| {
            let (parent, kernel, ran_ns) = (*parent, *kernel, *ran_ns);
            (
                *number,
                Task {
                    parent,
                    kernel,
                    ran_ns,
                },
            )
        });
        Tasks {
            tasks: tasks.collect(),
        }
    }

    #[test]
    fn a_line_is_read_with_any_process_name() {
        let line = "7 (a b) c) S 1 7 7 0 -1 2097152 1 2 3 4 5 6 7 8 20 0 1 0 99 0 0";
        let task = parse(line, 10).unwrap();
        assert_eq!(
            task,
            Task {
                parent: 1,
                kernel: true,
                ran_ns: (5 + 6 + 7 + 8) * 10
            }
        );
        assert_eq!(parse("7 (x) S 1", 10), None);
        assert_eq!(parse("", 10), None);
    }

    // Numbers far above any that a process can have, so that none is found in /proc.
    const BASE: u32 = 4_000_000_000;

    #[test]
    fn time_is_that_of_who_ran_and_survives_its_process() {
        let (ours, child, other, short) = (BASE + 1, BASE + 2, BASE + 3, BASE + 4);
        let earlier = reading(&[
            (1, 0, false, 100),
            (2, 0, true, 10),
            (ours, 1, false, 5),
            (other, 1, false, 50),
            (short, other, false, 30),
        ]);
        // Our child was started and still runs; the other child ended, and its time is in its
        // parent.
        let later = reading(&[
            (1, 0, false, 100),
            (2, 0, true, 17),
            (ours, 1, false, 25),
            (child, ours, false, 40),
            (other, 1, false, 50 + 34),
        ]);
        let ran = later.since(&earlier, ours);
        assert_eq!(
            ran,
            TaskTimes {
                kernel_ns: Some(7),
                others_ns: 4
            }
        );
        let alone = reading(&[(1, 0, false, 1), (ours, 1, false, 2)]);
        assert_eq!(alone.since(&alone, ours).kernel_ns, None);
    }

    #[test]
    fn this_machine_is_read() {
        let earlier = tasks().unwrap();
        let own = std::process::id();
        assert!(earlier.tasks.contains_key(&own) && earlier.descends(own, own));
    }
}
