//! The time of a phase, split into parts that add up to it.
//!
//! With a model processor, the charge is exact, and one processor computes at a time. The processor
//! is idle only while the workload waits.
//!
//! On a machine, processors and devices work in parallel, and counters report only the total time
//! of each. The time with requests in flight is assigned to the devices only as far as the workers
//! cannot have used processors in it. Time that may belong to either is a separate part. Time of
//! neither is the rest. `docs/why.md` has the formulas.

use crate::processor::{Charge, Processor};
use fsdyno_model::{Nanos, Observed, Sample, Traced, Waits};
use schemars::JsonSchema;
use serde::Serialize;

/// The part of the time that is storage, as text.
pub const STORAGE: &str = "the processor was idle, and the device had requests in flight";

/// A part of the time of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Workers ran their own code.
    User,
    /// The kernel ran for the workers.
    Kernel,
    /// The model processor computed for the workload.
    Charged,
    /// The model processor computed for kernel threads.
    KernelThreads,
    /// The devices served reads, and no worker ran.
    Reads,
    /// The devices served writes, and no worker ran.
    Writes,
    /// The devices served discards, and no worker ran.
    Discards,
    /// The devices served flushes, and no worker ran.
    Flushes,
    /// The devices had requests in flight of an unknown kind.
    Device,
    /// The devices had requests in flight, and workers may have run at the same time.
    Either,
    /// The rest: locks, kernel threads, timers, stolen time; and the devices, if they are unknown.
    Rest,
}

impl Part {
    /// The number of parts.
    pub const COUNT: usize = 11;

    /// All parts, in the order in which they are listed.
    pub const ALL: [Self; Self::COUNT] = [
        Self::User,
        Self::Kernel,
        Self::Charged,
        Self::KernelThreads,
        Self::Reads,
        Self::Writes,
        Self::Discards,
        Self::Flushes,
        Self::Device,
        Self::Either,
        Self::Rest,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "processor, user",
            Self::Kernel => "processor, kernel",
            Self::Charged => "processor, workload",
            Self::KernelThreads => "processor, kernel threads",
            Self::Reads => "device, reads",
            Self::Writes => "device, writes",
            Self::Discards => "device, discards",
            Self::Flushes => "device, flushes",
            Self::Device => "device, kind unknown",
            Self::Either => "device or processor",
            Self::Rest => "rest",
        }
    }

    pub(super) fn place(self) -> usize {
        Self::ALL.iter().position(|part| *part == self).unwrap_or(0)
    }
}

/// The source of the device figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The recorder of model disks: exact.
    Recorder,
    /// The block statistics of the kernel.
    BlockStatistics,
    /// The figures are unknown.
    Unknown,
}

/// The time of one sample with its parts, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Anatomy {
    /// The time of the phase: until it was durable if it writes, else until it had returned.
    pub whole_ns: u64,
    /// Its parts by [`Part::ALL`], which add up to it; none if workers ran at the same time.
    pub parts_ns: Option<[u64; Part::COUNT]>,
    /// Processor time of the workers, user and kernel; none in virtual time, which does not measure
    /// it.
    pub workers_ns: Option<[u64; 2]>,
    /// The charge of a model processor; none without one, and if the kernel did not count its work.
    pub charge: Option<Charge>,
    /// Processor time of the rest of the machine during the phase; none if it was not counted.
    #[serde(rename = "elsewhere_ns")]
    pub other_work_ns: Option<u64>,
    /// Processor time of kernel threads and of processes that serve file systems, a part of
    /// `elsewhere_ns`; none if it was not counted.
    pub kernel_threads_ns: Option<u64>,
    /// Processor time of other programs, a part of `elsewhere_ns`; none if it was not counted.
    pub others_ns: Option<u64>,
    /// Metadata and forced writes among the requests; none without tracepoints.
    pub traced: Option<Traced>,
    /// Time in which devices had requests in flight, summed over them.
    pub busy_ns: Option<u64>,
    /// The time of all requests, by kind.
    pub waits: Option<Waits>,
    /// The source of the device figures.
    pub source: Source,
    /// The busy time that is certainly within the phase, and the request times by which it is
    /// divided.
    #[serde(skip)]
    within: (u64, Option<Waits>),
    /// Processors, and the time beyond the phase in which kernel threads were counted.
    #[serde(skip)]
    around: (u64, u64),
}

impl Anatomy {
    /// Splits the time of a sample on this number of devices.
    pub fn of(sample: &Sample, devices: u32, processor: Processor) -> Self {
        let virtual_time = processor != Processor::Machine;
        let whole_ns = sample.whole_ns().0;
        let workers = [sample.cpu.user_ns.0, sample.cpu.system_ns.0];
        let workers_ns = (!virtual_time).then_some(workers);
        let busy_machine = sample.cpu.machine_busy_ns.0;
        let other_work_ns = (!virtual_time && busy_machine > 0)
            .then(|| busy_machine.saturating_sub(workers[0] + workers[1]));
        let (busy_ns, waits, source) = device(sample);
        let observed = sample.observed.as_ref().filter(|_| !virtual_time);
        let time = |of: fn(&Observed) -> Option<Nanos>| observed.and_then(of).map(|ns| ns.0);
        let mut anatomy = Self {
            whole_ns,
            parts_ns: None,
            workers_ns,
            charge: processor.charge(sample),
            other_work_ns,
            kernel_threads_ns: time(|of| of.kernel_threads_ns),
            others_ns: time(|of| of.others_ns),
            traced: observed.and_then(|of| of.traced),
            busy_ns,
            waits,
            source,
            around: observed.map_or((1, 0), |of| {
                let beyond = of.over_ns.0.saturating_sub(whole_ns);
                (u64::from(of.processors.max(1)), beyond)
            }),
            within: within(sample, busy_ns, waits, source),
        };
        anatomy.parts_ns = anatomy.parts(u64::from(devices.max(1)));
        anatomy
    }

    /// The parts on a model processor. It is idle only while the workload waits for the disk or for
    /// a timer, so that its idle time is that of the device, as far as that was busy.
    fn charged_parts(&self, charge: Charge) -> Option<[u64; Part::COUNT]> {
        let mut parts = [0; Part::COUNT];
        parts[Part::Charged.place()] = charge.workload_ns;
        parts[Part::KernelThreads.place()] = charge.kernel_threads_ns;
        let computed = charge.workload_ns + charge.kernel_threads_ns;
        let idle = self.whole_ns.checked_sub(computed)?;
        let device = self.busy_ns.unwrap_or(0).min(idle);
        self.divide(device, &mut parts);
        parts[Part::Rest.place()] = idle - device;
        Some(parts)
    }

    fn parts(&self, devices: u64) -> Option<[u64; Part::COUNT]> {
        if let Some(charge) = self.charge {
            return self.charged_parts(charge);
        }
        let mut parts = [0; Part::COUNT];
        let [user, kernel] = self.workers_ns.unwrap_or_default();
        let ran = user + kernel;
        let off = self.whole_ns.checked_sub(ran)?;
        (parts[0], parts[1]) = (user, kernel);
        let Some(busy) = self.busy_ns else {
            parts[Part::Rest.place()] = off;
            return Some(parts);
        };
        // For several devices only the sum is known: they may have worked in parallel or in
        // sequence.
        let (least, most) = (self.within.0.div_ceil(devices), busy.min(self.whole_ns));
        let least = least.min(most);
        let certain = least.saturating_sub(ran);
        let possible = most.min(off);
        self.divide(certain, &mut parts);
        parts[Part::Either.place()] = possible - certain;
        parts[Part::Rest.place()] = off - possible;
        Some(parts)
    }

    /// Divides the certain time of the devices in proportion to the waits of each kind of request.
    fn divide(&self, certain: u64, parts: &mut [u64; Part::COUNT]) {
        let Some(waits) = self.within.1.filter(|waits| waits.total() > 0) else {
            parts[Part::Device.place()] = certain;
            return;
        };
        let total = u128::from(waits.total());
        let share = |wait: u64| u128::from(certain) * u128::from(wait) / total;
        let shares = waits
            .parts()
            .map(|wait| u64::try_from(share(wait)).unwrap_or(0));
        let first = Part::Reads.place();
        parts[first..first + shares.len()].copy_from_slice(&shares);
        // The rounding error, at most some nanoseconds, is added to the largest part.
        let left = certain - shares.iter().sum::<u64>();
        if let Some(largest) = parts[first..first + shares.len()].iter_mut().max() {
            *largest += left;
        }
    }

    /// The lower bound of the device time of one kind of request: the certain time minus all time
    /// of the other kinds, as if those never overlapped.
    pub(super) fn least(&self, part: Part) -> u64 {
        let (Some(parts), Some(waits)) = (self.parts_ns, self.within.1) else {
            return 0;
        };
        let first = Part::Reads.place();
        let waits = waits.parts();
        let certain: u64 = parts[first..first + waits.len()].iter().sum();
        let kinds = (first..).zip(waits);
        let others = kinds.filter(|(place, _)| *place != part.place());
        let others: u64 = others.map(|(_, wait)| wait.min(certain)).sum();
        certain.saturating_sub(others)
    }

    /// The lower bound of the rest in which kernel threads ran. It assumes that the other
    /// processors ran only kernel threads while workers or devices worked, and before and after.
    pub(super) fn least_of_kernel_threads(&self) -> u64 {
        let (Some(parts), Some(threads)) = (self.parts_ns, self.kernel_threads_ns) else {
            return 0;
        };
        let (processors, beyond) = self.around;
        let rest = parts[Part::Rest.place()];
        let other = (self.whole_ns - rest).saturating_add(beyond);
        let workers: u64 = self.workers_ns.unwrap_or_default().iter().sum();
        let room = other.saturating_mul(processors).saturating_sub(workers);
        (threads.saturating_sub(room) / processors).min(rest)
    }

    /// The share of all processors used by other programs.
    pub(super) fn load_of_others(&self) -> Option<f64> {
        let (processors, beyond) = self.around;
        let all = self
            .whole_ns
            .saturating_add(beyond)
            .saturating_mul(processors);
        Some(self.others_ns? as f64 / (all as f64).max(1.0))
    }

    /// Time in which only devices worked; `None` if the time could not be split.
    pub fn storage(&self) -> Option<u64> {
        let parts = [
            Part::Reads,
            Part::Writes,
            Part::Discards,
            Part::Flushes,
            Part::Device,
        ];
        self.parts_ns
            .map(|all| parts.iter().map(|part| all[part.place()]).sum())
    }

    /// A part of the time; `None` if the time could not be split.
    pub fn part(&self, part: Part) -> Option<u64> {
        self.parts_ns.map(|parts| parts[part.place()])
    }
}

/// The busy time that is certainly within the phase, and the request times by which it is divided.
/// After a read-only phase, the kernel continues to count while time stamps are written. There,
/// only the busy time minus the time of all other requests is certain, and it is read time.
fn within(
    sample: &Sample,
    busy: Option<u64>,
    waits: Option<Waits>,
    source: Source,
) -> (u64, Option<Waits>) {
    let busy = busy.unwrap_or(0);
    if source != Source::BlockStatistics || sample.durable_ns.is_some() {
        return (busy, waits);
    }
    waits.map_or((0, None), |waits| {
        let reads = Waits::from_parts([waits.reads.0, 0, 0, 0]);
        (
            busy.saturating_sub(waits.total() - reads.total()),
            Some(reads),
        )
    })
}

/// The device counters: busy time, request times by kind, and their source. For a read-only phase,
/// requests after its return are excluded if they can be separated.
fn device(sample: &Sample) -> (Option<u64>, Option<Waits>, Source) {
    let recorded = super::recorded(sample);
    if let Some(did) = recorded.filter(|did| did.busy.is_some()) {
        return (did.busy.map(|Nanos(ns)| ns), did.waits, Source::Recorder);
    }
    match &sample.device {
        Some(device) => (
            device.busy().map(|Nanos(ns)| ns),
            device.waits,
            Source::BlockStatistics,
        ),
        None => (None, None, Source::Unknown),
    }
}
