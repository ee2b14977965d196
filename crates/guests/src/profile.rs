//! Reads the profile that the lab kernel wrote: `data/cpu_profile.c`.

mod place;

pub use place::{KernelPlace, PlaceTables};

use crate::kernels::symbols::Symbols;
use fsdyno_model::profile::{
    CallPath, Content, Operation, PathRequests, PathWork, Profile, RequestSum,
};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

/// The reason why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("cannot read the profile {}: {cause}", path.display())]
    Read {
        path: std::path::PathBuf,
        cause: io::Error,
    },
    #[error("the profile of the guest's kernel is damaged at byte {0}")]
    Damaged(usize),
}

const MAGIC: u64 = u64::from_le_bytes(*b"FDPROFL1");

/// The units of the kernel: bytes copied, set to zero and checksummed, requests, waits.
const UNITS: usize = 5;
const REQUESTS: usize = 3;

/// The sizes of the structures in bytes.
const SEGMENT: usize = 5 * 8;
const PATH: usize = 8;
const ENTRY: usize = 8 + (2 + UNITS + 2) * 8;

/// How each process and thread of User-mode Linux comes to its work: in no path.
const WAY_IN: [&str; 5] = [
    "__libc_start_main@GLIBC_2",
    "new_thread_handler",
    "fork_handler",
    "userspace",
    "handle_syscall",
];

/// The scheduler. A process sleeps where it is called, and not where it ends.
const SCHEDULER: [&str; 2] = ["schedule", "__schedule"];

/// The function of the block layer that takes each request which needs a flush (`block/blk-flush.c`).
const FLUSH: &str = "blk_insert_flush";

/// One profile for each time that the kernel counted, in order.
pub fn read(path: &Path, symbols: &Symbols) -> Result<Vec<Profile>, ProfileError> {
    let bytes = fs::read(path).map_err(|cause| ProfileError::Read {
        path: path.to_owned(),
        cause,
    })?;
    parse(&bytes, symbols)
}

/// The same of its content.
pub fn parse(bytes: &[u8], symbols: &Symbols) -> Result<Vec<Profile>, ProfileError> {
    let mut rest = Rest { bytes, at: 0 };
    let mut profiles = Vec::new();
    while rest.at < bytes.len() {
        profiles.push(segment(&mut rest, symbols)?);
    }
    Ok(profiles)
}

fn segment(rest: &mut Rest<'_>, symbols: &Symbols) -> Result<Profile, ProfileError> {
    let damaged = ProfileError::Damaged(rest.at);
    let head = rest.take(1, SEGMENT)?;
    let [magic, units, paths, entries, lost] = [0, 1, 2, 3, 4].map(|at| number(head, at * 8));
    if magic != MAGIC || units != UNITS as u64 {
        return Err(damaged);
    }
    let paths = rest.take(paths, PATH)?;
    let entries = rest.take(entries, ENTRY)?;
    let mut tree = Tree::new(symbols);
    tree.profile.lost = lost;
    let paths: Vec<(u32, u32)> = paths
        .chunks_exact(PATH)
        .map(|path| (word(path, 0), word(path, 4)))
        .collect();
    let is_flush = |block: &u64| symbols.function(*block) == FLUSH;
    let blocks = entries.chunks_exact(ENTRY).map(|entry| number(entry, 8));
    // The first block of the function is executed once in each call.
    let flush = blocks.filter(is_flush).min();
    for entry in entries.chunks_exact(ENTRY) {
        let is_flush_call = flush == Some(number(entry, 8));
        let own = PathWork {
            blocks: number(entry, 16),
            bytes: (0..REQUESTS).map(|unit| number(entry, 24 + unit * 8)).sum(),
            requests: number(entry, 24 + REQUESTS * 8),
            flush_calls: if is_flush_call { number(entry, 16) } else { 0 },
            sleeps: number(entry, 24 + UNITS * 8),
            slept_ns: number(entry, 24 + UNITS * 8 + 8),
            ..PathWork::default()
        };
        if own == PathWork::default() {
            continue;
        }
        let executor = word(entry, 4);
        let Some(name) = Profile::EXECUTORS.get(executor as usize) else {
            return Err(damaged);
        };
        let Some(caller) = tree.caller(&paths, word(entry, 0), (executor, name)) else {
            return Err(damaged);
        };
        let at = match number(entry, 8) {
            0 => caller,
            block => tree.child(Some(caller), tree.place(block)),
        };
        let sleep = PathWork {
            sleeps: own.sleeps,
            slept_ns: own.slept_ns,
            ..PathWork::default()
        };
        let rest = PathWork {
            sleeps: 0,
            slept_ns: 0,
            ..own
        };
        tree.profile.paths[at].own += rest;
        let sleeper = tree.caller_of_scheduler(at);
        tree.profile.paths[sleeper].own += sleep;
    }
    Ok(tree.profile)
}

/// Requests of one kind.
pub type KindSum = (Operation, Option<Content>, RequestSum);

/// Who executes where nothing is counted.
const NOT_COUNTED: &str = "not counted";

/// A profile with nothing but these requests, each with the place from which it was submitted; none where
/// the kernel counted nothing.
pub fn of_requests(
    requests: impl IntoIterator<Item = (Option<KernelPlace>, KindSum)>,
    symbols: &Symbols,
) -> Profile {
    let mut tree = Tree::new(symbols);
    let mut all = Vec::new();
    for (place, (operation, content, sum)) in requests {
        let path = tree.path_of(place.as_ref());
        all.push(PathRequests {
            path,
            operation,
            content,
            sum,
        });
    }
    tree.profile.requests = Some(all);
    tree.profile
}

/// The name of a function and its source file; the latter is empty if it is not known.
type Place<'a> = (&'a str, &'a str);

/// A profile that grows.
struct Tree<'a> {
    symbols: &'a Symbols,
    /// By name and source file.
    functions: HashMap<Place<'a>, usize>,
    children: HashMap<(Option<usize>, usize), usize>,
    /// Of each path of the kernel, for each executor.
    known: HashMap<(u32, u32), usize>,
    profile: Profile,
}

impl<'a> Tree<'a> {
    fn new(symbols: &'a Symbols) -> Self {
        Self {
            symbols,
            functions: HashMap::new(),
            children: HashMap::new(),
            known: HashMap::new(),
            profile: Profile::default(),
        }
    }

    fn path_of(&mut self, place: Option<&KernelPlace>) -> usize {
        let executor = place.and_then(|place| Profile::EXECUTORS.get(place.executor as usize));
        let mut at = self.child(None, (executor.unwrap_or(&NOT_COUNTED), ""));
        if let Some(place) = place {
            let calls = place.returns_to.iter();
            for returns_to in calls {
                at = self.returned_to(at, *returns_to);
            }
            at = self.child(Some(at), self.place(place.block));
        }
        at
    }

    /// The function below `at` to which a call returns.
    fn returned_to(&mut self, at: usize, returns_to: u32) -> usize {
        // The address after a call may be that of the next function.
        let place = self.place(u64::from(returns_to).saturating_sub(1));
        // The first frame of a stack returns to nothing.
        if place.0.is_empty() || WAY_IN.contains(&place.0) {
            return at;
        }
        self.child(Some(at), place)
    }

    fn place(&self, address: u64) -> Place<'a> {
        (self.symbols.function(address), self.symbols.source(address))
    }

    /// The function that a path of the kernel returns to, called by those before it. None if the path
    /// is damaged.
    fn caller(
        &mut self,
        paths: &[(u32, u32)],
        path: u32,
        executor: (u32, &'static str),
    ) -> Option<usize> {
        let mut unknown = Vec::new();
        let mut next = path;
        let mut at = loop {
            if next == 0 {
                break self.child(None, (executor.1, ""));
            }
            if let Some(known) = self.known.get(&(executor.0, next)) {
                break *known;
            }
            let (caller, returns_to) = *paths.get(next as usize)?;
            // A path is made after its caller.
            if caller >= next {
                return None;
            }
            unknown.push((next, returns_to));
            next = caller;
        };
        while let Some((path, returns_to)) = unknown.pop() {
            at = self.returned_to(at, returns_to);
            self.known.insert((executor.0, path), at);
        }
        Some(at)
    }

    /// The function of this path that calls the scheduler; the path itself if none does.
    fn caller_of_scheduler(&self, at: usize) -> usize {
        let paths = &self.profile.paths;
        let callers = std::iter::successors(Some(at), |at| paths[*at].caller);
        let is_scheduler = |at: &usize| {
            let name = &self.profile.functions[paths[*at].function];
            SCHEDULER.contains(&name.as_str())
        };
        let outermost = callers.filter(is_scheduler).last();
        outermost
            .and_then(|scheduler| paths[scheduler].caller)
            .unwrap_or(at)
    }

    fn child(&mut self, caller: Option<usize>, place: Place<'a>) -> usize {
        let profile = &mut self.profile;
        let function = *self.functions.entry(place).or_insert_with(|| {
            profile.functions.push(place.0.to_owned());
            profile.sources.push(place.1.to_owned());
            profile.functions.len() - 1
        });
        *self.children.entry((caller, function)).or_insert_with(|| {
            profile.paths.push(CallPath {
                caller,
                function,
                own: PathWork::default(),
            });
            profile.paths.len() - 1
        })
    }
}

struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Rest<'a> {
    fn take(&mut self, count: u64, size: usize) -> Result<&'a [u8], ProfileError> {
        let damaged = ProfileError::Damaged(self.at);
        let length = usize::try_from(count)
            .ok()
            .and_then(|n| n.checked_mul(size));
        let end = length.and_then(|length| self.at.checked_add(length));
        let Some(part) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            return Err(damaged);
        };
        self.at += part.len();
        Ok(part)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::symbols::Symbol;

    const FUNCTIONS: [(u64, u64, &str); 6] = [
        (0x1000, 0x100, "userspace"),
        (0x2000, 0x100, "vfs_unlink"),
        (0x3000, 0x100, "ext4_unlink.isra.0"),
        (0x3100, 0x100, "ext4_alloc"),
        (0x4000, 0x100, "schedule"),
        (0x4100, 0x100, "pick_next"),
    ];

    fn symbols() -> Symbols {
        let symbols = FUNCTIONS.iter().map(|(address, size, name)| Symbol {
            address: *address,
            size: *size,
            name: (*name).to_owned(),
        });
        let sources = [(0x2000, "fs/namei"), (0x3000, "fs/ext4/namei")];
        let sources = sources.map(|(address, source)| (address, source.to_owned()));
        Symbols::new(symbols.collect(), sources.to_vec())
    }

    fn words(numbers: &[u64]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    /// A segment of these paths (caller and return address) and entries (path, executor, block, blocks).
    fn segment_of(paths: &[(u32, u32)], entries: &[(u32, u32, u64, u64)]) -> Vec<u8> {
        let mut bytes = words(&[MAGIC, 5, paths.len() as u64, entries.len() as u64, 0]);
        for (caller, returns_to) in paths {
            bytes.extend(caller.to_le_bytes());
            bytes.extend(returns_to.to_le_bytes());
        }
        for (path, executor, block, blocks) in entries {
            bytes.extend(path.to_le_bytes());
            bytes.extend(executor.to_le_bytes());
            bytes.extend(words(&[*block, *blocks, 10, 20, 30, 2, 9, 1, 700]));
        }
        bytes
    }

    fn whole() -> Vec<u8> {
        // vfs_unlink, called from user space, calls ext4_unlink by its last instruction.
        let paths = [(0, 0), (0, 0x1010), (1, 0x3000 - 0xf00)];
        segment_of(
            &paths,
            &[
                (2, 0, 0x3004, 40),
                (2, 0, 0x3050, 2),
                (1, 0, 0x2001, 5),
                (0, 3, 0, 7),
            ],
        )
    }

    #[test]
    fn a_block_belongs_to_its_function_below_its_callers() {
        let profiles = parse(&whole(), &symbols()).unwrap();
        let [profile] = &profiles[..] else {
            panic!("{profiles:?}");
        };
        let mut lines = Vec::new();
        for path in &profile.paths {
            let above = path
                .caller
                .map(|caller| &*profile.functions[profile.paths[caller].function]);
            lines.push((above, &*profile.functions[path.function], path.own.blocks));
        }
        assert_eq!(
            lines,
            [
                (None, "processes", 0),
                (Some("processes"), "vfs_unlink", 5),
                (Some("vfs_unlink"), "ext4_unlink", 42),
                (None, "idle", 7),
            ]
        );
        let named = profile.functions.iter().zip(&profile.sources);
        let named: Vec<(&str, &str)> = named.map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert_eq!(
            named,
            [
                ("processes", ""),
                ("vfs_unlink", "fs/namei"),
                ("ext4_unlink", "fs/ext4/namei"),
                ("idle", ""),
            ]
        );
        assert_eq!(profile.blocks(), 47, "nobody waits for the idle loop");
        let both = profile.paths[2].own;
        assert_eq!(
            (both.bytes, both.requests, both.sleeps, both.slept_ns),
            (120, 4, 2, 1400)
        );
    }

    #[test]
    fn each_count_of_the_kernel_is_a_profile() {
        let twice = [whole(), whole()].concat();
        let profiles = parse(&twice, &symbols()).unwrap();
        assert_eq!(profiles.len(), 2);
        assert_eq!(profiles[0], profiles[1]);
        assert_eq!(parse(&[], &symbols()).unwrap(), []);
    }

    #[test]
    fn a_damaged_profile_is_an_error_and_never_a_crash() {
        let bytes = whole();
        for length in 1..bytes.len() {
            assert!(
                parse(&bytes[..length], &symbols()).is_err(),
                "{length} bytes"
            );
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let _ = parse(&damaged, &symbols());
            }
        }
        // A path that is its own caller.
        let circle = segment_of(&[(0, 0), (1, 0x1010)], &[(1, 0, 0x3004, 1)]);
        assert!(parse(&circle, &symbols()).is_err());
    }

    #[test]
    fn requests_are_of_the_paths_that_the_profile_has() {
        let place = |executor, returns_to: &[u32], block| KernelPlace {
            executor,
            returns_to: returns_to.into(),
            block,
        };
        let sum = |requests| RequestSum {
            requests,
            bytes: 4096 * requests,
            seeks: 1,
        };
        let write = |requests| (Operation::Write, Some(Content::Journal), sum(requests));
        let requests = [
            (Some(place(0, &[0x1010, 0x2100], 0x3004)), write(3)),
            (Some(place(0, &[0x1010, 0x2100], 0x3050)), write(2)),
            (None, write(1)),
        ];
        let requests = of_requests(requests, &symbols());
        requests.check().unwrap();
        let of = |profile: &Profile, at: usize| {
            let callers = std::iter::successors(Some(at), |at| profile.paths[*at].caller);
            let names = callers.map(|at| profile.functions[profile.paths[at].function].clone());
            names.collect::<Vec<_>>()
        };
        let counted = requests.requests.iter().flatten();
        let counted: Vec<_> = counted
            .map(|one| (of(&requests, one.path), one.sum.requests))
            .collect();
        let unlink = ["ext4_unlink", "vfs_unlink", "processes"].map(str::to_owned);
        assert_eq!(
            counted,
            [
                (unlink.to_vec(), 3),
                (unlink.to_vec(), 2),
                (vec!["not counted".to_owned()], 1)
            ]
        );
        let profile = parse(&whole(), &symbols()).unwrap().remove(0);
        assert_eq!(of(&profile, 2), unlink);
    }

    #[test]
    fn a_process_sleeps_where_the_scheduler_is_called() {
        let paths = [(0, 0), (0, 0x1010), (1, 0x2010), (2, 0x4010)];
        let bytes = segment_of(&paths, &[(3, 0, 0x4104, 1)]);
        let profile = parse(&bytes, &symbols()).unwrap().remove(0);
        let slept = profile.paths.iter().map(|path| {
            let name = profile.functions[path.function].as_str();
            (name, path.own.blocks, path.own.slept_ns)
        });
        assert_eq!(
            slept.collect::<Vec<_>>(),
            [
                ("processes", 0, 0),
                ("vfs_unlink", 0, 700),
                ("schedule", 0, 0),
                ("pick_next", 1, 0),
            ]
        );
    }
}
