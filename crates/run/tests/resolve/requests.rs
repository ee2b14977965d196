//! Valid options and their plans.

use crate::support::*;
use fsdyno_model::{Bytes, CacheState, CopyMethod, DatasetChoice, DeviceChoice};
use fsdyno_run::RunOptions;
use std::path::{Path, PathBuf};

#[test]
fn the_default_is_the_quick_suite_on_image_files() {
    let plan = plan(&RunOptions::default());
    assert_eq!(plan.name, "quick");
    assert_eq!(labels(&plan), ["ext4", "xfs", "btrfs"]);
    assert_eq!(plan.repeats, 6);
    assert_eq!(plan.engine, "sync");
    assert_eq!(plan.copy_method, CopyMethod::ReadWrite);
    let directory = PathBuf::from("/var/tmp");
    assert_eq!(
        plan.device,
        DeviceChoice::Loop {
            size: None,
            directory,
            memory: false,
        }
    );
}

#[test]
fn a_dataset_alone_selects_its_default_phases() {
    for (dataset, expected) in [
        (
            "tree:/usr/src/linux/",
            "linux=tree:/usr/src/linux: copy, stat-walk, grep, read, delete",
        ),
        (
            "tar:/x/linux.tar.xz",
            "linux.tar.xz=tar:/x/linux.tar.xz: untar, copy, stat-walk, grep, read, delete",
        ),
        (
            "ports",
            "ports=ports: untar, copy, stat-walk, grep, read, delete",
        ),
        (
            "file:/x/disk.img",
            "disk.img=file:/x/disk.img: copy, read, delete",
        ),
        ("iso", "iso=iso: copy, read, delete"),
    ] {
        let plan = plan(&request(|r| r.dataset = Some(dataset.to_owned())));
        assert_eq!(work(&plan), [expected]);
        assert_eq!(plan.name, plan.workloads[0].name);
        assert!((plan.scale - 1.0).abs() < f64::EPSILON);
    }
}

#[test]
fn a_dataset_replaces_all_datasets_of_a_suite() {
    let plan = plan(&request(|r| {
        r.suite = Some("classic-2008".to_owned());
        r.dataset = Some("tar:/x/a.tar".to_owned());
        r.phases = vec!["untar,copy as-is".to_owned()];
    }));
    assert_eq!(work(&plan), ["a.tar=tar:/x/a.tar: untar, copy"]);
    let error = error_of(&request(|r| {
        r.suite = Some("classic-2008".to_owned());
        r.dataset = Some("music".to_owned());
    }));
    assert!(error.contains("phase `untar` needs an archive"), "{error}");
}

#[test]
fn phases_are_replaced_and_get_unique_labels() {
    for (typed, expected) in [
        ("copy,delete", "copy, delete"),
        ("grep,grep warm", "grep cold, grep warm"),
        ("copy,copy,read", "copy cold 1, copy cold 2, read"),
        ("grep cold a,b+,read", "grep, read"),
    ] {
        let plan = plan(&request(|r| {
            r.dataset = Some("portage".to_owned());
            r.phases = vec![typed.to_owned()];
        }));
        assert_eq!(
            work(&plan),
            [format!("portage=portage: {expected}")],
            "{typed}"
        );
    }
    let plan = plan(&request(|r| {
        r.dataset = Some("portage".to_owned());
        r.phases = vec!["grep warm a,b+".to_owned(), "read".to_owned()];
    }));
    let phase = &plan.workloads[0].phases[0];
    assert_eq!(phase.pattern.as_deref(), Some("a,b+"));
    assert_eq!(phase.cache, CacheState::Warm);
}

#[test]
fn a_pattern_reaches_the_phases_that_search() {
    let plan = plan(&request(|r| {
        r.suite = Some("atime".to_owned());
        r.pattern = Some("TODO".to_owned());
    }));
    let mut phases = plan.workloads.iter().flat_map(|w| &w.phases);
    assert!(phases.all(|phase| phase.pattern.as_deref() == Some("TODO")));
}

#[test]
fn places_select_devices_and_contenders() {
    let on = |on: &str| plan(&request(|r| r.device = vec![on.to_owned()]));
    let here = std::env::current_dir().unwrap();
    let plan_of_dirs = on("dir:/a,/b,dir:c");
    let c = format!("dir:{}", here.join("c").display());
    assert_eq!(labels(&plan_of_dirs), ["dir:/a", "dir:/b", c.as_str()]);
    assert_eq!(plan_of_dirs.device, DeviceChoice::None);
    assert_eq!(plan_of_dirs.contenders[2].directory, Some(here.join("c")));

    let paths = vec![PathBuf::from("/dev/a"), PathBuf::from("/dev/b")];
    assert_eq!(on("/dev/a,/dev/b").device, DeviceChoice::Block { paths });

    let in_work = plan(&request(|r| {
        r.device = vec!["loop:3G".to_owned()];
        r.work_dir = Some("images".into());
    }));
    let (size, directory) = (Some(Bytes(3 << 30)), here.join("images"));
    let images = DeviceChoice::Loop {
        size,
        directory,
        memory: false,
    };
    assert_eq!(in_work.device, images);
    let in_memory = on("ram:3G");
    assert!(in_memory.images_in_memory());
    assert!(matches!(&in_memory.device, DeviceChoice::Loop { size: found, .. } if *found == size));

    assert_eq!(
        in_work.work_dir, None,
        "the directory of the image files is recorded"
    );

    for fs in ["tmpfs", "tmpfs,dir:/a"] {
        let plan = plan(&request(|r| {
            r.contenders = vec![fs.into()];
            r.work_dir = Some("mounts".into());
        }));
        assert_eq!(plan.device, DeviceChoice::None, "{fs}");
        assert_eq!(plan.work_dir, Some(here.join("mounts")), "{fs}");
    }
    let mixed = plan(&request(|r| {
        r.contenders = vec!["tmpfs".into(), "ext4".into()];
    }));
    assert!(matches!(mixed.device, DeviceChoice::Loop { .. }));
}

#[test]
fn paths_of_a_plan_are_absolute_wherever_it_is_resumed() {
    let plan = plan(&request(|r| {
        r.dataset = Some("tar:../x.tar".to_owned());
        r.work_dir = Some(".".into());
        r.contenders = vec!["ext4,dir:.".into()];
    }));
    let DatasetChoice::Tar(archive) = &plan.workloads[0].dataset else {
        panic!("{:?}", plan.workloads[0].dataset);
    };
    let DeviceChoice::Loop { directory, .. } = &plan.device else {
        panic!("{:?}", plan.device);
    };
    let of_dir = plan.contenders[1].directory.as_deref().unwrap();
    for path in [archive.as_path(), directory, of_dir] {
        assert!(path.is_absolute(), "{}", path.display());
        assert!(!path.ends_with("."), "{}", path.display());
    }
    assert_eq!(of_dir, Path::new(&std::env::current_dir().unwrap()));
}

#[test]
fn unchecked_mount_options_are_accepted_on_request() {
    let plan = plan(&request(|r| {
        r.contenders = vec!["ext4:noatme".into()];
        r.unchecked_options = Some(true);
    }));
    assert_eq!(labels(&plan), ["ext4:noatme"]);
}

#[test]
fn an_unsupported_phase_is_skipped_in_the_plan() {
    let plan = plan(&request(|r| {
        r.contenders = vec!["ext4,exfat".into()];
        r.phases = vec!["mongo-create,mongo-symlinks".to_owned()];
    }));
    let skipped: Vec<_> = plan
        .skipped
        .iter()
        .map(|one| (&*one.contender, &*one.phase))
        .collect();
    assert_eq!(skipped, [("exfat", "mongo-symlinks")]);
    assert!(plan.skipped[0].reason.ends_with("has no symbolic links"));
}

#[test]
fn a_plan_of_which_no_phase_can_run_is_refused() {
    let alone = request(|r| {
        r.contenders = vec!["exfat".into()];
        r.phases = vec!["mongo-symlinks".to_owned()];
    });
    let message = error_of(&alone);
    for part in [
        "--fs",
        "no phase of the plan can run",
        "has no symbolic links",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
}
