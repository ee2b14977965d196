//! The order of a run: all ranks call [`run`] with the same options, and do the same steps.

use crate::clocks::{Clocks, Offsets};
use crate::group::{Alarm, Group, Halt, Wait, broadcast, gather};
use crate::member::{Member, leads, provenance_of};
use crate::merge::{self, Ranks};
use crate::monitor::link::{Link, Record, token};
use crate::monitor::sentinel::Sentinel;
use crate::monitor::{Contact, Order};
use crate::options::Options;
use crate::phase::{self, Input, Place, RankError, Report, clients};
use crate::plan::{self, reads};
use crate::stonewall::{self, Left};
use crate::{caches, verify};
use fsdyno_datasets::{DatasetError, Form};
use fsdyno_host::signals::Signals;
use fsdyno_load::kinds;
use fsdyno_load::phases::op;
use fsdyno_model::{
    CancelToken, Cell, CellRecord, Effective, Event, Failure, Nanos, Needs, Outcome, PhasePlan,
    Plan, RunInfo, Sample, Stage, StopReason, Warning,
};
use fsdyno_observe::provenance;
use fsdyno_run::conductor::unix_now;
use fsdyno_run::schedule::schedule;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The limit of steps that take no time by themselves.
const SHORT: Duration = Duration::from_secs(120);
/// How long a directory that another client made may stay invisible.
const VISIBLE_WITHIN: Duration = Duration::from_secs(65);

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// All phases were measured.
    Complete,
    /// Some cells failed.
    Failed,
    /// The user interrupted it.
    Interrupted,
    /// The options are wrong; rank 0 printed why.
    Usage,
}

impl End {
    /// The exit status, as that of `fsdyno`.
    pub fn status(self) -> i32 {
        match self {
            Self::Complete => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Interrupted => 130,
        }
    }
}

/// What a program passes to a run.
pub struct Environment<'a> {
    /// The program that [`crate::monitor::keeper::serve`] is called in, with [`crate::monitor::link::KEEPER`].
    pub program: &'a Path,
    /// The default path of the store.
    pub store: PathBuf,
    /// The addresses of this host.
    pub addresses: Vec<String>,
    /// The MPI library, for the provenance.
    pub library: String,
    /// The command line.
    pub command_line: Vec<String>,
    /// The cancellation token that signals set.
    pub stop: &'a CancelToken,
    /// The signals of this process.
    pub signals: Option<Signals>,
    /// The alarm that ends all waits.
    pub alarm: &'a Alarm,
}

/// Runs everything with a monitor.
pub fn run(
    group: &impl Group,
    options: &Options,
    environment: &Environment<'_>,
) -> Result<End, Halt> {
    let alarm = environment.alarm;
    let wait = Wait::new(alarm, SHORT, "the start");
    let Some((plan, members)) = agree(group, options, &wait)? else {
        return Ok(End::Usage);
    };
    let mut link = None;
    if group.rank() == 0 {
        link = Some(start_keeper(options, environment, group.size())?);
    }
    let contact = link.as_ref().map(|(_, contact)| contact.clone());
    let contact = broadcast(group, contact, &wait)?;
    let signals = environment.signals.clone();
    let sentinel = Sentinel::connect(&contact, group.rank(), alarm, environment.stop, signals);
    let unwatched = sentinel.as_ref().err().map(ToString::to_string);
    for (rank, reason) in gather(group, unwatched, &wait)?.into_iter().enumerate() {
        if let Some(reason) = reason {
            print(&format!(
                "warning: {} cannot connect to the monitor ({reason}): if it dies, its name is not \
                 reported. Open the TCP ports between the hosts",
                members[rank]
            ));
        }
    }
    group.barrier(&wait)?;
    let mut conduct = Conduct {
        group,
        options,
        environment,
        plan: &plan,
        members: &members,
        record: link.map(|(link, _)| link),
        failed: false,
    };
    let end = conduct.all()?;
    let mut link = conduct.record.take();
    if let Some(link) = &mut link {
        link.end()?;
        let run = link.run.clone().unwrap_or_default();
        print(&format!("recorded: fsdyno report {run}"));
    }
    group.barrier(&wait)?;
    if let Ok(sentinel) = sentinel {
        sentinel.leave();
    }
    if let Some(link) = link {
        link.join()?;
    }
    Ok(end)
}

fn print(line: &str) {
    // A reader that went away must not end the measurement.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Resolves the plan on all ranks, and collects what is known of them; none if a rank cannot
/// begin.
fn agree(
    group: &impl Group,
    options: &Options,
    wait: &Wait<'_>,
) -> Result<Option<(Plan, Vec<Member>)>, Halt> {
    let plan = plan::plan(options, group.size());
    let directories: Vec<PathBuf> = plan.as_ref().map_or_else(
        |_| Vec::new(),
        |plan| {
            plan.contenders
                .iter()
                .filter_map(|one| one.directory.clone())
                .collect()
        },
    );
    let mut missing = directories.iter().filter(|directory| !directory.is_dir());
    let error = match (&plan, missing.next()) {
        (Err(error), _) => Some(error.clone()),
        (_, Some(directory)) => Some(format!(
            "{} is no directory here: mount the file system on all hosts",
            directory.display()
        )),
        _ => None,
    };
    let version = options.client_version.as_deref();
    let member = Member::here(group.rank(), &directories, version);
    let all = gather(group, (member, error), wait)?;
    let decided = (group.rank() == 0).then(|| {
        let error = all.iter().find_map(|(member, error)| {
            let error = error.as_ref()?;
            // An error in the options is the same on all ranks.
            Some(if plan.is_err() {
                error.clone()
            } else {
                format!("{member}: {error}")
            })
        });
        if let Some(error) = &error {
            eprintln!("fsdyno-mpi: {error}");
        }
        let members: Vec<Member> = all.into_iter().map(|(member, _)| member).collect();
        error.is_none().then_some(members)
    });
    let members = broadcast(group, decided, wait)?;
    Ok(plan.ok().zip(members))
}

fn start_keeper(
    options: &Options,
    environment: &Environment<'_>,
    ranks: usize,
) -> Result<(Link, Contact), Halt> {
    let token = token().map_err(|error| Halt::Broken(format!("/dev/urandom: {error}")))?;
    let store = options
        .store
        .clone()
        .unwrap_or_else(|| environment.store.clone());
    let store = std::path::absolute(&store)
        .map_err(|error| Halt::Broken(format!("{}: {error}", store.display())))?;
    let order = Order {
        store,
        token: token.clone(),
        ranks,
        heartbeat_timeout: options.heartbeat_timeout,
        phase_timeout: options.phase_timeout,
    };
    let link = Link::start(environment.program, &order)?;
    let contact = Contact {
        host: crate::member::host_name(),
        addresses: environment.addresses.clone(),
        port: link.port,
        token,
    };
    Ok((link, contact))
}

/// A run in progress on one rank.
struct Conduct<'a, G: Group, R: Record> {
    group: &'a G,
    options: &'a Options,
    environment: &'a Environment<'a>,
    plan: &'a Plan,
    members: &'a [Member],
    /// Rank 0 records.
    record: Option<R>,
    failed: bool,
}

/// A cell in progress. Only rank 0 has samples and warnings.
#[derive(Default)]
struct InCell {
    samples: Vec<Sample>,
    effective: Vec<Effective>,
    warnings: Vec<Warning>,
    times: String,
    /// What each rank has left, the same on all ranks.
    left: Left,
}

/// Why a cell ended early, on rank 0; the other ranks only know that it did.
type Ended = Option<(Failure, bool)>;

impl<G: Group, R: Record> Conduct<'_, G, R> {
    fn event(&mut self, event: &Event) -> Result<(), Halt> {
        match &mut self.record {
            Some(record) => record.event(event),
            None => Ok(()),
        }
    }

    fn wait(&self, limit: Duration, during: impl Into<String>) -> Wait<'_> {
        Wait::new(self.environment.alarm, limit, during)
    }

    /// Runs all cells.
    fn all(&mut self) -> Result<End, Halt> {
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
            made = fs::create_dir(directory).map_err(|cause| failed("mkdir", directory, &cause));
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
        // What is left is removed, and reported, by rank 0.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::threads;
    use clap::{Args as _, FromArgMatches as _};
    use fsdyno_model::Figure;

    fn options(directory: &Path, arguments: &[&str]) -> Options {
        let command = Options::augment_args(clap::Command::new("fsdyno-mpi"));
        let directory = directory.display().to_string();
        let words = ["fsdyno-mpi", &directory]
            .into_iter()
            .chain(arguments.iter().copied());
        Options::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    /// Runs the ranks as threads; returns the end of each, and the cells.
    fn run(size: usize, options: &Options, stop: &CancelToken) -> (Vec<End>, Vec<CellRecord>) {
        let alarm = Alarm::default();
        let results = threads::run(size, |group| {
            let environment = Environment {
                program: Path::new("/nonexistent"),
                store: PathBuf::new(),
                addresses: Vec::new(),
                library: "threads".to_owned(),
                command_line: Vec::new(),
                stop,
                signals: None,
                alarm: &alarm,
            };
            let wait = Wait::new(&alarm, SHORT, "test");
            let (plan, members) = agree(group, options, &wait).unwrap().unwrap();
            let mut conduct = Conduct {
                group,
                options,
                environment: &environment,
                plan: &plan,
                members: &members,
                record: (group.rank() == 0).then(Vec::<Event>::new),
                failed: false,
            };
            let end = conduct.all().unwrap();
            (end, conduct.record.unwrap_or_default())
        });
        let ends = results.iter().map(|(end, _)| *end).collect();
        let cells = results.into_iter().flat_map(|(_, events)| events);
        let cells = cells.filter_map(|event| match event {
            Event::CellEnded { record } => Some(*record),
            _ => None,
        });
        (ends, cells.collect())
    }

    fn figure(sample: &Sample, name: &str) -> f64 {
        let found = sample.figures.iter().find(|one: &&Figure| one.name == name);
        found
            .unwrap_or_else(|| panic!("{name}: {:?}", sample.figures))
            .value
    }

    const PHASES: &str = "op-create as-is,op-stat as-is,op-open as-is,op-rename as-is,\
                          op-link as-is,op-mkdir as-is,op-rmdir as-is,op-unlink as-is,\
                          op-write as-is,op-read as-is,op-random-write as-is";

    #[test]
    fn ranks_share_the_work_and_read_what_others_wrote() {
        for place in ["private", "shared"] {
            let directory = tempfile::tempdir().unwrap();
            let place = format!("op.place={place}");
            let set = [
                "op.files=50",
                "op.bytes=100",
                "op.size=1152K",
                "op.block=4K",
                "op.operations=100",
                "op.blocks=strided",
                "op.files-per-dir=7",
                &place,
            ];
            let set = set.into_iter().flat_map(|setting| ["--set", setting]);
            let clients = ["--phases", PHASES, "-n", "1", "--clients", "1,3"];
            let arguments: Vec<&str> = clients.into_iter().chain(set).collect();
            let options = options(directory.path(), &arguments);
            let (ends, cells) = run(3, &options, &CancelToken::new());
            assert_eq!(ends, [End::Complete; 3], "{cells:#?}");
            assert_eq!(cells.len(), 2);
            for cell in &cells {
                assert_eq!(cell.outcome, Outcome::Measured);
                for sample in &cell.samples {
                    let count = match sample.kind.as_str() {
                        "op-write" | "op-read" => 288,
                        "op-random-write" | "op-rename" => 100,
                        _ => 50,
                    };
                    assert_eq!(sample.latencies[0].count, count, "{}", sample.kind);
                    let last = figure(sample, "last rank's end");
                    assert!(figure(sample, "first rank's end") <= last);
                    assert!((last - sample.return_ns.0 as f64).abs() < 1.0);
                }
                let bytes: Vec<u64> = cell.samples.iter().map(|one| one.tally.bytes.0).collect();
                assert_eq!(bytes[0], 5000);
                assert_eq!(bytes[2], 5000, "all files of other ranks were read");
                assert_eq!(bytes[9], 288 << 12);
                let ranks = cell
                    .effective
                    .iter()
                    .find(|one| one.source == "ranks")
                    .unwrap();
                assert!(
                    ranks.text.contains("op-unlink: first end"),
                    "{}",
                    ranks.text
                );
            }
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_stonewall_ends_phases_and_later_ones_find_what_was_made() {
        for place in ["private", "shared"] {
            let directory = tempfile::tempdir().unwrap();
            let place = format!("op.place={place}");
            // At this rate the whole work of a phase takes days.
            let set = [
                "op.files=90000000",
                "op.files-per-dir=90000000",
                "op.bytes=100",
                "op.size=90000M",
                "op.block=4K",
                "op-create.rate=300",
                "op-write.rate=300",
                &place,
            ];
            let set = set.into_iter().flat_map(|setting| ["--set", setting]);
            let phases = "op-create as-is,op-stat as-is,op-open as-is,op-rename as-is,\
                          op-unlink as-is,op-write as-is,op-read as-is";
            let fixed = ["--phases", phases, "-n", "1", "--stonewall", "0.2"];
            let arguments: Vec<&str> = fixed.into_iter().chain(set).collect();
            let options = options(directory.path(), &arguments);
            let (ends, cells) = run(2, &options, &CancelToken::new());
            // The comparison of files expects exactly what was made.
            assert_eq!(ends, [End::Complete; 2], "{cells:#?}");
            let samples = &cells[0].samples;
            let files: Vec<u64> = samples[..5].iter().map(|one| one.tally.files).collect();
            assert!(files[0] > 0 && files[0] < 90_000_000, "{files:?}");
            assert_eq!(
                files[3..],
                [files[0]; 2],
                "all made files are renamed and removed"
            );
            let bytes = |at: usize| samples[at].tally.bytes.0;
            assert_eq!(bytes(0), files[0] * 100);
            assert!(bytes(5) > 0 && bytes(6) > 0 && bytes(6) <= bytes(5));
            for stopped in [0, 5] {
                let sample = &samples[stopped];
                let of = |which: &str| figure(sample, &format!("{which} operations of a rank"));
                let all = sample.latencies[0].count as f64;
                assert!((of("mean") - all / 2.0).abs() < 0.1);
                assert!(of("fewest") <= of("mean") && of("mean") <= of("most"));
                let warned = |one: &Warning| one.message.contains("the stonewall ended 2 of 2");
                assert!(sample.warnings.iter().any(warned), "{:?}", sample.warnings);
                assert!(sample.return_ns >= Nanos(200_000_000));
            }
            let complete = &samples[4];
            let warned = |one: &Warning| one.message.contains("an earlier stonewall left");
            assert!(complete.warnings.iter().any(warned));
            let figures: Vec<&String> = complete.figures.iter().map(|one| &one.name).collect();
            assert!(!figures.iter().any(|name| name.contains("of a rank")));
        }
    }

    #[test]
    fn phases_on_trees_run_on_every_rank() {
        let directory = tempfile::tempdir().unwrap();
        let phases = "copy as-is,read as-is,stat-walk as-is,delete as-is";
        let options = options(
            directory.path(),
            &[
                "--phases",
                phases,
                "-n",
                "1",
                "--dataset",
                "portage",
                "--scale",
                "0.001",
            ],
        );
        let (ends, cells) = run(2, &options, &CancelToken::new());
        assert_eq!(ends, [End::Complete; 2], "{cells:#?}");
        let files: Vec<u64> = cells[0].samples.iter().map(|one| one.tally.files).collect();
        assert!(files[0] > 0 && files[0].is_multiple_of(2), "{files:?}");
        assert_eq!(files[0], files[1]);
        assert!(
            cells[0]
                .samples
                .iter()
                .all(|one| one.latencies[0].operation == "file")
        );
    }

    #[test]
    fn phases_of_mongo_and_bonnie_run_on_every_rank() {
        let directory = tempfile::tempdir().unwrap();
        let phases = "mongo-create as-is,mongo-read as-is,mongo-delete as-is,\
                      bonnie-create as-is,bonnie-stat as-is,bonnie-delete as-is,\
                      bonnie-write as-is,bonnie-read as-is";
        let set = ["mongo.bytes=100K", "bonnie.files=30", "bonnie.size=64K"];
        let set = set.into_iter().flat_map(|setting| ["--set", setting]);
        let fixed = ["--phases", phases, "-n", "1", "--clients", "1,2"];
        let arguments: Vec<&str> = fixed.into_iter().chain(set).collect();
        let options = options(directory.path(), &arguments);
        let (ends, cells) = run(2, &options, &CancelToken::new());
        assert_eq!(ends, [End::Complete; 2], "{cells:#?}");
        let tallies = |clients: u32| -> Vec<(u64, u64)> {
            let mut cells = cells.iter();
            let cell = cells.find(|one| one.cell.workload == clients - 1).unwrap();
            let tallies = cell.samples.iter().map(|one| one.tally);
            tallies.map(|tally| (tally.files, tally.bytes.0)).collect()
        };
        let (one, two) = (tallies(1), tallies(2));
        assert!(one[..6].iter().all(|(files, _)| *files > 0), "{one:?}");
        assert_eq!(one[3].0, 30);
        assert_eq!(one[6].1, 64 << 10);
        let twice = one.iter().map(|(files, bytes)| (2 * files, 2 * bytes));
        assert_eq!(
            two,
            twice.collect::<Vec<_>>(),
            "each rank has its own files"
        );
    }

    #[test]
    fn an_interrupt_keeps_what_was_measured() {
        let directory = tempfile::tempdir().unwrap();
        let stop = CancelToken::new();
        stop.request();
        let options = options(
            directory.path(),
            &["--phases", "op-create as-is", "-n", "2"],
        );
        let (ends, cells) = run(2, &options, &stop);
        assert_eq!(ends, [End::Interrupted; 2]);
        assert_eq!(cells.len(), 1, "the second repeat does not begin");
        assert!(matches!(&cells[0].outcome, Outcome::Failed(_)));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn files_that_another_rank_lost_fail_the_cell_by_name() {
        let directory = tempfile::tempdir().unwrap();
        // The file system loses every file: the phase that reads them finds none.
        let options = options(
            directory.path(),
            &[
                "--phases",
                "op-create as-is,op-unlink as-is,op-stat as-is",
                "-n",
                "1",
                "--set",
                "op.files=4",
            ],
        );
        let (ends, cells) = run(2, &options, &CancelToken::new());
        assert_eq!(ends, [End::Failed; 2]);
        let Outcome::Failed(failure) = &cells[0].outcome else {
            panic!("{cells:?}");
        };
        assert_eq!(failure.stage, Stage::Phase("op-stat".to_owned()));
        assert_eq!(failure.errno.as_deref(), Some("ENOENT"));
        assert!(failure.message.contains("rank 0 (") && failure.message.contains("rank 1 ("));
        assert_eq!(
            cells[0].samples.len(),
            2,
            "what was measured before is kept"
        );
    }
}
