//! The dataset of a cell: generated here from its seed, sent once, and copied there for each cell.
//! Trees are compared with it.

use super::executor::{Sent, SshExecutor, word};
use super::phases::unpacking;
use crate::job::Job;
use crate::preflight::DEFAULT_SCRATCH;
use crate::procedure::CellEnd;
use fsdyno_datasets::work_dir::{SOURCE, WorkDir};
use fsdyno_datasets::{DatasetError, Form};
use fsdyno_host::image::Scratch;
use fsdyno_host::ssh::{How, Parcel};
use fsdyno_load::kinds::Needs;
use std::path::{Path, PathBuf};

/// Writes the dataset of a cell in all forms that it needs.
pub(super) fn set_up(executor: &mut SshExecutor<'_, '_>, job: &Job<'_>) -> Result<(), CellEnd> {
    for form in &job.prepared.forms {
        let sent = send(executor, job, *form)?;
        let name = sent.file_name().unwrap_or_default();
        let written = executor.work_dir.root.join(name);
        let line = format!("cp -RPp {} {}", word(&sent), word(&written));
        executor.script(How::Job, &line)?;
        match form {
            Form::Tree => executor.work_dir.trees.push(written),
            Form::Archive => executor.work_dir.archive = Some(written),
        }
    }
    Ok(())
}

/// The path of a form of the dataset there; sends the form first if it is missing.
fn send(executor: &mut SshExecutor<'_, '_>, job: &Job<'_>, form: Form) -> Result<PathBuf, CellEnd> {
    let archive = form == Form::Archive;
    let known = executor.sent.iter().find(|one| {
        let same = one.dataset == job.workload.dataset && one.seed == job.dataset_seed();
        same && one.archive == archive
    });
    if let Some(known) = known {
        return Ok(known.path.clone());
    }
    let place = PathBuf::from(&executor.directory).join(format!("dataset{}", executor.sent.len()));
    executor.script(How::Here, &format!("mkdir {}", word(&place)))?;
    let sent = if executor.remote.is_dry_run() {
        dry_run(executor, job, form, &place)
    } else {
        create_and_send(executor, job, form, &place)
    };
    let path = match sent {
        Ok(path) => path,
        Err(end) => {
            // The next cell sends it again. After a lost connection the session removes all.
            let _ = executor.run_remote(How::Here, &format!("rm -rf {}", word(&place)));
            return Err(end);
        }
    };
    executor.sent.push(Sent {
        dataset: job.workload.dataset.clone(),
        seed: job.dataset_seed(),
        archive,
        path: path.clone(),
    });
    Ok(path)
}

/// The line that receives the files there.
fn taking(place: &Path, form: Form, path: &Path) -> String {
    match form {
        Form::Tree => format!("cd {} && exec tar -xpf -", word(place)),
        Form::Archive => format!("exec cat >{}", word(path)),
    }
}

fn dry_run(
    executor: &mut SshExecutor<'_, '_>,
    job: &Job<'_>,
    form: Form,
    place: &Path,
) -> Result<PathBuf, CellEnd> {
    let path = match form {
        Form::Tree => place.join(SOURCE),
        Form::Archive => place.join(format!("{SOURCE}.tar")),
    };
    let script = format!(
        "the dataset {}, generated here from seed {} at scale {}, is sent to:\n{}",
        job.workload.dataset,
        job.dataset_seed(),
        job.plan.scale,
        taking(place, form, &path)
    );
    let sent = executor.remote.send(Parcel::File(&path), &script);
    sent.map_err(|error| executor.connection_lost(&error))?;
    Ok(path)
}

fn create_and_send(
    executor: &mut SshExecutor<'_, '_>,
    job: &Job<'_>,
    form: Form,
    place: &Path,
) -> Result<PathBuf, CellEnd> {
    let Some(journal) = executor.journal else {
        return Err(executor.notes.halt("there is no journal", None));
    };
    let here = Path::new(DEFAULT_SCRATCH).join(format!("fsdyno-{}-sent", journal.name()));
    let scratch = Scratch::create(&here, journal);
    let scratch = scratch.map_err(|error| executor.notes.halt(error.to_string(), None))?;
    let mut work_dir = WorkDir::new(scratch.path());
    let written = job
        .dataset()
        .and_then(|dataset| dataset.create(&mut work_dir, form, executor.stop));
    let warnings = written.map_err(|error| match error {
        DatasetError::Stopped => CellEnd::Stopped,
        other => executor.notes.halt(other.to_string(), other.errno()),
    })?;
    for warning in warnings {
        executor.notes.warn(warning);
    }
    let archive = work_dir.archive.as_ref().filter(|_| form == Form::Archive);
    let (parcel, path) = if let Some(archive) = archive {
        let name = archive.file_name().unwrap_or_default();
        (Parcel::File(archive), place.join(name))
    } else {
        let tree = Parcel::Tree {
            inside: scratch.path(),
            name: SOURCE,
        };
        (tree, place.join(SOURCE))
    };
    let sent = executor.remote.send(parcel, &taking(place, form, &path));
    sent.map_err(|error| executor.connection_lost(&error))?;
    Ok(path)
}

/// Compares the newest tree with its source: names, and checksums of all files.
///
/// An unpacked tree is compared with one that the same tar unpacks outside of the contender.
pub(super) fn verify(
    executor: &mut SshExecutor<'_, '_>,
    job: &Job<'_>,
    needs: Needs,
) -> Result<(), CellEnd> {
    let trees = &executor.work_dir.trees;
    let newest = trees.last().cloned().unwrap_or_default();
    let with_tree = Path::new(&executor.directory).join("original");
    let (original, before, after) = if needs == Needs::Archive {
        let archive = executor.work_dir.archive.clone().unwrap_or_default();
        let letters = unpacking(&archive.display().to_string());
        let (archive, place) = (word(&archive), word(&with_tree));
        let before = format!(
            "rm -rf {place}; mkdir {place} && tar {letters} {archive} -C {place} || exit\n"
        );
        (with_tree, before, format!("rm -rf {place}\n"))
    } else {
        let original = trees.len().checked_sub(2).map(|at| trees[at].clone());
        (original.unwrap_or_default(), String::new(), String::new())
    };
    let list = |name: &str| word(&Path::new(&executor.directory).join(name));
    let (first, second) = (list("sums.first"), list("sums.second"));
    let sums = |tree: &Path, into: &str| {
        format!(
            "( cd {} && {{ find . | sort; find . -type f -exec \"$sum\" {{}} + | sort; }} ) >{into}",
            word(tree)
        )
    };
    let script = format!(
        "sum=cksum; command -v cksum >/dev/null || sum=md5sum\n\
         {before}{} || exit\n{} || exit\n{after}cmp {first} {second} && wc -l <{second}",
        sums(&original, &first),
        sums(&newest, &second)
    );
    let output = executor
        .script(How::Job, &script)
        .map_err(|halt| match halt {
            CellEnd::Failed(failure) => executor.notes.halt(
                format!(
                    "{} is not what it was made from ({}), or cannot be compared: {}",
                    newest.display(),
                    original.display(),
                    failure.message
                ),
                None,
            ),
            CellEnd::Stopped => CellEnd::Stopped,
        })?;
    let text = format!(
        "{} in {}: {} lines of names and sums equal to those of {}",
        job.contender.label,
        newest.display(),
        output.stdout.trim(),
        original.display(),
    );
    executor.notes.effective("tree comparison", text);
    Ok(())
}
