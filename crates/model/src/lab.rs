//! Labs: the kernel of this machine, a guest with its own kernel, or another machine.

use crate::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A lab. As text, it is its name; another machine is named after it: `ssh:USER@HOST`.
#[derive(
    Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, JsonSchema, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub enum LabChoice {
    /// This machine and its kernel.
    #[default]
    Host,
    /// A guest of User-mode Linux: a kernel that runs as a program, without root.
    Uml,
    /// A guest of QEMU: a whole machine, with the kernel of a distribution.
    Qemu,
    /// A virtual machine that boots an image of the user, with its own system and programs.
    Vm,
    /// Another machine: what ssh(1) takes as its destination.
    Ssh(String),
}

/// A text that names no lab.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no lab")]
pub struct NoLab(pub String);

impl LabChoice {
    /// The forms of all labs, as typed.
    pub const FORMS: [&'static str; 5] = ["host", "uml", "qemu", "vm", "ssh:USER@HOST"];

    /// A description of one line.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Host => "this machine and its kernel",
            Self::Uml => "User-mode Linux guest: own kernel, no root",
            Self::Qemu => "QEMU guest: a virtual machine with a distribution kernel",
            Self::Vm => "virtual machine of an image file (--image), with its own system: BSD",
            Self::Ssh(_) => "another machine over ssh, with its own shell and programs",
        }
    }

    /// Whether it is the host lab, which is the default.
    pub fn is_host(&self) -> bool {
        *self == Self::Host
    }

    /// Whether its cells are run by the shell and the programs of another system, with its own paths
    /// and devices.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Ssh(_) | Self::Vm)
    }

    /// Whether each cell runs in a separate guest with its own kernel.
    pub fn is_guest(&self) -> bool {
        matches!(self, Self::Uml | Self::Qemu)
    }
}

impl FromStr for LabChoice {
    type Err = NoLab;

    fn from_str(text: &str) -> Result<Self, NoLab> {
        match text {
            "host" => Ok(Self::Host),
            "uml" => Ok(Self::Uml),
            "qemu" => Ok(Self::Qemu),
            "vm" => Ok(Self::Vm),
            _ => {
                let destination = text.strip_prefix("ssh:").unwrap_or_default();
                // A destination that begins with a dash would be an option of ssh.
                let sound = !destination.is_empty()
                    && !destination.starts_with('-')
                    && !destination.contains(|c: char| c == '/' || c.is_whitespace());
                sound
                    .then(|| Self::Ssh(destination.to_owned()))
                    .ok_or_else(|| NoLab(text.to_owned()))
            }
        }
    }
}

impl TryFrom<String> for LabChoice {
    type Error = NoLab;

    fn try_from(text: String) -> Result<Self, NoLab> {
        text.parse()
    }
}

impl From<LabChoice> for String {
    fn from(lab: LabChoice) -> Self {
        lab.to_string()
    }
}

impl fmt::Display for LabChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.pad("host"),
            Self::Uml => f.pad("uml"),
            Self::Qemu => f.pad("qemu"),
            Self::Vm => f.pad("vm"),
            Self::Ssh(destination) => f.pad(&format!("ssh:{destination}")),
        }
    }
}

/// The kernel of guests.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KernelChoice {
    /// The kernel of the distribution's package.
    Packaged,
    /// The lab kernel.
    Lab,
    /// A kernel that the user names.
    File(PathBuf),
}

impl KernelChoice {
    /// Parses a kernel: a name, or the path of a program, which contains a slash.
    pub fn from_text(text: &str) -> Option<Self> {
        match text {
            "packaged" => Some(Self::Packaged),
            "lab" => Some(Self::Lab),
            path if path.contains('/') => Some(Self::File(PathBuf::from(path))),
            _ => None,
        }
    }
}

impl fmt::Display for KernelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packaged => f.pad("packaged"),
            Self::Lab => f.pad("lab"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The size of a guest, and its kernel.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct GuestSize {
    /// Its memory.
    pub memory: Bytes,
    /// Its kernel; none in runs of versions without a choice, which used that of the package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelChoice>,
    /// Its number of processors; none if it was not chosen: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<u32>,
    /// The image that a virtual machine boots; none without such a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<PathBuf>,
}

impl GuestSize {
    /// Its kernel.
    pub fn kernel(&self) -> &KernelChoice {
        self.kernel.as_ref().unwrap_or(&KernelChoice::Packaged)
    }

    /// The minimum memory in which a current kernel and tools start.
    pub const MIN_MEMORY: Bytes = Bytes(64 << 20);

    /// The default memory of a virtual machine whose image has a system of its own.
    pub const OF_SYSTEM: Bytes = Bytes(1 << 30);
}

impl Default for GuestSize {
    fn default() -> Self {
        Self {
            memory: Bytes(512 << 20),
            kernel: None,
            processors: None,
            image: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_is_parsed_and_an_ssh_option_is_refused() {
        for text in [
            "host",
            "uml",
            "qemu",
            "vm",
            "ssh:root@bsd",
            "ssh:bsd",
            "ssh:me@10.0.0.1",
        ] {
            assert_eq!(text.parse::<LabChoice>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "kvm",
            "ssh:",
            "ssh",
            "ssh:-oProxyCommand=x",
            "ssh:a b",
            "ssh:a/b",
        ] {
            assert_eq!(text.parse::<LabChoice>(), Err(NoLab(text.to_owned())));
        }
    }

    #[test]
    fn a_lab_is_stored_by_its_text() {
        let stored = serde_json::to_string(&LabChoice::Uml).unwrap();
        assert_eq!(stored, r#""uml""#);
        assert_eq!(
            serde_json::from_str::<LabChoice>(&stored).unwrap(),
            LabChoice::Uml
        );
    }
}
