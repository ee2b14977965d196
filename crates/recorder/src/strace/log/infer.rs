//! The tree before the calls of a log, as far as the calls show it: files that were opened, read and
//! looked at, with the sizes that stat printed, or at least those that were read.

use super::super::{Details, Status};
use fsdyno_trace::{Action, Handle, Object, Operation, PathId, Paths};
use std::collections::{BTreeMap, HashMap};
use std::os::unix::ffi::OsStrExt as _;

/// Links that are followed in one path, as in Linux.
const MAX_LINKS: usize = 40;

/// Permissions of what was not looked at.
const DIRECTORY_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

type NodeId = usize;

const ROOT: NodeId = 0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// It exists; nothing shows what it is.
    Unknown,
    Directory,
    File,
    /// A link, and its text if that is known.
    Symlink(Option<Vec<u8>>),
    Fifo,
    Socket,
    Device,
}

/// Where something was before the calls.
#[derive(Debug, Clone)]
struct Origin {
    directory: NodeId,
    name: Vec<u8>,
    /// Whether it was there: an open with `O_CREAT` may have created it.
    certain: bool,
}

#[derive(Debug)]
struct Node {
    kind: Kind,
    origin: Option<Origin>,
    /// The names in it that are known; none for those that were removed.
    names: BTreeMap<Vec<u8>, Option<NodeId>>,
    /// Permissions before the calls, if known.
    mode: Option<u32>,
    changes_mode: bool,
    /// Bytes before the calls: if known, and at least.
    size: Option<u64>,
    least: u64,
    /// Bytes now, at least, and those that were appended to an unknown end.
    now: u64,
    appended: u64,
    changed: bool,
    xattrs: BTreeMap<String, u32>,
}

impl Node {
    fn new(kind: Kind, origin: Option<Origin>) -> Self {
        Self {
            kind,
            origin,
            names: BTreeMap::new(),
            mode: None,
            changes_mode: false,
            size: None,
            least: 0,
            now: 0,
            appended: 0,
            changed: false,
            xattrs: BTreeMap::new(),
        }
    }

    /// Bytes of it were there before the calls.
    fn had(&mut self, end: u64) {
        if end > self.now {
            self.now = end;
            self.least = self.least.max(end);
            self.was_there();
        }
    }

    fn was_there(&mut self) {
        if let Some(origin) = &mut self.origin {
            origin.certain = true;
        }
    }

    fn wrote(&mut self, end: u64) {
        self.changed = true;
        self.now = self.now.max(end);
    }

    /// Its size now is known.
    fn has(&mut self, size: u64) {
        if !self.changed {
            self.size.get_or_insert(size);
            if size > 0 {
                self.was_there();
            }
        } else if self.appended > 0 && self.size.is_none() && size > self.appended {
            self.size = Some(size - self.appended);
            self.was_there();
        } else if size > self.now {
            self.least = self.least.max(size);
            self.was_there();
        }
        self.now = size;
    }

    fn seen(&mut self, status: Status) {
        let kind = match status.mode & libc::S_IFMT {
            libc::S_IFDIR => Kind::Directory,
            libc::S_IFREG => Kind::File,
            libc::S_IFLNK => Kind::Symlink(None),
            libc::S_IFIFO => Kind::Fifo,
            libc::S_IFSOCK => Kind::Socket,
            libc::S_IFCHR | libc::S_IFBLK => Kind::Device,
            _ => Kind::Unknown,
        };
        if self.kind == Kind::Unknown {
            self.kind = kind.clone();
        }
        if !self.changes_mode {
            self.mode.get_or_insert(status.mode & 0o7777);
        }
        match (kind, status.size) {
            (Kind::File, Some(size)) => self.has(size),
            (Kind::Symlink(_), Some(size)) => self.least = size,
            _ => {}
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Open {
    node: NodeId,
    position: u64,
    appends: bool,
}

/// An entry of the tree before the calls.
#[derive(Debug, Clone)]
pub(super) struct Inferred {
    /// Relative to the tree; empty for the tree itself.
    pub path: Vec<u8>,
    pub mode: u32,
    pub kind: Kind,
    pub size: u64,
    pub xattrs: BTreeMap<String, u32>,
    /// Whether stat, or a read to the end, showed its size.
    pub exact: bool,
}

/// Follows operations, and finds what was there before them.
pub(super) struct Inference {
    /// The tree, absolute.
    root: Vec<u8>,
    nodes: Vec<Node>,
    handles: HashMap<Handle, Open>,
}

impl Inference {
    pub fn new(root: &[u8]) -> Self {
        let origin = Origin {
            directory: ROOT,
            name: Vec::new(),
            certain: true,
        };
        Self {
            root: root.to_vec(),
            nodes: vec![Node::new(Kind::Directory, Some(origin))],
            handles: HashMap::new(),
        }
    }

    /// The entries, parents first.
    pub fn entries(&self) -> Vec<Inferred> {
        let mut names: BTreeMap<NodeId, Vec<(&[u8], NodeId)>> = BTreeMap::new();
        for (id, node) in self.nodes.iter().enumerate().skip(1) {
            if let Some(origin) = node.origin.as_ref().filter(|origin| origin.certain) {
                let list = names.entry(origin.directory).or_default();
                list.push((&origin.name, id));
            }
        }
        let mut found = Vec::new();
        let mut next = vec![(Vec::new(), ROOT)];
        while let Some((path, id)) = next.pop() {
            let mut below = names.remove(&id).unwrap_or_default();
            below.sort_unstable_by(|one, other| other.cmp(one));
            for (name, child) in below {
                let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
                next.push(([&path, slash, name].concat(), child));
            }
            found.push(self.entry(path, id));
        }
        found
    }

    fn entry(&self, path: Vec<u8>, id: NodeId) -> Inferred {
        let node = &self.nodes[id];
        let kind = match &node.kind {
            Kind::Unknown => Kind::File,
            kind => kind.clone(),
        };
        let usual = if kind == Kind::Directory {
            DIRECTORY_MODE
        } else {
            FILE_MODE
        };
        Inferred {
            path,
            mode: node.mode.unwrap_or(usual),
            size: node.size.unwrap_or(node.least),
            exact: kind != Kind::File || node.size.is_some(),
            xattrs: node.xattrs.clone(),
            kind,
        }
    }

    fn add(&mut self, kind: Kind, origin: Option<Origin>) -> NodeId {
        self.nodes.push(Node::new(kind, origin));
        self.nodes.len() - 1
    }

    /// What a name in a directory names. A name that is not known was there before the calls, if the
    /// directory was.
    fn child(&mut self, directory: NodeId, name: &[u8], certain: bool) -> Option<NodeId> {
        if let Some(known) = self.nodes[directory].names.get(name) {
            return *known;
        }
        self.nodes[directory].origin.as_ref()?;
        let origin = Origin {
            directory,
            name: name.to_vec(),
            certain,
        };
        let id = self.add(Kind::Unknown, Some(origin));
        self.set(directory, name, Some(id));
        Some(id)
    }

    fn set(&mut self, directory: NodeId, name: &[u8], node: Option<NodeId>) {
        self.nodes[directory].names.insert(name.to_vec(), node);
    }

    fn refine(&mut self, id: NodeId, kind: Kind) {
        if self.nodes[id].kind == Kind::Unknown {
            self.nodes[id].kind = kind;
        }
    }

    /// The directory and name of a path; none of the tree itself.
    fn place(&mut self, parts: &[Vec<u8>]) -> Option<(NodeId, Vec<u8>)> {
        let (name, above) = parts.split_last()?;
        let mut at = ROOT;
        for part in above {
            at = self.child(at, part, true)?;
            self.refine(at, Kind::Directory);
        }
        Some((at, name.clone()))
    }

    /// What a path names, which exists.
    fn existing(&mut self, parts: &[Vec<u8>], follow: bool) -> Option<NodeId> {
        let mut parts = parts.to_vec();
        for _ in 0..MAX_LINKS {
            let Some((directory, name)) = self.place(&parts) else {
                return Some(ROOT);
            };
            let id = self.child(directory, &name, true)?;
            let Kind::Symlink(Some(text)) = &self.nodes[id].kind else {
                return Some(id);
            };
            if !follow {
                return Some(id);
            }
            parts = self.target(&parts, &text.clone())?;
        }
        None
    }

    /// The path that a link leads to; none outside the tree.
    fn target(&self, link: &[Vec<u8>], text: &[u8]) -> Option<Vec<Vec<u8>>> {
        let (mut at, rest) = if text.starts_with(b"/") {
            let rest = text.strip_prefix(&self.root[..])?;
            (Vec::new(), rest)
        } else {
            (link[..link.len() - 1].to_vec(), text)
        };
        for part in rest.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." => {
                    at.pop()?;
                }
                name => at.push(name.to_vec()),
            }
        }
        Some(at)
    }

    fn object(&mut self, object: Object, paths: &Paths) -> Option<NodeId> {
        match object {
            Object::Handle(handle) => self.handles.get(&handle).map(|open| open.node),
            Object::Path(path) => self.existing(&parts(paths, path), true),
            Object::NoFollow(path) => self.existing(&parts(paths, path), false),
        }
    }

    /// An operation, and what the log printed of it.
    pub fn operation(&mut self, operation: &Operation, paths: &Paths, printed: Option<&Details>) {
        let errno = operation.errno();
        let result = u64::try_from(operation.result).unwrap_or(0);
        if let Some(errno) = errno {
            self.failed(&operation.action, errno, paths);
            return;
        }
        match &operation.action {
            Action::Open {
                path,
                flags,
                handle,
                ..
            } => self.open(&parts(paths, *path), *flags, *handle),
            Action::Inherit {
                path,
                flags,
                position,
                handle,
            } => {
                let node = self.existing(&parts(paths, *path), true);
                self.opened(node, *flags, Some(*handle));
                if let Some(open) = self.handles.get_mut(handle) {
                    open.position = *position;
                }
            }
            Action::Reopen { of, flags, handle } => {
                let node = self.handles.get(of).map(|open| open.node);
                self.opened(node, *flags, *handle);
            }
            Action::Close { handle } => {
                self.handles.remove(handle);
            }
            Action::ReadDirectory { handle, .. } => {
                if let Some(open) = self.handles.get(handle) {
                    self.refine(open.node, Kind::Directory);
                }
            }
            Action::Read { .. }
            | Action::Write { .. }
            | Action::Copy { .. }
            | Action::SendFile { .. }
            | Action::SpliceFrom { .. }
            | Action::SpliceTo { .. }
            | Action::Clone { .. }
            | Action::Seek { .. }
            | Action::TruncateHandle { .. }
            | Action::Allocate { .. } => self.data(&operation.action, result),
            action => match action.object() {
                Some(object) => self.inode(action, object, result, paths, printed),
                None => self.names(action, paths),
            },
        }
    }

    /// Some errors show that something exists.
    fn failed(&mut self, action: &Action, errno: i32, paths: &Paths) {
        let (path, kind) = match (action, errno) {
            (Action::Link { to, .. }, libc::EEXIST) => (*to, Kind::Unknown),
            (Action::Open { path, .. }, libc::ENOTDIR) => (*path, Kind::File),
            (Action::MakeDirectory { path, .. }, libc::EEXIST)
            | (Action::Open { path, .. } | Action::Unlink { path }, libc::EISDIR)
            | (Action::RemoveDirectory { path }, libc::ENOTEMPTY) => (*path, Kind::Directory),
            (Action::Open { path, .. } | Action::Symlink { path, .. }, libc::EEXIST)
            | (Action::ReadLink { path, .. }, libc::EINVAL) => (*path, Kind::Unknown),
            (Action::GetXattr { object, .. }, libc::ENODATA | libc::EOPNOTSUPP) => match object {
                Object::Path(path) | Object::NoFollow(path) => (*path, Kind::Unknown),
                Object::Handle(_) => return,
            },
            _ => return,
        };
        // ENOTDIR may also mean that a directory above is none.
        if errno == libc::ENOTDIR && !parts(paths, path).is_empty() {
            let parts = parts(paths, path);
            let known = self.nodes[ROOT].names.contains_key(&parts[0]);
            if !known && parts.len() > 1 {
                return;
            }
        }
        if let Some(id) = self.existing(&parts(paths, path), false) {
            self.refine(id, kind);
        }
    }

    fn open(&mut self, parts: &[Vec<u8>], flags: u32, handle: Option<Handle>) {
        let has = |flag: i32| flags & flag.unsigned_abs() == flag.unsigned_abs();
        if has(libc::O_TMPFILE) {
            if let Some(id) = self.existing(parts, true) {
                self.refine(id, Kind::Directory);
            }
            let node = self.add(Kind::File, None);
            return self.opened(Some(node), flags, handle);
        }
        if !has(libc::O_CREAT) {
            let node = self.existing(parts, !has(libc::O_NOFOLLOW));
            if let Some(id) = node {
                let kind = if has(libc::O_DIRECTORY) {
                    Kind::Directory
                } else {
                    Kind::Unknown
                };
                self.refine(id, kind);
            }
            return self.opened(node, flags, handle);
        }
        let Some((directory, name)) = self.place(parts) else {
            return;
        };
        let known = self.nodes[directory].names.get(&name).copied().flatten();
        let node = match known {
            Some(id) if matches!(self.nodes[id].kind, Kind::Symlink(Some(_))) => {
                self.existing(parts, true)
            }
            Some(id) => Some(id),
            None if !has(libc::O_EXCL) && !self.nodes[directory].names.contains_key(&name) => {
                self.child(directory, &name, false)
            }
            None => None,
        };
        let node = node.unwrap_or_else(|| {
            let new = self.add(Kind::File, None);
            self.set(directory, &name, Some(new));
            new
        });
        self.refine(node, Kind::File);
        self.opened(Some(node), flags, handle);
    }

    fn opened(&mut self, node: Option<NodeId>, flags: u32, handle: Option<Handle>) {
        let (Some(node), Some(handle)) = (node, handle) else {
            return;
        };
        if flags & libc::O_TRUNC.unsigned_abs() != 0 {
            let file = &mut self.nodes[node];
            (file.changed, file.now) = (true, 0);
        }
        let open = Open {
            node,
            position: 0,
            appends: flags & libc::O_APPEND.unsigned_abs() != 0,
        };
        self.handles.insert(handle, open);
    }

    /// A read of so many bytes; a length that was not reached shows the end of the file.
    fn read(&mut self, handle: Handle, offset: Option<u64>, read: u64, length: Option<u64>) {
        let Some(open) = self.handles.get_mut(&handle) else {
            return;
        };
        let end = offset.unwrap_or(open.position).saturating_add(read);
        if offset.is_none() {
            open.position = end;
        }
        let node = open.node;
        self.refine(node, Kind::File);
        let file = &mut self.nodes[node];
        file.had(end);
        let ended = length.is_some_and(|length| read < length);
        if ended && !file.changed && (read > 0 || end == file.now) {
            file.has(end);
        }
    }

    fn write(&mut self, handle: Handle, offset: Option<u64>, written: u64) {
        let Some(open) = self.handles.get_mut(&handle) else {
            return;
        };
        let file = &mut self.nodes[open.node];
        if open.appends {
            file.appended = file.appended.saturating_add(written);
            let end = file.now.saturating_add(written);
            open.position = end;
            file.wrote(end);
            return;
        }
        let end = offset.unwrap_or(open.position).saturating_add(written);
        if offset.is_none() {
            open.position = end;
        }
        file.wrote(end);
    }

    fn data(&mut self, action: &Action, result: u64) {
        match *action {
            Action::Read {
                handle,
                offset,
                length,
                ..
            } => self.read(handle, offset, result, Some(length)),
            Action::Write { handle, offset, .. } | Action::SpliceTo { handle, offset, .. } => {
                self.write(handle, offset, result);
            }
            Action::SpliceFrom { handle, offset, .. } => self.read(handle, offset, result, None),
            Action::SendFile {
                from, offset, to, ..
            } => {
                self.read(from, offset, result, None);
                if let Some(to) = to {
                    self.write(to, None, result);
                }
            }
            Action::Copy {
                from,
                from_offset,
                to,
                to_offset,
                length,
            } => {
                self.read(
                    from,
                    from_offset,
                    result,
                    Some(length).filter(|_| result == 0),
                );
                self.write(to, to_offset, result);
            }
            Action::Clone {
                from,
                from_offset,
                to,
                to_offset,
                length,
            } => {
                let size = self
                    .handles
                    .get(&from)
                    .map_or(0, |open| self.nodes[open.node].now);
                let length = if length == 0 {
                    size.saturating_sub(from_offset)
                } else {
                    length
                };
                self.read(from, Some(from_offset), length, None);
                self.write(to, Some(to_offset), length);
            }
            Action::Seek {
                handle,
                offset,
                whence,
            } => {
                if let Some(open) = self.handles.get_mut(&handle) {
                    open.position = result;
                    let file = &mut self.nodes[open.node];
                    if whence == libc::SEEK_END.unsigned_abs() && file.kind != Kind::Directory {
                        let size = i128::from(result) - i128::from(offset);
                        file.has(u64::try_from(size).unwrap_or(0));
                    }
                }
            }
            Action::TruncateHandle { handle, length } => {
                if let Some(open) = self.handles.get(&handle) {
                    let file = &mut self.nodes[open.node];
                    (file.changed, file.now) = (true, length);
                }
            }
            Action::Allocate {
                handle,
                offset,
                length,
                ..
            } => self.write(handle, Some(offset), length),
            _ => {}
        }
    }

    fn inode(
        &mut self,
        action: &Action,
        object: Object,
        result: u64,
        paths: &Paths,
        printed: Option<&Details>,
    ) {
        let Some(id) = self.object(object, paths) else {
            return;
        };
        let node = &mut self.nodes[id];
        match action {
            Action::ChangeMode { .. } => node.changes_mode = true,
            Action::GetXattr { name, .. } => {
                let size = u32::try_from(result).unwrap_or(0);
                node.xattrs.entry(name.clone()).or_insert(size);
            }
            Action::ReadLink { .. } => {
                let text = printed.and_then(|printed| printed.link.clone());
                if !matches!(&node.kind, Kind::Symlink(Some(_))) && node.names.is_empty() {
                    node.kind = Kind::Symlink(text);
                    node.least = result;
                }
            }
            Action::Stat { .. } => {
                if let Some(status) = printed.and_then(|printed| printed.status) {
                    node.seen(status);
                }
            }
            _ => {}
        }
    }

    /// Operations on names.
    fn names(&mut self, action: &Action, paths: &Paths) {
        match action {
            Action::Rename { from, to, flags } => {
                let (from, to) = (parts(paths, *from), parts(paths, *to));
                let moved = self.existing(&from, false);
                let (Some((old, old_name)), Some((new, new_name))) =
                    (self.place(&from), self.place(&to))
                else {
                    return;
                };
                let exchanged = if flags & libc::RENAME_EXCHANGE != 0 {
                    self.existing(&to, false)
                } else {
                    None
                };
                self.set(old, &old_name, exchanged);
                self.set(new, &new_name, moved);
            }
            Action::Link { from, to, follow } => {
                let node = self.existing(&parts(paths, *from), *follow);
                self.name(&parts(paths, *to), node);
            }
            Action::LinkHandle { handle, to } => {
                let node = self.handles.get(handle).map(|open| open.node);
                self.name(&parts(paths, *to), node);
            }
            Action::Symlink { path, .. } => self.make(&parts(paths, *path), Kind::Symlink(None)),
            Action::MakeDirectory { path, .. } => self.make(&parts(paths, *path), Kind::Directory),
            Action::MakeNode { path, .. } => self.make(&parts(paths, *path), Kind::File),
            Action::Unlink { path } | Action::RemoveDirectory { path } => {
                let parts = parts(paths, *path);
                let kind = if matches!(action, Action::Unlink { .. }) {
                    Kind::File
                } else {
                    Kind::Directory
                };
                if let Some(id) = self.existing(&parts, false) {
                    self.refine(id, kind);
                }
                self.name(&parts, None);
            }
            Action::Truncate { path, length } => {
                if let Some(id) = self.existing(&parts(paths, *path), true) {
                    let file = &mut self.nodes[id];
                    (file.changed, file.now) = (true, *length);
                }
            }
            _ => {}
        }
    }

    fn make(&mut self, parts: &[Vec<u8>], kind: Kind) {
        let node = self.add(kind, None);
        self.name(parts, Some(node));
    }

    fn name(&mut self, parts: &[Vec<u8>], node: Option<NodeId>) {
        if let Some((directory, name)) = self.place(parts) {
            self.set(directory, &name, node);
        }
    }
}

/// The names of a path.
fn parts(paths: &Paths, path: PathId) -> Vec<Vec<u8>> {
    let path = paths.path(path);
    let parts = path.components();
    parts
        .map(|part| part.as_os_str().as_bytes().to_vec())
        .collect()
}
