//! Parses the file of a rerun into a [`Setting`], and checks it against its table.

use super::Setting;
use crate::published::{Published, Table};
use fsdyno_model::Bytes;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

/// An error in the file of a rerun.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum RerunError {
    /// Its file cannot be parsed.
    #[error("the rerun {name} cannot be read: {source}")]
    Text {
        name: &'static str,
        source: toml::de::Error,
    },
    /// It does not match its table.
    #[error("the rerun {name} does not fit its table: {what}")]
    Unsound { name: &'static str, what: String },
}

/// Reads a rerun.
pub(super) fn setting(published: &Published, table: &Table) -> Result<Setting, RerunError> {
    let name = published.name;
    let mut setting: Setting =
        toml::from_str(published.rerun).map_err(|source| RerunError::Text { name, source })?;
    table.name.clone_into(&mut setting.name);
    check(&setting, table).map_err(|what| RerunError::Unsound { name, what })?;
    Ok(setting)
}

/// Checks that the table has everything that the rerun names.
fn check(setting: &Setting, table: &Table) -> Result<(), String> {
    let contender = |label: &String| match table.contender(label) {
        Some(_) => Ok(()),
        None => Err(format!("the table has no contender {label}")),
    };
    let line = |label: &String| match table.line(label) {
        Some(_) => Ok(()),
        None => Err(format!("the table has no line {label}")),
    };
    for one in &setting.left_out {
        contender(&one.contender)?;
    }
    for cause in &setting.causes {
        if let Some(begin) = &cause.conclusion {
            let conclusions = table.conclusions.iter();
            let matching = conclusions.filter(|one| one.text.starts_with(begin));
            let matching = matching.count();
            if matching != 1 {
                return Err(format!("{matching} conclusions begin with: {begin}"));
            }
        } else if cause.contenders.is_empty() || cause.lines.is_empty() {
            return Err(format!("it names no figure of the table: {}", cause.text));
        }
        cause.contenders.iter().try_for_each(contender)?;
        cause.lines.iter().try_for_each(line)?;
        for figure in &cause.figures {
            contender(&figure.contender)?;
            line(&figure.line)?;
        }
    }
    setting
        .ablation
        .iter()
        .try_for_each(|ablation| contender(&ablation.reference))
}

/// A size with its unit.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
    let text = String::deserialize(deserializer)?;
    let size = text.parse();
    size.map_err(|error| D::Error::custom(format!("`{text}` is no size: {error}")))
}
