//! Devices with signatures.

use crate::stage::{Stage, ready, run, text};
use crate::{check_refused, check_released};
use fsdyno_host::guard::Consent;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

#[test]
fn every_signature_must_be_acknowledged() {
    // Each with its smallest size.
    for (kind, mebibytes, formatting) in [
        ("ext4", 64, &["mkfs.ext4", "-q", "-F", "-L", "data"][..]),
        ("xfs", 320, &["mkfs.xfs", "-q", "-f", "-L", "data"]),
        ("btrfs", 128, &["mkfs.btrfs", "-q", "-f", "-L", "data"]),
        ("swap", 64, &["mkswap", "-q", "-L", "data"]),
    ] {
        let test = format!("every_signature_must_be_acknowledged ({kind})");
        if !ready(&test, &formatting[..1]) {
            continue;
        }
        let stage = Stage::of_size(mebibytes << 20);
        let node = text(&stage.node);
        run(&[formatting, &[&node[..]]].concat());
        let holds = [kind, "labelled `data`"];
        let refusal = check_refused(&stage, &[&stage.node], &stage.consent(&[]), &holds);
        let flag = format!("--erase '{}:{kind}'", stage.name());
        assert!(refusal.remedy.contains(&flag), "{refusal}");
        check_refused(&stage, &[&stage.node], &stage.consent(&["vfat"]), &holds);
        drop(check_released(&stage.node, &stage.consent(&[kind])));
    }
}

#[test]
fn partition_tables_and_signatures_in_partitions_are_found() {
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
            refusal.remedy.contains(&format!(":{kind},ext4'")),
            "{refusal}"
        );
        check_refused(&stage, &[&stage.node], &stage.consent(&[kind]), &[&inside]);
        drop(check_released(&stage.node, &stage.consent(&[kind, "ext4"])));
        // The other partition holds nothing, and the table is not its own.
        let consent = Consent {
            identity: format!("{}p2", stage.name()),
            signatures: Vec::new(),
            configured: false,
        };
        drop(check_released(&second, &[consent]));
    }
}

#[test]
fn saved_signatures_hold_the_overwritten_bytes() {
    if !ready(
        "saved_signatures_hold_the_overwritten_bytes",
        &["mkfs.btrfs"],
    ) {
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
