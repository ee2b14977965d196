//! The arguments of a call, as the tracker reads them: paths in the tree, and descriptors.

use super::{Found, Tracker};
use crate::calls::Call;
use crate::tracker::files::Description;
use fsdyno_trace::{Handle, MAX_NUMBER, MAX_TRANSFER, Object, PathId};
use std::io::{self, Write};
use std::rc::Rc;

/// The working directory as a descriptor.
const AT_FDCWD: i32 = libc::AT_FDCWD;

/// The reason why a call is not recorded: an argument outside the tree, or a counted call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Skip {
    /// The call concerns nothing in the tree.
    Outside,
    /// Already counted.
    Counted,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InTree {
    pub id: PathId,
    pub relative: Vec<u8>,
    pub found: Found,
}

/// The descriptor in an argument: the kernel takes its lower half.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn descriptor(value: u64) -> i32 {
    (value as u32).cast_signed()
}

/// Flags and modes: the kernel takes the lower half.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn flags(value: u64) -> u32 {
    value as u32
}

/// Whether a flag is set.
pub(super) fn has(value: u64, flag: libc::c_int) -> bool {
    flags(value) & flag.unsigned_abs() != 0
}

/// A length of a transfer: the kernel shortens longer ones.
pub(super) fn transferred(value: u64) -> u64 {
    value.min(MAX_TRANSFER)
}

/// An offset or a length of a file. A negative one becomes the largest, which fails as well.
pub(super) fn offset(value: u64) -> u64 {
    value.min(MAX_NUMBER)
}

impl<W: Write> Tracker<W> {
    /// The description of a descriptor of the caller.
    pub(super) fn description(&self, tid: i32, number: i32) -> Option<Rc<Description>> {
        if let Some((_, held)) = self.held.iter().find(|(held, _)| *held == number) {
            return Some(held.clone());
        }
        let files = self.tasks.get(&tid)?.files.borrow();
        files.0.get(&number).map(|found| found.description.clone())
    }

    /// The open file of the tree in an argument.
    pub(super) fn handle(&self, call: &Call, argument: usize) -> Result<Handle, Skip> {
        let found = self.description(call.tid, descriptor(call.args[argument]));
        found.and_then(|found| found.handle).ok_or(Skip::Outside)
    }

    /// Resolves the path in a string argument. `directory` is the position of a descriptor that it
    /// is relative to; none for the working directory.
    pub(super) fn found(
        &mut self,
        call: &Call,
        text: usize,
        directory: Option<usize>,
        follow: bool,
    ) -> Result<Found, Skip> {
        let Some(path) = &call.texts[text] else {
            if call.result != -i64::from(libc::EFAULT) {
                self.not_known("calls whose path could not be read");
            }
            return Err(Skip::Counted);
        };
        let task = self.tasks.get(&call.tid).ok_or(Skip::Outside)?;
        let directories = Rc::clone(&task.directories);
        let pid = task.tgid;
        // The kernel does not resolve an empty path.
        if path.is_empty() {
            return Err(Skip::Outside);
        }
        let places = directories.borrow();
        let number = directory.map_or(AT_FDCWD, |at| descriptor(call.args[at]));
        let opened = self.description(call.tid, number);
        let opened = opened.as_ref().map(|found| found.path.borrow());
        let base = if number == AT_FDCWD {
            Some(&places.working[..])
        } else {
            opened.as_ref().map(|path| &path[..])
        };
        let found = self.links.find(pid, &places, base, path, follow);
        found.ok_or(Skip::Outside)
    }

    /// The path of the tree in an argument; see [`Tracker::found`].
    pub(super) fn path(
        &mut self,
        call: &Call,
        text: usize,
        directory: Option<usize>,
        follow: bool,
    ) -> io::Result<Result<InTree, Skip>> {
        match self.found(call, text, directory, follow) {
            Ok(found) => self.in_tree(found),
            Err(skip) => Ok(Err(skip)),
        }
    }

    /// The number of what was found, if both the name and what it leads to are in the tree.
    pub(super) fn in_tree(&mut self, found: Found) -> io::Result<Result<InTree, Skip>> {
        if self.links.relative(&found.real).is_none() {
            return Ok(Err(Skip::Outside));
        }
        let Some(relative) = self.links.relative(&found.named).map(<[u8]>::to_vec) else {
            return Ok(Err(Skip::Outside));
        };
        Ok(match self.id(&relative)? {
            Some(id) => Ok(InTree {
                id,
                relative,
                found,
            }),
            None => Err(Skip::Counted),
        })
    }

    /// The object of a call with a path, or with an empty path and a descriptor (`AT_EMPTY_PATH`).
    pub(super) fn object(
        &mut self,
        call: &Call,
        text: usize,
        directory: Option<usize>,
        follow: bool,
    ) -> io::Result<Result<Object, Skip>> {
        let empty = call.texts[text].as_ref().is_some_and(Vec::is_empty);
        // utimensat takes a null pointer for the descriptor itself.
        let null = call.texts[text].is_none() && directory.is_some() && call.args[1] == 0;
        if let Some(at) = directory.filter(|_| empty || null) {
            return Ok(self.handle(call, at).map(Object::Handle));
        }
        let found = match self.found(call, text, directory, follow) {
            Ok(found) => found,
            Err(skip) => return Ok(Err(skip)),
        };
        // A name of /proc for a descriptor leads to its file, which may have no name any more.
        if let Some((pid, number)) = found.descriptor
            && let Some(file) = self.description(pid, number)
        {
            return Ok(file.handle.map(Object::Handle).ok_or(Skip::Outside));
        }
        Ok(self.in_tree(found)?.map(|path| {
            if follow {
                Object::Path(path.id)
            } else {
                Object::NoFollow(path.id)
            }
        }))
    }
}
