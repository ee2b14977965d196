//! The functions of this machine's kernel by address.

use std::fs;

const PATH: &str = "/proc/kallsyms";

/// What compilers append to the name of a function whose code they moved or copied.
const COPIES: [&str; 5] = [".isra.", ".constprop.", ".part.", ".cold", ".llvm."];

/// The functions in the order of their addresses.
#[derive(Debug)]
pub struct Symbols {
    functions: Vec<(u64, String)>,
}

impl Symbols {
    /// Reads `/proc/kallsyms`. An error if the kernel hides the addresses.
    pub fn read() -> Result<Self, String> {
        let text = fs::read_to_string(PATH).map_err(|error| {
            format!("cannot name the functions of the kernel: {PATH}: {error}. Leave out --profile")
        })?;
        Self::parse(&text).ok_or_else(|| {
            format!(
                "cannot name the functions of the kernel: {PATH} hides their addresses from this user. Run fsdyno \
                 as root with kernel.kptr_restrict below 2, or leave out --profile"
            )
        })
    }

    /// None without an address.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut functions: Vec<(u64, String)> = text.lines().filter_map(function).collect();
        // Of two names of one address the first, as they are listed.
        functions.sort_by_key(|(address, _)| *address);
        functions.dedup_by_key(|(address, _)| *address);
        (!functions.is_empty()).then_some(Self { functions })
    }

    /// The function that has this address.
    pub fn name(&self, address: u64) -> &str {
        let after = self.functions.partition_point(|(of, _)| *of <= address);
        let found = after.checked_sub(1).map(|at| self.functions[at].1.as_str());
        found.unwrap_or("unknown")
    }
}

/// The function of a line, if it has an address.
fn function(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_ascii_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let kind = words.next()?;
    let name = words.next()?;
    if address == 0 || !matches!(kind, "t" | "T" | "w" | "W") {
        return None;
    }
    let copies = COPIES.iter().filter_map(|copy| name.find(copy));
    let name = &name[..copies.min().unwrap_or(name.len())];
    Some((address, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_the_function_that_begins_before_it() {
        let text = "\
ffffffff81000200 t ext4_unlink.isra.0
ffffffff81000100 T vfs_unlink
ffffffff81000150 D some_data
ffffffffc0000000 t xfs_remove\t[xfs]
";
        let symbols = Symbols::parse(text).unwrap();
        for (address, name) in [
            (0xffff_ffff_8100_0000, "unknown"),
            (0xffff_ffff_8100_0100, "vfs_unlink"),
            (0xffff_ffff_8100_01ff, "vfs_unlink"),
            (0xffff_ffff_8100_0200, "ext4_unlink"),
            (0xffff_ffff_c000_0001, "xfs_remove"),
        ] {
            assert_eq!(symbols.name(address), name);
        }
    }

    #[test]
    fn hidden_addresses_are_no_functions() {
        assert!(Symbols::parse("0000000000000000 T vfs_unlink\n").is_none());
    }
}
