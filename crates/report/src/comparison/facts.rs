//! The source of the figures, as named values: run, plan, machine, devices, programs.

use crate::lists::unique;
use crate::terms;
use fsdyno_model::provenance::DeviceFacts;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    Bytes, DeviceChoice, DiskTime, LabChoice, Plan, Provenance, ResultSet, RunInfo,
};

/// The facts in reading order; values may have several lines.
pub fn facts(set: &ResultSet) -> Vec<(&'static str, String)> {
    let mut facts = of_run(&set.run);
    let disk = set.run.plan.disk.as_ref();
    let faults = disk.and_then(|disk| disk.faults.as_ref());
    facts.extend(faults.map(|text| ("faults", text.clone())));
    facts.extend(states(set).map(|text| ("state", text)));
    facts.extend(guests(set).map(|text| ("guest", text)));
    facts.extend(set.digest().map(|digest| ("digest", digest)));
    facts.extend(set.machines().into_iter().map(|text| ("shards on", text)));
    facts.extend(of_machine(&set.run.provenance));
    if set.run.plan.disk.is_some() {
        // The device of this machine is not the measured one.
        facts.retain(|(name, _)| *name != "device");
    }
    facts.push(("command", shell_line(&set.run.command_line)));
    for (_, text) in &mut facts {
        *text = terms::printable_lines(text.trim());
    }
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

/// The initial state of each contender before its workloads, if it was not fresh.
fn states(set: &ResultSet) -> impl Iterator<Item = String> {
    let contenders = set.run.plan.contenders.iter().enumerate();
    contenders.filter_map(|(at, contender)| {
        let reported = set.states(at);
        let first = reported.first()?;
        let of = match reported.len() {
            1 => String::new(),
            cells => format!(" (the first of {cells} cells)"),
        };
        Some(format!("{}: {first}{of}", contender.label))
    })
}

/// The guests and other machines in which cells ran, one for each lab, and the effect on the
/// figures.
fn guests(set: &ResultSet) -> impl Iterator<Item = String> {
    let guests = set.labs().into_iter().flat_map(|share| {
        let lab = share.lab.clone();
        let guests = share.guests.into_iter();
        guests.map(move |about| (about, lab.clone()))
    });
    // Contenders on several kernels have the same guests.
    unique(guests).into_iter().map(|(about, lab)| {
        if lab == LabChoice::Vm {
            return format!(
                "{about}; figures are those of that virtual machine, in real time: compare them with \
                 each other, not with those of another lab; what follows is the machine that ran \
                 fsdyno"
            );
        }
        if lab.is_remote() {
            return format!(
                "{about}; figures are those of that machine: what follows is the one that ran \
                 fsdyno"
            );
        }
        if set.run.plan.in_virtual_time() {
            return about;
        }
        format!(
            "{about}; its system calls cost more than those of a kernel on bare hardware: compare \
             its figures with each other, not with those of a host"
        )
    })
}

fn of_run(run: &RunInfo) -> Vec<(&'static str, String)> {
    let plan = &run.plan;
    let ended = match (run.ended_unix_ns, run.stop) {
        (Some(at), Some(why)) => format!(", ended {} ({why})", terms::date(at)),
        _ => ", not ended".to_owned(),
    };
    let budget = plan.budget.map(|b| format!(", budget {b}"));
    let cell_budget = plan.cell_budget.map(|b| format!(", {b} for a cell"));
    let not = |done| if done { "" } else { "not " };
    vec![
        ("run", run.id.clone()),
        ("date", terms::date(run.started_unix_ns) + &ended),
        (
            "plan",
            format!(
                "{}, hash {}, seed {}{}, scale {}, {}{}{}",
                plan.name,
                run.plan_hash,
                plan.seed,
                varies(plan),
                plan.scale,
                repeats(plan),
                budget.unwrap_or_default(),
                cell_budget.unwrap_or_default(),
            ),
        ),
        (
            "engine",
            format!(
                "{}, copies by {}; trees {}compared; file systems {}checked",
                plan.engine,
                plan.copy_method,
                not(plan.verify),
                not(plan.check),
            ),
        ),
        ("blocks on", blocks(plan)),
    ]
}

fn of_machine(machine: &Provenance) -> Vec<(&'static str, String)> {
    let governor = machine.governor.as_ref().map(|g| format!(", governor {g}"));
    let programs = machine.programs.iter();
    let programs: Vec<String> = programs
        .map(|(name, version)| format!("{name}: {version}"))
        .collect();
    let root = if machine.root {
        "as root"
    } else {
        "not as root"
    };
    let mut facts: Vec<_> = machine
        .devices
        .iter()
        .map(|d| ("device", device(d)))
        .collect();
    facts.extend([
        (
            "kernel",
            format!("{} {}", machine.kernel, machine.kernel_build),
        ),
        ("system", machine.distribution.clone()),
        (
            "machine",
            format!(
                "{}, {}, {} memory, virtualisation: {}{}",
                machine.processor,
                terms::count(machine.processors as usize, "processor"),
                Bytes(machine.memory_bytes),
                machine.virtualisation,
                governor.unwrap_or_default(),
            ),
        ),
        ("programs", programs.join("\n")),
        ("fsdyno", format!("{}, {root}", machine.fsdyno)),
    ]);
    facts
}

fn on(choice: &DeviceChoice) -> String {
    match choice {
        DeviceChoice::Loop {
            size,
            directory,
            memory,
        } => {
            let size = size.map_or_else(|| "sized by the data".to_owned(), |s| s.to_string());
            let place = if *memory {
                "memory".into()
            } else {
                directory.display().to_string()
            };
            format!("image files in {place}, {size}")
        }
        DeviceChoice::Block { paths } => {
            let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
            terms::list(&paths)
        }
        DeviceChoice::None => "no device of its own".to_owned(),
    }
}

/// The storage of the blocks, and the kind of time.
fn blocks(plan: &Plan) -> String {
    let Some(disk) = &plan.disk else {
        return on(&plan.device);
    };
    let profile = &disk.profile;
    match disk.time {
        DiskTime::Virtual => format!(
            "model disks, profile {profile}, in virtual time with {}: figures are the same to the \
             nanosecond on any machine",
            plan.processor()
        ),
        DiskTime::Real => format!(
            "model disks, profile {profile}, in real time: each request takes as long as on that \
             disk, the processors as long as they take; not to be compared with virtual time"
        ),
    }
}

fn device(facts: &DeviceFacts) -> String {
    let mut parts = vec![format!("{} ({})", facts.name, facts.role)];
    // Without a block device, the size is unknown.
    parts.extend((facts.size_bytes > 0).then(|| Bytes(facts.size_bytes).to_string()));
    parts.extend(facts.model.clone());
    parts.extend(
        facts
            .rotational
            .map(|r| if r { "rotating" } else { "not rotating" }.to_owned()),
    );
    parts.extend(facts.scheduler.as_ref().map(|s| format!("scheduler {s}")));
    parts.extend(facts.write_cache.as_ref().map(|c| format!("cache {c}")));
    if facts.logical_block_bytes > 0 {
        parts.push(format!("{} B blocks", facts.logical_block_bytes));
    }
    parts.extend(facts.host_filesystem.as_ref().map(|f| format!("on {f}")));
    parts.join(", ")
}

/// What differs between blocks.
fn varies(plan: &Plan) -> String {
    let all = plan.variation();
    all.map_or_else(String::new, |all| format!(" (each block varies {all})"))
}

/// The number of repeats, and the rule that decides it.
fn repeats(plan: &Plan) -> String {
    let ends: Vec<String> = plan.ends.iter().map(u32::to_string).collect();
    let extended = if ends.is_empty() {
        String::new()
    } else {
        format!(", extended after {}", terms::list(&ends))
    };
    let Some(adaptive) = plan.adaptive else {
        let repeats = terms::count(plan.repeats as usize, "repeat");
        return format!("{repeats}{extended}");
    };
    format!(
        "{} to {} repeats, until a ratio is known to {}{extended}",
        plan.repeats,
        adaptive.most,
        terms::percent(adaptive.precision)
    )
}
