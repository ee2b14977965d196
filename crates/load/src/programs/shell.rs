//! Quotes words and command lines for a POSIX shell.

use crate::tool_run::ToolRun;
use std::ffi::{OsStr, OsString};
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
        line = format!("env -i PATH=\"{path}\" LC_ALL=C {line}");
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
