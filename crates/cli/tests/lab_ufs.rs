//! UFS1 and UFS2 of our own making, as the kernel's driver finds and leaves them: in guests of the
//! lab kernel; and which devices they are not made on. Skips by name where something is missing.

mod support;

use serde_json::Value;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use support::{Home, lab_kernel, loops_backed_under, outcomes, root_and};

/// Runs in guests of the lab kernel, without repeats.
fn in_guests(home: &Home, kernel: &Path, fs: &str, more: &[&str]) -> Value {
    let work = home.work().display().to_string();
    let kernel = kernel.display().to_string();
    let base = ["run", "--lab", "uml", "--work-dir", &work, "--fs", fs];
    let guest = ["--repeats", "1", "--guest-memory", "256M"];
    let words: Vec<&str> = base
        .iter()
        .chain(&guest)
        .chain(&["--guest-kernel", &kernel])
        .chain(more)
        .copied()
        .collect();
    let said = home.fsdyno(&words);
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let result = home.result("last");
    let measured = outcomes(&result);
    assert!(
        measured.iter().all(|(_, how)| how == "measured"),
        "{}",
        said.out
    );
    result
}

/// What is written down about the cells: each was checked after its unmount.
fn checked(result: &Value) {
    for cell in result["cells"].as_array().unwrap() {
        let text = cell.to_string();
        assert!(text.contains("newfs") && text.contains("fsck"), "{text}");
    }
}

#[test]
fn what_the_kernel_wrote_and_deleted_agrees_with_itself_in_every_geometry() {
    let test = "what_the_kernel_wrote_and_deleted_agrees_with_itself_in_every_geometry";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let home = Home::new();
    let fs = "ufs1:dirsync,ufs1[-b 4096 -f 512]:async,ufs2,ufs2[-b 16384 -f 2048 -L name]:noatime";
    let load = [
        "--dataset",
        "ports",
        "--scale",
        "0.01",
        "--workload",
        "untar,copy,delete",
        "--verify",
    ];
    checked(&in_guests(&home, &kernel, fs, &load));
}

/// The blocks around which a file of 4 KiB blocks goes on to the next row of pointers: after 12, and
/// after 1024 and 1024 squared more for UFS1, 512 and 512 squared more for UFS2. Only these are
/// written, and read again.
const PIECES: &str = "cd {dir} && at='0 11 12 523 1035 5000 262667 300000 1049611 1200000' && \
    pieces() { for n in $at; do dd if=sparse bs=4096 count=3 skip=$n status=none; done | md5sum; } && ";

/// Files of all shapes: with holes, whole, of odd lengths, cut off, and links short and long.
const LARGE: &str = "for n in $at; do \
    dd if=/dev/urandom of=sparse bs=4096 count=3 seek=$n conv=notrunc status=none || exit 1; done && \
    dd if=/dev/urandom of=whole bs=1M count=20 status=none && \
    dd if=/dev/urandom of=odd bs=997 count=300 status=none && \
    cp whole cut && truncate -s 15000001 cut && truncate -s 5000 odd && \
    ln -s $(printf 'x%.0s' $(seq 50)) short && ln -s $(printf 'x%.0s' $(seq 500)) long && \
    ln odd hard && md5sum whole cut odd hard > sums && pieces > sum";

/// What was written comes back after a mount; then as much as there is room for is written in blocks,
/// which ends with ENOSPC and harms nothing.
const FULL: &str = "md5sum -c --quiet sums && test \"$(pieces)\" = \"$(cat sum)\" && \
    test $(readlink long | wc -c) = 501 && \
    if dd if=/dev/zero of=rest bs=1M 2> said; then exit 1; fi; grep -q 'No space left' said && \
    md5sum -c --quiet sums && test \"$(pieces)\" = \"$(cat sum)\" && rm whole cut";

#[test]
fn files_beyond_all_rows_of_pointers_come_back_and_a_full_disk_says_so() {
    let test = "files_beyond_all_rows_of_pointers_come_back_and_a_full_disk_says_so";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let home = Home::new();
    let fs = "ufs1[-b 4096 -f 1024],ufs2[-b 4096 -f 1024],ufs1,ufs2";
    let (large, full) = (format!("{PIECES}{LARGE}"), format!("{PIECES}{FULL}"));
    let size = ["--on", "loop:80M", "--dataset", "none"];
    let load = [&size[..], &["--exec", &large, "--exec", &full]].concat();
    checked(&in_guests(&home, &kernel, fs, &load));
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_device_that_is_mounted_and_a_file_behind_one_are_refused() {
    let test = "a_device_that_is_mounted_and_a_file_behind_one_are_refused";
    if !root_and(&["losetup", "mount", "mkfs.ext2"], test) {
        return;
    }
    let home = Home::new();
    let path = home.path("image");
    File::create_new(&path).unwrap().set_len(8 << 20).unwrap();
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().unwrap();
        assert!(output.status.success(), "{program} {words:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let device = run("losetup", &["--find", "--show", word(&path)]);
    let behind = home.fsdyno(&["newfs", word(&path)]);
    let free = home.fsdyno(&["newfs", "-O", "1", &device]);
    let found = home.fsdyno(&["fsck", &device]);
    run("mkfs.ext2", &["-q", &device]);
    let target = home.path("mnt");
    fs::create_dir(&target).unwrap();
    run("mount", &[&device, word(&target)]);
    let mounted = home.fsdyno(&["newfs", &device]);
    run("umount", &[word(&target)]);
    run("losetup", &["--detach", &device]);

    assert_eq!((free.code, found.code), (Some(0), Some(0)), "{}", free.err);
    for said in [behind, mounted] {
        assert_eq!(said.code, Some(3), "{}{}", said.out, said.err);
        assert!(said.err.contains("is in use"), "{}", said.err);
    }
    assert!(loops_backed_under(home.root.path()).is_empty());
}
