//! `fsdyno disk fit` on a write-protected loop device and on files: no byte of the device changes,
//! the profile is valid, and nothing is left.

use crate::support::{Home, root_and};
use std::path::Path;
use std::process::Command;

/// Bytes of a device.
const SIZE: usize = 80 << 20;

/// Writes a device's content, which is different in each sector.
fn content(path: &Path) {
    let byte = |at: usize| (at.wrapping_mul(0x9e37_79b9) >> 13).to_le_bytes()[0];
    std::fs::write(path, (0..SIZE).map(byte).collect::<Vec<u8>>()).unwrap();
}

/// A loop device, detached on drop.
struct Loop(String);

impl Loop {
    fn read_only(image: &Path) -> Self {
        let output = Command::new("losetup")
            .args(["--find", "--show", "--read-only"])
            .arg(image)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        Self(String::from_utf8(output.stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_fit_changes_no_byte_of_a_write_protected_device_and_its_profile_is_valid() {
    let test = "a_fit_changes_no_byte_of_a_write_protected_device_and_its_profile_is_valid";
    if !root_and(&["losetup"], test) {
        return;
    }
    let home = Home::new();
    let image = home.path("image");
    content(&image);
    let before = std::fs::read(&image).unwrap();
    let device = Loop::read_only(&image);
    let profile = home.path("mine.toml");
    let output = home.fsdyno(&[
        "disk",
        "fit",
        &device.0,
        "--duration",
        "1s",
        "--no-lock",
        "-o",
        profile.to_str().unwrap(),
    ]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    assert!(
        output.out.contains("root mean square error"),
        "{}",
        output.out
    );
    let wide = output.out.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    assert!(std::fs::read(&image).unwrap() == before);
    let shown = home.fsdyno(&["disk", "show", profile.to_str().unwrap()]);
    assert_eq!(shown.code, Some(0), "{}", shown.err);
    assert!(shown.out.contains("capacity = 83886080"), "{}", shown.out);
    // An existing profile is replaced only if that is requested.
    let again = home.fsdyno(&["disk", "fit", &device.0, "-o", profile.to_str().unwrap()]);
    assert_ne!(again.code, Some(0));
    assert!(again.err.contains("--force"), "{}", again.err);
}

#[test]
fn a_fit_with_a_scratch_file_measures_writes_and_leaves_no_file() {
    let home = Home::new();
    let image = home.work().join("image");
    content(&image);
    let scratch = home.work().join("scratch");
    let words = |scratch: &Path| {
        let scratch = scratch.to_str().unwrap().to_owned();
        let image = image.to_str().unwrap().to_owned();
        let fixed = [
            "--scratch-size",
            "8M",
            "--duration",
            "1s",
            "--no-lock",
            "--json",
        ];
        let mut words = vec!["disk".to_owned(), "fit".to_owned(), image];
        words.extend(["--scratch".to_owned(), scratch]);
        words.extend(fixed.map(str::to_owned));
        words
    };
    let output = home.fsdyno(&words(&scratch));
    if output.err.contains("no direct I/O") {
        println!("SKIP direct I/O: a_fit_with_a_scratch_file_measures_writes_and_leaves_no_file");
        return;
    }
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let report: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    assert!(report["measurements"]["writes"]["flush_us"].as_f64() > Some(0.0));
    let figures = report["figures"].as_array().unwrap();
    assert!(
        figures
            .iter()
            .any(|figure| figure["name"] == "flush after a write 4 KiB")
    );
    assert!(!scratch.exists());
    // A file of the user is not overwritten.
    let output = home.fsdyno(&words(&image));
    assert_ne!(output.code, Some(0));
    assert!(output.err.contains("does not exist"), "{}", output.err);
    assert_eq!(std::fs::metadata(&image).unwrap().len(), SIZE as u64);
}

#[test]
fn what_is_no_disk_is_refused() {
    let home = Home::new();
    let small = home.path("small");
    std::fs::write(&small, vec![0; 8192]).unwrap();
    for (path, words) in [
        (small.to_str().unwrap(), "at least"),
        ("/", "cannot open /"),
        ("/nowhere", "No such file"),
    ] {
        let output = home.fsdyno(&["disk", "fit", path, "--no-lock"]);
        assert_ne!(output.code, Some(0));
        assert!(
            output.err.contains(words) || output.err.contains("direct I/O"),
            "{}",
            output.err
        );
    }
}

#[test]
fn an_interrupted_service_of_a_file_leaves_no_directory_and_no_mount() {
    let test = "an_interrupted_service_of_a_file_leaves_no_directory_and_no_mount";
    let fuse = Path::new("/dev/fuse").exists();
    if !root_and(&["losetup"], test) || !fuse {
        println!("SKIP /dev/fuse: {test}");
        return;
    }
    let home = Home::new();
    let directory = home.work().join("served");
    let words = ["disk", "serve", "null", "--size", "96M", "--directory"];
    let words = words.iter().copied().chain([directory.to_str().unwrap()]);
    let mut server = home.start(&words.collect::<Vec<&str>>());
    let disk = directory.join("disk0");
    let is_there = || std::fs::metadata(&disk).is_ok_and(|of| of.len() == 96 << 20);
    crate::support::until(
        std::time::Duration::from_secs(60),
        "the disk is served",
        is_there,
    );
    let output = home.fsdyno(&[
        "disk",
        "fit",
        disk.to_str().unwrap(),
        "--duration",
        "1s",
        "--no-lock",
    ]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let pid = rustix::process::Pid::from_child(&server);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = server.wait().unwrap();
    assert!(status.success(), "{status:?}");
    assert!(!directory.exists());
}
