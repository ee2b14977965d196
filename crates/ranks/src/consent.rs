//! What a run writes in the directories of the user: rank 0 states it first, and requests consent
//! where it is much.

use crate::options::Options;
use crate::phase::clients;
use fsdyno_host::destination::{Destination, Writes};
use fsdyno_host::signals;
use fsdyno_load::kinds;
use fsdyno_load::phases::op;
use fsdyno_model::step::shell_line;
use fsdyno_model::{Bytes, CancelToken, Needs, Plan, Workload};
use std::io::{IsTerminal as _, Write as _, stderr, stdin};

/// Prints what is written where. The error is the reason why nothing may be written.
pub fn request(
    options: &Options,
    plan: &Plan,
    command_line: &[String],
    stop: &CancelToken,
) -> Result<(), String> {
    let writes = writes(plan, stop)?;
    let directories = plan.contenders.iter();
    for directory in directories.filter_map(|one| one.directory.as_deref()) {
        let shown = directory.display();
        let destination = Destination::open(directory)
            .map_err(|error| format!("cannot write in {shown}: {error}"))?;
        eprintln!("fsdyno-mpi: {}", destination.describe(&writes));
        let Some(why) = destination.objection(&writes).filter(|_| !options.yes) else {
            continue;
        };
        if !(stdin().is_terminal() && stderr().is_terminal()) {
            let words = command_line.iter().cloned().chain(["--yes".to_owned()]);
            let command = shell_line(&words.collect::<Vec<_>>());
            return Err(format!(
                "nothing was written: {why}. If you mean it: {command}"
            ));
        }
        let failed = |error| format!("cannot read the answer: {error}");
        write!(stderr(), "fsdyno-mpi: {why}. Continue? [y/N] ").map_err(failed)?;
        signals::wait_for_input(stdin(), stop).map_err(failed)?;
        let mut answer = String::new();
        stdin().read_line(&mut answer).map_err(failed)?;
        if !["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
            return Err("nothing was written".to_owned());
        }
    }
    Ok(())
}

/// What all ranks write in one directory: the space of the largest workload, whose files are removed
/// before the next, and the bytes of all workloads in all repeats.
fn writes(plan: &Plan, stop: &CancelToken) -> Result<Writes, String> {
    let (mut space, mut bytes, mut files) = (0, 0_u64, Some(0_u64));
    for workload in &plan.workloads {
        let (of_files, of_trees) = (own_files(workload), trees(plan, workload, stop)?);
        let most = of_files.saturating_add(of_trees.map_or(0, |(space, _)| space));
        space = most.max(space);
        bytes = bytes.saturating_add(most.saturating_mul(plan.repeats.into()));
        let of_trees = of_trees.map(|(_, files)| files).filter(|_| of_files == 0);
        files = files.zip(of_trees).map(|(most, of)| most.max(of));
    }
    Ok(Writes {
        space: Bytes(space),
        bytes: Bytes(bytes),
        files,
        fills: false,
    })
}

/// The space of the files of a workload that its phases share, of all its ranks.
fn own_files(workload: &Workload) -> u64 {
    let of_phases = workload.phases.iter().filter_map(|phase| {
        // The ranks share the files of `op`.
        let copies = if op::is_one(&phase.kind) {
            1
        } else {
            clients(phase) as u64
        };
        Some(kinds::data_bytes(phase)?.0.saturating_mul(copies))
    });
    of_phases.max().unwrap_or(0)
}

/// The space and the files of the trees of a workload, of all its ranks: the dataset, and each copy.
fn trees(
    plan: &Plan,
    workload: &Workload,
    stop: &CancelToken,
) -> Result<Option<(u64, u64)>, String> {
    let needs = |kind: &str| kinds::find(kind).is_some_and(|kind| kind.needs != Needs::Nothing);
    if !workload.phases.iter().any(|phase| needs(&phase.kind)) {
        return Ok(None);
    }
    let dataset = fsdyno_datasets::open(&workload.dataset, plan.seed, plan.scale, None, stop)
        .map_err(|error| error.to_string())?;
    let made = workload.phases.iter();
    let made = made.filter(|phase| kinds::find(&phase.kind).is_some_and(|kind| kind.makes_tree));
    let ranks = workload.phases.first().map_or(1, clients);
    let copies = (1 + made.count() as u64).saturating_mul(ranks as u64);
    let facts = dataset.facts();
    Ok(Some((
        facts.footprint.0.saturating_mul(copies),
        facts.files.saturating_mul(copies),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use clap::{Args as _, FromArgMatches as _};

    fn writes_of(arguments: &[&str]) -> Writes {
        let command = Options::augment_args(clap::Command::new("fsdyno-mpi"));
        let words = ["fsdyno-mpi", "/tmp", "--repeats", "3"]
            .iter()
            .chain(arguments);
        let options = Options::from_arg_matches(&command.get_matches_from(words)).unwrap();
        writes(&plan(&options, 4).unwrap(), &CancelToken::new()).unwrap()
    }

    #[test]
    fn the_space_is_that_of_the_largest_workload_of_all_its_ranks() {
        let shared = writes_of(&["--phases", "op-write", "--set", "op.size=64M"]);
        assert!((64 << 20..65 << 20).contains(&shared.space.0), "{shared:?}");
        assert_eq!((shared.bytes.0, shared.files), (3 * shared.space.0, None));
        let tree = [
            "--phases",
            "copy,delete",
            "--dataset",
            "mixed",
            "--scale",
            "0.01",
        ];
        let four = writes_of(&tree);
        let one = writes_of(&[&tree[..], &["--clients", "1"]].concat());
        assert_eq!(four.space.0, 4 * one.space.0);
        let both = writes_of(&[&tree[..], &["--clients", "1,4"]].concat());
        assert_eq!(both.space, four.space);
        assert_eq!(both.bytes.0, 3 * (four.space.0 + one.space.0));
    }
}
