//! `why` on constructed cases: one of two contenders does more of one thing, and `why` names it.
//! The main case is a disk with a slow flush: a contender that flushes often, compared with the
//! same contender without flushes. Tests without the lab kernel or root are skipped by name.

use crate::support::{Home, have, lab_kernel, root_and};
use serde_json::Value;

/// Writes files and syncs each one.
const DURABLE: &str = "for n in $(seq 60); do dd if=/dev/zero of={dir}/$n bs=4k count=1 \
                       conv=fsync 2>/dev/null || exit 1; done";

/// The contender that does more, and a second one with an option that the commands can detect.
const TWO: [&str; 2] = ["ext4", "ext4:nodelalloc"];

/// A command that runs `more` on the first of [`TWO`], and `less` on the other.
fn either(more: &str, less: &str) -> String {
    format!(
        "if grep -q \" $(stat -c %m {{dir}}) .*nodelalloc\" /proc/mounts; then {less}; else {more}; fi"
    )
}

/// Runs both in virtual time on a model disk.
fn run_in_virtual_time(home: &Home, kernel: &str, disk: &str, load: &[&str]) {
    let (work, fs) = (home.work().display().to_string(), TWO.join(","));
    let words = [
        "run",
        "--disk",
        disk,
        "--fs",
        &fs,
        "--work-dir",
        &work,
        "--on",
        "loop:1G",
        "--guest-kernel",
        kernel,
        "--repeats",
        "1",
        "--dataset",
        "mixed",
        "--scale",
        "0.01",
    ];
    let output = home.fsdyno(&[&words, load].concat());
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
}

/// The analysis of the only phase of the last run.
fn explained(home: &Home, [one, other]: [&str; 2]) -> Value {
    let output = home.fsdyno(&["why", "last", one, other, "--json"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let mut json: Value = serde_json::from_str(&output.out).unwrap();
    json["phases"][0].take()
}

#[test]
fn more_reads_are_named_as_the_cause() {
    let test = "more_reads_are_named_as_the_cause";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let prepare = "dd if=/dev/zero of={dir}/big bs=1M count=24 2>/dev/null";
    let read = |blocks| format!("dd if={{dir}}/big of=/dev/null bs=64k count={blocks} 2>/dev/null");
    let exec = either(&read(384), &read(16));
    let load = ["--prepare", prepare, "--exec", &exec];
    run_in_virtual_time(&home, &kernel.display().to_string(), "sata-2008", &load);
    let phase = explained(&home, TWO);
    let sentence = phase["sentence"].as_str().unwrap();
    assert_eq!(phase["cause"], "reads", "{sentence}");
    assert!(sentence.starts_with("ext4 took"), "{sentence}");
    // Observation of the host would change the timing of a guest in virtual time.
    let result = home.result("last");
    assert!(result["cells"][0]["samples"][0]["observed"].is_null());
}

#[test]
fn fragmentation_is_named_as_the_cause_with_its_remedy() {
    let test = "fragmentation_is_named_as_the_cause_with_its_remedy";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    // Files that grow in turns with a sync after each piece are fragmented.
    let pieces = "for piece in 1 2 3 4; do for n in $(seq 32); do dd if=/dev/zero \
                  of={dir}/f$n bs=16k count=1 oflag=append conv=notrunc,fsync 2>/dev/null || exit 1; \
                  done; done";
    let whole = "for n in $(seq 32); do dd if=/dev/zero of={dir}/f$n bs=64k count=1 2>/dev/null \
                 || exit 1; done";
    let prepare = either(pieces, whole);
    let exec = "cat {dir}/f* >/dev/null";
    let load = ["--fragments=32K", "--prepare", &prepare, "--exec", exec];
    run_in_virtual_time(&home, &kernel.display().to_string(), "sata-2008", &load);
    let phase = explained(&home, TWO);
    let sentence = phase["sentence"].as_str().unwrap();
    assert_eq!(phase["cause"], "fragments", "{sentence}");
    assert!(sentence.contains("to try: e4defrag"), "{sentence}");
}

#[test]
fn processor_time_is_named_as_the_cause_under_other_load() {
    let test = "processor_time_is_named_as_the_cause_under_other_load";
    if !root_and(&["mkfs.ext4", "chrt"], test) {
        return;
    }
    let home = Home::new();
    let (work, fs) = (home.work().display().to_string(), TWO.join(","));
    // With real-time priority, the loop is never preempted.
    let compute = "chrt --fifo 10 sh -c 'n=0; while [ $n -lt 1200000 ]; do n=$((n+1)); done'";
    let exec = either(compute, ":");
    let output = home.fsdyno(&[
        "run",
        "--fs",
        &fs,
        "--work-dir",
        &work,
        "--on",
        "loop:256M",
        "--repeats",
        "1",
        "--dataset",
        "mixed",
        "--scale",
        "0.01",
        "--trace",
        "--exec",
        &exec,
    ]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let phase = explained(&home, TWO);
    let sentence = phase["sentence"].as_str().unwrap();
    assert_eq!(phase["cause"], "user", "{sentence}");
    assert!(sentence.contains("in their own code"), "{sentence}");
    // The other load of the machine is recorded, or recorded as unknown.
    let result = home.result("last");
    let observed = &result["cells"][0]["samples"][0]["observed"];
    let unobserved = observed["unobserved"].to_string();
    for (field, name) in [
        ("others_ns", "load of others: "),
        ("pressure", "pressure: "),
        ("throttled", "throttling: "),
        ("traced", "tracepoints: "),
    ] {
        assert_eq!(
            observed[field].is_null(),
            unobserved.contains(name),
            "{observed}"
        );
    }
    assert!(observed["over_ns"].as_u64() > Some(0), "{observed}");
}

#[test]
fn slow_flushes_are_named_as_the_cause_with_their_remedy() {
    let test = "slow_flushes_are_named_as_the_cause_with_their_remedy";
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
    let contenders = ["ext4", "ext4:nobarrier"];
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
    let output = home.fsdyno(&[&words[..], &place, &load].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    let why = [&["why", "last"][..], &contenders].concat();
    let output = home.fsdyno(&[&why[..], &["--json"]].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    let json: Value = serde_json::from_str(&output.out).unwrap();
    let phase = &json["phases"][0];
    assert_eq!(phase["cause"], "flushes", "{}", output.out);
    for anatomy in phase["anatomies"].as_array().unwrap() {
        assert_eq!(anatomy["source"], "recorder");
        let parts = anatomy["parts_ns"].as_array().unwrap().iter();
        let parts: u64 = parts.map(|ns| ns.as_u64().unwrap()).sum();
        assert_eq!(anatomy["whole_ns"].as_u64(), Some(parts));
    }
    // Each flush takes at least the time in the profile.
    let flushes = phase["anatomies"][0]["waits"]["flushes_ns"]
        .as_u64()
        .unwrap();
    assert!(flushes >= 60 * 30_000_000, "{flushes}");
    let sentence = phase["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("the mount option nobarrier, as ext4:nobarrier has it, which risks"),
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
        let output = home.fsdyno(&words);
        assert_eq!(output.code, Some(2), "{}", output.err);
        assert!(output.err.contains(why), "{}", output.err);
    }
}

/// Checks that the stored profile of the last run is drawn, and found by the name of a function.
fn check_stored_profile(home: &Home) {
    let flames = home.path("flames");
    let into = format!("{}/", flames.display());
    let drawn = home.fsdyno(&["chart", "last", "flame", "sleep", "-o", &into]);
    assert_eq!(drawn.code, Some(0), "{}", drawn.err);
    let of_both = drawn
        .out
        .lines()
        .find(|line| line.ends_with("-ext4-ext4-nodelalloc.svg"));
    let svg = std::fs::read_to_string(of_both.unwrap()).unwrap();
    assert!(svg.contains("<title>ext4_mkdir: ext4 "), "{svg}");
    let words = ["history", "--function", "ext4_mkdir", "--format", "csv"];
    let history = home.fsdyno(&words);
    assert!(
        history.out.contains("blocks in ext4_mkdir"),
        "{}{}",
        history.out,
        history.err
    );
}

#[test]
fn the_functions_that_carry_a_difference_are_named_and_the_same_in_every_repeat() {
    let test = "the_functions_that_carry_a_difference_are_named_and_the_same_in_every_repeat";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let make = |count| format!("for n in $(seq {count}); do mkdir {{dir}}/$n; done");
    let load = ["--exec", &either(&make(200), &make(4))];
    run_in_virtual_time(&home, &kernel.display().to_string(), "nvme", &load);
    let picture = home.work().join("flame.html");
    // The store before the profile is stored in it.
    let stores = [home.path("data/fsdyno/fsdyno.db"), home.path("before.db")];
    std::fs::copy(&stores[0], &stores[1]).unwrap();
    let functions = |store: usize, repeats: usize| {
        let (store, path) = (&stores[store].display().to_string(), &picture);
        let (words, path) = (["--functions", "--json"], path.display().to_string());
        let why = ["why", "last", TWO[0], TWO[1], "--store", store];
        let output = home.fsdyno(&[&why[..], &words, &["-o", &path, "--force"]].concat());
        assert_eq!(output.code, Some(0), "{}", output.err);
        let repeated = output.err.matches("repeating").count();
        assert_eq!(repeated, repeats, "{}", output.err);
        serde_json::from_str::<Value>(&output.out).unwrap()
    };
    let first = functions(0, 2);
    assert_eq!(first, functions(1, 2), "two repeats");
    assert_eq!(first, functions(0, 0), "the stored profile");
    check_stored_profile(&home);
    // The profile changes no count: it has exactly the blocks that were measured without it.
    let result = home.result("last");
    for (at, cell) in [0, 1].map(|at| (at, &result["cells"][at])) {
        let kernel = cell["samples"][0]["kernel"]
            .as_array()
            .unwrap()
            .last()
            .unwrap();
        let count = |name: &str| kernel[name].as_u64().unwrap();
        let blocks = count("process_blocks") + count("kthread_blocks") + count("interrupt_blocks");
        let contender = usize::try_from(cell["cell"]["contender"].as_u64().unwrap()).unwrap();
        assert_eq!(first["blocks"][contender], blocks, "cell {at}");
    }
    let subsystems = first["subsystems"].as_array().unwrap();
    if kernel.with_file_name("source-files").exists() {
        // Each block is of one subsystem.
        for side in [0, 1] {
            let all = subsystems.iter();
            let sum: u64 = all.map(|one| one["blocks"][side].as_u64().unwrap()).sum();
            assert_eq!(first["blocks"][side], sum, "{subsystems:?}");
        }
        let of = |name: &str| subsystems.iter().any(|one| one["subsystem"] == name);
        assert!(of("directories") && of("journal") && !of("source not known"));
    } else {
        println!("SKIP lab kernel with a list of source files: {test}, subsystems");
        assert!(subsystems.is_empty());
    }
    // A process sleeps in the function that waits, and not in the scheduler.
    for parting in first["sleeps"].as_array().unwrap() {
        let last = parting["path"].as_array().unwrap().last().unwrap();
        assert!(last != "schedule" && last != "__schedule", "{parting}");
    }
    let path: Vec<&str> = first["most_work"]["path"]
        .as_array()
        .unwrap()
        .iter()
        .map(|function| function.as_str().unwrap())
        .collect();
    assert!(path[0] == "processes", "{path:?}");
    let sum = |side: usize| -> u64 {
        let all = first["work"].as_array().unwrap();
        all.iter()
            .map(|one| one["figures"][side].as_u64().unwrap())
            .sum()
    };
    let blocks = |side: usize| first["blocks"][side].as_u64().unwrap();
    assert_eq!(sum(0).abs_diff(sum(1)), blocks(0).abs_diff(blocks(1)));
    let mkdir = first["functions"].as_array().unwrap().iter();
    let mkdir = mkdir
        .clone()
        .find(|one| one["function"] == "ext4_mkdir")
        .unwrap();
    assert!(
        mkdir["total"][0].as_u64() > mkdir["total"][1].as_u64().map(|few| 30 * few),
        "{mkdir}"
    );
    assert!(
        std::fs::read_to_string(&picture)
            .unwrap()
            .contains("ext4_mkdir")
    );
    let output = home.fsdyno(&[
        "why",
        "last",
        TWO[0],
        TWO[1],
        "--functions",
        "-o",
        "flame.txt",
    ]);
    assert_eq!(output.code, Some(2), "{}", output.err);
    assert!(output.err.contains(".folded"), "{}", output.err);
}

#[test]
fn the_function_that_asks_for_more_flushes_is_named_and_all_requests_are_of_functions() {
    let test = "the_function_that_asks_for_more_flushes_is_named_and_all_requests_are_of_functions";
    let Some(kernel) = lab_kernel(test).filter(|_| have(&["mkfs.ext4"], test)) else {
        return;
    };
    let home = Home::new();
    let contenders = ["ext4", "ext4:nobarrier"];
    let (kernel_file, work) = (
        kernel.display().to_string(),
        home.work().display().to_string(),
    );
    let fs = contenders.join(",");
    let run = [
        "run",
        "--disk",
        "nvme",
        "--fs",
        &fs,
        "--repeats",
        "1",
        "--exec",
        DURABLE,
    ];
    let place = [
        "--work-dir",
        &work,
        "--on",
        "loop:1G",
        "--guest-kernel",
        &kernel_file,
    ];
    let output = home.fsdyno(&[&run[..], &place].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    let words = [
        &["why", "last"][..],
        &contenders,
        &["--functions", "--json"],
    ]
    .concat();
    let output = home.fsdyno(&words);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let functions: Value = serde_json::from_str(&output.out).unwrap();
    let all = functions["requests"].as_array().unwrap();
    let sum = |side: usize, figure: &str, operation: &str| -> u64 {
        let all = all.iter().filter(|one| one["operation"] == operation);
        all.map(|one| one[figure][side].as_u64().unwrap()).sum()
    };
    // Exactly the requests that the model disk counted, without a profile.
    let result = home.result("last");
    for cell in result["cells"].as_array().unwrap() {
        let side = usize::try_from(cell["cell"]["contender"].as_u64().unwrap()).unwrap();
        let disk = &cell["samples"][0]["disks"][0];
        let of = |kind: &str, figure: &str| -> u64 {
            let parts = ["to_return", "to_durable"].into_iter();
            parts
                .map(|part| disk[part][kind][figure].as_u64().unwrap())
                .sum()
        };
        for (kind, operation) in [("reads", "read"), ("writes", "write"), ("flushes", "flush")] {
            assert_eq!(
                sum(side, "requests", operation),
                of(kind, "requests"),
                "{kind}"
            );
            assert_eq!(sum(side, "bytes", operation), of(kind, "bytes"), "{kind}");
        }
        let seeks: u64 = ["to_return", "to_durable"]
            .iter()
            .map(|part| disk[part]["seeks"].as_u64().unwrap())
            .sum();
        assert_eq!(
            sum(side, "seeks", "read") + sum(side, "seeks", "write"),
            seeks
        );
    }
    assert!(sum(0, "requests", "flush") > sum(1, "requests", "flush"));
    let contents = |content: &str| all.iter().any(|one| one["content"] == content);
    assert!(contents("data") && contents("journal"), "{all:?}");
    if !kernel.with_file_name("source-files").exists() {
        println!("SKIP lab kernel with a list of source files: {test}, functions");
        return;
    }
    let most = &functions["flush_calls"][0];
    assert_eq!(
        most["path"][0], "journal_submit_commit_record",
        "{functions}"
    );
    assert!(most["calls"][0].as_u64() >= Some(60), "{most}");
    assert_eq!(most["calls"][1], 0, "{most}");
}

#[test]
fn samples_of_the_host_show_the_call_path_in_which_a_contender_spends_its_time() {
    let test = "samples_of_the_host_show_the_call_path_in_which_a_contender_spends_its_time";
    if !root_and(&["mkfs.ext4", "dd"], test) {
        return;
    }
    let home = Home::new();
    let (work, fs) = (home.work().display().to_string(), TWO.join(","));
    let read = |count| format!("dd if=/dev/zero of=/dev/null bs=1M count={count}");
    let load = either(&read(4000), &read(800));
    let (place, exec) = (["--work-dir", &work, "--on", "loop:64M"], ["--exec", &load]);
    let run = ["run", "--fs", &fs, "--repeats", "3", "--profile"];
    let output = home.fsdyno(&[&run[..], &place, &exec].concat());
    if output.code == Some(4) && output.err.contains("leave out --profile") {
        println!("SKIP samples of the kernel: {test}");
        return;
    }
    assert_eq!(output.code, Some(0), "{}", output.err);
    let words = ["why", "last", TWO[0], TWO[1], "--functions", "--json"];
    let output = home.fsdyno(&words);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let functions: Value = serde_json::from_str(&output.out).unwrap();
    let mut all = functions["functions"].as_array().unwrap().iter();
    let read = all.find(|one| one["function"] == "vfs_read").unwrap();
    // Whether they are told apart depends on other load of the machine.
    let samples = [0, 1].map(|side| read["total"][side]["samples"].as_u64().unwrap());
    assert!(samples[0] > 2 * samples[1], "{read}");
    assert!(read["total"][0]["share"].as_f64() > Some(0.5), "{read}");
    let output = home.fsdyno(&["chart", "last", "flame", "--contender", TWO[0]]);
    assert!(output.out.contains("vfs_read") && output.out.contains("sampled"));
}
