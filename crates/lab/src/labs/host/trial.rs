//! Makes, mounts, unmounts and checks each contender once before the first block: on small sparse
//! images in memory, in its layout. A wrong value of a mkfs or mount option is found here.

use super::HostLab;
use super::executor::HostExecutor;
use super::machine::Machine;
use crate::job::Job;
use crate::labs::limit::run_cell;
use crate::labs::usable::{is_refused_at, refuses};
use crate::preflight::scratch;
use crate::procedure;
use fsdyno_host::probe::probe;
use fsdyno_model::{
    Availability, Bytes, Cell, CellRecord, DeviceChoice, FilesystemKind, Need, Outcome, Plan, Stage,
};

/// The size of the largest image. What mkfs writes to it is in memory.
const LARGEST: Bytes = Bytes(16 << 30);

impl HostLab {
    /// The record of each contender that cannot be made, mounted, unmounted and checked. A contender
    /// that cannot be tried here is none of them.
    pub fn refused_contenders(&self, plan: &Plan) -> Vec<CellRecord> {
        let has_loops = probe(&Need::LoopDevices) == Availability::Available;
        let is_possible = |number: usize| {
            let is_here = plan.contenders[number].lab.is_host();
            let has_all = self.missing.contenders[number].is_none();
            let kind = self.preflight.recipes[number].kind();
            let has_devices = match kind {
                FilesystemKind::Block => has_loops,
                FilesystemKind::Memory => true,
                FilesystemKind::Directory => false,
            };
            is_here && has_all && has_devices
        };
        let numbers = (0..plan.contenders.len()).filter(|number| is_possible(*number));
        numbers
            .filter_map(|number| self.refusal(plan, number))
            .collect()
    }

    /// The record of a contender if it is refused.
    fn refusal(&self, plan: &Plan, contender: usize) -> Option<CellRecord> {
        let real = self.real_size(contender);
        let smallest = self.preflight.recipes[contender].smallest_bytes();
        let small = Bytes(smallest.0 * 2).min(real);
        let refused = self.tried(plan, contender, small)?;
        if small == real {
            return Some(refused);
        }
        // An option may need the whole size, as a number of allocation groups does.
        let refused = self.tried(plan, contender, real.min(LARGEST))?;
        (real <= LARGEST).then_some(refused)
    }

    /// The size of the smallest device of the plan, or of the images of a contender.
    fn real_size(&self, contender: usize) -> Bytes {
        let sizes = self.released.iter();
        let sizes = sizes.map(|released| released.description().identity.size);
        let images = || self.preflight.images.largest_of(contender);
        sizes.min().unwrap_or_else(images)
    }

    /// Tries a contender on images of this size. The record if it is refused.
    fn tried(&self, plan: &Plan, contender: usize, size: Bytes) -> Option<CellRecord> {
        let plan = Plan {
            device: DeviceChoice::Loop {
                directory: scratch(plan),
                size: Some(size),
                memory: true,
            },
            disk: None,
            ..plan.clone()
        };
        let number = u32::try_from(contender).ok()?;
        let cell = Cell {
            index: number,
            contender: number,
            workload: 0,
            block: 0,
        };
        let (ignore, marks) = (&mut |_| (), &mut |_| ());
        let record = run_cell(&plan, cell, ignore, &self.missing, &self.stop, |notes| {
            let job = Job {
                image_bytes: size,
                ..Job::new(&plan, &self.preflight, cell)
            };
            let machine = Machine::Here {
                journal: &self.journal,
                released: &[],
            };
            let mut executor =
                HostExecutor::new(notes, machine, &self.stop, &self.scratch, None, None, marks);
            let result = procedure::try_out(&mut executor, &job);
            let remaining = executor.undo();
            result.map(|()| remaining.map_or(Outcome::Measured, Outcome::Failed))
        })?;
        is_refused(&record).then_some(record)
    }
}

fn is_refused(record: &CellRecord) -> bool {
    refuses(record)
        || matches!(&record.outcome, Outcome::Failed(failure)
            if failure.stage == Stage::Check && is_refused_at(record, &failure.stage))
}
