//! Applies an operation to the tree of a recording, and lists the resources that it accesses.

use super::model::{FileState, Found, Kind, Map, Mapped, Model, NameId, NodeId, Open};
use fsdyno_trace::{Action, Handle, Object, Operation, PathId};

/// A resource on which operations can depend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    Name(NodeId, u32),
    /// A file or a directory.
    Node(NodeId),
    /// An open file description.
    Handle(u32),
    Mapping(u32),
    /// A thread whose operations overlap.
    Thread(u32),
}

/// The access of an operation to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// It needs the resource as it is: unordered with other uses.
    Use,
    /// It creates, changes or removes the resource: ordered with all others.
    Change,
}

/// The result of resolving a path of an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The directory of its last name, if it exists.
    pub directory: Option<NodeId>,
    /// Whether a symbolic link at its end is followed.
    pub followed: bool,
    /// The inode before the operation, if the path existed.
    pub node: Option<NodeId>,
}

/// An operation with the numbers of its resources.
#[derive(Debug, Clone, Default)]
pub struct Resolved {
    pub accesses: Vec<(Resource, Access)>,
    /// Its paths, in the order of the action.
    pub places: [Place; 2],
    /// Its open file descriptions, in the order of the action, numbered from 0; or its mapping.
    pub numbers: [Option<u32>; 2],
    /// The directory that it removes: no descriptor may keep it.
    pub removes: Option<NodeId>,
    /// Bytes that a write fault may write without growth of the file.
    pub within: u64,
    /// The offset in the file of a fault or of msync.
    pub offset: u64,
    /// Whether the object is a regular file.
    pub regular: bool,
}

const CREATE: u32 = libc::O_CREAT.cast_unsigned();
const EXCLUSIVE: u32 = libc::O_EXCL.cast_unsigned();
const TRUNCATE: u32 = libc::O_TRUNC.cast_unsigned();
const APPEND: u32 = libc::O_APPEND.cast_unsigned();
const NO_FOLLOW: u32 = libc::O_NOFOLLOW.cast_unsigned();
const TEMPORARY: u32 = libc::O_TMPFILE.cast_unsigned();

/// Whether open(2) creates a file without a name.
pub(super) fn is_temporary(flags: u32) -> bool {
    flags & TEMPORARY == TEMPORARY
}

/// The largest page.
const PAGE: u64 = 4096;

impl Model<'_> {
    /// Applies an operation with its recorded result, and resolves it.
    pub fn apply(&mut self, operation: &Operation) -> Resolved {
        let mut step = Step {
            model: self,
            resolved: Resolved::default(),
            succeeded: operation.result >= 0,
            result: u64::try_from(operation.result).unwrap_or(0),
        };
        step.perform(&operation.action);
        step.resolved
    }
}

/// One operation being applied.
struct Step<'m, 'r> {
    model: &'m mut Model<'r>,
    resolved: Resolved,
    succeeded: bool,
    /// The return value, 0 after an error.
    result: u64,
}

impl Step<'_, '_> {
    fn perform(&mut self, action: &Action) {
        match action {
            Action::Open {
                path,
                flags,
                handle,
                ..
            } => self.open(*path, *flags, *handle),
            Action::Inherit {
                path,
                flags,
                position,
                handle,
            } => {
                self.open(*path, flags & !(CREATE | TRUNCATE), Some(*handle));
                if let Some(open) = self.model.handles.get_mut(handle) {
                    open.position = *position;
                }
            }
            Action::Reopen { of, flags, handle } => {
                self.data(0, *of);
                let node = self.node_of(*of);
                self.opened(node, *flags, *handle, 1);
            }
            Action::Close { handle } => self.close(*handle),
            Action::Read { handle, offset, .. } | Action::SpliceFrom { handle, offset, .. } => {
                self.data(0, *handle);
                self.advance(*handle, *offset);
            }
            Action::Write { handle, offset, .. } | Action::SpliceTo { handle, offset, .. } => {
                self.data(0, *handle);
                self.write(*handle, *offset);
            }
            Action::Seek { handle, .. } => {
                self.data(0, *handle);
                if let (true, Some(open)) = (self.succeeded, self.model.handles.get_mut(handle)) {
                    open.position = self.result;
                }
            }
            Action::Fsync { handle }
            | Action::Fdatasync { handle }
            | Action::SyncRange { handle, .. }
            | Action::ReadDirectory { handle, .. }
            | Action::GetFlags { handle, .. }
            | Action::SetFlags { handle, .. }
            | Action::Advise { handle, .. }
            | Action::ReadAhead { handle, .. } => self.data(0, *handle),
            Action::SyncFs { handle } => self.handle(0, *handle, Access::Use),
            Action::TruncateHandle { handle, length } => {
                self.data(0, *handle);
                if let Some(node) = self.node_of(*handle) {
                    self.set_size(node, *length);
                }
            }
            Action::Allocate {
                handle,
                mode,
                offset,
                length,
            } => {
                self.data(0, *handle);
                self.allocate(*handle, *mode, *offset, *length);
            }
            Action::Sync {} | Action::Wait { .. } => {}
            other => self.on_others(other),
        }
    }

    /// Operations on two files, and on mappings.
    fn on_others(&mut self, action: &Action) {
        match action {
            Action::Copy {
                from,
                from_offset,
                to,
                to_offset,
                ..
            } => {
                self.data(0, *from);
                self.data(1, *to);
                self.advance(*from, *from_offset);
                self.write(*to, *to_offset);
            }
            Action::SendFile {
                from, offset, to, ..
            } => {
                self.data(0, *from);
                self.advance(*from, *offset);
                if let Some(to) = to {
                    self.data(1, *to);
                    self.write(*to, None);
                }
            }
            Action::Clone {
                from,
                from_offset,
                to,
                to_offset,
                length,
            } => {
                self.data(0, *from);
                self.data(1, *to);
                self.share(*from, *from_offset, *to, *to_offset, *length);
            }
            Action::Map {
                handle,
                offset,
                flags,
                mapping,
                ..
            } => {
                self.handle(0, *handle, Access::Use);
                if let (Some(mapping), Some(open)) =
                    (mapping, self.model.handles.get(handle).copied())
                {
                    let number = self.model.mapping_count;
                    self.model.mapping_count += 1;
                    self.model.use_node(open.node, true);
                    let mapped = Mapped {
                        number,
                        node: open.node,
                        offset: *offset,
                        shared: flags & libc::MAP_SHARED.cast_unsigned() != 0,
                    };
                    self.model.mappings.insert(*mapping, mapped);
                    self.touch(open.node);
                    self.access(Resource::Mapping(number), Access::Change);
                    self.resolved.numbers[1] = Some(number);
                }
            }
            Action::Unmap { mapping } => {
                if let Some(mapped) = self.model.mappings.remove(mapping) {
                    self.model.use_node(mapped.node, false);
                    self.access(Resource::Mapping(mapped.number), Access::Change);
                    self.resolved.numbers[0] = Some(mapped.number);
                }
            }
            Action::SyncMap {
                mapping, offset, ..
            } => self.mapped(*mapping, *offset, false),
            Action::Fault {
                mapping,
                offset,
                write,
            } => self.mapped(*mapping, *offset, *write),
            on_path => self.on_path(on_path),
        }
    }

    /// Operations on names, and on what they name.
    fn on_path(&mut self, action: &Action) {
        match action {
            Action::Truncate { path, length } => {
                let found = self.lookup(0, *path, true, Access::Use);
                if let Some(node) = found.node {
                    self.touch(node);
                    self.set_size(node, *length);
                }
            }
            Action::Rename { from, to, flags } => self.rename(*from, *to, *flags),
            Action::Link { from, to, follow } => {
                let source = self.lookup(0, *from, *follow, Access::Use);
                let target = self.lookup(1, *to, false, self.changes());
                if let Some(node) = source.node {
                    self.touch(node);
                    self.name(target, node);
                }
            }
            Action::LinkHandle { handle, to } => {
                self.data(0, *handle);
                let target = self.lookup(0, *to, false, self.changes());
                if let Some(node) = self.node_of(*handle) {
                    self.name(target, node);
                }
            }
            Action::Symlink { path, target } => self.make(*path, Kind::Symlink(target.clone())),
            Action::MakeDirectory { path, .. } => {
                let kind = Kind::Directory {
                    above: 0,
                    entries: Map::default(),
                };
                self.make(*path, kind);
            }
            Action::MakeNode { path, mode } => {
                let is_file = matches!(mode & libc::S_IFMT, 0 | libc::S_IFREG);
                self.make(
                    *path,
                    if is_file {
                        Kind::File(FileState::default())
                    } else {
                        Kind::Other
                    },
                );
            }
            Action::Unlink { path } | Action::RemoveDirectory { path } => {
                let found = self.lookup(0, *path, false, self.changes());
                self.remove(found);
            }
            // All others are in `perform`.
            other => {
                if let Some(object) = other.object() {
                    self.object(object);
                }
            }
        }
    }

    fn access(&mut self, resource: Resource, access: Access) {
        let accesses = &mut self.resolved.accesses;
        match accesses.iter_mut().find(|(one, _)| *one == resource) {
            Some((_, before)) if access == Access::Change => *before = access,
            Some(_) => {}
            None => accesses.push((resource, access)),
        }
    }

    /// An operation that changes names only does so if it succeeds.
    fn changes(&self) -> Access {
        if self.succeeded {
            Access::Change
        } else {
            Access::Use
        }
    }

    /// Resolves a path. All its names are used; the last is accessed like this.
    fn lookup(&mut self, place: usize, path: PathId, follow: bool, last: Access) -> Found {
        let mut used: Vec<(NodeId, NameId)> = Vec::new();
        let found = self.model.find(path, follow, &mut |directory, name| {
            used.push((directory, name));
        });
        for (directory, name) in used {
            self.access(Resource::Name(directory, name), Access::Use);
        }
        if let Some(directory) = found.directory {
            self.access(Resource::Name(directory, found.name), last);
            // Its directory must exist; the list of its entries changes.
            self.access(Resource::Node(directory), Access::Use);
        }
        self.resolved.places[place] = Place {
            directory: found.directory.filter(|_| !found.followed),
            followed: found.followed,
            node: found.node,
        };
        found
    }

    /// All operations on a file are ordered, as in ROOT; those on a directory are uses of it.
    fn touch(&mut self, node: NodeId) {
        let access = if self.model.is_directory(node) {
            Access::Use
        } else {
            Access::Change
        };
        self.access(Resource::Node(node), access);
    }

    fn object(&mut self, object: Object) {
        match object {
            Object::Handle(handle) => self.data(0, handle),
            Object::Path(path) | Object::NoFollow(path) => {
                let follow = matches!(object, Object::Path(_));
                let found = self.lookup(0, path, follow, Access::Use);
                if let Some(node) = found.node {
                    self.touch(node);
                    self.resolved.regular = self.model.file(node).is_some();
                }
            }
        }
    }

    fn handle(&mut self, place: usize, handle: Handle, access: Access) {
        if let Some(open) = self.model.handles.get(&handle).copied() {
            self.access(Resource::Handle(open.number), access);
            self.resolved.numbers[place] = Some(open.number);
            self.resolved.regular = self.model.file(open.node).is_some();
        }
    }

    /// An operation on the data of an open file, or on the entries of an open directory.
    fn data(&mut self, place: usize, handle: Handle) {
        self.handle(place, handle, Access::Use);
        if let Some(node) = self.node_of(handle) {
            self.access(Resource::Node(node), Access::Change);
        }
    }

    fn node_of(&self, handle: Handle) -> Option<NodeId> {
        self.model.handles.get(&handle).map(|open| open.node)
    }

    fn open(&mut self, path: PathId, flags: u32, handle: Option<Handle>) {
        let exclusive = flags & (CREATE | EXCLUSIVE) == CREATE | EXCLUSIVE;
        let follow = flags & NO_FOLLOW == 0 && !exclusive;
        let temporary = is_temporary(flags);
        let mut found = self.lookup(0, path, follow, Access::Use);
        let existing = found.node;
        if self.succeeded && temporary {
            found.node = Some(self.model.add(Kind::File(FileState::default())));
        } else if self.succeeded && found.node.is_none() {
            // Without `O_CREAT` its creation was lost, or overlapped.
            let node = self.model.add(Kind::File(FileState::default()));
            found.node = Some(node);
            if let (true, Some(directory)) = (flags & CREATE != 0, found.directory) {
                self.access(Resource::Name(directory, found.name), Access::Change);
                self.model.link(directory, found.name, node);
            }
        }
        if let (true, Some(directory)) = (temporary, existing) {
            // The directory of a file without a name.
            self.touch(directory);
        }
        self.opened(found.node, flags, handle, 0);
    }

    /// A file was opened. Its descriptor is the one at that place of the operation.
    fn opened(&mut self, node: Option<NodeId>, flags: u32, handle: Option<Handle>, place: usize) {
        let Some(node) = node else {
            return;
        };
        self.touch(node);
        if flags & TRUNCATE != 0 && self.succeeded {
            self.set_size(node, 0);
        }
        let Some(handle) = handle else {
            return;
        };
        let number = self.model.handle_count;
        self.model.handle_count += 1;
        self.model.use_node(node, true);
        let open = Open {
            number,
            node,
            position: 0,
            appends: flags & APPEND != 0,
        };
        self.model.handles.insert(handle, open);
        self.access(Resource::Handle(number), Access::Change);
        self.resolved.numbers[place] = Some(number);
        self.resolved.regular = self.model.file(node).is_some();
    }

    fn close(&mut self, handle: Handle) {
        if let Some(open) = self.model.handles.remove(&handle) {
            self.resolved.numbers[0] = Some(open.number);
            self.access(Resource::Handle(open.number), Access::Change);
            self.access(Resource::Node(open.node), Access::Use);
            self.model.use_node(open.node, false);
        }
    }

    /// Moves the position of an open file, if the operation was at the position.
    fn advance(&mut self, handle: Handle, offset: Option<u64>) {
        if let (None, Some(open)) = (offset, self.model.handles.get_mut(&handle)) {
            open.position = open.position.saturating_add(self.result);
        }
    }

    fn write(&mut self, handle: Handle, offset: Option<u64>) {
        let Some(open) = self.model.handles.get(&handle).copied() else {
            return;
        };
        let size = self.model.file(open.node).map_or(0, |file| file.size);
        let start = match offset {
            _ if open.appends => size,
            Some(offset) => offset,
            None => open.position,
        };
        if self.result > 0 {
            self.grow(open.node, start, self.result);
        }
        if let (None, Some(open)) = (offset, self.model.handles.get_mut(&handle)) {
            open.position = start.saturating_add(self.result);
        }
    }

    fn grow(&mut self, node: NodeId, start: u64, length: u64) {
        let end = start.saturating_add(length);
        self.model.change_file(node, |file| {
            file.written = file.written.saturating_add(length);
            file.size = file.size.max(end);
        });
    }

    fn set_size(&mut self, node: NodeId, size: u64) {
        if self.succeeded {
            self.model.change_file(node, |file| {
                file.size = size;
                file.written = file.written.min(size);
                file.reserved = file.reserved.min(size);
            });
        }
    }

    fn allocate(&mut self, handle: Handle, mode: u32, offset: u64, length: u64) {
        let (true, Some(node)) = (self.succeeded, self.node_of(handle)) else {
            return;
        };
        let has = |flag: i32| mode & flag.cast_unsigned() != 0;
        let end = offset.saturating_add(length);
        self.model.change_file(node, |file| {
            if has(libc::FALLOC_FL_PUNCH_HOLE) {
                return;
            }
            if has(libc::FALLOC_FL_COLLAPSE_RANGE) {
                file.size = file.size.saturating_sub(length);
            } else if has(libc::FALLOC_FL_INSERT_RANGE) {
                file.size = file.size.saturating_add(length);
            } else {
                file.reserved = file.reserved.max(end);
                if !has(libc::FALLOC_FL_KEEP_SIZE) {
                    file.size = file.size.max(end);
                }
            }
        });
    }

    fn share(&mut self, from: Handle, from_offset: u64, to: Handle, to_offset: u64, length: u64) {
        let (true, Some(from), Some(to)) = (self.succeeded, self.node_of(from), self.node_of(to))
        else {
            return;
        };
        let size = self.model.file(from).map_or(0, |file| file.size);
        let length = if length == 0 {
            size.saturating_sub(from_offset)
        } else {
            length
        };
        self.grow(to, to_offset, length);
    }

    fn mapped(&mut self, mapping: fsdyno_trace::Mapping, offset: u64, writes: bool) {
        let Some(mapped) = self.model.mappings.get(&mapping).copied() else {
            return;
        };
        self.access(Resource::Mapping(mapped.number), Access::Use);
        self.access(Resource::Node(mapped.node), Access::Change);
        self.resolved.numbers[0] = Some(mapped.number);
        let at = mapped.offset.saturating_add(offset) / PAGE * PAGE;
        self.resolved.offset = at;
        let size = self.model.file(mapped.node).map_or(0, |file| file.size);
        if writes && mapped.shared {
            self.resolved.within = size.saturating_sub(at).min(PAGE);
            let within = self.resolved.within;
            if within > 0 {
                self.grow(mapped.node, at, within);
            }
        }
    }

    fn make(&mut self, path: PathId, kind: Kind) {
        let found = self.lookup(0, path, false, self.changes());
        if self.succeeded && found.node.is_none() {
            let node = self.model.add(kind);
            self.name(found, node);
        }
    }

    fn name(&mut self, found: Found, node: NodeId) {
        if let (true, Some(directory)) = (self.succeeded, found.directory)
            && !(self.model.is_directory(node) && self.model.is_above(node, directory))
        {
            self.model.link(directory, found.name, node);
        }
    }

    fn remove(&mut self, found: Found) {
        if let Some(node) = found.node {
            if self.model.is_directory(node) {
                // Also if it fails: the result depends on whether the directory is empty.
                self.access(Resource::Node(node), Access::Change);
                self.resolved.removes = Some(node);
            } else {
                self.touch(node);
            }
        }
        if let (true, Some(directory)) = (self.succeeded, found.directory) {
            self.model.unlink(directory, found.name);
        }
    }

    fn rename(&mut self, from: PathId, to: PathId, flags: u32) {
        let change = self.changes();
        let source = self.lookup(0, from, false, change);
        let target = self.lookup(1, to, false, change);
        for node in [source.node, target.node].into_iter().flatten() {
            self.touch(node);
        }
        if let Some(replaced) = target.node.filter(|node| self.model.is_directory(*node)) {
            // It depends on whether the directory is empty.
            self.access(Resource::Node(replaced), Access::Change);
        }
        let (true, Some(moved), Some(old), Some(new)) = (
            self.succeeded,
            source.node,
            source.directory,
            target.directory,
        ) else {
            return;
        };
        // A directory cannot become its own descendant; so a recording that states it is wrong.
        let into_itself = |node: NodeId, directory: NodeId| {
            self.model.is_directory(node) && self.model.is_above(node, directory)
        };
        if into_itself(moved, new) || target.node == Some(moved) {
            return;
        }
        if flags & libc::RENAME_EXCHANGE != 0 {
            let Some(other) = target.node.filter(|other| !into_itself(*other, old)) else {
                return;
            };
            self.model.use_node(moved, true);
            self.model.use_node(other, true);
            self.model.link(old, source.name, other);
            self.model.link(new, target.name, moved);
            self.model.use_node(moved, false);
            self.model.use_node(other, false);
            return;
        }
        if let Some(replaced) = target.node.filter(|node| self.model.is_directory(*node)) {
            self.resolved.removes = Some(replaced);
        }
        self.model.use_node(moved, true);
        self.model.unlink(old, source.name);
        self.model.link(new, target.name, moved);
        self.model.use_node(moved, false);
    }
}
