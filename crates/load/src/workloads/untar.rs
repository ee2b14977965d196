//! `untar`.
pub(crate) mod packed;
