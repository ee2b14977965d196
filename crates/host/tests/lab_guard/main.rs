//! The device guard on real loop devices made to look dangerous. Each must be refused for the right
//! reason, and not a byte may change; the harmless one must pass. The tests touch only the loop
//! devices that they attach themselves, and undo everything, also when they fail.

mod harmless;
mod in_use;
mod signed;
mod stage;

use fsdyno_host::guard::{Consent, Refusal, Released, release};
use fsdyno_model::Bytes;
use stage::{SIZE, Stage, checksum, ready, run, text};
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

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
    let same = format!("it is on the same disk ({})", stage.name());
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
        &["no --erase names it"],
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
