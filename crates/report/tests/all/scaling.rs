//! Scaling of phases with the number of workers, in every format for readers.

use crate::fixture::one_phase;
use crate::{text, wide};
use fsdyno_model::{Better, Figure, ResultSet};
use fsdyno_report::Format;
use fsdyno_report::charts::{Chart, Mark, Picture};
use fsdyno_report::run_charts::{Filter, choose, of_run};

/// Two contenders, two blocks, with 1, 2 and 4 workers. The second does not scale, and has no
/// measurement with 4.
fn set() -> ResultSet {
    let mut set = one_phase(&["ext4", "xfs"], &[&[100, 110], &[200, 210]]);
    let mut one = set.run.plan.workloads[0].clone();
    set.run.plan.workloads.clear();
    for workers in ["1", "2", "4"] {
        let phase = &mut one.phases[0];
        "op-create".clone_into(&mut phase.label);
        phase
            .parameters
            .insert("workers".to_owned(), workers.to_owned());
        one.name = format!("op-create, {workers}");
        set.run.plan.workloads.push(one.clone());
    }
    let cells = std::mem::take(&mut set.cells);
    for (workload, times) in [(0, 1.0), (1, 1.9), (2, 3.5)] {
        for mut record in cells.clone() {
            let second = record.cell.contender == 1;
            if second && workload == 2 {
                continue;
            }
            record.cell.workload = workload;
            record.cell.index += 10 * workload;
            let base = f64::from(1000 + 100 * record.cell.block);
            let rate = base * if second { 1.0 } else { times };
            let figure = Figure::new("rate", rate, "1/s", Better::Higher);
            record.samples[0].figures.push(figure);
            set.cells.push(record);
        }
    }
    set
}

#[test]
fn rates_are_listed_by_number_of_workers_with_the_speedup() {
    let output = text(&set(), Format::Terminal, &wide(80));
    let at = output.find("By the number of workers").unwrap();
    let section: Vec<&str> = output[at..].lines().take(14).collect();
    let has = |line: &str| assert!(section.contains(&line), "{line}: {section:#?}");
    has("op-create");
    has("  1 worker   1050        1050");
    has("  2 workers  1995 1.90x  1050 1.00x");
    has("  4 workers  3675 3.50x     -");
    let output = text(&set(), Format::Markdown, &wide(80));
    assert!(
        output.contains("| op-create | 4 workers | 3675 3.50x | - |"),
        "{output}"
    );
    let output = text(&set(), Format::Html, &wide(80));
    assert!(
        output.contains("id=\"scaling\"")
            && output.contains("3675</span> <span class=\"ratio\">3.50×")
            && output.contains("op-create: rate by the number of workers")
    );
}

#[test]
fn a_chart_has_a_line_per_contender_and_intervals_from_six_repeats_on() {
    let mut set = set();
    let charts = of_run(&set, &Filter::default()).unwrap();
    let charts = choose("r", charts, &["scaling".to_owned()]).unwrap();
    let [Picture::Chart(chart)] = &charts[..] else {
        panic!("{charts:?}");
    };
    let lines = |chart: &Chart, contender: usize| -> Vec<Vec<(f64, f64)>> {
        let mut series = chart.panels[0].series.iter();
        let marks = &series.find(|one| one.contender == contender).unwrap().marks;
        let points = marks.iter().filter_map(|mark| match mark {
            Mark::Line { points, .. } => Some(points.clone()),
            _ => None,
        });
        points.collect()
    };
    assert_eq!(
        lines(chart, 0),
        [[(1.0, 1050.0), (2.0, 1995.0), (4.0, 3675.0)]]
    );
    assert_eq!(lines(chart, 1), [[(1.0, 1050.0), (2.0, 1050.0)]]);
    assert!(
        chart.about.contains("ext4, 4 workers: 3675/s"),
        "{}",
        chart.about
    );
    // Six blocks.
    let cells = set.cells.clone();
    for more in [2, 4] {
        set.cells.extend(cells.iter().cloned().map(|mut record| {
            record.cell.block += more;
            record.cell.index += 100 * more;
            record
        }));
    }
    let charts = of_run(&set, &Filter::default()).unwrap();
    let charts = choose("r", charts, &["scaling".to_owned()]).unwrap();
    let [Picture::Chart(chart)] = &charts[..] else {
        panic!("{charts:?}");
    };
    let six = lines(chart, 0);
    assert_eq!(six.len(), 4, "three intervals and the line");
    assert!(six[0][0].1 < 1050.0 && six[0][1].1 > 1050.0, "{six:?}");
}

#[test]
fn one_number_of_workers_has_no_scaling_section() {
    let mut set = set();
    set.run.plan.workloads.truncate(1);
    set.cells.retain(|record| record.cell.workload == 0);
    for format in [Format::Terminal, Format::Markdown, Format::Html] {
        assert!(!text(&set, format, &wide(80)).contains("By the number of workers"));
    }
}
