//! Cells on another machine with its own shell and programs. An sshd on the loopback interface acts
//! as that machine, with dash or busybox. Without sshd, the tests are skipped by name.

mod freebsd;
mod server;
use crate::support::{have, lab_kernel, outcomes, root_and};
use server::{Kind, PROGRAMS, Server, script, until};
use std::fs;

/// All phases on trees that its programs support.
const TREES: [&str; 7] = [
    "--dataset",
    "ports",
    "--scale",
    "0.005",
    "--phases",
    "untar,copy,read warm,grep,stat-walk,delete",
    "--verify",
];

/// The figures of the only cell of the last run.
fn samples(server: &Server) -> Vec<serde_json::Value> {
    let result = server.home.result("last");
    let cells = result["cells"].as_array().unwrap();
    cells[0]["samples"].as_array().unwrap().clone()
}

#[test]
fn a_directory_is_compared_by_the_programs_of_a_minimal_machine() {
    let test = "a_directory_is_compared_by_the_programs_of_a_minimal_machine";
    if !have(&[&PROGRAMS[..], &["busybox"]].concat(), test) {
        return;
    }
    let mut found = Vec::new();
    for kind in [Kind::Dash, Kind::Busybox(&[])] {
        let Some(server) = Server::start(&kind, test) else {
            return;
        };
        let fs = format!("dir:{}", server.work_dir().display());
        let printed = server.run(&[&["--fs", &fs], &TREES[..]].concat());
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
        let samples = samples(&server);
        let methods: Vec<_> = samples
            .iter()
            .map(|s| s["method"].as_str().unwrap())
            .collect();
        assert!(methods[1].starts_with("cp -RPp"), "{methods:?}");
        for sample in &samples {
            assert_eq!(sample["engine"], "tools");
            // The remote machine cannot count cached pages, so no cache state is proven.
            assert_eq!(sample["cache"]["proven"], false, "{sample}");
            assert!(sample["device"].is_null(), "{sample}");
        }
        let durable = |at: usize| samples[at]["durable_ns"].as_u64();
        assert!(durable(0) >= samples[0]["return_ns"].as_u64() && durable(2).is_none());
        found.push(samples[3]["tally"]["matches"].as_u64().unwrap());
        let report = server.home.fsdyno(&["report", "last", "--long"]).out;
        let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(report.contains("on ssh:there"), "{report}");
        assert!(
            report.contains("figures are those of that machine"),
            "{report}"
        );
        server.assert_nothing_left();
    }
    // The same seed gives the same files, so both programs find the same number of matches.
    assert!(found[0] > 0 && found[0] == found[1], "{found:?}");
}

#[test]
fn file_systems_are_made_on_image_files_of_another_machine() {
    let test = "file_systems_are_made_on_image_files_of_another_machine";
    if !root_and(&[&PROGRAMS[..], &["busybox", "mkfs.ext4"]].concat(), test) {
        return;
    }
    for kind in [
        Kind::Dash,
        Kind::Busybox(&["mkfs.ext4", "dumpe2fs", "e2fsck"]),
    ] {
        let Some(server) = Server::start(&kind, test) else {
            return;
        };
        let printed = server.run(&[&["--fs", "ext4:noatime,tmpfs"], &TREES[..]].concat());
        assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
        let result = server.home.result("last");
        let cold = &result["cells"][0]["samples"][0]["cache"];
        let reason = cold["reason"].as_str().unwrap_or_default();
        assert!(
            reason.contains("not proven") || reason.contains("memory"),
            "{cold}"
        );
        server.assert_nothing_left();
    }
}

#[test]
fn a_lost_connection_fails_its_cell_and_the_others_run() {
    let test = "a_lost_connection_fails_its_cell_and_the_others_run";
    if !have(&PROGRAMS, test) {
        return;
    }
    let Some(server) = Server::start(&Kind::Dash, test) else {
        return;
    };
    let victim = server.home.path("victim").display().to_string();
    let plan = server.home.path("plan.toml");
    let toml = format!(
        "[[workload]]\nname = \"dies\"\nphases = [{{ kind = \"exec\", \
         command = \"kill -9 $(cat {victim}); sleep 600\" }}]\n\
         [[workload]]\nname = \"lives\"\nphases = [{{ kind = \"exec\", \
         command = \"echo x > {{dir}}/x\" }}]\n"
    );
    fs::write(&plan, toml).unwrap();
    let fs = format!("dir:{}", server.work_dir().display());
    let plan = plan.display().to_string();
    let printed = server.run(&["--long", "--fs", &fs, "--plan", &plan]);
    assert_eq!(printed.code, Some(1), "{}{}", printed.out, printed.err);
    assert!(
        printed.out.contains("closed by remote host"),
        "{}",
        printed.out
    );
    assert!(
        printed.out.contains("1 cell measured, 1 failed"),
        "{}",
        printed.out
    );
    server.assert_nothing_left();
}

#[test]
fn an_ended_run_leaves_nothing_on_the_other_machine() {
    let test = "an_ended_run_leaves_nothing_on_the_other_machine";
    if !root_and(&[&PROGRAMS[..], &["mkfs.ext4"]].concat(), test) {
        return;
    }
    let Some(server) = Server::start(&Kind::Dash, test) else {
        return;
    };
    for (signal, code) in [("-KILL", None), ("-TERM", Some(130))] {
        server.end_in_a_phase("ext4", signal, code);
    }
}

#[test]
fn a_run_resumes_only_on_the_same_machine() {
    let test = "a_run_resumes_only_on_the_same_machine";
    if !have(&[&PROGRAMS[..], &["busybox"]].concat(), test) {
        return;
    }
    let Some(server) = Server::start(&Kind::Busybox(&[]), test) else {
        return;
    };
    let plan = server.home.path("plan.toml");
    let started = server.home.path("started");
    let phase = |name: &str, command: &str| {
        format!(
            "[[workload]]\nname = \"{name}\"\nphases = [{{ kind = \"exec\", command = \"{command}\" }}]\n"
        )
    };
    let waits = format!(
        "[ -e {0} ] || {{ echo x > {0}; sleep 600; }}",
        started.display()
    );
    fs::write(&plan, phase("first", "true") + &phase("second", &waits)).unwrap();
    let fs = format!("dir:{}", server.work_dir().display());
    let plan = plan.display().to_string();
    let mut child = server.begin(&["--fs", &fs, "--plan", &plan]);
    let done = || server.home.output().contains("1 of") || started.exists();
    until("the second cell runs", || done() && started.exists());
    let killed = std::process::Command::new("kill")
        .arg(child.id().to_string())
        .status();
    assert!(killed.unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let measured = !outcomes(&server.home.result("last")).is_empty();
    let uname = server.home.path("busybox/uname");
    fs::remove_file(&uname).unwrap();
    script(&uname, "echo NetBSD");
    let resume = || {
        let words = ["run", "--resume", "last"].map(str::to_owned);
        crate::support::printed(&server.command(&words).output().unwrap())
    };
    if measured {
        let printed = resume();
        assert_eq!(printed.code, Some(2), "{}{}", printed.out, printed.err);
        assert!(
            printed.err.contains("cannot be compared within one run"),
            "{}",
            printed.err
        );
    }
    fs::remove_file(&uname).unwrap();
    std::os::unix::fs::symlink("/bin/busybox", &uname).unwrap();
    let printed = resume();
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert_eq!(outcomes(&server.home.result("last")).len(), 2);
    server.assert_nothing_left();
}

#[test]
fn missing_capabilities_of_the_other_machine_are_named_with_a_remedy() {
    let test = "missing_capabilities_of_the_other_machine_are_named_with_a_remedy";
    if !have(&[&PROGRAMS[..], &["busybox"]].concat(), test) {
        return;
    }
    let Some(server) = Server::start(&Kind::Busybox(&[]), test) else {
        return;
    };
    let fs = format!("dir:{}", server.work_dir().display());
    let check_refused = |args: &[&str], code: i32, words: &str| {
        let printed = server.run(args);
        assert_eq!(
            printed.code,
            Some(code),
            "{args:?}: {}{}",
            printed.out,
            printed.err
        );
        assert!(printed.err.contains(words), "{args:?}: {}", printed.err);
    };
    let here = ["--fs", &fs, "--exec", "true"];
    check_refused(
        &["--fs", "dir:/no/such", "--exec", "true"],
        2,
        "/no/such cannot be written to",
    );
    check_refused(
        &["--fs", "ffs[-U]", "--exec", "true"],
        4,
        "its kernel is Linux",
    );
    fs::rename(server.home.path("busybox/grep"), server.home.path("grep")).unwrap();
    fs::rename(server.home.path("busybox/tar"), server.home.path("tar")).unwrap();
    check_refused(
        &here,
        4,
        "programs that every cell needs are missing: tar, grep",
    );
    for name in ["grep", "tar"] {
        let place = server.home.path("busybox").join(name);
        fs::rename(server.home.path(name), place).unwrap();
    }
    let known = fs::read(server.home.path("known")).unwrap();
    fs::write(server.home.path("known"), "").unwrap();
    check_refused(&here, 1, "`ssh there true` once");
    fs::write(server.home.path("known"), known).unwrap();
    fs::write(server.home.path("authorized"), "").unwrap();
    check_refused(&here, 1, "ssh-copy-id there");
    server.assert_nothing_left();
}

#[test]
fn unsupported_remote_plans_are_refused_and_a_dry_run_does_not_connect() {
    let home = crate::support::Home::new();
    let printed = |args: &[&str]| {
        let base = [
            "run",
            "--dry-run",
            "--lab",
            "ssh:root@no-such-machine.invalid",
        ];
        home.fsdyno(&[&base[..], args].concat())
    };
    for (args, words) in [
        (&["bonnie", "--fs", "ext4"][..], "bonnie-char-write"),
        (
            &["--fs", "ext4", "--engine", "sync"],
            "only its own programs",
        ),
        (
            &["--fs", "ext4", "--guest-memory", "1G"],
            "nothing of this plan runs in a guest",
        ),
        (&["--fs", "ext4", "--fill", "90%"], "filled or aged"),
        (&["--fs", "ext4", "--fragments"], "extents are counted"),
    ] {
        let printed = printed(args);
        assert_eq!(
            printed.code,
            Some(2),
            "{args:?}: {}{}",
            printed.out,
            printed.err
        );
        assert!(printed.err.contains(words), "{args:?}: {}", printed.err);
    }
    let dry = printed(&[
        "--fs",
        "ffs[-U]:noatime",
        "--phases",
        "copy",
        "--dataset",
        "mixed",
    ]);
    assert_eq!(dry.code, Some(0), "{}", dry.err);
    for line in [
        "newfs -U \"$LOOP0\"",
        "mount -t ufs -o noatime \"$LOOP0\"",
        "mdconfig -a -t vnode",
        "mdconfig -d -u",
    ] {
        assert!(dry.out.contains(line), "{line}: {}", dry.out);
    }
    let unnamed = [
        "run",
        "--lab",
        "ssh:x.invalid",
        "--fs",
        "ext4",
        "--on",
        "/dev/sdz",
    ];
    let refused = home.fsdyno(&unnamed);
    assert_eq!(refused.code, Some(3), "{}", refused.err);
    assert!(refused.err.contains("--erase /dev/sdz"), "{}", refused.err);
}

#[test]
fn shards_run_on_the_hosts_that_can_be_reached_and_are_merged() {
    let test = "shards_run_on_the_hosts_that_can_be_reached_and_are_merged";
    if !root_and(&[&PROGRAMS[..], &["mkfs.ext4"]].concat(), test) {
        return;
    }
    let (Some(kernel), Some(server)) = (lab_kernel(test), Server::start(&Kind::Dash, test)) else {
        return;
    };
    let home = &server.home;
    // The environment of the test does not reach the other machine.
    let program = home.path("there");
    let state = home.path("state");
    let lines = format!(
        "XDG_STATE_HOME={} exec {} \"$@\"",
        state.display(),
        env!("CARGO_BIN_EXE_fsdyno")
    );
    script(&program, &lines);
    let directory = home.path("cluster").display().to_string();
    let program = program.display().to_string();
    let front = [
        "cluster",
        "ssh",
        "ssh://127.0.0.1:1,there",
        "--dir",
        &directory,
    ];
    let rest = ["--shards", "3", "--program", &program, "--"];
    let run = home.on_model_disks(&kernel, "ext2,ext4", "--scale 0.003 --phases copy");
    let run = run.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let run = run.replace("--repeats 1", "--repeats 2");
    let words = front.iter().chain(&rest).copied().chain(run.split(' '));
    let words: Vec<String> = words.map(str::to_owned).collect();
    let printed = crate::support::printed(&server.command(&words).output().unwrap());
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert!(printed.out.contains("4 of 4 cells"), "{}", printed.out);
    assert!(
        printed.err.contains("ssh://127.0.0.1:1: shard"),
        "{}",
        printed.err
    );
    assert!(
        printed.err.contains("this host gets no more shards"),
        "{}",
        printed.err
    );
    // A second start finds everything complete.
    let printed = crate::support::printed(&server.command(&words).output().unwrap());
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert!(printed.out.contains("4 of 4 cells"), "{}", printed.out);
}
