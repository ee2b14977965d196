//! How a file system of some size is divided: sizes of blocks and fragments, groups, inodes a group.
//! Nothing is written here.

use crate::group;

/// The sizes of all blocks below which no UFS is made (MINBSIZE).
const SMALLEST_BLOCK: u64 = 4096;
/// The largest (MAXBSIZE).
const LARGEST_BLOCK: u64 = 65_536;
/// The unit of disks.
pub(crate) const SECTOR: u64 = 512;
/// The room that each superblock has.
pub(crate) const SUPERBLOCK_ROOM: u64 = 8192;
/// The bytes of a superblock that mean something.
pub(crate) const SUPERBLOCK_BYTES: u64 = 1376;
/// The entry of a group in the summary of all groups, bytes.
pub(crate) const SUMMARY_BYTES: u64 = 16;
/// What a transfer of the disk takes at most, where clusters are planned.
const TRANSFER: u64 = 128 << 10;
/// The longest cluster that is counted.
const LONGEST_CLUSTER: u64 = 16;
/// In so many groups a disk is divided where they do not get too small by it, so that there is more
/// than one place to put a directory.
const WANTED_GROUPS: u64 = 4;
/// UFS1 counts the inodes of a group in 16 bits, with a sign.
const MOST_INODES_OF_OLD: u64 = 0x7fff;

/// The summary of all groups is counted in 32 bits, with a sign.
const MOST_GROUPS: u64 = i32::MAX as u64 / SUMMARY_BYTES;
/// Fragments for one inode: more than any group has.
const LEAST_DENSE: u64 = 1 << 32;

/// The two formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// Block numbers of 32 bits (4.2BSD, 1983; this form 4.4BSD, 1993).
    Ufs1,
    /// Block numbers of 64 bits, extended attributes (FreeBSD 5, 2003).
    Ufs2,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The format.
    pub version: Version,
    /// Bytes of a block; none for the default of the format.
    pub block: Option<u64>,
    /// Bytes of a fragment; none for an eighth of a block.
    pub fragment: Option<u64>,
    /// An inode for so many bytes of space; none for one in four fragments.
    pub density: Option<u64>,
    /// The most blocks of a group; none for as many as its descriptor can hold.
    pub group_blocks: Option<u64>,
    /// How much of the space ordinary users may not take, percent.
    pub minfree: u64,
    /// Whether space is preferred to time when files grow.
    pub for_space: bool,
    /// The expected size of files, bytes.
    pub file_size: u64,
    /// The expected number of files in a directory.
    pub directory_files: u64,
    /// The name of the volume.
    pub label: String,
    /// Now, in seconds since 1970.
    pub time: u64,
    /// What tells it from others made in the same second.
    pub id: u32,
}

/// How a file system is divided. Sizes without a unit are in fragments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Geometry {
    /// The format.
    pub version: Version,
    /// Bytes of a block.
    pub block: u64,
    /// Bytes of a fragment.
    pub fragment: u64,
    /// All of it.
    pub size: u64,
    /// A group (the last may be shorter).
    pub group: u64,
    /// How many groups there are.
    pub groups: u64,
    /// Inodes of a group.
    pub group_inodes: u64,
    /// Blocks that one transfer takes: the longest run of free blocks that is counted by itself.
    pub cluster: u64,
}

/// Why nothing can be made of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GeometryError {
    /// A block of no possible size.
    #[error("blocks of {0} bytes: a power of two from 4096 to 65536 is possible (-b)")]
    Block(u64),
    /// A fragment of no possible size.
    #[error(
        "fragments of {fragment} bytes in blocks of {block}: a half, quarter or eighth of a block, or \
         a whole one, and at least 512 bytes are possible (-f)"
    )]
    Fragment {
        /// Bytes of a fragment.
        fragment: u64,
        /// Bytes of a block.
        block: u64,
    },
    /// A density of none.
    #[error("an inode for every 0 bytes: at least 1 is possible (-i)")]
    Density,
    /// A reserve that leaves nothing.
    #[error("a reserve of {0} %: 0 to 99 are possible (-m)")]
    Minfree(u64),
    /// A name that does not fit.
    #[error("the label `{0}`: at most 31 letters, digits, `-` and `_` are possible (-L)")]
    Label(String),
    /// An expectation of nothing, or one that the superblock has no room for.
    #[error(
        "files of {file_size} bytes, {directory_files} in a directory: both are numbers from 1 to \
         2147483647 (-g, -h)"
    )]
    Expectation {
        /// Bytes of a file.
        file_size: u64,
        /// Files of a directory.
        directory_files: u64,
    },
    /// Groups without room for data.
    #[error("groups of {blocks} blocks: {smallest} is the least that holds data (-c)")]
    Groups {
        /// What was asked.
        blocks: u64,
        /// The least.
        smallest: u64,
    },
    /// There is no room for anything.
    #[error(
        "{bytes} bytes are too few: {smallest} are the least for blocks of {block} bytes; \
         take a larger device, or smaller blocks (-b)"
    )]
    TooSmall {
        /// What there is.
        bytes: u64,
        /// What is needed.
        smallest: u64,
        /// Bytes of a block.
        block: u64,
    },
    /// Numbers of this format do not reach so far.
    #[error(
        "{bytes} bytes are too many for fragments of {fragment} bytes; take larger ones (-f), larger \
         groups (-c), or UFS2 (-O 2)"
    )]
    TooLarge {
        /// What there is.
        bytes: u64,
        /// Bytes of a fragment.
        fragment: u64,
    },
}

impl Version {
    /// Where the superblock lies, bytes.
    pub(crate) fn superblock_at(self) -> u64 {
        match self {
            Self::Ufs1 => 8192,
            Self::Ufs2 => 65_536,
        }
    }

    /// The bytes of an inode.
    pub(crate) fn inode_bytes(self) -> u64 {
        match self {
            Self::Ufs1 => 128,
            Self::Ufs2 => 256,
        }
    }

    /// The bytes of the number of a block.
    pub(crate) fn pointer_bytes(self) -> u64 {
        match self {
            Self::Ufs1 => 4,
            Self::Ufs2 => 8,
        }
    }

    /// The number that tells the format.
    pub(crate) fn magic(self) -> u64 {
        match self {
            Self::Ufs1 => 0x0001_1954,
            Self::Ufs2 => 0x1954_0119,
        }
    }
}

impl Wish {
    /// The defaults of newfs on FreeBSD: for UFS1 those of its time, for UFS2 those since FreeBSD 9.
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
        // A fragment alone tells the block, as an eighth of it.
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
    /// Divides so many bytes.
    pub fn of(wish: &Wish, bytes: u64) -> Result<Self, GeometryError> {
        let (block, fragment, density) = wish.check()?;
        let size = bytes / fragment;
        let mut geometry = Self {
            version: wish.version,
            block,
            fragment,
            size,
            group: 0,
            groups: 1,
            group_inodes: 0,
            cluster: (TRANSFER / block).clamp(1, LONGEST_CLUSTER),
        };
        // Above the bound all densities mean one block of inodes for a group.
        let for_inode = (density / fragment).clamp(1, LEAST_DENSE);
        let most = match wish.version {
            Version::Ufs1 => i32::MAX as u64,
            // What the kernels' arithmetic in sectors of 64 bits holds, with room to spare.
            Version::Ufs2 => 1 << 48,
        };
        if size > most {
            return Err(GeometryError::TooLarge { bytes, fragment });
        }
        let parts = geometry.parts();
        geometry.group_inodes = geometry.block_inodes();
        // The size of the only group is not known yet, but none is smaller.
        let smallest = geometry.smallest();
        if size < smallest {
            return Err(GeometryError::TooSmall {
                bytes,
                smallest: smallest * fragment,
                block,
            });
        }
        // A block of inodes should not be more than the density asks.
        let least = (for_inode * geometry.block_inodes()).next_multiple_of(parts);
        let largest = geometry.largest_group(for_inode);
        let fair = size.div_ceil(WANTED_GROUPS).next_multiple_of(parts);
        let mut group = fair.max(least).min(largest);
        if let Some(blocks) = wish.group_blocks {
            group = blocks.max(1).saturating_mul(parts).min(largest);
            geometry.divide(group, for_inode);
            let smallest = geometry.least_in_group().div_ceil(parts);
            if blocks < smallest {
                return Err(GeometryError::Groups { blocks, smallest });
            }
        }
        geometry.divide(group.min(size.next_multiple_of(parts)), for_inode);
        geometry.mind_the_last(for_inode);
        if geometry.groups > MOST_GROUPS {
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

    /// Sets the size of groups, and what follows from it.
    fn divide(&mut self, group: u64, for_inode: u64) {
        self.group = group;
        self.groups = self.size.div_ceil(group).max(1);
        self.group_inodes = group
            .div_ceil(for_inode)
            .next_multiple_of(self.block_inodes());
    }

    /// The largest group whose descriptor fits a block.
    fn largest_group(&self, for_inode: u64) -> u64 {
        let mut probe = self.clone();
        // A descriptor has a bit for each fragment, so that this is more than any block holds.
        let (mut fits, mut too_many) = (1, self.block * 8 / self.parts() + 1);
        while too_many - fits > 1 {
            let blocks = u64::midpoint(fits, too_many);
            probe.divide(blocks * self.parts(), for_inode);
            let countable =
                self.version == Version::Ufs2 || probe.group_inodes <= MOST_INODES_OF_OLD;
            if countable && group::bytes(&probe) <= self.block {
                fits = blocks;
            } else {
                too_many = blocks;
            }
        }
        fits * self.parts()
    }

    /// Makes groups smaller until the last one has room for data; where that takes too much of all
    /// the others, the last one is given up.
    fn mind_the_last(&mut self, for_inode: u64) {
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

    /// The least that a group must have: its own tables, and a block.
    fn least_in_group(&self) -> u64 {
        self.data_at() + self.parts()
    }

    /// The least that the first group must have: also the summary of all groups, and the root
    /// directory.
    fn smallest(&self) -> u64 {
        self.data_at() + self.summary() + 2 * self.parts()
    }

    /// Fragments of a block.
    pub fn parts(&self) -> u64 {
        self.block / self.fragment
    }

    /// Inodes of a block.
    pub fn block_inodes(&self) -> u64 {
        self.block / self.version.inode_bytes()
    }

    /// Inodes of a fragment.
    pub fn fragment_inodes(&self) -> u64 {
        self.fragment / self.version.inode_bytes()
    }

    /// Where in a group the copy of the superblock lies.
    pub fn copy_at(&self) -> u64 {
        let behind = self.version.superblock_at() + SUPERBLOCK_ROOM;
        behind
            .div_ceil(self.fragment)
            .next_multiple_of(self.parts())
    }

    /// Where in a group its descriptor lies.
    pub fn descriptor_at(&self) -> u64 {
        let copy = SUPERBLOCK_ROOM.div_ceil(self.fragment);
        self.copy_at() + copy.next_multiple_of(self.parts())
    }

    /// Where in a group its inodes lie.
    pub fn inodes_at(&self) -> u64 {
        self.descriptor_at() + self.parts()
    }

    /// Where in a group its inodes end.
    pub fn data_at(&self) -> u64 {
        self.inodes_at() + self.group_inodes / self.fragment_inodes()
    }

    /// Where group `number` begins.
    pub fn base(&self, number: u64) -> u64 {
        number * self.group
    }

    /// How much of group `number` there is.
    pub fn in_group(&self, number: u64) -> u64 {
        self.group.min(self.size - self.base(number))
    }

    /// The summary of all groups.
    pub fn summary(&self) -> u64 {
        (self.groups * SUMMARY_BYTES).div_ceil(self.fragment)
    }

    /// What can hold files.
    pub fn for_data(&self) -> u64 {
        let tables = self.groups * (self.data_at() - self.copy_at());
        self.size - self.copy_at() - tables - self.summary()
    }

    /// Which of the group's fragments were used when it was made: all but the data.
    pub fn is_table(&self, number: u64, fragment: u64) -> bool {
        if number == 0 {
            return fragment < self.data_at() + self.summary();
        }
        (self.copy_at()..self.data_at()).contains(&fragment)
    }
}
