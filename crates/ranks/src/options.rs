//! The command line of `fsdyno-mpi`.

use std::path::PathBuf;
use std::time::Duration;

/// Measures file systems by all ranks of an MPI program at once, each rank a client.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Directories on the file systems to compare, seen by all ranks; the first is the baseline
    #[arg(required = true, value_name = "DIR")]
    pub directories: Vec<PathBuf>,

    /// Phases to run, in order: op-*, mongo-*, bonnie's files, or on trees
    #[arg(
        long,
        value_name = "LIST",
        default_value = "op-create,op-stat,op-open,op-unlink"
    )]
    pub phases: String,

    /// Set a parameter of phases: KIND.NAME=VALUE (`fsdyno list phases --long`)
    #[arg(long, value_name = "SETTING")]
    pub set: Vec<String>,

    /// Dataset of phases on trees; each rank has its own copy
    #[arg(long, value_name = "DATASET")]
    pub dataset: Option<String>,

    /// Size of generated datasets as a multiple of full size
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale: f64,

    /// Seed of datasets and order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Engine: sync, uring or mmap
    #[arg(long, value_name = "NAME", default_value = "sync")]
    pub engine: String,

    /// Repeats of every phase
    #[arg(long, short = 'n', value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeats: u32,

    /// Numbers of ranks that work, for a scaling curve: 1,2,4 [default: all ranks]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub clients: Vec<u32>,

    /// Ranks between the writer of a file and its reader; 0: each reads its own
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub shift: usize,

    /// End phases that create, write or read this long after their start
    ///
    /// A rank completes the operation in flight, and begins no other. Later phases work on the files
    /// and blocks that each rank has written.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub stonewall: Option<Duration>,

    /// Do not compare the files that phases leave with those that were written
    #[arg(long)]
    pub no_verify: bool,

    /// Command that remounts DIR on a host before cold phases, by `sh -c`
    ///
    /// One rank of each host runs it, with the directory in the variable DIR.
    #[arg(long, value_name = "COMMAND")]
    pub remount: Option<String>,

    /// Command that prints the version of the client on a host, by `sh -c`
    #[arg(long, value_name = "COMMAND")]
    pub client_version: Option<String>,

    /// Time limit of a phase, seconds; the phase fails after it
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    pub phase_timeout: Duration,

    /// Time without a sign of life after which a rank has failed, seconds
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub heartbeat_timeout: Duration,

    /// Write without a question where consent is needed
    ///
    /// It is needed for more than 1 GiB, and to leave less free than 10 % or 1 GiB. Without a terminal
    /// the run ends instead of the question.
    #[arg(long)]
    pub yes: bool,

    /// Database of runs, on the host of rank 0 [default: fsdyno.db in the data directory]
    #[arg(long, value_name = "FILE", env = "FSDYNO_STORE")]
    pub store: Option<PathBuf>,

    /// Name of the plan
    #[arg(long, value_name = "NAME", default_value = "mpi")]
    pub name: String,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds")?;
    if !(0.1..=1e7).contains(&seconds) {
        return Err("write a number of seconds from 0.1 to 10000000".to_owned());
    }
    Ok(Duration::from_secs_f64(seconds))
}
