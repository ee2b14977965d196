//! `record`: records the operations of programs on the files of a directory.

mod application;
mod args;
mod show;

pub use args::RecordArgs;

use crate::exit::{CliError, Code};
use crate::output;
use application::Application;
use args::{NewRecording, RecordCommand, RecorderChoice};
use fsdyno_files::Output;
use fsdyno_host::command::CommandError;
use fsdyno_host::signals;
use fsdyno_load::StrayProcesses;
use fsdyno_model::{Bytes, Nanos};
use fsdyno_recorder::observation::{SessionError, Target};
use fsdyno_recorder::session::{Request, Started, record as record_session};
use fsdyno_recorder::strace::log::{self, Log};
use fsdyno_trace::{Ending, Recorder};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What to do where fsdyno cannot record.
const ELSEWHERE: &str = "\
    A log of `strace -f -ttt -T -y -o FILE` of any machine becomes a recording by --from-strace FILE, \
    and the static binary of fsdyno records on any Linux (--anonymous: without names)";

pub fn record(args: &RecordArgs) -> Result<(), CliError> {
    match &args.command {
        Some(RecordCommand::Show(args)) => show::show(args),
        None => new(&args.record),
    }
}

fn new(args: &NewRecording) -> Result<(), CliError> {
    let Some(path) = &args.output else {
        return Err(CliError::usage("--output FILE is missing"));
    };
    output::check(Some(path), output::existing(args.force))?;
    if !args.from_strace.is_empty() {
        return import(args, path);
    }
    let stop = signals::cancel_token()?;
    let application = args.app.as_deref();
    let application =
        application.map(|text| Application::prepare(text, args.phase.as_deref(), &stop));
    let application = application.transpose()?;
    let (root, target, recorded) = if let Some(application) = &application {
        application.request()
    } else {
        let root = args.path.clone().unwrap_or_else(|| PathBuf::from("."));
        (root, target(args)?, recorded(args))
    };
    let mut request = Request {
        root,
        target,
        recorded,
        recorder: match args.recorder {
            RecorderChoice::Auto => None,
            RecorderChoice::Ebpf => Some(Recorder::Ebpf),
            RecorderChoice::Strace => Some(Recorder::Strace),
        },
        duration: args.duration.map(|Nanos(ns)| Duration::from_nanos(ns)),
        anonymous: args.anonymous,
        buffer: buffer(args.buffer)?,
    };
    if !request.root.is_dir() {
        let root = request.root.display();
        return Err(CliError::usage(format!(
            "cannot record {root}: it is not a directory"
        )));
    }
    // However fsdyno ends, the processes of the command end too: strace cannot leave them alone, because
    // their calls then fail (seccomp(2), SECCOMP_RET_TRACE without a tracer).
    let mut strays = None;
    if let Target::Command { mark, .. } = &mut request.target {
        let guarded = StrayProcesses::guarded().map_err(CliError::failure)?;
        let (name, value) = guarded.variable();
        *mark = Some((name, value.to_owned()));
        strays = Some(guarded);
    }
    let out = Output::create(path, 0o666, output::existing(args.force))
        .map_err(|error| unwritten(path, &error))?;
    let started = |started: &Started| {
        if let Some(why) = &started.no_ebpf {
            output::note(format_args!(
                "fsdyno: no eBPF, which costs less than strace: {why}"
            ));
        }
        let (entries, how) = (started.entries, started.recorder.name());
        output::note(format_args!(
            "fsdyno: entries in the tree: {entries}; recording with {how}"
        ));
    };
    let recorded = record_session(&request, out, &stop, started);
    drop(strays);
    let (out, ending) = recorded.map_err(failed)?;
    out.commit().map_err(|error| unwritten(path, &error))?;
    finished(path, &ending);
    Ok(())
}

fn unwritten(path: &Path, error: &std::io::Error) -> CliError {
    CliError::failure(format!("cannot write {}: {error}", path.display()))
}

/// Makes a recording of a log of strace.
fn import(args: &NewRecording, path: &Path) -> Result<(), CliError> {
    if let Some(root) = args.path.as_ref().filter(|root| !root.is_absolute()) {
        return Err(CliError::usage(format!(
            "--path {}: the directory of a log has an absolute name, as on its machine",
            root.display()
        )));
    }
    let log = Log {
        files: args.from_strace.clone(),
        root: args.path.clone(),
        anonymous: args.anonymous,
    };
    let out = Output::create(path, 0o666, output::existing(args.force))
        .map_err(|error| unwritten(path, &error))?;
    let (out, ending) = log::import(&log, out).map_err(failed)?;
    out.commit().map_err(|error| unwritten(path, &error))?;
    finished(path, &ending);
    Ok(())
}

/// The size of the buffer of eBPF.
fn buffer(Bytes(size): Bytes) -> Result<u32, CliError> {
    let fits = (1 << 12..=1 << 30).contains(&size) && size.is_power_of_two();
    match u32::try_from(size) {
        Ok(size) if fits => Ok(size),
        _ => Err(CliError::usage(format!(
            "--buffer {}: it is a power of two from 4K to 1G",
            Bytes(size)
        ))),
    }
}

fn target(args: &NewRecording) -> Result<Target, CliError> {
    if !args.argv.is_empty() {
        return Ok(Target::Command {
            argv: args.argv.clone(),
            mark: None,
        });
    }
    let Some(group) = &args.cgroup else {
        if args.pid.is_empty() {
            return Err(CliError::usage(
                "nothing to record. Add -- COMMAND, --app APP, --pid PID or --cgroup DIR",
            ));
        }
        return Ok(Target::Processes(args.pid.clone()));
    };
    let shown = group.display();
    let members = fsdyno_recorder::attach::processes(group).map_err(|error| {
        CliError::usage(format!("cannot read the processes of {shown}: {error}"))
    })?;
    if members.is_empty() {
        return Err(CliError::usage(format!("no process is in {shown}")));
    }
    Ok(Target::Group(group.clone()))
}

fn recorded(args: &NewRecording) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    words.extend(
        args.argv
            .iter()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    words.extend(args.pid.iter().map(|pid| format!("pid {pid}")));
    words.extend(
        args.cgroup
            .iter()
            .map(|group| format!("cgroup {}", group.display())),
    );
    words
}

fn failed(error: SessionError) -> CliError {
    match error {
        SessionError::Manifest(fsdyno_datasets::DatasetError::Stopped) => {
            CliError::new(Code::Interrupted, "interrupted; nothing was recorded")
        }
        SessionError::Command(CommandError::NotFound { .. }) | SessionError::NoEbpf(_) => {
            CliError::new(Code::Missing, format!("{error}. {ELSEWHERE}"))
        }
        SessionError::Command(ref cause) => {
            CliError::new(Code::of_command(cause, Code::Failure), error)
        }
        SessionError::Strace => CliError::failure(format!("{error}. {ELSEWHERE}")),
        SessionError::Process { .. }
        | SessionError::Tree { .. }
        | SessionError::Log { .. }
        | SessionError::EmptyLog { .. } => CliError::usage(error),
        error => CliError::failure(error),
    }
}

/// Prints a summary of the recording. The reasons why it is not complete come first.
fn finished(path: &Path, ending: &Ending) {
    for line in show::missing(ending) {
        output::error(format_args!("warning: {line}"));
    }
    if let Some(explained) = show::explained(ending) {
        output::note(format_args!("fsdyno: {explained}"));
    }
    let path = path.display();
    let (operations, time) = (ending.operations, Nanos(ending.duration_ns));
    output::note(format_args!(
        "fsdyno: {operations} operations in {time}: {path}"
    ));
    if let Some(overhead) = show::overhead(ending) {
        output::note(format_args!("fsdyno: {overhead}"));
    }
    if let Some(status) = ending.exit_status.filter(|status| *status != 0) {
        output::note(format_args!(
            "fsdyno: the command ended with status {status}"
        ));
    }
}
