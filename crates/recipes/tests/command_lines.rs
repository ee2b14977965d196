//! Every command line of the recipes, in shell syntax.

use fsdyno_model::{Contender, FilesystemKind, Step};
use fsdyno_recipes::{Check, Filesystem, find, kind_of};
use std::fmt::Write as _;
use std::path::Path;

/// All steps of a contender on loop devices, one per line, by stage.
fn lines(text: &str) -> String {
    let contender = Contender::parse(text, &kind_of).unwrap_or_else(|e| panic!("{text}: {e}"));
    let fs = find(&contender.filesystem).expect("parsed");
    let devices: Vec<String> = (0..contender.layout.devices)
        .map(|n| format!("$LOOP{n}"))
        .collect();
    let target = Path::new("/mnt/t");
    let mut lines = String::new();
    let mut push = |stage: &str, steps: &[Step]| {
        for step in steps {
            let _ = writeln!(lines, "{stage}: {}", step.shell());
        }
    };
    push(
        "daemon",
        fs.daemon()
            .map(|daemon| Step::StartDaemon { daemon })
            .as_slice(),
    );
    push("make", &fs.make_for(&contender, &devices, target));
    push("mount", &fs.mount(&contender, &devices, target));
    for (source, step) in fs.describe(&contender, &devices, target) {
        push(&source, &[step]);
    }
    if let Some((source, step)) = fs.free_space(&devices, target) {
        push(&source, &[step]);
    }
    push("durable", fs.make_durable(target).as_slice());
    if let Some(check) = fs.check_for(&contender, &devices, target) {
        push(&format!("check {:?}", check.clean), &[check.step]);
    }
    push("version", fs.version().as_slice());
    lines
}

/// Description, features and requirements of a file system.
fn facts(fs: &dyn Filesystem) -> String {
    let mut lines = String::new();
    let capabilities = fs.capabilities();
    let _ = writeln!(lines, "{}: {}", fs.name(), fs.title());
    let _ = writeln!(lines, "{capabilities:#?}");
    let _ = writeln!(lines, "smallest device: {}", fs.smallest_bytes());
    for requirement in fs.requirements() {
        let _ = writeln!(
            lines,
            "needs {} for {}",
            requirement.need.name(),
            requirement.unlocks
        );
    }
    let devices = ["$LOOP0".to_owned()];
    let programs = [
        ("replay", fs.replay(&devices)),
        ("check at boot", fs.check_at_boot(&devices)),
        ("repair", fs.repair(&devices)),
    ];
    for (stage, program) in programs {
        if let Some(Check { step, clean }) = program {
            let _ = writeln!(lines, "{stage} {clean:?}: {}", step.shell());
        }
    }
    lines
}

#[test]
fn every_recipe_matches_its_snapshot() {
    for fs in fsdyno_recipes::fs::ALL {
        let contender = match fs.kind() {
            FilesystemKind::Directory => format!("{}:/srv", fs.name()),
            _ => fs.name().to_owned(),
        };
        insta::assert_snapshot!(fs.name(), format!("{}{}", facts(*fs), lines(&contender)));
    }
}

#[test]
fn ext2_is_made_with_the_defaults_of_the_distribution() {
    insta::assert_snapshot!(lines("ext2"), @r#"
    make: mkfs.ext2 -F -q -E lazy_itable_init=0,lazy_journal_init=0 "$LOOP0"
    mount: mount -i -t ext2 "$LOOP0" /mnt/t
    dumpe2fs: dumpe2fs -h "$LOOP0"
    free space (e2freefrag): e2freefrag "$LOOP0"
    check [0]: e2fsck -fn "$LOOP0"
    version: mkfs.ext2 -V
    "#);
}

#[test]
fn ext3_takes_mkfs_options_before_its_device() {
    insta::assert_snapshot!(lines("ext3[-O ^dir_index -I 128]"), @r#"
    make: mkfs.ext3 -F -q -E lazy_itable_init=0,lazy_journal_init=0 -O '^dir_index' -I 128 "$LOOP0"
    mount: mount -i -t ext3 "$LOOP0" /mnt/t
    dumpe2fs: dumpe2fs -h "$LOOP0"
    free space (e2freefrag): e2freefrag "$LOOP0"
    check [0]: e2fsck -fn "$LOOP0"
    version: mkfs.ext3 -V
    "#);
}

#[test]
fn ext4_takes_mount_options_in_the_order_typed() {
    insta::assert_snapshot!(lines("ext4:noatime,data=writeback"), @r#"
    make: mkfs.ext4 -F -q -E lazy_itable_init=0,lazy_journal_init=0 "$LOOP0"
    mount: mount -i -t ext4 -o noatime,data=writeback "$LOOP0" /mnt/t
    dumpe2fs: dumpe2fs -h "$LOOP0"
    free space (e2freefrag): e2freefrag "$LOOP0"
    check [0]: e2fsck -fn "$LOOP0"
    version: mkfs.ext4 -V
    "#);
}

#[test]
fn xfs_is_forced_onto_its_device() {
    insta::assert_snapshot!(lines("xfs[-m reflink=0]:logbsize=256k"), @r#"
    make: mkfs.xfs -f -m reflink=0 "$LOOP0"
    mount: mount -i -t xfs -o logbsize=256k "$LOOP0" /mnt/t
    xfs_info: xfs_info /mnt/t
    free space (xfs_spaceman): xfs_spaceman -c 'freesp -s' /mnt/t
    check [0]: xfs_repair -n "$LOOP0"
    version: mkfs.xfs -V
    "#);
}

#[test]
fn btrfs_on_one_device_names_no_members() {
    insta::assert_snapshot!(lines("btrfs:compress=zstd"), @r#"
    make: mkfs.btrfs -f "$LOOP0"
    mount: mount -i -t btrfs -o compress=zstd "$LOOP0" /mnt/t
    btrfs inspect-internal dump-super: btrfs inspect-internal dump-super "$LOOP0"
    btrfs filesystem usage: btrfs filesystem usage /mnt/t
    free space (free-space tree): btrfs inspect-internal dump-tree -t free_space_tree "$LOOP0"
    check [0]: btrfs check --readonly "$LOOP0"
    version: mkfs.btrfs --version
    "#);
}

#[test]
fn a_btrfs_pool_stripes_data_and_names_its_members() {
    insta::assert_snapshot!(lines("btrfs@pool2:noatime"), @r#"
    make: mkfs.btrfs -f -d raid0 -m raid1 "$LOOP0" "$LOOP1"
    mount: mount -i -t btrfs -o "device=$LOOP0,device=$LOOP1,noatime" "$LOOP0" /mnt/t
    btrfs inspect-internal dump-super: btrfs inspect-internal dump-super "$LOOP0"
    btrfs filesystem usage: btrfs filesystem usage /mnt/t
    free space (free-space tree): btrfs inspect-internal dump-tree -t free_space_tree "$LOOP0"
    check [0]: btrfs check --readonly "$LOOP0"
    version: mkfs.btrfs --version
    "#);
}

#[test]
fn bcachefs_commands_name_all_devices() {
    insta::assert_snapshot!(lines("bcachefs[--compression=lz4]@pool2:noatime"), @r#"
    make: fsdyno bcachefs make --compression=lz4 "$LOOP0" "$LOOP1"
    mount: mount -i -t bcachefs -o noatime "$LOOP0:$LOOP1" /mnt/t
    stat: stat -f /mnt/t
    check [0]: fsdyno bcachefs check "$LOOP0" "$LOOP1"
    "#);
}

#[test]
fn user_profiles_replace_the_pool_profiles() {
    for (text, expected) in [
        ("btrfs[-d raid1]@pool3", "-m raid1 -d raid1 "),
        (
            "btrfs[--metadata=raid0]@pool2",
            "-d raid0 --metadata=raid0 ",
        ),
        ("btrfs[-fmdup --data single]@pool2", "-fmdup --data single "),
        ("btrfs[-M]@pool2", "-M "),
    ] {
        let made = lines(text);
        let expected = format!("make: mkfs.btrfs -f {expected}\"$LOOP0\"");
        assert!(made.starts_with(&expected), "{text}: {made}");
    }
}

#[test]
fn tmpfs_is_mounted_without_a_device() {
    insta::assert_snapshot!(lines("tmpfs:size=2g"), @"mount: mount -i -t tmpfs -o size=2g tmpfs /mnt/t");
}

#[test]
fn a_directory_is_only_described() {
    insta::assert_snapshot!(lines("dir:/srv/a b"), @"findmnt: findmnt --target '/srv/a b'");
}

#[test]
fn reiserfs_packs_tails_by_default() {
    insta::assert_snapshot!(lines("reiserfs[--hash tea]:notail"), @r#"
    make: mkfs.reiserfs -q -f -f --hash tea "$LOOP0"
    mount: mount -i -t reiserfs -o notail "$LOOP0" /mnt/t
    debugreiserfs: debugreiserfs "$LOOP0"
    check [0]: reiserfsck --check --quiet --yes "$LOOP0"
    version: mkfs.reiserfs -V
    "#);
}

#[test]
fn mkfs_jfs_does_not_prompt() {
    insta::assert_snapshot!(lines("jfs[-s 8]"), @r#"
    make: mkfs.jfs -q -s 8 "$LOOP0"
    mount: mount -i -t jfs "$LOOP0" /mnt/t
    jfs_tune: jfs_tune -l "$LOOP0"
    check [0]: jfs_fsck -n -f "$LOOP0"
    version: mkfs.jfs -V
    "#);
}

#[test]
fn f2fs_is_forced_onto_its_device() {
    insta::assert_snapshot!(lines("f2fs:noatime"), @r#"
    make: mkfs.f2fs -f "$LOOP0"
    mount: mount -i -t f2fs -o noatime "$LOOP0" /mnt/t
    dump.f2fs: dump.f2fs "$LOOP0"
    check [0]: fsck.f2fs --dry-run "$LOOP0"
    version: mkfs.f2fs -V
    "#);
}

#[test]
fn ffs_sets_soft_updates_at_newfs_and_async_at_mount() {
    insta::assert_snapshot!(lines("ffs[-O 2 -U]:noatime,async"), @r##"
    make: newfs -O 2 -U "$LOOP0"
    mount: mount -i -t ufs -o noatime,async "$LOOP0" /mnt/t
    dumpfs: dumpfs "$LOOP0"
    check [0]: sh -c 'if command -v fsck_ffs >/dev/null; then fsck_ffs -n -f "$0"; else fsck -n "$0"; fi' "$LOOP0"
    "##);
}

#[test]
fn nilfs2_has_no_checker() {
    insta::assert_snapshot!(lines("nilfs2"), @r#"
    make: mkfs.nilfs2 -f "$LOOP0"
    mount: mount -i -t nilfs2 "$LOOP0" /mnt/t
    nilfs-tune: nilfs-tune -l "$LOOP0"
    version: mkfs.nilfs2 -V
    "#);
}

#[test]
fn ufs_is_made_and_checked_by_fsdyno_itself() {
    insta::assert_snapshot!(lines("ufs1[-m 5]:dirsync"), @r#"
    make: fsdyno ufs make -O 1 -m 5 "$LOOP0"
    mount: mount -i -t ufs -o ufstype=44bsd,dirsync "$LOOP0" /mnt/t
    stat: stat -f /mnt/t
    check [0]: fsdyno ufs check "$LOOP0"
    "#);
    insta::assert_snapshot!(lines("ufs2:noatime"), @r#"
    make: fsdyno ufs make -O 2 "$LOOP0"
    mount: mount -i -t ufs -o ufstype=ufs2,noatime "$LOOP0" /mnt/t
    stat: stat -f /mnt/t
    check [0]: fsdyno ufs check "$LOOP0"
    "#);
}

#[test]
fn a_zfs_pool_is_imported_from_its_own_devices_only() {
    insta::assert_snapshot!(lines("zfs[-o ashift=12]@pool2:noatime,recordsize=8k,rw"), @r#"
    daemon: sh -c 'answers() { zpool list -H -o name > /dev/null 2>&1; }; answers || { modprobe zfs > /dev/null 2>&1; answers; } || { test ! -e /var/lib/zfs/zpool.cache && mkdir -p /run/lock && rm -f /run/fsdyno-zfs-fuse.pid && zfs-fuse --no-kstat-mount --pidfile /run/fsdyno-zfs-fuse.pid; }'
    make: zpool create -f -o cachefile=none -m /mnt/t -o ashift=12 -O atime=off -O recordsize=8k fsdyno-mnt "$LOOP0" "$LOOP1"
    make: zpool export fsdyno-mnt
    mount: sh -c 'mkdir -p "$0" && for device; do for part in "$device" "${device}1" "${device}p1"; do { [ ! -b "$part" ] && [ ! -c "$part" ]; } || ln -sf "$part" "$0" || exit; done; done' /mnt/devices "$LOOP0" "$LOOP1"
    mount: zpool import -f -d /mnt/devices -o cachefile=none fsdyno-mnt
    zpool status: zpool status fsdyno-mnt
    zpool get all: zpool get all fsdyno-mnt
    zfs get all: zfs get all fsdyno-mnt
    arcstats: sh -c 'grep -s c_max /proc/spl/kstat/zfs/arcstats || true'
    zpool upgrade -v: zpool upgrade -v
    durable: zfs set fsdyno:durable=yes fsdyno-mnt
    check [0]: sh -c 'if grep -qw zfs /proc/filesystems && grep -q '\''User Mode Linux'\'' /proc/cpuinfo; then zpool import -N -f -o cachefile=none -d "$0" "$1" || exit 3; zpool scrub -w "$1" && zpool status -x "$1" | grep -q '\''is healthy'\''; failed=$?; zpool status -v "$1"; zpool export "$1" || exit 3; exit $failed; fi; exec zdb -e -p "$0" -bcc "$1"' /mnt/devices fsdyno-mnt
    "#);
}

#[test]
fn an_import_finds_the_devices_of_its_pool_and_partitions_of_them() {
    let contender = Contender::parse("zfs", &kind_of).unwrap();
    let fs = find("zfs").unwrap();
    let work_dir = std::env::temp_dir().join(format!("fsdyno-links-{}", std::process::id()));
    let target = work_dir.join("mnt");
    let here = ["/etc/passwd".to_owned(), "/dev/no-such-device".to_owned()];
    let link = fs.mount(&contender, &here, &target).remove(0).argv();
    let status = std::process::Command::new(&link[0])
        .args(&link[1..])
        .status();
    let made = std::fs::read_dir(work_dir.join("devices")).unwrap().count();
    std::fs::remove_dir_all(&work_dir).unwrap();
    // Neither is a device.
    assert!(status.unwrap().success());
    assert_eq!(made, 0);
}

#[test]
fn md_arrays_are_assembled_and_stopped() {
    let striped = Contender::parse("ext4@raid0x2", &kind_of).unwrap();
    let devices = ["$LOOP0", "$LOOP1"].map(str::to_owned);
    let joined = fsdyno_recipes::layouts::joined(&striped, &devices, "fsdyno-1").unwrap();
    let steps = joined.join.iter().chain(&joined.part);
    let lines: Vec<String> = steps.map(Step::shell).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    mdadm --create /dev/md/fsdyno-1 --run --quiet --metadata=1.2 --assume-clean --level=raid0 --raid-devices=2 "$LOOP0" "$LOOP1"
    mdadm --stop /dev/md/fsdyno-1
    mdadm --zero-superblock --quiet "$LOOP0" "$LOOP1"
    "#);
    for own in [
        "btrfs@pool2",
        "btrfs@mirror2",
        "btrfs@stripe2",
        "btrfs@parity3",
        "zfs@mirror2",
        "zfs@stripe2",
        "zfs@parity3",
        "bcachefs@stripe2",
    ] {
        let own = Contender::parse(own, &kind_of).unwrap();
        assert_eq!(fsdyno_recipes::layouts::joined(&own, &devices, "x"), None);
    }
    let mirrored = Contender::parse("ext4@mirror2", &kind_of).unwrap();
    let joined = fsdyno_recipes::layouts::joined(&mirrored, &devices, "x").unwrap();
    assert!(joined.join[0].shell().contains("--level=raid1"));
    for (contender, level) in [
        ("xfs@stripe2", "raid0"),
        ("xfs@parity3", "raid5"),
        ("bcachefs@parity3", "raid5"),
    ] {
        let contender = Contender::parse(contender, &kind_of).unwrap();
        let joined = fsdyno_recipes::layouts::joined(&contender, &devices, "x").unwrap();
        let line = joined.join[0].shell();
        assert!(line.contains(&format!("--level={level}")), "{line}");
    }
}
