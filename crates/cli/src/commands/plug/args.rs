//! The arguments of `plug`.

use crate::args::{guest_lab, kernel};
use clap::{ArgAction, Args};
use fsdyno_model::{Bytes, KernelChoice, LabChoice};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct PlugArgs {
    /// Contenders, separated by commas
    #[arg(long = "fs", value_name = "LIST", action = ArgAction::Append, required = true)]
    pub contenders: Vec<String>,
    /// How often the plug is pulled on each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub cuts: u32,
    /// Seed of what is written and of the moments; each cut has the next one
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Where images lie, and those stay that did not come back whole
    #[arg(long, value_name = "DIR", default_value = fsdyno_lab::preflight::DEFAULT_SCRATCH)]
    pub work_dir: PathBuf,
    /// Whose guests: uml or qemu
    #[arg(long, value_name = "LAB", default_value = "uml", value_parser = guest_lab)]
    pub lab: LabChoice,
    /// Put contenders on model disks of this profile (`fsdyno disk list`, or a file), in virtual
    /// time: they lose what they had acknowledged and not flushed, and a seed gives the same cut
    /// again (`--lab uml`, with a kernel that can travel in time)
    #[arg(long, value_name = "PROFILE")]
    pub disk: Option<PathBuf>,
    /// Give the model disks the faults of this file: what a flush that lies loses, or a cut that
    /// leaves any of what was under way
    #[arg(long, value_name = "FILE", requires = "disk")]
    pub disk_faults: Option<PathBuf>,
    /// The memory of a guest
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub guest_memory: Bytes,
    /// Its kernel: packaged, lab, or the path of one [default: lab where there is one]
    #[arg(long, value_name = "KERNEL", value_parser = kernel())]
    pub guest_kernel: Option<KernelChoice>,
    /// Keep the images of all cuts
    #[arg(long, conflicts_with = "again")]
    pub keep: bool,
    /// Bring back again what a cut left in these images, which stay as they are
    #[arg(
        long,
        value_name = "IMAGES",
        value_delimiter = ',',
        requires = "acknowledged",
        conflicts_with = "cuts"
    )]
    pub again: Vec<PathBuf>,
    /// How many operations had been acknowledged then
    #[arg(long, value_name = "N", requires = "again")]
    pub acknowledged: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
