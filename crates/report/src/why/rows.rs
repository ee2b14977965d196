//! The figures of two samples in two columns, as text: the parts of their time, and the requests to
//! the devices.

use super::parts::{Anatomy, Part};
use super::work::Unit;
use crate::terms;
use crate::terms::grouped;
use fsdyno_model::disk_use::Causes;
use fsdyno_model::{
    Bytes, HardwareEvent, KernelWork, Nanos, Observed, Pressure, Sample, Traced, Waits,
};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// The name of the row of extents.
pub const EXTENTS: &str = "extents per file";

/// One figure of both contenders; none if it is not known.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Row {
    /// The name of the figure.
    pub name: Cow<'static, str>,
    /// The figure of each contender, as text.
    pub texts: [Option<String>; 2],
}

/// The requests of a sample to the devices, from any source.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct DeviceRequests {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
    /// Reads and writes that did not start at the end of the previous request.
    pub seeks: Option<u64>,
    /// Bytes written to the media.
    pub medium_written: Option<u64>,
    pub waits: Option<Waits>,
    /// The causes of the waits on model disks, by name.
    pub causes: Option<Causes>,
}

impl DeviceRequests {
    pub fn of(sample: &Sample) -> Option<Self> {
        if let Some(did) = super::recorded(sample) {
            return Some(Self {
                reads: did.reads.requests,
                read_bytes: did.reads.bytes,
                writes: did.writes.requests,
                written_bytes: did.writes.bytes,
                flushes: did.flushes.requests,
                seeks: Some(did.seeks),
                medium_written: Some(did.work.medium_written),
                waits: did.waits,
                causes: Some(did.causes),
            });
        }
        sample.device.as_ref().map(|device| Self {
            reads: device.reads,
            read_bytes: device.read_bytes.0,
            writes: device.writes,
            written_bytes: device.written_bytes.0,
            flushes: device.flushes,
            seeks: None,
            medium_written: None,
            waits: device.waits,
            causes: None,
        })
    }
}

impl DeviceRequests {
    /// The mean time of a request of that kind.
    pub fn each(&self, kind: Part) -> Option<u64> {
        let waits = self.waits?;
        let (time, requests) = match kind {
            Part::Reads => (waits.reads, self.reads),
            Part::Writes => (waits.writes, self.writes),
            Part::Flushes => (waits.flushes, self.flushes),
            _ => return None,
        };
        time.0.checked_div(requests)
    }
}

/// The names of the fields of [`Causes`], in order.
const WAITED: [&str; 8] = [
    "waited, queue",
    "waited, overhead",
    "waited, seek",
    "waited, rotation",
    "waited, transfer",
    "waited, flush",
    "waited, cache",
    "waited, fault",
];

/// The total waits of requests on model disks by cause, if there are any.
fn waited(samples: [&Sample; 2]) -> Vec<Row> {
    let causes = samples.map(|sample| DeviceRequests::of(sample)?.causes);
    let row = |(at, name): (usize, &'static str)| {
        let ns = causes.map(|of| Some(of?.parts()[at]));
        ns.iter().flatten().any(|ns| *ns > 0).then(|| Row {
            name: name.into(),
            texts: ns.map(|ns| ns.map(|ns| Nanos(ns).to_string())),
        })
    };
    WAITED.into_iter().enumerate().filter_map(row).collect()
}

/// Extents per file, if they were counted.
pub(super) fn extents_per_file(sample: &Sample) -> Option<f64> {
    sample.fragmentation.as_ref()?.per_file()
}

/// The figures that at least one sample has.
pub(super) fn of(samples: [&Sample; 2], anatomies: &[Anatomy; 2]) -> Vec<Row> {
    let time = |ns: u64| Nanos(ns).to_string();
    let both = |name: &'static str, of: &dyn Fn(&Anatomy) -> Option<String>| Row {
        name: name.into(),
        texts: [of(&anatomies[0]), of(&anatomies[1])],
    };
    let mut rows = vec![both("time", &|of| Some(time(of.whole_ns)))];
    for part in Part::ALL {
        let there = anatomies
            .iter()
            .any(|of| of.part(part).is_some_and(|ns| ns > 0));
        if there {
            rows.push(both(part.name(), &|of| {
                let ns = of.part(part)?;
                let percent = 100.0 * ns as f64 / of.whole_ns.max(1) as f64;
                Some(format!("{} ({percent:.0} %)", time(ns)))
            }));
        }
    }
    if anatomies.iter().any(|of| of.parts_ns.is_none()) {
        rows.push(both("workers, user", &|of| {
            of.workers_ns.map(|of| time(of[0]))
        }));
        rows.push(both("workers, kernel", &|of| {
            of.workers_ns.map(|of| time(of[1]))
        }));
    }
    if anatomies.iter().all(|of| of.others_ns.is_none()) {
        rows.push(both("processors elsewhere", &|of| {
            of.other_work_ns.map(time)
        }));
    }
    rows.push(both("kernel threads", &|of| of.kernel_threads_ns.map(time)));
    rows.push(both("other programs", &|of| of.others_ns.map(time)));
    rows.extend(HardwareEvent::ALL.map(|event| Row {
        name: event.name().into(),
        texts: samples.map(|sample| event.of(sample).map(grouped)),
    }));
    rows.extend(counted(samples, anatomies));
    rows.extend(surroundings(samples, anatomies));
    if samples.iter().any(|of| of.cpu.steal_ns.0 > 0) {
        rows.push(Row {
            name: "taken by the hypervisor".into(),
            texts: samples.map(|of| Some(of.cpu.steal_ns.to_string())),
        });
    }
    rows.push(both("device busy", &|of| of.busy_ns.map(time)));
    rows.extend(requests(samples));
    rows.extend(marked(samples, anatomies));
    rows.extend(waited(samples));
    rows.push(Row {
        name: EXTENTS.into(),
        texts: samples.map(|of| extents_per_file(of).map(terms::ratio)),
    });
    rows.retain(|row| row.texts.iter().any(Option::is_some));
    rows
}

/// The work that the kernel counted, if it did.
fn counted(samples: [&Sample; 2], anatomies: &[Anatomy; 2]) -> Vec<Row> {
    let works = samples.map(Sample::whole_kernel_work);
    if works.iter().all(Option::is_none) {
        return Vec::new();
    }
    let units = samples.map(Unit::of);
    let row = |name: Cow<'static, str>, of: &dyn Fn(usize, &KernelWork) -> Option<String>| Row {
        name,
        texts: [0, 1].map(|at| of(at, works[at]?)),
    };
    let size = |bytes: Bytes| Some(bytes.to_string());
    let mut rows = vec![row("kernel blocks".into(), &|_, work| {
        Some(grouped(work.blocks()))
    })];
    if let Some(name) = units[0].row().filter(|_| units[0].row() == units[1].row()) {
        rows.push(row(name.into(), &|at, work| {
            Some(units[at].divide(work.blocks()))
        }));
    }
    rows.extend([
        row("kernel blocks of threads".into(), &|_, work| {
            Some(super::work::threads(work))
        }),
        row("system calls".into(), &|_, work| {
            Some(grouped(work.system_calls))
        }),
        row("copied".into(), &|_, work| size(work.copied)),
        row("cleared".into(), &|_, work| size(work.cleared)),
        row("checksummed (CRC-32C)".into(), &|_, work| {
            size(work.checksummed)
        }),
        row("copies, clears, checksums".into(), &|at, _| {
            let share = super::work::bytes(anatomies[at].charge.as_ref())?;
            Some(format!("{share} of the charge"))
        }),
    ]);
    rows
}

/// Other activity of the machine, if it was observed.
fn surroundings(samples: [&Sample; 2], anatomies: &[Anatomy; 2]) -> Vec<Row> {
    let row = |name: &'static str, of: &dyn Fn(&Observed) -> Option<String>| Row {
        name: name.into(),
        texts: samples.map(|sample| of(sample.observed.as_ref()?)),
    };
    if anatomies.iter().all(|of| of.workers_ns.is_none()) {
        return Vec::new();
    }
    let waited = |name: &'static str, of: fn(&Pressure) -> Nanos| {
        row(name, &|observed| {
            let ns = of(&observed.pressure?);
            let percent = 100.0 * ns.0 as f64 / observed.over_ns.0.max(1) as f64;
            Some(format!("{ns} ({percent:.0} %)"))
        })
    };
    let gigahertz = |khz: u64| format!("{:.2} GHz", khz as f64 / 1e6);
    vec![
        waited("some waited, processor", |of| of.cpu_some_ns),
        waited("some waited, device", |of| of.io_some_ns),
        waited("some waited, memory", |of| of.memory_some_ns),
        row("processor frequency", &|of| {
            of.frequency.map(|of| gigahertz(of.mean_khz))
        }),
        row("other devices, busy", &|of| {
            let other = of.other_io.as_ref()?;
            (!other.busiest.is_empty()).then(|| {
                format!(
                    "{} ({})",
                    other.busiest_ns,
                    terms::printable(&other.busiest)
                )
            })
        }),
    ]
}

/// Metadata and forced writes, from tracepoints.
fn marked(samples: [&Sample; 2], anatomies: &[Anatomy; 2]) -> Vec<Row> {
    let row = |name: &'static str, of: &dyn Fn(&Traced, DeviceRequests) -> String| Row {
        name: name.into(),
        texts: [0, 1].map(|at| {
            let traced = anatomies[at].traced?;
            Some(of(
                &traced,
                DeviceRequests::of(samples[at]).unwrap_or_default(),
            ))
        }),
    };
    let part = |bytes: Bytes, all: u64| {
        // Requested bytes do not always reach the device.
        if all == 0 || bytes.0 > all {
            return bytes.to_string();
        }
        format!("{bytes} ({:.0} %)", 100.0 * bytes.0 as f64 / all as f64)
    };
    vec![
        row("metadata reads", &|of, _| grouped(of.metadata_reads)),
        row("metadata read", &|of, requests| {
            part(of.metadata_read_bytes, requests.read_bytes)
        }),
        row("metadata writes", &|of, _| grouped(of.metadata_writes)),
        row("metadata written", &|of, requests| {
            part(of.metadata_written_bytes, requests.written_bytes)
        }),
        row("forced writes (FUA)", &|of, _| grouped(of.forced_writes)),
        row("flushes requested", &|of, _| grouped(of.flushes)),
    ]
}

fn requests(samples: [&Sample; 2]) -> Vec<Row> {
    let row = |name: &'static str, of: &dyn Fn(&Sample, DeviceRequests) -> Option<String>| Row {
        name: name.into(),
        texts: samples.map(|sample| of(sample, DeviceRequests::of(sample)?)),
    };
    let size = |bytes: u64| Bytes(bytes).to_string();
    let time = |ns: u64| Nanos(ns).to_string();
    let stored =
        |of: &Sample| (of.durable_ns.is_some() && of.tally.bytes.0 > 0).then_some(of.tally.bytes.0);
    let read =
        |of: &Sample| (of.durable_ns.is_none() && of.tally.bytes.0 > 0).then_some(of.tally.bytes.0);
    let times = |of: u64, data: u64| format!("{}x", terms::ratio(of as f64 / data as f64));
    vec![
        row("reads", &|_, of| Some(grouped(of.reads))),
        row("size of a read", &|_, of| {
            of.read_bytes.checked_div(of.reads).map(size)
        }),
        row("read", &|_, of| Some(size(of.read_bytes))),
        row("read for the data", &|sample, of| {
            Some(times(of.read_bytes, read(sample)?))
        }),
        row("time of a read", &|_, of| of.each(Part::Reads).map(time)),
        row("writes", &|_, of| Some(grouped(of.writes))),
        row("size of a write", &|_, of| {
            of.written_bytes.checked_div(of.writes).map(size)
        }),
        row("time of a write", &|_, of| of.each(Part::Writes).map(time)),
        row("written", &|_, of| Some(size(of.written_bytes))),
        row("written for the data", &|sample, of| {
            Some(times(of.written_bytes, stored(sample)?))
        }),
        row("on media", &|_, of| of.medium_written.map(size)),
        row("flushes", &|_, of| Some(grouped(of.flushes))),
        row("time of a flush", &|_, of| of.each(Part::Flushes).map(time)),
        row("seeks", &|_, of| of.seeks.map(grouped)),
    ]
}
