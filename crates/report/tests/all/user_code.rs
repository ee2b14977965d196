//! Runs in virtual time with user code that was measured on the host: a verdict must hold with none and
//! with all of it.

use crate::advice::question;
use crate::fixture::one_phase;
use crate::{text, wide};
use fsdyno_model::{
    Better, CellRecord, DiskTime, Figure, FigureName, ModelCpu, ModelDisk, Nanos, ResultSet,
    VariantOf, Vary, Warning, WarningKind,
};
use fsdyno_report::advice::{Application, Question, Recommendation};
use fsdyno_report::compare::{Comparisons, RunComparison, ThresholdResult, check};
use fsdyno_report::history::{Collector, Selection};
use fsdyno_report::{Format, Options, render_advice, render_run_comparison};
use fsdyno_stats::Verdict;
use serde_json::Value;

const DRAWS: u64 = 8;
const MS: u64 = 1_000_000;

/// A run in virtual time with these times, with the scatter of the draws.
fn run(times: [u64; 2]) -> ResultSet {
    let draws =
        |middle: u64| -> Vec<u64> { (0..DRAWS).map(|n| middle * (1000 + 7 * n) / 1000).collect() };
    let [one, other] = times.map(draws);
    let mut set = one_phase(&["ext4", "btrfs"], &[&one, &other]);
    set.run.plan.disk = Some(ModelDisk {
        profile: "any".into(),
        text: String::new(),
        faults: None,
        time: DiskTime::Virtual,
    });
    set.run.plan.varies = Vary::ALL.to_vec();
    set
}

/// The run with its user code, in milliseconds of each measurement.
fn with_user_code(mut set: ResultSet, user_ms: &[u64]) -> ResultSet {
    let mut measured = one_phase(&["host"], &[user_ms]);
    let workloads = &set.run.plan.workloads;
    measured.run.plan.workloads.clone_from(workloads);
    measured.run.plan.variant = Some(VariantOf {
        run: set.run.id.clone(),
        change: "user code on the host".into(),
        all: 1,
    });
    for (record, ms) in measured.cells.iter_mut().zip(user_ms) {
        record.samples[0].cpu.user_ns = Nanos(ms * MS);
        record.samples[0].figures = units();
    }
    set.variants = vec![measured];
    set
}

fn units() -> Vec<Figure> {
    vec![Figure::new(
        "transactions",
        2000.0,
        Figure::UNITS,
        Better::Neither,
    )]
}

/// The run judged by a rate of its 2000 transactions.
fn judged_by_rate(mut set: ResultSet) -> ResultSet {
    let judged = |record: &mut CellRecord| {
        let seconds = record.samples[0].whole_ns().seconds();
        let tps = Figure::new("tps", 2000.0 / seconds, "1/s", Better::Higher);
        record.samples[0].figures = [vec![tps], units()].concat();
    };
    set.cells.iter_mut().for_each(judged);
    set.run.plan.workloads[0].phases[0].judge = Some(FigureName::new("tps"));
    set
}

fn words(set: &ResultSet, format: Format) -> String {
    let text = text(set, format, &wide(100));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn result(set: &ResultSet) -> Value {
    let json: Value = serde_json::from_str(&text(set, Format::Json, &wide(80))).unwrap();
    json["results"][0].clone()
}

fn answer(set: &ResultSet) -> String {
    result(set)["answer"].as_str().unwrap().to_owned()
}

#[test]
fn a_verdict_that_holds_with_none_and_all_user_code_is_a_range() {
    let set = with_user_code(run([1000, 2500]), &[1900, 2000, 2100]);
    let said = answer(&set);
    for expected in [
        "For this work ext4 is fastest: 1.5 to 2.5 times faster than btrfs.",
        "User code is not counted; it takes, as measured on the host: ",
        "1.00 ms (950 us to 1.05 ms) for each of 2,000 transactions.",
        "Verdicts hold with none and with all of it.",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    let result = result(&set);
    let line = result["phases"].as_array().unwrap().last().unwrap();
    let btrfs = &line["contenders"][1];
    assert_eq!(
        (&line["fastest"], &btrfs["verdict"]),
        (&"ext4".into(), &"slower".into())
    );
    assert_eq!(btrfs["depends_on_user_code"], false);
    assert!((btrfs["ratio_with_user_code"].as_f64().unwrap() - 4600.0 / 3100.0).abs() < 0.01);
    let code = &result["user_code"][0];
    assert_eq!(
        (&code["repeats"], &code["max_ns"]),
        (&3.into(), &2100e6.into())
    );
    assert_eq!(
        (&code["units"]["number"], &code["bounds_verdicts"]),
        (&2000.0.into(), &true.into())
    );
}

#[test]
fn a_verdict_that_user_code_can_change_is_inconclusive_for_that_reason() {
    let slow = [180_000, 190_000, 200_000];
    for set in [run([1000, 2500]), judged_by_rate(run([1000, 2500]))] {
        let set = with_user_code(set, &slow);
        let said = answer(&set);
        assert!(
            said.contains("depends on the program's own code, which virtual time does not count."),
            "{said}"
        );
        for false_sentence in ["is fastest", "has the highest", "More repeats decide"] {
            assert!(!said.contains(false_sentence), "{said}");
        }
        assert!(
            said.contains("ext4 leads by 1.01 to 2.5 times before btrfs"),
            "{said}"
        );
        let result = result(&set);
        let line = result["phases"].as_array().unwrap().last().unwrap();
        assert!(line["fastest"].is_null());
        let may_be_fastest = line["may_be_fastest"].as_array().unwrap();
        assert!(may_be_fastest.contains(&"ext4".into()));
        assert_eq!(line["contenders"][1]["verdict"], "inconclusive");
        assert_eq!(line["contenders"][1]["depends_on_user_code"], true);
        for format in [Format::Html, Format::Markdown, Format::Terminal] {
            let all = words(&set, format);
            assert!(
                all.contains("btrfs / ext4: 2.50x without, 1.01x with all"),
                "{all}"
            );
        }
    }
}

#[test]
fn time_of_a_rate_is_added_to_each_unit_of_work() {
    let set = with_user_code(judged_by_rate(run([1000, 2500])), &[2000]);
    let said = answer(&set);
    assert!(
        said.contains("ext4 has the highest tps: 1.5 to 2.5 times higher than btrfs."),
        "{said}"
    );
    // Without the number of units, nothing can be added to a rate.
    let mut set = with_user_code(judged_by_rate(run([1000, 2500])), &[2000]);
    set.variants[0].cells[0].samples[0].figures.clear();
    let said = answer(&set);
    assert!(
        said.contains("highest tps: 2.5 times higher than btrfs."),
        "{said}"
    );
    assert!(
        said.contains("It cannot be added to the figures of ")
            && said.contains(", which are those of kernel and disk alone."),
        "{said}"
    );
    assert!(!said.contains("Verdicts hold"), "{said}");
}

#[test]
fn user_code_of_a_slower_processor_takes_longer() {
    let mut set = with_user_code(run([1000, 2500]), &[2000]);
    let text = "title = \"t\"\nsource = \"s\"\n[prices]\nblock_ns = 25.3\nsystem_call_ns = 400\n\
                copy_ns = 0.65\nclear_ns = 1.3\ncrc32c_ns = 4\nsearch_ns = 0.9\n";
    set.run.plan.cpu = Some(ModelCpu {
        profile: "slow".into(),
        text: text.into(),
    });
    let said = answer(&set);
    assert!(
        said.contains("1.07 to 2.5 times faster than btrfs"),
        "{said}"
    );
    assert!(words(&set, Format::Html).contains("The model processor is 10.0 times slower"));
}

#[test]
fn figures_without_measured_user_code_are_those_of_kernel_and_disk() {
    let mut set = run([1000, 2500]);
    for record in &mut set.cells {
        let warning = Warning::new(WarningKind::NotCounted, "not counted", "none");
        record.samples[0].warnings.push(warning);
    }
    let alone = "User code is not counted, and was not measured: figures are those of kernel and disk \
                 alone.";
    let said = answer(&set);
    assert!(
        said.contains("ext4 is fastest: 2.5 times faster than btrfs."),
        "{said}"
    );
    assert!(said.contains(alone), "{said}");
    assert!(!answer(&run([1000, 2500])).contains("User code"));
    // A measurement that failed has its reason.
    let mut failed = with_user_code(set, &[2000]);
    let record = &mut failed.variants[0].cells[0];
    record.samples.clear();
    record.outcome = fsdyno_model::Outcome::Skipped {
        requirement: "program pgbench".into(),
        reason: "pgbench is not on the path".into(),
        remedy: "install it".into(),
    };
    let said = answer(&failed);
    assert!(
        said.contains("was not measured (pgbench is not on the path)"),
        "{said}"
    );
}

#[test]
fn a_mean_must_hold_for_any_part_of_the_user_code_of_each_phase() {
    // ext4 is 2.5 times faster in one phase, and 1.5 times slower in the other.
    let mut set = run([1000, 2500]);
    let second = run([1500, 1000]);
    let plan = &mut set.run.plan.workloads[0].phases;
    let mut phase = plan[0].clone();
    phase.label = "second".into();
    plan.push(phase);
    for (record, other) in set.cells.iter_mut().zip(&second.cells) {
        let mut sample = other.samples[0].clone();
        (sample.phase, sample.label) = (1, "second".into());
        record.samples.push(sample);
    }
    let said = answer(&set);
    assert!(
        said.contains("ext4 is fastest: 1.3 times faster than btrfs overall"),
        "{said}"
    );
    let mut set = with_user_code(set, &[9000]);
    let samples = &mut set.variants[0].cells[0].samples;
    let mut sample = samples[0].clone();
    (sample.phase, sample.cpu.user_ns) = (1, Nanos(0));
    samples.push(sample);
    let said = answer(&set);
    assert!(said.contains("no fastest is decided overall"), "{said}");
    assert!(said.contains("depends on the program's own code"), "{said}");
    let overall = &result(&set)["overall"];
    assert!(overall["fastest"].is_null());
    assert_eq!(overall["contenders"][1]["depends_on_user_code"], true);
}

#[test]
fn the_report_of_a_measurement_begins_with_its_run() {
    let set = with_user_code(run([1000, 2500]), &[2000]);
    let screen = text(&set.variants[0], Format::Terminal, &Options::default());
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = format!(
        "This run measures the user code of {}, on the host.",
        set.run.id
    );
    assert!(screen.contains(&first), "{screen}");
}

#[test]
fn a_verdict_on_two_runs_holds_with_none_and_all_user_code() {
    let compared = |user_ms: &[u64], judged: fn(ResultSet) -> ResultSet| {
        let of = |times| judged(with_user_code(run(times), user_ms));
        let sets = [of([1000, 2500]), of([1000, 2000])];
        RunComparison::of(&sets[0], &sets[1], 0.02, &[])
    };
    let btrfs = |comparison: &RunComparison| {
        let mut lines = comparison.lines.iter();
        let line = lines.rfind(|line| line.contender == "btrfs" && line.whole);
        line.map(|line| (line.verdict, line.depends_on_user_code))
    };
    for (user_ms, verdict, depends, holds) in [
        (2000, Verdict::Faster, false, ThresholdResult::Beyond),
        (
            200_000,
            Verdict::Inconclusive,
            true,
            ThresholdResult::Inconclusive,
        ),
    ] {
        let comparison = compared(&[user_ms], |set| set);
        assert_eq!(btrfs(&comparison), Some((Some(verdict), depends)));
        let of_rate = compared(&[user_ms], judged_by_rate);
        assert_eq!(btrfs(&of_rate), Some((Some(verdict), depends)));
        let thresholds = ["copy.durable < 0.9".parse().unwrap()];
        let checked = check(&comparison, &thresholds).unwrap();
        let results: Vec<ThresholdResult> = checked.iter().map(|one| one.holds).collect();
        // Without user code the time of btrfs is 0.8 of what it was.
        assert_eq!(results, [ThresholdResult::Kept, holds]);
        let options = Options::default();
        let bytes = render_run_comparison(&comparison, &checked, Format::Terminal, &options);
        let text = String::from_utf8(bytes.unwrap()).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = "User code is not counted: verdicts hold with none and with all of it";
        assert!(text.contains(said), "{text}");
        assert_eq!(text.contains("inconclusive would hold without it"), depends);
        let json = serde_json::to_value(Comparisons::of(&[(comparison, Vec::new())])).unwrap();
        let lines = json["compared"][0]["lines"].as_array().unwrap();
        let depend = lines
            .iter()
            .any(|line| line["depends_on_user_code"] == true);
        assert_eq!(depend, depends);
    }
}

#[test]
fn a_step_that_user_code_can_hide_is_left_out_with_the_reason() {
    let history = |user_ms: &[u64]| {
        let mut collector = Collector::new(Selection::default());
        for (day, times) in [[1000, 2500], [1000, 2510]].into_iter().enumerate() {
            let mut set = with_user_code(run(times), user_ms);
            set.run.id = format!("run-{day}");
            set.run.provenance.kernel = format!("Linux 6.{day}.0 x86_64");
            collector.add(&set, &[]);
        }
        collector.finish().unwrap()
    };
    let short = history(&[100]);
    assert_eq!(short.steps(), 1);
    let long = history(&[20_000]);
    assert_eq!(long.steps(), 0);
    let notes: Vec<&String> = long.series.iter().flat_map(|one| &one.note).collect();
    assert_eq!(
        notes,
        [
            "1 step left out, which would not hold with the user code that virtual time does not count."
        ]
    );
}

/// The advice for an application with two sizes, and its text on a screen.
fn advice(set: &ResultSet, smaller: &ResultSet) -> (Recommendation, String) {
    let application = Application {
        name: "postgresql[clients=16]",
        size: &|plan| Some(format!("scale {}", plan.scale)),
        crash_test: None,
    };
    let advice = Recommendation::of(&Question {
        smaller: &[(4.0, smaller)],
        application: Some(application),
        ..question(set)
    });
    let bytes = render_advice(&advice, Format::Terminal, &Options::default()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (advice, words)
}

#[test]
fn advice_for_an_application_is_judged_by_its_figure_with_none_and_all_user_code() {
    let of = |times, user_ms: &[u64]| judged_by_rate(with_user_code(run(times), user_ms));
    let mut smaller = of([1000, 2500], &[2000]);
    smaller.run.plan.scale = 4.0;
    let (sure, text) = advice(&of([1000, 2500], &[2000]), &smaller);
    let choice = sure.choice.as_ref().unwrap();
    assert_eq!(choice.contender, "ext4");
    let best = &sure.candidates[choice.best];
    assert_eq!(best.total_ns, None);
    assert_eq!(
        (&*best.phases[0].figure, &*best.phases[0].unit),
        ("tps", "1/s")
    );
    for expected in [
        "Choose ext4: 1.51 to 2.50 times faster than btrfs, the runner-up.",
        "ext4 is among the fastest with scale 4 too. More was not measured.",
        "was not crash tested with postgresql[clients=16] with this kernel",
        "User code is not counted; it takes, as measured on the host: ",
        "Verdicts hold with none and with all of it.",
        "fsdyno crash --app 'postgresql[clients=16]' --fs ext4",
        "mkfs.ext4 /dev/DISK",
        "Measured with scale 0.05.",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let (open, text) = advice(&of([1000, 2500], &[200_000]), &smaller);
    let other = open.choice.as_ref().unwrap().runner_up.as_ref().unwrap();
    assert!(other.depends_on_user_code);
    assert!(
        text.contains("Not decided: ext4 leads btrfs by 1.01 to 2.50 times, which depends on"),
        "{text}"
    );
}

#[test]
fn a_sum_of_times_holds_with_none_and_all_user_code_too() {
    let total = |user_ms: u64| {
        let set = with_user_code(run([1000, 2500]), &[user_ms]);
        advice(&set, &set).0
    };
    let short = total(1000);
    assert!(short.candidates[0].total_ns.is_some());
    let other = |advice: &Recommendation| advice.choice.clone().unwrap().runner_up.unwrap();
    let (low, high) = other(&short).range_with_user_code.unwrap();
    assert!(
        (low - 1.75).abs() < 0.02 && (high - 2.5).abs() < 0.02,
        "{low} {high}"
    );
    assert!(!other(&short).depends_on_user_code);
    assert!(other(&total(500_000)).depends_on_user_code);
}
