//! Resolves the settings of all layers to a plan.

use super::apps;
use super::catalogue::Catalogue;
use super::config_error::ConfigError;
use super::contenders::{ContenderParser, have_devices, have_own_labels};
use super::disks;
use super::error::ResolveError;
use super::judging;
use super::labs;
use super::layers::Layers;
use super::length;
use super::names::absolute;
use super::parameters;
use super::place::Place;
use super::planfile;
use super::remote;
use super::states;
use super::suite;
use super::variants;
use super::varying;
use super::work::{complete_replays, dataset, short_name, workloads};
use super::work_files;
use super::workers;
use crate::resolve::options::RunOptions;
use fsdyno_lab::skipped_phases;
use fsdyno_model::{
    Contender, ContenderSpec, DeviceChoice, DiskRecord, GuestSize, ModelCpu, ModelDisk, Plan,
    SkippedPhase, Workload,
};
use std::path::{Path, PathBuf};

/// The default directory of image files. It survives a reboot and is rarely a tmpfs.
pub(super) const DEFAULT_WORK_DIRECTORY: &str = "/var/tmp";

/// Resolves settings to a complete plan.
///
/// Relative paths on the command line are relative to the current directory, those in a plan file
/// to the directory of that file.
pub fn resolve(options: &RunOptions, catalogue: &Catalogue) -> Result<Plan, ResolveError> {
    let here = std::env::current_dir().map_err(|source| ResolveError::Read {
        path: PathBuf::from("."),
        source,
    })?;
    let layers = Layers::read(options, &here, catalogue)?;
    let parser = ContenderParser {
        base: &here,
        lab: layers.settings.lab.as_ref(),
        unchecked_options: options.unchecked_options.unwrap_or_default(),
    };
    let place = place(&layers)?;
    let specs = contenders(&layers, place.as_ref(), parser, catalogue)?;
    let disk = model_disk(&layers)?;
    let disk_trace = disk_trace(&layers, disk.is_some())?;
    let (contenders, guest) = in_labs(&layers, specs, place.as_ref(), disk.is_some(), catalogue)?;
    let device = device(&layers, &contenders, place);
    let disk = in_time(&layers, disk, &contenders, &device)?;
    let cpu = model_cpu(&layers, disk.as_ref())?;
    have_devices(&contenders, &device).map_err(layers.wrong("device"))?;
    let settings = layers.settings.clone().or_defaults();
    let engine = remote::engine(
        &contenders,
        options.engine.as_deref(),
        settings.engine.clone().unwrap_or_default(),
    );
    let engine = engine.map_err(layers.wrong("engine"))?;
    let virtual_time = disk.as_ref().is_some_and(|disk| disk.time.is_virtual());
    let scale = settings.scale.unwrap_or_default();
    let (name, workloads) = work(&layers, scale, virtual_time, catalogue)?;
    runs_programs(&engine, &workloads, catalogue).map_err(layers.wrong("engine"))?;
    let skipped = skipped(&contenders, &workloads).map_err(layers.wrong("contenders"))?;
    let varies = varying::resolve(settings.vary.as_ref(), &workloads, virtual_time)
        .map_err(layers.wrong("vary"))?;
    // Each block fills with files of its own.
    let filled = contenders.iter().any(|one| one.state.fill().is_some());
    let equal_blocks = virtual_time && varies.is_empty() && !filled;
    let length = length::of(&layers, virtual_time, equal_blocks)?;
    let resolved = Plan {
        name,
        skipped,
        varies,
        repeats: length.repeats,
        adaptive: length.adaptive,
        budget: length.budget,
        engine,
        work_dir: work_dir(&layers, &device),
        device,
        guest,
        disk,
        cpu,
        disk_trace,
        ..Plan::new(contenders, workloads)
    };
    let plan = settings.into_plan(resolved);
    if plan.profile && plan.contenders.iter().any(|one| !one.lab.is_host()) {
        return Err(layers.wrong("profile")(not_sampled(&plan)));
    }
    if plan.robust {
        variants::check(&plan).map_err(layers.wrong("robust"))?;
    }
    Ok(plan)
}

/// The error of a plan whose kernels are not sampled, because they are not that of this machine.
fn not_sampled(plan: &Plan) -> ConfigError {
    let (message, help) = if plan.in_virtual_time() {
        (
            "no kernel is sampled in virtual time: profiles are exact there",
            "leave it out, and ask after the run: fsdyno why RUN A B PHASE --functions",
        )
    } else {
        (
            "only the kernel of this machine is sampled, and not those of guests and other machines",
            "leave it out, or measure on this machine: --lab host",
        )
    };
    ConfigError::wrong(message, help)
}

/// The phases that contenders skip because their file systems do not support them. At least one
/// phase of the plan must remain.
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

/// The name of the plan, and its workloads with all parameters and each number of workers.
fn work(
    layers: &Layers<'_>,
    scale: f64,
    virtual_time: bool,
    catalogue: &Catalogue,
) -> Result<(String, Vec<Workload>), ResolveError> {
    let of_file = layers.files().map(|file| &file.workloads);
    let of_file = of_file.into_iter().find(|workloads| !workloads.is_empty());
    let mut workloads = workloads(layers.arguments, of_file.cloned(), layers.here, catalogue)?;
    let settings = &layers.arguments.set;
    parameters::set_defaults(&mut workloads, scale, settings, catalogue)
        .map_err(layers.wrong("scale"))?;
    for setting in settings {
        parameters::set(&mut workloads, setting, layers.here, catalogue)
            .map_err(layers.wrong("set"))?;
    }
    parameters::complete_programs(&mut workloads).map_err(layers.wrong("phases"))?;
    work_files::complete(&mut workloads, virtual_time)?;
    let base = layers.plan.as_ref().map_or(layers.here, |plan| &plan.base);
    apps::complete(&mut workloads, base)?;
    complete_replays(&mut workloads, layers.arguments.pace.as_deref())
        .map_err(ResolveError::argument("--pace"))?;
    let overrides = layers.arguments.judge.is_some();
    judging::set(&mut workloads, layers.settings.judge.as_deref(), overrides)
        .map_err(layers.wrong("judge"))?;
    let name = name(layers, &workloads);
    let numbers = &layers.settings.workers;
    let workloads = workers::for_each_number(workloads, numbers, catalogue);
    Ok((name, workloads.map_err(layers.wrong("workers"))?))
}

/// The name of the plan: the given one, or that of the plan file, the suite or the dataset.
fn name(layers: &Layers<'_>, workloads: &[Workload]) -> String {
    let file = layers.arguments.plan.as_deref().and_then(Path::file_stem);
    let named = |file: &planfile::PlanFile| file.options.name.clone();
    let in_plan = layers.plan.as_ref().and_then(named);
    let given = layers.arguments.name.clone();
    given
        .or(in_plan)
        .or_else(|| file.map(|stem| stem.to_string_lossy().into_owned()))
        .or_else(|| layers.suite.as_ref().and_then(named))
        .or_else(|| {
            let dataset = dataset(layers.arguments, layers.here)?.ok()?;
            Some(short_name(&dataset))
        })
        .or_else(|| Some(workloads.first()?.name.clone()))
        .unwrap_or_default()
}

/// Refuses programs with the null engine, because programs always access files.
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
                "leave out the engine, or the phase",
            ));
        }
    }
    Ok(())
}

/// The place of the contenders, if a layer sets it.
fn place(layers: &Layers<'_>) -> Result<Option<Place>, ResolveError> {
    let place = Place::of(&layers.settings.device, &layers.base("device"));
    let place = place.map_err(layers.wrong("device"))?;
    if matches!(place, Some(Place::Directories(_))) && !layers.arguments.contenders.is_empty() {
        let error = ConfigError::wrong(
            "directories are contenders themselves: nothing is made in them, so no file system \
             can be chosen",
            "leave out --fs, or name directories among the contenders: --fs dir:PATH",
        );
        return Err(layers.wrong("contenders")(error));
    }
    Ok(place)
}

fn contenders(
    layers: &Layers<'_>,
    place: Option<&Place>,
    parser: ContenderParser<'_>,
    catalogue: &Catalogue,
) -> Result<Vec<ContenderSpec>, ResolveError> {
    let mut setting = "contenders";
    let contenders = if let Some(Place::Directories(paths)) = place {
        setting = "device";
        let directories = paths.iter().map(|path| parser.directory(path));
        let directories = directories.collect::<Result<_, _>>();
        directories.map_err(layers.wrong(setting))?
    } else if layers.arguments.contenders.is_empty() {
        let mut of_files = layers.files().map(|file| &file.contenders);
        match of_files.find(|contenders| !contenders.is_empty()) {
            Some(contenders) => contenders.clone(),
            // The default suite provides the contenders of plans without any.
            None => match suite::find(suite::DEFAULT) {
                Some(suite) => suite.read(catalogue)?.contenders,
                None => Vec::new(),
            },
        }
    } else {
        let listed = parser.entries(&layers.arguments.contenders);
        listed.map_err(layers.wrong(setting))?
    };
    let settings = &layers.settings;
    let state = layers.first_set(&["fill", "age"]).unwrap_or("fill");
    let contenders = states::for_each_state(contenders, &settings.fill, &settings.age)
        .map_err(layers.wrong(state))?;
    have_own_labels(&contenders).map_err(|(_, error)| layers.wrong(setting)(error))?;
    Ok(contenders)
}

/// The model disk, with its profile and its faults as text.
fn model_disk(layers: &Layers<'_>) -> Result<Option<ModelDisk>, ResolveError> {
    let disk = layers.settings.disk.as_deref();
    let disk = disk.map(|name| disks::model_disk(name, &layers.base("disk")));
    let disk = disk.transpose().map_err(layers.wrong("disk"))?;
    let faults = layers.settings.disk_faults.as_deref();
    let faults = faults.map(|file| disks::faults(file, &layers.base("disk_faults")));
    let faults = faults.transpose().map_err(layers.wrong("disk_faults"))?;
    disks::with_faults(disk, faults).map_err(layers.wrong("disk_faults"))
}

/// The directory of block traces, if they are recorded.
fn disk_trace(layers: &Layers<'_>, on_disks: bool) -> Result<Option<DiskRecord>, ResolveError> {
    let refused = |what: &str, help: &str| {
        let error = ConfigError::wrong(what, help);
        Err(layers.wrong("disk_trace")(error))
    };
    let directory = layers.settings.disk_trace.as_deref();
    let payloads = layers.settings.disk_payloads.unwrap_or_default();
    match directory {
        Some(_) if !on_disks => refused(
            "there is no model disk to trace",
            "name one with --disk (fsdyno disk list)",
        ),
        None if payloads => refused(
            "there is no block trace to store payloads in",
            "name its directory with --disk-trace DIR (in a plan: disk_trace)",
        ),
        directory => Ok(directory.map(|directory| DiskRecord {
            directory: layers.base("disk_trace").join(directory),
            payloads,
        })),
    }
}

/// The model processor, if time is virtual and computing is not free.
fn model_cpu(
    layers: &Layers<'_>,
    disk: Option<&ModelDisk>,
) -> Result<Option<ModelCpu>, ResolveError> {
    let named = layers.settings.cpu.as_deref();
    disks::model_cpu(named, &layers.base("cpu"), disk).map_err(layers.wrong("cpu"))
}

/// The model disk with its time.
fn in_time(
    layers: &Layers<'_>,
    disk: Option<ModelDisk>,
    contenders: &[Contender],
    device: &DeviceChoice,
) -> Result<Option<ModelDisk>, ResolveError> {
    let disk = disks::in_time(disk, layers.settings.time, contenders)
        .map_err(|(setting, error)| layers.wrong(setting)(error))?;
    disks::on_files(disk.as_ref(), device).map_err(layers.wrong("device"))?;
    Ok(disk)
}

/// The contenders with their labs, and the size of guests.
fn in_labs(
    layers: &Layers<'_>,
    specs: Vec<ContenderSpec>,
    place: Option<&Place>,
    on_disks: bool,
    catalogue: &Catalogue,
) -> Result<(Vec<Contender>, Option<GuestSize>), ResolveError> {
    let mut names = vec![
        "lab",
        "guest_memory",
        "guest_processors",
        "guest_kernel",
        "image",
    ];
    if specs.iter().any(|spec| spec.lab.is_some()) {
        names.push("contenders");
    }
    let setting = layers.first_set(&names).unwrap_or("lab");
    let mut settings = layers.settings.clone();
    if let Some(kernel) = settings.guest_kernel {
        settings.guest_kernel = Some(labs::kernel_from(kernel, &layers.base("guest_kernel")));
    }
    if let Some(image) = settings.image {
        settings.image = Some(layers.base("image").join(image));
    }
    labs::assign(specs, &settings, place, on_disks, catalogue).map_err(layers.wrong(setting))
}

fn device(layers: &Layers<'_>, contenders: &[Contender], place: Option<Place>) -> DeviceChoice {
    if !contenders.iter().any(fsdyno_recipes::on_blocks) {
        return DeviceChoice::None;
    }
    let on_loop = |size, memory| DeviceChoice::Loop {
        size,
        memory,
        directory: match &layers.settings.work_dir {
            Some(directory) => absolute(layers.here, directory),
            None => PathBuf::from(DEFAULT_WORK_DIRECTORY),
        },
    };
    match place {
        Some(Place::Loop(size)) => on_loop(size, false),
        Some(Place::Ram(size)) => on_loop(size, true),
        Some(Place::Block(paths)) => DeviceChoice::Block { paths },
        None | Some(Place::Directories(_)) => on_loop(None, false),
    }
}

/// The directory of mount points if there are no image files, whose directory would be used.
fn work_dir(layers: &Layers<'_>, device: &DeviceChoice) -> Option<PathBuf> {
    let named = layers.settings.work_dir.as_ref()?;
    (!matches!(device, DeviceChoice::Loop { .. })).then(|| absolute(layers.here, named))
}
