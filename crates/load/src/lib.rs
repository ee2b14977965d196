//! The load: what phases do ([`workloads`]), how an operation reaches the kernel ([`engines`]),
//! which programs can be a phase ([`tools`]), and how all of it is timed ([`measure`]).
//!
//! Nothing here mounts, formats or needs root: a load works in the directory it is given.

pub mod engines;
#[doc(hidden)]
pub mod fuzz;
pub mod made;
pub mod measure;
pub mod plug;
pub mod tools;
pub mod workloads;
