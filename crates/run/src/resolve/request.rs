//! What the arguments ask for, and how a plan is made of it.

use super::catalogue::Catalogue;
use super::config_error::ConfigError;
use super::contenders::{Judge, absolute, have_devices, told_apart};
use super::counting::Counting;
use super::disks;
use super::elsewhere;
use super::error::ResolveError;
use super::labs::{self, Said};
use super::length;
use super::parameters;
use super::place::Place;
use super::planfile::{self, PlanFile};
use super::states;
use super::suite;
use super::work::{short_name, stands_alone, workloads};
use super::workers;
use fsdyno_lab::skipped_phases;
use fsdyno_model::{
    Bytes, Contender, ContenderSpec, CopyMethod, DeviceChoice, DiskRecord, DiskTime, GuestSize,
    KernelChoice, LabChoice, ModelDisk, Nanos, Plan, SkippedPhase, Vary, Workload,
};
use std::path::{Path, PathBuf};

/// Where image files lie where nobody says: it outlives a reboot and is rarely memory.
const DEFAULT_WORK_DIRECTORY: &str = "/var/tmp";
/// The seed where nobody says: a run is repeatable without a word.
const DEFAULT_SEED: u64 = 1;

/// What the arguments ask for; what is `None` or empty is left to the plan file and the suite.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The suite named.
    pub suite: Option<String>,
    /// The plan file named (`--plan`).
    pub plan: Option<PathBuf>,
    /// Contenders in short form (`--fs`), each a list.
    pub fs: Vec<String>,
    /// Where to measure (`--on`); several are joined with commas.
    pub on: Option<String>,
    /// Where image files lie (`--work-dir`).
    pub work_dir: Option<PathBuf>,
    /// How many blocks (`--repeats`).
    pub repeats: Option<u32>,
    /// How many blocks at most, where the figures decide (`--max-repeats`).
    pub max_repeats: Option<u32>,
    /// How narrow intervals need be (`--precision`).
    pub precision: Option<f64>,
    /// The difference that matters (`--margin`).
    pub margin: Option<f64>,
    /// No block begins after this time (`--budget`).
    pub budget: Option<Nanos>,
    /// A cell that takes longer is ended (`--cell-budget`).
    pub cell_budget: Option<Nanos>,
    /// The seed (`--seed`).
    pub seed: Option<u64>,
    /// What is another one in every block (`--vary`).
    pub vary: Option<Vary>,
    /// The scale of generated datasets (`--scale`).
    pub scale: Option<f64>,
    /// The engine (`--engine`).
    pub engine: Option<String>,
    /// How a copy moves data (`--copy-method`).
    pub copy_method: Option<CopyMethod>,
    /// Phases instead of those of every workload (`--phases`), each a list.
    pub workloads: Vec<String>,
    /// A dataset instead of that of every workload (`--dataset`).
    pub dataset: Option<String>,
    /// Commands that are phases, after those of `workloads` (`--exec`).
    pub exec: Vec<String>,
    /// What is done before the first of them, untimed (`--prepare`).
    pub prepare: Option<String>,
    /// Parameters of phases (`--set`), each as `KIND.NAME=VALUE`.
    pub set: Vec<String>,
    /// What searches look for (`--pattern`).
    pub pattern: Option<String>,
    /// Whether trees are compared (`--verify`).
    pub verify: Option<bool>,
    /// Whether the checker runs after each cell (`--check`).
    pub check: Option<bool>,
    /// Of which files fragments are counted (`--fragments`).
    pub fragments: Option<Counting>,
    /// Whether tracepoints tell metadata and forced writes (`--trace`).
    pub trace: Option<bool>,
    /// Where cells run (`--lab`).
    pub lab: Option<LabChoice>,
    /// The model disk under all contenders (`--disk`).
    pub disk: Option<PathBuf>,
    /// Where every request to it is recorded (`--disk-trace`).
    pub disk_trace: Option<PathBuf>,
    /// Whether what is written is in the record (`--disk-payloads`).
    pub disk_payloads: Option<bool>,
    /// The file of the faults it is told to have (`--disk-faults`).
    pub disk_faults: Option<PathBuf>,
    /// Which time passes on it (`--time`).
    pub time: Option<DiskTime>,
    /// The memory of a guest (`--guest-memory`).
    pub guest_memory: Option<Bytes>,
    /// The processors of a guest (`--guest-processors`).
    pub guest_processors: Option<u32>,
    /// The kernel of a guest (`--guest-kernel`).
    pub guest_kernel: Option<KernelChoice>,
    /// How full file systems are before a workload (`--fill`), each in `90%:fragmented` form.
    pub fill: Vec<String>,
    /// How aged they are (`--age`).
    pub age: Vec<u32>,
    /// With how many workers, each a workload (`--workers`).
    pub workers: Vec<u32>,
    /// Whether unknown mount options pass that look like slips (`--unchecked-options`).
    pub unchecked_options: bool,
}

/// Makes a plan in which nothing is left open.
///
/// Relative paths of the arguments are seen from the current directory, those of a plan file from
/// the directory of that file.
pub fn resolve(request: &Request, catalogue: &Catalogue) -> Result<Plan, ResolveError> {
    let here = std::env::current_dir().map_err(|source| ResolveError::Read {
        path: PathBuf::from("."),
        source,
    })?;
    let judge = Judge {
        base: &here,
        unchecked_options: request.unchecked_options,
    };
    let layers = Layers::read(request, catalogue)?;
    let place = place(request, &layers, judge)?;
    let typed = contenders(request, &layers, place.as_ref(), judge, catalogue)?;
    let disk = model_disk(request, &layers, &here)?;
    let disk_trace = disk_trace(request, &layers, disk.is_some(), &here)?;
    let labs = in_labs(
        request,
        &layers,
        (typed, disk.as_ref()),
        place.as_ref(),
        catalogue,
    )?;
    let (contenders, guest) = labs;
    let device = device(request, &contenders, place, &here);
    let disk = in_time(request, &layers, disk, (&contenders, &device))?;
    have_devices(&contenders, &device).map_err(ResolveError::argument("--on"))?;
    let scale = scale(request, &layers)?;
    let engine = engine(request, &layers, catalogue)?;
    let asked = request.engine.as_deref();
    let engine = elsewhere::engine(&contenders, asked, engine)
        .map_err(ResolveError::argument("--engine"))?;
    let (name, workloads) = with_workers(request, &layers, scale, &here, catalogue)?;
    let counting = request.fragments.or(layers.pick(|layer| layer.fragments));
    let counting = counting.unwrap_or_default();
    runs_programs(&engine, &workloads, catalogue).map_err(ResolveError::argument("--engine"))?;
    let skipped = skipped(&contenders, &workloads).map_err(ResolveError::argument("--fs"))?;
    let vary = length::varies(request, &layers, &workloads)?;
    let (repeats, adaptive, margin) = length::of(request, &layers, disk.as_ref(), vary)?;
    let (budget, cell_budget) = length::budgets(request, &layers)?;
    let seed = request.seed.or(layers.pick(|layer| layer.seed));
    Ok(Plan {
        skipped,
        schema: Plan::SCHEMA,
        name,
        seed: seed.unwrap_or(DEFAULT_SEED),
        vary,
        scale,
        repeats,
        adaptive,
        margin,
        budget,
        cell_budget,
        engine,
        copy_method: request
            .copy_method
            .or(layers.pick(|layer| layer.copy_method))
            .unwrap_or_default(),
        verify: said(request.verify, &layers, |layer| layer.verify, false),
        check: said(request.check, &layers, |layer| layer.check, true),
        fragments: counting.is_counted(),
        trace: said(request.trace, &layers, |layer| layer.trace, false),
        fragments_floor: counting.floor(),
        workloads,
        contenders,
        work_dir: work_dir(request, &device, &here),
        device,
        guest,
        disk,
        disk_trace,
        contents: std::collections::BTreeMap::new(),
    })
}

/// The phases that contenders do not run, because their file systems cannot. At least one phase of
/// the plan must be left.
fn skipped(
    contenders: &[Contender],
    workloads: &[Workload],
) -> Result<Vec<SkippedPhase>, ConfigError> {
    let skipped = skipped_phases(contenders, workloads);
    let phases: usize = workloads.iter().map(|workload| workload.phases.len()).sum();
    match skipped.first() {
        Some(first) if skipped.len() == contenders.len() * phases => Err(ConfigError::wrong(
            format!("no phase of the plan can run: {}", first.reason),
            "add a file system that can, or choose other phases",
        )),
        _ => Ok(skipped),
    }
}

/// The workloads, with every parameter in its place.
fn work(
    request: &Request,
    layers: &Layers,
    scale: f64,
    here: &Path,
    catalogue: &Catalogue,
) -> Result<Vec<Workload>, ResolveError> {
    let mut workloads = workloads(
        request,
        layers.pick(|layer| Some(&layer.workloads).filter(|w| !w.is_empty()).cloned()),
        here,
        catalogue,
    )?;
    parameters::fill_in(&mut workloads, scale, catalogue)
        .map_err(ResolveError::argument("--scale"))?;
    for typed in &request.set {
        parameters::set(&mut workloads, typed, here, catalogue)
            .map_err(ResolveError::argument("--set"))?;
    }
    Ok(workloads)
}

/// What the plan is called, and its workloads, each with every number of workers that was asked for.
fn with_workers(
    request: &Request,
    layers: &Layers,
    scale: f64,
    here: &Path,
    catalogue: &Catalogue,
) -> Result<(String, Vec<Workload>), ResolveError> {
    let workloads = work(request, layers, scale, here, catalogue)?;
    let name = name(request, layers, &workloads, here);
    let written = layers.pick(|layer| (!layer.workers.is_empty()).then(|| layer.workers.clone()));
    let (numbers, argument) = if request.workers.is_empty() {
        (written.unwrap_or_default(), "`workers` of the plan")
    } else {
        (request.workers.clone(), "--workers")
    };
    let spread = workers::spread(workloads, &numbers, catalogue);
    Ok((name, spread.map_err(ResolveError::argument(argument))?))
}

/// What lies below the arguments: the plan file, then the suite.
pub(super) struct Layers {
    pub plan: Option<PlanFile>,
    suite: Option<PlanFile>,
}

impl Layers {
    /// The default suite fills in where there would be no workload.
    fn read(request: &Request, catalogue: &Catalogue) -> Result<Self, ResolveError> {
        let plan = match &request.plan {
            Some(path) => {
                let read = PlanFile::read(path, catalogue, request.unchecked_options);
                Some(read?)
            }
            None => None,
        };
        let has_workloads = plan.as_ref().is_some_and(|plan| !plan.workloads.is_empty());
        let named = match request.suite.as_deref() {
            Some(name) => Some(suite::find(name).ok_or_else(|| {
                let names = suite::ALL.iter().map(|suite| suite.name);
                ResolveError::argument("the suite")(ConfigError::unknown("suite", name, names))
            })?),
            None if has_workloads || request.dataset.is_some() => None,
            None if stands_alone(request, catalogue) => None,
            None => suite::find(suite::DEFAULT),
        };
        let suite = named.map(|suite| suite.read(catalogue)).transpose()?;
        Ok(Self { plan, suite })
    }

    /// What the first layer says that says something.
    pub fn pick<T>(&self, key: impl Fn(&PlanFile) -> Option<T>) -> Option<T> {
        self.both().find_map(key)
    }

    fn both(&self) -> impl Iterator<Item = &PlanFile> {
        self.plan.iter().chain(&self.suite)
    }
}

/// What the request says, else the first layer that says something, else `default`.
fn said(
    request: Option<bool>,
    layers: &Layers,
    key: impl Fn(&PlanFile) -> Option<bool>,
    default: bool,
) -> bool {
    request.or(layers.pick(key)).unwrap_or(default)
}

/// What the plan is called: as the plan file, the suite or the dataset.
fn name(request: &Request, layers: &Layers, workloads: &[Workload], here: &Path) -> String {
    let file = request.plan.as_deref().and_then(Path::file_stem);
    let in_plan = layers.plan.as_ref().and_then(|plan| plan.name.clone());
    in_plan
        .or_else(|| file.map(|stem| stem.to_string_lossy().into_owned()))
        .or_else(|| layers.suite.as_ref().and_then(|suite| suite.name.clone()))
        .or_else(|| {
            let dataset = planfile::dataset(request.dataset.as_deref()?, here).ok()?;
            Some(short_name(&dataset))
        })
        .or_else(|| Some(workloads.first()?.name.clone()))
        .unwrap_or_default()
}

fn scale(request: &Request, layers: &Layers) -> Result<f64, ResolveError> {
    match request.scale {
        Some(scale) => planfile::scale(scale).map_err(ResolveError::argument("--scale")),
        None => Ok(layers.pick(|layer| layer.scale).unwrap_or(1.0)),
    }
}

fn engine(
    request: &Request,
    layers: &Layers,
    catalogue: &Catalogue,
) -> Result<String, ResolveError> {
    match &request.engine {
        Some(name) => catalogue
            .engine(name)
            .map_err(ResolveError::argument("--engine")),
        None => Ok(layers
            .pick(|layer| layer.engine.clone())
            .or_else(|| catalogue.engines.first().map(|engine| (*engine).to_owned()))
            .unwrap_or_default()),
    }
}

/// Refuses programs where the engine is one that touches no file: they would.
fn runs_programs(
    engine: &str,
    workloads: &[Workload],
    catalogue: &Catalogue,
) -> Result<(), ConfigError> {
    for phase in workloads.iter().flat_map(|w| &w.phases) {
        if engine == "null" && catalogue.kind(&phase.kind)?.program {
            return Err(ConfigError::wrong(
                format!(
                    "the engine null touches no file, and `{}` runs a program that would",
                    phase.label
                ),
                "leave the engine out, or the phase",
            ));
        }
    }
    Ok(())
}

/// Where to measure, where anybody says.
fn place(
    request: &Request,
    layers: &Layers,
    judge: Judge<'_>,
) -> Result<Option<Place>, ResolveError> {
    let place = match &request.on {
        Some(text) => {
            let place = Place::parse(text).map_err(ResolveError::argument("--on"))?;
            Some(place.seen_from(judge.base))
        }
        None => layers.pick(|layer| layer.place.clone()),
    };
    if matches!(place, Some(Place::Directories(_))) && !request.fs.is_empty() {
        let config_error = ConfigError::wrong(
            "directories are contenders themselves: nothing is made in them, so no file system \
             can be chosen",
            "leave out --fs, or name directories among the contenders: --fs dir:PATH",
        );
        return Err(ResolveError::argument("--fs")(config_error));
    }
    Ok(place)
}

fn contenders(
    request: &Request,
    layers: &Layers,
    place: Option<&Place>,
    judge: Judge<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<ContenderSpec>, ResolveError> {
    let (argument, contenders) = if let Some(Place::Directories(paths)) = place {
        let directories = paths.iter().map(|path| judge.directory(path));
        let directories = directories.collect::<Result<_, _>>();
        ("--on", directories.map_err(ResolveError::argument("--on"))?)
    } else if request.fs.is_empty() {
        let mut said = layers.both().map(|layer| &layer.contenders);
        let contenders = match said.find(|contenders| !contenders.is_empty()) {
            Some(contenders) => contenders.clone(),
            // Those of the default suite stand in for all that name none.
            None => match suite::find(suite::DEFAULT) {
                Some(suite) => suite.read(catalogue)?.contenders,
                None => Vec::new(),
            },
        };
        ("--fs", contenders)
    } else {
        let mut contenders = Vec::new();
        for text in &request.fs {
            contenders.extend(judge.list(text).map_err(ResolveError::argument("--fs"))?);
        }
        ("--fs", contenders)
    };
    let contenders = in_states(request, layers, contenders)?;
    told_apart(&contenders).map_err(|(_, c)| ResolveError::argument(argument)(c))?;
    Ok(contenders)
}

/// The model disk asked for, with its profile whole.
fn model_disk(
    request: &Request,
    layers: &Layers,
    here: &Path,
) -> Result<Option<ModelDisk>, ResolveError> {
    let asked = request.disk.as_deref();
    let asked = asked.map(|name| disks::model_disk(name, here)).transpose();
    let asked = asked.map_err(ResolveError::argument("--disk"))?;
    let disk = asked.or(layers.pick(|layer| layer.disk.clone()));
    let faults = request.disk_faults.as_deref();
    let faults = faults.map(|file| disks::faults(file, here)).transpose();
    let faults = faults.map_err(ResolveError::argument("--disk-faults"))?;
    let faults = faults.or(layers.pick(|layer| layer.disk_faults.clone()));
    disks::with_faults(disk, faults).map_err(ResolveError::argument("--disk-faults"))
}

/// Where the requests to model disks are recorded, where that is asked for.
fn disk_trace(
    request: &Request,
    layers: &Layers,
    on_disks: bool,
    here: &Path,
) -> Result<Option<DiskRecord>, ResolveError> {
    let wrong = |what: &str, way_out: &str| {
        let config_error = ConfigError::wrong(what, way_out);
        Err(ResolveError::argument("--disk-trace")(config_error))
    };
    let asked = request.disk_trace.as_deref().map(|path| here.join(path));
    let directory = asked.or(layers.pick(|layer| layer.disk_trace.clone()));
    let payloads = said(
        request.disk_payloads,
        layers,
        |layer| layer.disk_payloads,
        false,
    );
    match directory {
        Some(_) if !on_disks => wrong(
            "there is no model disk whose requests could be recorded",
            "name one with --disk",
        ),
        None if payloads => wrong(
            "there is no record to keep payloads in",
            "say where it is to lie, with --disk-trace DIR (in a plan: disk_trace)",
        ),
        directory => Ok(directory.map(|directory| DiskRecord {
            directory,
            payloads,
        })),
    }
}

/// The model disk in its time, where it can be had.
fn in_time(
    request: &Request,
    layers: &Layers,
    disk: Option<ModelDisk>,
    (contenders, device): (&[Contender], &DeviceChoice),
) -> Result<Option<ModelDisk>, ResolveError> {
    let time = request.time.or(layers.pick(|layer| layer.time));
    let disk = disks::in_time(disk, time, contenders)
        .map_err(|(argument, config_error)| ResolveError::argument(argument)(config_error))?;
    disks::on_files(disk.as_ref(), device).map_err(ResolveError::argument("--on"))?;
    Ok(disk)
}

/// Puts contenders into the labs asked for, or one where they can run; the size of its guests.
fn in_labs(
    request: &Request,
    layers: &Layers,
    (typed, disk): (Vec<ContenderSpec>, Option<&ModelDisk>),
    place: Option<&Place>,
    catalogue: &Catalogue,
) -> Result<(Vec<Contender>, Option<GuestSize>), ResolveError> {
    let memory = request.guest_memory.map(labs::memory).transpose();
    let memory = memory.map_err(ResolveError::argument("--guest-memory"))?;
    let said = Said {
        lab: request
            .lab
            .clone()
            .or(layers.pick(|layer| layer.lab.clone()))
            .or(disk.is_some().then_some(LabChoice::Uml)),
        memory: memory.or(layers.pick(|layer| layer.guest_memory)),
        processors: request
            .guest_processors
            .or(layers.pick(|layer| layer.guest_processors)),
        kernel: request
            .guest_kernel
            .clone()
            .or(layers.pick(|layer| layer.guest_kernel.clone())),
    };
    let of_one = typed.iter().any(|typed| typed.lab.is_some());
    let argument = if request.lab.is_some() {
        "--lab"
    } else if request.guest_memory.is_some() {
        "--guest-memory"
    } else if request.guest_processors.is_some() {
        "--guest-processors"
    } else if request.guest_kernel.is_some() {
        "--guest-kernel"
    } else if of_one && !request.fs.is_empty() {
        "--fs"
    } else {
        "--lab"
    };
    let (contenders, guest) =
        labs::assign(typed, said, place, catalogue).map_err(ResolveError::argument(argument))?;
    Ok((contenders, guest))
}

/// The contenders in the states asked for.
fn in_states(
    request: &Request,
    layers: &Layers,
    contenders: Vec<ContenderSpec>,
) -> Result<Vec<ContenderSpec>, ResolveError> {
    let fills = if request.fill.is_empty() {
        layers.pick(|layer| (!layer.fills.is_empty()).then(|| layer.fills.clone()))
    } else {
        let fills = request.fill.iter().map(|text| states::fill(text));
        let fills = fills.collect::<Result<Vec<_>, _>>();
        Some(fills.map_err(ResolveError::argument("--fill"))?)
    };
    let ages = if request.age.is_empty() {
        layers.pick(|layer| (!layer.ages.is_empty()).then(|| layer.ages.clone()))
    } else {
        Some(request.age.clone())
    };
    let argument = match (request.fill.is_empty(), request.age.is_empty()) {
        (false, _) => "--fill",
        (true, false) => "--age",
        (true, true) => "`fill` and `age` of the plan",
    };
    let (fills, ages) = (fills.unwrap_or_default(), ages.unwrap_or_default());
    states::multiply(contenders, &fills, &ages).map_err(ResolveError::argument(argument))
}

fn device(
    request: &Request,
    contenders: &[Contender],
    place: Option<Place>,
    here: &Path,
) -> DeviceChoice {
    if !contenders.iter().any(fsdyno_recipes::on_blocks) {
        return DeviceChoice::None;
    }
    let on_loop = |size| DeviceChoice::Loop {
        size,
        directory: match &request.work_dir {
            Some(directory) => absolute(here, directory),
            None => PathBuf::from(DEFAULT_WORK_DIRECTORY),
        },
    };
    match place {
        Some(Place::Loop(size)) => on_loop(size),
        Some(Place::Block(paths)) => DeviceChoice::Block { paths },
        None | Some(Place::Directories(_)) => on_loop(None),
    }
}

/// Where mount points go where no image files say it.
fn work_dir(request: &Request, device: &DeviceChoice, here: &Path) -> Option<PathBuf> {
    let named = request.work_dir.as_ref()?;
    (!matches!(device, DeviceChoice::Loop { .. })).then(|| absolute(here, named))
}
