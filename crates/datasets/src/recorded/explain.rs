//! Whether the operations of a recording explain the tree at its end. If not, other programs changed
//! the tree, or not all operations were recorded.

use super::Recording;
use super::model::{Kind, Map, Model, NodeId, ROOT};
use crate::trees::Comparison;
use fsdyno_trace::LinkTarget;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Compares the tree that the operations leave with the one that was there at the end; none if that
/// was not recorded.
pub fn unexplained(recording: &Recording) -> Option<Comparison> {
    if recording.last_entries.is_empty() {
        return None;
    }
    let mut explainer = Explainer {
        left: &Model::after(recording),
        was: &Model::at_end(recording),
        at: PathBuf::new(),
        left_links: Map::default(),
        was_links: Map::default(),
        found: Comparison::default(),
    };
    explainer.directory(ROOT, ROOT);
    Some(explainer.found)
}

struct Explainer<'m> {
    left: &'m Model<'m>,
    was: &'m Model<'m>,
    at: PathBuf,
    /// Files with several names: the same file in the other tree.
    left_links: Map<NodeId, NodeId>,
    was_links: Map<NodeId, NodeId>,
    found: Comparison,
}

fn names<'m>(model: &'m Model<'_>, directory: NodeId) -> BTreeMap<&'m [u8], NodeId> {
    let Kind::Directory { entries, .. } = &model.nodes[directory as usize].kind else {
        return BTreeMap::new();
    };
    let named = entries
        .iter()
        .map(|(name, node)| (model.text(*name), *node));
    named.collect()
}

impl Explainer<'_> {
    /// A tree is as deep as its longest path, which a recording limits.
    fn directory(&mut self, left: NodeId, was: NodeId) {
        let (model, other) = (self.left, self.was);
        let mut here = names(other, was);
        for (name, left) in names(model, left) {
            self.at.push(OsStr::from_bytes(name));
            match here.remove(name) {
                Some(was) => self.entry(left, was),
                None => self.found.differ(&self.at, "was not there"),
            }
            self.at.pop();
        }
        for name in here.into_keys() {
            let path = self.at.join(OsStr::from_bytes(name));
            self.found.differ(&path, "was there");
        }
    }

    fn entry(&mut self, left: NodeId, was: NodeId) {
        let (model, other) = (self.left, self.was);
        match (
            &model.nodes[left as usize].kind,
            &other.nodes[was as usize].kind,
        ) {
            (Kind::Directory { .. }, Kind::Directory { .. }) => {
                self.found.directories += 1;
                return self.directory(left, was);
            }
            (Kind::File(one), Kind::File(other)) => {
                if one.size != other.size {
                    let what = format!("had {} bytes instead of {}", other.size, one.size);
                    self.found.differ(&self.at, what);
                }
                let same = *self.left_links.entry(left).or_insert(was) == was
                    && *self.was_links.entry(was).or_insert(left) == left;
                if !same {
                    self.found
                        .differ(&self.at, "was a hard link of other files");
                }
            }
            (Kind::Symlink(one), Kind::Symlink(other)) if is_same(one, other) => {}
            (Kind::Symlink(_), Kind::Symlink(_)) => {
                self.found.differ(&self.at, "had another target");
            }
            (Kind::Other, Kind::Other) => {}
            _ => self.found.differ(&self.at, "was of another type"),
        }
        self.found.files += 1;
    }
}

/// Whether two targets can be those of one text. Where an absolute or leaving link leads depends on
/// its place.
fn is_same(one: &LinkTarget, other: &LinkTarget) -> bool {
    match (one, other) {
        (LinkTarget::Relative(_), LinkTarget::Relative(_))
        | (LinkTarget::Inside(_), LinkTarget::Inside(_)) => one == other,
        _ => true,
    }
}
