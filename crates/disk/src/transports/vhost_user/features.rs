//! Feature bits and the configuration space of the block device.
//!
//! Sources: virtio specification 1.2, 5.2 (block devices) and 6 (feature bits); vhost-user
//! specification.

use super::wire::WireError;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_CONFIG_WCE, VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_FLUSH,
    VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_WRITE_ZEROES,
};
use virtio_bindings::virtio_config::VIRTIO_F_VERSION_1;
use virtio_bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

/// Protocol features (`VHOST_USER_F_PROTOCOL_FEATURES`).
const PROTOCOL_FEATURES: u32 = 30;

/// Replies to every message on request (`REPLY_ACK`).
pub const REPLY_ACK: u64 = 1 << 3;
/// A back channel from the disk to the guest (`BACKEND_REQ`).
pub const BACKEND_REQ: u64 = 1 << 5;
/// Reads of the configuration space (`CONFIG`).
pub const CONFIG: u64 = 1 << 9;
/// Kicks and calls as messages (`INBAND_NOTIFICATIONS`).
pub const INBAND_NOTIFICATIONS: u64 = 1 << 14;

/// Segments of a request: the smallest relevant ring without header and status.
const SEGMENTS: u32 = 126;

/// Bytes of a segment in virtual time: one page. The position of pages in guest memory depends on
/// the history of its programs. Adjacent pages would merge into one segment and give a longer
/// request.
const SEGMENT: u32 = 4096;

const DISCARD_SECTORS: u32 = 1 << 22;

/// Readable bytes of the configuration space. Bytes beyond the known fields are zero.
const SPACE: usize = 256;

/// Offset of the write-cache byte, the only writable one.
const CACHE_AT: usize = 32;

/// The properties of a disk that the guest sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offer {
    /// Capacity in sectors of 512 bytes.
    pub sectors: u64,
    /// Whether it has a volatile cache. Without one, acknowledged writes are on the medium.
    pub cache: bool,
    /// Whether it supports discard.
    pub discards: bool,
    /// Whether kicks and calls must be acknowledged messages, as in virtual time.
    pub in_band: bool,
}

impl Offer {
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

    pub fn protocol(self) -> u64 {
        // Without this channel, User-mode Linux has no interrupt for its ring, even if it does not
        // use the channel.
        let always = REPLY_ACK | CONFIG | BACKEND_REQ;
        always
            | if self.in_band {
                INBAND_NOTIFICATIONS
            } else {
                0
            }
    }

    /// Whether the accepted features are a subset of the offered ones.
    pub fn allows(self, accepted: u64) -> bool {
        accepted & !self.features() == 0
    }

    /// Reads a part of the configuration space.
    pub fn space(self, offset: u32, length: u32, cache: bool) -> Option<Vec<u8>> {
        let mut space = [0; SPACE];
        let mut put = |at: usize, bytes: &[u8]| space[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &self.sectors.to_le_bytes());
        if self.in_band {
            put(8, &SEGMENT.to_le_bytes());
        }
        put(12, &SEGMENTS.to_le_bytes());
        put(20, &512_u32.to_le_bytes());
        put(CACHE_AT, &[u8::from(cache)]);
        put(34, &1_u16.to_le_bytes()); // queues
        if self.discards {
            for at in [36, 48] {
                put(at, &DISCARD_SECTORS.to_le_bytes());
                put(at + 4, &1_u32.to_le_bytes()); // discard segments
            }
            put(44, &1_u32.to_le_bytes()); // discard alignment
            put(56, &[1]); // write-zeroes may unmap
        }
        let begin = offset as usize;
        let end = begin.checked_add(length as usize)?;
        space.get(begin..end).map(<[u8]>::to_vec)
    }
}

/// Parses a write to the configuration space: the new state of the write cache.
pub fn requested_write_cache(payload: &[u8], number: u32) -> Result<bool, WireError> {
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

/// Whether the guest uses event indices for notifications (`EVENT_IDX`).
pub fn has_event_index(features: u64) -> bool {
    features & 1 << VIRTIO_RING_F_EVENT_IDX != 0
}

/// Whether a ring needs an enable message before it is served.
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
    fn configuration_space_describes_the_disk_and_is_zero_beyond() {
        let space = OFFER.space(0, 60, true).unwrap();
        assert_eq!(space[..8], 0x0123_4567_u64.to_le_bytes());
        assert_eq!(space[CACHE_AT], 1);
        assert_eq!(OFFER.space(4, 4, true).unwrap(), space[4..8]);
        assert!(OFFER.space(250, 7, true).is_none());
        assert!(OFFER.space(u32::MAX, u32::MAX, true).is_none());
    }

    #[test]
    fn only_capable_disks_offer_discard_and_flush() {
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
        // In virtual time the size of a request must not depend on page addresses.
        let virtual_offer = Offer {
            in_band: true,
            ..OFFER
        };
        let more = OFFER.features() ^ virtual_offer.features();
        assert_eq!(more, 1 << VIRTIO_BLK_F_SIZE_MAX);
        assert_eq!(
            virtual_offer.space(8, 4, true).unwrap(),
            SEGMENT.to_le_bytes()
        );
        let through = Offer {
            cache: false,
            ..OFFER
        };
        let more = OFFER.features() ^ through.features();
        assert_eq!(more, 1 << VIRTIO_BLK_F_FLUSH | 1 << VIRTIO_BLK_F_CONFIG_WCE);
    }
}
