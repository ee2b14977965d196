//! The program under a real MPI launcher: that of the library which it was built with.
//!
//! `MPICC` names the compiler wrapper of the build (`mpicc.openmpi`, `mpicc.mpich`); the launcher has
//! the same ending. Requirements that are missing are printed as `SKIP requirement: test`.

use fsdyno_model::{Outcome, ResultSet, Stage, StopReason};
use fsdyno_store::Store;
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any of these runs takes.
const LIMIT: Duration = Duration::from_secs(120);

/// The launcher with this number of ranks, and the program.
fn launcher(ranks: &str) -> Command {
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let mut command = Command::new(compiler.replace("mpicc", "mpirun"));
    if !version(&command).contains("HYDRA") {
        // Open MPI.
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-np", ranks, env!("CARGO_BIN_EXE_fsdyno-mpi")]);
    command
}

fn version(launcher: &Command) -> String {
    let output = Command::new(launcher.get_program())
        .arg("--version")
        .output();
    let output = output.expect("the launcher of this MPI library");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A measurement in progress.
struct Running {
    child: Child,
    began: Instant,
}

impl Running {
    fn start(directory: &Path, store: &Path, arguments: &[&str]) -> Self {
        Self::start_ranks("4", directory, store, arguments)
    }

    fn start_ranks(ranks: &str, directory: &Path, store: &Path, arguments: &[&str]) -> Self {
        let child = launcher(ranks)
            .arg(directory)
            .args(arguments)
            .arg("--store")
            .arg(store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            child,
            began: Instant::now(),
        }
    }

    /// Waits for the end; a launcher that does not end is killed.
    fn end(mut self) -> Output {
        while self.child.try_wait().unwrap().is_none() {
            if self.began.elapsed() > LIMIT {
                self.child.kill().unwrap();
                panic!("it did not end: {:?}", self.output());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.output()
    }

    /// What it printed, which is less than pipes hold.
    fn output(&mut self) -> Output {
        let mut output = Output {
            status: self.child.wait().unwrap(),
            stdout: Vec::new(),
            stderr: Vec::new(),
        };
        let (out, err) = (self.child.stdout.take(), self.child.stderr.take());
        out.unwrap().read_to_end(&mut output.stdout).unwrap();
        err.unwrap().read_to_end(&mut output.stderr).unwrap();
        output
    }

    /// The processes of the ranks that work in this directory, once a phase has begun.
    fn ranks(&mut self, directory: &Path) -> Vec<Pid> {
        loop {
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "the launcher ended"
            );
            assert!(self.began.elapsed() < LIMIT, "no phase began");
            std::thread::sleep(Duration::from_millis(50));
            let began = fs::read_dir(directory)
                .unwrap()
                .flatten()
                .any(|cell| cell.path().join("op/w000/d0000000/f0000000000").exists());
            if began {
                return ranks_in(directory);
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves no ranks.
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Processes of this program whose command line has this directory.
fn ranks_in(directory: &Path) -> Vec<Pid> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut words = command.split(|byte| *byte == 0);
        let program = words.next().unwrap_or_default();
        let directory = directory.as_os_str().as_encoded_bytes();
        if program == env!("CARGO_BIN_EXE_fsdyno-mpi").as_bytes()
            && words.any(|word| word == directory)
        {
            let number = entry.file_name().into_string().unwrap().parse().unwrap();
            found.extend(Pid::from_raw(number));
        }
    }
    found.sort_by_key(|pid| pid.as_raw_nonzero());
    found
}

/// The only run of a store, once it has ended. A launcher may end before the process that records.
fn recorded(path: &Path) -> ResultSet {
    let began = Instant::now();
    loop {
        if let Ok(store) = Store::open_existing_read_only(path)
            && let [run] = &store.runs().unwrap()[..]
        {
            let set = store.load(&run.id).unwrap();
            if set.run.stop.is_some() {
                return set;
            }
        }
        assert!(
            began.elapsed() < LIMIT,
            "the run did not end in {}",
            path.display()
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn scratch() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store.db");
    (directory, store)
}

fn is_missing(test: &str) -> bool {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP root: {test}");
        return true;
    }
    let programs = ["mkfs.ext4", "glusterfsd", "glusterfs"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    let path: Vec<PathBuf> = path.collect();
    for program in programs {
        if !path
            .iter()
            .any(|directory| directory.join(program).exists())
        {
            println!("SKIP {program}: {test}");
            return true;
        }
    }
    for device in ["/dev/loop-control", "/dev/fuse"] {
        if !Path::new(device).exists() {
            println!("SKIP {device}: {test}");
            return true;
        }
    }
    false
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
}

/// A mounted file system; unmounted at the end, and its servers stopped.
struct Mounted {
    home: TempDir,
    servers: Vec<PathBuf>,
}

impl Mounted {
    fn path(&self) -> PathBuf {
        self.home.path().join("mnt")
    }

    /// ext4 on a loop device.
    fn ext4(size: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let image = home.path().join("image").display().to_string();
        let mounted = Self {
            home,
            servers: Vec::new(),
        };
        fs::create_dir(mounted.path()).unwrap();
        run("truncate", &["-s", size, &image]);
        run("mkfs.ext4", &["-q", "-F", &image]);
        run(
            "mount",
            &["-o", "loop", &image, &mounted.path().display().to_string()],
        );
        mounted
    }

    /// A volume of `GlusterFS` that distributes files over two bricks, over FUSE on the loopback
    /// interface. The two servers listen on ports that were free.
    fn gluster() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut mounted = Self {
            home,
            servers: Vec::new(),
        };
        let home = mounted.home.path().to_owned();
        fs::create_dir(mounted.path()).unwrap();
        let mut client = String::new();
        for brick in ["b1", "b2"] {
            let data = home.join(brick);
            fs::create_dir(&data).unwrap();
            let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let server = format!(
                "volume posix\n type storage/posix\n option directory {}\nend-volume\n\
                 volume locks\n type features/locks\n subvolumes posix\nend-volume\n\
                 volume {brick}\n type performance/io-threads\n subvolumes locks\nend-volume\n\
                 volume server\n type protocol/server\n option transport-type socket\n \
                 option transport.socket.bind-address 127.0.0.1\n \
                 option transport.socket.listen-port {port}\n \
                 option auth.addr.{brick}.allow 127.0.0.1\n subvolumes {brick}\nend-volume\n",
                data.display()
            );
            let _ = write!(
                client,
                "volume c-{brick}\n type protocol/client\n option transport-type socket\n \
                 option remote-host 127.0.0.1\n option remote-port {port}\n \
                 option remote-subvolume {brick}\nend-volume\n"
            );
            let file = home.join(format!("{brick}.vol"));
            fs::write(&file, server).unwrap();
            let pid = home.join(format!("{brick}.pid"));
            let log = home.join(format!("{brick}.log"));
            let [file, pid_text, log] = [&file, &pid, &log].map(|path| path.display().to_string());
            run("glusterfsd", &["-f", &file, "-p", &pid_text, "-l", &log]);
            mounted.servers.push(pid);
        }
        client += "volume all\n type cluster/distribute\n subvolumes c-b1 c-b2\nend-volume\n";
        let file = home.join("client.vol");
        fs::write(&file, client).unwrap();
        let log = home.join("client.log");
        let [file, log] = [&file, &log].map(|path| path.display().to_string());
        let target = mounted.path().display().to_string();
        run("glusterfs", &["-f", &file, "-l", &log, &target]);
        let began = Instant::now();
        // It connects to its bricks in the background.
        while fs::create_dir(mounted.path().join("ready")).is_err() || !is_fuse(&mounted.path()) {
            assert!(
                began.elapsed() < LIMIT,
                "{}",
                fs::read_to_string(&log).unwrap()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        fs::remove_dir(mounted.path().join("ready")).unwrap();
        mounted
    }
}

fn is_fuse(path: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let path = path.display().to_string();
    mounts
        .lines()
        .any(|line| line.contains(&path) && line.contains("fuse.glusterfs"))
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let path = self.path();
        let began = Instant::now();
        loop {
            let unmounted = Command::new("umount").arg(&path).output();
            if unmounted.is_ok_and(|output| output.status.success())
                || began.elapsed() > Duration::from_secs(20)
            {
                break;
            }
            // A rank that is being killed still has files open.
            std::thread::sleep(Duration::from_millis(100));
        }
        for server in &self.servers {
            let pid = fs::read_to_string(server)
                .ok()
                .and_then(|text| text.trim().parse().ok());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                let _ = kill_process(pid, Signal::TERM);
                while Path::new("/proc")
                    .join(pid.to_string())
                    .join("exe")
                    .exists()
                    && began.elapsed() < Duration::from_secs(30)
                {
                    std::thread::sleep(Duration::from_millis(20));
                }
            }
        }
    }
}

/// The arguments of one repeat of phases with these settings.
fn once<'a>(phases: &'a str, more: &[&'a str], settings: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["--phases", phases, "-n", "1"];
    arguments.extend(more);
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    arguments
}

/// Creates, stats, reads what other ranks wrote, and unlinks, on private and shared directories and
/// files. The program compares all that it leaves.
fn measure_all(mounted: &Mounted, fstype: &str, files: u64) {
    let (_scratch, store) = scratch();
    // Only one phase drops the caches of the machine, which takes long.
    let phases = "op-create as-is,op-stat as-is,op-open,op-unlink as-is,op-write as-is,\
                  op-read as-is";
    let mut stores = Vec::new();
    for (number, place) in ["private", "shared"].iter().enumerate() {
        let store = store.with_extension(format!("{number}.db"));
        let place = format!("op.place={place}");
        let count = format!("op.files={files}");
        let settings = [
            count.as_str(),
            "op.bytes=3000",
            "op.size=1M",
            "op.block=16K",
            "op.blocks=strided",
            &place,
        ];
        let arguments = once(phases, &["--clients", "1,4"], &settings);
        let output = Running::start(&mounted.path(), &store, &arguments);
        let output = output.end();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}{errors}");
        assert!(text.contains("recorded: fsdyno report"), "{text}");
        stores.push(store);
    }
    for store in stores {
        let set = recorded(&store);
        assert_eq!(set.run.stop, Some(StopReason::Complete));
        assert_eq!(set.cells.len(), 2, "one for each number of clients");
        let ranks = set
            .run
            .provenance
            .programs
            .iter()
            .find(|(name, _)| name == "ranks");
        assert!(ranks.unwrap().1.starts_with("4 on 1 hosts"), "{ranks:?}");
        for cell in &set.cells {
            assert_eq!(cell.outcome, Outcome::Measured);
            let bytes: Vec<u64> = cell.samples.iter().map(|one| one.tally.bytes.0).collect();
            assert_eq!(bytes, [3000 * files, 0, 3000 * files, 0, 1 << 20, 1 << 20]);
            for sample in &cell.samples {
                let count = if sample.kind == "op-write" || sample.kind == "op-read" {
                    64
                } else {
                    files
                };
                assert_eq!(sample.latencies[0].count, count, "{}", sample.kind);
                let figure = |name: &str| {
                    sample
                        .figures
                        .iter()
                        .find(|one| one.name == name)
                        .unwrap()
                        .value
                };
                assert!(figure("first rank's end") <= figure("last rank's end"));
                assert!(figure("rate") > 0.0);
            }
            let host = cell
                .effective
                .iter()
                .find(|one| one.source.starts_with("host "));
            let host = &host.unwrap().text;
            assert!(
                host.contains("4 ranks: 0 1 2 3") && host.contains(fstype),
                "{host}"
            );
            let ranks = cell
                .effective
                .iter()
                .find(|one| one.source == "ranks")
                .unwrap();
            assert!(ranks.text.contains("clock"), "{}", ranks.text);
        }
    }
    let left: Vec<_> = fs::read_dir(mounted.path()).unwrap().flatten().collect();
    assert!(
        left.iter().all(|entry| entry.file_name() == "lost+found"),
        "{left:?}"
    );
}

#[test]
fn four_ranks_measure_ext4() {
    if !is_missing("four_ranks_measure_ext4") {
        measure_all(&Mounted::ext4("256M"), "ext4", 200);
    }
}

#[test]
fn four_ranks_measure_a_glusterfs_volume_of_two_bricks() {
    if !is_missing("four_ranks_measure_a_glusterfs_volume_of_two_bricks") {
        // Ranks wait in loops, beside three daemons that need processors: each file takes long.
        measure_all(&Mounted::gluster(), "fuse.glusterfs", 40);
    }
}

#[test]
fn two_ranks_run_phases_of_mongo_and_bonnie() {
    let (directory, store) = scratch();
    let phases = "mongo-create as-is,mongo-read as-is,bonnie-create as-is,bonnie-stat as-is,\
                  bonnie-delete as-is";
    let settings = ["mongo.bytes=100K", "bonnie.files=30"];
    let arguments = once(phases, &["--clients", "1,2"], &settings);
    let output = Running::start_ranks("2", directory.path(), &store, &arguments);
    let output = output.end();
    assert!(output.status.success(), "{output:?}");
    let set = recorded(&store);
    let files = |clients: u32| -> Vec<u64> {
        let mut cells = set.cells.iter();
        let cell = cells.find(|one| one.cell.workload == clients - 1).unwrap();
        assert_eq!(cell.outcome, Outcome::Measured);
        cell.samples.iter().map(|one| one.tally.files).collect()
    };
    let one = files(1);
    assert!(one[0] > 0 && one[1] > 0, "{one:?}");
    assert_eq!(one[2..], [30; 3]);
    let twice: Vec<u64> = one.iter().map(|files| 2 * files).collect();
    assert_eq!(files(2), twice, "each rank has its own files");
    assert!(
        !fs::read_dir(directory.path())
            .unwrap()
            .flatten()
            .any(|one| {
                let name = one.file_name();
                name.as_encoded_bytes().starts_with(b"fsdyno-mpi-")
            })
    );
}

/// Starts a run with a phase that is long, and another before it.
fn start_long(directory: &Path, store: &Path, more: &[&str]) -> Running {
    let settings = [
        "op.size=64K",
        "op.files=40000000",
        "op.files-per-dir=40000000",
    ];
    let more = [&["--yes"], more].concat();
    let arguments = once("op-write as-is,op-create as-is", &more, &settings);
    Running::start(directory, store, &arguments)
}

/// The failure of the only cell, and that the earlier phase was kept.
fn failure_of(store: &Path) -> (Stage, String) {
    let set = recorded(store);
    assert_eq!(set.run.stop, Some(StopReason::Interrupted));
    let [cell] = &set.cells[..] else {
        panic!("{:?}", set.cells);
    };
    let kept: Vec<&str> = cell.samples.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kept, ["op-write"]);
    match &cell.outcome {
        Outcome::Failed(failure) => (failure.stage.clone(), failure.message.clone()),
        other => panic!("{other:?}"),
    }
}

fn assert_all_ended(directory: &Path) {
    let began = Instant::now();
    while !ranks_in(directory).is_empty() {
        assert!(began.elapsed() < LIMIT, "ranks are left");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_killed_rank_ends_the_others_and_is_named() {
    let create = Stage::Phase("op-create".to_owned());
    for victim in [2, 0] {
        let (directory, store) = scratch();
        let mut running = start_long(directory.path(), &store, &[]);
        let ranks = running.ranks(directory.path());
        assert_eq!(ranks.len(), 4);
        kill_process(ranks[victim], Signal::KILL).unwrap();
        let output = running.end();
        assert!(!output.status.success());
        let (stage, message) = failure_of(&store);
        assert_eq!(stage, create);
        let named = format!("PID {}", ranks[victim].as_raw_nonzero());
        assert!(message.contains(&named), "{message} without {named}");
        assert_all_ended(directory.path());
    }
}

#[test]
fn a_rank_that_hangs_is_named_and_the_others_end() {
    let (directory, store) = scratch();
    let mut running = start_long(directory.path(), &store, &["--heartbeat-timeout", "3"]);
    let ranks = running.ranks(directory.path());
    kill_process(ranks[1], Signal::STOP).unwrap();
    let output = running.end();
    // A launcher may leave a stopped process to us.
    let _ = kill_process(ranks[1], Signal::KILL);
    assert!(!output.status.success());
    let (_, message) = failure_of(&store);
    assert!(message.contains("no sign of life"), "{message}");
    let named = format!("PID {}", ranks[1].as_raw_nonzero());
    assert!(message.contains(&named), "{message} without {named}");
    assert_all_ended(directory.path());
}

#[test]
fn an_interrupted_job_keeps_what_it_measured() {
    let (directory, store) = scratch();
    let mut running = start_long(directory.path(), &store, &[]);
    let ranks = running.ranks(directory.path());
    assert_eq!(ranks.len(), 4);
    let launcher = i32::try_from(running.child.id()).unwrap();
    kill_process(Pid::from_raw(launcher).unwrap(), Signal::INT).unwrap();
    // Its status is that of the launcher. After Ctrl-C that of MPICH 4.0 rarely returns 0, though each
    // rank returns 130.
    running.end();
    failure_of(&store);
    assert_all_ended(directory.path());
}

#[test]
fn a_full_file_system_fails_the_phase_by_name() {
    if is_missing("a_full_file_system_fails_the_phase_by_name") {
        return;
    }
    let mounted = Mounted::ext4("32M");
    let (_scratch, store) = scratch();
    let settings = ["op.files=8", "op.size=100M"];
    let phases = "op-create as-is,op-write as-is";
    // Without consent nothing is written.
    let unasked = once(phases, &[], &settings);
    let output = Running::start(&mounted.path(), &store, &unasked).end();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let printed = String::from_utf8_lossy(&output.stderr);
    for part in ["is on ext4", "nothing was written: it would leave", "--yes"] {
        assert!(printed.contains(part), "{printed}");
    }
    assert!(!store.exists());
    let arguments = once(phases, &["--yes"], &settings);
    let output = Running::start(&mounted.path(), &store, &arguments);
    assert_eq!(output.end().status.code(), Some(1));
    let set = recorded(&store);
    let cell = &set.cells[0];
    assert_eq!(cell.samples.len(), 1, "the phase before it is kept");
    let Outcome::Failed(failure) = &cell.outcome else {
        panic!("{cell:?}");
    };
    assert_eq!(failure.stage, Stage::Phase("op-write".to_owned()));
    assert_eq!(failure.errno.as_deref(), Some("ENOSPC"));
    assert!(failure.message.contains("rank "), "{}", failure.message);
}
