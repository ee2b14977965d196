//! The tree of a recording without a file system: directories, sizes, links and open files.

use super::Recording;
use fsdyno_trace::{Entry, EntryKind, Handle, LinkTarget, Mapping, PathId, Paths};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

/// A map whose layout is the same in each run: in virtual time everything has to be.
pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

/// A file, a directory, or another inode of the tree. Numbers are not used again.
pub type NodeId = u32;

/// A name, without its directory.
pub(super) type NameId = u32;

pub const ROOT: NodeId = 0;

/// Links that are followed in one path, as in Linux.
const MAX_LINKS: usize = 40;

/// The space of an entry in addition to its data, bytes.
const METADATA: u64 = 1024;

/// The state of the tree after the operations so far.
#[derive(Debug)]
pub struct Model<'r> {
    pub(super) paths: &'r Paths,
    names: Map<Box<[u8]>, NameId>,
    texts: Vec<Box<[u8]>>,
    last_names: Vec<NameId>,
    pub(super) nodes: Vec<Node>,
    pub(super) handles: Map<Handle, Open>,
    pub(super) handle_count: u32,
    pub(super) mappings: Map<Mapping, Mapped>,
    pub(super) mapping_count: u32,
    /// The space of all nodes, and the largest so far, bytes.
    space: u64,
    peak: u64,
    /// The names of the path being resolved.
    parts: Vec<Part>,
}

#[derive(Debug)]
pub(super) struct Node {
    pub kind: Kind,
    /// Its names, and the descriptors and mappings that keep it.
    pub links: u32,
    pub users: u32,
    space: u64,
}

#[derive(Debug)]
pub(super) enum Kind {
    Directory {
        above: NodeId,
        entries: Map<NameId, NodeId>,
    },
    File(FileState),
    Symlink(LinkTarget),
    /// A FIFO, socket or device.
    Other,
}

/// The size of a file, and upper bounds of its data.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FileState {
    pub size: u64,
    /// Bytes written, of which at most `size` are stored.
    pub written: u64,
    /// The end of the space that is allocated beyond its size.
    pub reserved: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Open {
    /// Its number among all of the recording, from 0.
    pub number: u32,
    pub node: NodeId,
    pub position: u64,
    pub appends: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Mapped {
    /// Its number among all of the recording, from 0.
    pub number: u32,
    pub node: NodeId,
    pub offset: u64,
    pub shared: bool,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Name(NameId),
    Up,
    Root,
}

/// The result of resolving a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The directory of the last name; none if it does not exist, or the path is the root.
    pub directory: Option<NodeId>,
    pub name: NameId,
    /// The inode, if the path exists.
    pub node: Option<NodeId>,
    /// Whether a symbolic link at the end of the path was followed.
    pub followed: bool,
}

impl<'r> Model<'r> {
    /// The tree at the start of a recording.
    pub fn new(recording: &'r Recording) -> Self {
        Self::of(recording, &recording.entries)
    }

    /// The tree at the end of a recording: as it was, or, where that was not recorded, as the
    /// operations leave it.
    pub fn at_end(recording: &'r Recording) -> Self {
        match &recording.last_entries[..] {
            [] => Self::after(recording),
            entries => Self::of(recording, entries),
        }
    }

    fn of(recording: &'r Recording, entries: &[Entry]) -> Self {
        let paths = &recording.paths;
        let root = Node {
            kind: Kind::Directory {
                above: ROOT,
                entries: Map::default(),
            },
            links: 1,
            users: 0,
            space: 0,
        };
        let mut model = Self {
            paths,
            names: Map::default(),
            texts: Vec::new(),
            last_names: Vec::new(),
            nodes: vec![root],
            handles: Map::default(),
            handle_count: 0,
            mappings: Map::default(),
            mapping_count: 0,
            space: 0,
            peak: 0,
            parts: Vec::new(),
        };
        for path in 0..u32::try_from(paths.count()).unwrap_or(u32::MAX) {
            let name = model.intern(paths.name(PathId(path)));
            model.last_names.push(name);
        }
        for entry in entries {
            model.enter(entry);
        }
        model
    }

    /// The tree after all operations of a recording.
    pub fn after(recording: &'r Recording) -> Self {
        let mut model = Self::new(recording);
        for operation in &recording.operations {
            model.apply(operation);
        }
        model
    }

    /// An upper bound of the space that the tree took at any time, bytes.
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// The number of open file descriptions and of mappings so far.
    pub fn opened(&self) -> (u32, u32) {
        (self.handle_count, self.mapping_count)
    }

    /// The number of inodes so far.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    fn intern(&mut self, name: &[u8]) -> NameId {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let id = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(name.into());
        self.names.insert(name.into(), id);
        id
    }

    pub(super) fn text(&self, name: NameId) -> &[u8] {
        self.texts.get(name as usize).map_or(&[], |text| text)
    }

    /// Adds an entry of the tree at the start.
    fn enter(&mut self, entry: &Entry) {
        let found = self.find(entry.path, false, &mut |_, _| ());
        let Some(directory) = found.directory else {
            return;
        };
        let kind = match &entry.kind {
            EntryKind::Directory => Kind::Directory {
                above: directory,
                entries: Map::default(),
            },
            EntryKind::File { size, holes, .. } => {
                let empty: u64 = holes.iter().map(|hole| hole.length).sum();
                Kind::File(FileState {
                    size: *size,
                    written: size.saturating_sub(empty),
                    reserved: 0,
                })
            }
            EntryKind::HardLink { to } => {
                if let Some(node) = self.find(*to, false, &mut |_, _| ()).node {
                    self.link(directory, found.name, node);
                }
                return;
            }
            EntryKind::Symlink { target } => Kind::Symlink(target.clone()),
            EntryKind::Fifo | EntryKind::Socket | EntryKind::Device => Kind::Other,
        };
        let node = self.add(kind);
        self.link(directory, found.name, node);
    }

    /// Resolves a path. Calls `each` for each name on the way, but the last, with its directory.
    pub(super) fn find(
        &mut self,
        path: PathId,
        follow: bool,
        each: &mut dyn FnMut(NodeId, NameId),
    ) -> Found {
        let mut parts = std::mem::take(&mut self.parts);
        parts.clear();
        self.put_path(path, &mut parts);
        let found = self.walk(&mut parts, follow, each);
        self.parts = parts;
        found
    }

    /// Puts the names of a path on the stack, the first on its top.
    fn put_path(&self, path: PathId, parts: &mut Vec<Part>) {
        let mut at = path;
        while let Some(parent) = self.paths.parent(at) {
            parts.push(Part::Name(self.last_names[at.0 as usize]));
            at = parent;
        }
    }

    fn walk(
        &mut self,
        parts: &mut Vec<Part>,
        follow: bool,
        each: &mut dyn FnMut(NodeId, NameId),
    ) -> Found {
        let (mut at, mut links, mut followed) = (ROOT, 0, false);
        while let Some(part) = parts.pop() {
            let name = match part {
                Part::Root => {
                    at = ROOT;
                    continue;
                }
                Part::Up => {
                    if let Kind::Directory { above, .. } = self.nodes[at as usize].kind {
                        at = above;
                    }
                    continue;
                }
                Part::Name(name) => name,
            };
            let last = parts.is_empty();
            let child = self.child(at, name);
            let link = child.and_then(|child| match &self.nodes[child as usize].kind {
                Kind::Symlink(target) if !last || follow => Some(target.clone()),
                _ => None,
            });
            if let Some(target) = link {
                each(at, name);
                links += 1;
                followed |= last;
                if links > MAX_LINKS || !self.put_target(&target, parts) {
                    return Found {
                        followed,
                        ..Found::default()
                    };
                }
                continue;
            }
            if last {
                return Found {
                    directory: Some(at),
                    name,
                    node: child,
                    followed,
                };
            }
            each(at, name);
            match child {
                Some(child) if self.is_directory(child) => at = child,
                _ => {
                    return Found {
                        followed,
                        ..Found::default()
                    };
                }
            }
        }
        Found {
            node: Some(at),
            followed,
            ..Found::default()
        }
    }

    /// Puts the parts of a link on the stack; returns false if it leads out of the tree.
    fn put_target(&mut self, target: &LinkTarget, parts: &mut Vec<Part>) -> bool {
        match target {
            LinkTarget::Outside { .. } => return false,
            LinkTarget::Inside(path) => {
                self.put_path(*path, parts);
                parts.push(Part::Root);
            }
            LinkTarget::Relative(text) => {
                for part in text.rsplit(|byte| *byte == b'/') {
                    parts.push(match part {
                        b"" | b"." => continue,
                        b".." => Part::Up,
                        name => Part::Name(self.intern(name)),
                    });
                }
            }
        }
        true
    }

    pub(super) fn child(&self, directory: NodeId, name: NameId) -> Option<NodeId> {
        match &self.nodes[directory as usize].kind {
            Kind::Directory { entries, .. } => entries.get(&name).copied(),
            _ => None,
        }
    }

    pub(super) fn is_directory(&self, node: NodeId) -> bool {
        matches!(self.nodes[node as usize].kind, Kind::Directory { .. })
    }

    pub(super) fn file(&self, node: NodeId) -> Option<FileState> {
        match self.nodes[node as usize].kind {
            Kind::File(file) => Some(file),
            _ => None,
        }
    }

    /// Adds a node without a name.
    pub(super) fn add(&mut self, kind: Kind) -> NodeId {
        let node = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        self.nodes.push(Node {
            kind,
            links: 0,
            users: 0,
            space: 0,
        });
        self.count_space(node);
        node
    }

    /// Names a node. A name that exists is replaced.
    pub(super) fn link(&mut self, directory: NodeId, name: NameId, node: NodeId) {
        self.unlink(directory, name);
        let Kind::Directory { entries, .. } = &mut self.nodes[directory as usize].kind else {
            return;
        };
        entries.insert(name, node);
        self.nodes[node as usize].links += 1;
        if let Kind::Directory { above, .. } = &mut self.nodes[node as usize].kind {
            *above = directory;
        }
        self.count_space(node);
    }

    /// Removes a name; returns what it named.
    pub(super) fn unlink(&mut self, directory: NodeId, name: NameId) -> Option<NodeId> {
        let Kind::Directory { entries, .. } = &mut self.nodes[directory as usize].kind else {
            return None;
        };
        let node = entries.remove(&name)?;
        let links = &mut self.nodes[node as usize].links;
        *links = links.saturating_sub(1);
        self.count_space(node);
        Some(node)
    }

    /// Whether a directory is the other one, or above it.
    pub(super) fn is_above(&self, directory: NodeId, below: NodeId) -> bool {
        let mut at = below;
        // A model has no loops, so that this ends at the root.
        for _ in 0..=self.nodes.len() {
            if at == directory {
                return true;
            }
            match self.nodes[at as usize].kind {
                Kind::Directory { above, .. } if above != at => at = above,
                _ => return false,
            }
        }
        true
    }

    pub(super) fn change_file(&mut self, node: NodeId, change: impl FnOnce(&mut FileState)) {
        if let Kind::File(file) = &mut self.nodes[node as usize].kind {
            change(file);
            self.count_space(node);
        }
    }

    /// Counts the users of a node: descriptors and mappings.
    pub(super) fn use_node(&mut self, node: NodeId, begins: bool) {
        let users = &mut self.nodes[node as usize].users;
        *users = if begins {
            users.saturating_add(1)
        } else {
            users.saturating_sub(1)
        };
        self.count_space(node);
    }

    /// Counts the space of a node anew.
    fn count_space(&mut self, node: NodeId) {
        let node = &mut self.nodes[node as usize];
        let now = if node.links == 0 && node.users == 0 {
            0
        } else {
            let data = match &node.kind {
                Kind::File(file) => file.written.min(file.size).max(file.reserved),
                Kind::Directory { .. } => 4096,
                _ => 0,
            };
            let whole = data.checked_next_multiple_of(4096).unwrap_or(u64::MAX);
            whole.saturating_add(METADATA)
        };
        self.space = self.space.saturating_sub(node.space).saturating_add(now);
        node.space = now;
        self.peak = self.peak.max(self.space);
    }
}
