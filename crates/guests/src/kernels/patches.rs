//! Patches: changes to the kernel sources before the build, where the text to change exists.

use std::path::Path;
use std::{fs, io};

/// A text in one source file, and its replacement.
struct Patch {
    file: &'static str,
    text: &'static str,
    instead: &'static str,
}

/// User-mode Linux reads the registers of a process with all processor state by `ptrace(2)`. On a
/// processor with AMX that is 11,008 bytes, where versions 6.1 and 6.12 have room for 2,696, so no
/// program starts. With the patch the host uses as much room as it needs. The buffer is on the
/// kernel stack, which the fragment enlarges.
const ALL: [Patch; 1] = [Patch {
    file: "arch/x86/um/user-offsets.c",
    text: "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
    instead: "DEFINE_LONGS(HOST_FP_SIZE, 12288);",
}];

/// Applies the patches to these sources.
pub(super) fn make(sources: &Path) -> io::Result<()> {
    for one in &ALL {
        let file = sources.join(one.file);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            text => text?,
        };
        if text.contains(one.text) {
            fs::write(&file, text.replace(one.text, one.instead))?;
        }
    }
    Ok(())
}

/// Whether the processor has AMX.
pub fn has_amx() -> bool {
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    about.contains(" amx_tile")
}

/// What User-mode Linux prints when the host refuses to map a page of a program, which it then kills.
pub const HOST_REFUSES_PAGES: &str = "UML ran out of memory on the host side";

/// Why a kernel or one of its programs died with these lines on the console, with a remedy; none
/// where that is not known.
pub fn known_end(words: &str) -> Option<String> {
    if words.contains(HOST_REFUSES_PAGES) {
        let limit = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
        return Some(format!(
            "the host refused to map another page of a program of the guest: User-mode Linux maps \
             pages one by one, and the host allows {} mappings in a process. Raise that limit: \
             sysctl vm.max_map_count=1048576",
            limit.trim()
        ));
    }
    // The first process ended by a fault, as every one would.
    let faulted = words.contains("Attempted to kill init! exitcode=0x0000000b");
    (faulted && has_amx()).then(|| {
        "the processor has AMX, for whose registers this kernel of User-mode Linux has no room; the \
         lab kernel has: fsdyno lab setup, and --guest-kernel lab"
            .to_owned()
    })
}

/// The text of all patches, for the identity of a kernel.
pub(super) fn reported() -> String {
    let lines = ALL
        .iter()
        .map(|one| format!("{}: {}", one.file, one.instead));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_changes_the_named_lines_of_the_sources_only() {
        let work_dir = tempfile::tempdir().unwrap();
        make(work_dir.path()).unwrap();
        let file = work_dir.path().join(ALL[0].file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, format!("a\n\t{}\nb\n", ALL[0].text)).unwrap();
        for _ in 0..2 {
            make(work_dir.path()).unwrap();
            let expected = format!("a\n\t{}\nb\n", ALL[0].instead);
            assert_eq!(fs::read_to_string(&file).unwrap(), expected);
        }
        assert!(reported().contains(ALL[0].instead));
    }
}
