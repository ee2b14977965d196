//! Contenders that cannot be: what is wrong with them, and the way out.

use std::ops::RangeInclusive;

/// Why a contender cannot be made, mounted or trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// No recipe has that name.
    #[error("`{name}` is no file system fsdyno knows{}", meant(nearest))]
    UnknownFilesystem {
        /// What was typed.
        name: String,
        /// Names near to it.
        nearest: Vec<String>,
    },
    /// No layout has that name.
    #[error(
        "in contender `{contender}`: `{layout}` is no layout{}",
        meant(nearest)
    )]
    UnknownLayout {
        /// The label of the contender.
        contender: String,
        /// What was typed.
        layout: String,
        /// Names near to it.
        nearest: Vec<String>,
    },
    /// The file system cannot be laid out so.
    #[error(
        "in contender `{contender}`: {filesystem} has no layout `{layout}`; it has {}",
        listed(supported)
    )]
    UnsupportedLayout {
        /// The label of the contender.
        contender: String,
        /// Its file system.
        filesystem: &'static str,
        /// The layout asked for.
        layout: String,
        /// The layouts it has.
        supported: Vec<String>,
    },
    /// The layout is not made of so many devices.
    #[error(
        "in contender `{contender}`: layout `{layout}` is made of {} devices, not {devices}",
        span(range)
    )]
    DeviceCount {
        /// The label of the contender.
        contender: String,
        /// The layout.
        layout: &'static str,
        /// How many devices were asked for.
        devices: u32,
        /// How many it can have.
        range: RangeInclusive<u32>,
    },
    /// Options for a program that does not run.
    #[error(
        "in contender `{contender}`: {filesystem} takes no {what} options; nothing is {done} for it"
    )]
    NoSuchStage {
        /// The label of the contender.
        contender: String,
        /// Its file system.
        filesystem: &'static str,
        /// `mkfs` or `mount`.
        what: &'static str,
        /// `made` or `mounted`.
        done: &'static str,
    },
    /// A directory where one is not used, or none where it is needed.
    #[error("in contender `{contender}`: {why}")]
    Directory {
        /// The label of the contender.
        contender: String,
        /// What is wrong, and the way out.
        why: String,
    },
    /// A word for mkfs that could reach what the device guard has not passed.
    #[error("in contender `{contender}`: mkfs option `{word}` is refused: {why}")]
    MkfsWord {
        /// The label of the contender.
        contender: String,
        /// The word.
        word: String,
        /// Why.
        why: String,
    },
    /// A mount option that would do something else than to mount the device.
    #[error("in contender `{contender}`: mount option `{option}` is refused: {why}")]
    MountWord {
        /// The label of the contender.
        contender: String,
        /// The option.
        option: String,
        /// Why.
        why: String,
    },
    /// An option that is unknown, and near to a known one.
    #[error(
        "in contender `{contender}`: `{option}` is no mount option fsdyno knows for {filesystem}{} \
         (--unchecked-options passes it to the kernel as it is)",
        meant(nearest)
    )]
    OptionTypo {
        /// The label of the contender.
        contender: String,
        /// Its file system.
        filesystem: &'static str,
        /// The key of the option.
        option: String,
        /// Known keys near to it.
        nearest: Vec<String>,
    },
    /// The name of a file system, mistyped, where an option stands.
    #[error(
        "in contender `{contender}`: `{option}` is neither a file system nor a mount option of \
         {filesystem}{} (--unchecked-options passes it to the kernel as it is)",
        meant(nearest)
    )]
    FilesystemTypo {
        /// The label of the contender.
        contender: String,
        /// Its file system.
        filesystem: &'static str,
        /// What was typed.
        option: String,
        /// File systems near to it.
        nearest: Vec<String>,
    },
}

/// `; did you mean a, b or c?`, or nothing.
fn meant(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!("; did you mean {}?", listed(names))
}

/// `a`, `b` or `c`, quoted.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => "none".to_owned(),
    }
}

/// `2 to 16`, or `1`.
fn span(range: &RangeInclusive<u32>) -> String {
    if range.start() == range.end() {
        return range.start().to_string();
    }
    format!("{} to {}", range.start(), range.end())
}
