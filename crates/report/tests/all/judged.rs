//! Phases that are judged by another figure than the time: verdicts, marks, sentences and units follow
//! its direction.

use crate::fixture::{one_phase, repeated};
use crate::{text, wide};
use fsdyno_model::{Better, Figure, FigureName, Nanos, ResultSet};
use fsdyno_report::{Format, Options};

/// Two contenders with equal times, and with this figure in each block.
fn judged(name: &str, unit: &str, better: Better, values: [&[f64]; 2]) -> ResultSet {
    let times = vec![1000; values[0].len()];
    let mut set = one_phase(&["ext4", "btrfs"], &[&times, &times]);
    for record in &mut set.cells {
        let value = values[record.cell.contender as usize][record.cell.block as usize];
        record.samples[0].figures = vec![Figure::new(name, value, unit, better)];
    }
    set.run.plan.workloads[0].phases[0].judge = Some(FigureName::new(name));
    set
}

const MANY: [f64; 6] = [3362.0, 3350.0, 3371.0, 3355.0, 3360.0, 3349.0];
const FEW: [f64; 6] = [1334.0, 1340.0, 1329.0, 1331.0, 1338.0, 1335.0];

fn tps() -> ResultSet {
    judged("tps", "1/s", Better::Higher, [&MANY, &FEW])
}

fn answer(set: &ResultSet) -> String {
    let json = text(set, Format::Json, &wide(80));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json["results"][0]["answer"].as_str().unwrap().to_owned()
}

#[test]
fn more_transactions_are_better_and_said_so() {
    let said = answer(&tps());
    assert!(
        said.starts_with("For this work ext4 has the highest tps: 2.5 times higher than btrfs"),
        "{said}"
    );
    let report = text(&tps(), Format::Terminal, &wide(100));
    assert!(report.contains("tps, 1/s"), "{report}");
    assert!(report.contains("2.52x lower"), "{report}");
    assert!(report.contains("More tps is better"), "{report}");
    let json: serde_json::Value =
        serde_json::from_str(&text(&tps(), Format::Json, &wide(80))).unwrap();
    let phases = json["results"][0]["phases"].as_array().unwrap();
    let whole: Vec<_> = phases.iter().filter(|one| one["whole"] == true).collect();
    assert_eq!(
        (&whole[0]["figure"], &whole[0]["unit"]),
        (&"tps".into(), &"1/s".into())
    );
    assert_eq!(whole[0]["fastest"], "ext4");
    assert_eq!(whole[0]["contenders"][1]["verdict"], "worse");
    // A line that is not judged has no verdict.
    assert!(
        phases[0]["contenders"][1]["verdict"].is_null(),
        "{phases:#?}"
    );
}

#[test]
fn the_direction_decides_which_contender_is_marked() {
    let marked = |better| {
        let set = judged("stalls", "", better, [&MANY, &FEW]);
        let json = text(&set, Format::Json, &wide(80));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let phases = json["results"][0]["phases"].as_array().unwrap();
        phases.last().unwrap()["fastest"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(marked(Better::Higher), "ext4");
    assert_eq!(marked(Better::Lower), "btrfs");
}

#[test]
fn every_format_shows_a_judged_figure() {
    for format in Format::ALL {
        if matches!(format, Format::BonnieCsv) {
            continue;
        }
        let shown = text(&tps(), format, &wide(100));
        assert!(shown.contains("tps"), "{}: {shown}", format.name());
    }
    let metrics = text(&tps(), Format::OpenMetrics, &Options::default());
    assert!(
        metrics.contains("figure=\"tps\",unit=\"1/s\",better=\"higher\"}"),
        "{metrics}"
    );
}

#[test]
fn a_defined_figure_is_judged_by_its_name() {
    let mut set = one_phase(&["ext4", "xfs"], &[&[100; 6], &[100; 6]]);
    for (at, record) in (0..).zip(&mut set.cells) {
        let ns = if record.cell.contender == 0 {
            900_000_000
        } else {
            300_000_000
        };
        record.samples[0].cpu.user_ns = Nanos(ns + at * 1_000_000);
        record.samples[0].cpu.system_ns = Nanos(0);
    }
    set.run.plan.workloads[0].phases[0].judge = Some(FigureName::CPU);
    let said = answer(&set);
    assert!(
        said.starts_with("For this work xfs has the lowest cpu: 3.0 times lower than ext4"),
        "{said}"
    );
}

#[test]
fn phases_with_different_figures_are_better_or_worse() {
    let mut set = repeated();
    set.run.plan.workloads[0].phases[0].judge = Some(FigureName::CPU);
    let said = answer(&set);
    assert!(!said.contains("fast") && !said.contains("slow"), "{said}");
}

#[test]
fn a_command_of_fixed_duration_is_noticed() {
    let mut set = one_phase(
        &["ext4", "btrfs"],
        &[&[5000, 5002, 5001], &[5003, 5000, 5002]],
    );
    set.run.plan.workloads[0].phases[0].kind = "exec".into();
    for record in &mut set.cells {
        let factor = 1 + 2 * u64::from(record.cell.contender);
        record.samples[0].cpu.system_ns = Nanos(factor * 1_000_000_000);
    }
    let said = answer(&set);
    assert!(said.contains("the duration seems to be fixed"), "{said}");
    assert!(
        said.contains("--figure 'NAME=REGEX' --judge NAME"),
        "{said}"
    );
    set.run.plan.workloads[0].phases[0].judge = Some(FigureName::CPU);
    assert!(!answer(&set).contains("fixed"));
}
