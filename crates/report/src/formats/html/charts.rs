//! The charts of a page, drawn. A page stays small: past a budget charts are counted, kind by kind,
//! and left to the command that draws them.

use crate::charts::svg::{Look, Theme, render};
use crate::charts::{Chart, Kind, by_lab};
use crate::table::Comparisons;
use fsdyno_model::ResultSet;

/// Bytes that charts may add to a page.
const BUDGET: usize = 400 << 10;
/// How wide they are drawn; on the page they stretch a little, and stand beside each other.
const WIDTH: u32 = 380;
/// Whose place is found first: what no table tells as well.
const ORDER: [Kind; 6] = [
    Kind::Overview,
    Kind::Latency,
    Kind::Throughput,
    Kind::Samples,
    Kind::Repeats,
    Kind::Cost,
];

/// A chart on the page.
#[derive(Debug)]
struct Drawn {
    kind: Kind,
    /// Its workload and phase.
    place: (Option<String>, Option<String>),
    /// The element.
    svg: String,
}

/// The charts of one lab.
#[derive(Debug, Default)]
pub struct Charts {
    drawn: Vec<Drawn>,
}

/// Those of all labs, and how many more there are.
pub fn of_all(set: &ResultSet, comparisons: &Comparisons) -> (Vec<Charts>, usize) {
    let labs = by_lab(set, comparisons);
    let mut charts: Vec<Charts> = labs.iter().map(|_| Charts::default()).collect();
    let (mut bytes, mut left_out) = (0, 0);
    for kind in ORDER {
        for (at, chart) in (0..)
            .zip(&labs)
            .flat_map(|(at, lab)| lab.iter().map(move |c| (at, c)))
        {
            if chart.kind != kind {
                continue;
            }
            let drawn = draw(chart);
            if bytes + drawn.svg.len() <= BUDGET {
                bytes += drawn.svg.len();
                charts[at].drawn.push(drawn);
            } else {
                left_out += 1;
            }
        }
    }
    (charts, left_out)
}

fn draw(chart: &Chart) -> Drawn {
    let look = Look {
        width: WIDTH,
        theme: Theme::Page,
    };
    Drawn {
        kind: chart.kind,
        place: (chart.workload.clone(), chart.phase.clone()),
        svg: render(chart, look),
    }
}

impl Charts {
    /// Those over all phases.
    pub fn overview(&self) -> Vec<String> {
        let of_all = self.drawn.iter().filter(|drawn| drawn.place.1.is_none());
        of_all.map(|drawn| drawn.svg.clone()).collect()
    }

    /// Those of one phase, in the order charts are listed.
    pub fn of(&self, workload: &str, phase: &str) -> Vec<String> {
        let here = |drawn: &&Drawn| {
            drawn.place.0.as_deref() == Some(workload) && drawn.place.1.as_deref() == Some(phase)
        };
        let drawn = self.drawn.iter().filter(here);
        let mut drawn: Vec<&Drawn> = drawn.collect();
        drawn.sort_by_key(|drawn| Kind::ALL.iter().position(|kind| *kind == drawn.kind));
        drawn.into_iter().map(|drawn| drawn.svg.clone()).collect()
    }
}
