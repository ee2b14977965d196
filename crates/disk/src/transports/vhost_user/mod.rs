//! vhost-user-blk: serves the disk of a User-mode Linux or QEMU guest over a Unix socket, in the
//! guest's own memory.
//!
//! Guests are untrusted. Invalid messages and rings end the connection with a specific error. The
//! code does not detect a peer that truncates its memory files while they are mapped.

pub mod connection;
pub mod features;

mod chain;
mod memory;
mod ring;
mod wire;

pub use connection::{Connection, ConnectionError};
pub use features::Offer;
pub use ring::Served;
