//! Messages of vhost-user, and the ring that they set up: a guest that lays anything anywhere is
//! answered or ends its connection, and what it began completes.

use super::disk::NULL;
use crate::bytes::Input;
use fsdyno_disk::transports::vhost_user::{Connection, Offer};
use fsdyno_disk::{Disk, Faults, Memory};
use fsdyno_model::Bytes;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use std::fs::File;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

/// The most messages of an input; their answers fit the socket.
const MOST: usize = 64;

/// Bytes of the guest's memory.
const MEMORY: u64 = 1 << 16;

/// Bytes of the disk.
const SIZE: u64 = 1 << 17;

pub fn check(input: &[u8]) {
    let mut input = Input(input);
    let flags = input.u8();
    let memory = File::from(memfd_create("guest", MemfdFlags::CLOEXEC).expect("a memfd"));
    ftruncate(&memory, MEMORY).expect("a memfd");
    // The contents of the memory: pieces, each with its place.
    for _ in 0..input.u8() {
        let at = u64::from(input.u16());
        memory.write_all_at(input.part(), at).expect("memory");
    }
    ftruncate(&memory, MEMORY).expect("a memfd");
    let contents = Box::new(Memory::new());
    let mut disk = Disk::new(&NULL, Some(Bytes(SIZE)), contents, Faults::none());
    let offer = Offer {
        sectors: disk.sectors(),
        cache: flags & 1 != 0,
        discards: flags & 2 != 0,
        in_band: flags & 4 != 0,
    };
    let (guest, line) = UnixStream::pair().expect("a pair of sockets");
    line.set_nonblocking(true).expect("a socket");
    let mut connection = Connection::new(line, offer, "fuzzed", 1).expect("a connection");
    send_all(&guest, &memory, &mut input);
    guest.shutdown(Shutdown::Write).expect("a socket");
    serve(&mut connection, &mut disk);
    // A request that was taken completes in any case.
    while let Some(next) = disk.next_completion() {
        while disk
            .complete(next)
            .expect("contents are in memory")
            .is_some()
        {}
    }
    assert_eq!(disk.in_flight(), 0);
    answers(&guest);
}

/// Sends the messages of the input: of each the number, the flags, whether the guest's memory comes
/// with it, and the payload.
fn send_all(guest: &UnixStream, memory: &File, input: &mut Input<'_>) {
    for _ in 0..MOST {
        if input.is_empty() {
            return;
        }
        let (number, flags, how) = (input.u8(), input.u8(), input.u8());
        let payload = input.part();
        let mut message = Vec::new();
        message.extend(u32::from(number).to_ne_bytes());
        message.extend(u32::from(flags).to_ne_bytes());
        message.extend(
            u32::try_from(payload.len())
                .unwrap_or(u32::MAX)
                .to_ne_bytes(),
        );
        message.extend(payload);
        let descriptors = vec![memory.as_fd(); usize::from(how % 4)];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if sendmsg(guest, &[IoSlice::new(&message)], &mut control, flags).is_err() {
            return;
        }
    }
}

/// Serves the connection until it ends, as the transports do, but for the waits.
fn serve(connection: &mut Connection, disk: &mut Disk) {
    while let Ok(Some(message)) = connection.receive() {
        let Ok(carried) = connection.carry_out(message) else {
            return;
        };
        let kicked = carried.kicked;
        if connection.reply(carried, disk).is_err() {
            return;
        }
        if !kicked {
            continue;
        }
        let now = disk.next_completion().unwrap_or_default();
        if connection.take(disk, now).is_err() {
            return;
        }
        while connection.has_answered() || disk.next_completion().is_some() {
            let now = disk.next_completion().unwrap_or_default();
            match connection.complete(disk, now) {
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }
}

/// Takes what was answered: whole messages, marked as answers.
fn answers(guest: &UnixStream) {
    let mut bytes = vec![0; 1 << 17];
    let mut filled = 0;
    loop {
        match recv(guest, &mut bytes[filled..], RecvFlags::DONTWAIT) {
            Ok((_, 0)) | Err(Errno::AGAIN | Errno::CONNRESET) => break,
            Ok((_, length)) => filled += length,
            Err(error) => panic!("{error}"),
        }
    }
    let mut rest = &bytes[..filled];
    while !rest.is_empty() {
        let field =
            |at: usize| u32::from_ne_bytes(rest[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(field(4) & 7, 5, "version 1, an answer");
        rest = &rest[12 + field(8) as usize..];
    }
}
