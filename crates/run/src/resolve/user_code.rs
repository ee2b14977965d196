//! The user code of programs, which virtual time does not count: a run on the host that measures its
//! processor time. It does the same work in a directory, and belongs to the run in virtual time.

use fsdyno_load::programs::{self, app};
use fsdyno_model::{
    CacheState, Contender, DeviceChoice, FilesystemKind, Nanos, PhasePlan, Plan, VariantOf,
    Workload,
};
use fsdyno_recipes as recipes;
use std::path::Path;

/// The number of measurements, which shows their spread.
pub const REPEATS: u32 = 3;

/// No measurement begins after this time, and none takes longer.
const LIMIT: Nanos = Nanos(120_000_000_000);

/// The plan that measures the user code of a run with this name; none if it has no programs in virtual
/// time whose code is to be measured. Nothing of the host is changed for it: its caches stay as they
/// are.
pub fn plan(run: &str, plan: &Plan) -> Option<Plan> {
    let is_part = plan.variant.is_some() || plan.shard.is_some();
    let workloads = plan.workloads.iter();
    let workloads =
        workloads.filter(|workload| workload.phases.iter().any(|one| wanted(plan, one)));
    let workloads: Vec<Workload> = workloads.cloned().map(with_caches_as_they_are).collect();
    if !plan.in_virtual_time() || is_part || workloads.is_empty() {
        return None;
    }
    let kinds = recipes::fs::ALL.iter();
    let mut kinds = kinds.filter(|fs| fs.kind() == FilesystemKind::Directory);
    let directory = match (&plan.device, &plan.work_dir) {
        (DeviceChoice::Loop { directory, .. }, _) | (_, Some(directory)) => directory.as_path(),
        _ => Path::new(super::resolver::DEFAULT_WORK_DIRECTORY),
    };
    let contender = Contender {
        label: "host".to_owned(),
        directory: Some(directory.to_owned()),
        ..Contender::plain(kinds.next()?.name())
    };
    Some(Plan {
        name: plan.name.clone(),
        seed: plan.seed,
        scale: plan.scale,
        engine: plan.engine.clone(),
        copy_method: plan.copy_method,
        contents: plan.contents.clone(),
        repeats: REPEATS,
        budget: Some(LIMIT),
        cell_budget: Some(LIMIT),
        variant: Some(VariantOf {
            run: run.to_owned(),
            change: "user code on the host".to_owned(),
            all: 1,
        }),
        ..Plan::new(vec![contender], workloads)
    })
}

/// Whether the user code of a phase is to be measured.
fn wanted(plan: &Plan, phase: &PhasePlan) -> bool {
    match plan.user_code {
        None => app::is_one(&phase.kind),
        Some(wanted) => wanted && programs::find(&phase.kind).is_some(),
    }
}

fn with_caches_as_they_are(mut workload: Workload) -> Workload {
    for phase in &mut workload.phases {
        phase.cache = CacheState::AsIs;
    }
    workload
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn virtual_plan(kinds: &[&str]) -> Plan {
        let mut plan = Plan {
            disk: Some(fsdyno_lab::model_disk("nvme".as_ref()).unwrap()),
            work_dir: Some("/work".into()),
            ..fixture::plan(2, kinds.len(), 6)
        };
        for (workload, kind) in plan.workloads.iter_mut().zip(kinds) {
            workload.phases[0].kind = (*kind).to_owned();
        }
        plan
    }

    #[test]
    fn the_work_of_applications_runs_on_the_host_and_changes_none_of_its_caches() {
        let run = virtual_plan(&["copy", "app", "exec"]);
        let measuring = plan("main", &run).unwrap();
        assert!(measuring.measures_user_code() && !run.measures_user_code());
        let names = |plan: &Plan| -> Vec<String> {
            plan.workloads.iter().map(|one| one.name.clone()).collect()
        };
        assert_eq!(names(&measuring), ["w1"]);
        assert_eq!(measuring.workloads[0].phases[0].cache, CacheState::AsIs);
        assert_eq!(
            (measuring.contenders.len(), measuring.repeats),
            (1, REPEATS)
        );
        assert_eq!(measuring.contenders[0].directory, run.work_dir);
        // It has no user code of its own to measure.
        assert_eq!(plan("measuring", &measuring), None);
        let with = |user_code| Plan {
            user_code,
            ..run.clone()
        };
        assert_eq!(
            names(&plan("main", &with(Some(true))).unwrap()),
            ["w1", "w2"]
        );
        assert_eq!(plan("main", &with(Some(false))), None);
    }

    #[test]
    fn runs_in_real_time_and_shards_measure_no_user_code() {
        let run = virtual_plan(&["app"]);
        assert_eq!(
            plan(
                "main",
                &Plan {
                    disk: None,
                    ..run.clone()
                }
            ),
            None
        );
        let shard = Some("1/2".parse().unwrap());
        assert_eq!(plan("main", &Plan { shard, ..run }), None);
    }
}
