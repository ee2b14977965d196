//! The engine `null`: returns from every call at once, with data of a synthetic tree. The time of a
//! phase on it is the overhead of fsdyno itself. The same facts always give the same tree.

use super::listing::{Listing, put_record};
use super::meta::{Kind, Meta, Timestamp};
use super::{Calls, DataFile, Engine, EngineInfo, Target};
use crate::error::LoadError;
use std::ffi::CStr;
use std::io::{self, Read};
use std::path::Path;

pub const NAME: &str = "null";

/// The size of the synthetic tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    pub files: u64,
    /// Directories including the root: at least one.
    pub directories: u64,
    /// The sum of all file sizes.
    pub bytes: u64,
}

impl Facts {
    /// The size of a small source tree.
    pub const SMALL: Self = Self {
        files: 10_000,
        directories: 1_000,
        bytes: 30_000_000,
    };

    /// The number of files in one directory: files are distributed evenly.
    fn files_in(&self, directory: u64) -> u64 {
        self.files / self.directories + u64::from(directory < self.files % self.directories)
    }

    /// The size of one file; bytes are distributed evenly.
    fn bytes_in(&self, file: u64) -> u64 {
        if self.files == 0 {
            return 0;
        }
        self.bytes / self.files + u64::from(file < self.bytes % self.files)
    }
}

pub(crate) enum NullEngine {}

impl Engine for NullEngine {
    const INFO: EngineInfo = EngineInfo {
        name: NAME,
        title: "no system calls; measures the overhead of fsdyno",
        programs: &[],
        touches_files: false,
    };
    type Calls = NullCalls;

    fn calls(facts: Facts) -> NullCalls {
        NullCalls::new(facts)
    }
}

/// The method that reports show in place of system calls.
pub(crate) const METHOD: &str = "no system calls";

#[derive(Debug)]
pub struct NullCalls {
    facts: Facts,
    /// The size of every file, and the number of the first files that have one byte more. Avoids a
    /// division in each call.
    each: u64,
    larger: u64,
    calls: u64,
}

/// A directory. The root contains all others, and each contains its share of the files.
#[derive(Debug)]
pub struct NullDir {
    number: u64,
    listed: u64,
}

/// A file, and the number of bytes left to read.
#[derive(Debug)]
pub struct NullFile {
    left: u64,
    size: u64,
}

impl NullCalls {
    /// An engine over a tree with this number of files, directories and bytes.
    pub fn new(facts: Facts) -> Self {
        Self {
            facts: Facts {
                directories: facts.directories.max(1),
                ..facts
            },
            each: facts.bytes / facts.files.max(1),
            larger: facts.bytes % facts.files.max(1),
            calls: 0,
        }
    }

    #[inline]
    #[expect(
        clippy::unnecessary_wraps,
        reason = "every call of an engine can be refused"
    )]
    fn done<T>(&mut self, value: T) -> Result<T, LoadError> {
        self.calls += 1;
        Ok(value)
    }

    /// The size of one file, as [`Facts::bytes_in`].
    #[inline]
    fn bytes_in(&self, file: u64) -> u64 {
        if self.facts.files == 0 {
            return 0;
        }
        self.each + u64::from(file < self.larger)
    }

    /// The `n`th entry of a directory: its kind, and its number within that kind.
    fn entry(&self, directory: u64, n: u64) -> Option<(Kind, u64)> {
        let below = if directory == 0 {
            self.facts.directories - 1
        } else {
            0
        };
        if n < below {
            return Some((Kind::Directory, n + 1));
        }
        let n = n - below;
        // Files are distributed round-robin: directory d contains d, d + D, d + 2D ...
        (n < self.facts.files_in(directory))
            .then(|| (Kind::File, directory + n * self.facts.directories))
    }

    fn meta(&self, kind: Kind, number: u64) -> Meta {
        let size = match kind {
            Kind::File => self.bytes_in(number),
            _ => 0,
        };
        let timestamp = Timestamp {
            seconds: 1_200_000_000,
            nanos: 0,
        };
        Meta {
            kind,
            mode: if kind == Kind::File { 0o644 } else { 0o755 },
            uid: 0,
            gid: 0,
            dev: 1,
            ino: number,
            links: 1,
            rdev: 0,
            size,
            space: size,
            accessed: timestamp,
            modified: timestamp,
        }
    }
}

/// Writes `f0000002a`.
#[inline]
fn put_name(kind: Kind, number: u64) -> [u8; 17] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut name = [if kind == Kind::Directory { b'd' } else { b'f' }; 17];
    for (place, byte) in name[1..].iter_mut().rev().enumerate() {
        *byte = HEX[(number >> (4 * place) & 15) as usize];
    }
    name
}

/// Parses the output of [`put_name`]; any other name is the root.
#[inline]
fn number_of(name: &CStr) -> (Kind, u64) {
    let bytes = name.to_bytes();
    let kind = match bytes.first() {
        Some(b'f') => Kind::File,
        _ => Kind::Directory,
    };
    if bytes.len() != 17 {
        return (Kind::Directory, 0);
    }
    let number = bytes[1..].iter().fold(0, |number, byte| {
        let digit = match byte {
            b'a'..=b'f' => byte - b'a' + 10,
            digit => digit & 15,
        };
        number << 4 | u64::from(digit)
    });
    (kind, number)
}

/// Defines calls that ignore their arguments, and return a value.
macro_rules! return_at_once {
    ($($call:ident($($argument:ty),+) -> $output:ty = $value:expr;)+) => {
        $(fn $call(&mut self, $(_: $argument),+) -> Result<$output, LoadError> {
            self.done($value)
        })+
    };
}

impl Calls for NullCalls {
    const ENGINE: &'static str = NAME;

    type Dir = NullDir;
    type File = NullFile;

    return_at_once! {
        open_work_dir(&Path) -> NullDir = NullDir { number: 0, listed: 0 };
        make_dir(&NullDir, &CStr, u32) -> () = ();
        remove_dir(&NullDir, &CStr) -> bool = true;
        exists(&NullDir, &CStr) -> bool = true;
        create(&NullDir, &CStr, u32) -> NullFile = NullFile { left: 0, size: 0 };
        close(NullFile) -> () = ();
        make_durable(&mut NullFile) -> () = ();
        make_data_durable(&mut NullFile) -> () = ();
        make_dir_durable(&NullDir) -> () = ();
        make_all_durable(&NullDir) -> () = ();
        write(&mut NullFile, &[u8]) -> () = ();
        write_at(&mut NullFile, &[u8], u64) -> () = ();
        set_size(&mut NullFile, u64) -> () = ();
        share(&NullFile, &mut NullFile) -> () = ();
        read_link(&NullDir, &CStr, &mut [u8]) -> usize = 0;
        symlink(&CStr, &NullDir, &CStr) -> () = ();
        link((&NullDir, &CStr), &NullDir, &CStr) -> () = ();
        make_node(&NullDir, &CStr, Kind, u32, u64) -> () = ();
        rename(&NullDir, &CStr, &CStr) -> () = ();
        unlink(&NullDir, &CStr) -> () = ();
        set_times(&Target<'_, Self>, Timestamp, Timestamp) -> () = ();
        set_owner(&Target<'_, Self>, Option<u32>, Option<u32>) -> bool = true;
        set_mode(&Target<'_, Self>, u32) -> () = ();
        list_attributes(&Target<'_, Self>, &mut [u8]) -> Option<usize> = Some(0);
        attribute(&Target<'_, Self>, &CStr, &mut [u8]) -> Option<usize> = None;
        set_attribute(&Target<'_, Self>, &CStr, &[u8]) -> bool = true;
    }

    fn another(&self) -> Self {
        Self::new(self.facts)
    }

    fn calls(&self) -> u64 {
        self.calls
    }

    fn open_dir(&mut self, _at: &NullDir, name: &CStr) -> Result<NullDir, LoadError> {
        let (_, number) = number_of(name);
        self.done(NullDir { number, listed: 0 })
    }

    fn list(&mut self, dir: &mut NullDir, into: &mut Listing) -> Result<bool, LoadError> {
        let mut end = 0;
        while let Some((kind, number)) = self.entry(dir.number, dir.listed) {
            let space = &mut into.space()[end..];
            let Some(bytes) = put_record(space, number, kind, &put_name(kind, number)) else {
                break;
            };
            end += bytes;
            dir.listed += 1;
        }
        into.filled(end);
        self.done(end > 0)
    }

    fn close_dir(&mut self, _dir: NullDir) {
        self.calls += 1;
    }

    fn stat(&mut self, of: &Target<'_, Self>) -> Result<Meta, LoadError> {
        let meta = match of {
            Target::File(file) => Meta {
                size: file.size,
                space: file.size,
                ..self.meta(Kind::File, 0)
            },
            Target::Directory(dir) => self.meta(Kind::Directory, dir.number),
            Target::Entry(_, name) => {
                let (kind, number) = number_of(name);
                self.meta(kind, number)
            }
        };
        self.done(meta)
    }

    fn open(&mut self, _at: &NullDir, name: &CStr) -> Result<NullFile, LoadError> {
        let size = self.bytes_in(number_of(name).1);
        self.done(NullFile { left: size, size })
    }

    fn open_to_write(&mut self, at: &NullDir, name: &CStr) -> Result<NullFile, LoadError> {
        self.open(at, name)
    }

    fn open_to_change(&mut self, at: &NullDir, name: &CStr) -> Result<NullFile, LoadError> {
        self.open(at, name)
    }

    fn open_data(
        &mut self,
        at: &NullDir,
        name: &CStr,
        _how: DataFile,
    ) -> Result<NullFile, LoadError> {
        self.open(at, name)
    }

    fn read(&mut self, file: &mut NullFile, into: &mut [u8]) -> Result<usize, LoadError> {
        let bytes = usize::try_from(file.left).map_or(into.len(), |left| left.min(into.len()));
        file.left -= bytes as u64;
        self.done(bytes)
    }

    fn read_at(
        &mut self,
        file: &mut NullFile,
        into: &mut [u8],
        offset: u64,
    ) -> Result<usize, LoadError> {
        let left = file.size.saturating_sub(offset);
        let bytes = usize::try_from(left).map_or(into.len(), |left| left.min(into.len()));
        self.done(bytes)
    }

    fn seek(&mut self, file: &mut NullFile, offset: u64) -> Result<(), LoadError> {
        file.left = file.size.saturating_sub(offset);
        self.done(())
    }

    fn data_after(
        &mut self,
        _file: &mut NullFile,
        offset: u64,
        size: u64,
    ) -> Result<Option<(u64, u64)>, LoadError> {
        self.done((offset < size).then_some((offset, size)))
    }

    fn copy_range(
        &mut self,
        from: &mut NullFile,
        _to: &mut NullFile,
        length: u64,
    ) -> Result<u64, LoadError> {
        let bytes = from.left.min(length);
        from.left -= bytes;
        self.done(bytes)
    }

    fn archive(
        &mut self,
        _path: &Path,
        _stop: &fsdyno_model::CancelToken,
    ) -> Result<Box<dyn Read + Send>, LoadError> {
        let archive = NullArchive::new(self.facts);
        self.done(Box::new(archive))
    }
}

/// The synthetic tree as a synthetic tar archive.
#[derive(Debug)]
struct NullArchive {
    facts: Facts,
    /// Members so far: first directories, then files.
    begun: u64,
    /// Remaining bytes of the current member, including padding.
    data_left: u64,
    header: [u8; 512],
    header_left: usize,
}

impl NullArchive {
    fn new(facts: Facts) -> Self {
        Self {
            facts,
            begun: 0,
            data_left: 0,
            header: [0; 512],
            header_left: 0,
        }
    }

    /// Creates the header of the next member; zeros at the end.
    fn begin(&mut self) {
        let (number, facts) = (self.begun, self.facts);
        self.begun += 1;
        self.header = [0; 512];
        self.header_left = 512;
        let (kind, number) = match number.checked_sub(facts.directories) {
            None => (Kind::Directory, number),
            Some(file) if file < facts.files => (Kind::File, file),
            Some(_) => return,
        };
        let directory = match kind {
            Kind::File => number % facts.directories,
            _ => 0,
        };
        self.header[0] = b'.';
        let mut end = 1;
        if directory != 0 {
            self.header[end] = b'/';
            self.header[end + 1..end + 18].copy_from_slice(&put_name(Kind::Directory, directory));
            end += 18;
        }
        if (kind, number) != (Kind::Directory, 0) {
            self.header[end] = b'/';
            self.header[end + 1..end + 18].copy_from_slice(&put_name(kind, number));
        }
        let size = match kind {
            Kind::File => facts.bytes_in(number),
            _ => 0,
        };
        self.data_left = size.next_multiple_of(512);
        self.header[100..107].copy_from_slice(b"0000644");
        put_octal(&mut self.header[124..135], size);
        put_octal(&mut self.header[136..147], 1_200_000_000);
        self.header[156] = if kind == Kind::File { b'0' } else { b'5' };
        self.header[257..265].copy_from_slice(b"ustar\x0000");
        self.header[148..156].fill(b' ');
        let sum: u64 = self.header.iter().map(|byte| u64::from(*byte)).sum();
        put_octal(&mut self.header[148..154], sum);
        self.header[154] = 0;
    }
}

fn put_octal(field: &mut [u8], mut number: u64) {
    for byte in field.iter_mut().rev() {
        *byte = b'0' + (number & 7) as u8;
        number >>= 3;
    }
}

impl Read for NullArchive {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.header_left == 0 && self.data_left == 0 {
            if self.begun > self.facts.directories + self.facts.files {
                return Ok(0);
            }
            self.begin();
        }
        if self.header_left > 0 {
            let bytes = into.len().min(self.header_left);
            let start = 512 - self.header_left;
            into[..bytes].copy_from_slice(&self.header[start..start + bytes]);
            self.header_left -= bytes;
            return Ok(bytes);
        }
        let bytes = usize::try_from(self.data_left).map_or(into.len(), |left| left.min(into.len()));
        self.data_left -= bytes as u64;
        Ok(bytes)
    }
}
