//! The executor of the ssh lab: runs each stage of a cell as scripts in the shell of another
//! machine.

use super::guest::Guest;
use super::machine::Machine;
use super::remote::RemoteShell;
use crate::job::Job;
use crate::notes::Notes;
use crate::procedure::CellEnd;
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_host::command::Finished;
use fsdyno_host::journal::Journal;
use fsdyno_host::ssh::{How, ScriptOutput, SshError};
use fsdyno_load::kinds::Needs;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    Bytes, CacheEvidence, CancelToken, DatasetChoice, DeviceUse, FilesystemKind, Pool, Step,
};
use std::path::{Path, PathBuf};

/// The reason why the cache state is not verified there.
const NOT_COUNTED: &str = "pages in the memory of another machine cannot be counted";

/// A dataset on the other machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub dataset: DatasetChoice,
    pub seed: u64,
    pub archive: bool,
    /// The tree, or the archive, there.
    pub path: PathBuf,
}

/// A cell that is being executed.
pub(super) struct SshExecutor<'a, 'n> {
    pub notes: &'a mut Notes<'n>,
    pub remote: &'a mut dyn RemoteShell,
    pub machine: &'a Machine,
    /// The datasets that are already sent.
    pub sent: &'a mut Vec<Sent>,
    pub journal: Option<&'a Journal>,
    pub stop: &'a CancelToken,
    /// The directory of this run on the other machine.
    pub directory: String,
    pub target: PathBuf,
    pub mount_steps: Vec<Step>,
    /// The step that must follow a `sync` there.
    pub durable: Option<Step>,
    pub work_dir: WorkDir,
    /// The virtual machine, whose disks are counted; none for another machine.
    pub guest: Option<&'a mut Guest>,
}

pub(super) fn word(path: &Path) -> String {
    shell_line(&[path.display().to_string()])
}

impl<'a, 'n> SshExecutor<'a, 'n> {
    /// An executor in a directory on the other machine, to which these datasets are already sent.
    pub fn new(
        notes: &'a mut Notes<'n>,
        remote: &'a mut dyn RemoteShell,
        machine: &'a Machine,
        (directory, sent): (&str, &'a mut Vec<Sent>),
        journal: Option<&'a Journal>,
        stop: &'a CancelToken,
    ) -> Self {
        Self {
            notes,
            remote,
            machine,
            sent,
            journal,
            stop,
            directory: directory.to_owned(),
            target: PathBuf::new(),
            mount_steps: Vec::new(),
            durable: None,
            work_dir: WorkDir::new(PathBuf::new()),
            guest: None,
        }
    }

    /// Runs a script and returns its output with any status.
    pub fn run_remote(&mut self, how: How, script: &str) -> Result<ScriptOutput, CellEnd> {
        let output = self.remote.run_script(how, script);
        output.map_err(|error| self.connection_lost(&error))
    }

    pub fn connection_lost(&self, error: &SshError) -> CellEnd {
        match error {
            SshError::Stopped => CellEnd::Stopped,
            other => self.notes.halt(other.to_string(), None),
        }
    }

    /// Records a script in the current stage.
    pub fn note(&mut self, script: &str, output: &ScriptOutput) {
        let argv = ["sh", "-c", script].map(str::to_owned);
        self.notes.program(&argv, &finished(output));
    }

    pub fn failed(&self, line: &str, output: &ScriptOutput) -> CellEnd {
        let message = finished(output).failure(&[line.to_owned()]);
        // Quoted as one word, because it is already a line.
        let word = shell_line(&[line.to_owned()]);
        self.notes.halt(message.replacen(&word, line, 1), None)
    }

    /// Runs and records a script; a status other than 0 is a failure.
    pub fn script(&mut self, how: How, script: &str) -> Result<ScriptOutput, CellEnd> {
        let output = self.run_remote(how, script)?;
        self.note(script, &output);
        if output.status == 0 {
            return Ok(output);
        }
        Err(self.failed(script, &output))
    }

    /// The unique name of this run there.
    pub fn tag(&self) -> String {
        let name = self.directory.rsplit('/').next().unwrap_or_default();
        name.trim_start_matches("fsdyno-").to_owned()
    }

    /// The words of a step for the other machine.
    pub fn line(&self, step: &Step) -> String {
        match (step, self.machine.dialect) {
            (
                Step::Mount {
                    fstype,
                    source,
                    target,
                    options,
                },
                Some(dialect),
            ) => shell_line(&(dialect.mount)(fstype, source, target, options)),
            _ => step.shell(),
        }
    }

    /// The line that makes all writes durable.
    pub fn durable_line(&self) -> String {
        match &self.durable {
            Some(step) => format!("sync; {}", step.shell()),
            None => "sync".to_owned(),
        }
    }

    /// The line that unmounts the file system, if it is mounted.
    fn unmount_line(&self) -> String {
        let mut held = self.mount_steps.iter().filter_map(Step::undone_by);
        match held.next() {
            Some(Step::ReleasePool { pool }) => release_line(&pool),
            _ => format!(
                "[ -z \"$MOUNTED\" ] || unmount {} && MOUNTED=",
                word(&self.target)
            ),
        }
    }

    pub fn mount_again(&mut self) -> Result<(), CellEnd> {
        for step in self.mount_steps.clone() {
            let line = self.line(&step);
            let mounts = matches!(step, Step::Mount { .. });
            let script = if mounts {
                format!("MOUNTED=1; {line} || {{ S=$?; MOUNTED=; (exit \"$S\"); }}")
            } else {
                line
            };
            self.script(How::Here, &script)?;
        }
        Ok(())
    }

    pub fn unmount_now(&mut self) -> Result<(), CellEnd> {
        if self.mount_steps.is_empty() {
            return Ok(());
        }
        let script = self.unmount_line();
        self.script(How::Here, &script).map(|_| ())
    }

    /// The counters of the disks of a contender; none if it has no disks of fsdyno.
    pub fn counters(&mut self, job: &Job<'_>) -> Option<DeviceUse> {
        let disks = job.contender.layout.devices;
        let on_disks = job.recipe.kind() == FilesystemKind::Block;
        self.guest.as_mut().filter(|_| on_disks)?.counters(disks)
    }

    /// Space in use of the file system under test.
    pub fn space(&mut self) -> Result<Bytes, CellEnd> {
        let script = format!("df -kP {}", word(&self.work_dir.root));
        let output = self.run_remote(How::Here, &script)?;
        Ok(column(&output.stdout, 2).unwrap_or_default())
    }

    pub fn warm(&mut self, needs: Needs, evidence: &mut CacheEvidence) -> Result<(), CellEnd> {
        "a full pass over all metadata and data".clone_into(&mut evidence.method);
        evidence.reason = Some(NOT_COUNTED.to_owned());
        let Some(subject) = self.work_dir.input(needs) else {
            return Ok(());
        };
        let subject = word(&subject);
        let script = format!(
            "sync\nfind {subject} -links 0\nfind {subject} -type f -exec cat {{}} + >/dev/null"
        );
        self.script(How::Job, &script).map(|_| ())
    }

    pub fn cold(&mut self, job: &Job<'_>, evidence: &mut CacheEvidence) -> Result<(), CellEnd> {
        let drop = self.machine.dialect.and_then(|dialect| dialect.drop_caches);
        let drop = drop.filter(|_| self.machine.root);
        self.script(How::Job, "sync")?;
        let mounted = job.recipe.kind() == FilesystemKind::Block;
        if mounted {
            self.unmount_now()?;
        }
        if let Some(line) = drop {
            self.script(How::Here, line)?;
        }
        if mounted {
            self.mount_again()?;
        }
        let (method, warning) = match (mounted, drop) {
            (true, Some(_)) => (
                "sync, unmount, drop_caches, mount",
                format!("cold by unmount and mount, not proven: {NOT_COUNTED}"),
            ),
            (true, None) => (
                "sync, unmount, mount",
                format!("cold by unmount and mount, not proven: {NOT_COUNTED}"),
            ),
            (false, Some(_)) => (
                "sync, drop_caches",
                format!("caches were dropped, but {NOT_COUNTED}"),
            ),
            (false, None) => (
                "sync",
                "in a directory there nothing can be driven out of memory".to_owned(),
            ),
        };
        method.clone_into(&mut evidence.method);
        evidence.reason = Some(warning);
        Ok(())
    }
}

/// The number of KiB in that column of the output of `df -kP`, bytes.
pub(super) fn column(printed: &str, at: usize) -> Option<Bytes> {
    // The name of a device may contain blanks: count columns from the percentage.
    let line = printed.lines().nth(1)?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let share = words.iter().position(|word| word.ends_with('%'))?;
    let word = words.get((share + at).checked_sub(4)?)?;
    Some(Bytes(word.parse::<u64>().ok()?.checked_mul(1024)?))
}

fn finished(output: &ScriptOutput) -> Finished {
    Finished {
        status: Some(output.status),
        signal: None,
        elapsed: output.elapsed,
        stdout: output.stdout.clone(),
        stderr: output.stderr.clone(),
    }
}

pub(super) fn release_line(pool: &Pool) -> String {
    let (held, release) = (shell_line(&pool.held), shell_line(&pool.release));
    format!("! {held} >/dev/null 2>&1 || {release}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_df_are_found_next_to_names_with_blanks() {
        let printed = "Filesystem 1024-blocks Used Available Capacity Mounted on\n\
            a pool/with blanks 1000 200 800 20% /mnt/a b\n";
        assert_eq!(column(printed, 1), Some(Bytes(1000 * 1024)));
        assert_eq!(column(printed, 2), Some(Bytes(200 * 1024)));
        assert_eq!(column(printed, 3), Some(Bytes(800 * 1024)));
        assert_eq!(column("", 2), None);
        assert_eq!(column("Filesystem\nx\n", 2), None);
    }
}
