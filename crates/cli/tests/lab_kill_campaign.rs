//! fsdyno is killed repeatedly at random times: during measurements, power cuts, kernel builds, and
//! while it serves a disk. After each kill, `fsdyno clean` removes everything, and every recorded
//! cell remains. The run then resumes to its end. `FSDYNO_KILL_ROUNDS` sets the number of kills of
//! each test.

mod support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::kills::{assert_nothing_left, files_in, kill_at, kill_runs, moments, rounds};
use support::{Home, have, lab_kernel, root_and};

/// The arguments of a small run in the home.
fn run(home: &Home, more: &str) -> Vec<String> {
    let work = home.work().display().to_string();
    let small = "run --repeats 3 --dataset mixed --scale 0.002";
    let words = small.split(' ').map(str::to_owned);
    let place = ["--work-dir".to_owned(), work];
    let more = more.split_whitespace().map(str::to_owned);
    words.chain(place).chain(more).collect()
}

#[test]
fn a_run_on_loop_devices_that_is_killed_leaves_nothing_and_is_resumed() {
    let programs = ["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    if !root_and(&programs, "a_run_on_loop_devices_that_is_killed") {
        return;
    }
    let home = Home::new();
    // example
    let words = run(&home, "--fs ext4,xfs,btrfs@pool2 --phases copy,delete");
    kill_runs(&home, &words, 1, 1800, 4);
}

#[test]
fn a_run_in_a_directory_that_is_killed_leaves_nothing_and_is_resumed() {
    let home = Home::new();
    let on = format!("dir:{}", home.work().display());
    let set = "--set op.operations=20000 --set op.size=1M";
    let words = "run --dataset mixed --scale 0.01 --phases copy,op-random-read,delete --repeats 6";
    let words = words.split(' ').chain(set.split(' ')).chain(["--on", &on]);
    let words: Vec<String> = words.map(str::to_owned).collect();
    kill_runs(&home, &words, 2, 900, 4);
}

#[test]
fn a_run_in_guests_that_is_killed_leaves_nothing_and_is_resumed() {
    let test = "a_run_in_guests_that_is_killed";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext2", "mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let kernel = kernel.display();
    // example
    let of_guests = "--lab uml --fs ext2,ext4 --phases copy,delete --guest-memory 256M";
    let words = run(&home, &format!("{of_guests} --guest-kernel {kernel}"));
    kill_runs(&home, &words, 3, 3500, 2);
}

#[test]
fn a_run_on_model_disks_of_the_host_that_is_killed_leaves_nothing_and_is_resumed() {
    let test = "a_run_on_model_disks_of_the_host_that_is_killed";
    if !root_and(&["mkfs.ext4"], test) {
        return;
    }
    if !Path::new("/dev/fuse").exists() {
        println!("SKIP /dev/fuse: {test}");
        return;
    }
    let home = Home::new();
    // example
    let on = "--lab host --disk sata-2008 --on loop:256M --fs ext4 --phases copy";
    kill_runs(&home, &run(&home, on), 4, 3000, 2);
}

#[test]
fn a_rerun_that_is_killed_leaves_nothing_and_is_resumed() {
    let test = "a_rerun_that_is_killed";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext3"], test)) else {
        return;
    };
    let home = Home::new();
    // example
    let words = "rerun atime-2007 --scale 0.002 --no-check --fs ext3 --work-dir";
    let places = [home.work(), "--guest-kernel".into(), kernel];
    let places = places.iter().map(|place| place.display().to_string());
    let words = words.split(' ').map(str::to_owned).chain(places);
    let words: Vec<String> = words.collect();
    kill_runs(&home, &words, 5, 4000, 2);
}

#[test]
fn a_killed_crash_test_leaves_nothing_and_loses_no_recorded_power_cut() {
    let test = "a_killed_crash_test_leaves_nothing_and_loses_no_recorded_power_cut";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    // example
    let words = "crash --fs ext4 --disk sata-2008 --cuts 9 --guest-memory 256M --work-dir";
    let places = [home.work(), "--guest-kernel".into(), kernel];
    let places = places.iter().map(|place| place.display().to_string());
    let words: Vec<String> = words.split(' ').map(str::to_owned).chain(places).collect();
    let shown = |series: &str| home.fsdyno(&["show", series, "--json"]).out;
    let mut recorded: Vec<(String, String)> = Vec::new();
    for moment in moments(6, 6000).take(usize::try_from(rounds(2)).unwrap()) {
        let code = kill_at(&home, &words, moment);
        assert!(code.is_none_or(|code| code == 0), "{}", home.output());
        assert_nothing_left(&home);
        for (series, before) in &recorded {
            assert_eq!(&shown(series), before);
        }
        let series = home.output();
        let mut announced = series.lines().filter_map(|line| {
            let name = line.strip_prefix("series ")?.strip_suffix(" begins")?;
            Some(name.to_owned())
        });
        if let Some(name) = announced.next() {
            let printed = shown(&name);
            assert!(printed.contains(&name), "{printed}");
            recorded.push((name, printed));
        }
    }
    let power_cuts = recorded.iter().map(|(_, printed)| {
        let printed: Value = serde_json::from_str(printed).unwrap();
        printed["cuts"].as_array().map_or(0, Vec::len)
    });
    println!(
        "{} series, {} cuts",
        recorded.len(),
        power_cuts.sum::<usize>()
    );
}

/// A Makefile for small sources. During the link step the kernel file is incomplete. A kernel that
/// is started then creates the file `mark`.
fn makefile(mark: &Path) -> String {
    let mark = mark.display();
    format!(
        "allnoconfig:\n\tsleep 0.2; cp $(KCONFIG_ALLCONFIG) $(O)/.config\nlinux:\n\
         \t@echo '  CC      a.o'; sleep 0.3\n\t@: cc -c -o a.o\n\
         \t@printf '#!/bin/sh\\ntouch {mark}\\necho 6.0-half\\n' > $(O)/linux; chmod +x $(O)/linux\n\
         \t@sleep 0.3\n\t@printf '#!/bin/sh\\necho 6.0-small\\n' > $(O)/linux\n"
    )
}

/// Packs the sources; empty if a program is missing that every build needs.
fn sources(home: &Home, mark: &Path) -> String {
    let tree = home.path("linux-0");
    fs::create_dir_all(tree.join("more")).unwrap();
    fs::write(tree.join("Makefile"), makefile(mark)).unwrap();
    fs::write(tree.join("Kconfig"), "config HOSTFS\n").unwrap();
    for number in 0..2000 {
        fs::write(
            tree.join(format!("more/{number}.c")),
            "int x;\n".repeat(500),
        )
        .unwrap();
    }
    let archive = home.path("linux-0.tar");
    let mut tar = Command::new("tar");
    let packed = tar.arg("-C").arg(home.root.path()).arg("-cf").arg(&archive);
    assert!(packed.arg("linux-0").status().unwrap().success());
    archive.display().to_string()
}

#[test]
fn a_kernel_of_a_killed_build_is_never_started() {
    let test = "a_kernel_of_a_killed_build_is_never_started";
    if !have(&["make", "gcc", "flex", "bison", "bc", "tar"], test) {
        return;
    }
    let home = Home::new();
    let mark = home.path("half-started");
    let archive = sources(&home, &mark);
    let setup = ["lab", "setup", "--source", &archive].map(str::to_owned);
    let list = ["lab", "list", "--json"].map(str::to_owned);
    let kernels = home.path("cache/fsdyno/kernels");
    let whole = || -> Vec<_> {
        let folders = files_in(&kernels).into_iter();
        folders.filter(|path| path.join("linux").exists()).collect()
    };
    let mut moment = moments(7, 2200);
    let (mut killed, mut built) = (0, 0);
    while killed < rounds(3) || built == 0 {
        let wait = if killed < rounds(3) {
            moment.next().unwrap()
        } else {
            Duration::from_secs(600)
        };
        let code = kill_at(&home, &setup, wait);
        assert_nothing_left(&home);
        for folder in whole() {
            let kernel = Command::new(folder.join("linux")).output().unwrap();
            assert_eq!(kernel.stdout, b"6.0-small\n", "{}", folder.display());
        }
        if killed % 8 == 0 {
            // `lab list` probes every kernel.
            let listed = kill_at(&home, &list, Duration::from_secs(600));
            assert_eq!(listed, Some(0), "{}", home.output());
        }
        assert!(!mark.exists(), "half a kernel was started");
        if code.is_none() {
            killed += 1;
            continue;
        }
        assert_eq!(code, Some(0), "{}", home.output());
        assert_eq!(whole(), files_in(&kernels), "only the kernel is left");
        built += 1;
        fs::remove_dir_all(&kernels).unwrap();
    }
    println!("{killed} kills, {built} kernels");
}

#[test]
fn a_server_of_a_disk_that_is_killed_leaves_nothing_and_its_socket_is_taken_over() {
    let home = Home::new();
    let socket = home.path("disk0");
    let words = "disk serve laptop-4200-2004 --size 256M --socket";
    let mut words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    words.push(socket.display().to_string());
    let mut served = 0;
    for moment in moments(8, 400).take(usize::try_from(rounds(3)).unwrap()) {
        let code = kill_at(&home, &words, moment);
        assert_eq!(code, None, "{}", home.output());
        assert_nothing_left(&home);
        let printed = fs::read_to_string(home.path("started.out")).unwrap();
        served += u32::from(!printed.is_empty());
    }
    println!("{served} servers were ready when they were killed");
}
