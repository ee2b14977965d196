//! Used and free space of the file system that holds a path.

use fsdyno_model::Bytes;
use rustix::fs::{StatVfs, statvfs};
use std::io;
use std::path::Path;

/// Space in use on the file system of a path.
pub fn used(path: &Path) -> io::Result<Bytes> {
    let all = statvfs(path)?;
    Ok(blocks(&all, all.f_blocks.saturating_sub(all.f_bfree)))
}

/// Space that a plain user may still fill on the file system of a path.
pub fn free(path: &Path) -> io::Result<Bytes> {
    let all = statvfs(path)?;
    Ok(blocks(&all, all.f_bavail))
}

fn blocks(all: &StatVfs, count: u64) -> Bytes {
    Bytes(count.saturating_mul(all.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_that_of_the_file_system() {
        let work_dir = tempfile::tempdir().unwrap();
        assert!(used(work_dir.path()).unwrap() > Bytes(0));
        assert!(free(work_dir.path()).is_ok());
        assert!(used(Path::new("/no/such/path")).is_err());
    }
}
