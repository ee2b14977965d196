//! Transports connect the disk to a guest or a kernel. They supply the guest's memory and the clock
//! to the disk, which knows neither.

pub mod calendar;
pub mod fuse;
pub mod real;
pub mod vhost_user;

pub(crate) mod stream;
