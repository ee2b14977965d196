//! Text for a terminal: no line is wider than asked, and nothing is said by colour alone.

mod costs;
mod figure;
mod fragments;
mod names;
mod notes;
mod paint;
mod speed;

use crate::Options;
use crate::table::Comparison;
use fsdyno_model::ResultSet;
use names::Names;
use paint::Paint;

/// The narrowest terminal there is a layout for, columns.
const NARROWEST: usize = 60;

/// Writes the report.
pub fn render(set: &ResultSet, options: &Options) -> Vec<u8> {
    let comparison = Comparison::of(set);
    let names = Names::of(set);
    let mut page = Page {
        paint: Paint(options.color),
        width: options.width.max(NARROWEST),
        text: String::new(),
    };
    notes::head(&mut page, set, &comparison);
    speed::tables(&mut page, &comparison, &names, options.clock);
    costs::tables(&mut page, &comparison, &names);
    fragments::tables(&mut page, &comparison, &names);
    notes::proofs(&mut page, &comparison);
    notes::doubts(&mut page, &comparison);
    notes::unmeasured(&mut page, &comparison);
    notes::provenance(&mut page, set);
    page.text.into_bytes()
}

/// The report as it grows.
struct Page {
    paint: Paint,
    width: usize,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line and a heading.
    fn heading(&mut self, heading: &str) {
        self.line("");
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
}
