//! The conductor: what is to be run ([`resolve`]), in which order ([`schedule`]), how long, where
//! the figures decide that (`open`), and how it is taken through its cells ([`conductor`]). It measures nothing and stores nothing itself.

pub mod conductor;
#[doc(hidden)]
pub mod fuzz;
mod open;
pub mod resolve;
pub mod schedule;

pub use resolve::options::{self, RunOptions};

#[cfg(test)]
mod fixture;
