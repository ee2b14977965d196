//! The labs: places where a cell can run.

pub mod guest;
pub mod host;
pub(crate) mod notes;

use crate::missing::Missing;
use fsdyno_model::{Cell, CellRecord, Event, LabChoice, Plan};
use guest::GuestLab;
use host::HostLab;

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

/// What lies below the devices of a lab and keeps their data in memory, as the host of a guest
/// does.
pub trait Below {
    /// What it is, in a few words.
    fn name(&self) -> &'static str;

    /// Drives the data of the devices out of memory, and tells how many pages stayed.
    fn drive_out(&mut self) -> Result<u64, String>;
}

/// All labs that a plan uses: each cell runs where its contender says.
pub struct Labs {
    /// This machine.
    pub host: Option<HostLab>,
    /// Guests.
    pub guest: Option<GuestLab>,
}

impl Labs {
    /// What is missing for a plan, each contender seen from its own lab. A program is missing for
    /// a workload where it is in the first lab there is: all see the same programs.
    pub fn missing(&self, plan: &Plan) -> Missing {
        let host = self.host.as_ref().map(HostLab::missing);
        let guest = self.guest.as_ref().map(GuestLab::missing);
        let of = |number: usize, lab: LabChoice| {
            let seen = match lab {
                LabChoice::Host => host,
                LabChoice::Uml => guest,
            };
            seen?.contenders.get(number)?.clone()
        };
        let contenders = plan.contenders.iter().enumerate();
        Missing {
            contenders: contenders.map(|(n, c)| of(n, c.lab)).collect(),
            workloads: host
                .or(guest)
                .map(|seen| seen.workloads.clone())
                .unwrap_or_default(),
        }
    }

    /// The lab of a contender. A plan uses no lab that was not made for it.
    fn of(&mut self, lab: LabChoice) -> Option<&mut dyn Lab> {
        match lab {
            LabChoice::Host => self.host.as_mut().map(|lab| lab as &mut dyn Lab),
            LabChoice::Uml => self.guest.as_mut().map(|lab| lab as &mut dyn Lab),
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
        let lab = plan.contenders.get(cell.contender as usize)?.lab;
        self.of(lab)?.run_cell(plan, cell, emit)
    }

    fn stop_requested(&self) -> bool {
        let host = self.host.as_ref().is_some_and(Lab::stop_requested);
        host || self.guest.as_ref().is_some_and(Lab::stop_requested)
    }
}
