//! A small plan for the tests of this crate.

use fsdyno_model::{
    CacheState, Contender, CopyMethod, DatasetChoice, DeviceChoice, PhasePlan, Plan, Workload,
};

/// A plan of so many contenders, workloads and repeats.
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
        }],
    };
    Plan {
        skipped: Vec::new(),
        schema: Plan::SCHEMA,
        name: "test".into(),
        seed: 1,
        scale: 0.01,
        contenders: (0..contenders).map(contender).collect(),
        workloads: (0..workloads).map(workload).collect(),
        repeats,
        budget: None,
        vary: None,
        cell_budget: None,
        device: DeviceChoice::None,
        work_dir: None,
        engine: "sync".into(),
        copy_method: CopyMethod::ReadWrite,
        verify: false,
        check: true,
        fragments: false,
        trace: false,
        adaptive: None,
        margin: Plan::MARGIN,
        fragments_floor: fsdyno_model::Bytes(0),
        guest: None,
        disk: None,
        disk_trace: None,
        contents: std::collections::BTreeMap::new(),
    }
}
