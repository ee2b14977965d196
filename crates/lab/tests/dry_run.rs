//! The space that a plan needs, and the output of its dry run. Nothing is created.

use fsdyno_lab::{Preflight, script};
use fsdyno_model::CancelToken;
use fsdyno_model::{
    Bytes, CacheState, Cell, Contender, DatasetChoice, DeviceChoice, InitialState, PhasePlan, Plan,
    Vary, Workload,
};

fn phases(kinds: &[&str]) -> Vec<PhasePlan> {
    let phase = |kind: &&str| PhasePlan {
        label: (*kind).to_owned(),
        kind: (*kind).to_owned(),
        cache: CacheState::Cold,
        pattern: None,
        parameters: std::collections::BTreeMap::new(),
        judge: None,
    };
    kinds.iter().map(phase).collect()
}

/// One contender over `ports` at a hundredth of its size.
fn plan(contender: &str, kinds: &[&str], size: Option<Bytes>) -> Plan {
    let contender = Contender::parse(contender, &fsdyno_recipes::kind_of).unwrap();
    Plan {
        name: "test".into(),
        scale: 0.01,
        contenders: vec![contender],
        workloads: vec![Workload {
            name: "ports".into(),
            dataset: DatasetChoice::Generated("ports".into()),
            phases: phases(kinds),
        }],
        device: DeviceChoice::Loop {
            size,
            directory: "/var/tmp".into(),
            memory: false,
        },
        ..Plan::new(Vec::new(), Vec::new())
    }
}

fn lines(plan: &Plan) -> Vec<String> {
    lines_of(plan, 0)
}

fn lines_of(plan: &Plan, block: u32) -> Vec<String> {
    let preflight = Preflight::of(plan, &CancelToken::new()).unwrap();
    script(
        plan,
        &preflight,
        Cell {
            index: 0,
            block,
            contender: 0,
            workload: 0,
        },
    )
}

#[test]
fn a_block_has_a_separate_dataset_with_vary() {
    let mut plan = plan("ext4", &["copy"], None);
    plan.repeats = 3;
    // The first line names the block.
    assert_eq!(lines_of(&plan, 2)[1..], lines(&plan)[1..]);
    plan.varies = vec![Vary::Dataset];
    let seed = |block, seed: &str| {
        let printed = format!("--seed {seed} ");
        lines_of(&plan, block)
            .iter()
            .any(|line| line.contains(&printed))
    };
    let third = plan.dataset_seed(2);
    assert!(seed(0, "1") && seed(2, &third.to_string()) && !seed(2, "1"));
    // The script writes the dataset of the seed.
    let preflight = Preflight::of(&plan, &CancelToken::new()).unwrap();
    let of_block = |block| {
        let (prepared, workload) = (&preflight.workloads[0], &plan.workloads[0]);
        prepared
            .of_block(&plan, workload, block)
            .unwrap()
            .facts()
            .clone()
    };
    let open = |seed| {
        fsdyno_datasets::open(
            &plan.workloads[0].dataset,
            seed,
            plan.scale,
            None,
            &CancelToken::new(),
        )
    };
    assert_eq!(of_block(2), *open(third).unwrap().facts());
    assert_ne!(of_block(2), of_block(0));
}

#[test]
fn the_space_of_all_simultaneous_trees_is_counted() {
    let peak = |kinds: &[&str]| {
        let plan = plan("ext4", kinds, None);
        Preflight::of(&plan, &CancelToken::new()).unwrap().need.0
    };
    let tree = peak(&["read"]);
    assert_eq!(peak(&["copy"]), 2 * tree);
    assert_eq!(peak(&["copy", "delete", "copy"]), 2 * tree);
    assert_eq!(peak(&["copy", "copy"]), 3 * tree);
    let archive = peak(&["untar"]) - tree;
    assert!(archive > 0 && archive < tree, "{archive} of {tree}");
}

#[test]
fn a_plan_without_room_or_with_a_wrong_order_is_refused_first() {
    let refusal = |plan: &Plan| {
        Preflight::of(plan, &CancelToken::new())
            .err()
            .unwrap()
            .to_string()
    };
    let small = refusal(&plan("ext4", &["copy"], Some(Bytes(1 << 20))));
    assert!(
        small.contains("--scale") && small.contains("ports"),
        "{small}"
    );
    let nothing_left = refusal(&plan("ext4", &["delete", "read"], None));
    assert!(nothing_left.contains("read"), "{nothing_left}");
}

#[test]
fn phases_that_share_their_files_must_follow_from_each_other() {
    let mut alone = plan("ext4", &["mongo-copy"], None);
    let reported = Preflight::of(&alone, &CancelToken::new())
        .err()
        .unwrap()
        .to_string();
    assert!(
        reported.contains("workload ports: `mongo-copy`"),
        "{reported}"
    );
    alone.workloads[0].phases = phases(&["mongo-create", "mongo-copy"]);
    assert!(Preflight::of(&alone, &CancelToken::new()).is_ok());
    let given = &mut alone.workloads[0].phases[0].parameters;
    given.insert("processes".into(), "4".into());
    let reported = Preflight::of(&alone, &CancelToken::new())
        .err()
        .unwrap()
        .to_string();
    assert!(reported.contains("--set mongo.processes=4"), "{reported}");
}

#[test]
fn a_script_has_all_stages_and_removes_everything() {
    let text = lines(&plan("btrfs@pool2:noatime", &["untar", "delete"], None)).join("\n");
    let order = [
        "truncate -s",
        "LOOP0=$(losetup",
        "LOOP1=$(losetup",
        "mkfs.btrfs",
        "mount -i -t btrfs",
        "fsdyno make ports",
        "--archive",
        "umount",
        "sysctl -qw vm.drop_caches=3",
        "fsdyno phase untar",
        "fsdyno phase delete",
        "btrfs check",
        "losetup --detach \"$LOOP0\"",
        "losetup --detach \"$LOOP1\"",
        "rm -rf --one-file-system",
    ];
    let mut rest = text.as_str();
    for words in order {
        let at = rest
            .find(words)
            .unwrap_or_else(|| panic!("`{words}` is not next in:\n{rest}"));
        rest = &rest[at + words.len()..];
    }
}

#[test]
fn a_script_warms_existing_files_for_phases_without_a_tree() {
    let mut warm = plan("ext4", &["untar", "copy", "mongo-create"], None);
    for phase in &mut warm.workloads[0].phases {
        phase.cache = CacheState::Warm;
    }
    let script = lines(&warm);
    let many = |words: &str| script.iter().filter(|line| line.contains(words)).count();
    assert_eq!(many("fsdyno phase read"), 1, "{script:?}");
    assert_eq!(many("-exec cat '{}' + > /dev/null"), 2, "{script:?}");
}

#[test]
fn a_script_counts_extents_after_phases_that_write() {
    let mut plan = plan("xfs", &["copy", "read"], None);
    let counts = |plan: &Plan| {
        let lines = lines(plan);
        let counting = |line: &&String| line.contains("-exec filefrag");
        lines.iter().filter(counting).cloned().collect::<Vec<_>>()
    };
    assert!(counts(&plan).is_empty());
    plan.count_extents = true;
    let printed = counts(&plan);
    assert_eq!(printed.len(), 1, "{printed:?}");
    assert!(
        printed[0].contains("/mnt/ground -xdev -type f"),
        "{printed:?}"
    );
    plan.engine = "null".into();
    assert!(counts(&plan).is_empty());
}

#[test]
fn a_state_is_prepared_before_the_dataset_on_an_image_with_room_for_both() {
    let state = |fill: &str, age| InitialState::of(fill.parse().ok(), age).unwrap();
    let image_of = |plan: &Plan, contender| {
        let preflight = Preflight::of(plan, &CancelToken::new()).unwrap();
        let cell = Cell {
            index: 0,
            block: 0,
            contender,
            workload: 0,
        };
        preflight.images.of(cell)
    };
    let image = |plan: &Plan| image_of(plan, 0);
    let mut filled = plan("ext4", &["copy"], None);
    filled.scale = 0.2;
    let fresh = image(&filled);
    filled.contenders[0].state = state("95%", 2);
    let need = Preflight::of(&filled, &CancelToken::new()).unwrap().need;
    assert!(image(&filled) > fresh);
    assert!(
        image(&filled).0 / 20 > need.0,
        "5 % of it hold the workload"
    );
    let text = lines(&filled).join("\n");
    let at = |words: &str| {
        text.find(words)
            .unwrap_or_else(|| panic!("{words}: {text}"))
    };
    let age = at("fsdyno age --in ");
    assert!(at("mount -i") < age && age < at("fsdyno make"), "{text}");
    assert!(
        text.contains("mnt --fill 95% --age 2 --seed 1 --yes\n"),
        "{text}"
    );
    // A fresh contender has the size that it has alone, and no state is prepared.
    let size = image(&filled);
    filled
        .contenders
        .push(plan("xfs", &[], None).contenders.remove(0));
    filled.contenders.rotate_right(1);
    assert_eq!([image(&filled), image_of(&filled, 1)], [fresh, size]);
    assert!(!lines(&filled).join("\n").contains("fsdyno age"));
}

#[test]
fn a_fill_that_leaves_no_room_is_refused_before_anything_is_made() {
    let refusal = |plan: &Plan| {
        Preflight::of(plan, &CancelToken::new())
            .err()
            .unwrap()
            .to_string()
    };
    let mut small = plan("ext4", &["copy"], Some(Bytes(1 << 30)));
    small.scale = 0.1;
    assert!(Preflight::of(&small, &CancelToken::new()).is_ok());
    small.contenders[0].state.fill_permille = Some(990);
    let reported = refusal(&small);
    assert!(
        reported.contains("left of 1.00 GiB") && reported.contains("--fill"),
        "{reported}"
    );
    let mut huge = plan("ext4", &["copy"], Some(Bytes(1 << 55)));
    assert!(
        Preflight::of(&huge, &CancelToken::new()).is_ok(),
        "an image that stays empty takes no room"
    );
    huge.contenders[0].state.fill_permille = Some(500);
    let reported = refusal(&huge);
    assert!(
        reported.contains("/var/tmp") && reported.contains("--work-dir"),
        "{reported}"
    );
}

#[test]
fn a_script_for_a_directory_neither_mounts_nor_formats() {
    let directory = tempfile::tempdir().unwrap();
    let contender = format!("dir:{}", directory.path().display());
    let mut plan = plan(&contender, &["copy"], None);
    plan.device = DeviceChoice::None;
    let text = lines(&plan).join("\n");
    for words in ["mkfs", "mount ", "losetup"] {
        assert!(!text.contains(words), "{words}: {text}");
    }
    assert!(
        text.lines()
            .last()
            .unwrap()
            .contains(&directory.path().display().to_string())
    );
}

#[test]
fn mount_points_are_in_the_work_dir_and_a_full_directory_has_its_own_remedy() {
    let mut plan = plan("tmpfs", &["copy"], None);
    plan.device = DeviceChoice::None;
    plan.work_dir = Some("/srv/mounts".into());
    let text = lines(&plan).join("\n");
    assert!(text.contains("/srv/mounts/fsdyno-"), "{text}");
    assert!(!text.contains("/var/tmp"), "{text}");

    // /proc has no free space.
    let mut plan = self::plan("dir:/proc", &["copy"], None);
    plan.device = DeviceChoice::None;
    let reported = Preflight::of(&plan, &CancelToken::new())
        .err()
        .unwrap()
        .to_string();
    assert!(
        reported.contains("a directory with more room"),
        "{reported}"
    );
    assert!(!reported.contains("--work-dir"), "{reported}");
    // The null engine needs no space.
    plan.engine = "null".into();
    let preflight = Preflight::of(&plan, &CancelToken::new()).unwrap();
    let reported = preflight.check_places(&plan).err();
    if let Some(reported) = reported.map(|error| error.to_string()) {
        assert!(
            reported.contains("dir:PATH") && !reported.contains("--work-dir"),
            "{reported}"
        );
    }
}

#[test]
fn phases_that_a_file_system_cannot_do_are_skipped_and_the_others_run() {
    let mut plan = plan("vfat", &["op-create", "op-link", "op-unlink"], None);
    plan.workloads[0].dataset = DatasetChoice::parse(DatasetChoice::NONE);
    plan.skipped = fsdyno_lab::skipped_phases(&plan.contenders, &plan.workloads);
    let lines = lines(&plan);
    let phases: Vec<&str> = lines
        .iter()
        .filter(|line| line.starts_with("# phase"))
        .map(String::as_str)
        .collect();
    assert_eq!(
        phases,
        [
            "# phase op-create",
            "# phase op-link is skipped: vfat has no hard links",
            "# phase op-unlink"
        ]
    );
    assert!(!lines.iter().any(|line| line.contains("phase op-link --in")));
}
