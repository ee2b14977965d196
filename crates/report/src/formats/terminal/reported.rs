//! What programs report of themselves: a line for each contender, under each figure; where there are
//! many, a line for each figure.

use super::Page;
use super::names::Names;
use super::paint::{left, right, width};
use crate::table::{Comparison, Told};
use fsdyno_model::Better;
use fsdyno_model::units::three_digits;

/// The widest label that is not abbreviated.
const LABEL: usize = 24;
/// With more figures of a phase, each has one line, where that is not too wide.
const FEW: usize = 24;

/// Writes the section, where any program told anything.
pub fn section(page: &mut Page, comparison: &Comparison, names: &Names) {
    if comparison.told.is_empty() {
        return;
    }
    let called: Vec<&str> = (0..comparison.contenders.len())
        .map(|contender| names.fitting(contender, LABEL))
        .collect();
    let stub = called.iter().map(|name| width(name)).max().unwrap_or(0);
    page.heading("What the programs report");
    page.paragraph(
        "As they measured it themselves: medians, with min-max; the ratio is to the first \
         contender in the same block.",
        0,
    );
    names.legend(page, called.iter().map(|name| (*name).to_owned()));
    for of_phase in comparison
        .told
        .chunk_by(|one, next| one.phase == next.phase)
    {
        page.line("");
        page.paragraph(&of_phase[0].phase, 4);
        match Table::of(&called, of_phase) {
            Some(table) if of_phase.len() > FEW && table.width() <= page.width => table.write(page),
            _ => one_by_one(page, &called, stub, of_phase),
        }
    }
}

/// A line for each contender, under each figure.
fn one_by_one(page: &mut Page, called: &[&str], stub: usize, of_phase: &[Told]) {
    for told in of_phase {
        page.paragraph(
            &format!("  {}, {}, {}", told.name, told.unit, told.direction()),
            6,
        );
        let texts: Vec<String> = told
            .values
            .iter()
            .map(|value| value.map_or_else(|| "-".to_owned(), |v| v.in_words()))
            .collect();
        let widest = texts.iter().map(|text| width(text)).max().unwrap_or(0);
        for (at, (value, text)) in told.values.iter().zip(&texts).enumerate() {
            let ratio = value.map_or_else(String::new, |v| v.ratio_in_words(at == 0));
            let name = left(called[at], stub);
            page.line(&format!("    {name}  {}  {ratio}", right(text, widest)));
        }
    }
}

/// The figures of a phase, a line for each.
struct Table {
    /// The names, above everything.
    head: Vec<String>,
    /// Name of the figure, and for each contender its median and its ratio.
    rows: Vec<(String, Vec<[String; 2]>)>,
    stub: usize,
    /// The widths of median and ratio of each contender.
    columns: Vec<[usize; 2]>,
}

impl Table {
    /// None where there is nothing.
    fn of(called: &[&str], of_phase: &[Told]) -> Option<Self> {
        let rows: Vec<(String, Vec<[String; 2]>)> = of_phase.iter().map(row).collect();
        let stub = rows.iter().map(|(name, _)| width(name)).max()?;
        let columns = called.iter().enumerate().map(|(at, name)| {
            let widest = |part: usize| rows.iter().map(|(_, cells)| width(&cells[at][part])).max();
            let (median, ratio) = (widest(0).unwrap_or(0), widest(1).unwrap_or(0));
            [median.max(width(name).saturating_sub(ratio + 1)), ratio]
        });
        Some(Self {
            head: called.iter().map(|name| (*name).to_owned()).collect(),
            stub,
            columns: columns.collect(),
            rows,
        })
    }

    fn width(&self) -> usize {
        let columns = self
            .columns
            .iter()
            .map(|[median, ratio]| 2 + median + 1 + ratio);
        2 + self.stub + columns.sum::<usize>()
    }

    fn write(&self, page: &mut Page) {
        page.paragraph(
            "  Medians, a line for each figure; + more is better, - less is better.",
            2,
        );
        let mut line = left("", 2 + self.stub);
        for (name, [median, ratio]) in self.head.iter().zip(&self.columns) {
            line.push_str("  ");
            line.push_str(&right(name, median + 1 + ratio));
        }
        page.line(&line);
        for (name, cells) in &self.rows {
            let mut line = format!("  {}", left(name, self.stub));
            for ([median, ratio], widths) in cells.iter().zip(&self.columns) {
                let median = right(median, widths[0]);
                line.push_str("  ");
                line.push_str(&median);
                line.push(' ');
                line.push_str(&right(ratio, widths[1]));
            }
            page.line(&line);
        }
    }
}

fn row(told: &Told) -> (String, Vec<[String; 2]>) {
    let sign = match told.better {
        Better::Higher => '+',
        Better::Lower => '-',
    };
    let cell = |(at, value): (usize, &Option<crate::table::ToldValue>)| match value {
        Some(value) => [three_digits(value.median), value.ratio_in_words(at == 0)],
        None => ["-".to_owned(), String::new()],
    };
    (
        format!("{}, {} {sign}", told.name, told.unit),
        told.values.iter().enumerate().map(cell).collect(),
    )
}
