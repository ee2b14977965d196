//! The benches: fsdyno compared with other programs, and crash states checked in an hour.

use crate::system::{Result, Start, at, cargo, message, output, run};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::Command;

/// Programs that are not packages, with the version that BENCHMARKS.md uses.
const PEERS: [(&str, &str); 3] = [("cpz", "3.2.1"), ("rmz", "3.2.1"), ("xcp", "0.24.9")];

pub fn bench(start: &Start, words: &[String]) -> Result {
    let with = |name| {
        cargo(&[
            "bench",
            "--locked",
            "-q",
            "-p",
            "fsdyno-cli",
            "--bench",
            name,
            "--",
        ])
    };
    if words.first().is_some_and(|word| word == "crash") {
        start.need_packages(&["demo", "test", "lab"])?;
        return run(with("explorer").args(&words[1..]));
    }
    if words.iter().any(|word| word == "--help" || word == "-h") {
        return run(with("peers").arg("--help"));
    }
    if output(Command::new("id").arg("-u"))? != "0" {
        return Err("bench makes and mounts file systems: run it as root".into());
    }
    start.need_packages(&["demo", "bench"])?;
    let directory = start.cache.join("peers");
    let mut private = DirBuilder::new();
    private
        .recursive(true)
        .mode(0o700)
        .create(&directory)
        .map_err(at(&directory))?;
    let peers: Vec<String> = PEERS
        .into_iter()
        .map(|peer| need_peer(&directory, peer))
        .collect();
    let _ = fs::remove_dir_all(directory.join("build"));
    run(with("peers")
        .args(["--peers", &peers.join(",")])
        .args(words))
}

/// Installs a program into its own directory of the cache, and returns its name and path. The tables
/// name those that cannot be installed.
fn need_peer(directory: &Path, (name, version): (&str, &str)) -> String {
    let root = directory.join(format!("{name}-{version}"));
    let program = root.join("bin").join(name);
    if !program.is_file() {
        message(format!(
            "installing {name} {version} into {}, for comparison",
            directory.display()
        ));
        let mut install = cargo(&["install", "--locked", name, "--version"]);
        install.arg(format!("={version}")).arg("--root").arg(&root);
        install.env("CARGO_TARGET_DIR", directory.join("build"));
        if run(&mut install).is_err() {
            message(format!("continuing without {name}"));
        }
    }
    format!("{name}={}", program.display())
}
