//! Cells in virtual time on model disks: figures that repeat to the nanosecond, and complete
//! clean-up. Without the lab kernel, the tests are skipped by name.

use crate::support::{Home, have, lab_kernel, outcomes, until};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The arguments of a small run on a model disk.
fn words(home: &Home, kernel: &Path, fs: &str, more: &[&str]) -> Vec<String> {
    let mut words = home.on_model_disks(kernel, fs, "--scale 0.01");
    words.extend(more.iter().map(|word| (*word).to_owned()));
    words
}

fn cells(home: &Home, kernel: &Path, fs: &str, more: &[&str]) -> Value {
    let load = ["--phases", "copy,grep,delete", "--json"];
    let output = home.fsdyno(&words(home, kernel, fs, &[&load, more].concat()));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut result: Value = serde_json::from_str(&output.out).unwrap();
    assert!(outcomes(&result).iter().all(|(_, how)| how == "measured"));
    let cells = result["cells"].take();
    for cell in cells.as_array().unwrap() {
        let samples = cell["samples"].as_array().unwrap();
        assert_eq!(samples.len(), 3);
        assert!(
            samples
                .iter()
                .all(|sample| sample["return_ns"].as_u64() > Some(1_000_000))
        );
    }
    cells
}

/// The samples and the disk summaries of all cells.
fn figures(cells: &Value) -> Vec<(Value, Value)> {
    let cells = cells.as_array().unwrap().iter();
    cells
        .map(|cell| {
            let effective = cell["effective"].as_array().unwrap();
            let disk = effective.iter().find(|one| one["source"] == "disk");
            (cell["samples"].clone(), disk.unwrap().clone())
        })
        .collect()
}

/// The sum of a count over the recorders of all disks for a phase, by the names in the sample.
fn recorded(sample: &Value, kind: &str, what: &str) -> u64 {
    let disks = sample["disks"].as_array().unwrap();
    let of = |stretch: &Value| stretch[kind][what].as_u64().unwrap();
    let both = |disk: &Value| of(&disk["to_return"]) + of(&disk["to_durable"]);
    disks.iter().map(both).sum()
}

/// Asserts that the printed block trace has the recorded counts up to the return of the second
/// phase.
fn printed_as_counted(home: &Home, file: &Path, counted: &Value) {
    let file = file.to_str().unwrap();
    let output = home.fsdyno(&["disk", "trace", "--csv", file]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let rest = output.out.split_once("\"phase 1 begins\"").unwrap().1;
    let phase = rest.split_once("\"phase 1 returned\"").unwrap().0;
    let done = phase.lines().filter(|line| line.contains(",completed,"));
    let kinds = ["reads", "writes", "discards", "flushes"];
    let requests = kinds.map(|kind| counted[kind]["requests"].as_u64().unwrap());
    assert_eq!(done.count() as u64, requests.iter().sum::<u64>());
    let text = home.fsdyno(&["disk", "trace", file]).out;
    assert_eq!(text.lines().count() + 1, output.out.lines().count());
}

#[test]
fn the_disk_and_its_guest_kernel_count_the_same_requests() {
    let test = "the_disk_and_its_guest_kernel_count_the_same_requests";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4", "mkfs.xfs"], test)) else {
        return;
    };
    let home = Home::new();
    let records = home.path("records");
    let recorded_to = ["--disk-trace", records.to_str().unwrap()];
    let cells = cells(&home, &kernel, "ext4,xfs,ext4@raid0x2", &recorded_to);
    for cell in cells.as_array().unwrap() {
        let contender = cell["cell"]["contender"].as_u64().unwrap();
        let disks = [1, 1, 2][usize::try_from(contender).unwrap()];
        let samples = cell["samples"].as_array().unwrap();
        for sample in samples {
            let label = &sample["label"];
            assert_eq!(sample["disks"].as_array().unwrap().len(), disks, "{label}");
            let device = |what: &str| sample["device"][what].as_u64().unwrap();
            let bytes = |kind| recorded(sample, kind, "bytes");
            assert_eq!(bytes("reads"), device("read_bytes"), "{label}");
            assert_eq!(bytes("writes"), device("written_bytes"), "{label}");
            let flushes = recorded(sample, "flushes", "requests");
            assert_eq!(flushes, device("flushes"), "{label}");
            let disk = &sample["disks"][0];
            let waited = disk["to_return"]["causes"].as_object().unwrap().values();
            let waited: u64 = waited.map(|ns| ns.as_u64().unwrap()).sum();
            assert!(waited > 0 || sample["kind"] == "delete", "{label}");
            // A read-only phase leaves only time stamps to write.
            let late = disk["to_durable"]["reads"]["requests"].as_u64();
            assert!(late == Some(0) || sample["kind"] != "grep", "{label}");
        }
        let disks = samples[1]["disks"].as_array().unwrap();
        for (disk, counted) in disks.iter().enumerate() {
            let cell = &cell["cell"]["index"];
            let file = records.join(format!("cell-{cell}-disk-{disk}.trace"));
            printed_as_counted(&home, &file, &counted["to_return"]);
        }
    }
}

#[test]
fn a_pool_served_by_a_daemon_has_the_same_figures_again() {
    let test = "a_pool_served_by_a_daemon_has_the_same_figures_again";
    let programs = ["zpool", "zfs", "zfs-fuse"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    // A deadlock of the daemon's threads fails the cell, and with it the test.
    let bounded = ["--cell-budget", "5m", "--no-check"];
    let fs = "zfs,zfs@pool2";
    let runs = [Home::new(), Home::new()].map(|home| figures(&cells(&home, &kernel, fs, &bounded)));
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn openzfs_has_the_same_figures_again_and_its_pools_are_checked() {
    let test = "openzfs_has_the_same_figures_again_and_its_pools_are_checked";
    let has_it = |kernel: &PathBuf| {
        let config = std::fs::read_to_string(kernel.with_file_name("config"));
        let found = config.is_ok_and(|config| config.contains("CONFIG_ZFS=y"));
        if !found {
            println!("SKIP lab kernel with OpenZFS (fsdyno lab setup --with zfs): {test}");
        }
        found
    };
    let Some(kernel) = lab_kernel(test).filter(has_it) else {
        return;
    };
    let fs = "zfs,zfs@mirror2:atime=off,recordsize=16k,compression=zstd";
    let runs = [Home::new(), Home::new()].map(|home| cells(&home, &kernel, fs, &[]));
    assert_eq!(figures(&runs[0]), figures(&runs[1]));
    for cell in runs[0].as_array().unwrap() {
        let whole = cell.to_string();
        for part in ["-zfs-", "c_max", "zpool scrub -w"] {
            assert!(whole.contains(part), "{part}: {whole}");
        }
        // The kernel does the work of the daemon, so its time is counted.
        assert_eq!(
            cell["warnings"].as_array().map(Vec::len),
            Some(0),
            "{whole}"
        );
    }
}

/// Touches every second page of 300 MB, then the others, so that the host cannot merge mappings.
const SCATTERED: &str = "python3 -c 'import mmap
pages = mmap.mmap(-1, 300 << 20)
for first in 0, 4096:
    for at in range(first, 300 << 20, 8192): pages[at] = 1'";

#[test]
fn a_program_that_needs_more_mappings_than_the_host_allows_fails_with_that_reason() {
    let test = "a_program_that_needs_more_mappings_than_the_host_allows_fails_with_that_reason";
    let programs = ["mkfs.ext4", "python3"];
    let Some(kernel) = lab_kernel(test).filter(|_| have(&programs, test)) else {
        return;
    };
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap();
    if limit.trim().parse::<u32>().unwrap() > 70_000 {
        println!("SKIP vm.max_map_count of at most 70000: {test}");
        return;
    }
    let home = Home::new();
    let output = home.fsdyno(&words(&home, &kernel, "ext4", &["--exec", SCATTERED]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    let result = home.result("last");
    let message = result["cells"][0]["outcome"]["message"].as_str().unwrap();
    let reason = format!("the host allows {} mappings", limit.trim());
    for words in [reason.as_str(), "sysctl vm.max_map_count=1048576"] {
        assert!(message.contains(words), "{message}");
    }
}

fn guests(home: &Home) -> Vec<i32> {
    // The command line of the guest kernel contains its directory.
    let place = format!("uml_dir={}", home.work().display());
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let of = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let named = String::from_utf8_lossy(&line).contains(&place);
        named.then(|| entry.file_name().to_str()?.parse().ok())?
    };
    entries.filter_map(of).collect()
}

#[test]
fn a_dead_guest_keeps_the_disk_figures_of_its_earlier_phases() {
    let test = "a_dead_guest_keeps_the_disk_figures_of_its_earlier_phases";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let records = home.path("records");
    let recorded_to = ["--disk-trace", records.to_str().unwrap()];
    let load = ["--phases", "copy,grep,copy,grep"];
    let mut long = words(&home, &kernel, "ext4", &[&load[..], &recorded_to].concat());
    let scale = long.iter().position(|word| word == "0.01").unwrap();
    long[scale] = "0.1".to_owned();
    let mut running = home.start(&long);
    let file = records.join("cell-0-disk-0.trace").display().to_string();
    // During the run, the trace file can end inside a block.
    let printed = || home.fsdyno(&["disk", "trace", &file]).out;
    let second = || printed().contains("phase 1 begins");
    until(Duration::from_secs(120), "the second phase", second);
    for guest in guests(&home) {
        // A process may have exited together with another one.
        let guest = rustix::process::Pid::from_raw(guest).unwrap();
        let _ = rustix::process::kill_process(guest, rustix::process::Signal::KILL);
    }
    assert_eq!(running.wait().unwrap().code(), Some(1));
    let output = home.fsdyno(&["report", "--format", "json"]);
    let result: Value = serde_json::from_str(&output.out).unwrap();
    let cell = &result["cells"][0];
    let message = cell["outcome"]["message"].as_str().unwrap();
    assert!(message.contains("was killed by signal 9"), "{message}");
    assert!(recorded(&cell["samples"][0], "writes", "requests") > 0);
    let output = home.fsdyno(&["disk", "trace", &file]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn every_property_of_a_draw_changes_a_cell() {
    let test = "every_property_of_a_draw_changes_a_cell";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    // Two draws, and the identity of the file system in each.
    let draws = |vary: &str| {
        let home = Home::new();
        let mut words = words(&home, &kernel, "ext4", &["--phases", "copy,grep", "--json"]);
        let repeats = words.iter().position(|word| word == "--repeats").unwrap();
        "2".clone_into(&mut words[repeats + 1]);
        words.extend(["--vary", vary].map(str::to_owned));
        let output = home.fsdyno(&words);
        assert_eq!(output.code, Some(0), "{vary}: {}", output.err);
        let result: Value = serde_json::from_str(&output.out).unwrap();
        let verdicts = &result["results"][0]["overall"]["fastest"];
        assert!(verdicts.is_null(), "{verdicts}");
        let cells = result["cells"].as_array().unwrap();
        let uuid = |cell: &Value| {
            let effective = cell["effective"].as_array().unwrap().iter();
            let mut reports = effective.filter_map(|one| one["text"].as_str());
            let report = reports.find(|one| one.contains("Filesystem UUID")).unwrap();
            let line = report.lines().find(|line| line.contains("Filesystem UUID"));
            line.unwrap().to_owned()
        };
        let [one, other] = figures(&result["cells"]).try_into().unwrap();
        (one, other, cells.iter().map(uuid).collect::<Vec<_>>())
    };
    let (first, other, uuids) = draws("none");
    assert_eq!((&first, &uuids[0]), (&other, &uuids[1]));
    for vary in ["dataset", "names", "placement", "moment"] {
        let (one, other, of_draws) = draws(vary);
        assert_eq!(
            (&one, &of_draws[0]),
            (&first, &uuids[0]),
            "{vary}: the first draw"
        );
        assert_ne!(one, other, "{vary}");
        if vary == "names" {
            assert_ne!(of_draws[0], of_draws[1]);
        }
    }
}

#[test]
fn clean_removes_the_virtual_time_guests_of_a_killed_run() {
    let test = "clean_removes_the_virtual_time_guests_of_a_killed_run";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let mut long = words(&home, &kernel, "ext4", &["--phases", "copy"]);
    let scale = long.iter().position(|word| word == "0.01").unwrap();
    long[scale] = "0.5".to_owned();
    let mut running = home.start(&long);
    let timeout = Duration::from_secs(120);
    until(timeout, "a guest", || !guests(&home).is_empty());
    running.kill().unwrap();
    running.wait().unwrap();
    home.assert_cleanable();
    assert_eq!(guests(&home), Vec::<i32>::new());
    assert_eq!(home.left_in_work(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn the_work_of_the_kernel_is_counted_and_charged_unless_computing_is_free() {
    let test = "the_work_of_the_kernel_is_counted_and_charged_unless_computing_is_free";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let of = |cpu: &str| {
        let all = cells(&home, &kernel, "ext4", &["--cpu", cpu]);
        let work = all[0]["samples"][0]["kernel"].as_array().unwrap().last();
        let number = |key: &str| work.unwrap()[key].as_u64().unwrap();
        let blocks = number("process_blocks") + number("kthread_blocks");
        (blocks, number("charged_ns"))
    };
    let (free, old, today) = (of("free"), of("laptop-2004"), of("vm-2026"));
    assert!(free.0 > 10_000 && today.0 > 10_000, "{free:?} {today:?}");
    assert_eq!(free.1, 0);
    // The time of the phase itself may be shorter: a disk that rotates meets other sectors.
    assert!(old.1 > 3 * today.1 && today.1 > 0, "{old:?} {today:?}");
}

#[test]
fn the_kernel_knows_the_kind_of_a_model_disk() {
    let test = "the_kernel_knows_the_kind_of_a_model_disk";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.btrfs"], test)) else {
        return;
    };
    let home = Home::new();
    let (kernel, work) = (kernel.display().to_string(), home.work());
    let work = work.display().to_string();
    for (disk, rotates, option, scheduler, time) in [
        ("nvme", "0", "", "none", "virtual"),
        ("sata-ssd", "0", "", "mq-deadline", "virtual"),
        ("sata-2008", "1", "-v", "mq-deadline", "virtual"),
        ("nvme", "0", "", "none", "real"),
        ("sata-2008", "1", "-v", "mq-deadline", "real"),
    ] {
        // Btrfs mounts with `ssd` by itself, and then lets no fsync wait for others.
        let command = format!(
            "grep -q {rotates} /sys/block/vda/queue/rotational &&
             grep -q {scheduler}] /sys/block/vda/queue/scheduler &&
             grep btrfs /proc/mounts | grep -q {option} ,ssd,"
        );
        let run = [
            "run",
            "--fs",
            "btrfs",
            "--disk",
            disk,
            "--time",
            time,
            "--repeats",
            "1",
            "--exec",
            &command,
        ];
        let place = ["--guest-kernel", &kernel, "--work-dir", &work];
        let output = home.fsdyno(&[&run[..], &place].concat());
        let printed = format!("{}{}", output.out, output.err);
        assert_eq!(output.code, Some(0), "{disk}, {time}: {printed}");
    }
}

#[test]
fn bytes_that_the_program_searches_are_user_time_at_the_price_of_the_profile() {
    let test = "bytes_that_the_program_searches_are_user_time_at_the_price_of_the_profile";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let profile = home.path("searches.toml");
    let prices = "title = \"t\"\nsource = \"a test\"\n[prices]\nblock_ns = 2\nsystem_call_ns = 300\n\
                copy_ns = 0\nclear_ns = 0\ncrc32c_ns = 0\nsearch_ns = 100\n";
    std::fs::write(&profile, prices).unwrap();
    let profile = profile.display().to_string();
    let all = cells(&home, &kernel, "ext4", &["--cpu", &profile]);
    let samples = all[0]["samples"].as_array().unwrap();
    let number = |at: usize, path: &str| samples[at].pointer(path).unwrap().as_u64().unwrap();
    let searched = 100 * number(1, "/tally/bytes");
    assert!(searched > 100_000_000, "{searched}");
    // The first phase copies, and searches nothing.
    assert_eq!(number(0, "/cpu/user_ns"), 0);
    assert_eq!(number(1, "/cpu/user_ns"), searched);
    let (whole, system) = (number(1, "/return_ns"), number(1, "/cpu/system_ns"));
    assert!(system > 0 && searched + system <= whole, "{system} {whole}");
}

#[test]
#[ignore = "a measurement: cargo test --release -p fsdyno-cli --test lab -- --ignored virtual_time --nocapture"]
fn the_time_of_a_run_by_its_number_of_jobs() {
    let test = "the_time_of_a_run_by_its_number_of_jobs";
    let Some(kernel) = lab_kernel(test) else {
        return;
    };
    let kernel = kernel.display().to_string();
    let processors = std::thread::available_parallelism().unwrap().get();
    let mut alone = None;
    for jobs in (0..)
        .map(|power| 1 << power)
        .take_while(|jobs| *jobs <= processors)
    {
        let home = Home::new();
        let work = home.work().display().to_string();
        let fs = "ext3,ext4,xfs,btrfs,jfs,reiserfs";
        let load = "run classic-2008 --disk sata-2008 --scale 0.02 --repeats 1 --on loop:1G";
        let mut words: Vec<&str> = load.split(' ').collect();
        let jobs = jobs.to_string();
        words.extend(["--fs", fs, "--guest-kernel", &kernel]);
        words.extend(["--work-dir", &work, "--jobs", &jobs]);
        let start = std::time::Instant::now();
        let printed = home.fsdyno(&words);
        let elapsed = start.elapsed().as_secs_f64();
        assert_eq!(printed.code, Some(0), "{}", printed.err);
        let alone = *alone.get_or_insert(elapsed);
        let digest = home.fsdyno(&["show", "last"]).out;
        let digest = digest.lines().find(|line| line.starts_with("digest"));
        println!(
            "{jobs} jobs: {elapsed:.1} s, {:.2} of one; {}",
            elapsed / alone,
            digest.unwrap()
        );
    }
}

/// With this variable the test of the counter is the program that a guest runs.
#[cfg(target_arch = "x86_64")]
const PRINTS_COUNTER: &str = "FSDYNO_PRINTS_COUNTER";

/// Prints how far the time stamp counter advances during a sleep, and how many readings a wait takes.
#[cfg(target_arch = "x86_64")]
fn print_counter() {
    use std::arch::x86_64::{__rdtscp, _rdtsc};
    let mut number = 0;
    // SAFETY: every x86-64 processor that runs these tests has both instructions, and `number` is a
    // live variable.
    let mut read = || unsafe { (_rdtsc(), __rdtscp(&raw mut number)) };
    let (first, second) = read();
    std::thread::sleep(Duration::from_millis(20));
    let (third, _) = read();
    assert!(first <= second && second < third);
    // The name of the test is on the line before.
    println!("\ncounter sleep {}", third - second);
    let mut readings = 0_u64;
    // A program that waits without a system call comes to an end.
    while read().0 < third + 10_000_000 {
        readings += 1;
    }
    println!("counter readings {readings}");
    // So does one that reads the clock, or yields and reads it.
    for yields in [false, true] {
        let (began, mut calls) = (std::time::Instant::now(), 0_u64);
        while began.elapsed() < Duration::from_secs(3) {
            calls += 1;
            if yields {
                std::thread::yield_now();
            }
        }
        println!("counter calls {calls}");
    }
    // After another call, a reading takes what it always takes.
    let two = (std::time::Instant::now(), std::time::Instant::now());
    println!("counter two {}", (two.1 - two.0).as_nanos());
    println!("counter processor {number}");
}

#[cfg(target_arch = "x86_64")]
#[test]
fn programs_of_guests_read_virtual_time_from_the_time_stamp_counter() {
    let test = "programs_of_guests_read_virtual_time_from_the_time_stamp_counter";
    if std::env::var_os(PRINTS_COUNTER).is_some() {
        print_counter();
        return;
    }
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let program = std::env::current_exe().unwrap();
    let command = format!(
        "{PRINTS_COUNTER}=1 {} --exact virtual_time::{test} --nocapture",
        program.display()
    );
    let printed = || {
        let load = ["--exec", &command, "--json"];
        let output = home.fsdyno(&words(&home, &kernel, "ext4", &load)); // example
        assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
        let result: Value = serde_json::from_str(&output.out).unwrap();
        let commands = result["cells"][0]["commands"].as_array().unwrap().iter();
        let texts = commands.filter_map(|one| one["stdout"].as_str());
        let lines = texts
            .flat_map(str::lines)
            .filter(|line| line.starts_with("counter "));
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        (lines, result["cells"][0]["samples"].clone())
    };
    let first = printed();
    let (names, numbers): (Vec<&str>, Vec<u64>) = first
        .0
        .iter()
        .map(|line| {
            let (name, number) = line.rsplit_once(' ').unwrap();
            (name, number.parse::<u64>().unwrap())
        })
        .unzip();
    let expected = ["sleep", "readings", "calls", "calls", "two", "processor"];
    assert_eq!(names, expected.map(|name| format!("counter {name}")));
    let [slept, _, calls, with_yields, two, processor] = numbers[..] else {
        panic!("{numbers:?}");
    };
    // Nanoseconds of virtual time: the sleep, and little else.
    assert!((20_000_000..21_000_000).contains(&slept), "{slept}");
    // At the price of a single reading it were 11 million.
    assert!(calls < 400_000 && with_yields < 400_000, "{numbers:?}");
    assert_eq!((two, processor), (256, 0));
    assert_eq!(printed(), first);
}
