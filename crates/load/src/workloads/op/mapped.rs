//! Operations on one large file as memory: blocks are copied into a mapping of it, or out of one.

use super::data;
use super::workers::{Room, Work};
use super::{HOME, Phase};
use crate::engines::mmap::Mapping;
use crate::engines::sync::Sync;
use crate::engines::{Engine, LoadError};
use fsdyno_model::sample::Tally;

/// Does all operations of one worker.
pub(super) fn run(work: Work<'_>, room: &mut Room) -> Result<Tally, LoadError> {
    let mut engine = Sync::default();
    let work_dir = engine.open_ground(work.job.root)?;
    let top = engine.open_dir(&work_dir, HOME)?;
    let how = data::opening(work);
    if how.makes {
        let made = engine.open_data(&top, &room.large, how)?;
        engine.close(made)?;
    }
    // What is mapped to be written must be open to be read as well.
    let mut file = if how.writes {
        engine.open_to_change(&top, &room.large)?
    } else {
        engine.open_data(&top, &room.large, how)?
    };
    let whole = work.parameters.blocks() * work.parameters.block as u64;
    if work.phase == Phase::Write {
        // Workers that share the file set the same size.
        engine.set_size(&mut file, whole)?;
    }
    let stretch = data::stretch(work, room.number);
    let all_over = data::all_over(work.phase);
    let mut mapping = Mapping::new(&file, whole, how.writes, all_over)?;
    let mut done = data::blocks_of(work, room, stretch, |block, offset| {
        if how.writes {
            mapping.write(offset, block)?;
        } else {
            mapping.read(offset, block)?;
        }
        Ok(block.len())
    })?;
    if how.writes {
        mapping.make_durable()?;
    }
    done.calls = mapping.calls();
    drop(mapping);
    engine.close(file)?;
    for dir in [top, work_dir] {
        engine.close_dir(dir);
    }
    done.calls += engine.calls();
    Ok(done)
}
