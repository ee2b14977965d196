//! Files and directories that are opened and replaced without trusting their path: directories
//! whose owner and mode are checked, and files that come into place by a rename.
//!
//! It decides nothing about what the files hold.

pub mod places;
mod replace;
mod trusted;

pub use replace::{Existing, replace};
pub use trusted::{Access, TrustedDir, Untrusted, open_own};
