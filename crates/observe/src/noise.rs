//! Judges what the machine did around a phase: from which amount on it may have changed the figure.
//! The limits are silent on an idle machine; `docs/why.md` lists them.

use fsdyno_model::{Bytes, Observed, Sample, Warning, WarningKind};

/// From which part of the time the hypervisor took a processor, and from which time on: one tick of
/// 10 ms is the resolution of the counter, and below three of them nothing is known.
const STOLEN: (f64, u64) = (0.02, 30_000_000);

/// The fraction of all processors that other programs used, and the least time.
const LOAD: (f64, u64) = (0.05, 50_000_000);

/// From which part of the time another device was busy, and from which time on.
const BUSY: (f64, u64) = (0.1, 100_000_000);

/// The fraction of the time in which all tasks were stalled on memory, and the least time.
const MEMORY: (f64, u64) = (0.1, 100_000_000);

/// Permitted additional traffic of devices below image files, because their own file system also
/// writes.
const BELOW: (u64, Bytes) = (2, Bytes(64 << 20));

/// The warnings about noise during a sample.
pub fn about(sample: &Sample) -> Vec<Warning> {
    let Some(observed) = &sample.observed else {
        return steal(sample).into_iter().collect();
    };
    [
        steal(sample),
        throttled(sample, observed),
        load(sample, observed),
        other_device(sample, observed),
        below(sample, observed),
        memory(sample, observed),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The percentage of a time, where it exceeds its limits.
fn share(elapsed_ns: u64, of_ns: u64, (least, least_ns): (f64, u64)) -> Option<f64> {
    let share = elapsed_ns as f64 / (of_ns as f64).max(1.0);
    (share > least && elapsed_ns >= least_ns).then_some(100.0 * share)
}

fn steal(sample: &Sample) -> Option<Warning> {
    let percent = share(sample.cpu.steal_ns.0, sample.whole_ns().0, STOLEN)?;
    Some(Warning::new(
        WarningKind::Steal,
        format!(
            "{}: the hypervisor took {percent:.0} % of a processor",
            sample.label
        ),
        "use an idle host, or more repeats",
    ))
}

fn throttled(sample: &Sample, observed: &Observed) -> Option<Warning> {
    let times = observed.throttled.filter(|times| *times > 0)?;
    Some(Warning::new(
        WarningKind::Frequency,
        format!(
            "{}: processors were slowed down {times} times for their heat",
            sample.label
        ),
        "let it cool down, or cap the frequency below what it can hold (cpupower frequency-set \
         --max)",
    ))
}

fn load(sample: &Sample, observed: &Observed) -> Option<Warning> {
    let others = observed.others_ns?;
    let all_ns = observed
        .over_ns
        .0
        .saturating_mul(u64::from(observed.processors.max(1)));
    let percent = share(others.0, all_ns, LOAD)?;
    let waited = observed.pressure.map(|of| of.cpu_some_ns.0);
    let waited = waited.and_then(|ns| share(ns, observed.over_ns.0, (0.0, 1)));
    let waited = waited.map_or_else(String::new, |percent| {
        format!(", and tasks waited for one during {percent:.0} % of the time")
    });
    Some(Warning::new(
        WarningKind::BackgroundLoad,
        format!(
            "{}: other programs had {percent:.0} % of the processors{waited}",
            sample.label
        ),
        "end what else runs; where that cannot be, more repeats: those of one block share it",
    ))
}

fn other_device(sample: &Sample, observed: &Observed) -> Option<Warning> {
    let other = observed.other_io.as_ref()?;
    let percent = share(other.busiest_ns.0, observed.over_ns.0, BUSY)?;
    Some(Warning::new(
        WarningKind::BackgroundLoad,
        format!(
            "{}: {}, which is not under test, was busy {percent:.0} % of the time ({} requests \
             at other devices)",
            sample.label, other.busiest, other.requests
        ),
        "end what else uses devices of this machine",
    ))
}

/// Another program uses the disk under the image files.
fn below(sample: &Sample, observed: &Observed) -> Option<Warning> {
    let ours = sample.device?;
    let ours = ours.read_bytes.0 + ours.written_bytes.0 + ours.discarded_bytes.0;
    let below = observed.other_io.as_ref()?.below_bytes?;
    let (times, beyond) = BELOW;
    let bound = ours.saturating_mul(times).saturating_add(beyond.0);
    (below.0 > bound).then(|| {
        Warning::new(
            WarningKind::BackgroundLoad,
            format!(
                "{}: the disk below its image files moved {below}, of which {} can be its own",
                sample.label,
                Bytes(ours)
            ),
            "end what else uses that disk, or choose another with --work-dir or --on",
        )
    })
}

fn memory(sample: &Sample, observed: &Observed) -> Option<Warning> {
    let pressure = observed.pressure?;
    let percent = share(pressure.memory_full_ns.0, observed.over_ns.0, MEMORY)?;
    Some(Warning::new(
        WarningKind::BackgroundLoad,
        format!(
            "{}: all tasks were stalled on memory for {percent:.0} % of the time",
            sample.label
        ),
        "end what else needs memory, or choose a smaller workload",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{DeviceUse, Nanos, OtherIo, Pressure};

    const SECOND: u64 = 1_000_000_000;

    fn sample() -> Sample {
        Sample {
            phase: 0,
            label: "copy".into(),
            kind: "copy".into(),
            engine: "sync".into(),
            return_ns: Nanos(1),
            ..Sample::default()
        }
    }

    /// A second on four processors, on a machine where little else runs.
    fn quiet_machine() -> (Sample, Observed) {
        let mut sample = sample();
        sample.return_ns = Nanos(SECOND);
        sample.durable_ns = None;
        sample.device = Some(DeviceUse {
            written_bytes: Bytes(200 << 20),
            ..DeviceUse::default()
        });
        let observed = Observed {
            over_ns: Nanos(SECOND),
            processors: 4,
            throttled: Some(0),
            pressure: Some(Pressure::from_parts([SECOND / 2, SECOND, SECOND / 2, 0, 0])),
            kernel_threads_ns: Some(Nanos(SECOND)),
            others_ns: Some(Nanos(SECOND / 8)),
            other_io: Some(OtherIo {
                requests: 40,
                bytes: Bytes(1 << 20),
                busiest: "sda".into(),
                busiest_ns: Nanos(SECOND / 20),
                below_bytes: Some(Bytes(230 << 20)),
            }),
            ..Observed::default()
        };
        (sample, observed)
    }

    fn reported(change: impl FnOnce(&mut Sample, &mut Observed)) -> Vec<String> {
        let (mut sample, mut observed) = quiet_machine();
        change(&mut sample, &mut observed);
        sample.observed = Some(observed);
        let reported = about(&sample);
        assert!(reported.iter().all(|one| !one.advice.is_empty()));
        reported.into_iter().map(|one| one.message).collect()
    }

    #[test]
    fn an_idle_machine_has_no_warning_and_each_noise_has_its_own() {
        assert_eq!(reported(|_, _| ()), Vec::<String>::new());
        assert_eq!(
            reported(|_, of| *of = Observed::default()),
            Vec::<String>::new()
        );
        let io = |of: &mut Observed, change: &dyn Fn(&mut OtherIo)| {
            change(of.other_io.as_mut().unwrap());
        };
        for (message, reported) in [
            (
                "the hypervisor took 5 % of a processor",
                reported(|of, _| of.cpu.steal_ns = Nanos(SECOND / 20)),
            ),
            (
                "slowed down 3 times for their heat",
                reported(|_, of| of.throttled = Some(3)),
            ),
            (
                "other programs had 25 % of the processors, and tasks waited for one during 50 %",
                reported(|_, of| of.others_ns = Some(Nanos(SECOND))),
            ),
            (
                "sda, which is not under test, was busy 30 % of the time (40 requests",
                reported(|_, of| io(of, &|io| io.busiest_ns = Nanos(300_000_000))),
            ),
            (
                "below its image files moved 600 MiB, of which 200 MiB can be its own",
                reported(|_, of| io(of, &|io| io.below_bytes = Some(Bytes(600 << 20)))),
            ),
            (
                "all tasks were stalled on memory for 20 % of the time",
                reported(|_, of| {
                    of.pressure.as_mut().unwrap().memory_full_ns = Nanos(SECOND / 5);
                }),
            ),
        ] {
            assert_eq!(reported.len(), 1, "{reported:?}");
            assert!(reported[0].contains(message), "{reported:?}");
        }
    }
}
