//! What a run begins with: the request as typed, the names there are, the programs to name.

use super::args::RunArgs;
use crate::exit::{CliError, Code};
use fsdyno_load::engines::EngineInfo;
use fsdyno_model::{Plan, Step};
use fsdyno_run::resolve::{Counting, Request, ResolveError};
use miette::{LabeledSpan, MietteDiagnostic, MietteHandlerOpts, NamedSource, Report};

/// The arguments as a request.
pub fn request(args: &RunArgs) -> Request {
    Request {
        suite: args.suite.clone(),
        plan: args.plan.clone(),
        fs: args.contenders.clone(),
        on: (!args.on.is_empty()).then(|| args.on.join(",")),
        work_dir: args.work_dir.clone(),
        repeats: args.repeats,
        max_repeats: args.max_repeats,
        precision: args.precision,
        margin: args.margin,
        budget: args.budget,
        cell_budget: args.cell_budget,
        vary: args.vary,
        seed: args.seed,
        scale: args.scale,
        engine: args.engine.clone(),
        copy_method: args.copy_method,
        workloads: args.phases.clone(),
        dataset: args.dataset.clone(),
        exec: args.exec.clone(),
        prepare: args.prepare.clone(),
        set: args.set.clone(),
        workers: args.workers.clone(),
        pattern: args.pattern.clone(),
        verify: args.verify.then_some(true),
        check: args.no_check.then_some(false),
        fragments: args
            .fragments
            .map(|above| above.map_or(Counting::All, Counting::Above)),
        trace: args.trace.then_some(true),
        lab: args.lab.clone(),
        disk: args.disk.clone(),
        disk_trace: args.disk_trace.clone(),
        disk_payloads: args.disk_payloads.then_some(true),
        disk_faults: args.disk_faults.clone(),
        time: args.time,
        guest_memory: args.guest_memory,
        guest_processors: args.guest_processors,
        guest_kernel: args.guest_kernel.clone(),
        fill: args.fill.clone(),
        age: args.age.clone(),
        unchecked_options: args.unchecked_options,
    }
}

/// Programs whose versions belong to the provenance, with the command that tells each.
pub fn programs_to_name(plan: &Plan) -> Vec<(String, Vec<String>)> {
    let mut programs: Vec<(String, Vec<String>)> = Vec::new();
    if plan.contenders.iter().all(|c| c.lab.is_elsewhere()) {
        // Those of this machine do nothing of it.
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

/// A request that cannot be resolved; a plan file is pointed into.
pub fn plan_trouble(error: ResolveError) -> CliError {
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
    // Without colours: they could not be told from escapes that the plan holds. A hook that is set
    // already is this one.
    let _ = miette::set_hook(Box::new(|_| {
        Box::new(MietteHandlerOpts::new().color(false).build())
    }));
    let report = Report::new(diagnostic).with_source_code(source);
    CliError::new(Code::Usage, format!("{report:?}"))
}
