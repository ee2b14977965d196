//! UFS1 and UFS2 that fsdyno created, read and written by the Linux driver in guests of the lab
//! kernel. Also the devices that are refused. Tests without their requirements are skipped by name.

use crate::support::{
    Home, assert_made_and_checked, in_guests, lab_kernel, loops_backed_under, root_and, until,
};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[test]
fn file_systems_are_consistent_after_kernel_writes_in_every_geometry() {
    let test = "file_systems_are_consistent_after_kernel_writes_in_every_geometry";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let home = Home::new();
    let fs = "ufs1:dirsync,ufs1[-b 4096 -f 512]:async,ufs2,ufs2[-b 16384 -f 2048 -L name]:noatime";
    let load = [
        "--dataset",
        "ports",
        "--scale",
        "0.01",
        "--phases",
        "untar,copy,delete",
        "--verify",
    ];
    assert_made_and_checked(&in_guests(&home, &kernel, fs, &load), "ufs");
}

/// Block numbers around the boundaries between direct and indirect blocks, for files with 4 KiB
/// blocks. The boundaries are after 12 blocks, then 1024 and 1024² more for UFS1, 512 and 512² more
/// for UFS2. Only these blocks are written and read again.
const PIECES: &str = "cd {dir} && at='0 11 12 523 1035 5000 262667 300000 1049611 1200000' && \
    pieces() { for n in $at; do dd if=sparse bs=4096 count=3 skip=$n status=none; done | md5sum; } && ";

/// Files of all shapes: sparse, dense, odd lengths, truncated, and links with short and long
/// targets.
const LARGE: &str = "for n in $at; do \
    dd if=/dev/urandom of=sparse bs=4096 count=3 seek=$n conv=notrunc status=none || exit 1; done && \
    dd if=/dev/urandom of=whole bs=1M count=20 status=none && \
    dd if=/dev/urandom of=odd bs=997 count=300 status=none && \
    cp whole cut && truncate -s 15000001 cut && truncate -s 5000 odd && \
    ln -s $(printf 'x%.0s' $(seq 50)) short && ln -s $(printf 'x%.0s' $(seq 500)) long && \
    ln odd hard && md5sum whole cut odd hard > sums && pieces > sum";

/// Verifies the data after a mount. Then fills the space with blocks until ENOSPC, which must not
/// damage the data.
const FULL: &str = "md5sum -c --quiet sums && test \"$(pieces)\" = \"$(cat sum)\" && \
    test $(readlink long | wc -c) = 501 && \
    if dd if=/dev/zero of=rest bs=1M 2> errors; then exit 1; fi; grep -q 'No space left' errors && \
    md5sum -c --quiet sums && test \"$(pieces)\" = \"$(cat sum)\" && rm whole cut";

#[test]
fn files_with_all_indirect_blocks_read_back_and_a_full_disk_is_reported() {
    let test = "files_with_all_indirect_blocks_read_back_and_a_full_disk_is_reported";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let home = Home::new();
    let fs = "ufs1[-b 4096 -f 1024],ufs2[-b 4096 -f 1024],ufs1,ufs2";
    let (large, full) = (format!("{PIECES}{LARGE}"), format!("{PIECES}{FULL}"));
    let size = ["--on", "loop:80M", "--dataset", "none"];
    let load = [&size[..], &["--exec", &large, "--exec", &full]].concat();
    assert_made_and_checked(&in_guests(&home, &kernel, fs, &load), "ufs");
}

fn run(program: &str, words: &[&str]) -> String {
    let output = Command::new(program).args(words).output().unwrap();
    assert!(output.status.success(), "{program} {words:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn mounted_devices_and_their_backing_files_are_refused() {
    let test = "mounted_devices_and_their_backing_files_are_refused";
    if !root_and(&["losetup", "mount", "mkfs.ext2"], test) {
        return;
    }
    let home = Home::new();
    let path = home.path("image");
    File::create_new(&path).unwrap().set_len(8 << 20).unwrap();
    let device = run("losetup", &["--find", "--show", word(&path)]);
    let in_use = home.fsdyno(&["ufs", "make", word(&path)]);
    let name = device.trim_start_matches("/dev/").to_owned();
    let unnamed = home.fsdyno(&["ufs", "make", "-O", "1", &device]);
    let free = home.fsdyno(&["ufs", "make", "-O", "1", "--erase", &name, &device]);
    let found = home.fsdyno(&["ufs", "check", &device]);
    run("mkfs.ext2", &["-q", &device]);
    let target = home.path("mnt");
    fs::create_dir(&target).unwrap();
    run("mount", &[&device, word(&target)]);
    let mounted = home.fsdyno(&["ufs", "make", &device]);
    run("umount", &[word(&target)]);
    run("losetup", &["--detach", &device]);

    assert_eq!((free.code, found.code), (Some(0), Some(0)), "{}", free.err);
    for (printed, words) in [
        (in_use, "is in use"),
        (mounted, "is mounted at"),
        (unnamed, "--erase 'loop"),
    ] {
        assert_eq!(printed.code, Some(3), "{}{}", printed.out, printed.err);
        assert!(printed.err.contains(words), "{}", printed.err);
    }
    // A mount namespace of another test can hold the mount for a moment.
    until(Duration::from_secs(10), "the device is detached", || {
        loops_backed_under(home.root.path()).is_empty()
    });
}

/// A loop device with an unmounted ext4, detached on drop.
struct Ext4 {
    image: PathBuf,
    device: String,
}

impl Ext4 {
    fn new(home: &Home) -> Self {
        let image = home.path("image");
        File::create_new(&image).unwrap().set_len(16 << 20).unwrap();
        let device = run("losetup", &["--find", "--show", word(&image)]);
        let made = Self { image, device };
        run("mkfs.ext4", &["-q", "-F", "-L", "precious", &made.device]);
        made
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }

    fn bytes(&self) -> Vec<u8> {
        run("sync", &[&self.device]);
        fs::read(&self.image).unwrap()
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        let _ = Command::new("losetup")
            .args(["--detach", &self.device])
            .status();
    }
}

#[test]
fn newfs_on_a_device_with_a_file_system_needs_consent_and_keeps_a_copy() {
    let test = "newfs_on_a_device_with_a_file_system_needs_consent_and_keeps_a_copy";
    if !root_and(&["losetup", "mkfs.ext4", "wipefs", "blkid"], test) {
        return;
    }
    let home = Home::new();
    let ext4 = Ext4::new(&home);
    let before = ext4.bytes();
    for more in [&[][..], &["--erase", ext4.name()], &["--erase", "sda:ext4"]] {
        let words = [&["ufs", "make"][..], more, &[&ext4.device]].concat();
        let printed = home.fsdyno(&words);
        assert_eq!(printed.code, Some(3), "{words:?}: {}", printed.err);
        assert!(
            printed
                .err
                .contains("holds an ext4 file system labelled `precious`"),
            "{}",
            printed.err
        );
        assert!(
            printed
                .err
                .contains(&format!("--erase '{}:ext4'", ext4.name())),
            "{}",
            printed.err
        );
        assert!(ext4.bytes() == before, "{words:?} wrote");
    }
    let consent = format!("{}:ext4", ext4.name());
    let printed = home.fsdyno(&["ufs", "make", "--erase", &consent, &ext4.device]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    assert_eq!(home.fsdyno(&["ufs", "check", &ext4.device]).code, Some(0));
    let mut words = printed.err.split_whitespace().map(Path::new);
    let kept = words.find(|word| word.extension().is_some_and(|of| of == "json"));
    let kept = kept.expect("the copy is named");
    assert!(fs::read_to_string(kept).unwrap().contains("ext4"));
    let copy = fs::read(kept.with_extension("bin")).unwrap();
    assert!(copy[..1 << 20] == before[..1 << 20]);
}

#[test]
fn a_device_that_fstab_names_needs_a_consent_of_its_own() {
    let test = "a_device_that_fstab_names_needs_a_consent_of_its_own";
    let programs = [
        "losetup",
        "mkfs.ext4",
        "wipefs",
        "blkid",
        "unshare",
        "mount",
    ];
    if !root_and(&programs, test) || !Path::new("/etc/fstab").exists() {
        return;
    }
    let home = Home::new();
    let ext4 = Ext4::new(&home);
    let uuid = run("blkid", &["-p", "-s", "UUID", "-o", "value", &ext4.device]);
    let before = ext4.bytes();
    let consent = format!("{}:ext4", ext4.name());
    let fstab = home.path("fstab");
    // Runs in its own mount namespace with another fstab.
    let newfs = |line: &str, words: &[&str]| {
        fs::write(&fstab, format!("{line}\n")).unwrap();
        let script = "mount --bind \"$1\" /etc/fstab && shift && exec \"$@\"";
        let own = home.command(&[&["ufs", "make"][..], words, &[&ext4.device]].concat());
        let mut command = Command::new("unshare");
        command.args([
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-c",
            script,
            "sh",
        ]);
        command
            .arg(&fstab)
            .arg(own.get_program())
            .args(own.get_args());
        for (name, value) in own.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        crate::support::printed(&command.output().unwrap())
    };
    for spec in [
        format!("UUID={uuid}"),
        "LABEL=\"precious\"".to_owned(),
        ext4.device.clone(),
        word(&ext4.image).to_owned(),
    ] {
        let line = format!("{spec} /srv/backup ext4 noauto 0 2");
        let printed = newfs(&line, &["--erase", &consent]);
        assert_eq!(printed.code, Some(3), "{spec}: {}", printed.err);
        let reason = format!("it is named in /etc/fstab as {spec}, for /srv/backup");
        assert!(printed.err.contains(&reason), "{}", printed.err);
        let flag = format!("--erase-fstab '{}'", ext4.name());
        assert!(printed.err.contains(&flag), "{}", printed.err);
        assert!(ext4.bytes() == before, "{spec}");
    }
    let line = format!("UUID={uuid} /srv/backup ext4 noauto 0 2");
    let both = ["--erase", &consent, "--erase-fstab", ext4.name()];
    let printed = newfs("UUID=0-0 /srv/backup ext4 defaults", &both[..2]);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    run("mkfs.ext4", &["-q", "-F", "-U", &uuid, &ext4.device]);
    let printed = newfs(&line, &both);
    assert_eq!(printed.code, Some(0), "{}", printed.err);
}
