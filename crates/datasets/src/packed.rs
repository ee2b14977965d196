//! The tar stream of an archive with any compression, and its members one by one.
//!
//! An archive may be malicious. All reads are bounded: the memory of decoders, the headers of a
//! member, and the data after the last one. Cancellation is checked between two reads of the file
//! or of the stream. [`super::member`] and [`super::scan`] check whether a member is safe.

use crate::DatasetError;
use crate::member::{BadMember, Member};
use fsdyno_model::CancelToken;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::mem::ManuallyDrop;
use std::os::fd::IntoRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tar::Entry;

/// The maximum size of the headers of one member, bytes: long names, pax records, and the map of a
/// sparse file with up to 330,000 extents.
const HEADERS_MAX: u64 = 8 << 20;

/// The maximum number of bytes after the last member. GNU tar pads to records of 10 KiB, and of at
/// most 1 MiB on tapes.
const TRAILER_MAX: u64 = 16 << 20;

/// The maximum window of zstd, as a power of two: 128 MiB, the limit of zstd(1) without `--long`.
const ZSTD_WINDOW_LOG: u32 = 27;

/// The maximum memory of an xz decoder, bytes. `xz -9` needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;

/// The tar stream of an archive.
pub struct Stream {
    from: Box<dyn Read + Send>,
    stop: CancelToken,
    limit: Arc<ReadLimit>,
}

/// How many bytes of a stream were read, and the limit.
#[derive(Debug)]
struct ReadLimit {
    read: AtomicU64,
    limit: AtomicU64,
    /// The maximum to which the limit can be raised.
    most: u64,
}

impl ReadLimit {
    /// Allows this number of bytes from here on.
    fn allow(&self, bytes: u64) {
        let limit = self.read.load(Ordering::Relaxed).saturating_add(bytes);
        self.limit.store(limit.min(self.most), Ordering::Relaxed);
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        check(&self.stop)?;
        let limit = &self.limit;
        let read = limit.read.load(Ordering::Relaxed);
        let left = limit.limit.load(Ordering::Relaxed).saturating_sub(read);
        if left == 0 && !into.is_empty() {
            let why = if read >= limit.most {
                "unpacked, it is more than four times longer than the room for what it holds"
            } else {
                "the headers of a member are longer than 8 MiB, or 16 MiB follow the last member"
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let most = into.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let length = self.from.read(&mut into[..most])?;
        limit.read.fetch_add(length as u64, Ordering::Relaxed);
        Ok(length)
    }
}

/// A file that fails after a cancellation: a decoder may read for long before it returns a byte.
///
/// It is closed with one system call in every build, as a phase that unpacks it counts them: with debug
/// assertions, `File` makes another one.
struct Stopping(ManuallyDrop<File>, CancelToken);

impl Read for Stopping {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        check(&self.1)?;
        self.0.read(into)
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        // SAFETY: it is taken once, and never used again.
        let file = unsafe { ManuallyDrop::take(&mut self.0) };
        // SAFETY: the descriptor was owned, and no owner is left.
        unsafe { rustix::io::close(file.into_raw_fd()) };
    }
}

/// Not `Interrupted`: readers retry after that.
fn check(stop: &CancelToken) -> io::Result<()> {
    if stop.requested() {
        return Err(io::Error::other("stopped"));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Xz,
    Zstd,
}

impl Packing {
    /// The compression, by the first bytes.
    fn of(magic: &[u8]) -> io::Result<Self> {
        let unknown = |what: &str| {
            let text = format!("it is packed with {what}; pack it with gzip, xz or zstd");
            Err(io::Error::new(io::ErrorKind::Unsupported, text))
        };
        match magic {
            [0x1F, 0x8B, ..] => Ok(Self::Gzip),
            [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => Ok(Self::Xz),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Ok(Self::Zstd),
            [b'B', b'Z', b'h', ..] => unknown("bzip2"),
            [b'P', b'K', 3, 4, ..] => unknown("zip"),
            [0x1F, 0x9D, ..] => unknown("compress"),
            _ => Ok(Self::Plain),
        }
    }

    fn decoder(self, file: File, stop: &CancelToken) -> io::Result<Box<dyn Read + Send>> {
        // Large reads bypass the buffer, which only serves headers and compressed data.
        let file =
            BufReader::with_capacity(1 << 16, Stopping(ManuallyDrop::new(file), stop.clone()));
        Ok(match self {
            Self::Plain => Box::new(file),
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            Self::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)?;
                Box::new(liblzma::bufread::XzDecoder::new_stream(file, stream))
            }
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(file)?;
                decoder.window_log_max(ZSTD_WINDOW_LOG)?;
                Box::new(decoder)
            }
        })
    }
}

/// Opens the tar stream of an archive, which must be a regular file; at most `most` bytes are read.
pub fn open(path: &Path, most: u64, stop: &CancelToken) -> Result<Stream, DatasetError> {
    let io = |operation| move |error: io::Error| DatasetError::io(operation, path, error);
    let mut file = fsdyno_files::input::open(path).map_err(io("open"))?;
    let mut magic = Vec::new();
    Read::by_ref(&mut file)
        .take(6)
        .read_to_end(&mut magic)
        .map_err(io("read"))?;
    file.rewind().map_err(io("read"))?;
    let from = Packing::of(&magic).and_then(|packing| packing.decoder(file, stop));
    Ok(Stream {
        from: from.map_err(|source| damaged(path, None, source, stop))?,
        stop: stop.clone(),
        limit: Arc::new(ReadLimit {
            read: AtomicU64::new(0),
            limit: AtomicU64::new(most),
            most,
        }),
    })
}

/// Reads an archive to its end and calls `each` with every member and its data. An archive without
/// members, or with a stream longer than `most` bytes, is an error.
pub fn each_member<E: From<DatasetError>>(
    path: &Path,
    most: u64,
    stop: &CancelToken,
    mut each: impl FnMut(Member, &mut Entry<'_, &mut Stream>) -> Result<(), E>,
) -> Result<(), E> {
    let mut stream = open(path, most, stop)?;
    let limit = Arc::clone(&stream.limit);
    limit.allow(HEADERS_MAX);
    let mut last = None;
    let mut tar = tar::Archive::new(&mut stream);
    let entries = tar.entries();
    for entry in entries.map_err(|source| damaged(path, None, source, stop))? {
        let mut entry = entry.map_err(|source| damaged(path, last.clone(), source, stop))?;
        // The stream is at the data of the entry. The headers of the next entry follow.
        let stored = match entry.header().entry_type() {
            // They describe the next entry.
            tar::EntryType::XGlobalHeader => 0,
            tar::EntryType::GNUSparse => entry.header().entry_size().unwrap_or(0),
            _ => entry.size(),
        };
        limit.allow(stored.saturating_add(HEADERS_MAX));
        match Member::of(&mut entry) {
            Ok(Some(member)) => {
                last = Some(member.shown_path());
                each(member, &mut entry)?;
            }
            Ok(None) => {}
            Err(BadMember::Damaged(source)) => {
                return Err(damaged(path, last, source, stop).into());
            }
            Err(BadMember::Refused(member, why)) => {
                let path = path.to_owned();
                return Err(DatasetError::Member { path, member, why }.into());
            }
        }
    }
    if last.is_none() {
        let none = io::Error::new(io::ErrorKind::InvalidData, "it holds no member");
        return Err(damaged(path, None, none, stop).into());
    }
    // Checksums are at the end of a compressed stream, so it must be read completely.
    limit.allow(TRAILER_MAX);
    io::copy(&mut stream, &mut io::sink()).map_err(|source| damaged(path, last, source, stop))?;
    Ok(())
}

/// The error of an archive that cannot be read, or of a cancellation.
pub fn damaged(
    path: &Path,
    member: Option<PathBuf>,
    source: io::Error,
    stop: &CancelToken,
) -> DatasetError {
    if stop.requested() {
        return DatasetError::Stopped;
    }
    let path = path.to_owned();
    // A message about a bad header contains its raw bytes, which are unsafe to print.
    let source = if source.to_string().contains(char::is_control) {
        io::Error::new(
            source.kind(),
            "what is there is not a header of a tar archive",
        )
    } else {
        source
    };
    DatasetError::Archive {
        path,
        member,
        source,
    }
}
