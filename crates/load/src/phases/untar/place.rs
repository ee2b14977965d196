//! Places members: keeps the chain of open directories from the root of the new tree to the
//! directory of the last member. A directory gets its mode and times when it is left, so that only
//! the chain is in memory.

use super::Path;
use super::member::Member;
use crate::engines::meta::{Kind, Meta, Timestamp};
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use crate::phases::attributes::{AttributeWriter, Creation};
use std::ffi::{CStr, CString};

/// A directory of the chain.
struct Open<E: Calls> {
    name: Vec<u8>,
    dir: E::Dir,
    /// Its attributes when it is left.
    on_leave: LeaveAction,
}

/// The action when a directory is left.
enum LeaveAction {
    /// Nothing: the archive has no member for it.
    Nothing,
    /// It existed before: its times are restored.
    Times(Meta),
    /// The archive describes its attributes.
    All(Meta, Creation),
}

/// The chain of open directories.
pub(super) struct Place<'a, E: Calls> {
    pub attribute_writer: &'a mut AttributeWriter,
    /// The root, then each directory in its parent; never empty.
    root: Open<E>,
    chain: Vec<Open<E>>,
    /// Names whose buffers are reused.
    spare: Vec<u8>,
}

/// The components of a member's path, without zero bytes; a path that leaves the tree is refused.
pub(super) fn parts(path: &[u8]) -> impl Iterator<Item = Result<&[u8], String>> {
    let absolute = path.first() == Some(&b'/');
    path.split(|byte| *byte == b'/')
        .filter(|part| !part.is_empty() && *part != b".")
        .map(move |part| {
            if memchr::memchr(0, part).is_some() {
                return Err("has a name with a zero byte".to_owned());
            }
            if absolute || part == b".." {
                return Err(format!(
                    "holds the path `{}`, which leads out of the tree; \
                     pack it again with relative paths",
                    String::from_utf8_lossy(path)
                ));
            }
            Ok(part)
        })
}

impl<'a, E: Calls> Place<'a, E> {
    pub fn new(root: E::Dir, attribute_writer: &'a mut AttributeWriter) -> Self {
        Self {
            attribute_writer,
            root: Open {
                name: Vec::new(),
                dir: root,
                on_leave: LeaveAction::Nothing,
            },
            chain: Vec::with_capacity(64),
            spare: Vec::with_capacity(256),
        }
    }

    /// The directory of the last member.
    fn here(&self) -> &E::Dir {
        &self.chain.last().unwrap_or(&self.root).dir
    }

    /// Records the attributes of the root, for which the archive has a member.
    pub fn root_is(&mut self, meta: Meta) {
        let meta = self.ours(meta);
        let creation = Creation::inexact(0o700);
        self.root.on_leave = LeaveAction::All(meta, creation);
    }

    /// Without the privilege to change owners the files stay ours, as in tar.
    fn ours(&self, meta: Meta) -> Meta {
        self.attribute_writer.without_foreign_owner(meta)
    }

    /// Opens the directory of a member; returns its last name, or none for the root.
    #[inline]
    pub fn go_to_parent(
        &mut self,
        engine: &mut E,
        archive: &Path,
        path: &[u8],
    ) -> Result<Option<CString>, LoadError> {
        let refused = |reason| LoadError::Archive {
            path: archive.to_owned(),
            reason,
        };
        let mut depth = 0;
        let mut on_chain = true;
        let mut last: Option<&[u8]> = None;
        for part in parts(path) {
            let part = part.map_err(refused)?;
            if let Some(directory) = last.replace(part) {
                on_chain = on_chain
                    && self
                        .chain
                        .get(depth)
                        .is_some_and(|open| open.name == directory);
                if !on_chain {
                    self.leave_to(engine, depth)?;
                    self.enter(engine, directory)?;
                }
                depth += 1;
            }
        }
        self.leave_to(engine, depth)?;
        let Some(name) = last else {
            return Ok(None);
        };
        let mut room = std::mem::take(&mut self.spare);
        room.extend_from_slice(name);
        Ok(Some(CString::new(room).unwrap_or_default()))
    }

    /// Keeps the buffer of a name for the next one.
    #[inline]
    pub fn reuse_buffer(&mut self, name: CString) {
        self.spare = name.into_bytes();
        self.spare.clear();
    }

    /// Opens a directory in the innermost one, and creates it if the archive has no member for it.
    fn enter(&mut self, engine: &mut E, name: &[u8]) -> Result<(), LoadError> {
        let c_name = CString::new(name).unwrap_or_default();
        let (dir, on_leave) = match engine.open_dir(self.here(), &c_name) {
            Ok(dir) => {
                let meta = engine.stat(&Target::Directory(&dir))?;
                (dir, LeaveAction::Times(meta))
            }
            Err(error) if error.errno() == Some(libc::ENOENT) => {
                engine.make_dir(self.here(), &c_name, 0o777)?;
                (engine.open_dir(self.here(), &c_name)?, LeaveAction::Nothing)
            }
            Err(error) => return Err(error),
        };
        self.chain.push(Open {
            name: name.to_vec(),
            dir,
            on_leave,
        });
        Ok(())
    }

    /// Leaves directories until the chain has this length.
    #[inline]
    fn leave_to(&mut self, engine: &mut E, depth: usize) -> Result<(), LoadError> {
        while self.chain.len() > depth {
            if let Some(open) = self.chain.pop() {
                self.leave(engine, open)?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, engine: &mut E, open: Open<E>) -> Result<(), LoadError> {
        settle(engine, self.attribute_writer, &open)?;
        engine.close_dir(open.dir);
        Ok(())
    }

    /// Leaves all directories, the root last.
    pub fn finish(mut self, engine: &mut E) -> Result<(), LoadError> {
        self.leave_to(engine, 0)?;
        settle(engine, self.attribute_writer, &self.root)?;
        engine.close_dir(self.root.dir);
        Ok(())
    }

    /// Enters a directory of the archive; returns whether it was created. It is opened at once,
    /// because its files usually follow.
    pub fn directory(
        &mut self,
        engine: &mut E,
        name: &CStr,
        meta: Meta,
    ) -> Result<bool, LoadError> {
        let meta = self.ours(meta);
        let mut creation = self.attribute_writer.creation(&meta, 0);
        let made = match engine.make_dir(self.here(), name, creation.mode) {
            Ok(()) => true,
            Err(error) if error.errno() == Some(libc::EEXIST) => {
                creation = Creation::inexact(creation.mode);
                let there = engine.stat(&Target::Entry(self.here(), name))?;
                if there.kind != Kind::Directory {
                    engine.unlink(self.here(), name)?;
                    engine.make_dir(self.here(), name, creation.mode)?;
                }
                there.kind != Kind::Directory
            }
            Err(error) => return Err(error),
        };
        let dir = engine.open_dir(self.here(), name)?;
        self.chain.push(Open {
            name: name.to_bytes().to_vec(),
            dir,
            on_leave: LeaveAction::All(meta, creation),
        });
        Ok(made)
    }

    /// Creates a file; replaces an earlier one of that name, as tar does.
    #[inline]
    pub fn create(&mut self, engine: &mut E, name: &CStr, mode: u32) -> Result<E::File, LoadError> {
        self.instead(engine, name, |engine, here| engine.create(here, name, mode))
    }

    /// Adds a hard link to an earlier member.
    #[cold]
    pub fn hard_link(
        &mut self,
        engine: &mut E,
        archive: &Path,
        name: &CStr,
        member: &Member,
    ) -> Result<(), LoadError> {
        let refused = |reason| LoadError::Archive {
            path: archive.to_owned(),
            reason,
        };
        // Opened component by component from the root, so that symbolic links are refused.
        let mut at: Option<E::Dir> = None;
        let mut last: Option<CString> = None;
        for part in parts(&member.link) {
            let part = CString::new(part.map_err(refused)?).unwrap_or_default();
            if let Some(directory) = last.replace(part) {
                let below = engine.open_dir(at.as_ref().unwrap_or(&self.root.dir), &directory)?;
                if let Some(above) = at.replace(below) {
                    engine.close_dir(above);
                }
            }
        }
        let first = last.unwrap_or_default();
        let from = at.as_ref().unwrap_or(&self.root.dir);
        self.instead(engine, name, |engine, here| {
            engine.link((from, &first), here, name)
        })?;
        if let Some(at) = at {
            engine.close_dir(at);
        }
        Ok(())
    }

    /// Creates symbolic links, FIFOs and device nodes.
    #[cold]
    pub fn odd(&mut self, engine: &mut E, name: &CStr, member: &Member) -> Result<(), LoadError> {
        let meta = self.ours(member.meta);
        let creation = self.attribute_writer.creation(&meta, 0);
        self.instead(engine, name, |engine, here| {
            if meta.kind != Kind::Symlink {
                return engine.make_node(here, name, meta.kind, creation.mode, meta.rdev);
            }
            let points_to = CString::new(&member.link[..]).unwrap_or_default();
            engine.symlink(&points_to, here, name)
        })?;
        let here = &self.chain.last().unwrap_or(&self.root).dir;
        let made = Target::Entry(here, name);
        self.attribute_writer
            .finish(engine, None, &made, &meta, creation)
    }

    /// Creates an entry; removes an existing one of that name first.
    #[inline]
    fn instead<T>(
        &self,
        engine: &mut E,
        name: &CStr,
        mut make: impl FnMut(&mut E, &E::Dir) -> Result<T, LoadError>,
    ) -> Result<T, LoadError> {
        match make(engine, self.here()) {
            Err(error) if error.errno() == Some(libc::EEXIST) => {
                engine.unlink(self.here(), name)?;
                make(engine, self.here())
            }
            result => result,
        }
    }
}

/// Sets the attributes of a directory when it is left.
fn settle<E: Calls>(
    engine: &mut E,
    attribute_writer: &mut AttributeWriter,
    open: &Open<E>,
) -> Result<(), LoadError> {
    let target = Target::Directory(&open.dir);
    match &open.on_leave {
        LeaveAction::Nothing => Ok(()),
        LeaveAction::Times(meta) => engine.set_times(&target, Timestamp::OMIT, meta.modified),
        LeaveAction::All(meta, creation) => {
            attribute_writer.finish(engine, None, &target, meta, *creation)
        }
    }
}
