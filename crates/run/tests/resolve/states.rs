//! Initial states as axes of a plan.

use crate::support::*;
use fsdyno_model::InitialState;
use fsdyno_run::RunOptions;
use std::collections::BTreeSet;

fn options(fs: &str, fill: &[&str], age: &[u32]) -> RunOptions {
    request(|r| {
        r.contenders = vec![fs.into()];
        r.fill = fill.iter().map(|text| text.parse().unwrap()).collect();
        r.age = age.to_vec();
    })
}

#[test]
fn every_contender_competes_in_every_state_and_the_first_stays_the_baseline() {
    let plan = plan(&options("ext4:noatime,xfs", &["50%", "95%"], &[0, 5]));
    assert_eq!(
        labels(&plan),
        [
            "ext4:noatime fill=50%",
            "ext4:noatime fill=50% age=5",
            "ext4:noatime fill=95%",
            "ext4:noatime fill=95% age=5",
            "xfs fill=50%",
            "xfs fill=50% age=5",
            "xfs fill=95%",
            "xfs fill=95% age=5",
        ]
    );
    let unique: BTreeSet<_> = labels(&plan).into_iter().collect();
    assert_eq!(unique.len(), 8);
    let last = &plan.contenders[7].state;
    assert_eq!((last.fill_permille, last.age), (Some(950), 5));
}

#[test]
fn no_fill_and_no_age_are_the_plan_without_them() {
    let fresh = plan(&options("ext4,xfs", &[], &[]));
    let none = plan(&options("ext4,xfs", &["0%"], &[0]));
    assert_eq!(fresh, none);
    assert_eq!(fresh.hash(), none.hash());
    let mixed = plan(&options("ext4", &["0%", "90%:fragmented"], &[]));
    assert_eq!(labels(&mixed), ["ext4", "ext4 fill=90%:fragmented"]);
    assert!(mixed.contenders[1].state.fragmented);
}

#[test]
fn age_without_fill_uses_a_half_full_file_system() {
    let aged = plan(&options("ext4", &[], &[0, 3]));
    assert_eq!(labels(&aged), ["ext4", "ext4 fill=50% age=3"]);
}

#[test]
fn a_plan_file_sets_states_for_all_or_for_one() {
    let text = r#"
fill = ["0%", "90%"]
age = [0]
contenders = [
    "ext4",
    { filesystem = "xfs", fill = "80%:fragmented" },
    { filesystem = "btrfs", fill = "70%", age = 2, label = "old" },
]
"#;
    let (_directory, path) = written(text);
    let file = plan(&request(|r| r.plan = Some(path.clone())));
    assert_eq!(
        labels(&file),
        ["ext4", "ext4 fill=90%", "xfs fill=80%:fragmented", "old"]
    );
    assert_eq!(file.contenders[3].state.age, 2);
    let over = plan(&request(|r| {
        r.plan = Some(path);
        r.fill = vec!["20%".parse().unwrap()];
    }));
    assert_eq!(
        labels(&over),
        ["ext4 fill=20%", "xfs fill=80%:fragmented", "old"]
    );
}

#[test]
fn an_impossible_state_gives_an_error_with_a_remedy() {
    for (fs, fill, age, expected) in [
        (
            "ext4",
            &["90%", "90%"][..],
            &[][..],
            "`ext4 fill=90%` is named twice",
        ),
        ("ext4", &["0%", "90%"], &[3], "--fill 50%,95%"),
        ("ext4", &["90%:fragmented"], &[3], "leave out `:fragmented`"),
        ("ext4", &[], &[InitialState::MAX_AGE + 1], "--age: age 1001"),
        ("tmpfs", &["90%"], &[], "tmpfs:size=512M"),
        ("dir:/srv", &["90%"], &[], "would fill its file system"),
        ("dir:/srv", &[], &[1], "--age: "),
    ] {
        let message = error_of(&options(fs, fill, age));
        assert!(
            message.contains(expected),
            "{fs} {fill:?} {age:?}: {message}"
        );
    }
    assert!(labels(&plan(&options("tmpfs:size=64M", &["90%"], &[])))[0].contains("fill=90%"));
    assert_eq!(
        labels(&plan(&options("dir:/srv", &["0%"], &[0]))),
        ["dir:/srv"]
    );
    let on = request(|r| {
        r.device = vec!["dir:/srv".to_owned()];
        r.fill = vec!["90%".parse().unwrap()];
    });
    assert!(error_of(&on).contains("would fill"), "{}", error_of(&on));
}
