//! Compares a tree with the archive from which it was unpacked: every member exists as in the
//! archive, and no other entry exists.
//!
//! The result of `tar -x` depends on the user. Owners are compared if root unpacked and the archive
//! names no owner except root or nobody. Permissions of group and others are compared only if root
//! unpacked, because otherwise the umask applies. Times of directories are compared only on
//! request: GNU tar leaves some of them at the time of unpacking if the members of a directory do
//! not follow it directly (see `--delay-directory-restore` in its manual; 127 of the 5096
//! directories of Linux 6.1 as packaged by Debian).

use super::compare::{Options, word};
use super::{Comparison, TreeError};
use crate::entry;
use crate::member::{Member, MemberKind, components, split};
use crate::packed;
use crate::scan::{parents, path_hash};
use fsdyno_files::uninterrupted;
use fsdyno_model::{CancelToken, Capabilities};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{self, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The size of the pieces in which data is compared.
const PIECE: usize = 1 << 18;

/// Compares the members of an archive with a tree, in all properties that `tar -x` guarantees on a
/// file system with these capabilities.
pub fn compare_archive(
    archive: &Path,
    tree: &Path,
    stores: Capabilities,
    stop: &CancelToken,
) -> Result<Comparison, TreeError> {
    let options = Options {
        directory_times: false,
        stores,
        ..Options::default()
    };
    compare_archive_with(archive, tree, options, stop)
}

/// Compares the members of an archive with a tree. Extended attributes are never compared.
pub fn compare_archive_with(
    archive: &Path,
    tree: &Path,
    options: Options,
    stop: &CancelToken,
) -> Result<Comparison, TreeError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = fs::openat(CWD, tree, flags, Mode::empty())
        .map_err(|errno| TreeError::io("open", tree, errno))?;
    let mut comparer = Comparer {
        archive,
        tree,
        root,
        parent: None,
        members: HashSet::new(),
        implied: HashSet::new(),
        buffers: [vec![0; PIECE].into(), vec![0; PIECE].into()],
        as_root: rustix::process::geteuid().is_root(),
        options,
        stop,
        found: Comparison::default(),
    };
    comparer.members()?;
    let root = comparer
        .root
        .try_clone()
        .map_err(|error| TreeError::io("open", tree, error))?;
    comparer.others(&root, &mut PathBuf::new())?;
    Ok(comparer.found)
}

struct Comparer<'a> {
    archive: &'a Path,
    tree: &'a Path,
    root: OwnedFd,
    /// The directory of the last member, which is usually that of the next.
    parent: Option<(Vec<u8>, OwnedFd)>,
    /// Hashes of the paths of all members.
    members: HashSet<u64>,
    /// Hashes of the paths of directories that members are in.
    implied: HashSet<u64>,
    buffers: [Box<[u8]>; 2],
    as_root: bool,
    options: Options,
    stop: &'a CancelToken,
    found: Comparison,
}

impl Comparer<'_> {
    fn members(&mut self) -> Result<(), TreeError> {
        let (archive, stop) = (self.archive, self.stop);
        packed::each_member(archive, u64::MAX, stop, |member, entry| {
            self.member(&member, entry)
        })
    }

    fn member(&mut self, member: &Member, data: &mut impl Read) -> Result<(), TreeError> {
        if self
            .options
            .stores
            .stores(member.kind.entry(), &member.path)
            .is_err()
        {
            return Ok(());
        }
        let path = member.shown_path();
        self.implied
            .extend(parents(&member.path).map(|(_, hash)| hash));
        if self.members.insert(path_hash(&member.path)) {
            match member.kind {
                MemberKind::Directory if member.path.is_empty() => {}
                MemberKind::Directory => self.found.directories += 1,
                _ => self.found.files += 1,
            }
        } else {
            // Only the last member with a path counts, as in unpacking.
            let before = self.found.differences.len();
            self.found
                .differences
                .retain(|difference| difference.path != path);
            self.found.total -= (before - self.found.differences.len()) as u64;
        }
        let (directory, name) = place_of(&member.path);
        let stat = match self.enter(directory) {
            Ok(parent) => entry::stat(parent, &name),
            Err(errno) => Err(errno),
        };
        match stat {
            Ok(stat) => self.compare(member, &path, &stat, data),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                self.found
                    .differ(&path, "in the archive, but not in the tree");
                Ok(())
            }
            Err(errno) => Err(self.failed("examine", &path, errno)),
        }
    }

    fn compare(
        &mut self,
        member: &Member,
        path: &Path,
        stat: &Stat,
        data: &mut impl Read,
    ) -> Result<(), TreeError> {
        if let MemberKind::HardLink(target) = &member.kind {
            let target = self.stat_of(target);
            let same = target
                .is_ok_and(|target| (target.st_dev, target.st_ino) == (stat.st_dev, stat.st_ino));
            if !same {
                self.found
                    .differ(path, "is not the hard link of the archive");
            }
            return Ok(());
        }
        let (kind, wanted) = (entry::kind(stat), kind_of(&member.kind));
        if kind != wanted {
            self.found
                .differ(path, format!("{} against {}", word(wanted), word(kind)));
            return Ok(());
        }
        self.attributes(member, path, stat);
        match &member.kind {
            MemberKind::File { size, .. } => {
                if entry::size(stat) != *size {
                    let what = format!("{size} bytes against {}", entry::size(stat));
                    self.found.differ(path, what);
                    return Ok(());
                }
                self.data(member, path, data)
            }
            MemberKind::Symlink(target) => {
                let (directory, name) = place_of(&member.path);
                let found = self
                    .enter(directory)
                    .and_then(|parent| fs::readlinkat(parent, name.as_c_str(), Vec::new()))
                    .map_err(|errno| self.failed("read the link", path, errno))?;
                if found.as_bytes() != target {
                    self.found
                        .differ(path, "the symbolic link points to a different target");
                }
                Ok(())
            }
            MemberKind::Device { number, .. } => {
                if stat.st_rdev != fs::makedev(number.0, number.1) {
                    self.found.differ(path, "device number differs");
                }
                Ok(())
            }
            MemberKind::Directory | MemberKind::Fifo | MemberKind::HardLink(_) => Ok(()),
        }
    }

    fn attributes(&mut self, member: &Member, path: &Path, stat: &Stat) {
        let compared = if self.as_root { 0o7777 } else { 0o700 };
        let (one, other) = (member.mode & compared, stat.st_mode & compared);
        let stores = self.options.stores;
        if stores.owners && one != other && !matches!(member.kind, MemberKind::Symlink(_)) {
            self.found
                .differ(path, format!("mode {one:04o} against {other:04o}"));
        }
        let by_number = matches!(member.owner_name.as_slice(), b"" | b"root");
        let owner = (member.owner, member.group);
        let owners = self.options.owners && stores.owners && self.as_root && by_number;
        if owners && owner != (stat.st_uid, stat.st_gid) {
            let what = format!(
                "owner {}:{} against {}:{}",
                owner.0, owner.1, stat.st_uid, stat.st_gid
            );
            self.found.differ(path, what);
        }
        let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
        let timed = self.options.directory_times || member.kind != MemberKind::Directory;
        if timed && !stores.same_time(member.modified, (stat.st_mtime, nanos)) {
            let (one, other) = (member.modified, (stat.st_mtime, nanos));
            let what = format!(
                "changed at {}.{:09} against {}.{:09}",
                one.0, one.1, other.0, other.1
            );
            self.found.differ(path, what);
        }
    }

    fn data(
        &mut self,
        member: &Member,
        path: &Path,
        data: &mut impl Read,
    ) -> Result<(), TreeError> {
        let (directory, name) = place_of(&member.path);
        let file = self
            .enter(directory)
            .and_then(|parent| entry::open_file(parent, &name))
            .map_err(|errno| self.failed("open", path, errno))?;
        let mut at = 0;
        loop {
            self.stop.check()?;
            let packed = entry::fill(&mut self.buffers[0], |rest| data.read(rest))
                .map_err(|error| self.damaged(Some(path.to_owned()), error))?;
            let unpacked = entry::fill(&mut self.buffers[1], |rest| {
                uninterrupted(|| rustix::io::read(&file, &mut *rest))
            })
            .map_err(|errno| self.failed("read", path, errno))?;
            let (one, other) = (&self.buffers[0][..packed], &self.buffers[1][..unpacked]);
            if one != other {
                let same = one.iter().zip(other).take_while(|(x, y)| x == y).count();
                let what = format!("content differs from byte {}", at + same as u64);
                self.found.differ(path, what);
                return Ok(());
            }
            at += packed as u64;
            self.found.bytes.0 += packed as u64;
            if packed < PIECE {
                return Ok(());
            }
        }
    }

    /// The entries of the tree that are not members.
    fn others(&mut self, directory: &OwnedFd, at: &mut PathBuf) -> Result<(), TreeError> {
        let path = self.tree.join(&*at);
        entry::each_name(
            directory,
            |errno| TreeError::io("list", &path, errno),
            |name| {
                at.push(OsStr::from_bytes(name.to_bytes()));
                let seen = self.other(directory.as_fd(), name, at);
                at.pop();
                seen
            },
        )
    }

    fn other(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        at: &mut PathBuf,
    ) -> Result<(), TreeError> {
        self.stop.check()?;
        let hash = path_hash(at.as_os_str().as_bytes());
        if !self.members.contains(&hash) && !self.implied.contains(&hash) {
            self.found.differ(at, "in the tree, but not in the archive");
            return Ok(());
        }
        let stat =
            entry::stat(directory, name).map_err(|errno| self.failed("examine", at, errno))?;
        if entry::kind(&stat) != FileType::Directory {
            return Ok(());
        }
        let below = entry::open_directory(directory, name)
            .map_err(|errno| self.failed("open", at, errno))?;
        self.others(&below, at)
    }

    fn stat_of(&mut self, path: &[u8]) -> rustix::io::Result<Stat> {
        let (directory, name) = place_of(path);
        entry::stat(self.enter(directory)?, &name)
    }

    /// Opens the directory of a member, component by component.
    fn enter(&mut self, directory: &[u8]) -> rustix::io::Result<BorrowedFd<'_>> {
        if self
            .parent
            .as_ref()
            .is_none_or(|(path, _)| path != directory)
        {
            let mut at = entry::open_directory(&self.root, c".")?;
            for part in components(directory) {
                at = entry::open_directory(&at, part)?;
            }
            self.parent = Some((directory.to_vec(), at));
        }
        Ok(self
            .parent
            .as_ref()
            .map_or(self.root.as_fd(), |(_, at)| at.as_fd()))
    }

    fn damaged(&self, member: Option<PathBuf>, source: io::Error) -> TreeError {
        packed::damaged(self.archive, member, source, self.stop).into()
    }

    fn failed(&self, operation: &'static str, path: &Path, errno: Errno) -> TreeError {
        TreeError::io(operation, self.tree.join(path), errno)
    }
}

fn kind_of(kind: &MemberKind) -> FileType {
    match kind {
        MemberKind::File { .. } | MemberKind::HardLink(_) => FileType::RegularFile,
        MemberKind::Directory => FileType::Directory,
        MemberKind::Symlink(_) => FileType::Symlink,
        MemberKind::Fifo => FileType::Fifo,
        MemberKind::Device { block: true, .. } => FileType::BlockDevice,
        MemberKind::Device { .. } => FileType::CharacterDevice,
    }
}

/// The directory and the name of a clean path; the root is `.` in itself.
fn place_of(path: &[u8]) -> (&[u8], CString) {
    let (directory, name) = split(path);
    let name = if name.is_empty() { b"." } else { name };
    // The path of a member was checked to contain no zero byte.
    (directory, CString::new(name).unwrap_or_default())
}
