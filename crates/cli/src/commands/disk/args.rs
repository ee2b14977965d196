//! The command line of `disk`.

use crate::args::JsonArgs;
use clap::{ArgAction, Args, Subcommand, ValueEnum};
use fsdyno_model::Bytes;
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
    /// Serve model disks to a virtual machine of yours, and tell how to attach them
    ///
    /// Over vhost-user-blk, to QEMU and to User-mode Linux. In real time a request takes as long as
    /// it would on the disk of the profile; Ctrl-C ends it. In virtual time the clock of a guest of
    /// User-mode Linux that can travel in time goes on only with its disks: it ends when the guest
    /// does, and tells the time that has passed, the requests, and a digest of them all: the same
    /// guest has the same again, on any machine.
    Serve(ServeArgs),
    /// Print a block trace: each request with type, time, place and time by cause
    ///
    /// `fsdyno run --disk PROFILE --disk-trace DIR` writes traces. A truncated or damaged trace is
    /// printed up to the first error, with exit code 1.
    #[command(alias = "requests")]
    Trace(TraceArgs),
    /// The process behind a model disk that is a file; fsdyno starts it by itself
    #[command(hide = true)]
    Behind {
        /// The file, by which the process is known
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// The block trace of a disk
    pub file: PathBuf,
    /// Print CSV: times in nanoseconds, places in sectors of 512 bytes
    #[arg(long)]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// The profile (`fsdyno disk list`), or a file
    pub profile: PathBuf,
    /// Where a guest connects; given again, a disk more
    #[arg(long = "socket", value_name = "PATH", required = true, action = ArgAction::Append)]
    pub sockets: Vec<PathBuf>,
    /// What is on the disk: a file, made where there is none; one for each disk [default: memory]
    #[arg(long = "image", value_name = "FILE", action = ArgAction::Append)]
    pub images: Vec<PathBuf>,
    /// How large the disk is [default: as its image is, or the profile says]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Faults that the disks are told to have: a file (docs/model-disks.md shows one)
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Which time the guest lives in
    #[arg(long, value_enum, value_name = "TIME", default_value_t = Time::Real)]
    pub time: Time,
    /// Where a guest in virtual time has its calendar
    #[arg(long, value_name = "PATH", required_if_eq("time", "virtual"))]
    pub calendar: Option<PathBuf>,
}

/// The time that a guest lives in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// That of the clock on the wall.
    Real,
    /// One that goes on only with its disks.
    Virtual,
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
