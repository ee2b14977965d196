//! What the code of a crate may reach: the kernel, the clock, other programs, and the names of
//! file systems.

use crate::{Finding, Source, bites, check_sources, files, find_word};
use std::path::Path;

/// Words that reach outside a program's memory.
const OUTSIDE: [&str; 9] = [
    "std::fs",
    "std::process",
    "std::net",
    "std::env",
    "std::os::fd",
    "rustix",
    "libc",
    "stdin()",
    "File::open",
];

/// Words that read a clock.
const CLOCK: [&str; 4] = ["Instant", "SystemTime", "clock_gettime", "Timestamp::now"];

/// Words of mounting, of loop devices and of block devices.
const PRIVILEGED: [&str; 17] = [
    "rustix::mount",
    "libc::mount",
    "libc::umount",
    "umount2",
    "fsopen",
    "fsmount",
    "move_mount",
    "LOOP_CTL_GET_FREE",
    "LOOP_CONFIGURE",
    "LOOP_SET_FD",
    "LOOP_CLR_FD",
    "BLKDISCARD",
    "BLKZEROOUT",
    "BLKSECDISCARD",
    "BLKRRPART",
    "swapon",
    "pivot_root",
];

/// Words that begin another program.
const EXECUTE: [&str; 6] = [
    "process::Command",
    "CommandExt",
    "execve",
    "execvp",
    "posix_spawn",
    "libc::system",
];

/// Where this program goes on in another process.
const FORKS: &str = "crates/load/src/workloads/worker_process.rs";

/// The names of file systems, whether or not there is a recipe yet.
const FILESYSTEMS: [&str; 20] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "zfs", "bcachefs", "f2fs", "jfs",
    "reiserfs", "nilfs2", "vfat", "exfat", "ntfs", "ntfs3", "ufs", "overlay", "erofs",
];

/// Findings for each of `words` in the code of a file outside its tests.
fn words_in_code(source: &Source, words: &[&str], why: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in source.product_code() {
        for word in words {
            if find_word(line, word).is_some() {
                let what = format!("`{word}`: {why}");
                findings.push(Finding::new(&source.path, at, what));
            }
        }
    }
    findings
}

fn recipes_and_model_do_nothing(source: &Source) -> Vec<Finding> {
    match source.krate() {
        "recipes" => words_in_code(
            source,
            &OUTSIDE,
            "recipes returns steps, it executes nothing",
        ),
        "model" => words_in_code(source, &OUTSIDE, "model holds values and does no I/O"),
        "stats" => words_in_code(source, &OUTSIDE, "stats is numbers in, numbers out"),
        _ => Vec::new(),
    }
}

fn no_clock(source: &Source) -> Vec<Finding> {
    match source.krate() {
        "model" | "stats" | "recipes" | "report" => {
            let why = "this crate reads no clock; take the time as a value";
            words_in_code(source, &CLOCK, why)
        }
        _ => Vec::new(),
    }
}

/// Words of time that passes by itself, of others at work, and of ways to reach a disk.
const AROUND_A_DISK: [&str; 7] = [
    "std::thread",
    "std::net",
    "os::unix::net",
    "rustix::net",
    "rustix::event",
    "rustix::thread",
    "rustix::time",
];

/// Where those stand that serve the model disk to somebody.
const FRONT_ENDS: &str = "crates/disk/src/transports/";

fn the_model_disk_stands_alone(source: &Source) -> Vec<Finding> {
    if source.krate() != "disk" || source.path.starts_with(FRONT_ENDS) {
        return Vec::new();
    }
    let why = "the model disk is told the time and what is asked; a front end knows the rest";
    let mut findings = words_in_code(source, &CLOCK, why);
    findings.extend(words_in_code(source, &AROUND_A_DISK, why));
    findings
}

/// What the first process of a guest does: it mounts in its own kernel.
const FIRST_PROCESS: [&str; 2] = [
    "crates/guests/src/inside.rs",
    "crates/guests/src/qemu/entry.rs",
];

fn only_host_is_privileged(source: &Source) -> Vec<Finding> {
    if source.krate() == "host" || FIRST_PROCESS.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let why = "only host mounts, makes loop devices or touches block devices";
    let mut findings = words_in_code(source, &PRIVILEGED, why);
    for (at, text) in &source.strings {
        if !source.test[*at] && text.starts_with("/dev/loop") {
            let what = format!("\"{text}\": only host opens loop devices");
            findings.push(Finding::new(&source.path, *at, what));
        }
    }
    // These have no file of their own to write, so what they opened would be somebody's device.
    if matches!(
        source.krate(),
        "model" | "stats" | "recipes" | "run" | "report"
    ) {
        let why = "only host opens a device for writing";
        findings.extend(words_in_code(
            source,
            &["OpenOptions", "O_WRONLY", "O_RDWR"],
            why,
        ));
    }
    findings
}

fn only_host_and_tools_execute(source: &Source) -> Vec<Finding> {
    let tools = source.path.starts_with("crates/load/src/engines/tools");
    if matches!(source.krate(), "host" | "guests") || tools {
        return Vec::new();
    }
    let why = "only host, guests, and the tools engine of load, run programs";
    let mut findings = words_in_code(source, &EXECUTE, why);
    if source.path != FORKS {
        let why = "only workers that are processes go on as our own program in another one";
        findings.extend(words_in_code(source, &["libc::fork"], why));
    }
    for (at, line) in source.product_code() {
        // `use std::process::{Command, ExitCode}`
        let group = line.split_once("process::{").map(|(_, group)| group);
        if group.is_some_and(|group| find_word(group, "Command").is_some()) {
            findings.push(Finding::new(&source.path, at, format!("`Command`: {why}")));
        }
    }
    findings
}

/// The file systems named in literals outside the recipes; the name of a data file is none.
fn no_filesystem_names(source: &Source, names: &[String], data: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if source.path.starts_with("crates/recipes/src/fs/") {
        return findings;
    }
    let marks = ["// example", "// no contender"];
    let example = |at: usize| marks.iter().any(|mark| source.comments[at].contains(mark));
    for (at, text) in &source.strings {
        if source.test[*at] || example(*at) || (*at > 0 && example(at - 1)) || data.contains(text) {
            continue;
        }
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric());
        if let Some(word) = words.find(|word| names.iter().any(|name| name == word)) {
            let what = format!(
                "`{word}` in a literal: what depends on a file system belongs to its recipe; \
                 a text that only shows an example says so: // example; a file system that is \
                 never compared: // no contender"
            );
            findings.push(Finding::new(&source.path, *at, what));
        }
    }
    findings
}

/// The names above, and those of all recipes. `dir` is a word of the grammar as well.
fn filesystem_names() -> Vec<String> {
    let mut names: Vec<String> = FILESYSTEMS.iter().map(|name| (*name).to_owned()).collect();
    for path in files(&[".rs"]) {
        if let Some(file) = path.strip_prefix("crates/recipes/src/fs/") {
            names.push(file.trim_end_matches(".rs").to_owned());
        }
    }
    names.retain(|name| !["mod", "dir", "tests"].contains(&name.as_str()));
    names
}

/// The names of data files that come with the program, without their endings: a published table
/// is called after what it compares.
fn data_files() -> Vec<String> {
    let paths = files(&[".toml"]);
    let data = paths.iter().filter(|path| path.contains("/data/"));
    let stems = data.filter_map(|path| Path::new(path).file_stem()?.to_str());
    stems.map(str::to_owned).collect()
}

#[test]
fn recipes_model_and_stats_do_no_input_or_output() {
    check_sources(recipes_and_model_do_nothing);
}

#[test]
fn the_check_of_input_and_output_bites() {
    let bad = "use std::fs;\n// std::fs\nlet a = \"std::fs\";\nlet b = std::process::id();";
    for krate in ["recipes", "model", "stats"] {
        let path = format!("crates/{krate}/src/lib.rs");
        assert_eq!(bites(recipes_and_model_do_nothing, &path, bad), [1, 4]);
    }
    let elsewhere = bites(recipes_and_model_do_nothing, "crates/host/src/lib.rs", bad);
    assert!(elsewhere.is_empty());
    let test = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}";
    assert!(bites(recipes_and_model_do_nothing, "crates/model/src/a.rs", test).is_empty());
}

#[test]
fn model_stats_recipes_and_report_read_no_clock() {
    check_sources(no_clock);
}

#[test]
fn the_check_of_clocks_bites() {
    let bad = "let a = Instant::now();\nlet b = instant;\nlet c = SystemTime::UNIX_EPOCH;";
    assert_eq!(bites(no_clock, "crates/stats/src/lib.rs", bad), [1, 3]);
    assert!(bites(no_clock, "crates/load/src/measure.rs", bad).is_empty());
}

#[test]
fn the_model_disk_reads_no_clock_and_knows_no_transport() {
    check_sources(the_model_disk_stands_alone);
}

#[test]
fn the_check_of_the_model_disk_bites() {
    let bad = "let a = Instant::now();\nuse std::os::unix::net::UnixStream;\nlet b = instant;";
    let check = the_model_disk_stands_alone;
    assert_eq!(bites(check, "crates/disk/src/disk.rs", bad), [1, 2]);
    assert!(bites(check, "crates/disk/src/transports/a.rs", bad).is_empty());
    assert!(bites(check, "crates/lab/src/lib.rs", bad).is_empty());
}

#[test]
fn only_host_mounts_and_opens_devices() {
    check_sources(only_host_is_privileged);
}

#[test]
fn the_check_of_privileged_acts_bites() {
    let bad = concat!(
        "rustix::mount::mount(a, b);\numount2(c);\nmounted.unmount();\n",
        "let p = \"/dev/loop-control\";\nlet f = OpenOptions::new();"
    );
    assert_eq!(
        bites(only_host_is_privileged, "crates/run/src/lib.rs", bad),
        [1, 2, 4, 5]
    );
    assert_eq!(
        bites(only_host_is_privileged, "crates/load/src/lib.rs", bad),
        [1, 2, 4]
    );
    assert_eq!(
        bites(only_host_is_privileged, "crates/guests/src/uml.rs", bad),
        [1, 2, 4]
    );
    for fine in ["crates/host/src/lib.rs", FIRST_PROCESS[0]] {
        assert!(bites(only_host_is_privileged, fine, bad).is_empty());
    }
}

#[test]
fn only_host_and_the_tools_engine_run_programs() {
    check_sources(only_host_and_tools_execute);
}

#[test]
fn the_check_of_programs_bites() {
    let bad = "use std::process::{Command, Stdio};\nstd::process::Command::new(a);\nclap::Command::new(b);";
    assert_eq!(
        bites(only_host_and_tools_execute, "crates/lab/src/lib.rs", bad),
        [2, 1]
    );
    for fine in [
        "crates/host/src/command.rs",
        "crates/guests/src/running.rs",
        "crates/load/src/engines/tools.rs",
    ] {
        assert!(bites(only_host_and_tools_execute, fine, bad).is_empty());
    }
    let bad = "unsafe { libc::fork() };";
    assert_eq!(
        bites(only_host_and_tools_execute, "crates/load/src/lib.rs", bad),
        [1]
    );
    assert!(bites(only_host_and_tools_execute, FORKS, bad).is_empty());
}

#[test]
fn no_file_system_is_named_outside_its_recipe() {
    let (names, data) = (filesystem_names(), data_files());
    check_sources(|source| no_filesystem_names(source, &names, &data));
}

#[test]
fn the_check_of_file_system_names_bites() {
    let names = filesystem_names();
    let data = ["xfs-2001".to_owned()];
    let check = |source: &Source| no_filesystem_names(source, &names, &data);
    let table = "let a = \"xfs-2001\";\nlet b = \"xfs-2002\";\nlet c = \"the xfs-2001\";";
    assert_eq!(bites(check, "crates/report/src/lib.rs", table), [2, 3]);
    let bad = concat!(
        "if name == \"xfs\" {}\n// xfs\nlet a = \"mkfs.ext4 -q\";\nlet b = \"next4\";\n",
        "let c = \"--fs ext4,xfs\"; // example\n// example: two of them\nlet d = \"ext4 xfs\";\n",
        "// no contender\nlet e = \"tmpfs\";"
    );
    assert_eq!(bites(check, "crates/host/src/probe.rs", bad), [1, 3]);
    assert!(bites(check, "crates/recipes/src/fs/xfs.rs", bad).is_empty());
    assert!(bites(check, "crates/host/tests/lab_mounts.rs", bad).is_empty());
}
