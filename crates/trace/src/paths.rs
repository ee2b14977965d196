//! The table of paths: each is a name in a directory that is already in the table.

use crate::check::Invalid;
use crate::{LinkTarget, MAX_PATHS};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// A path below the recorded tree. The tree itself is [`PathId::ROOT`].
///
/// A path names a place, not a file: after an unlink and a new file the number is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PathId(pub u32);

impl PathId {
    /// The recorded tree.
    pub const ROOT: Self = Self(0);
}

/// Longest name, bytes: `NAME_MAX`.
const MAX_NAME: usize = 255;

/// Longest path in the table, bytes: less than `PATH_MAX`, with room for a mount point.
const MAX_PATH: usize = 3072;

#[derive(Debug, Clone, Copy)]
struct Place {
    parent: PathId,
    /// Offset of the name in `names`.
    name: u32,
    length: u8,
    /// Bytes of the whole path.
    whole: u16,
    depth: u16,
}

/// All paths of a recording so far.
#[derive(Debug, Clone)]
pub struct Paths {
    places: Vec<Place>,
    names: Vec<u8>,
    /// Paths by the hash of directory and name. After a collision, by the next number.
    hashes: HashMap<u64, u32>,
    hasher: RandomState,
}

impl Default for Paths {
    fn default() -> Self {
        let root = Place {
            parent: PathId::ROOT,
            name: 0,
            length: 0,
            whole: 0,
            depth: 0,
        };
        Self {
            places: vec![root],
            names: Vec::new(),
            hashes: HashMap::new(),
            hasher: RandomState::new(),
        }
    }
}

impl Paths {
    /// Number of paths, with the root.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// Whether the path is in the table.
    pub fn contains(&self, path: PathId) -> bool {
        (path.0 as usize) < self.places.len()
    }

    /// A name in a directory, or where it would be in `hashes`.
    fn search(&self, parent: PathId, name: &[u8]) -> Result<PathId, u64> {
        let mut hash = self.hasher.hash_one((parent, name));
        loop {
            let known = self.hashes.get(&hash).map(|known| PathId(*known));
            match known {
                None => return Err(hash),
                Some(path) if self.parent(path) == Some(parent) && self.name(path) == name => {
                    return Ok(path);
                }
                Some(_) => hash = hash.wrapping_add(1),
            }
        }
    }

    /// The number of a name in a directory, if it is in the table.
    pub fn find(&self, parent: PathId, name: &[u8]) -> Option<PathId> {
        self.search(parent, name).ok()
    }

    /// Adds a name in a directory.
    ///
    /// # Errors
    /// The name is empty, `.` or `..`, contains `/` or NUL, or is too long; so is the path. Or it
    /// is in the table already.
    pub(crate) fn add(&mut self, parent: PathId, name: &[u8]) -> Result<PathId, Invalid> {
        let above = self.place(parent).ok_or(Invalid::NoSuchPath(parent.0))?;
        check_name(name)?;
        let hash = match self.search(parent, name) {
            Ok(known) => return Err(Invalid::PathTwice(known.0)),
            Err(hash) => hash,
        };
        let whole = usize::from(above.whole) + name.len() + 1;
        if whole > MAX_PATH {
            return Err(Invalid::LongPath);
        }
        let id = u32::try_from(self.places.len()).unwrap_or(u32::MAX);
        let offset = u32::try_from(self.names.len());
        let (Ok(offset), true) = (offset, id < MAX_PATHS) else {
            return Err(Invalid::Many("paths"));
        };
        self.places.push(Place {
            parent,
            name: offset,
            length: u8::try_from(name.len()).unwrap_or(u8::MAX),
            whole: u16::try_from(whole).unwrap_or(u16::MAX),
            depth: above.depth + 1,
        });
        self.names.extend_from_slice(name);
        self.hashes.insert(hash, id);
        Ok(PathId(id))
    }

    fn place(&self, path: PathId) -> Option<Place> {
        self.places.get(path.0 as usize).copied()
    }

    /// The last name of a path. Empty for the root.
    pub fn name(&self, path: PathId) -> &[u8] {
        self.place(path).map_or(&[], |place| {
            let start = place.name as usize;
            &self.names[start..start + usize::from(place.length)]
        })
    }

    /// The directory of a path. None for the root.
    pub fn parent(&self, path: PathId) -> Option<PathId> {
        let place = self.place(path)?;
        (path != PathId::ROOT).then_some(place.parent)
    }

    /// Number of directories between the root and the path: 0 for the root, 1 for a name in it.
    pub fn depth(&self, path: PathId) -> usize {
        self.place(path).map_or(0, |place| place.depth.into())
    }

    /// The path relative to the root: never absolute, without `.` and `..`. Empty for the root.
    pub fn path(&self, path: PathId) -> PathBuf {
        let mut names = Vec::new();
        let mut at = path;
        while let Some(parent) = self.parent(at) {
            names.push(self.name(at));
            at = parent;
        }
        names.reverse();
        PathBuf::from(OsString::from_vec(names.join(&b'/')))
    }

    pub fn is_below(&self, path: PathId, directory: PathId) -> bool {
        let mut at = Some(path);
        while let Some(path) = at {
            if path == directory {
                return true;
            }
            at = self.parent(path);
        }
        false
    }

    pub(crate) fn check_target(&self, link: PathId, target: &LinkTarget) -> Result<(), Invalid> {
        match target {
            LinkTarget::Inside(path) if self.contains(*path) => Ok(()),
            LinkTarget::Inside(path) => Err(Invalid::NoSuchPath(path.0)),
            LinkTarget::Outside { length } if (1..4096).contains(length) => Ok(()),
            LinkTarget::Outside { .. } => Err(Invalid::LinkLeavesTree),
            LinkTarget::Relative(text) => {
                let up = self.depth(link).saturating_sub(1);
                if stays_inside(text, up) {
                    Ok(())
                } else {
                    Err(Invalid::LinkLeavesTree)
                }
            }
        }
    }
}

/// Whether the text of a symbolic link stays in the tree: at most `up` leading `..`, then names.
/// A `..` after a name is not permitted, because the name could be a link itself.
pub fn stays_inside(text: &[u8], up: usize) -> bool {
    if text.is_empty() || text.len() > 4095 || text[0] == b'/' || text.contains(&0) {
        return false;
    }
    let mut parts = text.split(|byte| *byte == b'/').peekable();
    let mut ups = 0;
    while parts
        .next_if(|part| matches!(*part, b"" | b"." | b".."))
        .map(|part| {
            ups += usize::from(part == b"..");
        })
        .is_some()
    {}
    ups <= up && parts.all(|part| part != b".." && part.len() <= MAX_NAME)
}

fn check_name(name: &[u8]) -> Result<(), Invalid> {
    let plain = !name.is_empty() && !name.contains(&b'/') && !name.contains(&0);
    if !plain || name == b"." || name == b".." {
        return Err(Invalid::Name(String::from_utf8_lossy(name).into_owned()));
    }
    if name.len() > MAX_NAME {
        return Err(Invalid::LongPath);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_the_tree() {
        let mut paths = Paths::default();
        let dir = paths.add(PathId::ROOT, b"dir").unwrap();
        let file = paths.add(dir, b"file").unwrap();
        assert_eq!(paths.path(file), PathBuf::from("dir/file"));
        assert_eq!(paths.path(PathId::ROOT), PathBuf::new());
        assert!(paths.is_below(file, dir) && !paths.is_below(dir, file));
        for bad in [
            &b""[..],
            b".",
            b"..",
            b"a/b",
            b"/etc",
            b"a\0b",
            &[b'x'; 256],
        ] {
            assert!(paths.add(dir, bad).is_err(), "{bad:?}");
        }
        assert!(paths.add(PathId(9), b"x").is_err());
        assert_eq!(paths.find(dir, b"file"), Some(file));
        assert_eq!(paths.find(PathId::ROOT, b"file"), None);
        assert!(matches!(
            paths.add(dir, b"file"),
            Err(Invalid::PathTwice(2))
        ));
        let mut at = dir;
        let long = loop {
            match paths.add(at, &[b'x'; 200]) {
                Ok(deeper) => at = deeper,
                Err(error) => break error,
            }
        };
        assert!(matches!(long, Invalid::LongPath));
        assert!(paths.path(at).as_os_str().len() < 4096);
    }

    #[test]
    fn a_link_cannot_leave_the_tree() {
        assert!(stays_inside(b"a/./b", 0) && stays_inside(b"../a", 1) && stays_inside(b".", 0));
        assert!(stays_inside(b"./..//../a", 2));
        for bad in [&b"../a"[..], b"/a", b"", b"a/../b", b"a\0"] {
            assert!(!stays_inside(bad, 0), "{bad:?}");
        }
        assert!(!stays_inside(b"../../a", 1));
    }
}
