//! The conclusion at the top matches the figures.

use crate::fixture::one_phase;
use fsdyno_report::comparison::Comparisons;

fn check(labels: &[&str], times: &[&[u64]], expected: &str) {
    let output = Comparisons::of(&one_phase(labels, times))
        .conclusions()
        .join(" ");
    assert!(output.contains(expected), "{output}");
}

#[test]
fn a_lead_in_every_block_is_reported_with_its_range() {
    check(
        &["ext4", "xfs"],
        &[&[1000, 1000, 1000], &[750, 800, 780]],
        "copy: in all 3 blocks xfs took 20-25 % less time to durable than ext4.",
    );
    check(
        &["ext4", "xfs", "btrfs"],
        &[&[1000, 1010, 1020], &[990, 980, 970], &[700, 710, 690]],
        "copy: in all 3 blocks btrfs took 28-29 % less time to durable than the next, xfs.",
    );
}

#[test]
fn from_six_repeats_the_interval_is_reported_without_every_block() {
    let slow: &[u64] = &[1000; 9];
    // In one block of nine the faster contender was slower.
    let fast: &[u64] = &[750, 760, 770, 780, 1200, 790, 795, 800, 755];
    let output = "copy: xfs took 3.9-24 % less time to durable than ext4 (a 95 % interval, of 9 \
                blocks).";
    check(&["ext4", "xfs"], &[slow, fast], output);
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
    let output = Comparisons::of(&set).conclusions().join(" ");
    let expected = "xfs was the fastest in 4 of 4 phases (a / copy, b / copy, c / copy, d / copy): \
                    it took 3.9-24 % less time than the next, by 95 % intervals.";
    assert_eq!(output, expected);
}

#[test]
fn ranges_that_overlap_have_no_winner() {
    check(
        &["ext4", "xfs", "btrfs"],
        &[&[1000, 1100, 1200], &[990, 1090, 1190], &[2000, 2000, 2000]],
        "copy: no fastest can be named; the figures of ext4 and xfs do not set them apart.",
    );
}

#[test]
fn few_repeats_are_reported() {
    check(&["ext4", "xfs"], &[&[1000], &[10]], "a hint, not a finding");
    check(
        &["ext4", "xfs"],
        &[&[1000, 1000], &[10, 10]],
        "a hint, not a finding",
    );
    check(
        &["ext4", "xfs"],
        &[&[100, 100, 100], &[10, 10, 10]],
        "With 3 repeats only differences far beyond the noise are told",
    );
}

#[test]
fn an_adaptive_run_that_ended_early_reports_how_to_resume() {
    let mut set = one_phase(&["ext4", "xfs"], &[&[1000, 1000], &[10, 10]]);
    set.run.plan.repeats = 6;
    set.run.plan.adaptive = Some(fsdyno_model::Adaptive {
        precision: 0.01,
        most: 30,
    });
    let output = Comparisons::of(&set).conclusions().join(" ");
    let way_out = format!(
        "ended before its figures were to be looked at, first after 6 repeats: `fsdyno run \
         --resume {}` goes on.",
        set.run.id
    );
    assert!(output.contains(&way_out), "{output}");
}

#[test]
fn a_single_contender_is_not_compared() {
    let alone = "ext4 was measured alone: there is nothing to compare it with.";
    check(&["ext4"], &[&[1000, 1000]], alone);
    check(
        &["ext4", "xfs"],
        &[&[1000, 1000], &[]],
        "there is nothing to compare",
    );
}

#[test]
fn a_contender_with_missing_blocks_is_named_and_the_others_are_judged() {
    let times: &[&[u64]] = &[&[1000, 1000, 1000], &[500, 500, 500], &[900, 900]];
    let labels = ["ext4", "xfs", "btrfs"];
    check(
        &labels,
        times,
        "in all 3 blocks xfs took 50 % less time to durable than the next, ext4.",
    );
    check(
        &labels,
        times,
        "Too few repeats of btrfs to judge it there.",
    );
    // If it leads, no contender is named as the fastest.
    let times: &[&[u64]] = &[&[1000, 1000, 1000], &[500, 500, 500], &[100, 100]];
    check(&labels, times, "too few repeats");
}
