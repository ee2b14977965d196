//! Compares a tree with the one at the end of a recording: names, types, sizes, hard links and the
//! targets of symbolic links.

use super::model::{Kind, Map, Model, NodeId, ROOT};
use super::{Recording, link_text};
use crate::entry::{self, DEEPEST};
use crate::trees::{Comparison, TreeError};
use fsdyno_model::CancelToken;
use fsdyno_trace::LinkTarget;
use rustix::fd::OwnedFd;
use rustix::fs::{self, CWD, FileType};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Compares the tree at `root` with the end of a recording.
pub fn compare(
    recording: &Recording,
    root: &Path,
    stop: &CancelToken,
) -> Result<Comparison, TreeError> {
    let mut comparer = Comparer {
        model: &Model::at_end(recording),
        recording,
        root,
        at: PathBuf::new(),
        inodes: Map::default(),
        nodes: Map::default(),
        found: Comparison::default(),
        stop,
    };
    let directory = entry::open_directory(CWD, root)
        .map_err(|errno| TreeError::io("open", root.to_owned(), errno))?;
    comparer.directory(ROOT, &directory, 0)?;
    Ok(comparer.found)
}

struct Comparer<'a> {
    model: &'a Model<'a>,
    recording: &'a Recording,
    root: &'a Path,
    at: PathBuf,
    /// The inode of each node of the model, and the reverse.
    inodes: Map<NodeId, u64>,
    nodes: Map<u64, NodeId>,
    found: Comparison,
    stop: &'a CancelToken,
}

impl Comparer<'_> {
    fn failed(&self, operation: &'static str, errno: Errno) -> TreeError {
        TreeError::io(operation, self.root.join(&self.at), errno)
    }

    fn directory(
        &mut self,
        node: NodeId,
        directory: &OwnedFd,
        depth: usize,
    ) -> Result<(), TreeError> {
        let Kind::Directory { entries, .. } = &self.model.nodes[node as usize].kind else {
            return Ok(());
        };
        if depth >= DEEPEST {
            return Err(self.failed("descend below", Errno::NAMETOOLONG));
        }
        let names = entry::names(directory).map_err(|errno| self.failed("list", errno))?;
        let mut here = BTreeSet::from_iter(names);
        let mut expected: Vec<(CString, NodeId)> = entries
            .iter()
            .map(|(name, node)| {
                let name = CString::new(self.model.text(*name)).unwrap_or_default();
                (name, *node)
            })
            .collect();
        expected.sort_unstable();
        for (name, node) in expected {
            self.at.push(OsStr::from_bytes(name.to_bytes()));
            if here.remove(&name) {
                self.entry(node, directory, &name, depth)?;
            } else {
                self.found.differ(&self.at, "is missing");
            }
            self.at.pop();
        }
        for name in here {
            let path = self.at.join(OsStr::from_bytes(name.to_bytes()));
            self.found.differ(&path, "is not in the recording");
        }
        Ok(())
    }

    fn entry(
        &mut self,
        node: NodeId,
        directory: &OwnedFd,
        name: &CString,
        depth: usize,
    ) -> Result<(), TreeError> {
        self.stop.check()?;
        let stat = entry::stat(directory, name).map_err(|errno| self.failed("examine", errno))?;
        let kind = entry::kind(&stat);
        let model = self.model;
        let expected = &model.nodes[node as usize];
        match (&expected.kind, kind) {
            (Kind::Directory { .. }, FileType::Directory) => {
                self.found.directories += 1;
                let below = entry::open_directory(directory, name)
                    .map_err(|errno| self.failed("open", errno))?;
                return self.directory(node, &below, depth + 1);
            }
            (Kind::File(file), FileType::RegularFile) => {
                let size = entry::size(&stat);
                if size != file.size {
                    let what = format!("has {size} bytes, and {} in the recording", file.size);
                    self.found.differ(&self.at, what);
                }
                self.found.bytes.0 = self.found.bytes.0.saturating_add(size);
                self.links(node, stat.st_ino);
            }
            (Kind::Symlink(target), FileType::Symlink) => self.target(target, directory, name)?,
            (Kind::Other, FileType::Fifo | FileType::Socket | FileType::CharacterDevice) => {}
            _ => self
                .found
                .differ(&self.at, "is of another type than in the recording"),
        }
        self.found.files += 1;
        Ok(())
    }

    /// Whether names of the same file in the recording are names of the same file here.
    fn links(&mut self, node: NodeId, inode: u64) {
        let one = *self.inodes.entry(node).or_insert(inode);
        let other = *self.nodes.entry(inode).or_insert(node);
        if (one, other) != (inode, node) {
            self.found.differ(
                &self.at,
                "is a hard link of other files than in the recording",
            );
        }
    }

    fn target(
        &mut self,
        target: &LinkTarget,
        directory: &OwnedFd,
        name: &CString,
    ) -> Result<(), TreeError> {
        let text = fs::readlinkat(directory, name, Vec::new())
            .map_err(|errno| self.failed("read the link", errno))?;
        // The text of an absolute link depends on where it was created.
        let relative = matches!(target, LinkTarget::Relative(_) | LinkTarget::Outside { .. });
        let expected = link_text(&self.recording.paths, fsdyno_trace::PathId::ROOT, target);
        if relative && text.to_bytes() != expected {
            self.found
                .differ(&self.at, "the symbolic link has another target");
        }
        Ok(())
    }
}
