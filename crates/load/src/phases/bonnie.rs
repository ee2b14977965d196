//! The phases of bonnie (Tim Bray) and bonnie++ (Russell Coker), reimplemented. One large file is
//! accessed byte by byte, chunk by chunk and by seeks; many files are created, read and deleted.
//!
//! Each phase does the same as in the originals, with these corrections: latencies are reported as
//! percentiles and not only as the maximum; the processor time of parallel workers is counted once;
//! a phase that is too short for the clock is repeated if that is equivalent, and its figures are
//! never omitted. This module does not plan or report phases.

mod data;
mod files;
mod names;
mod parameters;
mod ready;
mod seeks;
mod source;

use super::Job;
use super::table::phases;
use super::timeline::{TimelineRecorder, TimelineSummary};
use crate::clock::{self, Stopwatch};
use crate::engines::Calls;
use crate::engines::null::Facts;
use crate::error::LoadError;
use data::{Data, Unit};
use files::Files;
use fsdyno_model::Parameter;
use fsdyno_model::capability::Required;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::sample::{Better, Figure, Tally};
use fsdyno_model::units::{Bytes, Nanos};
use fsdyno_model::warning::{Warning, WarningKind};
use parameters::{DataParameters, FileParameters, Made};
use std::collections::BTreeMap;

/// The directory of all phases, below the work directory.
pub(crate) const HOME: &std::ffi::CStr = c"bonnie";
/// The seed of names, sizes and orders: the same in every cell.
const SEED: u64 = 1;
/// The minimum duration of a phase, ns: the original did not report figures of a shorter one.
const LONG_ENOUGH: u64 = 500_000_000;

/// An upper bound of memory bandwidth.
const BYTES_A_NANOSECOND: u64 = 10_000;
/// The minimum time for stat, open and close of a file. In virtual time the clock, read twice for
/// each file, is all that takes time.
const NANOSECONDS_A_FILE: u64 = 520;

phases! {
    CharWrite: "bonnie-char-write", "writes a new file byte by byte",
        "openat O_EXCL, write of 1 byte, fsync";
    Write: "bonnie-write", "writes a new file chunk by chunk", "openat O_EXCL, write, fsync";
    Rewrite: "bonnie-rewrite", "reads, changes and rewrites a file",
        "read, lseek back, write, fsync";
    CharRead: "bonnie-char-read", "reads a file byte by byte", "read of 1 byte; fsync";
    Read: "bonnie-read", "reads a file chunk by chunk", "read; fsync";
    Seeks: "bonnie-seeks", "reads chunks at random offsets, by several workers",
        "lseek, read; every tenth lseek back, write; fsync";
    Create: "bonnie-create", "creates many files, or links",
        "openat O_EXCL, write, close (or linkat, symlinkat); syncfs";
    Stat: "bonnie-stat", "stats many files, and reads them", "newfstatat; openat, read, close";
    Delete: "bonnie-delete", "deletes many files", "unlinkat, rmdir; syncfs";
}

impl Phase {
    const fn writes(self) -> bool {
        !matches!(self, Self::CharRead | Self::Read | Self::Stat)
    }

    const fn parameters(self) -> &'static [Parameter] {
        match self {
            Self::Create | Self::Stat | Self::Delete => parameters::FILES,
            _ => parameters::DATA,
        }
    }

    fn operation(self) -> &'static str {
        match self {
            Self::CharWrite | Self::CharRead => "byte",
            Self::Write | Self::Rewrite | Self::Read => "chunk",
            Self::Seeks => "seek",
            Self::Create | Self::Stat | Self::Delete => "file",
        }
    }

    /// Whether it works on the one large file, rather than on many files.
    fn on_one_file(self) -> bool {
        !matches!(self, Self::Create | Self::Stat | Self::Delete)
    }

    /// Whether it can be repeated: a pass does not change its own input.
    fn repeatable(self) -> bool {
        matches!(self, Self::CharRead | Self::Read | Self::Seeks | Self::Stat)
    }
}

/// Whether a kind of phase is one of bonnie.
pub fn is_one(kind: &str) -> bool {
    Phase::find(kind).is_some()
}

/// The capabilities that a phase of bonnie requires of its file system; none if it is no such
/// phase.
pub fn required(phase: &PhasePlan) -> Option<Vec<Required>> {
    let given = &phase.parameters;
    if Phase::find(&phase.kind)?.on_one_file() {
        let size = DataParameters::read(given).size;
        return Some(vec![Required::FileOf(Bytes(size))]);
    }
    Some(match FileParameters::read(given).made {
        Made::Files => Vec::new(),
        Made::HardLinks => vec![Required::HardLinks],
        Made::Symlinks => vec![Required::Symlinks],
    })
}

/// The total size of the files of a phase of bonnie, bytes; none if it is no such phase.
pub fn data_bytes(phase: &PhasePlan) -> Option<Bytes> {
    let given = &phase.parameters;
    if Phase::find(&phase.kind)?.on_one_file() {
        return Some(Bytes(DataParameters::read(given).size));
    }
    let files = FileParameters::read(given);
    // The space of a file in addition to its data: an inode and a directory entry.
    let each = files.most.next_multiple_of(4096) + 1024;
    Some(Bytes(files.files.saturating_mul(each)))
}

/// Opens the directory of all phases.
fn open_home<E: Calls>(engine: &mut E, job: &Job<'_>) -> Result<E::Dir, LoadError> {
    let work_dir = engine.open_work_dir(job.root)?;
    let home = engine.open_dir(&work_dir, HOME)?;
    engine.close_dir(work_dir);
    Ok(home)
}

#[derive(Debug, Clone, Copy)]
struct Pass {
    tally: Tally,
    /// Number of operations for its rate, if that is not a rate of bytes.
    operations: u64,
    /// Time until the last operation returned, nanoseconds.
    returned: u64,
    /// The whole time, nanoseconds, including the time to durable if the phase waits for it.
    elapsed: u64,
}

impl Pass {
    /// A pass that ends now.
    fn done(began: u64, tally: Tally) -> Self {
        let elapsed = clock::now() - began;
        Self {
            tally,
            operations: 0,
            returned: elapsed,
            elapsed,
        }
    }

    /// A durable pass that ends now; its operations returned earlier.
    fn durable(began: u64, returned: u64, tally: Tally) -> Self {
        Self {
            returned,
            ..Self::done(began, tally)
        }
    }

    /// Whether the rate exceeds that of any machine. In virtual time computation takes no time, and
    /// reads from memory could be repeated forever without being long enough.
    fn takes_no_time(&self) -> bool {
        self.tally.bytes.0 > self.elapsed.saturating_mul(BYTES_A_NANOSECOND)
            || self.elapsed < self.operations.saturating_mul(NANOSECONDS_A_FILE)
    }

    /// A pass whose rate is a rate of files.
    fn of_files(self) -> Self {
        Self {
            operations: self.tally.files,
            ..self
        }
    }
}

/// Creates, untimed, the input of a phase. It generates nothing that only the phase itself needs.
pub(crate) fn prepare(
    phase: Phase,
    given: &BTreeMap<String, String>,
    job: &Job<'_>,
) -> Result<(), LoadError> {
    if phase.on_one_file() {
        return ready::data(phase, DataParameters::read(given), job);
    }
    ready::files(phase, FileParameters::read(given), job)
}

#[derive(Debug)]
enum Buffers {
    Data(Data),
    Files(Box<Files>),
}

/// A phase with its buffers, allocated before its clock starts.
#[derive(Debug)]
pub(crate) struct Bonnie {
    phase: Phase,
    may_repeat: bool,
    buffers: Buffers,
}

#[derive(Debug)]
pub(crate) struct Done {
    /// Time until the last operation returned, including `fsync` if it writes to one file; per
    /// pass.
    pub returned: Nanos,
    /// Time including `fsync` or `syncfs` if the phase ends with one; per pass.
    pub elapsed: Nanos,
    pub passes: u64,
    /// User and system time of one pass.
    pub user: Nanos,
    pub system: Nanos,
    pub tally: Tally,
    pub figures: Vec<Figure>,
    /// Latencies of operations in all passes, and the progress of the first.
    pub timeline: TimelineSummary,
    pub warnings: Vec<Warning>,
}

impl Bonnie {
    /// Allocates a phase of a plan. With a cold cache it must not be repeated: its second pass
    /// would read from the cache.
    pub fn new(phase: Phase, given: &BTreeMap<String, String>, may_repeat: bool) -> Self {
        let buffers = if phase.on_one_file() {
            let parameters = DataParameters::read(given);
            let (workers, seeks) = match phase {
                Phase::Seeks => (parameters.seekers, parameters.seeks),
                _ => (1, 0),
            };
            Buffers::Data(Data::new(parameters, workers, seeks))
        } else {
            Buffers::Files(Box::new(Files::new(FileParameters::read(given))))
        };
        Self {
            phase,
            may_repeat: may_repeat && phase.repeatable(),
            buffers,
        }
    }

    /// The synthetic tree for the engine that accesses no file.
    pub fn facts(&self) -> Facts {
        match &self.buffers {
            Buffers::Data(data) => Facts {
                files: 1,
                directories: 1,
                bytes: data.parameters.size,
            },
            // Every directory that it opens is the same one.
            Buffers::Files(files) => Facts {
                files: files.parameters.files / files.parameters.directories,
                directories: 1,
                bytes: files.bytes() / files.parameters.directories,
            },
        }
    }

    /// The bytes of data it works on.
    pub fn bytes(&self) -> Bytes {
        Bytes(match &self.buffers {
            Buffers::Data(data) => data.parameters.size,
            Buffers::Files(files) => files.bytes(),
        })
    }

    /// Runs the phase: once, or until it has taken long enough.
    pub fn run<E: Calls + Send>(
        &mut self,
        engine: &mut E,
        job: &Job<'_>,
    ) -> Result<Done, LoadError> {
        let (mut passes, mut first) = (0, 0);
        let (mut returned, mut elapsed) = (0, 0);
        let (mut user, mut system) = (0, 0);
        let mut operations = 0;
        let mut all = Tally::default();
        let tally = loop {
            let watch = Stopwatch::start();
            let pass = self.pass(engine, job)?;
            let spent = watch.read();
            passes += 1;
            if passes == 1 {
                first = pass.returned;
                self.timelines_mut().for_each(TimelineRecorder::repeat);
            }
            returned += pass.returned;
            elapsed += pass.elapsed;
            user += spent.user.0;
            system += spent.system.0;
            operations += pass.operations;
            all.add(&pass.tally);
            if !self.may_repeat || elapsed >= LONG_ENOUGH || pass.takes_no_time() {
                break pass.tally;
            }
        };
        let timeline = TimelineRecorder::joined(self.timelines());
        let figures = figures(
            &timeline,
            &Sums {
                bytes: all.bytes.0,
                operations,
                returned,
                elapsed,
                busy: user + system,
            },
        );
        Ok(Done {
            returned: Nanos(returned / passes),
            elapsed: Nanos(elapsed / passes),
            passes,
            user: Nanos(user / passes),
            system: Nanos(system / passes),
            tally: Tally {
                calls: (engine.calls() + all.calls) / passes,
                ..tally
            },
            figures,
            timeline: timeline.summary(self.phase.operation(), Nanos(first)),
            warnings: self.warnings(elapsed),
        })
    }

    fn pass<E: Calls + Send>(&mut self, engine: &mut E, job: &Job<'_>) -> Result<Pass, LoadError> {
        match (&mut self.buffers, self.phase) {
            (Buffers::Data(data), Phase::CharWrite) => data::fill(engine, job, data, Unit::Byte),
            (Buffers::Data(data), Phase::Write) => data::fill(engine, job, data, Unit::Chunk),
            (Buffers::Data(data), Phase::Rewrite) => data::rewrite(engine, job, data),
            (Buffers::Data(data), Phase::CharRead) => data::drain(engine, job, data, Unit::Byte),
            (Buffers::Data(data), Phase::Seeks) => seeks::seeks(engine, job, data),
            (Buffers::Data(data), _) => data::drain(engine, job, data, Unit::Chunk),
            (Buffers::Files(files), Phase::Create) => files::create(engine, job, files),
            (Buffers::Files(files), Phase::Delete) => files::delete(engine, job, files),
            (Buffers::Files(files), _) => files::stat(engine, job, files),
        }
    }

    fn timelines(&self) -> impl Iterator<Item = &TimelineRecorder> {
        let (one, many) = match &self.buffers {
            Buffers::Data(data) => (None, &data.buffers[..]),
            Buffers::Files(files) => (Some(&files.timeline), &[][..]),
        };
        one.into_iter()
            .chain(many.iter().map(|buffers| &buffers.timeline))
    }

    fn timelines_mut(&mut self) -> impl Iterator<Item = &mut TimelineRecorder> {
        let (one, many) = match &mut self.buffers {
            Buffers::Data(data) => (None, &mut data.buffers[..]),
            Buffers::Files(files) => (Some(&mut files.timeline), &mut [][..]),
        };
        one.into_iter()
            .chain(many.iter_mut().map(|buffers| &mut buffers.timeline))
    }

    fn warnings(&self, elapsed: u64) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let name = self.phase.name();
        if elapsed < LONG_ENOUGH {
            warnings.push(Warning::new(
                WarningKind::TooShort,
                format!("{name} took {} in all", Nanos(elapsed)),
                "give it more to do: a larger file, more files, or a larger scale",
            ));
        }
        let memory = memory();
        if self.phase.on_one_file() && memory.is_some_and(|memory| self.bytes() < memory) {
            warnings.push(Warning::new(
                WarningKind::SmallerThanCache,
                format!(
                    "the file of {name} ({}) fits into the memory ({})",
                    self.bytes(),
                    memory.unwrap_or_default()
                ),
                "its figures are of memory as much as of the disk: set its size to twice the memory",
            ));
        }
        warnings
    }
}

/// The name of the share of time in which a phase used the processor.
pub const BUSY: &str = "cpu";

fn figures(timeline: &TimelineRecorder, sums: &Sums) -> Vec<Figure> {
    let mut figures = vec![sums.rate("rate", sums.elapsed)];
    if sums.returned < sums.elapsed {
        figures.push(sums.rate("rate until return", sums.returned));
    }
    let share = 100.0 * sums.busy as f64 / sums.elapsed.max(1) as f64;
    figures.push(Figure::new(BUSY, share, "%", Better::Lower));
    figures.extend(timeline.latencies.figures());
    figures
}

struct Sums {
    bytes: u64,
    operations: u64,
    returned: u64,
    elapsed: u64,
    busy: u64,
}

impl Sums {
    /// A rate of operations if these are counted, else of bytes.
    fn rate(&self, name: &str, nanos: u64) -> Figure {
        let seconds = nanos.max(1) as f64 / 1e9;
        if self.operations > 0 {
            return Figure::new(
                name,
                self.operations as f64 / seconds,
                "1/s",
                Better::Higher,
            );
        }
        let rate = self.bytes as f64 / 1024.0 / seconds;
        Figure::new(name, rate, "KiB/s", Better::Higher)
    }
}

/// The memory of the machine, if known.
fn memory() -> Option<Bytes> {
    let summary = rustix::system::sysinfo();
    let unit = u64::from(summary.mem_unit.max(1));
    summary.totalram.checked_mul(unit).map(Bytes)
}

#[cfg(test)]
#[path = "bonnie/tests.rs"]
mod tests;
