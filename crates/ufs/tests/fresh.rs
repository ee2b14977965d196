//! Recounts the output of `newfs` bit by bit from its bytes and runs the check on it, for disks of
//! all sizes.

#![expect(
    clippy::cast_possible_truncation,
    reason = "what is cast counts bits of one descriptor"
)]

mod support;

use fsdyno_ufs::{Geometry, GeometryError, MakeError, MakeOptions, Version, check, newfs};
use proptest::prelude::*;
use support::Disk;

/// Counts of a group from its bitmaps. Directories are not included.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    blocks: u64,
    inodes: u64,
    fragments: u64,
}

/// Stored counts and recounted bits of a descriptor, both in the published layout.
fn recount(disk: &mut Disk, geometry: &Geometry, number: u64) -> Count {
    let group = (number * geometry.group + geometry.descriptor_at()) * geometry.fragment;
    let (inode_map, free_map) = (disk.get32(group + 92), disk.get32(group + 96));
    let (run_at, cluster_map) = (disk.get32(group + 104), disk.get32(group + 108));
    let inodes = disk.get(group + inode_map, (geometry.group_inodes / 8) as usize);
    let free = disk.get(group + free_map, geometry.group.div_ceil(8) as usize);
    let blocks = geometry.group / geometry.parts();
    let clusters = disk.get(group + cluster_map, blocks.div_ceil(8) as usize);
    let bit = |bits: &[u8], at: u64| (bits[(at / 8) as usize] >> (at % 8)) & 1 == 1;
    let mut count = Count::default();
    count.inodes = (0..geometry.group_inodes)
        .filter(|at| !bit(&inodes, *at))
        .count() as u64;

    let (mut runs, mut cluster_runs) = ([0; 8], vec![0; 17]);
    let (mut run, mut cluster) = (0, 0);
    let parts = geometry.parts();
    for at in 0..=geometry.group {
        let boundary = at % parts == 0;
        if boundary && run == parts {
            count.blocks += 1;
            cluster += 1;
            run = 0;
        } else if boundary && at > 0 {
            cluster_runs[std::mem::take(&mut cluster).min(geometry.cluster) as usize] += 1;
        }
        let free = at < geometry.group && bit(&free, at);
        if run > 0 && (boundary || !free) {
            runs[run as usize] += 1;
            count.fragments += run;
            run = 0;
        }
        run += u64::from(free);
    }
    cluster_runs[cluster.min(geometry.cluster) as usize] += 1;
    for (length, runs) in runs.iter().enumerate().skip(1) {
        assert_eq!(
            disk.get32(group + 52 + 4 * length as u64),
            *runs,
            "{length}"
        );
    }
    for length in 1..=geometry.cluster {
        let counts = disk.get32(group + run_at + 4 * length);
        assert_eq!(counts, cluster_runs[length as usize], "runs of {length}");
    }
    for block in 0..geometry.group / parts {
        let whole = (0..parts).all(|part| bit(&free, block * parts + part));
        assert_eq!(bit(&clusters, block), whole, "block {block}");
    }
    count
}

/// Makes a file system on a disk full of old data and checks all of it.
fn made(options: &MakeOptions, bytes: u64, before: u8) -> Result<Geometry, MakeError> {
    let mut disk = Disk::new(bytes, before);
    let geometry = newfs(&mut disk, bytes, options)?;
    let verdict = check(&mut disk).unwrap();
    assert_eq!(verdict.contradictions, Vec::<String>::new());
    assert!(verdict.clean() && verdict.unmounted);
    assert_eq!((verdict.files, verdict.directories), (0, 1));
    assert_eq!(verdict.geometry, geometry);

    let mut all = Count::default();
    let summary = geometry.data_at() * geometry.fragment;
    for number in 0..geometry.groups {
        let count = recount(&mut disk, &geometry, number);
        let counts = summary + number * 16;
        assert_eq!(disk.get32(counts), u64::from(number == 0));
        assert_eq!(disk.get32(counts + 4), count.blocks);
        assert_eq!(disk.get32(counts + 8), count.inodes);
        assert_eq!(disk.get32(counts + 12), count.fragments);
        all.blocks += count.blocks;
        all.inodes += count.inodes;
        all.fragments += count.fragments;
    }
    let free = all.blocks * geometry.parts() + all.fragments;
    assert_eq!(free, verdict.free);
    // All space is data, except the boot area, the tables and one fragment for the root directory.
    let tables = geometry.groups * (geometry.data_at() - geometry.copy_at());
    let taken = geometry.copy_at() + tables + geometry.summary() + 1;
    assert_eq!(geometry.size - free, taken);
    assert_eq!(all.inodes, geometry.groups * geometry.group_inodes - 3);
    // The file system uses almost the whole disk.
    assert!(bytes - geometry.size * geometry.fragment < bytes / 4 + geometry.block);
    Ok(geometry)
}

fn valid_options() -> impl Strategy<Value = MakeOptions> {
    let version = prop_oneof![Just(Version::Ufs1), Just(Version::Ufs2)];
    let sizes = (12_u32..=16, 0_u32..=3);
    (
        version,
        sizes,
        9_u32..20,
        proptest::option::of(40_u64..4000),
    )
        .prop_map(
            |(version, (block, parts), density, group_blocks)| MakeOptions {
                block: Some(1 << block),
                fragment: Some((1_u64 << (block - parts)).max(512)),
                density: Some(1 << density),
                group_blocks,
                time: 1_100_000_000,
                ..MakeOptions::new(version)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_size_and_geometry_is_consistent(
        options in valid_options(),
        bytes in prop_oneof![1_u64 << 20..64 << 20, 64_u64 << 20..300 << 20],
        before in prop_oneof![Just(0_u8), Just(0xff)],
    ) {
        // Old data occupies memory, so only small disks have it.
        let before = if bytes < 32 << 20 { before } else { 0 };
        match made(&options, bytes, before) {
            Ok(_) => {}
            // 64 KiB blocks need more than a small disk, and requested groups may be too small.
            Err(MakeError::Geometry(
                GeometryError::TooSmall { smallest, .. },
            )) => prop_assert!(smallest > bytes / 2, "{smallest} of {bytes}"),
            Err(MakeError::Geometry(GeometryError::Groups { blocks, smallest })) => {
                prop_assert!(blocks < smallest);
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Numbers of all magnitudes and those near the limits of 32 and 64 bits.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0_u64..70,
        (0_u32..64).prop_map(|shift| 1 << shift),
        (0_u32..64, any::<u64>()).prop_map(|(shift, number)| number >> shift),
        Just(u64::MAX),
    ]
}

/// Mostly possible sizes, because others are rejected first.
fn any_size() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![
        Just(None),
        (9_u32..17).prop_map(|shift| Some(1 << shift)),
        any_number().prop_map(Some),
    ]
}

fn any_options() -> impl Strategy<Value = MakeOptions> {
    let version = prop_oneof![Just(Version::Ufs1), Just(Version::Ufs2)];
    let number = || prop_oneof![Just(64_u64), any_number()];
    let sizes = (any_size(), any_size());
    let divided = (
        proptest::option::of(any_number()),
        proptest::option::of(any_number()),
    );
    let policy = (
        prop_oneof![0_u64..100, any_number()],
        number(),
        number(),
        "[a-z/\u{e9}]{0,33}",
    );
    (version, sizes, divided, policy, any_number()).prop_map(
        |(version, (block, fragment), (density, group_blocks), policy, time)| MakeOptions {
            block,
            fragment,
            density,
            group_blocks,
            minfree: policy.0,
            file_size: policy.1,
            directory_files: policy.2,
            label: policy.3,
            time,
            ..MakeOptions::new(version)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn no_option_and_no_size_panics(options in any_options(), bytes in any_number()) {
        match Geometry::of(&options, bytes) {
            // Larger sizes would exhaust the memory of the test, not of `newfs`.
            Ok(geometry) if geometry.groups < 200 && bytes < 1 << 33 => {
                let made = made(&options, bytes, 0);
                prop_assert!(made.is_ok(), "{made:?}");
            }
            Ok(geometry) => {
                prop_assert!(geometry.size <= bytes / geometry.fragment);
                prop_assert!(geometry.for_data() < geometry.size);
            }
            Err(refused) => prop_assert!(!refused.to_string().is_empty()),
        }
    }
}

#[test]
fn a_device_of_nine_bytes_is_too_small() {
    let refused = newfs(&mut Disk::new(9, 0), 9, &MakeOptions::new(Version::Ufs2)).unwrap_err();
    assert!(
        refused.to_string().starts_with("9 bytes are too few"),
        "{refused}"
    );
}

#[test]
fn defaults_match_freebsd_on_disks_of_a_few_gibibytes() {
    for (version, block, fragment) in [(Version::Ufs1, 16_384, 2048), (Version::Ufs2, 32_768, 4096)]
    {
        for bytes in [(2 << 30) + 12_345, 4_999_999_999] {
            let geometry = made(&MakeOptions::new(version), bytes, 0).unwrap();
            assert_eq!((geometry.block, geometry.fragment), (block, fragment));
            assert!(geometry.groups >= 4, "{geometry:?}");
            let inodes = geometry.groups * geometry.group_inodes;
            let requested = bytes / (4 * fragment);
            assert!(
                inodes >= requested && inodes < requested + requested / 4,
                "{inodes}"
            );
        }
    }
}

#[test]
fn a_short_last_group_is_dropped_if_it_has_no_room_for_data() {
    let mut short = 0;
    for fragments in 16_000..16_064 {
        let options = MakeOptions {
            group_blocks: Some(1000),
            ..MakeOptions::new(Version::Ufs1)
        };
        let geometry = made(&options, fragments * 2048, 0).unwrap();
        short += u64::from(!geometry.size.is_multiple_of(geometry.group));
    }
    assert!(short > 32, "{short}");
}

#[test]
fn impossible_geometries_are_rejected_by_name() {
    let plain = MakeOptions::new(Version::Ufs2);
    let refusal = |options: MakeOptions, bytes: u64| {
        let refused = newfs(&mut Disk::new(bytes, 0), bytes, &options);
        refused.unwrap_err().to_string()
    };
    for (options, words) in [
        (
            MakeOptions {
                block: Some(3000),
                ..plain.clone()
            },
            "blocks of 3000 bytes",
        ),
        (
            MakeOptions {
                fragment: Some(1024),
                block: Some(16_384),
                ..plain.clone()
            },
            "(-f)",
        ),
        (
            MakeOptions {
                density: Some(0),
                ..plain.clone()
            },
            "(-i)",
        ),
        (
            MakeOptions {
                minfree: 100,
                ..plain.clone()
            },
            "(-m)",
        ),
        (
            MakeOptions {
                label: "a/b".into(),
                ..plain.clone()
            },
            "`a/b`",
        ),
        (
            MakeOptions {
                group_blocks: Some(3),
                ..plain.clone()
            },
            "(-c)",
        ),
        (
            MakeOptions {
                file_size: 0,
                ..plain.clone()
            },
            "(-g, -h)",
        ),
    ] {
        let message = refusal(options, 64 << 20);
        assert!(message.contains(words), "{message}");
    }
    let message = refusal(plain.clone(), 100_000);
    assert!(message.starts_with("100000 bytes are too few"), "{message}");
    let old = MakeOptions {
        fragment: Some(512),
        ..MakeOptions::new(Version::Ufs1)
    };
    let message = refusal(old, 3 << 40);
    assert!(
        message.contains("too many") && message.contains("-O 2"),
        "{message}"
    );
}
