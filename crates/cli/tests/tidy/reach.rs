//! Limits on the code of each crate: kernel, clock, other programs, and names of file systems.

use crate::{Finding, Source, check_sources, files, lines_found};
use std::path::Path;

/// Input and output: modules, methods of paths, and macros that print.
const OUTSIDE: [&str; 24] = [
    "std::fs",
    "std::process",
    "std::net",
    "std::env",
    "std::os::fd",
    "std::os::unix::fs",
    "std::os::unix::net",
    "std::os::unix::process",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "rustix",
    "libc",
    "nix",
    ".exists",
    ".try_exists",
    ".canonicalize",
    ".read_dir",
    ".read_link",
    ".symlink_metadata",
    "print!",
    "println!",
    "eprint!",
    "eprintln!",
];

/// Functions that read a clock.
const CLOCK: [&str; 7] = [
    "std::time::Instant",
    "std::time::SystemTime",
    "libc::clock_gettime",
    "rustix::time",
    "jiff::Timestamp::now",
    "jiff::Zoned::now",
    ".elapsed",
];

/// Mounts, loop devices and block devices.
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

/// Functions that make or remove something at a path that they resolve again.
const BY_PATH: [&str; 18] = [
    "std::fs::create_dir",
    "std::fs::create_dir_all",
    "std::fs::DirBuilder",
    "std::fs::OpenOptions",
    "std::fs::File::create",
    "std::fs::File::create_new",
    "std::fs::File::options",
    "std::fs::hard_link",
    "std::fs::rename",
    "std::fs::remove_dir",
    "std::fs::remove_dir_all",
    "std::fs::remove_file",
    "std::os::unix::fs::symlink",
    "rustix::fs::mkdir",
    "rustix::fs::unlink",
    "rustix::fs::rename",
    "rustix::fs::link",
    "rustix::fs::symlink",
];

/// The files of `host` that make or remove something in directories of the system, where only root
/// can: PID files in `/run`, links in `/dev/md`, instances of tracefs.
const IN_SYSTEM_DIRECTORIES: [&str; 3] = [
    "crates/host/src/daemons.rs",
    "crates/host/src/arrays.rs",
    "crates/host/src/clean_up/mod.rs",
];

/// Functions that start another program.
const EXECUTE: [&str; 9] = [
    "std::process::Command",
    "std::os::unix::process::CommandExt",
    "CommandExt",
    "execve",
    "execvp",
    "execveat",
    "posix_spawn",
    "libc::system",
    "rustix::runtime",
];

/// The file that forks worker processes.
const FORKS: &str = "crates/load/src/phases/worker_process.rs";

/// Names of file systems, with or without a recipe.
const FILESYSTEMS: [&str; 20] = [
    "ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "ramfs", "zfs", "bcachefs", "f2fs", "jfs",
    "reiserfs", "nilfs2", "vfat", "exfat", "ntfs", "ntfs3", "ufs", "overlay", "erofs",
];

/// Reports each use of `patterns` in the code of a file outside its tests.
fn reaches(source: &Source, patterns: &[&str], why: &str) -> Vec<Finding> {
    let product = source.reached.iter().filter(|r| !source.test[r.line]);
    product
        .filter_map(|reached| {
            let pattern = patterns.iter().find(|pattern| reached.names(pattern))?;
            let what = format!("`{pattern}`: {why}");
            Some(Finding::new(&source.path, reached.line, what))
        })
        .collect()
}

fn recipes_and_model_do_nothing(source: &Source) -> Vec<Finding> {
    let why = match source.krate() {
        "recipes" => "recipes returns steps, it executes nothing",
        "model" => "model holds values and does no I/O",
        "stats" => "stats is numbers in, numbers out",
        _ => return Vec::new(),
    };
    reaches(source, &OUTSIDE, why)
}

fn host_resolves_paths_once(source: &Source) -> Vec<Finding> {
    let path = source.path.as_str();
    match source.krate() {
        "host" if !IN_SYSTEM_DIRECTORIES.contains(&path) => {
            let why = "another user could exchange a part of the path; use `place::Place`";
            reaches(source, &BY_PATH, why)
        }
        // In a guest, all directories are its own.
        "cli" | "lab" | "run" | "observe" if !path.starts_with("crates/lab/src/serve/") => {
            let why = "use `fsdyno_files::create_output_dir`, which root can trust";
            reaches(source, &["std::fs::create_dir_all"], why)
        }
        _ => Vec::new(),
    }
}

fn no_clock(source: &Source) -> Vec<Finding> {
    if !matches!(source.krate(), "model" | "stats" | "recipes" | "report") {
        return Vec::new();
    }
    let why = "this crate reads no clock; take the time as a value";
    reaches(source, &CLOCK, why)
}

/// Threads, the network and the clock, which a model disk does not use.
const TRANSPORT: [&str; 7] = [
    "std::thread",
    "std::net",
    "std::os::unix::net",
    "rustix::net",
    "rustix::event",
    "rustix::thread",
    "rustix::time",
];

/// The directory of the transports of the model disk.
const TRANSPORTS: &str = "crates/disk/src/transports/";

fn the_model_disk_has_no_transport(source: &Source) -> Vec<Finding> {
    if source.krate() != "disk" || source.path.starts_with(TRANSPORTS) {
        return Vec::new();
    }
    let why = "the model disk takes the time and the requests as values; a transport does the rest";
    let mut findings = reaches(source, &CLOCK, why);
    findings.extend(reaches(source, &TRANSPORT, why));
    findings
}

/// Calls of the first process of a guest, which mounts in its own kernel.
const FIRST_PROCESS: [&str; 2] = [
    "crates/guests/src/inside/mod.rs",
    "crates/guests/src/inside/entry.rs",
];

fn only_host_is_privileged(source: &Source) -> Vec<Finding> {
    if source.krate() == "host" || FIRST_PROCESS.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let why = "only host mounts, makes loop devices or touches block devices";
    let mut findings = reaches(source, &PRIVILEGED, why);
    for (at, text) in &source.strings {
        if !source.test[*at] && text.starts_with("/dev/loop") {
            let what = format!("\"{text}\": only host opens loop devices");
            findings.push(Finding::new(&source.path, *at, what));
        }
    }
    // These crates create no files, so a file that they open would be a device.
    if matches!(
        source.krate(),
        "model" | "stats" | "recipes" | "run" | "report"
    ) {
        let why = "only host opens a device for writing";
        let patterns = ["OpenOptions", "O_WRONLY", "O_RDWR", "std::fs::OpenOptions"];
        findings.extend(reaches(source, &patterns, why));
    }
    findings
}

/// The file that finds programs and makes their commands.
const PROGRAMS: &str = "crates/files/src/programs.rs";

fn programs_are_found_in_one_place(source: &Source) -> Vec<Finding> {
    // A tool of developers starts cargo and tests as them.
    if source.path == PROGRAMS || source.path.starts_with("xtask/") {
        return Vec::new();
    }
    let why = "a program is found by fsdyno_files::programs (`command`, or `at` for a path), which \
               ignores directories of PATH that other users can write";
    reaches(source, &["std::process::Command::new"], why)
}

/// The files that read a directory, their own file or one of the kernel, none named by the user.
const OWN_FILES: [&str; 3] = [
    "crates/cli/src/commands/age.rs",
    "crates/cli/src/commands/bisect/kept.rs",
    "crates/cli/src/commands/cpu.rs",
];

fn inputs_are_regular_and_bounded(source: &Source) -> Vec<Finding> {
    const READERS: [&str; 8] = [
        "cli", "cpu", "datasets", "disk", "report", "run", "store", "trace",
    ];
    if !READERS.contains(&source.krate()) || OWN_FILES.contains(&source.path.as_str()) {
        return Vec::new();
    }
    let why = "a file of the user is opened by `fsdyno_files::input`, which waits for no FIFO";
    let bare = [
        "std::fs::File::open",
        "std::fs::read",
        "std::fs::read_to_string",
    ];
    reaches(source, &bare, why)
}

fn only_host_and_tools_execute(source: &Source) -> Vec<Finding> {
    let tools = source.path.starts_with("crates/load/src/command");
    // It starts this program again, as the monitor of a run by many ranks.
    let monitor = source.path == "crates/ranks/src/monitor/link.rs";
    let monitor = monitor || source.path.starts_with("xtask/");
    if matches!(source.krate(), "host" | "guests") || tools || monitor || source.path == PROGRAMS {
        return Vec::new();
    }
    let why = "only host, guests, and the tools engine of load, run programs";
    let mut findings = reaches(source, &EXECUTE, why);
    if source.path != FORKS {
        let why = "only worker processes are forked";
        let forks = [
            "libc::fork",
            "libc::vfork",
            "rustix::runtime::fork",
            "nix::unistd::fork",
        ];
        findings.extend(reaches(source, &forks, why));
    }
    findings
}

/// File systems named in literals outside the recipes. Names of data files are exempt.
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
                 mark a text that only shows an example with // example, and a file system that \
                 is never compared with // no contender"
            );
            findings.push(Finding::new(&source.path, *at, what));
        }
    }
    findings
}

/// The names above and those of all recipes. `dir` is a keyword of the plan syntax too.
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

/// The names of built-in data files without their endings. A published table is named after the
/// file systems it compares.
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
fn the_check_of_input_and_output_finds_violations() {
    let bad = "use std::fs;\n// std::fs\nlet a = \"std::fs\";\nlet b = std::process::id();";
    for krate in ["recipes", "model", "stats"] {
        let path = format!("crates/{krate}/src/lib.rs");
        assert_eq!(
            lines_found(recipes_and_model_do_nothing, &path, bad),
            [1, 4]
        );
    }
    let hidden = "use std::{io, fs as f};\nuse std as s;\nlet a = s::env::var(b);\nprintln!(\"\");\n\
                  vec![path.exists()];\nextern crate libc as c;";
    let check = recipes_and_model_do_nothing;
    assert_eq!(
        lines_found(check, "crates/model/src/a.rs", hidden),
        [1, 6, 3, 4, 5]
    );
    let in_host = lines_found(recipes_and_model_do_nothing, "crates/host/src/lib.rs", bad);
    assert!(in_host.is_empty());
    let test = "#[cfg(test)]\nmod tests {\n    use std::fs;\n}";
    assert!(lines_found(recipes_and_model_do_nothing, "crates/model/src/a.rs", test).is_empty());
}

#[test]
fn model_stats_recipes_and_report_read_no_clock() {
    check_sources(no_clock);
}

#[test]
fn the_check_of_clocks_finds_violations() {
    let bad = "use std::time as t;\nlet a = t::Instant::now();\nlet b = instant;\nuse t::Instant;";
    assert_eq!(
        lines_found(no_clock, "crates/stats/src/lib.rs", bad),
        [4, 2]
    );
    let glob = "use std::time::*;\nuse std::time::{Duration, SystemTime};";
    assert_eq!(
        lines_found(no_clock, "crates/stats/src/lib.rs", glob),
        [1, 2]
    );
    assert!(lines_found(no_clock, "crates/load/src/measure.rs", bad).is_empty());
}

#[test]
fn the_model_disk_reads_no_clock_and_knows_no_transport() {
    check_sources(the_model_disk_has_no_transport);
}

#[test]
fn the_check_of_the_model_disk_finds_violations() {
    let bad = "use std::time::Instant;\nuse std::os::unix::net::UnixStream;\nlet b = instant;";
    let check = the_model_disk_has_no_transport;
    assert_eq!(lines_found(check, "crates/disk/src/disk.rs", bad), [1, 2]);
    assert!(lines_found(check, "crates/disk/src/transports/a.rs", bad).is_empty());
    assert!(lines_found(check, "crates/lab/src/lib.rs", bad).is_empty());
}

#[test]
fn only_host_mounts_and_opens_devices() {
    check_sources(only_host_is_privileged);
}

#[test]
fn the_check_of_privileged_acts_finds_violations() {
    let bad = concat!(
        "rustix::mount::mount(a, b);\numount2(c);\nmounted.unmount();\n",
        "let p = \"/dev/loop-control\";\nlet f = OpenOptions::new();"
    );
    assert_eq!(
        lines_found(only_host_is_privileged, "crates/run/src/lib.rs", bad),
        [1, 2, 4, 5]
    );
    assert_eq!(
        lines_found(only_host_is_privileged, "crates/load/src/lib.rs", bad),
        [1, 2, 4]
    );
    assert_eq!(
        lines_found(only_host_is_privileged, "crates/guests/src/uml.rs", bad),
        [1, 2, 4]
    );
    for fine in ["crates/host/src/lib.rs", FIRST_PROCESS[0]] {
        assert!(lines_found(only_host_is_privileged, fine, bad).is_empty());
    }
}

#[test]
fn what_root_makes_and_removes_is_reached_by_descriptors() {
    check_sources(host_resolves_paths_once);
}

#[test]
fn the_check_of_paths_finds_violations() {
    let bad = concat!(
        "use std::fs;\nfs::create_dir_all(a);\nfs::File::create(b);\nfs::read(c);\n",
        "rustix::fs::unlink(d);\nrustix::fs::unlinkat(e, f, g);\n"
    );
    let check = host_resolves_paths_once;
    assert_eq!(
        lines_found(check, "crates/host/src/image.rs", bad),
        [2, 3, 5]
    );
    assert_eq!(lines_found(check, "crates/cli/src/man.rs", bad), [2]);
    for fine in [IN_SYSTEM_DIRECTORIES[0], "crates/lab/src/serve/crash.rs"] {
        assert!(lines_found(check, fine, bad).is_empty());
    }
}

#[test]
fn only_host_and_the_commands_of_load_run_programs() {
    check_sources(only_host_and_tools_execute);
}

#[test]
fn the_check_of_programs_finds_violations() {
    let bad = "use std::process::{Command, Stdio};\nstd::process::Command::new(a);\nclap::Command::new(b);";
    assert_eq!(
        lines_found(only_host_and_tools_execute, "crates/lab/src/lib.rs", bad),
        [1, 2]
    );
    for fine in [
        "crates/host/src/command.rs",
        "crates/guests/src/running.rs",
        "crates/load/src/command.rs",
    ] {
        assert!(lines_found(only_host_and_tools_execute, fine, bad).is_empty());
    }
    let bad = "unsafe { libc::fork() };";
    assert_eq!(
        lines_found(only_host_and_tools_execute, "crates/load/src/lib.rs", bad),
        [1]
    );
    assert!(lines_found(only_host_and_tools_execute, FORKS, bad).is_empty());
}

#[test]
fn files_of_the_user_are_opened_by_one_function() {
    check_sources(inputs_are_regular_and_bounded);
}

#[test]
fn the_check_of_inputs_finds_violations() {
    let bad = "use std::fs::{self, File};\nlet a = File::open(b)?;\nlet c = fs::read(d)?;\n\
               let e = fs::read_dir(f)?;\nlet g = input::open(h)?;";
    for path in ["crates/run/src/a.rs", "crates/cli/src/a.rs"] {
        let found = lines_found(inputs_are_regular_and_bounded, path, bad);
        assert!(found.contains(&2) && found.contains(&3), "{found:?}");
        assert!(!found.contains(&4) && !found.contains(&5), "{found:?}");
    }
    for path in ["crates/host/src/a.rs", OWN_FILES[0]] {
        assert!(lines_found(inputs_are_regular_and_bounded, path, bad).is_empty());
    }
}

#[test]
fn every_program_is_found_by_one_function() {
    check_sources(programs_are_found_in_one_place);
}

#[test]
fn the_check_of_found_programs_finds_violations() {
    let bad = "use std::process::{Child, Command};\nCommand::new(\"sh\");\nfn a(b: Command) {}\n\
               std::process::Command::new(c);\nuse std::process as p;\np::Command::new(d);\n\
               clap::Command::new(e);";
    for path in ["crates/host/src/command.rs", "crates/load/src/command.rs"] {
        assert_eq!(
            lines_found(programs_are_found_in_one_place, path, bad),
            [2, 4, 6]
        );
    }
    assert!(lines_found(programs_are_found_in_one_place, PROGRAMS, bad).is_empty());
    let test = "#[cfg(test)]\nmod tests {\n    fn a() { std::process::Command::new(b); }\n}";
    assert!(
        lines_found(
            programs_are_found_in_one_place,
            "crates/host/src/a.rs",
            test
        )
        .is_empty()
    );
}

#[test]
fn no_file_system_is_named_outside_its_recipe() {
    let (names, data) = (filesystem_names(), data_files());
    check_sources(|source| no_filesystem_names(source, &names, &data));
}

#[test]
fn the_check_of_file_system_names_finds_violations() {
    let names = filesystem_names();
    let data = ["xfs-2001".to_owned()];
    let check = |source: &Source| no_filesystem_names(source, &names, &data);
    let table = "let a = \"xfs-2001\";\nlet b = \"xfs-2002\";\nlet c = \"the xfs-2001\";";
    assert_eq!(
        lines_found(check, "crates/report/src/lib.rs", table),
        [2, 3]
    );
    let bad = concat!(
        "if name == \"xfs\" {}\n// xfs\nlet a = \"mkfs.ext4 -q\";\nlet b = \"next4\";\n",
        "let c = \"--fs ext4,xfs\"; // example\n// example: two of them\nlet d = \"ext4 xfs\";\n",
        "// no contender\nlet e = \"tmpfs\";"
    );
    assert_eq!(lines_found(check, "crates/host/src/probe.rs", bad), [1, 3]);
    assert!(lines_found(check, "crates/recipes/src/fs/xfs.rs", bad).is_empty());
    assert!(lines_found(check, "crates/host/tests/lab_mounts.rs", bad).is_empty());
}
