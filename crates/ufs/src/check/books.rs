//! Compares the maps and counts of the groups with the space that files occupy.

use super::files::Claims;
use super::{CheckError, Disk, Group, Verdict};
use crate::bytes::{bit, get16, get32, index, set_bit};
use crate::geometry::{Geometry, Version};
use crate::group::{self, Counts, Maps, at};
use crate::tally::Tally;
use std::io::{Read, Seek};

/// Reads the descriptors. Reports a descriptor that does not match its group.
pub(super) fn read_groups<D: Read + Seek>(
    disk: &mut Disk<'_, D>,
    geometry: &Geometry,
    verdict: &mut Verdict,
) -> Result<Vec<Group>, CheckError> {
    let mut groups = Vec::new();
    for number in 0..geometry.groups {
        let place = geometry.base(number) + geometry.descriptor_at();
        let what = format!("the descriptor of group {number}");
        let block = disk.get(place, geometry.block, &what)?;
        let maps = Maps::of(geometry);
        let (inodes, in_group) = (geometry.group_inodes, geometry.in_group(number));
        let stored = |place| get32(&block, place);
        let inodes_stored = match geometry.version {
            Version::Ufs1 => get16(&block, at::OLD_INODES),
            Version::Ufs2 => stored(at::INODES),
        };
        for (name, stored, right) in [
            ("magic number", stored(at::MAGIC), group::MAGIC),
            ("number", stored(at::NUMBER), number),
            ("inodes", inodes_stored, inodes),
            ("fragments", stored(at::FRAGMENTS), in_group),
            (
                "place of the map of inodes",
                stored(at::INODE_MAP),
                maps.inodes,
            ),
            (
                "place of the map of fragments",
                stored(at::FREE_MAP),
                maps.free,
            ),
            (
                "place of the map of blocks",
                stored(at::CLUSTER_MAP),
                maps.clusters,
            ),
            (
                "blocks in that map",
                stored(at::CLUSTER_BLOCKS),
                in_group / geometry.parts(),
            ),
        ] {
            verdict.compare(|| format!("group {number}, {name}"), stored, right);
        }
        groups.push(Group { block, maps });
    }
    Ok(groups)
}

/// Compares the maps and counts of each group with the claimed fragments. Returns the correct
/// counts.
pub(super) fn check(
    geometry: &Geometry,
    groups: &[Group],
    claims: &Claims,
    directories: &[u64],
    verdict: &mut Verdict,
) -> Vec<Counts> {
    let mut all = Vec::new();
    for ((number, group), directories) in (0..).zip(groups).zip(directories) {
        let free = free_map(geometry, claims, number);
        let fragments = geometry.in_group(number);
        check_map(number, group, &free, geometry, verdict);
        let tally = Tally::of(&free, fragments, geometry.parts(), geometry.cluster);
        verdict.free += tally.blocks * geometry.parts() + tally.fragments;
        let used = (0..geometry.group_inodes).filter(|inode| group.uses(*inode));
        let counts = Counts {
            directories: *directories,
            free_blocks: tally.blocks,
            free_inodes: geometry.group_inodes - used.count() as u64,
            free_fragments: tally.fragments,
        };
        check_counts(number, group, counts, &tally, verdict);
        all.push(counts);
    }
    all
}

/// The correct bitmap of free fragments.
fn free_map(geometry: &Geometry, claims: &Claims, number: u64) -> Vec<u8> {
    let mut free = vec![0; index(geometry.group.div_ceil(8))];
    for fragment in 0..geometry.in_group(number) {
        if !claims.has(geometry.base(number) + fragment) {
            set_bit(&mut free, fragment);
        }
    }
    free
}

fn check_map(number: u64, group: &Group, free: &[u8], geometry: &Geometry, verdict: &mut Verdict) {
    let stored = &group.block[index(group.maps.free)..];
    for fragment in 0..geometry.group {
        match (bit(stored, fragment), bit(free, fragment)) {
            (true, false) => verdict.report(|| {
                format!("group {number}: fragment {fragment} is in use, and marked as free")
            }),
            (false, true) => verdict.report(|| {
                format!(
                    "group {number}: fragment {fragment} is marked as used, and nothing holds it"
                )
            }),
            _ => {}
        }
    }
}

fn check_counts(number: u64, group: &Group, counts: Counts, tally: &Tally, verdict: &mut Verdict) {
    let stored = |place| get32(&group.block, place);
    let names = [
        "directories",
        "free blocks",
        "free inodes",
        "free fragments of blocks in part free",
    ];
    for (place, (name, count)) in names.into_iter().zip(counts.in_order()).enumerate() {
        let stored = stored(at::COUNTS + 4 * place);
        verdict.compare(|| format!("group {number}, {name}"), stored, count);
    }
    for (length, count) in tally.runs.iter().enumerate().skip(1) {
        let what = || format!("group {number}, runs of {length} free fragments");
        verdict.compare(what, stored(at::RUNS + 4 * length), *count);
    }
    for (length, count) in tally.cluster_runs.iter().enumerate().skip(1) {
        let what = || format!("group {number}, runs of {length} free blocks");
        let place = index(group.maps.cluster_runs) + 4 * length;
        verdict.compare(what, stored(place), *count);
    }
    let map = &group.block[index(group.maps.clusters)..][..tally.clusters.len()];
    if map != tally.clusters {
        verdict
            .report(|| format!("group {number}: the map of free blocks is not that of fragments"));
    }
}
