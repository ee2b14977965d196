//! Format, lints, documentation, dependencies and shell scripts.

use crate::system::{Failure, Result, Start, cargo, has, message, output, run};
use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

const SCRIPTS: [&str; 3] = ["x", ".ci/run", ".ci/left"];

/// The drivers of fuzz targets and fsdyno-mpi have their own lock files.
const MANIFESTS: [&str; 3] = ["Cargo.toml", "fuzz/drivers/Cargo.toml", "mpi/Cargo.toml"];

/// Runs all checks; a failure does not stop the others.
pub fn check(start: &Start) -> Result {
    need_tools(start)?;
    let mut failed = Vec::new();
    // Runs one check, prints its duration, and records a failure.
    let mut step = |name: &'static str, check: &mut dyn FnMut() -> Result| {
        println!("== {name}");
        let began = Instant::now();
        let verdict = match check() {
            Ok(()) => "ok",
            Err(Failure { message: text, .. }) => {
                if !text.is_empty() {
                    message(text);
                }
                failed.push(name);
                "FAILED"
            }
        };
        println!("== {name}: {verdict}, {} s", began.elapsed().as_secs());
    };
    let fmt = ["fmt", "--check", "--manifest-path"];
    step("format", &mut || {
        run(&mut cargo(&["fmt", "--all", "--check"]))
    });
    step("format of fuzz", &mut || run(cargo(&fmt).arg(MANIFESTS[1])));
    step("format of mpi", &mut || run(cargo(&fmt).arg(MANIFESTS[2])));
    step("clippy", &mut || {
        run(
            cargo(&["clippy", "--workspace", "--all-targets", "--locked"])
                .args(["--", "-D", "warnings"]),
        )
    });
    step("documentation", &mut || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
        run(doc.env("RUSTDOCFLAGS", "-Dwarnings"))
    });
    step("dependencies", &mut dependencies);
    step("shell", &mut shell_scripts);
    step("leftovers", &mut || {
        run(Command::new(SCRIPTS[2]).arg("test"))
    });
    if failed.is_empty() {
        return Ok(());
    }
    Err(format!("failed: {}", failed.join(" ")).into())
}

/// Installs the programs that the checks use.
pub fn need_tools(start: &Start) -> Result {
    start.need_packages(&["check"])?;
    for (component, name) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let program = format!("cargo-{component}");
        // The program of rustup exists without the component too, and fails.
        let works = Command::new(&program).arg("--version").output();
        if works.is_ok_and(|works| works.status.success()) {
            continue;
        }
        if !has("rustup") {
            return Err(format!(
                "cargo {component} is missing; install your system's package for it, or Rust by rustup"
            )
            .into());
        }
        run(Command::new("rustup").args(["component", "add", name]))?;
    }
    if !has("cargo-deny") {
        message("installing cargo-deny (licences, sources and bans of the dependencies)");
        if run(&mut cargo(&["install", "cargo-deny", "--locked"])).is_err() {
            message(
                "cargo-deny could not be installed (see above): the check of dependencies fails",
            );
        }
    }
    Ok(())
}

fn shell_scripts() -> Result {
    if has("shellcheck") {
        return run(Command::new("shellcheck").args(SCRIPTS));
    }
    println!("SKIP shellcheck: {}", SCRIPTS.join(" "));
    Ok(())
}

fn deny(manifest: &str) -> Command {
    let mut command = cargo(&["deny", "--offline", "--manifest-path", manifest]);
    command.args(["--config", "deny.toml", "check"]);
    command
}

/// cargo-deny reads the manifests of the dependencies of all platforms, more than a build fetches.
/// No lock file needs all exceptions of deny.toml.
fn dependencies() -> Result {
    for manifest in MANIFESTS {
        run(cargo(&["fetch", "--locked", "--manifest-path"]).arg(manifest))?;
    }
    for manifest in MANIFESTS {
        let allowed = ["-A", "unmatched-skip", "-A", "license-not-encountered"];
        run(deny(manifest)
            .args(allowed)
            .args(["bans", "licenses", "sources"]))?;
    }
    advisories()
}

/// Checks the lock files against the `RustSec` database. If it cannot be fetched, prints one line with
/// the date of the last check.
fn advisories() -> Result {
    let mut fetch = cargo(&["deny", "fetch", "db"]);
    if run(fetch.stdout(Stdio::null()).stderr(Stdio::null())).is_err() {
        let text = fs::read_to_string("advisories.txt").unwrap_or_default();
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        println!(
            "SKIP the RustSec advisory database, which cannot be fetched: advisories ({})",
            lines.join("\n")
        );
        return Ok(());
    }
    for manifest in MANIFESTS {
        run(deny(manifest).arg("advisories"))?;
    }
    let today = output(Command::new("date").args(["-u", "+%F"]))?;
    message(format!(
        "advisories.txt can be updated: last check on {today}, database of that day"
    ));
    Ok(())
}
