//! Every command that measures or records gets SIGKILL, SIGINT, SIGTERM, SIGHUP and SIGPIPE at random
//! times. After each, `fsdyno clean` removes everything, every recorded cell remains, and a file of
//! results is complete or not there. A run then resumes to its end. `FSDYNO_KILL_ROUNDS` sets the
//! number of signals of each test.

use crate::support::kills::{
    INTERRUPTED, SIGNALS, assert_nothing_left, files_in, kill_at, kill_runs, moments, rounds,
    signal_at, signal_command,
};
use crate::support::{Home, have, lab_kernel, root_and};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

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
    let words = "crash --fs ext4 --disk sata-2008 --random 9 --guest-memory 256M --work-dir";
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

/// Words, and then paths.
fn words_of(words: &str, paths: &[&Path]) -> Vec<String> {
    let paths = paths.iter().map(|path| path.display().to_string());
    words
        .split_whitespace()
        .map(str::to_owned)
        .chain(paths)
        .collect()
}

#[test]
fn a_recording_is_complete_or_absent_after_any_signal_and_its_programs_end() {
    let test = "a_recording_is_complete_or_absent_after_any_signal_and_its_programs_end";
    if !have(&["strace"], test) {
        return;
    }
    let home = Home::new();
    let (tree, folder) = (home.path("tree"), home.path("recordings"));
    fs::create_dir(&tree).unwrap();
    fs::create_dir(&folder).unwrap();
    let output = folder.join("trace");
    // A process in the background outlives the shell, and its path names this home.
    let script = format!(
        "cd '{}'; (exec sleep 600) & for n in 1 2 3 4 5 6; do echo $n > f; sleep 0.1; done; kill $!",
        tree.display()
    );
    for recorder in ["strace", "auto"] {
        let words = format!("record --recorder {recorder} --path");
        let mut words = words_of(&words, &[&tree]);
        words.extend(words_of("-o", &[&output]));
        words.extend(["--", "sh", "-c", &script].map(str::to_owned));
        signal_command(&home, &words, (9, 700), 1, &mut |code| {
            let left = files_in(&folder);
            if code == Some(0) {
                assert_eq!(left, std::slice::from_ref(&output), "{}", home.output());
                let shown = home.fsdyno(&words_of("record show --json", &[&output]));
                assert_eq!(shown.code, Some(0), "{}", shown.err);
                let shown: Value = serde_json::from_str(&shown.out).unwrap();
                assert_eq!(shown["ending"]["incomplete"], serde_json::json!([]));
                fs::remove_file(&output).unwrap();
            } else {
                let interrupted = matches!(code, None | Some(INTERRUPTED));
                assert!(interrupted, "{code:?}: {}", home.output());
                assert_eq!(left, Vec::<PathBuf>::new());
            }
        });
    }
}

#[test]
fn a_search_of_crash_states_that_is_ended_by_a_signal_is_resumed() {
    let test = "a_search_of_crash_states_that_is_ended_by_a_signal_is_resumed";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let programs = home.path("programs");
    fs::write(
        &programs,
        "create f\n---\nappend f 4096\nfsync f\n===\nmkdir A\n---\n\
         create A/b\nfsync A/b\n===\ncreate g\n---\nrename g h\nsync\n",
    )
    .unwrap();
    let words = "crash --fs ext4 --no-nested --states 2 --guest-memory 256M --work-dir";
    let mut fresh = words_of(words, &[&home.work()]);
    fresh.extend(words_of("--guest-kernel", &[&kernel]));
    fresh.extend(words_of("--ops", &[&programs]));
    let mut resume = words_of("crash --resume last --guest-kernel", &[&kernel]);
    resume.extend(words_of("--work-dir", &[&home.work()]));
    let explored = || {
        let shown = home.fsdyno(&["show", "last", "--json"]);
        let shown: Option<Value> = serde_json::from_str(&shown.out).ok();
        shown.map(|shown| shown["programs"].as_array().map_or(0, Vec::len))
    };
    let mut moment = moments(10, 3000);
    let mut before = explored();
    for signal in SIGNALS
        .into_iter()
        .cycle()
        .take(usize::try_from(rounds(2)).unwrap())
    {
        let words = if before.is_some() { &resume } else { &fresh };
        signal_at(&home, words, moment.next().unwrap(), signal);
        assert_nothing_left(&home);
        let now = explored();
        assert!(now >= before, "{before:?} {now:?}: {}", home.output());
        before = now;
    }
    let words = if before.is_some() { &resume } else { &fresh };
    let code = kill_at(&home, words, Duration::from_secs(600));
    assert!(matches!(code, Some(0 | 1)), "{}", home.output());
    assert_nothing_left(&home);
    assert_eq!(explored(), Some(3));
}

/// Ends a command by each signal in turn, at these moments. Nothing is left after each.
fn interrupt(home: &Home, words: &[String], moments: impl Iterator<Item = Duration>, small: u64) {
    let signals = SIGNALS.into_iter().cycle();
    let signals = signals.take(usize::try_from(rounds(small)).unwrap());
    for (signal, moment) in signals.zip(moments) {
        let code = signal_at(home, words, moment, signal);
        assert!(
            matches!(code, None | Some(0 | INTERRUPTED)),
            "{}",
            home.output()
        );
        assert_nothing_left(home);
    }
}

#[test]
fn a_task_of_a_cluster_that_is_ended_by_a_signal_is_resumed_by_the_same_command() {
    let home = Home::new();
    let shards = home.path("shards");
    let on = format!("dir:{}", home.work().display());
    let mut words = words_of("cluster task", &[&shards]);
    words.extend(words_of(
        "1/2 -- run --dataset mixed --scale 0.01 --phases copy,op-random-read,delete --repeats 4 \
         --no-lock --set op.operations=20000 --set op.size=1M --on",
        &[Path::new(&on)],
    ));
    interrupt(&home, &words, moments(11, 900), 4);
    let code = kill_at(&home, &words, Duration::from_secs(600));
    assert_eq!(code, Some(0), "{}", home.output());
    let status = home.fsdyno(&words_of("cluster status --json", &[&shards]));
    assert!(status.out.contains("\"complete\""), "{}", status.out);
    assert_nothing_left(&home);
}

#[test]
fn advice_that_is_ended_by_a_signal_leaves_nothing() {
    let test = "advice_that_is_ended_by_a_signal_leaves_nothing";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext2", "mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let words =
        "advise --fs ext4,ext2 --phases copy,delete --dataset mixed --scale 0.002 --work-dir";
    let mut words = words_of(words, &[&home.work()]);
    words.extend(words_of("--guest-kernel", &[&kernel]));
    interrupt(&home, &words, moments(12, 4000), 2);
}

/// Sends each signal to a fit. Its profile can be shown, or is not there.
fn signal_fit(home: &Home, fit: &[String], when: (u64, u64), (show, profile): (&str, &Path)) {
    let folder = profile.parent().unwrap();
    fs::create_dir(folder).unwrap();
    signal_command(home, fit, when, 1, &mut |code| {
        if code == Some(0) {
            let shown = home.fsdyno(&words_of(show, &[profile]));
            assert_eq!(shown.code, Some(0), "{}", shown.err);
            fs::remove_file(profile).unwrap();
        }
        assert_eq!(files_in(folder), Vec::<PathBuf>::new());
    });
}

#[test]
fn a_fit_of_a_disk_leaves_a_complete_profile_or_none() {
    let home = Home::new();
    let (file, profile) = (home.path("disk"), home.path("profiles/mine.toml"));
    let content: Vec<u8> = (0..80_u32 << 20)
        .map(|at| (at >> 9).to_le_bytes()[0])
        .collect();
    fs::write(&file, content).unwrap();
    let mut words = words_of("disk fit", &[&file]);
    words.extend(words_of("--duration 200ms --no-lock -o", &[&profile]));
    signal_fit(&home, &words, (13, 900), ("disk show", &profile));
}

#[test]
fn a_fit_of_a_processor_leaves_a_complete_profile_or_none() {
    let test = "a_fit_of_a_processor_leaves_a_complete_profile_or_none";
    let programs = ["mkfs.ext4"];
    let Some(kernel) = lab_kernel(test).filter(|_| root_and(&programs, test)) else {
        return;
    };
    let home = Home::new();
    let profile = home.path("profiles/mine.toml");
    let mut words = words_of("cpu fit --fs ext4 --repeats 1 --no-lock -o", &[&profile]);
    words.extend(words_of("--guest-kernel", &[&kernel]));
    signal_fit(&home, &words, (15, 20_000), ("cpu show", &profile));
}

#[test]
fn a_selftest_that_is_ended_by_a_signal_leaves_nothing() {
    if !root_and(&[], "a_selftest_that_is_ended_by_a_signal_leaves_nothing") {
        return;
    }
    let home = Home::new();
    for (seed, words) in [(16, "selftest"), (17, "selftest --aa 2 --max-repeats 20")] {
        let words = words_of(words, &[]);
        signal_command(&home, &words, (seed, 2000), 1, &mut |code| {
            assert!(matches!(code, None | Some(0 | 1 | INTERRUPTED)), "{code:?}");
        });
    }
}

#[test]
fn commands_in_a_directory_of_the_user_end_with_all_their_processes() {
    let home = Home::new();
    let folder = home.path("made");
    fs::create_dir(&folder).unwrap();
    let commands = [
        "make mixed --scale 0.3 --in",
        "age --fill 1% --in",
        "phase op-random-read --set size=8M --set operations=200000 --set workers=2 \
         --set worker-type=process --no-lock --in",
    ];
    for (seed, words) in (14_u64..).zip(commands) {
        let words = words_of(words, &[&folder]);
        signal_command(&home, &words, (seed, 400), 1, &mut |code| {
            // The message states that it was interrupted.
            assert!(
                code != Some(INTERRUPTED) || home.output().contains("interrupted"),
                "{}",
                home.output()
            );
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
        });
    }
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
