//! Errors of impossible contenders, with a remedy.

use std::ops::RangeInclusive;

/// The reason why a contender cannot be made, mounted or trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    #[error("`{name}` is no file system fsdyno knows{}", meant(nearest))]
    UnknownFilesystem { name: String, nearest: Vec<String> },
    #[error(
        "in contender `{contender}`: `{layout}` is no layout; write {}",
        listed(known)
    )]
    UnknownLayout {
        contender: String,
        layout: String,
        known: Vec<String>,
    },
    /// The file system does not support the layout.
    #[error(
        "in contender `{contender}`: {filesystem} has no layout `{layout}`; it has {}",
        listed(supported)
    )]
    UnsupportedLayout {
        contender: String,
        filesystem: &'static str,
        layout: String,
        supported: Vec<String>,
    },
    /// The number of devices is invalid for the layout.
    #[error(
        "in contender `{contender}`: layout `{layout}` is made of {} devices, not {devices}",
        span(range)
    )]
    DeviceCount {
        contender: String,
        layout: &'static str,
        devices: u32,
        range: RangeInclusive<u32>,
    },
    /// Options for a program that does not run.
    #[error(
        "in contender `{contender}`: {filesystem} takes no {what} options; nothing is {done} for it"
    )]
    NoSuchStage {
        contender: String,
        filesystem: &'static str,
        what: &'static str,
        done: &'static str,
    },
    /// A superfluous or missing directory.
    #[error("in contender `{contender}`: {why}")]
    Directory { contender: String, why: String },
    /// A mkfs word that could reach a device or file outside the device guard.
    #[error("in contender `{contender}`: mkfs option `{word}` is refused: {why}")]
    MkfsWord {
        contender: String,
        word: String,
        why: String,
    },
    /// A mount option that does something other than mount the device.
    #[error("in contender `{contender}`: mount option `{option}` is refused: {why}")]
    MountWord {
        contender: String,
        option: String,
        why: String,
    },
    /// An unknown option that is similar to a known one.
    #[error(
        "in contender `{contender}`: `{option}` is no mount option fsdyno knows for {filesystem}{} \
         (--unchecked-options passes it to the kernel as it is)",
        meant(nearest)
    )]
    OptionTypo {
        contender: String,
        filesystem: &'static str,
        option: String,
        nearest: Vec<String>,
    },
    /// A mistyped file system name in the place of an option.
    #[error(
        "in contender `{contender}`: `{option}` is neither a file system nor a mount option of \
         {filesystem}{} (--unchecked-options passes it to the kernel as it is)",
        meant(nearest)
    )]
    FilesystemTypo {
        contender: String,
        filesystem: &'static str,
        option: String,
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
