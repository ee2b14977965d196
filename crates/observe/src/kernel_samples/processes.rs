//! Which processes are of a phase: this one, and all that it starts.

use std::collections::HashMap;
use std::fs;
use std::io;

/// The process of the kernel that starts its threads.
const KTHREADD: u32 = 2;

/// What a process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    OfPhase,
    KernelThread,
    Other,
}

/// The kinds and the names of processes.
#[derive(Debug, Default)]
pub struct Processes {
    kinds: HashMap<u32, Kind>,
    names: HashMap<u32, String>,
}

impl Processes {
    /// Those of `/proc`; `root` and all that descend from it are of the phase.
    pub fn read(root: u32) -> io::Result<Self> {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc")? {
            let path = entry?.path();
            // A process may end meanwhile.
            let Ok(stat) = fs::read(path.join("stat")) else {
                continue;
            };
            found.extend(parsed(&String::from_utf8_lossy(&stat)));
        }
        Ok(Self::of(root, found))
    }

    pub(super) fn of(root: u32, found: Vec<(u32, u32, String)>) -> Self {
        let parents: HashMap<u32, u32> = found.iter().map(|one| (one.0, one.1)).collect();
        let kind = |mut process: u32| {
            // No chain is longer, whatever changed while it was read.
            for _ in 0..=parents.len() {
                match process {
                    0 => break,
                    KTHREADD => return Kind::KernelThread,
                    _ if process == root => return Kind::OfPhase,
                    _ => process = parents.get(&process).copied().unwrap_or(0),
                }
            }
            Kind::Other
        };
        Self {
            kinds: found.iter().map(|one| (one.0, kind(one.0))).collect(),
            names: found.into_iter().map(|one| (one.0, one.2)).collect(),
        }
    }

    /// Notes a new process.
    pub fn begin(&mut self, process: u32, parent: u32) {
        let kind = match parent {
            KTHREADD => Kind::KernelThread,
            // A program that the kernel starts is none of its threads.
            _ => match self.kind(parent) {
                Kind::OfPhase => Kind::OfPhase,
                Kind::KernelThread | Kind::Other => Kind::Other,
            },
        };
        self.kinds.insert(process, kind);
        if let Some(name) = self.names.get(&parent).cloned() {
            self.names.insert(process, name);
        }
    }

    /// Notes the name of a process.
    pub fn name(&mut self, process: u32, name: String) {
        self.names.insert(process, name);
    }

    pub fn kind(&self, process: u32) -> Kind {
        self.kinds.get(&process).copied().unwrap_or(Kind::Other)
    }

    /// The processes of the phase that are known now.
    pub fn of_phase(&self) -> impl Iterator<Item = u32> {
        let of_phase = self
            .kinds
            .iter()
            .filter(|(_, kind)| **kind == Kind::OfPhase);
        of_phase.map(|(process, _)| *process)
    }

    /// The name of a process; empty if it is not known.
    pub fn name_of(&self, process: u32) -> &str {
        self.names.get(&process).map_or("", String::as_str)
    }
}

/// The process, its parent and its name, of `/proc/PID/stat`.
fn parsed(stat: &str) -> Option<(u32, u32, String)> {
    let (process, rest) = stat.split_once(" (")?;
    // A name may contain all of this.
    let (name, rest) = rest.rsplit_once(") ")?;
    let parent = rest.split(' ').nth(1)?.parse().ok()?;
    Some((process.parse().ok()?, parent, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_phase_are_those_that_it_starts() {
        let lines = [
            "1 (init) S 0 1",
            "2 (kthreadd) S 0 0",
            "30 (kworker/0:1) I 2 0",
            "40 (fsdyno) R 1 40",
            "41 (odd) R 2 (x) S 40 40",
            "50 (sshd) S 1 50",
        ];
        let found = lines.iter().filter_map(|line| parsed(line)).collect();
        let mut processes = Processes::of(40, found);
        for (process, kind) in [
            (1, Kind::Other),
            (30, Kind::KernelThread),
            (40, Kind::OfPhase),
            (41, Kind::OfPhase),
            (50, Kind::Other),
            (99, Kind::Other),
        ] {
            assert_eq!(processes.kind(process), kind, "{process}");
        }
        assert_eq!(processes.name_of(41), "odd) R 2 (x");
        processes.begin(60, 41);
        processes.begin(61, 60);
        processes.name(61, "cp".to_owned());
        processes.begin(62, KTHREADD);
        processes.begin(63, 30);
        assert_eq!(processes.kind(61), Kind::OfPhase);
        assert_eq!(processes.name_of(61), "cp");
        assert_eq!(processes.kind(62), Kind::KernelThread);
        assert_eq!(processes.kind(63), Kind::Other);
    }
}
