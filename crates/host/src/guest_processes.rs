//! Recognises the processes of a guest by an argument of their command line: the path of a
//! directory that no other process uses. Ends the remaining processes of dead guests.
//!
//! The crate `guests` starts guests.

use crate::processes;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name of a guest among those of one directory.
pub const NAME: &str = "guest";

/// The file in which a guest of QEMU writes its process number; only its command line contains it.
pub fn pid_file(scratch: &Path) -> PathBuf {
    scratch.join(NAME).with_extension("pid")
}

/// The words of command lines that only guests of this scratch directory carry.
fn identifying_args(scratch: &Path) -> [OsString; 2] {
    let mut folder = OsString::from("uml_dir=");
    folder.push(scratch);
    folder.push("/");
    [folder, pid_file(scratch).into_os_string()]
}

/// Kills the remaining processes of a guest whose owner died; returns whether there were any.
/// `directory` is in the scratch directory of the guest.
///
/// After a kernel was killed, its helper processes continue. All of them have its command line,
/// which names a directory that no other process uses.
pub(crate) fn end_orphans(directory: &Path) -> io::Result<bool> {
    let Some(scratch) = directory.parent() else {
        return Ok(false);
    };
    let words = identifying_args(scratch);
    let carries =
        |word: &OsString, line: &[u8]| line.split(|b| *b == 0).any(|one| one == word.as_bytes());
    processes::end_all(|line| words.iter().any(|word| carries(word, line)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    #[test]
    fn what_carries_the_line_of_a_guest_is_ended_and_nothing_else() {
        let work_dir = tempfile::tempdir().unwrap();
        let directory = work_dir.path().join("guest");
        // A shell that reads keeps its words.
        let started = |word: OsString| {
            let mut shell = Command::new("sh");
            shell.args(["-c", "read line; :"]).arg(word);
            shell.stdin(Stdio::piped()).spawn().unwrap()
        };
        for word in identifying_args(work_dir.path()) {
            let mut longer = word.clone();
            longer.push("other");
            let mut ours = started(word);
            let mut other = started(longer);
            let found = (0..500).any(|_| {
                std::thread::sleep(Duration::from_millis(10));
                end_orphans(&directory).unwrap()
            });
            assert!(found);
            assert_eq!(ours.wait().unwrap().signal(), Some(9));
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
        assert!(!end_orphans(&directory).unwrap());
    }
}
