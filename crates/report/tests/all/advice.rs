//! Advice on made runs: the choice, its certainty, the change that would turn it, and the
//! contenders that are dropped.

use crate::explored;
use crate::fixture::{one_phase, workload};
use fsdyno_model::{
    Contender, DiskTime, ModelDisk, Nanos, Outcome, ProgramSource, ResultSet, StateClass,
    StopReason, VariantOf, Vary,
};
use fsdyno_report::advice::{
    Application, DeviceFit, Dropped, Effect, Question, Recommendation, VariantNote, best_two,
    contending, has_verdict, helpful,
};
use fsdyno_report::compare::RunVerdict;
use fsdyno_report::{Format, Options, render_advice};

fn commands(contender: &Contender) -> Vec<String> {
    vec![format!("mkfs.{} /dev/DISK", contender.filesystem)]
}

pub fn question(set: &ResultSet) -> Question<'_> {
    Question {
        defaults: set,
        later: &[],
        smaller: &[],
        variants: &[],
        explorations: &[],
        safety: None,
        power_cuts: &[],
        fault_tests: &[],
        bitrot: false,
        dead_disk: false,
        dropped: Vec::new(),
        options: &[],
        left_out: Vec::new(),
        fit: None,
        commands: &commands,
        validated: None,
        application: None,
    }
}

/// The words of a text, whatever its lines.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn terminal(advice: &Recommendation) -> String {
    let options = Options::default();
    String::from_utf8(render_advice(advice, Format::Terminal, &options).unwrap()).unwrap()
}

/// Draws of virtual time: the milliseconds of each phase, by contender.
fn exact(labels: &[&str], times: &[&[u64]]) -> ResultSet {
    let first: Vec<Vec<u64>> = times.iter().map(|phases| vec![phases[0]]).collect();
    let first: Vec<&[u64]> = first.iter().map(Vec::as_slice).collect();
    let mut set = one_phase(labels, &first);
    let plan = &mut set.run.plan;
    plan.disk = Some(ModelDisk {
        profile: "sata-ssd".to_owned(),
        text: String::new(),
        faults: None,
        time: DiskTime::default(),
    });
    for (contender, label) in plan.contenders.iter_mut().zip(labels) {
        let end = label.find([':', '[']).unwrap_or(label.len());
        label[..end].clone_into(&mut contender.filesystem);
        contender.mount.clear();
        contender
            .mount
            .extend(label[end..].strip_prefix(':').map(str::to_owned));
    }
    let phase = workload("tree").phases[0].clone();
    plan.workloads[0].phases = (0..times[0].len())
        .map(|at| {
            let mut phase = phase.clone();
            phase.label = format!("phase {at}");
            phase
        })
        .collect();
    for record in &mut set.cells {
        let sample = record.samples[0].clone();
        let times = times[record.cell.contender as usize];
        record.samples = times
            .iter()
            .enumerate()
            .map(|(at, time)| {
                let mut sample = sample.clone();
                sample.phase = u32::try_from(at).unwrap();
                sample.label = format!("phase {at}");
                sample.return_ns = Nanos(time * 500_000);
                sample.durable_ns = Some(Nanos(time * 1_000_000));
                sample
            })
            .collect();
    }
    // Six draws, which are equal.
    set.run.plan.varies = Vary::ALL.to_vec();
    set.run.plan.repeats = 6;
    let first = set.cells.clone();
    let count = u32::try_from(first.len()).unwrap();
    for block in 1..6 {
        set.cells.extend(first.iter().cloned().map(|mut record| {
            record.cell.block = block;
            record.cell.index += block * count;
            record
        }));
    }
    set
}

#[test]
fn a_clear_winner_is_recommended_with_its_commands_on_one_screen() {
    let labels = ["ext4", "xfs", "btrfs", "jfs", "f2fs", "nilfs2", "exfat"];
    let times: Vec<Vec<u64>> = (0..7)
        .map(|at| vec![100 + 50 * at, 200, 30, 40, 50, 60, 70, 80, 90])
        .collect();
    let times: Vec<&[u64]> = times.iter().map(Vec::as_slice).collect();
    let set = exact(&labels, &times);
    let mut question = question(&set);
    question.dropped = (0..7)
        .map(|at| Dropped::new(&format!("fs{at}"), format!("reason {at}")))
        .collect();
    let advice = Recommendation::of(&question);
    let text = terminal(&advice);
    assert!(
        text.contains("Choose ext4: 1.07 times faster than xfs, the runner-up."),
        "{text}"
    );
    assert!(
        words(&text).contains("interval 1.07 to 1.07, 6 draws"),
        "{text}"
    );
    assert!(text.contains("mkfs.ext4 /dev/DISK"), "{text}");
    assert!(text.contains("not tested"), "{text}");
    assert!(
        text.contains("with -o page.html: the reasons of "),
        "{text}"
    );
    assert!(
        text.contains("no phase, because xfs is faster in none"),
        "{text}"
    );
    assert!(text.lines().count() <= 40, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let page = render_advice(&advice, Format::Html, &Options::default()).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("reason 6") && page.contains("phase 8"));
    render_advice(&advice, Format::Markdown, &Options::default()).unwrap();
}

#[test]
fn a_difference_within_the_margin_is_none_that_the_user_would_notice() {
    let set = exact(&["ext4", "xfs"], &[&[1000], &[1010]]);
    let text = terminal(&Recommendation::of(&question(&set)));
    assert!(
        text.contains("No difference that you would notice: ext4 and xfs are equivalent"),
        "{text}"
    );
    assert!(!text.contains("What would turn it"), "{text}");
}

#[test]
fn the_ratio_of_the_only_phase_is_that_of_the_total() {
    // Within blocks 1.2 and once 4; of the medians 4.
    let fast: &[u64] = &[1000, 1000, 1000, 4000, 4000];
    let slow: &[u64] = &[1200, 1200, 4000, 4800, 4800];
    let text = terminal(&Recommendation::of(&question(&one_phase(
        &["ext4", "xfs"],
        &[fast, slow],
    ))));
    assert_eq!(text.matches("1.20x").count(), 3, "{text}");
}

#[test]
fn the_decision_turns_where_both_totals_are_equal() {
    // With weight w: 100 w + 100 and 60 w + 220 are equal at w = 3.
    let set = exact(&["ext4", "xfs"], &[&[100, 100], &[60, 220]]);
    let advice = Recommendation::of(&question(&set));
    let choice = advice.choice.as_ref().unwrap();
    let turn = choice.runner_up.as_ref().unwrap().turn.clone().unwrap();
    assert_eq!(turn.phase, "phase 0");
    assert!((turn.factor - 3.0).abs() < 1e-9, "{turn:?}");
    let [t1, t2] = [0, 1].map(|at| {
        let phases = &advice.candidates[at].phases;
        phases[0].cost * turn.factor + phases[1].cost
    });
    assert!((t1 - t2).abs() < 1.0);
    let text = terminal(&advice);
    assert!(
        text.contains("with more than 3.00 times as much of `phase 0`, xfs"),
        "{text}"
    );
}

#[test]
fn in_real_time_the_interval_of_the_ratio_is_printed_and_noise_decides_nothing() {
    let fast: &[u64] = &[1000, 1010, 990, 1005, 995, 1002, 998, 1001];
    let slow: &[u64] = &[1500, 1520, 1480, 1510, 1490, 1503, 1497, 1501];
    let set = one_phase(&["ext4", "xfs"], &[fast, slow]);
    let advice = Recommendation::of(&question(&set));
    let other = advice.choice.as_ref().unwrap().runner_up.clone().unwrap();
    assert_eq!(other.verdict, Some(RunVerdict::Faster));
    let text = words(&terminal(&advice));
    assert!(
        text.contains("95 % interval") && text.contains("8 repeats"),
        "{text}"
    );
    assert!(text.contains("in real time"), "{text}");
    let noisy: &[u64] = &[900, 1300, 800, 1400, 950, 1250, 1000, 1100];
    let set = one_phase(&["ext4", "xfs"], &[fast, noisy]);
    let text = terminal(&Recommendation::of(&question(&set)));
    assert!(text.contains("Not decided between "), "{text}");
}

#[test]
fn a_slower_runner_up_is_no_answer_while_a_third_one_is_not_separated() {
    let fast: &[u64] = &[1000, 1010, 990, 1005, 995, 1002, 998, 1001];
    let slow: &[u64] = &[1500, 1520, 1480, 1510, 1490, 1503, 1497, 1501];
    let noisy: &[u64] = &[500, 2900, 600, 2700, 800, 2600, 900, 2500];
    let set = one_phase(&["ext4", "xfs", "jfs"], &[fast, slow, noisy]);
    let advice = Recommendation::of(&question(&set));
    let choice = advice.choice.as_ref().unwrap();
    let other = choice.runner_up.as_ref().unwrap();
    assert_eq!(
        (&*other.contender, other.verdict),
        ("xfs", Some(RunVerdict::Faster))
    );
    let text = words(&terminal(&advice));
    assert!(text.contains("Not decided between ext4 and jfs."), "{text}");
    assert!(!text.contains("Choose"), "{text}");
    let sure = "How sure: the ratio of jfs within repeats";
    assert!(text.contains(sure), "{text}");
    let as_fast: &[u64] = &[1003, 1012, 993, 1009, 996, 1006, 999, 1003];
    let set = one_phase(&["ext4", "xfs", "jfs"], &[fast, as_fast, noisy]);
    let text = words(&terminal(&Recommendation::of(&question(&set))));
    let equivalent = "Not decided between ext4 and jfs; xfs is equivalent to ext4 (within 2 %).";
    assert!(text.contains(equivalent), "{text}");
    assert!(text.contains(sure), "{text}");
}

#[test]
fn a_difference_that_may_be_within_the_margin_is_not_called_chance() {
    let fast: &[u64] = &[1000, 1010, 990, 1005, 995, 1002, 998, 1001];
    let near: &[u64] = &[1005, 1060, 1000, 1045, 1002, 1040, 1010, 1020];
    let set = one_phase(&["ext4", "xfs"], &[fast, near]);
    let mut advice = Recommendation::of(&question(&set));
    let open = "times as long. It is inconclusive whether that is more than the margin (2 %).";
    let text = words(&terminal(&advice));
    assert!(text.contains(open), "{text}");
    // A ratio within repeats may be below 1 where that of the medians is not.
    let other = advice.choice.as_mut().unwrap().runner_up.as_mut().unwrap();
    let interval = other.interval.as_mut().unwrap();
    (interval.low, interval.high) = (0.97, 0.99);
    let text = words(&terminal(&advice));
    assert!(text.contains(open), "{text}");
}

fn note(label: &str, costs: Option<&str>) -> VariantNote {
    joined("ext4", label, costs)
}

fn joined(base: &str, label: &str, costs: Option<&str>) -> VariantNote {
    VariantNote {
        label: label.to_owned(),
        base: base.to_owned(),
        why: "reads do not update access times".to_owned(),
        costs: costs.map(str::to_owned),
        source: "mount(8)".to_owned(),
    }
}

#[test]
fn options_are_recommended_if_they_are_faster_and_cost_no_safety() {
    let defaults = exact(&["ext4", "xfs", "jfs"], &[&[1000], &[1200], &[3000]]);
    let names: Vec<String> = best_two(&defaults)
        .into_iter()
        .map(|one| one.label)
        .collect();
    assert_eq!(names, ["ext4", "xfs"]);
    let notes = [
        note("ext4:noatime", None),
        note("ext4:data=writeback", Some("files may have old data")),
    ];
    let labels = ["ext4", "ext4:noatime", "ext4:data=writeback", "xfs"];
    let advice = |times: &[&[u64]]| {
        let variants = exact(&labels, times);
        Recommendation::of(&Question {
            later: &[variants],
            smaller: &[],
            options: &notes,
            ..question(&defaults)
        })
    };
    // Options of the runner-up that have no effect are left out too.
    let reversed = advice(&[&[1000], &[999], &[1000], &[500]]);
    let choice = reversed.choice.as_ref().unwrap();
    let other = choice.runner_up.as_ref().unwrap().at;
    assert_eq!(reversed.candidates[choice.best].label, "xfs");
    assert_eq!(reversed.candidates[other].label, "ext4");
    let faster = advice(&[&[1000], &[900], &[500], &[1200]]);
    let choice = faster.choice.as_ref().unwrap();
    assert_eq!(faster.candidates[choice.best].label, "ext4:noatime");
    let text = terminal(&faster);
    assert!(
        text.contains("Choose ext4:noatime: 1.33 times faster than xfs, the runner-up. Its"),
        "{text}"
    );
    assert!(text.contains("reads do not update access times"), "{text}");
    assert!(
        text.contains("ext4:data=writeback: 1.80 times faster, but files may"),
        "{text}"
    );
    assert!(
        text.contains("jfs"),
        "the slower file systems are listed: {text}"
    );
    let alone = exact(&["ext4", "ext4:noatime"], &[&[1000], &[1001]]);
    let only = exact(&["ext4"], &[&[1000]]);
    let alone = Recommendation::of(&Question {
        later: &[alone],
        smaller: &[],
        options: &notes[..1],
        ..question(&only)
    });
    let text = terminal(&alone);
    assert!(
        text.contains("Choose ext4: no other contender is left. Safe"),
        "{text}"
    );
    let equal = advice(&[&[1000], &[999], &[1000], &[1200]]);
    let choice = equal.choice.as_ref().unwrap();
    assert_eq!(equal.candidates[choice.best].label, "ext4");
    assert_eq!(choice.options, Effect::NoDifference);
    assert!(choice.unsafe_options.is_empty());
}

#[test]
fn joined_options_are_recommended_only_if_each_of_them_adds_something() {
    let defaults = exact(&["ext4", "xfs"], &[&[1000], &[1200]]);
    let notes = [
        note("ext4:noatime", None),
        note("ext4:commit=60", None),
        note("ext4:data=writeback", Some("files may have old data")),
        joined("ext4:commit=60", "ext4:commit=60,noatime", None),
    ];
    let singles = exact(
        &[
            "ext4",
            "ext4:noatime",
            "ext4:commit=60",
            "ext4:data=writeback",
        ],
        &[&[1000], &[900], &[800], &[500]],
    );
    let (safe, costly) = helpful(&singles, &notes);
    let labels = |notes: &[&VariantNote]| -> Vec<String> {
        notes.iter().map(|one| one.label.clone()).collect()
    };
    assert_eq!(labels(&safe), ["ext4:commit=60", "ext4:noatime"]);
    assert_eq!(labels(&costly), ["ext4:data=writeback"]);
    let advice = |joined: u64| {
        let last = exact(
            &["ext4", "ext4:commit=60", "ext4:commit=60,noatime", "xfs"],
            &[&[1000], &[800], &[joined], &[1200]],
        );
        Recommendation::of(&Question {
            later: &[singles.clone(), last],
            smaller: &[],
            options: &notes,
            left_out: vec!["xfs:logbsize=256k".to_owned()],
            ..question(&defaults)
        })
    };
    let chosen = |advice: &Recommendation| {
        let choice = advice.choice.as_ref().unwrap();
        (advice.candidates[choice.best].label.clone(), choice.options)
    };
    let both = advice(700);
    let (label, effect) = chosen(&both);
    assert_eq!(label, "ext4:commit=60,noatime");
    assert_eq!(effect, Effect::Faster(1000.0 / 700.0));
    assert_eq!(chosen(&advice(799)).0, "ext4:commit=60");
    let text = terminal(&both);
    assert!(
        text.contains("Left out, by the time budget: xfs:logbsize=256k."),
        "{text}"
    );
    assert!(
        both.candidates
            .iter()
            .any(|one| one.label == "ext4:noatime"),
        "contenders of earlier runs stay in the table"
    );
}

#[test]
fn the_advice_states_whether_the_choice_depends_on_the_size_of_the_work() {
    let defaults = exact(&["ext4", "xfs"], &[&[1000], &[1200]]);
    let options = [note("ext4:noatime", None)];
    let last = exact(
        &["ext4", "ext4:noatime", "xfs"],
        &[&[1000], &[900], &[1200]],
    );
    let text = |smaller: &[(f64, &ResultSet)]| {
        let advice = Recommendation::of(&Question {
            later: std::slice::from_ref(&last),
            smaller,
            options: &options,
            ..question(&defaults)
        });
        assert_eq!(advice.choice.as_ref().unwrap().contender, "ext4:noatime");
        terminal(&advice)
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    };
    let same = exact(&["ext4", "xfs"], &[&[250], &[300]]);
    let other = exact(&["ext4", "xfs"], &[&[80], &[60]]);
    // The recommended options are those of the defaults that less work was measured with.
    let holds = text(&[(16.0, &same), (4.0, &same)]);
    assert!(
        holds.contains(
            "ext4 is among the fastest with 1/16 and 1/4 of this work too. More was not measured."
        ),
        "{holds}"
    );
    let changes = text(&[(16.0, &other), (4.0, &same)]);
    assert!(
        changes.contains(
            "The choice depends on the size of the work: with 1/16 of this work, xfs is the \
             fastest; with 1/4 of this work, ext4 is the fastest. More was not measured."
        ),
        "{changes}"
    );
    let smallest = text(&[(16.0, &other), (4.0, &other)]);
    assert!(
        smallest.contains("with 1/16 and 1/4 of this work, xfs is the fastest."),
        "{smallest}"
    );
    let unknown = text(&[]);
    assert!(
        unknown.contains("Only one size of the work was measured"),
        "{unknown}"
    );
}

#[test]
fn the_most_work_decides_and_contenders_with_less_have_their_reason() {
    let most = exact(&["ext4", "xfs"], &[&[2000], &[1000]]);
    let less = exact(&["ext4", "xfs", "nilfs2"], &[&[100], &[200], &[710]]);
    let advice = Recommendation::of(&Question {
        smaller: &[(16.0, &less)],
        ..question(&most)
    });
    assert_eq!(advice.choice.as_ref().unwrap().contender, "xfs");
    let times: Vec<f64> = advice.sizes.iter().map(|one| one.times).collect();
    assert_eq!(times, [1.0, 16.0]);
    let [dropped] = &advice.dropped[..] else {
        panic!("{:?}", advice.dropped);
    };
    assert_eq!(dropped.name, "nilfs2");
    let why = "with less work (phase 0: 12,345 files, 1,234 dirs, 34.0 MiB) it takes 7.10 times as long as ext4";
    assert_eq!(dropped.why, why);
    // The most work has its size even if one contender is left there.
    let alone = Recommendation::of(&Question {
        smaller: &[(16.0, &less)],
        ..question(&exact(&["xfs"], &[&[1000]]))
    });
    let times: Vec<f64> = alone.sizes.iter().map(|one| one.times).collect();
    assert_eq!(times, [1.0, 16.0]);
    let changes = "The choice depends on the size of the work: with 1/16 of this work, ext4 is the";
    let shown = terminal(&alone);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains(changes), "{shown}");
    assert!(has_verdict(&most));
    assert!(!has_verdict(&exact(&["ext4"], &[&[1000]])));
}

#[test]
fn larger_work_is_measured_for_two_contenders_at_least() {
    let near = |times: &[&[u64]]| {
        let set = exact(&["xfs", "ext4", "btrfs"], times);
        let near = contending(&set, 3.0).into_iter();
        near.map(|one| one.label).collect::<Vec<_>>()
    };
    assert_eq!(near(&[&[5000], &[100], &[9000]]), ["ext4", "xfs"]);
    assert_eq!(near(&[&[250], &[100], &[299]]), ["ext4", "xfs", "btrfs"]);
    assert_eq!(near(&[&[250], &[100], &[301]]), ["ext4", "xfs"]);
}

#[test]
fn contenders_that_the_time_budget_left_out_are_named() {
    let mut set = exact(&["ext4", "xfs"], &[&[1000], &[500]]);
    set.cells.truncate(1);
    set.run.stop = Some(StopReason::Budget);
    let advice = Recommendation::of(&question(&set));
    assert_eq!(
        advice.dropped,
        [Dropped::new("xfs", "the time budget ended before it")]
    );
    let text = terminal(&advice).replace('\n', " ");
    let warning = "The time budget ended before 1 other contender could be measured";
    assert!(text.contains(warning), "{text}");
}

#[test]
fn a_contender_without_one_of_the_workloads_is_not_recommended() {
    let mut set = exact(&["ext4", "xfs"], &[&[1000], &[500]]);
    set.run.plan.workloads.push(workload("archive"));
    set.run.stop = Some(StopReason::Budget);
    let advice = Recommendation::of(&question(&set));
    assert!(advice.choice.is_none());
    assert_eq!(advice.unmeasured, 2);
}

#[test]
fn the_report_names_the_device_and_the_error_of_its_fitted_model() {
    let set = exact(&["ext4", "xfs"], &[&[1000], &[2000]]);
    let advice = Recommendation::of(&Question {
        fit: Some(DeviceFit {
            device: "/dev/vda".to_owned(),
            model: "flash".to_owned(),
            error: 0.082,
            figures: 31,
        }),
        ..question(&set)
    });
    let text = terminal(&advice).replace('\n', " ");
    assert!(
        text.contains("the flash model of /dev/vda (error 8.2 % in 31 figures)"),
        "{text}"
    );
}

#[test]
fn a_contender_that_fails_is_dropped_with_the_reason() {
    let mut set = exact(&["ext4", "xfs"], &[&[1000], &[500]]);
    let skip = |set: &mut ResultSet, contender| {
        let cells = set.cells.iter_mut();
        for record in cells.filter(|record| record.cell.contender == contender) {
            record.samples.clear();
            record.outcome = Outcome::Skipped {
                requirement: "program mkfs.xfs".into(),
                reason: "mkfs.xfs is not on the path".into(),
                remedy: "apt-get install xfsprogs".into(),
            };
        }
    };
    skip(&mut set, 1);
    let advice = Recommendation::of(&question(&set));
    let text = terminal(&advice);
    assert!(
        text.contains("Choose ext4: no other contender is left"),
        "{text}"
    );
    assert!(text.contains("mkfs.xfs is not on the path"), "{text}");
    skip(&mut set, 0);
    let advice = Recommendation::of(&question(&set));
    assert!(advice.choice.is_none());
    assert!(terminal(&advice).contains("No contender can be recommended"));
}

#[test]
fn known_violations_drop_a_contender_of_the_required_class_only() {
    let mut exploration = explored::exploration();
    let broken = exploration
        .programs
        .iter()
        .find(|one| {
            let mut found = one.findings.iter();
            found.any(|finding| finding.score() == fsdyno_model::Score::Violation)
        })
        .map(|one| one.contender.clone())
        .unwrap();
    let mut set = exact(&["a", "jfs"], &[&[500], &[1000]]);
    let mut contenders = exploration.info.contenders.iter();
    set.run.plan.contenders[0] = contenders.find(|one| one.label == broken).unwrap().clone();
    for program in &mut exploration.programs {
        program.guest.clone_from(&set.run.provenance.kernel);
    }
    let explorations = [exploration.clone()];
    let advice = |safety| {
        Recommendation::of(&Question {
            explorations: &explorations,
            safety,
            ..question(&set)
        })
    };
    let free = advice(None);
    assert_eq!(
        free.candidates[free.choice.as_ref().unwrap().best].label,
        broken
    );
    let text = terminal(&free);
    assert!(text.contains("violation"), "{text}");
    // The loss is named, not only counted.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("with Linux 6.1.0-18-amd64: after a power cut"),
        "{text}"
    );
    // One that was not tested is not better than one that was.
    let strict = advice(Some(StateClass::C4));
    assert!(strict.choice.is_none());
    let why = |label: &str| {
        let mut dropped = strict.dropped.iter();
        dropped.find(|one| one.name == label).map(|one| &one.why)
    };
    assert!(why(&broken).unwrap().contains("in crash states of class"));
    assert!(why("jfs").unwrap().contains("not tested"));
    // Findings of an application, of another kernel or of other options drop nobody.
    let mut of_application = exploration.clone();
    of_application.info.search.programs = ProgramSource::Application {
        name: None,
        prepare: None,
        command: "run".into(),
        check: "check".into(),
    };
    let mut of_kernel = exploration.clone();
    for program in &mut of_kernel.programs {
        program.guest = "Linux 5.10.1 #1".into();
    }
    let mut of_options = exploration.clone();
    for one in &mut of_options.info.contenders {
        one.mount.push("noatime".into());
    }
    for other in [&of_application, &of_kernel, &of_options] {
        let explorations = [other.clone()];
        let advice = Recommendation::of(&Question {
            explorations: &explorations,
            safety: Some(StateClass::C4),
            ..question(&set)
        });
        let best = advice.choice.as_ref().unwrap().best;
        assert_eq!(advice.candidates[best].label, broken);
        assert!(advice.candidates[best].crash_tests.is_none());
    }
    // Those of the application that is asked about do, and nothing else.
    let programs = of_application.info.search.programs.clone();
    for (other, is_it) in [(of_application, true), (exploration, false)] {
        let explorations = [other];
        let advice = Recommendation::of(&Question {
            explorations: &explorations,
            safety: Some(StateClass::C4),
            application: Some(Application {
                name: "log",
                size: &|_| None,
                crash_test: Some(&programs),
            }),
            ..question(&set)
        });
        // The other contender was not tested.
        assert_eq!(advice.choice.is_none(), is_it);
        let tested = advice
            .candidates
            .iter()
            .any(|one| one.crash_tests.is_some());
        assert_eq!(tested, is_it);
    }
}

#[test]
fn a_prediction_is_compared_with_the_measurement_pair_by_pair() {
    let predicted = exact(&["ext4", "xfs", "jfs"], &[&[100], &[200], &[400]]);
    let measured = one_phase(
        &["ext4", "jfs", "xfs"],
        &[&[1000, 1000], &[4000, 4000], &[3000, 3000]],
    );
    let advice = Recommendation::of(&Question {
        validated: Some(&measured),
        ..question(&predicted)
    });
    let validation = advice.validation.as_ref().unwrap();
    let pair = |one: &str, other: &str| {
        let mut pairs = validation.pairs.iter();
        pairs.find(|pair| pair.labels == [one, other]).unwrap()
    };
    assert!((pair("ext4", "xfs").predicted - 2.0).abs() < 1e-9);
    assert!((pair("ext4", "xfs").measured - 3.0).abs() < 1e-9);
    assert!((pair("ext4", "jfs").error() - 1.0).abs() < 1e-9);
    assert!((pair("xfs", "jfs").error() - 1.5).abs() < 1e-9);
    assert!((validation.median_error.unwrap() - 1.5).abs() < 1e-9);
    // The ratios 2, 4 and 2 have the ranks 1.5, 3 and 1.5; 3, 4 and 1.33 have 2, 3 and 1.
    assert!((validation.correlation.unwrap() - 0.866).abs() < 1e-3);
    let text = terminal(&advice).replace('\n', " ");
    assert!(
        text.contains("rank correlation 0.87 and median error factor 1.50"),
        "{text}"
    );
    assert!(text.contains("xfs / ext4"), "{text}");
    // The order of xfs and jfs is the predicted one.
    assert!(validation.pairs.iter().all(|pair| pair.departure.is_none()));
}

#[test]
fn a_reversed_order_is_explained_by_the_phase_that_departs_most() {
    let predicted = exact(
        &["ext4", "xfs", "jfs"],
        &[&[100, 100], &[90, 200], &[500, 500]],
    );
    let measured = exact(
        &["ext4", "xfs", "jfs"],
        &[&[1000, 1000], &[900, 500], &[6000, 6000]],
    );
    let advice = Recommendation::of(&Question {
        validated: Some(&measured),
        ..question(&predicted)
    });
    let pairs = &advice.validation.as_ref().unwrap().pairs;
    let departures: Vec<_> = pairs
        .iter()
        .filter_map(|pair| Some((&pair.labels, pair.departure.as_ref()?)))
        .collect();
    let [(labels, departure), (worst, _)] = &departures[..] else {
        panic!("{departures:?}");
    };
    assert_eq!(**labels, ["ext4", "xfs"]);
    // The rank correlation is 0.5, so that the pair with the largest error is explained too.
    assert_eq!(**worst, ["xfs", "jfs"]);
    assert_eq!(departure.phase, "phase 1");
    assert!(departure.measured.starts_with("ext4 took"), "{departure:?}");
    assert!(departure.predicted.starts_with("xfs took"), "{departure:?}");
    let text = terminal(&advice);
    assert!(text.contains("jfs / xfs departs in phase 1."), "{text}");
    assert!(text.contains("the causes of 1 more pair"), "{text}");
    assert!(text.lines().count() <= 40, "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

/// An advice in which nothing is absent.
pub fn complete() -> Recommendation {
    let defaults = exact(
        &["ext4", "xfs", "jfs"],
        &[&[100, 100], &[90, 200], &[500, 500]],
    );
    let last = exact(
        &["ext4", "ext4:noatime", "ext4:data=writeback", "xfs"],
        &[&[100, 100], &[90, 90], &[50, 50], &[80, 200]],
    );
    let measured = exact(
        &["ext4", "xfs", "jfs"],
        &[&[1000, 1000], &[900, 500], &[5000, 5000]],
    );
    Recommendation::of(&Question {
        later: &[last],
        smaller: &[],
        options: &[
            note("ext4:noatime", None),
            note("ext4:data=writeback", Some("files may have old data")),
        ],
        left_out: vec!["xfs:logbsize=256k".to_owned()],
        dropped: vec![Dropped::new("zfs", "zpool is missing")],
        fit: Some(DeviceFit {
            device: "/dev/vda".to_owned(),
            model: "flash".to_owned(),
            error: 0.082,
            figures: 31,
        }),
        validated: Some(&measured),
        ..question(&defaults)
    })
}

#[test]
fn all_formats_have_the_figures_of_the_contenders() {
    let set = exact(&["ext4", "xfs"], &[&[1000, 20], &[2000, 30]]);
    let advice = Recommendation::of(&question(&set));
    let render = |format| {
        let bytes = render_advice(&advice, format, &Options::default()).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&render(Format::Json)).unwrap();
    assert_eq!(json["choice"]["contender"], "ext4");
    assert_eq!(json["choice"]["runner_up"]["verdict"], "faster");
    assert_eq!(json["contenders"][1]["total_ns"], 2_030_000_000_u64);
    let csv = render(Format::Csv);
    assert!(csv.contains("total ns,phase 0 ns,phase 1 ns"), "{csv}");
    assert!(csv.contains("xfs,2030000000"), "{csv}");
}

#[test]
fn the_first_lines_state_whether_the_choice_holds_in_variants_of_the_model() {
    let set = exact(&["ext4", "xfs", "jfs"], &[&[100], &[130], &[300]]);
    let variant = |change: &str, times: [u64; 2]| {
        // The variants have only the choice and the runner-up.
        let mut variant = exact(&["xfs", "ext4"], &[&[times[1]], &[times[0]]]);
        variant.cells.retain(|record| record.cell.block < 3);
        variant.run.plan.variant = Some(VariantOf {
            run: set.run.id.clone(),
            change: change.to_owned(),
            all: 2,
        });
        variant
    };
    let slower = variant("flushes 50 % slower", [110, 145]);
    let of = |variants: &[ResultSet]| {
        let advice = Recommendation::of(&Question {
            variants,
            ..question(&set)
        });
        let text = terminal(&advice);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let alone = of(std::slice::from_ref(&slower));
    assert!(
        alone.contains("The choice holds in the 1 measured of 2 variants"),
        "{alone}"
    );
    let other = variant("flushes 50 % faster", [95, 96]);
    let both = of(&[slower, other]);
    assert!(
        both.contains("depends on the model: there is no difference with flushes 50 % faster"),
        "{both}"
    );
    assert!(!of(&[]).contains("variants"));
}
