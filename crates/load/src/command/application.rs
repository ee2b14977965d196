//! Runs an application whose files the crash explorer checks, and its check.

use super::StrayProcesses;
use super::stopping::{Precedence, Stopped};
use fsdyno_files::programs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum length of an acknowledged line, and of the kept text on standard error, bytes.
const MAX_LINE: u64 = 4096;

/// The maximum number of lines of an application.
const MAX_LINES: usize = 10_000;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Executed {
    pub lines: Vec<String>,
    /// From its start to its end.
    pub elapsed: Duration,
    /// The description of its failure; none if its status was 0.
    pub failed: Option<String>,
}

/// Runs an application in a directory. `acknowledged` is called for each line that it prints, before
/// the next one is read; with `stops`, all processes of its group are stopped meanwhile. The error
/// is that of `acknowledged`, or that it cannot be started.
pub fn execute(
    root: &Path,
    command: &str,
    stops: bool,
    acknowledged: &mut dyn FnMut(u32) -> io::Result<()>,
) -> io::Result<Executed> {
    let began = Instant::now();
    let _precedence = stops.then(Precedence::take);
    let left = Left::new()?;
    let mut child = shell(root, command, &left)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()?;
    let errors = first_of(child.stderr.take());
    let mut lines = Vec::new();
    let mut output = child.stdout.take().map(BufReader::new);
    while let Some(output) = &mut output {
        let mut line = Vec::new();
        if output
            .by_ref()
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)?
            == 0
        {
            break;
        }
        if lines.len() == MAX_LINES {
            end(&mut child);
            let failed = format!("printed more than {MAX_LINES} lines");
            return Ok(Executed {
                failed: Some(failed),
                ..Executed::default()
            });
        }
        let stopped = stops.then(|| Stopped::stop(child.id()));
        acknowledged(u32::try_from(lines.len()).unwrap_or(u32::MAX))?;
        drop(stopped);
        let text = String::from_utf8_lossy(&line);
        lines.push(text.trim_end_matches('\n').to_owned());
    }
    let status = child.wait()?;
    let elapsed = began.elapsed();
    drop(left);
    let errors = errors.join().unwrap_or_default();
    let failed = (!status.success()).then(|| format!("ended with {status}: {}", last(&errors)));
    Ok(Executed {
        lines,
        elapsed,
        failed,
    })
}

/// Runs a check in a directory; its standard input has these lines. Returns what it found: what it
/// printed, if its status is not 0.
pub fn check(root: &Path, command: &str, lines: &[String]) -> io::Result<Option<String>> {
    let left = Left::new()?;
    let mut child = shell(root, command, &left).stdin(Stdio::piped()).spawn()?;
    let errors = first_of(child.stderr.take());
    let output = first_of(child.stdout.take());
    let mut input: String = lines.join("\n");
    if !lines.is_empty() {
        input.push('\n');
    }
    if let Some(mut into) = child.stdin.take() {
        match into.write_all(input.as_bytes()) {
            // A check may ignore its input.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                end(&mut child);
                return Err(error);
            }
            _ => {}
        }
    }
    let status = child.wait()?;
    drop(left);
    let printed = [output, errors].map(|text| text.join().unwrap_or_default());
    let words = printed.iter().find(|text| !text.trim().is_empty());
    let words = words.map_or_else(|| format!("it ended with {status}"), |text| first(text));
    Ok((!status.success()).then_some(words))
}

/// The processes of a command. Those that it leaves running are killed on drop: they would keep the
/// file system from being unmounted.
struct Left(StrayProcesses);

impl Left {
    fn new() -> io::Result<Self> {
        let guarded = StrayProcesses::guarded();
        guarded.map(Self).map_err(io::Error::other)
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn shell(root: &Path, command: &str, left: &Left) -> Command {
    let (name, value) = left.0.variable();
    let mut shell = programs::at("/bin/sh");
    programs::clear_environment(&mut shell);
    shell
        .args(["-c", command])
        .current_dir(root)
        .env(name, value)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    shell
}

/// Reads a stream to its end, and keeps its first bytes.
fn first_of(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(mut stream) = stream {
            // A stream that cannot be read has ended.
            let _ = stream.by_ref().take(MAX_LINE).read_to_end(&mut kept);
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        String::from_utf8_lossy(&kept).into_owned()
    })
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn first(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.next().unwrap_or_default().trim().to_owned()
}

/// The last lines of standard error.
fn last(errors: &str) -> String {
    match super::last_lines(errors.trim()) {
        none if none.is_empty() => "it printed no error".to_owned(),
        lines => lines,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_acknowledged_and_an_error_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let mut numbers = Vec::new();
        let mut acknowledged = |number| {
            numbers.push(number);
            Ok(())
        };
        let script = "echo one; echo two > two; echo two; echo no disk >&2; exit 3";
        let executed = execute(folder.path(), script, false, &mut acknowledged).unwrap();
        assert_eq!(executed.lines, ["one", "two"]);
        assert_eq!(numbers, [0, 1]);
        let failed = executed.failed.unwrap();
        assert!(
            failed.ends_with("no disk") && failed.contains('3'),
            "{failed}"
        );
        assert!(folder.path().join("two").exists());
    }

    #[test]
    fn an_application_that_stops_at_its_lines_continues_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let script = "for i in 1 2 3; do echo $i; echo $i >> file; done";
        let mut lines = Vec::new();
        let mut acknowledged = |line| {
            lines.push(line);
            Ok(())
        };
        let executed = execute(folder.path(), script, true, &mut acknowledged).unwrap();
        assert_eq!(executed.failed, None);
        assert_eq!(executed.lines, ["1", "2", "3"]);
        assert_eq!(lines, [0, 1, 2]);
    }

    #[test]
    fn a_check_reads_the_acknowledged_lines() {
        let folder = tempfile::tempdir().unwrap();
        let lines = ["one", "two"].map(str::to_owned);
        let count = "test $(wc -l) = 2 || { echo lines are missing; exit 1; }";
        assert_eq!(check(folder.path(), count, &lines).unwrap(), None);
        let found = check(folder.path(), count, &lines[..1]).unwrap();
        assert_eq!(found.as_deref(), Some("lines are missing"));
        assert_eq!(check(folder.path(), "exit 0", &lines).unwrap(), None);
        let silent = check(folder.path(), "exit 7", &[]).unwrap().unwrap();
        assert!(silent.contains('7'), "{silent}");
    }
}
