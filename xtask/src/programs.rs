//! Test programs, built by cargo, and the tests in each.

use crate::system::{cargo, cargo_program};
use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub struct Program {
    /// Package and target, such as `fsdyno-cli fast`.
    pub name: String,
    pub path: PathBuf,
    /// The directory of the package, in which cargo runs its tests.
    pub directory: PathBuf,
}

/// Builds the test programs of these targets. Cargo prints errors itself.
pub fn build(targets: &[&str]) -> Result<Vec<Program>, String> {
    let mut child = cargo(&["test", "--workspace", "--locked", "--no-run"])
        .arg("--message-format=json-render-diagnostics")
        .args(targets)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    let lines = child.stdout.take().map(BufReader::new);
    let programs = lines
        .into_iter()
        .flat_map(|lines| lines.lines().map_while(Result::ok))
        .filter_map(|line| program(&serde_json::from_str(&line).ok()?))
        .collect();
    match child.wait() {
        Ok(status) if status.success() => Ok(programs),
        Ok(_) => Err("the tests do not compile (see above)".to_owned()),
        Err(error) => Err(format!("cannot wait for cargo: {error}")),
    }
}

/// The test program of a message of cargo, if it is one.
fn program(message: &Value) -> Option<Program> {
    let path = PathBuf::from(message["executable"].as_str()?);
    if message["profile"]["test"] != true {
        return None;
    }
    let directory = Path::new(message["manifest_path"].as_str()?).parent()?;
    let package = directory.file_name()?.to_str()?;
    let target = message["target"]["name"].as_str()?;
    let unit = message["target"]["kind"][0] != "test";
    let name = if unit { "units" } else { target };
    Some(Program {
        name: format!("{package} {name}"),
        directory: directory.to_owned(),
        path,
    })
}

impl Program {
    /// A command that runs it as cargo does.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command
            .current_dir(&self.directory)
            .env("CARGO", cargo_program())
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .stdin(Stdio::null());
        command
    }

    /// The names of its tests, with or without the ignored ones.
    pub fn tests(&self, with_ignored: bool) -> Result<Vec<String>, String> {
        let mut tests = self.list(&[])?;
        if !with_ignored {
            let ignored = self.list(&["--ignored"])?;
            tests.retain(|test| !ignored.contains(test));
        }
        Ok(tests)
    }

    fn list(&self, more: &[&str]) -> Result<Vec<String>, String> {
        let name = &self.name;
        let output = self
            .command()
            .args(["--list", "--format", "terse"])
            .args(more)
            .output()
            .map_err(|error| format!("{name}: cannot list its tests: {error}"))?;
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let tests = lines.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(tests.map(str::to_owned).collect())
    }
}
