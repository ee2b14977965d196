//! A recording from start to end: the manifest of the tree, then the programs.

use crate::ebpf::{self, Probes};
use crate::observation::{SessionError, Target, cpu_ns, key, unix_ns};
use crate::strace;
use crate::tracker::Tracker;
use fsdyno_datasets::manifest::{self, ManifestKind};
use fsdyno_model::CancelToken;
use fsdyno_trace::{About, Ending, Overhead, Recorder, Writer};
use std::io::Write;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The programs and the tree to record.
#[derive(Debug, Clone)]
pub struct Request {
    pub root: PathBuf,
    pub target: Target,
    /// The description of the recorded programs in the recording.
    pub recorded: Vec<String>,
    /// The observer. None: eBPF if it is permitted, otherwise strace.
    pub recorder: Option<Recorder>,
    /// Ends the recording after this time.
    pub duration: Option<Duration>,
    /// Whether names are hashes.
    pub anonymous: bool,
    /// Bytes of the buffer of eBPF: a power of two. See [`ebpf::BUFFER`].
    pub buffer: u32,
}

/// How a recording starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    pub entries: u64,
    pub recorder: Recorder,
    /// The reason why eBPF is not used, if the user chose no observer.
    pub no_ebpf: Option<String>,
}

/// Records to `out`. `started` is called after the manifest: when running processes are observed, and
/// before a command starts.
pub fn record<W: Write>(
    request: &Request,
    out: W,
    stop: &CancelToken,
    started: impl FnOnce(&Started),
) -> Result<(W, Ending), SessionError> {
    let tree = |source| SessionError::Tree {
        path: request.root.clone(),
        source,
    };
    let root = request.root.canonicalize().map_err(tree)?;
    let attach = || Probes::attach(&root, &request.target, request.buffer);
    let (probes, no_ebpf) = match request.recorder {
        Some(Recorder::Strace) => (None, None),
        Some(Recorder::Ebpf) => (Some(attach().map_err(SessionError::NoEbpf)?), None),
        None => match attach() {
            Ok(probes) => (Some(probes), None),
            Err(why) => (None, Some(why)),
        },
    };
    let recorder = if probes.is_some() {
        Recorder::Ebpf
    } else {
        Recorder::Strace
    };
    let about = about(request, &root, probes.as_ref())?;
    let key = request.anonymous.then(key).transpose()?;
    let mut writer = Writer::new(out, &about, key)?;
    let began_ns = cpu_ns();
    let scanned = manifest::scan(&root, ManifestKind::Start, &mut writer, stop)?;
    let mut tracker = Tracker::new(writer, root.as_os_str().as_bytes().to_vec(), scanned.links);
    let mut manifest_ns = cpu_ns().saturating_sub(began_ns);
    let entries = scanned.entries;
    let how = Started {
        entries,
        recorder,
        no_ebpf,
    };
    let started = || started(&how);
    let (target, duration) = (&request.target, request.duration);
    let observed = if let Some(probes) = probes {
        ebpf::observe(&mut tracker, probes, target, duration, stop, started)?
    } else {
        strace::observe(&mut tracker, target, duration, stop, started)?
    };
    // Ctrl-C ended the observation, not this.
    let began_ns = cpu_ns();
    let last = manifest::scan(
        &root,
        ManifestKind::End,
        tracker.writer(),
        &CancelToken::new(),
    );
    manifest_ns += cpu_ns().saturating_sub(began_ns);
    let overhead = Overhead {
        kernel_ns: observed.kernel_ns,
        recorder_ns: observed.recorder_ns,
        programs_ns: observed.programs_ns,
        manifest_ns,
    };
    let mut ending = Ending {
        duration_ns: observed.duration_ns,
        lost: observed.lost,
        unknown: observed.unknown,
        outside: observed.outside,
        incomplete: scanned.incomplete,
        overhead: Some(overhead),
        exit_status: observed.exit_status,
        ..Ending::default()
    };
    match last {
        Ok(last) => {
            let more = last.incomplete.into_iter();
            let more: Vec<String> = more
                .filter(|why| !ending.incomplete.contains(why))
                .collect();
            ending.incomplete.extend(more);
        }
        Err(error) => ending
            .notes
            .push(format!("the tree at the end is not known: {error}")),
    }
    if observed.unknown > 0 {
        ending.notes.push(format!(
            "{} lines of strace could not be used",
            observed.unknown
        ));
    }
    Ok(tracker.finish(ending)?)
}

fn about(request: &Request, root: &Path, probes: Option<&Probes>) -> Result<About, SessionError> {
    let system = rustix::system::uname();
    let (recorder, tool, limits) = match probes {
        None => (
            Recorder::Strace,
            strace::version()?,
            strace::LIMITS.to_vec(),
        ),
        Some(probes) => (
            Recorder::Ebpf,
            String::new(),
            ebpf::limits(probes.observes()),
        ),
    };
    let mount = fsdyno_host::mounts::mountinfo(root);
    Ok(About {
        fsdyno: env!("CARGO_PKG_VERSION").to_owned(),
        recorder,
        tool,
        kernel: system.release().to_string_lossy().into_owned(),
        filesystem: mount.map(|mount| mount.fstype).unwrap_or_default(),
        root: root.display().to_string(),
        recorded: request.recorded.clone(),
        started_unix_s: unix_ns() / 1_000_000_000,
        anonymous: request.anonymous,
        limits: limits.into_iter().map(str::to_owned).collect(),
    })
}
