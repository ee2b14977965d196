//! The model processor of virtual time. A profile gives prices to the work that the kernel of a
//! guest counts: basic blocks, system calls, and the bytes of routines that handle many bytes in a
//! block. It also gives a price to the bytes that fsdyno itself searches. `fit` finds the prices of a
//! machine from measured operations; `accuracy` judges them.

mod cause;
mod fit;
mod profile;

pub use cause::Cause;
pub use fit::{Accuracy, Cell, FitError, accuracy, cross_validated, fit};
pub use profile::{ALL, DEFAULT, Profile, ProfileError};

use fsdyno_model::{Bytes, KernelWork, Nanos};
use serde::{Deserialize, Serialize};

/// Defines the prices once: fields of [`Prices`], their names and their order.
macro_rules! prices {
    ($($(#[$about:meta])* $name:ident),+ $(,)?) => {
        /// Prices of a processor, in nanoseconds.
        #[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Prices {
            $($(#[$about])* pub $name: f64),+
        }

        impl Prices {
            /// The number of prices.
            pub const COUNT: usize = Self::NAMES.len();

            /// Names, as in a profile.
            pub const NAMES: [&'static str; [$(stringify!($name)),+].len()] =
                [$(stringify!($name)),+];

            /// The prices in the order of the names.
            pub fn all(&self) -> [f64; Self::COUNT] {
                [$(self.$name),+]
            }

            /// Prices in the order of the names.
            pub fn of([$($name),+]: [f64; Self::COUNT]) -> Self {
                Self { $($name),+ }
            }
        }
    };
}

prices! {
    /// A basic block of the kernel.
    block_ns,
    /// A system call: entry and exit, and the work of the program between two calls.
    system_call_ns,
    /// A byte copied.
    copy_ns,
    /// A byte set to zero.
    clear_ns,
    /// A byte of a CRC-32C checksum.
    crc32c_ns,
    /// A request to a disk: submission, interrupt and completion.
    #[serde(default)]
    request_ns,
    /// A wait of a process while no other process runs: the switch away, and the switch back.
    #[serde(default)]
    wait_ns,
    /// A byte that the phase `grep` searches: work of the program, not of the kernel.
    #[serde(default)]
    search_ns,
}

impl Prices {
    /// The number of prices of work that the kernel counts: the first ones.
    const OF_KERNEL: usize = 7;

    /// The prices of work that the kernel counts, in whole picoseconds, as it takes them.
    pub fn of_kernel(&self) -> Vec<u64> {
        let prices = self.all().into_iter().take(Self::OF_KERNEL);
        prices.map(picoseconds).collect()
    }

    /// The time to search this many bytes, in whole nanoseconds.
    pub fn search(&self, bytes: Bytes) -> Nanos {
        Nanos(bytes.0.saturating_mul(picoseconds(self.search_ns)) / 1000)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "profiles are checked: a price is finite, not negative, and below 2^53 picoseconds"
)]
fn picoseconds(ns: f64) -> u64 {
    (ns * 1000.0).round() as u64
}

/// The work of a processor: a count for each price.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Work(pub [f64; Prices::COUNT]);

impl Work {
    /// The work for processes and in interrupts, which they wait for, without kernel threads; and
    /// the bytes that the program searched.
    pub fn foreground(work: &KernelWork, searched: Bytes) -> Self {
        Self([
            (work.process_blocks + work.interrupt_blocks) as f64,
            work.system_calls as f64,
            work.copied.0 as f64,
            work.cleared.0 as f64,
            work.checksummed.0 as f64,
            work.disk_requests as f64,
            work.waits as f64,
            searched.0 as f64,
        ])
    }

    /// The work of kernel threads: their blocks.
    pub fn of_threads(work: &KernelWork) -> Self {
        let mut counts = Self::default();
        counts.0[0] = work.kthread_blocks as f64;
        counts
    }

    /// Nanoseconds at these prices.
    pub fn at(&self, prices: &Prices) -> f64 {
        let parts = self.0.iter().zip(prices.all());
        parts.map(|(count, price)| count * price).sum()
    }

    /// The time at these prices, in whole nanoseconds.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are not negative, and a float saturates"
    )]
    pub fn time(&self, prices: &Prices) -> Nanos {
        Nanos(self.at(prices).round() as u64)
    }
}
