//! What is offered to a guest: feature bits, and the configuration space of a block device.
//!
//! After the virtio specification 1.2, 5.2 (block devices) and 6 (feature bits), and the
//! vhost-user specification.

use super::wire::WireError;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_CONFIG_WCE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH,
    VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_WRITE_ZEROES,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

/// The protocol has features of its own.
const PROTOCOL_FEATURES: u32 = 30;

/// Acknowledgements of whatever is asked for.
pub const REPLY_ACK: u64 = 1 << 3;
/// A channel of the disk's own to the front end.
pub const BACKEND_REQ: u64 = 1 << 5;
/// The configuration space is asked for.
pub const CONFIG: u64 = 1 << 9;
/// Kicks and calls are messages.
pub const INBAND_NOTIFICATIONS: u64 = 1 << 14;

/// Segments of a request: those of the smallest ring that matters, less head and answer.
const SEGMENTS: u32 = 126;

/// Bytes of a segment in virtual time: a page. Where pages happen to lie side by side in the memory of
/// a guest, it would make one segment of them, and so a longer request; and where they lie depends
/// on whatever its programs did before.
const SEGMENT: u32 = 4096;

/// Sectors that one discard may name.
const DISCARD_SECTORS: u32 = 1 << 22;

/// Bytes of the space that may be asked for; what lies beyond what we know is zeros.
const SPACE: usize = 256;

/// Where the byte lies that says whether the cache is used: the only one that may be written.
const CACHE_AT: usize = 32;

/// What a disk is to its guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Whether it has a cache to be flushed: without, what it has acknowledged is on the medium.
    pub cache: bool,
    /// Whether it knows discards.
    pub discards: bool,
    /// Whether kicks and calls have to be messages that are answered: in virtual time.
    pub in_band: bool,
}

impl Offer {
    /// The features of the device.
    pub fn features(self) -> u64 {
        let mut bits = vec![
            PROTOCOL_FEATURES,
            VIRTIO_F_VERSION_1,
            VIRTIO_RING_F_INDIRECT_DESC,
            VIRTIO_RING_F_EVENT_IDX,
            VIRTIO_BLK_F_SEG_MAX,
            VIRTIO_BLK_F_BLK_SIZE,
        ];
        if self.in_band {
            bits.push(VIRTIO_BLK_F_SIZE_MAX);
        }
        if self.cache {
            bits.extend([VIRTIO_BLK_F_FLUSH, VIRTIO_BLK_F_CONFIG_WCE]);
        }
        if self.discards {
            bits.extend([VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_WRITE_ZEROES]);
        }
        bits.into_iter()
            .fold(0, |features, bit| features | 1 << bit)
    }

    /// The features of the protocol.
    pub fn protocol(self) -> u64 {
        // User-mode Linux has no interrupt for its ring without that channel, used or not.
        let always = REPLY_ACK | CONFIG | BACKEND_REQ;
        always
            | if self.in_band {
                INBAND_NOTIFICATIONS
            } else {
                0
            }
    }

    /// Whether those accepted lie within what is offered.
    pub fn allows(self, accepted: u64) -> bool {
        accepted & !self.features() == 0
    }

    /// A part of the configuration space.
    pub fn space(self, offset: u32, length: u32, cache: bool) -> Option<Vec<u8>> {
        let mut space = [0; SPACE];
        let mut lay = |at: usize, bytes: &[u8]| space[at..at + bytes.len()].copy_from_slice(bytes);
        lay(0, &self.sectors.to_le_bytes());
        if self.in_band {
            lay(8, &SEGMENT.to_le_bytes());
        }
        lay(12, &SEGMENTS.to_le_bytes());
        lay(20, &512_u32.to_le_bytes());
        lay(CACHE_AT, &[u8::from(cache)]);
        lay(34, &1_u16.to_le_bytes()); // rings
        if self.discards {
            for at in [36, 48] {
                lay(at, &DISCARD_SECTORS.to_le_bytes());
                lay(at + 4, &1_u32.to_le_bytes()); // extents of one discard
            }
            lay(44, &1_u32.to_le_bytes()); // alignment
            lay(56, &[1]); // zeros may be unmapped
        }
        let begin = offset as usize;
        let end = begin.checked_add(length as usize)?;
        space.get(begin..end).map(<[u8]>::to_vec)
    }
}

/// What a guest writes into the space: whether the cache is to be used.
pub fn cache_wish(payload: &[u8], number: u32) -> Result<bool, WireError> {
    let offset = payload.get(..4).and_then(|four| four.try_into().ok());
    let offset = offset.map(u32::from_ne_bytes);
    match (offset, payload.get(12)) {
        (Some(at), Some(byte)) if at as usize == CACHE_AT => Ok(*byte != 0),
        _ => Err(WireError::Short {
            number,
            length: payload.len(),
        }),
    }
}

/// Whether the guest tells by indices when it wants to be told.
pub fn has_event_index(features: u64) -> bool {
    features & 1 << VIRTIO_RING_F_EVENT_IDX != 0
}

/// Whether a ring has to be enabled before it is served.
pub fn has_protocol(features: u64) -> bool {
    features & 1 << PROTOCOL_FEATURES != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFER: Offer = Offer {
        sectors: 0x0123_4567,
        cache: true,
        discards: true,
        in_band: false,
    };

    #[test]
    fn the_space_tells_the_disk_and_ends_where_it_ends() {
        let space = OFFER.space(0, 60, true).unwrap();
        assert_eq!(space[..8], 0x0123_4567_u64.to_le_bytes());
        assert_eq!(space[CACHE_AT], 1);
        assert_eq!(OFFER.space(4, 4, true).unwrap(), space[4..8]);
        assert!(OFFER.space(250, 7, true).is_none());
        assert!(OFFER.space(u32::MAX, u32::MAX, true).is_none());
    }

    #[test]
    fn discards_and_flushes_are_offered_by_disks_that_know_them() {
        let without = Offer {
            discards: false,
            ..OFFER
        };
        let more = OFFER.features() ^ without.features();
        assert_eq!(
            more,
            1 << VIRTIO_BLK_F_DISCARD | 1 << VIRTIO_BLK_F_WRITE_ZEROES
        );
        assert!(OFFER.allows(without.features()) && !without.allows(OFFER.features()));
        assert_eq!(without.space(36, 24, true).unwrap(), [0; 24]);
        // In virtual time, what a request is does not depend on where pages lie in memory.
        let virtually = Offer {
            in_band: true,
            ..OFFER
        };
        let more = OFFER.features() ^ virtually.features();
        assert_eq!(more, 1 << VIRTIO_BLK_F_SIZE_MAX);
        assert_eq!(virtually.space(8, 4, true).unwrap(), SEGMENT.to_le_bytes());
        let through = Offer {
            cache: false,
            ..OFFER
        };
        let more = OFFER.features() ^ through.features();
        assert_eq!(more, 1 << VIRTIO_BLK_F_FLUSH | 1 << VIRTIO_BLK_F_CONFIG_WCE);
    }
}
