//! Requests of FUSE: every answer names a request, has the length in its header, and a request is
//! answered once at most.

use super::disk::NULL;
use crate::bytes::Input;
use fsdyno_disk::transports::fuse::{Fuse, Owner};
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_disk::{Disk, Faults, Memory, StoreError};
use fsdyno_model::{Bytes, Nanos};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, recv, send, shutdown,
    socketpair,
};
use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The most requests of an input; fewer than a socket holds.
const MOST: usize = 32;

/// Bytes of the disk.
const SIZE: u64 = 1 << 16;

/// An owner that never speaks.
struct Silent(OwnedFd);

impl Owner for Silent {
    fn line(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    fn receive(&mut self, _: &mut Disk, _: Served, _: Nanos) -> Result<bool, StoreError> {
        Ok(true)
    }
}

fn pair() -> (OwnedFd, OwnedFd) {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("a pair of sockets")
}

pub fn check(input: &[u8]) {
    let (kernel, device) = pair();
    let (_owner, line) = pair();
    let mut requested: HashMap<u64, u32> = HashMap::new();
    let mut input = Input(input);
    let discards = input.u8() % 2 == 0;
    for _ in 0..MOST {
        if input.is_empty() {
            break;
        }
        // Half of the requests have the length in their header.
        let whole = input.u8() % 2 == 0;
        let mut request = input.part().to_vec();
        if request.is_empty() {
            continue;
        }
        if whole && request.len() >= 4 {
            let length = u32::try_from(request.len()).unwrap_or(u32::MAX);
            request[..4].copy_from_slice(&length.to_ne_bytes());
        }
        if send(&kernel, &request, SendFlags::NOSIGNAL).is_err() {
            break;
        }
        if let Some(name) = request.get(8..16) {
            *requested.entry(number(name)).or_default() += 1;
        }
    }
    shutdown(&kernel, Shutdown::Write).expect("a socket");
    let contents = Box::new(Memory::new());
    let mut disk = Disk::new(&NULL, Some(Bytes(SIZE)), contents, Faults::none());
    let _ = Fuse::new(&mut disk, device, discards).serve(&mut Silent(line));
    answers(&kernel, requested);
}

/// Takes all answers.
fn answers(kernel: &OwnedFd, mut requested: HashMap<u64, u32>) {
    let mut answer = vec![0; 1 << 17];
    loop {
        let length = match recv(kernel, &mut answer, RecvFlags::DONTWAIT) {
            Ok((_, 0)) | Err(Errno::AGAIN | Errno::CONNRESET) => return,
            Ok((_, length)) => length,
            Err(error) => panic!("{error}"),
        };
        assert!(length >= 16, "an answer of {length} bytes");
        let stated = u32::from_ne_bytes(answer[..4].try_into().expect("four bytes"));
        assert_eq!(stated as usize, length);
        let error = i32::from_ne_bytes(answer[4..8].try_into().expect("four bytes"));
        assert!((-4095..=0).contains(&error), "error {error}");
        assert!(error == 0 || length == 16);
        let left = requested
            .get_mut(&number(&answer[8..16]))
            .expect("a request of that name");
        assert!(*left > 0, "answered twice");
        *left -= 1;
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(bytes.try_into().expect("eight bytes"))
}
