//! The start of a run: its plan from its settings, and the programs whose versions its provenance
//! records.

use crate::catalogue::catalogue_here;
use crate::exit::{CliError, Code};
use fsdyno_load::engines::EngineInfo;
use fsdyno_model::{Plan, Step};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::{PlanFileError, ResolveError, missing_programs, resolve};

/// Programs whose versions belong to the provenance, each with the command that prints its version.
pub fn programs_to_name(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let mut programs: Vec<(String, Vec<String>)> = Vec::new();
    if plan.contenders.iter().all(|c| c.lab.is_remote()) {
        // Contenders on other machines use no programs of this one.
        return programs;
    }
    let versions = plan
        .contenders
        .iter()
        .filter_map(|contender| fsdyno_recipes::find(&contender.filesystem)?.version());
    let engine = fsdyno_load::engines::find(&plan.engine);
    let tools = engine
        .into_iter()
        .flat_map(EngineInfo::programs)
        .map(|program| Step::command([program, "--version"]));
    for step in versions.chain(tools) {
        if let Step::Command { argv } = step
            && let Some(name) = argv.first()
            && programs.iter().all(|(known, _)| known != name)
        {
            programs.push((name.clone(), argv));
        }
    }
    for phase in plan.workloads.iter().flat_map(|w| &w.phases) {
        let Some(program) = fsdyno_load::programs::find(&phase.kind) else {
            continue;
        };
        let name = program.kind.name;
        if !program.version.is_empty() && programs.iter().all(|(known, _)| known != name) {
            let argv = program.version.iter().map(|word| (*word).to_owned());
            programs.push((name.to_owned(), argv.collect()));
        }
    }
    programs
}

/// Resolves settings to a plan, with the capabilities of this machine.
pub fn resolve_here(options: &RunOptions) -> Result<Plan, CliError> {
    resolve(options, &catalogue_here()).map_err(plan_error)
}

/// The error of a plan that cannot be resolved. An error in a plan file shows the line.
pub fn plan_error(error: ResolveError) -> CliError {
    match error {
        ResolveError::Plan(file) => CliError::usage(with_its_line(&file)),
        other => CliError::usage(other),
    }
}

/// Refuses an application whose programs are missing, or whose settings are wrong.
pub fn need_programs(app: &str) -> Result<(), CliError> {
    match missing_programs(app).map_err(plan_error)? {
        None => Ok(()),
        Some((programs, packages)) => Err(CliError::new(
            Code::Missing,
            format!("{app} needs `{programs}`. Install: apt-get install {packages}"),
        )),
    }
}

/// Columns of a plan's line that are shown at most, around the error.
const SHOWN: usize = 100;

/// The message of an error in a plan file, its line with the place marked, and the remedy.
fn with_its_line(error: &PlanFileError) -> String {
    let (line, column) = (error.line(), error.column());
    let from = column.saturating_sub(SHOWN / 2).max(1) - 1;
    let shown: String = error.line_text().chars().skip(from).take(SHOWN).collect();
    let place = column - 1 - from;
    // A tab stays a tab, so that the mark is below the place at every width of tabs.
    let mut indent = String::new();
    for letter in shown.chars().take(place) {
        let width = console::measure_text_width(letter.encode_utf8(&mut [0; 4]));
        indent.push_str(if letter == '\t' { "\t" } else { &"  "[..width] });
    }
    let length = error
        .text
        .get(error.span.clone())
        .map_or(0, |it| it.chars().count());
    let marked: String = shown.chars().skip(place).take(length).collect();
    let mark = "^".repeat(console::measure_text_width(&marked).max(1));
    let margin = " ".repeat(line.to_string().len());
    let (path, message) = (&error.path, &error.message);
    let help = error.help.as_ref();
    let help = help.map_or_else(String::new, |help| format!("\n{margin} = help: {help}"));
    format!(
        "{path}:{line}:{column}: {message}\n{margin} |\n{line} | {shown}\n{margin} | {indent}{mark}{help}"
    )
}
