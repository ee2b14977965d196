//! The first process of a guest: mounts the kernel's file systems, creates its own directory, opens
//! the channel to the host, and powers off.
//!
//! The root of a guest is the file system of the host, read-only and with the rights of the user
//! who started it. Call this module in a guest only.

pub(crate) mod entry;
pub mod memory;

use crate::start::{self, MACHINE, QUEUES, SOLID};
use crate::{LINE_NAME, PLACE, libraries, own_programs};
use fsdyno_files::programs;
use fsdyno_host::probe::MODULES;
use fsdyno_model::LabChoice;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind};
use rustix::system::{RebootCommand, reboot};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The channel to the host in User-mode Linux.
const LINE: &str = "/dev/ttyS0";

/// The virtio ports of a guest of QEMU by name. One is the channel to the host.
const PORTS: &str = "/sys/class/virtio-ports";

/// Timeout until the ports exist.
const PORTS_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
#[error("the guest cannot {act}: {cause}")]
pub struct GuestInitError {
    act: String,
    #[source]
    cause: io::Error,
}

impl GuestInitError {
    pub fn at<E: Into<io::Error>>(act: impl Into<String>) -> impl FnOnce(E) -> Self {
        let act = act.into();
        |cause| Self {
            act,
            cause: cause.into(),
        }
    }
}

/// Whether this process is the first one of a guest. Only that one may set up the guest.
pub fn is_first() -> bool {
    rustix::process::getpid().is_init()
}

/// Mounts the file systems that programs expect, creates [`PLACE`], and configures the module
/// directory of the kernel. Returns the directory for temporary files.
pub fn set_up_guest() -> Result<PathBuf, GuestInitError> {
    entry::enter_root()?;
    // The link is in the host's `/proc`.
    let own = std::env::var_os(own_programs::GIVEN).map(PathBuf::from);
    let own = own.map(|path| fs::read_link(&path).unwrap_or(path));
    let libraries = std::env::var_os(libraries::GIVEN).map(fs::read).transpose();
    let libraries = libraries.map_err(GuestInitError::at("read the list of its libraries"))?;
    // SAFETY: this process has one thread.
    unsafe { std::env::remove_var(libraries::PRELOAD) };
    programs::take_given_path(own.as_ref().map(|_| own_programs::PLACE.into()));
    for (fstype, target) in [
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("devtmpfs", "/dev"),
        ("tmpfs", "/run"),
    ] {
        match mount(fstype, target, fstype, MountFlags::empty(), None) {
            // The kernel has mounted it already.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(error) => return Err(GuestInitError::at(format!("mount {target}"))(error)),
        }
    }
    // A devtmpfs does not have these links; shells and programs expect them.
    for (target, link) in [
        ("/proc/self/fd", "/dev/fd"),
        ("/proc/self/fd/1", "/dev/stdout"),
    ] {
        match symlink(target, link) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(GuestInitError::at(format!("make {link}"))(error));
            }
            _ => {}
        }
    }
    let place = PathBuf::from(PLACE);
    let temporary = place.join("tmp");
    fs::create_dir_all(&temporary)
        .map_err(GuestInitError::at(format!("make {}", temporary.display())))?;
    if let Some(libraries) = libraries {
        let cache = place.join("libraries");
        fs::write(&cache, libraries)
            .and_then(|()| Ok(mount_bind(&cache, libraries::CACHE)?))
            .map_err(GuestInitError::at("list its libraries"))?;
    }
    if let Some(own) = &own {
        let link = own_programs::PLACE;
        symlink(own, link).map_err(GuestInitError::at(format!("make {link}")))?;
    }
    if let Some(kind) = std::env::var_os(SOLID) {
        set_solid(kind == QUEUES)
            .map_err(GuestInitError::at("say that its disks do not rotate"))?;
    }
    if own.is_some() || lab() == LabChoice::Qemu {
        write_udev_database().map_err(GuestInitError::at("register its disks for udev"))?;
    }
    if let Some(modules) = std::env::var_os(MODULES) {
        configure_modprobe(&place, Path::new(&modules))
            .map_err(GuestInitError::at("find its modules"))?;
    }
    Ok(place)
}

/// Tells the kernel that no disk rotates. It takes every virtio disk for one that does, on which file
/// systems allocate in another way, and Btrfs lets an fsync wait for others until the next tick. It
/// gives no disk of several queues a scheduler.
fn set_solid(queues: bool) -> io::Result<()> {
    for disk in fs::read_dir("/sys/block")? {
        let disk = disk?;
        if disk.file_name().as_encoded_bytes().starts_with(b"vd") {
            let queue = disk.path().join("queue");
            fs::write(queue.join("rotational"), "0")?;
            if queues {
                fs::write(queue.join("scheduler"), "none")?;
            }
        }
    }
    Ok(())
}

/// Marks the disks and their possible partitions as initialised in udev's database, with a link
/// each. Programs that create partitions wait for that, and a guest has no udev.
fn write_udev_database() -> io::Result<()> {
    /// Minor numbers of a virtio disk: the disk and its partitions.
    const NUMBERS: u32 = 16;
    const LINKS: &str = "disk/by-guest";
    let (database, links) = (Path::new("/run/udev/data"), Path::new("/dev").join(LINKS));
    for folder in [database, &links] {
        fs::create_dir_all(folder)?;
    }
    for disk in fs::read_dir("/sys/block")? {
        let disk = disk?;
        let numbers = fs::read_to_string(disk.path().join("dev"))?;
        let name = disk.file_name().to_string_lossy().into_owned();
        let Some((major, minor)) = numbers.trim().split_once(':') else {
            continue;
        };
        let Ok(first) = minor.parse::<u32>() else {
            continue;
        };
        for number in 0..NUMBERS {
            let node = match number {
                0 => name.clone(),
                partition => format!("{name}{partition}"),
            };
            let reported = format!("S:{LINKS}/{node}\nI:1\n");
            fs::write(
                database.join(format!("b{major}:{}", first + number)),
                reported,
            )?;
            symlink(Path::new("/dev").join(&node), links.join(&node))?;
        }
    }
    Ok(())
}

/// Makes the kernel load modules from their directory on the host, which need not be
/// `/lib/modules`.
fn configure_modprobe(place: &Path, modules: &Path) -> io::Result<()> {
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

fn lab() -> LabChoice {
    match std::env::var_os(MACHINE) {
        Some(_) => LabChoice::Qemu,
        None => LabChoice::Uml,
    }
}

/// The device of a disk in this guest.
pub fn disk(number: usize) -> PathBuf {
    start::disk(&lab(), number)
}

/// Opens the channel to the host in raw mode, without echo.
pub fn channel() -> Result<File, GuestInitError> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = |path: &Path| {
        let line = open(path, flags, Mode::empty());
        line.map_err(GuestInitError::at(format!("open {}", path.display())))
    };
    if lab() == LabChoice::Qemu {
        return opened(&port()?).map(File::from);
    }
    let line = opened(Path::new(LINE))?;
    let failed = || GuestInitError::at(format!("make {LINE} raw"));
    let mut attributes = tcgetattr(&line).map_err(failed())?;
    attributes.make_raw();
    tcsetattr(&line, OptionalActions::Now, &attributes).map_err(failed())?;
    Ok(File::from(line))
}

/// The port of the channel to the host. The kernel finds its ports one after another.
fn port() -> Result<PathBuf, GuestInitError> {
    let deadline = Instant::now() + PORTS_TIMEOUT;
    loop {
        let ports = fs::read_dir(PORTS).into_iter().flatten().flatten();
        let named = |port: &fs::DirEntry| {
            let name = fs::read_to_string(port.path().join("name"));
            name.is_ok_and(|name| name.trim() == LINE_NAME)
        };
        if let Some(port) = ports.into_iter().find(named) {
            let device = Path::new("/dev").join(port.file_name());
            if device.exists() {
                return Ok(device);
            }
        }
        if Instant::now() >= deadline {
            let missing = io::Error::from(io::ErrorKind::NotFound);
            return Err(GuestInitError::at(format!("find {LINE_NAME} in {PORTS}"))(
                missing,
            ));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a shell on the console of the guest, until the user leaves it.
pub fn shell() -> Result<(), GuestInitError> {
    let terminal = match lab() {
        LabChoice::Qemu => "/dev/ttyS0",
        _ => "/dev/tty0",
    };
    let console = || {
        let file = fs::OpenOptions::new().read(true).write(true).open(terminal);
        file.map_err(GuestInitError::at(format!("open {terminal}")))
    };
    // In a separate session with that terminal, so that Ctrl-C reaches its programs.
    let act = "run a shell";
    programs::command("setsid")
        .map_err(GuestInitError::at(act))?
        .args(["--ctty", "--wait", "sh", "-i"])
        .env("PS1", "guest# ")
        .stdin(console()?)
        .stdout(console()?)
        .stderr(console()?)
        .status()
        .map(drop)
        .map_err(GuestInitError::at(act))
}

/// Powers the guest off. All file systems under test are unmounted before.
pub fn power_off() -> io::Error {
    rustix::fs::sync();
    match reboot(RebootCommand::PowerOff) {
        Ok(()) => io::Error::from(io::ErrorKind::Interrupted),
        Err(error) => error.into(),
    }
}
