//! Maps the guest's memory files and checks addresses before each access.

use super::wire::{Message, WireError};
use std::fs::File;
use std::io;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap, GuestRegionMmap, MmapRegion};

/// Maximum number of memory regions.
const MAX_REGIONS: usize = 8;

/// Bytes of a region in the message: guest address, size, user address, file offset.
const REGION: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// The message has the wrong size.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Too many regions, or a different number of descriptors.
    #[error(
        "a memory table of {regions} regions with {descriptors} descriptors; {MAX_REGIONS} at most, one descriptor each"
    )]
    Count { regions: usize, descriptors: usize },
    /// A region that cannot be mapped.
    #[error("cannot map the region of {size:#x} bytes at guest address {guest:#x}: {source}")]
    Map {
        guest: u64,
        size: u64,
        source: io::Error,
    },
    /// Regions overlap or exceed the address space.
    #[error("the regions of the guest's memory overlap, or lead beyond the end of addresses")]
    Overlap,
}

/// A region in the peer's address space.
#[derive(Debug, Clone, Copy)]
struct PeerRegion {
    user: u64,
    guest: u64,
    size: u64,
}

#[derive(Debug)]
pub struct Memory {
    /// Regions by guest address.
    pub mapped: GuestMemoryMmap<()>,
    seen: Vec<PeerRegion>,
}

impl Memory {
    /// Maps the regions of a memory table message.
    pub fn map(message: Message) -> Result<Self, MemoryError> {
        let regions = message.u32_at(0)? as usize;
        let descriptors = message.descriptors.len();
        if regions == 0 || regions > MAX_REGIONS || descriptors != regions {
            return Err(MemoryError::Count {
                regions,
                descriptors,
            });
        }
        let mut seen = Vec::new();
        let mut offsets = Vec::new();
        for region in 0..regions {
            let at = 8 + region * REGION;
            let (guest, size) = (message.u64_at(at)?, message.u64_at(at + 8)?);
            let (user, offset) = (message.u64_at(at + 16)?, message.u64_at(at + 24)?);
            if user.checked_add(size).is_none() {
                return Err(MemoryError::Overlap);
            }
            seen.push(PeerRegion { user, guest, size });
            offsets.push(offset);
        }
        let mut mapped = Vec::new();
        for ((one, offset), descriptor) in seen.iter().zip(offsets).zip(message.descriptors) {
            let region = region(one, offset, File::from(descriptor));
            let region = region.map_err(|source| MemoryError::Map {
                guest: one.guest,
                size: one.size,
                source,
            })?;
            let region = GuestRegionMmap::new(region, GuestAddress(one.guest));
            mapped.push(region.ok_or(MemoryError::Overlap)?);
        }
        mapped.sort_by_key(|region| vm_memory::GuestMemoryRegion::start_addr(region).0);
        let mapped = GuestMemoryMmap::from_regions(mapped).map_err(|_| MemoryError::Overlap)?;
        Ok(Self { mapped, seen })
    }

    /// Converts an address of the peer into a guest address.
    pub fn guest_address(&self, user: u64) -> Option<GuestAddress> {
        let of = |seen: &PeerRegion| {
            let within = user.checked_sub(seen.user)?;
            (within < seen.size).then(|| GuestAddress(seen.guest + within))
        };
        self.seen.iter().find_map(of)
    }
}

/// Maps a region. A mapping beyond the end of its file would raise SIGBUS on access, so this is an
/// error.
fn region(of: &PeerRegion, offset: u64, file: File) -> io::Result<MmapRegion<()>> {
    let beyond = || io::Error::other("it leads beyond the end of its file");
    let end = offset.checked_add(of.size).ok_or_else(beyond)?;
    if end > file.metadata()?.len() {
        return Err(beyond());
    }
    let size = usize::try_from(of.size).map_err(|_| beyond())?;
    let mapped = MmapRegion::from_file(FileOffset::new(file, offset), size);
    mapped.map_err(|error| io::Error::other(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use std::os::fd::OwnedFd;

    impl Memory {
        /// Memory of this size at guest address 0.
        pub fn of_bytes(bytes: u64) -> Self {
            Self::map(table(&[[0, bytes, 0x7000, 0]], &[bytes])).unwrap()
        }
    }

    /// A memory table message with these regions (guest address, size, user address, offset) and
    /// files of these lengths.
    fn table(regions: &[[u64; 4]], files: &[u64]) -> Message {
        let mut payload = vec![u8::try_from(regions.len()).unwrap(), 0, 0, 0, 0, 0, 0, 0];
        payload.extend(regions.iter().flatten().flat_map(|n| n.to_ne_bytes()));
        let file = |bytes: &u64| -> OwnedFd {
            let file = memfd_create("memory", MemfdFlags::CLOEXEC).unwrap();
            ftruncate(&file, *bytes).unwrap();
            file
        };
        Message {
            request: None,
            number: 5,
            need_reply: false,
            payload,
            descriptors: files.iter().map(file).collect(),
        }
    }

    #[test]
    fn only_mapped_peer_addresses_are_translated() {
        let regions = [[0x10_0000, 0x2000, 0x7000, 0x1000], [0, 0x1000, 0xf000, 0]];
        let memory = Memory::map(table(&regions, &[0x3000, 0x1000])).unwrap();
        let found = |user| memory.guest_address(user).map(|at| at.0);
        assert_eq!(found(0x7000), Some(0x10_0000));
        assert_eq!(found(0x8fff), Some(0x10_1fff));
        assert_eq!(found(0xf010), Some(0x10));
        assert!(
            [0, 0x6fff, 0x9000, 0x1_0000, u64::MAX]
                .map(found)
                .iter()
                .all(Option::is_none)
        );
    }

    #[test]
    fn regions_that_overlap_or_exceed_their_file_are_rejected() {
        let refused =
            |regions: &[[u64; 4]], files: &[u64]| Memory::map(table(regions, files)).unwrap_err();
        let beyond = refused(&[[0, 0x2000, 0x7000, 0x1000]], &[0x2000]);
        assert!(matches!(beyond, MemoryError::Map { .. }), "{beyond}");
        let much = refused(&[[0, u64::MAX - 0x1000, 0, 0]], &[0x1000]);
        assert!(matches!(much, MemoryError::Map { .. }), "{much}");
        let over = refused(
            &[[0, 0x2000, 0, 0], [0x1000, 0x1000, 0x9000, 0]],
            &[0x2000, 0x1000],
        );
        assert!(matches!(over, MemoryError::Overlap), "{over}");
        let user = refused(&[[0, 0x1000, u64::MAX, 0]], &[0x1000]);
        assert!(matches!(user, MemoryError::Overlap), "{user}");
        assert!(matches!(refused(&[], &[]), MemoryError::Count { .. }));
        assert!(matches!(refused(&[[0; 4]], &[]), MemoryError::Count { .. }));
    }
}
