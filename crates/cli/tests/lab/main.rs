//! Tests of the program on real file systems, kernels and machines. Each skips by name without its
//! requirements.

#[path = "../support/mod.rs"]
mod support;

mod advise;
mod bisect;
mod bonnie;
mod capabilities;
mod cells;
mod ci;
mod cluster;
mod confined;
mod crash;
mod crash_disk;
mod digest;
mod disk_fit;
mod documents;
mod dry_run;
mod explore;
mod explorer;
mod extents;
mod guests;
mod hostile_path;
mod kernel;
mod kill_campaign;
mod kills;
mod lock;
mod memory;
mod mixed;
mod package;
mod places;
mod pools;
mod programs;
mod published;
mod qemu;
mod real;
mod replay;
mod rerun;
mod roles;
mod ssh;
mod states;
mod subsets;
mod trust;
mod ufs;
mod virtual_time;
mod why;
