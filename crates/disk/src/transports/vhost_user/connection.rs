//! One connection of a front end: what it sets up, message by message, and its ring.
//!
//! When messages are heard and when completions are due is the business of those who keep the
//! time: `real` and the calendar.

use super::features::{self, Offer};
use super::memory::{Memory, MemoryError};
use super::ring::{Ring, RingError, Served};
use super::wire::{self, Ask, Message, WireError};
use crate::disk::Disk;
use crate::request::Completion;
use crate::transports::stream::{self, Patience, StreamError};
use fsdyno_model::Nanos;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Of the number of a ring that comes with a descriptor: there is none.
const NO_DESCRIPTOR: u64 = 1 << 8;

/// Why a connection ended before its front end closed it.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// What came is no message, or the line broke.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The guest's memory is not what it was said to be.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The ring cannot be served.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// It asked for something that was not offered.
    #[error("it asked for {what}, which was not offered")]
    NotOffered {
        /// What.
        what: String,
    },
    /// It set things up in an order that makes no sense.
    #[error("it {did} before {missing}")]
    TooSoon {
        /// What it did.
        did: &'static str,
        /// What should have come first.
        missing: &'static str,
    },
    /// A ring of that number is none of ours.
    #[error("it named ring {0}, and there is one, ring 0")]
    NoSuchRing(u64),
}

impl From<StreamError> for ConnectionError {
    fn from(error: StreamError) -> Self {
        Self::Wire(error.into())
    }
}

/// What is to be done about a message that was carried out.
#[derive(Debug, Default)]
pub struct Carried {
    /// What is answered; nothing where nobody waits for an answer.
    reply: Option<Vec<u8>>,
    /// The guest says that there is something in its ring.
    pub kicked: bool,
    /// The ring is given back: what is under way is to be completed first.
    drain: bool,
}

/// A connection.
#[derive(Debug)]
pub struct Connection {
    line: UnixStream,
    offer: Offer,
    memory: Option<Memory>,
    features: u64,
    protocol: u64,
    /// Where the front end sees table, used ring and available ring.
    places: Option<[u64; 3]>,
    ring: Ring,
    back: Option<OwnedFd>,
    kick: Option<OwnedFd>,
    call: Option<OwnedFd>,
}

impl Connection {
    /// A front end that has just connected. `name` is what the disk calls itself.
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

    /// What to wait on for messages.
    pub fn line(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }

    /// What to wait on for kicks, where they are no messages.
    pub fn kicks(&self) -> Option<BorrowedFd<'_>> {
        self.kick.as_ref().map(AsFd::as_fd)
    }

    /// The channel of the disk's own, where there is one.
    pub fn back(&self) -> Option<BorrowedFd<'_>> {
        self.back.as_ref().map(AsFd::as_fd)
    }

    /// What the disk was asked for over this connection.
    pub fn served(&self) -> Served {
        self.ring.served
    }

    /// The next message; none where the front end has closed the connection.
    pub fn receive(&self) -> Result<Option<Message>, ConnectionError> {
        Ok(wire::receive(&self.line, Patience::SHORT)?)
    }

    /// Carries a message out.
    pub fn carry_out(&mut self, message: Message) -> Result<Carried, ConnectionError> {
        let (number, need_reply) = (message.number, message.need_reply);
        let mut carried = Carried::default();
        let answer = self.answer(message, &mut carried)?;
        if let Some(payload) = answer {
            carried.reply = Some(wire::reply(number, &payload));
        } else if need_reply && self.protocol & features::REPLY_ACK != 0 {
            carried.reply = Some(wire::reply(number, &0_u64.to_ne_bytes()));
        }
        Ok(carried)
    }

    /// What a message is answered with, where it is more than an acknowledgement.
    fn answer(
        &mut self,
        message: Message,
        carried: &mut Carried,
    ) -> Result<Option<Vec<u8>>, ConnectionError> {
        let number = message.number;
        let Some(ask) = message.ask else {
            let what = format!("request {number} of vhost-user");
            return Err(ConnectionError::NotOffered { what });
        };
        match ask {
            Ask::GetFeatures => return Ok(Some(self.offer.features().to_ne_bytes().into())),
            Ask::GetProtocolFeatures => {
                return Ok(Some(self.offer.protocol().to_ne_bytes().into()));
            }
            Ask::GetConfig => return self.config(&message).map(Some),
            Ask::GetVringBase => {
                Self::index(&message)?;
                carried.drain = true;
                // The number is laid in once the ring has come to rest.
                return Ok(Some(vec![0; 8]));
            }
            _ => {}
        }
        self.set_up(ask, message, carried)?;
        Ok(None)
    }

    /// Carries out what is answered by an acknowledgement at most.
    fn set_up(
        &mut self,
        ask: Ask,
        message: Message,
        carried: &mut Carried,
    ) -> Result<(), ConnectionError> {
        match ask {
            Ask::SetOwner
            | Ask::SetVringErr
            | Ask::GetFeatures
            | Ask::GetProtocolFeatures
            | Ask::GetConfig
            | Ask::GetVringBase => {}
            Ask::ResetOwner => self.rest(),
            Ask::SetFeatures => self.set_features(message.u64_at(0)?)?,
            Ask::SetProtocolFeatures => self.set_protocol(message.u64_at(0)?)?,
            Ask::SetMemTable => {
                self.memory = Some(Memory::map(message)?);
                self.settle()?;
            }
            Ask::SetVringNum => {
                let places = message.u32_at(4)?;
                Self::index(&message)?;
                self.ring.set_places(places)?;
            }
            Ask::SetVringBase => {
                let base = message.u32_at(4)?;
                Self::index(&message)?;
                // Rings of this kind count to 2^16.
                self.ring
                    .set_base(u16::try_from(base).map_err(|_| RingError::Misplaced)?);
            }
            Ask::SetVringAddr => {
                Self::index(&message)?;
                let at = |place| message.u64_at(place);
                self.places = Some([at(8)?, at(16)?, at(24)?]);
                self.settle()?;
            }
            Ask::SetVringKick => {
                self.kick = Self::descriptor(message)?;
                if !features::has_protocol(self.features) {
                    self.enable(true)?;
                }
                carried.kicked = self.ring.is_enabled();
            }
            Ask::SetVringCall => self.call = Self::descriptor(message)?,
            Ask::SetVringEnable => {
                let yes = message.u32_at(4)? != 0;
                Self::index(&message)?;
                self.enable(yes)?;
                carried.kicked = yes;
            }
            Ask::SetBackendReqFd => self.back = message.descriptors.into_iter().next(),
            Ask::SetConfig => {
                let cache = features::cache_wish(&message.payload, message.number)?;
                self.ring.write_through = !cache;
            }
            Ask::VringKick => {
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

    /// The ring that a message names.
    fn index(message: &Message) -> Result<(), ConnectionError> {
        match message.u32_at(0)? {
            0 => Ok(()),
            other => Err(ConnectionError::NoSuchRing(other.into())),
        }
    }

    /// The descriptor that came for the ring.
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

    /// Lays the ring where it is, once that and the memory are known.
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
                missing: "it told of the guest's memory",
            });
        };
        if yes && self.places.is_none() {
            return Err(ConnectionError::TooSoon {
                did: "enabled the ring",
                missing: "it told where the ring lies",
            });
        }
        Ok(self.ring.enable(memory, yes)?)
    }

    /// The ring takes nothing any more.
    fn rest(&mut self) {
        if let Some(memory) = &self.memory {
            // Nothing is looked at where it ends.
            let _ = self.ring.enable(memory, false);
        }
    }

    /// Sends what a message is answered with; what has been given back is brought to rest first.
    pub fn reply(&mut self, carried: Carried, disk: &mut Disk) -> Result<(), ConnectionError> {
        let Some(mut reply) = carried.reply else {
            return Ok(());
        };
        if carried.drain {
            self.drain(disk)?;
            let base = u32::from(self.ring.base()).to_ne_bytes();
            let end = reply.len();
            reply[end - 4..].copy_from_slice(&base);
        }
        Ok(stream::send(&self.line, &reply, &[], Patience::SHORT)?)
    }

    /// Completes what is under way, however long it would have taken, and takes nothing any more.
    fn drain(&mut self, disk: &mut Disk) -> Result<(), ConnectionError> {
        while let Some(next) = disk.next_completion() {
            self.complete(disk, next)?;
        }
        self.rest();
        self.kick = None;
        Ok(())
    }

    /// Hands what lies in the ring to the disk; how many requests.
    pub fn take(&mut self, disk: &mut Disk, now: Nanos) -> Result<usize, ConnectionError> {
        match &self.memory {
            Some(memory) => Ok(self.ring.take(memory, disk, now)?),
            None => Ok(0),
        }
    }

    /// Whether something was answered without the disk, and is to be told at once.
    pub fn has_answered(&self) -> bool {
        self.ring.has_answered()
    }

    /// Lays what has completed by `now` into the ring; what, in order, and whether the guest wants
    /// to be told.
    pub fn complete(
        &mut self,
        disk: &mut Disk,
        now: Nanos,
    ) -> Result<(Vec<Completion>, bool), ConnectionError> {
        let mut completed = Vec::new();
        let answered = self.ring.has_answered();
        if let Some(memory) = &self.memory {
            self.ring.tell_answered(memory)?;
        }
        while let Some(completion) = disk.complete(now).map_err(RingError::from)? {
            if let Some(memory) = &self.memory {
                self.ring.complete(&completion, memory, disk)?;
            }
            completed.push(completion);
        }
        let something = answered || !completed.is_empty();
        let call = match &self.memory {
            Some(memory) if something => self.ring.wants_call(memory)?,
            _ => false,
        };
        Ok((completed, call))
    }

    /// Takes note of kicks that are no messages.
    pub fn clear_kicks(&self) -> Result<(), ConnectionError> {
        let mut count = [0; 8];
        match self
            .kick
            .as_ref()
            .map(|kick| rustix::io::read(kick, &mut count))
        {
            None | Some(Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR)) => Ok(()),
            Some(Err(error)) => Err(StreamError::from(error).into()),
        }
    }

    /// Tells the guest by its descriptor that there is something in the ring.
    pub fn call(&self) -> Result<(), ConnectionError> {
        let one = 1_u64.to_ne_bytes();
        match self.call.as_ref().map(|call| rustix::io::write(call, &one)) {
            // A counter that is full has told enough.
            None | Some(Ok(_) | Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR)) => Ok(()),
            Some(Err(error)) => Err(StreamError::from(error).into()),
        }
    }

    /// Tells the guest by message that there is something in the ring; whether it will answer.
    pub fn call_in_band(&self) -> Result<bool, ConnectionError> {
        let Some(back) = &self.back else {
            return Ok(false);
        };
        stream::send(back, &wire::ring_call(0), &[], Patience::SHORT)?;
        Ok(true)
    }

    /// Takes the answer to that.
    pub fn called(&self) -> Result<(), ConnectionError> {
        if let Some(back) = &self.back
            && !wire::ring_called(back, Patience::SHORT)?
        {
            return Err(ConnectionError::NoSuchRing(0));
        }
        Ok(())
    }
}
