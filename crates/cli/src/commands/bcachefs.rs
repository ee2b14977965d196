//! `bcachefs make` and `bcachefs check`: an empty bcachefs on devices, and the kernel's check of one.

use crate::args::Erase;
use crate::commands::released::{not_opened, open_released};
use crate::exit::{CliError, Code};
use crate::output;
use clap::{Args, Subcommand};
use fsdyno_bcachefs::{Checksum, Compression, Geometry, MakeOptions};
use fsdyno_host::formatting::{Purpose, open_unused};
use fsdyno_host::mounts::mount_detached;
use fsdyno_model::Bytes;
use std::fs::File;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

const MAKE_HELP: &str = "\
Writes the superblocks for Linux 6.12 and later; the kernel makes the rest at
the first mount. The options are those of bcachefs format. Several devices are
one file system, which stripes over them.

A device, or a file that is not all zeros, is overwritten only with --erase.
The refusal prints the value of that option. A device in use is never
overwritten. A copy of the old signatures is kept.";

const CHECK_HELP: &str = "\
The kernel checks at a mount that is attached nowhere (mount options fsck,
nochanges) and writes nothing. Its warnings of that time are the findings.
Needs root, a kernel with bcachefs, and all devices of the file system.";

#[derive(Debug, Args)]
pub struct BcachefsArgs {
    #[command(subcommand)]
    pub command: BcachefsCommand,
}

#[derive(Debug, Subcommand)]
pub enum BcachefsCommand {
    /// Make an empty bcachefs on devices or in files; erases their content
    Make(MakeBcachefsArgs),
    /// Check the consistency of a bcachefs by the kernel, read-only
    Check(CheckBcachefsArgs),
}

pub fn bcachefs(command: &BcachefsCommand) -> Result<Code, CliError> {
    match command {
        BcachefsCommand::Make(args) => make(args).map(|()| Code::Ok),
        BcachefsCommand::Check(args) => check(args),
    }
}

#[derive(Debug, Args)]
#[command(after_help = MAKE_HELP)]
pub struct MakeBcachefsArgs {
    /// Block size: 512, 1K, 2K or 4K
    #[arg(long = "block_size", value_name = "BYTES", default_value = "4K")]
    pub block: Bytes,
    /// Copies of everything, each on another device
    #[arg(long, value_name = "COPIES", default_value_t = 1)]
    pub replicas: u8,
    /// Copies of data [default: --replicas]
    #[arg(long = "data_replicas", value_name = "COPIES")]
    pub data_replicas: Option<u8>,
    /// Copies of metadata [default: --replicas]
    #[arg(long = "metadata_replicas", value_name = "COPIES")]
    pub metadata_replicas: Option<u8>,
    /// Checksum of data: none, crc32c, crc64 or xxhash
    #[arg(long = "data_checksum", value_name = "KIND", default_value = "crc32c")]
    pub data_checksum: Checksum,
    /// Checksum of metadata: none, crc32c, crc64 or xxhash
    #[arg(
        long = "metadata_checksum",
        value_name = "KIND",
        default_value = "crc32c"
    )]
    pub metadata_checksum: Checksum,
    /// Compression: none, lz4, gzip, zstd, gzip:LEVEL or zstd:LEVEL
    #[arg(long, value_name = "KIND", default_value = "none")]
    pub compression: Compression,
    /// Compression by a background task: as --compression
    #[arg(
        long = "background_compression",
        value_name = "KIND",
        default_value = "none"
    )]
    pub background_compression: Compression,
    /// Volume label
    #[arg(
        short = 'L',
        long = "fs_label",
        value_name = "NAME",
        default_value = ""
    )]
    pub label: String,
    #[command(flatten)]
    pub erase: Erase,
    /// Block devices, or existing files (truncate -s SIZE FILE)
    #[arg(required = true)]
    pub devices: Vec<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub struct CheckBcachefsArgs {
    /// Correct the errors, and write
    #[arg(long)]
    pub repair: bool,
    /// All devices of the file system, not mounted
    #[arg(required = true)]
    pub devices: Vec<PathBuf>,
}

fn make(args: &MakeBcachefsArgs) -> Result<(), CliError> {
    let options = make_options(args);
    let devices: Vec<String> = args
        .devices
        .iter()
        .map(|one| one.display().to_string())
        .collect();
    let devices = devices.join(", ");
    let geometry = |sizes: &[u64]| {
        Geometry::new(&options, sizes)
            .map_err(|error| CliError::usage(format!("cannot make bcachefs on {devices}: {error}")))
    };
    let opened = open_released(&args.devices, &args.erase, |sizes| {
        geometry(sizes).map(drop)
    })?;
    let (mut files, sizes): (Vec<File>, Vec<u64>) = opened.into_iter().unzip();
    let geometry = geometry(&sizes)?;
    let ids = random_ids(2 + files.len());
    let ids =
        ids.map_err(|error| CliError::failure(format!("cannot read /dev/urandom: {error}")))?;
    let mut ids = ids.into_iter();
    let made = fsdyno_bcachefs::make(&mut files, &geometry, &options, || {
        ids.next().unwrap_or_default()
    });
    made.map_err(|error| CliError::failure(format!("{devices}: {error}")))?;
    // The kernel reads superblocks past the page cache.
    for (file, path) in files.iter().zip(&args.devices) {
        file.sync_all().map_err(|error| {
            CliError::failure(format!("cannot write to {}: {error}", path.display()))
        })?;
    }
    output::bytes(format!("{devices}: {}\n", geometry.line()).as_bytes())
}

fn make_options(args: &MakeBcachefsArgs) -> MakeOptions {
    MakeOptions {
        block: args.block.0,
        metadata_replicas: args.metadata_replicas.unwrap_or(args.replicas),
        data_replicas: args.data_replicas.unwrap_or(args.replicas),
        metadata_checksum: args.metadata_checksum,
        data_checksum: args.data_checksum,
        compression: args.compression,
        background_compression: args.background_compression,
        label: args.label.clone(),
    }
}

/// Random UUIDs, version 4.
fn random_ids(count: usize) -> std::io::Result<Vec<[u8; 16]>> {
    let id = |_| {
        let mut id: [u8; 16] = fsdyno_files::random()?;
        id[6] = id[6] & 0x0f | 0x40;
        id[8] = id[8] & 0x3f | 0x80;
        Ok(id)
    };
    (0..count).map(id).collect()
}

fn check(args: &CheckBcachefsArgs) -> Result<Code, CliError> {
    let mut names = Vec::new();
    for path in &args.devices {
        let (file, _) = open_unused(path, Purpose::Read).map_err(not_opened)?;
        let device = path.display();
        if !file
            .metadata()
            .is_ok_and(|about| about.file_type().is_block_device())
        {
            return Err(CliError::usage(format!(
                "cannot check {device}: the kernel checks block devices only. Attach the file: losetup \
                 --find --show {device}"
            )));
        }
        names.push(device.to_string());
    }
    let names = names.join(":");
    let options: &[&str] = if args.repair {
        &["fsck", "fix_errors=yes"]
    } else {
        &["ro", "fsck", "fix_errors=no", "nochanges"]
    };
    let options: Vec<String> = options.iter().map(|one| (*one).to_owned()).collect();
    let mount = mount_detached("bcachefs", &names, &options).ok_or_else(|| {
        CliError::new(
            Code::Missing,
            format!("cannot check {names}: the findings are in the kernel log, and /dev/kmsg cannot be read"),
        )
    })?;
    // The end of a line that reports progress becomes a line of its own if another one interrupts it.
    let findings = mount.warnings.iter().map(String::as_str);
    let findings: Vec<&str> = findings.filter(|line| line.trim() != "done").collect();
    let is_clean = findings.is_empty();
    if !is_clean {
        output::bytes(format!("{}\n", findings.join("\n")).as_bytes())?;
    }
    if let Some(reason) = &mount.refused {
        return Err(CliError::failure(format!("cannot check {names}: {reason}")));
    }
    if is_clean {
        output::bytes(format!("{names}: the kernel finds no error\n").as_bytes())?;
    }
    Ok(Code::ok_if(is_clean || args.repair))
}
