//! The labs: environments in which a cell runs.

pub mod guest;
pub mod host;
pub(crate) mod limit;
pub(crate) mod repeats;
pub mod ssh;
pub(crate) mod usable;

use crate::job::Job;
use crate::missing::Missing;
use crate::notes::Notes;
use crate::preflight::Preflight;
use fsdyno_datasets::identity::Identity;
use fsdyno_model::{
    CancelToken, Cell, CellRecord, Contender, ContenderKernel, Event, Failure, LabChoice, Nanos,
    Outcome, Plan, Stage,
};
use guest::Profiles;
use repeats::Repeats;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use usable::Usable;

/// All commands of a cell, in order, one per line; runs nothing. Comments name the phases.
///
/// # Panics
/// If the cell is not one of that plan, or the preflight was of another plan.
pub fn script(plan: &Plan, preflight: &Preflight, cell: Cell) -> Vec<String> {
    let job = Job::new(plan, preflight, cell);
    let lab = &job.contender.lab;
    if lab.is_remote() {
        return ssh::script(plan, preflight, cell);
    }
    let mut title = vec![job.title()];
    if !lab.is_host() {
        title.push(guest::title(&job));
    }
    host::script(&job, &preflight.scratch, title)
}

/// An environment that runs cells, as the conductor uses it.
pub trait Lab {
    /// Runs one cell and emits its events. Returns none for a cell that the user interrupted; a
    /// resumed run repeats it.
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord>;

    /// Whether cells of one block at this workload can run together. Then what is compared is close
    /// in time.
    fn runs_together(&self, _workload: u32) -> bool {
        false
    }

    /// Runs cells of one block at one workload together, and returns their records in this order.
    /// An interrupted cell has none.
    fn run_together(
        &mut self,
        plan: &Plan,
        cells: &[Cell],
        emit: &mut dyn FnMut(Event),
    ) -> Vec<Option<CellRecord>> {
        let run = |cell: &Cell| self.run_cell(plan, *cell, emit);
        cells.iter().map(run).collect()
    }
}

/// A lab that has probed the requirements of its plan.
pub trait Surveyed: Lab + Send {
    /// The missing requirements, for each contender as if it ran in this lab.
    fn missing(&self) -> &Missing;

    /// The description of its guests, with kernel and build first, as in each cell; none if there
    /// are no guests or their descriptions differ.
    fn guest(&self) -> Option<&str> {
        None
    }

    /// Prepares this machine for the first cell. It disturbs other measurements.
    fn begin(&mut self, _plan: &Plan) {}

    /// Profiles the kernel in each of its cells, if they run in virtual time.
    fn profile(&mut self, _profiles: &Profiles) {}

    /// The same lab for another thread, with its own cancellation token. None if its cells must not
    /// run at the same time, because their figures depend on what else the machine does.
    fn copy(&self, _plan: &Plan, _stop: &CancelToken) -> Option<Box<dyn Surveyed>> {
        None
    }
}

/// The layer below the devices of a lab, which caches their data: for a guest, its host.
pub trait LowerLayer {
    /// A short name.
    fn name(&self) -> &'static str;

    /// Evicts the data of the devices from memory, and returns how many pages remained.
    fn evict_devices(&mut self) -> Result<u64, String>;

    /// The processor time of this guest's kernel so far.
    fn kernel_time(&mut self) -> Result<Nanos, String>;
}

/// A lab, and the name of the kernel of its guests where contenders have kernels of their own.
type LabKey = (LabChoice, Option<String>);

fn key_of(contender: &Contender) -> LabKey {
    let kernel = contender.kernel.as_ref();
    (
        contender.lab.clone(),
        kernel.map(|kernel| kernel.name.clone()),
    )
}

/// All labs of a plan: each cell runs in the lab of its contender.
#[derive(Default)]
pub struct Labs {
    by_choice: BTreeMap<LabKey, Box<dyn Surveyed>>,
    /// The user's datasets, which must not change during the run.
    datasets: Arc<[Identity]>,
    /// The cells that must be equal to their repeats, if there are any.
    repeats: Option<Arc<Repeats>>,
    /// The contenders that cannot be made and mounted.
    usable: Usable,
    stop: CancelToken,
}

impl Labs {
    pub(crate) fn compare_repeats(&mut self, repeats: Repeats) {
        self.repeats = Some(Arc::new(repeats));
    }

    /// Prepares the labs for the first cell of a plan, when no other measurement runs.
    pub fn begin(&mut self, plan: &Plan) {
        for lab in self.by_choice.values_mut() {
            lab.begin(plan);
        }
    }

    /// Profiles the kernel in each cell in virtual time.
    pub fn profile(&mut self, profiles: &Profiles) {
        for lab in self.by_choice.values_mut() {
            lab.profile(profiles);
        }
    }

    /// Notes contenders that cannot be made and mounted. Their cells are not executed.
    pub(crate) fn refuse(&self, records: &[CellRecord]) {
        for record in records {
            self.usable.refused(record);
        }
    }

    /// Adds a lab, or that of one kernel.
    pub fn add(
        &mut self,
        choice: &LabChoice,
        kernel: Option<&ContenderKernel>,
        lab: impl Surveyed + 'static,
    ) {
        let kernel = kernel.map(|kernel| kernel.name.clone());
        self.by_choice
            .insert((choice.clone(), kernel), Box::new(lab));
    }

    /// Fails each cell if one of these datasets changed before or during it. The failure names the
    /// dataset.
    pub fn watch(&mut self, datasets: Vec<Identity>, stop: CancelToken) {
        (self.datasets, self.stop) = (datasets.into(), stop);
    }

    /// Labs whose cells run at the same time: this number of them, which this token cancels. Only
    /// this one if the figures of a cell depend on other cells.
    pub fn parallel(self, plan: &Plan, count: NonZeroUsize, stop: &CancelToken) -> Vec<Self> {
        let copy = || {
            let stop = stop.child();
            let labs = self.by_choice.iter();
            let labs = labs.map(|(choice, lab)| Some((choice.clone(), lab.copy(plan, &stop)?)));
            Some(Self {
                by_choice: labs.collect::<Option<_>>()?,
                datasets: Arc::clone(&self.datasets),
                repeats: self.repeats.clone(),
                usable: self.usable.clone(),
                stop,
            })
        };
        let copies = match count.get() {
            1 => None,
            count => (0..count).map(|_| copy()).collect(),
        };
        copies.unwrap_or_else(|| vec![self])
    }

    /// The failure of a cell whose dataset differs from that of the plan.
    fn changed(&self, plan: &Plan, cell: Cell) -> Option<Outcome> {
        let dataset = &plan.workloads.get(cell.workload as usize)?.dataset;
        let watched = self.datasets.iter().find(|one| one.choice() == dataset)?;
        let changed = watched.check(&self.stop).err()?;
        Some(Outcome::Failed(Failure {
            stage: Stage::Prepare,
            message: changed.to_string(),
            errno: None,
        }))
    }

    /// The description of the guests of a contender, if it runs in any.
    pub fn guest(&self, contender: &Contender) -> Option<&str> {
        self.by_choice.get(&key_of(contender))?.guest()
    }

    /// The missing requirements of a plan, for each contender in its own lab. A program is missing
    /// for a workload only if it is missing in all labs.
    pub fn missing(&self, plan: &Plan) -> Missing {
        let contenders = plan.contenders.iter().enumerate();
        let seen = contenders.map(|(number, contender)| {
            let lab = self.by_choice.get(&key_of(contender))?;
            lab.missing().contenders.get(number)?.clone()
        });
        let everywhere = |number: usize| {
            let mut lacks = self
                .by_choice
                .values()
                .map(|lab| lab.missing().workloads.get(number));
            let first = lacks.next()??.clone()?;
            let all = lacks.all(|requirement| requirement.is_some_and(Option::is_some));
            all.then_some(first)
        };
        Missing {
            substitutes: Vec::new(),
            contenders: seen.collect(),
            workloads: (0..plan.workloads.len()).map(everywhere).collect(),
        }
    }
}

impl Labs {
    /// The record of a cell that does not run, with the reason.
    fn not_run(&self, plan: &Plan, cell: Cell, emit: &mut dyn FnMut(Event)) -> Option<CellRecord> {
        // The plan uses only labs that were created for it.
        let contender = plan.contenders.get(cell.contender as usize)?;
        if let Some(outcome) = self.changed(plan, cell) {
            return Some(Notes::new(cell, emit).into_record(outcome));
        }
        let workload = plan.workloads.get(cell.workload as usize)?;
        if let Some(skipped) = plan.skips_all(contender, workload) {
            let outcome = Outcome::Skipped {
                requirement: skipped.requirement.clone(),
                reason: skipped.reason.clone(),
                remedy: "compare another file system in this workload".to_owned(),
            };
            return Some(Notes::new(cell, emit).into_record(outcome));
        }
        self.usable.record(cell)
    }

    /// Checks the record of a cell that has run.
    fn checked(&self, plan: &Plan, mut record: CellRecord) -> CellRecord {
        // On a faulty disk the same command may succeed in the next cell.
        if plan.disk.as_ref().is_none_or(|disk| disk.faults.is_none()) {
            self.usable.note(&record);
        }
        if let Some(repeats) = &self.repeats {
            repeats.check(plan, &mut record);
        }
        let skipped = matches!(record.outcome, Outcome::Skipped { .. });
        let changed = self.changed(plan, record.cell).filter(|_| !skipped);
        if let Some(mut changed) = changed {
            if let (Outcome::Failed(changed), Outcome::Failed(why)) =
                (&mut changed, &record.outcome)
            {
                changed.message = format!("{}; {}", why.message, changed.message);
            }
            record.outcome = changed;
            record.samples.clear();
        }
        record
    }
}

impl Lab for Labs {
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord> {
        if let Some(record) = self.not_run(plan, cell, emit) {
            return Some(record);
        }
        let contender = plan.contenders.get(cell.contender as usize)?;
        let lab = self.by_choice.get_mut(&key_of(contender))?;
        let repeats = self.repeats.as_deref();
        let traced = repeats.and_then(|repeats| repeats.traced(plan));
        let record = lab.run_cell(traced.as_ref().unwrap_or(plan), cell, emit)?;
        Some(self.checked(plan, record))
    }

    /// Only the host lab does, and then it runs all contenders.
    fn runs_together(&self, workload: u32) -> bool {
        let mut labs = self.by_choice.values();
        self.repeats.is_none() && labs.len() == 1 && labs.all(|lab| lab.runs_together(workload))
    }

    fn run_together(
        &mut self,
        plan: &Plan,
        cells: &[Cell],
        emit: &mut dyn FnMut(Event),
    ) -> Vec<Option<CellRecord>> {
        let not_run = cells.iter().map(|cell| self.not_run(plan, *cell, emit));
        let mut records: Vec<Option<CellRecord>> = not_run.collect();
        let each = cells.iter().zip(&records);
        let todo = each.filter_map(|(cell, record)| record.is_none().then_some(*cell));
        let todo: Vec<Cell> = todo.collect();
        let Some(lab) = self.by_choice.values_mut().next() else {
            return records;
        };
        let ran = lab.run_together(plan, &todo, emit).into_iter();
        for (cell, record) in todo.iter().zip(ran) {
            let place = cells.iter().position(|other| other == cell);
            if let (Some(place), Some(record)) = (place, record) {
                records[place] = Some(self.checked(plan, record));
            }
        }
        records
    }
}
