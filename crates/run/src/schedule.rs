//! The order of cells: randomised complete blocks.
//!
//! A block has one repeat of every contender at every workload. Within a block the workloads have
//! the order of the plan, and the contenders of each are shuffled. Compared cells thus run close in
//! time and in no fixed order, so that drift of the machine affects all contenders equally.

use fsdyno_model::random::Random;
use fsdyno_model::{Cell, Plan};

/// The cells of a plan in the order of execution, up to the maximum; of a shard, only its own. Equal
/// plans have equal orders.
pub fn schedule(plan: &Plan) -> Vec<Cell> {
    let mut random = Random::new(plan.seed);
    let mut cells = Vec::new();
    let contenders = u32::try_from(plan.contenders.len()).unwrap_or(u32::MAX);
    let workloads = u32::try_from(plan.workloads.len()).unwrap_or(u32::MAX);
    for block in 0..plan.most_repeats() {
        for workload in 0..workloads {
            let mut order: Vec<u32> = (0..contenders).collect();
            random.shuffle(&mut order);
            for contender in order {
                let index = u32::try_from(cells.len()).unwrap_or(u32::MAX);
                cells.push(Cell {
                    index,
                    block,
                    contender,
                    workload,
                });
            }
        }
    }
    if let Some(shard) = plan.shard {
        cells.retain(|cell| plan.shard_of(cell, shard.of) == shard);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::plan;
    use std::collections::BTreeSet;

    #[test]
    fn every_block_holds_every_contender_at_every_workload_once() {
        let plan = plan(4, 3, 5);
        let cells = schedule(&plan);
        assert_eq!(cells.len(), 4 * 3 * 5);
        for block in 0..5 {
            let pairs: BTreeSet<_> = cells
                .iter()
                .filter(|c| c.block == block)
                .map(|c| (c.contender, c.workload))
                .collect();
            assert_eq!(pairs.len(), 12);
        }
        assert!(
            cells
                .iter()
                .enumerate()
                .all(|(at, cell)| cell.index as usize == at)
        );
    }

    #[test]
    fn the_order_comes_from_the_seed_and_differs_between_blocks() {
        let mut plan = plan(6, 1, 8);
        let order = |cells: &[Cell]| cells.iter().map(|c| c.contender).collect::<Vec<_>>();
        let first = order(&schedule(&plan));
        assert_eq!(first, order(&schedule(&plan)));
        assert!(first.chunks(6).collect::<BTreeSet<_>>().len() > 1);
        plan.seed += 1;
        assert_ne!(first, order(&schedule(&plan)));
    }

    #[test]
    fn every_contender_comes_first_about_equally_often() {
        let cells = schedule(&plan(3, 1, 900));
        let firsts = cells.chunks(3).map(|block| block[0].contender);
        let mut counts = [0_u32; 3];
        firsts.for_each(|c| counts[c as usize] += 1);
        // Expected: 300, standard deviation 14. The limits are five standard deviations away.
        assert!(counts.iter().all(|n| (230..370).contains(n)), "{counts:?}");
    }
}
