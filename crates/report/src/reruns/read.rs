//! Parses the file of a rerun into a [`Setting`] with resolved references to its table.

use super::{Ablation, AblationContender, Known, LeftOut, Measure, Rerun, Setting, Shown};
use crate::published::Table;
use fsdyno_model::Bytes;
use serde::Deserialize;

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

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    disk: String,
    cpu: String,
    partition: String,
    memory: String,
    #[serde(default)]
    memory_is_a_guess: bool,
    own_memory: Option<String>,
    contenders: Vec<String>,
    #[serde(default)]
    differs: Vec<String>,
    #[serde(default, rename = "left-out")]
    left_out: Vec<LeftOutText>,
    #[serde(default, rename = "cause")]
    causes: Vec<KnownText>,
    ablation: Option<AblationText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeftOutText {
    contender: String,
    why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnownText {
    /// The first words of the conclusion.
    conclusion: Option<String>,
    #[serde(default)]
    contenders: Vec<String>,
    #[serde(default)]
    lines: Vec<String>,
    text: String,
    figures: Vec<ShownText>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShownText {
    contender: String,
    line: String,
    of: Measure,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AblationText {
    name: String,
    question: String,
    workloads: Vec<String>,
    contenders: Vec<AblationContender>,
    reference: String,
    read: Vec<String>,
}

/// Reads a rerun.
pub(super) fn setting(rerun: &Rerun, table: &Table) -> Result<Setting, RerunError> {
    let name = rerun.name;
    let text: Text =
        toml::from_str(rerun.text).map_err(|source| RerunError::Text { name, source })?;
    assemble(text, table).map_err(|what| RerunError::Unsound { name, what })
}

fn assemble(text: Text, table: &Table) -> Result<Setting, String> {
    let left_out = text.left_out.into_iter().map(|one| {
        Ok(LeftOut {
            contender: contender(table, &one.contender)?,
            why: one.why,
        })
    });
    let causes = text.causes.into_iter().map(|one| known(table, one));
    let ablation = text.ablation.map(|one| {
        Ok::<_, String>(Ablation {
            reference: contender(table, &one.reference)?,
            name: one.name,
            question: one.question,
            workloads: one.workloads,
            contenders: one.contenders,
            read: one.read,
        })
    });
    Ok(Setting {
        name: table.name.clone(),
        disk: text.disk,
        cpu: text.cpu,
        partition: size(&text.partition)?,
        memory: size(&text.memory)?,
        memory_known: !text.memory_is_a_guess,
        own_memory: text.own_memory.as_deref().map(size).transpose()?,
        contenders: text.contenders,
        differs: text.differs,
        left_out: left_out.collect::<Result<_, String>>()?,
        causes: causes.collect::<Result<_, String>>()?,
        ablation: ablation.transpose()?,
    })
}

fn size(text: &str) -> Result<Bytes, String> {
    text.parse()
        .map_err(|error| format!("`{text}` is no size: {error}"))
}

fn contender(table: &Table, label: &str) -> Result<usize, String> {
    let place = table.contenders.iter().position(|c| c.label == label);
    place.ok_or_else(|| format!("the table has no contender {label}"))
}

fn line(table: &Table, label: &str) -> Result<usize, String> {
    let place = table.lines.iter().position(|line| line.label == label);
    place.ok_or_else(|| format!("the table has no line {label}"))
}

fn known(table: &Table, text: KnownText) -> Result<Known, String> {
    let conclusion = text.conclusion.map(|begin| {
        let conclusions = table.conclusions.iter().enumerate();
        let matching: Vec<usize> = conclusions
            .filter(|(_, one)| one.text.starts_with(&begin))
            .map(|(place, _)| place)
            .collect();
        match matching[..] {
            [one] => Ok(one),
            _ => Err(format!(
                "{} conclusions begin with: {begin}",
                matching.len()
            )),
        }
    });
    let conclusion = conclusion.transpose()?;
    if conclusion.is_none() && (text.contenders.is_empty() || text.lines.is_empty()) {
        return Err(format!("it names no figure of the table: {}", text.text));
    }
    let named = |labels: &[String], find: fn(&Table, &str) -> Result<usize, String>| {
        let places = labels.iter().map(|label| find(table, label));
        places.collect::<Result<Vec<_>, _>>()
    };
    let figures = text.figures.iter().map(|one| {
        Ok(Shown {
            contender: contender(table, &one.contender)?,
            line: line(table, &one.line)?,
            of: one.of,
        })
    });
    Ok(Known {
        conclusion,
        contenders: named(&text.contenders, contender)?,
        lines: named(&text.lines, line)?,
        figures: figures.collect::<Result<_, String>>()?,
        text: text.text,
    })
}
