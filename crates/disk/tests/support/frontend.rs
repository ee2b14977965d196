//! A vhost-user-blk client in the role of a guest: memory, one ring, and requests.

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::Ordering;
use vm_memory::{Bytes, FileOffset, GuestAddress, GuestMemoryMmap};

/// Entries of the ring.
pub const PLACES: u16 = 256;

/// Bytes of the guest's memory.
const MEMORY: u32 = 64 << 20;

/// Addresses of the parts of the ring.
const TABLE: u64 = 0;
const AVAILABLE: u64 = 0x4000;
const USED: u64 = 0x6000;

/// Addresses and spacing of the requests: header, status, and data one page later.
const REQUESTS: u64 = 0x1_0000;
const SPACING: u64 = 0x2_0000;

/// Number of requests with a place in memory.
pub const QUEUE_SIZE: u16 = 64;

/// Address of the guest's memory in the client's address space. It differs from the guest address.
const USER: u64 = 0x7000_0000_0000;

/// Features that the client accepts if offered: protocol features, version 1, flush.
const FEATURES: u64 = 1 << 30 | 1 << 32 | 1 << 9;

/// Request numbers.
pub const READ: u32 = 0;
pub const WRITE: u32 = 1;
pub const FLUSH: u32 = 4;
pub const NAME: u32 = 8;
pub const DISCARD: u32 = 11;

/// Converts 64-bit fields of a message to bytes.
pub fn words(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

/// Converts 32-bit fields of a message to bytes.
pub fn halves(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_ne_bytes()).collect()
}

pub fn send(line: &UnixStream, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let sent = sendmsg(
        line,
        &[IoSlice::new(bytes)],
        &mut control,
        SendFlags::NOSIGNAL,
    )?;
    assert_eq!(sent, bytes.len());
    Ok(())
}

/// Receives a number of bytes and the descriptors that arrive with them.
pub fn receive(line: &UnixStream, bytes: &mut [u8]) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(bytes)];
    let got = recvmsg(line, &mut parts, &mut control, RecvFlags::WAITALL)?;
    if got.bytes != bytes.len() {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(descriptors)
}

/// A guest with one disk.
pub struct Frontend {
    line: UnixStream,
    pub memory: GuestMemoryMmap<()>,
    /// Back channel for notifications, or none if they use a descriptor.
    pub back: Option<UnixStream>,
    kick: File,
    call: File,
    available: u16,
    used: u16,
    free: Vec<u16>,
}

impl Frontend {
    /// Connects and sends all setup messages. In virtual time, notifications are messages.
    pub fn connect(socket: &Path, in_band: bool) -> io::Result<Self> {
        let mut frontend = Self::bare(socket)?;
        frontend.set_up(in_band)?;
        Ok(frontend)
    }

    /// Connects without setup.
    pub fn bare(socket: &Path) -> io::Result<Self> {
        let file = File::from(memfd_create("guest", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, MEMORY.into())?;
        let range = (
            GuestAddress(0),
            MEMORY as usize,
            Some(FileOffset::new(file, 0)),
        );
        let event = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Self {
            line: UnixStream::connect(socket)?,
            memory: GuestMemoryMmap::from_ranges_with_files([range]).unwrap(),
            back: None,
            kick: event()?.into(),
            call: event()?.into(),
            available: 0,
            used: 0,
            free: (0..QUEUE_SIZE).rev().collect(),
        })
    }

    fn set_up(&mut self, in_band: bool) -> io::Result<()> {
        let protocol = 1 << 3 | if in_band { 1 << 5 | 1 << 14 } else { 0 };
        self.ask(3, &[], &[])?;
        let offered = self.question(1, &[])?;
        let offered = u64::from_ne_bytes(offered.try_into().unwrap());
        self.ask(2, &words(&[FEATURES & offered]), &[])?;
        self.question(15, &[])?;
        self.ask(16, &words(&[protocol]), &[])?;
        if in_band {
            let (ours, theirs) = UnixStream::pair()?;
            self.send_message(21, &[], &[theirs.as_fd()])?;
            self.back = Some(ours);
        }
        self.send_memory_table()?;
        self.send_message(8, &halves(&[0, PLACES.into()]), &[])?;
        self.send_message(10, &halves(&[0, 0]), &[])?;
        let places = [0, USER + TABLE, USER + USED, USER + AVAILABLE, 0];
        self.send_message(9, &words(&places), &[])?;
        if !in_band {
            let (kick, call) = (self.kick.try_clone()?, self.call.try_clone()?);
            self.send_message(13, &words(&[0]), &[call.as_fd()])?;
            self.send_message(12, &words(&[0]), &[kick.as_fd()])?;
        }
        self.send_message(18, &halves(&[0, 1]), &[])
    }

    pub fn send_memory_table(&mut self) -> io::Result<()> {
        use vm_memory::{GuestMemoryBackend, GuestMemoryRegion};
        let region = self.memory.iter().next().unwrap();
        let file = region.file_offset().unwrap().file().try_clone()?;
        let table = words(&[1, 0, MEMORY.into(), USER, 0]);
        self.ask(5, &table, &[file.as_fd()])
    }

    /// Sends a message without a reply.
    pub fn ask(
        &mut self,
        number: u32,
        payload: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut bytes = halves(&[number, 1, u32::try_from(payload.len()).unwrap()]);
        bytes.extend(payload);
        send(&self.line, &bytes, descriptors)
    }

    /// Sends a message and reads its reply.
    pub fn question(&mut self, number: u32, payload: &[u8]) -> io::Result<Vec<u8>> {
        self.ask(number, payload, &[])?;
        self.answer()
    }

    /// Sends a message and waits for its acknowledgement.
    pub fn send_message(
        &mut self,
        number: u32,
        payload: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let mut bytes = halves(&[number, 1 | 8, u32::try_from(payload.len()).unwrap()]);
        bytes.extend(payload);
        send(&self.line, &bytes, descriptors)?;
        assert_eq!(self.answer()?, words(&[0]));
        Ok(())
    }

    /// Reads the reply to the last message.
    pub fn answer(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 12];
        self.line.read_exact(&mut head)?;
        assert_eq!(u32::from_ne_bytes(head[4..8].try_into().unwrap()), 5);
        let length = u32::from_ne_bytes(head[8..12].try_into().unwrap());
        let mut payload = vec![0; length as usize];
        self.line.read_exact(&mut payload)?;
        Ok(payload)
    }

    /// Adds a request to the ring: with data to write, or with a number of bytes to read. Returns
    /// its identifier, or none if the ring is full.
    pub fn put(&mut self, kind: u32, sector: u64, data: &[u8], read: u32) -> Option<u16> {
        let slot = self.free.pop()?;
        let at = REQUESTS + u64::from(slot) * SPACING;
        let mut head = halves(&[kind, 0]);
        head.extend(words(&[sector]));
        self.write_bytes(at, &head);
        self.write_bytes(at + 16, &[0xff]);
        self.write_bytes(at + 0x1000, data);
        let first = slot * 3;
        let (next, write) = (1, 2);
        let length = u32::try_from(data.len()).unwrap();
        let mut chain = vec![(at, 16, next)];
        if length > 0 {
            chain.push((at + 0x1000, length, next));
        } else if read > 0 {
            chain.push((at + 0x1000, read, next | write));
        }
        chain.push((at + 16, 1, write));
        for (number, (at, length, flags)) in (first..).zip(&chain) {
            self.descriptor(number, *at, *length, *flags, number + 1);
        }
        self.offer(first);
        Some(first)
    }

    pub fn descriptor(&self, number: u16, at: u64, length: u32, flags: u16, next: u16) {
        let mut bytes = words(&[at]);
        bytes.extend(length.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend(next.to_ne_bytes());
        self.write_bytes(TABLE + u64::from(number) * 16, &bytes);
    }

    /// Makes a chain available to the disk.
    pub fn offer(&mut self, head: u16) {
        let place = u64::from(self.available % PLACES);
        self.write_bytes(AVAILABLE + 4 + place * 2, &head.to_ne_bytes());
        self.available = self.available.wrapping_add(1);
        let at = GuestAddress(AVAILABLE + 2);
        self.memory
            .store(self.available, at, Ordering::Release)
            .unwrap();
    }

    /// Notifies the disk of new requests, if it requires that.
    pub fn kick(&mut self) -> io::Result<()> {
        if self.back.is_some() {
            return self.send_message(35, &halves(&[0, 0]), &[]);
        }
        std::sync::atomic::fence(Ordering::SeqCst);
        let flags: u16 = self
            .memory
            .load(GuestAddress(USED), Ordering::Acquire)
            .unwrap();
        if flags & 1 == 0 {
            self.kick.write_all(&1_u64.to_ne_bytes())?;
        }
        Ok(())
    }

    /// Returns the next completion: identifier, status, and the data read.
    pub fn completed(&mut self, length: usize) -> Vec<(u16, u8, Vec<u8>)> {
        let end: u16 = self
            .memory
            .load(GuestAddress(USED + 2), Ordering::Acquire)
            .unwrap();
        let mut completed = Vec::new();
        while self.used != end {
            let place = u64::from(self.used % PLACES);
            let head: u32 = self
                .memory
                .read_obj(GuestAddress(USED + 4 + place * 8))
                .unwrap();
            let head = u16::try_from(head).unwrap();
            self.used = self.used.wrapping_add(1);
            self.free.push(head / 3);
            let at = REQUESTS + u64::from(head / 3) * SPACING;
            let status = self.memory.read_obj(GuestAddress(at + 16)).unwrap();
            let mut data = vec![0; length];
            self.memory
                .read_slice(&mut data, GuestAddress(at + 0x1000))
                .unwrap();
            completed.push((head, status, data));
        }
        completed
    }

    /// Waits for a notification of the disk. Returns false if the connection has closed.
    pub fn wait(&mut self) -> io::Result<()> {
        let time = Timespec {
            tv_sec: 60,
            tv_nsec: 0,
        };
        let mut lines = [
            PollFd::new(&self.call, PollFlags::IN),
            PollFd::new(&self.line, PollFlags::IN),
        ];
        poll(&mut lines, Some(&time))?;
        if !lines[1].revents().is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let mut count = [0; 8];
        match self.call.read(&mut count) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Err(ErrorKind::TimedOut.into()),
            read => read.map(drop),
        }
    }

    /// Runs one request. Returns its status and the data read.
    pub fn request(
        &mut self,
        kind: u32,
        sector: u64,
        data: &[u8],
        read: u32,
    ) -> io::Result<(u8, Vec<u8>)> {
        self.put(kind, sector, data, read);
        self.kick()?;
        loop {
            if let Some((_, status, data)) = self.completed(read as usize).pop() {
                return Ok((status, data));
            }
            self.wait()?;
        }
    }

    fn write_bytes(&self, at: u64, bytes: &[u8]) {
        self.memory.write_slice(bytes, GuestAddress(at)).unwrap();
    }
}
