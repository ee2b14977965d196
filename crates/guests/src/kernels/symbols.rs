//! The functions of a kernel, from the symbols of its file.

use object::{Object, ObjectSymbol, SymbolKind};
use std::fs;
use std::io;
use std::path::Path;

/// The list of source files in the folder of a kernel: each line has the address of a function, hexadecimal,
/// and the source file of it and of those after it, without the end of its name.
pub(super) const SOURCE_FILES: &str = "source-files";

/// A function of an object file or a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub address: u64,
    pub size: u64,
    pub name: String,
}

/// Functions by address.
#[derive(Debug, Default)]
pub struct Symbols {
    /// The first address and the name, ascending.
    functions: Vec<(u64, String)>,
    /// The first address after the last function.
    end: u64,
    /// Where the functions of each source file begin, ascending.
    sources: Vec<(u64, String)>,
}

/// The functions that a file in ELF defines.
pub(super) fn functions(file: &[u8]) -> io::Result<Vec<Symbol>> {
    let file = object::File::parse(file).map_err(io::Error::other)?;
    let is_code = |symbol: &object::Symbol<'_, '_>| {
        symbol.kind() == SymbolKind::Text && symbol.is_definition()
    };
    let of = |symbol: object::Symbol<'_, '_>| {
        Some(Symbol {
            address: symbol.address(),
            size: symbol.size(),
            name: symbol.name().ok()?.to_owned(),
        })
    };
    Ok(file.symbols().filter(is_code).filter_map(of).collect())
}

impl Symbols {
    /// Those of a kernel file.
    pub fn of(kernel: &Path) -> io::Result<Self> {
        let sources = match fs::read_to_string(kernel.with_file_name(SOURCE_FILES)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            sources => sources?,
        };
        let sources = parse_sources(&sources);
        Ok(Self::new(functions(&fs::read(kernel)?)?, sources))
    }

    /// From functions, and the addresses from which on they are of a source file.
    pub fn new(symbols: Vec<Symbol>, sources: Vec<(u64, String)>) -> Self {
        let mut functions = Vec::new();
        let mut end = 0;
        for symbol in symbols {
            end = end.max(symbol.address.saturating_add(symbol.size));
            functions.push((symbol.address, symbol.name));
        }
        // Of several names of one function the first in the alphabet: that of every build.
        functions.sort();
        functions.dedup_by_key(|(address, _)| *address);
        for (_, name) in &mut functions {
            name.truncate(source_name(name).len());
        }
        Self {
            functions,
            end,
            sources,
        }
    }

    /// The name in the sources of the function at this address; empty if there is none.
    pub fn function(&self, address: u64) -> &str {
        if address >= self.end {
            return "";
        }
        at_or_before(&self.functions, address)
    }

    /// The source file of that function, without the end of its name; empty if it is not known.
    pub fn source(&self, address: u64) -> &str {
        at_or_before(&self.sources, address)
    }
}

/// Reads a list of source files; lines that are damaged are left out.
fn parse_sources(list: &str) -> Vec<(u64, String)> {
    let lines = list.lines().filter_map(|line| {
        let (address, source) = line.split_once(' ')?;
        Some((u64::from_str_radix(address, 16).ok()?, source.to_owned()))
    });
    lines.collect()
}

/// The text of the last address that is not after this one; empty if there is none.
fn at_or_before(texts: &[(u64, String)], address: u64) -> &str {
    let after = texts.partition_point(|(start, _)| *start <= address);
    after.checked_sub(1).map_or("", |at| &texts[at].1)
}

/// Without what the compiler appends to a function that it specialised or split.
fn source_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::parse_sources;

    #[test]
    fn a_list_of_source_files_is_read_without_its_damaged_lines() {
        assert_eq!(
            parse_sources("1f0 fs/ext2/dir\n200 \nno line\n"),
            [(0x1f0, "fs/ext2/dir".to_owned()), (0x200, String::new())]
        );
    }
}
