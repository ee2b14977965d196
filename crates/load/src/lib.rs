//! The load: what files there are ([`datasets`]), what is done with them ([`workloads`]), how an
//! operation reaches the kernel ([`engines`]), which programs can be a phase ([`tools`]), how all
//! that is timed ([`measure`]), how the files and the free space lie in the end ([`fragments`],
//! [`free_space`]), and what is done to a file system before ([`states`]).
//!
//! Nothing here mounts, formats or needs root: a load works in a directory it is given.

pub mod datasets;
pub mod engines;
pub mod fragments;
pub mod free_space;
#[doc(hidden)]
pub mod fuzz;
pub mod measure;
pub mod plug;
pub mod states;
pub mod tools;
pub mod trees;
pub mod work_dir;
pub mod workloads;
