//! A run next to tables of the user.

use crate::fixture::one_phase;
use crate::wide;
use fsdyno_model::{Better, Figure, OwnFigure, OwnPhase, OwnTable, ResultSet};
use fsdyno_report::own_comparison::OwnComparison;
use fsdyno_report::{Format, render_own_comparison};

/// Two contenders, two blocks, and a rate that a program reports.
fn set() -> ResultSet {
    let mut set = one_phase(&["ext4", "xfs"], &[&[100, 110], &[200, 210]]);
    for record in &mut set.cells {
        record.samples[0].figures.push(Figure {
            name: "a read".to_owned(),
            value: 1000.0 * f64::from(1 + record.cell.contender),
            unit: "KiB/s".to_owned(),
            better: Better::Higher,
        });
    }
    set
}

fn figure(contender: &str, phase: OwnPhase, name: &str, value: f64, unit: &str) -> OwnFigure {
    OwnFigure {
        contender: contender.to_owned(),
        phase,
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
    }
}

fn table(figures: Vec<OwnFigure>) -> OwnTable {
    OwnTable {
        name: "mine.csv".to_owned(),
        figures,
    }
}

#[test]
fn figures_are_next_to_figures_in_one_unit_and_nothing_is_judged() {
    let set = set();
    let phase = set.run.plan.workloads[0].phases[0].label.clone();
    let named = || OwnPhase::Named(phase.clone());
    let comparison = OwnComparison::of(
        &set,
        &[table(vec![
            figure("ext4", named(), "durable", 90e6, "ns"),
            figure("zfs", named(), "durable", 300e6, "ns"),
            figure("xfs", OwnPhase::Reporting, "a read", 4_096_000.0, "B/s"),
            figure(
                "ext4",
                OwnPhase::Named("other".to_owned()),
                "durable",
                1.0,
                "ns",
            ),
        ])],
    )
    .unwrap();
    assert_eq!(comparison.only_in_tables, ["other: durable"]);
    let render = |format| {
        let bytes = render_own_comparison(&comparison, format, &wide(80)).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    insta::assert_snapshot!(render(Format::Terminal));
    let rows = render(Format::Csv);
    for row in [
        format!("{phase},durable,ns,lower,ext4,90000000,105000000,2"),
        format!("{phase},durable,ns,lower,xfs,,205000000,2"),
        format!("{phase},durable,ns,lower,zfs,300000000,,0"),
        format!("{phase},a read,B/s,higher,xfs,4096000,2048000,2"),
    ] {
        assert!(rows.contains(&row), "{row}: {rows}");
    }
    for format in [Format::Html, Format::Markdown, Format::Json] {
        assert!(render(format).contains("zfs"), "{format}");
    }
}

#[test]
fn a_command_that_is_no_phase_is_a_contender_of_the_only_phase() {
    let command = |command: &str| OwnPhase::Command(command.to_owned());
    let set = set();
    let comparison = OwnComparison::of(
        &set,
        &[table(vec![
            figure("mine", command("xfs"), "return", 1e6, "ns"),
            figure("mine", command("cp -a x y"), "return", 2e6, "ns"),
        ])],
    )
    .unwrap();
    let contenders = comparison.figures[0].contenders.iter();
    let tables: Vec<_> = contenders.map(|one| (&*one.contender, one.table)).collect();
    let expected = [("ext4", None), ("xfs", Some(1e6)), ("cp -a x y", Some(2e6))];
    assert_eq!(tables, expected);
}

#[test]
fn figures_that_do_not_compare_are_refused() {
    let set = set();
    let of = |figures| OwnComparison::of(&set, &[table(figures)]).unwrap_err();
    let durable = |unit| figure("ext4", OwnPhase::Reporting, "durable", 1.0, unit);
    let error = of(vec![durable("B")]);
    assert_eq!(error, "durable of ext4 is in `B`, and in the run in `ns`");
    let error = of(vec![durable("ns"), durable("ns")]);
    assert_eq!(error, "durable of ext4 is there twice");
    let error = of(vec![figure(
        "ext4",
        OwnPhase::Reporting,
        "b write",
        1.0,
        "B/s",
    )]);
    assert!(
        error.contains("has none of the figures of mine.csv (b write); its phases are "),
        "{error}"
    );
}
