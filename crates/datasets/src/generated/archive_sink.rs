//! Packs generated entries into a tar archive, gzipped, as a stream.
//!
//! The members are the same on every machine. The packed bytes may differ in length by a little:
//! the compressor looks for repetitions with what instructions the processor has.

use super::{File, Sink};
use crate::DatasetError;
use crate::content::{BUFFER, Stream};
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use fsdyno_model::CancelToken;
use std::fs::File as FsFile;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// A packed archive in memory, as the writes that made its file. Writing it again makes the same
/// system calls.
#[derive(Debug, Default)]
pub struct Packed {
    bytes: Vec<u8>,
    /// The end offset of each write.
    ends: Vec<usize>,
}

impl Packed {
    /// Writes the archive to a new file.
    pub fn write_to(&self, archive: &Path, stop: &CancelToken) -> Result<(), DatasetError> {
        let mut file = create(archive)?;
        let mut begin = 0;
        for end in &self.ends {
            stop.check()?;
            file.write_all(&self.bytes[begin..*end])
                .map_err(|error| DatasetError::io("write to", archive, error))?;
            begin = *end;
        }
        Ok(())
    }
}

/// The file of an archive; keeps what is written, if it is to be written again.
struct Copied {
    file: FsFile,
    kept: Option<Packed>,
}

impl Write for Copied {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        if let Some(kept) = &mut self.kept {
            kept.bytes.extend_from_slice(&bytes[..written]);
            kept.ends.push(kept.bytes.len());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn create(archive: &Path) -> Result<FsFile, DatasetError> {
    FsFile::create_new(archive).map_err(|error| DatasetError::io("make", archive, error))
}

pub struct ArchiveSink<'s> {
    builder: Builder<GzEncoder<BufWriter<Copied>>>,
    archive: PathBuf,
    /// The path of the directory that began last, inside the archive.
    inside: PathBuf,
    buffer: Box<[u8]>,
    stop: &'s CancelToken,
}

impl<'s> ArchiveSink<'s> {
    /// Makes the archive file. If it is to be kept, `finish` returns a copy.
    pub fn create(archive: &Path, keep: bool, stop: &'s CancelToken) -> Result<Self, DatasetError> {
        let file = Copied {
            file: create(archive)?,
            kept: keep.then(Packed::default),
        };
        // 255: the field that names the operating system states "unknown".
        let packer = GzBuilder::new()
            .operating_system(255)
            .write(BufWriter::with_capacity(1 << 18, file), Compression::new(6));
        Ok(Self {
            builder: Builder::new(packer),
            archive: archive.to_owned(),
            inside: PathBuf::new(),
            buffer: vec![0; BUFFER].into(),
            stop,
        })
    }

    /// Completes the archive; returns its copy in memory, if one was requested.
    pub fn finish(self) -> Result<Option<Packed>, DatasetError> {
        self.builder
            .into_inner()
            .and_then(GzEncoder::finish)
            .and_then(|file| Ok(file.into_inner()?.kept))
            .map_err(|error| DatasetError::io("write to", self.archive, error))
    }

    fn failed(&self, error: io::Error) -> DatasetError {
        DatasetError::io("write to", &self.archive, error)
    }
}

fn header(kind: EntryType, mode: u32, mtime: u64, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(mtime);
    header.set_size(size);
    header.set_uid(0);
    header.set_gid(0);
    header
}

impl Sink for ArchiveSink<'_> {
    fn enter(&mut self, name: &str, mtime: u64) -> Result<(), DatasetError> {
        self.stop.check()?;
        self.inside.push(name);
        let mut header = header(EntryType::Directory, 0o755, mtime, 0);
        self.builder
            .append_data(&mut header, self.inside.join(""), io::empty())
            .map_err(|error| self.failed(error))
    }

    fn file(&mut self, name: &str, file: &File) -> Result<(), DatasetError> {
        self.stop.check()?;
        let mut header = header(EntryType::Regular, file.mode, file.mtime, file.size);
        let content = Stream::new(file.content, file.seed, file.size, &mut self.buffer);
        self.builder
            .append_data(&mut header, self.inside.join(name), content)
            .map_err(|error| self.failed(error))
    }

    fn leave(&mut self) -> Result<(), DatasetError> {
        self.inside.pop();
        Ok(())
    }
}
