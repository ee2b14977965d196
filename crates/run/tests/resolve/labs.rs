//! Labs: requested and automatic ones.

use crate::support::*;
use fsdyno_model::{Bytes, DiskTime, KernelChoice, LabChoice, Plan, Vary};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::{Catalogue, Varying, resolve};

fn options(fs: &str) -> RunOptions {
    request(|r| r.contenders = vec![fs.into()])
}

/// The labs of all contenders on a host that lacks these file systems.
fn chosen(request: &RunOptions, lacking: &[&str], guests: bool) -> Vec<String> {
    let catalogue = Catalogue {
        lacking: lacking.iter().map(|name| (*name).to_owned()).collect(),
        guests,
        ..catalogue()
    };
    let plan = resolve(request, &catalogue).unwrap();
    assert_eq!(
        plan.guest.is_some(),
        plan.labs().iter().any(|lab| lab.is_guest())
    );
    plan.contenders.iter().map(|c| c.lab.to_string()).collect()
}

#[test]
fn the_host_is_the_default_lab_and_guests_replace_it_for_all() {
    let (host, uml) = ("host", "uml");
    for (fs, lacking, guests, expected) in [
        ("ext4,xfs", &[][..], true, vec![host, host]),
        ("ext4,jfs", &["jfs"], true, vec![uml, uml]),
        ("ext4,jfs", &["jfs"], false, vec![host, host]),
        // A file system in memory needs no device, so it moves to guests too.
        ("tmpfs,jfs", &["jfs"], true, vec![uml, uml]),
        ("dir:/tmp", &["dir"], true, vec![host]),
        ("ext4@raid0x2,xfs", &["raid0"], true, vec![uml, uml]),
    ] {
        assert_eq!(chosen(&options(fs), lacking, guests), expected, "{fs}");
    }
    // A named device belongs to the host.
    let named = request(|r| {
        r.contenders = vec!["jfs".into()];
        r.device = vec!["/dev/sdz".into()];
    });
    assert_eq!(chosen(&named, &["jfs"], true), [host]);
    let on_host = request(|r| {
        r.contenders = vec!["jfs".into()];
        r.lab = Some(LabChoice::Host);
    });
    assert_eq!(chosen(&on_host, &["jfs"], true), [host]);
}

#[test]
fn the_lab_of_a_contender_overrides_the_lab_of_the_plan_for_it_alone() {
    let (host, uml, qemu) = ("host", "uml", "qemu");
    for (fs, lab, lacking, expected) in [
        ("ext4,uml/ext4", None, &[][..], vec![host, uml]),
        (
            "uml/ext4,xfs,host/xfs",
            Some(LabChoice::Qemu),
            &[],
            vec![uml, qemu, host],
        ),
        // Missing capabilities matter only for contenders without a lab of their own.
        ("ext4,uml/jfs", None, &["jfs"], vec![host, uml]),
        ("host/ext4,xfs,jfs", None, &["jfs"], vec![host, uml, uml]),
        ("host/dir:/tmp,jfs", None, &["jfs"], vec![host, uml]),
        (
            "ssh:me@bsd/dir:/mnt,ssh:me@bsd/ext4",
            None,
            &[],
            vec!["ssh:me@bsd"; 2],
        ),
    ] {
        let options = request(|r| {
            r.contenders = vec![fs.into()];
            r.lab = lab;
        });
        assert_eq!(chosen(&options, lacking, true), expected, "{fs}");
    }
    let labels = |fs: &str| -> Vec<String> {
        let plan = plan(&options(fs));
        plan.contenders.into_iter().map(|c| c.label).collect()
    };
    assert_eq!(
        labels("ext4,uml/ext4:noatime"),
        ["ext4", "uml/ext4:noatime"]
    );
}

#[test]
fn a_plan_file_sets_the_lab_of_a_contender_in_either_form() {
    let text = "contenders = [\"uml/ext4\", { filesystem = \"xfs\", lab = \"uml\" }, \"xfs\",\n\
                { filesystem = \"xfs\", lab = \"uml\", label = \"mine\", fill = \"50%\" }]\n";
    let (_held, path) = written(text);
    let plan = plan(&request(|r| r.plan = Some(path)));
    let labels = plan.contenders.iter();
    let labels: Vec<String> = labels.map(|c| format!("{} {}", c.lab, c.label)).collect();
    assert_eq!(
        labels,
        ["uml uml/ext4", "uml uml/xfs", "host xfs", "uml mine"]
    );
    assert!(plan.guest.is_some());
}

#[test]
fn a_contender_is_once_in_each_lab_and_a_device_on_one_machine() {
    let text = error_of(&request(|r| {
        r.contenders = vec!["ext4,uml/ext4".into()];
        r.lab = Some(LabChoice::Uml);
    }));
    assert!(
        text.contains("`ext4` runs in the lab uml, and `uml/ext4` is the same contender"),
        "{text}"
    );
    let on = |fs: &str| {
        request(|r| {
            r.contenders = vec![fs.into()];
            r.device = vec!["/dev/sdz".into()];
        })
    };
    let text = error_of(&on("ext4,ssh:me@bsd/ext4"));
    assert!(text.contains("one of host or of ssh:me@bsd"), "{text}");
    // A device belongs to the machine of its lab.
    let there = plan(&on("ssh:me@bsd/ext4,ssh:me@bsd/xfs"));
    assert!(there.uses(&LabChoice::Ssh("me@bsd".into())) && there.guest.is_none());
    let text = error_of(&on("ext4,uml/xfs"));
    assert!(
        text.contains("--fs") && text.contains("`uml/xfs`"),
        "{text}"
    );
    let text = error_of(&options("uml/dir:/tmp"));
    assert!(text.contains("directory of this machine"), "{text}");
    let text = error_of(&options("umll/ext4"));
    assert!(
        text.contains("`umll` is no lab") && text.contains("uml?"),
        "{text}"
    );
}

#[test]
fn the_command_line_overrides_the_lab_of_a_plan_file() {
    let text = "lab = \"uml\"\nguest_memory = \"1G\"\ncontenders = [\"ext4\"]\n";
    let (_held, path) = written(text);
    let from_file = plan(&request(|r| r.plan = Some(path.clone())));
    assert!(from_file.uses(&LabChoice::Uml));
    assert_eq!(from_file.guest.as_ref().unwrap().memory, Bytes(1 << 30));
    let smaller = plan(&request(|r| {
        r.plan = Some(path.clone());
        r.guest_memory = Some(Bytes(128 << 20));
    }));
    assert_eq!(smaller.guest.as_ref().unwrap().memory, Bytes(128 << 20));
    // Another lab gives another plan.
    assert_ne!(from_file.hash(), smaller.hash());
    assert_ne!(from_file.hash(), plan(&options("ext4")).hash());
}

#[test]
fn the_guest_kernel_is_set_or_the_default_and_paths_are_relative_to_the_plan() {
    let (held, path) = written("lab = \"uml\"\nguest_kernel = \"./linux\"\n");
    let in_plan = |change: fn(&mut RunOptions)| {
        let mut options = request(|r| r.plan = Some(path.clone()));
        change(&mut options);
        let catalogue = Catalogue {
            kernel: Some(KernelChoice::Lab),
            ..catalogue()
        };
        resolve(&options, &catalogue).unwrap().guest.unwrap().kernel
    };
    let relative = KernelChoice::File(held.path().join("./linux"));
    assert_eq!(in_plan(|_| {}), Some(relative));
    let packaged = in_plan(|r| r.guest_kernel = Some(KernelChoice::Packaged));
    assert_eq!(packaged, Some(KernelChoice::Packaged));
    let unset = in_plan(|r| {
        r.plan = None;
        r.lab = Some(LabChoice::Uml);
    });
    assert_eq!(unset, Some(KernelChoice::Lab));
    let (_held, path) = written("lab = \"uml\"\nguest_kernel = \"labb\"\n");
    let text = error_of(&request(|r| r.plan = Some(path)));
    assert!(text.contains("labb") && text.contains("packaged"), "{text}");
    let text = error_of(&request(|r| r.guest_kernel = Some(KernelChoice::Lab)));
    assert!(text.contains("--lab uml"), "{text}");
}

#[test]
fn contenders_that_cannot_run_in_guests_are_refused_with_a_remedy() {
    let in_guest = |change: fn(&mut RunOptions)| {
        error_of(&request(|r| {
            r.lab = Some(LabChoice::Uml);
            change(r);
        }))
    };
    let text = in_guest(|r| r.device = vec!["/dev/sdz".into()]);
    assert!(text.contains("a device is named"), "{text}");
    let text = in_guest(|r| r.contenders = vec!["dir:/tmp".into()]);
    assert!(text.contains("directory of this machine"), "{text}");
    let text = in_guest(|r| r.guest_processors = Some(2));
    assert!(
        text.contains("one processor, and not 2") && text.contains("--lab qemu"),
        "{text}"
    );
    let text = in_guest(|r| r.guest_memory = Some(Bytes(1 << 20)));
    assert!(
        text.contains("1.00 MiB") && text.contains("64.0 MiB"),
        "{text}"
    );
    let text = error_of(&request(|r| r.guest_memory = Some(Bytes(1 << 30))));
    assert!(text.contains("--lab uml"), "{text}");
    let (_held, path) = written("lab = \"umll\"\n");
    let text = error_of(&request(|r| r.plan = Some(path)));
    assert!(text.contains("umll") && text.contains("uml"), "{text}");
}

#[test]
fn on_another_machine_its_programs_work_on_its_directories_and_devices() {
    let there = |change: fn(&mut RunOptions)| {
        request(|r| {
            r.lab = Some(LabChoice::Ssh("root@bsd".into()));
            r.contenders = vec!["ffs[-U]:noatime,ffs:async,dir:/tank".into()];
            change(r);
        })
    };
    let resolved = plan(&there(|r| r.device = vec!["/dev/ada1".into()]));
    assert!(
        resolved
            .contenders
            .iter()
            .all(|c| c.lab.to_string() == "ssh:root@bsd")
    );
    assert_eq!((resolved.engine.as_str(), resolved.guest), ("tools", None));
    let same = plan(&there(|r| r.engine = Some("tools".into())));
    assert_eq!(same.engine, "tools");
    let text = error_of(&there(|r| r.engine = Some("sync".into())));
    assert!(text.contains("only its own programs"), "{text}");
    let text = error_of(&there(|r| r.guest_memory = Some(Bytes(1 << 30))));
    assert!(
        text.contains("nothing of this plan runs in a guest"),
        "{text}"
    );
}

#[test]
fn a_block_trace_needs_a_directory_and_a_model_disk() {
    let text = "disk = \"nvme\"\ndisk_trace = \"rec\"\ncontenders = [\"ext4\"]\n";
    let (held, path) = written(text);
    let from_file = plan(&request(|r| r.plan = Some(path)));
    let record = from_file.disk_trace.unwrap();
    assert_eq!(record.directory, held.path().join("rec"));
    assert!(!record.payloads);
    let typed = plan(&request(|r| {
        r.contenders = vec!["ext4".into()];
        r.disk = Some("nvme".into());
        r.disk_trace = Some("/records".into());
        r.disk_payloads = Some(true);
    }));
    let record = typed.disk_trace.unwrap();
    assert_eq!(
        (record.directory, record.payloads),
        ("/records".into(), true)
    );
    for (disk, record) in [(None, Some("/records".into())), (Some("nvme".into()), None)] {
        let refused = error_of(&request(|r| {
            r.contenders = vec!["ext4".into()];
            r.disk = disk;
            r.disk_trace = record;
            r.disk_payloads = Some(true);
        }));
        assert!(refused.contains("--disk-trace"), "{refused}");
    }
}

#[test]
fn a_model_disk_selects_guests_by_default_and_is_found_by_name() {
    let (held, path) = written("disk = \"nvme\"\ncontenders = [\"ext4\"]\n");
    let from_file = plan(&request(|r| r.plan = Some(path.clone())));
    assert_eq!(from_file.disk.as_ref().unwrap().profile, "nvme");
    assert!(from_file.uses(&LabChoice::Uml));
    // The command line overrides the plan file; a relative path follows the place that names it.
    let own = held.path().join("own.toml");
    std::fs::write(&own, &from_file.disk.unwrap().text).unwrap();
    let typed = plan(&request(|r| {
        r.plan = Some(path.clone());
        r.disk = Some(own.clone());
    }));
    assert_eq!(typed.disk.unwrap().profile, "own");
    let text = error_of(&request(|r| {
        r.contenders = vec!["ext4".into()];
        r.disk = Some("nvmee".into());
    }));
    assert!(text.contains("nvmee") && text.contains("nvme"), "{text}");
}

#[test]
fn faults_are_copied_into_the_plan_and_need_a_model_disk() {
    let (held, path) =
        written("disk = \"nvme\"\ndisk_faults = \"faulty.toml\"\ncontenders = [\"ext4\"]\n");
    let fault_file = held.path().join("faulty.toml");
    let from_file = || request(|r| r.plan = Some(path.clone()));
    std::fs::write(&fault_file, "[flush]\nignored = 1.5\n").unwrap();
    let text = error_of(&from_file());
    assert!(text.contains("flush.ignored"), "{text}");
    std::fs::write(&fault_file, "[flush]\nignored = 1.0\n").unwrap();
    let planned = plan(&from_file());
    let faults = planned.disk.as_ref().unwrap().faults.as_deref();
    assert_eq!(faults, Some("[flush]\nignored = 1.0\n"));
    let named = |disk: Option<&str>| {
        request(|r| {
            r.contenders = vec!["ext4".into()];
            r.disk = disk.map(Into::into);
            r.disk_faults = Some(fault_file.clone());
        })
    };
    assert!(plan(&named(Some("nvme"))).disk.unwrap().faults.is_some());
    let text = error_of(&named(None));
    assert!(
        text.contains("--disk-faults") && text.contains("only a model disk"),
        "{text}"
    );
    std::fs::remove_file(&fault_file).unwrap();
    let text = error_of(&named(Some("nvme")));
    assert!(text.contains("faulty.toml"), "{text}");
}

#[test]
fn time_is_virtual_if_all_contenders_support_it_and_otherwise_real() {
    let on = |fs: &str, time: Option<DiskTime>| {
        request(|r| {
            r.contenders = vec![fs.into()];
            r.disk = Some("nvme".into());
            r.time = time;
        })
    };
    let time = |fs, time| plan(&on(fs, time)).disk.unwrap().time;
    let (virt, real) = (DiskTime::Virtual, DiskTime::Real);
    for (fs, options, got) in [
        ("ext4", None, virt),
        ("ext4", Some(real), real),
        ("host/ext4", None, real),
        ("qemu/ext4", None, real),
        ("uml/ext4,host/ext4", None, real),
        ("uml/ext4,qemu/ext4", Some(real), real),
    ] {
        assert_eq!(time(fs, options), got, "{fs} {options:?}");
    }
    let of_real = plan(&on("ext4", Some(real))).hash();
    assert_ne!(of_real, plan(&on("ext4", None)).hash());
    // A plan with noise has the default number of repeats.
    assert_eq!(plan(&on("ext4", Some(real))).repeats, 6);
    // In virtual time draws vary, and the figures decide how many there are.
    let varied = plan(&on("ext4", None));
    let length = |plan: &Plan| (plan.repeats, plan.adaptive.is_some(), plan.is_one_draw());
    assert_eq!(varied.varies, Vary::ALL);
    assert_eq!(length(&varied), (6, true, false));
    assert_eq!(plan(&on("ext4", Some(real))).varies, []);
    let varying = |list: &[Vary], repeats| RunOptions {
        vary: Some(Varying::Only(list.to_vec())),
        repeats,
        ..on("ext4", None)
    };
    let fixed = plan(&varying(&[], None));
    assert_eq!(length(&fixed), (1, false, true));
    assert_eq!(length(&plan(&varying(&[], Some(4)))), (4, false, true));
    assert_eq!(
        length(&plan(&varying(&[Vary::Names], Some(4)))),
        (4, false, false)
    );
    assert_ne!(varied.hash(), fixed.hash());
    // The files of the user are the same in each block, and nature varies real time.
    let of_user = RunOptions {
        dataset: Some("tree:/usr".into()),
        ..on("ext4", None)
    };
    assert_eq!(plan(&of_user).varies, Vary::ALL[1..]);
    let text = error_of(&RunOptions {
        time: Some(real),
        ..varying(&[Vary::Moment], None)
    });
    assert!(
        text.contains("--vary") && text.contains("virtual time only"),
        "{text}"
    );
    let (_held, path) = written("disk = \"nvme\"\ntime = \"real\"\ncontenders = [\"ext4\"]\n");
    let from_file = plan(&request(|r| r.plan = Some(path.clone())));
    assert!(from_file.disk_in_real_time().is_some());
    for (options, words) in [
        (on("host/ext4", Some(virt)), "--time real"),
        (on("uml/ext4,qemu/ext4", Some(virt)), "`qemu`"),
        (on("ssh:root@bsd/ext4", None), "of this machine"),
        (
            request(|r| {
                r.contenders = vec!["ext4".into()];
                r.time = Some(real);
            }),
            "--disk",
        ),
        (
            request(|r| {
                r.contenders = vec!["host/ext4".into()];
                r.disk = Some("nvme".into());
                r.device = vec!["/dev/sdz".into()];
            }),
            "loop:SIZE",
        ),
        (
            request(|r| {
                r.device = vec!["dir:/tmp".into()];
                r.lab = Some(LabChoice::Host);
                r.disk = Some("nvme".into());
            }),
            "directory",
        ),
    ] {
        let text = error_of(&options);
        assert!(text.contains(words), "{words}: {text}");
    }
}
