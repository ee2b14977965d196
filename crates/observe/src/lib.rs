//! Observation of the machine around a phase: counters of devices, processors and memory, block
//! traces of the kernel, noise from other programs, the speed of the machine, quiet devices, and
//! provenance.
//!
//! Nothing here changes what is observed, except that tracing creates a tracefs instance of its own.

pub mod counters;
pub mod idle;
pub mod kernel_samples;
pub mod kernel_work;
pub mod noise;
pub mod probe;
pub mod provenance;
pub mod quiesce;
pub mod tracing;
