//! What programs report of themselves, in every format for people.

use crate::fixture::one_phase;
use crate::{text, wide};
use fsdyno_model::{Better, Figure, ResultSet};
use fsdyno_report::{Format, Options};

/// Two contenders, two blocks, a rate and a latency that only the first has.
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
fn medians_ratios_and_directions_are_told_and_what_is_absent_is_no_figure() {
    let said = text(&set(), Format::Terminal, &wide(80));
    let at = said.find("What the programs report").unwrap();
    let section: Vec<&str> = said[at..].lines().take(14).collect();
    let has = |line: &str| assert!(section.contains(&line), "{line}: {section:#?}");
    has("  <b>write</b>, KiB/s, more is better");
    has("    ext4  1005 (1000-1010)  base");
    has("    xfs   2010 (2000-2020)  2.00x");
    has("  latency p99, us, less is better");
    has("    ext4  0.50 (0.50-0.50)  base");
    has("    xfs                  -");
    assert!(
        said.lines().all(|line| line.chars().count() <= 80),
        "{said}"
    );
}

#[test]
fn many_figures_have_a_line_each_where_the_page_is_wide_enough() {
    let mut many = set();
    for record in &mut many.cells {
        for number in 0..30 {
            let value = f64::from(number * (1 + record.cell.contender));
            let name = format!("call {number} latency");
            let figure = Figure::new(name, value, "us", Better::Lower);
            record.samples[0].figures.push(figure);
        }
    }
    let said = text(&many, Format::Terminal, &wide(80));
    let lines: Vec<&str> = said.lines().collect();
    let has = |line: &str| assert!(lines.contains(&line), "{line}: {said}");
    has("                              ext4         xfs");
    has("  <b>write</b>, KiB/s +  1005 base  2010 2.00x");
    has("  latency p99, us -      0.50 base     -");
    has("  call 7 latency, us -   7.00 base  14.0 2.00x");
    let long = Figure::new("call by a name ".repeat(5), 1.0, "us", Better::Lower);
    many.cells[0].samples[0].figures.push(long);
    let narrow = text(&many, Format::Terminal, &wide(80));
    assert!(narrow.contains("  call 7 latency, us, less is better\n    ext4"));
    assert!(narrow.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn names_of_programs_bring_no_markup_into_page_or_table() {
    let page = text(&set(), Format::Html, &Options::default());
    assert!(page.contains("&lt;b&gt;write&lt;") && !page.contains("<b>write"));
    let table = text(&set(), Format::Markdown, &Options::default());
    assert!(table.contains("2010 (2000-2020) 2.00x") && !table.contains("<b>write"));
    let rows = text(&set(), Format::Csv, &Options::default());
    assert!(
        rows.contains("<b>write</b>=1000 KiB/s; latency p99=0.5 us"),
        "{rows}"
    );
}
