//! Wrong options, and the errors that name them.

use crate::support::*;
use fsdyno_model::{Nanos, Vary};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::Varying;

type Change = fn(&mut RunOptions);

/// Changes, each with a part of the expected error.
const CASES: &[(Change, &str)] = &[
    (
        |r| r.suite = Some("clasic-2004".into()),
        "did you mean classic-2004",
    ),
    (
        |r| r.suite = Some("xyz".into()),
        "there are quick, mail, web",
    ),
    (
        |r| r.contenders = vec!["ext4,xsf".into()],
        "`xsf` is no file system fsdyno knows (did you mean xfs?)",
    ),
    (
        |r| r.contenders = vec!["ext4:noatime,xsf".into()],
        "did you mean `xfs`",
    ),
    (
        |r| r.contenders = vec!["ext4:noatme".into()],
        "did you mean `noatime`",
    ),
    (
        |r| r.contenders = vec!["ext4@pool2".into()],
        "has no layout `pool`",
    ),
    (
        |r| r.contenders = vec!["ext4,ext4".into()],
        "a `label` of its own",
    ),
    (
        |r| r.contenders = vec!["ext4".into(), "ext4".into()],
        "`ext4` is named twice",
    ),
    (|r| r.contenders = vec!["ext4,,xfs".into()], "empty place"),
    (
        |r| r.device = vec!["sdb".into()],
        "--on: `sdb` is no place to measure",
    ),
    (|r| r.device = vec!["loop:huge".into()], "is not a size"),
    (
        |r| r.device = vec!["dir:/a,/a".into()],
        "`dir:/a` is named twice",
    ),
    (
        |r| {
            r.device = vec!["dir:/a".into()];
            r.contenders = vec!["ext4".into()];
        },
        "nothing is made in them",
    ),
    (
        |r| {
            r.device = vec!["/dev/a".into()];
            r.contenders = vec!["btrfs@pool2".into()];
        },
        "is made of 2 devices, and 1 is named",
    ),
    (|r| r.repeats = Some(0), "--repeats: 0 repeats"),
    (|r| r.budget = Some(Nanos(0)), "--budget: a budget of zero"),
    (
        |r| r.cell_budget = Some(Nanos(0)),
        "--cell-budget: a budget of zero",
    ),
    (
        |r| {
            r.vary = Some(Varying::Only(vec![Vary::Dataset]));
            r.dataset = Some("tree:/usr".into());
        },
        "--vary: workload usr works on the dataset tree:/usr, which no seed changes",
    ),
    (
        |r| r.scale = Some(0.0),
        "--scale: a scale of 0 is out of range",
    ),
    (|r| r.scale = Some(f64::NAN), "a scale of NaN"),
    (|r| r.scale = Some(1e9), "a scale of 1000000000 is"),
    (|r| r.engine = Some("snyc".into()), "did you mean sync?"),
    (
        |r| r.dataset = Some("portge".into()),
        "did you mean portage",
    ),
    (|r| r.dataset = Some("tre:/x".into()), "did you mean tree"),
    (|r| r.dataset = Some("tree:".into()), "names no path"),
    (|r| r.phases = vec!["coppy".into()], "did you mean copy?"),
    (
        |r| r.phases = vec!["copy hot".into()],
        "`hot` is no state of the caches",
    ),
    (
        |r| r.phases = vec!["copy cold x".into()],
        "searches for nothing",
    ),
    (|r| r.phases = vec![String::new()], "is no kind of phase"),
    (
        |r| r.phases = vec!["untar".into()],
        "in workload `mixed`: phase `untar` needs an archive",
    ),
    (
        |r| r.phases = vec!["delete,read".into()],
        "phase `read` finds no tree",
    ),
    (
        |r| {
            r.phases = vec!["copy".into()];
            r.pattern = Some("x".into());
        },
        "--pattern: no phase searches",
    ),
    (
        |r| r.plan = Some("/nonexistent/plan.toml".into()),
        "cannot read the plan /nonexistent",
    ),
];

#[test]
fn wrong_options_give_an_error_with_a_remedy() {
    for (change, expected) in CASES {
        let message = error_of(&request(change));
        assert!(
            message.contains(expected),
            "expected {expected}, got {message}"
        );
    }
}
