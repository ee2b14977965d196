//! Quotes words and command lines for a POSIX shell.

use super::Service;
use crate::tool_run::{ToolRun, User};
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A word, quoted if necessary; bytes that are not UTF-8 are kept.
pub(super) fn quoted(word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return word.to_owned();
    }
    let mut text = vec![b'\''];
    for byte in bytes {
        match byte {
            b'\'' => text.extend_from_slice(b"'\\''"),
            other => text.push(*other),
        }
    }
    text.push(b'\'');
    OsString::from_vec(text)
}

/// The line that is equivalent to a run, including its directory.
pub(super) fn line(run: &ToolRun) -> String {
    let words: Vec<_> = run.argv.iter().map(|word| quoted(word)).collect();
    let mut line = words.join(OsStr::new(" ")).to_string_lossy().into_owned();
    if !run.user_environment {
        let path = "$PATH:/usr/local/sbin:/usr/sbin:/sbin";
        let mut variables = format!("PATH=\"{path}\" LC_ALL=C");
        for (name, value) in &run.environment {
            let value = quoted(value);
            let _ = write!(variables, " {name}={}", value.to_string_lossy());
        }
        line = format!("env -i {variables} {line}");
    }
    if let Some(User { uid, gid }) = run.user {
        line = format!("setpriv --reuid={uid} --regid={gid} --clear-groups {line}");
    }
    if let Some(input) = &run.input {
        let input = quoted(OsStr::from_bytes(input));
        line = format!("printf %s {} | {line}", input.to_string_lossy());
    }
    match &run.current_dir {
        Some(directory) => {
            let directory = quoted(directory.as_os_str());
            format!("(cd {} && {line})", directory.to_string_lossy())
        }
        None => line,
    }
}

/// The lines of a service and of the command that is timed while it runs.
pub(super) fn beside(service: Option<&Service>, timed: &ToolRun) -> String {
    let timed = line(timed);
    let Some(Service { start, ready, stop }) = service else {
        return timed;
    };
    let mut lines = vec![format!("{} &", line(start))];
    let ready = ready.as_ref().map(line);
    lines.extend(ready.map(|ready| format!("until {ready}; do sleep 0.01; done")));
    lines.push(timed);
    lines.push(stop.as_ref().map_or_else(|| "kill $!".to_owned(), line));
    lines.push("wait".to_owned());
    lines.join("\n")
}
