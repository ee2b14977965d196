//! The device that passes.

use crate::stage::{Stage, checksum, program, ready, run, text};
use crate::{check_refused, check_released};
use std::path::Path;
use std::process::Command;

#[test]
fn a_device_without_anything_passes_with_consent_and_is_kept_locked() {
    if !ready("a_device_without_anything_passes", &["flock", "mkfs.ext4"]) {
        return;
    }
    let mut stage = Stage::new();
    let remedy = check_refused(&stage, &[&stage.node], &[], &["no --erase names it"]).remedy;
    assert!(
        remedy.contains(&format!("--erase '{}'", stage.name())),
        "{remedy}"
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
