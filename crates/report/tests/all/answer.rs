//! The answer at the top matches the figures.

use crate::fixture::{self, one_phase};
use fsdyno_model::{Nanos, Probe, ResultSet, Warning, WarningKind};
use fsdyno_report::comparison::Comparisons;
use fsdyno_stats::Verdict;

fn check(labels: &[&str], times: &[&[u64]], expected: &str) {
    let answer = Comparisons::of(&one_phase(labels, times))
        .answers()
        .join(" ");
    assert_eq!(answer, expected);
}

#[test]
fn the_fastest_is_compared_with_the_baseline_or_the_next() {
    check(
        &["ext4", "xfs"],
        &[&[1000, 1000, 1000], &[750, 800, 780]],
        "For this work xfs is fastest: 1.3 times faster than ext4.",
    );
    check(
        &["ext4", "xfs", "btrfs"],
        &[&[700, 710, 690], &[1000, 1010, 1020], &[2000, 2010, 2020]],
        "For this work ext4 is fastest: 1.4 times faster than xfs. The slowest is btrfs: 2.9 times \
         slower than ext4.",
    );
}

#[test]
fn the_slowest_is_named_and_first_if_it_is_much_slower() {
    check(
        &["ext4", "xfs", "btrfs"],
        &[
            &[700, 710, 690],
            &[1000, 1010, 1020],
            &[14000, 14010, 14020],
        ],
        "The slowest is btrfs: 20 times slower than ext4. For this work ext4 is fastest: 1.4 times \
         faster than xfs.",
    );
    check(
        &["ext4", "xfs", "btrfs"],
        &[&[1000, 1010, 1020], &[700, 710, 690], &[2000, 2010, 2020]],
        "For this work xfs is fastest: 1.4 times faster than ext4. The slowest is btrfs: 2.9 times \
         slower than xfs.",
    );
}

/// The same run, in which the work of these contenders was not durable.
fn not_durable(mut set: ResultSet, lossy: &[u32]) -> ResultSet {
    let warning = Warning::new(WarningKind::NotDurable, "no flush", "do not choose it");
    let records = set.cells.iter_mut();
    for record in records.filter(|record| lossy.contains(&record.cell.contender)) {
        for sample in &mut record.samples {
            sample.warnings = vec![warning.clone()];
        }
    }
    set
}

#[test]
fn nothing_is_compared_with_a_contender_whose_work_was_not_durable() {
    let answer = |labels: &[&str], times: &[&[u64]], lossy: &[u32]| {
        let set = not_durable(one_phase(labels, times), lossy);
        let answer = Comparisons::of(&set).answers().join(" ");
        let (durability, rest) = answer.split_once("cannot be the answer. ").unwrap();
        assert!(durability.starts_with("The work of "), "{answer}");
        rest.to_owned()
    };
    let labels = ["jfs", "ext4", "xfs"];
    // Neither the baseline, nor the contender with the next figure.
    assert_eq!(
        answer(&labels, &[&[400; 3], &[1000; 3], &[800; 3]], &[0]),
        "For this work xfs is fastest: 1.2 times faster than ext4."
    );
    assert_eq!(
        answer(
            &["xfs", "jfs", "ext4"],
            &[&[800; 3], &[900; 3], &[1000; 3]],
            &[1]
        ),
        "For this work xfs is fastest: 1.2 times faster than ext4."
    );
    // Nor the slowest one, nor one of those that are not separated.
    let undecided = answer(
        &["jfs", "ext4", "xfs", "btrfs"],
        &[
            &[9000; 3],
            &[1000, 1100, 1200],
            &[990, 1090, 1190],
            &[2000; 3],
        ],
        &[0],
    );
    assert!(undecided.contains("ext4 and xfs are not separated"));
    assert!(undecided.contains("btrfs is 1.8 times slower than xfs"));
    assert!(!undecided.contains("jfs"), "{undecided}");
    assert_eq!(
        answer(&labels, &[&[400; 3], &[500; 3], &[800; 3]], &[0, 1]),
        "Only xfs is left: there is nothing to compare it with."
    );
    // Too few repeats name no contender as ahead of it.
    let few = answer(&labels, &[&[400; 2], &[500; 2], &[800; 2]], &[0]);
    assert!(few.contains("ext4 is 1.6 times faster than xfs"), "{few}");
}

#[test]
fn the_cost_of_unsafe_options_is_named_with_their_speed() {
    let mut set = one_phase(&["ext4", "ext4:nobarrier"], &[&[1000; 3], &[500; 3]]);
    let cost = "a power cut can take what fsync acknowledged";
    set.run.plan.contenders[1].gives_up = Some(cost.to_owned());
    let answer = |set: &ResultSet| Comparisons::of(set).answers().join(" ");
    assert_eq!(
        answer(&set),
        format!(
            "For this work ext4:nobarrier is fastest: 2.0 times faster than ext4. ext4:nobarrier \
             gives up safety for speed: {cost}."
        )
    );
    // The speed of another contender has no such cost.
    set.run.plan.contenders.swap(0, 1);
    set.run.plan.contenders[0].label = "ext4:nobarrier".to_owned();
    let other = answer(&set);
    assert!(
        other.contains("ext4 is fastest") && !other.contains("safety"),
        "{other}"
    );
}

#[test]
fn a_phase_that_only_some_contenders_have_still_shows_that_work_was_not_durable() {
    // One phase of two is complete, so that there is no mean of phases.
    let mut set = fixture::with(&["ext4", "jfs", "xfs"], &[fixture::workload("tree")], 3);
    for (block, contender) in (0..3).flat_map(|block| (0..3).map(move |one| (block, one))) {
        let mut record = fixture::record(&set, block, contender, 0, 900);
        if contender == 2 {
            record.samples.truncate(1);
        }
        set.cells.push(record);
    }
    let comparisons = Comparisons::of(&not_durable(set, &[1]));
    assert_eq!(comparisons.labs[0].overall.ratios, []);
    assert_eq!(comparisons.labs[0].overall.not_durable, [1]);
}

#[test]
fn a_contender_whose_work_was_not_durable_is_no_answer_and_has_no_star() {
    let labels = ["ext4", "jfs", "xfs"];
    let times: &[&[u64]] = &[&[1000, 1000, 1000], &[100, 100, 100], &[800, 800, 800]];
    let set = not_durable(one_phase(&labels, times), &[1]);
    let comparisons = Comparisons::of(&set);
    let answer = comparisons.answers().join(" ");
    let expected = "The work of jfs was not durable when fsync and syncfs returned: no flush was \
                    sent to the disk, so jfs cannot be the answer. For this work xfs is fastest: \
                    1.2 times faster than ext4.";
    assert_eq!(answer, expected);
    for line in comparisons.labs[0].lines() {
        let best = line.values.iter().flatten().map(|value| value.best);
        assert_eq!(best.collect::<Vec<_>>(), [false, false, true]);
    }
}

#[test]
fn phases_are_counted_by_verdict() {
    let slow: &[u64] = &[1000; 9];
    // In one block of nine the faster contender was slower.
    let fast: &[u64] = &[750, 760, 770, 780, 1200, 790, 795, 800, 755];
    let mut set = one_phase(&["ext4", "xfs"], &[slow, fast]);
    set.run.plan.workloads = ["a", "b", "c", "d"].map(crate::fixture::workload).into();
    for workload in &mut set.run.plan.workloads {
        workload.phases.truncate(1);
    }
    let cells = std::mem::take(&mut set.cells);
    for (record, workload) in cells.iter().flat_map(|r| (0..4).map(move |w| (r, w))) {
        let mut record = record.clone();
        record.cell.workload = workload;
        set.cells.push(record);
    }
    let expected = "For this work xfs is fastest: 1.3 times faster than ext4 overall, and faster in \
                    all 4 phases.";
    assert_eq!(Comparisons::of(&set).answers(), [expected]);
}

#[test]
fn without_a_verdict_no_contender_is_named_as_the_fastest() {
    check(
        &["ext4", "xfs", "btrfs"],
        &[&[1000, 1100, 1200], &[990, 1090, 1190], &[2000, 2000, 2000]],
        "For this work ext4 or xfs is fastest: btrfs is 1.8 times slower than xfs. ext4 and xfs \
         are not separated (xfs leads by 1.01 times before ext4). More repeats decide more \
         (--resume RUN --repeats 6).",
    );
}

#[test]
fn an_answer_beside_other_programs_says_so() {
    let mut set = one_phase(&["ext4", "xfs"], &[&[1000; 6], &[700; 6]]);
    let answer = |set: &ResultSet| Comparisons::of(set).answers().join(" ");
    let busy = "Other programs used the machine in most phases";
    for (loaded, said) in [(6, false), (7, true)] {
        for record in set.cells.iter_mut().take(loaded) {
            let warning = Warning::new(WarningKind::BackgroundLoad, "others", "end them");
            record.samples[0].warnings = vec![warning];
        }
        assert_eq!(answer(&set).contains(busy), said, "{}", answer(&set));
    }
}

#[test]
fn phases_with_equal_contenders_are_counted() {
    let labels = ["ext4", "xfs"];
    let scattered = [
        [1000, 1400, 1200, 1900, 1000, 1500, 1200, 1800],
        [1900, 1100, 1500, 1200, 1400, 1000, 1700, 1300],
    ];
    let mut set = one_phase(&labels, &[&[1000; 8], &[1001; 8]]);
    let other = one_phase(&labels, &[&scattered[0], &scattered[1]]);
    set.run.plan.workloads = ["equal", "scattered"].map(crate::fixture::workload).into();
    for workload in &mut set.run.plan.workloads {
        workload.phases.truncate(1);
    }
    for mut record in other.cells {
        record.cell.workload = 1;
        set.cells.push(record);
    }
    let [answer] = &Comparisons::of(&set).answers()[..] else {
        panic!("one answer");
    };
    let counted = "; several are equivalent in 1 of 2 phases.";
    assert!(answer.contains(counted), "{answer}");
}

#[test]
fn few_repeats_are_reported() {
    check(
        &["ext4", "xfs"],
        &[&[1000, 1000], &[10, 10]],
        "There are too few repeats to name a fastest: xfs is 100 times faster than ext4, which may \
         be chance. At least 3 are needed (--resume RUN --repeats 6).",
    );
    let set = one_phase(&["ext4", "xfs"], &[&[1000], &[10]]);
    let answer = Comparisons::of(&set).answers().join(" ");
    let expected = "One repeat decides nothing: the order may be chance. Times: xfs 10.0 ms, ext4 \
                    1.00 s. To decide: fsdyno run --resume";
    assert!(answer.starts_with(expected), "{answer}");
    assert!(answer.ends_with(" --repeats 6."), "{answer}");
}

#[test]
fn an_adaptive_run_that_ended_early_reports_how_to_resume() {
    let mut set = one_phase(&["ext4", "xfs"], &[&[1000, 1000], &[10, 10]]);
    set.run.plan.repeats = 6;
    set.run.plan.adaptive = Some(fsdyno_model::Adaptive {
        precision: 0.01,
        most: 30,
        fewest: 0,
    });
    let answer = Comparisons::of(&set).answers().join(" ");
    let remedy = format!(
        "The first analysis is after 6 repeats: continue with `fsdyno run --resume {}`.",
        set.run.id
    );
    assert!(answer.ends_with(&remedy), "{answer}");
}

#[test]
fn a_single_contender_is_not_compared() {
    let alone = "Only ext4 was measured: there is nothing to compare it with.";
    check(&["ext4"], &[&[1000, 1000]], alone);
    check(
        &["ext4", "xfs"],
        &[&[1000, 1000], &[]],
        "No phase has figures of two contenders: there is nothing to compare.",
    );
}

#[test]
fn a_contender_with_too_few_repeats_may_still_be_the_fastest() {
    let times: &[&[u64]] = &[&[1000, 1000, 1000], &[500, 500, 500], &[900, 900]];
    let labels = ["ext4", "xfs", "btrfs"];
    check(
        &labels,
        times,
        "For this work xfs or btrfs is fastest: ext4 is 2.0 times slower than xfs. xfs and btrfs \
         are not separated (xfs leads by 1.8 times before btrfs). More repeats decide more \
         (--resume RUN --repeats 6).",
    );
    // If it leads, nobody else is named as the fastest.
    let times: &[&[u64]] = &[&[1000, 1000, 1000], &[500, 500, 500], &[100, 100]];
    let answer = Comparisons::of(&one_phase(&labels, times))
        .answers()
        .join(" ");
    assert!(!answer.contains("is fastest"), "{answer}");
}

#[test]
fn probes_that_explain_the_noise_decide_and_medians_stay_as_measured() {
    // The speed of the machine in each block, in percent of its time.
    let machine: [&[u64]; 2] = [
        &[100, 180, 120, 160, 105, 150, 130, 170, 110, 140],
        &[175, 105, 150, 125, 165, 100, 180, 115, 155, 130],
    ];
    let of = |contender: usize, time: u64| -> Vec<u64> {
        machine[contender]
            .iter()
            .map(|percent| time * percent / 100)
            .collect()
    };
    let times = [of(0, 1000), of(1, 900)];
    let mut set = one_phase(&["ext4", "xfs"], &[&times[0], &times[1]]);
    let line = |set: &_| {
        let comparison = Comparisons::of(set).labs.remove(0);
        let line = comparison.lines().last().unwrap().clone();
        let medians = [0, 1].map(|at: usize| line.values[at].as_ref().unwrap().summary.median);
        (line.verdict(1, 0), medians, comparison.adjusted_text())
    };
    let (verdict, medians, text) = line(&set);
    assert_eq!((verdict, text), (Some(Verdict::Inconclusive), None));
    for record in &mut set.cells {
        let percent = machine[record.cell.contender as usize][record.cell.block as usize];
        record.samples[0].probe = Some(Probe {
            system_ns: Nanos(1000 * percent),
            device_ns: None,
        });
    }
    let (verdict, with_probes, text) = line(&set);
    assert_eq!(verdict, Some(Verdict::Faster));
    assert_eq!(with_probes.map(f64::to_bits), medians.map(f64::to_bits));
    assert!(text.unwrap().ends_with("within blocks: copy (100 %)."));
}
