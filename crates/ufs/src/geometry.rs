//! Computes the geometry of a file system from its size: block and fragment sizes, groups, and
//! inodes per group. This module writes nothing.

/// Minimum block size (MINBSIZE).
const SMALLEST_BLOCK: u64 = 4096;
/// Maximum block size (MAXBSIZE).
const LARGEST_BLOCK: u64 = 65_536;
pub(crate) const SECTOR: u64 = 512;
/// Space reserved for a superblock.
pub(crate) const SUPERBLOCK_ROOM: u64 = 8192;
/// Used bytes of a superblock.
pub(crate) const SUPERBLOCK_BYTES: u64 = 1376;
/// Bytes of a group's entry in the summary.
pub(crate) const SUMMARY_BYTES: u64 = 16;
/// Maximum transfer size of the disk, for cluster planning.
const TRANSFER: u64 = 128 << 10;
/// Maximum counted cluster length.
const MAX_CLUSTER: u64 = 16;
/// Preferred minimum number of groups, unless they become too small. Directories need more than one
/// group to spread over.
const WANTED_GROUPS: u64 = 4;
/// UFS1 stores the inodes of a group in a signed 16-bit field.
const MAX_OLD_INODES: u64 = 0x7fff;

/// The size of the summary is a signed 32-bit field.
const MAX_GROUPS: u64 = i32::MAX as u64 / SUMMARY_BYTES;
/// Upper limit of fragments per inode, above the size of any group.
const MIN_DENSE: u64 = 1 << 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// UFS1: 32-bit block numbers (4.2BSD, 1983; this version 4.4BSD, 1993).
    Ufs1,
    /// UFS2: 64-bit block numbers and extended attributes (FreeBSD 5, 2003).
    Ufs2,
}

/// Options of a new file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeOptions {
    pub version: Version,
    /// Block size in bytes. Default: that of the format.
    pub block: Option<u64>,
    /// Fragment size in bytes. Default: an eighth of a block.
    pub fragment: Option<u64>,
    /// Bytes of space per inode. Default: four fragments.
    pub density: Option<u64>,
    /// Maximum blocks per group. Default: as many as the descriptor can hold.
    pub group_blocks: Option<u64>,
    /// Space reserved from ordinary users, percent.
    pub minfree: u64,
    /// Whether growing files optimize for space instead of time.
    pub for_space: bool,
    /// Expected file size, bytes.
    pub file_size: u64,
    /// Expected number of files per directory.
    pub directory_files: u64,
    pub label: String,
    /// Current time, seconds since 1970.
    pub time: u64,
    /// Distinguishes file systems made in the same second.
    pub id: u32,
}

/// Geometry of a file system. Sizes without a unit are in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    pub version: Version,
    /// Block size in bytes.
    pub block: u64,
    /// Fragment size in bytes.
    pub fragment: u64,
    /// Size of the file system.
    pub size: u64,
    /// Size of a group (the last one may be shorter).
    pub group: u64,
    pub groups: u64,
    pub group_inodes: u64,
    /// Blocks per transfer: the maximum counted run of free blocks.
    pub cluster: u64,
}

/// Reasons why a geometry is impossible.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    #[error("blocks of {0} bytes: a power of two from 4096 to 65536 is possible (-b)")]
    Block(u64),
    #[error(
        "fragments of {fragment} bytes in blocks of {block}: a half, quarter or eighth of a block, or \
         a whole one, and at least 512 bytes are possible (-f)"
    )]
    Fragment { fragment: u64, block: u64 },
    #[error("an inode for every 0 bytes: at least 1 is possible (-i)")]
    Density,
    /// A reserve that leaves no space.
    #[error("a reserve of {0} %: 0 to 99 are possible (-m)")]
    Minfree(u64),
    /// The volume name is too long.
    #[error("the label `{0}`: at most 31 letters, digits, `-` and `_` are possible (-L)")]
    Label(String),
    /// An expected value that is zero or exceeds its superblock field.
    #[error(
        "files of {file_size} bytes, {directory_files} in a directory: both are numbers from 1 to \
         2147483647 (-g, -h)"
    )]
    Expectation {
        file_size: u64,
        directory_files: u64,
    },
    /// Groups without space for data.
    #[error("groups of {blocks} blocks: {smallest} is the least that holds data (-c)")]
    Groups { blocks: u64, smallest: u64 },
    #[error(
        "{bytes} bytes are too few: {smallest} are the least for blocks of {block} bytes; \
         take a larger device, or smaller blocks (-b)"
    )]
    TooSmall {
        bytes: u64,
        smallest: u64,
        block: u64,
    },
    /// The size exceeds the block numbers of this format.
    #[error(
        "{bytes} bytes are too many for fragments of {fragment} bytes; take larger ones (-f), larger \
         groups (-c), or UFS2 (-O 2)"
    )]
    TooLarge { bytes: u64, fragment: u64 },
}

impl Version {
    /// Offset of the superblock, bytes.
    pub(crate) fn superblock_at(self) -> u64 {
        match self {
            Self::Ufs1 => 8192,
            Self::Ufs2 => 65_536,
        }
    }

    pub(crate) fn inode_bytes(self) -> u64 {
        match self {
            Self::Ufs1 => 128,
            Self::Ufs2 => 256,
        }
    }

    /// Bytes of a block number.
    pub(crate) fn pointer_bytes(self) -> u64 {
        match self {
            Self::Ufs1 => 4,
            Self::Ufs2 => 8,
        }
    }

    /// Magic number of the format.
    pub(crate) fn magic(self) -> u64 {
        match self {
            Self::Ufs1 => 0x0001_1954,
            Self::Ufs2 => 0x1954_0119,
        }
    }
}

impl MakeOptions {
    /// Defaults of newfs on FreeBSD: for UFS1 those of its time, for UFS2 those since FreeBSD 9.
    pub fn new(version: Version) -> Self {
        Self {
            version,
            block: None,
            fragment: None,
            density: None,
            group_blocks: None,
            minfree: 8,
            for_space: false,
            file_size: 16_384,
            directory_files: 64,
            label: String::new(),
            time: 0,
            id: 0,
        }
    }

    fn check(&self) -> Result<(u64, u64, u64), GeometryError> {
        let default = match self.version {
            Version::Ufs1 => 16_384,
            Version::Ufs2 => 32_768,
        };
        // A fragment size alone determines the block size: eight times as much.
        let by_fragment = self.fragment.map(|f| f.saturating_mul(8));
        let fits = by_fragment.filter(|b| (SMALLEST_BLOCK..=LARGEST_BLOCK).contains(b));
        let block = self.block.or(fits).unwrap_or(default);
        if !block.is_power_of_two() || !(SMALLEST_BLOCK..=LARGEST_BLOCK).contains(&block) {
            return Err(GeometryError::Block(block));
        }
        let fragment = self.fragment.unwrap_or(block / 8);
        let parts = block.checked_div(fragment).unwrap_or(0);
        if !fragment.is_power_of_two() || fragment < SECTOR || !matches!(parts, 1 | 2 | 4 | 8) {
            return Err(GeometryError::Fragment { fragment, block });
        }
        let density = self.density.unwrap_or(4 * fragment);
        if density == 0 {
            return Err(GeometryError::Density);
        }
        if self.minfree > 99 {
            return Err(GeometryError::Minfree(self.minfree));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if self.label.len() > 31 || !self.label.chars().all(plain) {
            return Err(GeometryError::Label(self.label.clone()));
        }
        let countable = 1..=i32::MAX as u64;
        if !countable.contains(&self.file_size) || !countable.contains(&self.directory_files) {
            return Err(GeometryError::Expectation {
                file_size: self.file_size,
                directory_files: self.directory_files,
            });
        }
        Ok((block, fragment, density))
    }
}

impl Geometry {
    /// Computes the geometry for this size in bytes.
    pub fn of(options: &MakeOptions, bytes: u64) -> Result<Self, GeometryError> {
        let (block, fragment, density) = options.check()?;
        let size = bytes / fragment;
        let mut geometry = Self {
            version: options.version,
            block,
            fragment,
            size,
            group: 0,
            groups: 1,
            group_inodes: 0,
            cluster: (TRANSFER / block).clamp(1, MAX_CLUSTER),
        };
        // Above this limit all densities give one block of inodes per group.
        let for_inode = (density / fragment).clamp(1, MIN_DENSE);
        let most = match options.version {
            Version::Ufs1 => i32::MAX as u64,
            // Limit of the kernels' 64-bit arithmetic in sectors, with a safety margin.
            Version::Ufs2 => 1 << 48,
        };
        if size > most {
            return Err(GeometryError::TooLarge { bytes, fragment });
        }
        let parts = geometry.parts();
        geometry.group_inodes = geometry.block_inodes();
        // The size of a single group is not known yet, but this is its minimum.
        let smallest = geometry.smallest();
        if size < smallest {
            return Err(GeometryError::TooSmall {
                bytes,
                smallest: smallest * fragment,
                block,
            });
        }
        // A single block of inodes must not exceed the requested density.
        let least = (for_inode * geometry.block_inodes()).next_multiple_of(parts);
        let largest = geometry.largest_group(for_inode);
        let fair = size.div_ceil(WANTED_GROUPS).next_multiple_of(parts);
        let mut group = fair.max(least).min(largest);
        if let Some(blocks) = options.group_blocks {
            group = blocks.max(1).saturating_mul(parts).min(largest);
            geometry.divide(group, for_inode);
            let smallest = geometry.least_in_group().div_ceil(parts);
            if blocks < smallest {
                return Err(GeometryError::Groups { blocks, smallest });
            }
        }
        geometry.divide(group.min(size.next_multiple_of(parts)), for_inode);
        geometry.fit_last_group(for_inode);
        if geometry.groups > MAX_GROUPS {
            return Err(GeometryError::TooLarge { bytes, fragment });
        }
        let smallest = geometry.smallest();
        if geometry.size.min(geometry.group) < smallest {
            return Err(GeometryError::TooSmall {
                bytes,
                smallest: smallest * fragment,
                block,
            });
        }
        Ok(geometry)
    }

    /// Sets the group size and its derived values.
    fn divide(&mut self, group: u64, for_inode: u64) {
        self.group = group;
        self.groups = self.size.div_ceil(group).max(1);
        self.group_inodes = group
            .div_ceil(for_inode)
            .next_multiple_of(self.block_inodes());
    }

    /// Maximum group size whose descriptor fits in a block.
    fn largest_group(&self, for_inode: u64) -> u64 {
        let mut probe = self.clone();
        // A descriptor has a bit per fragment, so that this limit exceeds any block.
        let (mut fits, mut too_many) = (1, self.block * 8 / self.parts() + 1);
        while too_many - fits > 1 {
            let blocks = u64::midpoint(fits, too_many);
            probe.divide(blocks * self.parts(), for_inode);
            let countable = self.version == Version::Ufs2 || probe.group_inodes <= MAX_OLD_INODES;
            if countable && probe.descriptor_bytes() <= self.block {
                fits = blocks;
            } else {
                too_many = blocks;
            }
        }
        fits * self.parts()
    }

    /// Reduces the group size until the last group has space for data. If that costs the other
    /// groups too much, drops the last group.
    fn fit_last_group(&mut self, for_inode: u64) {
        let wanted = self.clone();
        let viable = |g: &Self| {
            g.groups == 1
                || g.size.is_multiple_of(g.group)
                || g.size % g.group >= g.least_in_group()
        };
        let bound = (wanted.group - wanted.group / 4).max(self.parts());
        while !viable(self) && self.group > bound {
            let smaller = self.group - self.parts();
            self.divide(smaller, for_inode);
        }
        if !viable(self) {
            *self = wanted;
            self.size -= self.size % self.group;
            self.groups -= 1;
        }
    }

    /// Minimum size of a group: its tables and one block.
    fn least_in_group(&self) -> u64 {
        self.data_at() + self.parts()
    }

    /// Minimum size of the first group, with the summary and the root directory.
    fn smallest(&self) -> u64 {
        self.data_at() + self.summary() + 2 * self.parts()
    }

    /// Fragments per block.
    pub fn parts(&self) -> u64 {
        self.block / self.fragment
    }

    /// Bytes of its block that the descriptor of a group occupies. BSD kernels expect slightly more
    /// than the maps, because they count from the end of the padded C structure.
    pub(crate) fn descriptor_bytes(&self) -> u64 {
        const PADDED: u64 = 176;
        let old = match self.version {
            Version::Ufs1 => 6,
            Version::Ufs2 => 0,
        };
        let maps = self.group_inodes.div_ceil(8) + self.group.div_ceil(8);
        let clusters = (self.group / self.parts()).div_ceil(8);
        let all = PADDED + old + maps + 4 + self.cluster * 4 + clusters;
        all.next_multiple_of(self.fragment)
    }

    pub fn block_inodes(&self) -> u64 {
        self.block / self.version.inode_bytes()
    }

    pub fn fragment_inodes(&self) -> u64 {
        self.fragment / self.version.inode_bytes()
    }

    /// Offset of the superblock copy in a group.
    pub fn copy_at(&self) -> u64 {
        let end = self.version.superblock_at() + SUPERBLOCK_ROOM;
        end.div_ceil(self.fragment).next_multiple_of(self.parts())
    }

    /// Offset of the descriptor in a group.
    pub fn descriptor_at(&self) -> u64 {
        let copy = SUPERBLOCK_ROOM.div_ceil(self.fragment);
        self.copy_at() + copy.next_multiple_of(self.parts())
    }

    /// Offset of the inode table in a group.
    pub fn inodes_at(&self) -> u64 {
        self.descriptor_at() + self.parts()
    }

    /// End of the inode table in a group.
    pub fn data_at(&self) -> u64 {
        self.inodes_at() + self.group_inodes / self.fragment_inodes()
    }

    /// Start of group `number`.
    pub fn base(&self, number: u64) -> u64 {
        number * self.group
    }

    /// Size of group `number`.
    pub fn in_group(&self, number: u64) -> u64 {
        self.group.min(self.size - self.base(number))
    }

    pub fn summary(&self) -> u64 {
        (self.groups * SUMMARY_BYTES).div_ceil(self.fragment)
    }

    /// Space for files.
    pub fn for_data(&self) -> u64 {
        let tables = self.groups * (self.data_at() - self.copy_at());
        self.size - self.copy_at() - tables - self.summary()
    }

    /// Fragments of the group that `newfs` uses: all but the data area.
    pub fn is_table(&self, number: u64, fragment: u64) -> bool {
        if number == 0 {
            return fragment < self.data_at() + self.summary();
        }
        (self.copy_at()..self.data_at()).contains(&fragment)
    }
}
