//! The command line of `disk`.

use crate::args::JsonArgs;
use crate::commands::measuring::LockArgs;
use clap::{ArgAction, Args, Subcommand, ValueEnum};
use fsdyno_model::{Bytes, Nanos};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct DiskArgs {
    #[command(subcommand)]
    pub command: DiskCommand,
}

#[derive(Debug, Subcommand)]
pub enum DiskCommand {
    /// List all profiles: disks from 1997 to today
    List(JsonArgs),
    /// Print a profile in the format of a profile file
    Show(ShowArgs),
    /// Fit a profile to a device by reads, and print the error of each figure
    ///
    /// Not a byte is written to the device. The reads show latencies, rates by depth and by place,
    /// bursts, the units of a flash disk, and rotation and seeks of a hard disk. The profile is that of
    /// the model (hard disk, flash, volume) with the smallest error.
    Fit(FitArgs),
    /// Check a profile against its data sheet; exit code 1 above 3 % deviation
    ///
    /// Random and sequential requests go through the model. They measure seek curve, rotation,
    /// outer and inner rate, and the service time of random reads. The demerit figure of Ruemmler
    /// and Wilkes is the root mean square distance from the distribution that the sheet implies.
    Check(CheckArgs),
    /// Serve model disks to a virtual machine, and print how to attach them
    ///
    /// The protocol is vhost-user-blk, for QEMU and User-mode Linux. In real time a request takes
    /// as long as on the disk of the profile; Ctrl-C stops the server. In virtual time the guest is
    /// User-mode Linux with time-travel mode, and its clock advances only with its disks. The server
    /// then exits with the guest. It prints the virtual time, the number of requests, and a digest
    /// of all requests. The same guest gives the same digest on any machine.
    Serve(ServeArgs),
    /// Print a block trace: each request with type, time, place and time by cause
    ///
    /// `fsdyno run --disk PROFILE --disk-trace DIR` writes traces. A truncated or damaged trace is
    /// printed up to the first error, with exit code 1.
    Trace(TraceArgs),
    /// Serve a model disk as a file (FUSE); started by fsdyno
    #[command(hide = true)]
    FuseServer {
        /// The file, which identifies the process
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub struct FitArgs {
    /// Block device, or a file; it is opened for reading only
    pub device: PathBuf,
    /// Profile file to write
    #[arg(short, long, value_name = "PROFILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    /// Model of the profile [default: the one with the smallest error]
    #[arg(long, value_enum, value_name = "MODEL")]
    pub model: Option<Model>,
    /// Approximate duration of the measurement [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// New file on a file system of this device: measure writes and flushes too
    ///
    /// The file is created, written, and removed.
    #[arg(long, value_name = "FILE")]
    pub scratch: Option<PathBuf>,
    /// Size of the scratch file
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256M",
        requires = "scratch"
    )]
    pub scratch_size: Bytes,
    /// Device on the same path of known latency; what it takes beyond is subtracted
    #[arg(long, value_name = "DEVICE")]
    pub reference: Option<PathBuf>,
    /// Latency of the reference itself [default: 0s]
    #[arg(long, value_name = "TIME", requires = "reference")]
    pub reference_latency: Option<Nanos>,
    /// Print JSON: also all measurements
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub lock: LockArgs,
}

/// The models that can be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Model {
    /// Hard disk.
    Hdd,
    /// Flash disk.
    Flash,
    /// Network volume.
    Volume,
}

#[derive(Debug, Args)]
pub struct TraceArgs {
    /// Block trace of a disk
    pub file: PathBuf,
    /// Print CSV: times in nanoseconds, offsets in sectors of 512 bytes
    #[arg(long)]
    pub csv: bool,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Profile (`fsdyno disk list`), or a profile file
    pub profile: PathBuf,
    /// Socket that a guest connects to; repeatable, one per disk
    #[arg(
        long = "socket",
        value_name = "PATH",
        required_unless_present = "directory",
        action = ArgAction::Append
    )]
    pub sockets: Vec<PathBuf>,
    /// New directory for the disk as the file disk0 (FUSE), in real time; needs root
    #[arg(long, value_name = "DIR", conflicts_with_all = ["sockets", "images", "calendar", "time"])]
    pub directory: Option<PathBuf>,
    /// Image file of the content; repeatable, one per disk [default: memory]
    ///
    /// A missing file is created.
    #[arg(long = "image", value_name = "FILE", action = ArgAction::Append)]
    pub images: Vec<PathBuf>,
    /// Size of each disk [default: size of its image, or of the profile]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// File of faults for the disks (docs/model-disks.md)
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// Time of the guest
    #[arg(long, value_enum, value_name = "TIME", default_value_t = Time::Real)]
    pub time: Time,
    /// Socket of the event calendar of a guest in virtual time
    #[arg(long, value_name = "PATH", required_if_eq("time", "virtual"))]
    pub calendar: Option<PathBuf>,
}

/// The time of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Time {
    /// Wall-clock time.
    Real,
    /// Time that advances only with the disks.
    Virtual,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Profile (`fsdyno disk list`), or a profile file
    pub profile: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Profile (`fsdyno disk list`), or a profile file
    #[arg(required_unless_present = "seek_curve")]
    pub profile: Option<PathBuf>,
    /// Fit seek curves to this measured curve, and print their errors
    ///
    /// The file has lines `distance in cylinders, milliseconds`. Curves are fitted to three points;
    /// the errors are those at the other points.
    #[arg(long, value_name = "FILE")]
    pub seek_curve: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
