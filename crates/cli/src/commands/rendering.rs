//! The options of the reports that commands print, and the remedies of recipes in them.

use crate::exit::CliError;
use crate::output;
use fsdyno_model::{Contender, InitialState};
use fsdyno_recipes::fs;
use fsdyno_report::why::cause::Cause;
use fsdyno_report::{Format, Options};
use fsdyno_store::Detail;
use std::path::Path;

/// The options of a report that is printed.
pub fn options(clock: bool, to_file: bool) -> Options {
    Options {
        width: output::width(),
        color: output::color() && !to_file,
        clock,
        long: true,
        advice,
        ..Options::default()
    }
}

/// What a report in this format needs of the cells of a run.
pub fn detail(format: Format, long: bool) -> Detail {
    match format {
        Format::Terminal if !long => Detail::Figures,
        Format::Csv | Format::Bencher | Format::OpenMetrics => Detail::Latencies,
        _ => Detail::All,
    }
}

/// The format of a report: as requested, or by the extension of its file, or of the terminal. An
/// extension of no format is refused: a text in `report.pdf` is no PDF.
pub fn format_of(requested: Option<Format>, output: Option<&Path>) -> Result<Format, CliError> {
    let (None, Some(file)) = (requested, output) else {
        return Ok(requested.unwrap_or(Format::Terminal));
    };
    match (Format::of_file(file), file.extension()) {
        (Some(format), _) => Ok(format),
        (None, None) => Ok(Format::Terminal),
        (None, Some(_)) => Err(no_format(file, ".html, .md, .txt, .json or .csv")),
    }
}

/// The error of an output file whose extension is that of no format.
pub fn no_format(file: &Path, extensions: &str) -> CliError {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    CliError::usage(format!(
        "-o {}: .{extension} is the extension of no format. Name a file that ends in {extensions}",
        file.display()
    ))
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
