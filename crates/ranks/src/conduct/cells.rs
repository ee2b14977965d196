//! The cells of a run: their phases, the comparison of the files that they leave, and their removal.
//! Only rank 0 records events.

use super::{End, Environment, SHORT, print};
use crate::clocks::{Clocks, Offsets};
use crate::group::{Group, Halt, Wait, broadcast, gather};
use crate::member::{Member, leads, provenance_of};
use crate::merge::{self, Ranks};
use crate::monitor::link::Record;
use crate::options::Options;
use crate::phase::{self, Input, Place, RankError, Report, clients};
use crate::plan::reads;
use crate::stonewall::{self, Left};
use crate::{caches, verify};
use fsdyno_datasets::{DatasetError, Form};
use fsdyno_files::refuse_foreign_dir;
use fsdyno_load::kinds;
use fsdyno_load::phases::op;
use fsdyno_model::{
    Cell, CellRecord, Effective, Event, Failure, Nanos, Needs, Outcome, PhasePlan, Plan, RunInfo,
    Sample, Stage, StopReason, Warning,
};
use fsdyno_observe::provenance;
use fsdyno_run::conductor::unix_now;
use fsdyno_run::schedule::schedule;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a directory that another client made may stay invisible.
const VISIBLE_WITHIN: Duration = Duration::from_secs(65);

/// A run in progress on one rank.
pub(super) struct RankRun<'a, G: Group, R: Record> {
    pub group: &'a G,
    pub options: &'a Options,
    pub environment: &'a Environment<'a>,
    pub plan: &'a Plan,
    pub members: &'a [Member],
    /// Rank 0 records.
    pub record: Option<R>,
    pub failed: bool,
}

/// A cell in progress. Only rank 0 has samples and warnings.
#[derive(Default)]
struct InCell {
    samples: Vec<Sample>,
    effective: Vec<Effective>,
    warnings: Vec<Warning>,
    times: String,
    /// The files and blocks that each rank has written, the same on all ranks.
    left: Left,
}

/// The reason why a cell ended early, on rank 0; the other ranks only know that it did.
type Ended = Option<(Failure, bool)>;

impl<G: Group, R: Record> RankRun<'_, G, R> {
    fn event(&mut self, event: &Event) -> Result<(), Halt> {
        match &mut self.record {
            Some(record) => record.event(event),
            None => Ok(()),
        }
    }

    fn wait(&self, limit: Duration, during: impl Into<String>) -> Wait<'_> {
        Wait::new(self.environment.alarm, limit, during)
    }

    pub fn all(&mut self) -> Result<End, Halt> {
        let cells = schedule(self.plan);
        let started_unix_ns = unix_now();
        if self.record.is_some() {
            self.event(&Event::RunStarted {
                run: Box::new(self.run_info(started_unix_ns)),
                done: 0,
                cells: u32::try_from(cells.len()).unwrap_or(u32::MAX),
            })?;
        }
        let mut reason = StopReason::Complete;
        for (number, cell) in cells.into_iter().enumerate() {
            let directory = self.directory(cell, number, started_unix_ns)?;
            if self.cell(cell, &directory)? {
                reason = StopReason::Interrupted;
                break;
            }
        }
        self.event(&Event::RunEnded {
            reason,
            at_unix_ns: unix_now(),
        })?;
        let end = match reason {
            StopReason::Interrupted => End::Interrupted,
            _ if self.failed => End::Failed,
            _ => End::Complete,
        };
        let status = broadcast(
            self.group,
            (self.group.rank() == 0).then_some(end.status()),
            &self.wait(SHORT, "the end"),
        )?;
        Ok(match status {
            0 => End::Complete,
            1 => End::Failed,
            _ => End::Interrupted,
        })
    }

    fn run_info(&self, started_unix_ns: u64) -> RunInfo {
        let devices: Vec<(PathBuf, &str)> = self
            .plan
            .contenders
            .iter()
            .filter_map(|one| Some((one.directory.clone()?, "file system under test")))
            .collect();
        let mut provenance = provenance::collect(&[], &devices);
        let library = self.environment.library.clone();
        provenance.programs.push(("MPI".to_owned(), library));
        let hosts = crate::member::hosts(self.members);
        let per_host: Vec<String> = hosts
            .iter()
            .map(|(host, ranks)| format!("{host} {}", ranks.len()))
            .collect();
        provenance.programs.push((
            "ranks".to_owned(),
            format!(
                "{} on {} hosts: {}",
                self.members.len(),
                hosts.len(),
                per_host.join(", ")
            ),
        ));
        RunInfo {
            id: String::new(),
            started_unix_ns,
            ended_unix_ns: None,
            stop: None,
            plan: self.plan.clone(),
            plan_hash: self.plan.hash(),
            provenance,
            command_line: self.environment.command_line.clone(),
        }
    }

    /// The name of the directory of a cell, the same on all ranks.
    fn directory(&self, cell: Cell, number: usize, started: u64) -> Result<PathBuf, Halt> {
        let name = (self.group.rank() == 0)
            .then(|| format!("fsdyno-mpi-{started:x}-{}-{number}", std::process::id()));
        let name: String = broadcast(self.group, name, &self.wait(SHORT, "the start of a cell"))?;
        let contender = &self.plan.contenders[cell.contender as usize];
        Ok(contender.directory.clone().unwrap_or_default().join(name))
    }

    /// Runs a cell; returns whether the user interrupted it.
    fn cell(&mut self, cell: Cell, directory: &Path) -> Result<bool, Halt> {
        let (started_unix_ns, began) = (unix_now(), Instant::now());
        self.event(&Event::CellStarted { cell })?;
        let mut kept = InCell::default();
        let ended = self.phases(cell, directory, &mut kept)?;
        self.stage(cell, Stage::CleanUp)?;
        let removed = self.clean(directory)?;
        let ended = match ended {
            None => removed,
            ended => ended,
        };
        let interrupted = ended.as_ref().is_some_and(|(_, interrupted)| *interrupted);
        self.failed |= ended.is_some();
        if let Some((failure, _)) = &ended
            && self.group.rank() == 0
        {
            eprintln!("fsdyno-mpi: {} failed: {}", failure.stage, failure.message);
        }
        if !kept.times.is_empty() {
            kept.effective.push(Effective {
                source: "ranks".to_owned(),
                text: kept.times,
            });
        }
        self.event(&Event::CellEnded {
            record: Box::new(CellRecord {
                cell,
                outcome: ended.map_or(Outcome::Measured, |(failure, _)| Outcome::Failed(failure)),
                started_unix_ns,
                took_ns: Nanos::from(began.elapsed()),
                samples: kept.samples,
                commands: Vec::new(),
                effective: kept.effective,
                warnings: kept.warnings,
            }),
        })?;
        let interrupted = (self.group.rank() == 0).then_some(interrupted);
        broadcast(
            self.group,
            interrupted,
            &self.wait(SHORT, "the end of a cell"),
        )
    }

    fn stage(&mut self, cell: Cell, stage: Stage) -> Result<(), Halt> {
        self.event(&Event::StageEntered { cell, stage })
    }

    /// Collects the results of a step of all ranks; all ranks learn whether one failed.
    fn agree_on(&self, stage: &Stage, own: Result<(), RankError>) -> Result<(bool, Ended), Halt> {
        let limit = self.options.phase_timeout.saturating_add(SHORT);
        let wait = self.wait(limit, stage.to_string());
        let all = gather(self.group, own.err(), &wait)?;
        let failed: Vec<(usize, &RankError)> = all
            .iter()
            .enumerate()
            .filter_map(|(rank, error)| Some((rank, error.as_ref()?)))
            .collect();
        let ended = merge::failure(self.members, &failed, stage.clone());
        let failed = (self.group.rank() == 0).then_some(ended.is_some());
        Ok((broadcast(self.group, failed, &wait)?, ended))
    }

    /// Runs the phases of a cell, and checks what they leave.
    fn phases(&mut self, cell: Cell, directory: &Path, kept: &mut InCell) -> Result<Ended, Halt> {
        self.stage(cell, Stage::Prepare)?;
        let contender = cell.contender as usize;
        if self.group.rank() == 0 {
            kept.effective = provenance_of(self.members, contender);
        }
        let mut place = Place::new(directory, self.group.rank());
        let made = self.make(directory)?;
        let (failed, ended) = self.agree_on(&Stage::Prepare, made)?;
        if failed {
            return Ok(ended);
        }
        let plan = self.plan;
        let workload = &plan.workloads[cell.workload as usize];
        let dataset = self.dataset(cell, &mut place);
        let (failed, ended) = self.agree_on(&Stage::Prepare, dataset)?;
        if failed {
            return Ok(ended);
        }
        let mut unchecked: Option<&PhasePlan> = None;
        for (number, phase) in (0..).zip(&workload.phases) {
            if !reads(phase)
                && let Some(before) = unchecked.take()
            {
                let (failed, ended) = self.verify(cell, before, directory, kept)?;
                if failed {
                    return Ok(ended);
                }
            }
            let (failed, ended) = self.phase(cell, number, phase, &mut place, kept)?;
            if failed {
                return Ok(ended);
            }
            if op::is_one(&phase.kind) && !reads(phase) && !self.options.no_verify {
                unchecked = Some(phase);
            }
        }
        if let Some(before) = unchecked {
            let (failed, ended) = self.verify(cell, before, directory, kept)?;
            if failed {
                return Ok(ended);
            }
        }
        Ok(None)
    }

    /// Creates the directories of a cell. Every rank must see that of rank 0.
    fn make(&self, directory: &Path) -> Result<Result<(), RankError>, Halt> {
        let failed = |act: &str, path: &Path, cause: &std::io::Error| {
            RankError::of(format!("{act} {}: {cause}", path.display()))
        };
        let mut made = Ok(());
        if self.group.rank() == 0 {
            let shared = directory.parent().unwrap_or(Path::new("/"));
            made = refuse_foreign_dir(shared)
                .map_err(|cause| RankError::of(cause.to_string()))
                .and_then(|()| {
                    fs::create_dir(directory).map_err(|cause| failed("mkdir", directory, &cause))
                });
        }
        let wait = self.wait(SHORT, "the creation of a directory");
        if broadcast(
            self.group,
            (self.group.rank() == 0).then_some(made.is_err()),
            &wait,
        )? {
            return Ok(made);
        }
        let began = Instant::now();
        while !directory.is_dir() && began.elapsed() < VISIBLE_WITHIN {
            std::thread::sleep(Duration::from_millis(100));
        }
        if !directory.is_dir() {
            return Ok(Err(RankError::of(format!(
                "{} is not here, and rank 0 created it: DIR is not one shared file system",
                directory.display()
            ))));
        }
        let own = Place::new(directory, self.group.rank()).private.root;
        Ok(fs::create_dir(&own).map_err(|cause| failed("mkdir", &own, &cause)))
    }

    /// Creates the dataset of this rank, if a phase needs one.
    fn dataset(&self, cell: Cell, place: &mut Place) -> Result<(), RankError> {
        let workload = &self.plan.workloads[cell.workload as usize];
        let mut forms = Vec::new();
        let mut tree = false;
        for phase in &workload.phases {
            let Some(kind) = kinds::find(&phase.kind) else {
                continue;
            };
            match kind.needs {
                Needs::Archive if !forms.contains(&Form::Archive) => forms.push(Form::Archive),
                Needs::Tree if !tree && !forms.contains(&Form::Tree) => forms.push(Form::Tree),
                _ => {}
            }
            tree |= kind.makes_tree;
        }
        if forms.is_empty() || self.group.rank() >= clients(&workload.phases[0]) {
            return Ok(());
        }
        let stop = self.environment.stop;
        let seed = self.plan.dataset_seed(cell.block);
        let failed = |error: DatasetError| RankError {
            interrupted: matches!(error, DatasetError::Stopped),
            ..RankError::of(error.to_string())
        };
        let dataset = fsdyno_datasets::open(&workload.dataset, seed, self.plan.scale, None, stop)
            .map_err(failed)?;
        for form in forms {
            dataset
                .create(&mut place.private, form, stop)
                .map_err(failed)?;
        }
        Ok(())
    }

    /// Measures a phase. All ranks learn whether one failed.
    fn phase(
        &mut self,
        cell: Cell,
        number: u32,
        phase: &PhasePlan,
        place: &mut Place,
        kept: &mut InCell,
    ) -> Result<(bool, Ended), Halt> {
        let stage = Stage::Phase(phase.label.clone());
        self.stage(cell, stage.clone())?;
        let (stop, rank) = (self.environment.stop, self.group.rank());
        let works = rank < clients(phase);
        let mut ready = Ok(());
        if works {
            ready = phase::prepare(phase, place, rank, stop);
        }
        let root = place.shared.root.clone();
        let space = || fsdyno_host::space::used(&root).unwrap_or_default();
        let space_before = space();
        // No rank sets up caches while another still creates files.
        let limit = self.options.phase_timeout;
        let wait = self.wait(limit, stage.to_string());
        self.group.barrier(&wait)?;
        let leads = leads(self.members, rank);
        let cache = leads.then(|| {
            let contender = &self.plan.contenders[cell.contender as usize];
            caches::set_up(phase, contender, self.options.remount.as_deref(), stop)
        });
        let (cache, remounted) = cache.map_or((None, Ok(())), |(cache, end)| (Some(cache), end));
        let ready = ready.and(remounted);
        self.group.barrier(&wait)?;
        let before = Offsets::measure(self.group, &wait)?;
        let input = Input {
            plan: self.plan,
            phase,
            offsets: &before,
            wait: &wait,
            stop,
            most: kept.left.before(phase, phase::worker(phase, rank)),
        };
        let (start, report) = phase::run(&input, self.group, place, ready)?;
        let report = report.map(|report| Report {
            machine: report.machine.filter(|_| leads),
            cache,
            ..report
        });
        let late = self.wait(limit, stage.to_string());
        let reports: Vec<Option<Report>> = gather(self.group, report, &late)?;
        let after = Offsets::measure(self.group, &late)?;
        let reports: Vec<Report> = reports.into_iter().flatten().collect();
        let ranks = Ranks {
            members: self.members,
            reports: &reports,
            clocks: Clocks {
                before: &before,
                after: &after,
            },
            start,
        };
        let ended = ranks.failure(phase);
        if rank == 0 && ended.is_none() {
            let (mut sample, times) = ranks.sample(phase, number, &kept.left);
            sample.space_before = space_before;
            sample.space_after = space();
            print(&summary(&sample, reports.len()));
            kept.times.push_str(&times);
            kept.samples.push(sample.clone());
            self.event(&Event::PhaseEnded {
                cell,
                sample: Box::new(sample),
            })?;
        }
        let result = (rank == 0).then(|| {
            let operations = stonewall::operations(phase, &reports);
            (ended.is_some(), operations)
        });
        let wait = self.wait(SHORT, stage.to_string());
        let (failed, operations) = broadcast(self.group, result, &wait)?;
        kept.left.record(phase, operations);
        Ok((failed, ended))
    }

    /// Compares what a phase left with what was written, on other ranks than the writers.
    fn verify(
        &mut self,
        cell: Cell,
        phase: &PhasePlan,
        directory: &Path,
        kept: &mut InCell,
    ) -> Result<(bool, Ended), Halt> {
        self.stage(cell, Stage::Verify)?;
        let (rank, stop) = (self.group.rank(), self.environment.stop);
        let shift = self.options.shift.max(1);
        let found = verify::check(phase, directory, rank, shift, &kept.left, stop);
        let (warning, end) = match found {
            Ok(warning) => (warning, Ok(())),
            Err(error) => (None, Err(error)),
        };
        let result = self.agree_on(&Stage::Verify, end)?;
        let wait = self.wait(SHORT, "the comparison of files");
        let warnings = gather(self.group, warning, &wait)?;
        kept.warnings.extend(warnings.into_iter().flatten());
        Ok(result)
    }

    /// Removes the files of a cell: every rank its own, then rank 0 the rest.
    fn clean(&self, directory: &Path) -> Result<Ended, Halt> {
        let own = Place::new(directory, self.group.rank()).private.root;
        // Rank 0 removes remaining files, and reports them.
        let _ = fs::remove_dir_all(&own);
        let limit = self.options.phase_timeout.saturating_add(SHORT);
        let wait = self.wait(limit, Stage::CleanUp.to_string());
        self.group.barrier(&wait)?;
        let mut removed = Ok(());
        if self.group.rank() == 0
            && let Err(error) = fs::remove_dir_all(directory)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            removed = Err(RankError::of(format!(
                "cannot remove {}: {error}; remove it yourself",
                directory.display()
            )));
        }
        self.agree_on(&Stage::CleanUp, removed)
            .map(|(_, ended)| ended)
    }
}

/// A phase in one line.
fn summary(sample: &Sample, ranks: usize) -> String {
    let figure = |name: &str| {
        let found = sample.figures.iter().find(|one| one.name == name);
        found.map_or(0.0, |one| one.value)
    };
    let time = |name: &str| Nanos::from(Duration::from_secs_f64(figure(name).max(0.0) / 1e9));
    let mut line = format!(
        "{}: {ranks} ranks, {} in {}, {:.0}/s, first end {}, spread {:.1} %",
        sample.label,
        if sample.tally.bytes.0 > 0 {
            sample.tally.bytes.to_string()
        } else {
            format!("{} files", sample.tally.files)
        },
        sample.return_ns,
        figure("rate"),
        time("first rank's end"),
        figure("spread of ranks"),
    );
    line.push_str(&stonewall::summary(sample));
    for warning in &sample.warnings {
        line.push_str("\n  warning: ");
        line.push_str(&warning.message);
    }
    line
}
