//! The state of a process: descriptors, working and root directory, mappings. Processes may share
//! each.

use fsdyno_trace::{Handle, Mapping};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

#[derive(Debug)]
pub(crate) struct Description {
    /// Its number in the recording. None outside the tree.
    pub handle: Option<Handle>,
    /// Absolute path, without symbolic links. Changed when a directory above it is renamed.
    pub path: RefCell<Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Descriptor {
    pub description: Rc<Description>,
    pub close_on_exec: bool,
    /// When it came into the table.
    pub since_ns: u64,
    /// Calls of close that are expected: the descriptor was taken again before the call that closed
    /// its predecessor was observed.
    pub closes_expected: u32,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Files(pub HashMap<i32, Descriptor>);

/// Working and root directory: absolute, without symbolic links.
#[derive(Debug, Clone)]
pub(crate) struct Directories {
    pub working: Vec<u8>,
    /// Without a slash at its end; empty for `/`.
    pub root: Vec<u8>,
}

/// A part of the memory that maps a file of the tree.
#[derive(Debug, Clone)]
pub(crate) struct Region {
    pub length: u64,
    pub offset: u64,
    pub mapping: Rc<Mapping>,
}

/// Regions by their first address.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory(pub BTreeMap<u64, Region>);

impl Memory {
    /// Removes a range. Returns the mappings of which this was the last part.
    pub fn remove(&mut self, from: u64, length: u64) -> Vec<Mapping> {
        let to = from.saturating_add(length);
        let touched: Vec<u64> = self
            .0
            .range(..to)
            .rev()
            .take_while(|(start, region)| start.saturating_add(region.length) > from)
            .map(|(start, _)| *start)
            .collect();
        let mut ended = Vec::new();
        for start in touched {
            let Some(region) = self.0.remove(&start) else {
                continue;
            };
            let end = start.saturating_add(region.length);
            if start < from {
                let length = from - start;
                self.0.insert(
                    start,
                    Region {
                        length,
                        ..region.clone()
                    },
                );
            }
            if end > to {
                let offset = region.offset + (to - start);
                self.0.insert(
                    to,
                    Region {
                        length: end - to,
                        offset,
                        ..region.clone()
                    },
                );
            }
            ended.extend(last(region));
        }
        ended
    }

    /// The region with that address, and the offset of the address in its mapping.
    pub fn find(&self, address: u64) -> Option<(Mapping, u64)> {
        let (start, region) = self.0.range(..=address).next_back()?;
        let within = address - start;
        (within < region.length).then(|| (*region.mapping, region.offset + within))
    }
}

/// The mapping, if that was its last region in all processes.
pub(crate) fn last(region: Region) -> Option<Mapping> {
    Rc::into_inner(region.mapping)
}

#[derive(Debug)]
pub(crate) struct Task {
    pub thread: fsdyno_trace::ThreadId,
    /// The first thread of its process.
    pub process: fsdyno_trace::ThreadId,
    /// Number of the process in the system.
    pub tgid: i32,
    pub files: Rc<RefCell<Files>>,
    pub directories: Rc<RefCell<Directories>>,
    pub memory: Rc<RefCell<Memory>>,
}

/// Numbers that are not used twice.
#[derive(Debug, Default)]
pub(crate) struct Numbers(Cell<u64>);

impl Numbers {
    pub fn next(&self) -> u64 {
        self.0.replace(self.0.get() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_ends_with_its_last_part() {
        let mut memory = Memory::default();
        let mapping = Rc::new(Mapping(7));
        memory.0.insert(
            0x1000,
            Region {
                length: 0x4000,
                offset: 0,
                mapping,
            },
        );
        assert_eq!(memory.find(0x2010), Some((Mapping(7), 0x1010)));
        assert_eq!(memory.find(0x5000), None);
        // A hole in the middle.
        assert!(memory.remove(0x2000, 0x1000).is_empty());
        assert_eq!(memory.find(0x2010), None);
        assert_eq!(memory.find(0x3010), Some((Mapping(7), 0x2010)));
        assert!(memory.remove(0, 0x2000).is_empty());
        // A child has the rest too.
        let child = memory.clone();
        assert!(memory.remove(0, u64::MAX).is_empty());
        let mut child = child;
        assert_eq!(child.remove(0, u64::MAX), [Mapping(7)]);
    }
}
