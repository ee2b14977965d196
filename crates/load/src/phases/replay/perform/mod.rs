//! Performs the operations of a recording below one directory.
//!
//! Paths of a recording may be hostile. Each is resolved by openat2(2) with `RESOLVE_BENEATH` and
//! `RESOLVE_NO_MAGICLINKS`, or is a single name in a directory that was, without following a link.
//! No device is created or opened, no file becomes set-user-ID, and sync(2) becomes syncfs(2).

mod inodes;
mod mappings;
mod names;
mod opens;
mod transfers;

use super::plan::{Plan, Step};
use crate::buffer::Buffer;
use crate::descriptor::Descriptor;
use fsdyno_datasets::recorded::Place;
use fsdyno_trace::{Action, Object, Operation, PathId, Paths};
use mappings::Mapped;
use rustix::fd::AsFd;
use rustix::fs::{self, AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The maximum length of a transfer in one system call; longer ones take several.
pub(in crate::phases::replay) const PIECE: usize = 1 << 20;

/// The permission bits that are kept.
const PERMISSIONS: u32 = 0o1777;

/// The tree of a replay, with its open files. All workers share it.
pub(in crate::phases::replay) struct Stage<'a> {
    root: Arc<Descriptor>,
    paths: &'a Paths,
    /// The last name of each path.
    names: Vec<CString>,
    /// The directories of the tree that are open, by their inodes in the model.
    directories: Slots<Descriptor>,
    /// The number of further directories that may stay open.
    room: AtomicUsize,
    handles: Slots<Descriptor>,
    mappings: Slots<Mapped>,
    /// The data that are written.
    content: &'a Buffer,
}

/// Descriptors or mappings by number. The worker that performs an operation keeps the descriptor
/// until its end, so that no other file gets its number meanwhile.
struct Slots<T>(Box<[Slot<T>]>);

type Slot<T> = Mutex<Option<Arc<T>>>;

impl<T> Slots<T> {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::new(None)).collect())
    }

    fn slot(&self, number: Option<u32>) -> Option<&Slot<T>> {
        self.0.get(number? as usize)
    }

    fn get(&self, number: Option<u32>) -> rustix::io::Result<Arc<T>> {
        let slot = self.slot(number).ok_or(Errno::BADF)?;
        let held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        held.clone().ok_or(Errno::BADF)
    }

    fn set(&self, number: Option<u32>, value: Option<Arc<T>>) -> Option<Arc<T>> {
        let slot = self.slot(number)?;
        let mut held = slot.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *held, value)
    }
}

/// The result of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::phases::replay) enum Outcome {
    /// The return value, an error as its negative number.
    Returned(i64),
    NotRepeated,
}

/// The object of an operation: a name in a directory, which is not followed, or an open file, as the
/// empty name.
struct Target<'s> {
    at: Arc<Descriptor>,
    name: &'s CStr,
    flags: AtFlags,
}

impl Target<'_> {
    fn file(at: Arc<Descriptor>) -> Self {
        Self {
            at,
            name: c"",
            flags: AtFlags::EMPTY_PATH,
        }
    }

    fn is_name(&self) -> bool {
        !self.name.is_empty()
    }
}

impl<'a> Stage<'a> {
    /// Opens the tree. At most so many directories stay open.
    pub fn new(
        root: Descriptor,
        paths: &'a Paths,
        plan: &Plan,
        content: &'a Buffer,
        most_directories: usize,
    ) -> Self {
        let ids = 0..u32::try_from(paths.count()).unwrap_or(u32::MAX);
        let name = |id| match paths.name(PathId(id)) {
            b"" => CString::from(c"."),
            name => CString::new(name).unwrap_or_default(),
        };
        Self {
            root: Arc::new(root),
            names: ids.map(name).collect(),
            paths,
            directories: Slots::new(plan.nodes),
            room: AtomicUsize::new(most_directories),
            handles: Slots::new(plan.handles),
            mappings: Slots::new(plan.mappings),
            content,
        }
    }

    /// Performs an operation. `number` is its number, which chooses the data that it writes.
    pub fn perform(
        &self,
        number: usize,
        operation: &Operation,
        step: &Step,
        buffer: &mut [u8],
    ) -> Outcome {
        let mut call = Call {
            stage: self,
            number,
            step,
            recorded: operation.result,
            buffer,
        };
        match call.perform(&operation.action) {
            Ok(Some(value)) => Outcome::Returned(i64::try_from(value).unwrap_or(i64::MAX)),
            Ok(None) => Outcome::NotRepeated,
            Err(errno) => Outcome::Returned(-i64::from(errno.raw_os_error())),
        }
    }

    /// Opens a path below the root.
    fn open_below(&self, path: PathId, flags: OFlags, mode: u32) -> rustix::io::Result<Descriptor> {
        let text = self.paths.path(path);
        let text = text.as_os_str().as_bytes();
        let text = if text.is_empty() { b"." } else { text };
        open_beneath(&*self.root, text, flags, mode)
    }

    fn directory(&self, place: Place, path: PathId) -> rustix::io::Result<Arc<Descriptor>> {
        let above = match self.paths.parent(path) {
            None | Some(PathId::ROOT) => return Ok(Arc::clone(&self.root)),
            Some(above) => above,
        };
        if let Ok(open) = self.directories.get(place.directory) {
            return Ok(open);
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = Arc::new(self.open_below(above, flags, 0)?);
        let take = |room: usize| room.checked_sub(1);
        let (set, get) = (Ordering::Relaxed, Ordering::Relaxed);
        if place.directory.is_some() && self.room.fetch_update(set, get, take).is_ok() {
            self.directories
                .set(place.directory, Some(Arc::clone(&open)));
        }
        Ok(open)
    }

    fn name(&self, path: PathId) -> &CStr {
        self.names.get(path.0 as usize).map_or(c".", |name| name)
    }
}

/// `openat2` that does not leave the directory.
fn open_beneath(
    directory: impl AsFd,
    path: impl rustix::path::Arg,
    flags: OFlags,
    mode: u32,
) -> rustix::io::Result<Descriptor> {
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    fs::openat2(directory, path, flags, Mode::from_raw_mode(mode), within).map(Descriptor::from)
}

/// One operation being performed.
struct Call<'c, 'a> {
    stage: &'c Stage<'a>,
    number: usize,
    step: &'c Step,
    recorded: i64,
    buffer: &'c mut [u8],
}

type Done = rustix::io::Result<Option<u64>>;

fn done(result: rustix::io::Result<()>) -> Done {
    result.map(|()| Some(0))
}

impl Call<'_, '_> {
    fn perform(&mut self, action: &Action) -> Done {
        match action {
            Action::Open {
                path, flags, mode, ..
            } => self.open(*path, *flags, *mode),
            Action::Inherit {
                path,
                flags,
                position,
                ..
            } => self.inherit(*path, *flags, *position),
            Action::Reopen { flags, .. } => self.reopen(*flags),
            Action::Close { .. } => {
                let closed = self.stage.handles.set(self.numbers()[0], None);
                closed.map(|_| Some(0)).ok_or(Errno::BADF)
            }
            Action::Wait { .. } => Ok(None),
            other => self.on_data(other),
        }
    }

    fn numbers(&self) -> [Option<u32>; 2] {
        self.step.resolved.numbers
    }

    fn handle(&self, place: usize) -> rustix::io::Result<Arc<Descriptor>> {
        self.stage.handles.get(self.numbers()[place])
    }

    /// The directory of a path of the operation.
    fn parent(&self, place: usize, path: PathId) -> rustix::io::Result<Arc<Descriptor>> {
        self.stage.directory(self.step.resolved.places[place], path)
    }

    /// Closes the directory that the operation removes: an open one would keep its inode.
    fn release(&self) {
        if self.recorded >= 0
            && let Some(node) = self.step.resolved.removes
            && self.stage.directories.set(Some(node), None).is_some()
        {
            self.stage.room.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn target(&self, object: Object) -> rustix::io::Result<Target<'_>> {
        let path = match object {
            Object::Handle(_) => return self.handle(0).map(Target::file),
            Object::Path(path) | Object::NoFollow(path) => path,
        };
        if self.step.resolved.places[0].followed {
            let flags = OFlags::PATH | OFlags::CLOEXEC;
            let open = self.stage.open_below(path, flags, 0)?;
            return Ok(Target::file(Arc::new(open)));
        }
        Ok(Target {
            at: self.parent(0, path)?,
            name: self.stage.name(path),
            flags: AtFlags::SYMLINK_NOFOLLOW,
        })
    }
}
