//! The options of a new file system, by the names of the kernel (`fs/bcachefs/opts.h`).

use std::str::FromStr;

/// Options of a new file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeOptions {
    /// Block size in bytes.
    pub block: u64,
    /// Copies of metadata, each on another device.
    pub metadata_replicas: u8,
    /// Copies of data, each on another device.
    pub data_replicas: u8,
    pub metadata_checksum: Checksum,
    pub data_checksum: Checksum,
    pub compression: Compression,
    /// The compression that a background task applies later.
    pub background_compression: Compression,
    /// At most 32 bytes.
    pub label: String,
}

impl Default for MakeOptions {
    /// The defaults of the kernel.
    fn default() -> Self {
        Self {
            block: 4096,
            metadata_replicas: 1,
            data_replicas: 1,
            metadata_checksum: Checksum::Crc32c,
            data_checksum: Checksum::Crc32c,
            compression: Compression::NONE,
            background_compression: Compression::NONE,
            label: String::new(),
        }
    }
}

/// A checksum (`BCH_CSUM_OPTS`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    None = 0,
    Crc32c = 1,
    Crc64 = 2,
    Xxhash = 3,
}

/// A name that is none of the possible ones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is unknown; possible: {possible}")]
pub struct UnknownName {
    pub name: String,
    pub possible: &'static str,
}

impl FromStr for Checksum {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        match name {
            "none" => Ok(Self::None),
            "crc32c" => Ok(Self::Crc32c),
            "crc64" => Ok(Self::Crc64),
            "xxhash" => Ok(Self::Xxhash),
            _ => Err(UnknownName {
                name: name.to_owned(),
                possible: "none, crc32c, crc64, xxhash",
            }),
        }
    }
}

/// A kind of compression (`BCH_COMPRESSION_OPTS`) with its level; 0 is the default level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    pub(crate) kind: u64,
    pub(crate) level: u64,
}

impl Compression {
    pub const NONE: Self = Self { kind: 0, level: 0 };
    /// The field of the superblock has four bits.
    const MAX_LEVEL: u64 = 15;
}

impl FromStr for Compression {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let unknown = || UnknownName {
            name: name.to_owned(),
            possible: "none, lz4, gzip, zstd, gzip:LEVEL, zstd:LEVEL (1 to 15)",
        };
        let (kind, level) = match name.split_once(':') {
            None => (name, 0),
            Some((kind @ ("gzip" | "zstd"), level)) => {
                let level = level.parse().map_err(|_| unknown())?;
                if !(1..=Self::MAX_LEVEL).contains(&level) {
                    return Err(unknown());
                }
                (kind, level)
            }
            Some(_) => return Err(unknown()),
        };
        let kind = match kind {
            "none" => 0,
            "lz4" => 1,
            "gzip" => 2,
            "zstd" => 3,
            _ => return Err(unknown()),
        };
        Ok(Self { kind, level })
    }
}
