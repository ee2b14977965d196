//! The targets, one file each.

mod block_trace;
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
mod store_rows;
mod tar_archive;
mod vhost_user;

use crate::Target;

/// Bytes for readers that build small values.
const SMALL: usize = 256 << 10;

/// Bytes for readers with buffers of a fixed size.
const BUFFERS: usize = 8 << 20;

const fn target(name: &'static str, check: fn(&[u8]), memory: usize) -> Target {
    Target {
        name,
        check,
        memory,
    }
}

/// All targets.
pub const ALL: &[Target] = &[
    target("contender", contender::check, SMALL),
    target("plan", plan::check, BUFFERS),
    target("disk_profile", disk_profile::check, 64 << 20),
    target("disk_faults", disk_faults::check, 64 << 20),
    target("block_trace", block_trace::check, BUFFERS),
    target("tar_archive", tar_archive::check, 64 << 20),
    target("guest_frames", guest_frames::check, BUFFERS),
    target("vhost_user", vhost_user::check, 64 << 20),
    target("fuse_requests", fuse_requests::check, BUFFERS),
    target("store_rows", store_rows::check, BUFFERS),
    target("program_json", program_json::check, SMALL),
    target("program_output", program_output::check, SMALL),
    target("journal", journal::check, SMALL),
];
