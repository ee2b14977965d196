//! Counts samples by call stack, and makes a profile of them.

use super::HERTZ;
use super::code::{Code, Mappings, Names};
use super::events::{Event, What};
use super::processes::{Kind, Processes};
use super::symbols::Symbols;
use fsdyno_model::profile::{CallPath, PathWork, Profile, Sampling};
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::time::Duration;

/// The idle process.
const IDLE: u32 = 0;

/// How a process or a kernel thread comes to its work: in no path, as in exact profiles.
const WAY_IN: [&str; 12] = [
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "x64_sys_call",
    "ret_from_fork_asm",
    "ret_from_fork",
    "kthread",
    "el0t_64_sync",
    "el0t_64_sync_handler",
    "el0_svc",
    "do_el0_svc",
    "el0_svc_common",
    "invoke_syscall",
];

/// How the names of functions begin that are called by an interrupt of a device.
const INTERRUPTS: [&str; 4] = [
    "asm_sysvec_",
    "asm_common_interrupt",
    "el1h_64_irq",
    "el0t_64_irq",
];

/// Samples by the stack of the kernel.
#[derive(Debug)]
pub struct Tally {
    /// Events that were read, and are not counted yet.
    pub read: Vec<Event>,
    processes: Processes,
    code: Mappings,
    stacks: HashMap<Stack, u64>,
    /// Samples of programs that are not of the phase.
    others: u64,
    /// Samples of the thread that reads the rings.
    of_profiler: u64,
    /// That thread.
    pub profiler: u32,
    pub lost: u64,
    /// When a processor was throttled, by the number of its ring.
    throttled: HashMap<u64, u64>,
}

/// Who executes, and the addresses of the functions, the last called one first.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Stack {
    executor: Executor,
    /// In the kernel.
    addresses: Box<[u64]>,
    /// In the program, outside of the kernel.
    code: Box<[Code]>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Executor {
    /// A process in the kernel.
    Process,
    /// A program outside of the kernel.
    UserCode(String),
    KernelThread,
    Idle,
}

impl Tally {
    pub fn new(processes: Processes, code: Mappings) -> Self {
        Self {
            read: Vec::new(),
            processes,
            code,
            stacks: HashMap::new(),
            others: 0,
            of_profiler: 0,
            profiler: u32::MAX,
            lost: 0,
            throttled: HashMap::new(),
        }
    }

    /// Counts the events before `until`, of the monotonic clock. A process begins, gets its name and works
    /// on any processor: the events of all rings are counted in the order of their times.
    pub fn count(&mut self, until: Duration) {
        self.read.sort_by_key(|event| event.at);
        let is_before = |event: &Event| Duration::from_nanos(event.at) < until;
        let ready = self.read.partition_point(is_before);
        let waiting = self.read.split_off(ready);
        for event in mem::replace(&mut self.read, waiting) {
            self.add(event);
        }
    }

    fn add(&mut self, event: Event) {
        match event.what {
            What::Begins { process, parent } => {
                self.processes.begin(process, parent);
                self.code.begin(process, parent);
            }
            What::Name {
                process,
                name,
                executes,
            } => {
                self.processes.name(process, name);
                if executes {
                    self.code.execute(process);
                }
            }
            What::Maps { process, mapping } => {
                if self.processes.kind(process) == Kind::OfPhase {
                    self.code.map(process, mapping);
                }
            }
            What::Lost(records) => self.lost += records,
            What::Throttled(ring) => {
                self.throttled.insert(ring, event.at);
            }
            What::Unthrottled(ring) => {
                if let Some(since) = self.throttled.remove(&ring) {
                    let time = u128::from(event.at.saturating_sub(since));
                    let lost = time * u128::from(HERTZ) / 1_000_000_000;
                    self.lost += u64::try_from(lost).unwrap_or(u64::MAX);
                }
            }
            What::Sample {
                process,
                thread,
                kernel,
                user,
            } => self.sample((process, thread), kernel, &user),
        }
    }

    fn sample(&mut self, (process, thread): (u32, u32), addresses: Box<[u64]>, user: &[u64]) {
        if thread == self.profiler {
            self.of_profiler += 1;
            return;
        }
        let executor = match self.processes.kind(process) {
            _ if process == IDLE => Executor::Idle,
            Kind::KernelThread => Executor::KernelThread,
            Kind::OfPhase if addresses.is_empty() => {
                Executor::UserCode(self.processes.name_of(process).to_owned())
            }
            Kind::OfPhase => Executor::Process,
            Kind::Other => {
                self.others += 1;
                return;
            }
        };
        let code = match executor {
            Executor::UserCode(_) => self.code.code(process, user),
            _ => Box::default(),
        };
        let stack = Stack {
            executor,
            addresses,
            code,
        };
        *self.stacks.entry(stack).or_default() += 1;
    }

    /// The profile, without its times.
    pub fn profile(&self, symbols: &Symbols) -> Profile {
        // Equal samples give an equal profile.
        let mut sums: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        let mut names = Names::of(&self.code);
        for (stack, samples) in &self.stacks {
            if let Some(path) = path(stack, symbols, &mut names) {
                *sums.entry(path).or_default() += samples;
            }
        }
        let mut tree = Tree::default();
        for (path, samples) in sums {
            tree.add(path, samples);
        }
        let mut profile = tree.profile;
        profile.lost = self.lost;
        profile.sampled = Some(Sampling {
            others: self.others,
            profiler: self.of_profiler,
            ..Sampling::default()
        });
        profile
    }
}

/// The names of a call path, from who executes. None for an idle processor.
fn path(stack: &Stack, symbols: &Symbols, code: &mut Names<'_>) -> Option<Vec<String>> {
    let addresses = stack.addresses.iter().enumerate();
    // An address of a caller is that after its call, which may be of the next function.
    let names = addresses.map(|(at, address)| symbols.name(address - u64::from(at > 0)));
    let names: Vec<&str> = names.rev().collect();
    let is_interrupt = |name: &&str| INTERRUPTS.iter().any(|start| name.starts_with(start));
    let [processes, kernel_threads, interrupts] = [0, 1, 2].map(|at| Profile::EXECUTORS[at]);
    let (executor, names) = match (names.iter().position(is_interrupt), &stack.executor) {
        (Some(at), _) => (interrupts, &names[at..]),
        (None, Executor::Idle) => return None,
        (None, Executor::KernelThread) => (kernel_threads, &names[..]),
        (None, Executor::Process) => (processes, &names[..]),
        (None, Executor::UserCode(program)) => {
            let program = program.replace(|c: char| c.is_control() || c == ';', "?");
            let path = [processes.to_owned(), format!("user code of {program}")];
            let called = code.path(&stack.code).into_iter().rev();
            return Some(path.into_iter().chain(called).collect());
        }
    };
    let work = names.iter().filter(|name| !WAY_IN.contains(*name));
    let path = [executor].into_iter().chain(work.copied());
    Some(path.map(str::to_owned).collect())
}

/// A profile that grows.
#[derive(Default)]
struct Tree {
    profile: Profile,
    functions: HashMap<String, usize>,
    children: HashMap<(Option<usize>, usize), usize>,
}

impl Tree {
    fn add(&mut self, path: Vec<String>, samples: u64) {
        let profile = &mut self.profile;
        let mut caller = None;
        for name in path {
            let function = *self.functions.entry(name).or_insert_with_key(|name| {
                profile.functions.push(name.clone());
                profile.sources.push(String::new());
                profile.functions.len() - 1
            });
            caller = Some(*self.children.entry((caller, function)).or_insert_with(|| {
                profile.paths.push(CallPath {
                    caller,
                    function,
                    own: PathWork::default(),
                });
                profile.paths.len() - 1
            }));
        }
        if let Some(last) = caller {
            profile.paths[last].own.samples += samples;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::event;
    use super::super::{new_processes, sampler};
    use super::*;
    use perf_event::data::parse::ParseConfig;

    /// When a record was written that has no other time in it.
    const WRITTEN: u64 = 100;

    const SAMPLE: u32 = 9;
    const FORK: u32 = 7;
    const COMM: u32 = 3;
    const MMAP2: u32 = 10;
    const LOST: u32 = 2;

    const SYMBOLS: &str = "\
1000 T do_syscall_64
2000 T vfs_unlink
3000 t a_unlink
4000 T asm_sysvec_call
5000 T handle_softirqs
6000 T kthread
7000 T worker
8000 T idle
";

    /// A record as the kernel writes it, after its header.
    type Written = (u32, Vec<u8>);

    fn record(kind: u32, body: &[&[u8]]) -> Written {
        (kind, body.concat())
    }

    fn sample(process: u32, thread: u32, stack: &[u64]) -> Written {
        let mut body = [process.to_ne_bytes(), thread.to_ne_bytes()].concat();
        body.extend(WRITTEN.to_ne_bytes());
        body.extend((stack.len() as u64).to_ne_bytes());
        body.extend(stack.iter().flat_map(|address| address.to_ne_bytes()));
        record(SAMPLE, &[&body, &0_u64.to_ne_bytes()])
    }

    fn add(tally: &mut Tally, (kind, body): &Written) {
        let attributes = match *kind {
            FORK | COMM | MMAP2 => *new_processes(0).attrs(),
            _ => *sampler(0).attrs(),
        };
        let config = ParseConfig::from(attributes);
        let event = event((*kind, 0), body, config).unwrap().unwrap();
        tally.read.push(event);
    }

    fn paths(profile: &Profile) -> Vec<(String, u64)> {
        let mut names: Vec<String> = Vec::new();
        let mut found = Vec::new();
        for path in &profile.paths {
            let name = &profile.functions[path.function];
            let name = match path.caller {
                Some(caller) => format!("{};{name}", names[caller]),
                None => name.clone(),
            };
            if path.own.samples > 0 {
                found.push((name.clone(), path.own.samples));
            }
            names.push(name);
        }
        found
    }

    #[test]
    fn samples_are_counted_by_who_executes_and_by_call_path() {
        let known = Processes::of(40, vec![(40, 1, "fsdyno".to_owned())]);
        let mut tally = Tally::new(known, Mappings::default());
        tally.profiler = 44;
        let word = |number: u32| number.to_ne_bytes();
        let written = WRITTEN.to_ne_bytes();
        let fork = |pid: u32, ppid: u32| {
            let ids = [pid, ppid, pid, ppid].map(word).concat();
            record(FORK, &[&ids, &(WRITTEN - 2).to_ne_bytes(), &written])
        };
        let kernel = (-128_i64).cast_unsigned();
        tally.processes.begin(30, 2);
        let name = [&word(41)[..], &word(41), b"cp\0\0\0\0\0\0"].concat();
        let named = (WRITTEN - 1).to_ne_bytes();
        add(&mut tally, &record(COMM, &[&name, &named]));
        // The ring of another processor is read later.
        add(&mut tally, &fork(41, 40));
        // The last instruction of vfs_unlink is the call.
        let unlink = [kernel, 0x3004, 0x3000, 0x1010];
        add(&mut tally, &sample(41, 41, &unlink));
        add(&mut tally, &sample(40, 43, &unlink));
        // The program has code of a file that is not there; the second caller is in no file.
        let user = (-512_i64).cast_unsigned();
        let ids = [word(41), word(41)].concat();
        let range = [0x5000_u64, 0x1000, 0x2000].map(u64::to_ne_bytes).concat();
        let inode = [[0; 8], 7_u64.to_ne_bytes(), [0; 8], [0; 8]].concat();
        let mapped = [&ids[..], &range, &inode, b"/nowhere/a;b\0\0\0\0", &named].concat();
        add(&mut tally, &record(MMAP2, &[&mapped]));
        add(
            &mut tally,
            &sample(41, 41, &[user, 0x5010, 0x5020, 0x9000, 0x5030]),
        );
        add(&mut tally, &sample(30, 30, &[kernel, 0x7001, 0x6001]));
        let interrupted = [kernel, 0x5001, 0x4001, 0x3010, 0x2001];
        add(&mut tally, &sample(41, 41, &interrupted));
        add(&mut tally, &sample(0, 0, &[kernel, 0x5001, 0x4001, 0x8001]));
        add(&mut tally, &sample(0, 0, &[kernel, 0x8001]));
        add(&mut tally, &sample(50, 50, &unlink));
        add(&mut tally, &sample(40, 44, &unlink));
        let lost = 7_u64.to_ne_bytes();
        add(
            &mut tally,
            &record(LOST, &[&[0; 8], &lost, &[0; 8], &written]),
        );
        tally.count(Duration::from_nanos(WRITTEN));
        assert_eq!(tally.others, 0);
        tally.count(Duration::from_nanos(WRITTEN + 1));
        let symbols = Symbols::parse(SYMBOLS).unwrap();
        let profile = tally.profile(&symbols);
        let expected = [
            ("interrupts;asm_sysvec_call;handle_softirqs", 2),
            ("kernel threads;worker", 1),
            ("processes;user code of cp;a?b+0x201f;a?b+0x2010", 1),
            ("processes;vfs_unlink;a_unlink", 2),
        ];
        assert_eq!(paths(&profile), expected.map(|(a, b)| (a.to_owned(), b)));
        assert_eq!((profile.samples(), profile.lost), (6, 7));
        let sampled = profile.sampled.unwrap();
        assert_eq!((sampled.others, sampled.profiler), (1, 1));
        profile.check().unwrap();
    }

    #[test]
    fn the_time_in_which_a_processor_was_throttled_is_lost() {
        let mut tally = Tally::new(Processes::default(), Mappings::default());
        let throttle = |kind: u32, time: u64| {
            let body = [time, 5, 5].map(u64::to_ne_bytes).concat();
            record(kind, &[&body, &[0; 8], &time.to_ne_bytes()])
        };
        add(&mut tally, &throttle(5, 1_000_000_000));
        add(&mut tally, &throttle(6, 2_000_000_000));
        tally.count(Duration::MAX);
        assert_eq!(tally.lost, u64::from(HERTZ));
    }

    #[test]
    fn a_name_of_a_program_cannot_break_a_path() {
        let stack = Stack {
            executor: Executor::UserCode("a;b\n".to_owned()),
            addresses: Box::default(),
            code: Box::default(),
        };
        let mappings = Mappings::default();
        let symbols = Symbols::parse(SYMBOLS).unwrap();
        let path = path(&stack, &symbols, &mut Names::of(&mappings)).unwrap();
        assert_eq!(path[1], "user code of a?b?");
    }
}
