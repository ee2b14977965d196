//! `record`: records the operations of programs on the files of a directory.

mod args;
mod show;

pub use args::RecordArgs;

use crate::exit::{CliError, Code};
use crate::output;
use args::{NewRecording, RecordCommand, RecorderChoice};
use fsdyno_files::Output;
use fsdyno_host::command::CommandError;
use fsdyno_host::signals;
use fsdyno_load::StrayProcesses;
use fsdyno_model::{Bytes, Nanos};
use fsdyno_recorder::observation::{SessionError, Target};
use fsdyno_recorder::session::{Request, Started, record as record_session};
use fsdyno_trace::{Ending, Recorder};
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    let mut request = Request {
        root: args.path.clone().unwrap_or_else(|| PathBuf::from(".")),
        target: target(args)?,
        recorded: recorded(args),
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
    let stop = signals::cancel_token()?;
    // However fsdyno ends, the processes of the command end too: strace cannot leave them alone, because
    // their calls then fail (seccomp(2), SECCOMP_RET_TRACE without a tracer).
    let mut strays = None;
    if let Target::Command { mark, .. } = &mut request.target {
        let guarded = StrayProcesses::guarded().map_err(CliError::failure)?;
        let (name, value) = guarded.variable();
        *mark = Some((name, value.to_owned()));
        strays = Some(guarded);
    }
    let unwritten = |error: std::io::Error| {
        CliError::failure(format!("cannot write {}: {error}", path.display()))
    };
    let out = Output::create(path, 0o666, output::existing(args.force)).map_err(unwritten)?;
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
    out.commit().map_err(unwritten)?;
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
                "nothing to record. Add -- COMMAND, --pid PID or --cgroup DIR",
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
            CliError::new(Code::Missing, error)
        }
        SessionError::Process { .. } | SessionError::Tree { .. } => CliError::usage(error),
        error => CliError::failure(error),
    }
}

/// Prints a summary of the recording. The reasons why it is not complete come first.
fn finished(path: &Path, ending: &Ending) {
    for line in show::missing(ending) {
        output::error(format_args!("warning: {line}"));
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
