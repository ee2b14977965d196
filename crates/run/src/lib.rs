//! Resolves settings to a plan ([`resolve`]) and runs its cells ([`conductor`]) in randomised order
//! ([`schedule`]). If the figures decide the number of repeats, `open` selects the cells that are
//! still needed, and [`remaining`] those of a run that resumes. [`bisect`] searches a history for the commit that
//! changed a figure. [`variants`] repeats a comparison with its model
//! changed by known errors, and [`user_code`] measures what virtual time does not count. [`advise`] has the features of file systems, and options to measure, [`price`] those that protect. The crate
//! measures and stores nothing itself.

pub mod advise;
pub mod atlas;
pub mod bisect;
pub mod conductor;
pub mod explore;
#[doc(hidden)]
pub mod fuzz;
pub mod lose;
mod open;
pub mod price;
pub mod remaining;
pub mod resolve;
pub mod schedule;
pub use resolve::{user_code, variants};

pub use resolve::options::{self, RunOptions};

#[cfg(test)]
mod fixture;
