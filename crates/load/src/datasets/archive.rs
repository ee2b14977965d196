//! `tar:FILE`: an archive of the user's, plain or packed with gzip, xz or zstd.
//!
//! The packing is told by the first bytes, not by the name. An archive is read whole once before
//! anything is made: one that is damaged, or that would write outside of its place, is refused.

use super::tree::make_root;
use super::unpack::unpack;
use super::{Dataset, DatasetError, Facts, Form, scan, shown};
use crate::ground::{Ground, SOURCE};
use fsdyno_model::{Stop, Warning};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// An archive of the user's.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    facts: Facts,
}

impl Archive {
    /// Reads the whole archive once.
    pub fn open(path: &Path) -> Result<Self, DatasetError> {
        let stat =
            std::fs::metadata(path).map_err(|error| DatasetError::io("find", path, error))?;
        if !stat.is_file() {
            return Err(DatasetError::WrongKind {
                path: path.to_owned(),
                is: if stat.is_dir() {
                    "a directory"
                } else {
                    "no regular file"
                },
                wanted: "an archive",
                way_out: "for a directory write tree:DIR",
            });
        }
        let mut facts = scan::scan(path)?;
        facts.about = format!("the archive {}", shown(path));
        Ok(Self {
            path: path.to_owned(),
            facts,
        })
    }

    /// Copies the archive as it is.
    fn copy(&self, to: &Path, stop: &Stop) -> Result<(), DatasetError> {
        let mut from =
            File::open(&self.path).map_err(|error| DatasetError::io("open", &self.path, error))?;
        let mut into = File::create_new(to).map_err(|error| DatasetError::io("make", to, error))?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            if stop.requested() {
                return Err(DatasetError::Stopped);
            }
            let length = from
                .read(&mut buffer)
                .map_err(|error| DatasetError::io("read", &self.path, error))?;
            if length == 0 {
                return Ok(());
            }
            into.write_all(&buffer[..length])
                .map_err(|error| DatasetError::io("write to", to, error))?;
        }
    }
}

impl Dataset for Archive {
    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn lay(
        &self,
        ground: &mut Ground,
        form: Form,
        stop: &Stop,
    ) -> Result<Vec<Warning>, DatasetError> {
        match form {
            Form::Archive => {
                let name = self.path.file_name().unwrap_or("archive.tar".as_ref());
                let to = ground.root.join(name);
                self.copy(&to, stop)?;
                ground.archive = Some(to);
            }
            Form::Tree => {
                let to = ground.root.join(SOURCE);
                let root = make_root(&to)?;
                // As `mkdir` leaves it, should the archive have no member for it.
                rustix::fs::fchmod(&root, rustix::fs::Mode::from_raw_mode(0o755))
                    .map_err(|errno| DatasetError::io("set the mode of", &to, errno))?;
                unpack(&self.path, &to, &root, stop)?;
                ground.trees.push(to);
            }
        }
        Ok(Vec::new())
    }
}

/// How an archive is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packing {
    Plain,
    Gzip,
    Xz,
    Zstd,
}

impl Packing {
    /// Tells it by the first bytes.
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
}

/// The plain tar stream of an archive, whatever it is packed with.
pub fn reader(path: &Path) -> Result<Box<dyn Read + Send>, DatasetError> {
    let io = |doing| move |error: io::Error| DatasetError::io(doing, path, error);
    let mut file = File::open(path).map_err(io("open"))?;
    let mut magic = Vec::new();
    Read::by_ref(&mut file)
        .take(6)
        .read_to_end(&mut magic)
        .map_err(io("read"))?;
    file.rewind().map_err(io("read"))?;
    // Large reads pass it by: only headers, and what is packed, go through it.
    let file = BufReader::with_capacity(1 << 16, file);
    let packing = Packing::of(&magic).map_err(|source| DatasetError::Archive {
        path: path.to_owned(),
        member: None,
        source,
    })?;
    Ok(match packing {
        Packing::Plain => Box::new(file),
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        Packing::Xz => Box::new(liblzma::bufread::XzDecoder::new_multi_decoder(file)),
        Packing::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(file).map_err(io("unpack"))?;
            Box::new(decoder)
        }
    })
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
