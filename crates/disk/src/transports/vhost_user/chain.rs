//! Parses a virtio-blk request from a descriptor chain. The guest's data is untrusted. A chain
//! without a place for the status is an error of the ring. Every other request gets a status, at
//! worst an error.
//!
//! Source: virtio specification 1.2, 5.2.6 (requests of block devices) and 2.7 (split virtqueues).

use super::memory::Memory;
use crate::request::SECTOR;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD,
    VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
    VIRTIO_BLK_T_WRITE_ZEROES,
};
use virtio_queue::DescriptorChain;
use vm_memory::{Bytes, GuestAddress, GuestMemory, GuestMemoryMmap, Permissions};

/// Bytes of a request header: type, reserved, sector.
const HEADER: usize = 16;

/// Bytes of a discard segment: sector, number of sectors, flags.
const DISCARD_SEGMENT: usize = 16;

/// Bytes of the device identifier (`VIRTIO_BLK_T_GET_ID`).
pub const ID: usize = 20;

/// Maximum bytes of one request, above the limit of any kernel.
const MAX_REQUEST: usize = 32 << 20;

/// A chain without a complete header or without a writable status byte.
#[derive(Debug, thiserror::Error)]
#[error("a chain of descriptors {what}")]
pub struct BrokenChain {
    what: &'static str,
}

/// Status of a request for the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success (`VIRTIO_BLK_S_OK`).
    Done,
    /// I/O error (`VIRTIO_BLK_S_IOERR`).
    Failed,
    /// Unsupported request (`VIRTIO_BLK_S_UNSUPP`).
    Unknown,
}

impl Status {
    fn byte(self) -> u8 {
        let byte = match self {
            Self::Done => VIRTIO_BLK_S_OK,
            Self::Failed => VIRTIO_BLK_S_IOERR,
            Self::Unknown => VIRTIO_BLK_S_UNSUPP,
        };
        u8::try_from(byte).unwrap_or(u8::MAX)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reads sectors from this one on into the buffers.
    Read(u64),
    /// Writes the buffers to sectors from this one on.
    Write(u64),
    /// Flushes acknowledged writes to the medium.
    Flush,
    /// Returns the disk's identifier.
    Name,
    Discard {
        /// First sector.
        sector: u64,
        sectors: u64,
    },
    WriteZeroes {
        /// First sector.
        sector: u64,
        sectors: u64,
    },
    /// An invalid request, with the status to return.
    Refused(Status),
}

/// A segment of the guest's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    at: GuestAddress,
    length: usize,
}

/// A request with the places of its data and its status.
#[derive(Debug)]
pub struct Chain {
    /// Head index of the chain in the ring.
    pub head: u16,
    pub operation: Operation,
    data: Vec<Segment>,
    status: GuestAddress,
}

impl Chain {
    pub fn of(
        descriptors: DescriptorChain<&GuestMemoryMmap<()>>,
        memory: &Memory,
    ) -> Result<Self, BrokenChain> {
        let broken = |what| BrokenChain { what };
        let head = descriptors.head_index();
        let (mut readable, mut writable) = (Vec::new(), Vec::new());
        let mut ended = false;
        for descriptor in descriptors {
            let segment = Segment {
                at: descriptor.addr(),
                length: descriptor.len() as usize,
            };
            if descriptor.is_write_only() {
                writable.push(segment);
            } else if writable.is_empty() {
                readable.push(segment);
            } else {
                return Err(broken(
                    "has what is to be read behind what is to be written",
                ));
            }
            ended = !descriptor.has_next();
        }
        if !ended {
            return Err(broken("leads out of its table, or in a circle"));
        }
        let mapped = &memory.mapped;
        let mut bytes = [0; HEADER];
        gather(mapped, &readable, &mut bytes).ok_or(broken("has no whole head in memory"))?;
        skip(&mut readable, HEADER);
        let status = take_last(&mut writable).ok_or(broken("has no place for an answer"))?;
        if !mapped.check_range(status, 1, Permissions::Write) {
            return Err(broken("has its place for an answer outside of memory"));
        }
        let (operation, data) = operation(&bytes, readable, writable, mapped);
        Ok(Self {
            head,
            operation,
            data,
            status,
        })
    }

    /// Total bytes of the buffers.
    pub fn length(&self) -> usize {
        self.data.iter().map(|segment| segment.length).sum()
    }

    pub fn gather(&self, memory: &Memory, into: &mut [u8]) {
        // The constructor checked that the segments are in memory.
        let _ = gather(&memory.mapped, &self.data, into);
    }

    pub fn scatter(&self, memory: &Memory, bytes: &[u8]) {
        let mut rest = bytes;
        for segment in &self.data {
            let (part, after) = rest.split_at(segment.length.min(rest.len()));
            // The constructor checked that the segments are in memory.
            let _ = memory.mapped.write_slice(part, segment.at);
            rest = after;
        }
    }

    /// Writes the status. Returns the number of bytes written to guest memory.
    pub fn answer(&self, memory: &Memory, status: Status) -> u32 {
        // The constructor checked that the status byte is in memory.
        let _ = memory.mapped.write_slice(&[status.byte()], self.status);
        let moved = match self.operation {
            Operation::Read(_) | Operation::Name if status == Status::Done => self.length(),
            _ => 0,
        };
        u32::try_from(moved + 1).unwrap_or(u32::MAX)
    }
}

fn operation(
    head: &[u8; HEADER],
    readable: Vec<Segment>,
    writable: Vec<Segment>,
    mapped: &GuestMemoryMmap<()>,
) -> (Operation, Vec<Segment>) {
    let kind = number(head, 0, 4);
    let sector = number(head, 8, 8);
    // The width of the field in memory.
    let kind = u32::try_from(kind).unwrap_or(u32::MAX);
    let (operation, data, access) = match kind {
        VIRTIO_BLK_T_IN => (Operation::Read(sector), writable, Permissions::Write),
        VIRTIO_BLK_T_OUT => (Operation::Write(sector), readable, Permissions::Read),
        VIRTIO_BLK_T_FLUSH => return (Operation::Flush, Vec::new()),
        VIRTIO_BLK_T_GET_ID => (Operation::Name, writable, Permissions::Write),
        VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
            return (extent(kind, &readable, mapped), Vec::new());
        }
        _ => return (Operation::Refused(Status::Unknown), Vec::new()),
    };
    let length: usize = data.iter().map(|segment| segment.length).sum();
    let whole = match operation {
        Operation::Name => length == ID,
        _ => length > 0 && length.is_multiple_of(usize::try_from(SECTOR).unwrap_or(1)),
    };
    let inside = |segment: &Segment| mapped.check_range(segment.at, segment.length, access);
    if whole && length <= MAX_REQUEST && data.iter().all(inside) {
        (operation, data)
    } else {
        (Operation::Refused(Status::Failed), Vec::new())
    }
}

/// The extent of a discard: one segment, as the configuration space declares.
fn extent(kind: u32, readable: &[Segment], mapped: &GuestMemoryMmap<()>) -> Operation {
    let length: usize = readable.iter().map(|segment| segment.length).sum();
    let mut bytes = [0; DISCARD_SEGMENT];
    if length != DISCARD_SEGMENT || gather(mapped, readable, &mut bytes).is_none() {
        return Operation::Refused(Status::Failed);
    }
    let (sector, sectors) = (number(&bytes, 0, 8), number(&bytes, 8, 4));
    // Bit 0 is the unmap flag of write-zeroes. The other bits are reserved, and for a discard all
    // bits are.
    let known = u64::from(kind == VIRTIO_BLK_T_WRITE_ZEROES);
    if number(&bytes, 12, 4) & !known != 0 {
        return Operation::Refused(Status::Unknown);
    }
    if kind == VIRTIO_BLK_T_DISCARD {
        Operation::Discard { sector, sectors }
    } else {
        Operation::WriteZeroes { sector, sectors }
    }
}

/// A little-endian number of this many bytes.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let bytes = bytes.iter().skip(at).take(length);
    bytes
        .rev()
        .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Fills `into` from the segments. Returns none if they are too short or out of memory.
fn gather(mapped: &GuestMemoryMmap<()>, from: &[Segment], into: &mut [u8]) -> Option<()> {
    let mut filled = 0;
    for segment in from {
        let part = segment.length.min(into.len() - filled);
        let target = &mut into[filled..filled + part];
        mapped.read_slice(target, segment.at).ok()?;
        filled += part;
    }
    (filled == into.len()).then_some(())
}

fn skip(segments: &mut Vec<Segment>, mut bytes: usize) {
    segments.retain_mut(|segment| {
        let part = segment.length.min(bytes);
        bytes -= part;
        segment.length -= part;
        segment.at.0 = segment.at.0.wrapping_add(part as u64);
        segment.length > 0
    });
}

/// Removes the last byte and returns its address.
fn take_last(segments: &mut Vec<Segment>) -> Option<GuestAddress> {
    while segments.last().is_some_and(|last| last.length == 0) {
        segments.pop();
    }
    let last = segments.last_mut()?;
    last.length -= 1;
    let at = last.at.0.checked_add(last.length as u64)?;
    if last.length == 0 {
        segments.pop();
    }
    Some(GuestAddress(at))
}
