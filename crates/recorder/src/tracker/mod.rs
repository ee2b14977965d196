//! Follows processes, and turns their system calls into operations on the tree.

mod apply;
mod arguments;
mod descriptors;
mod files;
mod requests;
mod resolve;

pub use requests::{RequestId, Unrecorded};

use crate::calls::Call;
use files::{Description, Descriptor, Directories, Files, Memory, Numbers, Region, Task};
use fsdyno_trace::{
    Action, Ending, Handle, Mapping, Operation, PathId, Thread, ThreadId, Via, Writer,
};
use requests::{Pending, Registered};
use resolve::{Found, Links};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};
use std::rc::{Rc, Weak};

/// The state that a new thread shares with the one that created it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent flags of clone(2)"
)]
pub struct Sharing {
    /// It is a thread of the same process.
    pub thread: bool,
    /// The table of descriptors.
    pub files: bool,
    /// Working and root directory.
    pub directories: bool,
    pub memory: bool,
}

impl Sharing {
    /// From the flags of clone(2).
    pub fn from_flags(flags: u64) -> Self {
        let has = |flag: libc::c_int| flags & u64::from(flag.unsigned_abs()) != 0;
        Self {
            thread: has(libc::CLONE_THREAD),
            files: has(libc::CLONE_FILES),
            directories: has(libc::CLONE_FS),
            memory: has(libc::CLONE_VM),
        }
    }
}

/// An open file of a process that was running before the recording.
#[derive(Debug, Clone)]
pub struct OpenFile {
    pub number: i32,
    /// Absolute path.
    pub path: Vec<u8>,
    /// Flags as of open(2).
    pub flags: u32,
    pub position: u64,
    /// Whether it is a directory or regular file.
    pub file: bool,
}

/// The suffix that procfs adds to the path of an unlinked file.
const DELETED: &[u8] = b" (deleted)";

/// A file that was mapped before the recording.
#[derive(Debug, Clone)]
pub struct MappedFile {
    /// Absolute path.
    pub path: Vec<u8>,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub length: u64,
    pub offset: u64,
    /// Whether writes to it change the file: it is shared and may be written.
    pub writes: bool,
}

/// Follows processes and writes their operations.
#[derive(Debug)]
pub struct Tracker<W: Write> {
    writer: Writer<W>,
    links: Links,
    tasks: HashMap<i32, Task>,
    /// Processes, also ended ones, for those that wait for them.
    processes: HashMap<i32, ThreadId>,
    threads: u32,
    handles: Numbers,
    mappings: Numbers,
    paths: HashMap<Vec<u8>, PathId>,
    /// Descriptions with a path in the tree, whose path changes when a directory is renamed.
    open: Vec<Weak<Description>>,
    pending: HashMap<RequestId, Pending>,
    /// Results of requests of `io_submit` that were received before their submission returned, with the
    /// time.
    early: HashMap<RequestId, (i64, u64)>,
    /// The ring of the call of `io_uring_register` that a thread is in.
    rings: HashMap<i32, u64>,
    /// The files that are registered with a ring, by their places. None for what is no file.
    registered: HashMap<u64, Registered>,
    /// The open files of the request that is applied.
    held: Vec<(i32, Rc<Description>)>,
    /// How the operation that is applied reached the kernel.
    via: Via,
    /// Whether requests of `io_uring` and of `io_submit` are reported.
    observes_rings: bool,
    observes_aio: bool,
    outside: u64,
    /// Calls that could not be interpreted, by reason.
    unknown: BTreeMap<&'static str, u64>,
    /// Operations of programs that are not recorded.
    incomplete: BTreeSet<&'static str>,
    notes: BTreeSet<&'static str>,
}

impl<W: Write> Tracker<W> {
    /// Starts with the symbolic links of the tree, by path relative to it. `root` is absolute and
    /// without symbolic links.
    pub fn new(writer: Writer<W>, root: Vec<u8>, links: BTreeMap<Vec<u8>, Vec<u8>>) -> Self {
        Self {
            writer,
            links: Links::new(root, links),
            tasks: HashMap::new(),
            processes: HashMap::new(),
            threads: 0,
            handles: Numbers::default(),
            mappings: Numbers::default(),
            paths: HashMap::new(),
            open: Vec::new(),
            pending: HashMap::new(),
            early: HashMap::new(),
            rings: HashMap::new(),
            registered: HashMap::new(),
            held: Vec::new(),
            via: Via::Syscall,
            observes_rings: false,
            observes_aio: false,
            outside: 0,
            unknown: BTreeMap::new(),
            incomplete: BTreeSet::new(),
            notes: BTreeSet::new(),
        }
    }

    /// The calls were made on another machine: symbolic links outside the tree are not read here.
    pub fn of_elsewhere(&mut self) {
        self.links.of_elsewhere();
    }

    /// Whether a thread has that descriptor, of a file or of something else.
    pub fn has_descriptor(&self, tid: i32, number: i32) -> bool {
        self.description(tid, number).is_some()
    }

    /// Sets the working directory of a thread: an absolute path without symbolic links.
    pub fn work_in(&mut self, tid: i32, path: &[u8]) {
        if let Some(task) = self.tasks.get(&tid) {
            let mut directories = task.directories.borrow_mut();
            if directories.working != path {
                directories.working = path.to_vec();
            }
        }
    }

    /// Calls so far that could not be interpreted.
    pub fn unknown(&self) -> u64 {
        self.unknown.values().sum()
    }

    /// Whether the thread is known.
    pub fn knows(&self, tid: i32) -> bool {
        self.tasks.contains_key(&tid)
    }

    /// The processes that are running, by their numbers.
    pub fn running(&self) -> BTreeSet<i32> {
        self.tasks.values().map(|task| task.tgid).collect()
    }

    /// Adds a process with its working and root directory, as of `/proc/PID`.
    pub fn add_process(&mut self, pid: i32, working: &[u8], root: &[u8]) -> io::Result<()> {
        let root = if root == b"/" { &[][..] } else { root };
        let directories = Directories {
            working: working.to_vec(),
            root: root.to_vec(),
        };
        let thread = self.define(None, None, 0)?;
        self.processes.insert(pid, thread);
        let task = Task {
            thread,
            process: thread,
            tgid: pid,
            files: Rc::default(),
            directories: Rc::new(RefCell::new(directories)),
            memory: Rc::default(),
        };
        self.tasks.insert(pid, task);
        Ok(())
    }

    /// Adds a further thread of a process that was running before the recording.
    pub fn add_thread(&mut self, pid: i32, tid: i32) -> io::Result<()> {
        let shared = Sharing {
            thread: true,
            files: true,
            directories: true,
            memory: true,
        };
        self.fork(pid, tid, shared, 0)
    }

    /// Adds a file that a process had open before the recording.
    pub fn add_open_file(&mut self, pid: i32, file: &OpenFile) -> io::Result<()> {
        let inside = self.links.relative(&file.path).map(<[u8]>::to_vec);
        let inside = inside.filter(|_| file.file);
        if inside.is_some() && file.path.ends_with(DELETED) {
            self.incomplete("a program had a file open that had no name any more");
            return Ok(());
        }
        let path = match inside {
            Some(relative) => self.id(&relative)?,
            None => None,
        };
        let handle = path.map(|_| Handle(self.handles.next()));
        let description = self.describe(handle, file.path.clone());
        let Some(task) = self.tasks.get(&pid) else {
            return Ok(());
        };
        let cloexec = file.flags & libc::O_CLOEXEC.unsigned_abs() != 0;
        install(task, file.number, description, cloexec, 0);
        let (Some(path), Some(handle)) = (path, handle) else {
            return Ok(());
        };
        let (flags, position) = (file.flags, file.position);
        let action = Action::Inherit {
            path,
            flags,
            position,
            handle,
        };
        let thread = task.thread;
        self.write(thread, 0, 0, action, 0)
    }

    /// Adds a file that a process had mapped before the recording.
    pub fn add_mapped_file(&mut self, pid: i32, mapped: &MappedFile) -> io::Result<()> {
        let inside = self.links.relative(&mapped.path).map(<[u8]>::to_vec);
        let inside = inside.filter(|_| !mapped.path.ends_with(DELETED));
        let Some(relative) = inside else {
            return Ok(());
        };
        let Some(path) = self.id(&relative)? else {
            return Ok(());
        };
        let Some(task) = self.tasks.get(&pid) else {
            return Ok(());
        };
        let (thread, memory) = (task.thread, task.memory.clone());
        let handle = Handle(self.handles.next());
        let mapping = Mapping(self.mappings.next());
        let access = if mapped.writes {
            libc::O_RDWR
        } else {
            libc::O_RDONLY
        };
        let protection = libc::PROT_READ | if mapped.writes { libc::PROT_WRITE } else { 0 };
        let kind = if mapped.writes {
            libc::MAP_SHARED
        } else {
            libc::MAP_PRIVATE
        };
        let actions = [
            Action::Inherit {
                path,
                flags: access.unsigned_abs(),
                position: 0,
                handle,
            },
            Action::Map {
                handle,
                offset: mapped.offset,
                length: mapped.length,
                protection: protection.unsigned_abs(),
                flags: kind.unsigned_abs(),
                mapping: Some(mapping),
            },
            Action::Close { handle },
        ];
        for action in actions {
            self.write(thread, 0, 0, action, 0)?;
        }
        let region = Region {
            length: mapped.length,
            offset: 0,
            mapping: Rc::new(mapping),
        };
        memory.borrow_mut().0.insert(mapped.start, region);
        Ok(())
    }

    /// A thread created another.
    pub fn fork(&mut self, parent: i32, child: i32, shared: Sharing, at_ns: u64) -> io::Result<()> {
        // The number of an ended thread is in use again.
        self.exit(child, at_ns)?;
        let Some(task) = self.tasks.get(&parent) else {
            return Ok(());
        };
        let own = |share, from: &Rc<RefCell<Files>>| {
            if share {
                from.clone()
            } else {
                Rc::new(RefCell::new(from.borrow().clone()))
            }
        };
        let files = own(shared.files, &task.files);
        let directories = if shared.directories {
            task.directories.clone()
        } else {
            Rc::new(RefCell::new(task.directories.borrow().clone()))
        };
        let memory = if shared.memory {
            task.memory.clone()
        } else {
            Rc::new(RefCell::new(task.memory.borrow().clone()))
        };
        let (parent, process) = (task.thread, shared.thread.then_some(task.process));
        let tgid = if shared.thread { task.tgid } else { child };
        let thread = self.define(Some(parent), process, at_ns)?;
        if !shared.thread {
            self.processes.insert(child, thread);
        }
        let process = process.unwrap_or(thread);
        let task = Task {
            thread,
            process,
            tgid,
            files,
            directories,
            memory,
        };
        self.tasks.insert(child, task);
        Ok(())
    }

    fn define(
        &mut self,
        parent: Option<ThreadId>,
        process: Option<ThreadId>,
        start_ns: u64,
    ) -> io::Result<ThreadId> {
        let id = ThreadId(self.threads);
        let process = process.unwrap_or(id);
        self.writer.thread(Thread {
            id,
            process,
            parent,
            start_ns,
        })?;
        self.threads += 1;
        Ok(id)
    }

    /// A thread replaced the program of its process; `former` is its number before that.
    pub fn exec(&mut self, tid: i32, former: i32, at_ns: u64) -> io::Result<()> {
        let Some(mut task) = self.tasks.remove(&former) else {
            return Ok(());
        };
        let others: Vec<i32> = self
            .tasks
            .iter()
            .filter(|(_, other)| other.tgid == task.tgid)
            .map(|(tid, _)| *tid)
            .collect();
        for other in others {
            self.exit(other, at_ns)?;
        }
        let files = std::mem::take(&mut task.files);
        let files = Rc::try_unwrap(files).unwrap_or_else(|shared| RefCell::clone(&shared));
        let mut files = files.into_inner();
        let closed: Vec<i32> = files
            .0
            .iter()
            .filter(|(_, descriptor)| descriptor.close_on_exec)
            .map(|(number, _)| *number)
            .collect();
        let mut closed: Vec<_> = closed
            .into_iter()
            .filter_map(|number| files.0.remove(&number))
            .collect();
        closed.sort_by_key(|descriptor| descriptor.description.handle);
        task.files = Rc::new(RefCell::new(files));
        let memory = std::mem::take(&mut task.memory);
        let thread = task.thread;
        self.tasks.insert(tid, task);
        for descriptor in closed {
            self.release(thread, descriptor.description, at_ns)?;
        }
        self.release_memory(thread, memory, at_ns)
    }

    pub fn exit(&mut self, tid: i32, at_ns: u64) -> io::Result<()> {
        let Some(task) = self.tasks.remove(&tid) else {
            return Ok(());
        };
        let thread = task.thread;
        let process = task.tgid;
        let is_last = || !self.tasks.values().any(|other| other.tgid == process);
        if !self.registered.is_empty() && is_last() {
            self.release_registered(thread, process, at_ns)?;
        }
        self.release_memory(thread, task.memory, at_ns)?;
        if let Some(files) = Rc::into_inner(task.files) {
            let mut files: Vec<_> = files.into_inner().0.into_values().collect();
            files.sort_by_key(|descriptor| descriptor.description.handle);
            for descriptor in files {
                self.release(thread, descriptor.description, at_ns)?;
            }
        }
        Ok(())
    }

    fn release_memory(
        &mut self,
        thread: ThreadId,
        memory: Rc<RefCell<Memory>>,
        at_ns: u64,
    ) -> io::Result<()> {
        let regions = Rc::into_inner(memory)
            .map(RefCell::into_inner)
            .unwrap_or_default();
        for region in regions.0.into_values() {
            if let Some(mapping) = files::last(region) {
                self.write(thread, at_ns, at_ns, Action::Unmap { mapping }, 0)?;
            }
        }
        Ok(())
    }

    /// Writes the close of a description if that was its last descriptor.
    fn release(
        &mut self,
        thread: ThreadId,
        description: Rc<Description>,
        at_ns: u64,
    ) -> io::Result<()> {
        match Rc::into_inner(description).and_then(|description| description.handle) {
            Some(handle) => self.write(thread, at_ns, at_ns, Action::Close { handle }, 0),
            None => Ok(()),
        }
    }

    /// A page fault in a mapping of the tree.
    pub fn fault(&mut self, tid: i32, address: u64, write: bool, at_ns: u64) -> io::Result<()> {
        let Some(task) = self.tasks.get(&tid) else {
            return Ok(());
        };
        let found = task.memory.borrow().find(address);
        let thread = task.thread;
        let Some((mapping, offset)) = found else {
            return Ok(());
        };
        let action = Action::Fault {
            mapping,
            offset,
            write,
        };
        self.write(thread, at_ns, at_ns, action, 0)
    }

    pub fn call(&mut self, call: &Call) -> io::Result<()> {
        // ERESTARTSYS and its kin: the kernel repeats the call after a signal.
        if (-516..=-512).contains(&call.result) {
            return Ok(());
        }
        if !self.tasks.contains_key(&call.tid) {
            self.not_known("calls of threads whose start was not observed");
            return Ok(());
        }
        self.apply(call)
    }

    /// Writes the end. Returns it, and the output.
    pub fn finish(mut self, mut ending: Ending) -> io::Result<(W, Ending)> {
        let mut tids: Vec<i32> = self.tasks.keys().copied().collect();
        tids.sort_unstable();
        // Descriptors that are still open stay open in the recording.
        for tid in tids {
            self.tasks.remove(&tid);
        }
        ending.outside += self.outside;
        ending.unknown += self.unknown.values().sum::<u64>();
        let texts = self.unknown.iter();
        ending
            .notes
            .extend(texts.map(|(why, count)| format!("{count} {why}")));
        ending
            .notes
            .extend(self.notes.iter().map(|&note| note.to_owned()));
        let incomplete = self.incomplete.iter().map(|&why| why.to_owned());
        ending.incomplete.extend(incomplete);
        ending.operations = self.writer.operations();
        let out = self.writer.finish(ending.clone())?;
        Ok((out, ending))
    }

    /// Something that makes the recording incomplete.
    pub fn incomplete(&mut self, why: &'static str) {
        self.incomplete.insert(why);
    }

    pub fn writer(&mut self) -> &mut Writer<W> {
        &mut self.writer
    }

    fn not_known(&mut self, why: &'static str) {
        *self.unknown.entry(why).or_default() += 1;
    }

    /// The number of a path relative to the tree. None if it is too long for a recording.
    fn id(&mut self, relative: &[u8]) -> io::Result<Option<PathId>> {
        use std::os::unix::ffi::OsStrExt as _;
        if let Some(known) = self.paths.get(relative) {
            return Ok(Some(*known));
        }
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(relative));
        match self.writer.path(path) {
            Ok(id) => {
                self.paths.insert(relative.to_vec(), id);
                Ok(Some(id))
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.not_known("operations on paths that are too long");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn describe(&mut self, handle: Option<Handle>, path: Vec<u8>) -> Rc<Description> {
        let description = Rc::new(Description {
            handle,
            path: RefCell::new(path),
        });
        if self.open.len() > 64 && self.open.len() == self.open.capacity() {
            self.open.retain(|open| open.strong_count() > 0);
        }
        self.open.push(Rc::downgrade(&description));
        description
    }

    /// Changes the paths of open files and working directories after a rename in the tree.
    fn moved(&mut self, from: &[u8], to: &[u8]) {
        let change = |path: &mut Vec<u8>| {
            if let Some(rest) = path.strip_prefix(from)
                && (rest.is_empty() || rest[0] == b'/')
            {
                *path = [to, rest].concat();
            }
        };
        self.open.retain(|open| {
            let Some(open) = open.upgrade() else {
                return false;
            };
            change(&mut open.path.borrow_mut());
            true
        });
        let mut seen = std::collections::HashSet::new();
        for task in self.tasks.values() {
            if seen.insert(Rc::as_ptr(&task.directories)) {
                let mut directories = task.directories.borrow_mut();
                change(&mut directories.working);
                change(&mut directories.root);
            }
        }
    }

    fn write(
        &mut self,
        thread: ThreadId,
        start_ns: u64,
        end_ns: u64,
        action: Action,
        result: i64,
    ) -> io::Result<()> {
        let via = self.via;
        let end_ns = end_ns.max(start_ns);
        let operation = Operation {
            thread,
            via,
            start_ns,
            end_ns,
            action,
            result,
        };
        match self.writer.operation(operation) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.not_known("operations whose arguments the format cannot express");
                Ok(())
            }
            written => written,
        }
    }
}

/// Puts a description in the table of a task. Returns the one that was there.
fn install(
    task: &Task,
    number: i32,
    description: Rc<Description>,
    close_on_exec: bool,
    since_ns: u64,
) -> Option<Descriptor> {
    let descriptor = Descriptor {
        description,
        close_on_exec,
        since_ns,
        closes_expected: 0,
    };
    let mut files = task.files.borrow_mut();
    files.0.insert(number, descriptor)
}

/// The last mapping of a region that was removed.
fn ended(memory: &RefCell<Memory>, from: u64, length: u64) -> Vec<Mapping> {
    memory.borrow_mut().remove(from, length)
}
