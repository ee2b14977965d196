//! Completion of commands, flags and values in a shell. The script of a shell calls this program,
//! so that values are those of this machine and of its store.

use crate::command_line;
use crate::commands::advise;
use crate::commands::list::{self, Listed};
use crate::exit::CliError;
use crate::{output, places};
use clap::Command;
use clap_complete::PathCompleter;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, ValueCompleter};
use clap_complete::env::{CompleteEnv, Shells};
use fsdyno_disk::Profile;
use fsdyno_model::{CopyMethod, FigureName, LabChoice, printable};
use fsdyno_recipes::{fs, layouts, options};
use fsdyno_report::{Format, published, schemas};
use fsdyno_run::advise::Feature;
use fsdyno_run::resolve::{Catalogue, KindEntry};
use fsdyno_store::Store;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// The variable that the script of a shell sets to ask for completions.
const VARIABLE: &str = "FSDYNO_COMPLETE";

pub const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// The script that makes a shell complete the command line of fsdyno.
fn script(shell: &str) -> Result<Vec<u8>, CliError> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(shell) else {
        let message = format!(
            "there is no script for `{shell}`. The shells are {}.",
            SHELLS.join(", ")
        );
        return Err(CliError::usage(message));
    };
    let mut text = Vec::new();
    shell.write_registration(VARIABLE, "fsdyno", "fsdyno", "fsdyno", &mut text)?;
    Ok(text)
}

/// `completions`: prints the script of a shell.
pub fn completions(shell: &str) -> Result<(), CliError> {
    // The script of bash contains a control character, and no data.
    output::picture(&script(shell)?)
}

/// Answers a shell; returns `false` if this process was not started by the script of a shell.
pub fn answer() -> bool {
    let words: Vec<OsString> = std::env::args_os().collect();
    let variable = || std::env::var_os("FSDYNO_STORE").filter(|name| !name.is_empty());
    let store = named_store(&words).or_else(|| {
        let name = variable().filter(|_| fsdyno_files::places::from_environment());
        name.map(PathBuf::from)
    });
    let factory = || with_values(command_line::command(), store.as_ref());
    let answered = CompleteEnv::with_factory(factory)
        .var(VARIABLE)
        .try_complete(words, std::env::current_dir().ok().as_deref());
    // A shell shows no message while it completes.
    answered.unwrap_or(true)
}

/// The store that the incomplete command line names.
fn named_store(words: &[OsString]) -> Option<PathBuf> {
    let value = |at: usize, word: &OsString| match word.to_str()?.strip_prefix("--store")? {
        "" => words.get(at + 1).map(PathBuf::from),
        rest => rest.strip_prefix('=').map(PathBuf::from),
    };
    let mut words = words.iter().enumerate();
    words.find_map(|(at, word)| value(at, word))
}

/// Adds the values of each argument that has a list of them.
fn with_values(command: Command, store: Option<&PathBuf>) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(
            |argument| match values_of(&name, argument.get_id().as_str(), store) {
                Some(values) => argument.add(values),
                None => argument,
            },
        )
        .mut_subcommands(|sub| with_values(sub, store))
}

/// The values of an argument of a command, by its id.
fn values_of(command: &str, argument: &str, store: Option<&PathBuf>) -> Option<ArgValueCompleter> {
    let listed = |what: Listed| whole(move || items(what));
    let values = match (command, argument) {
        ("run" | "advise" | "price", "suite") | ("show", "work") => listed(Listed::Suites),
        (
            "run" | "rerun" | "crash" | "lose" | "selftest" | "bisect" | "advise" | "price",
            "contenders" | "fs",
        ) => ArgValueCompleter::new(contenders),
        ("run" | "selftest" | "advise" | "price", "phases")
        | ("phase", "kind")
        | ("bisect", "phase" | "phases") => listed(Listed::Phases),
        (_, "app") => listed(Listed::Apps),
        (_, "engine") => listed(Listed::Engines),
        (_, "dataset") => listed(Listed::Datasets),
        (_, "set") => whole(parameters),
        (_, "copy_method") => whole(|| plain(CopyMethod::ALL.map(CopyMethod::name))),
        ("run" | "crash" | "bisect" | "advise" | "price" | "show", "disk")
        | ("show" | "check" | "serve", "profile") => ArgValueCompleter::new(disks),
        ("advise", "needs") => whole(|| plain(Feature::ALL.map(Feature::name))),
        ("advise", "survive") => whole(|| plain(advise::Survival::WORDS)),
        ("bisect" | "history", "metric") | ("run", "judge") => whole(figures),
        ("crash" | "shell", "lab") => whole(|| plain(["uml", "qemu"])),
        (_, "lab") => whole(|| plain(LabChoice::FORMS)),
        ("run", "device") => whole(|| plain(["loop:", "ram:", "dir:", "/dev/"])),
        ("report", "against") | ("show", "name") => whole(tables),
        ("rerun", "name") => whole(|| plain(published::ALL.iter().map(|one| one.name))),
        ("schema", "name") => whole(|| plain(schemas::ALL.map(|one| one.name))),
        ("completions", "shell") => whole(|| plain(SHELLS)),
        ("advise" | "report" | "rerun" | "show" | "why", "format") => {
            whole(|| plain(Format::ALL.iter().map(|one| one.name())))
        }
        ("show" | "report" | "chart" | "why" | "rm" | "name" | "tag", "run" | "runs")
        | ("compare", "runs")
        | ("run", "resume") => {
            let store = store.cloned();
            whole(move || runs(store.as_ref()))
        }
        _ => return None,
    };
    Some(values)
}

/// Completes a whole value.
fn whole(all: impl Fn() -> Vec<CompletionCandidate> + Send + Sync + 'static) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| begin_with(all(), typed))
}

fn begin_with(mut all: Vec<CompletionCandidate>, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    all.retain(|one| one.get_value().to_string_lossy().starts_with(&*typed));
    all
}

fn plain<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<CompletionCandidate> {
    names.into_iter().map(CompletionCandidate::new).collect()
}

/// A value with its description. Data of users and of stores can hold escapes of terminals.
fn described(name: &str, about: &str) -> CompletionCandidate {
    CompletionCandidate::new(printable(name)).help(Some(printable(about).into()))
}

fn items(what: Listed) -> Vec<CompletionCandidate> {
    let titles = list::titles(what).unwrap_or_default();
    let value = |(name, title): &(String, String)| match name.split_once(':') {
        // `tree:DIR`: the form ends where the user's path begins.
        Some((form, _)) => described(&format!("{form}:"), title),
        None => described(name, title),
    };
    titles.iter().map(value).collect()
}

fn parameters() -> Vec<CompletionCandidate> {
    let kinds = Catalogue::complete().kinds;
    let of_kind = |kind: &KindEntry| {
        let name = kind.name;
        let values = kind.parameters.iter();
        values
            .map(|one| described(&format!("{name}.{}=", one.name), one.about))
            .collect::<Vec<_>>()
    };
    kinds.iter().flat_map(of_kind).collect()
}

fn figures() -> Vec<CompletionCandidate> {
    let all = FigureName::all();
    all.map(|one| described(one.as_str(), &one.about()))
        .collect()
}

fn tables() -> Vec<CompletionCandidate> {
    let tables = published::ALL.iter();
    tables
        .map(|one| CompletionCandidate::new(one.name))
        .collect()
}

/// Profiles of model disks, and files.
fn disks(typed: &OsStr) -> Vec<CompletionCandidate> {
    let profiles = fsdyno_disk::profiles::ALL
        .iter()
        .filter_map(|one| Profile::try_from(one).ok());
    let profiles = profiles
        .map(|one| described(&one.name, &one.title))
        .collect();
    let mut all = begin_with(profiles, typed);
    all.extend(PathCompleter::file().complete(typed));
    all
}

/// The runs of the store, newest first.
fn runs(named: Option<&PathBuf>) -> Vec<CompletionCandidate> {
    let path = places::store(named);
    let Ok(store) = path.and_then(|path| Ok(Store::open_existing_read_only(&path)?)) else {
        return Vec::new();
    };
    let runs = store.runs().unwrap_or_default();
    let series = store.series().unwrap_or_default();
    let explorations = store.explorations().unwrap_or_default();
    let fault_tests = store.fault_tests().unwrap_or_default();
    let all = runs.iter().map(|run| (&run.id, &run.contenders));
    let all = all.chain(series.iter().map(|one| (&one.id, &one.contenders)));
    let all = all.chain(explorations.iter().map(|one| (&one.id, &one.contenders)));
    let all = all.chain(fault_tests.iter().map(|one| (&one.id, &one.contenders)));
    let last = described("last", "the newest one");
    let all = all.map(|(id, contenders)| described(id, &contenders.join(" ")));
    all.chain([last]).collect()
}

/// The last contender of a list: its file system, then its layout, then its mount options.
fn contenders(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    // A comma within brackets separates mkfs options.
    let open = typed
        .rfind('[')
        .is_some_and(|at| !typed[at..].contains(']'));
    if open {
        return Vec::new();
    }
    let (before, last) = typed.split_at(typed.rfind(',').map_or(0, |at| at + 1));
    let (lab, last) = match last.split_once('/') {
        Some((lab, last)) => (format!("{before}{lab}/"), last),
        None => (before.to_owned(), last),
    };
    let complete = |stem: &str, names: &[&str]| {
        let all = names
            .iter()
            .map(|name| CompletionCandidate::new(format!("{lab}{stem}{name}")));
        begin_with(all.collect(), OsStr::new(&*typed))
    };
    let name = last.split(['@', ':', '[']).next().unwrap_or_default();
    let Some(recipe) = fs::find(name).filter(|_| last.len() > name.len()) else {
        let all = fs::ALL.iter();
        let all = all.map(|recipe| described(&format!("{lab}{}", recipe.name()), recipe.title()));
        return begin_with(all.collect(), OsStr::new(&*typed));
    };
    match last.rsplit_once([':', '@']) {
        Some((stem, _)) if last[stem.len()..].starts_with('@') => {
            let names: Vec<&str> = layouts::of(recipe).map(|layout| layout.name).collect();
            complete(&format!("{stem}@"), &names)
        }
        Some((stem, _)) => complete(
            &format!("{stem}:"),
            &[recipe.mount_options(), options::GENERIC].concat(),
        ),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(of: fn(&OsStr) -> Vec<CompletionCandidate>, typed: &str) -> Vec<String> {
        let all = of(OsStr::new(typed));
        all.iter()
            .map(|one| one.get_value().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn the_last_contender_of_a_list_is_completed() {
        assert_eq!(values(contenders, "xf"), ["xfs"]);
        assert_eq!(
            values(contenders, "ext4:noatime,btr"),
            ["ext4:noatime,btrfs"]
        );
        assert_eq!(values(contenders, "uml/reis"), ["uml/reiserfs"]);
        assert_eq!(values(contenders, "xfs,btrfs@poo"), ["xfs,btrfs@pool"]);
        assert!(values(contenders, "ext4:noat").contains(&"ext4:noatime".to_owned()));
        assert_eq!(values(contenders, "ext4[-O a,x"), Vec::<String>::new());
    }

    #[test]
    fn a_profile_is_completed_by_name_or_as_a_file() {
        assert!(values(disks, "laptop").contains(&"laptop-4200-2004".to_owned()));
        let manifest = format!("{}/Cargo.t", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(values(disks, &manifest), [format!("{manifest}oml")]);
    }

    #[test]
    fn the_store_on_the_line_is_the_one_whose_runs_are_completed() {
        let named =
            |line: &str| named_store(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        assert_eq!(
            named("fsdyno -- fsdyno show --store x"),
            Some(PathBuf::from("x"))
        );
        assert_eq!(
            named("fsdyno -- fsdyno --store=x show"),
            Some(PathBuf::from("x"))
        );
        assert_eq!(named("fsdyno -- fsdyno show"), None);
    }

    #[test]
    fn every_argument_that_names_a_thing_has_its_values() {
        let command = with_values(command_line::command(), None);
        for (sub, ids) in [
            (
                "run",
                &[
                    "suite",
                    "contenders",
                    "phases",
                    "engine",
                    "disk",
                    "dataset",
                    "lab",
                    "resume",
                    "set",
                ][..],
            ),
            ("show", &["run"]),
            ("history", &["metric"]),
            ("bisect", &["metric"]),
            ("report", &["run", "against", "format"]),
            ("compare", &["runs"]),
            ("phase", &["kind", "engine"]),
        ] {
            let sub = command.find_subcommand(sub).unwrap();
            for id in ids {
                let argument = sub.get_arguments().find(|one| one.get_id() == id).unwrap();
                assert!(
                    argument.get::<ArgValueCompleter>().is_some(),
                    "{} {id}",
                    sub.get_name()
                );
            }
        }
    }

    #[test]
    fn every_shell_has_a_script() {
        for shell in SHELLS {
            assert!(!script(shell).unwrap().is_empty(), "{shell}");
        }
        assert!(script("tcsh").unwrap_err().to_string().contains("bash"));
    }
}
