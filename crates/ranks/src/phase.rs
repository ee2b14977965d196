//! One phase on one rank: its input, its common start, and the report of the rank.

use crate::clocks::{Offsets, now};
use crate::group::{Group, Halt, Wait, broadcast};
use crate::plan::{SHIFT, STONEWALL, stonewall};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_files::{errno, uninterrupted};
use fsdyno_load::measure::{self, Deadline, LoadError, Measured, Recording, Share};
use fsdyno_load::phases::op;
use fsdyno_model::scaling::WORKERS;
use fsdyno_model::{
    CacheEvidence, CancelToken, CopyMethod, Figure, Nanos, PhasePlan, Plan, Point, Tally, Warning,
};
use fsdyno_observe::counters::{MachineCpu, machine_cpu};
use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The minimum time from the choice of the common start to the start. All ranks get the message
/// meanwhile.
const NOTICE_NS: u64 = 20_000_000;
/// The additional time for each rank.
const NOTICE_PER_RANK_NS: u64 = 20_000;
/// The end of a wait polls the clock, because wake-ups are late.
const LATE_NS: u64 = 100_000;

/// The report of a rank on a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// When it began, by its own clock.
    pub began: u64,
    /// How long after the common start that was.
    pub late_ns: u64,
    /// The counts of the work, or the error.
    pub end: Result<Done, RankError>,
    /// The caches of its host before the phase, by the first rank of the host.
    pub cache: Option<CacheEvidence>,
    /// Processor time of its host, by the first rank of the host.
    pub machine: Option<(Nanos, Nanos)>,
}

/// The work of a rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub return_ns: Nanos,
    pub durable_ns: Option<Nanos>,
    pub user_ns: Nanos,
    pub system_ns: Nanos,
    pub tally: Tally,
    pub method: String,
    pub engine: String,
    pub figures: Vec<Figure>,
    pub recording: Option<Recording>,
    pub warnings: Vec<Warning>,
}

impl Done {
    /// The number of operations, as far as they were recorded.
    pub fn operations(&self) -> u64 {
        self.recording.as_ref().map_or(0, Recording::operations)
    }
}

/// The reason why a rank failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankError {
    pub message: String,
    pub errno: Option<String>,
    pub interrupted: bool,
}

impl RankError {
    /// A failure without an error number.
    pub fn of(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            errno: None,
            interrupted: false,
        }
    }
}

impl From<LoadError> for RankError {
    fn from(error: LoadError) -> Self {
        let number = error
            .errno()
            .map(|raw| errno::name(Errno::from_raw_os_error(raw)));
        Self {
            message: error.to_string(),
            errno: number.map(str::to_owned),
            interrupted: matches!(error, LoadError::Stopped),
        }
    }
}

/// The directories of a rank in a cell.
#[derive(Debug)]
pub struct Place {
    /// The directory that all ranks share, with the files of `op` phases.
    pub shared: WorkDir,
    /// The directory of this rank, with the files of other phases.
    pub private: WorkDir,
}

impl Place {
    /// The directories below that of a cell.
    pub fn new(cell: &Path, rank: usize) -> Self {
        Self {
            shared: WorkDir::new(cell),
            private: WorkDir::new(cell.join(format!("r{rank:03}"))),
        }
    }

    fn of(&mut self, phase: &PhasePlan) -> &mut WorkDir {
        if op::is_one(&phase.kind) {
            &mut self.shared
        } else {
            &mut self.private
        }
    }
}

/// The worker whose files a rank works on.
pub fn worker(phase: &PhasePlan, rank: usize) -> usize {
    (rank + shift(phase)) % clients(phase).max(1)
}

/// The distance between the writer and the reader of a file.
fn shift(phase: &PhasePlan) -> usize {
    let text = phase.parameters.get(SHIFT);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The number of ranks that work in a phase.
pub fn clients(phase: &PhasePlan) -> usize {
    let text = phase.parameters.get(WORKERS);
    text.and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// The phase as `load` runs it: one worker per rank on its own files, all ranks in `op` phases.
fn for_load(phase: &PhasePlan) -> PhasePlan {
    let mut phase = phase.clone();
    phase.parameters.remove(SHIFT);
    phase.parameters.remove(STONEWALL);
    if !op::is_one(&phase.kind) {
        phase.parameters.remove(WORKERS);
    }
    phase
}

/// Creates, untimed, what a rank needs for a phase.
pub fn prepare(
    phase: &PhasePlan,
    place: &mut Place,
    rank: usize,
    stop: &CancelToken,
) -> Result<(), RankError> {
    let phase = for_load(phase);
    if op::is_one(&phase.kind) {
        let share = rank..rank + 1;
        measure::prepare_share(&phase, &place.shared.root, share, stop)?;
    } else {
        measure::prepare(&phase, &place.private, None, stop)?;
    }
    Ok(())
}

/// The common start of a phase, seen by one rank.
struct Start<'a, G: Group> {
    group: &'a G,
    offsets: &'a Offsets,
    wait: &'a Wait<'a>,
    /// When this rank began, and how late.
    began: Option<(u64, u64)>,
}

impl<G: Group> Start<'_, G> {
    /// Waits for all ranks, and then for the common start.
    fn wait(&mut self) -> Result<u64, Halt> {
        self.group.barrier(self.wait)?;
        let chosen = (self.group.rank() == 0)
            .then(|| now() + NOTICE_NS + NOTICE_PER_RANK_NS * self.group.size() as u64);
        let start: u64 = broadcast(self.group, chosen, self.wait)?;
        let local = self.offsets.local(self.group.rank(), start);
        sleep_until(local);
        let began = now();
        self.began = Some((began, began.saturating_sub(local)));
        Ok(start)
    }
}

fn sleep_until(moment: u64) {
    if moment > now() + LATE_NS {
        let until = moment - LATE_NS;
        let until = Timespec {
            tv_sec: (until / 1_000_000_000).cast_signed(),
            tv_nsec: (until % 1_000_000_000).cast_signed(),
        };
        let _ = uninterrupted(|| clock_nanosleep_absolute(ClockId::Monotonic, &until));
    }
    while now() < moment {
        std::hint::spin_loop();
    }
}

/// The input of a phase, the same on all ranks.
pub struct Input<'a> {
    pub plan: &'a Plan,
    pub phase: &'a PhasePlan,
    pub offsets: &'a Offsets,
    pub wait: &'a Wait<'a>,
    pub stop: &'a CancelToken,
    /// The files or blocks that an earlier phase left for this rank.
    pub most: u64,
}

/// Runs a phase on this rank. Every rank takes part in the common start, also one that does not
/// work or that cannot begin. Returns the common start by the clock of rank 0, and the report; none
/// of a rank that does not work.
pub fn run<G: Group>(
    input: &Input<'_>,
    group: &G,
    place: &mut Place,
    ready: Result<(), RankError>,
) -> Result<(u64, Option<Report>), Halt> {
    let works = group.rank() < clients(input.phase);
    let mut start = Start {
        group,
        offsets: input.offsets,
        wait: input.wait,
        began: None,
    };
    let machine_before = machine_cpu().ok();
    let (mut common, mut halt) = (0, None);
    let deadline = Deadline::default();
    let end = match ready {
        Ok(()) if works => {
            let mut mark = |point| {
                if point == Point::Begins {
                    match start.wait() {
                        Ok(moment) => {
                            common = moment;
                            if let Some(time) = stonewall(input.phase) {
                                let end = moment.saturating_add(Nanos::from(time).0);
                                deadline.set(input.offsets.local(group.rank(), end));
                            }
                        }
                        Err(reason) => {
                            // The phase ends at once, and its result is dropped.
                            halt = Some(reason);
                            input.stop.expire();
                        }
                    }
                }
            };
            load(input, group.rank(), place, &deadline, &mut mark).map_err(RankError::from)
        }
        Ok(()) => Err(RankError::of("")),
        Err(error) => Err(error),
    };
    if let Some(halt) = halt {
        return Err(halt);
    }
    if start.began.is_none() {
        common = start.wait()?;
    }
    let machine = machine_before
        .zip(machine_cpu().ok())
        .map(|(before, after)| {
            let MachineCpu {
                busy_ns, steal_ns, ..
            } = after.since(&before);
            (busy_ns, steal_ns)
        });
    let (began, late_ns) = start.began.unwrap_or_default();
    let report = works.then(|| Report {
        began,
        late_ns,
        end: end
            .map(Done::from)
            .and_then(|done| whole(input, group.rank(), done)),
        cache: None,
        machine,
    });
    Ok((common, report))
}

fn load(
    input: &Input<'_>,
    rank: usize,
    place: &mut Place,
    deadline: &Deadline,
    mark: &mut dyn FnMut(Point),
) -> Result<Measured, LoadError> {
    let phase = for_load(input.phase);
    let worker = worker(input.phase, rank);
    measure::run(measure::Request {
        phase: &phase,
        engine: &input.plan.engine,
        copy_method: CopyMethod::default(),
        work_dir: place.of(&phase),
        facts: None,
        durable: true,
        handicap_permille: 0,
        each_file: measure::clock_is_quick(),
        confined: None,
        stop: input.stop,
        share: Some(Share {
            workers: worker..worker + 1,
            most: input.most,
            deadline,
        }),
        user_work: None,
        mark,
    })
}

/// Fails a rank that read less than the writer wrote: its data were not visible.
fn whole(input: &Input<'_>, rank: usize, done: Done) -> Result<Done, RankError> {
    let worker = worker(input.phase, rank);
    let phase = for_load(input.phase);
    let operations = if stonewall(input.phase).is_some() {
        Some(done.operations())
    } else {
        measure::operations(&phase, worker, input.most)
    };
    match operations.and_then(|operations| measure::bytes_read(&phase, operations)) {
        Some(expected) if expected != done.tally.bytes.0 => Err(RankError::of(format!(
            "read {} bytes of the files of rank {worker}, which wrote {expected}: they are not \
             visible after close and a barrier",
            done.tally.bytes.0
        ))),
        _ => Ok(done),
    }
}

impl From<Measured> for Done {
    fn from(measured: Measured) -> Self {
        Self {
            return_ns: measured.return_ns,
            durable_ns: measured.durable_ns,
            user_ns: measured.user_ns,
            system_ns: measured.system_ns,
            tally: measured.tally,
            method: measured.method,
            engine: measured.engine.to_owned(),
            figures: measured.figures,
            recording: measured.recording,
            warnings: measured.warnings,
        }
    }
}
