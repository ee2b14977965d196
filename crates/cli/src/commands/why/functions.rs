//! `why --functions`: repeats two cells of a run in virtual time with a profile of their kernel.

use super::WhyArgs;
use crate::commands::rendering::options;
use crate::commands::run::assembled;
use crate::exit::CliError;
use crate::output;
use fsdyno_host::signals;
use fsdyno_lab::{Lab, Profiles};
use fsdyno_model::{Outcome, ResultSet};
use fsdyno_report::functions::{Functions, Side, flame, repeated};
use fsdyno_report::{Format, Options};
use std::path::Path;
use std::sync::PoisonError;

/// What a file of the functions holds, by the end of its name.
type Picture = fn(&Functions) -> String;

pub fn functions(args: &WhyArgs, set: &ResultSet) -> Result<(), CliError> {
    let file = args.output.as_deref();
    let file = file.map(|path| Ok::<_, CliError>((path, picture(path)?)));
    let file = file.transpose()?;
    let existing = output::existing(args.force);
    output::check(args.output.as_deref(), existing)?;
    let plan = &set.run.plan;
    if !plan.in_virtual_time() {
        return Err(CliError::usage(format!(
            "the functions of {} are not known: its cells ran in real time, where no kernel counts what it \
             executes. Repeat the run on a model disk (fsdyno run ... --disk nvme)",
            set.run.id
        )));
    }
    let labels = [args.one.as_str(), args.other.as_str()];
    let pair = repeated(set, labels, args.phase.as_deref()).map_err(CliError::usage)?;
    let stop = signals::cancel_token()?;
    let profiles = Profiles::default();
    let mut labs = assembled(plan, &stop)?;
    labs.profile(&profiles);
    labs.begin(plan);
    let mut repeats = Vec::new();
    for one in &pair {
        output::note(format_args!(
            "fsdyno: repeating {} with a profile",
            one.label
        ));
        let Some(record) = labs.run_cell(plan, one.record.cell, &mut |_| ()) else {
            return Err(CliError::interrupted());
        };
        if let Outcome::Failed(failure) = &record.outcome {
            return Err(CliError::failure(format!(
                "{} failed with a profile: {}",
                one.label, failure.message
            )));
        }
        repeats.push(record);
    }
    let mut profiles = profiles.lock().unwrap_or_else(PoisonError::into_inner);
    let phase = pair[0].phase.clone();
    let sides = [0, 1].map(|at| Side {
        label: pair[at].label.clone(),
        measured: &pair[at].record.samples[pair[at].at],
        repeated: &repeats[at].samples,
        at: pair[at].at,
        profiles: profiles.remove(&repeats[at].cell.index).unwrap_or_default(),
    });
    let functions = Functions::of(&set.run.id, &phase, &sides).map_err(CliError::failure)?;
    if let Some((path, picture)) = file {
        output::save(path, picture(&functions).as_bytes(), existing)?;
    }
    let format = if args.json { Format::Json } else { args.format };
    let options = Options {
        long: args.long,
        ..options(false, false)
    };
    let bytes = fsdyno_report::render_functions(&functions, format, &options);
    output::coloured(&bytes.map_err(CliError::usage)?)
}

fn picture(path: &Path) -> Result<Picture, CliError> {
    match path.extension().and_then(|end| end.to_str()) {
        Some("svg") => Ok(flame::svg),
        Some("folded") => Ok(flame::folded),
        _ => Err(CliError::usage(format!(
            "cannot write {}: name a file that ends in .svg (a flame graph) or .folded (call paths)",
            path.display()
        ))),
    }
}
