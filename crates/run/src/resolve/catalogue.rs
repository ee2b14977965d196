//! The names that a plan may use, with their properties, from the `load` and `datasets` crates.

use super::config_error::ConfigError;
use fsdyno_datasets::{Generator, Shape};
use fsdyno_load::kinds::{self, PhaseKind};
use fsdyno_load::{engines, programs};
use fsdyno_model::{DatasetChoice, KernelChoice, Needs, Parameter};

/// The names and capabilities for plans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    pub kinds: Vec<KindEntry>,
    /// The names of the engines; the first is the default.
    pub engines: Vec<&'static str>,
    pub datasets: Vec<DatasetEntry>,
    /// File systems and layouts that this machine or user cannot provide, but a guest may.
    pub lacking: Vec<String>,
    /// Whether guests can be started here.
    pub guests: bool,
    /// The default kernel of guests.
    pub kernel: Option<KernelChoice>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a kind, each used separately"
)]
pub struct KindEntry {
    pub name: &'static str,
    pub needs: Needs,
    /// Whether it creates a new tree.
    pub makes_tree: bool,
    /// Whether it removes the newest tree.
    pub removes_tree: bool,
    /// Whether it searches for a pattern.
    pub searches: bool,
    /// Whether an external program does it instead of an engine.
    pub program: bool,
    pub parameters: &'static [Parameter],
    /// Whether further parameters are passed on to a program, which checks them.
    pub passes_on: bool,
    /// No parameter has its default value if one of these is set.
    pub no_defaults_with: &'static [&'static str],
}

impl KindEntry {
    fn of(kind: &PhaseKind) -> Self {
        Self {
            name: kind.name,
            needs: kind.needs,
            makes_tree: kind.makes_tree,
            removes_tree: kind.removes_tree,
            searches: kind.searches,
            program: false,
            parameters: kind.parameters,
            passes_on: kind.passes_on,
            no_defaults_with: kind.no_defaults_with,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatasetEntry {
    pub name: &'static str,
    pub form: DatasetForm,
}

impl DatasetEntry {
    fn of(set: &Generator) -> Self {
        Self {
            name: set.name,
            form: match set.shape {
                Shape::Tree | Shape::Grown(_) => DatasetForm::Tree,
                Shape::Archive(_) => DatasetForm::Archive,
                Shape::File => DatasetForm::File,
                Shape::Nothing => DatasetForm::Nothing,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatasetForm {
    /// Many files in directories.
    Tree,
    /// An archive, which can also be created as a tree.
    Archive,
    /// One file, or a few large ones.
    File,
    Nothing,
    /// The tree of a recording, with its operations.
    Recording,
}

impl Catalogue {
    /// All kinds of phases, engines and generated datasets.
    pub fn complete() -> Self {
        Self {
            kinds: kinds::all()
                .map(KindEntry::of)
                .chain(programs::ALL.iter().map(|program| KindEntry {
                    program: true,
                    ..KindEntry::of(&program.kind)
                }))
                .collect(),
            engines: engines::ALL.iter().map(|engine| engine.name).collect(),
            datasets: fsdyno_datasets::ALL
                .iter()
                .map(|set| DatasetEntry::of(set))
                .collect(),
            ..Self::default()
        }
    }

    pub(super) fn kind(&self, name: &str) -> Result<&KindEntry, ConfigError> {
        self.kinds
            .iter()
            .find(|kind| kind.name == name)
            .ok_or_else(|| {
                let names = self.kinds.iter().map(|kind| kind.name);
                ConfigError::unknown("kind of phase", name, names)
            })
    }

    /// The dataset without files, if there is one.
    pub(super) fn no_files(&self) -> Option<DatasetChoice> {
        let mut entries = self.datasets.iter();
        let entry = entries.find(|entry| entry.form == DatasetForm::Nothing)?;
        Some(DatasetChoice::Generated(entry.name.to_owned()))
    }

    pub(crate) fn engine(&self, name: &str) -> Result<String, ConfigError> {
        if self.engines.contains(&name) {
            return Ok(name.to_owned());
        }
        let names = self.engines.iter().copied();
        Err(ConfigError::unknown("engine", name, names))
    }

    /// The form of a dataset, if it is known.
    pub(super) fn form(&self, dataset: &DatasetChoice) -> Result<DatasetForm, ConfigError> {
        match dataset {
            DatasetChoice::Tree(_) => Ok(DatasetForm::Tree),
            DatasetChoice::Tar(_) => Ok(DatasetForm::Archive),
            DatasetChoice::File(_) => Ok(DatasetForm::File),
            DatasetChoice::Trace(_) => Ok(DatasetForm::Recording),
            DatasetChoice::Generated(name) => self
                .datasets
                .iter()
                .find(|entry| entry.name == *name)
                .map(|entry| entry.form)
                .ok_or_else(|| {
                    // `tre:/usr/src` is a typo in the part before the colon.
                    let own = ["tree:DIR", "tar:FILE", "file:FILE", "trace:FILE"];
                    let generated = self.datasets.iter().map(|entry| entry.name);
                    let known = ConfigError::unknown("dataset", name, generated.chain(own));
                    match name.split_once(':') {
                        Some((prefix, _)) => {
                            known.or_near(prefix, &["tree", "tar", "file", "trace"])
                        }
                        None => known,
                    }
                }),
        }
    }
}
