//! Phases: their syntax, their labels, and the check of their inputs.

use super::catalogue::{Catalogue, DatasetForm};
use super::config_error::ConfigError;
use super::parameters;
use fsdyno_load::phases::replay;
use fsdyno_model::closest_name;
use fsdyno_model::{CacheState, FigureName, Needs, PhasePlan};
use std::collections::{BTreeMap, HashMap};

/// A parsed phase that may not have a label yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    pub kind: String,
    /// The state of the caches at the start.
    pub cache: CacheState,
    /// The label, if the plan sets one.
    pub label: Option<String>,
    pub pattern: Option<String>,
    /// The parameters of the kind, by name.
    pub parameters: BTreeMap<String, String>,
    /// The figure that it is judged by, if the plan names one.
    pub judge: Option<FigureName>,
}

impl Draft {
    /// Creates a phase from its parts, and checks its kind and pattern.
    pub fn new(
        kind: &str,
        cache: CacheState,
        label: Option<String>,
        pattern: Option<String>,
        parameters: BTreeMap<String, String>,
        catalogue: &Catalogue,
    ) -> Result<Self, ConfigError> {
        let entry = catalogue.kind(kind)?;
        parameters::complete(entry, &parameters)?;
        if let (false, Some(pattern)) = (entry.searches, &pattern) {
            return Err(ConfigError::wrong(
                format!("phase `{kind}` searches for nothing, so it takes no pattern `{pattern}`"),
                "write KIND or KIND CACHE",
            ));
        }
        Ok(Self {
            kind: kind.to_owned(),
            cache,
            label,
            pattern,
            parameters,
            judge: None,
        })
    }

    /// Parses `KIND`, `KIND CACHE` or, if the kind searches, `KIND CACHE PATTERN`.
    pub fn parse(text: &str, catalogue: &Catalogue) -> Result<Self, ConfigError> {
        let (kind, rest) = next_word(text);
        let (cache, pattern) = next_word(rest);
        let cache = match cache {
            "" => CacheState::default(),
            name => cache_state(name)?,
        };
        let pattern = Some(pattern).filter(|p| !p.is_empty()).map(str::to_owned);
        Self::new(kind, cache, None, pattern, BTreeMap::new(), catalogue)
    }
}

/// Splits off the first word and the blanks after it.
fn next_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((word, rest)) => (word, rest.trim_start()),
        None => (text, ""),
    }
}

pub fn cache_state(name: &str) -> Result<CacheState, ConfigError> {
    CacheState::from_name(name).ok_or_else(|| {
        let names = CacheState::ALL.map(CacheState::name);
        ConfigError::unknown("state of the caches", name, names.into_iter())
    })
}

/// Parses a list of phases separated by commas. If no kind of phase (or typo of one) follows a
/// comma, the comma belongs to the pattern before it.
pub fn parse_list(text: &str, catalogue: &Catalogue) -> Result<Vec<Draft>, ConfigError> {
    let mut parts: Vec<String> = Vec::new();
    for part in text.split(',') {
        let (word, _) = next_word(part);
        let names = || catalogue.kinds.iter().map(|kind| kind.name);
        let begins = names().any(|name| name == word) || !closest_name(word, names()).is_empty();
        let patterned = parts
            .last()
            .is_some_and(|before| before.split_whitespace().count() > 2);
        match parts.last_mut() {
            Some(before) if patterned && !begins => {
                before.push(',');
                before.push_str(part);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    parts
        .iter()
        .map(|part| Draft::parse(part, catalogue))
        .collect()
}

pub fn default_for(form: DatasetForm, catalogue: &Catalogue) -> Result<Vec<Draft>, ConfigError> {
    let kinds: &[&str] = match form {
        DatasetForm::Archive => &["untar", "copy", "stat-walk", "grep", "read", "delete"],
        DatasetForm::Tree => &["copy", "stat-walk", "grep", "read", "delete"],
        DatasetForm::File => &["copy", "read", "delete"],
        DatasetForm::Recording => &[replay::KIND.name],
        DatasetForm::Nothing => {
            return Err(ConfigError::wrong(
                "a dataset of no files leaves nothing to be done",
                "name a command with --exec, or a program with --phases",
            ));
        }
    };
    kinds
        .iter()
        .map(|kind| Draft::parse(kind, catalogue))
        .collect()
}

/// Gives every phase a unique label: the kind, or else the kind and the cache state, or else these
/// and a number. The error has the index of the phase.
pub fn labelled(drafts: Vec<Draft>) -> Result<Vec<PhasePlan>, (usize, ConfigError)> {
    let mut of_kind: HashMap<String, usize> = HashMap::new();
    let mut of_pair: HashMap<String, usize> = HashMap::new();
    let pair = |draft: &Draft| format!("{} {}", draft.kind, draft.cache);
    for draft in drafts.iter().filter(|draft| draft.label.is_none()) {
        *of_kind.entry(draft.kind.clone()).or_default() += 1;
        *of_pair.entry(pair(draft)).or_default() += 1;
    }
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut phases: Vec<PhasePlan> = Vec::new();
    for (place, draft) in drafts.into_iter().enumerate() {
        let label = draft.label.clone().unwrap_or_else(|| {
            let pair = pair(&draft);
            if of_kind[&draft.kind] == 1 {
                draft.kind.clone()
            } else if of_pair[&pair] == 1 {
                pair
            } else {
                let number = numbers.entry(pair.clone()).or_default();
                *number += 1;
                format!("{pair} {number}")
            }
        });
        if phases.iter().any(|phase| phase.label == label) {
            let error = ConfigError::wrong(
                format!("two phases are labelled `{label}`"),
                "phases of a workload need different labels: change one of the two",
            );
            return Err((place, error));
        }
        phases.push(PhasePlan {
            label,
            kind: draft.kind,
            cache: draft.cache,
            pattern: draft.pattern,
            parameters: draft.parameters,
            judge: draft.judge,
        });
    }
    Ok(phases)
}

/// Checks that every phase has its input: an archive, or a tree that exists at that point. The
/// error has the index of the phase.
///
/// A dataset in archive form stays an archive if a phase needs one. Otherwise it becomes a tree.
pub fn check_inputs(
    drafts: &[Draft],
    form: DatasetForm,
    catalogue: &Catalogue,
) -> Result<(), (usize, ConfigError)> {
    let mut kinds = Vec::with_capacity(drafts.len());
    for (place, draft) in drafts.iter().enumerate() {
        kinds.push(catalogue.kind(&draft.kind).map_err(|c| (place, c))?);
    }
    let packed =
        form == DatasetForm::Archive && kinds.iter().any(|kind| kind.needs == Needs::Archive);
    let mut trees = u32::from(!packed && form != DatasetForm::Nothing);
    let mut replayed = false;
    for (place, (kind, draft)) in kinds.iter().zip(drafts).enumerate() {
        let name = &kind.name;
        if replay::is_one(name) {
            can_replay(form, replayed).map_err(|error| (place, error))?;
            replayed = true;
        }
        let needs = parameters::needs(kind, &draft.parameters);
        if needs == Needs::Archive && form != DatasetForm::Archive {
            let error = ConfigError::wrong(
                format!("phase `{name}` needs an archive, and the dataset is none"),
                "take a dataset that comes as one (tar:FILE), or leave the phase out",
            );
            return Err((place, error));
        }
        if needs == Needs::Tree && trees == 0 {
            let error = ConfigError::wrong(
                format!("phase `{name}` finds no tree: none is made before it, or it is deleted"),
                "put a phase that makes one (copy, untar) before it, or choose a dataset with --dataset",
            );
            return Err((place, error));
        }
        trees = trees + u32::from(kind.makes_tree) - u32::from(kind.removes_tree);
    }
    Ok(())
}

/// A replay needs the tree of its recording, unchanged.
fn can_replay(form: DatasetForm, replayed: bool) -> Result<(), ConfigError> {
    if form != DatasetForm::Recording {
        return Err(ConfigError::wrong(
            "phase `replay` needs a recording, and the dataset is none",
            "choose one with --workload-trace FILE, or with the dataset trace:FILE",
        ));
    }
    if replayed {
        return Err(ConfigError::wrong(
            "the first `replay` has changed the tree that the second would start from",
            "write a second workload with the same dataset",
        ));
    }
    Ok(())
}
