//! Two small profiles: `a` unlinks at once, `b` leaves half of it to a worker.

use super::sampled::SampledFunctions;
use super::*;
use crate::charts::svg::{Appearance, Theme};
use fsdyno_model::profile::{CallPath, PathRequests, PathWork, RequestSum, Sampling};
use fsdyno_model::{Cell, KernelWork, Nanos, Outcome, Point};

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
        "submit_bio" | "blk_insert_flush" | "blk_mq_requeue_work" => "block/blk-core",
        "notify" => "arch/um/drivers/virtio_uml",
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
    let flame = flame::flame(&functions.calls, measure).unwrap();
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
        flame::folded(&functions.calls).lines().next(),
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
    let json: serde_json::Value = serde_json::from_str(&firefox::json(&functions.calls)).unwrap();
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

/// A sampled profile of one pass of call paths with their samples.
fn sampled_profile(paths: &[(&str, u64)]) -> Profile {
    let paths: Vec<(&str, u64, u64)> = paths.iter().map(|(path, n)| (*path, *n, 0)).collect();
    let mut profile = profile(&paths);
    for path in &mut profile.paths {
        path.own.samples = std::mem::take(&mut path.own.blocks);
    }
    profile.sampled = Some(Sampling {
        hertz: 1000,
        passes: 1,
        others: 9,
        ..Sampling::default()
    });
    profile
}

/// The comparison of these samples of each repeat: of a call that both have, of one of b alone, and of a path
/// that is equal.
fn sampled_compared(a: &[[u64; 3]], b: &[[u64; 3]]) -> SampledFunctions {
    let record = CellRecord {
        cell: Cell {
            index: 0,
            contender: 0,
            workload: 0,
            block: 0,
        },
        outcome: Outcome::Measured,
        started_unix_ns: 0,
        took_ns: Nanos(0),
        samples: Vec::new(),
        commands: Vec::new(),
        effective: Vec::new(),
        warnings: Vec::new(),
    };
    let profiles = |repeats: &[[u64; 3]]| -> Vec<Profile> {
        let repeats = repeats.iter();
        let profile = |[unlink, worker, read]: &[u64; 3]| {
            sampled_profile(&[
                ("processes;vfs_unlink", *unlink),
                ("kernel threads;process_one_work;b_worker", *worker),
                ("processes;vfs_read", *read),
            ])
        };
        repeats.map(profile).collect()
    };
    let all = [profiles(a), profiles(b)];
    let [a, b] = [("a", &all[0]), ("b", &all[1])].map(|(label, profiles)| Repeated {
        label: label.to_owned(),
        record: &record,
        at: 0,
        phase: "delete".to_owned(),
        sampled: profiles.iter().collect(),
    });
    SampledFunctions::of("run", [&a, &b]).unwrap()
}

#[test]
fn samples_tell_only_those_functions_apart_whose_difference_is_not_chance() {
    let a = [[100, 0, 100], [110, 0, 95], [90, 0, 105]];
    let b = [[104, 200, 100], [98, 190, 98], [113, 210, 107]];
    let functions = sampled_compared(&a, &b);
    assert_eq!(
        functions.sentences(),
        [
            "b takes 2.03 times the processor time of a in delete: 407 ms against 200 ms, sampled (1,220 samples \
          against 600, 1000 a second on each processor). The largest part that is told apart is in \
          process_one_work > b_worker and below: +200 ms; 49.2 % (43.1-55.3) of the samples of b, and 0.0 % \
          (0.0-0.6) of a."
        ]
    );
    let apart = |name: &str| {
        let mut functions = functions.functions.iter();
        let one = functions.find(|one| one.function == name).unwrap();
        (one.own_apart, one.total_apart)
    };
    assert_eq!(apart("b_worker"), (true, true));
    assert_eq!(apart("process_one_work"), (false, true));
    assert_eq!(apart("vfs_unlink"), (false, false));
    assert_eq!(functions.functions[0].function, "b_worker");
    let document = format!("{:?}", sampled::document(&functions, 10));
    assert!(document.contains("sampled") && document.contains("not told apart"));
    assert!(!document.contains("exact"), "{document}");
}

#[test]
fn a_function_that_varies_from_repeat_to_repeat_is_not_told_apart() {
    let a = [[100, 0, 100], [100, 0, 100], [100, 0, 100], [100, 0, 100]];
    let b = [[100, 0, 100], [300, 0, 100], [100, 0, 100], [100, 0, 100]];
    let functions = sampled_compared(&a, &b);
    assert!(!functions.apart && functions.functions.iter().all(|one| !one.own_apart));
    let sentence = &functions.sentences()[0];
    assert!(
        sentence.contains("not told apart") && sentence.contains("may be chance"),
        "{sentence}"
    );
}

#[test]
fn one_repeat_tells_nothing_apart() {
    let functions = sampled_compared(&[[100, 0, 100]], &[[100, 400, 100]]);
    assert!(!functions.apart);
    let apart = |one: &sampled::SampledFunction| one.own_apart || one.total_apart;
    assert!(!functions.functions.iter().any(apart));
    let sentence = &functions.sentences()[0];
    assert!(sentence.contains("Fewer than 3 repeats"), "{sentence}");
}

#[test]
fn too_few_samples_have_no_shares() {
    let functions = sampled_compared(&[[14, 0, 15]], &[[100, 100, 100]]);
    assert!(functions.functions.is_empty() && !functions.apart);
    assert_eq!(
        functions.sentences(),
        [
            "Too few samples of a in delete for shares: b and a have 300 samples against 29, 1000 a second on each \
          processor; 30 are needed. Add repeats, or make the phase longer (--scale)."
        ]
    );
    let document = format!("{:?}", sampled::document(&functions, 10));
    assert!(!document.contains(" % ("), "{document}");
}

#[test]
fn pictures_of_samples_have_the_processor_time_of_one_pass() {
    let functions = sampled_compared(&[[100, 0, 100], [100, 0, 100]], &[[100, 50, 100]]);
    let flame = flame::flame(&functions.calls, functions.calls.measure).unwrap();
    // Of two repeats the mean.
    assert_eq!(
        (&flame.total[..], flame.unit),
        (&[200_000, 250_000][..], "us")
    );
    assert!(
        flame.title.contains("sampled (400 and 250 samples;"),
        "{}",
        flame.title
    );
    assert_eq!(
        flame::folded(&functions.calls).lines().next(),
        Some("kernel_threads;process_one_work;b_worker 0 50000")
    );
    assert!(firefox::json(&functions.calls).contains("b_worker"));
    assert!(flame::flame(&functions.calls, flame::Measure::Sleep).is_none());
}

/// A profile with requests by these paths.
fn requesting(paths: &[(&str, Operation, Option<Content>, u64)]) -> Profile {
    let blocks: Vec<(&str, u64, u64)> = paths.iter().map(|(path, ..)| (*path, 1, 0)).collect();
    let mut profile = profile(&blocks);
    let place = |path: &str| {
        let name = |at: usize| -> String {
            let callers = std::iter::successors(Some(at), |at| profile.paths[*at].caller);
            let names = callers.map(|at| profile.functions[profile.paths[at].function].as_str());
            let names: Vec<&str> = names.collect();
            names.into_iter().rev().collect::<Vec<_>>().join(";")
        };
        (0..profile.paths.len())
            .find(|at| name(*at) == path)
            .unwrap()
    };
    let requests = paths
        .iter()
        .map(|(path, operation, content, requests)| PathRequests {
            path: place(path),
            operation: *operation,
            content: *content,
            sum: RequestSum {
                requests: *requests,
                bytes: 4096 * requests,
                seeks: 1,
            },
        });
    profile.requests = Some(requests.collect());
    for path in &mut profile.paths {
        let is_flush = profile.functions[path.function] == "blk_insert_flush";
        path.own.flush_calls = if is_flush { 7 } else { 0 };
    }
    profile
}

#[test]
fn requests_are_of_the_function_that_submits_and_not_of_those_that_pass_them_on() {
    let (write, journal) = (Operation::Write, Some(Content::Journal));
    let worker = "kernel threads;process_one_work;blk_mq_requeue_work";
    let a = requesting(&[
        (
            "kernel threads;b_worker;submit_bio;notify",
            write,
            journal,
            30,
        ),
        (
            "kernel threads;b_worker;blk_insert_flush",
            write,
            journal,
            4,
        ),
        (&format!("{worker};notify"), Operation::Flush, None, 9),
    ]);
    let b = requesting(&[(
        "processes;vfs_unlink;a_unlink;submit_bio",
        Operation::Read,
        None,
        2,
    )]);
    // The parts of a phase.
    let a = tree::joined([&a, &requesting(&[(worker, Operation::Flush, None, 1)])]);
    let side = |label: &str, measured, profile| Side {
        label: label.to_owned(),
        measured,
        profile,
    };
    let measured = [sample(3), sample(1)];
    let functions = Functions::of(
        "run",
        "delete",
        &[side("a", &measured[0], a), side("b", &measured[1], b)],
    );
    let shown = |one: &Submitted| {
        format!(
            "{}, {}, {:?}",
            one.path.join(" > "),
            one.kind(),
            one.requests
        )
    };
    let all: Vec<String> = functions.requests.iter().flatten().map(shown).collect();
    assert_eq!(
        all,
        [
            "kernel threads > b_worker, journal write, [34, 0]",
            "process_one_work > blk_mq_requeue_work, flush, [10, 0]",
            "vfs_unlink > a_unlink, read, [0, 2]",
        ]
    );
    let sentence = functions.sentences().pop().unwrap();
    assert_eq!(
        sentence,
        "b submits 2 requests to disks (8.00 KiB, 1 seek), a 44 requests to disks (176 KiB, 4 seeks). The largest \
         difference is of journal writes by kernel threads > b_worker: 0 against 34. Of requests that need a \
         flush, b has 0 against 7; the largest difference is by kernel threads > b_worker: 0 against 7."
    );
}

#[test]
fn a_picture_has_a_table_of_its_functions_and_one_on_a_page_has_none() {
    let functions = compared(0).unwrap();
    let flame = flame::flame(&functions.calls, flame::Measure::Blocks).unwrap();
    let alone = |width| {
        let theme = Theme::Light;
        crate::charts::svg::flame::render_with_table(&flame, Appearance { width, theme })
    };
    let wide = alone(900);
    // The function of `a` with 300 blocks, of `b` with 40.
    for text in [">a, with callees<", ">difference<", ">300<", ">-260<"] {
        assert!(wide.contains(text), "{text}: {wide}");
    }
    let narrow = alone(280);
    assert!(narrow.contains(">300<") && narrow.contains(">40<"));
    assert!(!narrow.contains(">difference<"));
    let page = drawn(&functions, flame::Measure::Blocks, Theme::Page);
    assert!(!page.contains(">difference<"));
}
