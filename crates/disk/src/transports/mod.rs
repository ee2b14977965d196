//! Front ends: the only modules that know a transport. They bring the guest's memory and the
//! clock to the disk, which knows neither.

pub mod calendar;
pub mod fuse;
pub mod real;
pub mod vhost_user;

pub(crate) mod stream;
