//! The programs that fsdyno runs. Every one is found and started through this module.
//!
//! For root, a directory of `PATH` is ignored if another user could put a program into it: the
//! environment of a root process may come from another user. The directories of the system are
//! trusted.

use crate::places;
use crate::trusted::{TrustedDir, Untrusted};
use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Directories whose programs are the system's.
const OF_SYSTEM: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"];

/// The directories in which programs are searched.
#[derive(Debug)]
struct SearchPath {
    directories: Vec<PathBuf>,
    /// Their list, as a value of `PATH`.
    variable: OsString,
    /// Whether the programs in directories that are not the system's are checked.
    checked: bool,
}

static SEARCH_PATH: OnceLock<SearchPath> = OnceLock::new();

/// Prints what is ignored.
static NOTE: OnceLock<fn(&str)> = OnceLock::new();

/// Whether `PATH` is that of a process which checked it.
static GIVEN: AtomicBool = AtomicBool::new(false);

/// Variables by which libraries execute the same functions on every processor. Otherwise the C library, for
/// one, has others for each kind, in other pages of its file, which the kernel then reads and maps.
///
/// In glibc, no extension of x86-64 is used, no function is preferred, and the sizes of caches are fixed.
/// `OpenSSL` and Go programs have variables of their own.
pub const SAME_FUNCTIONS: [(&str, &str); 3] = [
    (
        "GLIBC_TUNABLES",
        "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512BW,-AVX512CD,-AVX512DQ,-AVX512ER,-AVX512F,-AVX512PF,\
         -AVX512VL,-BMI1,-BMI2,-ERMS,-FMA,-FMA4,-FSRM,-LZCNT,-MOVBE,-POPCNT,-RTM,-SSE3,-SSSE3,-SSE4_1,\
         -SSE4_2,-XSAVE,-XSAVEC,-AVX_Fast_Unaligned_Load,-Fast_Copy_Backward,-Fast_Rep_String,\
         -Fast_Unaligned_Copy,-Fast_Unaligned_Load,-I586,-I686,-MathVec_Prefer_No_AVX512,\
         -Prefer_ERMS,-Prefer_FSRM,-Prefer_No_VZEROUPPER,-Prefer_PMINUB_for_stringop,-Slow_BSF,\
         -Slow_SSE4_2:glibc.cpu.x86_data_cache_size=32768:glibc.cpu.x86_shared_cache_size=1048576:\
         glibc.cpu.x86_non_temporal_threshold=786432:glibc.cpu.x86_rep_movsb_threshold=2048:\
         glibc.cpu.x86_rep_stosb_threshold=2048",
    ),
    ("OPENSSL_ia32cap", "0:0"),
    ("GODEBUG", "cpu.all=off"),
];

/// The directory that is searched before those of the system.
static FIRST: OnceLock<PathBuf> = OnceLock::new();

/// Sets the function that prints which directories and programs are ignored.
pub fn note_with(note: fn(&str)) {
    let _ = NOTE.set(note);
}

/// Takes `PATH` without checks from now on, and searches `first` before it. The first process of a guest
/// has the path of the process that started the guest. It is root there, with no more rights than the
/// user who started it.
pub fn take_given_path(first: Option<PathBuf>) {
    GIVEN.store(true, Ordering::Relaxed);
    if let Some(first) = first {
        let _ = FIRST.set(first);
    }
}

/// Whether this is the first process of a guest, by [`take_given_path`].
pub fn is_in_guest() -> bool {
    GIVEN.load(Ordering::Relaxed)
}

/// Has the kernel kill the program when the thread that starts it ends, which waits for the program. It
/// clears that request when a process changes its user namespace: this is the last one of the child.
///
/// All programs of a guest end with its first process. Without a request, a program starts in the memory of
/// its parent, whose pages the kernel would have to copy.
pub fn die_with_parent(command: &mut Command) {
    if is_in_guest() {
        return;
    }
    let parent = getpid();
    let in_child = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the line above took effect.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(Errno::SRCH.into())
        }
    };
    // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(in_child) };
}

/// The directories in which programs are searched, also by the programs that fsdyno starts.
pub fn search_path() -> &'static [PathBuf] {
    &found().directories
}

/// The same as a value of the variable `PATH`.
pub fn path_variable() -> &'static OsStr {
    &found().variable
}

/// The `PATH` of programs of the user: for root that of all others, otherwise the user's own, which is
/// not in question.
pub fn path_of_user() -> OsString {
    let own = std::env::var_os("PATH").filter(|_| !rustix::process::geteuid().is_root());
    own.unwrap_or_else(|| path_variable().to_owned())
}

/// Finds a program in the directories of [`search_path`]. A name with a slash is a path.
pub fn find(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = name.as_ref();
    let runs = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|path| runs(path));
    }
    let paths = found().directories.iter().map(|dir| (dir, dir.join(name)));
    let mut programs = paths.filter(|(_, path)| runs(path));
    programs
        .find(|(directory, path)| {
            !found().checked || is_of_system(directory) || passes(check(path), path)
        })
        .map(|(_, path)| path)
}

/// A command that runs a program, with [`path_variable`] as its `PATH`. The program sees the name
/// that was given.
pub fn command(name: impl AsRef<OsStr>) -> io::Result<Command> {
    let name = name.as_ref();
    if name.as_encoded_bytes().contains(&b'/') {
        return Ok(at(name));
    }
    let mut command = at(find(name).ok_or_else(|| missing(name))?);
    command.arg0(name);
    Ok(command)
}

/// A command that runs the program at a path, with [`path_variable`] as its `PATH`.
pub fn at(path: impl AsRef<Path>) -> Command {
    let path = path.as_ref();
    // A name without a slash would be searched.
    let mut command = if path.as_os_str().as_encoded_bytes().contains(&b'/') {
        Command::new(path)
    } else {
        Command::new(Path::new(".").join(path))
    };
    command.env("PATH", path_variable());
    command
}

/// Leaves a program nothing of this process's environment but [`SAME_FUNCTIONS`], if set here: options,
/// languages and colours of the user must not influence the measurement.
pub fn clear_environment(command: &mut Command) {
    command
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", path_variable());
    let is_set =
        |(name, value): &(&str, &str)| std::env::var_os(name).is_some_and(|set| set == *value);
    command.envs(SAME_FUNCTIONS.into_iter().filter(is_set));
}

fn missing(name: &OsStr) -> io::Error {
    let path = path_variable().to_string_lossy();
    let message = format!("no program `{}` in {path}", name.to_string_lossy());
    io::Error::new(io::ErrorKind::NotFound, message)
}

fn found() -> &'static SearchPath {
    SEARCH_PATH.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let checked = rustix::process::geteuid().is_root() && !GIVEN.load(Ordering::Relaxed);
        let ordered = fsdyno_model::search_path::search_path(&path, !places::from_environment());
        let first = FIRST.get().cloned();
        let directories = first.into_iter().chain(ordered).filter_map(|directory| {
            if !checked || is_of_system(&directory) {
                return Some(directory);
            }
            match trusted(&directory) {
                // Without symbolic links, which could lead elsewhere later.
                Ok(directory) => Some(directory),
                Err(error) if error.is_missing() => None,
                Err(error) => {
                    ignored(
                        &format!("directory {} of PATH", directory.display()),
                        &error,
                    );
                    None
                }
            }
        });
        let directories: Vec<PathBuf> = directories.collect();
        SearchPath {
            // They contain no colon: the path was split at colons.
            variable: std::env::join_paths(&directories).unwrap_or_default(),
            directories,
            checked,
        }
    })
}

/// Whether only the system's packages put programs there.
fn is_of_system(directory: &Path) -> bool {
    OF_SYSTEM.iter().any(|one| Path::new(one) == directory)
}

/// The directory without symbolic links, if no other user can make or replace a program in it.
fn trusted(directory: &Path) -> Result<PathBuf, Untrusted> {
    let directory = TrustedDir::open(directory)?;
    directory.refuse_shared()?;
    Ok(directory.path().to_owned())
}

/// Whether no other user can change or replace a program, which may be reached by a link.
fn check(program: &Path) -> Result<(), Untrusted> {
    let real = program.canonicalize();
    let real = real.map_err(|source| Untrusted::Io {
        act: "resolve",
        path: program.to_owned(),
        source,
    })?;
    let (Some(directory), Some(name)) = (real.parent(), real.file_name()) else {
        return Ok(());
    };
    if is_of_system(directory) {
        return Ok(());
    }
    let directory = TrustedDir::open(directory)?;
    directory.refuse_shared()?;
    directory.examine_program(name)
}

fn passes(checked: Result<(), Untrusted>, program: &Path) -> bool {
    let Err(error) = checked else { return true };
    ignored(&format!("program {}", program.display()), &error);
    false
}

fn ignored(what: &str, why: &Untrusted) {
    if let Some(note) = NOTE.get() {
        note(&format!(
            "fsdyno: the {what} is ignored: {why}. Root runs no program that another user could \
             have written"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    #[test]
    fn a_program_is_found_by_name_and_a_path_is_taken_as_it_is() {
        let sh = find("sh").unwrap();
        assert!(sh.is_absolute() && sh.ends_with("sh"), "{}", sh.display());
        assert_eq!(find("/bin/sh").unwrap(), Path::new("/bin/sh"));
        assert_eq!(find("/no/such"), None);
        for no_program in ["/dev/null", "/bin", "/etc/passwd"] {
            assert_eq!(find(no_program), None, "{no_program}");
        }
        let missing = command("no-such-program").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let named = ["-c", "echo $0; echo $PATH"];
        let printed = command("sh").unwrap().args(named).output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        let path = path_variable().to_string_lossy();
        assert_eq!(printed, format!("sh\n{path}\n"));
    }

    #[test]
    fn programs_execute_the_same_functions_on_every_processor() {
        let test = "programs_execute_the_same_functions_on_every_processor";
        let loader = Path::new("/lib64/ld-linux-x86-64.so.2");
        let mut command = Command::new(loader);
        command.arg("--list-diagnostics").envs(SAME_FUNCTIONS);
        let printed = command
            .output()
            .map(|printed| printed.stdout)
            .unwrap_or_default();
        let printed = String::from_utf8(printed).unwrap();
        let of = |name: &str| {
            let lines = printed
                .lines()
                .filter_map(|line| line.strip_prefix("x86.cpu_features."));
            lines
                .filter_map(|line| line.split_once('='))
                .find(|(field, _)| *field == name)
        };
        if of("xsave_state_size").is_none() {
            println!("SKIP glibc 2.33 for x86-64: {test}");
            return;
        }
        let (_, settings) = SAME_FUNCTIONS[0];
        let preferred = settings
            .split([',', '=', ':'])
            .filter_map(|word| word.strip_prefix('-'));
        let preferred = preferred.map(|name| format!("preferred.{name}"));
        let none: Vec<String> = preferred.chain(["xsave_state_size".to_owned()]).collect();
        let found: Vec<_> = none.iter().filter_map(|name| of(name)).collect();
        assert!(found.len() > 10, "{printed}");
        for (field, value) in found {
            assert_eq!(value, "0x0", "{field}");
        }
        for (field, value) in [
            ("data_cache_size", "0x8000"),
            ("shared_cache_size", "0x100000"),
            ("non_temporal_threshold", "0xc0000"),
            ("rep_movsb_threshold", "0x800"),
            ("rep_stosb_threshold", "0x800"),
        ] {
            assert_eq!(of(field), Some((field, value)));
        }
    }

    #[test]
    fn a_cleared_environment_has_no_variable_of_the_user() {
        let mut command = command("env").unwrap();
        command.env("LS_COLORS", "none");
        clear_environment(&mut command);
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let mut lines: Vec<&str> = printed.lines().collect();
        lines.sort_unstable();
        let path = format!("PATH={}", path_variable().to_string_lossy());
        assert_eq!(lines, ["LC_ALL=C", &path]);
    }

    #[test]
    fn what_another_user_could_have_written_is_refused() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIP root: what_another_user_could_have_written_is_refused");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode));
        let own = place.path().join("own");
        let foreign = place.path().join("foreign");
        for directory in [&own, &foreign, &foreign.join("below")] {
            fs::create_dir(directory).unwrap();
            mode(directory, 0o755).unwrap();
            for name in ["program", "open"] {
                fs::write(directory.join(name), "#!/bin/sh\n").unwrap();
                mode(&directory.join(name), 0o755).unwrap();
            }
        }
        symlink(foreign.join("program"), own.join("link")).unwrap();
        symlink("/bin/sh", own.join("shell")).unwrap();
        mode(&own.join("open"), 0o777).unwrap();
        chown(&foreign, Some(65_534), None).unwrap();

        assert_eq!(trusted(&own).unwrap(), own.canonicalize().unwrap());
        assert!(trusted(&foreign).is_err());
        assert!(trusted(&foreign.join("below")).is_err());
        assert!(trusted(Path::new("/tmp")).is_err() || !Path::new("/tmp").exists());
        for (name, fine) in [
            ("program", true),
            ("shell", true),
            ("link", false),
            ("open", false),
        ] {
            assert_eq!(check(&own.join(name)).is_ok(), fine, "{name}");
        }
        chown(own.join("program"), Some(65_534), None).unwrap();
        assert!(check(&own.join("program")).is_err());
        mode(&own, 0o777).unwrap();
        assert!(trusted(&own).is_err());
    }
}
