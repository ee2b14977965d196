//! What runs the kernel of a guest: User-mode Linux or QEMU, and their differences.

use super::qemu::Qemu;
use super::running::{Start, Tie};
use super::uml::{GuestError, Setting, Uml};
use fsdyno_model::{KernelChoice, LabChoice};
use std::path::{Path, PathBuf};

/// The disks are named by the letters `a` to `p`.
pub const MOST_DISKS: usize = 16;

/// The environment variable of a guest on QEMU.
pub(crate) const MACHINE: &str = "FSDYNO_MACHINE";

/// What a guest can be started on.
#[derive(Debug, Clone)]
pub enum Machine {
    /// User-mode Linux.
    Uml(Uml),
    /// QEMU.
    Qemu(Qemu),
}

impl Machine {
    /// The one of a lab, as it is on this machine; the kernel is that of User-mode Linux.
    pub fn find(lab: &LabChoice, kernel: &KernelChoice) -> Result<Self, GuestError> {
        match lab {
            LabChoice::Qemu => Ok(Self::Qemu(Qemu::find()?)),
            // No other lab has guests.
            LabChoice::Uml | LabChoice::Host | LabChoice::Ssh(_) => {
                Ok(Self::Uml(Uml::find(kernel)?))
            }
        }
    }

    /// What it is, in a few words.
    pub fn about(&self) -> String {
        match self {
            Self::Uml(_) => "User-mode Linux".to_owned(),
            Self::Qemu(qemu) => format!("QEMU {}", qemu.accelerator()),
        }
    }

    /// The program that is its kernel, where it is one.
    pub fn kernel(&self) -> Option<&Path> {
        match self {
            Self::Uml(uml) => Some(&uml.kernel),
            Self::Qemu(_) => None,
        }
    }

    /// Why it is not what it could be, where that is so.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Uml(_) => None,
            Self::Qemu(qemu) => qemu.remark(),
        }
    }

    /// How many times longer than in others everything takes in its guests, at most.
    pub(super) fn slowness(&self) -> u32 {
        match self {
            Self::Uml(_) => 1,
            Self::Qemu(qemu) => qemu.slowness(),
        }
    }

    /// Whether its guests can have model disks; why not.
    pub fn with_model_disks(&self) -> Result<(), GuestError> {
        match self {
            Self::Uml(uml) => uml.with_model_disks(),
            Self::Qemu(_) => Ok(()),
        }
    }

    pub(super) fn command(&self, setting: &Setting<'_>, tie: Tie<'_>) -> Result<Start, GuestError> {
        match self {
            Self::Uml(uml) => uml.start(setting, tie),
            Self::Qemu(qemu) => Ok(qemu.start(setting, tie)?),
        }
    }
}

/// The name of a guest's disk, as the guest sees it.
pub fn disk(lab: &LabChoice, number: usize) -> PathBuf {
    let prefix = match lab {
        LabChoice::Qemu => "vd",
        _ => "ubd",
    };
    // There are at most as many as letters.
    let letter = char::from(b'a' + u8::try_from(number.min(MOST_DISKS - 1)).unwrap_or(0));
    PathBuf::from(format!("/dev/{prefix}{letter}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_as_the_guest_names_them() {
        assert_eq!(disk(&LabChoice::Uml, 1), Path::new("/dev/ubdb"));
        assert_eq!(disk(&LabChoice::Qemu, 0), Path::new("/dev/vda"));
        assert_eq!(disk(&LabChoice::Qemu, 15), Path::new("/dev/vdp"));
    }
}
