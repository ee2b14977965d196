//! Where a cell runs. A cell follows one [`procedure`], whoever carries it out: the host lab
//! really does it, the [`script`] of a dry run only says it.

mod filled;
mod in_memory;
pub mod job;
pub mod labs;
pub mod preflight;
pub mod procedure;
pub mod script;

pub use job::Job;
pub use labs::Lab;
pub use labs::host::HostLab;
pub use preflight::{Preflight, PreflightError};
