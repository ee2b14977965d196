//! Makes a recording of the log of a strace that ran elsewhere.
//!
//! The log is read several times: for the symbolic links that the programs read, for the tree before
//! the calls (`infer`), and to write the recording. Nothing of this machine is looked at.

mod infer;
mod source;

use super::{Details, Event, Parser, Unreadable};
use crate::calls::Call;
use crate::observation::{SessionError, key};
use crate::tracker::{OpenFile, Sharing, Tracker};
use fsdyno_datasets::manifest::link_target;
use fsdyno_trace::{
    About, Ending, Entry, EntryKind, Explained, Item, LinkTarget, Reader, Recorder, Writer,
    XattrSize,
};
use infer::{Inference, Inferred, Kind};
use source::Sources;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Links may lead to further links: so often, at most, the log is read for them.
const MAX_ROUNDS: usize = 8;

/// The working directory of a log that does not state it.
const UNNAMED_ROOT: &[u8] = b"/working-directory";

/// The directories that a refusal names.
const NAMED: usize = 3;

/// A log to be imported.
#[derive(Debug, Clone)]
pub struct Log {
    /// Its file, or those of its threads (`strace -ff`).
    pub files: Vec<PathBuf>,
    /// The tree on the machine of the log, absolute. None: the first working directory.
    pub root: Option<PathBuf>,
    /// Whether names are hashes.
    pub anonymous: bool,
}

/// Writes the recording of a log to `out`.
pub fn import<W: Write>(log: &Log, out: W) -> Result<(W, Ending), SessionError> {
    let working = working_directory(log)?;
    let root = log
        .root
        .as_ref()
        .map(|root| root.as_os_str().as_bytes().to_vec());
    let root = root.or_else(|| working.clone());
    let root = root.unwrap_or_else(|| UNNAMED_ROOT.to_vec());
    let start = working.clone().unwrap_or_else(|| root.clone());
    let about = |limits: Vec<String>| About {
        fsdyno: env!("CARGO_PKG_VERSION").to_owned(),
        recorder: Recorder::Strace,
        tool: "log of strace".to_owned(),
        root: String::from_utf8_lossy(&root).into_owned(),
        recorded: log
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect(),
        limits,
        ..About::empty()
    };
    let mut links = BTreeMap::new();
    let mut entries = Vec::new();
    let mut limits = Vec::new();
    for _ in 0..MAX_ROUNDS {
        let writer = Writer::new(Vec::new(), &about(Vec::new()), None)?;
        let pass = Pass::run(log, writer, &root, &start, &links)?;
        limits = pass.limits(working.is_some());
        let (details, outside) = (pass.details, pass.outside);
        let (bytes, ending) = pass.tracker.finish(Ending::default())?;
        if ending.operations == 0 {
            return Err(nothing(&root, &outside));
        }
        entries = infer(&bytes, &root, &details)?;
        let found = entries.iter().filter_map(|entry| match &entry.kind {
            Kind::Symlink(Some(text)) => Some((entry.path.clone(), text.clone())),
            _ => None,
        });
        let found: BTreeMap<_, _> = found.collect();
        if found == links {
            break;
        }
        links = found;
    }
    limits.extend(inferred_limits(&entries));
    let key = log.anonymous.then(key).transpose()?;
    let mut writer = Writer::new(out, &about(limits), key)?;
    for entry in entries {
        write_entry(&mut writer, &root, entry)?;
    }
    let pass = Pass::run(log, writer, &root, &start, &links)?;
    let not_understood = pass.unexplained.values().sum::<u64>() + pass.tracker.unknown();
    let texts = pass.unexplained.iter();
    let ending = Ending {
        duration_ns: pass.last_ns,
        unknown: pass.unexplained.values().sum(),
        notes: texts.map(|(why, count)| format!("{count} {why}")).collect(),
        explained: Some(Explained {
            understood: pass.seen.saturating_sub(not_understood),
            seen: pass.seen,
        }),
        ..Ending::default()
    };
    Ok(pass.tracker.finish(ending)?)
}

/// The first working directory, if the log states it before it changes.
fn working_directory(log: &Log) -> Result<Option<Vec<u8>>, SessionError> {
    let mut sources = Sources::open(&log.files)?;
    let mut parser = Parser::of_log();
    while let Some(line) = sources.next()? {
        let event = line.parse(&mut parser);
        if let Some(working) = &parser.details().working
            && working.starts_with(b"/")
        {
            return Ok(Some(working.clone()));
        }
        if let Ok(Some(Event::Call(call))) = event
            && matches!(call.name, "chdir" | "fchdir")
        {
            break;
        }
    }
    Ok(None)
}

fn infer(
    bytes: &[u8],
    root: &[u8],
    details: &HashMap<u64, Details>,
) -> Result<Vec<Inferred>, SessionError> {
    let failed = |error: fsdyno_trace::TraceError| SessionError::Write(io::Error::other(error));
    let mut reader = Reader::new(bytes).map_err(failed)?;
    let mut inference = Inference::new(root);
    let mut number = 0;
    while let Some(item) = reader.next_item().map_err(failed)? {
        if let Item::Operation(operation) = item {
            inference.operation(&operation, reader.paths(), details.get(&number));
            number += 1;
        }
    }
    Ok(inference.entries())
}

fn write_entry<W: Write>(writer: &mut Writer<W>, root: &[u8], entry: Inferred) -> io::Result<()> {
    let relative = Path::new(OsStr::from_bytes(&entry.path)).to_owned();
    let path = writer.path(&relative)?;
    let kind = match entry.kind {
        Kind::Directory => EntryKind::Directory,
        Kind::Unknown | Kind::File => EntryKind::File {
            size: entry.size.min(fsdyno_trace::MAX_NUMBER),
            holes: Vec::new(),
            extents: None,
            compressed_permille: None,
        },
        Kind::Symlink(Some(text)) => {
            let root = Path::new(OsStr::from_bytes(root));
            let target = link_target(writer, root, &relative, &text)?;
            EntryKind::Symlink { target }
        }
        Kind::Symlink(None) => EntryKind::Symlink {
            target: LinkTarget::Outside {
                length: u32::try_from(entry.size.clamp(1, 4095)).unwrap_or(1),
            },
        },
        Kind::Fifo => EntryKind::Fifo,
        Kind::Socket => EntryKind::Socket,
        Kind::Device => EntryKind::Device,
    };
    let xattrs = entry.xattrs.into_iter();
    writer.entry(Entry {
        path,
        mode: entry.mode,
        kind,
        xattrs: xattrs
            .map(|(name, size)| XattrSize { name, size })
            .collect(),
    })
}

/// What the tree lacks.
fn inferred_limits(entries: &[Inferred]) -> Vec<String> {
    let files = entries.iter().filter(|entry| entry.kind == Kind::File);
    let inexact = files.clone().filter(|entry| !entry.exact).count();
    let links = entries
        .iter()
        .filter(|entry| entry.kind == Kind::Symlink(None));
    let mut limits = vec![format!(
        "The tree before the calls is inferred: {} entries that were opened, read or looked at.",
        entries.len()
    )];
    if inexact > 0 {
        limits.push(format!(
            "The sizes of {inexact} of {} files before the calls are not known: they are as long as \
             what was read of them.",
            files.count()
        ));
    }
    let links = links.count();
    if links > 0 {
        limits.push(format!(
            "The targets of {links} symbolic links are not known."
        ));
    }
    limits
}

fn nothing(root: &[u8], outside: &BTreeMap<Vec<u8>, u64>) -> SessionError {
    let mut most: Vec<_> = outside.iter().collect();
    most.sort_by_key(|(_, count)| u64::MAX - **count);
    let text =
        |(path, count): &(&Vec<u8>, &u64)| format!("{} ({count})", String::from_utf8_lossy(path));
    let named: Vec<String> = most.iter().take(NAMED).map(text).collect();
    SessionError::EmptyLog {
        root: String::from_utf8_lossy(root).into_owned(),
        outside: named.join(", "),
    }
}

/// One reading of the log.
struct Pass<W: Write> {
    tracker: Tracker<W>,
    /// What was printed of an operation, by its number.
    details: HashMap<u64, Details>,
    /// Directories that files outside the tree were opened in.
    outside: BTreeMap<Vec<u8>, u64>,
    start: Vec<u8>,
    first: Option<i32>,
    /// Threads that were added before their creator returned.
    early: HashSet<i32>,
    began_ns: Option<u64>,
    last_ns: u64,
    /// Calls that concern files.
    seen: u64,
    names: BTreeSet<&'static str>,
    /// Calls that were not understood, by reason.
    unexplained: BTreeMap<&'static str, u64>,
    adopted: bool,
}

impl<W: Write> Pass<W> {
    fn run(
        log: &Log,
        writer: Writer<W>,
        root: &[u8],
        start: &[u8],
        links: &BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Result<Self, SessionError> {
        let mut tracker = Tracker::new(writer, root.to_vec(), links.clone());
        tracker.of_elsewhere();
        let mut pass = Self {
            tracker,
            details: HashMap::new(),
            outside: BTreeMap::new(),
            start: start.to_vec(),
            first: None,
            early: HashSet::new(),
            began_ns: None,
            last_ns: 0,
            seen: 0,
            names: BTreeSet::new(),
            unexplained: BTreeMap::new(),
            adopted: false,
        };
        let mut sources = Sources::open(&log.files)?;
        let mut parser = Parser::of_log();
        while let Some(line) = sources.next()? {
            match line.parse(&mut parser) {
                Ok(Some(event)) => {
                    if let Event::Fork { child, .. } = event {
                        sources.started(child);
                    }
                    pass.event(event, &parser)?;
                }
                Ok(None) => {}
                Err(Unreadable) => {
                    pass.seen += 1;
                    pass.not_explained("lines that cannot be interpreted");
                }
            }
        }
        Ok(pass)
    }

    fn not_explained(&mut self, why: &'static str) {
        *self.unexplained.entry(why).or_default() += 1;
    }

    /// The time since the first line.
    fn since(&mut self, at_ns: u64) -> u64 {
        let began_ns = *self.began_ns.get_or_insert(at_ns);
        let since_ns = at_ns.saturating_sub(began_ns).min(fsdyno_trace::MAX_NUMBER);
        self.last_ns = self.last_ns.max(since_ns);
        since_ns
    }

    fn event(&mut self, event: Event, parser: &Parser) -> io::Result<()> {
        match event {
            Event::Call(mut call) => {
                self.know(call.tid, parser)?;
                call.start_ns = self.since(call.start_ns);
                call.end_ns = self.since(call.end_ns);
                self.call(&call, parser.details())
            }
            Event::Fork {
                parent,
                child,
                flags,
                at_ns,
            } => {
                self.know(parent, parser)?;
                let at_ns = self.since(at_ns);
                if self.early.remove(&child) {
                    return Ok(());
                }
                let sharing = Sharing::from_flags(flags);
                self.tracker.fork(parent, child, sharing, at_ns)
            }
            Event::Exec { tid, former, at_ns } => {
                self.know(former, parser)?;
                let at_ns = self.since(at_ns);
                self.tracker.exec(tid, former, at_ns)
            }
            Event::Exit { tid, at_ns } => {
                let at_ns = self.since(at_ns);
                self.tracker.exit(tid, at_ns)
            }
            Event::Seen { tid } => self.know(tid, parser),
            Event::Others { tid, numbers } => {
                self.know(tid, parser)?;
                for number in numbers {
                    self.other(tid, number, Vec::new(), 0)?;
                }
                Ok(())
            }
        }
    }

    /// Adds a thread that was not seen before.
    fn know(&mut self, tid: i32, parser: &Parser) -> io::Result<()> {
        if self.tracker.knows(tid) {
            return Ok(());
        }
        if let [(parent, Some(flags))] = parser.creating()[..]
            && self.tracker.knows(parent)
        {
            self.early.insert(tid);
            let sharing = Sharing::from_flags(flags);
            return self.tracker.fork(parent, tid, sharing, self.last_ns);
        }
        if let Some(first) = self.first.filter(|first| self.tracker.knows(*first)) {
            // Its creation is not in the log: it has the descriptors and places of the first.
            self.adopted = true;
            let sharing = Sharing::from_flags(0);
            return self.tracker.fork(first, tid, sharing, self.last_ns);
        }
        self.first = Some(tid);
        self.tracker.add_process(tid, &self.start.clone(), b"/")?;
        for number in 0..3 {
            self.other(tid, number, Vec::new(), 0)?;
        }
        Ok(())
    }

    /// Adds a descriptor whose opening is not in the log.
    fn other(&mut self, tid: i32, number: i32, path: Vec<u8>, flags: u32) -> io::Result<()> {
        let file = path.starts_with(b"/") && !path.starts_with(b"/dev/");
        let opened = OpenFile {
            number,
            path,
            flags,
            position: 0,
            file,
        };
        self.tracker.add_open_file(tid, &opened)
    }

    fn call(&mut self, call: &Call, printed: &Details) -> io::Result<()> {
        self.names.insert(call.name);
        if let Some(working) = &printed.working {
            self.tracker.work_in(call.tid, working);
        }
        for (number, path) in &printed.descriptors {
            if !self.tracker.has_descriptor(call.tid, *number) {
                self.other(call.tid, *number, path.clone(), flags_for(call.name))?;
            }
        }
        if concerns_files(call) {
            self.seen += 1;
            if !self.is_clear(call) {
                self.not_explained("calls on descriptors whose opening is not in the log");
                return Ok(());
            }
        }
        let before = self.tracker.writer().operations();
        self.tracker.call(call)?;
        let after = self.tracker.writer().operations();
        if after > before && (printed.status.is_some() || printed.link.is_some()) {
            self.details.insert(after - 1, printed.clone());
        }
        if after == before
            && let Some(path) = &call.texts[0]
            && path.starts_with(b"/")
            && call.result >= 0
            && !is_of_system(path)
        {
            let end = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            *self.outside.entry(path[..end.max(1)].to_vec()).or_default() += 1;
        }
        Ok(())
    }

    /// Whether the descriptors of a call are known.
    fn is_clear(&self, call: &Call) -> bool {
        if call.result == -i64::from(libc::EBADF) {
            return true;
        }
        let known = |argument: usize| {
            #[allow(clippy::cast_possible_truncation, reason = "as the kernel reads it")]
            let number = (call.args[argument] as u32).cast_signed();
            number == libc::AT_FDCWD || self.tracker.has_descriptor(call.tid, number)
        };
        let absolute = |text: usize| {
            let text = call.texts[text].as_ref();
            text.is_some_and(|path| path.starts_with(b"/"))
        };
        match call.name {
            "open" | "creat" | "rename" | "link" | "symlink" | "unlink" | "rmdir" | "mkdir"
            | "mknod" | "stat" | "lstat" | "statfs" | "access" | "readlink" | "chmod" | "chown"
            | "lchown" | "utime" | "utimes" | "truncate" | "getxattr" | "lgetxattr"
            | "setxattr" | "lsetxattr" | "listxattr" | "llistxattr" | "removexattr"
            | "lremovexattr" | "chdir" | "chroot" | "sync" | "msync" => true,
            "symlinkat" => absolute(1) || known(1),
            "renameat" | "renameat2" | "linkat" => {
                (absolute(0) || known(0)) && (absolute(1) || known(2))
            }
            "mmap" => known(4),
            "sendfile" => known(0) && known(1),
            "copy_file_range" | "splice" => known(0) && known(2),
            name if name.contains("at") && call.texts[0].is_some() => absolute(0) || known(0),
            "openat2" | "statx" => absolute(0) || known(0),
            _ => known(0),
        }
    }

    /// What the log does not have.
    fn limits(&self, working: bool) -> Vec<String> {
        let mut limits: Vec<String> = [
            "It was made of a log of strace: contents are not in it, and the tree at the end is not known.",
            "Page faults, and requests of io_uring and io_submit, are not in the log.",
        ]
        .map(str::to_owned)
        .into();
        if !working {
            limits.push(
                "The log does not state the working directory: relative paths are taken as those of \
                 the tree. Of `strace -y` they are known."
                    .to_owned(),
            );
        }
        if self.adopted {
            limits.push(
                "The log does not have the start of all threads: they are taken as children of the \
                 first, with its open files at that time."
                    .to_owned(),
            );
        }
        let has = |names: &[&str]| names.iter().any(|name| self.names.contains(name));
        let opens = has(&["open", "openat", "openat2", "creat"]);
        for (what, names) in [
            (
                "read",
                &[
                    "read",
                    "pread64",
                    "readv",
                    "preadv",
                    "mmap",
                    "copy_file_range",
                ][..],
            ),
            (
                "write",
                &["write", "pwrite64", "writev", "pwritev", "copy_file_range"],
            ),
            ("close", &["close", "close_range"]),
        ] {
            if opens && !has(names) {
                limits.push(format!(
                    "The log has no calls of {what}, perhaps by the option -e of strace."
                ));
            }
        }
        limits
    }
}

/// Flags of the opening of a descriptor that is used by such a call.
fn flags_for(name: &str) -> u32 {
    let writes = name.contains("write")
        || matches!(
            name,
            "ftruncate" | "fallocate" | "copy_file_range" | "splice" | "sendfile"
        );
    let flags = if writes { libc::O_RDWR } else { libc::O_RDONLY };
    flags.unsigned_abs()
}

/// Whether a call concerns files, and not only memory or processes.
fn concerns_files(call: &Call) -> bool {
    match call.name {
        "mmap" => call.args[3] & u64::from(libc::MAP_ANONYMOUS.unsigned_abs()) == 0,
        "munmap" | "mremap" | "wait4" | "waitid" | "unshare" | "fcntl" | "dup" | "dup2"
        | "dup3" | "close" | "close_range" | "ioctl" => false,
        name => !name.starts_with("io_"),
    }
}

/// Whether it is no file of a user.
fn is_of_system(path: &[u8]) -> bool {
    let places: [&[u8]; 7] = [
        b"/proc/", b"/sys/", b"/dev/", b"/etc/", b"/usr/", b"/lib", b"/bin/",
    ];
    places.iter().any(|place| path.starts_with(place))
}
