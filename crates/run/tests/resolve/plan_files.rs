//! Valid plan files.

use crate::support::*;
use fsdyno_model::{Bytes, CopyMethod, DatasetChoice, DeviceChoice, Nanos, Vary};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::Counting;
use std::path::PathBuf;

const PLAN: &str = r#"
name = "mine"
device = "loop:4G"
repeats = 5
budget = "20m"
cell_budget = "90s"
seed = 7
scale = 1
engine = "tools"
copy_method = "reflink"
verify = true
check = false
contenders = [
    "ext4:noatime,xfs",
    { filesystem = "btrfs", label = "two", layout = "pool", devices = 2, mount = ["compress=zstd"] },
    { filesystem = "dir", directory = "here" },
]

[[workload]]
name = "sources"
dataset = "tree:src/./linux"
phases = ["copy", { kind = "grep", cache = "warm", pattern = "a b", label = "look" }, "grep"]
"#;

#[test]
fn extents_are_counted_for_all_files_large_ones_or_none() {
    let counted = |key: &str, typed: Option<Counting>| {
        let (_directory, path) = written(&format!("{key}\n{PLAN}"));
        let plan = plan(&request(|r| {
            r.plan = Some(path);
            r.fragments = typed;
        }));
        (plan.count_extents, plan.extent_floor.0)
    };
    assert_eq!(counted("", None), (false, 0));
    assert_eq!(counted("fragments = true", None), (true, 0));
    let large = "fragments = { above = \"16 KiB\" }";
    assert_eq!(counted(large, None), (true, 16_385));
    assert_eq!(counted(large, Some(Counting::All)), (true, 0));
    let above = Counting::Above(Bytes(4096));
    assert_eq!(counted("fragments = false", Some(above)), (true, 4097));
}

#[test]
fn a_plan_file_may_have_another_dataset_in_each_block() {
    let generated = PLAN.replace("tree:src/./linux", "portage");
    // The second one is the name of version 0.2.
    for name in ["dataset", "dataset-seed", "all"] {
        let (_directory, path) = written(&format!("vary = \"{name}\"\n{generated}"));
        let file = plan(&request(|r| r.plan = Some(path)));
        assert_eq!(file.varies, [Vary::Dataset]);
    }
}

#[test]
fn a_plan_file_sets_everything_and_the_arguments_override_it() {
    let (directory, path) = written(PLAN);
    let base = std::path::absolute(directory.path()).unwrap();
    let file = plan(&request(|r| r.plan = Some(path.clone())));
    assert_eq!(file.name, "mine");
    let dir = format!("dir:{}", base.join("here").display());
    assert_eq!(labels(&file), ["ext4:noatime", "xfs", "two", dir.as_str()]);
    assert_eq!(file.contenders[2].short_form(), "btrfs@pool2:compress=zstd");
    assert_eq!(file.budget, Some(Nanos(1_200_000_000_000)));
    assert_eq!(file.cell_budget, Some(Nanos(90_000_000_000)));
    assert_eq!(file.varies, []);
    assert_eq!((file.repeats, file.seed), (5, 7));
    assert_eq!((file.verify, file.check), (true, false));
    assert_eq!(
        (file.engine.as_str(), file.copy_method),
        ("tools", CopyMethod::Reflink)
    );
    let workload = &file.workloads[0];
    assert_eq!(
        workload.dataset,
        DatasetChoice::Tree(base.join("src/linux"))
    );
    let labels_of: Vec<_> = workload.phases.iter().map(|p| p.label.as_str()).collect();
    assert_eq!(labels_of, ["copy", "look", "grep"]);

    let over = plan(&request(|r| {
        r.plan = Some(path);
        r.contenders = vec!["xfs".into()];
        r.device = vec!["/dev/a".to_owned()];
        r.repeats = Some(2);
        r.budget = Some(Nanos(1));
        r.seed = Some(9);
        r.scale = Some(0.5);
        r.engine = Some("null".to_owned());
        r.copy_method = Some(CopyMethod::ReadWrite);
        r.verify = Some(false);
        r.check = Some(true);
    }));
    assert_eq!(labels(&over), ["xfs"]);
    let paths = vec![PathBuf::from("/dev/a")];
    assert_eq!(over.device, DeviceChoice::Block { paths });
    assert_eq!(
        (over.repeats, over.seed, over.budget),
        (2, 9, Some(Nanos(1)))
    );
    assert_eq!((over.verify, over.check), (false, true));
    assert_eq!(
        (over.engine.as_str(), over.copy_method),
        ("null", CopyMethod::ReadWrite)
    );
    assert!((over.scale - 0.5).abs() < f64::EPSILON);
    assert_eq!(over.workloads, file.workloads);
}

#[test]
fn a_plan_file_overrides_the_suite_and_the_defaults() {
    let (_directory, path) = written("repeats = 8\ncontenders = [\"ext2\"]\n");
    let plan_over = |suite: Option<&str>| {
        plan(&request(|r| {
            r.plan = Some(path.clone());
            r.suite = suite.map(str::to_owned);
        }))
    };
    let over = plan_over(Some("atime"));
    assert_eq!((over.name.as_str(), over.repeats), ("plan", 8));
    assert_eq!(labels(&over), ["ext2"]);
    assert_eq!(over.workloads[0].name, "portage");
    assert_eq!(work(&plan_over(None)), work(&plan(&RunOptions::default())));
}
