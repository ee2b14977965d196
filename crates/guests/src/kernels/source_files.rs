//! The source files of a kernel's functions. A list of them is written when the kernel is built, next to
//! its program: the symbols of a program name no directories, but those of its objects are known.

use super::symbols::{Symbol, functions};
use object::read::archive::ArchiveFile;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

/// The archives of the objects of a program, in the order of linking: directories in that of its build, and
/// names. Their members are named by their paths below the directory.
const ARCHIVES: [(&str, &str); 2] = [("", "vmlinux.a"), ("lib/", "lib.a")];

/// The list ([`SOURCE_FILES`](super::symbols::SOURCE_FILES)) of the program that was built in this directory. Empty for versions of the kernel that link
/// other archives.
pub(super) fn list(output: &Path, program: &Path) -> io::Result<String> {
    let mut objects = Vec::new();
    for (directory, archive) in ARCHIVES {
        let archive = match fs::read(output.join(directory).join(archive)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            archive => archive?,
        };
        let parsed = ArchiveFile::parse(&*archive).map_err(io::Error::other)?;
        for member in parsed.members() {
            let member = member.map_err(io::Error::other)?;
            let name = format!("{directory}{}", String::from_utf8_lossy(member.name()));
            if let Some(source) = name.strip_suffix(".o") {
                let functions = functions(&fs::read(output.join(&name))?)?;
                objects.push((source.to_owned(), functions));
            }
        }
    }
    if objects.is_empty() {
        return Ok(String::new());
    }
    let program = functions(&fs::read(program)?)?;
    let mut lines = String::new();
    for (address, source) in of_functions(&objects, program) {
        let _ = writeln!(lines, "{address:x} {source}");
    }
    Ok(lines)
}

/// Where the functions of each object begin, ascending. A function that several objects define belongs to
/// them in the order of linking; without a source if that order is not known.
fn of_functions<'a>(
    objects: &'a [(String, Vec<Symbol>)],
    mut program: Vec<Symbol>,
) -> Vec<(u64, &'a str)> {
    let mut defined: HashMap<(&str, u64), Vec<&'a str>> = HashMap::new();
    for (source, functions) in objects {
        for function in functions {
            let key = (function.name.as_str(), function.size);
            defined.entry(key).or_default().push(source);
        }
    }
    program.sort_by(|a, b| (a.address, &a.name).cmp(&(b.address, &b.name)));
    let mut linked: HashMap<(&str, u64), usize> = HashMap::new();
    for function in &program {
        *linked.entry((&function.name, function.size)).or_default() += 1;
    }
    let mut seen: HashMap<(&str, u64), usize> = HashMap::new();
    // Of several names of one function, one is enough.
    let mut sources: BTreeMap<u64, &str> = BTreeMap::new();
    for function in &program {
        let key = (function.name.as_str(), function.size);
        let number = seen.entry(key).or_default();
        *number += 1;
        let source = match defined.get(&key).map(Vec::as_slice) {
            Some([first, rest @ ..]) if rest.iter().all(|one| one == first) => first,
            Some(all) if all.len() == linked[&key] => all[*number - 1],
            _ => "",
        };
        let known = sources.entry(function.address).or_default();
        if known.is_empty() {
            *known = source;
        }
    }
    let mut begins: Vec<(u64, &str)> = sources.into_iter().collect();
    begins.dedup_by_key(|(_, source)| *source);
    begins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(all: &[(u64, u64, &str)]) -> Vec<Symbol> {
        let all = all.iter().map(|(address, size, name)| Symbol {
            address: *address,
            size: *size,
            name: (*name).to_owned(),
        });
        all.collect()
    }

    #[test]
    fn a_function_has_the_source_of_the_object_that_defines_it() {
        let objects = [
            ("fs/a/dir", symbols(&[(0, 8, "find"), (8, 4, "a_open")])),
            ("fs/a/file", symbols(&[(0, 8, "a_read")])),
            ("fs/b/dir", symbols(&[(0, 8, "find"), (8, 3, "__weak")])),
            ("lib/weak", symbols(&[(0, 5, "lost"), (8, 5, "lost")])),
        ];
        let objects = objects.map(|(source, functions)| (source.to_owned(), functions));
        let program = symbols(&[
            (0x300, 8, "find"),
            (0x100, 8, "find"),
            (0x108, 4, "a_open"),
            (0x200, 8, "a_read"),
            (0x308, 3, "b_alias"),
            (0x308, 3, "__weak"),
            (0x400, 9, "assembled"),
        ]);
        let found = of_functions(&objects, program);
        assert_eq!(
            found,
            [
                (0x100, "fs/a/dir"),
                (0x200, "fs/a/file"),
                (0x300, "fs/b/dir"),
                (0x400, ""),
            ]
        );
    }
}
