//! `ci init`: writes files that measure each change of a kernel or file system in continuous
//! integration.

use crate::args::unknown;
use crate::exit::CliError;
use crate::output;
use clap::{Args, Subcommand};
use fsdyno_disk::profiles;
use fsdyno_files::{create_output_dir, refuse_foreign_links, replace};
use fsdyno_model::Need;
use fsdyno_recipes::fs;
use std::path::{Path, PathBuf};

const SCRIPT: &str = include_str!("../../data/ci/fsdyno.sh");
const WORKFLOW: &str = include_str!("../../data/ci/fsdyno.yml");
const PLAN: &str = include_str!("../../data/ci/fsdyno.toml");

const HELP: &str = "\
Files:
  ci/fsdyno.sh    measures base and commit, compares, writes the site; no root
  ci/fsdyno.toml  plan: contenders, disk and phases
  .github/workflows/fsdyno.yml
                  GitHub Actions: runs the script for each change, and publishes
                  the site as an artifact

The files are yours to change. docs/ci.md describes them.";

#[derive(Debug, Args)]
pub struct CiArgs {
    #[command(subcommand)]
    pub command: CiCommand,
}

#[derive(Debug, Subcommand)]
pub enum CiCommand {
    /// Write a script, a plan and a workflow for a kernel or file-system tree
    Init(InitArgs),
}

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct InitArgs {
    /// Root of the git repository
    #[arg(value_name = "DIR", default_value = ".")]
    pub directory: PathBuf,
    /// File systems to measure
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ext4,xfs,btrfs"
    )]
    pub fs: Vec<String>,
    /// Model disk (`fsdyno disk list`)
    #[arg(long, value_name = "PROFILE", default_value = "sata-ssd")]
    pub disk: String,
    /// Base branch
    #[arg(long, value_name = "BRANCH", default_value = "main")]
    pub base: String,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

pub fn ci(command: &CiCommand) -> Result<(), CliError> {
    match command {
        CiCommand::Init(args) => init(args),
    }
}

fn init(args: &InitArgs) -> Result<(), CliError> {
    let files = files(args)?;
    let root = std::path::absolute(&args.directory)
        .map_err(|error| failed("find", &args.directory, &error))?;
    if !root.join(".git").exists() {
        return Err(CliError::usage(format!(
            "cannot write to {}: it is not the root of a git repository. Name it: fsdyno ci init DIR",
            root.display()
        )));
    }
    let existing = output::existing(args.force);
    let paths: Vec<PathBuf> = files.iter().map(|file| root.join(file.name)).collect();
    for path in &paths {
        refuse_foreign_links(path).map_err(CliError::usage)?;
        if let Some(parent) = path.parent().filter(|parent| parent.exists()) {
            output::check(
                Some(&parent.join(path.file_name().unwrap_or_default())),
                existing,
            )?;
        }
    }
    for (file, path) in files.iter().zip(&paths) {
        if let Some(parent) = path.parent() {
            create_output_dir(parent).map_err(CliError::failure)?;
        }
        replace(path, file.text.as_bytes(), file.mode, existing)
            .map_err(|error| failed("write", path, &error))?;
        output::bytes(format!("{}\n", path.display()).as_bytes())?;
    }
    Ok(())
}

fn failed(act: &str, path: &Path, error: &std::io::Error) -> CliError {
    CliError::failure(format!("cannot {act} {}: {error}", path.display()))
}

struct File {
    name: &'static str,
    text: String,
    mode: u32,
}

/// The files with the settings of the user, which are checked: they become parts of scripts.
fn files(args: &InitArgs) -> Result<[File; 3], CliError> {
    let mut packages: Vec<String> = Vec::new();
    for name in &args.fs {
        let recipe = fs::find(name).ok_or_else(|| {
            let names = fs::ALL.iter().map(|recipe| recipe.name());
            CliError::usage(unknown("file system", name, names))
        })?;
        packages.extend(
            recipe
                .requirements()
                .into_iter()
                .filter_map(|one| match one.need {
                    Need::Program { package, .. } => Some(package),
                    _ => None,
                }),
        );
    }
    packages.sort();
    packages.dedup();
    let disks = profiles::ALL.map(|one| one.name);
    if !disks.contains(&args.disk.as_str()) {
        return Err(CliError::usage(unknown("model disk", &args.disk, disks)));
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._/-".contains(c);
    if args.base.is_empty() || args.base.starts_with('-') || !args.base.chars().all(is_plain) {
        return Err(CliError::usage(format!(
            "`{}` is no name of a branch for a script: use letters, digits, `.`, `_`, `/` and `-`",
            args.base
        )));
    }
    let contenders: Vec<String> = args.fs.iter().map(|name| format!("\"{name}\"")).collect();
    Ok([
        File {
            name: "ci/fsdyno.sh",
            text: SCRIPT.replace("@BASE@", &format!("origin/{}", args.base)),
            mode: 0o777,
        },
        File {
            name: "ci/fsdyno.toml",
            text: PLAN
                .replace("@DISK@", &args.disk)
                .replace("@CONTENDERS@", &contenders.join(", ")),
            mode: 0o666,
        },
        File {
            name: ".github/workflows/fsdyno.yml",
            text: WORKFLOW
                .replace("@BRANCH@", &args.base)
                .replace("@PACKAGES@", &packages.join(" ")),
            mode: 0o666,
        },
    ])
}
