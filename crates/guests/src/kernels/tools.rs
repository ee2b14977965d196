//! Programs that the kernel build needs, each with its package. They are installed if this user may
//! do so.

use fsdyno_files::programs;
use fsdyno_host::command::{self, CommandError};
use fsdyno_model::CancelToken;
use std::path::Path;

/// Programs that the build runs, each with its Debian package.
const PROGRAMS: [(&str, &str); 10] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("perl", "perl"),
    ("awk", "mawk"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// A header that programs of the build are compiled against, and its package.
const HEADER: (&str, &str) = ("/usr/include/stdio.h", "libc6-dev");

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingTool {
    /// The program, or the file.
    pub what: String,
    pub package: String,
}

pub(super) fn missing() -> Vec<MissingTool> {
    let absent = PROGRAMS
        .iter()
        .filter(|(program, _)| programs::find(program).is_none());
    let header = (!Path::new(HEADER.0).exists()).then_some(&HEADER);
    absent
        .chain(header)
        .map(|(what, package)| MissingTool {
            what: (*what).to_owned(),
            package: (*package).to_owned(),
        })
        .collect()
}

/// Whether this user may install packages and apt-get exists.
pub(super) fn installs() -> bool {
    rustix::process::geteuid().is_root() && programs::find("apt-get").is_some()
}

/// Installs packages. Returns the messages of apt-get if it failed.
pub(super) fn install(
    packages: &[String],
    stop: &CancelToken,
) -> Result<Result<(), String>, CommandError> {
    let mut argv = words(&[
        "env",
        "DEBIAN_FRONTEND=noninteractive",
        "apt-get",
        "-q",
        "-y",
    ]);
    argv.extend(words(&["-o", "DPkg::Lock::Timeout=300"]));
    argv.extend(words(&["install", "--no-install-recommends"]));
    argv.extend(packages.iter().cloned());
    let finished = command::run(&argv, stop)?;
    if finished.success() {
        return Ok(Ok(()));
    }
    // The package lists may be old or missing.
    let update = words(&["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "update"]);
    command::run(&update, stop)?;
    let finished = command::run(&argv, stop)?;
    Ok(if finished.success() {
        Ok(())
    } else {
        Err(finished.failure(&argv))
    })
}

/// The first line of the compiler's version output.
pub(super) fn compiler(stop: &CancelToken) -> Result<String, CommandError> {
    let finished = command::query(&words(&["gcc", "--version"]), stop)?;
    let first = finished.stdout.lines().next().unwrap_or_default();
    Ok(first.trim().to_owned())
}

pub(super) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
