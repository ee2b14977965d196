//! Images, loop devices, mounts, caches and counters on the real kernel. Needs root and loop
//! devices; what a machine lacks is skipped by name.

use fsdyno_host::counters::{block, block_names_under, machine_cpu, space_free, space_used};
use fsdyno_host::image::{Image, Scratch};
use fsdyno_host::journal::{CleanUp, Journal, Resource, Undo, clean};
use fsdyno_host::loops::Loop;
use fsdyno_host::mounts::{MountError, Mounted, mount, mountinfo};
use fsdyno_host::{cache, command, quiesce};
use fsdyno_model::{Bytes, Stop};
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Kinds of file systems, and the command that makes one.
const KINDS: [(&str, &[&str]); 3] = [
    (
        "ext4",
        &[
            "mkfs.ext4",
            "-q",
            "-F",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
        ],
    ),
    ("xfs", &["mkfs.xfs", "-q", "-f"]),
    ("btrfs", &["mkfs.btrfs", "-q", "-f"]),
];

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|word| (*word).to_owned()).collect()
}

/// Whether the test can run here; says by name what is missing.
fn lab(test: &str) -> bool {
    let missing = if !rustix::process::geteuid().is_root() {
        "root"
    } else if !Path::new("/dev/loop-control").exists() {
        "loop devices"
    } else {
        return true;
    };
    println!("SKIP {missing}: {test}");
    false
}

/// The kinds that can be made and mounted here; says by name what is missing.
fn kinds(test: &str) -> Vec<(&'static str, &'static [&'static str])> {
    let known = fs::read_to_string("/proc/filesystems").unwrap();
    let here = |(kind, make): &(&str, &[&str])| {
        let program = ["/usr/sbin", "/sbin", "/usr/bin"]
            .iter()
            .any(|d| Path::new(d).join(make[0]).exists());
        if !program {
            println!("SKIP program {}: {test}", make[0]);
        } else if !known.split_whitespace().any(|word| word == *kind)
            && !Command::new("modprobe")
                .arg(kind)
                .status()
                .is_ok_and(|s| s.success())
        {
            println!("SKIP kernel file system {kind}: {test}");
        } else {
            return true;
        }
        false
    };
    KINDS.into_iter().filter(here).collect()
}

/// A ground for one test: guards are dropped before the directory they lie in.
struct Ground {
    journal: Journal,
    home: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let journal = Journal::open(&home.path().join("state")).unwrap();
        Self { journal, home }
    }

    fn path(&self) -> PathBuf {
        self.home.path().canonicalize().unwrap()
    }

    fn device(&self, size: u64) -> (Image, Loop) {
        let image = Image::create(&self.path().join("image"), Bytes(size), &self.journal).unwrap();
        let device = Loop::attach(image.path(), &self.journal).unwrap();
        (image, device)
    }

    fn target(&self) -> PathBuf {
        let target = self.path().join("mnt");
        fs::create_dir_all(&target).unwrap();
        target
    }

    fn made(&self, make: &[&str]) -> (Image, Loop) {
        let (image, device) = self.device(512 << 20);
        make_filesystem(make, &device);
        (image, device)
    }

    fn mount(&self, kind: &str, device: &Loop, options: &[&str]) -> Result<Mounted, MountError> {
        let source = device.device().to_str().unwrap();
        mount(kind, source, &self.target(), &words(options), &self.journal)
    }
}

fn make_filesystem(make: &[&str], device: &Loop) {
    let mut argv = words(make);
    argv.push(device.device().display().to_string());
    let finished = command::run(&argv, &Stop::new()).unwrap();
    assert!(finished.success(), "{}", finished.failure(&argv));
}

fn backing_files() -> String {
    let mut all = String::new();
    for entry in fs::read_dir("/sys/block").unwrap() {
        let shown = entry.unwrap().path().join("loop/backing_file");
        all.push_str(&fs::read_to_string(shown).unwrap_or_default());
    }
    all
}

fn mounts() -> String {
    fs::read_to_string("/proc/self/mountinfo").unwrap()
}

/// Nothing mounted and no device attached in a place.
fn assert_nothing_left(place: &Path) {
    let place = place.to_str().unwrap();
    assert!(!mounts().contains(place), "{}", mounts());
    assert!(!backing_files().contains(place), "{}", backing_files());
}

#[test]
fn a_loop_device_does_direct_io_and_is_gone_when_dropped() {
    if !lab("a_loop_device_does_direct_io_and_is_gone_when_dropped") {
        return;
    }
    let ground = Ground::new();
    let (image, device) = ground.device(8 << 20);
    assert!(device.device().ends_with(device.name()));
    let shown = fs::read_to_string(format!("/sys/block/{}/loop/dio", device.name())).unwrap();
    assert_eq!(device.direct_io(), shown.trim() == "1");
    // The place of the image decides; an ordinary disk file system has it.
    let place = mountinfo(&ground.path()).unwrap().fstype;
    if place.starts_with("ext") || place == "xfs" {
        assert!(device.direct_io(), "no direct I/O on {place}");
    }
    let sectors = fs::read_to_string(format!("/sys/block/{}/size", device.name())).unwrap();
    assert_eq!(sectors.trim(), ((8 << 20) / 512).to_string());
    device.detach().unwrap();
    assert_nothing_left(&ground.path());
    let again = Loop::attach(image.path(), &ground.journal).unwrap();
    // A program that opens and closes the device does not detach it.
    fs::read(again.device()).unwrap();
    assert!(backing_files().contains(image.path().to_str().unwrap()));
    drop((again, image));
    assert_nothing_left(&ground.path());
    assert_eq!(fs::read(ground.journal.path()).unwrap(), b"");
}

#[test]
fn many_loop_devices_are_attached_at_once() {
    if !lab("many_loop_devices_are_attached_at_once") {
        return;
    }
    let ground = Ground::new();
    let attach = |number: usize| {
        let path = ground.path().join(format!("image{number}"));
        let image = Image::create(&path, Bytes(1 << 20), &ground.journal).unwrap();
        let device = Loop::attach(&path, &ground.journal).unwrap();
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
    assert_nothing_left(&ground.path());
}

#[test]
fn options_take_effect_and_are_read_back() {
    if !lab("options_take_effect_and_are_read_back") {
        return;
    }
    for (kind, make) in kinds("options_take_effect_and_are_read_back") {
        let ground = Ground::new();
        let (_image, device) = ground.made(make);
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
            let mounted = ground.mount(kind, &device, options).unwrap();
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
fn a_refused_option_is_told_in_the_kernels_words() {
    if !lab("a_refused_option_is_told_in_the_kernels_words") {
        return;
    }
    for (kind, make) in kinds("a_refused_option_is_told_in_the_kernels_words") {
        let ground = Ground::new();
        let (_image, device) = ground.made(make);
        let error = ground
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
        ground.mount(kind, &device, &[]).unwrap().unmount().unwrap();
    }
}

#[test]
fn a_device_without_that_file_system_is_refused_with_a_reason() {
    if !lab("a_device_without_that_file_system_is_refused_with_a_reason") {
        return;
    }
    let ground = Ground::new();
    let (image, device) = ground.device(64 << 20);
    for (kind, _) in kinds("a_device_without_that_file_system_is_refused_with_a_reason") {
        let error = ground.mount(kind, &device, &[]).unwrap_err();
        assert!(matches!(&error, MountError::Refused(refusal) if !refusal.words.is_empty()));
        println!("{error}");
    }
    let error = ground.mount("no_such_kind", &device, &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("ENODEV: the running kernel has none"),
        "{error}"
    );
    drop((device, image));
    let standing = fs::read(ground.journal.path()).unwrap();
    assert_eq!(standing, b"", "a refused mount is none");
}

#[test]
fn a_mount_point_in_use_is_refused_and_left_alone() {
    if !lab("a_mount_point_in_use_is_refused_and_left_alone") {
        return;
    }
    let ground = Ground::new();
    let first = mount("tmpfs", "tmpfs", &ground.target(), &[], &ground.journal).unwrap();
    fs::write(first.target().join("kept"), "x").unwrap();
    let error = mount("tmpfs", "tmpfs", &ground.target(), &[], &ground.journal).unwrap_err();
    assert!(matches!(error, MountError::Occupied { .. }), "{error}");
    assert!(first.target().join("kept").exists());
    let place = ground.path().join("none");
    let error = mount("tmpfs", "tmpfs", &place, &[], &ground.journal).unwrap_err();
    assert!(matches!(error, MountError::Target { .. }), "{error}");
}

#[test]
fn an_unmount_of_what_is_in_use_names_who_uses_it() {
    if !lab("an_unmount_of_what_is_in_use_names_who_uses_it") {
        return;
    }
    let ground = Ground::new();
    let mounted = mount("tmpfs", "tmpfs", &ground.target(), &[], &ground.journal).unwrap();
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
    // The drop took it out of the tree all the same.
    assert_nothing_left(&ground.path());
}

#[test]
fn cold_is_proven_and_reading_shows_in_cache_and_counters() {
    if !lab("cold_is_proven_and_reading_shows_in_cache_and_counters") {
        return;
    }
    let stop = Stop::new();
    for (kind, make) in kinds("cold_is_proven_and_reading_shows_in_cache_and_counters") {
        let ground = Ground::new();
        let (_image, device) = ground.made(make);
        let mounted = ground.mount(kind, &device, &[]).unwrap();
        let names = block_names_under(mounted.target());
        assert_eq!(names, [device.name()]);
        let (before, used) = (
            block(&names).unwrap(),
            space_used(mounted.target()).unwrap(),
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
            space_used(mounted.target()).unwrap().0 >= used.0 + size as u64,
            "{kind}"
        );
        assert!(space_free(mounted.target()).unwrap().0 > 0);

        let warm = cache::residency(mounted.target(), &stop).unwrap();
        assert_eq!((warm.files, warm.bytes), (1, size as u64));
        assert!(warm.resident_pages > 0, "{kind}: {warm:?}");
        cache::evict(mounted.target(), &stop).unwrap();
        let evicted = cache::residency(mounted.target(), &stop).unwrap();
        assert_eq!(evicted.resident_pages, 0, "{kind}: {evicted:?}");
        fs::read(&file).unwrap();

        mounted.unmount().unwrap();
        let mounted = ground.mount(kind, &device, &[]).unwrap();
        cache::drop_caches().unwrap();
        let before = block(&names).unwrap();
        let cold = cache::residency(mounted.target(), &stop).unwrap();
        assert_eq!(
            (cold.files, cold.resident_pages),
            (1, 0),
            "{kind}: {cold:?}"
        );
        let looked = block(&names).unwrap().since(&before);
        assert!(
            looked.read_bytes.0 < 1 << 20,
            "{kind}: the proof read {looked:?}"
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
        let ground = Ground::new();
        let (_image, device) = ground.made(make);
        let mounted = ground.mount(kind, &device, &["strictatime"]).unwrap();
        let directory = mounted.target().join("directory");
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("file"), "x").unwrap();
        let times = || {
            [&directory, &directory.join("file")]
                .map(|p| fs::metadata(p).unwrap().accessed().unwrap())
        };
        let before = times();
        std::thread::sleep(Duration::from_millis(20));
        cache::residency(mounted.target(), &Stop::new()).unwrap();
        cache::evict(mounted.target(), &Stop::new()).unwrap();
        assert_eq!(times(), before, "{kind}");
        fs::read_dir(&directory).unwrap().count();
        assert_ne!(
            times()[0],
            before[0],
            "{kind}: the clock of this test stands"
        );
    }
}

#[test]
fn a_device_falls_quiet_after_its_work() {
    if !lab("a_device_falls_quiet_after_its_work") {
        return;
    }
    let ground = Ground::new();
    let (_image, device) = ground.device(64 << 20);
    let names = [device.name().to_owned()];
    let raw = fs::OpenOptions::new()
        .write(true)
        .open(device.device())
        .unwrap();
    let (working, stop) = (Stop::new(), Stop::new());
    let ended = working.clone();
    let writer = std::thread::spawn(move || {
        while !ended.requested() {
            raw.write_all_at(&[1; 4096], 0).unwrap();
            raw.sync_all().unwrap();
        }
    });
    let (window, bound) = (Duration::from_secs(60), Duration::from_secs(2));
    let restless = quiesce::wait(&names, window, bound, &stop).unwrap();
    working.request();
    writer.join().unwrap();
    assert!(
        !restless.quiet && restless.requests_seen > 0,
        "{restless:?}"
    );
    let (window, bound) = (Duration::from_millis(100), Duration::from_secs(60));
    let quiet = quiesce::wait(&names, window, bound, &stop).unwrap();
    assert!(quiet.quiet, "{quiet:?}");
}

#[test]
fn work_shows_in_the_processor_time_of_the_machine() {
    let before = machine_cpu().unwrap();
    let mut spun = 0_u64;
    // Bounded by the runner: a tick of 10 ms is seen as soon as it is worked.
    while machine_cpu().unwrap().since(&before).busy_ns.0 == 0 {
        spun = std::hint::black_box(spun + 1);
    }
    assert!(spun > 0);
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
    let ground = Ground::new();
    let attach = |number: u32| {
        let path = ground.path().join(format!("image{number}"));
        let image = Image::create(&path, Bytes(256 << 20), &ground.journal).unwrap();
        (Loop::attach(&path, &ground.journal).unwrap(), image)
    };
    let pool = [attach(0), attach(1)];
    let devices: Vec<_> = pool
        .iter()
        .map(|(d, _)| d.device().display().to_string())
        .collect();
    let argv = [words(make), devices.clone()].concat();
    let finished = command::run(&argv, &Stop::new()).unwrap();
    assert!(finished.success(), "{}", finished.failure(&argv));
    let options = devices
        .iter()
        .map(|device| format!("device={device}"))
        .collect::<Vec<_>>();
    let mounted = mount(
        kind,
        &devices[0],
        &ground.target(),
        &options,
        &ground.journal,
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

/// Set for the process that is to be killed: where it works.
const VICTIM: &str = "FSDYNO_TEST_VICTIM";

/// Set for it as well: the number of its round, which chooses its file system.
const ROUND: &str = "FSDYNO_TEST_ROUND";

/// Not a test by itself: what [`after_a_kill_at_any_moment_nothing_is_left`] starts and kills.
#[test]
fn victim() {
    let Some(home) = std::env::var_os(VICTIM) else {
        return;
    };
    let home = PathBuf::from(home);
    let round: usize = std::env::var(ROUND).unwrap().parse().unwrap();
    let kinds = kinds("victim");
    let (kind, make) = kinds[round % kinds.len()];
    let journal = Journal::open(&home.join("state")).unwrap();
    println!("begun");
    loop {
        let scratch = Scratch::create(&home.join("scratch"), &journal).unwrap();
        let target = scratch.path().join("mnt");
        let image =
            Image::create(&scratch.path().join("image"), Bytes(512 << 20), &journal).unwrap();
        let device = Loop::attach(image.path(), &journal).unwrap();
        make_filesystem(make, &device);
        fs::create_dir(&target).unwrap();
        let source = device.device().to_str().unwrap();
        let mounted = mount(kind, source, &target, &[], &journal).unwrap();
        // Half of its time it has something mounted.
        for number in 0..40 {
            fs::write(
                mounted.target().join(format!("file{number}")),
                vec![1; 256 << 10],
            )
            .unwrap();
            cache::sync_filesystem(mounted.target()).unwrap();
        }
        mounted.unmount().unwrap();
        device.detach().unwrap();
    }
}

#[test]
fn after_a_kill_at_any_moment_nothing_is_left() {
    const TEST: &str = "after_a_kill_at_any_moment_nothing_is_left";
    if !lab(TEST) || kinds(TEST).is_empty() {
        return;
    }
    let ground = tempfile::tempdir().unwrap();
    let home = ground.path().canonicalize().unwrap();
    let state = home.join("state");
    let mut undone = Vec::new();
    for round in 0..20_u64 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "victim", "--nocapture", "--test-threads=1"])
            .env(VICTIM, &home)
            .env(ROUND, round.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = Vec::new();
        let mut output = victim.stdout.take().unwrap();
        while !said.ends_with(b"begun\n") {
            let mut byte = [0];
            output
                .read_exact(&mut byte)
                .expect("the victim ended before it began");
            said.extend(byte);
        }
        // Spread over a round of the victim, which takes some 300 ms; the same each time.
        std::thread::sleep(Duration::from_millis((round * 67) % 401));
        victim.kill().unwrap();
        let status = victim.wait().unwrap();
        assert!(
            !status.success() && status.code().is_none(),
            "the victim ended by itself"
        );
        let told = clean(&state, false).unwrap();
        let bad = |one: &&CleanUp| !matches!(one.result, Undo::Done | Undo::Gone);
        assert!(told.iter().find(bad).is_none(), "round {round}: {told:?}");
        assert_nothing_left(&home);
        let left: Vec<_> = fs::read_dir(&home)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(left, ["state"], "round {round}");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "round {round}");
        undone.extend(told);
    }
    // The kills fell where there was something to undo, up to what was mounted.
    let done = |wanted: fn(&Resource) -> bool| {
        let done = undone.iter().filter(|one| one.result == Undo::Done);
        done.filter(|one| wanted(&one.resource)).count()
    };
    let images = done(|r| matches!(r, Resource::Image { .. }));
    let mounts = done(|r| matches!(r, Resource::Mount { .. }));
    println!("undone: {images} images, {mounts} mounts");
    assert!(images > 0 && mounts > 0, "{undone:?}");
}

#[test]
fn what_the_dead_left_is_undone_though_layered_and_in_use() {
    if !lab("what_the_dead_left_is_undone_though_layered_and_in_use") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let (home, state) = (
        home.path().canonicalize().unwrap(),
        home.path().join("state"),
    );
    fs::create_dir(&state).unwrap();
    let target = home.join("mnt");
    fs::create_dir(&target).unwrap();
    // Two layers by hand, as the journal of a dead process would tell of them.
    for _ in 0..2 {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "tmpfs"])
            .arg(&target)
            .status();
        assert!(done.unwrap().success());
    }
    fs::write(target.join("file"), "x").unwrap();
    let lines = format!("make 1 directory {0}\nmake 2 mount {0}\n", target.display());
    let mut holder = Command::new("sleep")
        .arg("300")
        .stdin(fs::File::open(target.join("file")).unwrap())
        .spawn()
        .unwrap();
    fs::write(state.join("1-1.journal"), lines).unwrap();
    let told = clean(&state, false);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let told = told.unwrap();
    assert!(
        matches!(&told[0].result, Undo::Forced(how) if how.contains("sleep (")),
        "{told:?}"
    );
    assert_eq!(told[1].result, Undo::Done);
    assert_nothing_left(&home);
    assert!(!target.exists());
}

#[test]
fn a_directory_that_holds_a_foreign_mount_is_not_removed() {
    if !lab("a_directory_that_holds_a_foreign_mount_is_not_removed") {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let ground = Ground::new();
    let state = home.path().join("state");
    fs::create_dir(&state).unwrap();
    let place = ground.path();
    let foreign = mount("tmpfs", "tmpfs", &ground.target(), &[], &ground.journal).unwrap();
    fs::write(foreign.target().join("kept"), "x").unwrap();
    let journal = state.join("1-1.journal");
    fs::write(&journal, format!("make 1 directory {}\n", place.display())).unwrap();
    let told = clean(&state, false).unwrap();
    assert!(
        matches!(&told[0].result, Undo::Failed(why) if why.contains("mounted at")),
        "{told:?}"
    );
    assert!(foreign.target().join("kept").exists());
    assert!(journal.exists(), "it is tried again");
}
