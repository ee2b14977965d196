//! Contenders: parse them, check them with the recipes, and check their labels.

use super::config_error::ConfigError;
use super::entry::{ContenderEntry, ContenderTable};
use super::names::{absolute, check_name};
use super::settings::FromText as _;
use super::states;
use fsdyno_model::{
    Contender, ContenderSpec, DeviceChoice, FilesystemKind, GrammarError, LabChoice, LayoutChoice,
    ShortOr,
};
use fsdyno_recipes as recipes;
use std::path::{Path, PathBuf};

/// Parses contenders, and checks them with the recipes.
#[derive(Debug, Clone, Copy)]
pub struct ContenderParser<'a> {
    /// The directory of relative paths.
    pub base: &'a Path,
    /// The lab of contenders that name none, as far as it is known.
    pub lab: Option<&'a LabChoice>,
    /// Whether mount options are passed unchecked, with possible typos.
    pub unchecked_options: bool,
}

impl ContenderParser<'_> {
    /// Parses contenders in short form.
    pub fn list(&self, text: &str) -> Result<Vec<ContenderSpec>, ConfigError> {
        let typed =
            ContenderSpec::parse_list(text, &recipes::kind_of).map_err(|error| match error {
                GrammarError::UnknownFilesystem { name } => unknown_name(&name),
                error => ConfigError::from(error),
            })?;
        let typed = typed.into_iter();
        typed
            .map(|typed| self.checked(typed.contender, typed.lab))
            .collect()
    }

    /// Parses the contenders of a setting.
    pub fn entries(&self, entries: &[ContenderEntry]) -> Result<Vec<ContenderSpec>, ConfigError> {
        let mut all = Vec::new();
        for entry in entries {
            match entry {
                ContenderEntry::Typed(entry) => all.extend(self.entry(entry.get_ref())?),
                ContenderEntry::Value(value) => {
                    let mut spec = self.checked(value.clone(), None)?;
                    spec.contender.label += &value.state.suffix();
                    all.push(spec);
                }
            }
        }
        Ok(all)
    }

    /// Parses one entry: contenders in short form, or a contender in long form.
    pub(super) fn entry(
        &self,
        entry: &ShortOr<ContenderTable>,
    ) -> Result<Vec<ContenderSpec>, ConfigError> {
        match entry {
            ShortOr::Short(text) => self.list(text),
            ShortOr::Long(table) => Ok(vec![self.table(table)?]),
        }
    }

    /// Parses a contender in long form. Its default label is its short form.
    fn table(&self, table: &ContenderTable) -> Result<ContenderSpec, ConfigError> {
        let mut contender = Contender::plain(table.filesystem.get_ref());
        contender.mkfs.clone_from(&table.mkfs);
        contender.mount.clone_from(&table.mount);
        contender.layout = LayoutChoice {
            name: (table.layout.clone()).unwrap_or_else(|| LayoutChoice::default().name),
            devices: table.devices.unwrap_or(1),
        };
        contender.directory = table.directory.as_deref().map(PathBuf::from);
        let lab = table
            .lab
            .as_ref()
            .map(|lab| LabChoice::from_text(lab.get_ref()));
        let typed = self.checked(contender, lab.transpose()?)?;
        let state = states::state(table.fill, table.age.unwrap_or(0))?;
        let mut contender = states::in_state(typed.contender, state)?;
        if let Some(label) = &table.label {
            contender.label = check_name("contender", label)?;
        }
        Ok(ContenderSpec { contender, ..typed })
    }

    pub fn directory(&self, path: &Path) -> Result<ContenderSpec, ConfigError> {
        let name = recipes::fs::ALL
            .iter()
            .find(|fs| fs.kind() == FilesystemKind::Directory)
            .map_or("", |fs| fs.name());
        let mut contender = Contender::plain(name);
        contender.directory = Some(path.to_owned());
        self.checked(contender, None)
    }

    /// Makes the directory of a contender absolute, and checks it with the recipes.
    fn checked(
        &self,
        mut contender: Contender,
        lab: Option<LabChoice>,
    ) -> Result<ContenderSpec, ConfigError> {
        if recipes::find(&contender.filesystem).is_none() {
            let names = recipes::names().into_iter();
            return Err(ConfigError::unknown(
                "file system",
                &contender.filesystem,
                names,
            ));
        }
        let mut there = contender.clone();
        if let Some(lab) = lab.as_ref().or(self.lab) {
            recipes::in_lab(&mut there, lab);
        }
        recipes::validate(&there)?;
        if !self.unchecked_options {
            recipes::check_options(&there)?;
        }
        if let Some(directory) = &contender.directory {
            contender.directory = Some(absolute(self.base, directory));
        }
        let mut spec = ContenderSpec::new(contender, lab);
        (spec.contender.filesystem, spec.contender.mkfs) = (there.filesystem, there.mkfs);
        Ok(spec)
    }
}

/// The error of an unknown file system: the name does not exist, or the part before it is no lab.
fn unknown_name(name: &str) -> ConfigError {
    let split = name.split_once('/');
    match split.filter(|(_, rest)| recipes::kind_of(rest).is_some()) {
        Some((lab, _)) => ConfigError::unknown("lab", lab, LabChoice::FORMS.into_iter()),
        None => ConfigError::unknown("file system", name, recipes::names().into_iter()),
    }
}

/// Checks that labels are unique. The error has the index of the second contender.
pub fn have_own_labels(contenders: &[ContenderSpec]) -> Result<(), (usize, ConfigError)> {
    let label = |typed: &ContenderSpec| typed.contender.label.clone();
    for (place, typed) in contenders.iter().enumerate() {
        let mut before = contenders[..place].iter();
        if before.any(|other| label(other) == label(typed)) {
            let error = ConfigError::wrong(
                format!("the contender `{}` is named twice", label(typed)),
                "to run one twice, write both in a plan file, each with a `label` of its own",
            );
            return Err((place, error));
        }
    }
    Ok(())
}

/// Checks that there are enough devices for each contender.
pub fn have_devices(contenders: &[Contender], device: &DeviceChoice) -> Result<(), ConfigError> {
    let DeviceChoice::Block { paths } = device else {
        return Ok(());
    };
    let short = contenders
        .iter()
        .filter(|contender| recipes::on_blocks(contender))
        .find(|contender| contender.layout.devices as usize > paths.len());
    match short {
        None => Ok(()),
        Some(contender) => Err(ConfigError::wrong(
            format!(
                "contender `{}` is made of {} devices, and {} named",
                contender.label,
                contender.layout.devices,
                if paths.len() == 1 {
                    "1 is".to_owned()
                } else {
                    format!("{} are", paths.len())
                },
            ),
            "name more devices with commas, or leave the contender out",
        )),
    }
}
