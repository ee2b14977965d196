//! A directory in which only its owner can create files, and the files in it.
//!
//! The directory is reached by descriptors, component by component. Each component must belong to
//! root or to the effective user, and must not be writable by others, unless its sticky bit keeps
//! them from renaming what is not theirs. The same holds for symbolic links and the directories
//! that contain them. `StrictModes` of sshd(8) has the same rule.
//!
//! No other user can then change where the path leads, also not as it was written.

use rustix::fs::{self, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// An open directory that only root and the effective user can change.
#[derive(Debug)]
pub struct TrustedDir {
    fd: OwnedFd,
    path: PathBuf,
}

/// How a file in a trusted directory is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    /// To be read; may also belong to root, as the files of a package do.
    ReadSystem,
    /// To be read and appended to.
    Append,
    /// To be read and written; made with mode 0600 where it is missing.
    Create,
    /// To be read and written; must not exist, and is made with mode 0600.
    CreateNew,
}

/// The reason why a file or directory is not used.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    /// Another user could have written it, or it is not a plain file or directory.
    #[error("{} is not trusted: {why}", path.display())]
    Refused { path: PathBuf, why: String },
    /// It could not be opened or read.
    #[error("cannot {act} {}: {source}", path.display())]
    Io {
        act: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl Untrusted {
    /// Whether the file or directory does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    fn refused(path: &Path, why: impl Into<String>) -> Self {
        Self::Refused {
            path: path.to_owned(),
            why: why.into(),
        }
    }

    fn io(act: &'static str, path: &Path) -> impl Fn(Errno) -> Self {
        let path = path.to_owned();
        move |errno| Self::Io {
            act,
            path: path.clone(),
            source: errno.into(),
        }
    }
}

impl TrustedDir {
    pub fn open(path: &Path) -> Result<Self, Untrusted> {
        Self::walk(path, None)
    }

    /// Opens a directory, and makes the components that are missing with mode 0700.
    pub fn create(path: &Path) -> Result<Self, Untrusted> {
        Self::walk(path, Some(Mode::RWXU))
    }

    fn walk(path: &Path, create: Option<Mode>) -> Result<Self, Untrusted> {
        let way = Way::to(path, create, Way::check_all)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = fs::openat(way.here(), ".", flags, Mode::empty())
            .map_err(Untrusted::io("open", &way.path))?;
        Ok(Self { fd, path: way.path })
    }

    /// The path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a directory in this one.
    pub fn dir(&self, name: &OsStr) -> Result<Self, Untrusted> {
        let path = self.path.join(plain(&self.path, name)?);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => Untrusted::refused(&path, "it is not a directory"),
            _ => Untrusted::io("open", &path)(errno),
        })?;
        let stat = fs::fstat(&fd).map_err(Untrusted::io("examine", &path))?;
        check_dir(&stat, &path)?;
        Ok(Self { fd, path })
    }

    /// The names of what the directory holds, sorted.
    pub fn names(&self) -> Result<Vec<OsString>, Untrusted> {
        let failed = || Untrusted::io("list", &self.path);
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.fd).map_err(failed())? {
            let name = entry.map_err(failed())?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens a file in the directory. It must be regular, belong to the effective user (or to root,
    /// with [`Access::ReadSystem`]) and not be writable by others. It must have one link, unless it is
    /// only read and no other user can make a link in the directory: `perf record` keeps links to
    /// kernels. It is never waited for: a FIFO is refused.
    pub fn file(&self, name: &OsStr, access: Access) -> Result<File, Untrusted> {
        let path = self.path.join(plain(&self.path, name)?);
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = flags
            | match access {
                Access::Read | Access::ReadSystem => OFlags::RDONLY,
                Access::Append => OFlags::RDWR | OFlags::APPEND,
                Access::Create => OFlags::RDWR | OFlags::CREATE,
                Access::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            };
        let mode = Mode::RUSR | Mode::WUSR;
        let fd = fs::openat(&self.fd, name, flags, mode).map_err(|errno| match errno {
            Errno::LOOP => Untrusted::refused(&path, "it is a symbolic link"),
            _ => Untrusted::io("open", &path)(errno),
        })?;
        let stat = fs::fstat(&fd).map_err(Untrusted::io("examine", &path))?;
        check_file(&stat, &path, access == Access::ReadSystem)?;
        let reads = matches!(access, Access::Read | Access::ReadSystem);
        let dir = fs::fstat(&self.fd).map_err(Untrusted::io("examine", &self.path))?;
        if !reads || writers(&dir).is_some() {
            check_links(&stat, &path)?;
        }
        Ok(fd.into())
    }

    /// Checks that nobody but root and the effective user can change anything below the directory.
    /// Symbolic links are not followed; they need a trusted owner.
    pub fn check_tree(&self) -> Result<(), Untrusted> {
        for name in self.names()? {
            let path = self.path.join(&name);
            let stat = fs::statat(&self.fd, name.as_os_str(), fs::AtFlags::SYMLINK_NOFOLLOW)
                .map_err(Untrusted::io("examine", &path))?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => self.dir(&name)?.check_tree()?,
                kind => check_entry(&stat, kind == FileType::Symlink, &path)?,
            }
        }
        Ok(())
    }

    /// Checks a file as [`Self::file`] does, without opening it: closing a descriptor would release
    /// the POSIX locks that this process holds on the file (fcntl(2)).
    pub fn examine(&self, name: &OsStr) -> Result<(), Untrusted> {
        let path = self.path.join(plain(&self.path, name)?);
        let stat = fs::statat(&self.fd, name, fs::AtFlags::SYMLINK_NOFOLLOW)
            .map_err(Untrusted::io("examine", &path))?;
        check_file(&stat, &path, false)?;
        check_links(&stat, &path)
    }

    /// Checks that nobody but root and the effective user can change a program in the directory. It
    /// may have several links.
    pub(crate) fn examine_program(&self, name: &OsStr) -> Result<(), Untrusted> {
        let path = self.path.join(plain(&self.path, name)?);
        let stat = fs::statat(&self.fd, name, fs::AtFlags::SYMLINK_NOFOLLOW)
            .map_err(Untrusted::io("examine", &path))?;
        check_entry(&stat, false, &path)
    }

    /// Refuses a directory in which others can make files, such as `/tmp`: they could make one that
    /// another program expects next to a file of ours.
    pub fn refuse_shared(&self) -> Result<(), Untrusted> {
        let stat = fs::fstat(&self.fd).map_err(Untrusted::io("examine", &self.path))?;
        match writers(&stat) {
            Some(who) => {
                let why = format!("{who} can make files in this directory");
                Err(Untrusted::refused(&self.path, why))
            }
            None => Ok(()),
        }
    }

    /// Removes a file or symbolic link from the directory.
    pub fn remove(&self, name: &OsStr) -> Result<(), Untrusted> {
        let path = self.path.join(plain(&self.path, name)?);
        fs::unlinkat(&self.fd, name, fs::AtFlags::empty()).map_err(Untrusted::io("remove", &path))
    }
}

/// Opens a file to be read, wherever it is: the rules are those of [`TrustedDir::file`], but the
/// directory may be another user's, who can then remove, rename or move the file, and not write it.
pub fn open_own(path: &Path) -> Result<File, Untrusted> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd =
        fs::open(path, flags | OFlags::RDONLY, Mode::empty()).map_err(|errno| match errno {
            Errno::LOOP => Untrusted::refused(path, "it is a symbolic link"),
            _ => Untrusted::io("open", path)(errno),
        })?;
    let stat = fs::fstat(&fd).map_err(Untrusted::io("examine", path))?;
    check_file(&stat, path, false)?;
    check_links(&stat, path)?;
    Ok(fd.into())
}

/// Refuses an absolute path with a symbolic link of another user, who could lead it anywhere. A part
/// that does not exist is no link.
pub fn refuse_foreign_links(path: &Path) -> Result<(), Untrusted> {
    for part in path.ancestors() {
        let stat = match fs::statat(fs::CWD, part, fs::AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(Untrusted::io("examine", part)(errno)),
        };
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if is_link && stat.st_uid != 0 && stat.st_uid != geteuid().as_raw() {
            let why = format!("it is a symbolic link of uid {}", stat.st_uid);
            return Err(Untrusted::refused(part, why));
        }
    }
    Ok(())
}

/// For root, refuses a directory that another user can change: root could be led elsewhere while it
/// works there. Other users can lose only what is theirs. The path may be relative.
pub fn refuse_foreign_dir(path: &Path) -> Result<(), Untrusted> {
    if !geteuid().is_root() {
        return Ok(());
    }
    match TrustedDir::open(&absolute(path)?) {
        Ok(_) => Ok(()),
        Err(Untrusted::Refused { path, why }) => Err(Untrusted::Refused {
            path,
            why: format!(
                "{why}. Root works only where no other user can lead it elsewhere: run fsdyno as \
                 that user, or name another directory"
            ),
        }),
        Err(error) => Err(error),
    }
}

/// Makes a directory for output, and those above it that are missing. For root, each must be one that
/// no other user can change. The path may be relative.
pub fn create_output_dir(path: &Path) -> Result<(), Untrusted> {
    if geteuid().is_root() {
        let mode = Mode::RWXU | Mode::RWXG | Mode::RWXO;
        TrustedDir::walk(&absolute(path)?, Some(mode))?;
        return Ok(());
    }
    std::fs::create_dir_all(path).map_err(|source| Untrusted::Io {
        act: "make the directory",
        path: path.to_owned(),
        source,
    })
}

/// Opens a directory in which a file is written. For root, no symbolic link of another user may lead
/// there. The path may be relative.
pub(crate) fn open_output_dir(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    if !geteuid().is_root() {
        return Ok(fs::open(path, flags, Mode::empty())?);
    }
    let way = Way::to(&std::path::absolute(path)?, None, Way::check_links);
    let way = way.map_err(|error| match error {
        Untrusted::Io { source, .. } => source,
        refused @ Untrusted::Refused { .. } => io::Error::other(refused),
    })?;
    Ok(fs::openat(way.here(), ".", flags, Mode::empty())?)
}

fn absolute(path: &Path) -> Result<PathBuf, Untrusted> {
    std::path::absolute(path).map_err(|source| Untrusted::Io {
        act: "resolve",
        path: path.to_owned(),
        source,
    })
}

impl From<TrustedDir> for OwnedFd {
    fn from(dir: TrustedDir) -> Self {
        dir.fd
    }
}

impl AsFd for TrustedDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Symbolic links in a path, as many as the kernel follows (`path_resolution(7)`).
const MAX_LINKS: u32 = 40;

/// The directories from the root to one, open with `O_PATH`: directories on the way may be searched,
/// not always read.
struct Way {
    fds: Vec<OwnedFd>,
    path: PathBuf,
}

/// Checks a directory or symbolic link on a way.
type CheckPart = fn(&Stat, &Path) -> Result<(), Untrusted>;

impl Way {
    const FLAGS: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

    /// Checks directories and links: nobody but root and the effective user can exchange either.
    fn check_all(stat: &Stat, path: &Path) -> Result<(), Untrusted> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => check_entry(stat, true, path),
            _ => check_dir(stat, path),
        }
    }

    /// Checks links alone: no other user can lead the way to where they cannot write.
    fn check_links(stat: &Stat, path: &Path) -> Result<(), Untrusted> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => check_entry(stat, true, path),
            _ => Ok(()),
        }
    }

    /// Goes to a directory. Makes missing ones with the mode, before the umask.
    fn to(path: &Path, create: Option<Mode>, check: CheckPart) -> Result<Self, Untrusted> {
        if !path.is_absolute() {
            return Err(Untrusted::refused(path, "the path is not absolute"));
        }
        let root = PathBuf::from("/");
        let flags = Self::FLAGS | OFlags::DIRECTORY;
        let fd = fs::open(&root, flags, Mode::empty()).map_err(Untrusted::io("open", &root))?;
        let stat = fs::fstat(&fd).map_err(Untrusted::io("examine", &root))?;
        check(&stat, &root)?;
        let mut way = Self {
            fds: vec![fd],
            path: root,
        };
        let mut names = names_of(path);
        let mut links = 0;
        while let Some(name) = names.pop() {
            match way.enter(&name, create, check)? {
                None => {}
                Some(_) if links == MAX_LINKS => {
                    return Err(Untrusted::refused(path, "it has too many symbolic links"));
                }
                Some(target) => {
                    links += 1;
                    if target.is_absolute() {
                        way.fds.truncate(1);
                        way.path = PathBuf::from("/");
                    }
                    names.extend(names_of(&target));
                }
            }
        }
        Ok(way)
    }

    fn here(&self) -> &OwnedFd {
        &self.fds[self.fds.len() - 1]
    }

    /// Enters a directory by its name in this one, or returns the target of a symbolic link.
    fn enter(
        &mut self,
        name: &OsStr,
        create: Option<Mode>,
        check: CheckPart,
    ) -> Result<Option<PathBuf>, Untrusted> {
        if name == ".." {
            if self.fds.len() > 1 {
                self.fds.pop();
                self.path.pop();
            }
            return Ok(None);
        }
        let path = self.path.join(name);
        let open = || fs::openat(self.here(), name, Self::FLAGS, Mode::empty());
        let opened = match (open(), create) {
            (Err(Errno::NOENT), Some(mode)) => match fs::mkdirat(self.here(), name, mode) {
                Ok(()) | Err(Errno::EXIST) => open(),
                Err(errno) => return Err(Untrusted::io("make the directory", &path)(errno)),
            },
            (opened, _) => opened,
        };
        let fd = opened.map_err(Untrusted::io("open", &path))?;
        let stat = fs::fstat(&fd).map_err(Untrusted::io("examine", &path))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Symlink {
            check(&stat, &path)?;
            let target = fs::readlinkat(&fd, "", Vec::new());
            let target = target.map_err(Untrusted::io("read the link", &path))?;
            return Ok(Some(OsString::from_vec(target.into_bytes()).into()));
        }
        if kind != FileType::Directory {
            return Err(Untrusted::refused(&path, "it is not a directory"));
        }
        check(&stat, &path)?;
        self.fds.push(fd);
        self.path = path;
        Ok(None)
    }
}

/// The names in a path, the last one first.
fn names_of(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    });
    names.rev().collect()
}

/// A name that stays in the directory.
fn plain<'a>(dir: &Path, name: &'a OsStr) -> Result<&'a OsStr, Untrusted> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(only)), None) if only == name => Ok(name),
        _ => Err(Untrusted::refused(
            &dir.join(name),
            "the name is not that of a file in it",
        )),
    }
}

/// Whether only root and the effective user can make, rename and remove what is in it.
fn check_dir(stat: &Stat, path: &Path) -> Result<(), Untrusted> {
    if stat.st_uid != 0 && stat.st_uid != geteuid().as_raw() {
        let why = format!("the directory belongs to uid {}", stat.st_uid);
        return Err(Untrusted::refused(path, why));
    }
    let sticky = Mode::from_raw_mode(stat.st_mode).contains(Mode::SVTX);
    match writers(stat) {
        Some(who) if !sticky => {
            let why = format!(
                "the directory is writable by {who}; chmod go-w {}",
                path.display()
            );
            Err(Untrusted::refused(path, why))
        }
        _ => Ok(()),
    }
}

fn check_file(stat: &Stat, path: &Path, root_too: bool) -> Result<(), Untrusted> {
    let why = if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        "it is not a regular file".to_owned()
    } else if stat.st_uid != geteuid().as_raw() && !(root_too && stat.st_uid == 0) {
        format!("it belongs to uid {}", stat.st_uid)
    } else if let Some(who) = writers(stat) {
        format!("it is writable by {who}; chmod go-w {}", path.display())
    } else {
        return Ok(());
    };
    Err(Untrusted::refused(path, why))
}

/// Whether a file has no other name, by which another user could have put it there.
fn check_links(stat: &Stat, path: &Path) -> Result<(), Untrusted> {
    match stat.st_nlink {
        1 => Ok(()),
        links => {
            let inode = stat.st_ino;
            let why = format!(
                "it has {links} links, not one; `find / -xdev -inum {inode}` prints them, and a copy has one"
            );
            Err(Untrusted::refused(path, why))
        }
    }
}

/// Whether only root and the effective user can change an entry of a tree.
fn check_entry(stat: &Stat, is_link: bool, path: &Path) -> Result<(), Untrusted> {
    let why = if stat.st_uid != 0 && stat.st_uid != geteuid().as_raw() {
        format!("it belongs to uid {}", stat.st_uid)
    } else {
        // The mode of a symbolic link means nothing.
        match writers(stat) {
            Some(who) if !is_link => {
                format!("it is writable by {who}; chmod go-w {}", path.display())
            }
            _ => return Ok(()),
        }
    };
    Err(Untrusted::refused(path, why))
}

/// Who can write besides the owner. The effective group counts as the user, except for root: with a
/// umask of 002, the default of several distributions, every user has a group of their own.
fn writers(stat: &Stat) -> Option<&'static str> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let own_group = stat.st_gid == 0 || (!geteuid().is_root() && stat.st_gid == getegid().as_raw());
    if mode.contains(Mode::WOTH) {
        Some("everybody")
    } else if mode.contains(Mode::WGRP) && !own_group {
        Some("its group")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn why(result: Result<impl Sized, Untrusted>) -> String {
        result.err().expect("it is refused").to_string()
    }

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_that_another_user_could_have_written_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let dir = TrustedDir::create(&place.path().join("a/b")).unwrap();
        let name = OsStr::new("file");
        dir.file(name, Access::CreateNew)
            .unwrap()
            .write_all(b"x")
            .unwrap();
        assert!(dir.file(name, Access::CreateNew).is_err());
        dir.file(name, Access::Read).unwrap();
        let path = dir.path().join("file");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);

        chmod(&path, 0o602);
        for access in [Access::Read, Access::ReadSystem] {
            assert!(why(dir.file(name, access)).contains("writable by everybody"));
        }
        chmod(&path, 0o600);
        std::fs::hard_link(&path, dir.path().join("link")).unwrap();
        assert!(why(dir.file(name, Access::Append)).contains("2 links"));
        assert!(why(dir.examine(name)).contains("2 links"));
        dir.file(name, Access::Read).unwrap();
        chmod(dir.path(), 0o1777);
        assert!(why(dir.file(name, Access::Read)).contains("2 links"));
        chmod(dir.path(), 0o700);
        symlink(&path, dir.path().join("symlink")).unwrap();
        assert!(why(dir.file(OsStr::new("symlink"), Access::Read)).contains("symbolic link"));
        assert!(why(dir.examine(OsStr::new("symlink"))).contains("not a regular file"));
        assert!(dir.examine(OsStr::new("missing")).unwrap_err().is_missing());
        fs::mkfifoat(&dir, "fifo", Mode::RUSR | Mode::WUSR).unwrap();
        assert!(why(dir.file(OsStr::new("fifo"), Access::Read)).contains("not a regular file"));
        for outside in ["../file", "/etc/passwd", "..", ".", "", "file/"] {
            assert!(
                dir.file(OsStr::new(outside), Access::Read).is_err(),
                "{outside}"
            );
        }
        if geteuid().is_root() {
            dir.remove(OsStr::new("link")).unwrap();
            chown(&path, Some(65_534), None).unwrap();
            for access in [Access::Read, Access::ReadSystem] {
                assert!(why(dir.file(name, access)).contains("belongs to uid 65534"));
            }
        }
    }

    #[test]
    fn a_directory_below_one_that_others_can_change_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let below = place.path().join("open/below");
        std::fs::create_dir_all(&below).unwrap();
        TrustedDir::open(&below).unwrap();
        chmod(below.parent().unwrap(), 0o777);
        assert!(why(TrustedDir::open(&below)).contains("writable by everybody"));
        chmod(below.parent().unwrap(), 0o1777);
        TrustedDir::open(&below).unwrap().refuse_shared().unwrap();
        let shared = TrustedDir::open(below.parent().unwrap()).unwrap();
        assert!(why(shared.refuse_shared()).contains("everybody can make files"));
        if geteuid().is_root() {
            chmod(below.parent().unwrap(), 0o700);
            chown(below.parent().unwrap(), Some(65_534), None).unwrap();
            assert!(why(TrustedDir::create(&below.join("new"))).contains("uid 65534"));
            assert!(!below.join("new").exists());
        }
    }

    #[test]
    fn a_tree_in_which_one_file_can_be_changed_by_others_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let dir = TrustedDir::create(&place.path().join("tree/below")).unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "x").unwrap();
        symlink("nowhere", dir.path().join("link")).unwrap();
        let tree = TrustedDir::open(&place.path().join("tree")).unwrap();
        tree.check_tree().unwrap();
        chmod(&file, 0o666);
        assert!(why(tree.check_tree()).contains("below/file"));
        if geteuid().is_root() {
            chmod(&file, 0o644);
            chown(&file, Some(65_534), None).unwrap();
            assert!(why(tree.check_tree()).contains("uid 65534"));
        }
    }

    #[test]
    fn links_in_the_path_are_resolved_before_they_are_checked() {
        let place = tempfile::tempdir().unwrap();
        let real = place.path().join("real");
        std::fs::create_dir(&real).unwrap();
        symlink(&real, place.path().join("link")).unwrap();
        let dir = TrustedDir::create(&place.path().join("link/new")).unwrap();
        assert_eq!(dir.path(), real.canonicalize().unwrap().join("new"));
        let around = TrustedDir::open(&place.path().join("link/new/../../real")).unwrap();
        assert_eq!(around.path(), real.canonicalize().unwrap());
        symlink("self", place.path().join("self")).unwrap();
        assert!(why(TrustedDir::open(&place.path().join("self"))).contains("too many"));
        assert!(why(TrustedDir::open(Path::new("relative"))).contains("not absolute"));
        let missing = TrustedDir::open(&place.path().join("missing")).unwrap_err();
        assert!(missing.is_missing());
    }

    #[test]
    fn a_link_that_another_user_could_exchange_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let (real, shared) = (place.path().join("real"), place.path().join("shared"));
        std::fs::create_dir(&real).unwrap();
        std::fs::create_dir(&shared).unwrap();
        symlink(&real, shared.join("link")).unwrap();
        chmod(&shared, 0o777);
        assert!(why(TrustedDir::open(&shared.join("link"))).contains("writable by everybody"));
        chmod(&shared, 0o1777);
        TrustedDir::open(&shared.join("link")).unwrap();
        if geteuid().is_root() {
            let link = shared.join("link");
            std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
            assert!(why(TrustedDir::open(&link)).contains("uid 65534"));
            let led = open_output_dir(&link).unwrap_err().to_string();
            assert!(led.contains("uid 65534"), "{led}");
            assert!(refuse_foreign_dir(&link).is_err());
            assert!(create_output_dir(&link.join("new")).is_err());
            assert!(!real.join("new").exists());
        }
    }
}
