//! Differences between two runs: in the measured work, which forbids a comparison, and in the
//! environment, which is often the subject of the comparison.

use crate::terms;
use fsdyno_model::{DeviceChoice, Plan, Provenance, ResultSet};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// A difference between two runs.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Difference {
    /// The property that differs.
    pub what: &'static str,
    /// Its value in the first run, escaped for printing.
    pub base: String,
    /// Its value in the other run, escaped for printing.
    pub run: String,
    /// Whether it forbids a comparison of the figures.
    pub forbids: bool,
}

/// The largest number of characters of a printed value. A longer one is printed as `...`.
const MAX_CHARACTERS: usize = 60;

/// All differences between two runs.
pub fn differences(base: &ResultSet, other: &ResultSet) -> Vec<Difference> {
    let mut all = of_plans(&base.run.plan, &other.run.plan);
    let kernels = |set: &ResultSet| {
        let shares = set.labs().into_iter();
        let of = shares.flat_map(|share| share.kernels);
        terms::list(&of.collect::<Vec<_>>())
    };
    note(&mut all, "kernel", false, kernels(base), kernels(other));
    all.extend(of_machines(&base.run.provenance, &other.run.provenance));
    all
}

fn note(all: &mut Vec<Difference>, what: &'static str, forbids: bool, base: String, run: String) {
    if base == run {
        return;
    }
    let shown = |text: String| {
        if text.chars().count() > MAX_CHARACTERS {
            "...".to_owned()
        } else {
            terms::printable(&text)
        }
    };
    all.push(Difference {
        what,
        base: shown(base),
        run: shown(run),
        forbids,
    });
}

/// The differences between two plans. The number of repeats and time limits do not affect figures.
pub(crate) fn of_plans(base: &Plan, other: &Plan) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut both = |what, forbids, of: &dyn Fn(&Plan) -> String| {
        note(&mut all, what, forbids, of(base), of(other));
    };
    both("contenders", true, &|plan| {
        let labels = plan.contenders.iter().map(|c| c.label.clone());
        terms::list(&labels.collect::<Vec<_>>())
    });
    both("lab", true, &|plan| {
        let labs = plan.labs().into_iter().map(ToString::to_string);
        terms::list(&labs.collect::<Vec<_>>())
    });
    both("dataset", true, &|plan| {
        let datasets = plan.workloads.iter().map(|w| w.dataset.to_string());
        terms::list(&datasets.collect::<Vec<_>>())
    });
    both("seed", true, &|plan| plan.seed.to_string());
    both("what varies", true, &|plan| {
        // The first block is that of a plan without variation.
        let vary = plan.variation().filter(|_| plan.most_repeats() > 1);
        vary.unwrap_or_else(|| "nothing".to_owned())
    });
    both("scale", true, &|plan| plan.scale.to_string());
    both("engine", true, &|plan| plan.engine.clone());
    both("way of copying", true, &|plan| plan.copy_method.to_string());
    both("model disk", true, &|plan| {
        let disk = plan.disk.as_ref();
        disk.map_or_else(|| "none".to_owned(), |disk| disk.profile.clone())
    });
    both("device", true, &|plan| match &plan.device {
        DeviceChoice::Loop { size, memory, .. } => {
            let size = size.map_or_else(String::new, |size| format!(", {size}"));
            let place = if *memory { " in memory" } else { "" };
            format!("image files{place}{size}")
        }
        DeviceChoice::Block { paths } => format!("{paths:?}"),
        DeviceChoice::None => "none".to_owned(),
    });
    both("memory of guests", true, &|plan| {
        let guest = plan.guest.as_ref();
        guest.map_or_else(|| "none".to_owned(), |guest| guest.memory.to_string())
    });
    both("fragments", true, &|plan| {
        if plan.count_extents {
            "counted"
        } else {
            "not counted"
        }
        .to_owned()
    });
    of_contents(&mut all, base, other);
    if !all.iter().any(|one| one.forbids) {
        // The fields above are equal. The remaining options may still differ.
        let whole = |plan: &Plan| {
            let parts = (&plan.contenders, &plan.workloads, &plan.disk, plan.verify);
            serde_json::to_string(&parts).unwrap_or_default()
        };
        if whole(base) != whole(other) {
            let hash = |plan: &Plan| format!("hash {}", plan.hash());
            note(&mut all, "plan", true, hash(base), hash(other));
        }
    }
    all
}

/// Differences in the contents of the user's input files. They are unknown if a run did not record
/// them.
fn of_contents(all: &mut Vec<Difference>, base: &Plan, other: &Plan) {
    const UNKNOWN: &str = "not recorded";
    let datasets = |plan: &Plan| -> BTreeSet<String> {
        let users = plan.workloads.iter().filter(|one| one.dataset.is_users());
        users.map(|one| one.dataset.to_string()).collect()
    };
    let recorded = base.contents.keys().chain(other.contents.keys()).cloned();
    let mut names: BTreeSet<String> = recorded.collect();
    names.extend(datasets(base));
    names.extend(datasets(other));
    for name in names {
        let is_dataset = datasets(base).contains(&name);
        if is_dataset != datasets(other).contains(&name) {
            // A different dataset is already listed.
            continue;
        }
        let text = |plan: &Plan| {
            let content = plan.contents.get(&name);
            content.map_or_else(|| UNKNOWN.to_owned(), ToString::to_string)
        };
        let (then, now) = (base.contents.get(&name), other.contents.get(&name));
        let unknown = then.is_none() || now.is_none();
        if !unknown && then == now {
            continue;
        }
        all.push(Difference {
            what: if is_dataset {
                "content of the dataset"
            } else {
                "kernel program"
            },
            base: terms::printable(&format!("{name}: {}", text(base))),
            run: terms::printable(&text(other)),
            forbids: is_dataset && !unknown,
        });
    }
}

/// The differences between two machines, their programs included; the kernel is not one of them.
pub(crate) fn of_machines(base: &Provenance, other: &Provenance) -> Vec<Difference> {
    let mut all = Vec::new();
    let mut both = |what, of: &dyn Fn(&Provenance) -> String| {
        note(&mut all, what, false, of(base), of(other));
    };
    both("system", &|p| p.distribution.clone());
    both("kernel build", &|p| p.kernel_build.clone());
    both("processor", &|p| {
        format!("{} x {}", p.processors, p.processor)
    });
    both("memory", &|p| {
        fsdyno_model::Bytes(p.memory_bytes).to_string()
    });
    both("virtualisation", &|p| p.virtualisation.clone());
    both("governor", &|p| p.governor.clone().unwrap_or_default());
    both("devices", &|p| {
        let devices = p.devices.iter().map(|device| {
            let model = device.model.clone();
            model.unwrap_or_else(|| device.name.clone())
        });
        terms::list(&devices.collect::<Vec<_>>())
    });
    both("fsdyno", &|p| p.fsdyno.clone());
    for (name, version) in &base.programs {
        let theirs = other.programs.iter().find(|(other, _)| other == name);
        if let Some((_, theirs)) = theirs {
            note(&mut all, "program", false, version.clone(), theirs.clone());
        }
    }
    all
}
