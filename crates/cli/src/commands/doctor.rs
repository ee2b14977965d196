//! `doctor`: every requirement, what it makes available, and how to meet it.

mod states;

use crate::exit::{CliError, Code};
use crate::output;

use fsdyno_host::probe::probe;
use fsdyno_load::engines::EngineInfo;
use fsdyno_model::{Availability, Need, Requirement};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Finding {
    requirement: String,
    unlocks: Vec<String>,
    #[serde(rename = "availability")]
    state: Availability,
}

pub fn doctor(json: bool) -> Result<Code, CliError> {
    let findings = findings();
    if json {
        output::json(&findings)?;
        return Ok(Code::Ok);
    }
    let mut rows = Vec::new();
    for finding in &findings {
        let (mark, help) = match &finding.state {
            Availability::Available => ("ok", String::new()),
            Availability::Missing { reason, remedy } => {
                ("MISSING", format!("; {reason}; {remedy}"))
            }
        };
        let unlocks = finding.unlocks.join(", ");
        rows.push(vec![
            mark.to_owned(),
            finding.requirement.clone(),
            unlocks + &help,
        ]);
    }
    output::rows(&rows, output::width())?;
    let missing = findings
        .iter()
        .filter(|f| f.state != Availability::Available)
        .count();
    output::bytes(match missing {
        0 => b"\nAll requirements are met.\n",
        _ => b"\nEverything else works without the missing items; --on dir:PATH needs none of them.\n",
    })?;
    Ok(Code::Ok)
}

/// Checks for a lab kernel that was built here.
fn lab_kernel() -> Finding {
    let state = match fsdyno_guests::kernels::state() {
        Ok(_) => Availability::Available,
        Err(missing) => missing,
    };
    Finding {
        requirement: "lab kernel".to_owned(),
        unlocks: vec!["guests that have all file systems of the comparisons".to_owned()],
        state,
    }
}

/// All requirements of recipes, engines and devices, each once, with all that it makes available.
/// The initial states that follow from them come last.
fn findings() -> Vec<Finding> {
    // A recipe for another machine uses the programs there; only its BSD kernel is listed here.
    let of_recipe = |recipe: &&dyn fsdyno_recipes::Filesystem| {
        let elsewhere = fsdyno_recipes::fs::bsd_only(*recipe);
        let mut requirements = recipe.requirements();
        requirements.retain(|one| !elsewhere || one.need == Need::BsdKernel);
        requirements
    };
    let recipes = fsdyno_recipes::fs::ALL.iter().flat_map(of_recipe);
    let engines = fsdyno_load::engines::ALL
        .iter()
        .flat_map(EngineInfo::requirements);
    let programs = fsdyno_load::programs::ALL
        .iter()
        .filter_map(|program| program.requirement());
    let layouts = fsdyno_recipes::layouts::ALL
        .iter()
        .flat_map(|layout| layout.requirements());
    let own = [
        Requirement::new(Need::LoopDevices, "image files as devices"),
        Requirement::new(
            fsdyno_guests::uml::need(),
            "guests: other kernels, without root (--lab uml)",
        ),
        Requirement::new(
            fsdyno_guests::qemu::need(),
            "guests: the kernel of a distribution (--lab qemu)",
        ),
    ];
    let mut unlocks: BTreeMap<Need, Vec<String>> = BTreeMap::new();
    for requirement in recipes
        .chain(layouts)
        .chain(engines)
        .chain(programs)
        .chain(own)
    {
        let list = unlocks.entry(requirement.need).or_default();
        if !list.contains(&requirement.unlocks) {
            list.push(requirement.unlocks);
        }
    }
    let finding = |(need, unlocks): (Need, Vec<String>)| Finding {
        requirement: need.name(),
        unlocks,
        state: probe(&need),
    };
    let mut all: Vec<Finding> = unlocks.into_iter().map(finding).collect();
    all.push(lab_kernel());
    all.extend(states::findings());
    all
}
