//! Transfers, and other operations on open files and directories.

use super::{Call, Done, PIECE, done};
use crate::phases::replay::calls;
use fsdyno_files::uninterrupted;
use fsdyno_trace::Action;
use rustix::fs::{self, FallocateFlags, Mode, OFlags, SeekFrom};
use rustix::io::{Errno, ReadWriteFlags};
use std::io::{IoSlice, IoSliceMut};

/// The minimum length of a read that reached the end of its file in the recording.
const PAST_END: u64 = 128 << 10;

/// Errors of transfers whose cause is not in the tree: such a transfer is not repeated.
const TRANSIENT: [i32; 8] = [
    libc::EAGAIN,
    libc::EINTR,
    libc::EFAULT,
    libc::EBADF,
    libc::EIO,
    libc::ENOMEM,
    libc::ENOSPC,
    libc::EDQUOT,
];

impl Call<'_, '_> {
    /// Operations on the data of open files, and on the entries of open directories.
    pub(super) fn on_data(&mut self, action: &Action) -> Done {
        match action {
            Action::Read {
                offset,
                length,
                flags,
                ..
            } => self.read(*offset, *length, *flags),
            Action::SendFile {
                offset,
                length,
                to: None,
                ..
            }
            | Action::SpliceFrom { offset, length, .. } => self.read(*offset, *length, 0),
            Action::Write { offset, flags, .. } => self.write(*offset, *flags),
            Action::SpliceTo { offset, .. } => self.write(*offset, 0),
            Action::Seek { offset, whence, .. } => self.seek(*offset, *whence),
            Action::Fsync { .. } => done(fs::fsync(self.handle(0)?)),
            Action::Fdatasync { .. } => done(fs::fdatasync(self.handle(0)?)),
            Action::SyncRange {
                offset,
                length,
                flags,
                ..
            } => calls::sync_range(self.handle(0)?, *offset, *length, *flags).map(Some),
            // Only the file system under test.
            Action::SyncFs { .. } | Action::Sync {} => {
                let root = fs::openat(
                    &*self.stage.root,
                    c".",
                    OFlags::RDONLY | OFlags::CLOEXEC,
                    Mode::empty(),
                )?;
                done(fs::syncfs(root))
            }
            Action::TruncateHandle { length, .. } => done(fs::ftruncate(self.handle(0)?, *length)),
            Action::Allocate {
                mode,
                offset,
                length,
                ..
            } => self.allocate(*mode, *offset, *length),
            Action::Advise {
                offset,
                length,
                advice,
                ..
            } => calls::advise(self.handle(0)?, *offset, *length, *advice).map(Some),
            Action::ReadAhead { offset, length, .. } => {
                let length = usize::try_from(*length).unwrap_or(usize::MAX);
                calls::read_ahead(self.handle(0)?, *offset, length).map(Some)
            }
            Action::Copy {
                from_offset,
                to_offset,
                ..
            } => self.copy(*from_offset, *to_offset),
            Action::SendFile { offset, .. } => self.copy(*offset, None),
            Action::Clone {
                from_offset,
                to_offset,
                length,
                ..
            } => self.clone_range(*from_offset, *to_offset, *length),
            Action::ReadDirectory { length, .. } => self.list(*length),
            Action::GetFlags { extended, .. } => {
                calls::flags(self.handle(0)?, *extended).map(|_| Some(0))
            }
            Action::SetFlags {
                flags, extended, ..
            } => calls::set_flags(self.handle(0)?, *flags, *extended).map(Some),
            other => self.on_mapping(other),
        }
    }

    /// Whether a transfer failed for a reason that is not in the tree.
    fn is_transient(&self) -> bool {
        self.recorded < 0
            && TRANSIENT
                .iter()
                .any(|errno| self.recorded == -i64::from(*errno))
    }

    fn read(&mut self, offset: Option<u64>, length: u64, flags: u32) -> Done {
        if self.is_transient() {
            return Ok(None);
        }
        let file = self.handle(0)?;
        let returned = u64::try_from(self.recorded).unwrap_or(0);
        let wanted = length.min(returned.max(PAST_END));
        let flags = ReadWriteFlags::from_bits_retain(flags) & ReadWriteFlags::HIPRI;
        let mut total = 0;
        loop {
            let left = usize::try_from(wanted - total).unwrap_or(PIECE);
            let left = left.min(self.buffer.len());
            let into = &mut self.buffer[..left];
            let at = offset.map(|offset| offset.saturating_add(total));
            let read = match at {
                _ if !flags.is_empty() => {
                    let mut vectors = [IoSliceMut::new(into)];
                    rustix::io::preadv2(&file, &mut vectors, at.unwrap_or(u64::MAX), flags)
                }
                Some(at) => uninterrupted(|| rustix::io::pread(&file, &mut *into, at)),
                None => uninterrupted(|| rustix::io::read(&file, &mut *into)),
            };
            let read = match read {
                Ok(read) => read,
                Err(_) if total > 0 => return Ok(Some(total)),
                Err(errno) => return Err(errno),
            };
            total += read as u64;
            if read < left || total >= wanted {
                return Ok(Some(total));
            }
        }
    }

    /// The data of a write: another part in each operation, so that blocks differ.
    pub(super) fn data(&self, at: u64, length: usize) -> &[u8] {
        const STEP: usize = 4096;
        let steps = (self.stage.content.len() - PIECE) / STEP;
        let at = usize::try_from(at).unwrap_or(0) / PIECE;
        let from = self
            .number
            .wrapping_mul(31)
            .wrapping_add(at.wrapping_mul(7))
            % steps
            * STEP;
        &self.stage.content[from..from + length.min(PIECE)]
    }

    fn write(&self, offset: Option<u64>, flags: u32) -> Done {
        let Ok(wanted) = u64::try_from(self.recorded) else {
            // It changed nothing in the recording. Here it could change the tree.
            return Ok(None);
        };
        let file = self.handle(0)?;
        let passed = ReadWriteFlags::DSYNC
            | ReadWriteFlags::SYNC
            | ReadWriteFlags::HIPRI
            | ReadWriteFlags::APPEND;
        let flags = ReadWriteFlags::from_bits_retain(flags) & passed;
        let mut total = 0;
        loop {
            let left = usize::try_from(wanted - total).unwrap_or(PIECE);
            let data = self.data(total, left);
            let at = offset.map(|offset| offset.saturating_add(total));
            let written = match at {
                _ if !flags.is_empty() => {
                    let at = at.unwrap_or(u64::MAX);
                    rustix::io::pwritev2(&file, &[IoSlice::new(data)], at, flags)
                }
                Some(at) => uninterrupted(|| rustix::io::pwrite(&file, data, at)),
                None => uninterrupted(|| rustix::io::write(&file, data)),
            };
            let written = match written {
                Ok(written) => written,
                Err(_) if total > 0 => return Ok(Some(total)),
                Err(errno) => return Err(errno),
            };
            total += written as u64;
            if total >= wanted || written == 0 {
                return Ok(Some(total));
            }
        }
    }

    fn seek(&self, offset: i64, whence: u32) -> Done {
        let start = u64::try_from(offset);
        let to = match whence.cast_signed() {
            libc::SEEK_SET => SeekFrom::Start(start.map_err(|_| Errno::INVAL)?),
            libc::SEEK_CUR => SeekFrom::Current(offset),
            libc::SEEK_END => SeekFrom::End(offset),
            libc::SEEK_DATA => SeekFrom::Data(start.map_err(|_| Errno::NXIO)?),
            libc::SEEK_HOLE => SeekFrom::Hole(start.map_err(|_| Errno::NXIO)?),
            _ => return Err(Errno::INVAL),
        };
        fs::seek(self.handle(0)?, to).map(Some)
    }

    fn allocate(&self, mode: u32, offset: u64, length: u64) -> Done {
        if self.recorded < 0 {
            return Ok(None);
        }
        let mode = FallocateFlags::from_bits_retain(mode);
        done(fs::fallocate(self.handle(0)?, mode, offset, length))
    }

    fn copy(&self, mut from_offset: Option<u64>, mut to_offset: Option<u64>) -> Done {
        let Ok(wanted) = u64::try_from(self.recorded) else {
            return Ok(None);
        };
        let (from, to) = (self.handle(0)?, self.handle(1)?);
        let mut total = 0;
        while total < wanted {
            let left = usize::try_from(wanted - total).unwrap_or(usize::MAX);
            let (from_at, to_at) = (from_offset.as_mut(), to_offset.as_mut());
            match fs::copy_file_range(&from, from_at, &to, to_at, left) {
                Ok(0) => break,
                Ok(copied) => total += copied as u64,
                Err(_) if total > 0 => break,
                Err(errno) => return Err(errno),
            }
        }
        Ok(Some(total))
    }

    fn clone_range(&self, from_offset: u64, to_offset: u64, length: u64) -> Done {
        if self.recorded < 0 {
            return Ok(None);
        }
        let (from, to) = (self.handle(0)?, self.handle(1)?);
        calls::clone_range(from, from_offset, to, to_offset, length).map(Some)
    }

    /// Reads a part of a directory; or, if the recording reached its end, all the rest: file
    /// systems divide their lists differently.
    fn list(&mut self, length: u64) -> Done {
        let directory = self.handle(0)?;
        let length = usize::try_from(length).unwrap_or(PIECE);
        let length = length.min(self.buffer.len());
        loop {
            let got = calls::list(&directory, &mut self.buffer[..length])?;
            if got == 0 || self.recorded != 0 {
                return Ok(Some(got));
            }
        }
    }
}
