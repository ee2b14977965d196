//! Contents in a sparse file that occupies only the written ranges.

use super::Store;
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Contents in a file. The caller ensures that it is a regular file of this program.
#[derive(Debug)]
pub struct SparseFile {
    file: File,
    /// Zeros to write if the file system cannot punch holes.
    zeros: Box<[u8]>,
}

impl SparseFile {
    /// Creates a sparse file of this size. The name must not exist.
    pub fn create(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        file.set_len(bytes)?;
        Ok(Self::over(file))
    }

    /// Uses a file that is open for reading and writing.
    pub fn over(file: File) -> Self {
        Self {
            file,
            zeros: vec![0; 256 << 10].into_boxed_slice(),
        }
    }

    fn write_zeros(&self, at: u64, length: u64) -> io::Result<()> {
        let mut done = 0;
        while done < length {
            let part = (length - done).min(self.zeros.len() as u64);
            let zeros = &self.zeros[..usize::try_from(part).unwrap_or_default()];
            self.file.write_all_at(zeros, at + done)?;
            done += part;
        }
        Ok(())
    }
}

impl Store for SparseFile {
    fn read_at(&mut self, at: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            match self.file.read_at(&mut into[done..], at + done as u64) {
                // The file may end before the disk does.
                Ok(0) => {
                    into[done..].fill(0);
                    break;
                }
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn clear(&mut self, at: u64, length: u64) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, hole, at, length) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.write_zeros(at, length),
            done => Ok(done?),
        }
    }
}
