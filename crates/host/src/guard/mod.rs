//! The device guard.
mod mountinfo;
pub(crate) mod sysfs;
pub(crate) use mountinfo::{Mount, parse as parse_mounts};
