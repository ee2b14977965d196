//! The targets, one file each.
//!
//! The binary of a target names its constant, so that it links one reader alone: libFuzzer scans all
//! counters of a binary after each input.

mod atlas;
mod block_trace;
mod changed_store;
mod contender;
mod disk;
mod disk_faults;
mod disk_profile;
mod fuse_requests;
mod guest_frames;
mod journal;
mod plan;
mod program_json;
mod program_output;
mod recording;
mod replay;
mod reports;
mod store_rows;
mod strace_log;
mod tar_archive;
mod vhost_user;
mod workload;

use crate::Target;

/// Memory for readers that build small values, bytes.
const SMALL: usize = 256 << 10;

/// Memory for readers with buffers of a fixed size, bytes.
const BUFFERS: usize = 8 << 20;

macro_rules! targets {
    ($($constant:ident: $module:ident, $memory:expr;)*) => {
        $(
            #[doc = concat!("`", stringify!($module), "`.")]
            pub const $constant: Target = Target {
                name: stringify!($module),
                check: $module::check,
                memory: $memory,
            };
        )*

        /// All targets.
        pub const ALL: &[Target] = &[$($constant),*];
    };
}

targets! {
    ATLAS: atlas, 64 << 20;
    CONTENDER: contender, SMALL;
    PLAN: plan, BUFFERS;
    DISK_PROFILE: disk_profile, 64 << 20;
    DISK_FAULTS: disk_faults, 64 << 20;
    BLOCK_TRACE: block_trace, BUFFERS;
    TAR_ARCHIVE: tar_archive, 64 << 20;
    GUEST_FRAMES: guest_frames, BUFFERS;
    VHOST_USER: vhost_user, 64 << 20;
    WORKLOAD: workload, 64 << 20;
    FUSE_REQUESTS: fuse_requests, BUFFERS;
    STORE_ROWS: store_rows, BUFFERS;
    REPORTS: reports, 64 << 20;
    PROGRAM_JSON: program_json, SMALL;
    PROGRAM_OUTPUT: program_output, SMALL;
    JOURNAL: journal, SMALL;
    RECORDING: recording, BUFFERS;
    REPLAY: replay, 64 << 20;
    STRACE_LOG: strace_log, 64 << 20;
}
