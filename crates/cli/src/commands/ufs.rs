//! `ufs make` and `ufs check`: an empty UFS1 or UFS2 on a device, and a check that only reads.

use crate::args::Erase;
use crate::commands::released::{not_opened, open_released};
use crate::exit::{CliError, Code};
use crate::output;
use clap::{ArgAction, Args, Subcommand};
use fsdyno_host::formatting::{Purpose, open_unused};
use fsdyno_ufs::{Geometry, MakeError, MakeOptions, Version};
use std::fmt::Write as _;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use std::time::SystemTime;

const MAKE_HELP: &str = "\
Layout and option letters are those of newfs(8) of FreeBSD, little-endian.
Soft updates (-U, -j) are refused, because only BSD kernels implement them.
Use newfs on such a system instead.

A device, or a file that is not all zeros, is overwritten only with --erase.
The refusal prints the value of that option. A device in use is never
overwritten. A copy of the old signatures is kept.";

#[derive(Debug, Args)]
pub struct UfsArgs {
    #[command(subcommand)]
    pub command: UfsCommand,
}

#[derive(Debug, Subcommand)]
pub enum UfsCommand {
    /// Make an empty UFS1 or UFS2 on a device or in a file; erases its content
    Make(MakeUfsArgs),
    /// Check the consistency of a UFS, read-only
    Check(CheckUfsArgs),
}

pub fn ufs(command: &UfsCommand) -> Result<Code, CliError> {
    match command {
        UfsCommand::Make(args) => make(args).map(|()| Code::Ok),
        UfsCommand::Check(args) => check(args),
    }
}

#[derive(Debug, Args)]
#[command(after_help = MAKE_HELP, disable_help_flag = true)]
pub struct MakeUfsArgs {
    /// Format: 1 or 2
    #[arg(short = 'O', value_name = "VERSION", default_value_t = 2,
          value_parser = clap::value_parser!(u8).range(1..=2))]
    pub version: u8,
    /// Block size in bytes [default: 16384 for UFS1, 32768 for UFS2]
    #[arg(short = 'b', value_name = "BYTES")]
    pub block: Option<u64>,
    /// Fragment size in bytes [default: an eighth of a block]
    #[arg(short = 'f', value_name = "BYTES")]
    pub fragment: Option<u64>,
    /// Bytes of space per inode [default: four fragments]
    #[arg(short = 'i', value_name = "BYTES")]
    pub density: Option<u64>,
    /// Maximum blocks of a cylinder group [default: limit of its descriptor]
    #[arg(short = 'c', value_name = "BLOCKS")]
    pub group_blocks: Option<u64>,
    /// Space reserved for root, in percent
    #[arg(short = 'm', value_name = "PERCENT", default_value_t = 8)]
    pub minfree: u64,
    /// Optimize allocation for time or space
    #[arg(short = 'o', value_name = "WHAT", default_value = "time",
          value_parser = ["time", "space"])]
    pub prefer: String,
    /// Expected average file size in bytes
    #[arg(short = 'g', value_name = "BYTES", default_value_t = 16_384)]
    pub file_size: u64,
    /// Expected number of files in a directory
    #[arg(short = 'h', value_name = "FILES", default_value_t = 64)]
    pub directory_files: u64,
    /// Volume label
    #[arg(short = 'L', value_name = "NAME", default_value = "")]
    pub label: String,
    /// Refused: soft updates exist only in BSD kernels
    #[arg(short = 'U', hide = true)]
    pub soft_updates: bool,
    /// Refused: journaled soft updates exist only in BSD kernels
    #[arg(short = 'j', hide = true)]
    pub soft_journal: bool,
    /// Print help
    #[arg(long, action = ArgAction::Help)]
    help: (),
    #[command(flatten)]
    pub erase: Erase,
    /// Block device, or existing file (truncate -s SIZE FILE)
    pub device: PathBuf,
}

#[derive(Debug, Args)]
pub struct CheckUfsArgs {
    /// Block device or file, not mounted
    pub device: PathBuf,
}

/// Size of the write buffer in bytes.
const GATHERED: usize = 1 << 20;

pub fn make(args: &MakeUfsArgs) -> Result<(), CliError> {
    if args.soft_updates || args.soft_journal {
        return Err(CliError::usage(
            "cannot make a UFS with -U or -j: soft updates exist only in BSD kernels. Leave them out, \
             or run newfs on a BSD system.",
        ));
    }
    let options = make_options(args);
    let device = args.device.display();
    let refused = |error| CliError::usage(format!("{device}: {error}"));
    // An impossible geometry is refused first.
    let is_possible = |sizes: &[u64]| match sizes {
        [bytes] => Geometry::of(&options, *bytes).map(drop).map_err(refused),
        _ => Ok(()),
    };
    let paths = std::slice::from_ref(&args.device);
    let mut opened = open_released(paths, &args.erase, is_possible)?;
    let Some((mut file, bytes)) = opened.pop() else {
        return Ok(());
    };
    let mut writer = BufWriter::with_capacity(GATHERED, &mut file);
    let made = fsdyno_ufs::newfs(&mut writer, bytes, &options);
    drop(writer);
    let geometry = made.map_err(|error| match error {
        MakeError::Geometry(error) => refused(error),
        MakeError::Write { .. } => CliError::failure(format!("{device}: {error}")),
    })?;
    file.sync_all()
        .map_err(|error| CliError::failure(format!("cannot write to {device}: {error}")))?;
    let line = format!("{device}: {}\n", geometry.line());
    output::bytes(line.as_bytes())
}

fn make_options(args: &MakeUfsArgs) -> MakeOptions {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap_or_default();
    let version = match args.version {
        1 => Version::Ufs1,
        _ => Version::Ufs2,
    };
    MakeOptions {
        block: args.block,
        fragment: args.fragment,
        density: args.density,
        group_blocks: args.group_blocks,
        minfree: args.minfree,
        for_space: args.prefer == "space",
        file_size: args.file_size,
        directory_files: args.directory_files,
        label: args.label.clone(),
        time: now.as_secs(),
        id: now.subsec_nanos() ^ std::process::id(),
        ..MakeOptions::new(version)
    }
}

pub fn check(args: &CheckUfsArgs) -> Result<Code, CliError> {
    let (file, _) = open_unused(&args.device, Purpose::Read).map_err(not_opened)?;
    let device = args.device.display();
    let mut reader = BufReader::new(file);
    let verdict = fsdyno_ufs::check(&mut reader)
        .map_err(|error| CliError::failure(format!("{device}: {error}")))?;
    let mut text = format!("{device}: {}\n", verdict.geometry.line());
    let free = verdict.free * verdict.geometry.fragment;
    let (files, directories) = (verdict.files, verdict.directories);
    // Writing to a string never fails.
    let _ = writeln!(
        text,
        "{files} files, {directories} directories, {free} bytes free"
    );
    for contradiction in &verdict.contradictions {
        let _ = writeln!(text, "{contradiction}");
    }
    let printed = verdict.contradictions.len() as u64;
    if verdict.total > printed {
        let _ = writeln!(text, "and {} more", verdict.total - printed);
    }
    if !verdict.unmounted {
        let _ = writeln!(text, "it was not unmounted cleanly");
    }
    if verdict.clean() {
        let _ = writeln!(text, "it agrees with itself");
    }
    output::bytes(text.as_bytes())?;
    Ok(Code::ok_if(verdict.clean()))
}
