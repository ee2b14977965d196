//! The initramfs of a guest of QEMU: fsdyno with its libraries as the first process, the modules
//! that it loads, and the arguments that it executes after it has mounted the root of the host. See
//! [`crate::inside::entry`].

use super::elf;
use super::kernels::{self, Kernel, ModulesError};
use super::newc::Archive;
use crate::inside::entry::{ARGUMENTS, ENVIRONMENT, MODULE_FOLDER, ROOT};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The error of an initramfs that could not be built.
#[derive(Debug, thiserror::Error)]
pub enum InitramfsError {
    /// A file of it could not be read.
    #[error("cannot read {}: {cause}", path.display())]
    Part {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The modules could not be found or read.
    #[error(transparent)]
    Modules(#[from] ModulesError),
}

#[derive(Debug)]
pub struct FirstProcess<'a> {
    /// The program and its arguments.
    pub init: &'a [OsString],
    /// Its environment, each as `NAME=VALUE`.
    pub environment: Vec<OsString>,
}

/// Builds the initramfs as a cpio archive.
pub fn build(kernel: &Kernel, first_process: &FirstProcess<'_>) -> Result<Vec<u8>, InitramfsError> {
    let mut archive = Archive::default();
    if let Some(program) = first_process.init.first() {
        put_program(&mut archive, Path::new(program))?;
    }
    for (number, file) in kernels::modules(kernel)?.iter().enumerate() {
        // The number in the name is the order of loading.
        let name = format!(
            "{number:02}-{}.ko",
            kernels::name_of(&file.to_string_lossy())
        );
        let name = Path::new(MODULE_FOLDER).join(name);
        archive.file(&name, &kernels::content(file)?);
    }
    archive.directory(Path::new(ROOT));
    archive.file(Path::new(ARGUMENTS), &terminated(first_process.init));
    archive.file(
        Path::new(ENVIRONMENT),
        &terminated(&first_process.environment),
    );
    Ok(archive.into_bytes())
}

/// Arguments, each ended by a zero byte, which no path and no variable contains.
fn terminated(words: &[OsString]) -> Vec<u8> {
    let words = words.iter().map(|word| word.as_bytes());
    words
        .flat_map(|word| word.iter().copied().chain([0]))
        .collect()
}

/// Adds the program as `/init`, and its shared libraries: those that this process, which runs the
/// same program, has mapped.
fn put_program(archive: &mut Archive, program: &Path) -> Result<(), InitramfsError> {
    let read = |path: &Path| {
        fs::read(path).map_err(|cause| InitramfsError::Part {
            path: path.to_owned(),
            cause,
        })
    };
    let (content, interpreter) = needed_part(read(program)?);
    archive.file(Path::new("/init"), &content);
    let Some(interpreter) = interpreter else {
        return Ok(());
    };
    let mapped = read(Path::new("/proc/self/maps"))?;
    for library in libraries(&mapped) {
        archive.file(&library, &needed_part(read(&library)?).0);
        for link in links_to(&library) {
            archive.link(&link, &library);
        }
    }
    if let Ok(real) = interpreter.canonicalize()
        && real != interpreter
        && links_to(&real).iter().all(|link| *link != interpreter)
    {
        archive.link(&interpreter, &real);
    }
    Ok(())
}

/// The shared libraries among the mappings of a process.
fn libraries(maps: &[u8]) -> BTreeSet<PathBuf> {
    let lines = maps.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| {
            let begin = line.iter().position(|byte| *byte == b'/')?;
            let path = Path::new(OsStr::from_bytes(&line[begin..]));
            let name = path.file_name()?.as_bytes();
            let is_library = name.windows(3).any(|part| part == b".so");
            is_library.then(|| path.to_owned())
        })
        .collect()
}

/// The symbolic links to a library. A program loads it by one of these names.
fn links_to(library: &Path) -> Vec<PathBuf> {
    let entries = library
        .parent()
        .and_then(|folder| fs::read_dir(folder).ok());
    let links = entries.into_iter().flatten().flatten().filter(|entry| {
        let target = fs::read_link(entry.path());
        target.is_ok_and(|target| target.as_os_str() == library.file_name().unwrap_or_default())
    });
    links.map(|entry| entry.path()).collect()
}

/// The loaded part of a program, without debugging data, and the name of its dynamic loader. A file
/// that is not 64-bit ELF is kept complete.
fn needed_part(mut file: Vec<u8>) -> (Vec<u8>, Option<PathBuf>) {
    let Some(parts) = elf::segments(&file) else {
        return (file, None);
    };
    let end = |part: &elf::Segment| part.offset.saturating_add(part.length);
    let loaded = parts
        .iter()
        .filter(|part| part.kind == elf::LOAD)
        .map(end)
        .max();
    let interpreter = parts.iter().find(|part| part.kind == elf::INTERPRETER);
    let interpreter = interpreter.and_then(|part| {
        let path = file.get(part.offset..end(part))?;
        let path = path.strip_suffix(&[0]).unwrap_or(path);
        Some(PathBuf::from(OsString::from_vec(path.to_vec())))
    });
    if let Some(loaded) = loaded.filter(|loaded| *loaded < file.len()) {
        file.truncate(loaded);
        // The section table was removed with the sections: clear its offset, count and name index.
        file[0x28..0x30].fill(0);
        file[0x3c..0x40].fill(0);
    }
    (file, interpreter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn a_program_without_what_only_debuggers_read_still_runs() {
        let folder = tempfile::tempdir().unwrap();
        let this = fs::read(std::env::current_exe().unwrap()).unwrap();
        let whole = this.len();
        let (part, interpreter) = needed_part(this);
        assert!(part.len() < whole, "{} {whole}", part.len());
        assert!(interpreter.is_none_or(|path| path.exists()));
        let copy = folder.path().join("copy");
        fs::write(&copy, part).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).unwrap();
        // execve fails (`ETXTBSY`) while a forked process of another test holds the file open for
        // writing.
        let listed = (0..100).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            Command::new(&copy).arg("--list").output().ok()
        });
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        assert!(listed.contains("still_runs: test"), "{listed}");
    }

    #[test]
    fn what_is_no_program_is_left_as_it_is() {
        for content in [&b"#!/bin/sh\n"[..], b"\x7fELF\x02\x01 cut off", b""] {
            assert_eq!(needed_part(content.to_vec()), (content.to_vec(), None));
        }
    }

    #[test]
    fn libraries_are_those_of_the_process() {
        let maps = b"7f00-7f01 r-xp 00000000 08:01 12     /usr/lib/libc.so.6\n\
            7f01-7f02 r--p 00000000 08:01 12     /usr/lib/libc.so.6\n\
            7f02-7f03 r--p 00000000 08:01 13     /my programs/fsdyno\n\
            7f03-7f04 r--p 00000000 00:00 0      [vdso]\n\
            7f04-7f05 r--p 00000000 08:01 14     /lib64/ld-linux-x86-64.so.2\n";
        let found: Vec<_> = libraries(maps).into_iter().collect();
        let expected = ["/lib64/ld-linux-x86-64.so.2", "/usr/lib/libc.so.6"];
        assert_eq!(found, expected.map(PathBuf::from));
    }
}
