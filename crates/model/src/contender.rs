//! A contender: a file system with its mkfs options, mount options and layout.
//!
//! The short form:
//!
//! ```text
//! NAME [ "[" MKFS OPTIONS "]" ] [ "@" LAYOUT [ DEVICES ] ] [ ":" MOUNT OPTIONS ]
//!
//! ext4                         its defaults
//! ext4:noatime,data=writeback  mount options, separated by commas
//! ext3[-O ^dir_index]          mkfs options, separated by blanks
//! btrfs@pool2                  a layout, here a pool of two devices
//! btrfs@pool2:compress=zstd    all together, in this order
//! dir:/mnt/nfs                 an existing directory, nothing made or mounted
//! ```
//!
//! [`ContenderSpec`](crate::typed::ContenderSpec) parses lists of contenders, and a lab before
//! each.

use crate::lab::{KernelChoice, LabChoice};
use crate::state::InitialState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A contender.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Contender {
    /// Its label in tables: short, and unique in its plan.
    pub label: String,
    /// The name of its recipe.
    pub filesystem: String,
    /// Options for mkfs, one argument each.
    pub mkfs: Vec<String>,
    /// Mount options, one each (`noatime`, `data=writeback`).
    pub mount: Vec<String>,
    /// Its layout of devices.
    pub layout: LayoutChoice,
    /// The existing directory, for recipes that create no file system.
    pub directory: Option<PathBuf>,
    /// The state in which its workload starts: fresh, filled or aged.
    #[serde(default, skip_serializing_if = "InitialState::is_fresh")]
    pub state: InitialState,
    /// By how many thousandths its phases are lengthened, to test whether that is detected. Only
    /// `selftest` uses it.
    #[serde(default, skip_serializing_if = "no_handicap")]
    pub handicap_permille: u32,
    /// The lab in which its cells run.
    #[serde(default, skip_serializing_if = "LabChoice::is_host")]
    pub lab: LabChoice,
    /// The kernel of its guests, where the contenders of a plan have several; none if it is that of
    /// the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<ContenderKernel>,
    /// The safety that its options give up for speed, in a few words; none if they give up none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gives_up: Option<String>,
}

/// A kernel as a property of a contender: `ext4@v6.12`.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct ContenderKernel {
    /// Its name, unique in the plan: the end of the labels of its contenders.
    pub name: String,
    /// Its program.
    pub program: KernelChoice,
    /// The sources from which it is built if it does not exist: `tree:DIR` or `git:DIR#COMMIT`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

impl ContenderKernel {
    /// The commit that it is built from; none if it is unknown.
    pub fn commit(&self) -> Option<&str> {
        let source = self.source.as_deref()?.strip_prefix("git:")?;
        Some(source.rsplit_once('#')?.1)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn no_handicap(permille: &u32) -> bool {
    *permille == 0
}

/// A layout and its number of devices.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LayoutChoice {
    /// The name of the layout.
    pub name: String,
    /// How many devices it is made of.
    pub devices: u32,
}

impl Default for LayoutChoice {
    fn default() -> Self {
        Self {
            name: "single".to_owned(),
            devices: 1,
        }
    }
}

/// How a file system becomes available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilesystemKind {
    /// It is created on block devices and mounted.
    Block,
    /// It is mounted without a device: its data is in memory.
    Memory,
    /// It exists already: a directory of the user.
    Directory,
}

/// A contender that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum GrammarError {
    /// No recipe has that name.
    #[error("`{name}` is no file system fsdyno knows")]
    UnknownFilesystem { name: String },
    /// A bracket, a layout or an option is malformed.
    #[error("in contender `{text}`: {what}")]
    Malformed { text: String, what: String },
    /// Nothing was named.
    #[error("no contender named; write for example --fs ext4,xfs")]
    Empty,
}

impl Contender {
    /// Parses one contender in short form.
    pub fn parse(
        text: &str,
        kind_of: &dyn Fn(&str) -> Option<FilesystemKind>,
    ) -> Result<Self, GrammarError> {
        let malformed = |what: &str| GrammarError::Malformed {
            text: text.to_owned(),
            what: what.to_owned(),
        };
        let name_end = text.find(['[', '@', ':']).unwrap_or(text.len());
        let (name, mut rest) = text.split_at(name_end);
        let kind = kind_of(name).ok_or_else(|| GrammarError::UnknownFilesystem {
            name: name.to_owned(),
        })?;
        let mut contender = Self::plain(name);
        if let Some(inside) = rest.strip_prefix('[') {
            let end = inside
                .find(']')
                .ok_or_else(|| malformed("`[` has no matching `]`"))?;
            contender.mkfs = inside[..end]
                .split_whitespace()
                .map(str::to_owned)
                .collect();
            rest = &inside[end + 1..];
        }
        if let Some(after) = rest.strip_prefix('@') {
            let end = after.find(':').unwrap_or(after.len());
            contender.layout = parse_layout(&after[..end]).ok_or_else(|| {
                malformed("write a layout like @pool2 or @raid0x2: its name and how many devices")
            })?;
            rest = &after[end..];
        }
        if let Some(options) = rest.strip_prefix(':') {
            if kind == FilesystemKind::Directory {
                contender.directory = Some(PathBuf::from(options));
            } else {
                contender.mount = options.split(',').map(str::to_owned).collect();
                if contender.mount.iter().any(String::is_empty) {
                    return Err(malformed("a mount option is empty"));
                }
            }
        } else if !rest.is_empty() {
            return Err(malformed(
                "the order is NAME[MKFS OPTIONS]@LAYOUT:MOUNT OPTIONS",
            ));
        }
        if kind == FilesystemKind::Directory
            && contender
                .directory
                .as_ref()
                .is_none_or(|path| path.as_os_str().is_empty())
        {
            return Err(malformed("name the directory, for example dir:/mnt/data"));
        }
        contender.label = contender.short_form();
        Ok(contender)
    }

    /// A file system with default options.
    pub fn plain(filesystem: &str) -> Self {
        Self {
            label: filesystem.to_owned(),
            filesystem: filesystem.to_owned(),
            mkfs: Vec::new(),
            mount: Vec::new(),
            layout: LayoutChoice::default(),
            directory: None,
            state: InitialState::default(),
            handicap_permille: 0,
            lab: LabChoice::default(),
            kernel: None,
            gives_up: None,
        }
    }

    /// The same on this kernel, whose name its label then ends with.
    #[must_use]
    pub fn on_kernel(self, kernel: ContenderKernel) -> Self {
        Self {
            label: format!("{}@{}", self.label, kernel.name),
            kernel: Some(kernel),
            ..self
        }
    }

    /// The same without a kernel of its own: the contender that several kernels have.
    #[must_use]
    pub fn on_any_kernel(mut self) -> Self {
        if let Some(kernel) = self.kernel.take()
            && let Some(label) = self.label.strip_suffix(&kernel.name)
            && let Some(label) = label.strip_suffix('@')
        {
            self.label = label.to_owned();
        }
        self
    }

    /// The short form, which [`Contender::parse`] reads back to the same value.
    pub fn short_form(&self) -> String {
        let mut text = self.filesystem.clone();
        if !self.mkfs.is_empty() {
            text = format!("{text}[{}]", self.mkfs.join(" "));
        }
        if self.layout != LayoutChoice::default() {
            text = format!("{text}@{}", self.layout);
        }
        if let Some(directory) = &self.directory {
            text = format!("{text}:{}", directory.display());
        } else if !self.mount.is_empty() {
            text = format!("{text}:{}", self.mount.join(","));
        }
        text
    }
}

impl fmt::Display for LayoutChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, devices) = (&self.name, self.devices);
        let ends_in_digit = name.ends_with(|c: char| c.is_ascii_digit());
        // An `x` separates a count that would be parsed as a part of the name, or the reverse:
        // `raid0x2`, `raid1x1`.
        match devices {
            1 if !ends_in_digit => f.write_str(name),
            _ if ends_in_digit || name.ends_with('x') => write!(f, "{name}x{devices}"),
            _ => write!(f, "{name}{devices}"),
        }
    }
}

/// Parses `single`, `pool2`, or `raid0x2`: a name that ends in a digit has an `x` before its count.
fn parse_layout(text: &str) -> Option<LayoutChoice> {
    let (name, digits) = match text.rsplit_once('x') {
        Some((name, digits))
            if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) =>
        {
            (name, digits)
        }
        _ => {
            let end = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
            text.split_at(end)
        }
    };
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return None;
    }
    let devices = if digits.is_empty() {
        1
    } else {
        digits.parse().ok().filter(|n| *n > 0)?
    };
    Some(LayoutChoice {
        name: name.to_owned(),
        devices,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The kinds of some file systems.
    pub(crate) fn kind_of(name: &str) -> Option<FilesystemKind> {
        match name {
            "ext3" | "ext4" | "xfs" | "btrfs" => Some(FilesystemKind::Block),
            "tmpfs" => Some(FilesystemKind::Memory),
            "dir" => Some(FilesystemKind::Directory),
            _ => None,
        }
    }

    #[test]
    fn every_part_of_the_short_form_is_parsed() {
        let all = Contender::parse("btrfs[-n 16k]@pool2:noatime,compress=zstd", &kind_of).unwrap();
        assert_eq!(all.filesystem, "btrfs");
        assert_eq!(all.mkfs, ["-n", "16k"]);
        assert_eq!(
            all.layout,
            LayoutChoice {
                name: "pool".into(),
                devices: 2
            }
        );
        assert_eq!(all.mount, ["noatime", "compress=zstd"]);
    }

    #[test]
    fn every_layout_round_trips_through_its_label() {
        for text in [
            "ext4@pool2",
            "ext4@pool",
            "ext4@raid0x2",
            "ext4@raid1x1",
            "ext4@boxx2",
            "ext4@box",
        ] {
            let contender = Contender::parse(text, &kind_of).unwrap();
            assert_eq!(contender.label, text);
            let again = Contender::parse(&contender.label, &kind_of);
            assert_eq!(again, Ok(contender));
        }
    }

    #[test]
    fn errors_name_the_malformed_part() {
        for (text, expected) in [
            ("xsf", "`xsf` is no file system"),
            ("ext3[-O x", "no matching `]`"),
            ("ext4@", "write a layout like @pool2"),
            ("ext4@pool0", "write a layout like @pool2"),
            ("ext4:noatime,,sync", "option is empty"),
            ("dir", "name the directory"),
            ("dir:", "name the directory"),
        ] {
            let error = Contender::parse(text, &kind_of)
                .expect_err(text)
                .to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_fresh_contender_is_stored_without_a_state() {
        let fresh = Contender::plain("xfs");
        let text = serde_json::to_string(&fresh).unwrap();
        assert!(!text.contains("state"), "{text}");
        assert_eq!(serde_json::from_str::<Contender>(&text).unwrap(), fresh);
    }

    #[test]
    fn a_kernel_is_the_end_of_the_label_and_gives_its_commit() {
        let kernel = |source: Option<&str>| ContenderKernel {
            name: "v6.12".into(),
            program: KernelChoice::Lab,
            source: source.map(str::to_owned),
        };
        let plain = Contender::plain("xfs");
        let on = plain.clone().on_kernel(kernel(Some("git:/srv/li#nux#abc")));
        assert_eq!(on.label, "xfs@v6.12");
        let commit = on.kernel.as_ref().and_then(ContenderKernel::commit);
        assert_eq!(commit, Some("abc"));
        assert_eq!(on.on_any_kernel(), plain);
        for source in [None, Some("tree:/srv/linux")] {
            assert_eq!(kernel(source).commit(), None);
        }
    }

    proptest! {
        #[test]
        fn the_short_form_reads_back_to_the_same_contender(
            name in prop::sample::select(vec!["ext4", "xfs", "btrfs"]),
            mkfs in prop::collection::vec("-?[a-zA-Z0-9^=_]{1,8}", 0..3),
            mount in prop::collection::vec("[a-z]{1,8}(=[a-z0-9]{1,4})?", 0..3),
            devices in 1_u32..9,
        ) {
            let layout = if devices == 1 {
                LayoutChoice::default()
            } else {
                LayoutChoice { name: "pool".into(), devices }
            };
            let mut contender = Contender {
                label: String::new(), filesystem: name.into(), mkfs, mount, layout, directory: None, state: InitialState::default(), handicap_permille: 0, lab: LabChoice::default(), kernel: None, gives_up: None,
            };
            contender.label = contender.short_form();
            prop_assert_eq!(Contender::parse(&contender.label, &kind_of).unwrap(), contender);
        }
    }
}
