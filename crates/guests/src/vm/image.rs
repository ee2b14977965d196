//! The image of a system that a user names: its format, its size, and its content without
//! compression. It is opened once, for reading only, and nothing of it is executed on this machine.

use fsdyno_files::uninterrupted;
use fsdyno_model::{Bytes, CancelToken};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

/// No system fits into less.
const SMALLEST: Bytes = Bytes(4 << 20);
/// More than any image of a system.
const LARGEST: Bytes = Bytes(64 << 40);

/// The sector of a raw image, bytes.
const SECTOR: u64 = 512;
/// The first bytes of an image, in which its format is visible.
const HEAD: usize = 4096;

const XZ: &[u8] = b"\xfd7zXZ\0";
/// The memory limit of the decoder: the largest dictionary of `xz -9` with a margin.
const XZ_MEMORY: u64 = 256 << 20;

/// The reason why a file is no image that can be booted.
#[derive(Debug, thiserror::Error)]
pub enum ImageFileError {
    #[error("cannot {act} {}: {cause}", path.display())]
    Read {
        act: &'static str,
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error(
        "{} is no disk image: {why}. Name a raw or qcow2 image of a virtual machine, or one of them \
         compressed by xz", path.display()
    )]
    Format { path: PathBuf, why: String },
    #[error("stopped on request")]
    Stopped,
}

/// The formats that QEMU opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Raw,
    Qcow2,
}

impl Format {
    /// Its name in QEMU.
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
        }
    }
}

/// An image whose format and size are checked.
#[derive(Debug)]
pub struct SystemImage {
    path: PathBuf,
    file: File,
    format: Format,
    compressed: bool,
    /// The size of its disk.
    size: Bytes,
    /// The size of the file without compression.
    unpacked: Bytes,
}

impl SystemImage {
    /// Opens an image, and checks its format and size.
    pub fn open(path: &Path) -> Result<Self, ImageFileError> {
        let error = |act| {
            move |cause| ImageFileError::Read {
                act,
                path: path.to_owned(),
                cause,
            }
        };
        let wrong = |why: String| ImageFileError::Format {
            path: path.to_owned(),
            why,
        };
        let file = File::open(path).map_err(error("open"))?;
        let about = file.metadata().map_err(error("examine"))?;
        if !about.is_file() {
            let kind = if about.file_type().is_block_device() {
                "a device"
            } else {
                "no regular file"
            };
            return Err(wrong(format!("it is {kind}")));
        }
        let mut head = head(&file).map_err(error("read"))?;
        let compressed = head.starts_with(XZ);
        let unpacked = if compressed {
            let size = unpacked_size(&file, about.len()).map_err(error("read"))?;
            let size = size.ok_or_else(|| wrong("its end is that of no xz file".to_owned()))?;
            let mut decoder = decoder(&file).map_err(error("uncompress"))?;
            head.clear();
            let part = decoder.by_ref().take(HEAD as u64).read_to_end(&mut head);
            part.map_err(error("uncompress"))?;
            size
        } else {
            about.len()
        };
        let (format, size) = format(&head, unpacked).map_err(wrong)?;
        if !(SMALLEST.0..=LARGEST.0).contains(&size) {
            let size = Bytes(size);
            return Err(wrong(format!(
                "its disk has {size}, and that of a system {SMALLEST} to {LARGEST}"
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
            format,
            compressed,
            size: Bytes(size),
            unpacked: Bytes(unpacked),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// The size of its disk.
    pub fn size(&self) -> Bytes {
        self.size
    }

    /// The size of what [`SystemImage::uncompressed`] writes; none if it writes nothing.
    pub fn to_unpack(&self) -> Option<Bytes> {
        self.compressed.then_some(self.unpacked)
    }

    /// The image without compression: the file itself, or a sparse copy that this writes to `copy`.
    pub fn uncompressed(&self, copy: &Path, stop: &CancelToken) -> Result<File, ImageFileError> {
        if !self.compressed {
            return self
                .file
                .try_clone()
                .map_err(|cause| self.failed("open", cause));
        }
        let mut decoder = decoder(&self.file).map_err(|cause| self.failed("uncompress", cause))?;
        let written = File::create_new(copy).and_then(|file| Ok((File::open(copy)?, file)));
        let (read_only, file) = written.map_err(|cause| self.failed("uncompress", cause))?;
        let mut buffer = vec![0; 1 << 20];
        let mut at = 0;
        while at < self.unpacked.0 {
            if stop.requested() {
                return Err(ImageFileError::Stopped);
            }
            let length = fill(&mut decoder, &mut buffer)
                .map_err(|cause| self.failed("uncompress", cause))?;
            if length == 0 {
                break;
            }
            let part = &buffer[..length];
            if part.iter().any(|byte| *byte != 0) {
                (file.write_all_at(part, at)).map_err(|cause| self.failed("uncompress", cause))?;
            }
            at += length as u64;
        }
        if at != self.unpacked.0 {
            return Err(self.failed("uncompress", io::ErrorKind::UnexpectedEof.into()));
        }
        (file.set_len(at)).map_err(|cause| self.failed("uncompress", cause))?;
        Ok(read_only)
    }

    fn failed(&self, act: &'static str, cause: io::Error) -> ImageFileError {
        ImageFileError::Read {
            act,
            path: self.path.clone(),
            cause,
        }
    }
}

fn head(file: &File) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut file = file;
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// A decoder of the whole file.
fn decoder(file: &File) -> io::Result<impl Read> {
    let mut file = file.try_clone()?;
    file.seek(SeekFrom::Start(0))?;
    let flags = liblzma::stream::CONCATENATED;
    let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)?;
    let reader = BufReader::with_capacity(1 << 18, file);
    Ok(liblzma::bufread::XzDecoder::new_stream(reader, stream))
}

/// Fills the buffer, or its beginning at the end of the stream.
fn fill(stream: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match uninterrupted(|| stream.read(&mut buffer[length..]))? {
            0 => break,
            more => length += more,
        }
    }
    Ok(length)
}

/// The format of an image and the size of its disk, by its first bytes and the size of the file.
fn format(head: &[u8], size: u64) -> Result<(Format, u64), String> {
    if head.starts_with(b"QFI\xfb") {
        return qcow2(head).map(|size| (Format::Qcow2, size));
    }
    let boots = head.get(510..512) == Some(&[0x55, 0xaa][..]);
    let partitioned = head.get(512..520) == Some(&b"EFI PART"[..]);
    if !boots && !partitioned {
        return Err("it has neither a boot sector nor a header of qcow2".to_owned());
    }
    if !size.is_multiple_of(SECTOR) {
        return Err(format!("its {size} bytes are no multiple of {SECTOR}"));
    }
    Ok((Format::Raw, size))
}

/// The size of the disk of a qcow2 image (docs/interop/qcow2.txt of QEMU). Everything by which the
/// image would name another file is refused.
fn qcow2(head: &[u8]) -> Result<u64, String> {
    let number = |at: usize, length: usize| {
        let bytes = head.get(at..at + length)?;
        Some(
            bytes
                .iter()
                .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    };
    let field = |at, length| number(at, length).ok_or("its header of qcow2 is cut off");
    let version = field(4, 4)?;
    if !(2..=3).contains(&version) {
        return Err(format!("version {version} of qcow2 is not known"));
    }
    if field(8, 8)? != 0 {
        return Err(
            "it is an overlay of another file; name an image that needs no other".to_owned(),
        );
    }
    if field(32, 4)? != 0 {
        return Err("it is encrypted".to_owned());
    }
    // Bits of incompatible features: 1 is corrupt, 2 an external file of data.
    let features = if version == 3 { field(72, 8)? } else { 0 };
    if features & 0b10 != 0 {
        return Err("it is marked as corrupt (qemu-img check)".to_owned());
    }
    if features & 0b100 != 0 {
        return Err("its data are in another file".to_owned());
    }
    Ok(field(24, 8)?)
}

/// The size of the content of an xz file (The .xz File Format 1.2.1, sections 2 and 4), without
/// decoding: from the indexes of its streams, the last first. None if they are not those of an xz
/// file.
fn unpacked_size(file: &File, length: u64) -> io::Result<Option<u64>> {
    const EDGE: u64 = 12;
    const EDGE_BYTES: usize = 12;
    // More than the index of any image.
    const LARGEST_INDEX: u64 = 16 << 20;
    let (mut end, mut sum) = (length, 0_u64);
    while end > 0 {
        let mut footer = [0; EDGE_BYTES];
        let Some(at) = end.checked_sub(EDGE) else {
            return Ok(None);
        };
        file.read_exact_at(&mut footer, at)?;
        if footer[8..] == [0; 4] {
            // Padding between streams.
            end -= 4;
            continue;
        }
        let [_, _, _, _, a, b, c, d, _, _, b'Y', b'Z'] = footer else {
            return Ok(None);
        };
        let index = (u64::from(u32::from_le_bytes([a, b, c, d])) + 1) * 4;
        let begin = at.checked_sub(index).filter(|_| index <= LARGEST_INDEX);
        let Some(begin) = begin else {
            return Ok(None);
        };
        let mut bytes = vec![0; usize::try_from(index).unwrap_or_default()];
        file.read_exact_at(&mut bytes, begin)?;
        let Some((blocks, size)) = sizes(&bytes) else {
            return Ok(None);
        };
        let header = begin
            .checked_sub(blocks)
            .and_then(|at| at.checked_sub(EDGE));
        let (Some(header), Some(total)) = (header, sum.checked_add(size)) else {
            return Ok(None);
        };
        (end, sum) = (header, total);
    }
    Ok(Some(sum))
}

/// The sizes of all blocks of an index: in the file, and of their content.
fn sizes(index: &[u8]) -> Option<(u64, u64)> {
    let mut rest = index.strip_prefix(&[0])?;
    let count = varint(&mut rest)?;
    let (mut blocks, mut content) = (0_u64, 0_u64);
    for _ in 0..count {
        let block = varint(&mut rest)?.checked_next_multiple_of(4)?;
        blocks = blocks.checked_add(block)?;
        content = content.checked_add(varint(&mut rest)?)?;
    }
    Some((blocks, content))
}

/// A number of an index: seven bits in a byte, the lowest first.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A raw image with a boot sector.
    fn raw(size: u64) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        bytes[510..512].copy_from_slice(&[0x55, 0xaa]);
        bytes[5000] = 7;
        bytes
    }

    fn packed(content: &[u8]) -> Vec<u8> {
        let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 0);
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn open(content: &[u8]) -> Result<SystemImage, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        SystemImage::open(file.path()).map_err(|error| error.to_string())
    }

    fn header(changes: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 16];
        bytes[..4].copy_from_slice(b"QFI\xfb");
        bytes[7] = 3;
        bytes[24..32].copy_from_slice(&(5_u64 << 30).to_be_bytes());
        for (at, change) in changes {
            bytes[*at..at + change.len()].copy_from_slice(change);
        }
        bytes
    }

    #[test]
    fn raw_and_qcow2_images_are_known_with_the_size_of_their_disk_also_compressed() {
        let size = 8 << 20;
        let found = open(&raw(size)).unwrap();
        assert_eq!((found.format(), found.size()), (Format::Raw, Bytes(size)));
        let found = open(&header(&[])).unwrap();
        assert_eq!(
            (found.format(), found.size()),
            (Format::Qcow2, Bytes(5 << 30))
        );
        assert_eq!(found.to_unpack(), None);
        // Two streams with padding between them, as parallel packers write.
        let whole = raw(size);
        let (first, second) = whole.split_at(3 << 20);
        let two = [packed(first), vec![0; 8], packed(second)].concat();
        for content in [packed(&whole), two] {
            let found = open(&content).unwrap();
            assert_eq!((found.format(), found.size()), (Format::Raw, Bytes(size)));
            let directory = tempfile::tempdir().unwrap();
            let copy = directory.path().join("copy");
            let mut file = found.uncompressed(&copy, &CancelToken::new()).unwrap();
            let mut read = Vec::new();
            file.read_to_end(&mut read).unwrap();
            assert!(read == whole);
        }
    }

    #[test]
    fn a_file_that_is_no_image_or_names_another_one_is_refused_with_the_reason() {
        let short = raw(1 << 20);
        let mut odd = raw(8 << 20);
        odd.push(0);
        let mut cut = packed(&raw(8 << 20));
        cut.truncate(cut.len() - 4);
        for (content, why) in [
            (vec![], "neither a boot sector"),
            (b"hello".to_vec(), "neither a boot sector"),
            (short, "its disk has 1.00 MiB"),
            (odd, "no multiple of 512"),
            (b"QFI\xfb\0\0\0\x03".to_vec(), "cut off"),
            (header(&[(4, &[0, 0, 0, 9])]), "version 9"),
            (
                header(&[(8, &[0, 0, 0, 0, 0, 0, 1, 0])]),
                "overlay of another",
            ),
            (header(&[(35, &[1])]), "encrypted"),
            (header(&[(79, &[4])]), "in another file"),
            (header(&[(79, &[2])]), "corrupt"),
            (packed(b"hello"), "neither a boot sector"),
            (cut, "no xz file"),
        ] {
            let error = open(&content).unwrap_err();
            assert!(error.contains(why), "{why}: {error}");
        }
        let error = SystemImage::open(Path::new("/dev")).unwrap_err();
        assert!(error.to_string().contains("no regular file"), "{error}");
    }
}
