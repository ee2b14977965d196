//! A file with parameters and several phases that work on the same files.

use super::Work;
use super::error::WorkError;
use super::expression::Values;
use super::file::{Document, ParameterTable, PhaseTable};
use fsdyno_model::closest_name;
use fsdyno_model::units::Bytes;
use std::str::FromStr;
use toml::Value;

/// A file whose phases are all valid.
#[derive(Debug)]
pub(crate) struct Family {
    document: Document,
}

impl FromStr for Family {
    type Err = WorkError;

    fn from_str(text: &str) -> Result<Self, WorkError> {
        let family = Self {
            document: text.parse()?,
        };
        let Document {
            parameters, phases, ..
        } = &family.document;
        parameters.iter().try_for_each(check_parameter)?;
        for phase in phases {
            for before in &phase.after {
                let names = || phases.iter().map(|one| one.name.get_ref().as_str());
                if !names().any(|name| name == before.get_ref()) {
                    let near = closest_name(before.get_ref(), names());
                    let help = near.first().map(|near| format!("did you mean `{near}`?"));
                    let message = format!("there is no phase `{}`", before.get_ref());
                    return Err(WorkError::new(
                        before.span(),
                        message,
                        help.unwrap_or_default(),
                    ));
                }
            }
        }
        let names = phases
            .iter()
            .map(|phase| Some(phase.name.get_ref().as_str()));
        let none = phases.is_empty().then_some(None);
        for phase in names.chain(none) {
            family.work(phase, &family.values(1000))?;
        }
        Ok(family)
    }
}

impl FromStr for Work {
    type Err = WorkError;

    fn from_str(text: &str) -> Result<Self, WorkError> {
        let family: Family = text.parse()?;
        family.work(None, &family.values(1000))
    }
}

impl Family {
    /// The workload of a phase, with these values of its parameters. By default it is the first.
    pub fn work(&self, phase: Option<&str>, values: &Values) -> Result<Work, WorkError> {
        let found = match phase {
            None => self.document.phases.first(),
            Some(name) => Some(self.phase(name).ok_or_else(|| {
                let names: Vec<&str> = self.phases().map(|(name, _)| name).collect();
                let message = format!("the workload has no phase `{name}`");
                WorkError::new(0..0, message, format!("it has {}", names.join(", ")))
            })?),
        };
        let workers = found.map_or(&self.document.workers, |phase| &phase.workers);
        self.document.work(workers, values)
    }

    /// The names of its phases with what they do; none if it has only workers.
    pub fn phases(&self) -> impl Iterator<Item = (&str, &str)> {
        let phases = self.document.phases.iter();
        phases.map(|phase| (phase.name.get_ref().as_str(), phase.about.as_str()))
    }

    fn phase(&self, name: &str) -> Option<&PhaseTable> {
        let mut phases = self.document.phases.iter();
        phases.find(|phase| phase.name.get_ref() == name)
    }

    /// The phases whose files a phase finds: one of them is the last that changed them.
    pub fn before(&self, phase: Option<&str>) -> impl Iterator<Item = &str> {
        let found = match phase {
            None => self.document.phases.first(),
            Some(name) => self.phase(name),
        };
        let after = found.map_or(&[][..], |phase| &phase.after);
        after.iter().map(|name| name.get_ref().as_str())
    }

    /// Its parameters.
    pub fn parameters(&self) -> &[ParameterTable] {
        &self.document.parameters
    }

    /// The default values of the parameters at a size in thousandths.
    pub fn values(&self, permille: u64) -> Values {
        let parameters = self.parameters().iter();
        let values = parameters.map(|parameter| {
            let usual = parameter.value().unwrap_or(0);
            let value = parameter.scaled.map_or(usual, |unit| {
                let scaled = usual.saturating_mul(permille) / 1000;
                scaled.next_multiple_of(unit.max(1)).max(1)
            });
            (parameter.name.get_ref().clone(), value)
        });
        values.collect()
    }
}

impl ParameterTable {
    /// The default value; none if it is no number.
    pub fn value(&self) -> Option<u64> {
        match self.default.get_ref() {
            Value::Integer(number) => u64::try_from(*number).ok(),
            Value::String(text) => text.parse::<Bytes>().ok().map(|bytes| bytes.0),
            _ => None,
        }
    }
}

fn check_parameter(parameter: &ParameterTable) -> Result<(), WorkError> {
    let name = parameter.name.get_ref();
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric());
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !is_plain || !starts {
        let message = format!("`{name}` is no name of a parameter");
        let help = "write letters and digits, first a letter";
        return Err(WorkError::new(parameter.name.span(), message, help));
    }
    match parameter.value() {
        Some(_) => Ok(()),
        None => Err(WorkError::new(
            parameter.default.span(),
            "the default value is no number",
            "write a whole number, or a size as \"64M\"",
        )),
    }
}
