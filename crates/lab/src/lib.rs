//! Labs: the environments in which cells run. Each cell follows one [`procedure`] with the executor
//! of its lab, which performs it, or prints it as the [`script`] of a dry run. A guest runs a host lab
//! inside ([`serve`]).

pub mod assembly;
mod capabilities;
mod disks;
mod durability;
mod explorer_messages;
mod filled;
#[doc(hidden)]
pub mod fuzz;
pub mod job;
pub mod labs;
mod messages;
pub mod missing;
pub(crate) mod model_cpu;
mod notes;
pub mod preflight;
pub mod procedure;
mod recorded;
mod remote_limits;
pub mod serve;
mod state_dir;
mod variants;

pub use assembly::{Assembly, AssemblyError};
pub use capabilities::skipped_phases;
pub use disks::{FileDisk, FuseServerError, disk_faults, model_disk, serve_by_fuse};
pub use explorer_messages::RecoveryReport;
pub use fsdyno_cpu::DEFAULT as DEFAULT_CPU;
pub use job::Job;
pub use labs::guest::explorer;
pub use labs::guest::{
    CellProfile, CrashTest, GuestLab, GuestLabError, PendingKernels, Profiles, cell_memory,
    guest_memory,
};
pub use labs::host::HostLab;
pub use labs::ssh::{SshLab, SshLabError};
pub use labs::{Lab, Labs, Surveyed, script};
pub use missing::Missing;
pub use model_cpu::model_cpu;
pub use preflight::{Preflight, PreflightError};
pub use serve::promises_of;
pub use state_dir::StateDir;
pub use variants::{Variant, model_variants};
