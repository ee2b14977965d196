//! `fsdyno-mpi`, built and tested with each MPI library that is installed.

use crate::system::{Result, Start, at, cargo, has, message, run, target};
use std::fs;
use std::process::{Command, Stdio};

/// The MPI libraries, by the endings of their compiler wrappers.
const LIBRARIES: [&str; 2] = ["openmpi", "mpich"];

fn is_installed(library: &str) -> bool {
    has(&format!("mpicc.{library}"))
}

/// A command of cargo on fsdyno-mpi with one MPI library. Its binding does not notice another library
/// by itself.
fn cargo_with(library: &str, command: &str) -> Command {
    let target = target().join("mpi");
    let on = |mut command: Command| {
        command.args(["--manifest-path", "mpi/Cargo.toml", "--target-dir"]);
        command.arg(&target);
        command
    };
    let mut clean = on(cargo(&["clean", "-q"]));
    let _ = run(clean
        .args(["-p", "mpi-sys", "-p", "mpi"])
        .stderr(Stdio::null()));
    let mut command = on(cargo(&[command, "--locked"]));
    command.env("MPICC", format!("mpicc.{library}"));
    command
}

pub fn build(start: &Start) -> Result {
    start.need_packages(&["mpi", "mpich"])?;
    if !LIBRARIES.into_iter().any(is_installed) {
        return Err("no MPI library is installed: install libopenmpi-dev or libmpich-dev".into());
    }
    let built = target().join("mpi/release/fsdyno-mpi");
    let programs = target().join("mpi/bin");
    fs::create_dir_all(&programs).map_err(at(&programs))?;
    for library in LIBRARIES
        .into_iter()
        .filter(|library| is_installed(library))
    {
        run(cargo_with(library, "build").arg("--release"))?;
        let program = programs.join(format!("fsdyno-mpi.{library}"));
        // A running program cannot be overwritten, but removed.
        let _ = fs::remove_file(&program);
        fs::copy(&built, &program).map_err(at(&program))?;
        message(format!("built {}", program.display()));
    }
    Ok(())
}

/// Runs the tests of fsdyno-mpi with the first MPI library that is installed, or with all of them.
/// Returns those that it ran with.
pub fn test(all: bool) -> Result<Vec<&'static str>> {
    let least = if all { LIBRARIES.len() } else { 1 };
    let installed = LIBRARIES.into_iter().filter(|one| is_installed(one));
    let tested: Vec<_> = installed.take(least).collect();
    for library in &tested {
        // Each test has four ranks.
        let mut test = cargo_with(library, "test");
        run(test.args(["--no-fail-fast", "--", "--show-output", "--test-threads=1"]))?;
    }
    if tested.len() < least {
        println!("SKIP mpicc.openmpi, mpicc.mpich: fsdyno-mpi");
    }
    Ok(tested)
}
