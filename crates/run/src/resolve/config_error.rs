//! What can be wrong with one word or value of a plan, wherever it was written.

use fsdyno_model::GrammarError;
use fsdyno_model::units::UnitError;
use fsdyno_recipes::{RecipeError, closest_name};

/// What is wrong with one word or value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A name of nothing.
    #[error("`{name}` is no {what} fsdyno knows")]
    Unknown {
        /// What it should name (`suite`, `dataset`).
        what: &'static str,
        /// What was written.
        name: String,
        /// Names near to it.
        nearest: Vec<String>,
        /// All names there are.
        known: Vec<String>,
    },
    /// A contender that cannot be.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// A contender that cannot be read.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    /// A quantity that cannot be read.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Anything else.
    #[error("{message}")]
    Wrong {
        /// What is wrong.
        message: String,
        /// The way out, where it is not in the message.
        help: Option<String>,
    },
}

impl ConfigError {
    /// A name of nothing, with those near to it.
    pub(crate) fn unknown<'a>(
        what: &'static str,
        name: &str,
        known: impl Iterator<Item = &'a str> + Clone,
    ) -> Self {
        Self::Unknown {
            what,
            name: name.to_owned(),
            nearest: closest_name(name, known.clone()),
            known: known.map(str::to_owned).collect(),
        }
    }

    /// With names near to a part of what was written, where there was none before.
    pub(super) fn or_near(mut self, part: &str, names: &[&str]) -> Self {
        if let Self::Unknown { nearest: near, .. } = &mut self
            && near.is_empty()
        {
            *near = closest_name(part, names.iter().copied());
        }
        self
    }

    /// A complaint in words.
    pub(crate) fn wrong(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Wrong {
            message: message.into(),
            help: Some(help.into()),
        }
    }

    /// The way out, in one line.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Unknown { nearest, known, .. } if nearest.is_empty() => {
                Some(format!("there are {}", known.join(", ")))
            }
            Self::Unknown { nearest, .. } => Some(format!("did you mean {}?", nearest.join(", "))),
            Self::Wrong { help, .. } => help.clone(),
            Self::Recipe(_) | Self::Grammar(_) | Self::Unit(_) => None,
        }
    }
}
