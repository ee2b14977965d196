//! Two small profiles: `a` unlinks at once, `b` leaves half of it to a worker.

use super::*;
use crate::charts::svg::{Appearance, Theme};
use fsdyno_model::profile::{CallPath, PathWork};
use fsdyno_model::{KernelWork, Nanos, Point};

/// A profile of call paths with their blocks and sleep.
fn profile(paths: &[(&str, u64, u64)]) -> Profile {
    let mut profile = Profile::default();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for (path, blocks, slept_ns) in paths {
        let mut caller = None;
        let mut name = String::new();
        for function in path.split(';') {
            name = format!("{name};{function}");
            caller = Some(*known.entry(name.clone()).or_insert_with(|| {
                profile.functions.push(function.to_owned());
                profile.sources.push(source_of(function).to_owned());
                profile.paths.push(CallPath {
                    caller,
                    function: profile.functions.len() - 1,
                    own: PathWork::default(),
                });
                profile.paths.len() - 1
            }));
        }
        let own = &mut profile.paths[caller.unwrap()].own;
        own.blocks += blocks;
        own.slept_ns += slept_ns;
    }
    profile
}

/// The source files of some functions.
fn source_of(function: &str) -> &str {
    match function {
        "vfs_unlink" => "fs/namei",
        "a_unlink" => "fs/a/dir",
        "b_unlink" => "fs/b/b_namei",
        "find" => "lib/find_bit",
        "b_worker" => "fs/b/journal",
        "process_one_work" => "kernel/workqueue",
        _ => "",
    }
}

fn sample(blocks: u64) -> Sample {
    let work = KernelWork {
        until: Point::Returned,
        process_blocks: blocks,
        kthread_blocks: 0,
        interrupt_blocks: 0,
        system_calls: 1,
        copied: fsdyno_model::Bytes(0),
        cleared: fsdyno_model::Bytes(0),
        checksummed: fsdyno_model::Bytes(0),
        disk_requests: 0,
        waits: 0,
        charged_ns: Nanos(10 * blocks),
        threads: Vec::new(),
    };
    Sample {
        kernel: vec![work],
        ..Sample::default()
    }
}

fn compared(moved: u64) -> Result<Functions, Option<[u64; 2]>> {
    compared_of(moved, [0, 0])
}

/// The same with these numbers of files.
fn compared_of(moved: u64, files: [u64; 2]) -> Result<Functions, Option<[u64; 2]>> {
    let a = profile(&[
        ("processes;vfs_unlink", 10, 0),
        ("processes;vfs_unlink;a_unlink", 100, 2_000),
        ("processes;vfs_unlink;a_unlink;find", 300, 0),
        ("idle;sleep", 77, 0),
    ]);
    let b = profile(&[
        ("processes;vfs_unlink", 10, 0),
        ("processes;vfs_unlink;b_unlink", 100, 500),
        ("processes;vfs_unlink;b_unlink;find", 40, 0),
        ("kernel threads;process_one_work;b_worker", 700, 9_000),
        ("idle;sleep", 1, 0),
    ]);
    let [mut measured_a, mut measured_b] = [sample(410 + moved), sample(850)];
    measured_a.tally.files = files[0];
    measured_b.tally.files = files[1];
    let [before, now_a, now_b] = [sample(5), sample(410), sample(850)];
    let other = profile(&[("processes;vfs_mkdir", 5, 0)]);
    let rest = profile(&[("processes;vfs_mkdir", 3, 0)]);
    let side = |label: &str, measured, now, profile| {
        let repeated = [before.clone(), now];
        let parts = [other.clone(), rest.clone(), profile];
        let profile = of_phase(measured, (&repeated, 1), &parts);
        profile.map(|profile| Side {
            label: label.to_owned(),
            measured,
            profile,
        })
    };
    let sides = [
        side("a", &measured_a, now_a, a)?,
        side("b", &measured_b, now_b, b)?,
    ];
    Ok(Functions::of("run", "delete", &sides))
}

#[test]
fn the_parts_add_up_to_the_whole_difference_and_the_largest_is_named() {
    let functions = compared(0).unwrap();
    assert_eq!(functions.blocks, [410, 850]);
    let sum = |side: usize| {
        functions
            .work
            .iter()
            .map(|one| one.figures[side])
            .sum::<u64>()
    };
    assert_eq!(sum(1) - sum(0), 850 - 410);
    let largest = &functions.work[0];
    assert_eq!(largest.path, ["kernel threads"]);
    assert_eq!(largest.only[1][0].function, "process_one_work");
    assert_eq!(
        functions.sentences().join(" "),
        "b executes 2.07 times the kernel blocks of a in delete (850 against 410). The largest part is in \
         kernel threads and below: +700; a has no such call path. By subsystem: journal +700 and directories -260. Processes of b \
         sleep 500 ns in the kernel, of a 2.00 us. The largest part is in processes > vfs_unlink and below: \
         -1.50 us, 100 % of the difference; there a calls a_unlink, and b b_unlink."
    );
    let find = functions
        .functions
        .iter()
        .find(|one| one.function == "find")
        .unwrap();
    assert_eq!((find.own, find.total), ([300, 40], [300, 40]));
    let unlink = functions
        .functions
        .iter()
        .find(|one| one.function == "vfs_unlink")
        .unwrap();
    assert_eq!((unlink.own, unlink.total), ([10, 10], [410, 150]));
}

#[test]
fn sentences_divide_by_the_operations_of_each_and_begin_with_the_larger_difference_of_time() {
    let functions = compared_of(0, [10, 20]).unwrap();
    assert_eq!(
        functions.sentences(),
        [
            "Processes of b sleep 25 ns in the kernel for each file, of a 200 ns. The largest part is in processes \
             > vfs_unlink and below: -175 ns, 100 % of the difference; there a calls a_unlink, and b b_unlink.",
            "b executes 1.04 times the kernel blocks of a in delete (42.5 against 41 for each file; 850 against \
             410 in all). The largest part is in kernel threads and below: +35; a has no such call path. \
             By subsystem: journal +35, directories -33 and paths and descriptors -0.50."
        ]
    );
}

/// The sentences about two contenders with the same blocks and these sleeps.
fn asleep(slept_ns: [u64; 2]) -> Vec<String> {
    let samples = [sample(10)];
    let side = |label: &str, slept_ns| Side {
        label: label.to_owned(),
        measured: &samples[0],
        profile: profile(&[("processes;vfs_unlink;find", 10, slept_ns)]),
    };
    let sides = [side("a", slept_ns[0]), side("b", slept_ns[1])];
    Functions::of("run", "delete", &sides).sentences()
}

#[test]
fn equal_profiles_are_called_equal() {
    assert_eq!(
        asleep([3, 3]),
        ["a and b have the same profile in delete: 10 kernel blocks by the same call paths."]
    );
}

#[test]
fn a_function_that_never_sleeps_in_one_is_not_called_missing_there() {
    assert_eq!(
        asleep([0, 500])[0],
        "Processes of b sleep 500 ns in the kernel, of a 0 ns. The largest part is in vfs_unlink > find and \
         below: +500 ns, 100 % of the difference."
    );
}

#[test]
fn a_repeat_with_other_counts_is_refused() {
    assert_eq!(compared(100).unwrap_err(), Some([510, 410]));
}

/// The picture in a theme.
fn drawn(functions: &Functions, measure: flame::Measure, theme: Theme) -> String {
    let flame = flame::flame(functions, measure).unwrap();
    let width = 800;
    crate::charts::svg::flame::render(&flame, Appearance { width, theme })
}

#[test]
fn the_picture_names_every_function_with_exact_counts() {
    let functions = compared(0).unwrap();
    let svg = drawn(&functions, flame::Measure::Blocks, Theme::Page);
    for text in [
        "<title>a_unlink: a 400 blocks (100 its own), b 0 (0 its own)</title>",
        ">+process_one_work<",
        ">-vfs_unlink<",
    ] {
        assert!(svg.contains(text), "{text} is not in {svg}");
    }
    assert!(!svg.contains("idle"));
    let sleep = drawn(&functions, flame::Measure::Sleep, Theme::Page);
    assert!(sleep.contains("<title>a_unlink: a 2,000 ns (2,000 its own), b 0 (0 its own)</title>"));
    assert!(!sleep.contains("b_worker"), "kernel threads wait for work");
    assert_eq!(
        flame::folded(&functions).lines().next(),
        Some("kernel_threads;process_one_work;b_worker 0 700")
    );
}

#[test]
fn a_difference_is_hatched_and_a_picture_file_has_its_own_colours() {
    let functions = compared(0).unwrap();
    for theme in [Theme::Light, Theme::Dark] {
        let svg = drawn(&functions, flame::Measure::Blocks, theme);
        assert!(!svg.contains("var("), "a PNG has no variables: {svg}");
        for hatch in ["more", "less"] {
            assert!(svg.contains(&format!("fill=\"url(#flame-{hatch})\"")));
        }
    }
}

#[test]
fn one_contender_is_drawn_alone_and_each_other_compared_with_the_first() {
    let [a, b] = [
        profile(&[("processes;vfs_unlink", 10, 0)]),
        profile(&[("processes;vfs_unlink;find", 30, 7)]),
    ];
    let all = [("a".to_owned(), &a), ("b".to_owned(), &b)];
    let flames = flame::of_phase("delete", &all);
    let shown: Vec<String> = flames
        .iter()
        .map(|one| format!("{} {:?} {}", one.kind, one.total, one.title))
        .collect();
    assert_eq!(
        shown,
        [
            "flame [10] a in delete: functions of the kernel",
            "flame [30] b in delete: functions of the kernel",
            "flame [10, 30] a and b in delete: functions of the kernel",
            "sleep [7] b in delete: sleep of processes in the kernel",
            "sleep [0, 7] a and b in delete: sleep of processes in the kernel",
        ]
    );
    let find = &flames[2].frames[2];
    assert_eq!(
        (&*find.function, find.level, find.from, &find.total[..]),
        ("find", 2, 0, &[0, 30][..])
    );
}

#[test]
fn the_firefox_profiler_gets_the_blocks_of_each_and_their_difference() {
    let functions = compared(0).unwrap();
    let json: serde_json::Value = serde_json::from_str(&firefox::json(&functions)).unwrap();
    let mut tracks = Vec::new();
    for thread in json["threads"].as_array().unwrap() {
        let weights = thread["samples"]["weight"].as_array().unwrap();
        let sum: i64 = weights.iter().map(|weight| weight.as_i64().unwrap()).sum();
        tracks.push((thread["name"].as_str().unwrap(), sum));
    }
    assert_eq!(tracks, [("a", 410), ("b", 850), ("b minus a", 440)]);
    let text = json.to_string();
    for name in ["process_one_work", "b_worker", "\"journal\""] {
        assert!(text.contains(name), "{name}");
    }
}
