//! What runs the kernel of a guest: User-mode Linux or QEMU, and their differences.

use super::kernels::{self, KernelError};
use super::qemu::{Qemu, QemuError};
use super::start::{Attachment, Setting, Start};
use super::uml::{Uml, UmlError};
use fsdyno_host::journal::JournalError;
use fsdyno_model::{KernelChoice, LabChoice};
use std::io;
use std::path::Path;

/// Why a guest could not be started.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum GuestError {
    /// There is no such kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The kernel of User-mode Linux cannot be started.
    #[error(transparent)]
    Uml(#[from] UmlError),
    /// There is no such guest of QEMU.
    #[error(transparent)]
    Qemu(#[from] QemuError),
    /// Its kernel does not support virtual time.
    #[error(
        "{kernel} cannot live in virtual time: {why}; the lab kernel can (fsdyno lab setup, --guest-kernel lab)"
    )]
    NoTimeTravel { kernel: String, why: String },
    /// A resource of the host is not available.
    #[error("cannot {act} for a guest: {cause}")]
    Host {
        act: String,
        #[source]
        cause: io::Error,
    },
    /// It could not be written down first.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl GuestError {
    pub(super) fn host(act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let act = act.into();
        |cause| Self::Host { act, cause }
    }
}

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
                let (program, verified) = kernels::program(kernel)?;
                Ok(Self::Uml(Uml::at(program, verified)?))
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
            Self::Uml(uml) => Ok(uml.with_model_disks()?),
            Self::Qemu(_) => Ok(()),
        }
    }

    pub(super) fn command(
        &self,
        setting: &Setting<'_>,
        attachment: Attachment<'_>,
    ) -> Result<Start, GuestError> {
        match self {
            Self::Uml(uml) => Ok(uml.start(setting, attachment)?),
            Self::Qemu(qemu) => Ok(qemu.start(setting, attachment)?),
        }
    }
}
