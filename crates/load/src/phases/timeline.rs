//! What a worker did within its time: how long each operation took, and how many had ended when. One
//! reading of the clock an operation reports both; everything is allocated before.

use super::latency::{self, Latencies};
use crate::clock;
use fsdyno_model::sample::Tally;
use fsdyno_model::timeline::{LatencyDistribution, Progress, Slice};
use fsdyno_model::units::Nanos;

/// Slices that there is room for.
const SLICES: usize = 128;
/// How wide they are at first, as a power of two of nanoseconds: 65 us.
const NARROWEST: u32 = 16;

/// What was done when: slices that become twice as wide whenever there is no room for another.
#[derive(Debug, Clone)]
pub(crate) struct Slices {
    all: Box<[Slice; SLICES]>,
    /// When the phase began.
    origin: u64,
    /// The slice in flight, and when it ends.
    at: usize,
    end: u64,
    /// How wide each is, as a power of two of nanoseconds.
    width: u32,
}

impl Slices {
    /// Nothing was done yet.
    fn new() -> Self {
        Self {
            all: Box::new([Slice::default(); SLICES]),
            origin: 0,
            at: 0,
            end: 0,
            width: NARROWEST,
        }
    }

    /// The phase began then.
    fn begin(&mut self, origin: u64) {
        self.origin = origin;
        self.at = 0;
        self.end = origin + (1 << self.width);
    }

    /// An operation ended now.
    #[inline]
    fn add(&mut self, now: u64, bytes: u64) {
        if now >= self.end {
            self.turn(now);
        }
        let slice = &mut self.all[self.at];
        slice.operations += 1;
        slice.bytes.0 += bytes;
    }

    /// Goes on to the slice of this moment, the slices being made wide enough for it.
    #[cold]
    fn turn(&mut self, now: u64) {
        let since = now - self.origin;
        while since >> self.width >= SLICES as u64 {
            self.widen();
        }
        self.at = usize::try_from(since >> self.width).unwrap_or(SLICES - 1);
        self.end = self.origin + ((self.at as u64 + 1) << self.width);
    }

    /// Two by two become one.
    fn widen(&mut self) {
        for at in 0..SLICES / 2 {
            let mut both = self.all[2 * at];
            both.add(&self.all[2 * at + 1]);
            self.all[at] = both;
        }
        self.all[SLICES / 2..].fill(Slice::default());
        self.width += 1;
    }

    /// Adds what another worker did in the same phase.
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

    /// All slices until the work had returned, so long after it began.
    fn summary(&self, returned: Nanos) -> Progress {
        let mut whole = self.clone();
        while returned.0 >> whole.width >= SLICES as u64 {
            whole.widen();
        }
        let done = |slice: &Slice| *slice != Slice::default();
        let last = whole.all.iter().rposition(done).unwrap_or(0);
        // Slices in which nothing ended are part of the course, up to its end.
        let end = usize::try_from(returned.0.saturating_sub(1) >> whole.width).unwrap_or(0);
        Progress {
            slice_ns: Nanos(1 << whole.width),
            slices: whole.all[..=last.max(end)].to_vec(),
        }
    }
}

/// A course as numbers, which one process can report another.
pub(crate) type Parts = (latency::Parts, u32, Vec<Slice>);

/// The course of one worker.
#[derive(Debug)]
pub(crate) struct TimelineRecorder {
    pub latencies: Latencies,
    slices: Slices,
    /// Whether it is followed: else no clock is read.
    followed: bool,
    /// Whether what comes is to be reported in slices as well.
    sliced: bool,
    /// What of a tally was followed so far.
    files: u64,
    bytes: u64,
}

impl TimelineRecorder {
    /// Nothing is followed until it begins.
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

    /// The phase begins now; the moment.
    pub fn begin(&mut self) -> u64 {
        let now = clock::now();
        self.begin_at(now);
        now
    }

    /// The phase began then, for all of its workers, and its first operation.
    pub fn begin_at(&mut self, origin: u64) {
        self.followed = true;
        self.slices.begin(origin);
        self.latencies.began_at(origin);
        (self.files, self.bytes) = (0, 0);
    }

    /// Another round of the phase begins now, whose tally counts from nothing.
    pub fn begin_round(&mut self) {
        self.resume();
        (self.files, self.bytes) = (0, 0);
    }

    /// The phase is done once more: slices are of the first time alone.
    pub fn repeat(&mut self) {
        self.sliced = false;
    }

    /// What was done since the last operation was none of the next.
    #[inline]
    pub fn resume(&mut self) {
        if self.followed {
            self.latencies.begin();
        }
    }

    /// An operation ended now that handled so many bytes, and the next begins.
    #[inline]
    pub fn next(&mut self, bytes: u64) {
        let now = self.latencies.next();
        self.progress(now, bytes);
    }

    /// An operation ended at this moment, which took so long: one of many in flight.
    #[inline]
    pub fn ended(&mut self, now: u64, took: u64, bytes: u64) {
        self.latencies.add_one(took);
        self.progress(now, bytes);
    }

    #[inline]
    fn progress(&mut self, now: u64, bytes: u64) {
        if self.sliced {
            self.slices.add(now, bytes);
        }
    }

    /// An operation ended now where this tally has a file more than before.
    #[inline]
    pub fn follow(&mut self, tally: &Tally) {
        if !self.followed || tally.files == self.files {
            return;
        }
        let bytes = tally.bytes.0 - self.bytes;
        (self.files, self.bytes) = (tally.files, tally.bytes.0);
        self.next(bytes);
    }

    /// All of it that is reported, as numbers: latencies, the width of slices, and these.
    pub fn to_parts(&self) -> Parts {
        let slices = &self.slices;
        (self.latencies.to_parts(), slices.width, slices.all.to_vec())
    }

    /// The course of such numbers.
    pub fn of_parts((latencies, width, slices): Parts) -> Self {
        let mut timeline = Self::new();
        timeline.latencies = Latencies::of_parts(latencies);
        timeline.slices.width = width;
        for (slice, summary) in timeline.slices.all.iter_mut().zip(slices) {
            *slice = summary;
        }
        timeline.followed = true;
        timeline
    }

    /// Adds that of another worker in the same phase.
    pub fn join(&mut self, other: &Self) {
        self.latencies.add(&other.latencies);
        self.slices.join(&other.slices);
        self.followed |= other.followed;
    }

    /// The course of all of them together.
    pub fn joined<'a>(workers: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::new();
        workers.into_iter().for_each(|worker| all.join(worker));
        all
    }

    /// The summary of a phase with this time to return and these operations.
    pub fn summary(&self, operation: &str, returned: Nanos) -> TimelineSummary {
        let latencies = self.latencies.distribution(operation);
        TimelineSummary {
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
    fn slices_double_where_there_is_no_room_and_lose_nothing() {
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
        // A stall of an hour: as wide as it takes, at once.
        slices.add(5 + 3_600_000_000_000, 7);
        let summary = slices.summary(Nanos(3_600_000_000_001));
        assert_eq!(summary.whole(), done(6, 48));
        assert!(summary.slices.len() > SLICES / 2 && summary.slices.len() <= SLICES);
        assert_eq!(summary.slices[0], done(5, 41));
    }

    #[test]
    fn slices_reach_to_the_end_though_nothing_ended_there() {
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
            // Each slice by itself, against a sum over everything.
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
