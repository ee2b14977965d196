//! The processor of a run: that of the machine, or the model processor of virtual time. Its prices
//! divide the charge of a phase between the workload and kernel threads.

use fsdyno_cpu::{Prices, Profile, Work};
use fsdyno_model::{Bytes, Plan, ResultSet, Sample};
use schemars::JsonSchema;
use serde::Serialize;

/// The processor of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Processor {
    /// The processor of the machine: its time is measured.
    Machine,
    /// Virtual time in which computing takes none.
    Free,
    /// A model processor in virtual time, with its prices; `None` if its profile cannot be read.
    Model(Option<Prices>),
}

/// The time that virtual time advanced for computing during the compared time of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, JsonSchema, Serialize)]
pub struct Charge {
    /// The time for the workload: system calls, page faults and interrupts, with all bytes that the
    /// kernel copies, clears and checksums, and all requests to disks; and the bytes that fsdyno
    /// searches.
    pub workload_ns: u64,
    /// The time for the blocks of kernel threads.
    pub kernel_threads_ns: u64,
    /// The part of the workload for bytes that the kernel copies, clears and checksums; none if the
    /// profile of the processor cannot be read.
    pub bytes_ns: Option<u64>,
}

impl Processor {
    /// The processor of a plan.
    pub fn of(plan: &Plan) -> Self {
        match &plan.cpu {
            _ if !plan.in_virtual_time() => Self::Machine,
            None => Self::Free,
            Some(cpu) => {
                let profile = Profile::parse(&cpu.profile, &cpu.text);
                Self::Model(profile.ok().map(|profile| profile.prices))
            }
        }
    }

    /// Whether computing took no time in a run: its processor is free, or its kernel counted
    /// nothing.
    pub fn is_free_in(set: &ResultSet) -> bool {
        let charged = |sample: &Sample| sample.kernel.iter().any(|work| work.charged_ns.0 > 0);
        let mut samples = set.cells.iter().flat_map(|record| &record.samples);
        set.run.plan.in_virtual_time() && !samples.any(charged)
    }

    /// The charge of a sample. `None` if its kernel did not count its work, and without a model
    /// processor.
    pub fn charge(self, sample: &Sample) -> Option<Charge> {
        let Self::Model(prices) = self else {
            return None;
        };
        let work = sample.whole_kernel_work()?;
        // The clock is read before the counter: a few system calls may be charged after it.
        let charged = work.charged_ns.min(sample.whole_ns()).0;
        let threads = prices.map_or(0, |of| Work::of_threads(work).time(&of).0);
        let threads = threads.min(charged);
        let bytes = prices.map(|of| {
            let of_bytes = Prices {
                block_ns: 0.0,
                system_call_ns: 0.0,
                request_ns: 0.0,
                wait_ns: 0.0,
                search_ns: 0.0,
                ..of
            };
            Work::foreground(work, Bytes(0)).time(&of_bytes).0
        });
        Some(Charge {
            workload_ns: charged - threads,
            kernel_threads_ns: threads,
            bytes_ns: bytes.map(|bytes| bytes.min(charged - threads)),
        })
    }
}
