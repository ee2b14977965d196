//! A recording from start to end: the manifest of the tree, then the programs.

use crate::observation::{SessionError, Target, unix_ns};
use crate::strace;
use crate::tracker::Tracker;
use fsdyno_model::CancelToken;
use fsdyno_trace::{About, Ending, Overhead, Recorder, Writer};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to record.
#[derive(Debug, Clone)]
pub struct Request {
    /// The tree.
    pub root: PathBuf,
    /// The programs.
    pub target: Target,
    /// What the recording states that it is of.
    pub recorded: Vec<String>,
    /// How.
    pub recorder: Recorder,
    /// Ends the recording after this time.
    pub duration: Option<Duration>,
    /// Whether names are hashes.
    pub anonymous: bool,
}

/// Records to `out`. `started` is called after the manifest, with its entries, before the programs.
pub fn record<W: Write>(
    request: &Request,
    out: W,
    stop: &CancelToken,
    started: impl FnOnce(u64),
) -> Result<(W, Ending), SessionError> {
    let tree = |source| SessionError::Tree {
        path: request.root.clone(),
        source,
    };
    let root = request.root.canonicalize().map_err(tree)?;
    let about = about(request, &root)?;
    let key = request.anonymous.then(key).transpose()?;
    let mut writer = Writer::new(out, &about, key)?;
    let scanned = fsdyno_datasets::manifest::scan(&root, &mut writer, stop)?;
    let mut tracker = Tracker::new(writer, root.as_os_str().as_bytes().to_vec(), scanned.links);
    started(scanned.entries);
    let observed = match request.recorder {
        Recorder::Strace | Recorder::Ebpf => {
            strace::observe(&mut tracker, &request.target, request.duration, stop)?
        }
    };
    let overhead = Overhead {
        kernel_ns: observed.kernel_ns,
        recorder_ns: observed.recorder_ns,
        programs_ns: observed.programs_ns,
    };
    let mut ending = Ending {
        duration_ns: observed.duration_ns,
        lost: observed.lost,
        unknown: observed.unknown,
        incomplete: scanned.incomplete,
        overhead: Some(overhead),
        exit_status: observed.exit_status,
        ..Ending::default()
    };
    if observed.unknown > 0 {
        ending.notes.push(format!(
            "{} lines of strace could not be used",
            observed.unknown
        ));
    }
    Ok(tracker.finish(ending)?)
}

fn about(request: &Request, root: &Path) -> Result<About, SessionError> {
    let system = rustix::system::uname();
    let (tool, limits) = match request.recorder {
        Recorder::Strace | Recorder::Ebpf => (strace::version()?, strace::LIMITS),
    };
    let mount = fsdyno_host::mounts::mountinfo(root);
    Ok(About {
        fsdyno: env!("CARGO_PKG_VERSION").to_owned(),
        recorder: request.recorder,
        tool,
        kernel: system.release().to_string_lossy().into_owned(),
        filesystem: mount.map(|mount| mount.fstype).unwrap_or_default(),
        root: root.display().to_string(),
        recorded: request.recorded.clone(),
        started_unix_s: unix_ns() / 1_000_000_000,
        anonymous: request.anonymous,
        limits: limits.iter().map(|&limit| limit.to_owned()).collect(),
    })
}

/// A key for the hashes of names, which is forgotten.
fn key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut key)?;
    Ok(key)
}
