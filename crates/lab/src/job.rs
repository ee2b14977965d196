//! One cell with the plan values that its indices refer to.

use crate::preflight::{Preflight, Prepared};
use fsdyno_datasets::seed::Seed;
use fsdyno_datasets::{Dataset, DatasetError};
use fsdyno_load::kinds;
use fsdyno_model::{
    Bytes, CacheState, Cell, Contender, Daemon, PhasePlan, Plan, Step, Vary, Workload,
};
use fsdyno_recipes::Filesystem;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest interval of commits and of writeback with default options: 30 seconds
/// (`vm.dirty_expire_centisecs`, and the commit interval of file systems, which is 5 to 30 seconds).
const LONGEST_WAIT_NS: u64 = 30_000_000_000;

/// A cell, its contender, its workload, and their prepared data.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    pub plan: &'a Plan,
    pub cell: Cell,
    pub contender: &'a Contender,
    pub workload: &'a Workload,
    /// The recipe of its file system.
    pub recipe: &'static dyn Filesystem,
    /// The prepared data of its workload.
    pub prepared: &'a Prepared,
    /// The size of each image file, if images are made.
    pub image_bytes: Bytes,
}

impl<'a> Job<'a> {
    /// Resolves a cell of a plan that passed its preflight.
    ///
    /// # Panics
    /// If the cell is not one of that plan, or the preflight was of another plan.
    pub fn new(plan: &'a Plan, preflight: &'a Preflight, cell: Cell) -> Self {
        let contender = &plan.contenders[cell.contender as usize];
        Self {
            plan,
            cell,
            contender,
            workload: &plan.workloads[cell.workload as usize],
            recipe: preflight.recipes[cell.contender as usize],
            prepared: &preflight.workloads[cell.workload as usize],
            image_bytes: preflight.images.of(cell),
        }
    }

    /// The daemon of its file system, with the options of this cell.
    pub fn daemon(&self) -> Option<Daemon> {
        let daemon = self.recipe.daemon()?;
        Some(match self.plan.disk_in_virtual_time() {
            Some(_) => daemon.for_virtual_time(),
            None => daemon,
        })
    }

    /// Its number, contender, workload and block as the title of a dry run.
    pub fn title(&self) -> String {
        format!(
            "# cell {}: {} at {}, block {}",
            self.cell.index,
            self.contender.label,
            self.workload.name,
            self.cell.block + 1
        )
    }

    /// A name for this cell; `tag` is unique for each run on one machine.
    pub fn name(&self, tag: &str) -> String {
        format!("fsdyno-{tag}-{}", self.cell.index)
    }

    /// The directory of this cell.
    pub fn scratch(&self, base: &Path, tag: &str) -> PathBuf {
        base.join(self.name(tag))
    }

    /// The mount of its image files, if they are in memory. Each can be written whole.
    pub fn memory(&self, scratch: &Path) -> Option<Step> {
        let count = u64::from(self.contender.layout.devices);
        let size = self.image_bytes.0.saturating_mul(count);
        self.plan.images_in_memory().then(|| Step::Mount {
            fstype: "tmpfs".to_owned(),
            source: "fsdyno".to_owned(),
            target: scratch.join("images"),
            options: vec![format!("size={size}"), "mode=0700".to_owned()],
        })
    }

    /// The mount point of its file system.
    pub fn target(&self, base: &Path, tag: &str) -> PathBuf {
        self.scratch(base, tag).join("mnt")
    }

    /// The work directory of its files: on the file system under test, or in the user's directory.
    pub fn work_dir_root(&self, base: &Path, tag: &str) -> PathBuf {
        match &self.contender.directory {
            Some(directory) => self.scratch(directory, tag),
            None => self.target(base, tag).join("ground"),
        }
    }

    /// Whether extents are counted after that phase: the plan requests it, and the phase writes.
    pub fn counts_extents(&self, phase: &PhasePlan) -> bool {
        let writes = || kinds::find(&phase.kind).is_some_and(|kind| kind.writes);
        self.plan.count_extents && self.touches_files() && writes()
    }

    /// The seed for filling and ageing its file system: different in each block, and equal for all
    /// contenders of a block.
    pub fn state_seed(&self) -> u64 {
        self.plan.seed.wrapping_add(self.cell.block.into())
    }

    /// The seed of its dataset: the same for all contenders within a block.
    pub fn dataset_seed(&self) -> u64 {
        self.plan.dataset_seed(self.cell.block)
    }

    /// The untimed wait before a phase, so that it starts at another moment within the intervals of
    /// commits and flushes. A phase that continues as the one before it left the caches has none.
    pub fn wait_before(&self, number: u32) -> Option<Duration> {
        let phase = self.workload.phases.get(number as usize)?;
        let continues = number > 0 && phase.cache == CacheState::AsIs;
        let draw = self.plan.draw(Vary::Moment, self.cell.block);
        let draw = draw.filter(|_| !continues)?;
        let random = Seed::new(draw).at(number.into());
        Some(Duration::from_nanos(random.below(LONGEST_WAIT_NS)))
    }

    pub fn dataset(&self) -> Result<&'a dyn Dataset, DatasetError> {
        let (plan, workload) = (self.plan, self.workload);
        self.prepared.of_block(plan, workload, self.cell.block)
    }

    /// Whether its engine accesses files.
    pub fn touches_files(&self) -> bool {
        self.plan.engine != fsdyno_load::engines::null::NAME
    }
}
