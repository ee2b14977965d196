//! The cost of a phase besides time (processors, devices, space), and its amount of work.

use crate::lists::unique;
use crate::terms;
use fsdyno_model::{Bytes, DeviceUse, HardwareEvent, KernelWork, Nanos, Sample, Tally};
use fsdyno_stats::{median, median_whole};

/// Medians over the samples of one contender in one phase. Ratios are computed for each sample
/// first: the ratio of two medians is not the median of the ratios.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// User time of the workers.
    pub user: Nanos,
    /// System time of the workers.
    pub system: Nanos,
    /// Busy time of all processors until durable.
    pub machine_busy: Nanos,
    /// Time stolen by the hypervisor.
    pub steal: Nanos,
    /// Basic blocks that the kernel of its guest executed, if it counts them.
    pub blocks: Option<u64>,
    /// Basic blocks that kernel threads executed.
    pub thread_blocks: Option<u64>,
    /// The time that virtual time advanced for these blocks.
    pub charged: Option<Nanos>,
    /// Hardware events of the workload, in the order of [`HardwareEvent::ALL`], if the processors
    /// count them.
    pub events: [Option<u64>; 4],
    /// Device traffic, if it is observable.
    pub device: Option<DeviceUse>,
    /// Bytes written to the devices per byte of file data, if the phase handled any.
    pub written_per_data: Option<f64>,
    /// Space used per byte of file data, if the phase stored any.
    pub space_per_data: Option<f64>,
    /// Bytes of file data handled.
    pub data: Bytes,
    /// The change of used space, bytes; negative if space was freed.
    pub space: i64,
    /// Whether the phase writes.
    pub writes: bool,
}

impl Cost {
    pub(super) fn of(samples: &[(u32, &Sample)]) -> Option<Self> {
        let middle = |of: &dyn Fn(&Sample) -> u64| median_whole(samples.iter().map(|(_, s)| of(s)));
        let device = |of: fn(&DeviceUse) -> u64| {
            let uses = samples.iter().filter_map(|(_, s)| s.device.as_ref());
            median_whole(uses.map(of))
        };
        let kernel = |of: fn(&KernelWork) -> u64| {
            let works = samples
                .iter()
                .filter_map(|(_, s)| s.whole_kernel_work().map(of));
            median_whole(works)
        };
        let writes = samples.iter().all(|(_, s)| s.durable_ns.is_some());
        Some(Self {
            user: Nanos(middle(&|s| s.cpu.user_ns.0)?),
            system: Nanos(middle(&|s| s.cpu.system_ns.0)?),
            written_per_data: per_data(samples, |s| Some(s.device.as_ref()?.written_bytes.0)),
            space_per_data: per_data(samples, |s| {
                writes.then(|| u64::try_from(space(s)).unwrap_or(0))
            }),
            blocks: kernel(KernelWork::blocks),
            thread_blocks: kernel(|work| work.kthread_blocks),
            charged: kernel(|work| work.charged_ns.0).map(Nanos),
            machine_busy: Nanos(middle(&|s| s.cpu.machine_busy_ns.0)?),
            steal: Nanos(middle(&|s| s.cpu.steal_ns.0)?),
            events: HardwareEvent::ALL
                .map(|event| median_whole(samples.iter().filter_map(|(_, s)| event.of(s)))),
            device: device(|d| d.reads).and_then(|reads| {
                Some(DeviceUse {
                    reads,
                    read_bytes: Bytes(device(|d| d.read_bytes.0)?),
                    writes: device(|d| d.writes)?,
                    written_bytes: Bytes(device(|d| d.written_bytes.0)?),
                    discards: device(|d| d.discards)?,
                    discarded_bytes: Bytes(device(|d| d.discarded_bytes.0)?),
                    flushes: device(|d| d.flushes)?,
                    busy_ns: Nanos(device(|d| d.busy_ns.0)?),
                    waits: None,
                })
            }),
            data: Bytes(middle(&|s| s.tally.bytes.0)?),
            space: median_whole(samples.iter().map(|(_, s)| space(s)))?,
            writes,
        })
    }

    /// Whether the phase stored file data.
    pub fn stores_data(&self) -> bool {
        self.writes && self.data.0 > 0
    }
}

/// The change of used space of a sample, bytes; negative if space was freed.
fn space(sample: &Sample) -> i64 {
    let taken = sample.space_after.0.wrapping_sub(sample.space_before.0);
    taken.cast_signed()
}

/// The median of an amount per byte of file data. `None` if there is no file data.
fn per_data(samples: &[(u32, &Sample)], of: impl Fn(&Sample) -> Option<u64>) -> Option<f64> {
    let ratio = |(_, sample): &(u32, &Sample)| {
        let data = sample.tally.bytes.0;
        Some(of(sample)? as f64 / (data > 0).then_some(data)? as f64)
    };
    let ratios: Vec<f64> = samples.iter().filter_map(ratio).collect();
    median(&ratios).filter(|of| *of > 0.0)
}

/// The methods of these samples, usually one; with the engine if it is not the plan's.
pub(super) fn how(samples: &[Vec<(u32, &Sample)>], planned: &str) -> String {
    let how = samples.iter().flatten().map(|(_, sample)| {
        let engine = if sample.engine == planned {
            ""
        } else {
            &sample.engine
        };
        let parts = [engine, &sample.method].into_iter();
        let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
        terms::printable(&parts.join(", "))
    });
    unique(how.filter(|text| !text.is_empty())).join(" / ")
}

/// The amount of work, from the first sample. It is the same for all with one seed, unless the seed
/// varies.
pub(super) fn amount(samples: &[Vec<(u32, &Sample)>]) -> String {
    let mut all = samples.iter().flatten();
    let Some((first, sample)) = all.next() else {
        return String::new();
    };
    let others = all.any(|(block, other)| block != first && other.tally != sample.tally);
    let tally = sample.tally;
    if tally == Tally::default() {
        // Programs do not report their amount of work.
        return String::new();
    }
    let number = |n: u64, one: &str, many: &str| {
        format!("{} {}", terms::grouped(n), if n == 1 { one } else { many })
    };
    let mut parts = vec![
        number(tally.files, "file", "files"),
        number(tally.directories, "dir", "dirs"),
    ];
    if tally.bytes.0 > 0 {
        parts.push(tally.bytes.to_string());
    }
    if tally.matches > 0 {
        parts.push(number(tally.matches, "match", "matches"));
    }
    let amount = parts.join(", ");
    if others {
        return format!("{amount} (in block {}; others differ)", first + 1);
    }
    amount
}
