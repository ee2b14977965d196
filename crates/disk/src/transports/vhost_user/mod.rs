//! vhost-user-blk: the disk of a guest of User-mode Linux or QEMU, over a Unix socket, in the
//! guest's own memory.
//!
//! A guest is not trusted: whatever it sends, and whatever its rings hold, ends at worst in a
//! named end of its connection. What is not looked for is a front end that makes the files of its
//! memory shorter while they are in use.

pub mod connection;
pub mod features;

mod chain;
mod memory;
mod ring;
mod wire;

pub use connection::{Connection, ConnectionError};
pub use features::Offer;
pub use ring::Served;
