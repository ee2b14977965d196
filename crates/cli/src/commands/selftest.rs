//! `selftest`: the overhead of fsdyno itself, for comparison with the measured times.

use crate::args::percent;
use crate::commands::measuring::LockArgs;
use crate::exit::{CliError, Code};
use crate::output;
use clap::Args;
use fsdyno_host::signals;
use fsdyno_load::measure::{clock_facts, contention, empty_phase_cost, engine_cost};
use fsdyno_model::{CancelToken, Nanos};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// Run N experiments with one contender under two names: false-positive rate
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub aa: Option<u32>,
    /// Slow down the second contender by this, in percent: detection rate
    ///
    /// The number of experiments is 20, or that of --aa.
    #[arg(long, value_name = "PERCENT", value_parser = handicap)]
    pub ab: Option<f64>,
    /// Contender
    // example
    #[arg(long, value_name = "CONTENDER", default_value = "tmpfs")]
    pub fs: String,
    /// Phases to run [default: copy]
    #[arg(long, alias = "workload", value_name = "LIST", value_delimiter = ',')]
    pub phases: Vec<String>,
    /// Size of the dataset portage as a multiple of full size [default: 0.02]
    #[arg(long, value_name = "X")]
    pub scale: Option<f64>,
    /// Maximum repeats of an experiment [default: 240]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_repeats: Option<u32>,
    /// Repeat until ratios are known to this, in percent [default: margin / 4]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub precision: Option<f64>,
    /// Smallest difference that matters, in percent [default: 2%]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub margin: Option<f64>,
    /// Start no experiment after this time: 90s, 15m, 2h
    #[arg(long, value_name = "TIME")]
    pub budget: Option<Nanos>,
    #[command(flatten)]
    pub lock: LockArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn handicap(text: &str) -> Result<f64, String> {
    match percent(text)? {
        part if part > 0.0 && part <= 10.0 => Ok(part),
        _ => Err("write more than 0 % and up to 1000 %, as 5%".to_owned()),
    }
}

#[derive(Serialize)]
struct Weight {
    clock_resolution_ns: u64,
    clock_cost_ns: f64,
    empty_phase_ns: f64,
    engine: Vec<Cost>,
    workers: Workers,
}

/// The cost of one operation with a single worker, and with one worker on every processor.
#[derive(Serialize)]
struct Workers {
    #[serde(rename = "side_by_side")]
    count: usize,
    alone_ns: f64,
    parallel_ns: f64,
    sleeps: u64,
    operations: u64,
}

#[derive(Serialize)]
struct Cost {
    phase: &'static str,
    calls: u64,
    call_ns: f64,
    file_ns: f64,
    timing_ns: f64,
}

pub fn selftest(args: &SelftestArgs) -> Result<Code, CliError> {
    if args.aa.is_some() || args.ab.is_some() {
        return super::trials::trials(args);
    }
    let stop = CancelToken::new();
    signals::install(&stop)?;
    let measuring = args.lock.take(&stop)?;
    measuring.print_warning();
    let clock = clock_facts();
    let found = contention().map_err(CliError::failure)?;
    let costs = engine_cost(fsdyno_load::engines::null::NAME).map_err(CliError::failure)?;
    let weight = Weight {
        clock_resolution_ns: clock.resolution_ns,
        clock_cost_ns: clock.cost_ns,
        empty_phase_ns: empty_phase_cost(),
        engine: costs
            .into_iter()
            .map(|cost| Cost {
                phase: cost.kind,
                calls: cost.calls,
                call_ns: cost.call_ns,
                file_ns: cost.file_ns,
                timing_ns: cost.timing_ns,
            })
            .collect(),
        workers: Workers {
            count: found.workers,
            alone_ns: found.alone_ns,
            parallel_ns: found.parallel_ns,
            sleeps: found.sleeps,
            operations: found.operations,
        },
    };
    if args.json {
        output::json(&weight)?;
        return Ok(Code::Ok);
    }
    let mut text = format!(
        "clock: resolution {} ns, {:.1} ns per read; a phase reads it two or three\n\
         times, and once per file\n\
         empty phase: {:.0} ns\n\n\
         Loop of each phase on the null engine, which makes no system calls:\n",
        weight.clock_resolution_ns, weight.clock_cost_ns, weight.empty_phase_ns
    );
    for cost in &weight.engine {
        let _ = writeln!(
            text,
            "  {:<10} {:>7.1} ns per call, {:>8.1} ns per file ({} calls); {:>5.1} ns more with timing",
            cost.phase, cost.call_ns, cost.file_ns, cost.calls, cost.timing_ns
        );
    }
    let _ = writeln!(
        text,
        "  {:<10} {:>7.1} ns per operation with latency recording, one worker; {:.1} ns with {} \
         concurrent workers, which slept {} times in {} operations (at start and end)",
        "op-stat", found.alone_ns, found.parallel_ns, found.workers, found.sleeps, found.operations
    );
    text.push_str(
        "For comparison: an empty system call takes about 100 ns, a file creation 2,000 to 10,000 ns.\n",
    );
    output::bytes(text.as_bytes())?;
    Ok(Code::Ok)
}
