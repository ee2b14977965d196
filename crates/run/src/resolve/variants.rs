//! The variants of a run: the same comparison, with the model disk or the model processor changed by
//! its known error. Each is a run of its own, with the first draws of the run that it varies.

use super::config_error::ConfigError;
use fsdyno_lab::model_variants;
use fsdyno_model::{Contender, Plan, ResultSet, VariantOf};

/// The largest number of draws of a variant. The change of a ratio within a draw scatters less than
/// the ratio itself.
pub const DRAWS: u32 = 3;

/// Refuses variants of a plan that has no model, or whose figures decide nothing.
pub fn check(plan: &Plan) -> Result<(), ConfigError> {
    if !plan.in_virtual_time() {
        return Err(ConfigError::wrong(
            "only a model disk and a model processor have variants, and this run is in real time",
            "name a disk in virtual time (--disk nvme), or leave out --robust",
        ));
    }
    if plan.is_one_draw() {
        return Err(ConfigError::wrong(
            "one draw decides nothing, so no verdict can depend on the model",
            format!("take --repeats {DRAWS} or more, and do not take --vary none"),
        ));
    }
    if plan.shard.is_some() {
        return Err(ConfigError::wrong(
            "a shard has no verdicts",
            "merge the shards, and then run: fsdyno run --resume RUN --robust",
        ));
    }
    let variants = plan.disk.as_ref();
    let variants = variants.map(|disk| model_variants(disk, plan.cpu.as_ref()));
    match variants.transpose().map_err(|error| {
        let help = "name the profile without its table `factors`";
        ConfigError::wrong(error, help)
    })? {
        Some(all) if !all.is_empty() => Ok(()),
        _ => Err(ConfigError::wrong(
            "neither the disk nor the processor has a known error",
            "name another disk, or leave out --robust",
        )),
    }
}

/// The plans of the variants of a run, of these contenders; empty before its first block. The error
/// is a message.
pub fn plans(set: &ResultSet, contenders: &[Contender]) -> Result<Vec<Plan>, String> {
    let plan = &set.run.plan;
    let blocks = set.cells.iter().map(|record| record.cell.block + 1).max();
    let (Some(disk), Some(blocks)) = (&plan.disk, blocks) else {
        return Ok(Vec::new());
    };
    let is_kept = |label: &str| contenders.iter().any(|one| one.label == label);
    let skipped = plan.skipped.iter().filter(|one| is_kept(&one.contender));
    let same = Plan {
        contenders: contenders.to_vec(),
        skipped: skipped.cloned().collect(),
        repeats: blocks.min(DRAWS),
        adaptive: None,
        decides: None,
        ends: Vec::new(),
        budget: None,
        robust: false,
        disk_trace: None,
        advice: None,
        ..plan.clone()
    };
    let variants = model_variants(disk, plan.cpu.as_ref())?;
    let all = u32::try_from(variants.len()).unwrap_or(u32::MAX);
    let plans = variants.into_iter().map(|variant| Plan {
        disk: Some(variant.disk),
        cpu: variant.cpu,
        variant: Some(VariantOf {
            run: set.run.id.clone(),
            change: variant.name,
            all,
        }),
        ..same.clone()
    });
    Ok(plans.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::plan;
    use fsdyno_model::{Cell, CellRecord, Nanos, Outcome, Provenance, RunInfo, Vary};

    fn virtual_plan(repeats: u32) -> Plan {
        Plan {
            disk: Some(fsdyno_lab::model_disk("nvme".as_ref()).unwrap()),
            cpu: Some(fsdyno_lab::model_cpu("vm-2026".as_ref()).unwrap()),
            varies: Vary::ALL.to_vec(),
            robust: true,
            ..plan(3, 1, repeats)
        }
    }

    fn run(plan: Plan, blocks: u32) -> ResultSet {
        let cell = |block| CellRecord {
            cell: Cell {
                index: block,
                contender: 0,
                workload: 0,
                block,
            },
            outcome: Outcome::Measured,
            started_unix_ns: 0,
            took_ns: Nanos(1),
            samples: Vec::new(),
            commands: Vec::new(),
            effective: Vec::new(),
            warnings: Vec::new(),
        };
        ResultSet {
            schema: ResultSet::SCHEMA,
            run: RunInfo {
                id: "main".into(),
                started_unix_ns: 0,
                ended_unix_ns: None,
                stop: None,
                plan_hash: plan.hash(),
                plan,
                provenance: Provenance::default(),
                command_line: Vec::new(),
            },
            cells: (0..blocks).map(cell).collect(),
            variants: Vec::new(),
        }
    }

    #[test]
    fn a_variant_has_the_first_draws_of_its_run_and_one_change() {
        let set = run(virtual_plan(9), 9);
        let main = &set.run.plan;
        let all = plans(&set, &main.contenders[..2]).unwrap();
        // A processor, and reads, writes, flushes and transfers of a flash disk, each slower and faster.
        assert_eq!(all.len(), 10);
        for one in &all {
            assert_eq!((one.repeats, one.contenders.len()), (DRAWS, 2));
            let of = one.variant.as_ref().unwrap();
            assert_eq!(of.run, "main");
            assert_ne!(one.hash(), main.hash(), "{}", of.change);
            assert!((0..DRAWS).all(|block| {
                Vary::ALL
                    .iter()
                    .all(|vary| one.draw(*vary, block) == main.draw(*vary, block))
            }));
            let changes = [one.disk != main.disk, one.cpu != main.cpu];
            assert_eq!(changes.iter().filter(|changed| **changed).count(), 1);
            // A variant has no variants of its own.
            assert!(!one.robust);
        }
        assert!(
            plans(&run(virtual_plan(9), 0), &main.contenders)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn a_run_without_a_model_or_with_one_draw_has_no_variants() {
        assert_eq!(check(&virtual_plan(3)).map_err(|e| e.to_string()), Ok(()));
        let refused = |plan: &Plan| check(plan).unwrap_err().to_string();
        assert!(refused(&plan(2, 1, 3)).contains("real time"));
        assert!(refused(&virtual_plan(1)).contains("one draw"));
        let null = Plan {
            disk: Some(fsdyno_lab::model_disk("null".as_ref()).unwrap()),
            cpu: None,
            ..virtual_plan(3)
        };
        assert!(refused(&null).contains("known error"));
    }
}
