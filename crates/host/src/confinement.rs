//! A mount namespace for programs under test: they can write the directory on the contender and, if
//! requested, a private `/tmp` and `/dev/shm`. The rest is read-only, and no block device is there.
//! For a user without privileges it is in a user namespace.
//!
//! It keeps a program from writing elsewhere by mistake. A hostile program of root can still reach
//! other processes, sockets and networks.

use fsdyno_files::{programs, uninterrupted};
use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, mkdirat, open, openat, readlinkat, statat, symlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
    open_tree,
};
use rustix::process::{Signal, getegid, geteuid, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, move_into_link_name_space,
    remove_capability_from_bounding_set, unshare_unsafe,
};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// The directory of temporary files.
const TEMPORARY: &str = "/tmp";
const SHARED_MEMORY: &str = "/dev/shm";
/// The devices that are left.
const DEVICES: [&CStr; 6] = [c"null", c"zero", c"full", c"random", c"urandom", c"tty"];
/// The links in `/dev`, with their targets.
const LINKS: [(&CStr, &CStr); 5] = [
    (c"fd", c"/proc/self/fd"),
    (c"stdin", c"/proc/self/fd/0"),
    (c"stdout", c"/proc/self/fd/1"),
    (c"stderr", c"/proc/self/fd/2"),
    (c"ptmx", c"pts/ptmx"),
];
/// Entries of a directory of temporary files that are visible, read-only. Of a directory with more,
/// only the one that contains the contender is.
const MAX_VISIBLE: usize = 10_000;
/// With one of these, root could mount, open the files of a process outside (`/proc/PID/root`), or
/// write past the file systems.
const DROPPED: [CapabilitySet; 5] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_MODULE,
    CapabilitySet::SYS_RAWIO,
    CapabilitySet::SYS_BOOT,
];

/// What a private directory of temporary files shows of the old one, read-only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldEntries {
    All,
    /// Nothing but the directory that contains the contender: the cost of calls does not depend on
    /// what else is there.
    None,
}

/// The namespaces. They end when this is dropped and no process is in them.
#[derive(Debug)]
pub struct Confinement {
    mounts: OwnedFd,
    /// Without privileges.
    user: Option<OwnedFd>,
}

/// The reason why programs cannot be confined here.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotConfined(String);

impl Confinement {
    /// Makes the namespaces. Programs in them can write `directory`, and with `temporary` a private
    /// `/tmp` and `/dev/shm`, which are memory.
    pub fn new(directory: &Path, temporary: Option<OldEntries>) -> Result<Self, NotConfined> {
        let failed = |act: &str| {
            let act = act.to_owned();
            move |error: io::Error| NotConfined(format!("{act}: {error}"))
        };
        let directory = directory.canonicalize();
        let directory = directory.map_err(failed("the directory on the contender"))?;
        let (mut reasons, report) = io::pipe().map_err(failed("pipe2"))?;
        // A process holds new namespaces until they are opened.
        let mut holder = programs::command("cat").map_err(failed("cat"))?;
        holder.stdin(Stdio::piped()).stdout(Stdio::null());
        holder.stderr(Stdio::null()).current_dir("/");
        let parent = getpid();
        let in_child = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                return Err(Errno::SRCH.into());
            }
            set_up(&directory, temporary).map_err(|refusal| refusal.send(&report))
        };
        // SAFETY: the child continues with only a copy of this thread. It takes no lock except that
        // of the allocator, which the C library releases in the child (`fork(2)`, `malloc(3)`).
        unsafe { holder.pre_exec(in_child) };
        let spawned = holder.spawn();
        // With it the closure, and the end of the pipe that would keep the read below waiting.
        drop(holder);
        let mut held = spawned.map_err(|error| {
            let mut reason = String::new();
            let read = uninterrupted(|| reasons.read_to_string(&mut reason));
            match read {
                Ok(1..) => NotConfined(reason),
                _ => failed("cat")(error),
            }
        })?;
        let opened = |name: &str| File::open(format!("/proc/{}/ns/{name}", held.id()));
        let mounts = opened("mnt");
        let user = (!geteuid().is_root()).then(|| opened("user")).transpose();
        // It ends with its input.
        drop(held.stdin.take());
        let _ = held.wait();
        let failed = || failed("its namespaces");
        Ok(Self {
            mounts: mounts.map_err(failed())?.into(),
            user: user.map_err(failed())?.map(OwnedFd::from),
        })
    }

    /// Moves the calling process into the namespaces. Call it in a child, before it executes the
    /// program: it allocates nothing.
    pub fn enter(&self) -> io::Result<()> {
        if let Some(user) = &self.user {
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        move_into_link_name_space(self.mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
        Ok(drop_capabilities()?)
    }
}

/// What the kernel refused.
struct Refusal {
    act: &'static str,
    cause: io::Error,
}

fn refused<E: Into<io::Error>>(act: &'static str) -> impl FnOnce(E) -> Refusal {
    move |cause| Refusal {
        act,
        cause: cause.into(),
    }
}

impl Refusal {
    /// Sends it to the parent.
    fn send(self, mut pipe: &PipeWriter) -> io::Error {
        let _ = pipe.write_all(format!("{}: {}", self.act, self.cause).as_bytes());
        self.cause
    }
}

/// Makes the namespaces of the calling process, and its mounts.
fn set_up(directory: &Path, temporary: Option<OldEntries>) -> Result<(), Refusal> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let has_rights = geteuid().is_root();
    let mut flags = UnshareFlags::NEWNS;
    flags.set(UnshareFlags::NEWUSER, !has_rights);
    // SAFETY: the process has one thread, and shares no descriptors.
    unsafe { unshare_unsafe(flags) }.map_err(refused("unshare"))?;
    if !has_rights {
        for (file, text) in [
            ("/proc/self/setgroups", "deny".to_owned()),
            ("/proc/self/uid_map", format!("{uid} {uid} 1")),
            ("/proc/self/gid_map", format!("{gid} {gid} 1")),
        ] {
            let file = open(file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
            let file = file.map_err(refused("map the user"))?;
            uninterrupted(|| rustix::io::write(&file, text.as_bytes()))
                .map_err(refused("map the user"))?;
        }
    }
    // What the host unmounts is unmounted here too, but nothing the other way.
    let slaves = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", slaves).map_err(refused("make its mounts slaves"))?;
    let contender =
        copy(CWD, &path_of(directory)).map_err(refused("copy the contender's mount"))?;
    let whole = libc::AT_RECURSIVE.cast_unsigned();
    set_attribute(c"/", whole, MountAttrFlags::MOUNT_ATTR_RDONLY).map_err(refused(
        "make the rest read-only (mount_setattr, Linux 5.12)",
    ))?;
    if let Some(old) = temporary {
        replace_temporary(directory, old).map_err(refused("make a private /tmp"))?;
    }
    replace_devices(directory, temporary).map_err(refused("make a private /dev"))?;
    let directory = path_of(directory);
    attach(&contender, CWD, &directory).map_err(refused("mount the contender"))?;
    set_attribute(&directory, whole, MountAttrFlags::MOUNT_ATTR_NODEV)
        .map_err(refused("mount the contender"))?;
    drop_capabilities().map_err(refused("drop capabilities"))
}

fn drop_capabilities() -> rustix::io::Result<()> {
    // Without root they are lost when the program is executed (user_namespaces(7)).
    if geteuid().is_root() {
        return DROPPED
            .into_iter()
            .try_for_each(remove_capability_from_bounding_set);
    }
    Ok(())
}

/// Mounts a private directory of temporary files.
fn replace_temporary(contender: &Path, shown: OldEntries) -> rustix::io::Result<()> {
    let Ok(place) = PathBuf::from(TEMPORARY).canonicalize() else {
        return Ok(());
    };
    let old = open(&place, DIRECTORY, Mode::empty())?;
    attach(&tmpfs(c"1777")?, CWD, &path_of(&place))?;
    show_entries(&old, &place, contender, shown)
}

/// Mounts a private `/dev` with a few devices.
fn replace_devices(contender: &Path, temporary: Option<OldEntries>) -> rustix::io::Result<()> {
    let old = open("/dev", DIRECTORY, Mode::empty())?;
    let old_memory = open(SHARED_MEMORY, DIRECTORY, Mode::empty());
    attach(&tmpfs(c"755")?, CWD, c"/dev")?;
    let new = open("/dev", DIRECTORY, Mode::empty())?;
    for device in DEVICES {
        match show(old.as_fd(), new.as_fd(), device) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(errno),
        }
    }
    for (link, target) in LINKS {
        symlinkat(target, &new, link)?;
    }
    for directory in [c"pts", c"shm"] {
        mkdirat(&new, directory, Mode::from_raw_mode(0o755))?;
    }
    // Some kernels have no pseudo-terminals.
    if let Ok(terminals) = mount_of(c"devpts", &[(c"ptmxmode", c"666"), (c"mode", c"620")]) {
        attach(&terminals, new.as_fd(), c"pts")?;
    }
    attach(&tmpfs(c"1777")?, new.as_fd(), c"shm")?;
    if let Ok(old) = old_memory {
        let shown = temporary.unwrap_or(OldEntries::All);
        show_entries(&old, Path::new(SHARED_MEMORY), contender, shown)?;
    }
    if temporary.is_none() {
        set_attribute(c"/dev/shm", 0, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    }
    set_attribute(c"/dev", 0, MountAttrFlags::MOUNT_ATTR_RDONLY)
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// Shows the entries of a directory in the new one at `place`. An entry that vanished or that cannot
/// be mounted is left out.
fn show_entries(
    old: &OwnedFd,
    place: &Path,
    contender: &Path,
    shown: OldEntries,
) -> rustix::io::Result<()> {
    let mut names = Vec::new();
    for entry in Dir::read_from(old)? {
        let name = entry?.file_name().to_owned();
        if ![c".", c".."].contains(&name.as_c_str()) {
            names.push(name);
        }
    }
    if shown == OldEntries::None || names.len() > MAX_VISIBLE {
        let leads = |name: &CString| {
            let name = name.to_string_lossy();
            contender.starts_with(place.join(name.as_ref()))
        };
        names.retain(leads);
    }
    let new = open(place, DIRECTORY, Mode::empty())?;
    for name in &names {
        let _ = show(old.as_fd(), new.as_fd(), name);
    }
    Ok(())
}

/// Shows an entry of a directory in another one: a link is copied, all else mounted.
fn show(old: BorrowedFd<'_>, new: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<()> {
    let found = statat(old, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => return symlinkat(readlinkat(old, name, Vec::new())?, new, name),
        FileType::Directory => mkdirat(new, name, Mode::RWXU)?,
        _ => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            openat(new, name, flags, Mode::RUSR | Mode::WUSR).map(drop)?;
        }
    }
    attach(&copy(old, name)?, new, name)
}

/// A copy of a mount from this place on, with all mounts below.
fn copy(directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
    open_tree(directory, name, flags)
}

fn attach(mount: &OwnedFd, directory: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(mount, c"", directory, name, flags)
}

fn tmpfs(mode: &CStr) -> rustix::io::Result<OwnedFd> {
    mount_of(c"tmpfs", &[(c"mode", mode)])
}

/// A new file system, mounted nowhere.
fn mount_of(kind: &CStr, options: &[(&CStr, &CStr)]) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(context.as_fd(), *name, *value)?;
    }
    fsconfig_create(context.as_fd())?;
    fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID,
    )
}

/// `mount_setattr(2)`: adds an attribute to a mount.
fn set_attribute(place: &CStr, flags: u32, attribute: MountAttrFlags) -> rustix::io::Result<()> {
    /// `struct mount_attr`.
    #[repr(C)]
    struct Attributes {
        set: u64,
        clear: u64,
        propagation: u64,
        user: u64,
    }
    let attributes = Attributes {
        set: attribute.bits().into(),
        clear: 0,
        propagation: 0,
        user: 0,
    };
    // SAFETY: the path ends with a zero, and the structure has the given size.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            CWD.as_raw_fd(),
            place.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<Attributes>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)),
    }
}

/// A path as the kernel takes it. A path that was resolved contains no zero.
fn path_of(path: &Path) -> CString {
    CString::new(path.as_os_str().as_encoded_bytes()).unwrap_or_default()
}
