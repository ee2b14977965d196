//! The arguments of `lab`.

use crate::args::{JsonArgs, guest_lab, kernel};
use clap::{Args, Subcommand};
use fsdyno_model::{Bytes, KernelChoice, LabChoice};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct LabArgs {
    #[command(subcommand)]
    pub command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// What each lab has here: its kernel, and which file systems and layouts can be run in it
    List(JsonArgs),
    /// A shell in a guest, with empty disks (`/dev/ubda` or `/dev/vda` ...); they go when it ends
    Shell(ShellArgs),
    /// Build the lab kernel: one that has all file systems of the comparisons, from the sources of
    /// the distribution
    ///
    /// It takes some minutes and, for a while, 2 GiB. What was done is gone on with when it is
    /// started again; what is there already is not built again. The path of the kernel is printed.
    /// Exit codes: 0 it is there, 1 the build failed, 4 sources or programs are missing, 130
    /// interrupted.
    Setup(SetupArgs),
}

#[derive(Debug, Args)]
pub struct SetupArgs {
    /// How many files are compiled at once [default: one a processor]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// An archive of kernel sources, in place of the distribution's package
    #[arg(long, value_name = "FILE")]
    pub source: Option<PathBuf>,
    /// Leave the sources and all that was made of them where they are
    #[arg(long)]
    pub keep: bool,
}

#[derive(Debug, Args)]
pub struct ShellArgs {
    /// Whose guest: uml or qemu
    #[arg(long, value_name = "LAB", default_value = "uml", value_parser = guest_lab)]
    pub lab: LabChoice,
    /// How many disks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=16))]
    pub disks: u32,
    /// The size of each
    #[arg(long, value_name = "SIZE", default_value = "2G")]
    pub disk_size: Bytes,
    /// The memory of the guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Its kernel: packaged, lab, or the path of one [default: lab where there is one]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Where the disks lie
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
}
