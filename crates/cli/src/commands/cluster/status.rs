//! Lists the shards of a distributed run, from their stores alone.

use super::args::StatusArgs;
use super::directory::Directory;
use crate::exit::CliError;
use crate::output;
use fsdyno_model::Shard;
use fsdyno_store::Store;
use serde::Serialize;
use std::collections::BTreeMap;

/// A shard that is not complete.
#[derive(Serialize)]
struct Open {
    shard: String,
    /// `missing`, `running`, `interrupted`, or why its store cannot be read.
    state: String,
    cells_recorded: u64,
    cells_planned: u64,
}

/// The shards of one directory that have the same number of all.
#[derive(Serialize)]
struct Status {
    shards: u32,
    complete: u32,
    open: Vec<Open>,
}

pub fn status(args: &StatusArgs) -> Result<(), CliError> {
    let directory = Directory::at(&args.dir)?;
    let found = directory.shards().map_err(|error| {
        CliError::usage(format!(
            "cannot read {}: {error}",
            directory.path().display()
        ))
    })?;
    let mut known: BTreeMap<Shard, bool> = BTreeMap::new();
    for (shard, complete) in found {
        *known.entry(shard).or_default() |= complete;
    }
    let mut counts: Vec<_> = known.keys().map(|shard| shard.of).collect();
    counts.sort();
    counts.dedup();
    let all = counts.into_iter().map(|of| {
        let mut status = Status {
            shards: of.get(),
            complete: 0,
            open: Vec::new(),
        };
        for shard in Shard::all(of) {
            match known.get(&shard) {
                Some(true) => status.complete += 1,
                begun => status.open.push(open(&directory, shard, begun.is_some())),
            }
        }
        status
    });
    let all: Vec<Status> = all.collect();
    if args.json {
        return output::json(&all);
    }
    if all.is_empty() {
        let path = directory.path().display();
        output::bytes(format!("no shards in {path}\n").as_bytes())?;
    }
    for status in &all {
        let line = format!(
            "{} of {} shards are complete\n",
            status.complete, status.shards
        );
        output::bytes(line.as_bytes())?;
        if status.open.is_empty() {
            continue;
        }
        let mut rows = vec![output::words(["SHARD", "STATE", "CELLS"])];
        rows.extend(status.open.iter().map(|open| {
            let cells = format!("{}/{}", open.cells_recorded, open.cells_planned);
            vec![open.shard.clone(), open.state.clone(), cells]
        }));
        output::rows(&rows, output::width())?;
    }
    Ok(())
}

fn open(directory: &Directory, shard: Shard, begun: bool) -> Open {
    let mut open = Open {
        shard: shard.to_string(),
        state: "missing".to_owned(),
        cells_recorded: 0,
        cells_planned: 0,
    };
    if !begun {
        return open;
    }
    let store = Store::open_existing_read_only(&directory.partial(shard));
    match store.and_then(|store| store.runs()) {
        Err(error) => open.state = error.to_string(),
        Ok(runs) => {
            let run = runs.first();
            let running = run.is_some_and(|run| run.running);
            open.state = if running { "running" } else { "interrupted" }.into();
            open.cells_recorded = run.map_or(0, |run| run.cells_recorded);
            open.cells_planned = run.map_or(0, |run| run.cells_planned);
        }
    }
    open
}
