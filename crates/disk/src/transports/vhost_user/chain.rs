//! A virtio-blk request, as a chain of descriptors holds it. Nothing a guest lays there is trusted:
//! what cannot be answered breaks the ring, everything else is answered, with an error at worst.
//!
//! After the virtio specification 1.2, 5.2.6 (requests of block devices) and 2.7 (split rings).

use super::memory::Memory;
use crate::request::SECTOR;
use virtio_bindings::virtio_blk::{
    VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK, VIRTIO_BLK_S_UNSUPP, VIRTIO_BLK_T_DISCARD,
    VIRTIO_BLK_T_FLUSH, VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT,
    VIRTIO_BLK_T_WRITE_ZEROES,
};
use virtio_queue::DescriptorChain;
use vm_memory::{Bytes, GuestAddress, GuestMemory, GuestMemoryMmap, Permissions};

/// Bytes of the head of a request: type, nothing, sector.
const HEAD: usize = 16;

/// Bytes that tell the extent of a discard: sector, sectors, flags.
const EXTENT: usize = 16;

/// Bytes of the name that a guest asks for.
pub const ID: usize = 20;

/// The most that one request may move: more than any kernel asks for at once.
const MOST: usize = 32 << 20;

/// A chain that cannot be answered: its head or its place for an answer is missing.
#[derive(Debug, thiserror::Error)]
#[error("a chain of descriptors {what}")]
pub struct BrokenChain {
    what: &'static str,
}

/// How a request ended, for the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It was done.
    Done,
    /// It was not.
    Failed,
    /// There is no such thing here.
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

/// What a chain asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Sectors from there into its buffers.
    Read(u64),
    /// What is in its buffers to sectors from there.
    Write(u64),
    /// What was acknowledged goes to the medium.
    Flush,
    /// The name of the disk.
    Name,
    /// An extent is no longer needed.
    Discard {
        /// The first sector.
        sector: u64,
        /// How many.
        sectors: u64,
    },
    /// An extent becomes zeros.
    WriteZeroes {
        /// The first sector.
        sector: u64,
        /// How many.
        sectors: u64,
    },
    /// Nothing that can be done; that is the answer.
    Refused(Status),
}

/// A stretch of the guest's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    at: GuestAddress,
    length: usize,
}

/// A request, and where its data and its answer go.
#[derive(Debug)]
pub struct Chain {
    /// Its name in the ring.
    pub head: u16,
    /// What is asked.
    pub wish: Wish,
    data: Vec<Stretch>,
    status: GuestAddress,
}

impl Chain {
    /// Reads a chain.
    pub fn of(
        descriptors: DescriptorChain<&GuestMemoryMmap<()>>,
        memory: &Memory,
    ) -> Result<Self, BrokenChain> {
        let broken = |what| BrokenChain { what };
        let head = descriptors.head_index();
        let (mut readable, mut writable) = (Vec::new(), Vec::new());
        let mut ended = false;
        for descriptor in descriptors {
            let stretch = Stretch {
                at: descriptor.addr(),
                length: descriptor.len() as usize,
            };
            if descriptor.is_write_only() {
                writable.push(stretch);
            } else if writable.is_empty() {
                readable.push(stretch);
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
        let mut bytes = [0; HEAD];
        gather(mapped, &readable, &mut bytes).ok_or(broken("has no whole head in memory"))?;
        skip(&mut readable, HEAD);
        let status = take_last(&mut writable).ok_or(broken("has no place for an answer"))?;
        if !mapped.check_range(status, 1, Permissions::Write) {
            return Err(broken("has its place for an answer outside of memory"));
        }
        let (wish, data) = wish(&bytes, readable, writable, mapped);
        Ok(Self {
            head,
            wish,
            data,
            status,
        })
    }

    /// Bytes of its buffers.
    pub fn length(&self) -> usize {
        self.data.iter().map(|stretch| stretch.length).sum()
    }

    /// Takes what is in its buffers.
    pub fn gather(&self, memory: &Memory, into: &mut [u8]) {
        // They have been checked to lie in memory.
        let _ = gather(&memory.mapped, &self.data, into);
    }

    /// Lays bytes into its buffers.
    pub fn scatter(&self, memory: &Memory, bytes: &[u8]) {
        let mut rest = bytes;
        for stretch in &self.data {
            let (part, after) = rest.split_at(stretch.length.min(rest.len()));
            // They have been checked to lie in memory.
            let _ = memory.mapped.write_slice(part, stretch.at);
            rest = after;
        }
    }

    /// Lays down how it ended; how many bytes the guest finds changed.
    pub fn answer(&self, memory: &Memory, status: Status) -> u32 {
        // It has been checked to lie in memory.
        let _ = memory.mapped.write_slice(&[status.byte()], self.status);
        let moved = match self.wish {
            Wish::Read(_) | Wish::Name if status == Status::Done => self.length(),
            _ => 0,
        };
        u32::try_from(moved + 1).unwrap_or(u32::MAX)
    }
}

fn wish(
    head: &[u8; HEAD],
    readable: Vec<Stretch>,
    writable: Vec<Stretch>,
    mapped: &GuestMemoryMmap<()>,
) -> (Wish, Vec<Stretch>) {
    let kind = number(head, 0, 4);
    let sector = number(head, 8, 8);
    // As wide as it lies there.
    let kind = u32::try_from(kind).unwrap_or(u32::MAX);
    let (wish, data, access) = match kind {
        VIRTIO_BLK_T_IN => (Wish::Read(sector), writable, Permissions::Write),
        VIRTIO_BLK_T_OUT => (Wish::Write(sector), readable, Permissions::Read),
        VIRTIO_BLK_T_FLUSH => return (Wish::Flush, Vec::new()),
        VIRTIO_BLK_T_GET_ID => (Wish::Name, writable, Permissions::Write),
        VIRTIO_BLK_T_DISCARD | VIRTIO_BLK_T_WRITE_ZEROES => {
            return (extent(kind, &readable, mapped), Vec::new());
        }
        _ => return (Wish::Refused(Status::Unknown), Vec::new()),
    };
    let length: usize = data.iter().map(|stretch| stretch.length).sum();
    let whole = match wish {
        Wish::Name => length == ID,
        _ => length > 0 && length.is_multiple_of(usize::try_from(SECTOR).unwrap_or(1)),
    };
    let inside = |stretch: &Stretch| mapped.check_range(stretch.at, stretch.length, access);
    if whole && length <= MOST && data.iter().all(inside) {
        (wish, data)
    } else {
        (Wish::Refused(Status::Failed), Vec::new())
    }
}

/// The extent of a discard: one, as the configuration says.
fn extent(kind: u32, readable: &[Stretch], mapped: &GuestMemoryMmap<()>) -> Wish {
    let length: usize = readable.iter().map(|stretch| stretch.length).sum();
    let mut bytes = [0; EXTENT];
    if length != EXTENT || gather(mapped, readable, &mut bytes).is_none() {
        return Wish::Refused(Status::Failed);
    }
    let (sector, sectors) = (number(&bytes, 0, 8), number(&bytes, 8, 4));
    // Bit 0: it may be unmapped as well. The rest is reserved, and for a discard all is.
    let known = u64::from(kind == VIRTIO_BLK_T_WRITE_ZEROES);
    if number(&bytes, 12, 4) & !known != 0 {
        return Wish::Refused(Status::Unknown);
    }
    if kind == VIRTIO_BLK_T_DISCARD {
        Wish::Discard { sector, sectors }
    } else {
        Wish::WriteZeroes { sector, sectors }
    }
}

/// A number of so many bytes, the lowest first.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let bytes = bytes.iter().skip(at).take(length);
    bytes
        .rev()
        .fold(0, |sum, byte| (sum << 8) | u64::from(*byte))
}

/// Fills `into` from the stretches; none where they are too short or lie outside of memory.
fn gather(mapped: &GuestMemoryMmap<()>, from: &[Stretch], into: &mut [u8]) -> Option<()> {
    let mut filled = 0;
    for stretch in from {
        let part = stretch.length.min(into.len() - filled);
        let target = &mut into[filled..filled + part];
        mapped.read_slice(target, stretch.at).ok()?;
        filled += part;
    }
    (filled == into.len()).then_some(())
}

/// Leaves out the first bytes.
fn skip(stretches: &mut Vec<Stretch>, mut bytes: usize) {
    stretches.retain_mut(|stretch| {
        let part = stretch.length.min(bytes);
        bytes -= part;
        stretch.length -= part;
        stretch.at.0 = stretch.at.0.wrapping_add(part as u64);
        stretch.length > 0
    });
}

/// Cuts off the last byte; where it lies.
fn take_last(stretches: &mut Vec<Stretch>) -> Option<GuestAddress> {
    while stretches.last().is_some_and(|last| last.length == 0) {
        stretches.pop();
    }
    let last = stretches.last_mut()?;
    last.length -= 1;
    let at = last.at.0.checked_add(last.length as u64)?;
    if last.length == 0 {
        stretches.pop();
    }
    Some(GuestAddress(at))
}
