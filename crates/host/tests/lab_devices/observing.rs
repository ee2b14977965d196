//! Caches, counters and quiet, as the real devices show them.

use crate::{WorkDir, kinds, lab, words};
use fsdyno_host::clean_up::clean;
use fsdyno_host::image::Image;
use fsdyno_host::journal::Undo;
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::mount;
use fsdyno_host::{cache, command, space};
use fsdyno_model::{Bytes, CancelToken};
use fsdyno_observe::counters::{block, block_names_under, machine_cpu};
use fsdyno_observe::{quiesce, tracing};
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[test]
fn cold_is_proven_and_reading_shows_in_cache_and_counters() {
    if !lab("cold_is_proven_and_reading_shows_in_cache_and_counters") {
        return;
    }
    let stop = CancelToken::new();
    for (kind, make) in kinds("cold_is_proven_and_reading_shows_in_cache_and_counters") {
        let work_dir = WorkDir::new();
        let (_image, device) = work_dir.made(make);
        let mounted = work_dir.mount(kind, &device, &[]).unwrap();
        let names = block_names_under(mounted.target());
        assert_eq!(names, [device.name()]);
        let (before, used) = (
            block(&names).unwrap(),
            space::used(mounted.target()).unwrap(),
        );
        let size = 16 << 20;
        let file = mounted.target().join("file");
        fs::write(&file, vec![7; size]).unwrap();
        cache::sync_filesystem(mounted.target()).unwrap();
        let written = block(&names).unwrap().since(&before);
        assert!(
            written.written_bytes.0 >= size as u64,
            "{kind}: {written:?}"
        );
        assert!(
            written.writes > 0 && written.busy_ns.0 > 0,
            "{kind}: {written:?}"
        );
        assert!(
            space::used(mounted.target()).unwrap().0 >= used.0 + size as u64,
            "{kind}"
        );
        assert!(space::free(mounted.target()).unwrap().0 > 0);

        let warm = cache::residency(mounted.target(), &stop).unwrap();
        assert_eq!((warm.files, warm.bytes), (1, size as u64));
        assert!(warm.resident_pages > 0, "{kind}: {warm:?}");
        cache::evict_and_count(mounted.target(), &stop).unwrap();
        let evicted = cache::residency(mounted.target(), &stop).unwrap();
        assert_eq!(evicted.resident_pages, 0, "{kind}: {evicted:?}");
        fs::read(&file).unwrap();

        mounted.unmount().unwrap();
        let mounted = work_dir.mount(kind, &device, &[]).unwrap();
        cache::drop_caches().unwrap();
        let before = block(&names).unwrap();
        let cold = cache::residency(mounted.target(), &stop).unwrap();
        assert_eq!(
            (cold.files, cold.resident_pages),
            (1, 0),
            "{kind}: {cold:?}"
        );
        let counted = block(&names).unwrap().since(&before);
        assert!(
            counted.read_bytes.0 < 1 << 20,
            "{kind}: the proof read {counted:?}"
        );
        let mut read = Vec::new();
        fs::File::open(&file)
            .unwrap()
            .read_to_end(&mut read)
            .unwrap();
        assert!(read.iter().all(|b| *b == 7) && read.len() == size);
        let used = block(&names).unwrap().since(&before);
        assert!(used.read_bytes.0 >= size as u64, "{kind}: {used:?}");
        let warm = cache::residency(mounted.target(), &stop).unwrap();
        let pages = size as u64 / rustix::param::page_size() as u64;
        assert!(warm.resident_pages >= pages, "{kind}: {warm:?}");
        mounted.unmount().unwrap();
    }
}

#[test]
fn looking_into_the_cache_changes_no_access_time() {
    if !lab("looking_into_the_cache_changes_no_access_time") {
        return;
    }
    for (kind, make) in kinds("looking_into_the_cache_changes_no_access_time") {
        let work_dir = WorkDir::new();
        let (_image, device) = work_dir.made(make);
        let mounted = work_dir.mount(kind, &device, &["strictatime"]).unwrap();
        let directory = mounted.target().join("directory");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("file"), "x").unwrap();
        let times = || {
            [&directory, &directory.join("file")]
                .map(|p| fs::metadata(p).unwrap().accessed().unwrap())
        };
        let before = times();
        std::thread::sleep(Duration::from_millis(20));
        cache::residency(mounted.target(), &CancelToken::new()).unwrap();
        cache::evict_and_count(mounted.target(), &CancelToken::new()).unwrap();
        assert_eq!(times(), before, "{kind}");
        fs::read_dir(&directory).unwrap().count();
        assert_ne!(
            times()[0],
            before[0],
            "{kind}: the clock of this test does not advance"
        );
    }
}

#[test]
fn a_device_falls_quiet_after_its_work() {
    if !lab("a_device_falls_quiet_after_its_work") {
        return;
    }
    let work_dir = WorkDir::new();
    let (_image, device) = work_dir.device(64 << 20);
    let names = [device.name().to_owned()];
    let raw = fs::OpenOptions::new()
        .write(true)
        .open(device.device())
        .unwrap();
    let (working, stop) = (CancelToken::new(), CancelToken::new());
    let ended = working.clone();
    let writer = std::thread::spawn(move || {
        while !ended.requested() {
            raw.write_all_at(&[1; 4096], 0).unwrap();
            raw.sync_all().unwrap();
        }
    });
    let windows = |idle, bound| quiesce::Windows {
        undisturbed: idle,
        whole: idle,
        bound: Duration::from_secs(bound),
    };
    let restless = quiesce::wait(&names, windows(Duration::from_secs(60), 2), &stop).unwrap();
    working.request();
    writer.join().unwrap();
    assert!(
        !restless.quiet && restless.requests_seen > 0,
        "{restless:?}"
    );
    let quiet = quiesce::wait(&names, windows(Duration::from_millis(100), 60), &stop).unwrap();
    assert!(quiet.quiet, "{quiet:?}");
}

#[test]
fn work_shows_in_the_processor_time_of_the_machine() {
    let before = machine_cpu().unwrap();
    let bound = Instant::now() + Duration::from_secs(60);
    // Reading is work as well: a tick of 10 ms is seen as soon as it is worked.
    loop {
        let used = machine_cpu().unwrap().since(&before);
        if used.busy_ns.0 + used.steal_ns.0 > 0 {
            break;
        }
        assert!(Instant::now() < bound, "{used:?}");
    }
}

#[test]
fn all_devices_of_a_pool_are_found() {
    if !lab("all_devices_of_a_pool_are_found") {
        return;
    }
    let pools = kinds("all_devices_of_a_pool_are_found");
    let Some((kind, make)) = pools.into_iter().find(|(kind, _)| *kind == "btrfs") else {
        return;
    };
    let work_dir = WorkDir::new();
    let attach = |number: u32| {
        let path = work_dir.path().join(format!("image{number}"));
        let image = Image::create(&path, Bytes(256 << 20), &work_dir.journal).unwrap();
        (
            Loop::attach(&image.file().unwrap(), &work_dir.journal).unwrap(),
            image,
        )
    };
    let pool = [attach(0), attach(1)];
    let devices: Vec<_> = pool
        .iter()
        .map(|(d, _)| d.device().display().to_string())
        .collect();
    let argv = [words(make), devices.clone()].concat();
    let finished = command::run(&argv, &CancelToken::new()).unwrap();
    assert!(finished.success(), "{}", finished.failure(&argv));
    let options = devices
        .iter()
        .map(|device| format!("device={device}"))
        .collect::<Vec<_>>();
    let mounted = mount(
        kind,
        &devices[0],
        &work_dir.target(),
        &options,
        &work_dir.journal,
    )
    .unwrap();
    let mut names: Vec<_> = pool
        .iter()
        .map(|(device, _)| device.name().to_owned())
        .collect();
    names.sort();
    assert_eq!(block_names_under(mounted.target()), names);
    mounted.unmount().unwrap();
}

#[test]
fn metadata_and_flushes_are_traced_and_the_instance_is_removed() {
    let test = "metadata_and_flushes_are_traced_and_the_instance_is_removed";
    if !lab(test) {
        return;
    }
    let Some((kind, make)) = kinds(test).into_iter().next() else {
        return;
    };
    let work_dir = WorkDir::new();
    let (_image, device) = work_dir.made(make);
    let tracing = match tracing::start(&[device.name().to_owned()], &work_dir.journal) {
        Ok(tracing) => tracing,
        Err(why) => return println!("SKIP {why}: {test}"),
    };
    let mounted = work_dir.mount(kind, &device, &[]).unwrap();
    cache::sync_filesystem(mounted.target()).unwrap();
    tracing.begin().unwrap();
    for number in 0..8 {
        let file = fs::File::create(mounted.target().join(number.to_string())).unwrap();
        file.write_all_at(&[1; 8192], 0).unwrap();
        file.sync_all().unwrap();
    }
    let received = tracing.end().unwrap();
    assert!(
        received.flushes + received.forced_writes >= 8,
        "{received:?}"
    );
    assert!(received.metadata_writes > 0, "{received:?}");
    // Earlier events are discarded, and no new ones arrive.
    tracing.begin().unwrap();
    assert_eq!(tracing.end().unwrap().flushes, 0);
    let journal = fs::read_to_string(work_dir.journal.path()).unwrap();
    let line = journal
        .lines()
        .find(|line| line.contains(" trace "))
        .unwrap();
    let instance = PathBuf::from(line.rsplit(' ').next().unwrap());
    assert!(instance.is_dir(), "{line}");
    // Of a process that died with it: `clean` removes it by the journal.
    let state = work_dir.path().join("dead");
    fs::create_dir(&state).unwrap();
    let name = work_dir.journal.path().file_name().unwrap();
    fs::write(state.join(name), format!("{line}\n")).unwrap();
    let undone = clean(&state, false, &|_, _| None).unwrap().things;
    assert!(
        matches!(&undone[..], [one] if one.result == Undo::Done),
        "{undone:?}"
    );
    assert!(!instance.exists());
    drop(tracing);
    mounted.unmount().unwrap();
}
