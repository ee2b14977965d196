//! The guest's ring and its requests in flight in the disk.

use super::chain::{BrokenChain, Chain, ID, Operation, Status};
use super::memory::Memory;
use crate::disk::{Disk, SubmitError};
use crate::request::{Completion, Kind, Request, SECTOR};
use crate::store::StoreError;
use fsdyno_model::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::AddAssign;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::GuestAddress;

pub const MAX_QUEUE_SIZE: u16 = 1024;

/// A ring error that ends the service of the ring.
#[derive(Debug, thiserror::Error)]
pub enum RingError {
    /// The ring is outside the memory, or its size is invalid.
    #[error("the ring is outside the guest's memory, or its size is not valid")]
    Misplaced,
    /// The indices or flags of the ring are invalid.
    #[error("the ring: {0}")]
    Queue(#[from] virtio_queue::Error),
    /// A chain has no complete header or no status byte.
    #[error(transparent)]
    Chain(#[from] BrokenChain),
    /// More requests are in flight than the ring has entries.
    #[error("the guest has more requests in flight than its ring has entries")]
    Full,
    /// An I/O error of the disk's contents.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Counters of requests and results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Served {
    pub reads: u64,
    pub writes: u64,
    pub flushes: u64,
    /// Number of discard and write-zeroes requests.
    pub others: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
    /// Number of requests that failed.
    pub errors: u64,
}

impl AddAssign for Served {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.writes += other.writes;
        self.flushes += other.flushes;
        self.others += other.others;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.errors += other.errors;
    }
}

/// A split virtqueue of the guest.
#[derive(Debug)]
pub struct Ring {
    queue: Queue,
    enabled: bool,
    /// Write-through: every write is on the medium before it completes.
    pub write_through: bool,
    name: [u8; ID],
    /// Distinguishes requests of this ring from those of an earlier ring of the same disk.
    generation: u32,
    in_flight: Vec<Option<Chain>>,
    free: Vec<u32>,
    /// Requests completed without the disk, not yet in the used ring.
    answered: VecDeque<(Chain, Status)>,
    buffer: Vec<u8>,
    pub served: Served,
}

impl Ring {
    /// Creates a ring that is not configured yet.
    pub fn new(name: &str, generation: u32) -> Result<Self, RingError> {
        let mut padded = [0; ID];
        for (to, from) in padded.iter_mut().zip(name.bytes()) {
            *to = from;
        }
        Ok(Self {
            queue: Queue::new(MAX_QUEUE_SIZE)?,
            enabled: false,
            write_through: false,
            name: padded,
            generation,
            in_flight: Vec::new(),
            free: Vec::new(),
            answered: VecDeque::new(),
            buffer: Vec::new(),
            served: Served::default(),
        })
    }

    pub fn set_places(&mut self, places: u32) -> Result<(), RingError> {
        let places = u16::try_from(places).map_err(|_| RingError::Misplaced)?;
        Ok(self.queue.try_set_size(places)?)
    }

    /// Sets the first available index to process.
    pub fn set_base(&mut self, base: u16) {
        self.queue.set_next_avail(base);
        self.queue.set_next_used(base);
    }

    /// The next available index to process.
    pub fn base(&self) -> u16 {
        self.queue.next_avail()
    }

    /// Sets the addresses of the ring in guest memory.
    pub fn place(
        &mut self,
        table: GuestAddress,
        available: GuestAddress,
        used: GuestAddress,
    ) -> Result<(), RingError> {
        self.queue.try_set_desc_table_address(table)?;
        self.queue.try_set_avail_ring_address(available)?;
        self.queue.try_set_used_ring_address(used)?;
        Ok(())
    }

    /// Sets whether the guest uses event indices.
    pub fn set_event_index(&mut self, yes: bool) {
        self.queue.set_event_idx(yes);
    }

    pub fn enable(&mut self, memory: &Memory, yes: bool) -> Result<(), RingError> {
        self.queue.set_ready(yes);
        if yes && !self.queue.is_valid(&memory.mapped) {
            self.queue.set_ready(false);
            return Err(RingError::Misplaced);
        }
        self.enabled = yes;
        Ok(())
    }

    /// Whether the ring processes requests.
    pub fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Submits the new chains of the available ring to the disk. Returns their number.
    pub fn take(
        &mut self,
        memory: &Memory,
        disk: &mut Disk,
        now: Nanos,
    ) -> Result<usize, RingError> {
        let mut taken = 0;
        if !self.enabled {
            return Ok(taken);
        }
        loop {
            self.queue.disable_notification(&memory.mapped)?;
            while let Some(chain) = self.queue.iter(&memory.mapped)?.next() {
                let chain = Chain::of(chain, memory)?;
                self.submit(chain, memory, disk, now)?;
                taken += 1;
            }
            if !self.queue.enable_notification(&memory.mapped)? {
                return Ok(taken);
            }
        }
    }

    fn submit(
        &mut self,
        chain: Chain,
        memory: &Memory,
        disk: &mut Disk,
        now: Nanos,
    ) -> Result<(), RingError> {
        let in_flight = self.in_flight.len() - self.free.len() + self.answered.len();
        if in_flight >= usize::from(self.queue.size()) {
            return Err(RingError::Full);
        }
        let sectors = chain.length() as u64 / SECTOR;
        let (kind, sector, sectors) = match chain.operation {
            Operation::Read(sector) => (Kind::Read, sector, sectors),
            Operation::Write(sector) => (Kind::Write, sector, sectors),
            Operation::Flush => (Kind::Flush, 0, 0),
            Operation::Discard { sector, sectors } => (Kind::Discard, sector, sectors),
            Operation::WriteZeroes { sector, sectors } => (Kind::WriteZeroes, sector, sectors),
            Operation::Name => {
                chain.scatter(memory, &self.name);
                self.answered.push_back((chain, Status::Done));
                return Ok(());
            }
            Operation::Refused(status) => {
                self.served.errors += 1;
                self.answered.push_back((chain, status));
                return Ok(());
            }
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.in_flight.push(None);
            // At most as many chains as the ring has entries.
            u32::try_from(self.in_flight.len() - 1).unwrap_or_default()
        });
        let id = u64::from(self.generation) << 32 | u64::from(slot);
        let mut request = Request::new(id, kind, sector, sectors);
        request.fua = self.write_through && kind.changes();
        let submitted = disk.submit(now, request, |payload| chain.gather(memory, payload));
        match submitted {
            Ok(_) => self.in_flight[slot as usize] = Some(chain),
            Err(SubmitError::Store(error)) => return Err(error.into()),
            Err(_) => {
                self.free.push(slot);
                self.served.errors += 1;
                self.answered.push_back((chain, Status::Failed));
            }
        }
        Ok(())
    }

    /// Whether completions without the disk are not in the used ring yet.
    pub fn has_answered(&self) -> bool {
        !self.answered.is_empty()
    }

    /// Adds completions without the disk to the used ring.
    pub fn publish_answered(&mut self, memory: &Memory) -> Result<(), RingError> {
        while let Some((chain, status)) = self.answered.pop_front() {
            let changed = chain.answer(memory, status);
            self.queue.add_used(&memory.mapped, chain.head, changed)?;
        }
        Ok(())
    }

    /// Adds a completion of the disk to the used ring. Drops a completion of an earlier ring.
    pub fn complete(
        &mut self,
        completion: &Completion,
        memory: &Memory,
        disk: &mut Disk,
    ) -> Result<(), RingError> {
        let id = completion.request.id;
        let slot = usize::try_from(id & u64::from(u32::MAX)).unwrap_or(usize::MAX);
        if id >> 32 != u64::from(self.generation) {
            return Ok(());
        }
        let Some(chain) = self.in_flight.get_mut(slot).and_then(Option::take) else {
            return Ok(());
        };
        self.free.push(u32::try_from(slot).unwrap_or_default());
        self.count(completion);
        let status = match completion.result {
            Ok(()) => Status::Done,
            Err(_) => Status::Failed,
        };
        if status == Status::Done && completion.request.kind == Kind::Read {
            self.buffer.resize(chain.length(), 0);
            disk.read(completion.request.sector * SECTOR, &mut self.buffer)?;
            chain.scatter(memory, &self.buffer);
        }
        let changed = chain.answer(memory, status);
        Ok(self.queue.add_used(&memory.mapped, chain.head, changed)?)
    }

    fn count(&mut self, completion: &Completion) {
        let served = &mut self.served;
        match completion.request.kind {
            Kind::Read => {
                served.reads += 1;
                served.bytes_read += completion.request.bytes();
            }
            Kind::Write => {
                served.writes += 1;
                served.bytes_written += completion.request.bytes();
            }
            Kind::Flush => served.flushes += 1,
            Kind::Discard | Kind::WriteZeroes => served.others += 1,
        }
        served.errors += u64::from(completion.result.is_err());
    }

    /// Whether the guest needs a notification of the entries in the used ring.
    pub fn needs_call(&mut self, memory: &Memory) -> Result<bool, RingError> {
        Ok(self.queue.needs_notification(&memory.mapped)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::Faults;
    use crate::profiles::Profile;
    use crate::store;
    use fsdyno_model::Bytes;
    use proptest::prelude::*;
    use vm_memory::Bytes as _;

    const PLACES: u16 = 16;
    const TABLE: u64 = 0x1000;
    const AVAILABLE: u64 = 0x2000;
    const USED: u64 = 0x3000;
    const MEMORY: u64 = 0x1_0000;
    const SECTORS: u64 = 256;

    /// A descriptor with a random address, often a valid one.
    fn descriptor() -> impl Strategy<Value = (u64, u32, u16, u16)> {
        let at = prop_oneof![
            4 => 0x4000..MEMORY,
            1 => Just(MEMORY - 8),
            1 => any::<u64>(),
        ];
        let length = prop_oneof![
            3 => Just(16_u32),
            3 => Just(1_u32),
            3 => Just(512_u32),
            1 => Just(0_u32),
            1 => any::<u32>(),
        ];
        let flags = prop_oneof![6 => 0_u16..4, 1 => 0_u16..8];
        let next = prop_oneof![6 => 0..PLACES, 1 => any::<u16>()];
        (at, length, flags, next)
    }

    fn head() -> impl Strategy<Value = (u32, u64)> {
        let kind = prop_oneof![0_u32..16, any::<u32>()];
        (kind, prop_oneof![0..SECTORS + 2, any::<u64>()])
    }

    fn disk() -> Disk {
        let capacity = Some(Bytes(SECTORS * SECTOR));
        let contents = Box::new(store::Memory::new());
        Disk::new(
            &Profile::named(std::path::Path::new("null")).unwrap(),
            capacity,
            contents,
            Faults::default(),
        )
    }

    fn ring() -> Ring {
        let mut ring = Ring::new("model", 1).unwrap();
        ring.set_places(PLACES.into()).unwrap();
        ring.place(
            GuestAddress(TABLE),
            GuestAddress(AVAILABLE),
            GuestAddress(USED),
        )
        .unwrap();
        ring
    }

    proptest! {
        /// For any content of a ring, the result is a reply or an error. The device writes only to
        /// memory that the guest made writable.
        #[test]
        fn random_ring_contents_end_in_replies_or_errors(
            descriptors in prop::collection::vec(descriptor(), usize::from(PLACES)),
            heads in prop::collection::vec(head(), 12),
            offered in prop::collection::vec(prop_oneof![8 => 0..PLACES, 1 => any::<u16>()], 1..20),
            index in prop_oneof![4 => 0..=PLACES, 1 => any::<u16>()],
        ) {
            let memory = Memory::of_bytes(MEMORY);
            let mapped = &memory.mapped;
            for (number, (at, length, flags, next)) in (0_u64..).zip(&descriptors) {
                let place = TABLE + number * 16;
                mapped.write_obj(*at, GuestAddress(place)).unwrap();
                mapped.write_obj(*length, GuestAddress(place + 8)).unwrap();
                mapped.write_obj(*flags, GuestAddress(place + 12)).unwrap();
                mapped.write_obj(*next, GuestAddress(place + 14)).unwrap();
            }
            for ((at, ..), (kind, sector)) in descriptors.iter().zip(&heads) {
                let _ = mapped.write_obj(*kind, GuestAddress(*at));
                let _ = mapped.write_obj(*sector, GuestAddress(at.wrapping_add(8)));
            }
            for (number, head) in (0_u64..).zip(&offered) {
                mapped.write_obj(*head, GuestAddress(AVAILABLE + 4 + number % 16 * 2)).unwrap();
            }
            mapped.write_obj(index, GuestAddress(AVAILABLE + 2)).unwrap();
            let (mut ring, mut disk) = (ring(), disk());
            ring.enable(&memory, true).unwrap();
            if let Ok(taken) = ring.take(&memory, &mut disk, Nanos(0)) {
                prop_assert_eq!(taken, usize::from(index));
                ring.publish_answered(&memory).unwrap();
                while let Some(completion) = disk.complete(Nanos(0)).unwrap() {
                    ring.complete(&completion, &memory, &mut disk).unwrap();
                }
                let used: u16 = mapped.read_obj(GuestAddress(USED + 2)).unwrap();
                // Except if a request wrote its reply over the ring, which only affects the guest.
                prop_assert!(used == index || descriptors.iter().any(|(at, ..)| *at < 0x4000));
            }
        }
    }

    #[test]
    fn a_ring_outside_of_memory_is_rejected() {
        let memory = Memory::of_bytes(MEMORY);
        for (table, available, used) in [
            (MEMORY, AVAILABLE, USED),
            (TABLE, MEMORY - 2, USED),
            (TABLE, AVAILABLE, MEMORY - 4),
        ] {
            let mut ring = ring();
            let placed = ring.place(
                GuestAddress(table),
                GuestAddress(available),
                GuestAddress(used),
            );
            placed.unwrap();
            assert!(matches!(
                ring.enable(&memory, true),
                Err(RingError::Misplaced)
            ));
        }
        assert!(ring().set_places(3).is_err() && ring().set_places(1 << 16).is_err());
        assert!(ring().set_places(u32::from(MAX_QUEUE_SIZE) * 2).is_err());
    }
}
