//! Advice from the atlas: an answer at once, if the atlas has the question. It measures nothing.

use super::args::{AdviseArgs, Survival};
use super::measure::{DISK, SizedRun};
use super::{candidates, commands, explorations, fault_tests, not_advisable, power_cuts};
use crate::commands::atlas::{SHIPPED, read, shipped};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::{Contender, shell_line};
use fsdyno_recipes as recipes;
use fsdyno_report::advice::{AtlasSource, Dropped, Question, Recommendation};
use fsdyno_report::atlas::{self, Atlas};
use fsdyno_run::advise::FeatureTable;
use fsdyno_run::resolve::suite;
use fsdyno_store::Store;
use std::path::Path;

/// The advice from the atlas; none if the question must be measured. Prints why, unless the user wants
/// a measurement. With `--atlas`, a question that the atlas does not have is an error.
pub fn advice(args: &AdviseArgs, store: &Path) -> Result<Option<Recommendation>, CliError> {
    if args.measure {
        return Ok(None);
    }
    let atlas = match &args.atlas {
        Some(file) => Some(read(file)?),
        None => shipped()?,
    };
    let Some(atlas) = atlas else {
        return Ok(None);
    };
    let table = FeatureTable::read().map_err(CliError::failure)?;
    let (kept, mut dropped) = candidates(&table, args, &|contender| {
        let recipe = recipes::find(&contender.filesystem)?;
        let unnamed = args.fs.is_none();
        unnamed.then(|| not_advisable(recipe, true)).flatten()
    })?;
    match covered(&atlas, args, &kept) {
        Ok((questions, kept, absent)) => {
            dropped.extend(absent);
            recommend(&atlas, (&questions, &kept), dropped, args, store).map(Some)
        }
        Err(why) if args.atlas.is_some() => Err(CliError::new(
            Code::Missing,
            format!(
                "the atlas has no answer: {why}. Measure it: {}",
                measure(args)
            ),
        )),
        Err(why) => {
            output::note(format_args!(
                "fsdyno: the atlas has no answer: {why}. Measuring here"
            ));
            Ok(None)
        }
    }
}

/// The command that answers the same question by a measurement.
fn measure(args: &AdviseArgs) -> String {
    let mut words = vec!["fsdyno".to_owned(), "advise".to_owned()];
    words.extend(args.suite.clone());
    let needs: Vec<&str> = args.needs.iter().map(|need| need.name()).collect();
    let needs = (!needs.is_empty()).then(|| needs.join(","));
    let disk = args.disk.as_ref().map(|disk| disk.display().to_string());
    let scale = args.scale.map(|scale| scale.to_string());
    // The atlas answers no other one.
    let bitrot = args.survive.contains(&Survival::Bitrot);
    for (flag, value) in [
        ("--app", args.app.clone()),
        ("--survive", bitrot.then(|| "bitrot".to_owned())),
        ("--disk", disk),
        ("--fs", args.fs.clone()),
        ("--needs", needs),
        ("--scale", scale),
    ] {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    words.push("--measure".to_owned());
    shell_line(&words)
}

/// The first setting of the question that only a measurement can respect.
fn asks_more(atlas: &Atlas, args: &AdviseArgs) -> Option<&'static str> {
    let is_unknown = |one: &Survival| *one != Survival::Bitrot || atlas.faults.is_none();
    let settings = [
        ("applications", args.application().is_some()),
        ("--phases", !args.phases.is_empty()),
        ("--work", !args.work.is_empty()),
        ("--dataset", args.dataset.is_some()),
        ("--workload-trace", args.workload_trace.is_some()),
        ("--set", !args.set.is_empty()),
        ("--fit", args.fit.is_some()),
        ("--guest-kernel", args.guest_kernel.is_some()),
        ("--work-dir", args.work_dir.is_some()),
        ("--budget", args.budget.is_some()),
        ("--survive", args.survive.iter().any(is_unknown)),
        ("--validate", args.validate),
    ];
    let mut given = settings.into_iter().filter(|(_, is_given)| *is_given);
    given.next().map(|(name, _)| name)
}

/// The questions of the atlas, by size, with the contenders that they have and those that they do not
/// have.
type Covered<'a> = (Vec<&'a atlas::Question>, Vec<String>, Vec<Dropped>);

/// The questions that the arguments ask; otherwise the reason why the atlas does not have them.
fn covered<'a>(
    atlas: &'a Atlas,
    args: &AdviseArgs,
    contenders: &[Contender],
) -> Result<Covered<'a>, String> {
    if let Some(setting) = asks_more(atlas, args) {
        return Err(format!("it knows no {setting}"));
    }
    let work = args.suite.as_deref().unwrap_or(suite::DEFAULT);
    let disk = args.disk.as_deref().unwrap_or(Path::new(DISK));
    let found = disk.to_str().map(|disk| atlas.about(work, disk));
    let found = found.unwrap_or_default();
    let Some(first) = found.first() else {
        return Err(format!("it has no {work} on {}", disk.display()));
    };
    let scale = first.plan.scale;
    if args
        .scale
        .is_some_and(|asked| asked.total_cmp(&scale).is_ne())
    {
        return Err(format!("its scale is {scale}"));
    }
    let labels = contenders.iter().map(|one| one.label.clone());
    let (has, absent): (Vec<String>, Vec<String>) = labels.partition(|label| {
        let mut all = first.plan.contenders.iter();
        all.any(|one| one.label == *label)
    });
    match absent.first() {
        Some(label) if args.fs.is_some() => Err(format!("it has no {label}")),
        _ if has.is_empty() => Err("it has none of the contenders".to_owned()),
        _ => {
            let absent = absent.iter();
            let absent = absent.map(|label| Dropped::new(label, "the atlas does not have it"));
            Ok((found, has, absent.collect()))
        }
    }
}

/// The advice from the runs of these questions, with these contenders.
fn recommend(
    atlas: &Atlas,
    (questions, contenders): (&[&atlas::Question], &[String]),
    dropped: Vec<Dropped>,
    args: &AdviseArgs,
    store: &Path,
) -> Result<Recommendation, CliError> {
    let run = |question: &&atlas::Question| -> SizedRun {
        let set = question.run(&atlas.head);
        let all = set.run.plan.contenders.iter().enumerate();
        let wanted = all.filter(|(_, one)| contenders.contains(&one.label));
        let wanted: Vec<usize> = wanted.map(|(at, _)| at).collect();
        SizedRun {
            times: question.size,
            set: set.only(&wanted),
        }
    };
    let runs: Vec<SizedRun> = questions.iter().map(run).collect();
    let (largest, smaller) = runs.split_last().expect("the atlas has the question");
    let (defaults, smaller) = (&largest.set, largest.multiples(smaller));
    let (explorations, mut power_cuts, mut fault_tests) = if store.exists() {
        let store = Store::open_existing_read_only(store)?;
        let power_cuts = power_cuts(&store)?;
        (
            explorations(&store, defaults)?,
            power_cuts,
            fault_tests(&store)?,
        )
    } else {
        (Vec::new(), Vec::new(), Vec::new())
    };
    power_cuts.extend(atlas.power_cuts());
    fault_tests.extend(atlas.fault_tests());
    let mut advice = Recommendation::of(&Question {
        defaults,
        later: &[],
        smaller: &smaller,
        variants: &[],
        explorations: &explorations,
        safety: None,
        power_cuts: &power_cuts,
        fault_tests: &fault_tests,
        bitrot: args.survive.contains(&Survival::Bitrot),
        dead_disk: false,
        dropped,
        options: &[],
        left_out: Vec::new(),
        fit: None,
        commands: &commands,
        validated: None,
        application: None,
    });
    let file = args
        .atlas
        .as_ref()
        .filter(|file| *file != Path::new(SHIPPED));
    let file = file.map(|file| format!(" --atlas {}", file.display()));
    let asked = questions[0];
    advice.atlas = Some(AtlasSource {
        fsdyno: atlas.head.fsdyno.clone(),
        verify: format!(
            "fsdyno atlas verify {}/{}{}",
            asked.work,
            asked.disk,
            file.unwrap_or_default()
        ),
        measure: measure(args),
    });
    Ok(advice)
}
