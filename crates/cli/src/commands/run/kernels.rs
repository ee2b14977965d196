//! `run --kernel`: the contenders of a plan on several kernels. In virtual time kernels of sources are
//! built while cells run.

use super::{Execution, RunArgs, check_early, fresh, resolve_here};
use crate::commands::jobs::compile_jobs;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_guests::kernels::{
    KernelSource, Kernels, NamedSource, Progress, TreeOrder, build, program_of,
};
use fsdyno_lab::PendingKernels;
use fsdyno_model::{CancelToken, Cell, ContenderKernel, KernelChoice, LabChoice, Nanos, Plan};
use fsdyno_run::RunOptions;
use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;
use std::thread;
use std::time::Instant;

/// A kernel of the list, or several of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedKernel {
    Ready(KernelChoice),
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

/// One kernel of the list: its name, and how to get it.
enum Item {
    Ready(KernelChoice),
    Sources(NamedSource),
}

/// Runs the plan on every kernel. Several kernels are contenders of one run.
pub fn run(
    args: &RunArgs,
    execution: &Execution,
    store: &Path,
    stop: &CancelToken,
) -> Result<Code, CliError> {
    let items = items(&args.kernels)?;
    // Wrong settings are reported before sources are read.
    let plan = plan(&args.options, &KernelChoice::File("/proc/self/exe".into()))?;
    if plan.guest.is_none() {
        return Err(CliError::usage(
            "--kernel: no contender runs in a guest. Leave out --lab, or write uml",
        ));
    }
    check_early(&plan, store, stop)?;
    let kernels = named(items, stop)?;
    let plan = match kernels.as_slice() {
        [one] => of_one(args, one, stop)?,
        all => plan.on_kernels(all),
    };
    Ok(fresh(plan, execution, store, stop)?.code)
}

/// The plan on one kernel, which exists then: contenders are compared with each other.
fn of_one(args: &RunArgs, kernel: &ContenderKernel, stop: &CancelToken) -> Result<Plan, CliError> {
    if kernel.source.is_some() && !args.dry_run {
        build_one(kernel, stop).map_err(|why| {
            if stop.requested() {
                return CliError::interrupted();
            }
            CliError::failure(format!("kernel {}: {why}", kernel.name))
        })?;
    }
    plan(&args.options, &kernel.program)
}

fn items(kernels: &[ListedKernel]) -> Result<Vec<(String, Item)>, CliError> {
    let mut all = Vec::new();
    for kernel in kernels {
        match kernel {
            ListedKernel::Ready(choice) => {
                all.push((short_name(choice), Item::Ready(choice.clone())));
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
                all.extend(named.map(|one| (short_revision(&one.name), Item::Sources(one))));
            }
        }
    }
    Ok(all)
}

/// A revision for labels: a commit has its first digits.
fn short_revision(name: &str) -> String {
    let is_commit = name.len() >= 40 && name.chars().all(|c| c.is_ascii_hexdigit());
    name.get(..12)
        .filter(|_| is_commit)
        .unwrap_or(name)
        .to_owned()
}

/// A name for labels: that of the file, or of the directory of a file `linux`.
fn short_name(choice: &KernelChoice) -> String {
    let KernelChoice::File(path) = choice else {
        return choice.to_string();
    };
    let named = match path.file_name() {
        Some(name) if name != "linux" => Some(name),
        _ => path.parent().and_then(Path::file_name),
    };
    named.map_or_else(|| choice.to_string(), |name| name.to_string_lossy().into())
}

/// The kernels with their programs, which are built later, and with names that are unique.
fn named(items: Vec<(String, Item)>, stop: &CancelToken) -> Result<Vec<ContenderKernel>, CliError> {
    let mut all: Vec<ContenderKernel> = Vec::new();
    for (name, item) in items {
        let wrong = |error: &dyn Display| CliError::usage(format!("--kernel {name}: {error}"));
        let (program, source) = match &item {
            Item::Ready(choice) => (choice.clone(), None),
            Item::Sources(named) => {
                let kernels = Kernels::of_trees().map_err(CliError::usage)?;
                let program = program_of(&kernels, named.source(), stop, &mut |progress| {
                    note_of(&name, &progress);
                });
                let program = program.map_err(|error| {
                    if stop.requested() {
                        return CliError::interrupted();
                    }
                    wrong(&error)
                })?;
                let source = named.lasting().map_err(|error| wrong(&error))?;
                (KernelChoice::File(program), Some(source.to_string()))
            }
        };
        let name = match all.iter().find(|other| other.name == name) {
            None => name,
            Some(other) if other.program == program => {
                return Err(wrong(&"the list has this kernel twice"));
            }
            Some(_) => source.clone().unwrap_or_else(|| program.to_string()),
        };
        all.push(ContenderKernel {
            name,
            program,
            source,
        });
    }
    Ok(all)
}

fn plan(options: &RunOptions, kernel: &KernelChoice) -> Result<Plan, CliError> {
    let options = RunOptions {
        lab: options.lab.clone().or(Some(LabChoice::Uml)),
        guest_kernel: Some(kernel.clone()),
        ..options.clone()
    };
    resolve_here(&options)
}

/// The kernels of a plan that have sources and do not exist.
pub struct Builds {
    kernels: Vec<ContenderKernel>,
    pending: PendingKernels,
}

impl Builds {
    /// Collects the kernels of a plan.
    pub fn of(plan: &Plan) -> Self {
        let all = plan.labs_and_kernels().into_iter();
        let all = all.filter_map(|(_, kernel)| kernel.cloned());
        let does_not_exist = |kernel: &ContenderKernel| match &kernel.program {
            KernelChoice::File(path) => kernel.source.is_some() && !path.exists(),
            _ => false,
        };
        let kernels: Vec<ContenderKernel> = all.filter(does_not_exist).collect();
        let pending = PendingKernels::new(kernels.iter().map(|kernel| kernel.name.clone()));
        Self { kernels, pending }
    }

    /// Their names, for the labs that wait for them.
    pub fn pending(&self) -> &PendingKernels {
        &self.pending
    }

    /// Puts the cells of kernels that are built later behind the others, if the order has no effect on
    /// the figures.
    pub fn sort(&self, plan: &Plan, cells: &mut [Cell]) {
        if plan.in_virtual_time() && plan.adaptive.is_none() {
            cells.sort_by_key(|cell| {
                let contender = plan.contenders.get(cell.contender as usize)?;
                let kernel = contender.kernel.as_ref()?;
                self.kernels.iter().position(|one| one == kernel)
            });
        }
    }

    /// Builds them while this runs. In real time they are built before it, because compilers would
    /// disturb its cells.
    pub fn during<T>(&self, plan: &Plan, stop: &CancelToken, measure: impl FnOnce() -> T) -> T {
        let building = stop.child();
        if !plan.in_virtual_time() {
            self.build_all(&building);
            return measure();
        }
        thread::scope(|scope| {
            scope.spawn(|| self.build_all(&building));
            let measured = measure();
            // After an error no other kernel is needed.
            building.request();
            measured
        })
    }

    /// Builds one kernel after the other.
    fn build_all(&self, stop: &CancelToken) {
        for kernel in &self.kernels {
            let built = match build_one(kernel, stop) {
                Err(_) if stop.requested() => Err("the build was interrupted".to_owned()),
                built => built,
            };
            if let Err(why) = &built {
                output::note(format_args!("fsdyno: kernel {}: {why}", kernel.name));
            }
            self.pending.end(&kernel.name, built);
        }
    }
}

/// Builds a kernel; the error is why it cannot be built.
fn build_one(kernel: &ContenderKernel, stop: &CancelToken) -> Result<(), String> {
    let order = TreeOrder {
        jobs: compile_jobs(None),
        must_count: false,
    };
    let source = kernel.source.as_deref().unwrap_or_default();
    let source: KernelSource = source.parse().map_err(to_text)?;
    let kernels = Kernels::of_trees().map_err(to_text)?;
    let began = Instant::now();
    output::note(format_args!("fsdyno: kernel {}: building", kernel.name));
    for named in source.all().map_err(to_text)? {
        let made = build(&kernels, named.source(), order, stop, &mut |progress| {
            note_of(&kernel.name, &progress);
        });
        let program = made.map_err(to_text)?.kernel.program;
        if KernelChoice::File(program) != kernel.program {
            return Err("its sources or the compiler changed since the run started".to_owned());
        }
    }
    let elapsed = Nanos::from(began.elapsed()).clock();
    output::note(format_args!(
        "fsdyno: kernel {}: built in {elapsed}",
        kernel.name
    ));
    Ok(())
}

fn to_text(error: impl Display) -> String {
    error.to_string()
}

/// Prints a note of a build: options that the version does not have, patches that do not fit.
fn note_of(name: &str, progress: &Progress<'_>) {
    if let Progress::Note(note) = progress {
        output::note(format_args!("fsdyno: kernel {name}: {note}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_short_and_unique_names() {
        let named = |list: &[&str]| {
            let list: Vec<ListedKernel> = list.iter().map(|text| text.parse().unwrap()).collect();
            let kernels = named(items(&list).unwrap(), &CancelToken::new());
            kernels.map(|all| {
                all.into_iter()
                    .map(|kernel| kernel.name)
                    .collect::<Vec<_>>()
            })
        };
        let unique = named(&["lab", "/k/old/linux", "/k/linux-6.1", "/j/old/linux"]).unwrap();
        assert_eq!(unique, ["lab", "old", "linux-6.1", "/j/old/linux"]);
        assert!(named(&["lab", "lab"]).is_err());
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(short_revision(commit), "0123456789ab");
        assert_eq!(short_revision("v6.12"), "v6.12");
    }

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
