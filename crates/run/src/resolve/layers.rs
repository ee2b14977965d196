//! The layers of settings: the command line, a plan file and a suite, in this order.

use super::catalogue::Catalogue;
use super::config_error::ConfigError;
use super::error::ResolveError;
use super::planfile::PlanFile;
use super::suite;
use super::work::{dataset_is_given, needs_no_dataset};
use crate::resolve::options::RunOptions;
use std::path::{Path, PathBuf};

pub struct Layers<'a> {
    /// The settings of the command line.
    pub arguments: &'a RunOptions,
    pub plan: Option<PlanFile>,
    pub suite: Option<PlanFile>,
    /// The resulting settings: each from the first layer that sets it.
    pub settings: RunOptions,
    /// The current directory.
    pub here: &'a Path,
}

impl<'a> Layers<'a> {
    /// Reads the plan file and the suite. Without a workload, it reads the default suite.
    pub fn read(
        arguments: &'a RunOptions,
        here: &'a Path,
        catalogue: &Catalogue,
    ) -> Result<Self, ResolveError> {
        let wrong = |(name, error)| ResolveError::argument(RunOptions::flag(name))(error);
        arguments.check(catalogue).map_err(wrong)?;
        let unchecked = arguments.unchecked_options.unwrap_or_default();
        let plan = arguments.plan.as_ref();
        let plan = plan.map(|path| PlanFile::read(path, catalogue, unchecked));
        let plan = plan.transpose()?;
        let has_workloads = plan.as_ref().is_some_and(|plan| !plan.workloads.is_empty());
        let named = match arguments.suite.as_deref() {
            Some(name) => Some(suite::find(name).ok_or_else(|| {
                let names = suite::ALL.iter().map(|suite| suite.name);
                ResolveError::argument("the suite")(ConfigError::unknown("suite", name, names))
            })?),
            None if has_workloads || dataset_is_given(arguments) => None,
            None if needs_no_dataset(arguments, catalogue) => None,
            None => suite::find(suite::DEFAULT),
        };
        let suite = named.map(|suite| suite.read(catalogue)).transpose()?;
        let mut settings = arguments.clone();
        for file in plan.iter().chain(&suite) {
            settings = settings.over(file.options.clone());
        }
        Ok(Self {
            arguments,
            plan,
            suite,
            settings,
            here,
        })
    }

    /// The plan file and the suite, if they exist.
    pub fn files(&self) -> impl Iterator<Item = &PlanFile> {
        self.plan.iter().chain(&self.suite)
    }

    /// The file that sets a setting; `None` if the command line or no layer sets it.
    fn file_of(&self, name: &str) -> Option<&PlanFile> {
        if self.arguments.sets(name) {
            return None;
        }
        self.files().find(|file| file.options.sets(name))
    }

    /// The directory of the paths in a setting: that of the layer that sets it.
    pub fn base(&self, name: &str) -> PathBuf {
        self.file_of(name)
            .map_or(self.here, |file| &file.base)
            .to_owned()
    }

    /// The error of a setting, with its position in the plan file or with its flag.
    pub fn wrong<E: Into<ConfigError>>(&self, name: &'static str) -> impl Fn(E) -> ResolveError {
        move |error| match self.file_of(name) {
            Some(file) => file.wrong_at(name, &error.into()).into(),
            None => ResolveError::argument(RunOptions::flag(name))(error),
        }
    }

    /// The first of these settings that the command line or a file sets.
    pub fn first_set(&self, names: &[&'static str]) -> Option<&'static str> {
        let set_by = |options: &RunOptions| names.iter().find(|name| options.sets(name));
        let found = set_by(self.arguments).or_else(|| set_by(&self.settings));
        found.copied()
    }
}
