//! `run --kernel`: the same plan on several kernels. Each kernel is a run of its own in the store;
//! those of sources are built first. In virtual time the next kernel is built while cells run.

use super::{Execution, RunArgs, fresh, plan_error};
use crate::catalogue::catalogue_here;
use crate::commands::compare::{CompareArgs, compare};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_guests::kernels::{
    KernelSource, Kernels, NamedSource, Progress, SetupError, TreeOrder, build,
};
use fsdyno_model::{CancelToken, KernelChoice, LabChoice, Nanos, Plan};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::resolve;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Instant;

/// A kernel of the list, or several of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedKernel {
    /// A kernel that exists.
    Ready(KernelChoice),
    /// Sources.
    Sources(KernelSource),
}

impl FromStr for ListedKernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.starts_with("tree:") || text.starts_with("git:") {
            let source = text.parse::<KernelSource>();
            return source.map(Self::Sources).map_err(|error| error.to_string());
        }
        let choice = KernelChoice::from_text(text).ok_or_else(|| {
            format!(
                "`{text}` is no kernel: write packaged, lab, a path with a slash, tree:DIR, \
                 git:DIR#REV or git:DIR#A..B"
            )
        })?;
        Ok(Self::Ready(match choice {
            KernelChoice::File(path) => {
                KernelChoice::File(std::path::absolute(path).map_err(|error| error.to_string())?)
            }
            choice => choice,
        }))
    }
}

/// One kernel: its name, and how to get it.
enum Item {
    Ready(KernelChoice),
    Sources(NamedSource),
}

/// A kernel that can be started, or why not.
type Built = (String, Result<KernelChoice, SetupError>);

/// Runs the plan on every kernel, and compares the runs with the first.
pub fn run(
    args: &RunArgs,
    execution: &Execution,
    store: &Path,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let items = items(&args.kernels)?;
    let with = |kernel: &KernelChoice| plan(&args.options, kernel);
    // Wrong settings are reported before a kernel is built.
    let first = with(&KernelChoice::File(PathBuf::from("/proc/self/exe")))?;
    if first.guest.is_none() {
        return Err(CliError::usage(
            "--kernel: no contender runs in a guest. Leave out --lab, or write uml",
        ));
    }
    let one = items.len() == 1;
    let execution = Execution {
        silent: execution.silent || !one,
        ..execution.clone()
    };
    let (mut runs, mut code) = (Vec::new(), Code::Ok);
    let mut measure = |(name, built): Built| -> Result<(), CliError> {
        let kernel = match built {
            Ok(kernel) => kernel,
            Err(_) if stop.requested() => {
                return Err(CliError::new(Code::Interrupted, "interrupted"));
            }
            Err(error) if error.is_of_sources() => {
                output::error(format_args!(
                    "fsdyno: kernel {name} was not measured: {error}"
                ));
                code = Code::Failure;
                return Ok(());
            }
            Err(error) => return Err(CliError::failure(format!("kernel {name}: {error}"))),
        };
        let ended = fresh(with(&kernel)?, &execution, store, stop)?;
        if ended.code == Code::Interrupted {
            return Err(CliError::new(Code::Interrupted, "interrupted"));
        }
        if ended.code != Code::Ok {
            code = ended.code;
        }
        if let Some(run) = ended.run {
            output::note(format_args!("fsdyno: kernel {name}: run {run}"));
            runs.push(run);
        }
        Ok(())
    };
    let building = stop.child();
    thread::scope(|scope| {
        let (send, built) = mpsc::channel();
        let token = &building;
        scope.spawn(move || build_all(items, &send, token));
        let measured = if first.in_virtual_time() {
            built.into_iter().try_for_each(&mut measure)
        } else {
            // Compilers would disturb cells in real time.
            let all: Vec<Built> = built.into_iter().collect();
            all.into_iter().try_for_each(&mut measure)
        };
        // After an error no other kernel is needed.
        building.request();
        measured
    })?;
    if runs.len() > 1 {
        let compared = compare(
            &CompareArgs {
                runs,
                fail_if: Vec::new(),
                fail_on_inconclusive: false,
                force: false,
                margin: None,
                json: false,
            },
            store,
        )?;
        code = if code == Code::Ok { compared } else { code };
    }
    Ok(code)
}

/// All kernels of the list, in order.
fn items(kernels: &[ListedKernel]) -> Result<Vec<(String, Item)>, CliError> {
    let mut all = Vec::new();
    for kernel in kernels {
        match kernel {
            ListedKernel::Ready(choice) => {
                all.push((choice.to_string(), Item::Ready(choice.clone())));
            }
            ListedKernel::Sources(source) => {
                let named = source
                    .all()
                    .map_err(|error| CliError::usage(format!("--kernel {source}: {error}")))?;
                if named.is_empty() {
                    return Err(CliError::usage(format!(
                        "--kernel {source}: it has no tag. Name every Nth commit: {source}:100"
                    )));
                }
                let named = named.into_iter();
                all.extend(named.map(|one| (one.name.clone(), Item::Sources(one))));
            }
        }
    }
    Ok(all)
}

/// The plan of a kernel.
fn plan(options: &RunOptions, kernel: &KernelChoice) -> Result<Plan, CliError> {
    let options = RunOptions {
        lab: options.lab.clone().or(Some(LabChoice::Uml)),
        guest_kernel: Some(kernel.clone()),
        ..options.clone()
    };
    resolve(&options, &catalogue_here()).map_err(plan_error)
}

/// Builds one kernel after the other.
fn build_all(items: Vec<(String, Item)>, send: &Sender<Built>, stop: &CancelToken) {
    let jobs = thread::available_parallelism().map_or(1, NonZero::get);
    let order = TreeOrder {
        jobs: u32::try_from(jobs).unwrap_or(1),
        must_count: false,
    };
    for (name, item) in items {
        let built = match item {
            Item::Ready(choice) => Ok(choice),
            Item::Sources(named) => build_one(&name, &named, order, stop),
        };
        // Nobody receives it after an error.
        if send.send((name, built)).is_err() || stop.requested() {
            return;
        }
    }
}

fn build_one(
    name: &str,
    named: &NamedSource,
    order: TreeOrder,
    stop: &CancelToken,
) -> Result<KernelChoice, SetupError> {
    let kernels = Kernels::of_trees().map_err(SetupError::from)?;
    let began = Instant::now();
    output::note(format_args!("fsdyno: kernel {name}: building"));
    let made = build(&kernels, named.source(), order, stop, &mut |progress| {
        if let Progress::Note(note) = progress {
            output::note(format_args!("fsdyno: kernel {name}: {note}"));
        }
    })?;
    if !made.was_there {
        let elapsed = Nanos::from(began.elapsed()).clock();
        output::note(format_args!("fsdyno: kernel {name}: built in {elapsed}"));
    }
    Ok(KernelChoice::File(made.kernel.program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_kernels_and_their_sources() {
        let read = |text: &str| text.parse::<ListedKernel>();
        assert_eq!(read("lab"), Ok(ListedKernel::Ready(KernelChoice::Lab)));
        assert!(
            matches!(read("./linux"), Ok(ListedKernel::Ready(KernelChoice::File(path))) if path.is_absolute())
        );
        assert!(matches!(
            read("git:linux#v6.12"),
            Ok(ListedKernel::Sources(_))
        ));
        for wrong in ["linux", "git:linux", "tree:"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
