//! `selftest`: the overhead of fsdyno itself, for comparison with the measured times.

mod args;
mod trials;

pub use args::SelftestArgs;
pub use trials::experiment;

use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_host::signals;
use fsdyno_load::measure::{
    Contention, EngineCost, clock_facts, contention, empty_phase_cost, engine_cost,
};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Serialize)]
struct Overhead {
    clock_resolution_ns: u64,
    clock_cost_ns: f64,
    empty_phase_ns: f64,
    engine: Vec<EngineCost>,
    workers: Contention,
}

pub fn selftest(args: &SelftestArgs) -> Result<Code, CliError> {
    if args.aa.is_some() || args.ab.is_some() {
        return trials::trials(args);
    }
    let stop = signals::cancel_token()?;
    let measuring = args.lock.take(&stop)?;
    measuring.print_warning();
    let clock = clock_facts();
    let found = contention().map_err(CliError::failure)?;
    let overhead = Overhead {
        clock_resolution_ns: clock.resolution_ns,
        clock_cost_ns: clock.cost_ns,
        empty_phase_ns: empty_phase_cost(),
        engine: engine_cost(fsdyno_load::engines::null::NAME).map_err(CliError::failure)?,
        workers: found,
    };
    if args.json {
        output::json(&overhead)?;
        return Ok(Code::Ok);
    }
    let mut text = format!(
        "clock: resolution {} ns, {:.1} ns per read; a phase reads it two or three\n\
         times, and once per file\n\
         empty phase: {:.0} ns\n\n\
         Loop of each phase on the null engine, which makes no system calls:\n",
        overhead.clock_resolution_ns, overhead.clock_cost_ns, overhead.empty_phase_ns
    );
    for cost in &overhead.engine {
        let _ = writeln!(
            text,
            "  {:<10} {:>7.1} ns per call, {:>8.1} ns per file ({} calls); {:>5.1} ns more with timing",
            cost.kind, cost.call_ns, cost.file_ns, cost.calls, cost.timing_ns
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
