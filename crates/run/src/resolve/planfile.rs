//! Plan files and suites: one format, one parser. Errors have their position in the text.
//!
//! ```toml
//! name = "mine"                 # keys are those of `RunOptions`; all are optional
//! device = "loop:8G"
//! repeats = 5
//! contenders = ["ext4", "btrfs:compress=zstd",
//!               { filesystem = "ext4", label = "young", mkfs = ["-O", "^dir_index"] }]
//!
//! [[workload]]
//! name = "sources"
//! dataset = "tree:linux"        # relative to the directory of this file
//! phases = ["copy", "grep cold", "grep warm", { kind = "grep", pattern = "panic", label = "panics" }]
//! ```

use super::catalogue::{Catalogue, DatasetForm};
use super::config_error::ConfigError;
use super::contenders::{ContenderParser, have_own_labels};
use super::entry::{ContenderEntry, ContenderTable, PhaseTable, WorkloadTable};
use super::error::{PlanFileError, ResolveError};
use super::names::{absolute, check_name};
use super::parameters;
use super::phases::{self, Draft};
use super::place::Place;
use crate::resolve::options::RunOptions;
use crate::resolve::settings::{FromText as _, split_help};
use fsdyno_model::closest_name;
use fsdyno_model::{ContenderSpec, DatasetChoice, FigureName, LabChoice, ShortOr, Workload};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::DeTable;

/// A plan file that was read and checked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PlanFile {
    pub options: RunOptions,
    /// Its contenders, and the lab of those that name one.
    pub contenders: Vec<ContenderSpec>,
    pub workloads: Vec<Workload>,
    /// The directory of its relative paths.
    pub(super) base: PathBuf,
    source: Source,
}

/// The text of a plan file.
#[derive(Debug, Clone, PartialEq, Default)]
struct Source {
    path: String,
    text: String,
}

impl PlanFile {
    /// Reads a plan file from disk.
    pub fn read(
        path: &Path,
        catalogue: &Catalogue,
        unchecked_options: bool,
    ) -> Result<Self, ResolveError> {
        let unread = |source| ResolveError::Read {
            path: path.to_owned(),
            source,
        };
        let text = fsdyno_files::input::read_text(path).map_err(unread)?;
        let whole = std::path::absolute(path).map_err(unread)?;
        let parser = ContenderParser {
            base: whole.parent().unwrap_or(Path::new("/")),
            lab: None,
            unchecked_options,
        };
        Ok(Self::parse(
            &path.display().to_string(),
            &text,
            parser,
            catalogue,
        )?)
    }

    /// Parses the text of a plan file and checks it.
    pub(crate) fn parse(
        path: &str,
        text: &str,
        parser: ContenderParser<'_>,
        catalogue: &Catalogue,
    ) -> Result<Self, PlanFileError> {
        let source = Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let options: RunOptions = toml::from_str(text).map_err(|error| {
            let (mut message, mut help) = split_help(error.message());
            if let Some((unknown, nearest)) = nearest_key(&message) {
                message = unknown;
                help = Some(nearest);
            }
            source.error(error.span().unwrap_or(0..0), message, help)
        })?;
        let reader = Reader {
            source: &source,
            parser: ContenderParser {
                lab: options.lab.as_ref().or(parser.lab),
                ..parser
            },
            catalogue,
        };
        let at_key = |(key, error): (&str, ConfigError)| source.wrong_at(key, &error);
        options.check(catalogue).map_err(at_key)?;
        let contenders = reader.contenders(&options.contenders)?;
        reader.device(&options, &contenders)?;
        let workloads = reader.workloads(&options.workload)?;
        Ok(Self {
            options,
            contenders,
            workloads,
            base: parser.base.to_owned(),
            source,
        })
    }

    /// The error of a setting of this file, with its position.
    pub(super) fn wrong_at(&self, key: &str, error: &ConfigError) -> PlanFileError {
        self.source.wrong_at(key, error)
    }
}

impl Source {
    fn wrong_at(&self, key: &str, error: &ConfigError) -> PlanFileError {
        let span = self.place_of(key);
        self.wrong(span.unwrap_or(0..0), error)
    }

    /// The position of the value of a top-level key; `None` if the text does not have it.
    fn place_of(&self, key: &str) -> Option<Range<usize>> {
        let table = DeTable::parse(&self.text).ok()?;
        let mut keys = table.get_ref().iter();
        let (_, value) = keys.find(|(name, _)| name.get_ref() == key)?;
        Some(value.span())
    }

    fn wrong(&self, span: Range<usize>, error: &ConfigError) -> PlanFileError {
        self.error(span, error.to_string(), error.help())
    }

    fn error(&self, span: Range<usize>, message: String, help: Option<String>) -> PlanFileError {
        PlanFileError {
            path: self.path.clone(),
            text: self.text.clone(),
            span,
            message,
            help,
        }
    }
}

/// Checks a plan file and resolves its tables.
struct Reader<'a> {
    source: &'a Source,
    parser: ContenderParser<'a>,
    catalogue: &'a Catalogue,
}

/// The message of a key that does not exist, and the nearest names. `None` for other messages, and if
/// no name is near.
fn nearest_key(message: &str) -> Option<(String, String)> {
    let (unknown, expected) = message.split_once(", expected ")?;
    let quoted = |text: &str| -> Vec<String> {
        let names = text.split('`').skip(1).step_by(2);
        names.map(str::to_owned).collect()
    };
    let name = quoted(unknown.strip_prefix("unknown field ")?).pop()?;
    let known = quoted(expected);
    let nearest = closest_name(&name, known.iter().map(String::as_str));
    let help = format!("did you mean `{}`?", nearest.first()?);
    Some((unknown.replace("field", "key"), help))
}

type Checked<T> = Result<T, PlanFileError>;

impl Reader<'_> {
    /// Checks the device. If the device lists directories, these are the only contenders.
    fn device(&self, options: &RunOptions, contenders: &[ContenderSpec]) -> Checked<()> {
        let place = Place::of(&options.device, self.parser.base);
        let place = place.map_err(|error| self.source.wrong_at("device", &error))?;
        if matches!(place, Some(Place::Directories(_))) && !contenders.is_empty() {
            let error = ConfigError::wrong(
                "the device names directories, which are contenders themselves",
                "leave out `contenders`, or name the directories there as dir:PATH",
            );
            return Err(self.source.wrong_at("device", &error));
        }
        Ok(())
    }

    /// The contenders, with unique labels.
    fn contenders(&self, entries: &[ContenderEntry]) -> Checked<Vec<ContenderSpec>> {
        let (mut contenders, mut places) = (Vec::new(), Vec::new());
        // Those of a file have a place in it.
        for entry in entries.iter().filter_map(ContenderEntry::typed) {
            let listed = self.parser.entry(entry.get_ref());
            let at = || place_in(entry);
            for contender in listed.map_err(|error| self.source.wrong(at(), &error))? {
                contenders.push(contender);
                places.push(entry.span());
            }
        }
        have_own_labels(&contenders)
            .map_err(|(n, error)| self.source.wrong(places[n].clone(), &error))?;
        Ok(contenders)
    }

    fn workloads(&self, tables: &[Spanned<WorkloadTable>]) -> Checked<Vec<Workload>> {
        let mut workloads: Vec<Workload> = Vec::new();
        for table in tables {
            let table = table.get_ref();
            let name = self.at(&table.name, |name| check_name("workload", name))?;
            if workloads.iter().any(|before| before.name == name) {
                let error = ConfigError::wrong(
                    format!("two workloads are named `{name}`"),
                    "give one of them another name",
                );
                return Err(self.source.wrong(table.name.span(), &error));
            }
            let named = self.each(table.dataset.as_ref(), |text| {
                let dataset = dataset(text, self.parser.base)?;
                let form = self.catalogue.form(&dataset)?;
                Ok((dataset, form))
            })?;
            let (dataset, form) = match (named, self.catalogue.no_files()) {
                (Some(named), _) => named,
                (None, Some(none)) => (none, DatasetForm::Nothing),
                (None, None) => {
                    let error = ConfigError::wrong("there is no dataset", "name one");
                    return Err(self.source.wrong(table.name.span(), &error));
                }
            };
            let places: Vec<_> = table.phases.get_ref().iter().map(Spanned::span).collect();
            let whole = table.phases.span();
            let mut drafts = Vec::new();
            for phase in table.phases.get_ref() {
                let mut draft = self.phase(phase)?;
                let of_workload = table.judge.as_deref().map(FigureName::new);
                draft.judge = draft.judge.or(of_workload);
                drafts.push(draft);
            }
            if drafts.is_empty() {
                let error = ConfigError::wrong(
                    format!("workload `{name}` has no phases"),
                    "name at least one, for example \"copy\"",
                );
                return Err(self.source.wrong(whole, &error));
            }
            let at_phase = |(n, c): (usize, ConfigError)| self.source.wrong(places[n].clone(), &c);
            phases::check_inputs(&drafts, form, self.catalogue).map_err(at_phase)?;
            workloads.push(Workload {
                name,
                dataset,
                phases: phases::labelled(drafts).map_err(at_phase)?,
            });
        }
        Ok(workloads)
    }

    fn phase(&self, entry: &Spanned<ShortOr<PhaseTable>>) -> Checked<Draft> {
        let span = entry.span();
        let table = match entry.get_ref() {
            ShortOr::Short(text) => {
                return Draft::parse(text, self.catalogue)
                    .map_err(|error| self.source.wrong(span, &error));
            }
            ShortOr::Long(table) => table,
        };
        self.at(&table.kind, |kind| self.catalogue.kind(kind).map(drop))?;
        let cache = self.each(table.cache.as_ref(), |name| phases::cache_state(name))?;
        let label = table
            .label
            .as_deref()
            .map(|label| check_name("phase", label));
        let label = label.transpose();
        let label = label.map_err(|error| self.source.wrong(span.clone(), &error))?;
        let kind = table.kind.get_ref();
        let mut given = BTreeMap::new();
        for (key, value) in &table.parameters {
            let at = value.span();
            let text = parameters::text_of(value.get_ref())
                .map_err(|error| self.source.wrong(at.clone(), &error))?;
            let name = key.get_ref();
            parameters::known(name, self.catalogue.kind(kind))
                .map_err(|error| self.source.wrong(key.span(), &error))?;
            let text = parameters::read(kind, name, &text, self.parser.base, self.catalogue)
                .map_err(|error| self.source.wrong(at, &error))?;
            given.insert(name.to_owned(), text);
        }
        let draft = Draft::new(
            kind,
            cache.unwrap_or_default(),
            label,
            table.pattern.clone(),
            given,
            self.catalogue,
        );
        let draft = draft.map_err(|error| self.source.wrong(span, &error))?;
        let judge = table.judge.as_deref().map(FigureName::new);
        Ok(Draft { judge, ..draft })
    }

    /// Parses a value; the error has its position.
    fn at<T, U>(
        &self,
        value: &Spanned<T>,
        read: impl FnOnce(&T) -> Result<U, ConfigError>,
    ) -> Checked<U> {
        read(value.get_ref()).map_err(|c| self.source.wrong(value.span(), &c))
    }

    /// Parses a value if there is one; the error has its position.
    fn each<T, U>(
        &self,
        value: Option<&Spanned<T>>,
        read: impl FnOnce(&T) -> Result<U, ConfigError>,
    ) -> Checked<Option<U>> {
        value.map(|value| self.at(value, read)).transpose()
    }
}

/// The part of a contender that an error refers to: the name that does not exist, or the whole.
fn place_in(entry: &Spanned<ShortOr<ContenderTable>>) -> Range<usize> {
    let ShortOr::Long(table) = entry.get_ref() else {
        return entry.span();
    };
    let unknown_lab = |lab: &&Spanned<String>| LabChoice::from_text(lab.get_ref()).is_err();
    if fsdyno_recipes::find(table.filesystem.get_ref()).is_none() {
        table.filesystem.span()
    } else if let Some(lab) = table.lab.as_ref().filter(unknown_lab) {
        lab.span()
    } else {
        entry.span()
    }
}

/// The dataset of that name; its path is relative to `base`.
pub fn dataset(text: &str, base: &Path) -> Result<DatasetChoice, ConfigError> {
    let mut choice = DatasetChoice::parse(text);
    match &mut choice {
        DatasetChoice::Generated(_) => {}
        DatasetChoice::Tree(path)
        | DatasetChoice::Tar(path)
        | DatasetChoice::File(path)
        | DatasetChoice::Trace(path) => {
            if path.as_os_str().is_empty() {
                return Err(ConfigError::wrong(
                    format!("dataset `{text}` names no path"),
                    "write for example tree:/usr/src/linux",
                ));
            }
            *path = absolute(base, path);
        }
    }
    Ok(choice)
}
