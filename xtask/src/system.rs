//! What `./x` knows of its start, and other programs: found, run, with their output.

use std::ffi::OsString;
use std::fmt::Display;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Why a command ends early: its exit status, and a message unless another program printed one.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    pub message: String,
}

pub type Result<T = ()> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure that another program has printed.
    pub fn printed(status: u8) -> Self {
        let message = String::new();
        Self { status, message }
    }
}

impl<T: Into<String>> From<T> for Failure {
    fn from(message: T) -> Self {
        let (status, message) = (1, message.into());
        Self { status, message }
    }
}

/// Returns a function that names the path in an error.
pub fn at<E: Display>(path: &Path) -> impl Fn(E) -> Failure {
    move |error| Failure::from(format!("{}: {error}", path.display()))
}

/// How `x` was started. The working directory is the root of the repository.
pub struct Start {
    /// The working directory of the user, which paths of the user are relative to.
    pub here: PathBuf,
    pub cache: PathBuf,
    /// `yes` if sudo can prompt for a password.
    interactive: String,
    /// An empty directory that `x` removes at its end; empty for commands that need none.
    pub work_dir: PathBuf,
}

impl Start {
    /// Takes the arguments that `x` passes before the command.
    pub fn parse(arguments: &mut impl Iterator<Item = String>) -> Option<Self> {
        let here = arguments.next()?.into();
        let cache = arguments.next()?.into();
        let interactive = arguments.next()?;
        let work_dir = arguments.next()?.into();
        Some(Self {
            here,
            cache,
            interactive,
            work_dir,
        })
    }

    /// Installs the missing packages for these purposes. `x` prints those that fail.
    pub fn need_packages(&self, purposes: &[&str]) -> Result {
        let mut command = Command::new("./x");
        run(command.args(["packages", &self.interactive]).args(purposes))
    }
}

pub fn message(text: impl Display) {
    eprintln!("x: {text}");
}

/// The directory of build output.
pub fn target() -> PathBuf {
    let names = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"];
    let mut set = names.iter().filter_map(std::env::var_os);
    let set = set.find(|value| !value.is_empty());
    set.unwrap_or_else(|| "target".into()).into()
}

/// Whether a program is on the path.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| {
        let found = directory.join(program).metadata();
        found.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    })
}

pub fn cargo_program() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_program());
    command.args(arguments);
    command
}

fn status_of(status: ExitStatus) -> u8 {
    let signal = || 128 + status.signal().unwrap_or_default();
    u8::try_from(status.code().unwrap_or_else(signal)).unwrap_or(1)
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Failure {
    format!("cannot start {}: {error}", command.get_program().display()).into()
}

/// Runs a program that prints its own errors.
pub fn run(command: &mut Command) -> Result {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::printed(status_of(status))),
        Err(error) => Err(cannot_start(command, &error)),
    }
}

/// Runs a program and returns what it prints, without the last line end.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| cannot_start(command, &error))?;
    if !output.status.success() {
        return Err(Failure::printed(status_of(output.status)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim_end().to_owned())
}

/// The output of a program that may be missing or fail without a message.
pub fn quiet_output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    output.status.success().then(|| text.trim_end().to_owned())
}

/// The triple of this machine.
pub fn host() -> Result<String> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    let mut lines = text.lines();
    let host = lines.find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}
