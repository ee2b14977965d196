//! The first steps in a guest of QEMU: load the modules for the host's root, mount it, and execute
//! the first process there. See [`super`] for that process.

use super::{GuestInitError, is_first};
use crate::start::MACHINE;
use fsdyno_files::programs;
use rustix::fs::statfs;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_move};
use rustix::process::{chdir, chroot};
use std::ffi::{CStr, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

/// The file with the arguments of the first process, each terminated by a zero byte.
pub const ARGUMENTS: &str = "/fsdyno/arguments";

/// The file with its environment, in the same format.
pub const ENVIRONMENT: &str = "/fsdyno/environment";

/// The directory of the modules. Their names have the order of loading.
pub const MODULE_FOLDER: &str = "/fsdyno/modules";

/// The mount point of the host's root before it becomes the root.
pub const ROOT: &str = "/host";

/// The 9p tag of the host's root.
pub const TAG: &str = "fsdyno-root";

/// The mount options of the host's root: it does not change during the run, so reads may be cached.
const OPTIONS: &CStr = c"trans=virtio,version=9p2000.L,msize=524288,cache=loose";

/// The file system types of a root in memory, as statfs(2) returns them: ramfs and tmpfs.
const IN_MEMORY: [i64; 2] = [0x8584_58f6, 0x0102_1994];

/// Mounts the root of the host and executes the first process there, if this process runs in the
/// initramfs. Otherwise it returns.
pub fn enter_root() -> Result<(), GuestInitError> {
    if !is_first() || std::env::var_os(MACHINE).is_some() || !Path::new(ARGUMENTS).exists() {
        return Ok(());
    }
    let words = read(ARGUMENTS)?;
    let environment = read(ENVIRONMENT)?;
    load_modules()?;
    mount(TAG, ROOT, "9p", MountFlags::RDONLY, Some(OPTIONS))
        .map_err(GuestInitError::at("mount the root of the host"))?;
    free_memory();
    let moved = chdir(ROOT)
        .and_then(|()| mount_move(".", "/"))
        .and_then(|()| chroot("."))
        .and_then(|()| chdir("/"));
    moved.map_err(GuestInitError::at("change to the root of the host"))?;
    let mut words = terminated(&words);
    let program = words.next().unwrap_or_default();
    let variables = terminated(&environment).filter_map(|one| {
        let at = one.as_bytes().iter().position(|byte| *byte == b'=')?;
        let (name, value) = one.as_bytes().split_at(at);
        Some((OsStr::from_bytes(name), OsStr::from_bytes(&value[1..])))
    });
    let error = programs::at(program)
        .args(words)
        .env_clear()
        .envs(variables)
        .exec();
    let act = format!("run {}", Path::new(program).display());
    Err(GuestInitError::at(act)(error))
}

fn read(path: &str) -> Result<Vec<u8>, GuestInitError> {
    fs::read(path).map_err(GuestInitError::at(format!("read {path}")))
}

/// The words of a list in which a zero byte terminates each word.
fn terminated(list: &[u8]) -> impl Iterator<Item = &OsStr> {
    let words = list.split(|byte| *byte == 0);
    words.filter(|word| !word.is_empty()).map(OsStr::from_bytes)
}

fn load_modules() -> Result<(), GuestInitError> {
    let entries = fs::read_dir(MODULE_FOLDER).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = match entries {
        // All modules are built in.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries.map_err(GuestInitError::at(format!("read {MODULE_FOLDER}")))?,
    };
    let mut paths: Vec<_> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        let act = format!("load the module {}", path.display());
        let module = fs::read(&path).map_err(GuestInitError::at(&act))?;
        match rustix::system::init_module(&module, c"") {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(GuestInitError::at(act)(error)),
        }
    }
    Ok(())
}

/// Removes the unpacked initramfs, which takes memory. A file that cannot be removed only takes
/// memory.
fn free_memory() {
    let root = Path::new("/");
    let device = |path: &Path| fs::symlink_metadata(path).map(|of| of.dev()).ok();
    if !statfs(root).is_ok_and(|reported| IN_MEMORY.contains(&reported.f_type)) {
        return;
    }
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path == Path::new(ROOT) || device(&path) != device(root) {
            continue;
        }
        let _ = if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
    }
}
