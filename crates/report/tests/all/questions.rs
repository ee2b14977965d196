//! Questions of administrators, each with measured figures. The answer is one that experts would
//! accept.

use crate::advice::question;
use crate::explored;
use crate::fixture::one_phase;
use fsdyno_model::{
    ActionOutcome, ClassCount, Contender, DiskFault, Exploration, FaultOutcome, FaultTest,
    FaultTests, FullAction, FullDisk, InjectedFault, Loss, PowerCut, ResultSet, Score, Series,
    StateClass, StateCounts, Warning, WarningKind,
};
use fsdyno_report::advice::{Dropped, Question, Recommendation, VariantNote};
use fsdyno_report::{Format, Options, render_advice};

/// Figures of eight repeats around these milliseconds, with a noise of 1 %.
fn figures(measured: &[(&str, u64)]) -> ResultSet {
    let labels: Vec<&str> = measured.iter().map(|(label, _)| *label).collect();
    let noise = [0, 6, 3, 9, 1, 7, 4, 8];
    let times = measured.iter().enumerate().map(|(at, (_, time))| {
        let of_block = |block: usize| 10 * time * (1000 + noise[(block + 3 * at) % 8]) / 10_000;
        (0..8).map(of_block).collect::<Vec<u64>>()
    });
    let times: Vec<Vec<u64>> = times.collect();
    let times: Vec<&[u64]> = times.iter().map(Vec::as_slice).collect();
    one_phase(&labels, &times)
}

/// The work of these contenders was not durable.
fn without_flushes(mut set: ResultSet, labels: &[&str]) -> ResultSet {
    let contenders = set.run.plan.contenders.clone();
    for record in &mut set.cells {
        let label = &contenders[record.cell.contender as usize].label;
        if labels.contains(&label.as_str()) {
            let warning = Warning::new(WarningKind::NotDurable, "no flush", "do not choose it");
            record.samples[0].warnings.push(warning);
        }
    }
    set
}

/// Crash tests of a contender, on the kernel of the figures: with the findings of the fixture, or
/// with none.
fn tested(set: &ResultSet, label: &str, has_findings: bool) -> Exploration {
    let mut exploration = explored::exploration();
    let contender = set
        .run
        .plan
        .contenders
        .iter()
        .find(|one| one.label == label);
    let mut programs = exploration.programs.clone();
    let is_violation = |one: &fsdyno_model::Finding| one.score() == Score::Violation;
    programs.retain(|one| has_findings == one.findings.iter().any(is_violation));
    programs.truncate(1);
    for program in &mut programs {
        label.clone_into(&mut program.contender);
        program.guest.clone_from(&set.run.provenance.kernel);
        program.failed = None;
        if !has_findings {
            program.findings.clear();
            let checked = ClassCount {
                checked: 10,
                ..ClassCount::default()
            };
            let classes = [StateClass::C0, StateClass::C1, StateClass::C2];
            program.states = StateCounts {
                classes: classes.map(|class| (class, checked.clone())).into(),
                ..program.states.clone()
            };
        }
    }
    exploration.info.contenders = contender.into_iter().cloned().collect();
    exploration.programs = programs;
    exploration
}

/// Asserts that the choice is one of these, or that there is none, and what the answer states.
fn check(advice: &Recommendation, accepted: &[&str], stated: &[&str], never: &[&str]) {
    let text = render_advice(advice, Format::Terminal, &Options::default()).unwrap();
    let text = String::from_utf8(text).unwrap();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let choice = advice.choice.as_ref().map(|one| one.contender.as_str());
    let is_accepted = choice.map_or(accepted.is_empty(), |one| accepted.contains(&one));
    assert!(is_accepted, "{choice:?}: {text}");
    for part in stated {
        assert!(text.contains(part), "{part:?} is missing: {text}");
    }
    for part in never {
        assert!(!text.contains(part), "{part:?} is there: {text}");
    }
}

#[test]
fn which_file_system_for_mail_if_the_fastest_sends_no_flush() {
    let set = figures(&[("ext4", 554), ("xfs", 600), ("btrfs", 11_600), ("jfs", 230)]);
    let set = without_flushes(set, &["jfs"]);
    let advice = Recommendation::of(&question(&set));
    let stated = ["Choose ext4", "was not durable"];
    check(&advice, &["ext4"], &stated, &["Choose jfs"]);
}

#[test]
fn which_file_system_if_two_differ_by_less_than_anyone_notices() {
    let set = figures(&[("ext4", 1000), ("xfs", 1004), ("btrfs", 1900)]);
    let advice = Recommendation::of(&question(&set));
    check(
        &advice,
        &["ext4", "xfs"],
        &["No difference that you"],
        &["Choose ext4:"],
    );
}

#[test]
fn which_of_two_equals_if_one_passed_its_crash_tests() {
    let set = figures(&[("ext4", 1000), ("xfs", 1004)]);
    let explorations = [tested(&set, "xfs", false)];
    let advice = Recommendation::of(&Question {
        explorations: &explorations,
        ..question(&set)
    });
    check(
        &advice,
        &["xfs"],
        &["passed its crash tests"],
        &["not crash tested"],
    );
}

#[test]
fn which_file_system_must_be_safe_if_the_fastest_was_not_tested() {
    let set = figures(&[("ext4", 1000), ("f2fs", 600), ("xfs", 1500)]);
    let explorations = [tested(&set, "ext4", false), tested(&set, "xfs", false)];
    let advice = Recommendation::of(&Question {
        explorations: &explorations,
        safety: Some(StateClass::C2),
        ..question(&set)
    });
    check(
        &advice,
        &["ext4"],
        &["not tested with this kernel"],
        &["Choose f2fs"],
    );
}

#[test]
fn which_file_system_must_be_safe_if_the_only_tested_one_failed() {
    let set = figures(&[("ext4", 1000), ("f2fs", 600)]);
    let explorations = [tested(&set, "ext4", true)];
    let advice = Recommendation::of(&Question {
        explorations: &explorations,
        safety: Some(StateClass::C4),
        ..question(&set)
    });
    let stated = ["No contender can be recommended", "violation"];
    check(&advice, &[], &stated, &["Choose f2fs"]);
}

#[test]
fn what_does_a_power_cut_take_and_who_must_survive_it() {
    let set = figures(&[("ext4", 1000), ("xfs", 600)]);
    let mut series = crate::crash::power_losses();
    series.info.contenders.clone_from(&set.run.plan.contenders);
    for cut in &mut series.power_cuts {
        cut.guest.clone_from(&set.run.provenance.kernel);
        if cut.contender != "xfs" {
            cut.contender = "ext4".to_owned();
        }
    }
    let asked = |series: &Series, safety| {
        Recommendation::of(&Question {
            power_cuts: std::slice::from_ref(series),
            safety,
            ..question(&set)
        })
    };
    // Work that was not synced may be lost.
    let stated = [
        "changes without fsync of the last 5.00 s are lost in the median, of the last 5.00 s at worst \
         (2 power cuts); nothing synced is lost; saves by rename without fsync left neither",
    ];
    check(
        &asked(&series, Some(StateClass::C2)),
        &["xfs"],
        &stated,
        &[],
    );
    let other = Series {
        power_cuts: vec![PowerCut {
            guest: "Linux 5.15.1 #1".to_owned(),
            ..series.power_cuts[0].clone()
        }],
        ..series.clone()
    };
    check(
        &asked(&other, None),
        &["xfs"],
        &[],
        &["When the power fails"],
    );
    let mut cuts = series.power_cuts.iter_mut();
    let cut = cuts.find(|one| one.contender == "xfs").unwrap();
    let lost = [(Loss::Missing, 1)].into_iter().collect();
    cut.recovery.judgement.as_mut().unwrap().lost = lost;
    let stated = ["synced data were lost in 1 of 2 power cuts"];
    check(&asked(&series, None), &["xfs"], &stated, &[]);
    check(
        &asked(&series, Some(StateClass::C2)),
        &["ext4"],
        &stated,
        &["Choose xfs"],
    );
}

/// Tests of contenders with one flipped bit each, on the kernel of the figures.
fn flipped(set: &ResultSet, outcomes: &[(&str, FaultOutcome)]) -> FaultTests {
    let mut tests = crate::disk_faults::tests();
    let flip = tests.tests[0].faults[0].clone();
    let contenders = set.run.plan.contenders.iter();
    let is_tested = |one: &&Contender| outcomes.iter().any(|(label, _)| *label == one.label);
    tests.info.contenders = contenders.filter(is_tested).cloned().collect();
    tests.tests = outcomes
        .iter()
        .map(|(label, outcome)| FaultTest {
            contender: (*label).to_owned(),
            guest: set.run.provenance.kernel.clone(),
            faults: vec![InjectedFault {
                outcome: *outcome,
                ..flip.clone()
            }],
            full: vec![FullDisk {
                seed: 1,
                actions: vec![ActionOutcome {
                    action: FullAction::Overwrite,
                    error: Some("ENOSPC".to_owned()),
                    content_gone: false,
                }],
                ..FullDisk::default()
            }],
        })
        .collect();
    tests
}

#[test]
fn which_file_system_must_work_without_a_disk_if_the_fastest_does_not() {
    let set = figures(&[("ext4", 600), ("btrfs", 1000), ("xfs", 700)]);
    // Flipped bits are no dead disks.
    let tests = [flipped(&set, &[("ext4", FaultOutcome::Error)])];
    let advice = Recommendation::of(&Question {
        fault_tests: &tests,
        dead_disk: true,
        ..question(&set)
    });
    let stated = [
        "ext4 was not tested with dead disks.",
        "fsdyno lose --fs 'ext4'",
    ];
    check(&advice, &["ext4"], &stated, &[]);
    let mut died = flipped(
        &set,
        &[
            ("ext4", FaultOutcome::Error),
            ("btrfs", FaultOutcome::Degraded),
        ],
    );
    for fault in died.tests.iter_mut().flat_map(|test| &mut test.faults) {
        (fault.fault, fault.role) = (DiskFault::DyingDisk, None);
    }
    let died = [died];
    let advice = Recommendation::of(&Question {
        fault_tests: &died,
        dead_disk: true,
        ..question(&set)
    });
    let stated = [
        "It worked without one of its disks (1 of 1 tests).",
        "failed without one of its disks (1 of 1 tests)",
        "not tested with dead disks",
    ];
    check(&advice, &["btrfs"], &stated, &["Choose ext4", "Choose xfs"]);
}

#[test]
fn which_file_system_must_notice_a_flipped_bit_if_the_fastest_does_not() {
    let set = figures(&[("ext4", 600), ("btrfs", 1000), ("xfs", 700)]);
    let outcomes = [
        ("ext4", FaultOutcome::WrongData),
        ("btrfs", FaultOutcome::Error),
    ];
    let tests = [flipped(&set, &outcomes)];
    let advice = Recommendation::of(&Question {
        fault_tests: &tests,
        bitrot: true,
        ..question(&set)
    });
    check(
        &advice,
        &["btrfs"],
        &[
            "no wrong data after 1 flipped bit",
            "not tested with flipped bits",
            "On a full disk: no loss in 1 life; failed: overwrite in place.",
        ],
        &["Choose ext4", "Choose xfs"],
    );
    // A quota that is reached is no full disk.
    let mut quota = tests.clone();
    quota[0].info.filling = crate::disk_faults::quotas().info.filling;
    let advice = Recommendation::of(&Question {
        fault_tests: &quota,
        ..question(&set)
    });
    check(&advice, &["ext4"], &[], &["On a full disk"]);
    // Without the requirement it is stated.
    let advice = Recommendation::of(&Question {
        fault_tests: &tests,
        ..question(&set)
    });
    let stated = "On a faulty disk: wrong data after 1 of 1 flipped bit";
    check(&advice, &["ext4"], &[stated], &[]);
    // The same tests again are no further tests.
    let twice = [tests[0].clone(), tests[0].clone()];
    let advice = Recommendation::of(&Question {
        fault_tests: &twice,
        ..question(&set)
    });
    check(&advice, &["ext4"], &[stated], &[]);
    // Tests with another kernel say nothing.
    let mut other = tests;
    for test in &mut other[0].tests {
        test.guest = "Linux 5.10.1 #1".to_owned();
    }
    let advice = Recommendation::of(&Question {
        fault_tests: &other,
        bitrot: true,
        ..question(&set)
    });
    let stated = [
        "ext4 was not tested with faulty disks",
        "fsdyno lose --fs 'ext4'",
    ];
    check(&advice, &["ext4"], &stated, &["flipped bit"]);
}

#[test]
fn which_file_system_for_a_database_if_an_unsafe_option_is_twice_as_fast() {
    let defaults = figures(&[("ext4", 1000), ("xfs", 1200)]);
    let cost = "a power cut can take what fsync acknowledged";
    let last = figures(&[("ext4", 1000), ("ext4:nobarrier", 500), ("xfs", 1200)]);
    let options = [VariantNote {
        label: "ext4:nobarrier".to_owned(),
        base: "ext4".to_owned(),
        why: "the cache is not flushed".to_owned(),
        costs: Some(cost.to_owned()),
        source: "ext4(5)".to_owned(),
    }];
    let advice = Recommendation::of(&Question {
        later: std::slice::from_ref(&last),
        options: &options,
        ..question(&defaults)
    });
    check(&advice, &["ext4"], &["2.00 times faster, but", cost], &[]);
}

#[test]
fn what_does_the_speed_of_options_cost_that_the_user_named() {
    let mut set = figures(&[("ext4:data=writeback", 700), ("ext4", 1000)]);
    let cost = "files may have old data after a crash";
    set.run.plan.contenders[0].gives_up = Some(cost.to_owned());
    let advice = Recommendation::of(&question(&set));
    let stated = format!("Its options give up safety: {cost}.");
    check(&advice, &["ext4:data=writeback"], &[&stated], &[]);
}

#[test]
fn which_file_system_if_the_choice_changes_with_the_amount_of_work() {
    let small = figures(&[("ext3", 100), ("f2fs", 130), ("xfs", 140)]);
    let medium = figures(&[("ext3", 500), ("f2fs", 420), ("xfs", 440)]);
    let large = figures(&[("ext3", 4000), ("f2fs", 1500), ("xfs", 1501)]);
    let advice = Recommendation::of(&Question {
        smaller: &[(16.0, &small), (4.0, &medium)],
        ..question(&large)
    });
    let stated = [
        "The choice depends on the size of the work",
        "with 1/16 of this work, ext3 is the fastest",
        "with 1/4 of this work, f2fs is the fastest",
    ];
    check(&advice, &["f2fs"], &stated, &["is among the fastest"]);
}

#[test]
fn which_file_system_with_snapshots_if_only_one_has_them() {
    let set = figures(&[("btrfs", 3000)]);
    let advice = Recommendation::of(&Question {
        dropped: vec![
            Dropped::new("ext4", "no snapshots"),
            Dropped::new("xfs", "no snapshots"),
        ],
        ..question(&set)
    });
    let stated = ["no other contender is left", "ext4, xfs: no snapshots"];
    check(&advice, &["btrfs"], &stated, &["times faster than"]);
}

#[test]
fn which_mirror_for_photos_if_noise_hides_the_difference() {
    let calm: Vec<u64> = vec![1000, 1010, 990, 1005, 995, 1002, 998, 1001];
    let noisy: Vec<u64> = vec![900, 1300, 800, 1400, 950, 1250, 1000, 1100];
    let set = one_phase(&["ext4@mirror2", "btrfs@mirror2"], &[&calm, &noisy]);
    let advice = Recommendation::of(&question(&set));
    let both = ["ext4@mirror2", "btrfs@mirror2"];
    check(&advice, &both, &["Not decided"], &["Choose "]);
}
