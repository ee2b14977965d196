//! A run that is distributed over machines, by a Slurm that the test starts. Without Slurm, root or
//! the lab kernel, it is skipped by name.

use crate::support::{Home, lab_kernel, root_and, until};
use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::Duration;

/// The requirements of the test: the programs of slurm-wlm and munge.
const PROGRAMS: [&str; 6] = [
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "scontrol",
    "squeue",
];

/// A cluster of two nodes of one processor on this machine; it ends on drop.
struct Slurm {
    directory: tempfile::TempDir,
}

impl Slurm {
    fn start() -> Self {
        let slurm = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let at = |name: &str| slurm.path(name).display().to_string();
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy().into_owned();
        // The ports are free again immediately.
        let free = || {
            TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port()
        };
        let mut config = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={},cred_expire=5\nStateSaveLocation={}\nSlurmdSpoolDir={}\n\
             SlurmctldPidFile={}\nSlurmdPidFile={}\nSlurmctldLogFile={}\nSlurmdLogFile={}\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
             MpiDefault=none\nReturnToService=2\nKillWait=2\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU_Memory\nPartitionName=all Nodes=n1,n2 Default=YES State=UP\n",
            free(),
            at("munge.socket"),
            at("state"),
            at("spool-%n"),
            at("slurmctld.pid"),
            at("slurmd-%n.pid"),
            at("slurmctld.log"),
            at("slurmd-%n.log"),
        );
        for node in ["n1", "n2"] {
            let _ = writeln!(
                config,
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 \
                 RealMemory=4000",
                free()
            );
            fs::create_dir(slurm.path(&format!("spool-{node}"))).unwrap();
        }
        fs::create_dir(slurm.path("state")).unwrap();
        fs::write(slurm.path("slurm.conf"), config).unwrap();
        fs::write(slurm.path("munge.key"), [7; 128]).unwrap();
        let mut permissions = fs::metadata(slurm.path("munge.key")).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o400);
        fs::set_permissions(slurm.path("munge.key"), permissions).unwrap();
        // munge refuses a directory that only root can read.
        let mut permissions = fs::metadata(slurm.directory.path()).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
        fs::set_permissions(slurm.directory.path(), permissions).unwrap();
        let files = ["key", "socket", "pid", "log", "seed"].map(|what| {
            format!("--{what}-file={}", at(&format!("munge.{what}")))
                .replace("socket-file", "socket")
        });
        slurm.run("munged", &[&["--force".to_owned()], &files[..]].concat());
        slurm.run("slurmctld", &["-f".to_owned(), at("slurm.conf")]);
        for node in ["n1", "n2"] {
            slurm.run(
                "slurmd",
                &["-N".into(), node.into(), "-f".into(), at("slurm.conf")],
            );
        }
        until(Duration::from_secs(60), "both nodes are idle", || {
            slurm.report_of("sinfo", &["-h", "-o", "%t %D"]).trim() == "idle 2"
        });
        slurm
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Starts a program that goes to the background.
    fn run(&self, program: &str, args: &[String]) {
        let output = self.command(program).args(args).output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {words}");
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    fn report_of(&self, program: &str, args: &[&str]) -> String {
        let output = self.command(program).args(args).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Running jobs end before their nodes.
        let _ = self.command("scancel").args(["--user", "root"]).output();
        for name in ["slurmd-n1", "slurmd-n2", "slurmctld", "munge"] {
            let path = self.path(&format!("{name}.pid"));
            let Some(id) = fs::read_to_string(path)
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .and_then(rustix::process::Pid::from_raw)
            else {
                continue;
            };
            let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
            for _ in 0..100 {
                if rustix::process::test_kill_process(id).is_err() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// The digest that `show` prints for the last run of a store.
fn digest(home: &Home, store: &str) -> String {
    let shown = home.fsdyno(&["show", "last", "--store", store]);
    let line = shown.out.lines().find(|line| line.starts_with("digest"));
    line.unwrap_or_else(|| panic!("{}{}", shown.out, shown.err))
        .to_owned()
}

/// The first cells whose results differ.
fn differences(home: &Home, one: &str, other: &str) -> String {
    let cells = |store: &str| {
        let printed = home.fsdyno(&["report", "last", "--format", "json", "--store", store]);
        let json: serde_json::Value = serde_json::from_str(&printed.out).unwrap_or_default();
        json["cells"].as_array().cloned().unwrap_or_default()
    };
    let pairs = cells(one).into_iter().zip(cells(other));
    let different = pairs.filter(|(one, other)| one["samples"] != other["samples"]);
    let texts = different
        .take(2)
        .map(|(one, other)| format!("{one}\nand\n{other}\n"));
    texts.collect()
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn a_slurm_array_with_a_requeued_task_gives_the_digest_of_one_machine() {
    let test = "a_slurm_array_with_a_requeued_task_gives_the_digest_of_one_machine";
    if !root_and(&[&PROGRAMS[..], &["mkfs.ext4", "mkfs.xfs"]].concat(), test) {
        return;
    }
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let (home, slurm) = (Home::new(), Slurm::start());
    let (fs, load) = (
        "ext2,ext4,xfs",
        "--scale 0.003 --phases copy,delete --repeats 8",
    );
    let mut run = home.on_model_disks(&kernel, fs, load);
    let repeats = run.iter().position(|word| word == "--repeats").unwrap();
    run.drain(repeats..repeats + 2);
    run.extend(["--guest-memory".to_owned(), "256M".to_owned()]);
    let cluster = home.path("cluster").display().to_string();
    let front = ["cluster", "slurm", "--dir", &cluster, "--shards", "4", "--"];
    let submit: Vec<String> = front
        .iter()
        .map(|&word| word.to_owned())
        .chain(run.clone())
        .collect();
    let output = home
        .command(&submit)
        .env("SLURM_CONF", slurm.path("slurm.conf"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let partial = home.path("cluster/shard-2-of-4.part.db");
    until(
        Duration::from_secs(120),
        "the second task has begun",
        || partial.exists(),
    );
    slurm.run("scontrol", &["requeue".to_owned(), "1_2".to_owned()]);
    // The same run on one machine, in the meantime.
    let single = home.path("single.db").display().to_string();
    let mut alone = run;
    alone.extend([
        "--store".to_owned(),
        single.clone(),
        "--jobs".to_owned(),
        "1".to_owned(),
    ]);
    let printed = home.fsdyno(&alone);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    until(Duration::from_secs(300), "all jobs have ended", || {
        slurm
            .report_of("squeue", &["-h", "-o", "%i"])
            .trim()
            .is_empty()
    });
    let log = |name: &str| {
        fs::read_to_string(home.path(&format!("cluster/logs/shard-{name}.log"))).unwrap_or_default()
    };
    let merged = log("merge");
    assert!(
        merged.contains("4 of 4 shards are complete"),
        "{merged}{}",
        log("2")
    );
    assert!(merged.contains("24 of 24 cells"), "{merged}");
    // Slurm notes in the log that it cancelled the first attempt.
    assert!(log("2").contains("REQUEUE"), "{}", log("2"));
    let whole = home.path("cluster/merged.db").display().to_string();
    assert_eq!(
        digest(&home, &whole),
        digest(&home, &single),
        "{}",
        differences(&home, &whole, &single)
    );
    let status = home.fsdyno(&["cluster", "status", &cluster]);
    assert_eq!(status.out, "4 of 4 shards are complete\n");
}
