//! Text for a terminal: no line is wider than asked, and nothing is said by colour alone.

mod ablation;
mod comparison;
mod costs;
mod disks;
mod figure;
mod fragments;
mod glance;
mod names;
mod notes;
mod paint;
mod published;
mod reported;
mod scaling;
mod speed;
mod why;

use crate::Options;
use crate::published::{PublishedComparison, Table};
use crate::reruns::AblationSummary;
use crate::table::{Comparison, Comparisons, labs};
use crate::why::Why;
use fsdyno_model::ResultSet;
use names::Names;
use paint::Paint;

/// The narrowest terminal there is a layout for, columns.
const NARROWEST: usize = 60;

/// Writes the report.
pub fn render(set: &ResultSet, options: &Options) -> Vec<u8> {
    let comparisons = Comparisons::of(set);
    let mut page = Page::new(options);
    notes::head(&mut page, set, &comparisons);
    for comparison in &comparisons.labs {
        of_lab(&mut page, comparison, options.clock);
    }
    if comparisons.apart() {
        page.heading_of_lab(labs::ALL);
    }
    notes::doubts(&mut page, &comparisons);
    notes::unmeasured(&mut page, &comparisons);
    notes::provenance(&mut page, set);
    page.text.into_bytes()
}

/// All tables of one lab, under its name where there are others.
fn of_lab(page: &mut Page, comparison: &Comparison, clock: bool) {
    if let Some(heading) = comparison.heading() {
        page.heading_of_lab(&heading);
    }
    let names = Names::of(comparison);
    glance::tables(page, comparison, &names, clock);
    speed::tables(page, comparison, &names, clock);
    scaling::section(page, comparison, &names);
    reported::section(page, comparison, &names);
    costs::tables(page, comparison, &names);
    disks::tables(page, comparison, &names);
    fragments::tables(page, comparison, &names);
    notes::proofs(page, comparison);
}

/// Writes a published table.
pub fn published(table: &Table, options: &Options) -> Vec<u8> {
    let mut page = Page::new(options);
    published::write(&mut page, table, options.clock);
    page.text.into_bytes()
}

/// Writes a run beside a published table.
pub fn against(against: &PublishedComparison, options: &Options) -> Vec<u8> {
    let mut page = Page::new(options);
    comparison::write(&mut page, against, options.clock);
    page.text.into_bytes()
}

/// Writes an inquiry.
pub fn inquiry(told: &AblationSummary, options: &Options) -> Vec<u8> {
    let mut page = Page::new(options);
    ablation::write(&mut page, told);
    page.text.into_bytes()
}

/// Writes what stands between two contenders.
pub fn why(why: &Why, options: &Options) -> Vec<u8> {
    let mut page = Page::new(options);
    why::write(&mut page, why);
    page.text.into_bytes()
}

/// The report as it grows.
struct Page {
    paint: Paint,
    width: usize,
    text: String,
}

impl Page {
    fn new(options: &Options) -> Self {
        Self {
            paint: Paint(options.color),
            width: options.width.max(NARROWEST),
            text: String::new(),
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line and a heading.
    fn heading(&mut self, heading: &str) {
        self.line("");
        self.heading_first(heading);
    }

    /// A heading above other headings.
    fn heading_of_lab(&mut self, heading: &str) {
        self.line("");
        self.heading(heading);
        let rule = self.paint.dim(&"=".repeat(self.width));
        self.line(&rule);
    }

    /// A heading at the top of the page.
    fn heading_first(&mut self, heading: &str) {
        for line in paint::wrap(heading, self.width, 0) {
            let line = self.paint.bold(&line);
            self.line(&line);
        }
    }

    /// Text wrapped to the width, its later lines set in by `hang` columns.
    fn paragraph(&mut self, text: &str, hang: usize) {
        for line in paint::wrap(text, self.width, hang) {
            self.line(&line);
        }
    }

    /// Facts by name, their texts below each other.
    fn facts(&mut self, facts: &[(&'static str, String)]) {
        let stub = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
        for (name, text) in facts {
            for (at, part) in paint::wrap(text, self.width - stub, 0).iter().enumerate() {
                let name = if at == 0 { name } else { "" };
                let name = self.paint.dim(&paint::left(name, stub));
                self.line(&format!("{name}{part}"));
            }
        }
    }
}
