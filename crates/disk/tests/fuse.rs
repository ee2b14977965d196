//! The FUSE transport with a scripted kernel. Writes are read back, replies wait for the clock, and
//! the server stops when the kernel or the owner closes its end.

use fsdyno_disk::transports::fuse::{Fuse, FuseError, Owner};
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_disk::{Disk, FaultPlan, Faults, Memory, Profile, StoreError};
use fsdyno_model::{Bytes, Nanos};
use rustix::io::{Errno, read, write};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;
use std::time::Instant;

const SIZE: u64 = 1 << 20;

const GETATTR: u32 = 3;
const SETATTR: u32 = 4;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const FSYNC: u32 = 20;
const INIT: u32 = 26;
const FALLOCATE: u32 = 43;

/// An owner that sends nothing until it closes.
struct Mute(OwnedFd);

impl Owner for Mute {
    fn line(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn receive(&mut self, _: &mut Disk, _: Served, _: Nanos) -> Result<bool, StoreError> {
        // The only event is the end of the connection.
        Ok(read(&self.0, &mut [0; 8]).is_err())
    }
}

/// The kernel's end of the connection.
struct Kernel(OwnedFd);

impl Kernel {
    fn send(&self, number: u32, unique: u64, body: &[u8]) {
        let length = u32::try_from(40 + body.len()).unwrap();
        let mut bytes = Vec::new();
        bytes.extend(length.to_ne_bytes());
        bytes.extend(number.to_ne_bytes());
        bytes.extend(unique.to_ne_bytes());
        bytes.resize(40, 0);
        bytes.extend(body);
        assert_eq!(write(&self.0, &bytes).unwrap(), bytes.len());
    }

    /// The next reply: request identifier, error number and body.
    fn next_reply(&self) -> (u64, i32, Vec<u8>) {
        let mut bytes = vec![0; 1 << 17];
        let length = read(&self.0, &mut bytes).unwrap();
        bytes.truncate(length);
        let four = |at: usize| bytes[at..at + 4].try_into().unwrap();
        assert_eq!(u32::from_ne_bytes(four(0)) as usize, length);
        let error = -i32::from_ne_bytes(four(4));
        let unique = u64::from_ne_bytes(bytes[8..16].try_into().unwrap());
        (unique, error, bytes[16..].to_vec())
    }

    fn request(&self, number: u32, body: &[u8]) -> (i32, Vec<u8>) {
        self.send(number, 7, body);
        let (unique, error, body) = self.next_reply();
        assert_eq!(unique, 7);
        (error, body)
    }

    fn begin(&self) {
        let words: Vec<u8> = [7_u32, 41, 1 << 20, u32::MAX]
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .collect();
        let (error, reply) = self.request(INIT, &words);
        assert_eq!((error, reply.len()), (0, 64));
        assert_eq!(self.request(OPEN, &[0; 8]).0, 0);
    }
}

/// Parameters of a read or write request.
fn extent(at: u64, length: u32) -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(at.to_ne_bytes());
    body.extend(length.to_ne_bytes());
    body.resize(40, 0);
    body
}

fn writing(at: u64, bytes: &[u8]) -> Vec<u8> {
    let mut body = extent(at, u32::try_from(bytes.len()).unwrap());
    body.extend(bytes);
    body
}

fn hole(at: u64, length: u64) -> Vec<u8> {
    let mut body = vec![0; 8];
    body.extend(at.to_ne_bytes());
    body.extend(length.to_ne_bytes());
    body.extend(3_u32.to_ne_bytes());
    body.resize(32, 0);
    body
}

fn profile(name: &str) -> Profile {
    Profile::named(Path::new(name)).unwrap()
}

/// Serves a disk while `with` acts as the kernel. Returns the result. The owner closes after it.
fn served(
    profile: &Profile,
    faults: Faults,
    with: impl FnOnce(Kernel),
) -> Result<Served, FuseError> {
    let pair = |flags| socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
    let (kernel, device) = pair(SocketFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&device, true).unwrap();
    let (owner, line) = pair(SocketFlags::CLOEXEC).unwrap();
    rustix::io::ioctl_fionbio(&line, true).unwrap();
    thread::scope(|threads| {
        let serving = threads.spawn(move || {
            let contents = Box::new(Memory::new());
            let mut disk = Disk::new(profile, Some(Bytes(SIZE)), contents, faults);
            let discards = profile.timing.discards();
            Fuse::new(&mut disk, device, discards).serve(&mut Mute(line))
        });
        with(Kernel(kernel));
        drop(owner);
        serving.join().unwrap()
    })
}

#[test]
fn the_file_has_the_size_of_the_disk_and_keeps_writes() {
    let content: Vec<u8> = (0..65536_u32)
        .map(|n| u8::try_from(n % 251).unwrap())
        .collect();
    let end = served(&profile("nvme"), Faults::none(), |kernel| {
        kernel.begin();
        let (_, reply) = kernel.request(GETATTR, &[0; 16]);
        assert_eq!(reply[24..32], SIZE.to_ne_bytes());
        // Many requests in flight. Replies arrive in the order of completion.
        for part in 0..16_u32 {
            let at = part as usize * 4096;
            let body = writing(at as u64, &content[at..at + 4096]);
            kernel.send(WRITE, u64::from(part) + 100, &body);
        }
        let mut answered: Vec<u64> = (0..16)
            .map(|_| {
                let (unique, error, reply) = kernel.next_reply();
                assert_eq!((error, &reply[..4]), (0, &4096_u32.to_ne_bytes()[..]));
                unique
            })
            .collect();
        answered.sort_unstable();
        assert_eq!(answered, (100..116).collect::<Vec<u64>>());
        assert_eq!(kernel.request(FSYNC, &[0; 16]).0, 0);
        assert_eq!(
            kernel.request(READ, &extent(0, 65536)),
            (0, content.clone())
        );
        assert_eq!(kernel.request(FALLOCATE, &hole(4096, 8192)).0, 0);
        let (_, holed) = kernel.request(READ, &extent(0, 65536));
        assert!(holed[4096..12288].iter().all(|byte| *byte == 0));
        assert!(holed[..4096] == content[..4096] && holed[12288..] == content[12288..]);
        // The file has the size of the disk.
        assert_eq!(
            kernel.request(READ, &extent(SIZE - 4096, 8192)).1.len(),
            4096
        );
        assert_eq!(kernel.request(READ, &extent(SIZE, 4096)), (0, Vec::new()));
    });
    let served = end.unwrap();
    assert_eq!((served.reads, served.writes, served.flushes), (3, 16, 1));
    assert_eq!((served.others, served.errors), (1, 0));
}

#[test]
fn an_invalid_request_fails_and_the_next_succeeds() {
    let end = served(&profile("laptop-4200-2004"), Faults::none(), |kernel| {
        kernel.begin();
        let refused = |number, body: &[u8]| kernel.request(number, body).0;
        assert_eq!(refused(READ, &extent(100, 512)), invalid());
        assert_eq!(refused(WRITE, &writing(0, b"abc")), invalid());
        assert_eq!(refused(WRITE, &writing(SIZE, &[1; 512])), io_error());
        // A hard disk does not support discard, and the file's attributes are constant.
        assert_eq!(
            refused(FALLOCATE, &hole(0, 4096)),
            Errno::OPNOTSUPP.raw_os_error()
        );
        assert_eq!(refused(SETATTR, &[0; 88]), Errno::NOSYS.raw_os_error());
        assert_eq!(refused(READ, &extent(0, 512)), 0);
    });
    assert_eq!(end.unwrap().errors, 0);
}

fn invalid() -> i32 {
    Errno::INVAL.raw_os_error()
}

fn io_error() -> i32 {
    Errno::IO.raw_os_error()
}

#[test]
fn a_reply_waits_for_its_completion_time() {
    let profile = profile("laptop-4200-2004");
    let end = served(&profile, Faults::none(), |kernel| {
        kernel.begin();
        let began = Instant::now();
        for block in 0..8_u64 {
            let at = (block * 37 % 64) * 8192;
            assert_eq!(kernel.request(WRITE, &writing(at, &[1; 4096])).0, 0);
        }
        assert_eq!(kernel.request(FSYNC, &[0; 16]).0, 0);
        // Not before one revolution of the disk, on a machine of any speed.
        assert!(began.elapsed().as_secs_f64() > 60.0 / 4200.0);
    });
    assert_eq!(end.unwrap().writes, 8);
}

#[test]
fn a_fault_fails_only_its_request() {
    let plan = "[[error]]\nat = \"8K\"\nlength = \"4K\"\non = [\"read\"]\n";
    let faults = Faults::new(FaultPlan::parse(plan).unwrap());
    let end = served(&profile("null"), faults, |kernel| {
        kernel.begin();
        assert_eq!(kernel.request(READ, &extent(8192, 4096)).0, io_error());
        assert_eq!(kernel.request(READ, &extent(4096, 4096)).0, 0);
    });
    assert_eq!(end.unwrap().errors, 1);
}

#[test]
fn the_server_ends_on_unmount_owner_exit_or_malformed_input() {
    let null = profile("null");
    // The kernel closes its end while the owner is connected.
    assert!(served(&null, Faults::none(), drop).is_ok());
    let (sender, receiver) = std::sync::mpsc::channel();
    let end = served(&null, Faults::none(), |kernel| sender.send(kernel).unwrap());
    assert!(end.is_ok(), "the owner has gone, the kernel has not");
    drop(receiver);
    let end = served(&null, Faults::none(), |kernel| {
        write(&kernel.0, &[1; 48]).unwrap();
        assert!(read(&kernel.0, &mut [0; 64]).is_ok_and(|length| length == 0));
    });
    let error = end.unwrap_err();
    assert!(matches!(error, FuseError::Malformed(_)), "{error}");
    assert!(error.to_string().contains("48 bytes"), "{error}");
}
