//! Errors of impossible contenders, with a remedy.

use std::ops::RangeInclusive;

/// The reason why a contender cannot be made, mounted or trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The file system is unknown.
    #[error("`{name}` is no file system fsdyno knows{}", meant(nearest))]
    UnknownFilesystem {
        /// The given name.
        name: String,
        /// Similar names.
        nearest: Vec<String>,
    },
    /// The layout is unknown.
    #[error(
        "in contender `{contender}`: `{layout}` is no layout{}",
        meant(nearest)
    )]
    UnknownLayout {
        /// Label of the contender.
        contender: String,
        /// The given name.
        layout: String,
        /// Similar names.
        nearest: Vec<String>,
    },
    /// The file system does not support the layout.
    #[error(
        "in contender `{contender}`: {filesystem} has no layout `{layout}`; it has {}",
        listed(supported)
    )]
    UnsupportedLayout {
        /// Label of the contender.
        contender: String,
        /// File system.
        filesystem: &'static str,
        /// The requested layout.
        layout: String,
        /// Layouts of the file system.
        supported: Vec<String>,
    },
    /// The number of devices is invalid for the layout.
    #[error(
        "in contender `{contender}`: layout `{layout}` is made of {} devices, not {devices}",
        span(range)
    )]
    DeviceCount {
        /// Label of the contender.
        contender: String,
        /// The layout.
        layout: &'static str,
        /// Requested number of devices.
        devices: u32,
        /// Permitted numbers of devices.
        range: RangeInclusive<u32>,
    },
    /// Options for a program that does not run.
    #[error(
        "in contender `{contender}`: {filesystem} takes no {what} options; nothing is {done} for it"
    )]
    NoSuchStage {
        /// Label of the contender.
        contender: String,
        /// File system.
        filesystem: &'static str,
        /// `mkfs` or `mount`.
        what: &'static str,
        /// `made` or `mounted`.
        done: &'static str,
    },
    /// A superfluous or missing directory.
    #[error("in contender `{contender}`: {why}")]
    Directory {
        /// Label of the contender.
        contender: String,
        /// The error and its remedy.
        why: String,
    },
    /// A mkfs word that could reach a device or file outside the device guard.
    #[error("in contender `{contender}`: mkfs option `{word}` is refused: {why}")]
    MkfsWord {
        /// Label of the contender.
        contender: String,
        /// The word.
        word: String,
        /// The reason.
        why: String,
    },
    /// A mount option that does something other than mount the device.
    #[error("in contender `{contender}`: mount option `{option}` is refused: {why}")]
    MountWord {
        /// Label of the contender.
        contender: String,
        /// The option.
        option: String,
        /// The reason.
        why: String,
    },
    /// An unknown option that is similar to a known one.
    #[error(
        "in contender `{contender}`: `{option}` is no mount option fsdyno knows for {filesystem}{} \
         (--unchecked-options passes it to the kernel as it is)",
        meant(nearest)
    )]
    OptionTypo {
        /// Label of the contender.
        contender: String,
        /// File system.
        filesystem: &'static str,
        /// Key of the option.
        option: String,
        /// Similar known keys.
        nearest: Vec<String>,
    },
    /// A mistyped file system name in the place of an option.
    #[error(
        "in contender `{contender}`: `{option}` is neither a file system nor a mount option of \
         {filesystem}{} (--unchecked-options passes it to the kernel as it is)",
        meant(nearest)
    )]
    FilesystemTypo {
        /// Label of the contender.
        contender: String,
        /// File system.
        filesystem: &'static str,
        /// The given word.
        option: String,
        /// Similar file system names.
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
