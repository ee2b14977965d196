//! One connection of a guest: its setup messages and its ring.
//!
//! `real` and the calendar decide when to read messages and when completions are due.

use super::features::{self, Offer};
use super::memory::{Memory, MemoryError};
use super::ring::{Ring, RingError, Served};
use super::wire::{self, FrontendRequest, Message, WireError};
use crate::disk::Disk;
use crate::request::Completion;
use crate::transports::stream::{self, StreamError, Timeout};
use fsdyno_files::uninterrupted;
use fsdyno_model::Nanos;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Flag in a ring number: the message has no descriptor.
const NO_DESCRIPTOR: u64 = 1 << 8;

#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// A malformed message, or a connection error.
    #[error(transparent)]
    Wire(#[from] WireError),
    #[error(transparent)]
    Memory(#[from] MemoryError),
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The guest used a feature that was not offered.
    #[error("it requested {what}, which was not offered")]
    NotOffered { what: String },
    /// The setup messages arrived in an invalid order.
    #[error("it {did} before {missing}")]
    TooSoon {
        did: &'static str,
        /// The message that must come first.
        missing: &'static str,
    },
    #[error("it named ring {0}, and there is one, ring 0")]
    NoSuchRing(u64),
}

impl From<StreamError> for ConnectionError {
    fn from(error: StreamError) -> Self {
        Self::Wire(error.into())
    }
}

#[derive(Debug, Default)]
pub struct RequiredActions {
    /// Send this reply, or none if the guest does not wait for one.
    reply: Option<Vec<u8>>,
    /// The guest has added entries to its ring.
    pub kicked: bool,
    /// The guest stops the ring. Requests in flight complete before the reply.
    drain: bool,
}

#[derive(Debug)]
pub struct Connection {
    line: UnixStream,
    offer: Offer,
    memory: Option<Memory>,
    features: u64,
    protocol: u64,
    /// Addresses of descriptor table, used ring and available ring in the peer's address space.
    places: Option<[u64; 3]>,
    ring: Ring,
    back: Option<OwnedFd>,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
}

impl Connection {
    /// Creates the state of a new connection. `name` is the disk's serial.
    pub fn new(
        line: UnixStream,
        offer: Offer,
        name: &str,
        generation: u32,
    ) -> Result<Self, ConnectionError> {
        Ok(Self {
            line,
            offer,
            memory: None,
            features: 0,
            protocol: 0,
            places: None,
            ring: Ring::new(name, generation)?,
            back: None,
            kick: None,
            call: None,
        })
    }

    /// Descriptor to poll for messages.
    pub fn line(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }

    /// Descriptor to poll for kicks, if they are not messages.
    pub fn kicks(&self) -> Option<BorrowedFd<'_>> {
        self.kick.as_ref().map(AsFd::as_fd)
    }

    /// The back channel, if the guest set it up.
    pub fn back(&self) -> Option<BorrowedFd<'_>> {
        self.back.as_ref().map(AsFd::as_fd)
    }

    /// Request counters of this connection.
    pub fn served(&self) -> Served {
        self.ring.served
    }

    /// Reads the next message. Returns none if the guest closed the connection.
    pub fn receive(&self) -> Result<Option<Message>, ConnectionError> {
        Ok(wire::receive(&self.line, Timeout::SHORT)?)
    }

    pub fn carry_out(&mut self, message: Message) -> Result<RequiredActions, ConnectionError> {
        let (number, need_reply) = (message.number, message.need_reply);
        let mut carried = RequiredActions::default();
        let answer = self.answer(message, &mut carried)?;
        if let Some(payload) = answer {
            carried.reply = Some(wire::reply(number, &payload));
        } else if need_reply && self.protocol & features::REPLY_ACK != 0 {
            carried.reply = Some(wire::reply(number, &0_u64.to_ne_bytes()));
        }
        Ok(carried)
    }

    /// Executes a message that has a reply of its own.
    fn answer(
        &mut self,
        message: Message,
        carried: &mut RequiredActions,
    ) -> Result<Option<Vec<u8>>, ConnectionError> {
        let number = message.number;
        let Some(request) = message.request else {
            let what = format!("request {number} of vhost-user");
            return Err(ConnectionError::NotOffered { what });
        };
        match request {
            FrontendRequest::GetFeatures => {
                return Ok(Some(self.offer.features().to_ne_bytes().into()));
            }
            FrontendRequest::GetProtocolFeatures => {
                return Ok(Some(self.offer.protocol().to_ne_bytes().into()));
            }
            FrontendRequest::GetConfig => return self.config(&message).map(Some),
            FrontendRequest::GetVringBase => {
                Self::index(&message)?;
                carried.drain = true;
                // `reply` fills in the index after the ring has stopped.
                return Ok(Some(vec![0; 8]));
            }
            _ => {}
        }
        self.set_up(request, message, carried)?;
        Ok(None)
    }

    /// Executes a message whose only reply is an acknowledgement.
    fn set_up(
        &mut self,
        request: FrontendRequest,
        message: Message,
        carried: &mut RequiredActions,
    ) -> Result<(), ConnectionError> {
        match request {
            FrontendRequest::SetOwner
            | FrontendRequest::SetVringErr
            | FrontendRequest::GetFeatures
            | FrontendRequest::GetProtocolFeatures
            | FrontendRequest::GetConfig
            | FrontendRequest::GetVringBase => {}
            FrontendRequest::ResetOwner => self.rest(),
            FrontendRequest::SetFeatures => self.set_features(message.u64_at(0)?)?,
            FrontendRequest::SetProtocolFeatures => self.set_protocol(message.u64_at(0)?)?,
            FrontendRequest::SetMemTable => {
                self.memory = Some(Memory::map(message)?);
                self.settle()?;
            }
            FrontendRequest::SetVringNum => {
                let places = message.u32_at(4)?;
                Self::index(&message)?;
                self.ring.set_places(places)?;
            }
            FrontendRequest::SetVringBase => {
                let base = message.u32_at(4)?;
                Self::index(&message)?;
                // The indices of a split ring wrap at 2^16.
                self.ring
                    .set_base(u16::try_from(base).map_err(|_| RingError::Misplaced)?);
            }
            FrontendRequest::SetVringAddr => {
                Self::index(&message)?;
                let at = |place| message.u64_at(place);
                self.places = Some([at(8)?, at(16)?, at(24)?]);
                self.settle()?;
            }
            FrontendRequest::SetVringKick => {
                self.kick = Self::descriptor(message)?;
                if !features::has_protocol(self.features) {
                    self.enable(true)?;
                }
                carried.kicked = self.ring.is_enabled();
            }
            FrontendRequest::SetVringCall => self.call = Self::descriptor(message)?,
            FrontendRequest::SetVringEnable => {
                let yes = message.u32_at(4)? != 0;
                Self::index(&message)?;
                self.enable(yes)?;
                carried.kicked = yes;
            }
            FrontendRequest::SetBackendReqFd => self.back = message.descriptors.into_iter().next(),
            FrontendRequest::SetConfig => {
                let cache = features::requested_write_cache(&message.payload, message.number)?;
                self.ring.write_through = !cache;
            }
            FrontendRequest::VringKick => {
                Self::index(&message)?;
                carried.kicked = true;
            }
        }
        Ok(())
    }

    fn set_features(&mut self, accepted: u64) -> Result<(), ConnectionError> {
        if !self.offer.allows(accepted) {
            let what = format!("features {:#x}", accepted & !self.offer.features());
            return Err(ConnectionError::NotOffered { what });
        }
        self.features = accepted;
        self.ring
            .set_event_index(features::has_event_index(accepted));
        Ok(())
    }

    fn set_protocol(&mut self, accepted: u64) -> Result<(), ConnectionError> {
        let beyond = accepted & !self.offer.protocol();
        if beyond != 0 {
            let what = format!("protocol features {beyond:#x}");
            return Err(ConnectionError::NotOffered { what });
        }
        self.protocol = accepted;
        Ok(())
    }

    fn config(&self, message: &Message) -> Result<Vec<u8>, ConnectionError> {
        let (offset, length) = (message.u32_at(0)?, message.u32_at(4)?);
        let cache = self.offer.cache && !self.ring.write_through;
        let space = self.offer.space(offset, length, cache);
        let space = space.ok_or_else(|| ConnectionError::NotOffered {
            what: format!("{length} bytes of configuration at {offset}"),
        })?;
        let mut payload = Vec::with_capacity(12 + space.len());
        for field in [offset, length, 0] {
            payload.extend(field.to_ne_bytes());
        }
        payload.extend(space);
        Ok(payload)
    }

    /// Checks the ring number of a message.
    fn index(message: &Message) -> Result<(), ConnectionError> {
        match message.u32_at(0)? {
            0 => Ok(()),
            other => Err(ConnectionError::NoSuchRing(other.into())),
        }
    }

    fn descriptor(message: Message) -> Result<Option<OwnedFd>, ConnectionError> {
        let word = message.u64_at(0)?;
        if word & !NO_DESCRIPTOR != 0 {
            return Err(ConnectionError::NoSuchRing(word));
        }
        Ok(message
            .descriptors
            .into_iter()
            .next()
            .filter(|_| word & NO_DESCRIPTOR == 0))
    }

    /// Sets the ring's addresses when both these and the memory table are known.
    fn settle(&mut self) -> Result<(), ConnectionError> {
        let (Some(memory), Some(places)) = (&self.memory, self.places) else {
            return Ok(());
        };
        let mut addresses = places.into_iter().map(|user| memory.guest_address(user));
        match (addresses.next(), addresses.next(), addresses.next()) {
            (Some(Some(table)), Some(Some(used)), Some(Some(available))) => {
                Ok(self.ring.place(table, available, used)?)
            }
            _ => Err(RingError::Misplaced.into()),
        }
    }

    fn enable(&mut self, yes: bool) -> Result<(), ConnectionError> {
        let Some(memory) = &self.memory else {
            if !yes {
                return Ok(());
            }
            return Err(ConnectionError::TooSoon {
                did: "enabled the ring",
                missing: "the table of the guest's memory was set",
            });
        };
        if yes && self.places.is_none() {
            return Err(ConnectionError::TooSoon {
                did: "enabled the ring",
                missing: "the ring's addresses were set",
            });
        }
        Ok(self.ring.enable(memory, yes)?)
    }

    fn rest(&mut self) {
        if let Some(memory) = &self.memory {
            // Disabling a ring checks nothing and cannot fail.
            let _ = self.ring.enable(memory, false);
        }
    }

    /// Sends the reply of a message. Stops the ring first if the guest requested that.
    pub fn reply(
        &mut self,
        carried: RequiredActions,
        disk: &mut Disk,
    ) -> Result<(), ConnectionError> {
        let Some(mut reply) = carried.reply else {
            return Ok(());
        };
        if carried.drain {
            self.drain(disk)?;
            let base = u32::from(self.ring.base()).to_ne_bytes();
            let end = reply.len();
            reply[end - 4..].copy_from_slice(&base);
        }
        Ok(stream::send(&self.line, &reply, &[], Timeout::SHORT)?)
    }

    /// Completes all requests in flight without a delay and disables the ring.
    fn drain(&mut self, disk: &mut Disk) -> Result<(), ConnectionError> {
        while let Some(next) = disk.next_completion() {
            self.complete(disk, next)?;
        }
        self.rest();
        self.kick = None;
        Ok(())
    }

    /// Submits new chains of the ring to the disk. Returns their number.
    pub fn take(&mut self, disk: &mut Disk, now: Nanos) -> Result<usize, ConnectionError> {
        match &self.memory {
            Some(memory) => Ok(self.ring.take(memory, disk, now)?),
            None => Ok(0),
        }
    }

    /// Whether completions without the disk need an immediate notification.
    pub fn has_answered(&self) -> bool {
        self.ring.has_answered()
    }

    /// Adds the completions up to `now` to the used ring. Returns them in order, and whether the
    /// guest needs a notification.
    pub fn complete(
        &mut self,
        disk: &mut Disk,
        now: Nanos,
    ) -> Result<(Vec<Completion>, bool), ConnectionError> {
        let mut completed = Vec::new();
        let answered = self.ring.has_answered();
        if let Some(memory) = &self.memory {
            self.ring.publish_answered(memory)?;
        }
        while let Some(completion) = disk.complete(now).map_err(RingError::from)? {
            if let Some(memory) = &self.memory {
                self.ring.complete(&completion, memory, disk)?;
            }
            completed.push(completion);
        }
        let something = answered || !completed.is_empty();
        let call = match &self.memory {
            Some(memory) if something => self.ring.needs_call(memory)?,
            _ => false,
        };
        Ok((completed, call))
    }

    /// Reads and clears the kick counter.
    pub fn clear_kicks(&self) -> Result<(), ConnectionError> {
        let mut count = [0; 8];
        match self
            .kick
            .as_ref()
            .map(|kick| uninterrupted(|| rustix::io::read(kick, &mut count)))
        {
            None | Some(Ok(_) | Err(rustix::io::Errno::AGAIN)) => Ok(()),
            Some(Err(error)) => Err(StreamError::from(error).into()),
        }
    }

    /// Notifies the guest through its call descriptor.
    pub fn call(&self) -> Result<(), ConnectionError> {
        let one = 1_u64.to_ne_bytes();
        let write = |call| uninterrupted(|| rustix::io::write(call, &one));
        match self.call.as_ref().map(write) {
            // A full counter has notified the guest already.
            None | Some(Ok(_) | Err(rustix::io::Errno::AGAIN)) => Ok(()),
            Some(Err(error)) => Err(StreamError::from(error).into()),
        }
    }

    /// Notifies the guest by a back-channel message. Returns whether the guest sends an
    /// acknowledgement.
    pub fn call_in_band(&self) -> Result<bool, ConnectionError> {
        let Some(back) = &self.back else {
            return Ok(false);
        };
        stream::send(back, &wire::ring_call(0), &[], Timeout::SHORT)?;
        Ok(true)
    }

    /// Reads the acknowledgement of the notification.
    pub fn called(&self) -> Result<(), ConnectionError> {
        if let Some(back) = &self.back
            && !wire::ring_called(back, Timeout::SHORT)?
        {
            return Err(ConnectionError::NoSuchRing(0));
        }
        Ok(())
    }
}
