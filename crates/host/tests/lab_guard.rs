//! The device guard on real loop devices made to look dangerous. Each must be refused for the right
//! reason, and not a byte may change; the harmless one must pass. The tests touch only the loop
//! devices that they attach themselves, and undo everything, also when they fail.

mod stage;

use fsdyno_host::guard::{Consent, Refusal, Released, release};
use fsdyno_model::Bytes;
use stage::{Process, SIZE, Stage, checksum, program, ready, run, text, wait_for};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const NEED: Bytes = Bytes(16 << 20);

/// Refused, for every reason expected, and nothing changed.
fn check_refused(
    stage: &Stage,
    paths: &[&Path],
    consents: &[Consent],
    expected: &[&str],
) -> Refusal {
    let paths: Vec<PathBuf> = paths.iter().map(|path| (*path).to_owned()).collect();
    let before = checksum(stage);
    let refusal = release(&paths, consents, NEED).expect_err("it must be refused");
    assert_eq!(checksum(stage), before, "{paths:?} changed");
    let shown = refusal.to_string();
    for reason in expected {
        assert!(shown.contains(reason), "no `{reason}` in:\n{shown}");
    }
    refusal
}

fn check_released(path: &Path, consents: &[Consent]) -> Released {
    let mut released =
        release(&[path.to_owned()], consents, NEED).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(released.len(), 1);
    released.remove(0)
}

#[test]
fn a_device_without_anything_passes_with_consent_and_is_kept_locked() {
    if !ready("a_device_without_anything_passes", &["flock", "mkfs.ext4"]) {
        return;
    }
    let mut stage = Stage::new();
    let way_out = check_refused(&stage, &[&stage.node], &[], &["nothing says"]).way_out;
    assert!(
        way_out.contains(&format!("--erase '{}'", stage.name())),
        "{way_out}"
    );

    let before = checksum(&stage);
    let released = check_released(&stage.node, &stage.consent(&[]));
    assert_eq!(released.device(), stage.node);
    assert_eq!(checksum(&stage), before);
    let try_lock = |node: &Path| {
        let status = Command::new(program("flock"))
            .args(["-n", "-s", &text(node), "true"])
            .status();
        status.unwrap().success()
    };
    assert!(!try_lock(&stage.node), "the disk is not locked");
    released.recheck().unwrap();

    // Made and mounted while it is held, as a run does; while mounted, no mkfs may follow.
    run(&["mkfs.ext4", "-q", "-F", &text(&stage.node)]);
    assert_ne!(checksum(&stage), before, "the checksum is blind");
    released.recheck().unwrap();
    let node = stage.node.clone();
    stage.mount(&node);
    let refusal = released.recheck().expect_err("it is mounted");
    assert!(
        refusal.to_string().contains("it is mounted at"),
        "{refusal}"
    );
    drop(released);
    assert!(try_lock(&stage.node), "the lock outlives the release");
}

#[test]
fn what_is_no_device_is_refused() {
    if !ready("what_is_no_device_is_refused", &[]) {
        return;
    }
    let stage = Stage::new();
    let file = stage.folder.path().join("plain file");
    fs::write(&file, "precious").unwrap();
    let consents = stage.consent(&[]);
    check_refused(
        &stage,
        &[&file],
        &consents,
        &["is a regular file", "--on loop", "--work-dir"],
    );
    check_refused(
        &stage,
        &[stage.folder.path()],
        &consents,
        &["is a directory", "--on dir:PATH"],
    );
    check_refused(
        &stage,
        &[Path::new("/dev/null")],
        &consents,
        &["is a character device"],
    );
    check_refused(
        &stage,
        &[Path::new("/dev/no-such")],
        &consents,
        &["does not exist"],
    );
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

#[test]
fn every_signature_must_be_acknowledged() {
    // Each with the least room it asks for.
    for (kind, mebibytes, making) in [
        ("ext4", 64, &["mkfs.ext4", "-q", "-F", "-L", "data"][..]),
        ("xfs", 320, &["mkfs.xfs", "-q", "-f", "-L", "data"]),
        ("btrfs", 128, &["mkfs.btrfs", "-q", "-f", "-L", "data"]),
        ("swap", 64, &["mkswap", "-q", "-L", "data"]),
    ] {
        let test = format!("every_signature_must_be_acknowledged ({kind})");
        if !ready(&test, &making[..1]) {
            continue;
        }
        let stage = Stage::of_size(mebibytes << 20);
        let node = text(&stage.node);
        run(&[making, &[&node[..]]].concat());
        let holds = [kind, "labelled `data`"];
        let refusal = check_refused(&stage, &[&stage.node], &stage.consent(&[]), &holds);
        let flag = format!("--erase '{}:{kind}'", stage.name());
        assert!(refusal.way_out.contains(&flag), "{refusal}");
        check_refused(&stage, &[&stage.node], &stage.consent(&["vfat"]), &holds);
        drop(check_released(&stage.node, &stage.consent(&[kind])));
    }
}

#[test]
fn partition_tables_and_what_lies_in_partitions_count_as_signatures() {
    let needed = ["sfdisk", "addpart", "mkfs.ext4"];
    if !ready("partition_tables_count_as_signatures", &needed) {
        return;
    }
    for kind in ["gpt", "dos"] {
        let mut stage = Stage::new();
        let [first, second] = stage.partition(kind);
        run(&["mkfs.ext4", "-q", "-F", &text(&first)]);
        let table = format!("it holds a {kind} partition table");
        let inside = format!("its partition {}p1 holds an ext4 file system", stage.name());
        let refusal = check_refused(
            &stage,
            &[&stage.node],
            &stage.consent(&[]),
            &[&table, &inside],
        );
        assert!(
            refusal.way_out.contains(&format!(":{kind},ext4'")),
            "{refusal}"
        );
        check_refused(&stage, &[&stage.node], &stage.consent(&[kind]), &[&inside]);
        drop(check_released(&stage.node, &stage.consent(&[kind, "ext4"])));
        // The other partition holds nothing, and the table is not its own.
        let consent = Consent {
            identity: format!("{}p2", stage.name()),
            signatures: Vec::new(),
        };
        drop(check_released(&second, &[consent]));
    }
}

#[test]
fn what_was_there_can_be_looked_at_later() {
    if !ready("what_was_there_can_be_looked_at_later", &["mkfs.btrfs"]) {
        return;
    }
    let stage = Stage::new();
    run(&["mkfs.ext4", "-q", "-F", &text(&stage.node)]);
    let kept = stage.folder.path().join("kept");
    let released = check_released(&stage.node, &stage.consent(&["ext4"]));
    let paths = [(); 2].map(|()| released.save_signatures(&kept).unwrap());
    assert_ne!(paths[0], paths[1], "earlier copies must stay");
    let description = fs::read_to_string(&paths[0]).unwrap();
    assert!(description.contains("\"kind\": \"ext4\""), "{description}");
    let copies = fs::read(paths[0].with_extension("bin")).unwrap();
    let mut device = vec![0; 1 << 20];
    let backing = File::open(stage.backing()).unwrap();
    backing.read_exact_at(&mut device, 0).unwrap();
    assert_eq!(copies.len(), 2 << 20);
    assert!(copies[..1 << 20] == device, "the first mebibyte differs");
}

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
    assert!(!refusal.way_out.contains("--erase"), "{refusal}");
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
    let beside = format!("{name}p1, on the same disk {name}, is mounted at");
    let own = Consent {
        identity: format!("{name}p2"),
        signatures: Vec::new(),
    };
    check_refused(&stage, &[&second], &[own], &[&beside]);
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
fn holds_a_device_when_asked_to() {
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
            .args(["--exact", "holds_a_device_when_asked_to", "--nocapture"])
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
fn a_file_behind_two_loop_devices_or_open_elsewhere_is_refused() {
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
    let behind = format!("is behind {} too", twin.trim_start_matches("/dev/"));
    check_refused(
        &stage,
        &[&stage.node],
        &stage.consent(&[]),
        &[&file, &behind],
    );
}

#[test]
fn a_window_on_another_device_is_refused_and_so_is_what_lies_below_a_mapping() {
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
        println!("SKIP kernel device-mapper: what_lies_below_a_mapping_is_refused");
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

#[test]
fn too_small_read_only_and_empty_devices_are_refused() {
    if !ready(
        "too_small_read_only_and_empty_devices_are_refused",
        &["blockdev"],
    ) {
        return;
    }
    let mut stage = Stage::new();
    let before = checksum(&stage);
    let nodes = [stage.node.clone()];
    let refusal = release(&nodes, &stage.consent(&[]), Bytes(1 << 40)).expect_err("too small");
    assert!(
        refusal.to_string().contains("it is too small: 64"),
        "{refusal}"
    );
    assert_eq!(checksum(&stage), before);

    let node = text(&stage.node);
    stage.with(
        &["blockdev", "--setro", &node],
        &["blockdev", "--setrw", &node],
    );
    check_refused(
        &stage,
        &[&stage.node],
        &stage.consent(&[]),
        &["it is read-only"],
    );
}

#[test]
fn a_device_named_twice_or_with_its_partition_is_refused() {
    if !ready("a_device_named_twice_is_refused", &["sfdisk", "addpart"]) {
        return;
    }
    let mut stage = Stage::new();
    let consents = stage.consent(&["gpt"]);
    let link = stage.folder.path().join("another name");
    std::os::unix::fs::symlink(&stage.node, &link).unwrap();
    check_refused(
        &stage,
        &[&stage.node, &link],
        &consents,
        &["it is named twice"],
    );
    let [first, second] = stage.partition("gpt");
    let same = format!("it lies on the same disk ({})", stage.name());
    check_refused(&stage, &[&stage.node, &first], &consents, &[&same]);
    check_refused(&stage, &[&second, &stage.node], &consents, &[&same]);
    check_refused(&stage, &[&first, &second], &consents, &[&same]);
}

#[test]
fn a_wrong_identity_is_refused_and_the_right_one_shown() {
    if !ready("a_wrong_identity_is_refused", &[]) {
        return;
    }
    let stage = Stage::new();
    let reason = format!("`WD-1234` is not its identity, which is `{}`", stage.name());
    check_refused(
        &stage,
        &[&stage.node],
        &[Consent::parse("WD-1234")],
        &[&reason],
    );
}

#[test]
fn all_are_released_or_none() {
    if !ready("all_are_released_or_none", &["flock"]) {
        return;
    }
    let (good, bad) = (Stage::new(), Stage::new());
    let refusal = check_refused(
        &bad,
        &[&good.node, &bad.node],
        &good.consent(&[]),
        &["nothing says"],
    );
    assert_eq!(refusal.device, bad.node);
    run(&["flock", "-n", "-x", &text(&good.node), "true"]);
}

#[test]
fn another_medium_after_the_release_is_noticed() {
    if !ready("another_medium_after_the_release_is_noticed", &[]) {
        return;
    }
    let stage = Stage::new();
    let released = check_released(&stage.node, &stage.consent(&[]));
    OpenOptions::new()
        .write(true)
        .open(stage.backing())
        .and_then(|file| file.set_len(SIZE / 2))
        .unwrap();
    run(&["losetup", "-c", &text(&stage.node)]);
    let refusal = released.recheck().expect_err("its size changed");
    assert!(refusal.to_string().contains("its size is 32"), "{refusal}");
}
