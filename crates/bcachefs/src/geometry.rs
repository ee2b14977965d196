//! Computes bucket and node sizes from the sizes of the devices. This module writes nothing.

use crate::options::MakeOptions;

pub(crate) const SECTOR: u64 = 512;
/// Room for a superblock, in sectors: the default of `bcachefs format`.
pub(crate) const SUPERBLOCK_SECTORS: u64 = 2048;
/// The first superblock (`BCH_SB_SECTOR`).
pub(crate) const FIRST_SUPERBLOCK: u64 = 8;

/// Minimum number of buckets of a device (`BCH_MIN_NR_NBUCKETS`).
const MIN_BUCKETS: u64 = 64;
/// Maximum number of buckets (`BCH_MEMBER_NBUCKETS_MAX`).
const MAX_BUCKETS: u64 = i32::MAX as u64 - 64;
const SMALLEST_BUCKET: u64 = 128 << 10;
const LARGEST_BUCKET: u64 = 1 << 20;
const LARGEST_NODE: u64 = 256 << 10;
/// Maximum number of devices (`BCH_SB_MEMBERS_MAX`).
const MAX_DEVICES: usize = 64;
/// Maximum number of copies (`BCH_REPLICAS_MAX`).
const MAX_REPLICAS: u8 = 4;
/// The kernel permits 64 buckets of any size. On a smaller device, superblocks, journal and reserves
/// leave no room for the first nodes.
const SMALLEST_DEVICE: u64 = 32 << 20;
const MAX_LABEL: usize = 32;

/// Reasons why no file system is possible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    #[error("a block has {0} bytes; possible: 512, 1024, 2048, 4096")]
    Block(u64),
    #[error("{0} devices; 1 to {MAX_DEVICES} are possible")]
    Devices(usize),
    #[error("device {number} has {bytes} bytes; it needs {SMALLEST_DEVICE} or more")]
    TooSmall { number: usize, bytes: u64 },
    #[error("device {number} has {bytes} bytes, which is more than the format counts")]
    TooLarge { number: usize, bytes: u64 },
    #[error(
        "{replicas} replicas on {devices} devices; each copy is on another device, {MAX_REPLICAS} at most"
    )]
    Replicas { replicas: u8, devices: usize },
    #[error("a label of {0} bytes; it has {MAX_LABEL} at most")]
    Label(usize),
}

/// The sizes of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes.
    pub block: u64,
    /// Bytes of a bucket, the unit of allocation of a device.
    pub bucket: u64,
    /// Bytes of a node of a B-tree.
    pub node: u64,
    /// Bytes of each device.
    pub devices: Vec<u64>,
}

impl Geometry {
    /// The geometry of a file system on devices of these sizes in bytes.
    pub fn new(options: &MakeOptions, devices: &[u64]) -> Result<Self, GeometryError> {
        if ![512, 1024, 2048, 4096].contains(&options.block) {
            return Err(GeometryError::Block(options.block));
        }
        if options.label.len() > MAX_LABEL {
            return Err(GeometryError::Label(options.label.len()));
        }
        if !(1..=MAX_DEVICES).contains(&devices.len()) {
            return Err(GeometryError::Devices(devices.len()));
        }
        for replicas in [options.metadata_replicas, options.data_replicas] {
            let is_possible = (1..=MAX_REPLICAS).contains(&replicas);
            if !is_possible || usize::from(replicas) > devices.len() {
                return Err(GeometryError::Replicas {
                    replicas,
                    devices: devices.len(),
                });
            }
        }
        let bucket = devices.iter().map(|bytes| bucket_size(*bytes)).min();
        let bucket = bucket.unwrap_or(SMALLEST_BUCKET);
        for (index, &bytes) in devices.iter().enumerate() {
            let number = index + 1;
            if bytes < SMALLEST_DEVICE {
                return Err(GeometryError::TooSmall { number, bytes });
            }
            if bytes / bucket > MAX_BUCKETS {
                return Err(GeometryError::TooLarge { number, bytes });
            }
        }
        Ok(Self {
            block: options.block,
            bucket,
            node: bucket.min(LARGEST_NODE),
            devices: devices.to_vec(),
        })
    }

    /// The sectors of the superblocks of a device.
    pub(crate) fn superblocks(&self, device: usize) -> [u64; 3] {
        let bucket = self.bucket / SECTOR;
        let last = (self.devices[device] / SECTOR - SUPERBLOCK_SECTORS) / bucket * bucket;
        [
            FIRST_SUPERBLOCK,
            FIRST_SUPERBLOCK + SUPERBLOCK_SECTORS,
            last,
        ]
    }

    /// Formats the geometry in one line.
    pub fn line(&self) -> String {
        let buckets: u64 = self.devices.iter().map(|bytes| bytes / self.bucket).sum();
        let devices = match self.devices.len() {
            1 => String::new(),
            n => format!(" on {n} devices"),
        };
        format!(
            "bcachefs 1.13: {buckets} buckets of {} bytes{devices}, blocks of {} and B-tree nodes of {}",
            self.bucket, self.block, self.node
        )
    }
}

/// The bucket size of `bcachefs format`: it grows with the fourth root of the size.
fn bucket_size(bytes: u64) -> u64 {
    let smallest = MIN_BUCKETS * SMALLEST_BUCKET;
    let Some(doublings) = (bytes / smallest).checked_ilog2() else {
        return SMALLEST_BUCKET;
    };
    let factor = u64::from(doublings / 4).max(1);
    (SMALLEST_BUCKET << factor.ilog2()).min(LARGEST_BUCKET)
}
