//! A guest of User-mode Linux in virtual time. Its clock and its disks are sockets in a directory
//! of fsdyno. Nothing that varies between starts reaches it.
//!
//! Paths matter too. The kernel mixes its command line into its random numbers
//! (`random_init_early`), and file systems place data by these. The same guest in another directory
//! would place its files differently. So all arguments are relative to the directory in which it
//! starts.

use super::determinism::make_deterministic;
use super::inside::memory;
use super::libraries::{self, Libraries};
use super::machine::{GuestError, Machine};
use super::own_programs;
use super::running::Guest;
use super::start::{DiskKind, MAX_DISKS};
use super::uml::Uml;
use fsdyno_files::programs;
use fsdyno_host::journal::Journal;
use fsdyno_model::Bytes;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The socket of its calendar, in its directory.
pub const CALENDAR: &str = "calendar";

pub const TASK: &str = "task";

/// The file of its profile.
pub const PROFILE: &str = "profile";

/// The program of its first process: a link to the running fsdyno.
const PROGRAM: &str = "fsdyno";

/// The cache of its loader.
const LIBRARIES: &str = "libraries";

/// A link to the programs next to the kernel.
const LINK: &str = "programs";

/// The directory of the guest, as its first process finds it before its own `/proc` is mounted.
const HERE: &str = "/proc/self/cwd";

/// The descriptor number of the channel in the guest. It is fixed, because the number on the host
/// varies.
const LINE: i32 = 200;

/// A fixed search path, because that of the user varies.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The build options that the kernel must list.
const ABILITIES: [&str; 3] = [
    "CONFIG_UML_TIME_TRAVEL_SUPPORT=y",
    "CONFIG_VIRTIO_UML=y",
    "CONFIG_VIRTIO_BLK=y",
];

pub fn disk_socket(number: usize) -> String {
    format!("disk{number}")
}

/// Checks that guests of this machine can live in virtual time.
pub fn check(machine: &Machine) -> Result<(), GuestError> {
    virtual_time_kernel(machine).map(drop)
}

/// The kernel, if it supports virtual time.
fn virtual_time_kernel(machine: &Machine) -> Result<&Uml, GuestError> {
    let Machine::Uml(uml) = machine else {
        return Err(GuestError::NoTimeTravel {
            kernel: machine.about(),
            why: "only guests of User-mode Linux can".to_owned(),
        });
    };
    let lacking = uml.lacks(&ABILITIES)?;
    if lacking.is_empty() {
        return Ok(uml);
    }
    Err(GuestError::NoTimeTravel {
        kernel: uml.kernel.display().to_string(),
        why: format!("it was built without {}", lacking.join(", ")),
    })
}

/// The resources of a guest, and the random numbers that it draws.
#[derive(Debug, Clone, Copy)]
pub struct Setting<'a> {
    pub memory: Bytes,
    pub disks: usize,
    pub kind: DiskKind,
    /// Selects its random numbers: UUIDs, hash seeds of directories, the choice of block groups. None
    /// for those of a guest without this word.
    pub random: Option<u64>,
    /// Whether its kernel writes [`PROFILE`].
    pub profiled: bool,
    /// The programs that it runs, by name or path. It also finds others, whose start then depends on
    /// this machine.
    pub programs: &'a [String],
}

/// Starts a guest whose calendar, disks and task are in `scratch`, and opens the channel for its
/// messages. The guest is killed when the thread that started it ends.
pub fn start(
    machine: &Machine,
    setting: Setting<'_>,
    program: &Path,
    scratch: &Path,
    journal: &Journal,
) -> Result<(Guest, UnixStream), GuestError> {
    let uml = virtual_time_kernel(machine)?;
    let libraries = Libraries::of(program, &found(uml, setting.programs));
    if let Some(cache) = &libraries.cache {
        fs::write(scratch.join(LIBRARIES), cache)
            .map_err(GuestError::host("list the libraries of the guest"))?;
    }
    symlink(program, scratch.join(PROGRAM)).map_err(GuestError::host("link the first process"))?;
    if let Some(programs) = &uml.programs {
        let link = scratch.join(LINK);
        symlink(programs, link).map_err(GuestError::host("link the programs of the guest"))?;
    }
    let (ours, theirs) = UnixStream::pair().map_err(GuestError::host("make a line"))?;
    let mut command = uml.executes();
    // The program name is not part of the kernel's command line; clean-up recognises the process by
    // it.
    let mut name = OsString::from("uml_dir=");
    name.push(scratch);
    name.push("/");
    command
        .arg0(&name)
        .args(words(uml, setting, &libraries))
        .env_clear()
        .env("HOME", "/")
        .env("PATH", PATH)
        .env("TMPDIR", "/dev/shm")
        .current_dir(scratch);
    if setting.profiled {
        File::create_new(scratch.join(PROFILE)).map_err(GuestError::host("make a profile"))?;
        // Of the kernel itself, not of its processes: they execute the same with a profile and without.
        command.env("FSDYNO_PROFILE", PROFILE);
    }
    let theirs = OwnedFd::from(theirs);
    inherit(&mut command, &theirs);
    make_deterministic(&mut command);
    let guest = Guest::spawn(command, machine, scratch, journal)?;
    Ok((guest, ours))
}

/// The paths of programs that are installed, first those next to the kernel.
fn found(uml: &Uml, programs: &[String]) -> Vec<PathBuf> {
    let own = |name: &String| Some(uml.programs.as_ref()?.join(name)).filter(|path| path.is_file());
    let found = |name: &String| own(name).or_else(|| programs::find(name));
    programs.iter().filter_map(found).collect()
}

/// The arguments of the program. They are the same for the same guest in every directory.
fn words(uml: &Uml, setting: Setting<'_>, libraries: &Libraries) -> Vec<String> {
    let mut words = vec![
        format!("mem={}", setting.memory.0 + memory::OWN.0),
        format!("time-travel=ext:{CALENDAR}"),
    ];
    if let Some(random) = setting.random {
        // The kernel mixes its command line into its random numbers. It ignores the parameter of a
        // module that it does not have, and does not pass it to the first process. All values are
        // equally long, because the line takes memory.
        words.push(format!("fsdyno.random={random:016x}"));
    }
    for number in 0..setting.disks.min(MAX_DISKS) {
        words.push(format!("virtio_uml.device={}:2", disk_socket(number)));
    }
    let fixed = [
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        // A guest that panics ends at once, and prints why.
        "panic=-1",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        "umid=guest",
        "uml_dir=./",
    ];
    words.extend(fixed.map(str::to_owned));
    words.push(format!("ssl0=fd:{LINE}"));
    words.push(format!("{}={}", memory::GIVEN, setting.memory.0));
    words.push(format!("TMPDIR={}/tmp", super::PLACE));
    words.push(format!("PATH={PATH}"));
    // The same on every processor of a host.
    let variables = programs::SAME_FUNCTIONS.into_iter();
    words.extend(variables.map(|(name, value)| format!("{name}={value}")));
    words.extend(setting.kind.variable());
    if uml.programs.is_some() {
        words.extend(own_programs::words(
            &format!("{HERE}/{LINK}"),
            setting.memory,
        ));
    }
    if let Some(modules) = &uml.modules {
        words.push(format!(
            "{}={}",
            fsdyno_host::probe::MODULES,
            modules.display()
        ));
    }
    if libraries.cache.is_some() {
        words.push(format!("{}={HERE}/{LIBRARIES}", libraries::GIVEN));
        let first = libraries.first.iter().map(|path| path.to_string_lossy());
        let first = first.collect::<Vec<_>>().join(":");
        words.push(format!("{}={first}", libraries::PRELOAD));
    }
    words.push(format!("init={HERE}/{PROGRAM}"));
    let task = format!("{HERE}/{TASK}");
    words.extend(["--", "guest", "task", &task].map(str::to_owned));
    words
}

/// Leaves one descriptor open in the program, under the given number.
fn inherit(command: &mut Command, descriptor: &OwnedFd) {
    let number = descriptor.as_raw_fd();
    let in_child = move || {
        // SAFETY: the number is that of a descriptor which the caller holds until after the spawn,
        // and the child has a copy of.
        if unsafe { libc::dup2(number, LINE) } == LINE {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(in_child) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_guest_in_virtual_time_contain_no_path() {
        let kernel = |path: &str| Uml {
            kernel: path.into(),
            release: "6.12".into(),
            modules: None,
            verified: None,
            programs: None,
        };
        let setting = |random| Setting {
            memory: Bytes(64 << 20),
            disks: 2,
            kind: DiskKind::Rotating,
            random,
            profiled: false,
            programs: &[],
        };
        let words = |uml: &Uml, setting| super::words(uml, setting, &Libraries::default());
        let reported = words(&kernel("/a/linux"), setting(None));
        assert_eq!(reported, words(&kernel("/elsewhere/linux"), setting(None)));
        // Guests with other random numbers differ in one word, which is as long.
        let random = |random| words(&kernel("/a/linux"), setting(Some(random))).join(" ");
        assert_ne!(random(1), random(u64::MAX));
        assert_eq!(random(1).len(), random(u64::MAX).len());
        assert!(reported.contains(&"virtio_uml.device=disk1:2".to_owned()));
        let solid = Setting {
            kind: DiskKind::Queues,
            ..setting(None)
        };
        let more = words(&kernel("/a/linux"), solid);
        assert_eq!(more.len(), reported.len() + 1);
        let own = std::env::current_exe().unwrap();
        let own = own.display().to_string();
        assert!(reported.iter().all(|word| !word.contains(&own)));
    }
}
