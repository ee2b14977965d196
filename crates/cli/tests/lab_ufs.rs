//! UFS1 and UFS2 of our own making, as the kernel's driver finds and leaves them: in guests whose
//! kernel writes UFS. Skips by name where there is none.

mod support;

use serde_json::Value;
use support::{Home, have, outcomes};

/// The kernel of a guest.
const KERNEL: &str = "linux.uml";

/// Runs in guests, without repeats. None, said aloud, where their kernel does not write UFS.
fn in_guests(home: &Home, fs: &str, more: &[&str], test: &str) -> Option<Value> {
    let work = home.work().display().to_string();
    let base = ["run", "--lab", "uml", "--work-dir", &work, "--fs", fs];
    let words: Vec<&str> = base
        .iter()
        .chain(&["--repeats", "1", "--guest-memory", "256M"])
        .chain(more)
        .copied()
        .collect();
    let said = home.fsdyno(&words);
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        if cell["outcome"]["outcome"] == "skipped" {
            let requirement = cell["outcome"]["requirement"].as_str().unwrap();
            println!("SKIP {requirement} (in guests): {test}");
            return None;
        }
    }
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let measured = outcomes(&result);
    assert!(
        measured.iter().all(|(_, how)| how == "measured"),
        "{}",
        said.out
    );
    Some(result)
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
    if !have(&[KERNEL], test) {
        return;
    }
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
    if let Some(result) = in_guests(&home, fs, &load, test) {
        checked(&result);
    }
}

/// Beyond the direct blocks, the blocks of one row of pointers, and of two: with blocks of 4 KiB that
/// is at 4 MiB and 4 GiB for UFS1, at 2 MiB and 1 GiB for UFS2.
const LARGE: &str = "cd {dir} && for at in 0 11 12 13 1035 1036 5000 262667 262668 300000 1200000; do \
    dd if=/dev/urandom of=sparse bs=4096 count=3 seek=$at conv=notrunc status=none || exit 1; done && \
    dd if=/dev/urandom of=whole bs=1M count=40 status=none && \
    dd if=/dev/urandom of=odd bs=997 count=300 status=none && \
    cp whole cut && truncate -s 30000001 cut && truncate -s 5000 odd && \
    ln -s $(printf 'x%.0s' $(seq 50)) short && ln -s $(printf 'x%.0s' $(seq 500)) long && ln odd hard \
    && md5sum sparse whole cut odd hard > sums";

/// What was written comes back after a mount; then as much as there is room for is written in blocks,
/// which ends with ENOSPC.
const FULL: &str = "cd {dir} && md5sum -c --quiet sums && test $(readlink long | wc -c) = 501 && \
    if dd if=/dev/zero of=rest bs=1M 2> said; then exit 1; fi; grep -q 'No space left' said && \
    md5sum -c --quiet sums && rm whole && md5sum -c --quiet --ignore-missing sums";

#[test]
fn files_beyond_all_rows_of_pointers_come_back_and_a_full_disk_says_so() {
    let test = "files_beyond_all_rows_of_pointers_come_back_and_a_full_disk_says_so";
    if !have(&[KERNEL], test) {
        return;
    }
    let home = Home::new();
    let fs = "ufs1[-b 4096 -f 1024],ufs2[-b 4096 -f 1024],ufs1,ufs2";
    let load = [
        "--on",
        "loop:160M",
        "--dataset",
        "none",
        "--exec",
        LARGE,
        "--exec",
        FULL,
    ];
    if let Some(result) = in_guests(&home, fs, &load, test) {
        checked(&result);
    }
}
