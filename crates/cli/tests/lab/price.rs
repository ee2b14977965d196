//! The price of protection, measured in virtual time. Without the lab kernel, the tests are skipped by
//! name.

use crate::support::{Home, Printed, have, lab_kernel};
use serde_json::Value;
use std::path::Path;

fn price(home: &Home, kernel: &Path, words: &[&str]) -> Printed {
    let (work, kernel) = (
        home.work().display().to_string(),
        kernel.display().to_string(),
    );
    let place = ["--work-dir", &work, "--guest-kernel", &kernel];
    home.fsdyno(&[&["price"][..], words, &place].concat())
}

#[test]
fn protections_are_priced_by_the_same_work_without_them() {
    let name = "protections_are_priced_by_the_same_work_without_them";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    if !have(&["mkfs.btrfs", "mkfs.ext4", "mdadm"], name) {
        return;
    }
    let measured = |fs: &str, kinds: &[&str]| {
        let home = Home::new();
        let words = [
            "mail",
            "--fs",
            fs,
            "--scale",
            "0.02",
            "--draws",
            "3",
            "--snapshots",
            "3",
            "--format",
            "json",
        ];
        let printed = price(&home, &kernel, &[&words[..], kinds].concat());
        let prices: Value = serde_json::from_str(&printed.out).expect(&printed.err);
        let again = ["price", "--run", "last", "--format", "json"];
        let again = home.fsdyno(&[&again[..], kinds].concat());
        assert_eq!(again.out, printed.out);
        assert_eq!(prices["unpriced"], serde_json::json!([]));
        prices["prices"].clone()
    };
    let btrfs = measured("btrfs", &[]);
    let of = |protection: &str| {
        let all = btrfs.as_array().unwrap().iter();
        let mut found = all.filter(|one| one["protection"] == protection);
        found.next().expect(protection).clone()
    };
    let ratio = |price: &Value, figure: &str| price[figure].as_f64().unwrap();
    let snapshots = of("3 snapshots");
    assert_eq!(snapshots["with"], "btrfs snapshots=3");
    assert_eq!(
        snapshots["phases"],
        serde_json::json!(["mail-read", "mail-expunge"])
    );
    // Every second message is deleted.
    assert!(ratio(&snapshots, "space") > 1.3, "{snapshots}");
    let mirror = of("a mirror of 2 disks");
    assert_eq!(mirror["disks"], serde_json::json!([2, 1]));
    // A single disk has two copies of metadata, and one of data.
    assert!(ratio(&mirror, "written") > 1.05, "{mirror}");
    let compression = of("compression (zstd)");
    assert!(ratio(&compression, "processor") > 1.05, "{compression}");
    let checksums = of("checksums of data");
    assert_eq!(checksums["without"], "btrfs:nodatasum");
    // A disk that is lost, of a file system's own copies and of md, which restores all of the disk.
    let ext4 = measured("ext4", &["--kinds", "degraded,rebuild"]);
    let lasts = |prices: &Value, protection: &str| {
        let all = prices.as_array().unwrap().iter();
        let mut found = all.filter(|one| one["protection"] == protection);
        found.next().expect(protection)["lasts"].as_u64().unwrap()
    };
    for protection in ["a degraded mirror", "a degraded parity"] {
        let (of_data, of_disk) = (lasts(&btrfs, protection), lasts(&ext4, protection));
        assert!(of_data > 0 && of_disk > 10 * of_data, "{protection}");
    }
    for rebuild in ["a rebuild of a mirror", "a rebuild of a parity"] {
        assert!(
            lasts(&btrfs, rebuild) > 0 && lasts(&ext4, rebuild) > 0,
            "{rebuild}"
        );
        let price = of(rebuild);
        assert_eq!(price["phases"], serde_json::json!(["mail-read"]), "{price}");
    }
    for scrub in ["a scrub", "a scrub of a mirror", "a scrub of a parity"] {
        assert!(lasts(&btrfs, scrub) > 0, "{scrub}");
        // It begins with the phase, and not before it.
        assert!(ratio(&of(scrub), "time") > 1.1, "{scrub}");
    }
}

#[test]
fn file_systems_without_a_price_are_refused() {
    let name = "file_systems_without_a_price_are_refused";
    let Some(kernel) = lab_kernel(name) else {
        return;
    };
    let home = Home::new();
    for (contender, reason) in [
        ("tmpfs", "on block devices"),
        ("host/ext4", "in guests"),
        ("jfs@raid0x2", "no such protection"),
        ("nofs", "nofs"),
    ] {
        let printed = price(&home, &kernel, &["--fs", contender]);
        assert_eq!(printed.code, Some(2), "{contender}: {}", printed.err);
        assert!(printed.err.contains(reason), "{contender}: {}", printed.err);
    }
}
