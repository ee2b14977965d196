//! Runs `make` for a kernel. Its output goes to a log, from which the progress is read.

use crate::start::inherit;
use fsdyno_files::programs;
use fsdyno_files::programs::die_with_parent;
use fsdyno_host::command::{self, CommandError, Limits};
use fsdyno_host::command::{end_group, last_lines};
use fsdyno_model::CancelToken;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

/// How often the log and cancellation are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// How many last lines explain a failed build.
const LAST_LINES: usize = 12;

/// The text that kbuild prints before the name of each object that it compiles.
const COMPILES: &str = "  CC ";

/// Part of each command that compiles an object.
const COMPILE_COMMAND: &str = " -c -o ";

#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// It was ended, or not found.
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("`make {target}` {how}; the log is {}, and ends with: {last}", log.display())]
    Failed {
        target: String,
        /// Its exit status, as text.
        how: String,
        /// The last lines of its output.
        last: String,
        /// The log with the complete output.
        log: PathBuf,
    },
    /// It could not be run or watched.
    #[error("cannot run make, with its log in {}: {cause}", log.display())]
    Run {
        log: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("stopped on request")]
    Stopped,
}

/// A tree of sources, and the output directory of its build.
pub(super) struct Tree<'a> {
    pub sources: &'a Path,
    pub output: &'a Path,
    pub log: &'a Path,
    /// Every started process inherits this lock, so that no other build runs here until all of them
    /// have ended.
    pub claim: &'a OwnedFd,
    /// The build string of the kernel, instead of a date: the same sources give the same kernel.
    pub build: &'a str,
    pub jobs: u32,
}

impl Tree<'_> {
    /// Runs make; `on_progress` receives each object as it is compiled.
    pub fn make(
        &self,
        targets: &[String],
        stop: &CancelToken,
        on_progress: &mut dyn FnMut(&str),
    ) -> Result<(), BuildError> {
        let run = |cause| BuildError::Run {
            log: self.log.to_owned(),
            cause,
        };
        let mut log = OpenOptions::new();
        let log = log.create(true).append(true).open(self.log).map_err(run)?;
        let mut reader = BufReader::new(File::open(self.log).map_err(run)?);
        reader.seek(SeekFrom::End(0)).map_err(run)?;
        let mut command = self.command(targets).map_err(run)?;
        command.stdout(log.try_clone().map_err(run)?).stderr(log);
        let mut child = command.spawn().map_err(run)?;
        let ended = watch(&mut child, &mut reader, stop, on_progress);
        if !matches!(ended, Ok(Some(_))) {
            end_group(&mut child);
        }
        match ended.map_err(run)? {
            None => Err(BuildError::Stopped),
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(BuildError::Failed {
                target: targets.join(" "),
                how: crate::ended(status),
                last: last_lines(&end_of(self.log).map_err(run)?, LAST_LINES),
                log: self.log.to_owned(),
            }),
        }
    }

    /// The number of objects that remain to be compiled.
    pub fn count_remaining(
        &self,
        targets: &[String],
        stop: &CancelToken,
    ) -> Result<u64, BuildError> {
        let run = |cause| BuildError::Run {
            log: self.log.to_owned(),
            cause,
        };
        let mut words = vec!["-n".to_owned()];
        words.extend(targets.iter().cloned());
        let command = self.command(&words).map_err(run)?;
        let line = format!("make {}", words.join(" "));
        let listed = match command::query_command(command, line, Limits::LONG, stop) {
            Err(CommandError::Stopped { .. }) => return Err(BuildError::Stopped),
            listed => listed?,
        };
        let lines = listed.stdout.lines();
        Ok(lines.filter(|line| line.contains(COMPILE_COMMAND)).count() as u64)
    }

    fn command(&self, words: &[String]) -> io::Result<Command> {
        let mut command = programs::command("make")?;
        let mut assigned = std::ffi::OsString::from("O=");
        assigned.push(self.output);
        command
            .arg("-C")
            .arg(self.sources)
            .arg(assigned)
            .args(["ARCH=um", "LOCALVERSION="])
            .arg(format!("-j{}", self.jobs))
            .args(words)
            // A build that calls us may have set other options in the environment.
            .env_clear()
            .env("LC_ALL", "C")
            .env("PATH", programs::path_variable())
            .env("HOME", self.output)
            .env("KBUILD_BUILD_USER", "fsdyno")
            .env("KBUILD_BUILD_HOST", "fsdyno")
            .env("KBUILD_BUILD_VERSION", "1")
            .env("KBUILD_BUILD_TIMESTAMP", self.build)
            .stdin(Stdio::null())
            .process_group(0);
        die_with_parent(&mut command);
        inherit(&mut command, self.claim);
        Ok(command)
    }
}

/// Reads the log until the program has ended; none if the user cancelled.
fn watch(
    child: &mut Child,
    log: &mut impl BufRead,
    stop: &CancelToken,
    on_progress: &mut dyn FnMut(&str),
) -> io::Result<Option<ExitStatus>> {
    let mut line = Vec::new();
    loop {
        let ended = child.try_wait()?;
        follow(log, &mut line, on_progress)?;
        if ended.is_some() {
            return Ok(ended);
        }
        if stop.requested() {
            return Ok(None);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Reports the objects in the new text; `line` keeps an incomplete line.
fn follow(
    log: &mut impl BufRead,
    line: &mut Vec<u8>,
    on_progress: &mut dyn FnMut(&str),
) -> io::Result<()> {
    while log.read_until(b'\n', line)? > 0 {
        if line.last() != Some(&b'\n') {
            break;
        }
        let text = String::from_utf8_lossy(line);
        if let Some(object) = text.strip_prefix(COMPILES) {
            on_progress(object.trim());
        }
        line.clear();
    }
    Ok(())
}

fn end_of(log: &Path) -> io::Result<String> {
    const KEPT: u64 = 16 << 10;
    let mut file = File::open(log)?;
    let length = fs::metadata(log)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(KEPT)))?;
    let mut bytes = Vec::new();
    file.take(KEPT).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls `test` with a tree that has this Makefile.
    fn with(makefile: &str, test: impl FnOnce(&Tree<'_>)) {
        let work_dir = tempfile::tempdir().unwrap();
        let sources = work_dir.path();
        fs::write(sources.join("Makefile"), makefile).unwrap();
        let claim = File::create(sources.join("claim")).unwrap().into();
        test(&Tree {
            sources,
            output: sources,
            log: &sources.join("log"),
            claim: &claim,
            build: "fsdyno 1",
            jobs: 1,
        });
    }

    fn targets(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn objects_are_counted_before_the_build_and_reported_during_it() {
        let makefile = "all: a.o b.o\na.o b.o:\n\t@echo '  CC      $@'\n\t@: cc -c -o $@\n";
        with(makefile, |tree| {
            let stop = CancelToken::new();
            assert_eq!(tree.count_remaining(&targets(&["all"]), &stop).unwrap(), 2);
            let mut received = Vec::new();
            let all = targets(&["all"]);
            tree.make(&all, &stop, &mut |object| received.push(object.to_owned()))
                .unwrap();
            assert_eq!(received, ["a.o", "b.o"]);
        });
    }

    #[test]
    fn a_build_failure_shows_the_last_lines_and_the_path_of_the_log() {
        let makefile = "all:\n\t@echo one\n\t@echo 'x.c:1: error: no such thing' >&2; exit 1\n";
        with(makefile, |tree| {
            let reported = tree.make(&targets(&["all"]), &CancelToken::new(), &mut |_| {});
            let reported = reported.unwrap_err().to_string();
            for word in ["no such thing", "make all", "status 2", "/log"] {
                assert!(reported.contains(word), "{word}: {reported}");
            }
        });
    }

    #[test]
    fn cancellation_ends_every_started_process() {
        let makefile = "all:\n\t@echo $$$$ > shell; echo '  CC      a.o'; sleep 600\n";
        with(makefile, |tree| {
            let stop = CancelToken::new();
            let token = stop.clone();
            let reported = tree.make(&targets(&["all"]), &stop, &mut |_| token.request());
            assert!(matches!(reported, Err(BuildError::Stopped)), "{reported:?}");
            let shell = fs::read_to_string(tree.sources.join("shell")).unwrap();
            let state = fs::read_to_string(format!("/proc/{}/stat", shell.trim()));
            // A process that has ended may not have been reaped by its new parent yet.
            assert!(
                state.as_ref().is_ok_and(|text| text.contains(") Z ")) || state.is_err(),
                "{state:?}"
            );
        });
    }
}
