//! Figures that programs report, in every format for readers.

use crate::fixture::one_phase;
use crate::{text, wide};
use fsdyno_model::{Better, Figure, ResultSet};
use fsdyno_report::{Format, Options};

/// Two contenders, two blocks, a rate, and a latency that only the first contender has.
fn set() -> ResultSet {
    let mut set = one_phase(&["ext4", "xfs"], &[&[100, 110], &[200, 210]]);
    for record in &mut set.cells {
        let (contender, block) = (record.cell.contender, record.cell.block);
        let figure = |name: &str, value, unit: &str, better| Figure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            better,
        };
        let rate = f64::from(1000 + 10 * block) * f64::from(1 + contender);
        let figures = &mut record.samples[0].figures;
        figures.push(figure("<b>write</b>", rate, "KiB/s", Better::Higher));
        if contender == 0 {
            figures.push(figure("latency p99", 0.5, "us", Better::Lower));
        }
    }
    set
}

#[test]
fn medians_ratios_and_directions_are_shown_and_missing_figures_are_not() {
    let report = text(&set(), Format::Terminal, &wide(80));
    let at = report.find("What the programs report").unwrap();
    let section: Vec<&str> = report[at..].lines().take(14).collect();
    let has = |line: &str| assert!(section.contains(&line), "{line}: {section:#?}");
    has("  <b>write</b>, KiB/s +  1005 (1000-1010) base  2010 (2000-2020) 2.00x");
    has("  latency p99, us -      0.50 (0.50-0.50) base     -");
}

#[test]
fn a_wide_name_has_its_own_line() {
    let mut set = set();
    let long = Figure {
        name: "call by a name ".repeat(5),
        value: 1.0,
        unit: "us".to_owned(),
        better: Better::Lower,
    };
    set.cells[0].samples[0].figures.push(long);
    let narrow = text(&set, Format::Terminal, &wide(80));
    let words = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("call by a name , us -"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn reported_names_cannot_add_markup() {
    let page = text(&set(), Format::Html, &Options::default());
    assert!(page.contains("&lt;b&gt;write&lt;") && !page.contains("<b>write"));
    let table = text(&set(), Format::Markdown, &Options::default());
    assert!(table.contains("2010 (2000-2020) 2.00x") && !table.contains("<b>write"));
    let rows = text(&set(), Format::Csv, &Options::default());
    for figure in ["<b>write</b>,1000,KiB/s", "latency p99,0.5,us"] {
        assert!(rows.contains(figure), "{rows}");
    }
}
