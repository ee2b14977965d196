//! The shared libraries of the programs in a guest in virtual time.
//!
//! The loader (ld.so(8)) finds libraries by the cache of this machine, which names those of all its
//! packages. Reading it takes time that depends on its size, so every start of a program would take
//! longer on a machine with more packages. A guest therefore gets a cache with the libraries of
//! its own programs only. The loader finds all others in the directories of the system.

use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::ReadCache;
use object::read::elf::ElfFile;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The cache of the loader (ldconfig(8)).
pub(crate) const CACHE: &str = "/etc/ld.so.cache";

/// The environment variable of a guest that names its own cache.
pub(crate) const GIVEN: &str = "FSDYNO_LIBRARIES";

/// The environment variable with the libraries that the loader opens by their paths. The first process
/// has all of its libraries there, because it starts before the guest has its own cache.
pub(crate) const PRELOAD: &str = "LD_PRELOAD";

/// What a cache begins with; older caches have another part before it.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";

/// The lengths of the header and of an entry.
const HEADER: usize = 48;
const ENTRY: usize = 24;

/// The number of entries, the length of the texts and the byte order in the header.
const COUNT_AT: usize = 20;
const TEXTS_AT: usize = 24;
const ORDER_AT: usize = 28;

/// The byte order of this machine in a header.
const ORDER: u8 = if cfg!(target_endian = "little") { 2 } else { 3 };

/// The flags of libraries of these guests: for glibc, on x86-64.
const FLAGS: u32 = 0x0303;

/// Where the loader finds a library.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Library {
    name: Vec<u8>,
    path: Vec<u8>,
}

impl Library {
    fn path(&self) -> &Path {
        use std::os::unix::ffi::OsStrExt as _;
        Path::new(std::ffi::OsStr::from_bytes(&self.path))
    }
}

/// The libraries of a guest.
#[derive(Debug, Default)]
pub(crate) struct Libraries {
    /// The cache; none if this machine has none.
    pub(crate) cache: Option<Vec<u8>>,
    /// The libraries of its first process.
    pub(crate) first: Vec<PathBuf>,
}

impl Libraries {
    /// Those of the first process and of other programs.
    pub(crate) fn of(first: &Path, others: &[PathBuf]) -> Self {
        let Some(all) = fs::read(CACHE).ok().and_then(|cache| parse(&cache)) else {
            return Self::default();
        };
        let of_first = needed(&all, [first.to_owned()]);
        let mut kept = needed(&all, others.iter().cloned());
        kept.extend(&of_first);
        let path = |number: &usize| all[*number].path().to_owned();
        let of_first = of_first.iter();
        // The loader itself is there already.
        let of_first = of_first.filter(|number| !all[**number].name.starts_with(b"ld-"));
        let first: Vec<PathBuf> = of_first.map(path).collect();
        // Everything in another directory than these is not found without the cache.
        let directories: BTreeSet<_> = first.iter().filter_map(|path| directory(path)).collect();
        let elsewhere = |library: &Library| {
            directory(library.path()).is_some_and(|one| !directories.contains(&one))
        };
        let listed = all.iter().enumerate();
        let listed = listed.filter(|(number, one)| kept.contains(number) || elsewhere(one));
        let listed: Vec<&Library> = listed.map(|(_, library)| library).collect();
        Self {
            cache: Some(write(&listed)),
            first,
        }
    }
}

/// The directory of a file without symbolic links.
fn directory(path: &Path) -> Option<PathBuf> {
    path.parent()?.canonicalize().ok()
}

/// The libraries that programs need, and those that these need, by their numbers.
fn needed(all: &[Library], programs: impl IntoIterator<Item = PathBuf>) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open: Vec<PathBuf> = programs.into_iter().collect();
    while let Some(path) = open.pop() {
        // A script has none.
        for name in needs(&path).unwrap_or_default() {
            if let Some(number) = all.iter().position(|library| library.name == name)
                && found.insert(number)
            {
                open.push(all[number].path().to_owned());
            }
        }
    }
    found
}

/// The names of the libraries that a file in ELF needs.
fn needs(path: &Path) -> io::Result<Vec<Vec<u8>>> {
    let file = File::open(path)?;
    needed_by(file).map_err(io::Error::other)
}

fn needed_by(file: File) -> object::read::Result<Vec<Vec<u8>>> {
    let data = ReadCache::new(file);
    let file = ElfFile::<FileHeader64<Endianness>, _>::parse(&data)?;
    let table = file
        .elf_section_table()
        .dynamic_table(file.endian(), &data)?;
    let entries = table.into_iter().filter(|entry| entry.tag == DT_NEEDED);
    entries
        .map(|entry| table.string(entry).map(<[u8]>::to_vec))
        .collect()
}

/// The libraries of a cache for these guests, in its order. None if it has another format.
fn parse(cache: &[u8]) -> Option<Vec<Library>> {
    let begin = cache.windows(MAGIC.len()).position(|part| part == MAGIC)?;
    let cache = &cache[begin..];
    let number = |at: usize| {
        let bytes = cache.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    };
    let text = |at: u32| {
        let rest = cache.get(usize::try_from(at).ok()?..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        Some(rest[..end].to_vec())
    };
    let mut libraries = Vec::new();
    for entry in 0..usize::try_from(number(COUNT_AT)?).ok()? {
        let at = entry.checked_mul(ENTRY)?.checked_add(HEADER)?;
        // Variants for some processors would be used on those only.
        let variant = number(at + 16)? != 0 || number(at + 20)? != 0;
        if number(at)? == FLAGS && !variant {
            let (name, path) = (text(number(at + 4)?)?, text(number(at + 8)?)?);
            libraries.push(Library { name, path });
        }
    }
    Some(libraries)
}

/// A cache with these libraries, which are in the order of a cache.
fn write(libraries: &[&Library]) -> Vec<u8> {
    let begin = HEADER + libraries.len() * ENTRY;
    let mut texts = Vec::new();
    let mut place = |text: &[u8]| {
        let at = begin + texts.len();
        texts.extend_from_slice(text);
        texts.push(0);
        at
    };
    let mut entries = Vec::new();
    let word = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).to_ne_bytes();
    for library in libraries {
        let path = place(&library.path);
        // A path mostly ends with the name.
        let name = match library.path.strip_suffix(&library.name[..]) {
            Some(directory) => path + directory.len(),
            None => place(&library.name),
        };
        entries.extend_from_slice(&FLAGS.to_ne_bytes());
        entries.extend_from_slice(&word(name));
        entries.extend_from_slice(&word(path));
        entries.resize(entries.len() + 12, 0);
    }
    let mut cache = vec![0; HEADER];
    cache[..MAGIC.len()].copy_from_slice(MAGIC);
    cache[COUNT_AT..TEXTS_AT].copy_from_slice(&word(libraries.len()));
    cache[TEXTS_AT..ORDER_AT].copy_from_slice(&word(texts.len()));
    cache[ORDER_AT] = ORDER;
    cache.extend(entries);
    cache.extend(texts);
    cache
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(name: &str, path: &str) -> Library {
        Library {
            name: name.into(),
            path: path.into(),
        }
    }

    #[test]
    fn a_written_cache_is_read_again_also_behind_an_older_part() {
        let all = [
            library("libz.so.1", "/lib/x86_64-linux-gnu/libz.so.1"),
            library("liba.so", "/opt/a/other.so"),
        ];
        let cache = write(&all.iter().collect::<Vec<_>>());
        assert_eq!(parse(&cache).unwrap(), all);
        let older = [&b"ld.so-1.7.0\0\0\0\0\0"[..], &cache].concat();
        assert_eq!(parse(&older).unwrap(), all);
        for cut in [0, 10, HEADER, HEADER + 30, cache.len() - 1] {
            assert_eq!(parse(&cache[..cut]), None, "{cut}");
        }
        let mut many = cache.clone();
        many[COUNT_AT..TEXTS_AT].fill(0xff);
        assert_eq!(parse(&many), None);
    }

    #[test]
    fn libraries_for_other_processors_are_left_out() {
        let one = library("libz.so.1", "/lib/libz.so.1");
        for at in [HEADER, HEADER + 16, HEADER + 23] {
            let mut cache = write(&[&one]);
            cache[at] ^= 1;
            assert_eq!(parse(&cache).unwrap(), [], "{at}");
        }
    }

    #[test]
    fn a_guest_finds_the_libraries_of_its_programs_and_those_outside_the_system() {
        let all = parse(&fs::read(CACHE).unwrap()).unwrap();
        let own = std::env::current_exe().unwrap();
        let git = fsdyno_files::programs::find("git").unwrap();
        let libraries = Libraries::of(&own, &[git, "/etc/passwd".into(), "/no/such".into()]);
        let kept = parse(&libraries.cache.unwrap()).unwrap();
        let named = |name: &[u8]| kept.iter().any(|one| one.name == name);
        assert!(named(b"libc.so.6") && named(b"libz.so.1"), "{kept:?}");
        assert!(libraries.first.iter().any(|one| one.ends_with("libc.so.6")));
        assert!(kept.len() < all.len());
        let system = directory(libraries.first[0].as_path()).unwrap();
        let elsewhere = all
            .iter()
            .filter(|one| directory(one.path()).unwrap() != system);
        for one in elsewhere {
            assert!(kept.contains(one), "{one:?}");
        }
    }

    #[test]
    fn the_loader_reads_a_written_cache() {
        let here = tempfile::tempdir().unwrap();
        let written = here.path().join("cache");
        let own = std::env::current_exe().unwrap();
        let cache = Libraries::of(&own, &[]).cache.unwrap();
        fs::write(&written, &cache).unwrap();
        let mut ldconfig = fsdyno_files::programs::command("ldconfig").unwrap();
        let printed = ldconfig.arg("-p").arg("-C").arg(&written).output().unwrap();
        let printed = String::from_utf8(printed.stdout).unwrap();
        let count = parse(&cache).unwrap().len();
        assert!(
            printed.starts_with(&format!("{count} libs found")),
            "{printed}"
        );
        assert!(
            printed.contains("libc.so.6 (libc6,x86-64) => "),
            "{printed}"
        );
    }
}
