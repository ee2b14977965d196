//! The plan of one cell, as its guest receives it. A guest executes no part of a plan but its cell, and
//! what else the plan contains would take memory there, and change where the kernel finds free memory
//! for the file system.

use fsdyno_model::{
    Cell, Contender, DeviceChoice, LabChoice, ModelCpu, ModelDisk, Plan, SkippedPhase,
};
use std::collections::BTreeMap;

/// The plan that has only the contender and the workload of a cell, and that cell. It has no path, no
/// label and no name of this machine or of this run.
pub(super) fn plan_of_cell(plan: &Plan, cell: Cell) -> (Plan, Cell) {
    // Every field is named, so that a new one is either given to the guest or left out.
    let Plan {
        schema,
        name: _,
        seed,
        vary,
        varies,
        scale,
        contenders,
        workloads,
        skipped: _,
        repeats: _,
        adaptive: _,
        decides: _,
        errors: _,
        ends: _,
        shard: _,
        margin: _,
        budget: _,
        cell_budget: _,
        device: _,
        work_dir: _,
        engine,
        copy_method,
        verify,
        check,
        count_extents,
        trace,
        // Only the host is sampled.
        profile: _,
        extent_floor,
        guest: _,
        disk,
        cpu,
        disk_trace: _,
        robust: _,
        user_code: _,
        variant: _,
        advice: _,
        contents: _,
    } = plan;
    let contender = &contenders[cell.contender as usize];
    let workload = &workloads[cell.workload as usize];
    let label = contender.short_form();
    let skipped = plan.skipped_by(contender, workload);
    let skipped = skipped.map(|one| SkippedPhase {
        contender: label.clone(),
        ..one.clone()
    });
    let mut of_cell = Plan {
        schema: *schema,
        seed: *seed,
        vary: *vary,
        varies: varies.clone(),
        scale: *scale,
        skipped: skipped.collect(),
        repeats: plan.most_repeats(),
        device: DeviceChoice::None,
        engine: engine.clone(),
        copy_method: *copy_method,
        verify: *verify,
        check: *check,
        count_extents: *count_extents,
        trace: *trace,
        extent_floor: *extent_floor,
        // A guest has the disk, and needs no profile of it.
        disk: disk.as_ref().map(|disk| ModelDisk {
            profile: String::new(),
            text: String::new(),
            faults: None,
            time: disk.time,
        }),
        cpu: cpu.as_ref().map(|cpu| ModelCpu {
            profile: String::new(),
            text: cpu.text.clone(),
        }),
        contents: BTreeMap::new(),
        ..Plan::new(
            vec![Contender {
                label,
                lab: LabChoice::Host,
                kernel: None,
                gives_up: None,
                ..contender.clone()
            }],
            vec![workload.clone()],
        )
    };
    // Blocks that do not differ are the same cell.
    let block = if of_cell.is_one_draw() { 0 } else { cell.block };
    of_cell.repeats = block + 1;
    let cell = Cell {
        index: 0,
        block,
        contender: 0,
        workload: 0,
    };
    (of_cell, cell)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{
        CacheState, ContenderKernel, DatasetChoice, DiskTime, GuestSize, InitialState,
        KernelChoice, Nanos, PhasePlan, Workload,
    };

    fn workload(name: &str) -> Workload {
        Workload {
            name: name.into(),
            dataset: DatasetChoice::Generated("ports".into()),
            phases: vec![PhasePlan {
                label: "copy".into(),
                kind: "copy".into(),
                cache: CacheState::Cold,
                pattern: None,
                parameters: BTreeMap::new(),
                judge: None,
            }],
        }
    }

    fn plan(contenders: &[&str], workloads: &[&str]) -> Plan {
        let contenders = contenders.iter().map(|text| {
            let contender = Contender::parse(text, &fsdyno_recipes::kind_of).unwrap();
            Contender {
                lab: LabChoice::Uml,
                ..contender
            }
        });
        let workloads = workloads.iter().copied().map(workload);
        Plan {
            disk: Some(ModelDisk {
                profile: "/elsewhere/disk.toml".into(),
                text: "a disk".into(),
                faults: None,
                time: DiskTime::Virtual,
            }),
            cpu: Some(ModelCpu {
                profile: "/elsewhere/cpu.toml".into(),
                text: "a processor".into(),
            }),
            ..Plan::new(contenders.collect(), workloads.collect())
        }
    }

    fn cell(index: u32, block: u32, contender: u32, workload: u32) -> Cell {
        Cell {
            index,
            block,
            contender,
            workload,
        }
    }

    #[test]
    fn a_guest_receives_the_same_in_every_plan_that_has_its_cell() {
        let alone = plan(&["ext4"], &["ports"]);
        let expected = plan_of_cell(&alone, cell(0, 0, 0, 0));
        let mut others = plan(&["btrfs", "ext4", "xfs"], &["mixed", "ports"]);
        others.name = "another".into();
        others.contenders[1] = others.contenders[1].clone().on_kernel(ContenderKernel {
            name: "v6.12".into(),
            program: KernelChoice::Lab,
            source: None,
        });
        others.contenders[0].state = InitialState::of(None, 3).unwrap();
        let skipped = |contender: &str| SkippedPhase {
            contender: contender.into(),
            workload: "ports".into(),
            phase: "copy".into(),
            requirement: "hard links".into(),
            reason: "it has none".into(),
        };
        others.skipped = vec![skipped("btrfs")];
        (others.repeats, others.margin) = (7, 0.3);
        others.budget = Some(Nanos(5));
        others.work_dir = Some("/elsewhere".into());
        others.guest = Some(GuestSize::default());
        assert_eq!(plan_of_cell(&others, cell(9, 4, 1, 1)), expected);
        let text = serde_json::to_string(&expected.0).unwrap();
        assert!(
            !text.contains("/elsewhere") && !text.contains("a disk"),
            "{text}"
        );
        // What the cell itself depends on remains.
        others.skipped.push(skipped("ext4@v6.12"));
        let (kept, _) = plan_of_cell(&others, cell(9, 4, 1, 1));
        assert_eq!(
            kept.skips_all(&kept.contenders[0], &kept.workloads[0]),
            Some(&skipped("ext4"))
        );
        let (aged, of_block) = plan_of_cell(&others, cell(9, 4, 0, 1));
        assert_eq!((aged.most_repeats(), of_block), (5, cell(0, 4, 0, 0)));
    }
}
