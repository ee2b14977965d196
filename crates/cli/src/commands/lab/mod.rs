//! `lab`: the capabilities of each lab. To list those of a guest lab, it starts a guest.

mod args;
mod build;
mod setup;
mod stored;

pub use args::LabArgs;
pub use setup::BuildScreen;

use crate::args::JsonArgs;
use crate::exit::{CliError, Code};
use crate::{output, places};
use args::{LabCommand, ShellArgs};
use fsdyno_guests::GuestError;
use fsdyno_guests::kernels::{self, KernelError};
use fsdyno_guests::uml::UmlError;
use fsdyno_guests::vm::{self, VmError};
use fsdyno_host::probe::probe;
use fsdyno_host::{signals, ssh};
use fsdyno_lab::preflight::DEFAULT_SCRATCH;
use fsdyno_lab::{GuestLab, GuestLabError, Missing};
use fsdyno_model::{
    Availability, Bytes, CancelToken, Contender, FilesystemKind, GuestSize, KernelChoice,
    LabChoice, LayoutChoice, Plan,
};
use fsdyno_observe::provenance;
use fsdyno_recipes::Filesystem;
use fsdyno_recipes::fs::bsd_only;
use fsdyno_recipes::layouts;
use serde::Serialize;

#[derive(Serialize)]
struct Row {
    lab: LabChoice,
    availability: Availability,
    about: String,
    /// File systems and layouts that run in it, and those that do not, with the reasons.
    runs: Vec<String>,
    lacks: Vec<Lacking>,
}

#[derive(Serialize)]
struct Lacking {
    what: Vec<String>,
    reason: String,
    remedy: String,
}

pub fn lab(command: &LabCommand) -> Result<Code, CliError> {
    let done = match command {
        LabCommand::List(args) => list(args),
        LabCommand::Shell(args) => shell(args),
        LabCommand::Setup(args) => setup::setup(args),
        LabCommand::Kernels(args) => stored::list(args),
        LabCommand::Build(args) => return build::build_all(args),
        LabCommand::Remove(args) => return stored::remove(args),
    };
    done.map(|()| Code::Ok)
}

/// The size of guests of a lab. Their kernel is the requested one, or else the default.
pub fn guest_size(lab: &LabChoice, memory: Bytes, kernel: Option<&KernelChoice>) -> GuestSize {
    let kernel = kernel.cloned().or_else(kernels::default);
    GuestSize {
        memory,
        kernel: kernel.filter(|_| *lab == LabChoice::Uml),
        ..GuestSize::default()
    }
}

/// Runs a shell in a guest. Ctrl-C goes to the guest.
fn shell(args: &ShellArgs) -> Result<(), CliError> {
    let journal = places::journal()?;
    let size = guest_size(&args.lab, args.guest_memory, args.guest_kernel.as_ref());
    let scratch = std::path::absolute(&args.work_dir)?;
    GuestLab::shell(
        &args.lab,
        size,
        scratch,
        args.disk_size,
        args.disks,
        journal,
    )
    .map_err(guest_error)
}

/// The error of a guest lab with its exit code.
pub fn guest_error(error: GuestLabError) -> CliError {
    CliError::new(guest_code(&error), error)
}

/// The exit code of a guest that cannot be started.
pub fn guest_code(error: &GuestLabError) -> Code {
    match error {
        GuestLabError::Guest(
            GuestError::Kernel(KernelError::NoPackage | KernelError::NoLabKernel)
            | GuestError::Qemu(_),
        ) => Code::Missing,
        GuestLabError::Guest(
            GuestError::Host { cause, .. } | GuestError::Kernel(KernelError::NoFile { cause, .. }),
        ) if cause.kind() == std::io::ErrorKind::NotFound => Code::Missing,
        GuestLabError::Guest(
            GuestError::Kernel(KernelError::NoFile { .. })
            | GuestError::Uml(UmlError::NoVersion { .. }),
        ) => Code::Usage,
        GuestLabError::Guest(GuestError::Uml(UmlError::Run { cause, .. })) => {
            Code::of_command(cause, Code::Failure)
        }
        GuestLabError::Stopped => Code::Interrupted,
        _ => Code::Failure,
    }
}

fn list(args: &JsonArgs) -> Result<(), CliError> {
    let stop = signals::cancel_token()?;
    let rows = [
        host(),
        guests(LabChoice::Uml, Some(KernelChoice::Packaged), &stop)?,
        guests(LabChoice::Uml, Some(KernelChoice::Lab), &stop)?,
        guests(LabChoice::Qemu, None, &stop)?,
        vm_row(),
        ssh_row(),
    ];
    if args.json {
        return output::json(&rows);
    }
    let mut lines = Vec::new();
    for row in &rows {
        let explained = row.availability.explained();
        let state = if explained.is_some() { "missing" } else { "ok" };
        let about = match explained {
            Some(why) => format!("{}; {why}", row.about),
            None => row.about.clone(),
        };
        lines.push(vec![row.lab.to_string(), state.to_owned(), about]);
        if !row.runs.is_empty() {
            let runs = format!("runs {}", row.runs.join(", "));
            lines.push(output::words(["", "", &runs]));
        }
        for lacking in &row.lacks {
            let Lacking {
                what,
                reason,
                remedy,
            } = lacking;
            let line = format!("not {}: {reason}; {remedy}", what.join(", "));
            lines.push(output::words(["", "", &line]));
        }
    }
    output::rows(&lines, output::width())
}

fn host() -> Row {
    let plan = everything();
    let here = provenance::collect(&[], &[]);
    let about = format!("{}: {}", LabChoice::Host.title(), here.kernel);
    row(
        LabChoice::Host,
        Availability::Available,
        about,
        &plan,
        Missing::here(&plan).with_remedies(|need| kernels::remedy(need, None)),
    )
}

/// The row of `ssh` labs. Their machines are probed only when a plan names them.
fn ssh_row() -> Row {
    let lab = LabChoice::Ssh("USER@HOST".to_owned());
    Row {
        availability: probe(&ssh::need()),
        about: format!(
            "{}; its capabilities are probed when a run names it",
            lab.title()
        ),
        lab,
        runs: bsd_only_names(),
        lacks: Vec::new(),
    }
}

/// The row of virtual machines. An image is booted only when a plan names it.
fn vm_row() -> Row {
    let lab = LabChoice::Vm;
    let here = match vm::program() {
        Err(VmError::OtherProcessor) => Availability::Missing {
            reason: VmError::OtherProcessor.to_string(),
            remedy: "use another lab".to_owned(),
        },
        _ => probe(&fsdyno_guests::qemu::need()),
    };
    let there = match here {
        Availability::Available => probe(&ssh::need()),
        missing @ Availability::Missing { .. } => missing,
    };
    Row {
        availability: there,
        about: format!(
            "{}; its capabilities are probed when a run boots it",
            lab.title()
        ),
        lab,
        runs: bsd_only_names(),
        lacks: Vec::new(),
    }
}

/// The file systems that only a BSD has.
fn bsd_only_names() -> Vec<String> {
    let alone = fsdyno_recipes::fs::ALL.iter().filter(|fs| bsd_only(**fs));
    let shown =
        |fs: &&'static dyn Filesystem| format!("{}, if its kernel is a BSD kernel", fs.name());
    alone.map(shown).collect()
}

/// Whether that kernel for User-mode Linux exists, and its path.
fn of_kernel(choice: &KernelChoice) -> (Availability, String) {
    if *choice == KernelChoice::Packaged {
        let title = "the kernel of the package".to_owned();
        return (probe(&fsdyno_guests::uml::need()), title);
    }
    let title = "the lab kernel";
    let kernel = match kernels::state() {
        Ok(kernel) => kernel,
        Err(missing) => return (missing, title.to_owned()),
    };
    let age = if kernel.is_current() {
        ""
    } else {
        ", of another configuration than this program would build it by (fsdyno lab setup)"
    };
    let title = format!("{title}, {}{age}", kernel.program.display());
    (Availability::Available, title)
}

/// The capabilities of guests, with one of their kernels if the lab has a choice.
fn guests(
    lab: LabChoice,
    kernel: Option<KernelChoice>,
    stop: &CancelToken,
) -> Result<Row, CliError> {
    let (availability, of_kernel) = match &kernel {
        Some(choice) => of_kernel(choice),
        None => (fsdyno_guests::qemu::availability(), String::new()),
    };
    let title = match of_kernel.as_str() {
        "" => lab.title().to_owned(),
        of_kernel => format!("{}: {of_kernel}", lab.title()),
    };
    let mut plan = everything();
    plan.guest = Some(GuestSize {
        kernel,
        ..GuestSize::default()
    });
    if availability != Availability::Available {
        return Ok(row(lab, availability, title, &plan, Missing::default()));
    }
    let journal = places::journal()?;
    let survey = GuestLab::survey(&lab, &plan, DEFAULT_SCRATCH.into(), journal, stop.clone());
    let (about, missing) = match survey {
        Ok(survey) => survey,
        Err(error @ GuestLabError::Stopped) => return Err(guest_error(error)),
        // An error of one lab does not hide the other labs.
        Err(error) => {
            let availability = Availability::Missing {
                reason: error.to_string(),
                remedy: format!("to see it start: fsdyno lab shell --lab {lab}"),
            };
            return Ok(row(lab, availability, title, &plan, Missing::default()));
        }
    };
    let about = format!("{title}: {about}");
    Ok(row(lab, availability, about, &plan, missing))
}

fn row(
    lab: LabChoice,
    availability: Availability,
    about: String,
    plan: &Plan,
    missing: Missing,
) -> Row {
    let (mut runs, mut lacks) = (Vec::new(), Vec::new());
    let mut substitutes = missing.substitutes.into_iter();
    for (contender, lack) in plan.contenders.iter().zip(missing.contenders) {
        let substitute = substitutes.next().flatten();
        match lack {
            Some((_, Availability::Missing { reason, remedy })) => {
                lack_of(&mut lacks, &contender.label, reason, remedy);
            }
            _ => runs.push(match substitute {
                Some(by) => format!("{} (by {by})", contender.label),
                None => contender.label.clone(),
            }),
        }
    }
    Row {
        lab,
        availability,
        about,
        runs,
        lacks,
    }
}

/// Adds an item that cannot run to the list, grouped by reason.
fn lack_of(lacks: &mut Vec<Lacking>, what: &str, reason: String, remedy: String) {
    let mut known = lacks.iter_mut();
    match known.find(|one| one.reason == reason && one.remedy == remedy) {
        Some(one) => one.what.push(what.to_owned()),
        None => lacks.push(Lacking {
            what: vec![what.to_owned()],
            reason,
            remedy,
        }),
    }
}

/// A plan with every file system that Linux supports, and with every layout below one.
fn everything() -> Plan {
    let block = |fs: &&&dyn fsdyno_recipes::Filesystem| {
        fs.kind() == FilesystemKind::Block && !bsd_only(**fs)
    };
    let filesystems = fsdyno_recipes::fs::ALL.iter().filter(block);
    let mut contenders: Vec<Contender> =
        filesystems.map(|fs| Contender::plain(fs.name())).collect();
    let below = layouts::ALL.iter().filter(|layout| layout.array.is_some());
    if let Some(first) = contenders.first().cloned() {
        contenders.extend(below.map(|layout| Contender {
            label: format!("@{}", layout.name),
            layout: LayoutChoice {
                name: layout.name.to_owned(),
                devices: *layout.devices.start(),
            },
            ..first.clone()
        }));
    }
    Plan::new(contenders, Vec::new())
}
