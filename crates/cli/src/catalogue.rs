//! The names that a plan may use, and the requirements that this machine lacks.

use fsdyno_guests::kernels;
use fsdyno_host::probe::probe;
use fsdyno_model::{Availability, Contender, Need, Requirement};
use fsdyno_recipes::{Filesystem, layouts};
use fsdyno_run::resolve::Catalogue;

/// Builds the catalogue with the capabilities that this machine lacks, for the choice of a lab.
pub fn catalogue_here() -> Catalogue {
    let kernel = kernels::default();
    Catalogue {
        lacking: lacking(),
        guests: kernel.is_some(),
        kernel,
        ..Catalogue::complete()
    }
}

/// File systems and layouts that this user or this kernel cannot provide, but a guest may. Programs
/// are the same in both.
fn lacking() -> Vec<String> {
    let missed = |need: &Need| probe(need) != Availability::Available;
    let no_devices = missed(&Need::LoopDevices);
    let of_kernel =
        |requirement: &Requirement| is_of_kernel(&requirement.need) && missed(&requirement.need);
    let filesystems = fsdyno_recipes::fs::ALL
        .iter()
        .filter(|recipe| no_devices || recipe.requirements().iter().any(of_kernel))
        .map(|recipe| recipe.name());
    let layouts = fsdyno_recipes::layouts::ALL
        .iter()
        .filter(|layout| layout.requirements().iter().any(of_kernel))
        .map(|layout| layout.name);
    filesystems.chain(layouts).map(str::to_owned).collect()
}

/// The reason why a contender cannot be measured here, with the remedy; `None` if it can. A guest
/// has a kernel and devices of its own, and the programs of its kernel and of this machine.
pub fn unavailable(contender: &Contender, in_guest: bool) -> Option<String> {
    let recipe = fsdyno_recipes::find(&contender.filesystem)?;
    let kernel = kernels::default().filter(|_| in_guest);
    let needs_no_daemon = runs_without_daemon(recipe, in_guest);
    let is_met_by_guest = |need: &Need| match need {
        Need::LoopDevices => true,
        Need::AnyOf(_) if needs_no_daemon => true,
        Need::Program { name, .. } => {
            let kernel = kernel.as_ref();
            kernel.is_some_and(|kernel| kernels::brings_program(kernel, name))
        }
        need => is_of_kernel(need),
    };
    let requirements = recipe.requirements().into_iter();
    let needed = requirements.filter(|one| !(in_guest && is_met_by_guest(&one.need)));
    let mut states = needed.map(|one| probe(&one.need));
    let missing = states.find_map(|state| state.explained());
    missing.or_else(|| array_unavailable(contender, in_guest))
}

/// The reason why the array below a contender cannot be made here; `None` if it can, or if there is none.
pub fn array_unavailable(contender: &Contender, in_guest: bool) -> Option<String> {
    let requirements = layouts::requirements(contender).into_iter();
    let mut needed = requirements.filter(|one| !(in_guest && is_of_kernel(&one.need)));
    needed.find_map(|one| probe(&one.need).explained())
}

/// Whether the default kernel of guests does the work of the daemon of a file system.
pub fn runs_without_daemon(recipe: &dyn Filesystem, in_guest: bool) -> bool {
    let kernel = kernels::default().filter(|_| in_guest);
    let options = recipe.daemon().zip(kernel);
    options.is_some_and(|(daemon, kernel)| kernels::has_option(&kernel, &daemon.built_in))
}

/// Whether another kernel or another user can meet a need that is not met here.
fn is_of_kernel(need: &Need) -> bool {
    match need {
        Need::Root
        | Need::KernelFilesystem(_)
        | Need::KernelModule(_)
        | Need::KernelOption { .. } => true,
        // No guest runs a BSD kernel either.
        Need::Program { .. } | Need::LoopDevices | Need::BsdKernel => false,
        Need::AnyOf(needs) => needs.iter().all(is_of_kernel),
    }
}
