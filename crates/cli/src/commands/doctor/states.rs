//! The initial states as capabilities: those that this machine can set up, with the device and its
//! room. The preflight checks whether a plan fits.

use super::Finding;
use fsdyno_datasets::states::{self, Method};
use fsdyno_host::probe::probe;
use fsdyno_host::space;
use fsdyno_lab::preflight::DEFAULT_SCRATCH;
use fsdyno_model::{Availability, Bytes, FilesystemKind, Need};
use fsdyno_recipes::Filesystem;
use std::path::Path;

/// Each way to set up a state. All of them need a new file system and room for the written data.
pub(super) fn findings() -> Vec<Finding> {
    let place = Path::new(DEFAULT_SCRATCH);
    let room = space::free(place).unwrap_or_default();
    let on = on_what(room);
    let finding = |method: &&'static Method| Finding {
        requirement: format!("state {}", method.name),
        package: None,
        unlocks: match &on {
            Ok(names) => vec![format!("{}: {}", method.typed, method.title), names.clone()],
            Err(_) => vec![format!("{}: {}", method.typed, method.title)],
        },
        state: match &on {
            Ok(_) => Availability::Available,
            Err(missing) => missing.clone(),
        },
    };
    states::ALL.iter().rev().map(finding).collect()
}

/// Describes the places where a file system can be filled here, or returns the missing requirement.
fn on_what(room: Bytes) -> Result<String, Availability> {
    let works = |kind: FilesystemKind| {
        let those = fsdyno_recipes::fs::ALL
            .iter()
            .filter(move |recipe| recipe.kind() == kind);
        those.filter(|recipe| complete(**recipe))
    };
    let mut on = Vec::new();
    let fits: Vec<&str> = works(FilesystemKind::Block)
        .filter(|recipe| recipe.smallest_bytes() < room)
        .map(|recipe| recipe.name())
        .collect();
    if !fits.is_empty() && probe(&Need::LoopDevices) == Availability::Available {
        on.push(format!(
            "on image files for {} ({room} free in {DEFAULT_SCRATCH}; --work-dir names another \
             place)",
            fits.join(", ")
        ));
    }
    on.extend(works(FilesystemKind::Memory).map(|recipe| {
        let memory = fsdyno_observe::counters::memory_available();
        let free = memory.map_or_else(String::new, |free| format!(" ({free} of memory available)"));
        format!("on {}:size=...{free}", recipe.name())
    }));
    if !on.is_empty() {
        return Ok(on.join("; "));
    }
    Err(Availability::Missing {
        reason: format!(
            "no file system can be made and mounted here, or there is no space for one ({room} \
             free in {DEFAULT_SCRATCH})"
        ),
        remedy: "install the missing items above; `fsdyno age --in DIR` fills and ages the file \
                 system of any directory"
            .to_owned(),
    })
}

fn complete(recipe: &dyn Filesystem) -> bool {
    let needs = recipe.requirements();
    needs
        .iter()
        .all(|requirement| probe(&requirement.need) == Availability::Available)
}
