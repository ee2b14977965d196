//! What the first process of a guest does: the file systems of the kernel, a place of its own, the
//! channel to the host, and the end.
//!
//! The root of a guest is the file system of the host, read-only and with the rights of the user
//! who started it. Nothing here is called on a host.

use super::{MODULES, PLACE};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, reboot};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The line to the host.
const LINE: &str = "/dev/ttyS0";

/// The terminal of the guest.
const CONSOLE: &str = "/dev/tty0";

/// Something the guest could not do to settle in.
#[derive(Debug, thiserror::Error)]
#[error("the guest cannot {act}: {cause}")]
pub struct Unsettled {
    act: String,
    #[source]
    cause: io::Error,
}

impl Unsettled {
    fn at<E: Into<io::Error>>(act: impl Into<String>) -> impl FnOnce(E) -> Self {
        let act = act.into();
        |cause| Self {
            act,
            cause: cause.into(),
        }
    }
}

/// Whether this process is the first of a guest: nobody else may settle in.
pub fn is_first() -> bool {
    rustix::process::getpid().is_init()
}

/// Mounts what every program expects, makes [`PLACE`], and teaches the kernel where its modules
/// lie. Returns the directory that may be worked in.
pub fn settle() -> Result<PathBuf, Unsettled> {
    for (fstype, target) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        // no contender
        ("tmpfs", "/run"),
    ] {
        match mount(fstype, target, fstype, MountFlags::empty(), None) {
            // The kernel has mounted it already.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(error) => return Err(Unsettled::at(format!("mount {target}"))(error)),
        }
    }
    // A devtmpfs has none of these; shells and programs expect them.
    for (target, link) in [
        ("/proc/self/fd", "/dev/fd"),
        ("/proc/self/fd/1", "/dev/stdout"),
    ] {
        match symlink(target, link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Unsettled::at(format!("make {link}"))(error));
            }
            _ => {}
        }
    }
    let place = PathBuf::from(PLACE);
    let temporary = place.join("tmp");
    fs::create_dir_all(&temporary)
        .map_err(Unsettled::at(format!("make {}", temporary.display())))?;
    if let Some(modules) = std::env::var_os(MODULES) {
        teach_modules(&place, Path::new(&modules)).map_err(Unsettled::at("find its modules"))?;
    }
    Ok(place)
}

/// Has the kernel load modules from where they lie on the host, which need not be `/lib/modules`.
fn teach_modules(place: &Path, modules: &Path) -> io::Result<()> {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy().into_owned();
    let folder = place.join("lib/modules");
    fs::create_dir_all(&folder)?;
    symlink(modules, folder.join(release))?;
    let program = place.join("modprobe");
    let script = format!("#!/bin/sh\nexec modprobe -d {} \"$@\"\n", place.display());
    fs::write(&program, script)?;
    fs::set_permissions(&program, Permissions::from_mode(0o700))?;
    fs::write(
        "/proc/sys/kernel/modprobe",
        program.as_os_str().as_encoded_bytes(),
    )
}

/// Opens the line to the host: bytes as they are, nothing echoed.
pub fn channel() -> Result<File, Unsettled> {
    let failed = || Unsettled::at(format!("open {LINE}"));
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let line = open(LINE, flags, Mode::empty()).map_err(failed())?;
    let mut attributes = tcgetattr(&line).map_err(failed())?;
    attributes.make_raw();
    tcsetattr(&line, OptionalActions::Now, &attributes).map_err(failed())?;
    Ok(File::from(line))
}

/// Runs a shell on the console of the guest, until the user leaves it.
pub fn shell() -> Result<(), Unsettled> {
    let console = || {
        let file = fs::OpenOptions::new().read(true).write(true).open(CONSOLE);
        file.map_err(Unsettled::at(format!("open {CONSOLE}")))
    };
    // In a session of its own with that terminal, so that Ctrl-C reaches what it runs.
    Command::new("setsid")
        .args(["--ctty", "--wait", "sh", "-i"])
        .env("PS1", "guest# ")
        .stdin(console()?)
        .stdout(console()?)
        .stderr(console()?)
        .status()
        .map(drop)
        .map_err(Unsettled::at("run a shell"))
}

/// Ends the guest. What is mounted has been unmounted by those who mounted it.
pub fn power_off() -> io::Error {
    rustix::fs::sync();
    match reboot(RebootCommand::PowerOff) {
        Ok(()) => io::Error::from(io::ErrorKind::Interrupted),
        Err(error) => error.into(),
    }
}
