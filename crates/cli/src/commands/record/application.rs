//! An application to record: a phase of it in a directory of its own, after all that is before the phase.

use crate::commands::run::{need_programs, plan_error};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_files::{TemporaryDir, programs};
use fsdyno_load::StrayProcesses;
use fsdyno_load::programs::app::RecordCommands;
use fsdyno_model::CancelToken;
use fsdyno_recorder::observation::Target;
use fsdyno_run::resolve::recorded_commands;
use std::ffi::OsString;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Where the directories are: a disk. Others cannot exchange them there.
const PLACE: &str = "/var/tmp";

/// An application whose phase can begin.
pub struct Application {
    commands: RecordCommands,
    name: String,
    data: TemporaryDir,
    /// Of temporary files. Both are removed at the end.
    _temporary: TemporaryDir,
}

impl Application {
    /// Makes the directories, and runs the phases before the recorded one and its preparation.
    pub fn prepare(text: &str, phase: Option<&str>, stop: &CancelToken) -> Result<Self, CliError> {
        need_programs(text)?;
        let directory = |what: &str| {
            let made = TemporaryDir::create(Path::new(PLACE), &format!("fsdyno-{what}-"));
            made.map_err(|error| CliError::failure(format!("cannot use {PLACE}: {error}")))
        };
        let (data, temporary) = (directory("app")?, directory("tmp")?);
        let directories = [data.path(), temporary.path()];
        let commands = recorded_commands(text, phase, directories).map_err(plan_error)?;
        if let Some((uid, gid)) = commands.owner {
            for directory in directories {
                chown(directory, Some(uid), Some(gid))?;
            }
        }
        output::note(format_args!(
            "fsdyno: {text}: what is before the phase {} is not recorded",
            commands.phase
        ));
        run(text, &commands.before, stop)?;
        Ok(Self {
            commands,
            name: text.to_owned(),
            data,
            _temporary: temporary,
        })
    }

    /// The directory to record, the command, and its description.
    pub fn request(&self) -> (PathBuf, Target, Vec<String>) {
        let argv = ["sh", "-euc", &self.commands.timed];
        let target = Target::Command {
            argv: argv.map(OsString::from).to_vec(),
            mark: None,
        };
        let about = ["--app", &self.name, "--phase", &self.commands.phase];
        let about = about.map(str::to_owned).into();
        (self.data.path().to_owned(), target, about)
    }
}

/// Runs shell commands whose processes end with fsdyno.
fn run(text: &str, commands: &str, stop: &CancelToken) -> Result<(), CliError> {
    let strays = StrayProcesses::guarded().map_err(CliError::failure)?;
    let (name, value) = strays.variable();
    let done = programs::command("sh")?
        .args(["-euc", commands])
        .env(name, value)
        .current_dir(Path::new("/"))
        .stdin(Stdio::null())
        .output()?;
    if stop.requested() {
        return Err(CliError::new(
            Code::Interrupted,
            "interrupted; nothing was recorded",
        ));
    }
    if done.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&done.stderr);
    let last: Vec<&str> = printed.lines().rev().take(3).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(CliError::failure(format!(
        "cannot prepare {text}: {}: {}",
        done.status,
        last.join("; ")
    )))
}
