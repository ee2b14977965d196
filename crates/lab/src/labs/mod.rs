//! The labs: places where a cell can run.

pub mod guest;
pub mod host;
pub(crate) mod limit;
pub(crate) mod notes;
pub(crate) mod recorded;
pub mod ssh;

use crate::missing::Missing;
use fsdyno_model::{Cell, CellRecord, Event, LabChoice, Plan};
use std::collections::BTreeMap;

/// A place where cells run, as the conductor sees it.
pub trait Lab {
    /// Runs one cell and emits what happens in it. Nothing comes back from a cell that the user
    /// interrupted: it will be run again, whole.
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord>;

    /// Whether the user wants to stop.
    fn stop_requested(&self) -> bool;
}

/// A lab that has looked what it has for the plan it was made for.
pub trait Surveyed: Lab {
    /// What is missing, each contender seen as if it ran here.
    fn missing(&self) -> &Missing;

    /// What its guests tell of themselves, kernel and build first, as they will in each cell; none
    /// where there are no guests, or where that is not the same for all.
    fn guest(&self) -> Option<&str> {
        None
    }
}

/// What lies below the devices of a lab and keeps their data in memory, as the host of a guest
/// does.
pub trait Below {
    /// What it is, in a few words.
    fn name(&self) -> &'static str;

    /// Drives the data of the devices out of memory, and tells how many pages stayed.
    fn drive_out(&mut self) -> Result<u64, String>;
}

/// All labs that a plan uses: each cell runs where its contender says.
#[derive(Default)]
pub struct Labs(BTreeMap<LabChoice, Box<dyn Surveyed>>);

impl Labs {
    /// Takes up a lab.
    pub fn add(&mut self, choice: LabChoice, lab: impl Surveyed + 'static) {
        self.0.insert(choice, Box::new(lab));
    }

    /// What the guests of a lab tell of themselves, where there are any.
    pub fn guest(&self, choice: &LabChoice) -> Option<&str> {
        self.0.get(choice)?.guest()
    }

    /// What is missing for a plan, each contender seen from its own lab. A program is missing for
    /// a workload where it is in all of them.
    pub fn missing(&self, plan: &Plan) -> Missing {
        let contenders = plan.contenders.iter().enumerate();
        let seen = contenders.map(|(number, contender)| {
            let lab = self.0.get(&contender.lab)?;
            lab.missing().contenders.get(number)?.clone()
        });
        let everywhere = |number: usize| {
            let mut lacks = self
                .0
                .values()
                .map(|lab| lab.missing().workloads.get(number));
            let first = lacks.next()??.clone()?;
            let all = lacks.all(|lack| lack.is_some_and(Option::is_some));
            all.then_some(first)
        };
        Missing {
            contenders: seen.collect(),
            workloads: (0..plan.workloads.len()).map(everywhere).collect(),
        }
    }
}

impl Lab for Labs {
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord> {
        // A plan uses no lab that was not made for it.
        let contender = plan.contenders.get(cell.contender as usize)?;
        self.0.get_mut(&contender.lab)?.run_cell(plan, cell, emit)
    }

    fn stop_requested(&self) -> bool {
        self.0.values().any(|lab| lab.stop_requested())
    }
}
