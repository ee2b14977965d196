//! Errors of a single word or value of a plan, from any source.

use fsdyno_model::GrammarError;
use fsdyno_model::closest_name;
use fsdyno_model::units::UnitError;
use fsdyno_recipes::RecipeError;

/// An error of a single word or value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A name that does not exist.
    #[error("`{name}` is no {what} fsdyno knows")]
    Unknown {
        /// The kind of name (`suite`, `dataset`).
        what: &'static str,
        name: String,
        nearest: Vec<String>,
        known: Vec<String>,
    },
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// A contender that cannot be parsed.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    /// A quantity that cannot be parsed.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Anything else.
    #[error("{message}")]
    Wrong {
        message: String,
        /// The remedy, if it is not in the message.
        help: Option<String>,
    },
}

impl ConfigError {
    /// The error of a name that does not exist, with similar names.
    pub fn unknown<'a>(
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

    /// Adds names similar to a part of the name, if there are none yet.
    pub(super) fn or_near(mut self, part: &str, names: &[&str]) -> Self {
        if let Self::Unknown { nearest: near, .. } = &mut self
            && near.is_empty()
        {
            *near = closest_name(part, names.iter().copied());
        }
        self
    }

    /// An error with a message and a remedy.
    pub(crate) fn wrong(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Wrong {
            message: message.into(),
            help: Some(help.into()),
        }
    }

    /// The remedy on one line.
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
