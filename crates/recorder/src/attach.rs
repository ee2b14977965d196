//! Reads the state of running processes: threads, directories, open files, mappings.

use crate::tracker::{MappedFile, OpenFile, Tracker};
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

pub fn threads(pid: i32) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        found.extend(name.parse::<i32>().ok());
    }
    found.sort_unstable();
    Ok(found)
}

/// The processes of a control group and of those below it. `group` is its directory.
pub fn processes(group: &Path) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    let mut groups: Vec<PathBuf> = vec![group.to_owned()];
    while let Some(group) = groups.pop() {
        let text = std::fs::read_to_string(group.join("cgroup.procs"))?;
        found.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
        for entry in std::fs::read_dir(&group)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                groups.push(entry.path());
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Whether a process is running. A zombie is not.
pub fn is_running(pid: i32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok()
}

/// Adds a running process to a tracker, with its threads and open files.
pub fn add<W: Write>(tracker: &mut Tracker<W>, pid: i32) -> io::Result<()> {
    let link = |name: &str| {
        let path = std::fs::read_link(format!("/proc/{pid}/{name}"));
        path.map(|path| path.into_os_string().into_vec())
    };
    tracker.add_process(pid, &link("cwd")?, &link("root")?)?;
    for entry in std::fs::read_dir(format!("/proc/{pid}/fd"))? {
        let entry = entry?;
        let name = entry.file_name().into_string().unwrap_or_default();
        // The descriptor may be closed meanwhile.
        if let Ok(number) = name.parse::<i32>()
            && let Ok(file) = open_file(pid, number)
        {
            tracker.add_open_file(pid, &file)?;
        }
    }
    for mapped in mapped(pid)? {
        tracker.add_mapped_file(pid, &mapped)?;
    }
    for tid in threads(pid)? {
        if tid != pid {
            tracker.add_thread(pid, tid)?;
        }
    }
    Ok(())
}

/// The files that a process has mapped (`proc_pid_maps(5)`).
pub fn mapped(pid: i32) -> io::Result<Vec<MappedFile>> {
    let table = std::fs::read(format!("/proc/{pid}/maps"))?;
    Ok(table
        .split(|byte| *byte == b'\n')
        .filter_map(parse_mapped)
        .collect())
}

/// Parses `7f00-7f80 rw-s 00001000 08:01 1234   /path`.
fn parse_mapped(line: &[u8]) -> Option<MappedFile> {
    let path = line.iter().position(|byte| *byte == b'/')?;
    let (head, path) = line.split_at(path);
    let mut fields = std::str::from_utf8(head).ok()?.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let (rights, offset) = (fields.next()?, fields.next()?);
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let start = number(start)?;
    Some(MappedFile {
        path: path.to_vec(),
        start,
        length: number(end)?.checked_sub(start)?,
        offset: number(offset)?,
        writes: rights.as_bytes().get(1) == Some(&b'w') && rights.ends_with('s'),
    })
}

/// Adds the open files of this process that a program inherits.
pub fn add_inherited<W: Write>(tracker: &mut Tracker<W>, pid: i32) -> io::Result<()> {
    for file in inherited()? {
        tracker.add_open_file(pid, &file)?;
    }
    Ok(())
}

fn inherited() -> io::Result<Vec<OpenFile>> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name().into_string().unwrap_or_default();
        if let Ok(number) = name.parse::<i32>()
            && let Ok(file) = open_file(pid, number)
            && file.flags & libc::O_CLOEXEC.unsigned_abs() == 0
        {
            found.push(file);
        }
    }
    Ok(found)
}

fn open_file(pid: i32, number: i32) -> io::Result<OpenFile> {
    let at = format!("/proc/{pid}/fd/{number}");
    let path = std::fs::read_link(&at)?.into_os_string().into_vec();
    let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}"))?;
    let field = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name));
        line.map(str::trim).unwrap_or_default().to_owned()
    };
    let kind = std::fs::metadata(&at)?.file_type();
    Ok(OpenFile {
        number,
        path,
        flags: u32::from_str_radix(&field("flags:"), 8).unwrap_or(0),
        position: field("pos:").parse().unwrap_or(0),
        file: kind.is_file() || kind.is_dir(),
    })
}
