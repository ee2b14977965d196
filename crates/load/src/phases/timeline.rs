//! The timeline of a worker: the latency of each operation, and the number of completed operations
//! over time. One reading of the clock per operation gives both; everything is preallocated. A
//! [`Recording`] is a timeline with all its classes, which other processes can merge.

use super::latency::Latencies;
use crate::clock;
use fsdyno_model::sample::{Figure, Tally};
use fsdyno_model::timeline::{LatencyDistribution, Progress, Slice};
use fsdyno_model::units::Nanos;
use serde::{Deserialize, Serialize};

/// The maximum number of slices.
const SLICES: usize = 128;
/// The initial width of a slice, as a power of two of nanoseconds: 65 us.
const NARROWEST: u32 = 16;

/// Progress over time: slices, whose width doubles when there is no space for another.
#[derive(Debug, Clone)]
pub(crate) struct Slices {
    all: Box<[Slice; SLICES]>,
    /// The start of the phase.
    origin: u64,
    /// The current slice, and its end.
    at: usize,
    end: u64,
    /// The width of each slice, as a power of two of nanoseconds.
    width: u32,
}

impl Slices {
    /// Empty progress.
    fn new() -> Self {
        Self {
            all: Box::new([Slice::default(); SLICES]),
            origin: 0,
            at: 0,
            end: 0,
            width: NARROWEST,
        }
    }

    /// Sets the start of the phase.
    fn begin(&mut self, origin: u64) {
        self.origin = origin;
        self.at = 0;
        self.end = origin + (1 << self.width);
    }

    /// Records that an operation ended now.
    #[inline]
    fn add(&mut self, now: u64, bytes: u64) {
        if now >= self.end {
            self.turn(now);
        }
        let slice = &mut self.all[self.at];
        slice.operations += 1;
        slice.bytes.0 += bytes;
    }

    /// Advances to the slice of this moment; doubles the width of slices as needed.
    #[cold]
    fn turn(&mut self, now: u64) {
        let since = now - self.origin;
        while since >> self.width >= SLICES as u64 {
            self.widen();
        }
        self.at = usize::try_from(since >> self.width).unwrap_or(SLICES - 1);
        self.end = self.origin + ((self.at as u64 + 1) << self.width);
    }

    /// Merges pairs of slices.
    fn widen(&mut self) {
        for at in 0..SLICES / 2 {
            let mut both = self.all[2 * at];
            both.add(&self.all[2 * at + 1]);
            self.all[at] = both;
        }
        self.all[SLICES / 2..].fill(Slice::default());
        self.width += 1;
    }

    /// Adds the progress of another worker in the same phase.
    fn join(&mut self, other: &Self) {
        let mut other = other.clone();
        while self.width < other.width {
            self.widen();
        }
        while other.width < self.width {
            other.widen();
        }
        for (slice, of_other) in self.all.iter_mut().zip(&*other.all) {
            slice.add(of_other);
        }
    }

    /// All slices from the start until the work had returned, this time later.
    fn summary(&self, returned: Nanos) -> Progress {
        let mut whole = self.clone();
        while returned.0 >> whole.width >= SLICES as u64 {
            whole.widen();
        }
        let done = |slice: &Slice| *slice != Slice::default();
        let last = whole.all.iter().rposition(done).unwrap_or(0);
        // Slices without completed operations are part of the progress, up to its end.
        let end = usize::try_from(returned.0.saturating_sub(1) >> whole.width).unwrap_or(0);
        Progress {
            slice_ns: Nanos(1 << whole.width),
            slices: whole.all[..=last.max(end)].to_vec(),
        }
    }
}

/// A timeline as numbers, for transfer between processes.
pub(crate) type Parts = (LatencyDistribution, u32, Vec<Slice>);

#[derive(Debug)]
pub(crate) struct TimelineRecorder {
    pub latencies: Latencies,
    slices: Slices,
    /// Whether it is recorded; otherwise the clock is not read.
    followed: bool,
    /// Whether slices are also recorded.
    sliced: bool,
    /// The recorded part of a tally.
    files: u64,
    bytes: u64,
}

impl TimelineRecorder {
    /// A timeline that records nothing until it begins.
    pub fn new() -> Self {
        Self {
            latencies: Latencies::new(),
            slices: Slices::new(),
            followed: false,
            sliced: true,
            files: 0,
            bytes: 0,
        }
    }

    /// Begins the phase now. Returns the time.
    pub fn begin(&mut self) -> u64 {
        let now = clock::now();
        self.begin_at(now);
        now
    }

    /// Sets the start of the phase, for all workers and its first operation.
    pub fn begin_at(&mut self, origin: u64) {
        self.followed = true;
        self.slices.begin(origin);
        self.latencies.began_at(origin);
        (self.files, self.bytes) = (0, 0);
    }

    /// Begins another round of the phase, whose tally counts from zero.
    pub fn begin_round(&mut self) {
        self.resume();
        (self.files, self.bytes) = (0, 0);
    }

    /// Repeats the phase: slices are only recorded in the first pass.
    pub fn repeat(&mut self) {
        self.sliced = false;
    }

    /// Excludes the time since the last operation from the next one.
    #[inline]
    pub fn resume(&mut self) {
        if self.followed {
            self.latencies.begin();
        }
    }

    /// Records that an operation with this number of bytes ends now and the next begins.
    #[inline]
    pub fn next(&mut self, bytes: u64) {
        let now = self.latencies.next();
        self.progress(now, bytes);
    }

    /// Records that an operation ended at this time with this latency; others are in flight.
    #[inline]
    pub fn ended(&mut self, now: u64, duration: u64, bytes: u64) {
        self.latencies.add_one(duration);
        self.progress(now, bytes);
    }

    #[inline]
    fn progress(&mut self, now: u64, bytes: u64) {
        if self.sliced {
            self.slices.add(now, bytes);
        }
    }

    /// Records that an operation ends now if this tally has one file more than before.
    #[inline]
    pub fn follow(&mut self, tally: &Tally) {
        if !self.followed || tally.files == self.files {
            return;
        }
        let bytes = tally.bytes.0 - self.bytes;
        (self.files, self.bytes) = (tally.files, tally.bytes.0);
        self.next(bytes);
    }

    /// The reported values as numbers: latencies, slice width, and slices.
    pub fn to_parts(&self) -> Parts {
        let slices = &self.slices;
        let latencies = self.latencies.distribution("").unwrap_or_default();
        (latencies, slices.width, slices.all.to_vec())
    }

    /// Restores a timeline from these numbers.
    pub fn of_parts((latencies, width, slices): Parts) -> Self {
        let mut timeline = Self::new();
        timeline.latencies.add_all(&latencies);
        timeline.slices.width = width;
        for (slice, summary) in timeline.slices.all.iter_mut().zip(slices) {
            *slice = summary;
        }
        timeline.followed = true;
        timeline
    }

    /// Adds the timeline of another worker in the same phase.
    pub fn join(&mut self, other: &Self) {
        self.latencies.add(&other.latencies);
        self.slices.join(&other.slices);
        self.followed |= other.followed;
    }

    /// The combined timeline of all workers.
    pub fn joined<'a>(workers: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::new();
        workers.into_iter().for_each(|worker| all.join(worker));
        all
    }

    /// The summary of a phase with this time to return and these operations.
    pub fn summary(&self, operation: &str, returned: Nanos) -> TimelineSummary {
        let latencies = self.latencies.distribution(operation);
        TimelineSummary {
            recording: latencies.is_some().then(|| Recording {
                operation: operation.to_owned(),
                parts: self.to_parts(),
            }),
            progress: latencies.is_some().then(|| self.slices.summary(returned)),
            latencies: latencies.into_iter().collect(),
        }
    }
}

/// The timeline of a phase, and its latencies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TimelineSummary {
    pub latencies: Vec<LatencyDistribution>,
    pub progress: Option<Progress>,
    pub recording: Option<Recording>,
}

/// The timeline of all workers of a process in one phase, with every class of its histogram.
///
/// Merged recordings have the same classes, counts, sum, minimum and maximum as one recording of
/// all operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recording {
    operation: String,
    parts: Parts,
}

/// Merged recordings of one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub latencies: LatencyDistribution,
    /// Percentiles of the latencies.
    pub figures: Vec<Figure>,
    /// The progress, in slices from the start of each process.
    pub progress: Progress,
}

impl Recording {
    /// A recording of these latencies, for processes that are simulated.
    pub fn of(operation: &str, latencies: impl IntoIterator<Item = u64>) -> Self {
        let mut timeline = TimelineRecorder::new();
        timeline.begin_at(0);
        let mut now = 0;
        for latency in latencies {
            now += latency;
            timeline.ended(now, latency, 0);
        }
        Self {
            operation: operation.to_owned(),
            parts: timeline.to_parts(),
        }
    }

    pub fn operations(&self) -> u64 {
        self.parts.0.count
    }

    /// Merges the recordings of processes that ran the same phase, which took this long for all of
    /// them; none without operations.
    pub fn merge<'a>(all: impl IntoIterator<Item = &'a Self>, returned: Nanos) -> Option<Merged> {
        let mut all = all.into_iter().peekable();
        let operation = all.peek()?.operation.clone();
        let mut whole = TimelineRecorder::new();
        for one in all {
            whole.join(&TimelineRecorder::of_parts(one.parts.clone()));
        }
        Some(Merged {
            latencies: whole.latencies.distribution(&operation)?,
            figures: whole.latencies.figures(),
            progress: whole.slices.summary(returned),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::units::Bytes;
    use proptest::prelude::*;

    fn done(operations: u64, bytes: u64) -> Slice {
        let bytes = Bytes(bytes);
        Slice { operations, bytes }
    }

    #[test]
    fn slices_are_merged_without_loss() {
        let mut slices = Slices::new();
        slices.begin(5);
        let first = 1 << NARROWEST;
        for moment in [5, 4 + first, 5 + first, 5 + 127 * first] {
            slices.add(moment, 10);
        }
        assert_eq!((slices.all[0], slices.all[1]), (done(2, 20), done(1, 10)));
        assert_eq!((slices.all[127], slices.width), (done(1, 10), NARROWEST));
        slices.add(5 + 128 * first, 1);
        assert_eq!((slices.all[0], slices.width), (done(3, 30), NARROWEST + 1));
        assert_eq!((slices.all[63], slices.all[64]), (done(1, 10), done(1, 1)));
        // A stall of one hour: the width grows at once.
        slices.add(5 + 3_600_000_000_000, 7);
        let summary = slices.summary(Nanos(3_600_000_000_001));
        assert_eq!(summary.whole(), done(6, 48));
        assert!(summary.slices.len() > SLICES / 2 && summary.slices.len() <= SLICES);
        assert_eq!(summary.slices[0], done(5, 41));
    }

    #[test]
    fn slices_extend_to_the_end_of_the_phase() {
        let mut slices = Slices::new();
        slices.begin(1000);
        slices.add(1001, 0);
        let summary = slices.summary(Nanos(10 << NARROWEST));
        assert_eq!(
            (summary.slices.len(), summary.slice_ns),
            (10, Nanos(1 << NARROWEST))
        );
        assert_eq!(slices.summary(Nanos(1)).slices.len(), 1);
        let summary = slices.summary(Nanos(1 << 40));
        assert!(summary.slices.len() * usize::try_from(summary.slice_ns.0).unwrap() >= 1 << 40);
        assert!(summary.slices.len() <= SLICES);
    }

    #[test]
    fn merged_recordings_of_100_processes_equal_one_of_all_operations() {
        let seed = fsdyno_datasets::seed::Seed::new(7);
        // From 1 ns to about 70 minutes, which is more than the histogram distinguishes.
        let latency = |process: u64, at: u64| {
            let draw = seed.at(process << 32 | at);
            1 + (draw.below(1 << 42) >> draw.part("shift").below(42))
        };
        let operations = |process: u64| 0..process * 7 % 50;
        let recordings = (0..100).map(|process| {
            let all = operations(process).map(|at| latency(process, at));
            let text = serde_json::to_string(&Recording::of("create", all)).unwrap();
            serde_json::from_str(&text).unwrap()
        });
        let recordings: Vec<Recording> = recordings.collect();
        let all: Vec<u64> = (0..100)
            .flat_map(|process| operations(process).map(move |at| latency(process, at)))
            .collect();
        let merged = Recording::merge(&recordings, Nanos(1)).unwrap();
        let whole = Recording::of("create", all.iter().copied());
        let whole = Recording::merge([&whole], Nanos(1)).unwrap();
        assert_eq!(merged.latencies, whole.latencies);
        assert_eq!(merged.figures, whole.figures);
        let latencies = merged.latencies;
        assert_eq!(latencies.count, all.len() as u64);
        assert_eq!(latencies.sum_ns, all.iter().sum::<u64>());
        assert_eq!(latencies.min_ns, *all.iter().min().unwrap());
        assert_eq!(latencies.max_ns, *all.iter().max().unwrap());
        assert_eq!(merged.progress.whole().operations, all.len() as u64);
    }

    #[test]
    fn nothing_is_merged_without_operations() {
        assert_eq!(Recording::merge([], Nanos(1)), None);
        let empty = Recording::of("create", []);
        assert_eq!(Recording::merge([&empty], Nanos(1)), None);
    }

    proptest! {
        #[test]
        fn all_that_was_done_is_in_the_slices_of_its_time(
            steps in prop::collection::vec((0_u64..1 << 22, 0_u64..1000, 0_usize..3), 1..400),
        ) {
            let mut workers = [(); 3].map(|()| TimelineRecorder::new());
            for worker in &mut workers {
                worker.begin_at(77);
            }
            let (mut now, mut bytes) = (77, 0);
            for (step, size, worker) in &steps {
                now += step;
                bytes += size;
                workers[*worker].ended(now, *step, *size);
            }
            let whole = TimelineRecorder::joined(&workers).summary("file", Nanos(now - 77));
            let progress = whole.progress.as_ref().unwrap();
            prop_assert_eq!(progress.whole(), done(steps.len() as u64, bytes));
            // Compares each slice with a direct sum.
            let width = progress.slice_ns.0;
            let mut now = 0;
            let mut expected = vec![Slice::default(); progress.slices.len()];
            for (step, size, _) in &steps {
                now += step;
                expected[usize::try_from(now / width).unwrap()].add(&done(1, *size));
            }
            prop_assert_eq!(&progress.slices, &expected);
            let [latencies] = &whole.latencies[..] else { panic!("{whole:?}") };
            prop_assert_eq!(latencies.count, steps.len() as u64);
            prop_assert_eq!(latencies.sum_ns, steps.iter().map(|step| step.0).sum::<u64>());
        }
    }
}
