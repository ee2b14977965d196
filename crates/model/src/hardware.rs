//! Hardware counters of the processors for a phase in real time.

use crate::sample::{COUNTED, Figure, Sample};

/// A hardware event of the workload: of all its threads and processes, from the first to the last
/// reading of the clock. Kernel threads are not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HardwareEvent {
    /// Instructions in user mode.
    UserInstructions,
    /// Instructions of the kernel in its system calls and page faults.
    KernelInstructions,
    /// Cycles in user mode.
    UserCycles,
    /// Cycles in the kernel.
    KernelCycles,
}

impl HardwareEvent {
    /// All events.
    pub const ALL: [Self; 4] = [
        Self::UserInstructions,
        Self::KernelInstructions,
        Self::UserCycles,
        Self::KernelCycles,
    ];

    /// The name of the figure of a sample.
    pub fn name(self) -> &'static str {
        match self {
            Self::UserInstructions => "user instructions",
            Self::KernelInstructions => "kernel instructions",
            Self::UserCycles => "user cycles",
            Self::KernelCycles => "kernel cycles",
        }
    }

    /// Whether it counts the kernel.
    pub fn in_kernel(self) -> bool {
        matches!(self, Self::KernelInstructions | Self::KernelCycles)
    }

    /// A count as a figure of a sample.
    pub fn figure(self, count: u64) -> Figure {
        Figure::counted(self.name(), count)
    }

    /// The count of a sample; none if it was not counted.
    pub fn of(self, sample: &Sample) -> Option<u64> {
        let mut figures = sample.figures.iter();
        let figure = figures.find(|figure| is_count(figure) && figure.name == self.name())?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count below 2^53; a float saturates"
        )]
        Some(figure.value as u64)
    }
}

/// Whether a figure is the count of a hardware event, and not of a program.
pub(crate) fn is_count(figure: &Figure) -> bool {
    figure.unit == COUNTED
        && HardwareEvent::ALL
            .iter()
            .any(|event| event.name() == figure.name)
}
