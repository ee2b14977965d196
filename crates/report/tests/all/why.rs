//! Causes of differences: constructed cases name their cause, and no cause is named without support
//! by counters.

use crate::{fixture, wide};
use fsdyno_model::disk_use::{DiskFigures, DiskUse, Tallied};
use fsdyno_model::{
    Bytes, CpuUse, DeviceUse, DiskTime, Fill, Fragmentation, InitialState, KernelWork, LabChoice,
    LatencyDistribution, ModelCpu, ModelDisk, Nanos, Observed, Point, Pressure, ResultSet, Sample,
    ThreadWork, Traced, Waits,
};
use fsdyno_report::comparison::Comparisons;
use fsdyno_report::processor::Processor;
use fsdyno_report::why::cause::Cause;
use fsdyno_report::why::parts::{Anatomy, Part};
use fsdyno_report::why::{Why, WhyError};
use fsdyno_report::{Format, Options, render_why};
use fsdyno_stats::Verdict;
use unicode_width::UnicodeWidthStr;

const MS: u64 = 1_000_000;

/// Two contenders with one phase, in one block.
fn two(one: impl Fn(&mut Sample), other: impl Fn(&mut Sample)) -> ResultSet {
    let mut set = fixture::one_phase(&["one", "other"], &[&[1000], &[1000]]);
    one(&mut set.cells[0].samples[0]);
    other(&mut set.cells[1].samples[0]);
    set
}

/// Sets the time and the processor times, milliseconds.
fn set_times(sample: &mut Sample, whole: u64, user: u64, kernel: u64) {
    let whole = Nanos(whole * MS);
    (sample.return_ns, sample.durable_ns) = (whole, Some(whole));
    sample.cpu = CpuUse {
        user_ns: Nanos(user * MS),
        system_ns: Nanos(kernel * MS),
        machine_busy_ns: Nanos((user + kernel + 40) * MS),
        steal_ns: Nanos(0),
    };
}

/// Sets the busy time of a device, and the time of the requests of each kind.
fn device(sample: &mut Sample, busy: u64, waits: [u64; 4]) -> &mut DeviceUse {
    let used = sample.device.get_or_insert_default();
    used.busy_ns = Nanos(busy * MS);
    used.waits = Some(Waits::from_parts(waits.map(|ms| ms * MS)));
    used
}

fn flushing() -> ResultSet {
    let quiet = |sample: &mut Sample| {
        set_times(sample, 1000, 50, 100);
        device(sample, 500, [0, 480, 0, 20]).flushes = 4;
    };
    two(quiet, |sample| {
        set_times(sample, 9000, 50, 150);
        device(sample, 8700, [0, 800, 0, 8000]).flushes = 31_204;
    })
}

/// A read-only phase on model disks, of files with this number of extents.
fn reading(sample: &mut Sample, whole: u64, requests: u64, bytes: u64, extents: u64) {
    set_times(sample, whole, 0, 0);
    sample.durable_ns = None;
    sample.tally.bytes = Bytes(bytes);
    let did = DiskUse {
        reads: Tallied {
            requests,
            bytes,
            failed: 0,
        },
        seeks: requests / 2,
        waits: Some(Waits::from_parts([2 * whole * MS, 0, 0, 0])),
        busy: Some(Nanos(whole * MS - MS)),
        ..DiskUse::default()
    };
    let after = DiskUse {
        busy: Some(Nanos(77 * MS)),
        ..did
    };
    sample.disks = vec![DiskFigures {
        disk: 0,
        to_return: did,
        to_durable: after,
    }];
    sample.fragmentation = Some(Fragmentation {
        files: 10,
        extents,
        ..Fragmentation::default()
    });
}

fn on_model_disks(mut set: ResultSet) -> ResultSet {
    set.run.plan.disk = Some(ModelDisk {
        profile: "mine".into(),
        text: String::new(),
        faults: None,
        time: DiskTime::default(),
    });
    set
}

fn fragmented() -> ResultSet {
    on_model_disks(two(
        |sample| reading(sample, 6000, 40_000, 200 << 20, 82),
        |sample| reading(sample, 2000, 4_000, 200 << 20, 11),
    ))
}

fn why(set: &ResultSet) -> Why {
    let advice = |[contender, _]: [&fsdyno_model::Contender; 2], cause| {
        (cause == Cause::Flushes).then(|| format!("less of it on {}", contender.label))
    };
    Why::of(set, ["one", "other"], None, &advice).unwrap()
}

/// The cause of the only phase, and its explanation.
fn cause_and_sentence(set: &ResultSet) -> (Option<Cause>, String) {
    let mut phases = why(set).phases;
    assert_eq!(phases.len(), 1);
    let phase = phases.remove(0);
    for anatomy in &phase.anatomies {
        if let Some(parts) = anatomy.parts_ns {
            assert_eq!(parts.iter().sum::<u64>(), anatomy.whole_ns);
        }
    }
    (phase.cause, phase.sentence)
}

#[test]
fn waits_for_flushes_are_named_with_a_remedy() {
    let (cause, sentence) = cause_and_sentence(&flushing());
    assert_eq!(cause, Some(Cause::Flushes));
    insta::assert_snapshot!(sentence, @"other took 9.00 s and one 1.00 s (9.00x); 96 % of the difference is time in which the device served flushes: other waits 86 % of its time for 31,204 flushes of 256 us, one 1 % of its time for 4 flushes of 5.00 ms; one is faster whatever a flush costs; to try: less of it on other.");
}

#[test]
fn computing_in_user_and_kernel_mode_is_named() {
    let idle = |sample: &mut Sample| {
        set_times(sample, 1000, 100, 300);
        device(sample, 300, [300, 0, 0, 0]);
    };
    for (user, kernel, expected) in [(100, 4200, Cause::Kernel), (4200, 300, Cause::User)] {
        let set = two(idle, |sample| {
            set_times(sample, 5000, user, kernel);
            device(sample, 300, [300, 0, 0, 0]);
        });
        let (cause, sentence) = cause_and_sentence(&set);
        assert_eq!(cause, Some(expected), "{sentence}");
        assert!(sentence.contains("4.20 s against"), "{sentence}");
    }
}

#[test]
fn a_winner_that_saves_only_flushes_has_the_cost_from_which_on_it_wins() {
    let mut set = flushing();
    for sample in &mut set.cells[0].samples {
        set_times(sample, 3000, 50, 100);
    }
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::Flushes));
    let threshold = "; one is faster only while flushes cost at least 54.9 us";
    assert!(sentence.contains(threshold), "{sentence}");
}

#[test]
fn reads_are_named_with_sizes_and_with_extents_only_if_they_agree() {
    let (cause, sentence) = cause_and_sentence(&fragmented());
    assert_eq!(cause, Some(Cause::Extents));
    insta::assert_snapshot!(sentence, @"one took 6.00 s and other 2.00 s (3.00x); 100 % of the difference is time in which the device served reads, 40,000 of 5.12 KiB and 300 us against 4,000 of 51.2 KiB and 1.00 ms (20,000 seeks against 2,000), with 8.20 extents per file against 1.10; in virtual time, with infinitely fast processors. Counters that differ by more than 0.1 %: requests 80,000 -> 8,000 (-90 %); reads 80,000 -> 8,000 (-90 %); seeks 40,000 -> 4,000 (-90 %); extents 82 -> 11 (-87 %).");
    // Twice the bytes: extents do not explain the difference.
    let more = |sample: &mut Sample| reading(sample, 6000, 40_000, 400 << 20, 82);
    let less = |sample: &mut Sample| reading(sample, 2000, 4_000, 200 << 20, 11);
    let mut set = on_model_disks(two(more, less));
    set.run.plan.disk.as_mut().unwrap().time = DiskTime::Real;
    assert!(
        !why(&set).virtual_time,
        "model disks keep the clock's time as well"
    );
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::Reads), "{sentence}");
    // Extents were not counted.
    let mut set = fragmented();
    for record in &mut set.cells {
        record.samples[0].fragmentation = None;
    }
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::Reads), "{sentence}");
    assert!(!sentence.contains("extents"), "{sentence}");
    assert!(
        sentence.contains("40,000 of 5.12 KiB and 300 us against 4,000 of 51.2 KiB and"),
        "{sentence}"
    );
}

/// A processor of round prices: 1 ns a block, 100 ns a system call, 1 ns a byte.
const PRICES: &str = "title = \"t\"\nsource = \"s\"\n[prices]\nblock_ns = 1.0\n\
                      system_call_ns = 100.0\ncopy_ns = 1.0\nclear_ns = 1.0\ncrc32c_ns = 1.0\n\
                      request_ns = 0.0\n";

/// Puts both contenders on a model disk and a model processor.
fn charged(one: impl Fn(&mut Sample), other: impl Fn(&mut Sample)) -> ResultSet {
    let mut set = on_model_disks(two(one, other));
    set.run.plan.cpu = Some(ModelCpu {
        profile: "round".into(),
        text: PRICES.into(),
    });
    // Six draws, which are equal.
    set.run.plan.varies = fsdyno_model::Vary::ALL.to_vec();
    set.run.plan.repeats = 6;
    let first = set.cells.clone();
    for block in 1..6 {
        set.cells.extend(first.iter().cloned().map(|mut record| {
            record.cell.block = block;
            record.cell.index += 2 * block;
            record
        }));
    }
    set
}

/// A writing phase of 1000 operations of 2 KiB on a model disk: its time, that of the disk, and
/// millions of blocks of the workload and of kernel threads.
fn counting(sample: &mut Sample, whole: u64, disk: u64, process: u64, threads: u64) {
    set_times(sample, whole, 0, 0);
    sample.tally.bytes = Bytes(1000 * 2048);
    sample.latencies = vec![LatencyDistribution {
        operation: "write".into(),
        count: 1000,
        sum_ns: 0,
        min_ns: 0,
        max_ns: 0,
        buckets: Vec::new(),
    }];
    let did = DiskUse {
        waits: Some(Waits::from_parts([0, 2 * disk * MS, 0, 0])),
        busy: Some(Nanos(disk * MS)),
        ..DiskUse::default()
    };
    sample.disks = vec![DiskFigures {
        disk: 0,
        to_return: DiskUse::default(),
        to_durable: did,
    }];
    let work = fixture::kernel_work(Point::Durable, process * MS, threads * MS);
    sample.kernel = vec![KernelWork {
        copied: Bytes(MS),
        charged_ns: Nanos((process + threads + 1) * MS),
        threads: vec![ThreadWork {
            name: "jbd2".into(),
            blocks: threads * MS,
        }],
        ..work
    }];
}

#[test]
fn counted_blocks_explain_a_difference_on_a_model_processor() {
    let set = charged(
        |sample| counting(sample, 12, 8, 2, 1),
        |sample| counting(sample, 20, 8, 9, 2),
    );
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::Kernel), "{sentence}");
    insta::assert_snapshot!(sentence, @"other took 20.0 ms and one 12.0 ms (1.67x); 88 % of the difference is processor time of the workload: 10.0 ms against 3.00 ms; in virtual time, with the processor round. other executes 11,000 kernel blocks for each 2 KiB write, one 3,000 (3.67x); of them in kernel threads: 18 % (jbd2) against 33 % (jbd2); copies, clears and checksums are 8 % of the charge against 25 %. Counters that differ by more than 0.1 %: blocks 3,000,000 -> 11,000,000 (3.67x); thread-blocks 1,000,000 -> 2,000,000 (2.00x).");
    let explained = why(&set);
    assert_eq!(explained.processor.as_deref(), Some("the processor round"));
    let row = |name: &str| {
        let rows = &explained.phases[0].rows;
        let row = rows.iter().find(|row| row.name == name).unwrap();
        row.texts.clone().map(Option::unwrap)
    };
    assert_eq!(
        row("processor, workload"),
        ["3.00 ms (25 %)", "10.0 ms (50 %)"]
    );
    assert_eq!(
        row("processor, kernel threads"),
        ["1.00 ms (8 %)", "2.00 ms (10 %)"]
    );
    assert_eq!(row("device, writes"), ["8.00 ms (67 %)", "8.00 ms (40 %)"]);
    assert_eq!(
        row("kernel blocks for each 2 KiB write"),
        ["3,000", "11,000"]
    );
    assert!(
        !explained
            .missing
            .iter()
            .any(|of| of.starts_with("processor"))
    );
    // Kernel threads carry the difference.
    let set = charged(
        |sample| counting(sample, 12, 8, 2, 1),
        |sample| counting(sample, 30, 8, 2, 19),
    );
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::KernelThreads), "{sentence}");
    assert!(
        sentence.contains("processor time of kernel threads: 19.0 ms against 1.00 ms")
            && sentence.contains("in kernel threads: 90 % (jbd2) against 33 % (jbd2)"),
        "{sentence}"
    );
    // The disk carries it, and the counts are equal: both are stated.
    let set = charged(
        |sample| counting(sample, 12, 8, 2, 1),
        |sample| counting(sample, 30, 26, 2, 1),
    );
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::Writes), "{sentence}");
    assert!(
        sentence.contains("equally many kernel blocks within 1 %: 3,000 and 3,000 for each 2 KiB"),
        "{sentence}"
    );
    // A profile that cannot be read: nothing is claimed of kernel threads and bytes.
    let mut unreadable = set.clone();
    unreadable.run.plan.cpu.as_mut().unwrap().text.clear();
    let explained = why(&unreadable);
    assert!(
        explained
            .missing
            .iter()
            .any(|of| of.starts_with("processor time of kernel threads: the processor profile"))
    );
    assert!(!explained.phases[0].sentence.contains("checksums"));
    // On the report of the run, as a table.
    let text = crate::text(&set, Format::Markdown, &wide(80));
    assert!(
        text.contains("Time by part") && text.contains("kernel blocks for each 2 KiB write"),
        "{text}"
    );
}

#[test]
fn csv_has_the_work_until_return_and_the_parts_of_the_time() {
    let set = charged(
        |sample| {
            counting(sample, 12, 8, 2, 1);
            let until_return = fixture::kernel_work(Point::Returned, 500, 300);
            sample.kernel.insert(0, until_return);
        },
        |sample| counting(sample, 20, 8, 9, 2),
    );
    let csv = crate::text(&set, Format::Csv, &wide(80));
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let mut rows = reader.records().map(Result::unwrap);
    let row = rows.find(|row| &row[0] == "sample").unwrap();
    let number = |name: &str| {
        let at = header.iter().position(|heading| heading == name);
        row[at.unwrap_or_else(|| panic!("no {name}"))]
            .parse::<u64>()
            .unwrap()
    };
    assert_eq!(number("kernel_process_blocks"), 2 * MS);
    assert_eq!(number("return_kernel_process_blocks"), 500);
    assert_eq!(number("return_kernel_thread_blocks"), 300);
    assert_eq!(number("part_processor_workload_ns"), 3 * MS);
    assert_eq!(number("part_processor_kernel_threads_ns"), MS);
    assert_eq!(number("part_device_writes_ns"), 8 * MS);
    let parts = header.iter().filter(|name| name.starts_with("part_"));
    assert_eq!(parts.map(number).sum::<u64>(), number("durable_ns"));
}

#[test]
fn counts_are_judged_by_the_rule_of_the_run() {
    // In real time three repeats of noisy counts: neither a difference nor equality is claimed.
    let mut set = fixture::one_phase(&["one", "other"], &[&[1000, 900, 3000], &[2000, 2500, 800]]);
    for (at, record) in set.cells.iter_mut().enumerate() {
        let blocks = 1000 + 700 * (at as u64 % 3);
        let work = fixture::kernel_work(Point::Durable, blocks, 0);
        record.samples[0].kernel = vec![work];
    }
    let (_, sentence) = cause_and_sentence(&set);
    assert!(
        sentence.contains("inconclusive") && sentence.contains("the repeats do not show"),
        "{sentence}"
    );
    assert!(!sentence.contains("equally many"), "{sentence}");
    // Without counts there is no sentence about them.
    assert!(!cause_and_sentence(&flushing()).1.contains("blocks"));
}

#[test]
fn negligible_times_are_not_explained() {
    let short = |ns: u64| {
        move |sample: &mut Sample| {
            set_times(sample, 1, 0, 0);
            (sample.return_ns, sample.durable_ns) = (Nanos(ns), Some(Nanos(ns)));
        }
    };
    let set = on_model_disks(two(short(300), short(100_000)));
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, None);
    assert!(
        sentence.contains("both are below 1 ms, which is negligible"),
        "{sentence}"
    );
    assert!(!sentence.contains("x)"), "{sentence}");
}

/// Sets the time of kernel threads and of other programs, milliseconds.
fn set_processors(sample: &mut Sample, processors: u32, threads: u64, others: u64) {
    sample.observed = Some(Observed {
        over_ns: sample.whole_ns(),
        processors,
        kernel_threads_ns: Some(Nanos(threads * MS)),
        others_ns: Some(Nanos(others * MS)),
        pressure: Some(Pressure::from_parts([100, 200, 50, 0, 0].map(|ms| ms * MS))),
        unobserved: vec!["throttling: none here".to_owned()],
        ..Observed::default()
    });
}

/// A contender with a rest longer by four seconds, while others used processors.
fn resting(processors: u32, threads: u64, others: u64) -> ResultSet {
    let idle = |sample: &mut Sample| {
        set_times(sample, 1000, 100, 300);
        device(sample, 300, [300, 0, 0, 0]);
        set_processors(sample, processors, 100, 10);
    };
    two(idle, |sample| {
        set_times(sample, 5000, 100, 300);
        device(sample, 300, [300, 0, 0, 0]);
        set_processors(sample, processors, threads, others);
    })
}

#[test]
fn kernel_threads_are_named_only_if_they_certainly_ran_alone() {
    let (cause, sentence) = cause_and_sentence(&resting(2, 9000, 10));
    assert_eq!(cause, Some(Cause::KernelThreads), "{sentence}");
    assert!(
        sentence.contains("only kernel threads ran") && sentence.contains("for 9.00 s against"),
        "{sentence}"
    );
    // With this number of processors, all of them may have run in parallel with the workers.
    for (set, why) in [
        (
            resting(64, 9000, 10),
            "nothing to do; kernel threads ran 9.00 s against 100 ms",
        ),
        (
            resting(2, 100, 5000),
            "other programs had 50 % of the processors meanwhile: measure again",
        ),
    ] {
        let (cause, sentence) = cause_and_sentence(&set);
        assert_eq!(cause, None, "{sentence}");
        assert!(sentence.contains(why), "{sentence}");
    }
    let explained = why(&resting(2, 9000, 10));
    assert!(
        explained
            .missing
            .contains(&"throttling: none here".to_owned())
    );
    let shown = |name: &str| explained.phases[0].rows.iter().any(|row| row.name == name);
    assert!(shown("other programs") && shown("some waited, device"));
    assert!(!shown("processors elsewhere") && !shown("metadata writes"));
}

#[test]
fn metadata_is_reported_if_traced_for_both() {
    let traced = |sample: &mut Sample, metadata: u64| {
        set_processors(sample, 2, 0, 0);
        sample.observed.as_mut().unwrap().traced = Some(Traced {
            metadata_writes: metadata,
            metadata_written_bytes: Bytes(metadata << 12),
            forced_writes: 7,
            ..Traced::default()
        });
    };
    let few = |sample: &mut Sample| {
        set_times(sample, 1000, 50, 100);
        device(sample, 800, [0, 800, 0, 0]).written_bytes = Bytes(64 << 20);
        traced(sample, 256);
    };
    let set = two(few, |sample| {
        set_times(sample, 4000, 50, 100);
        device(sample, 3800, [0, 9000, 0, 10]).written_bytes = Bytes(128 << 20);
        traced(sample, 8192);
    });
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::Writes), "{sentence}");
    assert!(
        sentence.contains("32.0 MiB of it is metadata against 1.00 MiB"),
        "{sentence}"
    );
    let explained = why(&set);
    let row = |name: &str| {
        let rows = &explained.phases[0].rows;
        let row = rows.iter().find(|row| row.name == name).unwrap();
        row.texts.clone().map(Option::unwrap)
    };
    assert_eq!(
        row("metadata written"),
        ["1.00 MiB (2 %)", "32.0 MiB (25 %)"]
    );
    assert_eq!(row("forced writes (FUA)"), ["7", "7"]);
    assert!(
        explained
            .sources
            .iter()
            .any(|of| of.contains("block_bio_queue"))
    );
}

#[test]
fn writes_are_named_on_a_device() {
    let few = |sample: &mut Sample| {
        set_times(sample, 1000, 50, 100);
        device(sample, 800, [0, 800, 0, 0]).writes = 100;
    };
    let set = two(few, |sample| {
        set_times(sample, 4000, 50, 100);
        device(sample, 3800, [0, 9000, 0, 10]).writes = 9_000;
    });
    let (cause, sentence) = cause_and_sentence(&set);
    assert_eq!(cause, Some(Cause::Writes), "{sentence}");
    assert!(sentence.contains("9,000 of"), "{sentence}");
}

#[test]
fn no_cause_is_named_without_support_by_counters() {
    let idle = |sample: &mut Sample| {
        set_times(sample, 1000, 100, 300);
        device(sample, 300, [300, 0, 0, 0]);
    };
    let unknown = |set: ResultSet, why: &str| {
        let (cause, sentence) = cause_and_sentence(&set);
        assert_eq!(cause, None, "{sentence}");
        assert!(sentence.contains(why), "{sentence}");
    };
    // The device was busy all the time; the workers may have been too.
    let overlapping = two(idle, |sample| {
        set_times(sample, 5000, 100, 2400);
        device(sample, 2500, [2500, 0, 0, 0]);
    });
    unknown(
        overlapping,
        "not known: for 55 % of it the device was busy while workers may",
    );
    let several = two(idle, |sample| {
        set_times(sample, 5000, 100, 9000);
        device(sample, 2500, [2500, 0, 0, 0]);
    });
    unknown(
        several,
        "not known: workers ran on several processors at once",
    );
    let locked = two(idle, |sample| {
        set_times(sample, 5000, 100, 300);
        device(sample, 300, [300, 0, 0, 0]);
    });
    unknown(
        locked,
        "not known: for 100 % of it the workers did not run and the device had nothing",
    );
    let at_once = two(idle, |sample| {
        set_times(sample, 5000, 100, 300);
        device(sample, 4900, [4000, 90_000, 0, 0]);
    });
    unknown(
        at_once,
        "those of other kinds were in flight at the same time",
    );
    let mut unwatched = flushing();
    for record in &mut unwatched.cells {
        record.samples[0].device = None;
    }
    assert!(
        why(&unwatched)
            .missing
            .iter()
            .any(|of| of.starts_with("devices: not observed"))
    );
    unknown(unwatched, "devices were not observed");
    let mut old = flushing();
    for record in &mut old.cells {
        record.samples[0].device.as_mut().unwrap().waits = None;
    }
    unknown(old, "the kinds of its requests were not counted");
    let level = two(idle, |sample| {
        set_times(sample, 1010, 100, 310);
        device(sample, 300, [300, 0, 0, 0]);
    });
    unknown(level, "they differ by at most the margin of 2 % in 1 block");
    // Distant medians of overlapping figures.
    let crossed = fixture::one_phase(&["one", "other"], &[&[1000, 900, 3000], &[2000, 2500, 800]]);
    unknown(crossed, "inconclusive: 3 blocks do not show");
}

#[test]
fn explanations_agree_with_the_verdicts_of_the_report() {
    let mut seed = 11u64;
    let mut next = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut met = [0; 4];
    for turn in 0..300_u64 {
        let blocks = 1 + next(10);
        let (difference, noise) = (
            [0, 10, 40, 300][usize::try_from(next(4)).unwrap()],
            1 + [5, 100][usize::try_from(next(2)).unwrap()],
        );
        let base: Vec<u64> = (0..blocks).map(|_| 1000 + next(noise)).collect();
        let other: Vec<u64> = (0..blocks)
            .map(|_| 1000 + difference + next(noise))
            .collect();
        // Other contenders enlarge the family of comparisons.
        let third: Vec<u64> = (0..blocks).map(|_| 1000 + next(noise)).collect();
        let labels = ["one", "other", "third"];
        let mut set = fixture::one_phase(&labels, &[&base, &other, &third]);
        set.run.plan.margin = [0.0, 0.02, 0.1][(turn % 3) as usize];
        let report = Comparisons::of(&set);
        let line = report.labs[0].lines().last().unwrap();
        let phase = why(&set).phases.remove(0);
        let sentence = phase.sentence;
        let has = |text: &str| sentence.contains(text);
        let verdict = line.verdict(0, 1);
        let margin = ["0 %", "2 %", "10 %"][(turn % 3) as usize];
        match verdict {
            Some(Verdict::Equivalent) => {
                assert!(
                    has("equivalent within the margin of") && has(margin),
                    "{sentence}"
                );
                met[0] += 1;
            }
            Some(Verdict::Inconclusive) => {
                assert!(has("inconclusive: ") && has(margin), "{sentence}");
                met[1] += 1;
            }
            Some(Verdict::Faster | Verdict::Slower) => met[2] += 1,
            None => met[3] += 1,
        }
        let settled = matches!(verdict, Some(Verdict::Faster | Verdict::Slower));
        assert!(
            settled || verdict.is_none() || phase.cause.is_none(),
            "{sentence}"
        );
        assert!(
            !settled || (!has("equivalent") && !has("inconclusive")),
            "{sentence}"
        );
        assert!(!has("no difference"), "{sentence}");
    }
    assert!(met.iter().all(|of| *of > 10), "{met:?}");
}

#[test]
fn the_parts_always_add_up_to_the_time() {
    let mut seed = 7u64;
    let mut next = |below: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let set = flushing();
    let mut sample = set.cells[0].samples[0].clone();
    for _ in 0..2000 {
        sample.durable_ns = Some(Nanos(next(1000) + 1));
        sample.cpu.user_ns = Nanos(next(500));
        sample.cpu.system_ns = Nanos(next(500));
        let used = sample.device.as_mut().unwrap();
        used.busy_ns = Nanos(next(2500));
        used.waits = Some(Waits::from_parts([next(3) * 7, next(900), 0, next(900)]));
        let devices = u32::try_from(next(4)).unwrap();
        let anatomy = Anatomy::of(&sample, devices, Processor::Machine);
        let ran = sample.cpu.user_ns.0 + sample.cpu.system_ns.0;
        match anatomy.parts_ns {
            Some(parts) => assert_eq!(parts.iter().sum::<u64>(), anatomy.whole_ns, "{anatomy:?}"),
            None => assert!(ran > anatomy.whole_ns),
        }
    }
    // Writes after the return of a read-only phase are not part of its time.
    set_times(&mut sample, 1000, 100, 0);
    sample.durable_ns = None;
    device(&mut sample, 900, [600, 0, 0, 250]);
    let anatomy = Anatomy::of(&sample, 1, Processor::Machine);
    let parts = [Part::Reads, Part::Flushes, Part::Either, Part::Rest];
    let parts = parts.map(|part| anatomy.part(part).unwrap() / MS);
    assert_eq!(parts, [550, 0, 350, 0]);
    // In virtual time computing takes no time, so nothing is uncertain.
    let anatomy = Anatomy::of(&fragmented().cells[0].samples[0], 1, Processor::Free);
    assert_eq!(anatomy.part(Part::Either), Some(0));
    assert_eq!(anatomy.part(Part::Rest), Some(MS));
    assert_eq!(anatomy.part(Part::Reads), Some(5_999 * MS));
}

#[test]
fn a_contender_is_found_without_its_state_where_only_one_has_the_name() {
    let none = |_: [&fsdyno_model::Contender; 2], _: Cause| None;
    let mut set = fixture::mixed_labs();
    let mut fill = |at: usize, permille| {
        let contender = &mut set.run.plan.contenders[at];
        contender.state = InitialState::of(Some(Fill::plain(permille)), 0).unwrap();
        contender.label = format!("ext4{}", contender.state.suffix());
        set.clone()
    };
    let set = fill(0, 950);
    let why = Why::of(&set, ["ext4", "xfs"], None, &none).unwrap();
    assert_eq!(why.contenders, ["ext4 fill=95%", "xfs"]);
    let set = fill(1, 500);
    let refused = Why::of(&set, ["ext4", "xfs"], None, &none).unwrap_err();
    assert!(matches!(refused, WhyError::NoContender { .. }), "{refused}");
}

#[test]
fn invalid_comparisons_are_rejected_with_the_names() {
    let none = |_: [&fsdyno_model::Contender; 2], _: Cause| None;
    let refused = |set: &ResultSet, labels: [&str; 2], phase: Option<&str>| {
        Why::of(set, labels, phase, &none).unwrap_err()
    };
    let set = fixture::mixed_labs();
    let difference = refused(&set, ["ext4", "uml/ext4"], None);
    assert!(matches!(difference, WhyError::OtherLab(..)), "{difference}");
    assert!(
        difference.to_string().contains("Figures of another kernel"),
        "{difference}"
    );
    assert!(
        set.run
            .plan
            .contenders
            .iter()
            .any(|one| one.lab == LabChoice::Uml)
    );
    let nobody = refused(&set, ["ext4", "minix"], None).to_string();
    assert!(
        nobody.contains("`minix`; it has ext4, uml/ext4"),
        "{nobody}"
    );
    let twice = refused(&set, ["ext4", "ext4"], None);
    assert!(matches!(twice, WhyError::Twice(_)), "{twice}");
    let phase = refused(&set, ["ext4", "xfs"], Some("copy\x1b")).to_string();
    assert!(phase.contains("tree / copy, tree / delete"), "{phase}");
    assert!(!phase.contains('\x1b'), "{phase}");
    let dead = refused(&set, ["uml/ext4", "uml/jfs"], None);
    assert!(matches!(dead, WhyError::Nothing(..)), "{dead}");
    let one = Why::of(&set, ["ext4", "xfs"], Some("delete"), &none).unwrap();
    assert_eq!(one.phases.len(), 1);
    let all = Why::of(&set, ["xfs", "ext4"], None, &none).unwrap();
    let difference = |phase: &fsdyno_report::why::PhaseWhy| phase.difference_ns.unsigned_abs();
    assert_eq!(all.phases.len(), 4);
    assert!(
        all.phases
            .windows(2)
            .all(|two| difference(&two[0]) >= difference(&two[1]))
    );
}

#[test]
fn a_screen_begins_with_the_answer_and_has_at_most_forty_lines() {
    let screen = |why: &Why| {
        let bytes = render_why(why, Format::Terminal, &Options::default()).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.lines().count() <= 40, "{text}");
        assert!(text.contains("--long"), "{text}");
        text
    };
    let mut why = why(&flushing());
    // Of many figures, the parts of the time are left.
    let mut many = why.clone();
    let counters = many.phases[0].rows.last().unwrap().clone();
    many.phases[0].rows.resize(50, counters);
    let times = screen(&many);
    assert!(
        times.contains("device, flushes") && !times.contains("size of a read"),
        "{times}"
    );
    insta::assert_snapshot!("why_screen", screen(&why));
    let (mut unknown, long) = (why.phases[0].clone(), why.phases[0].sentence.repeat(3));
    unknown.cause = None;
    why.phases[0].sentence = long;
    for phases in [2, 5, 12, 60] {
        let known = why.phases[0].clone();
        why.phases = vec![unknown.clone()];
        why.phases.resize(phases, known);
        why.warnings = vec!["work: part of it was not done, so that both differ. ".repeat(4); 9];
        let text = screen(&why);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let of_all = format!(
            "other took 9.00 times as long as one in copy (9.00 s against 1.00 s), mostly because \
             of flushes; a cause is known in {} of {phases} phases.",
            phases - 1
        );
        assert!(words.starts_with(&of_all), "{text}");
        why.phases.swap(0, 1);
    }
    why.phases = vec![unknown];
    assert!(screen(&why).starts_with("No cause of a difference between one and other is known in"));
}

#[test]
fn every_format_shows_the_same() {
    let text = |set: &ResultSet, format, width| {
        String::from_utf8(render_why(&why(set), format, &wide(width)).unwrap()).unwrap()
    };
    insta::assert_snapshot!("why_terminal", text(&flushing(), Format::Terminal, 80));
    insta::assert_snapshot!(
        "why_terminal_disks",
        text(&fragmented(), Format::Terminal, 80)
    );
    insta::assert_snapshot!("why_markdown", text(&flushing(), Format::Markdown, 80));
    insta::assert_snapshot!("why_json", text(&flushing(), Format::Json, 80));
    for line in text(&fragmented(), Format::Terminal, 60).lines() {
        assert!(line.width() <= 60, "{line}");
    }
    let page = text(&flushing(), Format::Html, 80);
    let csv = text(&flushing(), Format::Csv, 80);
    assert!(page.contains("<h2>copy</h2>") && csv.contains("copy,time,1.00 s,9.00 s"));
    let other = render_why(&why(&flushing()), Format::Bencher, &wide(80)).unwrap_err();
    assert!(
        other
            .to_string()
            .ends_with("use one of terminal, html, csv, json, markdown"),
        "{other}"
    );
}
