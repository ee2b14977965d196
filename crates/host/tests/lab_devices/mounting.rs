//! Images, loop devices and mounts: made, refused, read back and undone.

use crate::{WorkDir, assert_nothing_left, backing_files, kinds, lab};
use fsdyno_host::formatting::forget_cache_of;
use fsdyno_host::image::Image;
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::{MountError, mount, mountinfo};
use fsdyno_model::Bytes;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::process::Command;

#[test]
fn a_loop_device_does_direct_io_and_is_gone_when_dropped() {
    if !lab("a_loop_device_does_direct_io_and_is_gone_when_dropped") {
        return;
    }
    let work_dir = WorkDir::new();
    let (image, device) = work_dir.device(8 << 20);
    assert!(device.device().ends_with(device.name()));
    let shown = fs::read_to_string(format!("/sys/block/{}/loop/dio", device.name())).unwrap();
    assert_eq!(device.direct_io(), shown.trim() == "1");
    // Depends on the file system of the image; an ordinary disk file system supports it.
    let place = mountinfo(&work_dir.path()).unwrap().fstype;
    if place.starts_with("ext") || place == "xfs" {
        assert!(device.direct_io(), "no direct I/O on {place}");
    }
    let sectors = fs::read_to_string(format!("/sys/block/{}/size", device.name())).unwrap();
    assert_eq!(sectors.trim(), ((8 << 20) / 512).to_string());
    device.detach().unwrap();
    assert_nothing_left(&work_dir.path());
    let again = Loop::attach(&image.file().unwrap(), &work_dir.journal).unwrap();
    // A program that opens and closes the device does not detach it.
    fs::read(again.device()).unwrap();
    assert!(backing_files().contains(image.path().to_str().unwrap()));
    drop((again, image));
    assert_nothing_left(&work_dir.path());
    assert_eq!(fs::read(work_dir.journal.path()).unwrap(), b"");
}

#[test]
fn a_checker_reads_what_is_on_the_device_while_a_guard_has_it_open() {
    if !lab("a_checker_reads_what_is_on_the_device_while_a_guard_has_it_open") {
        return;
    }
    let work_dir = WorkDir::new();
    let (image, device) = work_dir.device(1 << 20);
    let guard = fs::File::open(device.device()).unwrap();
    let first = || fs::read(device.device()).unwrap()[0];
    assert_eq!(first(), 0);
    // File systems write below the cache of the device too.
    let file = fs::OpenOptions::new()
        .write(true)
        .open(image.path())
        .unwrap();
    file.write_all_at(&[7; 4096], 0).unwrap();
    file.sync_all().unwrap();
    assert_eq!(first(), 0, "the cache of the device was not used");
    forget_cache_of(device.device()).unwrap();
    assert_eq!(first(), 7);
    // Another file is left as it is.
    forget_cache_of(image.path()).unwrap();
    assert!(forget_cache_of(&work_dir.path().join("none")).is_err());
    drop(guard);
}

#[test]
fn many_loop_devices_are_attached_at_once() {
    if !lab("many_loop_devices_are_attached_at_once") {
        return;
    }
    let work_dir = WorkDir::new();
    let attach = |number: usize| {
        let path = work_dir.path().join(format!("image{number}"));
        let image = Image::create(&path, Bytes(1 << 20), &work_dir.journal).unwrap();
        let device = Loop::attach(&image.file().unwrap(), &work_dir.journal).unwrap();
        (device, image)
    };
    let devices: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|number| scope.spawn(move || attach(number)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let mut names: Vec<_> = devices
        .iter()
        .map(|(device, _)| device.name().to_owned())
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 6);
    drop(devices);
    assert_nothing_left(&work_dir.path());
}

#[test]
fn options_take_effect_and_are_read_back() {
    if !lab("options_take_effect_and_are_read_back") {
        return;
    }
    for (kind, make) in kinds("options_take_effect_and_are_read_back") {
        let work_dir = WorkDir::new();
        let (_image, device) = work_dir.made(make);
        for (options, in_mount, in_super) in [
            (&[][..], "rw,relatime", "rw"),
            (&["defaults", "noatime"], "rw,noatime", "rw"),
            (
                &["strictatime", "nodiratime", "nosuid"],
                "rw,nosuid,nodiratime",
                "rw",
            ),
            (&["sync", "lazytime"], "rw,relatime", "rw,sync,lazytime"),
            (&["ro"], "ro,relatime", "ro"),
        ] {
            let mounted = work_dir.mount(kind, &device, options).unwrap();
            let info = mountinfo(mounted.target()).unwrap();
            assert_eq!(info.fstype, kind);
            // The superblock shows `sync` and `lazytime` with the mount on some kernels.
            let shown = format!("{} {}", info.mount_options, info.super_options);
            for option in in_mount.split(',').chain(in_super.split(',')) {
                let there = shown.split([',', ' ']).any(|word| word == option);
                assert!(there, "{kind} {options:?}: {option} in {info}");
            }
            assert_eq!(
                shown.contains("noatime"),
                options.contains(&"noatime"),
                "{info}"
            );
            assert_eq!(
                shown.contains("relatime"),
                in_mount.contains("relatime"),
                "{info}"
            );
            mounted.unmount().unwrap();
        }
    }
}

#[test]
fn a_refused_mount_option_is_reported_with_the_message_of_the_kernel() {
    if !lab("a_refused_mount_option_is_reported_with_the_message_of_the_kernel") {
        return;
    }
    for (kind, make) in kinds("a_refused_mount_option_is_reported_with_the_message_of_the_kernel") {
        let work_dir = WorkDir::new();
        let (_image, device) = work_dir.made(make);
        let error = work_dir
            .mount(kind, &device, &["noatime", "no_such_option=7"])
            .unwrap_err();
        let MountError::Refused(refusal) = &error else {
            panic!("{error}");
        };
        assert_eq!(
            (refusal.errno, refusal.act.as_str()),
            ("EINVAL", "option `no_such_option=7`")
        );
        assert!(refusal.words.contains("no_such_option"), "{error}");
        println!("{error}");
        work_dir
            .mount(kind, &device, &[])
            .unwrap()
            .unmount()
            .unwrap();
    }
}

#[test]
fn a_device_without_that_file_system_is_refused_with_a_reason() {
    if !lab("a_device_without_that_file_system_is_refused_with_a_reason") {
        return;
    }
    let work_dir = WorkDir::new();
    let (image, device) = work_dir.device(64 << 20);
    for (kind, _) in kinds("a_device_without_that_file_system_is_refused_with_a_reason") {
        let error = work_dir.mount(kind, &device, &[]).unwrap_err();
        assert!(matches!(&error, MountError::Refused(refusal) if !refusal.words.is_empty()));
        println!("{error}");
    }
    let error = work_dir.mount("no_such_kind", &device, &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("ENODEV: the running kernel has none"),
        "{error}"
    );
    drop((device, image));
    let standing = fs::read(work_dir.journal.path()).unwrap();
    assert_eq!(standing, b"", "a refused mount is none");
}

#[test]
fn a_mount_point_in_use_is_refused_and_left_alone() {
    if !lab("a_mount_point_in_use_is_refused_and_left_alone") {
        return;
    }
    let work_dir = WorkDir::new();
    let first = mount("tmpfs", "tmpfs", &work_dir.target(), &[], &work_dir.journal).unwrap();
    fs::write(first.target().join("kept"), "x").unwrap();
    let error = mount("tmpfs", "tmpfs", &work_dir.target(), &[], &work_dir.journal).unwrap_err();
    assert!(matches!(error, MountError::Occupied { .. }), "{error}");
    assert!(first.target().join("kept").exists());
    let place = work_dir.path().join("none");
    let error = mount("tmpfs", "tmpfs", &place, &[], &work_dir.journal).unwrap_err();
    assert!(matches!(error, MountError::Target { .. }), "{error}");
}

#[test]
fn an_unmount_of_what_is_in_use_names_who_uses_it() {
    if !lab("an_unmount_of_what_is_in_use_names_who_uses_it") {
        return;
    }
    let work_dir = WorkDir::new();
    let mounted = mount("tmpfs", "tmpfs", &work_dir.target(), &[], &work_dir.journal).unwrap();
    let file = mounted.target().join("a b");
    fs::write(&file, "x").unwrap();
    let mut holder = Command::new("sleep")
        .arg("300")
        .stdin(fs::File::open(&file).unwrap())
        .spawn()
        .unwrap();
    let result = mounted.unmount();
    holder.kill().unwrap();
    holder.wait().unwrap();
    let error = result.unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("sleep ({})", holder.id())),
        "{error}"
    );
    // The drop detached it.
    assert_nothing_left(&work_dir.path());
}
