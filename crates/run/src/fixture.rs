//! A small plan for the tests of this crate.

use fsdyno_model::{CacheState, Contender, DatasetChoice, PhasePlan, Plan, Workload};

/// A plan with these numbers of contenders, workloads and repeats.
pub fn plan(contenders: usize, workloads: usize, repeats: u32) -> Plan {
    let contender = |n: usize| Contender {
        label: format!("c{n}"),
        ..Contender::plain("tmpfs")
    };
    let workload = |n: usize| Workload {
        name: format!("w{n}"),
        dataset: DatasetChoice::Generated("portage".into()),
        phases: vec![PhasePlan {
            label: "copy".into(),
            kind: "copy".into(),
            cache: CacheState::Cold,
            pattern: None,
            parameters: std::collections::BTreeMap::new(),
            judge: None,
        }],
    };
    Plan {
        name: "test".into(),
        scale: 0.01,
        repeats,
        ..Plan::new(
            (0..contenders).map(contender).collect(),
            (0..workloads).map(workload).collect(),
        )
    }
}
