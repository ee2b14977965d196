//! The charts of a page as SVG. Their total size is limited. Further charts are only counted, kind
//! by kind, and the page shows the command that draws them.

use crate::charts::svg::{Appearance, Theme, render};
use crate::charts::{Chart, Kind};
use crate::document::{Block, Medium, visit};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The limit of the charts on a page, bytes.
const BUDGET: usize = 400 << 10;
/// The width of a chart, pixels; the page stretches it slightly.
const WIDTH: u32 = 380;
/// The kinds in drawing order: first those with information that no table has.
const ORDER: [Kind; 8] = [
    Kind::History,
    Kind::Overview,
    Kind::Scaling,
    Kind::Latency,
    Kind::Throughput,
    Kind::Samples,
    Kind::Repeats,
    Kind::Cost,
];

/// The charts that fit into the page, by name.
pub struct Drawings {
    drawn: BTreeMap<String, String>,
    left_out: usize,
}

impl Drawings {
    /// Draws the charts of a document.
    pub fn of(blocks: &[Block]) -> Self {
        let mut charts: Vec<&Chart> = Vec::new();
        visit(blocks, Medium::Page, &mut |block| match block {
            Block::Charts(some) => charts.extend(some),
            Block::Table(table) => {
                charts.extend(table.groups.iter().flat_map(|group| &group.charts));
            }
            _ => {}
        });
        let mut drawings = Self {
            drawn: BTreeMap::new(),
            left_out: 0,
        };
        let mut bytes = 0;
        for kind in ORDER {
            for chart in charts.iter().filter(|chart| chart.kind == kind) {
                let appearance = Appearance {
                    width: WIDTH,
                    theme: Theme::Page,
                };
                let svg = render(chart, appearance);
                if bytes + svg.len() <= BUDGET {
                    bytes += svg.len();
                    drawings.drawn.insert(chart.name.clone(), svg);
                } else {
                    drawings.left_out += 1;
                }
            }
        }
        drawings
    }

    /// The number of charts that do not fit into the page.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Whether any of these is drawn.
    pub fn any(&self, charts: &[Chart]) -> bool {
        charts
            .iter()
            .any(|chart| self.drawn.contains_key(&chart.name))
    }

    /// Writes a chart, if it is drawn.
    pub fn write(&self, html: &mut String, chart: &Chart) {
        if let Some(svg) = self.drawn.get(&chart.name) {
            let _ = writeln!(html, "<figure>{svg}</figure>");
        }
    }
}
