//! Guests and disk servers are killed. The others end or continue in bounded time, report the death
//! by name, and leave nothing. `lab_kill_campaign.rs` kills fsdyno itself. Times are drawn from a
//! seed; `FSDYNO_KILL_ROUNDS` sets their number. Without the lab kernel, the tests are skipped by
//! name.

use crate::support::kills::{moments, rounds};
use crate::support::{Home, have, interruptible, lab_kernel, outcomes, until};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit of each wait, for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The guest kernels that fsdyno started for cells and power cuts of a home, with their working
/// directories.
fn kernels(home: &Home, fsdyno: &Child) -> Vec<(Pid, String)> {
    let place = format!("uml_dir={}", home.work().display());
    let mut kernels = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let name = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        // Helper processes have the same name but another parent. A guest that only probes runs no
        // cell.
        let about = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let after = about.rsplit(')').next().unwrap_or_default();
        let parent = after.split_whitespace().nth(1).unwrap_or_default();
        let number = entry.file_name().to_string_lossy().parse().ok();
        if name.starts_with(&place)
            && parent == fsdyno.id().to_string()
            && let Some(pid) = number.and_then(Pid::from_raw)
        {
            kernels.push((pid, name));
        }
    }
    kernels
}

/// The arguments of small cells on model disks.
fn cells(home: &Home, kernel: &Path, fs: &str, scale: &str) -> Vec<String> {
    let load = "--phases copy,grep,delete --guest-memory 256M --scale";
    home.on_model_disks(kernel, fs, &format!("{load} {scale}"))
}

#[test]
fn a_killed_guest_fails_its_cell_by_name_and_the_others_run() {
    let test = "a_killed_guest_fails_its_cell_by_name_and_the_others_run";
    let programs = ["mkfs.ext2", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let mut killed = 0;
    let mut moment = moments(7, 1500);
    let mut failed = 0;
    for _ in 0..rounds(2).div_ceil(2) {
        let home = Home::new();
        let mut running = home.start(&cells(&home, &kernel, "ext2,ext4,xfs,btrfs", "0.02"));
        // Every second guest is killed: the first one at its start, the others at drawn times.
        let mut seen = BTreeSet::new();
        let mut here = 0;
        let deadline = Instant::now() + TIMEOUT;
        while running.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it hangs: {}", home.output());
            for (pid, name) in kernels(&home, &running) {
                if name.contains("-look") || !seen.insert(name) {
                    continue;
                }
                if seen.len() % 2 == 1 {
                    let wait = if here == 0 {
                        Duration::ZERO
                    } else {
                        moment.next().unwrap()
                    };
                    thread::sleep(wait);
                    here += usize::from(kill_process(pid, Signal::KILL).is_ok());
                }
            }
            thread::sleep(Duration::from_millis(5));
        }
        let result = home.result("last");
        let outcomes = outcomes(&result);
        assert_eq!(outcomes.len(), 4, "{outcomes:?}");
        let of = |how: &str| {
            outcomes
                .iter()
                .filter(|(_, outcome)| outcome == how)
                .count()
        };
        assert_eq!(of("measured") + of("failed"), 4, "{outcomes:?}");
        // A guest that was killed after its last message lost nothing.
        assert!(
            (1..=here).contains(&of("failed")),
            "{here} killed: {outcomes:?}"
        );
        for cell in result["cells"].as_array().unwrap() {
            if cell["outcome"]["outcome"] == "failed" {
                let message = cell["outcome"].to_string();
                assert!(message.contains("was killed by signal 9"), "{message}");
            }
        }
        killed += here;
        failed += of("failed");
        assert_eq!(home.left_in_work(), Vec::<PathBuf>::new());
        home.assert_no_guest();
        home.assert_cleanable();
    }
    println!("{killed} guests killed, {failed} cells failed");
}

/// A guest of the user that writes to a served disk until a write fails.
struct Theirs {
    kernel: Child,
    console: PathBuf,
}

impl Theirs {
    fn start(home: &Home, kernel: &Path, name: &str, words: &[String]) -> Self {
        let script = home.path("writes");
        let writes = "#!/bin/sh\nmount -t devtmpfs dev /dev\n\
            while dd if=/dev/zero of=/dev/vda bs=64k count=64 oflag=direct 2>/dev/null\n\
            do echo wrote; done\necho its disk failed\n";
        fs::write(&script, writes).unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        let console = home.path(name);
        let log = fs::File::create(&console).unwrap();
        let place = home.root.path().display();
        let started = Command::new(kernel)
            .args(words)
            .args([
                "mem=128M",
                "root=/dev/root",
                "rootfstype=hostfs",
                "rootflags=/",
                "ro",
            ])
            .args(["panic=-1", "con=null", "con0=null,fd:1", "ssl=null"])
            .arg(format!("umid={name}"))
            .arg(format!("uml_dir={place}/"))
            .arg(format!("init={}", script.display()))
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn();
        let guest = Self {
            kernel: started.unwrap(),
            console,
        };
        until(TIMEOUT, "a guest writes", || guest.printed("wrote"));
        guest
    }

    fn printed(&self, word: &str) -> bool {
        let console = fs::read(&self.console).unwrap_or_default();
        String::from_utf8_lossy(&console).contains(word)
    }

    fn kill(&mut self) {
        self.kernel.kill().unwrap();
        self.kernel.wait().unwrap();
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // Helper processes of a killed kernel survive it.
        let group = i32::try_from(self.kernel.id()).ok().and_then(Pid::from_raw);
        if let Some(group) = group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.kernel.wait();
    }
}

/// A process that serves a disk, killed on drop.
struct Server(Child);

impl Server {
    fn start(home: &Home, words: &[String]) -> Self {
        let socket = home.path("disk0").display().to_string();
        let base = [
            "disk",
            "serve",
            "laptop-4200-2004",
            "--size",
            "256M",
            "--socket",
            &socket,
        ];
        let words: Vec<String> = base
            .map(str::to_owned)
            .into_iter()
            .chain(words.to_vec())
            .collect();
        let log = |name: &str| fs::File::create(home.path(name)).unwrap();
        let mut command = interruptible(&home.command(&words));
        let command = command.stdout(log("served")).stderr(log("started.log"));
        let server = Self(command.spawn().unwrap());
        // The socket of a killed server may still exist.
        until(TIMEOUT, "a disk is served", || {
            fs::metadata(home.path("served")).is_ok_and(|about| about.len() > 0)
        });
        server
    }

    /// Waits for the end of the server.
    fn ended(&mut self) -> Option<i32> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status.code();
            }
            assert!(
                Instant::now() < deadline,
                "it serves nobody, and does not end"
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The arguments that attach the served disk to a guest.
fn attached(home: &Home, in_virtual_time: bool) -> (Vec<String>, Vec<String>) {
    let (disk, calendar) = (home.path("disk0"), home.path("calendar"));
    let mut guest = vec![format!("virtio_uml.device={}:2", disk.display())];
    if !in_virtual_time {
        return (Vec::new(), guest);
    }
    guest.push(format!("time-travel=ext:{}", calendar.display()));
    let calendar = calendar.display().to_string();
    let server = ["--time", "virtual", "--calendar", &calendar].map(str::to_owned);
    (server.to_vec(), guest)
}

#[test]
fn a_guest_and_the_calendar_of_its_disk_do_not_outlive_each_other() {
    let test = "a_guest_and_the_calendar_of_its_disk_do_not_outlive_each_other";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let mut moment = moments(13, 1200);
    for round in 0..rounds(2) {
        let home = Home::new();
        let (of_server, of_guest) = attached(&home, true);
        let mut server = Server::start(&home, &of_server);
        let mut guest = Theirs::start(&home, &kernel, "guest", &of_guest);
        thread::sleep(moment.next().unwrap());
        if round % 2 == 0 {
            server.kill();
            let gone = || guest.printed("Kernel panic");
            until(TIMEOUT, "a guest without time ends with a message", gone);
        } else {
            guest.kill();
            let code = server.ended();
            // The connection ended between two messages, or within one.
            let message = home.output();
            assert!(
                code == Some(0) || message.contains("the guest's"),
                "{code:?}: {message}"
            );
        }
    }
}

#[test]
fn a_served_disk_outlives_its_guests_and_its_socket_can_be_reused() {
    let test = "a_served_disk_outlives_its_guests_and_its_socket_can_be_reused";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let mut moment = moments(17, 700);
    let home = Home::new();
    let (of_server, of_guest) = attached(&home, false);
    for round in 0..rounds(2) {
        let mut server = Server::start(&home, &of_server);
        let mut first = Theirs::start(&home, &kernel, &format!("first-{round}"), &of_guest);
        thread::sleep(moment.next().unwrap());
        first.kill();
        drop(first);
        until(
            TIMEOUT,
            "the server reports that the guest disconnected",
            || home.output().contains("guest disconnected"),
        );
        let next = Theirs::start(&home, &kernel, &format!("next-{round}"), &of_guest);
        // The socket of a killed server can be taken over.
        server.kill();
        drop(next);
    }
    let server = Server::start(&home, &of_server);
    let pid = i32::try_from(server.0.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap(), Signal::INT).unwrap();
    until(
        TIMEOUT,
        "a server that ends on a signal removes its name",
        || !home.path("disk0").exists(),
    );
}

#[test]
fn processes_of_a_phase_die_with_fsdyno() {
    let home = Home::new();
    let work_dir = home.work().display().to_string();
    let words = "phase op-random-read --set size=1M --set operations=1000000 --set rate=10 \
                 --set workers=2 --set worker-type=process --in";
    let words: Vec<&str> = words.split_whitespace().chain([&*work_dir]).collect();
    let mut fsdyno = home.start(&words);
    until(TIMEOUT, "both workers are there", || {
        home.processes_of("worker-type=process") == 3
    });
    fsdyno.kill().unwrap();
    fsdyno.wait().unwrap();
    until(TIMEOUT, "nobody is left", || {
        home.processes_of("worker-type=process") == 0
    });
}
