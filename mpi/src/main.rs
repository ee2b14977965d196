//! The binary `fsdyno-mpi`: measures file systems by the ranks of an MPI program, each rank a client.
//!
//! The crate `fsdyno-ranks` does the work; this one connects it to MPI.

mod world;

use clap::Parser;
use fsdyno_files::places;
use fsdyno_host::signals;
use fsdyno_model::CancelToken;
use fsdyno_ranks::conduct::{self, Environment};
use fsdyno_ranks::monitor::{link, process};
use fsdyno_ranks::{Alarm, Group as _, Options, host_name};
use mpi::Threading;
use mpi::traits::Communicator as _;
use std::process::ExitCode;
use world::World;

/// The exit status of a program that ended with `MPI_Abort`.
const ABORTED: i32 = 1;

/// Measures file systems by all ranks of an MPI program at once.
///
/// Start it with mpirun, mpiexec or srun on directories that all hosts have mounted:
/// `mpirun -np 4 fsdyno-mpi /mnt/shared`. fsdyno reads the results: `fsdyno report last`.
#[derive(Debug, Parser)]
#[command(name = "fsdyno-mpi", version)]
struct Arguments {
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(link::MONITOR) {
        // SAFETY: this process has just begun, and owns no descriptor but the three standard ones.
        // The others are those of the MPI library of rank 0. Open, they would hide its death.
        unsafe { libc::close_range(3, libc::c_uint::MAX, 0) };
        return status(process::serve());
    }
    let arguments = Arguments::parse();
    let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
        eprintln!("fsdyno-mpi: MPI is initialised already");
        return ExitCode::FAILURE;
    };
    let world = World(universe.world());
    match measure(&world, &arguments.options) {
        Ok(end) => status(end),
        Err(reason) => {
            eprintln!("fsdyno-mpi: rank {} stops: {reason}", world.rank());
            world.0.abort(ABORTED)
        }
    }
}

fn status(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}

/// Runs on this rank; returns the exit status.
fn measure(world: &World, options: &Options) -> Result<i32, String> {
    let stop = CancelToken::new();
    let signals = signals::install(&stop).map_err(|error| format!("signals: {error}"))?;
    let program = std::env::current_exe().map_err(|error| format!("/proc/self/exe: {error}"))?;
    let places = places::of_effective_user().map_err(|error| error.to_string())?;
    let environment = Environment {
        program: &program,
        store: places.data.join("fsdyno").join("fsdyno.db"),
        addresses: addresses(),
        library: library(),
        command_line: std::env::args().collect(),
        stop: &stop,
        signals: Some(signals),
        alarm: &Alarm::default(),
    };
    let end = conduct::run(world, options, &environment);
    end.map(conduct::End::status)
        .map_err(|halt| halt.to_string())
}

/// The addresses of this host that other hosts may reach, and its name.
fn addresses() -> Vec<String> {
    let interfaces = nix::ifaddrs::getifaddrs().into_iter().flatten();
    let addresses = interfaces.filter_map(|interface| {
        let address = interface.address?;
        let four = address
            .as_sockaddr_in()
            .map(|four| (four.ip().is_loopback(), four.ip().to_string()));
        let six = || {
            let six = address.as_sockaddr_in6()?;
            // An address of one link needs the name of the link.
            let local = six.ip().is_loopback() || six.ip().is_unicast_link_local();
            Some((local, six.ip().to_string()))
        };
        four.or_else(six)
    });
    let usable = addresses
        .filter(|(local, _)| !local)
        .map(|(_, address)| address);
    usable.chain([host_name()]).collect()
}

/// The name and the version of the MPI library, in one line.
fn library() -> String {
    let text = mpi::environment::library_version().unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    line.replace('\t', " ").trim().to_owned()
}
