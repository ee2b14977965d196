//! `atlas build`: the runs of a plan of an atlas, each in the store, and the file of those that are
//! complete.

use super::tester::Tester;
use super::verify::about;
use super::{BuildArgs, shipped};
use crate::commands::crash::contenders;
use crate::commands::lose::disks;
use crate::commands::run::{
    Execution, assembled, check_unchanged, fresh, programs_to_name, resolve_here, resume,
};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_files::{Existing, input};
use fsdyno_host::signals;
use fsdyno_model::{CancelToken, LabChoice, Plan, ResultSet, Shard, StopReason, kernel_of_guest};
use fsdyno_observe::provenance;
use fsdyno_report::atlas::{Atlas, AtlasFaults, AtlasPower, Head, Question, without_places};
use fsdyno_run::RunOptions;
use fsdyno_run::atlas::{AtlasPlan, AtlasQuestion, DEFAULT, PLAN, RUN};
use fsdyno_run::remaining::failed;
use fsdyno_store::{Detail, Store};
use std::path::Path;
use std::time::{Duration, Instant};

pub fn build(args: &BuildArgs, store: &Path) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let plan = read_plan(&args.plan)?;
    let file = args.output.as_deref();
    let existing = output::existing(args.force || file.is_some_and(|file| is_part_of(&plan, file)));
    output::check(file, existing)?;
    let mut questions = Vec::new();
    for (number, question) in (0..).zip(plan.questions()) {
        let is_here = |shard: Shard| Shard::with(number, shard.of) == shard;
        if args.shard.is_none_or(is_here) {
            let plan = resolve_here(&args.place.options(&question)).map_err(|error| {
                CliError::new(error.code, format!("{}: {error}", question.name()))
            })?;
            questions.push((question, plan));
        }
    }
    let Some((_, first)) = questions.first() else {
        return Err(CliError::usage(
            "--shard: the plan has fewer questions than shards, and this shard has none",
        ));
    };
    let here = Head {
        title: plan.title.clone(),
        plan_hash: plan.hash.clone(),
        planned: u32::try_from(plan.questions().len()).unwrap_or(u32::MAX),
        fsdyno: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: kernel_here(first, &stop)?,
        programs: programs_here(&questions),
        ..Head::default()
    };
    for (name, tests) in [("faults", &plan.faults), ("power", &plan.power)] {
        // A wrong name is refused before anything is measured.
        if let Some(tests) = tests {
            contenders(&tests.contenders, &LabChoice::Uml)
                .map_err(|error| CliError::new(error.code, format!("[{name}]: {error}")))?;
        }
    }
    let builder = Builder {
        args,
        existing,
        store,
        stop: &stop,
        known: shipped()?,
        recorded: recorded(store, &here)?,
        here,
        questions,
    };
    let (sets, code) = builder.measure()?;
    let tests = match code {
        Code::Ok => builder.tests(&plan)?,
        _ => (None, None),
    };
    if code == Code::Ok || !sets.is_empty() {
        builder.finish(&sets, tests)?;
    }
    Ok(code)
}

/// Whether a file has a part of the atlas of a plan, as an interrupted build leaves it.
fn is_part_of(plan: &AtlasPlan, file: &Path) -> bool {
    let atlas = input::read_text(file)
        .ok()
        .and_then(|text| Atlas::read(&text).ok());
    atlas.is_some_and(|atlas| {
        atlas.head.plan_hash == plan.hash && atlas.questions.len() < plan.questions().len()
    })
}

/// The plan file, or the shipped plan.
fn read_plan(path: &Path) -> Result<AtlasPlan, CliError> {
    let failed = |why: String| {
        let path = path.display();
        CliError::usage(format!("cannot use the plan {path} of an atlas: {why}"))
    };
    if path == Path::new(DEFAULT) {
        return AtlasPlan::read(PLAN).map_err(failed);
    }
    let text = input::read_text(path).map_err(|error| failed(error.to_string()))?;
    AtlasPlan::read(&text).map_err(failed)
}

/// The kernel of the guests of a plan, with its build.
fn kernel_here(plan: &Plan, stop: &CancelToken) -> Result<String, CliError> {
    let labs = assembled(plan, stop)?;
    let guest = plan.contenders.first().and_then(|one| labs.guest(one));
    Ok(guest.map(kernel_of_guest).unwrap_or_default().to_owned())
}

/// The programs of all questions, with their versions.
fn programs_here(
    questions: &[(AtlasQuestion, Plan)],
) -> std::collections::BTreeMap<String, String> {
    let mut programs = Vec::new();
    for program in questions
        .iter()
        .flat_map(|(_, plan)| programs_to_name(plan))
    {
        if !programs.contains(&program) {
            programs.push(program);
        }
    }
    let here = provenance::collect(&programs, &[]);
    here.programs.into_iter().collect()
}

/// The runs of atlases in the store with this kernel, these programs and this version.
fn recorded(path: &Path, here: &Head) -> Result<Vec<ResultSet>, CliError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let store = Store::open_existing_read_only(path)?;
    let mut sets = Vec::new();
    for run in store.runs()?.into_iter().filter(|run| run.name == RUN) {
        let set = store.load_in(Detail::Figures, &run.id)?;
        if here.clone().add(&set).is_ok() {
            sets.push(set);
        }
    }
    Ok(sets)
}

struct Builder<'a> {
    args: &'a BuildArgs,
    /// The treatment of an existing file.
    existing: Existing,
    store: &'a Path,
    stop: &'a CancelToken,
    /// The shipped atlas, which knows how long cells take.
    known: Option<Atlas>,
    /// The runs that need not be repeated, the newest first.
    recorded: Vec<ResultSet>,
    /// The identity of what is measured here.
    here: Head,
    questions: Vec<(AtlasQuestion, Plan)>,
}

/// The tests with faulty disks and the power cuts.
type Tests = (Option<AtlasFaults>, Option<AtlasPower>);

/// A run of a question.
type Answered = (AtlasQuestion, ResultSet);

impl Builder<'_> {
    /// Measures what is not recorded, as long as the budget lasts. Returns all complete runs.
    fn measure(&self) -> Result<(Vec<Answered>, Code), CliError> {
        let began = Instant::now();
        let budget = self.args.budget;
        let budget = budget.map(|time| Duration::from_nanos(time.0));
        let (mut sets, mut todo) = (Vec::new(), Vec::new());
        for (question, plan) in &self.questions {
            match self.recorded_run(plan) {
                Some(set) if is_complete(set) => sets.push((question.clone(), set.clone())),
                partial => todo.push((question, plan, partial)),
            }
        }
        let cells = |all: &[(&AtlasQuestion, &Plan, Option<&ResultSet>)]| -> u64 {
            let left = all
                .iter()
                .map(|(_, plan, partial)| plan.cells().saturating_sub(partial.map_or(0, finished)));
            left.sum()
        };
        let all: u64 = self.questions.iter().map(|(_, plan)| plan.cells()).sum();
        output::note(format_args!(
            "fsdyno: questions: {}; cells: {all}; to measure: {}, {}",
            self.questions.len(),
            cells(&todo),
            match self.seconds(&sets, &todo) {
                Some(seconds) => about(seconds),
                None => "in a time that is known after the first run".to_owned(),
            }
        ));
        let mut left = &todo[..];
        let number = todo.len();
        while let Some(((question, plan, partial), rest)) = left.split_first() {
            if budget.is_some_and(|budget| began.elapsed() > budget) {
                output::note("fsdyno: the budget is used up; the same command continues");
                return Ok((sets, Code::Ok));
            }
            let Some(set) = self.run(plan, *partial)? else {
                output::note("fsdyno: interrupted; the same command continues");
                return Ok((sets, Code::Interrupted));
            };
            sets.push(((*question).clone(), set));
            left = rest;
            output::note(format_args!(
                "fsdyno: {} of {number} done: {}; {} cells left{}",
                number - left.len(),
                question.name(),
                cells(left),
                match self.seconds(&sets, left) {
                    Some(seconds) if !left.is_empty() => format!(", {}", about(seconds)),
                    _ => String::new(),
                }
            ));
        }
        Ok((sets, Code::Ok))
    }

    /// The recorded run of a plan: a complete one, in whatever directory it ran, if there is one.
    fn recorded_run(&self, plan: &Plan) -> Option<&ResultSet> {
        let same_draws =
            |set: &&ResultSet| set.run.plan.repeats == plan.repeats && set.run.plan.shard.is_none();
        let runs = || self.recorded.iter().filter(same_draws);
        let here = without_places(plan).hash();
        let is_whole =
            |set: &&ResultSet| is_complete(set) && without_places(&set.run.plan).hash() == here;
        let is_begun = |set: &&ResultSet| {
            let plan = Plan {
                contents: set.run.plan.contents.clone(),
                ..plan.clone()
            };
            plan.hash() == set.run.plan_hash
        };
        runs().find(is_whole).or_else(|| runs().find(is_begun))
    }

    /// Measures a plan, or the rest of its run; none if the user interrupted it.
    fn run(&self, plan: &Plan, partial: Option<&ResultSet>) -> Result<Option<ResultSet>, CliError> {
        let execution = Execution {
            jobs: self.args.place.jobs.clone(),
            is_part: true,
            ..Execution::silent()
        };
        // A run of another machine cannot continue here.
        let partial = partial.filter(|set| check_unchanged(&set.run, self.stop).is_ok());
        let ended = match partial {
            Some(set) => {
                // Failed cells are measured again once all others were.
                let retries = set.run.stop == Some(StopReason::Complete);
                let options = (&RunOptions::default(), retries);
                resume(&execution, &set.run.id, options, self.store, self.stop)?
            }
            None => fresh(plan.clone(), &execution, self.store, self.stop)?,
        };
        match ended.run {
            Some(run) if ended.code != Code::Interrupted => {
                let store = Store::open_existing_read_only(self.store)?;
                Ok(Some(store.load_in(Detail::Figures, &run)?))
            }
            _ => Ok(None),
        }
    }

    /// How long these questions take: from runs of the same work and size, else from the shipped atlas,
    /// else from all that are known.
    fn seconds(
        &self,
        sets: &[Answered],
        todo: &[(&AtlasQuestion, &Plan, Option<&ResultSet>)],
    ) -> Option<f64> {
        let measured = sets.iter().map(|(question, set)| {
            let known = Question::of(&question.work, &question.disk, question.size, set);
            (known.work, known.size, known.seconds)
        });
        let shipped = self.known.iter().flat_map(|atlas| &atlas.questions);
        let shipped = shipped.map(|one| (one.work.clone(), one.size, one.seconds));
        let known: Vec<(String, u32, f64)> = measured.chain(shipped).collect();
        if known.is_empty() {
            return None;
        }
        let mean = |of: &mut dyn Iterator<Item = f64>| {
            let all: Vec<f64> = of.collect();
            (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
        };
        let mut seconds = 0.0;
        for (question, plan, partial) in todo {
            let same = known
                .iter()
                .filter(|(work, size, _)| *work == question.work && *size == question.size);
            let each = mean(&mut same.map(|one| one.2))
                .or_else(|| mean(&mut known.iter().map(|one| one.2)))?;
            let left = plan.cells().saturating_sub(partial.map_or(0, finished));
            let jobs = self.args.place.jobs.of_cells([*plan]);
            seconds += each * left as f64 / jobs.get() as f64;
        }
        Some(seconds)
    }

    /// The tests with faulty disks and the power cuts of the store, which are done first if it has none of
    /// this kernel. None for a shard: they are of the whole atlas.
    fn tests(&self, plan: &AtlasPlan) -> Result<Tests, CliError> {
        if self.args.shard.is_some() || (plan.faults.is_none() && plan.power.is_none()) {
            return Ok((None, None));
        }
        let tester = Tester::new(&self.args.place, self.stop)?;
        let mut store = Store::open(self.store)?;
        let kernel = &*self.here.kernel;
        let faults = plan.faults.as_ref().map(|plan| {
            let places = (disks::SEED, plan.draws.get());
            tester.faults(&plan.contenders, places, (&mut store, kernel))
        });
        let faults = faults.transpose()?;
        let power = plan.power.as_ref().map(|plan| {
            let moments = (disks::SEED, plan.draws.get());
            tester.power(&plan.contenders, moments, (&mut store, kernel))
        });
        Ok((faults, power.transpose()?))
    }

    /// Writes the file, in the order of the plan, and prints what it has.
    fn finish(&self, sets: &[Answered], (faults, power): Tests) -> Result<(), CliError> {
        let mut atlas = Atlas {
            head: self.here.clone(),
            faults,
            power,
            questions: Vec::new(),
        };
        for (question, _) in &self.questions {
            let Some((_, set)) = sets.iter().find(|(of, _)| of == question) else {
                continue;
            };
            atlas.head.add(set).map_err(CliError::failure)?;
            let question = Question::of(&question.work, &question.disk, question.size, set);
            atlas.questions.push(question);
        }
        let failed: usize = sets.iter().map(|(_, set)| failed(&set.cells).len()).sum();
        if failed > 0 {
            output::note(format_args!(
                "fsdyno: {failed} cells failed: fsdyno runs lists the runs, fsdyno show RUN the reasons; \
                 the same command measures them again"
            ));
        }
        let (planned, has) = (self.here.planned, atlas.questions.len());
        let Some(file) = &self.args.output else {
            output::note(format_args!(
                "fsdyno: {has} of {planned} questions are in the store; -o FILE writes the atlas"
            ));
            return Ok(());
        };
        if atlas.questions.is_empty() {
            return Err(CliError::failure(
                "no question is measured yet: nothing is written",
            ));
        }
        let text = atlas.text();
        output::save(file, text.as_bytes(), self.existing)?;
        output::note(format_args!(
            "fsdyno: {} has {has} of {planned} questions; show it: fsdyno atlas show --atlas {}",
            file.display(),
            file.display()
        ));
        Ok(())
    }
}

/// The number of cells of a run that need not be measured again.
fn finished(set: &ResultSet) -> u64 {
    (set.cells.len() - failed(&set.cells).len()) as u64
}

/// Whether each cell of a run is finished.
fn is_complete(set: &ResultSet) -> bool {
    finished(set) == set.run.plan.cells()
}
