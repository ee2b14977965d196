//! `atlas verify`: measures cells again, each as a shard of the plan of its question, and compares
//! figures and digests.

use super::tester::{Tester, unequal_cuts, unequal_faults};
use super::{VerifyArgs, read};
use crate::commands::crash::in_order;
use crate::commands::run::{Execution, fresh, resolve_here};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_files::{TemporaryDir, refuse_foreign_dir};
use fsdyno_host::signals;
use fsdyno_model::random::Random;
use fsdyno_model::{CancelToken, Plan, ResultSet, Shard, printable};
use fsdyno_report::atlas::{Atlas, AtlasCell, Head, Question, identity};
use fsdyno_run::atlas::AtlasQuestion;
use fsdyno_run::schedule::schedule;
use fsdyno_store::Store;
use std::fmt::Write as _;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The first word of the names of tests with faulty disks.
const FAULTS: &str = "faults";

/// That of power cuts.
const POWER: &str = "power";

/// The size of a random sample.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sample {
    Cells(usize),
    Percent(f64),
}

impl Sample {
    /// The number of cells of so many.
    fn of(self, all: usize) -> usize {
        let number = match self {
            Self::Cells(number) => number,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of a number of cells"
            )]
            Self::Percent(percent) => (all as f64 * percent / 100.0).ceil() as usize,
        };
        number.min(all)
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no size of a sample: write 5, or 1%");
        match text.strip_suffix('%') {
            Some(percent) => {
                let percent = percent.trim().parse().map_err(|_| wrong())?;
                let is_part = percent > 0.0 && percent <= 100.0;
                is_part.then_some(Self::Percent(percent)).ok_or_else(wrong)
            }
            None => match text.parse() {
                Ok(number) if number > 0 => Ok(Self::Cells(number)),
                _ => Err(wrong()),
            },
        }
    }
}

pub fn verify(args: &VerifyArgs) -> Result<Code, CliError> {
    let stop = signals::cancel_token()?;
    let atlas = read(&args.atlas.file)?;
    let is_test = |name: &&String| {
        let first = name.split('/').next().unwrap_or_default();
        [FAULTS, POWER].contains(&first)
    };
    let (tests, cells): (Vec<&String>, Vec<&String>) = args.cells.iter().partition(is_test);
    if tests.is_empty() {
        return verify_cells(args, &atlas, &cells, &stop);
    }
    if !cells.is_empty() {
        return Err(CliError::usage(format!(
            "{}: verify cells and tests by two commands",
            tests[0]
        )));
    }
    verify_tests(args, &atlas, &tests, &stop)
}

/// The tests of an atlas by name: `faults/LABEL`, `power/LABEL`.
fn tests_of(atlas: &Atlas) -> Vec<(&'static str, &str)> {
    let faults = atlas.faults.iter().flat_map(|one| &one.contenders);
    let power = atlas.power.iter().flat_map(|one| &one.contenders);
    let faults = faults.map(|one| (FAULTS, &*one.label));
    faults
        .chain(power.map(|one| (POWER, &*one.label)))
        .collect()
}

/// Does tests with faulty disks, or power cuts, again.
fn verify_tests(
    args: &VerifyArgs,
    atlas: &Atlas,
    names: &[&String],
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let known = tests_of(atlas);
    let mut chosen = Vec::new();
    for name in names {
        let asked = name.trim_end_matches('/');
        let is_asked =
            |(kind, label): &&(&str, &str)| asked == *kind || asked == format!("{kind}/{label}");
        let before = chosen.len();
        chosen.extend(known.iter().filter(is_asked));
        if chosen.len() == before {
            let has = known
                .iter()
                .map(|(kind, label)| format!("{kind}/{}", printable(label)));
            let has: Vec<String> = has.collect();
            let has = if has.is_empty() {
                "none".to_owned()
            } else {
                has.join(", ")
            };
            return Err(CliError::usage(format!(
                "the atlas has no test {name}; it has {has}"
            )));
        }
    }
    let place = place_of_runs()?;
    let mut store = Store::open(&place.path().join("cells.db"))?;
    let tester = Tester::new(&args.place, stop)?;
    let kernel = &*atlas.head.kernel;
    let mut equal = 0;
    for (kind, label) in &chosen {
        let labels = [(*label).to_owned()];
        let differences = match (*kind, &atlas.faults, &atlas.power) {
            (POWER, _, Some(power)) => {
                let moments = (power.seed, power.draws);
                let here = tester.power(&labels, moments, (&mut store, kernel))?;
                unequal_cuts(label, power, &here)
            }
            (_, Some(faults), _) => {
                let places = (faults.seed, faults.draws);
                let here = tester.faults(&labels, places, (&mut store, kernel))?;
                let mut tests = faults.tests.iter();
                match (
                    tests.find(|one| one.contender == *label),
                    here.tests.first(),
                ) {
                    (Some(known), Some(here)) => unequal_faults(known, here),
                    _ => vec!["it was not tested here".to_owned()],
                }
            }
            _ => continue,
        };
        let name = format!("{kind}/{}", printable(label));
        equal += usize::from(print(&name, differences)?);
    }
    let all = chosen.len();
    let text = format!("{equal} of {all} tests have equal outcomes.\n");
    output::bytes(text.as_bytes())?;
    Ok(Code::ok_if(equal == all))
}

/// Prints what differs of a cell or a test; whether it is equal.
fn print(name: &str, differences: Vec<String>) -> Result<bool, CliError> {
    let is_equal = differences.is_empty();
    let mut text = if is_equal {
        format!("equal    {name}\n")
    } else {
        format!("DIFFERS  {name}\n")
    };
    for difference in differences {
        let _ = writeln!(text, "         {}", printable(&difference));
    }
    output::bytes(text.as_bytes())?;
    Ok(is_equal)
}

/// A directory for the store of what is measured again.
fn place_of_runs() -> Result<TemporaryDir, CliError> {
    let parent = std::env::temp_dir();
    refuse_foreign_dir(&parent).map_err(CliError::usage)?;
    Ok(TemporaryDir::create(&parent, "fsdyno-atlas-")?)
}

fn verify_cells(
    args: &VerifyArgs,
    atlas: &Atlas,
    names: &[&String],
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let chosen = choose(atlas, names, args)?;
    let all = chosen.len();
    output::note(format_args!(
        "fsdyno: {all} of {} cells of the atlas, {}",
        atlas.head.cells,
        about(chosen.iter().map(|(question, _)| question.seconds).sum())
    ));
    let mut here = Head::default();
    let mut equal = 0;
    let plans = chosen.iter().map(|(one, _)| &one.plan);
    let jobs = args.place.jobs.of_cells(plans);
    let measured = |one: &(&Question, &AtlasCell)| measure(one.0, one.1, args, stop);
    in_order(&chosen, jobs, measured, |(question, cell), set| {
        here.add(&set).map_err(CliError::failure)?;
        let name = printable(&cell.name());
        let again = Question::of(&question.work, &question.disk, question.size, &set);
        let differences = match again.cells.first() {
            Some(again) => cell.differences(again),
            None => vec!["it was not measured here".to_owned()],
        };
        equal += usize::from(print(&name, differences)?);
        Ok(())
    })?;
    let mut text = format!(
        "{equal} of {all} cells are equal to the nanosecond, with all their disk requests.\n"
    );
    let mut changed = identity(&atlas.head, &here);
    // Only a plan file has a hash.
    changed.retain(|one| one.what != "plan");
    if equal < all {
        for one in &changed {
            let [then, now] = &one.values;
            let _ = writeln!(text, "{}: {then} in the atlas, {now} here", one.what);
        }
        if changed.is_empty() {
            text += "Kernel, programs, profiles and the version of fsdyno are those of the atlas. The \
                     libraries of the programs and the build of fsdyno are not compared.\n";
        }
    }
    output::bytes(text.as_bytes())?;
    Ok(Code::ok_if(equal == all))
}

/// A time in a sentence.
pub fn about(seconds: f64) -> String {
    let time = fsdyno_model::Nanos::from_seconds(seconds);
    format!("about {}", time.clock())
}

/// The cells to measure, in the order of the atlas.
fn choose<'a>(
    atlas: &'a Atlas,
    names: &[&String],
    args: &VerifyArgs,
) -> Result<Vec<(&'a Question, &'a AtlasCell)>, CliError> {
    let mut chosen = Vec::new();
    let mut found = vec![false; names.len()];
    for question in &atlas.questions {
        for cell in &question.cells {
            let name = cell.name();
            let mut wanted = names.is_empty();
            for (words, found) in names.iter().zip(&mut found) {
                let words = words.trim_end_matches('/');
                let rest = name.strip_prefix(words);
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                    (wanted, *found) = (true, true);
                }
            }
            if wanted {
                chosen.push((question, cell));
            }
        }
    }
    if let Some(at) = found.iter().position(|found| !found) {
        let words = names[at];
        return Err(CliError::usage(format!(
            "the atlas has no cell {words}. Its names are WORK/DISK/SIZE/CONTENDER/WORKLOAD/DRAW; \
             fsdyno atlas show lists works and disks"
        )));
    }
    let usual = names.is_empty().then_some(Sample::Percent(1.0));
    let Some(sample) = args.sample.or(usual) else {
        return Ok(chosen);
    };
    let mut places: Vec<usize> = (0..chosen.len()).collect();
    Random::new(args.seed).shuffle(&mut places);
    places.truncate(sample.of(chosen.len()));
    places.sort_unstable();
    Ok(places.into_iter().map(|at| chosen[at]).collect())
}

/// Measures a cell. Its plan is resolved from names, so that nothing in the file is executed.
fn measure(
    question: &Question,
    cell: &AtlasCell,
    args: &VerifyArgs,
    stop: &CancelToken,
) -> Result<ResultSet, CliError> {
    let place = place_of_runs()?;
    let store = &*place.path().join("cells.db");
    let labels = question.plan.contenders.iter().map(|one| one.label.clone());
    let asked = AtlasQuestion {
        work: question.work.clone(),
        disk: question.disk.clone(),
        size: question.size,
        scale: question.plan.scale,
        contenders: labels.collect(),
        draws: question.plan.repeats,
    };
    let plan = resolve_here(&args.place.options(&asked))?;
    let index = index_of(&plan, cell).ok_or_else(|| {
        CliError::failure(format!(
            "this version of fsdyno has no cell {}: its suite {} is another one",
            printable(&cell.name()),
            question.work
        ))
    })?;
    let of = u32::try_from(plan.cells()).ok().and_then(NonZeroU32::new);
    let shard = of.map(|of| Shard::with(index, of));
    let execution = Execution {
        jobs: args.place.jobs.clone(),
        is_part: true,
        ..Execution::silent()
    };
    let ended = fresh(Plan { shard, ..plan }, &execution, store, stop)?;
    match ended.run {
        Some(run) if ended.code != Code::Interrupted => {
            Ok(Store::open_existing_read_only(store)?.load(&run)?)
        }
        _ => Err(CliError::interrupted()),
    }
}

/// The place of a cell in the order of execution.
fn index_of(plan: &Plan, cell: &AtlasCell) -> Option<u32> {
    let cells = schedule(plan).into_iter();
    let mut cells = cells.filter(|one| {
        let contender = plan.contenders.get(one.contender as usize);
        let workload = plan.workloads.get(one.workload as usize);
        one.block + 1 == cell.draw
            && contender.is_some_and(|one| one.label == cell.contender)
            && workload.is_some_and(|one| one.name == cell.workload)
    });
    cells.next().map(|one| one.index)
}
