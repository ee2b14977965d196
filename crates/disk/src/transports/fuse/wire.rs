//! The FUSE wire format: requests of the kernel and replies of the server. Source:
//! `include/uapi/linux/fuse.h`, version 7.31 (Linux 5.4), and the few later fields that this module
//! reads.

/// Protocol version. The server does not request features of later versions.
pub const VERSION: (u32, u32) = (7, 31);

/// Inode of the only file. It is the root of a file system without directories.
pub const FILE: u64 = 1;

/// Maximum data size of one request.
pub const MAX_DATA: u32 = 1 << 20;

/// Size of a request's header and of a reply's header.
const REQUEST_HEADER: usize = 40;
const REPLY_HEADER: usize = 16;

/// Size of the largest request: a complete write.
pub const MAX_REQUEST: usize = MAX_DATA as usize + 4096;

// Opcodes.
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FSYNC: u32 = 20;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const DESTROY: u32 = 38;
const BATCH_FORGET: u32 = 42;
const FALLOCATE: u32 = 43;

// Flags of the INIT reply.
const ASYNC_READ: u32 = 1;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIO: u32 = 1 << 15;
const MAX_PAGES: u32 = 1 << 22;

// Flags of an open file: no page cache, and parallel direct writes.
const DIRECT_IO: u32 = 1;
const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;

// Modes of fallocate(2).
const KEEP_SIZE: u32 = 1;
const PUNCH_HOLE: u32 = 2;
const ZERO_RANGE: u32 = 0x10;

/// Maximum number of requests in flight before the kernel throttles.
const MAX_BACKGROUND: u16 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation<'a> {
    /// Version negotiation: the kernel's minor version (major 7) and its flags.
    Init {
        minor: u32,
        flags: u32,
    },
    /// GETATTR: the size of the file.
    GetAttr,
    Open,
    Read {
        /// Offset.
        at: u64,
        length: u32,
    },
    Write {
        /// Offset.
        at: u64,
        bytes: &'a [u8],
    },
    /// Flushes all written data to the medium.
    Fsync,
    Discard {
        /// Offset.
        at: u64,
        length: u64,
    },
    WriteZeroes {
        /// Offset.
        at: u64,
        length: u64,
    },
    /// STATFS: the size of the file system.
    StatFs,
    /// A request without an effect. It gets a reply.
    Ignored,
    /// A request without an effect. It gets no reply.
    NoReply,
    /// A request that this file system does not support.
    Unsupported,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuseRequest<'a> {
    /// Identifier of the request. The reply carries it.
    pub unique: u64,
    pub operation: Operation<'a>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the kernel sent a request of {length} bytes that {what}")]
pub struct Malformed {
    length: usize,
    what: &'static str,
}

impl<'a> FuseRequest<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let broken = |what| Malformed {
            length: bytes.len(),
            what,
        };
        let short = || broken("is shorter than its header states");
        let length = u32_at(bytes, 0).ok_or_else(short)? as usize;
        let number = u32_at(bytes, 4).ok_or_else(short)?;
        let unique = u64_at(bytes, 8).ok_or_else(short)?;
        if length != bytes.len() || length < REQUEST_HEADER {
            return Err(broken("has another length than its header states"));
        }
        let operation = operation(number, &bytes[REQUEST_HEADER..]).ok_or_else(short)?;
        Ok(Self { unique, operation })
    }
}

/// The operation of this opcode, or none if the request is truncated.
fn operation(number: u32, body: &[u8]) -> Option<Operation<'_>> {
    Some(match number {
        INIT => Operation::Init {
            minor: u32_at(body, 4).filter(|_| u32_at(body, 0) == Some(VERSION.0))?,
            flags: u32_at(body, 12).unwrap_or(0),
        },
        GETATTR => Operation::GetAttr,
        OPEN => Operation::Open,
        READ => Operation::Read {
            at: u64_at(body, 8)?,
            length: u32_at(body, 16)?,
        },
        WRITE => {
            let length = u32_at(body, 16)? as usize;
            let bytes = body.get(40..)?.get(..length)?;
            let at = u64_at(body, 8)?;
            Operation::Write { at, bytes }
        }
        FSYNC => Operation::Fsync,
        FALLOCATE => {
            let (at, length) = (u64_at(body, 8)?, u64_at(body, 16)?);
            match u32_at(body, 24)? & !KEEP_SIZE {
                PUNCH_HOLE => Operation::Discard { at, length },
                ZERO_RANGE => Operation::WriteZeroes { at, length },
                _ => Operation::Unsupported,
            }
        }
        STATFS => Operation::StatFs,
        RELEASE | FLUSH | DESTROY => Operation::Ignored,
        FORGET | BATCH_FORGET | INTERRUPT => Operation::NoReply,
        _ => Operation::Unsupported,
    })
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(four))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let eight = bytes.get(at..at + 8)?.try_into().ok()?;
    Some(u64::from_ne_bytes(eight))
}

/// Header of a reply: request identifier, error number or 0, and length of the body.
pub fn reply_header(unique: u64, error: i32, length: usize) -> [u8; REPLY_HEADER] {
    let whole = u32::try_from(REPLY_HEADER + length).unwrap_or(u32::MAX);
    let mut head = [0; REPLY_HEADER];
    head[..4].copy_from_slice(&whole.to_ne_bytes());
    head[4..8].copy_from_slice(&(-error).to_ne_bytes());
    head[8..].copy_from_slice(&unique.to_ne_bytes());
    head
}

/// A byte buffer for replies.
#[derive(Debug, Default)]
struct WireBytes(Vec<u8>);

impl WireBytes {
    fn u16(mut self, value: u16) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn padded_to(mut self, length: usize) -> Vec<u8> {
        self.0.resize(length, 0);
        self.0
    }
}

/// The INIT reply: only flags that the kernel offers.
pub fn init_reply(flags: u32) -> Vec<u8> {
    let wanted = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES;
    let pages = u16::try_from(MAX_DATA / 4096).unwrap_or(u16::MAX);
    WireBytes::default()
        .u32(VERSION.0)
        .u32(VERSION.1)
        .u32(MAX_DATA) // read-ahead
        .u32(wanted & flags)
        .u16(MAX_BACKGROUND)
        .u16(MAX_BACKGROUND / 4 * 3)
        .u32(MAX_DATA)
        .u32(1) // time granularity, ns
        .u16(pages)
        .padded_to(64)
}

/// Attributes of the file of this size: a regular file of root's with constant attributes.
pub fn attr_reply(size: u64) -> Vec<u8> {
    const PLAIN: u32 = 0o100_600;
    WireBytes::default()
        .u64(3600) // validity, s
        .u64(0)
        .u64(FILE)
        .u64(size)
        .u64(size / 512)
        .u64(0) // atime, mtime, ctime
        .u64(0)
        .u64(0)
        .u32(0)
        .u32(0)
        .u32(0)
        .u32(PLAIN)
        .u32(1) // links
        .padded_to(104)
}

/// The OPEN reply: direct I/O and parallel writes.
pub fn open_reply() -> Vec<u8> {
    let flags = DIRECT_IO | PARALLEL_DIRECT_WRITES;
    WireBytes::default().u64(0).u32(flags).padded_to(16)
}

/// The WRITE reply: the number of bytes.
pub fn write_reply(length: usize) -> Vec<u8> {
    WireBytes::default()
        .u32(u32::try_from(length).unwrap_or(u32::MAX))
        .padded_to(8)
}

/// The STATFS reply: a full file system of this size.
pub fn statfs_reply(size: u64) -> Vec<u8> {
    const BLOCK: u32 = 4096;
    WireBytes::default()
        .u64(size / u64::from(BLOCK))
        .u64(0)
        .u64(0)
        .u64(1)
        .u64(0)
        .u32(BLOCK)
        .u32(255)
        .u32(BLOCK)
        .padded_to(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(REQUEST_HEADER + body.len()).unwrap();
        let mut bytes = WireBytes::default()
            .u32(length)
            .u32(number)
            .u64(77)
            .padded_to(REQUEST_HEADER);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn requests_parse_in_the_layout_of_the_kernel() {
        let read = WireBytes::default()
            .u64(5)
            .u64(8192)
            .u32(4096)
            .padded_to(40);
        let mut write = WireBytes::default().u64(5).u64(512).u32(3).padded_to(40);
        write.extend(*b"abc");
        let hole = WireBytes::default()
            .u64(5)
            .u64(4096)
            .u64(8192)
            .u32(PUNCH_HOLE | KEEP_SIZE)
            .padded_to(32);
        let begin = WireBytes::default()
            .u32(7)
            .u32(41)
            .u32(9)
            .u32(0xff)
            .padded_to(64);
        for (number, body, operation) in [
            (
                READ,
                read,
                Operation::Read {
                    at: 8192,
                    length: 4096,
                },
            ),
            (
                WRITE,
                write,
                Operation::Write {
                    at: 512,
                    bytes: b"abc",
                },
            ),
            (
                FALLOCATE,
                hole,
                Operation::Discard {
                    at: 4096,
                    length: 8192,
                },
            ),
            (
                INIT,
                begin,
                Operation::Init {
                    minor: 41,
                    flags: 0xff,
                },
            ),
            (FSYNC, vec![0; 16], Operation::Fsync),
            (FORGET, vec![0; 8], Operation::NoReply),
            (4711, Vec::new(), Operation::Unsupported),
        ] {
            let bytes = request(number, &body);
            assert_eq!(
                FuseRequest::parse(&bytes),
                Ok(FuseRequest {
                    unique: 77,
                    operation
                })
            );
        }
    }

    #[test]
    fn a_truncated_request_is_rejected() {
        let mut write = WireBytes::default().u64(5).u64(512).u32(4).padded_to(40);
        write.extend(*b"abc");
        let whole = request(WRITE, &write);
        assert!(FuseRequest::parse(&whole).is_err());
        for length in 0..whole.len() {
            assert!(FuseRequest::parse(&whole[..length]).is_err(), "{length}");
        }
        // A different major version.
        assert!(FuseRequest::parse(&request(INIT, &[8; 64])).is_err());
    }

    #[test]
    fn replies_have_the_sizes_of_the_kernel_structures() {
        assert_eq!(init_reply(u32::MAX).len(), 64);
        assert_eq!(attr_reply(1).len(), 104);
        assert_eq!((open_reply().len(), write_reply(1).len()), (16, 8));
        assert_eq!(statfs_reply(1).len(), 80);
        assert_eq!(
            reply_header(1, 5, 8)[..8],
            [24, 0, 0, 0, 251, 255, 255, 255]
        );
    }
}
