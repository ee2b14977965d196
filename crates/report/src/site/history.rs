//! The history pages of a site: one for each phase, by kernel, date and commit, with the counters.

use super::index::HistoryRow;
use crate::document::{Block, Document, Fold, Section, add_suffix};
use crate::formats;
use crate::history::{By, Collector, History, Selection};
use crate::lists::{by_key, unique};
use crate::options::Options;
use crate::terms;
use fsdyno_model::{FigureName, ResultSet};

/// The axes of the histories of a page that are shown, in order.
const SHOWN: [By; 3] = [By::Kernel, By::Commit, By::Date];
/// The figures of those that are folded, by kernel.
const FOLDED: [&str; 5] = ["blocks", "requests", "flushes", "bytes", "seeks"];

/// Collects the runs of all histories.
#[derive(Debug, Default)]
pub(super) struct Histories {
    collectors: Vec<Collector>,
}

/// A page of one phase.
pub(super) struct PhasePage {
    pub workload: String,
    pub phase: String,
    histories: Vec<History>,
}

impl Histories {
    pub fn new() -> Self {
        let shown = SHOWN.into_iter().map(|by| (by, FigureName::DURABLE));
        let folded = FOLDED
            .into_iter()
            .map(|name| (By::Kernel, FigureName::new(name)));
        let all = shown.chain(folded);
        let collectors = all.map(|(by, metric)| {
            Collector::new(Selection {
                by,
                metric: Some(metric),
                ..Selection::default()
            })
        });
        Self {
            collectors: collectors.collect(),
        }
    }

    pub fn add(&mut self, set: &ResultSet, tags: &[String]) {
        for collector in &mut self.collectors {
            collector.add(set, tags);
        }
    }

    /// The pages of all phases. A history without figures is left out.
    pub fn finish(self) -> Vec<PhasePage> {
        let histories = self.collectors.into_iter();
        let histories = histories.filter_map(|collector| collector.finish().ok());
        let parts = histories.flat_map(|history| {
            let parts = history.phases().filter_map(|phase| {
                let (workload, name) = phase.first()?.place();
                Some(((workload.to_owned(), name.to_owned()), history.only(phase)))
            });
            parts.collect::<Vec<_>>()
        });
        let pages = by_key(parts).into_iter();
        let pages = pages.map(|((workload, phase), histories)| PhasePage {
            workload,
            phase,
            histories,
        });
        pages.collect()
    }
}

impl PhasePage {
    /// Its row in the index.
    pub fn row(&self, file: &str) -> HistoryRow {
        let by_kernel = self.histories.first();
        let series = by_kernel.into_iter().flat_map(|history| &history.series);
        let points = series.clone().flat_map(|one| &one.points);
        HistoryRow {
            file: file.to_owned(),
            workload: self.workload.clone(),
            phase: self.phase.clone(),
            contenders: unique(series.map(|one| one.contender.clone())),
            kernels: unique(points.map(|point| &point.label)).len(),
            runs: by_kernel.map_or(0, |history| history.runs),
            steps: by_kernel.map_or(0, History::steps),
        }
    }

    pub fn render(&self, options: &Options) -> Vec<u8> {
        let name = terms::printable(&format!("{} / {}", self.workload, self.phase));
        let mut document = Document::new(format!("History of {name}"));
        let mut folds = Vec::new();
        for (number, one) in self.histories.iter().enumerate() {
            let mut part = crate::history::document(one, crate::history::Screen::ALL);
            if number == 0 {
                document.lead = part.lead;
                document.filters = part.filters;
            }
            for block in &mut part.blocks {
                flatten(block);
            }
            add_suffix(&mut part.blocks, &format!("-{number}"));
            if one.metric == FigureName::DURABLE {
                let mut section = Section::new(format!("by-{}", one.by), format!("By {}", one.by));
                section.blocks = part.blocks;
                document.blocks.push(section.into());
            } else {
                folds.push(Block::from(Fold {
                    id: format!("metric-{}", one.metric),
                    name: one.metric.to_string(),
                    summary: terms::count(one.steps(), "step"),
                    blocks: part.blocks,
                    ..Fold::default()
                }));
            }
        }
        if !folds.is_empty() {
            let mut section = Section::new("counters", "Counters by kernel");
            section.blocks = folds;
            document.blocks.push(section.into());
        }
        formats::html::render(&document, options)
    }
}

/// Removes the heading of a phase: the page has only one.
fn flatten(block: &mut Block) {
    if let Block::Section(section) = block {
        section.heading.clear();
    }
}
