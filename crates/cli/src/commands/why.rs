//! `why`: splits the time difference between two contenders of a run by cause. For the main cause
//! it prints the remedies of the recipes.

use super::series::only_run;
use crate::args::report_format;
use crate::exit::{CliError, Code};
use crate::output;
use clap::Args;
use fsdyno_model::{Contender, InitialState};
use fsdyno_recipes::fs;
use fsdyno_report::Format;
use fsdyno_report::why::Why;
use fsdyno_report::why::cause::Cause;
use fsdyno_store::Store;
use std::path::Path;

const HELP: &str = "\
The time of a phase is the sum of processor time, device time by kind of
request, and a rest. A cause is reported if one part has at least half of the
difference. Otherwise the cause is unknown, and the report gives the reason.
docs/why.md has the rules.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct WhyArgs {
    /// Run: a name, its first characters, or `last`
    pub run: String,
    /// First contender, by its label in the tables
    #[arg(value_name = "A")]
    pub one: String,
    /// Second contender, by its label in the tables
    #[arg(value_name = "B")]
    pub other: String,
    /// Phase, by its label in the tables [default: all, largest difference first]
    pub phase: Option<String>,
    /// Format: terminal, markdown or json
    #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
    pub format: Format,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

pub fn why(args: &WhyArgs, store: &Path) -> Result<Code, CliError> {
    let store = Store::open_existing_read_only(store)?;
    let set = store.load(&only_run(
        store.resolve_any(&args.run)?,
        "times to compare",
    )?)?;
    let format = if args.json { Format::Json } else { args.format };
    let labels = [args.one.as_str(), args.other.as_str()];
    let why = Why::of(&set, labels, args.phase.as_deref(), &advice).map_err(CliError::usage)?;
    let bytes = fsdyno_report::render_why(&why, format, &super::report::options(false, false));
    let bytes = bytes.map_err(CliError::usage)?;
    output::coloured(&bytes)?;
    Ok(Code::Ok)
}

/// The remedies of a recipe against a cause of the slower contender, with their risks.
pub fn advice([contender, faster]: [&Contender; 2], cause: Cause) -> Option<String> {
    let recipe = fs::find(&contender.filesystem)?;
    match cause {
        Cause::Flushes => Some(fewer_flushes(recipe, contender, faster)),
        Cause::Extents => recipe
            .defragmenter()
            .map(|program| format!("{program}, which rewrites files and takes time itself")),
        Cause::Reads if contender.state != InitialState::default() => Some(
            "a run without --fill and --age, which shows their share of the difference".to_owned(),
        ),
        _ => None,
    }
}

fn fewer_flushes(recipe: &dyn fs::Filesystem, contender: &Contender, faster: &Contender) -> String {
    let device = "a device whose cache survives a power cut, where flushes are cheap";
    let option = recipe.unflushed();
    let has = |one: &Contender, option: &str| one.mount.iter().any(|given| given == option);
    match option.filter(|option| !has(contender, option)) {
        Some(option) if faster.filesystem == contender.filesystem && has(faster, option) => {
            format!(
                "the mount option {option}, as {} has it, which risks loss of durable data, and of \
                 the file system, at a power cut (test it with fsdyno crash), or {device}",
                faster.label
            )
        }
        Some(option) => format!(
            "the mount option {option}, which risks loss of durable data, and of the file system, \
             at a power cut (test it with fsdyno crash), or {device}"
        ),
        None => device.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_a_valid_option_and_its_risk() {
        let other = Contender::plain("nothing");
        for recipe in fs::ALL {
            let mut contender = Contender::plain(recipe.name());
            let text = advice([&contender, &other], Cause::Flushes).unwrap();
            let Some(option) = recipe.unflushed() else {
                assert!(!text.contains("mount option"), "{text}");
                continue;
            };
            assert!(recipe.mount_options().contains(&option));
            assert!(text.contains(option) && text.contains("risks"), "{text}");
            let mut without = contender.clone();
            (without.label, without.mount) = ("unsafe".into(), vec![option.to_owned()]);
            let text = advice([&contender, &without], Cause::Flushes).unwrap();
            assert!(text.contains("as unsafe has it, which risks"), "{text}");
            contender.mount.push(option.to_owned());
            let text = advice([&contender, &other], Cause::Flushes).unwrap();
            assert!(!text.contains(option), "{text}");
        }
        assert_eq!(advice([&other, &other], Cause::Flushes), None);
    }
}
