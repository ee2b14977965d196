//! The words of FUSE: what the kernel asks of a file system that is a program, and the form of the
//! answers. After `include/uapi/linux/fuse.h`, version 7.31 (Linux 5.4) and what of later ones is
//! read here.

/// The version of the protocol: what later ones add is not asked for.
pub const VERSION: (u32, u32) = (7, 31);

/// The number of the one file there is: the root of a file system without directories.
pub const FILE: u64 = 1;

/// The most that one request moves.
pub const MOST: u32 = 1 << 20;

/// Bytes before what a request says, and before what an answer says.
const HEAD: usize = 40;
const ANSWER: usize = 16;

/// The largest request: a write, whole.
pub const LARGEST: usize = MOST as usize + 4096;

// Numbers of requests.
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

// Flags of the first answer.
const ASYNC_READ: u32 = 1;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIO: u32 = 1 << 15;
const MAX_PAGES: u32 = 1 << 22;

// Flags of an open file: no page keeps what is in it, and writes need not wait for each other.
const DIRECT_IO: u32 = 1;
const PARALLEL_DIRECT_WRITES: u32 = 1 << 6;

// Ways of fallocate(2).
const KEEP_SIZE: u32 = 1;
const PUNCH_HOLE: u32 = 2;
const ZERO_RANGE: u32 = 0x10;

/// How many requests the kernel may have under way before it holds more of them back.
const BACKGROUND: u16 = 256;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish<'a> {
    /// To agree on a version: the minor number of the kernel's, of major 7, and what it can.
    Begin {
        /// The minor number.
        minor: u32,
        /// Its flags.
        flags: u32,
    },
    /// The size of the file.
    Attributes,
    /// To open it.
    Open,
    /// Bytes.
    Read {
        /// From there on.
        at: u64,
        /// So many.
        length: u32,
    },
    /// Bytes are written.
    Write {
        /// From there on.
        at: u64,
        /// These.
        bytes: &'a [u8],
    },
    /// All that was written is to be on the medium.
    Sync,
    /// A stretch is no longer needed.
    Discard {
        /// From there on.
        at: u64,
        /// So many bytes.
        length: u64,
    },
    /// A stretch is to be zeros.
    WriteZeroes {
        /// From there on.
        at: u64,
        /// So many bytes.
        length: u64,
    },
    /// How large the file system is.
    Room,
    /// Nothing that has to be done, but answered.
    Nothing,
    /// Nothing, and no answer.
    Silent,
    /// What this file system has not.
    Unknown,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Its name, which the answer bears.
    pub unique: u64,
    /// What is asked.
    pub wish: Wish<'a>,
}

/// A request that is none.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("the kernel sent a request of {length} bytes that {what}")]
pub struct Malformed {
    length: usize,
    what: &'static str,
}

impl<'a> Asked<'a> {
    /// Reads a request.
    pub fn of(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let broken = |what| Malformed {
            length: bytes.len(),
            what,
        };
        let short = || broken("is shorter than it says");
        let length = u32_at(bytes, 0).ok_or_else(short)? as usize;
        let number = u32_at(bytes, 4).ok_or_else(short)?;
        let unique = u64_at(bytes, 8).ok_or_else(short)?;
        if length != bytes.len() || length < HEAD {
            return Err(broken("is not as long as it says"));
        }
        let wish = wish(number, &bytes[HEAD..]).ok_or_else(short)?;
        Ok(Self { unique, wish })
    }
}

/// What a request of that number asks; none where it is cut off.
fn wish(number: u32, body: &[u8]) -> Option<Wish<'_>> {
    Some(match number {
        INIT => Wish::Begin {
            minor: u32_at(body, 4).filter(|_| u32_at(body, 0) == Some(VERSION.0))?,
            flags: u32_at(body, 12).unwrap_or(0),
        },
        GETATTR => Wish::Attributes,
        OPEN => Wish::Open,
        READ => Wish::Read {
            at: u64_at(body, 8)?,
            length: u32_at(body, 16)?,
        },
        WRITE => {
            let length = u32_at(body, 16)? as usize;
            let bytes = body.get(40..)?.get(..length)?;
            let at = u64_at(body, 8)?;
            Wish::Write { at, bytes }
        }
        FSYNC => Wish::Sync,
        FALLOCATE => {
            let (at, length) = (u64_at(body, 8)?, u64_at(body, 16)?);
            match u32_at(body, 24)? & !KEEP_SIZE {
                PUNCH_HOLE => Wish::Discard { at, length },
                ZERO_RANGE => Wish::WriteZeroes { at, length },
                _ => Wish::Unknown,
            }
        }
        STATFS => Wish::Room,
        RELEASE | FLUSH | DESTROY => Wish::Nothing,
        FORGET | BATCH_FORGET | INTERRUPT => Wish::Silent,
        _ => Wish::Unknown,
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

/// The head of an answer: to that request, with an error number or 0, and so many bytes behind it.
pub fn head(unique: u64, error: i32, length: usize) -> [u8; ANSWER] {
    let whole = u32::try_from(ANSWER + length).unwrap_or(u32::MAX);
    let mut head = [0; ANSWER];
    head[..4].copy_from_slice(&whole.to_ne_bytes());
    head[4..8].copy_from_slice(&(-error).to_ne_bytes());
    head[8..].copy_from_slice(&unique.to_ne_bytes());
    head
}

/// Bytes laid one behind the other.
#[derive(Debug, Default)]
struct Laid(Vec<u8>);

impl Laid {
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

    fn upto(mut self, length: usize) -> Vec<u8> {
        self.0.resize(length, 0);
        self.0
    }
}

/// What was agreed upon: of its flags what the kernel has.
pub fn begun(flags: u32) -> Vec<u8> {
    let wanted = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES;
    let pages = u16::try_from(MOST / 4096).unwrap_or(u16::MAX);
    Laid::default()
        .u32(VERSION.0)
        .u32(VERSION.1)
        .u32(MOST) // read ahead
        .u32(wanted & flags)
        .u16(BACKGROUND)
        .u16(BACKGROUND / 4 * 3)
        .u32(MOST)
        .u32(1) // nanoseconds of a time
        .u16(pages)
        .upto(64)
}

/// The attributes of the file, of that size: a plain file of root's, which never change.
pub fn attributes(size: u64) -> Vec<u8> {
    const PLAIN: u32 = 0o100_600;
    Laid::default()
        .u64(3600) // seconds for which this holds
        .u64(0)
        .u64(FILE)
        .u64(size)
        .u64(size / 512)
        .u64(0) // read, written, changed
        .u64(0)
        .u64(0)
        .u32(0)
        .u32(0)
        .u32(0)
        .u32(PLAIN)
        .u32(1) // names
        .upto(104)
}

/// The open file: read and written past the page cache, by many at once.
pub fn opened() -> Vec<u8> {
    let flags = DIRECT_IO | PARALLEL_DIRECT_WRITES;
    Laid::default().u64(0).u32(flags).upto(16)
}

/// So many bytes were taken.
pub fn written(length: usize) -> Vec<u8> {
    Laid::default()
        .u32(u32::try_from(length).unwrap_or(u32::MAX))
        .upto(8)
}

/// A file system of that size, all of it taken.
pub fn room(size: u64) -> Vec<u8> {
    const BLOCK: u32 = 4096;
    Laid::default()
        .u64(size / u64::from(BLOCK))
        .u64(0)
        .u64(0)
        .u64(1)
        .u64(0)
        .u32(BLOCK)
        .u32(255)
        .u32(BLOCK)
        .upto(80)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(number: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEAD + body.len()).unwrap();
        let mut bytes = Laid::default().u32(length).u32(number).u64(77).upto(HEAD);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn requests_are_read_as_the_kernel_lays_them() {
        let read = Laid::default().u64(5).u64(8192).u32(4096).upto(40);
        let mut write = Laid::default().u64(5).u64(512).u32(3).upto(40);
        write.extend(*b"abc");
        let hole = Laid::default()
            .u64(5)
            .u64(4096)
            .u64(8192)
            .u32(PUNCH_HOLE | KEEP_SIZE)
            .upto(32);
        let begin = Laid::default().u32(7).u32(41).u32(9).u32(0xff).upto(64);
        for (number, body, wish) in [
            (
                READ,
                read,
                Wish::Read {
                    at: 8192,
                    length: 4096,
                },
            ),
            (
                WRITE,
                write,
                Wish::Write {
                    at: 512,
                    bytes: b"abc",
                },
            ),
            (
                FALLOCATE,
                hole,
                Wish::Discard {
                    at: 4096,
                    length: 8192,
                },
            ),
            (
                INIT,
                begin,
                Wish::Begin {
                    minor: 41,
                    flags: 0xff,
                },
            ),
            (FSYNC, vec![0; 16], Wish::Sync),
            (FORGET, vec![0; 8], Wish::Silent),
            (4711, Vec::new(), Wish::Unknown),
        ] {
            let bytes = request(number, &body);
            assert_eq!(Asked::of(&bytes), Ok(Asked { unique: 77, wish }));
        }
    }

    #[test]
    fn a_request_that_is_cut_off_is_none() {
        let mut write = Laid::default().u64(5).u64(512).u32(4).upto(40);
        write.extend(*b"abc");
        let whole = request(WRITE, &write);
        assert!(Asked::of(&whole).is_err());
        for length in 0..whole.len() {
            assert!(Asked::of(&whole[..length]).is_err(), "{length}");
        }
        // Another major version.
        assert!(Asked::of(&request(INIT, &[8; 64])).is_err());
    }

    #[test]
    fn answers_have_the_sizes_of_the_kernels() {
        assert_eq!(begun(u32::MAX).len(), 64);
        assert_eq!(attributes(1).len(), 104);
        assert_eq!((opened().len(), written(1).len()), (16, 8));
        assert_eq!(room(1).len(), 80);
        assert_eq!(head(1, 5, 8)[..8], [24, 0, 0, 0, 251, 255, 255, 255]);
    }
}
