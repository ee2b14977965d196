//! Requests of `io_uring` and of `io_submit`, as the system calls that do the same (kernel:
//! `include/uapi/linux/io_uring.h` and `aio_abi.h`).

use crate::calls::{Call, Pointers};
use crate::tracker::Unrecorded;

/// Flags of an entry: `IOSQE_FIXED_FILE`.
const FIXED_FILE: u64 = 1;

/// `IOSQE_CQE_SKIP_SUCCESS`.
const NO_COMPLETION: u64 = 1 << 6;

/// `SPLICE_F_FD_IN_FIXED`.
const FIXED_INPUT: u64 = 1 << 31;

/// `IORING_FSYNC_DATASYNC`.
const DATA_ONLY: u64 = 1;

/// The data that is read of a kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestData {
    /// It concerns no file system.
    Ignored,
    /// Positions of strings among the words of the entry, and what else they point to.
    Read(&'static [u8], Pointers),
}

/// The data that is read of a kind. An unknown kind is reported, so that it is counted.
pub fn shape(kind: u32) -> RequestData {
    // Words of an entry: 1 is `off` or `addr2`, 2 is `addr`.
    match kind {
        // Polls, timeouts, sockets, buffers, futexes, pipes; commands of drivers.
        0 | 6 | 7 | 9..=16 | 25..=27 | 29 | 31..=34 | 40 | 45..=53 | 56..=59 | 62..=64 => {
            RequestData::Ignored
        }
        // openat, statx, unlinkat, mkdirat; fsetxattr, fgetxattr.
        18 | 21 | 36 | 37 | 41 | 43 => RequestData::Read(&[2], Pointers::None),
        // openat2.
        28 => RequestData::Read(&[2], Pointers::Structure(1)),
        // renameat, symlinkat, linkat.
        35 | 38 | 39 => RequestData::Read(&[2, 1], Pointers::None),
        _ => RequestData::Read(&[], Pointers::None),
    }
}

/// The system call that a request does, from the words of its entry, which the arguments of `event`
/// are. Else why it is not recorded.
pub fn as_call(kind: u64, event: Call) -> Result<Call, Unrecorded> {
    let [head, off, addr, lengths, _, tail] = event.args;
    let (flags, descriptor) = (head >> 8 & 0xff, head >> 32);
    let (length, bits) = (lengths & 0xffff_ffff, lengths >> 32);
    let other = tail >> 32;
    if flags & NO_COMPLETION != 0 {
        return Err(Unrecorded::NoCompletion);
    }
    let mut numbers = event.numbers;
    let (name, args) = match kind {
        // Vectors, and those with registered buffers.
        1 | 60 => ("preadv2", [descriptor, addr, length, off, 0, bits]),
        2 | 61 => ("pwritev2", [descriptor, addr, length, off, 0, bits]),
        4 | 22 => (
            transfer(off, bits, ["read", "pread64", "preadv2"]),
            arguments(descriptor, addr, length, off, bits),
        ),
        5 | 23 => (
            transfer(off, bits, ["write", "pwrite64", "pwritev2"]),
            arguments(descriptor, addr, length, off, bits),
        ),
        3 if bits & DATA_ONLY != 0 => ("fdatasync", [descriptor, 0, 0, 0, 0, 0]),
        3 => ("fsync", [descriptor, 0, 0, 0, 0, 0]),
        8 => ("sync_file_range", [descriptor, off, length, bits, 0, 0]),
        17 => ("fallocate", [descriptor, length, off, addr, 0, 0]),
        18 | 19 | 28 if other != 0 => return Err(Unrecorded::RegisteredFile),
        18 => ("openat", [descriptor, addr, bits, length, 0, 0]),
        28 => ("openat2", [descriptor, addr, 1, length, 0, 0]),
        19 => ("close", [descriptor, 0, 0, 0, 0, 0]),
        21 => ("statx", [descriptor, addr, bits, length, off, 0]),
        24 => {
            let length = if length == 0 { addr } else { length };
            ("fadvise64", [descriptor, off, length, bits, 0, 0])
        }
        // Both files can be registered, or one. And the request that changes the table of files.
        20 => return Err(Unrecorded::RegisteredFile),
        30 if bits & FIXED_INPUT != 0 || flags & FIXED_FILE != 0 => {
            return Err(Unrecorded::RegisteredFile);
        }
        30 => {
            let given = |offset: u64| (offset != u64::MAX).then_some(offset);
            numbers = [given(addr), given(off), None, None];
            ("splice", [other, 0, descriptor, 0, length, bits])
        }
        35 => ("renameat2", [descriptor, addr, length, off, bits, 0]),
        36 => ("unlinkat", [descriptor, addr, bits, 0, 0, 0]),
        37 => ("mkdirat", [descriptor, addr, length, 0, 0, 0]),
        38 => ("symlinkat", [addr, descriptor, off, 0, 0, 0]),
        39 => ("linkat", [descriptor, addr, length, off, bits, 0]),
        41 => ("fsetxattr", [descriptor, addr, off, length, bits, 0]),
        43 => ("fgetxattr", [descriptor, addr, off, length, 0, 0]),
        55 => ("ftruncate", [descriptor, off, 0, 0, 0, 0]),
        42 | 44 => return Err(Unrecorded::AttributeOfPath),
        _ => return Err(Unrecorded::UnknownKind),
    };
    Ok(Call {
        name,
        args,
        numbers,
        ..event
    })
}

/// Whether the file of a request of `io_uring` is registered with the ring: its descriptor is a place
/// in the table of these.
pub fn is_registered(event: &Call) -> bool {
    event.args[0] >> 8 & FIXED_FILE != 0
}

/// The system call that a request of `io_submit` does, from the words of its `struct iocb`.
pub fn aio_as_call(entry: [u64; 8], event: Call) -> Result<Call, Unrecorded> {
    let [_, key, head, addr, length, off, ..] = entry;
    let (kind, descriptor, bits) = (head & 0xffff, head >> 32, key >> 32);
    let (name, args) = match kind {
        0 => (
            transfer(off, bits, ["pread64", "pread64", "preadv2"]),
            arguments(descriptor, addr, length, off, bits),
        ),
        1 => (
            transfer(off, bits, ["pwrite64", "pwrite64", "pwritev2"]),
            arguments(descriptor, addr, length, off, bits),
        ),
        2 => ("fsync", [descriptor, 0, 0, 0, 0, 0]),
        3 => ("fdatasync", [descriptor, 0, 0, 0, 0, 0]),
        7 => ("preadv2", [descriptor, addr, length, off, 0, bits]),
        8 => ("pwritev2", [descriptor, addr, length, off, 0, bits]),
        // IOCB_CMD_POLL, IOCB_CMD_NOOP.
        5 | 6 => return Err(Unrecorded::NoFile),
        _ => return Err(Unrecorded::UnknownKind),
    };
    Ok(Call {
        name,
        args,
        ..event
    })
}

/// The name of a read or write: at the position, at an offset, or with flags.
fn transfer(off: u64, bits: u64, names: [&'static str; 3]) -> &'static str {
    match (bits, off) {
        (0, u64::MAX) => names[0],
        (0, _) => names[1],
        _ => names[2],
    }
}

/// The arguments of a read or write. Those with flags are calls with a vector of one buffer.
fn arguments(descriptor: u64, addr: u64, length: u64, off: u64, bits: u64) -> [u64; 6] {
    let count = if bits == 0 { length } else { 1 };
    [descriptor, addr, count, off, 0, bits]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(flags: u64, args: [u64; 5]) -> Call {
        let [descriptor, off, addr, length, bits] = args;
        Call {
            args: [
                flags << 8 | descriptor << 32,
                off,
                addr,
                length | bits << 32,
                0,
                0,
            ],
            ..Call::default()
        }
    }

    #[test]
    fn a_request_is_the_call_that_does_the_same() {
        let check = |kind: u64, args: [u64; 5]| {
            let call = as_call(kind, entry(0, args)).unwrap();
            (call.name, call.args)
        };
        assert_eq!(
            check(22, [7, 4096, 1, 512, 0]),
            ("pread64", [7, 1, 512, 4096, 0, 0])
        );
        assert_eq!(check(23, [7, u64::MAX, 1, 512, 0]).0, "write");
        assert_eq!(
            check(23, [7, 0, 1, 512, 2]),
            ("pwritev2", [7, 1, 1, 0, 0, 2])
        );
        assert_eq!(check(3, [7, 0, 0, 0, 1]).0, "fdatasync");
        assert_eq!(check(3, [7, 0, 0, 0, 0]).0, "fsync");
        assert_eq!(
            check(17, [7, 100, 200, 3, 0]),
            ("fallocate", [7, 3, 100, 200, 0, 0])
        );
        assert_eq!(
            check(35, [3, 22, 11, 4, 1]),
            ("renameat2", [3, 11, 4, 22, 1, 0])
        );
        assert_eq!(
            check(38, [3, 22, 11, 0, 0]),
            ("symlinkat", [11, 3, 22, 0, 0, 0])
        );
        assert!(is_registered(&entry(FIXED_FILE, [0; 5])));
        assert!(!is_registered(&entry(0, [1, 0, 0, 0, 0])));
        let fixed = as_call(30, entry(FIXED_FILE, [0; 5]));
        assert_eq!(fixed.unwrap_err(), Unrecorded::RegisteredFile);
        let unknown = as_call(200, entry(0, [0; 5]));
        assert_eq!(unknown.unwrap_err(), Unrecorded::UnknownKind);
    }

    #[test]
    fn a_request_of_io_submit_is_the_call_that_does_the_same() {
        let check = |kind: u64, key: u64| {
            let entry = [0, key << 32, kind | 7 << 32, 1, 512, 4096, 0, 0];
            aio_as_call(entry, Call::default()).map(|call| (call.name, call.args))
        };
        assert_eq!(check(0, 0), Ok(("pread64", [7, 1, 512, 4096, 0, 0])));
        assert_eq!(check(1, 2), Ok(("pwritev2", [7, 1, 1, 4096, 0, 2])));
        assert_eq!(check(3, 0).unwrap().0, "fdatasync");
        assert_eq!(check(8, 0), Ok(("pwritev2", [7, 1, 512, 4096, 0, 0])));
        assert_eq!(check(5, 0), Err(Unrecorded::NoFile));
    }
}
