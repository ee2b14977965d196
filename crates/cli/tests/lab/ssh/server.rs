//! A remote machine for the tests: an sshd on the loopback interface with its own keys and a
//! minimal login shell. It neither reads nor changes a user's configuration.

use super::freebsd;
use crate::support::{self, Home, Printed, interruptible, printed};
use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The programs that the tests need on this machine.
pub const PROGRAMS: [&str; 4] = ["sshd", "ssh", "ssh-keygen", "dash"];

/// An sshd, stopped on drop.
pub struct Server {
    sshd: Child,
    pub home: Home,
}

/// The shell and the programs of the remote machine.
pub enum Kind {
    /// dash, with the programs of this machine.
    Dash,
    /// Only busybox and these programs.
    Busybox(&'static [&'static str]),
    /// Programs that answer as those of this release of FreeBSD.
    FreeBsd(&'static str),
}

impl Server {
    /// Starts a server with the host alias `there`; `None` if the login fails.
    pub fn start(kind: &Kind, test: &str) -> Option<Self> {
        let home = Home::new();
        let at = |name: &str| home.path(name).display().to_string();
        for key in ["host", "user"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &at(key)])
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(home.path("user.pub"), home.path("authorized")).unwrap();
        script(&home.path("login"), &login(kind, &home));
        // The port is free again immediately, for sshd.
        let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = address.unwrap().port();
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nPidFile none\n\
             AuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n\
             PasswordAuthentication no\nForceCommand {}\n",
            at("host"),
            at("authorized"),
            at("login")
        );
        fs::write(home.path("sshd.conf"), config).unwrap();
        let host = fs::read_to_string(home.path("host.pub")).unwrap();
        fs::write(home.path("known"), format!("[127.0.0.1]:{port} {host}")).unwrap();
        let config = format!(
            "Host there\n HostName 127.0.0.1\n Port {port}\nHost *\n IdentityFile {}\n \
             IdentitiesOnly yes\n UserKnownHostsFile {}\n",
            at("user"),
            at("known")
        );
        fs::write(home.path("config"), config).unwrap();
        fs::create_dir(home.path("bin")).unwrap();
        let wrapper = format!("exec /usr/bin/ssh -F {} \"$@\"", at("config"));
        script(&home.path("bin/ssh"), &wrapper);
        if rustix::process::geteuid().is_root() {
            // The privilege separation directory of sshd, which a package normally creates at
            // service start.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let log = fs::File::create(home.path("sshd.log")).unwrap();
        let sshd = Command::new("/usr/sbin/sshd")
            .args(["-D", "-e", "-f", &at("sshd.conf")])
            .stdin(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let server = Self { sshd, home };
        until("sshd listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let login = Command::new(server.home.path("bin/ssh"))
            .args(["-o", "BatchMode=yes", "there", "true"])
            .status();
        if login.is_ok_and(|status| status.success()) {
            return Some(server);
        }
        println!("SKIP a login by ssh of this user: {test}");
        None
    }

    /// An ssh command that connects to the server.
    pub fn command(&self, args: &[String]) -> Command {
        let mut path = OsString::from(self.home.path("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = self.home.command(args);
        command.env("PATH", path);
        command
    }

    /// Runs fsdyno on the server, with images and scratch files in its working directory.
    pub fn run(&self, args: &[&str]) -> Printed {
        printed(&self.command(&self.words(args)).output().unwrap())
    }

    /// Starts fsdyno and does not wait.
    pub fn begin(&self, args: &[&str]) -> Child {
        let log = fs::File::create(self.home.path("started.log")).unwrap();
        let mut command = interruptible(&self.command(&self.words(args)));
        command.stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    /// Sends a signal to a run while a phase of this contender runs. It ends with this code, and leaves
    /// nothing.
    pub fn end_in_a_phase(&self, fs: &str, signal: &str, code: Option<i32>) {
        let started = self.home.path("started");
        let command = format!("echo x > {}; sleep 600", started.display());
        let mut child = self.begin(&["--fs", fs, "--exec-everywhere", "--exec", &command]);
        until("the phase runs", || started.exists());
        assert_eq!(self.home.left_in_work().len(), 1);
        let killed = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        let ended = child.wait().unwrap().code();
        assert_eq!(ended, code, "{}", self.home.output());
        self.assert_nothing_left();
        fs::remove_file(&started).unwrap();
    }

    fn words(&self, args: &[&str]) -> Vec<String> {
        let work = self.home.work().display().to_string();
        let base = ["run", "--lab", "ssh:there", "--work-dir", &work];
        let all = base.iter().chain(&["--repeats", "1"]).chain(args);
        all.map(|word| (*word).to_owned()).collect()
    }

    /// A directory of the remote machine that can be a contender.
    pub fn work_dir(&self) -> PathBuf {
        let work_dir = self.home.path("ground");
        fs::create_dir_all(&work_dir).unwrap();
        work_dir
    }

    /// Asserts that the server soon has no process or file of a run.
    pub fn assert_nothing_left(&self) {
        let here = self.home.root.path().display().to_string();
        until("nothing is left there", || {
            let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
            let work_dir = fs::read_dir(self.work_dir()).unwrap().count();
            self.home.left_in_work().is_empty() && work_dir == 0 && !mounts.contains(&here)
        });
        let loops = crate::support::loops_backed_under(self.home.root.path());
        assert_eq!(loops, Vec::<String>::new());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

/// The login script. It records the process id of its sshd, so that a test can end the connection.
fn login(kind: &Kind, home: &Home) -> String {
    let victim = home.path("victim").display().to_string();
    let (path, shell) = match kind {
        Kind::Dash => (String::new(), "dash"),
        Kind::Busybox(more) => {
            let bin = home.path("busybox");
            fs::create_dir(&bin).unwrap();
            let busybox = Path::new("/bin/busybox");
            let list = Command::new(busybox).arg("--list").output().unwrap();
            for applet in String::from_utf8_lossy(&list.stdout).lines() {
                symlink(busybox, bin.join(applet)).unwrap();
            }
            for program in *more {
                let place = Path::new("/usr/sbin").join(program);
                symlink(place, bin.join(program)).unwrap();
            }
            let path = format!("PATH={}; export PATH; ", bin.display());
            (path, shell_of_busybox(busybox))
        }
        Kind::FreeBsd(release) => {
            let bin = freebsd::programs(home, release);
            (
                format!("PATH={}; export PATH; ", bin.display()),
                "/bin/dash",
            )
        }
    };
    format!("echo \"$PPID\" >{victim}; {path}exec {shell} -c \"$SSH_ORIGINAL_COMMAND\"")
}

/// A shell that finds the programs of a machine in its PATH. That of a busybox may execute its own applets,
/// which no test can remove or replace.
fn shell_of_busybox(busybox: &Path) -> &'static str {
    let mut own_applet = Command::new(busybox);
    own_applet.args(["sh", "-c", "PATH=/nonexistent; true | cat"]);
    if own_applet.stderr(Stdio::null()).status().unwrap().success() {
        "/bin/dash"
    } else {
        "/bin/busybox sh"
    }
}

pub fn script(path: &Path, text: &str) {
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Waits until the condition is true.
pub fn until(what: &str, so: impl Fn() -> bool) {
    support::until(Duration::from_secs(120), what, so);
}
