//! The steps of the phases: operations on files that are named by the parts of their paths.

use super::files::{self, DIRECTORY_MODE};
use super::paths::Part;
use super::workers::Worker;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::sample::Tally;
use std::ops::{Deref, DerefMut, Range};

/// One worker with its system calls, its directory, and the count of its work.
pub(super) struct Steps<'a, 'w, C: Calls> {
    pub calls: &'a mut C,
    pub home: &'a C::Dir,
    pub worker: &'a mut Worker<'w>,
    pub tally: &'a mut Tally,
}

impl<'w, C: Calls> Deref for Steps<'_, 'w, C> {
    type Target = Worker<'w>;

    fn deref(&self) -> &Self::Target {
        self.worker
    }
}

impl<C: Calls> DerefMut for Steps<'_, '_, C> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.worker
    }
}

impl<C: Calls> Steps<'_, '_, C> {
    /// The share of this worker in all items.
    pub fn items(&self) -> Range<usize> {
        self.share(self.inventory.items.len())
    }

    /// Counts a file and its bytes after an operation, and checks for cancellation.
    #[inline]
    pub fn ended(&mut self, bytes: u64) -> Result<(), LoadError> {
        self.worker.ended(self.tally, bytes)
    }

    pub fn stat(&mut self, parts: &[Part]) -> Result<(), LoadError> {
        let path = self.worker.buffers.path.path(parts);
        self.calls.stat(&Target::Entry(self.home, path)).map(drop)
    }

    pub fn exists(&mut self, parts: &[Part]) -> Result<bool, LoadError> {
        let path = self.worker.buffers.path.path(parts);
        self.calls.exists(self.home, path)
    }

    pub fn make_dir(&mut self, parts: &[Part]) -> Result<(), LoadError> {
        let path = self.worker.buffers.path.path(parts);
        self.calls.make_dir(self.home, path, DIRECTORY_MODE)
    }

    pub fn remove_dir(&mut self, parts: &[Part]) -> Result<(), LoadError> {
        let path = self.worker.buffers.path.path(parts);
        self.calls.remove_dir(self.home, path).map(drop)
    }

    pub fn unlink(&mut self, parts: &[Part]) -> Result<(), LoadError> {
        let path = self.worker.buffers.path.path(parts);
        self.calls.unlink(self.home, path)
    }

    pub fn rename(&mut self, from: &[Part], to: &[Part]) -> Result<(), LoadError> {
        let buffers = &mut *self.worker.buffers;
        let (from, to) = (buffers.path.path(from), buffers.other.path(to));
        self.calls.rename(self.home, from, to)
    }

    pub fn link(&mut self, from: &[Part], to: &[Part]) -> Result<(), LoadError> {
        let buffers = &mut *self.worker.buffers;
        let (from, to) = (buffers.path.path(from), buffers.other.path(to));
        self.calls.link((self.home, from), self.home, to)
    }

    /// Creates, writes and closes a file with content of `author`, the number of the file.
    pub fn create(&mut self, parts: &[Part], bytes: u64, author: usize) -> Result<(), LoadError> {
        let file = self.written(parts, bytes, author)?;
        self.calls.close(file)
    }

    /// The same, and makes the content durable before it closes the file.
    pub fn create_durable(
        &mut self,
        parts: &[Part],
        bytes: u64,
        author: usize,
    ) -> Result<(), LoadError> {
        let mut file = self.written(parts, bytes, author)?;
        self.calls.make_durable(&mut file)?;
        self.calls.close(file)
    }

    /// A new file with its content, open.
    fn written(&mut self, parts: &[Part], bytes: u64, author: usize) -> Result<C::File, LoadError> {
        let buffers = &mut *self.worker.buffers;
        let path = buffers.path.path(parts);
        let mut file = self.calls.create(self.home, path, files::MODE)?;
        files::fill(self.calls, &mut buffers.data, &mut file, bytes, author)?;
        Ok(file)
    }

    /// Opens, reads and closes a file; returns its bytes.
    pub fn read(&mut self, parts: &[Part]) -> Result<u64, LoadError> {
        let buffers = &mut *self.worker.buffers;
        let path = buffers.path.path(parts);
        files::read(self.calls, &mut buffers.read, self.home, path)
    }

    /// Makes the names in a directory durable.
    pub fn sync_dir(&mut self, parts: &[Part]) -> Result<(), LoadError> {
        let dir = self
            .calls
            .open_dir(self.home, self.worker.buffers.path.path(parts))?;
        self.calls.make_dir_durable(&dir)?;
        self.calls.close_dir(dir);
        Ok(())
    }

    /// Reads all names of a directory.
    pub fn list(&mut self, parts: &[Part]) -> Result<(), LoadError> {
        let buffers = &mut *self.worker.buffers;
        let mut dir = self.calls.open_dir(self.home, buffers.path.path(parts))?;
        buffers.listing.begin(true);
        while self.calls.list(&mut dir, &mut buffers.listing)? {}
        self.calls.close_dir(dir);
        Ok(())
    }
}
