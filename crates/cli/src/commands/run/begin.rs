//! The start of a run: its plan from its settings, and the programs whose versions its provenance
//! records.

use crate::catalogue::catalogue_here;
use crate::exit::CliError;
use fsdyno_load::engines::EngineInfo;
use fsdyno_model::{Plan, Step};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::{ResolveError, resolve};
use miette::{LabeledSpan, MietteDiagnostic, MietteHandlerOpts, NamedSource, Report};

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
    let ResolveError::Plan(file) = error else {
        return CliError::usage(error);
    };
    let place = format!("{}:{}:{}", file.path, file.line(), file.column());
    let mut diagnostic = MietteDiagnostic::new(format!("{place}: {}", file.message))
        .with_label(LabeledSpan::underline(file.span.clone()));
    if let Some(help) = file.help {
        diagnostic = diagnostic.with_help(help);
    }
    let source = NamedSource::new(file.path, file.text);
    // No colours: the output filter could not distinguish them from escapes in the plan. `set_hook`
    // fails only if this hook is set already.
    let _ = miette::set_hook(Box::new(|_| {
        Box::new(MietteHandlerOpts::new().color(false).build())
    }));
    let report = Report::new(diagnostic).with_source_code(source);
    CliError::usage(format!("{report:?}"))
}
