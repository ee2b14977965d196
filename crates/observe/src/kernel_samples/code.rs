//! The user code that processes execute: in which files it is, and the names of its functions.
//!
//! Another user may own these files, and may have changed them. They are only read, as far as symbols need
//! it, and only if they are regular files with the inode that was mapped. What cannot be named is shown as
//! a file and an offset.

use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use rustix::fs::{FileType, Mode, OFlags, fstat, open};
use std::collections::HashMap;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// The largest file whose symbols are read, and the largest number of them.
const MOST_BYTES: i64 = 1 << 30;
const MOST_SYMBOLS: usize = 4 << 20;

/// A longer name of a function is cut.
const LONGEST: usize = 120;

/// Bytes of the longest instruction of x86-64 that calls a function.
const CALL: usize = 7;

/// A file, as it was mapped.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MappedFile {
    pub path: String,
    pub inode: u64,
}

/// Code of a file in the memory of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub from: u64,
    pub until: u64,
    /// The byte of the file at its beginning.
    pub offset: u64,
    pub file: MappedFile,
}

/// A byte of a file: an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Code {
    /// The file, by its number.
    file: usize,
    offset: u64,
}

/// The code of processes.
#[derive(Debug, Default)]
pub struct Mappings {
    files: Vec<MappedFile>,
    numbers: HashMap<MappedFile, usize>,
    /// Of each process the first and the last address, the byte of the file, and its number. A child shares
    /// those of its parent until it executes another program.
    processes: HashMap<u32, Arc<Vec<Range>>>,
}

#[derive(Debug, Clone, Copy)]
struct Range {
    from: u64,
    until: u64,
    offset: u64,
    file: usize,
}

impl Mappings {
    /// Notes the mappings that a process has now.
    pub fn read(&mut self, process: u32) {
        // A process may end meanwhile.
        let maps = fs::read(format!("/proc/{process}/maps")).unwrap_or_default();
        for line in String::from_utf8_lossy(&maps).lines() {
            if let Some(mapping) = parsed(line) {
                self.map(process, mapping);
            }
        }
    }

    /// Notes a new process.
    pub fn begin(&mut self, process: u32, parent: u32) {
        if let Some(all) = self.processes.get(&parent).map(Arc::clone) {
            self.processes.insert(process, all);
        }
    }

    /// Notes that a process executes another program.
    pub fn execute(&mut self, process: u32) {
        self.processes.remove(&process);
    }

    /// Notes a mapping; it replaces those at the same addresses.
    pub fn map(&mut self, process: u32, mapping: Mapping) {
        let Mapping {
            from,
            until,
            offset,
            file,
        } = mapping;
        let files = &mut self.files;
        let file = *self.numbers.entry(file).or_insert_with_key(|file| {
            files.push(file.clone());
            files.len() - 1
        });
        let all = Arc::make_mut(self.processes.entry(process).or_default());
        all.retain(|other| other.until <= from || until <= other.from);
        all.push(Range {
            from,
            until,
            offset,
            file,
        });
    }

    /// The code at these addresses of a process, up to the first that is in no file.
    pub fn code(&self, process: u32, addresses: &[u64]) -> Box<[Code]> {
        let all = self.processes.get(&process);
        let find = |address: &u64| {
            let is_in = |range: &&Range| (range.from..range.until).contains(address);
            let range = all?.iter().find(is_in)?;
            Some(Code {
                file: range.file,
                offset: range.offset.wrapping_add(address - range.from),
            })
        };
        addresses.iter().map_while(find).collect()
    }
}

/// The code of a line of `/proc/PID/maps`; none if it is not executable.
fn parsed(line: &str) -> Option<Mapping> {
    // The path may contain spaces.
    let mut words = line.splitn(6, ' ');
    let (from, until) = words.next()?.split_once('-')?;
    let permissions = words.next()?;
    let offset = words.next()?;
    let inode = words.nth(1)?.parse().ok()?;
    let path = words.next()?.trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    (permissions.as_bytes().get(2) == Some(&b'x') && !path.is_empty()).then_some(Mapping {
        from: number(from)?,
        until: number(until)?,
        offset: number(offset)?,
        file: MappedFile {
            path: path.to_owned(),
            inode,
        },
    })
}

/// The names of functions, of files as they are needed.
pub struct Names<'a> {
    mappings: &'a Mappings,
    files: HashMap<usize, Option<Symbols>>,
}

impl<'a> Names<'a> {
    pub fn of(mappings: &'a Mappings) -> Self {
        Self {
            mappings,
            files: HashMap::new(),
        }
    }

    /// The names of a call path, the last called function first. It ends before a caller that cannot be
    /// one: code without frame pointers leaves any number in its place.
    pub fn path(&mut self, code: &[Code]) -> Vec<String> {
        let mut names = Vec::new();
        for (at, one) in code.iter().enumerate() {
            // The address of a caller is that after its call, which may be of the next function.
            let is_caller = at > 0;
            if is_caller
                && !self
                    .symbols(one.file)
                    .is_none_or(|of| of.is_after_call(one.offset))
            {
                break;
            }
            names.push(self.name(one.file, one.offset.saturating_sub(u64::from(is_caller))));
        }
        names
    }

    fn symbols(&mut self, file: usize) -> Option<&Symbols> {
        let mapped = &self.mappings.files[file];
        let symbols = self.files.entry(file);
        symbols.or_insert_with(|| Symbols::read(mapped)).as_ref()
    }

    fn name(&mut self, file: usize, offset: u64) -> String {
        let path = self.mappings.files[file].path.as_str();
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let file_name = printable(path.rsplit('/').next().unwrap_or(path));
        let function = self.symbols(file).map(|symbols| symbols.function(offset));
        match function.unwrap_or(Err(offset)) {
            Ok(name) => format!("{name} ({file_name})"),
            Err(offset) => format!("{file_name}+{offset:#x}"),
        }
    }
}

/// A name in a path of calls: without what separates its functions.
fn printable(name: &str) -> String {
    let name = name.chars().take(LONGEST);
    name.map(|c| if c.is_control() || c == ';' { '?' } else { c })
        .collect()
}

/// The functions of a file.
#[derive(Debug)]
struct Symbols {
    file: File,
    /// Parts of the file: their bytes and their addresses.
    segments: Vec<(u64, u64, u64)>,
    /// Functions with names: first address, first one after it.
    named: Vec<(u64, u64, String)>,
    /// The first addresses of all functions that can be unwound.
    starts: Vec<u64>,
}

impl Symbols {
    fn read(mapped: &MappedFile) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(open(&mapped.path, flags, Mode::empty()).ok()?);
        let stat = fstat(&file).ok()?;
        let is_regular = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_regular || stat.st_ino != mapped.inode || stat.st_size > MOST_BYTES {
            return None;
        }
        let cache = ReadCache::new(file.try_clone().ok()?);
        let parsed = object::File::parse(&cache).ok()?;
        let segments = parsed.segments().map(|segment| {
            let (offset, length) = segment.file_range();
            (offset, length, segment.address())
        });
        let segments = segments.collect();
        let symbols = parsed.symbols().chain(parsed.dynamic_symbols());
        let functions = symbols.take(MOST_SYMBOLS).filter_map(|symbol| {
            let is_function = symbol.kind() == SymbolKind::Text && symbol.is_definition();
            let name = symbol
                .name()
                .ok()
                .filter(|name| is_function && !name.is_empty())?;
            let end = symbol.address().checked_add(symbol.size())?;
            Some((symbol.address(), end, printable(name)))
        });
        let mut named: Vec<(u64, u64, String)> = functions.collect();
        named.sort();
        // Of several names of a function the first in the alphabet.
        named.dedup_by_key(|(address, ..)| *address);
        let header = parsed.section_by_name(".eh_frame_hdr");
        let header = header.and_then(|header| Some((header.address(), header.data().ok()?)));
        let starts = header.map_or_else(Vec::new, |(address, bytes)| starts(address, bytes));
        Some(Self {
            file,
            segments,
            named,
            starts,
        })
    }

    /// The name of the function of a byte of the file, or the byte at which it begins.
    fn function(&self, offset: u64) -> Result<&str, u64> {
        let segment = self.segments.iter().find(|(from, length, _)| {
            offset
                .checked_sub(*from)
                .is_some_and(|after| after < *length)
        });
        let Some((from, _, address)) = segment else {
            return Err(offset);
        };
        let wanted = address.wrapping_add(offset - from);
        let before = self.named.partition_point(|(start, ..)| *start <= wanted);
        let symbol = before.checked_sub(1).map(|at| &self.named[at]);
        if let Some((_, _, name)) = symbol.filter(|(start, end, _)| wanted < *end || start == end) {
            return Ok(name);
        }
        let before = self.starts.partition_point(|start| *start <= wanted);
        let start = before.checked_sub(1).map(|at| self.starts[at]);
        let start = start.filter(|start| start >= address);
        Err(start.map_or(offset, |start| start - address + from))
    }

    /// Whether the instruction before this byte of the file calls a function.
    fn is_after_call(&self, offset: u64) -> bool {
        if !cfg!(target_arch = "x86_64") {
            return true;
        }
        let mut before = [0; CALL];
        let from = offset.checked_sub(CALL as u64);
        from.is_some_and(|from| self.file.read_exact_at(&mut before, from).is_ok())
            && ends_with_call(before)
    }
}

/// Whether bytes end with a call: of a relative address, or by a register or memory (opcode FF with 2 in the
/// middle bits of its second byte; Intel 64 Architectures Software Developer's Manual, CALL).
fn ends_with_call(before: [u8; CALL]) -> bool {
    let indirect = |length: usize| {
        let at = CALL - length;
        before[at] == 0xff && before[at + 1] & 0x38 == 0x10
    };
    before[CALL - 5] == 0xe8 || [2, 3, 4, 6, 7].into_iter().any(indirect)
}

/// The first addresses of functions in the table of `.eh_frame_hdr` (Linux Standard Base, exception frames);
/// none if it is encoded otherwise than compilers do.
fn starts(address: u64, header: &[u8]) -> Vec<u64> {
    /// Version 1; the count in 4 bytes; offsets from the section, in 4 bytes with a sign.
    const VERSION: u8 = 1;
    const COUNT: u8 = 0x03;
    const TABLE: u8 = 0x3b;
    let [VERSION, _, COUNT, TABLE] = *header.get(..4).unwrap_or_default() else {
        return Vec::new();
    };
    let entries = header.get(12..).unwrap_or_default().chunks_exact(8);
    let offset = |entry: &[u8]| i32::from_le_bytes([entry[0], entry[1], entry[2], entry[3]]);
    let mut starts: Vec<u64> = entries
        .map(|entry| address.wrapping_add_signed(offset(entry).into()))
        .collect();
    starts.sort_unstable();
    starts
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// A function whose address is known.
    #[inline(never)]
    fn function() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn code_of_this_program_is_named_and_that_of_a_child_is_the_same() {
        let mut mappings = Mappings::default();
        let own = std::process::id();
        mappings.read(own);
        mappings.begin(own + 1, own);
        assert_eq!(function(), 7);
        let address = function as fn() -> u64 as usize as u64;
        let code = mappings.code(own + 1, &[address, 1, address]);
        assert_eq!(code.len(), 1, "what is in no file ends a path");
        let mut names = Names::of(&mappings);
        let path = names.path(&code);
        assert!(path[0].contains("function"), "{path:?}");
        // A caller that is not after a call is none.
        let twice = mappings.code(own, &[address, address]);
        assert_eq!(twice.len(), 2);
        assert_eq!(names.path(&twice), path);
        mappings.execute(own + 1);
        assert!(mappings.code(own + 1, &[address]).is_empty());
        assert_eq!(mappings.code(own, &[address]), code);
    }

    #[test]
    fn a_file_that_is_damaged_or_another_one_has_no_names() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let own = fs::read("/proc/self/exe").unwrap();
        file.write_all(&own[..own.len().min(5000)]).unwrap();
        let path = file.path().display().to_string();
        let mut inode = std::os::unix::fs::MetadataExt::ino(&file.as_file().metadata().unwrap());
        for _ in 0..2 {
            let mapped = MappedFile {
                path: path.clone(),
                inode,
            };
            if let Some(symbols) = Symbols::read(&mapped) {
                assert_eq!(symbols.function(10_000_000_000), Err(10_000_000_000));
            }
            inode += 1;
        }
        assert!(Symbols::read(&MappedFile { path, inode }).is_none());
        let fifo = MappedFile {
            path: "/dev/null".to_owned(),
            inode: 1,
        };
        assert!(Symbols::read(&fifo).is_none());
    }

    #[test]
    fn only_code_of_files_is_in_a_list_of_mappings() {
        let line = "7f00-7f80 r-xp 00002000 08:01 77   /usr/lib/a b.so";
        let mapping = parsed(line).unwrap();
        assert_eq!(
            (mapping.from, mapping.until, mapping.offset),
            (0x7f00, 0x7f80, 0x2000)
        );
        assert_eq!(
            (mapping.file.path.as_str(), mapping.file.inode),
            ("/usr/lib/a b.so", 77)
        );
        for line in [
            "7f00-7f80 rw-p 0 08:01 77 /a",
            "7f00-7f80 r-xp 0 00:00 0 ",
            "x",
            "",
        ] {
            assert!(parsed(line).is_none(), "{line}");
        }
    }

    #[test]
    fn calls_are_recognised_and_a_table_of_functions_is_read() {
        for (bytes, calls) in [
            ([0, 0, 0xe8, 1, 2, 3, 4], true),
            ([0, 0, 0, 0, 0, 0xff, 0xd0], true),
            ([0, 0xff, 0x15, 1, 2, 3, 4], true),
            ([0, 0, 0, 0, 0, 0xff, 0xe0], false),
            ([0; 7], false),
        ] {
            assert_eq!(ends_with_call(bytes), calls, "{bytes:x?}");
        }
        let mut header = vec![1, 0x1b, 3, 0x3b, 0, 0, 0, 0, 2, 0, 0, 0];
        header.extend([-16_i32, 0, 32, 0].map(i32::to_le_bytes).concat());
        assert_eq!(starts(0x1000, &header), [0xff0, 0x1020]);
        assert_eq!(starts(0x1000, &header[..3]), [0; 0]);
        header[3] = 0;
        assert_eq!(starts(0x1000, &header), [0; 0]);
    }
}
