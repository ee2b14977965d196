//! Submits a distributed run to Slurm.

use super::Distributed;
use super::args::SlurmArgs;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_files::Existing;
use fsdyno_host::command;
use fsdyno_model::CancelToken;
use fsdyno_model::step::shell_line;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Memory of a job in addition to that of its guest: fsdyno, and the data of model disks.
const BESIDES_GUEST: u64 = 1 << 30;

pub fn submit(args: &SlurmArgs) -> Result<(), CliError> {
    let work = Distributed::of(&args.work)?;
    let (array, merge) = (array(&work, &args.sbatch), merge(&work, &args.sbatch));
    if args.dry_run {
        let text = format!("# array.sh\n{array}\n# merge.sh, after it\n{merge}");
        return output::bytes(text.as_bytes());
    }
    work.directory.create()?;
    let script = |name: &str, text: &str| -> Result<PathBuf, CliError> {
        let path = work.directory.path().join(name);
        fsdyno_files::replace(&path, text.as_bytes(), 0o700, Existing::Replace)
            .map_err(|error| CliError::failure(format!("{}: {error}", path.display())))?;
        Ok(path)
    };
    let (array, merge) = (script("array.sh", &array)?, script("merge.sh", &merge)?);
    let shards = sbatch(&[], &array)?;
    let last = sbatch(&[format!("--dependency=afterany:{shards}")], &merge)?;
    let text = format!(
        "submitted job {shards} with {} tasks, and job {last} that merges them\n\
         state:  fsdyno cluster status {dir}\n\
         result: fsdyno --store {} report last\n",
        work.shards,
        work.directory.merged().display(),
        dir = work.directory.path().display(),
    );
    output::bytes(text.as_bytes())
}

/// Submits a script; returns the number of the job.
fn sbatch(options: &[String], script: &Path) -> Result<String, CliError> {
    let mut argv = vec!["sbatch".to_owned(), "--parsable".to_owned()];
    argv.extend_from_slice(options);
    argv.push(script.display().to_string());
    let ran = command::query(&argv, &CancelToken::new()).map_err(|error| {
        let advice = "install Slurm (slurm-client), or print the scripts: --dry-run";
        CliError::new(Code::Missing, format!("{error}; {advice}"))
    })?;
    if !ran.success() {
        return Err(CliError::failure(ran.failure(&argv)));
    }
    // Within a federation the cluster follows the number.
    let number = ran.stdout.trim().split(';').next().unwrap_or_default();
    Ok(number.to_owned())
}

/// The array job: a core for a cell in virtual time, a whole node in real time. Slurm requeues a
/// task whose node fails, and the task resumes its shard.
fn array(work: &Distributed, further: &[String]) -> String {
    let log = work.directory.log("%a");
    let mut options = vec![
        format!("--job-name=fsdyno-{}", plain(&work.plan.name)),
        format!("--array=1-{}", work.shards),
        "--requeue".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--output={}", log.display()),
        "--ntasks=1".to_owned(),
    ];
    if work.plan.in_virtual_time() {
        let memory = fsdyno_lab::cell_memory(&work.plan).0 + BESIDES_GUEST;
        options.push("--cpus-per-task=1".to_owned());
        options.push(format!("--mem={}M", memory.div_ceil(1 << 20)));
    } else {
        options.push("--exclusive".to_owned());
    }
    let task = work.task_of_one_job("$SLURM_ARRAY_TASK_ID");
    format!("{}exec {task}\n", header(&options, further))
}

/// The job that merges the shards, also if some of them failed: it prints what is missing.
fn merge(work: &Distributed, further: &[String]) -> String {
    let options = [
        format!("--job-name=fsdyno-merge-{}", plain(&work.plan.name)),
        "--ntasks=1".to_owned(),
        "--open-mode=append".to_owned(),
        format!("--output={}", work.directory.log("merge").display()),
    ];
    let merge = work.directory.merge_line(&work.program);
    format!(
        "{}{} cluster status {}\nexec {merge}\n",
        header(&options, further),
        shell_line(&work.program),
        work.directory.path().display()
    )
}

fn header(options: &[String], further: &[String]) -> String {
    let mut text = String::from("#!/bin/sh\n");
    for option in options.iter().chain(further) {
        let _ = writeln!(text, "#SBATCH {option}");
    }
    text
}

/// A name without characters that Slurm reads as patterns.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(plain).collect()
}
