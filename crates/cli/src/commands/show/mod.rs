//! `show`: a summary of a run, the commands of one of its cells, or the latencies of its
//! operations.

mod latencies;
mod stages;

use super::runs::ended;
use super::series;
use crate::exit::CliError;
use crate::output;
use clap::Args;
use fsdyno_model::step::shell_line;
use fsdyno_model::{CellRecord, Effective, Outcome, ResultSet, RunInfo};
use fsdyno_store::{Detail, Named, Reading, Store};
use stages::Stages;
use std::ops::ControlFlow;
use std::path::Path;

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run, crash series or exploration: a name, its first characters, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// Print every command that this cell executed
    #[arg(long, value_name = "CELL")]
    pub commands: Option<u32>,
    /// Print latencies of single operations, all repeats of a contender together
    ///
    /// An operation is one file, or one operation of the phase.
    #[arg(long, conflicts_with = "commands")]
    pub latencies: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

pub fn show(args: &ShowArgs, store: &Path) -> Result<(), CliError> {
    let store = Store::open_existing_read_only(store)?;
    let only_run = args.commands.is_some() || args.latencies;
    let named = if only_run {
        Named::Run(series::only_run(&store, &args.run, "cells")?)
    } else {
        store.resolve_any(&args.run)?
    };
    let id = match named {
        Named::Run(id) => id,
        Named::Series(id) => return series::show(&store.load_series(&id)?, args.json),
        Named::Exploration(id) => {
            return series::show_exploration(&store.exploration(&id)?, args.json);
        }
        Named::FaultTests(id) => {
            return series::show_fault_tests(&store.load_fault_tests(&id)?, args.json);
        }
    };
    if args.latencies {
        return latencies::show(&store.load_in(Detail::Latencies, &id)?, args.json);
    }
    let reading = store.reading(&id)?;
    if let Some(index) = args.commands {
        return commands(&reading, index, args.json);
    }
    if args.json {
        return output::json(reading.run());
    }
    let mut stages = Stages::default();
    let mut cells = Vec::new();
    // What is shown of a cell is a small part of it.
    reading.cells(Detail::Figures, |mut record| {
        stages.add(&record);
        record.samples = Vec::new();
        cells.push(record);
        ControlFlow::Continue(())
    })?;
    let set = ResultSet {
        schema: ResultSet::SCHEMA,
        run: reading.run().clone(),
        cells,
        variants: Vec::new(),
    };
    let tags = store.tags(&set.run.id)?;
    let mut rows = facts(&set.run, store.is_claimed(&set.run.id), &tags);
    rows.extend(labs(&set));
    rows.extend(states(&set));
    let machines = set.machines().into_iter();
    rows.extend(machines.map(|text| vec!["shards on".to_owned(), text]));
    let digest = set.digest().into_iter();
    rows.extend(digest.map(|text| vec!["digest".to_owned(), text]));
    output::rows(&rows, output::width())?;
    output::bytes(b"\n")?;
    let header = ["CELL", "BLOCK", "CONTENDER", "WORKLOAD", "TOOK", "OUTCOME"];
    let mut rows = vec![output::words(header)];
    rows.extend(set.cells.iter().map(|record| row(&set.run, record)));
    output::rows(&rows, output::width())?;
    let rows = stages.rows();
    if !rows.is_empty() {
        output::bytes(b"\n")?;
        output::rows(&rows, output::width())?;
    }
    Ok(())
}

fn facts(run: &RunInfo, running: bool, tags: &[String]) -> Vec<Vec<String>> {
    let plan = &run.plan;
    let p = &run.provenance;
    let when = jiff::Timestamp::from_nanosecond(i128::from(run.started_unix_ns))
        .map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_default();
    let labels: Vec<&str> = plan.contenders.iter().map(|c| c.label.as_str()).collect();
    let mut facts = vec![
        ("run", run.id.clone()),
        ("begun", when),
        ("ended", ended(run.stop, running)),
        ("command", shell_line(&run.command_line)),
        ("plan", format!("{} (hash {})", plan.name, run.plan_hash)),
        ("seed", plan.seed.to_string()),
        ("scale", plan.scale.to_string()),
        ("engine", plan.engine.clone()),
        ("contenders", labels.join(", ")),
        (
            "machine",
            format!("{}, {} processors", p.processor, p.processors),
        ),
        ("memory", fsdyno_model::Bytes(p.memory_bytes).to_string()),
        ("kernel", p.kernel.clone()),
        (
            "system",
            format!("{}, virtualisation: {}", p.distribution, p.virtualisation),
        ),
    ];
    if !tags.is_empty() {
        facts.insert(1, ("tags", tags.join(", ")));
    }
    for workload in &plan.workloads {
        let phases: Vec<String> = workload
            .phases
            .iter()
            .map(|phase| {
                let cache = phase.cache.to_string();
                if phase.label.ends_with(&cache) {
                    phase.label.clone()
                } else {
                    format!("{} {cache}", phase.label)
                }
            })
            .collect();
        let line = format!(
            "{}: {} over {}",
            workload.name,
            phases.join(", "),
            workload.dataset
        );
        facts.push(("workload", line));
    }
    for (name, version) in &p.programs {
        facts.push(("program", format!("{name}: {version}")));
    }
    facts
        .into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect()
}

/// The labs of the contenders; empty if all ran on this machine.
fn labs(set: &ResultSet) -> Vec<Vec<String>> {
    let shares = set.labs();
    let several = shares.len() > 1;
    let mut rows = Vec::new();
    for share in shares {
        if several {
            let contenders = &set.run.plan.contenders;
            let labels = share
                .contenders
                .iter()
                .map(|at| contenders[*at].label.as_str());
            let labels: Vec<&str> = labels.collect();
            let text = format!("{}: {}", share.lab, labels.join(", "));
            rows.push(vec!["lab".to_owned(), text]);
        }
        let guests = share.guests.into_iter();
        rows.extend(guests.map(|text| vec!["guest".to_owned(), text]));
    }
    rows
}

/// The setup of the initial states, cell by cell.
fn states(set: &ResultSet) -> Vec<Vec<String>> {
    let rows = set.cells.iter().flat_map(|record| {
        let effective = record.effective.iter();
        let states = effective.filter(|effective| effective.source == Effective::STATE);
        states.map(|state| {
            let text = format!("cell {}: {}", record.cell.index, state.text);
            vec!["state".to_owned(), text]
        })
    });
    rows.collect()
}

fn row(run: &RunInfo, record: &CellRecord) -> Vec<String> {
    let cell = record.cell;
    let outcome = match &record.outcome {
        Outcome::Measured => "measured".to_owned(),
        Outcome::Skipped { reason, .. } => format!("skipped: {reason}"),
        Outcome::Failed(failure) => format!("failed: {}: {}", failure.stage, failure.message),
    };
    vec![
        cell.index.to_string(),
        (cell.block + 1).to_string(),
        run.plan.contenders[cell.contender as usize].label.clone(),
        run.plan.workloads[cell.workload as usize].name.clone(),
        record.took_ns.to_string(),
        outcome,
    ]
}

fn commands(reading: &Reading<'_>, index: u32, json: bool) -> Result<(), CliError> {
    let mut found = None;
    reading.cells(Detail::All, |record| {
        if record.cell.index < index {
            return ControlFlow::Continue(());
        }
        found = Some(record).filter(|record| record.cell.index == index);
        ControlFlow::Break(())
    })?;
    let record = found.ok_or_else(|| {
        CliError::usage(format!(
            "{} has no recorded cell {index}. List the cells: fsdyno show",
            reading.run().id
        ))
    })?;
    if json {
        return output::json(&record.commands);
    }
    for command in &record.commands {
        let how = if command.by_system_call {
            "  # by system call"
        } else {
            ""
        };
        let line = format!("{}{how}\n", shell_line(&command.argv));
        output::bytes(line.as_bytes())?;
    }
    Ok(())
}
