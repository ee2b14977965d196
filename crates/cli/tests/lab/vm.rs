//! Cells in a virtual machine that boots an image. `FSDYNO_VM_IMAGE` names the image of a system that
//! takes its configuration from a disk labelled `cidata`; `FSDYNO_VM_FS` the contenders there
//! (default: those of FreeBSD). Without it, these tests are skipped by name.

use crate::support::{Home, Printed, have, interruptible, printed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAMS: [&str; 3] = ["qemu-system-x86_64", "ssh", "ssh-keygen"];
const IMAGE: &str = "FSDYNO_VM_IMAGE";
/// The contenders on FreeBSD.
const OF_BSD: &str = "ufs1,ufs2,ufs2:async,ufs2[-U],ufs2[-j],zfs,zfs@pool2";

fn image(test: &str) -> Option<PathBuf> {
    if !have(&PROGRAMS, test) {
        return None;
    }
    let image = std::env::var_os(IMAGE);
    if image.is_none() {
        println!("SKIP {IMAGE}: {test}");
    }
    image.map(PathBuf::from)
}

fn contenders() -> String {
    std::env::var("FSDYNO_VM_FS").unwrap_or_else(|_| OF_BSD.to_owned())
}

/// The size and a checksum of a file.
fn digest(image: &Path) -> String {
    let ran = Command::new("cksum").arg(image).output().unwrap();
    assert!(ran.status.success());
    String::from_utf8(ran.stdout).unwrap()
}

fn command(home: &Home, image: &Path, args: &[&str]) -> Command {
    let (work, image) = (
        home.work().display().to_string(),
        image.display().to_string(),
    );
    let base = [
        "run",
        "--lab",
        "vm",
        "--image",
        &image,
        "--work-dir",
        &work,
        "--repeats",
        "1",
    ];
    let words = base.iter().chain(args).map(|word| (*word).to_owned());
    home.command(&words.collect::<Vec<_>>())
}

fn run(home: &Home, image: &Path, args: &[&str]) -> Printed {
    printed(&command(home, image, args).output().unwrap())
}

#[test]
fn a_file_that_is_no_image_is_refused_before_anything_is_made() {
    if !have(
        &PROGRAMS,
        "a_file_that_is_no_image_is_refused_before_anything_is_made",
    ) {
        return;
    }
    let home = Home::new();
    let file = home.path("image");
    for (content, why) in [
        (
            b"hello".to_vec(),
            "neither a boot sector nor a header of qcow2",
        ),
        (
            b"\xfd7zXZ\0hello, this is no archive".to_vec(),
            "no xz file",
        ),
        (
            [
                b"QFI\xfb\0\0\0\x03\0\0\0\0\0\0\x01\0".to_vec(),
                vec![0; 200],
            ]
            .concat(),
            "overlay of another",
        ),
    ] {
        fs::write(&file, content).unwrap();
        let printed = run(&home, &file, &["--fs", "dir:/var/tmp", "--exec", "true"]);
        assert_eq!(printed.code, Some(2), "{}{}", printed.out, printed.err);
        assert!(printed.err.contains(why), "{why}: {}", printed.err);
        assert_eq!(home.left_in_work(), Vec::<String>::new());
    }
    for (args, why) in [
        (&["run", "--lab", "vm", "--fs", "ufs2"][..], "names none"),
        (
            &["run", "--image", "x", "--fs", "ext4"],
            "nothing of this plan runs in the lab vm",
        ),
        (
            &[
                "run", "--lab", "vm", "--image", "x", "--fs", "ufs2", "--on", "/dev/sda",
            ],
            "disks of its own",
        ),
    ] {
        let printed = home.fsdyno(args);
        assert_eq!(printed.code, Some(2), "{args:?}: {}", printed.err);
        let ours = why == "names none" && printed.err.contains("none is named");
        assert!(
            ours || printed.err.contains(why),
            "{args:?}: {}",
            printed.err
        );
    }
}

#[test]
fn a_dry_run_prints_the_lines_for_freebsd_and_boots_nothing() {
    let home = Home::new();
    let args = [
        "run",
        "--dry-run",
        "--lab",
        "vm",
        "--image",
        "/no/such/image",
    ];
    let more = [
        "--fs",
        "ufs2[-j],ufs1:async",
        "--phases",
        "copy",
        "--dataset",
        "mixed",
    ];
    let printed = home.fsdyno(&[&args[..], &more[..]].concat());
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    for line in [
        "diskinfo -s",
        "newfs -O 2 -j \"$LOOP0\"",
        "tunefs -n disable",
        "mount -t ufs -o async \"$LOOP0\"",
    ] {
        assert!(printed.out.contains(line), "{line}: {}", printed.out);
    }
    assert!(!printed.out.contains("mdconfig"), "{}", printed.out);
}

#[test]
fn cells_run_in_a_system_that_an_image_boots_and_the_image_stays_as_it_is() {
    let test = "cells_run_in_a_system_that_an_image_boots_and_the_image_stays_as_it_is";
    let Some(image) = image(test) else {
        return;
    };
    let home = Home::new();
    let before = digest(&image);
    let list = contenders();
    let work = [
        "--dataset",
        "ports",
        "--scale",
        "0.003",
        "--phases",
        "copy,delete",
        "--verify",
    ];
    let printed = run(&home, &image, &[&["--fs", &list], &work[..]].concat());
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
    assert_eq!(digest(&image), before);
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        assert!(
            cell["effective"].to_string().contains(" in QEMU with "),
            "{cell}"
        );
        let sample = &cell["samples"][0];
        let device = &sample["device"];
        // What the disks saw is counted by this machine.
        assert!(device["writes"].as_u64() > Some(0), "{sample}");
        let warned = sample["warnings"].to_string().contains("not-durable");
        assert_eq!(warned, device["flushes"] == 0, "{sample}");
    }
    let report = home.fsdyno(&["report", "last", "--long"]).out;
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        report.contains("of that virtual machine, in real time"),
        "{report}"
    );
    assert_eq!(home.left_in_work(), Vec::<String>::new());
    assert_eq!(machines(&home), 0);
}

#[test]
fn a_signal_ends_the_virtual_machine_and_removes_its_files() {
    let test = "a_signal_ends_the_virtual_machine_and_removes_its_files";
    let Some(image) = image(test) else {
        return;
    };
    for signal in ["-INT", "-TERM"] {
        let home = Home::new();
        let list = contenders();
        let mut command = interruptible(&command(&home, &image, &["--fs", &list]));
        let mut child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(120);
        while machines(&home) == 0 {
            assert!(Instant::now() < deadline, "no machine starts");
            std::thread::sleep(Duration::from_millis(50));
        }
        let sent = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(home.left_in_work(), Vec::<String>::new());
        assert_eq!(machines(&home), 0);
    }
}

/// How many machines run in the directory of a test.
fn machines(home: &Home) -> usize {
    let work = home.work().display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
    let ours = |line: &Vec<u8>| {
        let line = String::from_utf8_lossy(line).into_owned();
        line.contains("qemu-system") && line.contains(&format!("{work}/fsdyno-"))
    };
    lines.filter(ours).count()
}
