//! The load: what files there are ([`datasets`]), what is done with them ([`workloads`]), how an
//! operation reaches the kernel ([`engines`]), how it is timed ([`measure`]), and how the files lie in
//! the end ([`fragments`]).
//!
//! Nothing here mounts, formats or needs root: a load works in a directory it is given.

pub mod datasets;
pub mod engines;
pub mod fragments;
pub mod ground;
pub mod measure;
pub mod states;
pub mod trees;
pub mod workloads;
