//! User-mode Linux: the kernel is a program, its disks are files, its root is the file system of
//! the host, and nobody has to be root.

use super::MODULES;
use super::console::Console;
use crate::command::die_with_parent;
use crate::journal::{Entry, Journal, JournalError, Resource};
use crate::probe;
use fsdyno_model::{Bytes, Need};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::ffi::OsString;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

/// The program, and the Debian package that holds it.
const PROGRAM: &str = "linux.uml";
const PACKAGE: &str = "user-mode-linux";

/// Where the package puts the modules of its kernel.
const MODULES_FOLDER: &str = "/usr/lib/uml/modules";

/// The name of the guest among those of one folder: its process number lies in `NAME/pid`.
const NAME: &str = "guest";

/// The disks are `ubda` to `ubdp`.
pub const MOST_DISKS: usize = 16;

/// Where the memory of a guest lies best: it is a file, and this one is in memory itself.
const SHARED_MEMORY: &str = "/dev/shm";

/// Why a guest could not be started.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// There is no such program.
    #[error("no program `{PROGRAM}`; {}", need().remedy())]
    NoKernel,
    /// The program did not tell its version.
    #[error("`{} --version` {what}", kernel.display())]
    NoVersion {
        /// The program.
        kernel: PathBuf,
        /// What it did instead.
        what: String,
    },
    /// Something of the host's could not be had.
    #[error("cannot {act} for a guest: {cause}")]
    Host {
        /// What was attempted.
        act: String,
        /// Why it did not work.
        #[source]
        cause: io::Error,
    },
    /// A path that no kernel command line can carry.
    #[error("{} holds a blank or a comma, which a guest's command line cannot carry; choose another directory with --work-dir", path.display())]
    Path {
        /// The path.
        path: PathBuf,
    },
    /// It could not be written down first.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl GuestError {
    fn host(act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let act = act.into();
        |cause| Self::Host { act, cause }
    }
}

/// What this lab needs on the host.
pub fn need() -> Need {
    Need::Program {
        name: PROGRAM.to_owned(),
        package: PACKAGE.to_owned(),
    }
}

/// A kernel to be started.
#[derive(Debug, Clone)]
pub struct Uml {
    /// The program.
    pub kernel: PathBuf,
    /// Its release.
    pub release: String,
    /// The folder of its modules, where there is one.
    pub modules: Option<PathBuf>,
}

/// What a guest is started with.
#[derive(Debug, Clone)]
pub struct Setting<'a> {
    /// Its memory.
    pub memory: Bytes,
    /// Its disks: image files, in order.
    pub disks: &'a [PathBuf],
    /// A directory of ours, for what the kernel keeps while it runs.
    pub scratch: &'a Path,
    /// The first process: a program and its words.
    pub init: &'a [OsString],
}

impl Uml {
    /// The kernel on this machine.
    pub fn find() -> Result<Self, GuestError> {
        let kernel = probe::program(PROGRAM).ok_or(GuestError::NoKernel)?;
        let told = Command::new(&kernel)
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(GuestError::host(format!("run {}", kernel.display())))?;
        let release = String::from_utf8_lossy(&told.stdout).trim().to_owned();
        let is_release = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        if !told.status.success() || !is_release(&release) || release.contains(char::is_whitespace)
        {
            let what = format!("ended with {} and printed `{release}`", told.status);
            return Err(GuestError::NoVersion { kernel, what });
        }
        let modules = Path::new(MODULES_FOLDER).join(&release);
        Ok(Self {
            kernel,
            modules: modules.is_dir().then_some(modules),
            release,
        })
    }

    /// The name of a guest's disk, as the guest sees it.
    pub fn disk(number: usize) -> PathBuf {
        // There are at most as many as letters.
        let letter = char::from(b'a' + u8::try_from(number.min(MOST_DISKS - 1)).unwrap_or(0));
        PathBuf::from(format!("/dev/ubd{letter}"))
    }

    /// Runs a guest on this terminal until it ends.
    pub fn on_terminal(
        &self,
        setting: &Setting<'_>,
        journal: &Journal,
    ) -> Result<ExitStatus, GuestError> {
        let mut words = self.words(setting, "fd:0,fd:1")?;
        words.insert(0, "quiet".into());
        let mut command = self.command(setting, &words);
        die_with_parent(&mut command);
        let directory = setting.scratch.join(NAME);
        let entry = journal.declare(Resource::Guest { directory })?;
        // A guest makes the terminal raw, and one that dies leaves it so.
        let terminal = io::stdin();
        let before = tcgetattr(&terminal);
        let status = command
            .status()
            .map_err(GuestError::host(format!("start {}", self.kernel.display())));
        if let Ok(before) = before {
            let _ = tcsetattr(&terminal, OptionalActions::Now, &before);
        }
        entry.done()?;
        status
    }

    fn command(&self, setting: &Setting<'_>, words: &[OsString]) -> Command {
        let mut command = Command::new(&self.kernel);
        command
            .args(words)
            .env_clear()
            .env("HOME", setting.scratch)
            .env("PATH", path())
            .env("TMPDIR", memory_place(setting))
            .current_dir("/");
        command
    }

    /// The words after the program, but for the line to the guest. `console` is its input and
    /// output.
    fn words(&self, setting: &Setting<'_>, console: &str) -> Result<Vec<OsString>, GuestError> {
        let joined = |name: &str, path: &Path| {
            if path
                .as_os_str()
                .as_bytes()
                .iter()
                .any(|b| b" ,\t\n".contains(b))
            {
                return Err(GuestError::Path {
                    path: path.to_owned(),
                });
            }
            let mut word = OsString::from(name);
            word.push(path);
            Ok(word)
        };
        let mut words: Vec<OsString> = [
            format!("mem={}", setting.memory.0),
            "root=/dev/root".to_owned(),
            "rootfstype=hostfs".to_owned(),
            "rootflags=/".to_owned(),
            "ro".to_owned(),
            // A guest that panics ends at once, and says why.
            "panic=-1".to_owned(),
            "con=null".to_owned(),
            format!("con0={console}"),
            "ssl=null".to_owned(),
            format!("umid={NAME}"),
        ]
        .map(OsString::from)
        .into();
        let mut folder = joined("uml_dir=", setting.scratch)?;
        folder.push("/");
        words.push(folder);
        for (number, disk) in setting.disks.iter().enumerate() {
            words.push(joined(&format!("ubd{number}="), disk)?);
        }
        // What the kernel does not know becomes the environment of the first process.
        words.push(format!("TMPDIR={}/tmp", super::PLACE).into());
        words.push(joined("PATH=", &path())?);
        if let Some(modules) = &self.modules {
            words.push(joined(&format!("{MODULES}="), modules)?);
        }
        let mut init = setting.init.iter();
        if let Some(program) = init.next() {
            words.push(joined("init=", Path::new(program))?);
        }
        words.push("--".into());
        words.extend(init.cloned());
        Ok(words)
    }
}

/// The path of the guest: that of the host, as far as a command line carries it.
fn path() -> PathBuf {
    let carried = |directory: &PathBuf| {
        let bytes = directory.as_os_str().as_bytes();
        !bytes.iter().any(|b| b" ,\t\n:".contains(b))
    };
    let directories = probe::search_path().into_iter().filter(carried);
    // They hold no colon.
    std::env::join_paths(directories).unwrap_or_default().into()
}

/// A guest that runs; ended with its guard.
#[derive(Debug)]
pub struct Guest {
    child: Child,
    console: Console,
    argv: Vec<String>,
    entry: Option<Entry>,
}

impl Guest {
    /// Starts a guest and opens the line to it. It dies with the thread that started it.
    pub fn start(
        uml: &Uml,
        setting: &Setting<'_>,
        journal: &Journal,
    ) -> Result<(Self, UnixStream), GuestError> {
        let mut words = uml.words(setting, "null,fd:1")?;
        let line = |cause: rustix::io::Errno| GuestError::host("make a line")(cause.into());
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .map_err(line)?;
        let place = words.iter().position(|word| word == "--").unwrap_or(0);
        words.insert(place, format!("ssl0=fd:{}", theirs.as_raw_fd()).into());
        let mut command = uml.command(setting, &words);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        die_with_parent(&mut command);
        hand_down(&mut command, &theirs);
        let directory = setting.scratch.join(NAME);
        let entry = journal.declare(Resource::Guest { directory })?;
        let spawned = command.spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(cause) => {
                entry.done()?;
                return Err(GuestError::host(format!("start {}", uml.kernel.display()))(
                    cause,
                ));
            }
        };
        let argv = std::iter::once(uml.kernel.as_os_str())
            .chain(words.iter().map(OsString::as_os_str))
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let stdout = child.stdout.take();
        let console = match stdout {
            Some(stdout) => Console::of(stdout),
            None => Console::of(io::empty()),
        };
        let guest = Self {
            child,
            console,
            argv,
            entry: Some(entry),
        };
        Ok((guest, UnixStream::from(ours)))
    }

    /// The command line it was started with.
    pub fn argv(&self) -> &[String] {
        &self.argv
    }

    /// Waits so long for it to end by itself.
    pub fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + patience;
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it, by force where it still runs; its last words.
    pub fn end(mut self, lines: usize) -> Vec<String> {
        self.kill();
        self.console.last(lines)
    }

    fn kill(&mut self) {
        // The kernel, its helpers and the processes of the guest are all in its group.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
        if let Some(entry) = self.entry.take() {
            // What cannot be written down stays in the journal, where it does no harm.
            let _ = entry.done();
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.kill();
    }
}

/// How a guest ended, in words.
pub fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// Where the file behind a guest's memory goes: in memory, where there is room for all of it.
fn memory_place(setting: &Setting<'_>) -> PathBuf {
    let shared = PathBuf::from(SHARED_MEMORY);
    let room = crate::counters::space_free(&shared).unwrap_or_default();
    if room > setting.memory {
        shared
    } else {
        setting.scratch.to_owned()
    }
}

/// Leaves one descriptor open in the program.
fn hand_down(command: &mut Command, descriptor: &OwnedFd) {
    let number = descriptor.as_raw_fd();
    let in_child = move || {
        // SAFETY: the number is that of a descriptor which the caller holds until after the spawn,
        // and the child has a copy of.
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        Ok(fcntl_setfd(descriptor, FdFlags::empty())?)
    };
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(in_child) };
}

/// Ends what a dead process has left of a guest: `directory` is that of the kernel's own notes.
/// Whether there was anything.
///
/// The helpers of a kernel that was killed live on. All of them carry its command line, which names
/// a directory that no other process has.
pub(crate) fn end_left_behind(directory: &Path) -> io::Result<bool> {
    let Some(scratch) = directory.parent() else {
        return Ok(false);
    };
    let mut word = b"uml_dir=".to_vec();
    word.extend(scratch.as_os_str().as_bytes());
    word.push(b'/');
    let mut ended = false;
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let number = entry.file_name();
        let Some(process) = number.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that has gone meanwhile has no line.
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if let Some(process) = Pid::from_raw(process)
            && line.split(|b| *b == 0).any(|one| one == word)
        {
            match kill_process(process, Signal::KILL) {
                Ok(()) => ended = true,
                Err(Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uml() -> Uml {
        Uml {
            kernel: "/usr/bin/linux.uml".into(),
            release: "6.1.1".into(),
            modules: Some("/m/6.1.1".into()),
        }
    }

    fn words(disks: &[PathBuf], init: &[OsString]) -> Result<Vec<String>, GuestError> {
        let setting = Setting {
            memory: Bytes(64 << 20),
            disks,
            scratch: Path::new("/s"),
            init,
        };
        let words = uml().words(&setting, "null,fd:1")?;
        Ok(words
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect())
    }

    #[test]
    fn a_guest_is_told_its_disks_its_place_and_its_first_process() {
        let disks = ["/s/a.img", "/s/b.img"].map(PathBuf::from);
        let told = words(&disks, &["/bin/fsdyno".into(), "guest".into()]).unwrap();
        for word in [
            "ubd0=/s/a.img",
            "ubd1=/s/b.img",
            "uml_dir=/s/",
            "mem=67108864",
        ] {
            assert!(told.iter().any(|told| told == word), "{word}: {told:?}");
        }
        assert!(told.ends_with(&["init=/bin/fsdyno".into(), "--".into(), "guest".into()]));
        assert_eq!(Uml::disk(1), Path::new("/dev/ubdb"));
    }

    #[test]
    fn a_path_that_the_command_line_cannot_carry_is_refused_by_name() {
        for disk in ["/my disks/a.img", "/a,b.img"] {
            let error = words(&[disk.into()], &[]).unwrap_err().to_string();
            assert!(
                error.contains(disk) && error.contains("--work-dir"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_carries_the_line_of_a_guest_is_ended_and_nothing_else() {
        let ground = tempfile::tempdir().unwrap();
        let directory = ground.path().join("guest");
        // A shell that reads keeps its words.
        let started = |word: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", "read line; :", word]);
            shell.stdin(Stdio::piped()).spawn().unwrap()
        };
        let word = format!("uml_dir={}/", ground.path().display());
        let mut ours = started(&word);
        let mut other = started(&format!("{word}other"));
        let found = (0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            end_left_behind(&directory).unwrap()
        });
        assert!(found);
        assert_eq!(ours.wait().unwrap().signal(), Some(9));
        assert!(other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(!end_left_behind(&directory).unwrap());
    }
}
