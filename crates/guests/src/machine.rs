//! The machine of a guest: User-mode Linux or QEMU, and their differences.

use super::kernels::{self, KernelError};
use super::qemu::{Qemu, QemuError};
use super::start::{Attachment, Setting, Start};
use super::uml::{Uml, UmlError};
use fsdyno_host::journal::JournalError;
use fsdyno_model::{KernelChoice, LabChoice};
use std::io;
use std::path::Path;

/// The error of a guest that could not be started.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The kernel does not exist or cannot be used.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The kernel of User-mode Linux cannot be started.
    #[error(transparent)]
    Uml(#[from] UmlError),
    /// QEMU or its kernel is missing.
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
    /// The journal entry could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

impl GuestError {
    pub(super) fn host(act: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let act = act.into();
        |cause| Self::Host { act, cause }
    }
}

/// A machine that can run a guest.
#[derive(Debug, Clone)]
pub enum Machine {
    /// User-mode Linux.
    Uml(Uml),
    Qemu(Qemu),
}

impl Machine {
    /// Finds the machine of a lab. `kernel` is used for User-mode Linux only.
    pub fn find(lab: &LabChoice, kernel: &KernelChoice) -> Result<Self, GuestError> {
        match lab {
            LabChoice::Qemu => Ok(Self::Qemu(Qemu::find()?)),
            // No other lab has guests.
            LabChoice::Uml | LabChoice::Host | LabChoice::Vm | LabChoice::Ssh(_) => {
                let (program, verified) = kernels::program(kernel)?;
                let programs = kernels::guest_programs(&program).map_err(KernelError::from)?;
                let uml = Uml::at(program, verified)?;
                Ok(Self::Uml(Uml { programs, ..uml }))
            }
        }
    }

    /// A short description.
    pub fn about(&self) -> String {
        match self {
            Self::Uml(_) => "User-mode Linux".to_owned(),
            Self::Qemu(qemu) => format!("QEMU {}", qemu.accelerator()),
        }
    }

    /// The program of its kernel; none for QEMU, whose kernel is no program.
    pub fn kernel(&self) -> Option<&Path> {
        match self {
            Self::Uml(uml) => Some(&uml.kernel),
            Self::Qemu(_) => None,
        }
    }

    /// The reason why guests are emulated; none if they are not.
    pub fn remark(&self) -> Option<String> {
        match self {
            Self::Uml(_) => None,
            Self::Qemu(qemu) => qemu.remark(),
        }
    }

    /// Factor for timeouts: the maximum slowdown of its guests.
    pub(super) fn slowness(&self) -> u32 {
        match self {
            Self::Uml(_) => 1,
            Self::Qemu(qemu) => qemu.slowness(),
        }
    }

    /// Checks that its guests can have model disks.
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
