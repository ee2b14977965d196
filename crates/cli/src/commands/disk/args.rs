//! The command line of `disk`.

use crate::args::JsonArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DiskArgs {
    #[command(subcommand)]
    pub command: DiskCommand,
}

#[derive(Debug, Subcommand)]
pub enum DiskCommand {
    /// All profiles: disks from 1997 to today
    List(JsonArgs),
    /// One of them, as a file of your own may write it
    Show(ShowArgs),
    /// Hold a profile against its sheet, by probes: exit code 1 where a figure is off by more than
    /// 3 %
    ///
    /// Random and sequential requests go through the model, as a machine would send them: seek
    /// curve, rotation, outer and inner rate, and how long random reads take, with the distance
    /// from the distribution that the sheet leads to (root mean square; Ruemmler's and Wilkes's
    /// demerit figure).
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The profile (`fsdyno disk list`), or a file
    pub profile: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The profile (`fsdyno disk list`), or a file
    #[arg(required_unless_present = "seek_curve")]
    pub profile: Option<PathBuf>,
    /// Fit seek curves to three points of a measured one, and tell how far they are off at the
    /// others: a file of lines `distance in cylinders, milliseconds`
    #[arg(long, value_name = "FILE")]
    pub seek_curve: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
