//! The figures of each phase from the recorders of model disks: the requests between the marks of
//! the workload. Requests between two phases belong to none.

use crate::durability;
use fsdyno_disk::Recorder;
use fsdyno_disk::record::Interval;
use fsdyno_model::{DiskFigures, Mark, Point, Sample, Warning, WarningKind};

/// Adds the figures of each disk to the samples; `volatile`: the disks have a volatile cache.
pub(crate) fn add(samples: &mut [Sample], recorders: &[Recorder], volatile: bool) {
    for sample in samples {
        let disks = (0..).zip(recorders);
        let figures = disks.filter_map(|(disk, recorder)| of_phase(recorder, sample.phase, disk));
        sample.disks = figures.collect();
        durability::warn_by_disks(sample, volatile);
    }
}

/// The phases of which a disk has all marks, with its figures for each.
pub(crate) fn phases(recorder: &Recorder, disk: u32) -> Vec<(u32, DiskFigures)> {
    let labels = recorder.intervals().iter().map(|one| &one.label);
    let marks = labels.filter_map(|label| Mark::parse(label));
    let ended = marks.filter(|mark| mark.point == Point::Durable);
    ended
        .filter_map(|mark| Some((mark.phase, of_phase(recorder, mark.phase, disk)?)))
        .collect()
}

/// Adds the figures of each disk to its samples, in the order of the disks.
pub(crate) fn assign(samples: &mut [Sample], disks: &[&Vec<(u32, DiskFigures)>], volatile: bool) {
    for sample in samples {
        let reported = disks.iter().copied().flatten();
        let reported = reported.filter(|(phase, _)| *phase == sample.phase);
        sample.disks = reported.map(|(_, figures)| *figures).collect();
        durability::warn_by_disks(sample, volatile);
    }
}

/// The figures of a disk for a phase; none if a mark is missing.
fn of_phase(recorder: &Recorder, phase: u32, disk: u32) -> Option<DiskFigures> {
    let intervals = recorder.intervals();
    // If there were too many marks, the last interval extends beyond its end.
    let known = match recorder.uncounted_marks() {
        0 => intervals.len(),
        _ => intervals.len() - 1,
    };
    let began = |point| -> Option<&Interval> {
        let mark = Mark { phase, point };
        let label = mark.to_string();
        intervals[..known].iter().find(|one| one.label == label)
    };
    began(Point::Durable)?;
    Some(DiskFigures {
        disk,
        to_return: began(Point::Begins)?.did,
        to_durable: began(Point::Returned)?.did,
    })
}

/// The warnings about incomplete traces, one for each such disk.
pub(crate) fn found_warnings(recorders: &[Recorder]) -> impl Iterator<Item = Warning> {
    let disks = recorders.iter().enumerate();
    disks.filter_map(|(disk, recorder)| trace_warning(disk, recorder))
}

/// The warning about the trace of one disk, if it is incomplete.
pub(crate) fn trace_warning(disk: usize, recorder: &Recorder) -> Option<Warning> {
    let write_error = recorder.write_error()?;
    Some(Warning::new(
        WarningKind::Unobserved,
        format!("the record of disk {disk} ends early: {write_error}"),
        "free space in the directory of --disk-trace, and run the cell again",
    ))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use fsdyno_disk::{Disk, Faults, Kind, Memory, Request, profiles};
    use fsdyno_model::Nanos;

    pub(crate) fn sample(phase: u32) -> Sample {
        Sample {
            phase,
            label: "copy".into(),
            kind: "copy".into(),
            engine: "sync".into(),
            return_ns: Nanos(1),
            ..Sample::default()
        }
    }

    #[test]
    fn a_phase_has_the_requests_between_its_marks_only() {
        let profile = fsdyno_disk::Profile::try_from(&profiles::ALL[0]).unwrap();
        let mut disk = Disk::new(&profile, None, Box::new(Memory::new()), Faults::none());
        disk.record(Recorder::figures());
        let mut sector = 0;
        let mut reads = |disk: &mut Disk, count: u64| {
            for _ in 0..count {
                let now = Nanos(0);
                let request = Request::new(0, Kind::Read, sector, 8);
                disk.submit(now, request, |_| ()).unwrap();
                sector += 8;
                while let Some(at) = disk.next_completion() {
                    let _ = disk.complete(at).unwrap();
                }
            }
        };
        let mark = |disk: &mut Disk, phase, point| {
            let text = Mark { phase, point }.to_string();
            disk.mark(Nanos(0), &text).unwrap();
        };
        reads(&mut disk, 100);
        for phase in 0..2 {
            mark(&mut disk, phase, Point::Begins);
            reads(&mut disk, 3 + u64::from(phase));
            mark(&mut disk, phase, Point::Returned);
            reads(&mut disk, 1);
            mark(&mut disk, phase, Point::Durable);
            reads(&mut disk, 50);
        }
        // A phase without its last mark.
        mark(&mut disk, 2, Point::Begins);
        mark(&mut disk, 2, Point::Returned);
        let recorder = disk.take_recorder().unwrap();
        let mut samples = [sample(0), sample(1), sample(2)];
        add(&mut samples, &[recorder], true);
        let counted = |figures: &DiskFigures| {
            let (returned, durable) = (figures.to_return, figures.to_durable);
            (returned.reads.requests, durable.reads.requests)
        };
        let reported = samples.each_ref().map(|of| of.disks.first().map(counted));
        assert_eq!(reported, [Some((3, 1)), Some((4, 1)), None]);
        assert_eq!(samples[1].on_disks().unwrap().reads.bytes, 5 * 4096);
        assert_eq!(samples[1].on_disks().unwrap().seeks, 0);
    }
}
