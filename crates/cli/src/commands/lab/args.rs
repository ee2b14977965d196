//! The arguments of `lab`.

use crate::args::{JsonArgs, guest_lab, kernel};
use clap::{Args, Subcommand};
use fsdyno_guests::kernels::{KernelSource, ZfsSource};
use fsdyno_model::{Bytes, KernelChoice, LabChoice};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// List labs with their kernels, file systems and layouts on this machine
    List(JsonArgs),
    /// Start a shell in a guest with empty disks
    ///
    /// The disks are `/dev/ubda` ... in uml and `/dev/vda` ... in qemu. They are deleted when the
    /// shell exits.
    Shell(ShellArgs),
    /// Build the lab kernel, which has all file systems of the comparisons
    ///
    /// The sources are those of the distribution. The build takes some minutes, and 2 GiB while it
    /// runs. An interrupted build resumes at the next start; an existing kernel is not built again.
    /// `--with zfs` builds a kernel with OpenZFS and its programs, for your own use: its licence
    /// forbids to distribute it. `--from` installs a kernel that was built elsewhere, in a second. The
    /// command prints the path of the kernel. Exit codes: 0 the kernel exists, 1 the build or the kernel failed, 4 sources,
    /// programs or the file of `--from` are missing, 130 interrupted.
    Setup(SetupArgs),
    /// Build kernels of source trees and git commits, and print their paths
    ///
    /// SOURCE is tree:DIR, git:DIR#REV, git:DIR#A..B (every tag) or git:DIR#A..B:N (every Nth commit).
    /// The same files, options and compiler are built once. Trees and repositories are only read. A
    /// kernel that cannot be built is reported, the others are built, and the exit code is 1.
    Build(BuildArgs),
    /// List built kernels and the sources of builds, with their sizes
    Kernels(JsonArgs),
    /// Remove kernels that were built here, and sources of builds
    ///
    /// A removed kernel is built again when a run needs it. What a build uses stays, and the exit
    /// code is 1.
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
pub struct RemoveArgs {
    /// Names in `fsdyno lab kernels`
    #[arg(value_name = "NAME", required_unless_present = "older_than")]
    pub names: Vec<String>,
    /// Remove all that are this old, except for the default lab kernel; days
    #[arg(long, value_name = "DAYS")]
    pub older_than: Option<u64>,
    /// Print what would be removed, and change nothing
    #[arg(long)]
    pub dry_run: bool,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Sources: tree:DIR, git:DIR#REV, git:DIR#A..B or git:DIR#A..B:N
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<KernelSource>,
    /// Number of compile jobs at a time [default: number of processors]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Print the name of each kernel before its path
    #[arg(long)]
    pub names: bool,
}

#[derive(Debug, Args)]
pub struct SetupArgs {
    /// Number of compile jobs at a time [default: number of processors]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Archive of kernel sources [default: the distribution's package]
    #[arg(long, value_name = "FILE")]
    pub source: Option<PathBuf>,
    /// Build OpenZFS into the kernel, from the distribution's zfs-dkms: zfs
    #[arg(long, value_name = "WHAT")]
    pub with: Option<Extra>,
    /// Build OpenZFS into the kernel, from the archive of a release
    #[arg(long, value_name = "FILE")]
    pub zfs: Option<PathBuf>,
    /// Keep the sources and the build directory
    #[arg(long)]
    pub keep: bool,
    /// Install a built kernel: a package fsdyno-lab-kernel, or a file `linux`
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["jobs", "source", "keep", "with", "zfs"]
    )]
    pub from: Option<PathBuf>,
}

/// What a lab kernel has only on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Extra {
    Zfs,
}

impl SetupArgs {
    /// The sources of OpenZFS, if the kernel is to have it.
    pub fn zfs_source(&self) -> Option<ZfsSource> {
        match (&self.zfs, self.with) {
            (Some(archive), _) => Some(ZfsSource::Archive(archive.clone())),
            (None, Some(Extra::Zfs)) => Some(ZfsSource::Distribution),
            (None, None) => None,
        }
    }
}

#[derive(Debug, Args)]
pub struct ShellArgs {
    /// Lab of the guest: uml or qemu
    #[arg(long, value_name = "LAB", default_value = "uml", value_parser = guest_lab)]
    pub lab: LabChoice,
    /// Number of disks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub disks: u32,
    /// Size of each disk
    #[arg(long, value_name = "SIZE", default_value = "2G")]
    pub disk_size: Bytes,
    /// Memory of the guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Kernel of the guest: packaged, lab or a path [default: lab if it is built]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Directory of the image files
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
}
