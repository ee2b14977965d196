//! `rerun`: repeats published comparisons on model disks of their time. This module only builds the
//! options that a user would type; `run` does the rest.

mod ablation;
mod args;

use ablation::AblationRun;
pub use args::RerunArgs;

use super::rendering::format_of;
use super::run::{self, Execution, ScreenArgs, resolve_here};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_host::signals;
use fsdyno_model::{Bytes, Plan, suggestion};
use fsdyno_report::LINES;
use fsdyno_report::published::{self, Published, Table};
use fsdyno_report::reruns::Setting;
use fsdyno_run::RunOptions;
use serde::Serialize;
use std::path::{Path, PathBuf};

pub fn rerun(args: &RerunArgs, store: &Path) -> Result<Code, CliError> {
    let Some(name) = &args.name else {
        return list(args).map(|()| Code::Ok);
    };
    let published = find(name)?;
    let (table, setting) = understood(published)?;
    let stop = signals::cancel_token()?;
    // The output is checked first, because the run takes long.
    output::check(args.output.as_deref(), output::existing(args.force))?;
    format_of(args.format, args.output.as_deref())?;
    let mut code = Code::Ok;
    // A selection of contenders does not cover the ablation.
    let ablation = setting.ablation.as_ref();
    let ablation = ablation.filter(|_| !args.no_ablation && args.contenders.is_empty());
    if !args.ablation {
        let mut plan = plan(args, published, &table, &setting)?;
        args.shard.restrict(&mut plan)?;
        let execution = Execution {
            lines: ablation.map(|_| LINES - ablation::LINES),
            ..execution(args)
        };
        let ended = run::fresh(plan, &execution, store, &stop)?;
        code = ended.code;
        if !ended.complete && !args.dry_run {
            return Ok(code);
        }
    }
    match ablation {
        Some(ablation) => {
            let run = AblationRun {
                published,
                table: &table,
                setting: &setting,
                ablation,
            };
            let ended = run.run(args, store, &stop)?;
            Ok(if code == Code::Ok { ended } else { code })
        }
        None if args.ablation => {
            let what = format!("--ablation: {name} has no ablation. Leave out --ablation.");
            Err(CliError::usage(what))
        }
        _ => Ok(code),
    }
}

fn find(name: &str) -> Result<&'static Published, CliError> {
    published::find(name).ok_or_else(|| {
        let way = suggestion(name, published::ALL.iter().map(|one| one.name));
        CliError::usage(format!("`{name}` cannot be rerun ({way})"))
    })
}

fn understood(published: &Published) -> Result<(Table, Setting), CliError> {
    let table = published.read().map_err(CliError::failure)?;
    let setting = published.read_rerun(&table).map_err(CliError::failure)?;
    Ok((table, setting))
}

fn execution(args: &RerunArgs) -> Execution {
    Execution {
        dry_run: args.dry_run,
        format: args.format(),
        screen: ScreenArgs {
            clock: args.clock,
            ..ScreenArgs::default()
        },
        output: args.output.clone(),
        existing: output::existing(args.force),
        lock: args.lock.clone(),
        jobs: args.jobs.clone(),
        ..Execution::default()
    }
}

/// The options of `run` that are equivalent to the rerun.
fn options(args: &RerunArgs, table: &Table, setting: &Setting) -> RunOptions {
    RunOptions {
        suite: Some(table.suite.clone()),
        contenders: setting
            .contenders
            .iter()
            .map(|one| one.as_str().into())
            .collect(),
        device: vec![format!("loop:{}", setting.partition.0)],
        work_dir: args.work_dir.clone(),
        repeats: Some(args.repeats),
        seed: args.seed,
        scale: Some(args.scale),
        check: args.no_check.then_some(false),
        disk: Some(PathBuf::from(&setting.disk)),
        cpu: Some(
            args.cpu
                .clone()
                .unwrap_or_else(|| PathBuf::from(&setting.cpu)),
        ),
        guest_memory: Some(
            args.guest_memory
                .unwrap_or(setting.guest_memory(args.scale)),
        ),
        guest_kernel: args.guest_kernel.clone(),
        ..RunOptions::default()
    }
}

/// The plan of the rerun: the workloads of its suite that its table contains.
fn plan(
    args: &RerunArgs,
    published: &Published,
    table: &Table,
    setting: &Setting,
) -> Result<Plan, CliError> {
    let mut options = options(args, table, setting);
    if !args.contenders.is_empty() {
        let contenders = fewer(&args.contenders, setting)?;
        options.contenders = contenders.into_iter().map(Into::into).collect();
    }
    let mut plan = resolve_here(&options)?;
    plan.workloads.retain(|workload| {
        table
            .lines
            .iter()
            .any(|line| line.workload == workload.name)
    });
    plan.name = published.rerun_name(None);
    Ok(plan)
}

/// Selects contenders of the rerun by their short form, or by the part before the options if that
/// is unique.
fn fewer(requested: &[String], setting: &Setting) -> Result<Vec<String>, CliError> {
    let mut taken = Vec::new();
    for word in requested.iter().flat_map(|list| list.split(',')) {
        let word = word.trim();
        let whole = setting.contenders.iter().filter(|one| *one == word);
        let plain = |one: &&String| one.split(':').next() == Some(word);
        let by_name = setting.contenders.iter().filter(plain);
        let mut found: Vec<&String> = whole.collect();
        if found.is_empty() {
            found = by_name.collect();
        }
        if found.is_empty() {
            // Options contain commas too, so a part that names no contender continues the one
            // before it.
            let all = setting.contenders.join(" ");
            return Err(CliError::usage(format!(
                "--fs: `{word}` is not a contender of this rerun, which has {all}. To run others: \
                 fsdyno run --disk {}",
                setting.disk
            )));
        }
        for one in found {
            if !taken.contains(one) {
                taken.push(one.clone());
            }
        }
    }
    Ok(taken)
}

/// A rerun as `rerun --list` prints it.
#[derive(Serialize)]
struct Listed {
    name: String,
    year: u32,
    title: String,
    disk: String,
    cpu: String,
    partition_bytes: u64,
    memory_bytes: u64,
    contenders: Vec<String>,
    left_out: Vec<String>,
    suite: String,
    ablation: Option<String>,
}

fn list(args: &RerunArgs) -> Result<(), CliError> {
    let mut listed = Vec::new();
    for published in published::ALL {
        let (table, setting) = understood(published)?;
        let left_out = setting.left_out.iter();
        listed.push(Listed {
            left_out: left_out.map(|one| one.contender.clone()).collect(),
            name: table.name,
            year: table.year,
            title: table.title,
            disk: setting.disk,
            cpu: setting.cpu,
            partition_bytes: setting.partition.0,
            memory_bytes: setting.memory.0,
            contenders: setting.contenders,
            suite: table.suite,
            ablation: setting.ablation.map(|ablation| ablation.question),
        });
    }
    if args.format() == fsdyno_report::Format::Json {
        return output::json(&listed);
    }
    let rows: Vec<Vec<String>> = listed.into_iter().map(row).collect();
    output::rows(&rows, output::width())
}

fn row(one: Listed) -> Vec<String> {
    let without = if one.left_out.is_empty() {
        String::new()
    } else {
        format!("; not: {}", one.left_out.join(", "))
    };
    let ablation = one
        .ablation
        .map_or_else(String::new, |question| format!(". Ablation: {question}"));
    let about = format!(
        "{} ({}). On {}, the first {}, with the processor {}, in {} of memory: \
         {}{without}{ablation}",
        one.title,
        one.year,
        one.disk,
        Bytes(one.partition_bytes),
        one.cpu,
        Bytes(one.memory_bytes),
        one.contenders.join(" ")
    );
    vec![one.name, about]
}
