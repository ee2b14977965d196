//! Opens files below the tree.

use super::{Call, Done, PERMISSIONS, open_beneath};
use crate::descriptor::Descriptor;
use fsdyno_trace::{Object, PathId};
use rustix::fd::AsRawFd as _;
use rustix::fs::{self, Mode, OFlags, SeekFrom};
use std::sync::Arc;

/// The flags of open(2) that a replay passes on.
const OPEN_FLAGS: i32 = libc::O_ACCMODE
    | libc::O_CREAT
    | libc::O_EXCL
    | libc::O_TRUNC
    | libc::O_APPEND
    | libc::O_DSYNC
    | libc::O_SYNC
    | libc::O_DIRECT
    | libc::O_DIRECTORY
    | libc::O_NOFOLLOW
    | libc::O_NOATIME
    | libc::O_TMPFILE;

const PATH_FLAGS: i32 = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW;

/// The flags of open(2) as a replay passes them: it never waits for the other end of a FIFO, and no
/// terminal becomes its own.
fn open_flags(recorded: u32) -> OFlags {
    let recorded = recorded.cast_signed();
    let flags = if recorded & libc::O_PATH != 0 {
        recorded & PATH_FLAGS
    } else {
        recorded & OPEN_FLAGS | libc::O_NONBLOCK | libc::O_NOCTTY
    };
    OFlags::from_bits_retain(flags.cast_unsigned()) | OFlags::CLOEXEC
}

/// The name of a descriptor of this process. It leads to the file of a replay, below the tree.
pub(super) fn by_descriptor(file: &Descriptor) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

impl Call<'_, '_> {
    /// The object as a descriptor that is more than a path.
    pub(super) fn to_read(&self, object: Object) -> rustix::io::Result<Arc<Descriptor>> {
        match object {
            Object::Handle(_) => self.handle(0),
            Object::Path(path) | Object::NoFollow(path) => {
                let mut flags = OFlags::RDONLY | OFlags::NONBLOCK;
                if matches!(object, Object::NoFollow(_)) {
                    flags |= OFlags::NOFOLLOW;
                }
                self.open_path(0, path, flags, 0).map(Arc::new)
            }
        }
    }

    pub(super) fn open_path(
        &self,
        place: usize,
        path: PathId,
        flags: OFlags,
        mode: u32,
    ) -> rustix::io::Result<Descriptor> {
        let flags = flags | OFlags::CLOEXEC;
        if self.step.resolved.places[place].followed {
            return self.stage.open_below(path, flags, mode);
        }
        let directory = self.parent(place, path)?;
        open_beneath(directory, self.stage.name(path), flags, mode)
    }

    pub(super) fn open(&self, path: PathId, recorded: u32, mode: u32) -> Done {
        let flags = open_flags(recorded);
        let creates = flags.contains(OFlags::CREATE) || flags.contains(OFlags::TMPFILE);
        let mode = if creates { mode & PERMISSIONS } else { 0 };
        let open = self.open_path(0, path, flags, mode)?;
        if self.recorded >= 0 {
            self.stage
                .handles
                .set(self.numbers()[0], Some(Arc::new(open)));
        }
        Ok(Some(0))
    }

    /// Opens the file of a descriptor again.
    pub(super) fn reopen(&self, recorded: u32) -> Done {
        let kept = (libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW).cast_unsigned();
        let flags = open_flags(recorded & !kept);
        let of = self.handle(0)?;
        let open = fs::open(by_descriptor(&of), flags, Mode::empty())?;
        if self.recorded >= 0 {
            let place = self.numbers()[1];
            self.stage.handles.set(place, Some(Arc::new(open.into())));
        }
        Ok(Some(0))
    }

    /// Opens a file that was open before the recording, or arrived over a socket.
    pub(super) fn inherit(&self, path: PathId, recorded: u32, position: u64) -> Done {
        let kept = (libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC).cast_unsigned();
        self.open(path, recorded & !kept, 0)?;
        if position > 0 {
            fs::seek(self.handle(0)?, SeekFrom::Start(position))?;
        }
        Ok(None)
    }
}
