//! Checks a plan before anything is created: finds recipes, opens datasets, checks the order of
//! phases, and compares the space that they need with the free space.

mod images;
mod in_memory;

pub use images::ImageSizes;

use crate::{filled, remote_limits};
use fsdyno_datasets::{Dataset, DatasetError, Form};
use fsdyno_files::{Untrusted, refuse_foreign_dir};
use fsdyno_host::place::{PlaceError, check_work_dir};
use fsdyno_load::engines::null::NAME as NULL;
use fsdyno_load::kinds::{self, Needs};
use fsdyno_load::programs;
use fsdyno_model::{
    Bytes, CancelToken, Contender, DatasetChoice, DeviceChoice, LabChoice, Plan, Vary, Workload,
};
use fsdyno_recipes::Filesystem;
use rustix::fs::{Access, access};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A plan that can run, as far as that can be known without creating anything.
#[derive(Clone)]
pub struct Preflight {
    pub recipes: Vec<&'static dyn Filesystem>,
    /// The preparation of each workload.
    pub workloads: Vec<Prepared>,
    /// The sizes of image files, if images are made.
    pub images: ImageSizes,
    /// The space that the largest workload takes on a contender, bytes.
    pub need: Bytes,
    /// The directory of scratch directories and images.
    pub scratch: PathBuf,
}

/// The input that one workload needs before its first phase.
#[derive(Clone)]
pub struct Prepared {
    /// The opened dataset; if each block has its own, that of the first block.
    pub dataset: Arc<dyn Dataset>,
    /// The datasets of later blocks, if each block has its own, opened on first use.
    later: Vec<OnceLock<Arc<dyn Dataset>>>,
    /// The forms in which it is written.
    pub forms: Vec<Form>,
    /// The largest space that its simultaneous trees take, bytes.
    pub peak: Bytes,
}

impl Prepared {
    pub fn of_block(
        &self,
        plan: &Plan,
        workload: &Workload,
        block: u32,
    ) -> Result<&dyn Dataset, DatasetError> {
        let place = (block as usize)
            .checked_sub(1)
            .and_then(|at| self.later.get(at));
        let Some(place) = place else {
            return Ok(&*self.dataset);
        };
        if place.get().is_none() {
            // Only generated datasets differ between blocks: no input is read.
            let seed = plan.dataset_seed(block);
            let opened = fsdyno_datasets::open(
                &workload.dataset,
                seed,
                plan.scale,
                None,
                &CancelToken::new(),
            )?;
            // If another thread was faster, it opened the same dataset.
            let _ = place.set(Arc::from(opened));
        }
        Ok(place.get().map_or(&*self.dataset, |dataset| &**dataset))
    }
}

/// The reason why a plan cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    #[error("dataset {dataset}: {source}")]
    Dataset {
        dataset: DatasetChoice,
        source: DatasetError,
    },
    /// A phase cannot follow those before it.
    #[error("workload {workload}: {what}")]
    Phases { workload: String, what: String },
    /// The dataset does not fit.
    #[error(
        "workload {workload} takes up to {need} on each contender, but {place} has only {room}; \
         {smaller}, or {remedy}"
    )]
    TooLarge {
        workload: String,
        need: Bytes,
        /// The place with too little space.
        place: String,
        room: Bytes,
        /// How to make the workload smaller.
        smaller: &'static str,
        remedy: String,
    },
    /// The dataset does not fit into a filled contender.
    #[error(
        "workload {workload} takes up to {need}, but on {label} only {left} are left of {device}; \
         {smaller}, less --fill, or {remedy}"
    )]
    TooFull {
        workload: String,
        need: Bytes,
        label: String,
        left: Bytes,
        device: Bytes,
        /// How to make the workload smaller.
        smaller: &'static str,
        remedy: &'static str,
    },
    /// The fill of image files does not fit into their directory.
    #[error(
        "the initial state of {label} writes up to {written} to its image files, and a workload \
        up to {need} more, but {} has only {room}; choose another directory with --work-dir, a \
        smaller workload, a smaller loop size, or less --fill", path.display()
    )]
    NoRoomToFill {
        label: String,
        written: Bytes,
        /// The space that the largest workload takes.
        need: Bytes,
        /// The directory of the image files.
        path: PathBuf,
        room: Bytes,
    },
    /// Image files in memory would not fit.
    #[error(
        "the image files in memory take up to {size} for {label}, and only {available} are \
         available; write a smaller size (--on ram:SIZE), or --on loop"
    )]
    ImagesExceedMemory {
        label: String,
        /// The size of its image files.
        size: Bytes,
        available: Bytes,
    },
    /// A fill would use too much of the machine's memory.
    #[error(
        "filling {label} takes {written} of memory and the workloads up to {need} more, but only \
         {available} are available; give it a smaller size=, less --fill, or a smaller workload"
    )]
    NotEnoughMemory {
        label: String,
        written: Bytes,
        /// The space that the largest workload takes.
        need: Bytes,
        available: Bytes,
    },
    /// The workloads do not fit into a filled file system in memory.
    #[error(
        "the workloads take up to {need}, but on {label} only {left} are left of {size}; give it a \
         larger size=, less --fill, or choose a smaller workload"
    )]
    TooFullInMemory {
        label: String,
        /// The space that the largest workload takes.
        need: Bytes,
        left: Bytes,
        /// The size of the file system.
        size: Bytes,
    },
    #[error("contender {label}: no file system is called `{filesystem}`")]
    NoRecipe { label: String, filesystem: String },
    /// Another user could exchange what is made in a directory.
    #[error("cannot make anything in {}: {source} (--work-dir)", path.display())]
    UntrustedWorkDir { path: PathBuf, source: PlaceError },
    /// Another user could lead root elsewhere.
    #[error("cannot make anything in {}: {source} (dir:PATH)", path.display())]
    UntrustedDirectory { path: PathBuf, source: Untrusted },
    #[error("cannot make anything in {}: {source}; choose another directory{remedy}", path.display())]
    NotWritable {
        path: PathBuf,
        remedy: &'static str,
        source: std::io::Error,
    },
    /// Another machine does not support a request of the plan.
    #[error("{0}")]
    Remote(String),
    /// The free space of a directory is unknown.
    #[error("cannot work in {}: {source} (make the directory, or name another one)", path.display())]
    Unknown {
        path: PathBuf,
        source: std::io::Error,
    },
}

/// The default scratch directory: on disk, not in memory.
pub const DEFAULT_SCRATCH: &str = "/var/tmp";

impl Preflight {
    /// Resolves and checks a plan. Creates nothing.
    pub fn of(plan: &Plan, stop: &CancelToken) -> Result<Self, PreflightError> {
        if let Some(refusal) = remote_limits::refusal(plan) {
            return Err(PreflightError::Remote(refusal));
        }
        let recipes = plan
            .contenders
            .iter()
            .map(recipe_of)
            .collect::<Result<Vec<_>, _>>()?;
        let scratch = scratch(plan);
        let room = room(plan, &scratch);
        let mut opened: Vec<(DatasetChoice, Arc<dyn Dataset>)> = Vec::new();
        let mut workloads = Vec::new();
        for workload in &plan.workloads {
            let known = opened
                .iter()
                .find(|(choice, _)| *choice == workload.dataset);
            let dataset = if let Some((_, dataset)) = known {
                Arc::clone(dataset)
            } else {
                let seed = plan.dataset_seed(0);
                let dataset =
                    fsdyno_datasets::open(&workload.dataset, seed, plan.scale, room, stop)
                        .map_err(|source| PreflightError::Dataset {
                            dataset: workload.dataset.clone(),
                            source,
                        })?;
                let dataset: Arc<dyn Dataset> = Arc::from(dataset);
                opened.push((workload.dataset.clone(), Arc::clone(&dataset)));
                dataset
            };
            workloads.push(prepare(plan, workload, dataset)?);
        }
        let need = workloads.iter().map(|w| w.peak).max().unwrap_or_default();
        let images = ImageSizes::of_plan(plan, &recipes, &workloads);
        let preflight = Self {
            recipes,
            workloads,
            images,
            need,
            scratch,
        };
        in_memory::check_images(plan, &preflight.images)?;
        preflight.check_room(plan)?;
        preflight.check_room_with_states(plan)?;
        if plan.engine != NULL {
            in_memory::check(plan, preflight.need)?;
        }
        Ok(preflight)
    }

    /// An error if a workload does not fit.
    fn check_room(&self, plan: &Plan) -> Result<(), PreflightError> {
        if plan.engine == NULL {
            // The null engine writes nothing.
            return Ok(());
        }
        for (workload, prepared) in plan.workloads.iter().zip(&self.workloads) {
            let too_large = |place: String, room: Bytes, remedy: &str| PreflightError::TooLarge {
                workload: workload.name.clone(),
                need: prepared.peak,
                place,
                room,
                smaller: workload.dataset.smaller(),
                remedy: remedy.to_owned(),
            };
            if let DeviceChoice::Loop {
                size: Some(size), ..
            } = &plan.device
                && prepared.peak > *size
            {
                return Err(too_large(
                    "an image file of the size in --on".to_owned(),
                    *size,
                    "a larger loop size, or leave the size to fsdyno",
                ));
            }
            // Another machine checks its own directories.
            let here = || plan.contenders.iter().filter(|c| !c.lab.is_remote());
            let directories = here().filter_map(|c| c.directory.as_ref());
            let mut places: Vec<(&PathBuf, &str)> = directories
                .map(|path| (path, "a directory with more room"))
                .collect();
            let on_disk = matches!(plan.device, DeviceChoice::Loop { memory: false, .. });
            if on_disk && here().next().is_some() {
                places.push((&self.scratch, "another directory with --work-dir"));
            }
            for (path, remedy) in places {
                let room = free(path)?;
                if prepared.peak > room {
                    let place = path.display().to_string();
                    return Err(too_large(place, room, remedy));
                }
            }
        }
        Ok(())
    }

    /// An error if workloads do not fit into a filled contender, or fills do not fit into the
    /// directory of image files.
    fn check_room_with_states(&self, plan: &Plan) -> Result<(), PreflightError> {
        if !matches!(plan.device, DeviceChoice::Loop { .. }) || plan.engine == NULL {
            return Ok(());
        }
        for (number, contender) in plan.contenders.iter().enumerate() {
            let written = filled::written_by(contender, self.images.largest_of(number));
            if contender.state.is_fresh() || written == Bytes(0) {
                continue;
            }
            self.check_fill(plan, number)?;
            if plan.images_in_memory() {
                // There is memory for whole images.
                continue;
            }
            let path = self.scratch.clone();
            let room = free(&path)?;
            if written.0.saturating_add(self.need.0) > room.0 {
                return Err(PreflightError::NoRoomToFill {
                    label: contender.label.clone(),
                    written,
                    need: self.need,
                    path,
                    room,
                });
            }
        }
        Ok(())
    }

    /// An error if a workload does not fit into the image files of a filled contender.
    fn check_fill(&self, plan: &Plan, number: usize) -> Result<(), PreflightError> {
        let contender = &plan.contenders[number];
        let permille = contender.state.fill_permille.unwrap_or(0);
        let workloads = plan.workloads.iter().zip(&self.workloads);
        for (at, (workload, prepared)) in workloads.enumerate() {
            let device = self.images.of_pair(number, at);
            let left = filled::left_on(device, permille);
            // The tolerance for rounding to whole pages.
            if prepared.peak.0 > left.0 + 4096 {
                return Err(PreflightError::TooFull {
                    workload: workload.name.clone(),
                    need: prepared.peak,
                    label: contender.label.clone(),
                    left,
                    device,
                    smaller: workload.dataset.smaller(),
                    remedy: "a larger loop size, or leave the size to fsdyno",
                });
            }
        }
        Ok(())
    }

    /// An error for a directory in which no image, mount point or tree can be created.
    pub fn check_places(&self, plan: &Plan) -> Result<(), PreflightError> {
        let here = plan.contenders.iter().filter(|c| !c.lab.is_remote());
        let guests = plan.contenders.iter().filter(|c| c.lab == LabChoice::Vm);
        let directories = here
            .map(|c| c.directory.as_ref())
            .chain(guests.map(|_| None));
        let places: BTreeSet<(&PathBuf, &str)> = directories
            .map(|directory| match directory {
                Some(directory) => (directory, " (dir:PATH)"),
                None => (&self.scratch, " with --work-dir"),
            })
            .collect();
        for (path, remedy) in places {
            check_trust(path, *path == self.scratch)?;
            // `.` fails for a path that is not a directory. The access checked is that needed to
            // create files.
            access(path.join("."), Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| {
                PreflightError::NotWritable {
                    path: path.clone(),
                    remedy,
                    source: errno.into(),
                }
            })?;
        }
        Ok(())
    }

    /// The size of the smallest device on which the plan can run, bytes.
    pub fn smallest_device(&self, plan: &Plan) -> Bytes {
        // Metadata, journals and reserves need more space than the files: about a tenth.
        let filled = filled::device_for(self.need, filled::fullest(&plan.contenders));
        smallest(&self.recipes)
            .max(Bytes(self.need.0 + self.need.0 / 10))
            .max(filled)
    }
}

/// Refuses a directory in which another user could exchange what a run makes.
fn check_trust(path: &Path, is_work_dir: bool) -> Result<(), PreflightError> {
    let path = path.to_owned();
    if is_work_dir {
        return check_work_dir(&path)
            .map_err(|source| PreflightError::UntrustedWorkDir { path, source });
    }
    refuse_foreign_dir(&path).map_err(|source| PreflightError::UntrustedDirectory { path, source })
}

/// The free space of a directory.
fn free(path: &Path) -> Result<Bytes, PreflightError> {
    fsdyno_host::space::free(path).map_err(|source| PreflightError::Unknown {
        path: path.to_owned(),
        source,
    })
}

/// The size of the smallest device on which all these file systems can be made.
fn smallest(recipes: &[&dyn Filesystem]) -> Bytes {
    let sizes = recipes.iter().map(|recipe| recipe.smallest_bytes());
    sizes.max().unwrap_or_default()
}

/// The directory for images, mount points and trees.
pub(crate) fn scratch(plan: &Plan) -> PathBuf {
    match (&plan.device, &plan.work_dir) {
        (DeviceChoice::Loop { directory, .. }, _) | (_, Some(directory)) => directory.clone(),
        _ => PathBuf::from(DEFAULT_SCRATCH),
    }
}

/// An upper bound of the space of a contender for one tree, as far as it is known before the run.
/// The total need of the plan is compared with each directory later.
fn room(plan: &Plan, scratch: &Path) -> Option<Bytes> {
    let remote = plan.contenders.iter().any(|c| c.lab.is_remote());
    if plan.engine == NULL || remote {
        return None;
    }
    let device = match &plan.device {
        DeviceChoice::Loop {
            size: Some(size), ..
        } => Some(*size),
        DeviceChoice::Loop { .. } => fsdyno_host::space::free(scratch).ok(),
        DeviceChoice::Block { paths } => {
            let sizes: io::Result<Vec<u64>> = paths.iter().map(|path| device_size(path)).collect();
            sizes.ok().map(|sizes| Bytes(sizes.iter().sum()))
        }
        DeviceChoice::None => None,
    };
    let directories = plan.contenders.iter().filter_map(|c| c.directory.as_ref());
    let free = directories.filter_map(|path| fsdyno_host::space::free(path).ok());
    // The maximum: a tree that is too large for one directory may fit into another.
    device.into_iter().chain(free).max()
}

fn device_size(path: &Path) -> io::Result<u64> {
    if !path.metadata()?.file_type().is_block_device() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    File::open(path)?.seek(SeekFrom::End(0))
}

fn recipe_of(contender: &Contender) -> Result<&'static dyn Filesystem, PreflightError> {
    fsdyno_recipes::find(&contender.filesystem).ok_or_else(|| PreflightError::NoRecipe {
        label: contender.label.clone(),
        filesystem: contender.filesystem.clone(),
    })
}

/// Simulates the phases: returns the forms of the dataset that they need, and the maximum space of
/// their trees.
fn prepare(
    plan: &Plan,
    workload: &Workload,
    dataset: Arc<dyn Dataset>,
) -> Result<Prepared, PreflightError> {
    let error = |what: String| PreflightError::Phases {
        workload: workload.name.clone(),
        what,
    };
    let facts = dataset.facts();
    let tree = facts.footprint.0;
    fsdyno_load::phases::mongo::follow(&workload.phases).map_err(error)?;
    let (mut forms, mut trees, mut most, mut own) = (Vec::new(), 0_u64, 0_u64, 0_u64);
    let mut made = 0;
    for phase in &workload.phases {
        let kind = kinds::find(&phase.kind)
            .ok_or_else(|| error(format!("`{}` is no kind of phase", phase.kind)))?;
        programs::check(phase).map_err(|refused| error(refused.to_string()))?;
        match programs::needs(phase, kind.needs) {
            Needs::Archive if facts.archive_bytes.is_none() => {
                return Err(error(format!(
                    "`{}` needs an archive, and {} is none; take `ports` or tar:FILE",
                    phase.kind, workload.dataset
                )));
            }
            Needs::Archive if !forms.contains(&Form::Archive) => forms.push(Form::Archive),
            Needs::Tree if trees == 0 && forms.contains(&Form::Tree) => {
                return Err(error(format!(
                    "nothing is left for `{}`: an earlier phase deleted the last tree",
                    phase.label
                )));
            }
            Needs::Tree if trees == 0 => {
                forms.push(Form::Tree);
                trees += 1;
            }
            _ => {}
        }
        // The phases of a family share their files.
        made = made.max(kinds::data_bytes(phase).unwrap_or_default().0);
        own = own.saturating_add(programs::data_bytes(phase).unwrap_or_default().0);
        most = most.max(trees + u64::from(kind.makes_tree));
        trees = trees + u64::from(kind.makes_tree) - u64::from(kind.removes_tree);
    }
    if forms.is_empty() && facts.files + facts.directories > 0 {
        // Programs that receive files read them from the tree.
        forms.push(Form::Tree);
        most += 1;
    }
    let archive = facts.archive_bytes.unwrap_or_default().0;
    let archive = if forms.contains(&Form::Archive) {
        archive
    } else {
        0
    };
    let files = most.saturating_mul(tree).saturating_add(archive);
    let peak = Bytes(files.saturating_add(own).saturating_add(made));
    let varies = plan.has_varying(Vary::Dataset) && !workload.dataset.is_users();
    let later = if varies {
        plan.most_repeats() as usize
    } else {
        0
    };
    Ok(Prepared {
        dataset,
        later: vec![OnceLock::new(); later.saturating_sub(1)],
        forms,
        peak,
    })
}
