use crate::random;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// A directory of mode 0700 with an unpredictable name. It is removed, with its contents, with this value.
#[derive(Debug)]
pub struct TemporaryDir(PathBuf);

impl TemporaryDir {
    /// Creates it in this directory, with a name that begins with `prefix`.
    pub fn create(parent: &Path, prefix: &str) -> io::Result<Self> {
        let name = format!("{prefix}{:016x}", u64::from_ne_bytes(random()?));
        let path = std::path::absolute(parent)?.join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn is_of_its_user_alone_and_removed_with_its_contents() {
        let parent = tempfile::tempdir().unwrap();
        let [one, other] = [(); 2].map(|()| TemporaryDir::create(parent.path(), "work-").unwrap());
        assert_ne!(one.path(), other.path());
        assert_eq!(
            one.path().metadata().unwrap().permissions().mode() & 0o777,
            0o700
        );
        fs::create_dir(one.path().join("a")).unwrap();
        fs::write(one.path().join("a/b"), "contents").unwrap();
        drop((one, other));
        assert_eq!(parent.path().read_dir().unwrap().count(), 0);
    }
}
