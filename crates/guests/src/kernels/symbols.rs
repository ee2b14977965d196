//! The functions of a kernel, from the symbols of its file.

use object::{Object, ObjectSymbol, SymbolKind};
use std::fs;
use std::io;
use std::path::Path;

/// Functions by address.
#[derive(Debug, Default)]
pub struct Symbols {
    /// The first address and the name, ascending.
    functions: Vec<(u64, String)>,
    /// The first address after the last function.
    end: u64,
}

impl Symbols {
    /// Those of a kernel file.
    pub fn of(kernel: &Path) -> io::Result<Self> {
        let bytes = fs::read(kernel)?;
        let file = object::File::parse(&*bytes).map_err(io::Error::other)?;
        let is_code = |symbol: &object::Symbol<'_, '_>| symbol.kind() == SymbolKind::Text;
        let of = |symbol: object::Symbol<'_, '_>| {
            Some((
                symbol.address(),
                symbol.size(),
                symbol.name().ok()?.to_owned(),
            ))
        };
        Ok(Self::new(file.symbols().filter(is_code).filter_map(of)))
    }

    /// From address, size and name of each.
    pub fn new(symbols: impl Iterator<Item = (u64, u64, String)>) -> Self {
        let mut functions = Vec::new();
        let mut end = 0;
        for (address, size, name) in symbols {
            end = end.max(address.saturating_add(size));
            functions.push((address, name));
        }
        // Of several names of one function the first in the alphabet: that of every build.
        functions.sort();
        functions.dedup_by_key(|(address, _)| *address);
        for (_, name) in &mut functions {
            name.truncate(source_name(name).len());
        }
        Self { functions, end }
    }

    /// The name in the sources of the function at this address; empty if there is none.
    pub fn function(&self, address: u64) -> &str {
        if address >= self.end {
            return "";
        }
        let after = self
            .functions
            .partition_point(|(start, _)| *start <= address);
        after.checked_sub(1).map_or("", |at| &self.functions[at].1)
    }
}

/// Without what the compiler appends to a function that it specialised or split.
fn source_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
