//! Devices in use: mounted, swap, members of pools, open, below others.

use crate::stage::{Process, Stage, program, ready, run, text, wait_for};
use crate::{check_refused, check_released};
use fsdyno_host::guard::Consent;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[test]
fn a_mounted_device_is_refused() {
    if !ready("a_mounted_device_is_refused", &["mkfs.ext4"]) {
        return;
    }
    let mut stage = Stage::new();
    let node = stage.node.clone();
    run(&["mkfs.ext4", "-q", "-F", &text(&node)]);
    let point = stage.mount(&node);
    let mounted = format!("it is mounted at {}", point.display());
    let refusal = check_refused(&stage, &[&node], &stage.consent(&["ext4"]), &[&mounted]);
    assert!(!refusal.remedy.contains("--erase"), "{refusal}");
}

#[test]
fn a_device_mounted_in_another_namespace_is_refused() {
    if !ready(
        "a_device_mounted_in_another_namespace_is_refused",
        &["mkfs.ext4", "unshare"],
    ) {
        return;
    }
    let stage = Stage::new();
    run(&["mkfs.ext4", "-q", "-F", &text(&stage.node)]);
    let point = stage.folder.path().join("elsewhere");
    fs::create_dir(&point).unwrap();
    let script = format!(
        "mount -o ro {} {} && echo mounted && exec sleep 600",
        text(&stage.node),
        text(&point)
    );
    let child = Command::new(program("unshare"))
        .args(["-m", "--propagation", "private", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut holder = Process(child);
    wait_for(&mut holder, "mounted");
    let mounted = format!("it is mounted at {}", point.display());
    check_refused(
        &stage,
        &[&stage.node],
        &stage.consent(&["ext4"]),
        &[&mounted],
    );
}

#[test]
fn a_partition_of_a_mounted_disk_is_refused_and_so_is_the_disk() {
    let needed = ["sfdisk", "addpart", "mkfs.ext4"];
    if !ready("a_partition_of_a_mounted_disk_is_refused", &needed) {
        return;
    }
    let mut stage = Stage::new();
    let [first, second] = stage.partition("gpt");
    run(&["mkfs.ext4", "-q", "-F", &text(&first)]);
    stage.mount(&first);
    let name = stage.name();
    let consents = stage.consent(&["gpt", "ext4"]);
    let inside = format!("its partition {name}p1 is mounted at");
    check_refused(&stage, &[&stage.node], &consents, &[&inside]);
    check_refused(&stage, &[&first], &consents, &["it is mounted at"]);
    let other_partition = format!("{name}p1, on the same disk {name}, is mounted at");
    let own = Consent {
        identity: format!("{name}p2"),
        signatures: Vec::new(),
        configured: false,
    };
    check_refused(&stage, &[&second], &[own], &[&other_partition]);
}

#[test]
fn a_mounted_disk_refuses_its_partitions() {
    let needed = ["sfdisk", "addpart", "mkfs.ext4"];
    if !ready("a_mounted_disk_refuses_its_partitions", &needed) {
        return;
    }
    let mut stage = Stage::new();
    let [_, second] = stage.partition("dos");
    let node = stage.node.clone();
    run(&["mkfs.ext4", "-q", "-F", &text(&node), "32M"]);
    stage.mount(&node);
    let disk = format!("its disk {} is mounted at", stage.name());
    check_refused(&stage, &[&second], &stage.consent(&[]), &[&disk]);
}

#[test]
fn swap_in_use_is_refused() {
    if !ready("swap_in_use_is_refused", &["mkswap", "swapon", "swapoff"]) {
        return;
    }
    let mut stage = Stage::new();
    let node = text(&stage.node);
    run(&["mkswap", "-q", &node]);
    stage.with(&["swapon", "-p", "-1", &node], &["swapoff", &node]);
    check_refused(
        &stage,
        &[&stage.node],
        &stage.consent(&["swap"]),
        &["it is swap in use"],
    );
}

#[test]
fn a_member_of_a_mounted_pool_is_refused() {
    if !ready("a_member_of_a_mounted_pool_is_refused", &["mkfs.btrfs"]) {
        return;
    }
    let (mut first, second) = (Stage::of_size(128 << 20), Stage::of_size(128 << 20));
    let (one, two) = (first.node.clone(), second.node.clone());
    run(&[
        "mkfs.btrfs",
        "-q",
        "-f",
        "-m",
        "raid1",
        &text(&one),
        &text(&two),
    ]);
    first.mount(&one);
    for (stage, node) in [(&first, &one), (&second, &two)] {
        let belongs = ["it belongs to the mounted file system btrfs"];
        check_refused(stage, &[node], &stage.consent(&["btrfs"]), &belongs);
    }
}

/// Not a test of its own: the process that others start to hold a device exclusively.
#[test]
fn holds_a_device_in_a_child_process() {
    let Some(node) = std::env::var_os("FSDYNO_TEST_HOLD") else {
        return;
    };
    let _held = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_EXCL)
        .open(node)
        .unwrap();
    println!("\nheld");
    std::thread::sleep(std::time::Duration::from_secs(600));
}

#[test]
fn a_device_held_open_is_refused_and_the_holder_is_named() {
    if !ready("a_device_held_open_is_refused", &["sh"]) {
        return;
    }
    let stage = Stage::new();
    {
        let child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "in_use::holds_a_device_in_a_child_process",
                "--nocapture",
            ])
            .env("FSDYNO_TEST_HOLD", &stage.node)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut holder = Process(child);
        wait_for(&mut holder, "held");
        let pid = format!("(process {})", holder.0.id());
        let reasons = ["it is claimed for exclusive use", "it is open in ", &pid];
        check_refused(&stage, &[&stage.node], &stage.consent(&[]), &reasons);
    }
    let script = format!("exec 3<{}; echo held; exec sleep 600", text(&stage.node));
    let child = Command::new("sh")
        .args(["-c", &script])
        .stdout(Stdio::piped())
        .spawn();
    let mut holder = Process(child.unwrap());
    wait_for(&mut holder, "held");
    let open = format!("it is open in sleep (process {})", holder.0.id());
    check_refused(&stage, &[&stage.node], &stage.consent(&[]), &[&open]);
}

#[test]
fn a_locked_disk_is_refused() {
    if !ready("a_locked_disk_is_refused", &[]) {
        return;
    }
    let stage = Stage::new();
    let held = check_released(&stage.node, &stage.consent(&[]));
    check_refused(
        &stage,
        &[&stage.node],
        &stage.consent(&[]),
        &["has locked", "flock"],
    );
    drop(held);
}

#[test]
fn a_file_with_two_loop_devices_or_an_open_descriptor_is_refused() {
    if !ready("a_file_behind_two_loop_devices_is_refused", &["sh"]) {
        return;
    }
    let mut stage = Stage::new();
    let file = text(&stage.backing());
    {
        let script = format!("exec 3<'{file}'; echo held; exec sleep 600");
        let child = Command::new("sh")
            .args(["-c", &script])
            .stdout(Stdio::piped())
            .spawn();
        let mut holder = Process(child.unwrap());
        wait_for(&mut holder, "held");
        let open = format!("which is open in sleep (process {})", holder.0.id());
        check_refused(&stage, &[&stage.node], &stage.consent(&[]), &[&open]);
    }
    let twin = run(&["losetup", "--show", "-f", &file]).trim().to_owned();
    stage
        .undo
        .push(vec!["losetup".into(), "-d".into(), twin.clone()]);
    let backing = format!("is behind {} too", twin.trim_start_matches("/dev/"));
    check_refused(
        &stage,
        &[&stage.node],
        &stage.consent(&[]),
        &[&file, &backing],
    );
}

#[test]
fn a_loop_device_on_a_device_and_the_device_below_a_mapping_are_refused() {
    if !ready("a_window_on_another_device_is_refused", &["dmsetup"]) {
        return;
    }
    let mut stage = Stage::new();
    let node = text(&stage.node);
    let window = run(&["losetup", "--show", "-f", &node]).trim().to_owned();
    stage
        .undo
        .push(vec!["losetup".into(), "-d".into(), window.clone()]);
    let consent = Consent::parse(window.trim_start_matches("/dev/"));
    let made = format!("it is made of {node}");
    check_refused(&stage, &[Path::new(&window)], &[consent], &[&made]);
    run(&["losetup", "-d", &window]);
    stage.undo.pop();

    if !Path::new("/sys/class/misc/device-mapper").exists() {
        println!("SKIP kernel device-mapper: the_device_below_a_mapping_is_refused");
        return;
    }
    let name = format!("fsdyno-test-{}", std::process::id());
    let table = format!("0 65536 linear {node} 0");
    stage.with(
        &["dmsetup", "create", &name, "--table", &table],
        &["dmsetup", "remove", &name],
    );
    let carries = format!("({name})");
    let reasons = ["it carries the device-mapper device", &carries];
    check_refused(&stage, &[&stage.node], &stage.consent(&[]), &reasons);
}
