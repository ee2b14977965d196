//! Commands of the project. `./x` starts them: it installs what the build needs, and passes how it was
//! started.

mod bench;
mod check;
mod fuzz;
mod kernels;
mod mpi;
mod night;
mod package;
mod programs;
mod system;
mod tests;

use std::process::{Command, ExitCode};
use system::{Failure, Result, Start, cargo, message, run, target};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let start = Start::parse(&mut arguments);
    let (Some(start), Some(command)) = (start, arguments.next()) else {
        message("start xtask with ./x: see `./x help`");
        return ExitCode::from(2);
    };
    let words: Vec<String> = arguments.collect();
    let Err(failure) = execute(&start, &command, &words) else {
        return ExitCode::SUCCESS;
    };
    if !failure.message.is_empty() {
        message(failure.message);
    }
    ExitCode::from(failure.status)
}

fn execute(start: &Start, command: &str, words: &[String]) -> Result {
    match command {
        "test" => test(start, words),
        "mpi" => mpi::build(start),
        "check" => check::check(start),
        "digests" => record_digests(start),
        "fuzz" => fuzz::fuzz(start, words),
        "bench" => bench::bench(start, words),
        "night" => night::night(start, words),
        "docs" => write_reference(),
        "package" => package::package(start, words),
        "install" => install(start),
        _ => Err(format!("unknown command `{command}`").into()),
    }
}

/// Installs what groups of tests need.
fn need_groups(start: &Start, words: &[String]) -> Result {
    let has = |group: &str| words.iter().any(|word| word == group || word == "all");
    if has("lab") || has("cluster") {
        start.need_packages(&["demo", "test", "lab"])?;
        kernels::need_guest_kernel(start)?;
    }
    if has("cluster") {
        start.need_packages(&["cluster", "mpi"])?;
    }
    if has("browser") {
        start.need_packages(&["browser"])?;
    }
    start.need_packages(&["test"])
}

/// Runs groups of tests, and tests of fsdyno-mpi with the group `cluster`.
fn test(start: &Start, words: &[String]) -> Result {
    need_groups(start, words)?;
    let passed = match tests::test(&tests::Selection::parse(words)) {
        Ok(summary) if summary.failed.is_empty() => Ok(()),
        Ok(_) => Err(Failure::printed(1)),
        Err(text) => {
            message(text);
            Err(Failure::printed(2))
        }
    };
    if words.iter().any(|word| word == "cluster" || word == "all") {
        mpi::test(false)?;
    }
    passed
}

fn record_digests(start: &Start) -> Result {
    start.need_packages(&["demo", "test", "lab"])?;
    run(&mut cargo(&["build", "--locked", "-p", "fsdyno-cli"]))?;
    let kernel = kernels::lab_kernel(&target().join("debug/fsdyno"));
    if kernel.is_empty() {
        return Err("digests are those of a lab kernel".into());
    }
    let mut test = cargo(&["test", "--locked", "-p", "fsdyno-cli", "--test", "lab"]);
    test.args(["--", "--show-output", "digest::"]);
    run(test
        .env("FSDYNO_LAB_KERNEL", kernel)
        .env("FSDYNO_DIGESTS", "record"))?;
    let mut git = Command::new("git");
    let _ = run(git.args([
        "--no-pager",
        "diff",
        "--stat",
        "--",
        "crates/cli/tests/digests.json",
    ]));
    Ok(())
}

fn write_reference() -> Result {
    let mut test = cargo(&[
        "test",
        "-q",
        "-p",
        "fsdyno-cli",
        "--locked",
        "--bin",
        "fsdyno",
    ]);
    run(test.arg("reference").env("FSDYNO_UPDATE_REFERENCE", "1"))
}

/// Installs everything that demo, test and check need.
fn install(start: &Start) -> Result {
    start.need_packages(&[
        "demo", "test", "lab", "cluster", "browser", "mpi", "mpich", "check",
    ])?;
    kernels::need_guest_kernel(start)?;
    check::need_tools(start)
}
