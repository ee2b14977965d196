//! Operations on one large file, many under way at the same time: each slot has its next block asked
//! for as soon as the one before has come.

use super::HOME;
use super::data::{self, Wheel};
use super::workers::{Room, Work};
use crate::engines::sync::Sync;
use crate::engines::uring::Ring;
use crate::engines::{Engine, LoadError};
use crate::measure::watch;
use crate::workloads::timeline::TimelineRecorder;
use fsdyno_model::sample::Tally;

/// Does all operations of one worker.
pub(super) fn run(work: Work<'_>, room: &mut Room) -> Result<Tally, LoadError> {
    let parameters = work.parameters;
    let mut engine = Sync::default();
    let work_dir = engine.open_ground(work.job.root)?;
    let top = engine.open_dir(&work_dir, HOME)?;
    let file = engine.open_data(&top, &room.large, data::opening(work))?;
    let (first, count) = data::stretch(work, room.number);
    let Room {
        queue,
        wheel,
        timeline,
        number,
        ..
    } = room;
    let mut ring = Ring::new(&file, queue, parameters.block)?;
    let mut blocks = Blocks {
        work,
        author: data::author(work.phase, *number),
        first,
        count,
        begun: 0,
        wheel,
    };
    let bytes = all(&mut ring, &mut blocks, timeline)?;
    if work.phase.writes() {
        ring.make_durable()?;
    }
    let calls = ring.calls();
    drop(ring);
    engine.close(file)?;
    for dir in [top, work_dir] {
        engine.close_dir(dir);
    }
    let mut done = Tally {
        files: 1,
        calls: engine.calls() + calls,
        ..Tally::default()
    };
    done.bytes.0 = bytes;
    Ok(done)
}

/// Which blocks come, in order.
struct Blocks<'a> {
    work: Work<'a>,
    author: u64,
    first: u64,
    count: u64,
    begun: u64,
    wheel: &'a mut Wheel,
}

impl Blocks<'_> {
    /// Asks for the next block by a slot; false where there is none left.
    #[inline]
    fn begin(&mut self, ring: &mut Ring<'_>, slot: usize) -> Result<bool, LoadError> {
        if self.begun == self.count {
            return Ok(false);
        }
        let block = if data::all_over(self.work.phase) {
            self.wheel.next()
        } else {
            self.first + self.begun
        };
        let writes = self.work.phase.writes();
        if writes {
            data::stamp(ring.buffer(slot), self.author, self.begun);
        }
        self.begun += 1;
        let offset = block * self.work.parameters.block as u64;
        ring.begin(slot, offset, writes)?;
        Ok(true)
    }
}

/// All blocks; the bytes that were moved.
fn all(
    ring: &mut Ring<'_>,
    blocks: &mut Blocks<'_>,
    timeline: &mut TimelineRecorder,
) -> Result<u64, LoadError> {
    let (block, writes) = (blocks.work.parameters.block, blocks.work.phase.writes());
    let call = if writes { "write" } else { "read" };
    let mut began = vec![watch::now(); ring.depth()].into_boxed_slice();
    let (mut under_way, mut bytes) = (0_u64, 0);
    for slot in 0..ring.depth() {
        under_way += u64::from(blocks.begin(ring, slot)?);
    }
    while under_way > 0 {
        ring.wait()?;
        while let Some(ended) = ring.next(call)? {
            let now = watch::now();
            let took = now.saturating_sub(began[ended.slot]);
            timeline.ended(now, took, ended.bytes as u64);
            began[ended.slot] = now;
            bytes += ended.bytes as u64;
            if writes && ended.bytes < block {
                let source = std::io::Error::from_raw_os_error(libc::EIO);
                return Err(LoadError::io(call, "(less than a block)", source));
            }
            under_way -= 1;
            under_way += u64::from(blocks.begin(ring, ended.slot)?);
        }
        if blocks.work.job.stop.requested() {
            return Err(LoadError::Stopped);
        }
    }
    Ok(bytes)
}
