//! The share of the cells that this process runs, and the number of cells or compile jobs that run
//! at the same time.

use crate::exit::CliError;
use clap::Args;
use fsdyno_lab::{cell_memory, guest_memory};
use fsdyno_model::{Bytes, Plan, Shard};
use fsdyno_observe::counters::memory_available;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;

/// The number of compile jobs at a time: as requested, or that of the processors.
pub fn compile_jobs(requested: Option<u32>) -> u32 {
    requested.unwrap_or_else(|| u32::try_from(processors().get()).unwrap_or(1))
}

fn processors() -> NonZeroUsize {
    available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The share of the available memory that guests may use, in percent.
const MEMORY_PERCENT: u64 = 80;

#[derive(Debug, Clone, Default, Args)]
pub struct JobsArgs {
    /// Cells in virtual time that run at the same time [default: all processors]
    ///
    /// The default is smaller where the guests would need more than the available memory. Cells in
    /// real time run one at a time. If figures decide the repeats, a block begins after the end of
    /// the block before it. The figures do not depend on this number.
    #[arg(long, short = 'j', value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
}

impl JobsArgs {
    /// The requested number, or one that fits this machine if each job is the largest cell of these plans.
    pub fn of_cells<'p>(&self, plans: impl IntoIterator<Item = &'p Plan>) -> NonZeroUsize {
        let memory = plans.into_iter().map(cell_memory);
        self.count(memory.max().unwrap_or(Bytes(0)))
    }

    /// The requested number, or one that fits this machine if each job is a guest in virtual time with this
    /// much memory for its work.
    pub fn of_guests(&self, memory: Bytes) -> NonZeroUsize {
        self.count(guest_memory(memory))
    }

    /// The same, if each job takes this much memory of this machine.
    fn count(&self, memory: Bytes) -> NonZeroUsize {
        let fitting = memory_available().map_or(usize::MAX, |all| fitting(all, memory));
        let fitting = NonZeroUsize::new(processors().get().min(fitting));
        self.jobs.or(fitting).unwrap_or(NonZeroUsize::MIN)
    }
}

/// How many jobs that take this much memory fit into what is available.
fn fitting(available: Bytes, each: Bytes) -> usize {
    let jobs = available.0 / 100 * MEMORY_PERCENT / each.0.max(1);
    usize::try_from(jobs).unwrap_or(usize::MAX)
}

#[derive(Debug, Clone, Default, Args)]
pub struct ShardArgs {
    /// Run only this part: 2/4 is the second of four
    ///
    /// Cells in virtual time and power cuts are assigned in turn, in real time whole blocks. Each
    /// shard is stored as a run of its own, on this or another machine; `fsdyno merge` joins them.
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
}

impl ShardArgs {
    pub fn restrict(&self, plan: &mut Plan) -> Result<(), CliError> {
        let Some(shard) = self.shard else {
            return Ok(());
        };
        fixed_repeats(plan)?;
        if plan.robust {
            return Err(CliError::usage(
                "--shard: a shard has no verdicts, so --robust cannot vary them. Merge the shards, and \
                 then run: fsdyno run --resume RUN --robust",
            ));
        }
        plan.shard = Some(shard);
        Ok(())
    }
}

/// Refuses to divide a plan whose figures decide the number of repeats.
pub fn fixed_repeats(plan: &Plan) -> Result<(), CliError> {
    match plan.adaptive {
        None => Ok(()),
        Some(_) => Err(CliError::usage(
            "--shard: the figures of all machines would decide the number of repeats. Set it: \
             --repeats N",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_guests_run_as_have_room_with_their_kernels() {
        let of_work = Bytes(512 << 20);
        let each = guest_memory(of_work);
        assert!(each > of_work);
        // Room for two of them, and for three without what their kernels need.
        let available = Bytes(2 * each.0 * 100 / MEMORY_PERCENT + 100);
        assert_eq!(fitting(available, each), 2);
        assert!(fitting(Bytes(3 * of_work.0 * 100 / MEMORY_PERCENT + 100), each) < 3);
    }
}
