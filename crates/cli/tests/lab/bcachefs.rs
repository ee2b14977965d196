//! bcachefs that fsdyno created, read, written and checked by the kernel in guests of the lab kernel.
//! Without the kernel, the tests are skipped by name.

use crate::support::{Home, assert_made_and_checked, in_guests, lab_kernel};

#[test]
fn a_new_bcachefs_of_each_kind_is_consistent_after_kernel_writes() {
    let named = "a_new_bcachefs_of_each_kind_is_consistent_after_kernel_writes";
    let Some(kernel) = lab_kernel(named) else {
        return;
    };
    let home = Home::new();
    let fs = "bcachefs[--block_size=512 -L name],bcachefs:compression=lz4,bcachefs@pool2,bcachefs@mirror3,\
              bcachefs[--compression=zstd:3 --data_checksum=xxhash --metadata_checksum=crc64]:noatime";
    let load = ["--dataset", "ports", "--scale", "0.01", "--verify"];
    let phases = ["--phases", "untar,copy,delete"];
    let result = in_guests(&home, &kernel, fs, &[&load[..], &phases].concat());
    assert_eq!(result["cells"].as_array().unwrap().len(), 5);
    assert_made_and_checked(&result, "bcachefs");
}

/// Makes, damages, checks and repairs file systems on loop devices of the guest. The zeros are written
/// over nodes of B-trees.
const DAMAGE: &str = r#"
set -eux
cd {dir}
truncate -s 64M a b
A=$(losetup --find --show a) B=$(losetup --find --show b)
mkdir m
cp -r /usr/bin/env /etc/fstab .
export XDG_STATE_HOME=$PWD/state
make() { $FSDYNO --dirs-from-env bcachefs make "$@"; }
finds() { if $FSDYNO bcachefs check "$@" > found; then exit 1; fi; test -s found; }
holds() { cmp env m/env && cmp fstab m/fstab && umount m; }
# The root of the B-tree snapshot_trees.
damage() { dd if=/dev/zero of=$1 bs=128K seek=32 count=1 conv=notrunc,fsync status=none; }

make --erase loop0 $A
mount -t bcachefs $A m && cp env fstab m && umount m
sum=$(md5sum < a)
$FSDYNO bcachefs check $A
damage $A
damaged=$(md5sum < a)
finds $A
test "$damaged" = "$(md5sum < a)" && test "$sum" != "$damaged"
$FSDYNO bcachefs check --repair $A
$FSDYNO bcachefs check $A
mount -t bcachefs $A m && holds
dd if=/dev/zero of=$A bs=1M count=3 conv=notrunc,fsync status=none
finds $A

dd if=/dev/zero of=$A bs=1M count=64 conv=fsync status=none
make --replicas=2 --erase loop0 --erase loop1 $A $B
mount -t bcachefs $A:$B m && cp env fstab m && umount m
dd if=/dev/zero of=$B bs=1M seek=3 count=6 conv=notrunc,fsync status=none
mount -t bcachefs $A:$B m && holds
losetup --detach $B
mount -t bcachefs -o degraded $A m && holds
losetup --detach $A
"#;

#[test]
fn the_check_finds_damage_and_a_mirror_survives_the_loss_of_a_disk() {
    let named = "the_check_finds_damage_and_a_mirror_survives_the_loss_of_a_disk";
    let Some(kernel) = lab_kernel(named) else {
        return;
    };
    let home = Home::new();
    let script = format!("FSDYNO={}\n{DAMAGE}", env!("CARGO_BIN_EXE_fsdyno"));
    let load = ["--exec", &script, "--exec-everywhere", "--dataset", "none"];
    in_guests(&home, &kernel, "ext4", &load);
}
