//! `doctor`: every requirement, what it makes available, and how to meet it.

mod states;

use crate::exit::CliError;
use crate::output;
use clap::Args;
use fsdyno_host::probe::probe;
use fsdyno_load::engines::EngineInfo;
use fsdyno_model::{Availability, Need, Requirement};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print each requirement with what it makes available, and the reason if not met
    #[arg(long, conflicts_with = "json")]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Finding {
    requirement: String,
    unlocks: Vec<String>,
    #[serde(rename = "availability")]
    state: Availability,
    /// The package that meets it.
    #[serde(skip)]
    package: Option<String>,
}

impl Finding {
    fn is_met(&self) -> bool {
        self.state == Availability::Available
    }
}

pub fn doctor(args: &DoctorArgs) -> Result<(), CliError> {
    let findings = findings();
    if args.json {
        output::json(&findings)
    } else if args.long {
        print_table(&findings)
    } else {
        output::bytes(summary(&findings, output::width()).as_bytes())
    }
}

/// The kinds of requirements, by the first words of their names, with the title of a list of them.
const KINDS: [(&str, &str); 5] = [
    ("program ", "programs"),
    ("kernel file system ", "kernel file systems"),
    ("kernel module ", "kernel modules"),
    ("state ", "states"),
    ("", "machine"),
];

/// One screen: requirements by kind, those that are met and those that are not, and the commands
/// that install the missing requirements.
fn summary(findings: &[Finding], width: usize) -> String {
    let mut rows = Vec::new();
    for (mark, met) in [("ok", true), ("MISSING", false)] {
        for (at, (prefix, title)) in KINDS.iter().enumerate() {
            let of_kind = |one: &&Finding| {
                let earlier = &KINDS[..at];
                one.is_met() == met
                    && one.requirement.starts_with(prefix)
                    && !earlier
                        .iter()
                        .any(|(other, _)| one.requirement.starts_with(other))
            };
            let names = findings.iter().filter(of_kind);
            let names: Vec<&str> = names.map(|one| &one.requirement[prefix.len()..]).collect();
            if !names.is_empty() {
                let names = names.join(", ");
                rows.push(vec![mark.to_owned(), (*title).to_owned(), names]);
            }
        }
    }
    let mut text = output::align(&rows, width);
    let missing: Vec<&Finding> = findings.iter().filter(|one| !one.is_met()).collect();
    if missing.is_empty() {
        text.push_str("\nAll requirements are met.\n");
        return text;
    }
    text.push('\n');
    let packages: BTreeSet<&str> = missing
        .iter()
        .filter_map(|one| one.package.as_deref())
        .collect();
    if !packages.is_empty() {
        let packages = packages.into_iter().collect::<Vec<_>>().join(" ");
        let _ = writeln!(
            text,
            "Install the missing programs:\n  apt-get install {packages}"
        );
    }
    if missing.iter().any(|one| one.requirement == LAB_KERNEL) {
        text.push_str("Build the lab kernel, which has all file systems:\n  fsdyno lab setup\n");
    }
    text.push_str(
        "Everything else works without the missing items; --on dir:PATH needs none of\nthem. The \
         reason and the remedy of each: fsdyno doctor --long\n",
    );
    text
}

/// Each requirement with what it makes available, and the reason and the remedy if it is missing.
fn print_table(findings: &[Finding]) -> Result<(), CliError> {
    let mut rows = Vec::new();
    for finding in findings {
        let mut unlocks = finding.unlocks.join(", ");
        let explained = finding.state.explained();
        let mark = if explained.is_some() { "MISSING" } else { "ok" };
        unlocks.extend(explained.map(|text| format!("; {text}")));
        rows.push(vec![mark.to_owned(), finding.requirement.clone(), unlocks]);
    }
    output::rows(&rows, output::width())
}

const LAB_KERNEL: &str = "lab kernel";

/// Checks for a lab kernel that was built here.
fn lab_kernel() -> Finding {
    let state = match fsdyno_guests::kernels::state() {
        Ok(_) => Availability::Available,
        Err(missing) => missing,
    };
    Finding {
        requirement: LAB_KERNEL.to_owned(),
        package: None,
        unlocks: vec!["guests that have all file systems of the comparisons".to_owned()],
        state,
    }
}

/// Checks for hardware counters of the processors.
fn hardware_counters() -> Finding {
    let state = match fsdyno_load::hardware::availability() {
        Ok(()) => Availability::Available,
        Err(reason) => Availability::Missing {
            reason,
            remedy:
                "run on a machine, or in a virtual machine, with a performance monitoring unit \
                     (QEMU: -cpu host), as root"
                    .to_owned(),
        },
    };
    Finding {
        requirement: "hardware counters".to_owned(),
        package: None,
        unlocks: vec!["instructions and cycles of each phase in real time".to_owned()],
        state,
    }
}

/// The package that meets a need. Of alternatives, the first.
fn package(need: &Need) -> Option<String> {
    match need {
        Need::Program { package, .. } => Some(package.clone()),
        Need::AnyOf(needs) => needs.iter().find_map(package),
        _ => None,
    }
}

/// All requirements of recipes, engines and devices, each once, with all that it makes available.
/// The initial states that follow from them come last.
fn findings() -> Vec<Finding> {
    // A recipe for another machine uses the programs there; only its BSD kernel is listed here.
    let of_recipe = |recipe: &&dyn fsdyno_recipes::Filesystem| {
        let bsd_only = fsdyno_recipes::fs::bsd_only(*recipe);
        let mut requirements = recipe.requirements();
        requirements.retain(|one| !bsd_only || one.need == Need::BsdKernel);
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
        package: package(&need),
        unlocks,
        state: probe(&need),
    };
    let mut all: Vec<Finding> = unlocks.into_iter().map(finding).collect();
    all.push(lab_kernel());
    all.push(hardware_counters());
    all.extend(states::findings());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_screen_shows_everything_on_any_machine() {
        for missing in [false, true] {
            let mut all = findings();
            for one in &mut all {
                one.state = if missing {
                    Availability::Missing {
                        reason: "a reason".to_owned(),
                        remedy: "a remedy".to_owned(),
                    }
                } else {
                    Availability::Available
                };
            }
            let text = summary(&all, 80);
            assert!(
                text.lines().count() <= 40,
                "{} lines: {text}",
                text.lines().count()
            );
            for one in &all {
                let name = KINDS
                    .iter()
                    .find_map(|(prefix, _)| one.requirement.strip_prefix(prefix));
                let last = name.unwrap().split_whitespace().next_back().unwrap();
                assert!(text.contains(last), "{last}: {text}");
            }
            let installs = text.matches("apt-get install").count();
            assert_eq!(installs, usize::from(missing), "{text}");
        }
    }
}
