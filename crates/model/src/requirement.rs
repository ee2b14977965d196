//! Requirements of fsdyno as values: the host probes them, `doctor` and `list` print them, and a
//! cell whose requirements are missing is skipped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A requirement.
#[derive(Debug, Clone, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct Requirement {
    /// The requirement itself.
    pub need: Need,
    /// The function that needs it, in a few words (`making xfs`).
    pub unlocks: String,
}

/// The kinds of things that can be needed.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Root, or the capabilities to mount.
    Root,
    /// A program on the path, and the Debian package that holds it.
    Program {
        /// Its name.
        name: String,
        /// The package.
        package: String,
    },
    /// A file system in the running kernel, built in or as a module.
    KernelFilesystem(String),
    /// A kernel module, built in or loadable.
    KernelModule(String),
    /// An option the kernel has to be built with.
    KernelOption {
        /// Its name, without `CONFIG_`.
        option: String,
        /// The effect of its absence (`f in this kernel only reads`).
        without: String,
    },
    /// Loop devices (`/dev/loop-control`).
    LoopDevices,
    /// One of these.
    AnyOf(Vec<Self>),
    /// The kernel of a BSD.
    BsdKernel,
}

/// Whether a requirement is met on this machine.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Availability {
    /// It is met.
    Available,
    /// It is not met.
    Missing {
        /// The missing requirement.
        reason: String,
        /// How to get it.
        remedy: String,
    },
}

impl Availability {
    /// The reason and the remedy of what is missing; `None` if nothing is.
    pub fn explained(&self) -> Option<String> {
        match self {
            Self::Available => None,
            Self::Missing { reason, remedy } => Some(format!("{reason}; {remedy}")),
        }
    }
}

impl Need {
    /// A short, unique name.
    pub fn name(&self) -> String {
        match self {
            Self::Root => "root".to_owned(),
            Self::Program { name, .. } => format!("program {name}"),
            Self::KernelFilesystem(name) => format!("kernel file system {name}"),
            Self::KernelModule(name) => format!("kernel module {name}"),
            Self::KernelOption { option, .. } => format!("kernel option {option}"),
            Self::LoopDevices => "loop devices".to_owned(),
            Self::AnyOf(needs) => joined(needs, Self::name),
            Self::BsdKernel => "BSD kernel".to_owned(),
        }
    }

    /// How to install or enable it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Root => "run as root (sudo), in guests (--lab uml), or compare directories with --on dir:PATH".to_owned(),
            Self::Program { package, .. } => format!("apt-get install {package}"),
            Self::KernelFilesystem(name) | Self::KernelModule(name) => {
                format!("modprobe {name}, or another kernel (--lab)")
            }
            Self::KernelOption { .. } => {
                "a kernel that has it: `fsdyno lab setup` builds one for guests (--lab uml)".to_owned()
            }
            Self::LoopDevices => {
                "modprobe loop, or name a device with --on /dev/..., or a directory with --on dir:PATH"
                    .to_owned()
            }
            Self::AnyOf(needs) => joined(needs, Self::remedy),
            Self::BsdKernel => {
                "run it on a machine that has one, by its own programs: --lab ssh:USER@HOST"
                    .to_owned()
            }
        }
    }
}

/// The text of each, with `or` between them.
fn joined(needs: &[Need], text: impl Fn(&Need) -> String) -> String {
    let texts: Vec<String> = needs.iter().map(text).collect();
    texts.join(" or ")
}

impl Requirement {
    /// A requirement with the function that needs it.
    pub fn new(need: Need, unlocks: impl Into<String>) -> Self {
        Self {
            need,
            unlocks: unlocks.into(),
        }
    }
}
