//! `selftest`: the weight of the tool itself, to be held against what it measures.

use crate::args::SelftestArgs;
use crate::exit::{Code, Trouble};
use crate::output;
use fsdyno_load::measure::{clock_facts, empty_phase_cost, engine_cost};
use serde::Serialize;
use std::fmt::Write as _;

#[derive(Serialize)]
struct Weight {
    clock_resolution_ns: u64,
    clock_cost_ns: f64,
    empty_phase_ns: f64,
    engine: Vec<Cost>,
}

#[derive(Serialize)]
struct Cost {
    phase: &'static str,
    calls: u64,
    call_ns: f64,
    file_ns: f64,
}

pub fn selftest(args: &SelftestArgs) -> Result<Code, Trouble> {
    if args.aa.is_some() || args.ab.is_some() {
        return super::trials::trials(args);
    }
    let clock = clock_facts();
    let costs = engine_cost(fsdyno_load::engines::null::NAME).map_err(Trouble::failure)?;
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
            })
            .collect(),
    };
    if args.json {
        output::json(&weight)?;
        return Ok(Code::Ok);
    }
    let mut text = format!(
        "clock: steps of {} ns, {:.1} ns a reading; a phase reads it twice or three times\n\
         empty phase: {:.0} ns\n\n\
         The loop of each phase on the null engine, where no call reaches the kernel:\n",
        weight.clock_resolution_ns, weight.clock_cost_ns, weight.empty_phase_ns
    );
    for cost in &weight.engine {
        let _ = writeln!(
            text,
            "  {:<10} {:>7.1} ns a call, {:>8.1} ns a file ({} calls)",
            cost.phase, cost.call_ns, cost.file_ns, cost.calls
        );
    }
    text.push_str(
        "An empty system call takes some 100 ns, creating a file some 2,000 to 10,000.\n",
    );
    output::bytes(text.as_bytes())?;
    Ok(Code::Ok)
}
