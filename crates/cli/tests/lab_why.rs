//! The model case of `why`: on a disk whose flush is slow, who flushes much beside the same with
//! flushes off. Skips by name where there is no lab kernel.

mod support;

use serde_json::Value;
use support::{Home, have, lab_kernel};

/// Files that are made durable one by one.
const DURABLE: &str = "for n in $(seq 60); do dd if=/dev/zero of={dir}/$n bs=4k count=1 \
                       conv=fsync 2>/dev/null || exit 1; done";

#[test]
fn on_a_disk_whose_flush_is_slow_flushes_are_named_and_what_to_try() {
    let test = "on_a_disk_whose_flush_is_slow_flushes_are_named_and_what_to_try";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let profile = home.fsdyno(&["disk", "show", "sata-ssd"]).out;
    let (before, rest) = profile.split_once("flush_firmware_us = ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    let slow = format!("{before}flush_firmware_us = 30000\n{after}");
    let disk = home.path("slow-flush.toml");
    std::fs::write(&disk, slow).unwrap();
    let (kernel, work) = (
        kernel.display().to_string(),
        home.work().display().to_string(),
    );
    let contenders = ["ext4", "ext4:nobarrier"]; // example
    let fs = contenders.join(",");
    let words = ["run", "--disk", disk.to_str().unwrap(), "--fs", &fs];
    let place = [
        "--work-dir",
        &work,
        "--on",
        "loop:1G",
        "--guest-kernel",
        &kernel,
    ];
    let load = [
        "--exec",
        DURABLE,
        "--repeats",
        "1",
        "--dataset",
        "mixed",
        "--scale",
        "0.01",
    ];
    let said = home.fsdyno(&[&words[..], &place, &load].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let why = [&["why", "last"][..], &contenders].concat();
    let said = home.fsdyno(&[&why[..], &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let phase = &told["phases"][0];
    assert_eq!(phase["cause"], "flushes", "{}", said.out);
    for anatomy in phase["anatomies"].as_array().unwrap() {
        assert_eq!(anatomy["source"], "recorder");
        let parts = anatomy["parts_ns"].as_array().unwrap().iter();
        let parts: u64 = parts.map(|ns| ns.as_u64().unwrap()).sum();
        assert_eq!(anatomy["whole_ns"].as_u64(), Some(parts));
    }
    // Each flush takes at least as long as the firmware says.
    let flushes = phase["anatomies"][0]["waits"]["flushes_ns"]
        .as_u64()
        .unwrap();
    assert!(flushes >= 60 * 30_000_000, "{flushes}");
    let sentence = phase["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("the mount option nobarrier, which risks"),
        "{sentence}"
    );
    assert!(sentence.contains("in virtual time"), "{sentence}");
    let shown = home.fsdyno(&why);
    assert!(shown.out.contains("device, flushes"), "{}", shown.out);
    for (words, why) in [
        (
            ["why", "last", contenders[0], "nobody"],
            "has no contender `nobody`",
        ),
        (["why", "last", contenders[0], contenders[0]], "named twice"),
        (["why", "nowhere", contenders[0], contenders[1]], "nowhere"),
    ] {
        let said = home.fsdyno(&words);
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
    }
}
