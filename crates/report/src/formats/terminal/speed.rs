//! The tables of times: one column per contender, as much on a line as the width allows.

use super::Page;
use super::figure::{Level, Texts, Widths};
use super::names::Names;
use super::paint::{left, right, width};
use crate::table::{Comparison, PhaseTable, TIERS};
use crate::terms;
use std::fmt::Write as _;

/// Columns of the names of lines without their unit: `  durable  `.
const STUB: usize = 11;
/// Blank columns before each contender.
pub const GAP: usize = 2;

/// How the tables are laid out: the same for all of a report.
pub struct Layout {
    level: Level,
    /// The name and the width of each contender's column.
    pub columns: Vec<(String, usize)>,
    /// Widths of the parts of a figure.
    parts: Widths,
    /// Width of the names of lines.
    pub stub: usize,
    /// Whether times are shown as `m:ss`.
    clock: bool,
    /// Contenders side by side; more than one group where they do not fit.
    pub groups: Vec<Vec<usize>>,
}

/// Writes the tables of all workloads, with their legend.
pub fn tables(page: &mut Page, comparison: &Comparison, names: &Names, clock: bool) {
    if comparison.lines().next().is_none() {
        return;
    }
    let layout = Layout::choose(page.width, comparison, names, clock);
    page.heading("Time");
    legend(page, comparison, names, &layout);
    for (at, group) in layout.groups.iter().enumerate() {
        for workload in comparison.workloads.iter().filter(|w| w.measured()) {
            let mut heading = format!("{}, on {}", workload.name, workload.dataset);
            if workload.name == workload.dataset {
                heading.clone_from(&workload.name);
            }
            if layout.groups.len() > 1 {
                let _ = write!(heading, " (part {} of {})", at + 1, layout.groups.len());
            }
            page.heading(&heading);
            layout.head(page, group);
            for phase in workload.phases.iter().filter(|p| !p.lines.is_empty()) {
                layout.phase(page, phase, group);
            }
        }
        layout.overall(page, comparison, group);
    }
    tiers(page, comparison);
    if let Some(reached) = &comparison.reached {
        page.line("");
        page.paragraph(reached, 0);
    }
}

fn legend(page: &mut Page, comparison: &Comparison, names: &Names, layout: &Layout) {
    let repeated = comparison.repeated();
    let mut text = format!(
        "{}{}; units stand in front. \"return\" is the time until the work returned, \"durable\" \
         until syncfs had returned as well.",
        comparison.figures(),
        if repeated { ", with min-max" } else { "" }
    );
    text += &marks(comparison, names);
    if comparison.judged() && comparison.compares() {
        text += " ";
        text += &comparison.verdicts_in_words();
    }
    if comparison.intervals() {
        let _ = write!(
            text,
            " {}: an interval that holds the ratio with that confidence or more.",
            if layout.level == Level::One {
                "[]"
            } else {
                "95 %"
            }
        );
    }
    page.paragraph(&text, 0);
    layout.legend(page, names);
}

/// What the marks beside a figure mean, those that there are.
pub fn marks(comparison: &Comparison, names: &Names) -> String {
    let mut text = String::new();
    if comparison.compares() {
        let (mark, level) = if comparison.judged() {
            let level = if comparison.level() {
                format!(
                    "; ~ within {} of it",
                    terms::percent(comparison.rule.margin)
                )
            } else {
                String::new()
            };
            ("* fastest, or not to be told from the fastest", level)
        } else {
            ("* lowest, with too few repeats to judge", String::new())
        };
        let baseline = names.full(0);
        let _ = write!(
            text,
            " {mark}; 0.50x: half the time of {baseline} in the same block{level}."
        );
    }
    if comparison.unjudged() {
        text += " ? inconclusive: too few repeats, or too wide a spread.";
    }
    if comparison.doubted() {
        text += " ! see Warnings.";
    }
    text
}

impl Layout {
    /// The roomiest layout that fits.
    fn choose(columns: usize, comparison: &Comparison, names: &Names, clock: bool) -> Self {
        let all: Vec<usize> = (0..comparison.contenders.len()).collect();
        let parts = Widths::of(comparison, clock);
        let unit = comparison.phases().map(|p| p.scale(clock).unit().len());
        let stub = STUB + unit.max().unwrap_or(0);
        let with = |level: Level, room| Self {
            stub,
            clock,
            ..Self::with(level, parts, names, room, &all)
        };
        for level in [Level::One, Level::Two, Level::Three] {
            for room in [usize::MAX, level.width(parts)] {
                let layout = with(level, room);
                if layout.total(&all) <= columns {
                    let groups = vec![all.clone()];
                    return Self { groups, ..layout };
                }
            }
        }
        let narrow = with(Level::Three, Level::Three.width(parts));
        let groups = narrow.group(columns, &all);
        Self { groups, ..narrow }
    }

    /// One line for each row: median and ratio, behind a name of so many columns.
    pub fn compact(
        columns: usize,
        comparison: &Comparison,
        names: &Names,
        parts: Widths,
        stub: usize,
    ) -> Self {
        let all: Vec<usize> = (0..comparison.contenders.len()).collect();
        let with = |room| Self {
            stub,
            ..Self::with(Level::Two, parts, names, room, &all)
        };
        let roomy = with(usize::MAX);
        if roomy.total(&all) <= columns {
            let groups = vec![all];
            return Self { groups, ..roomy };
        }
        let narrow = with(Level::Two.width(parts));
        let groups = narrow.group(columns, &all);
        Self { groups, ..narrow }
    }

    /// Says what shortened names stand for.
    pub fn legend(&self, page: &mut Page, names: &Names) {
        names.legend(page, self.columns.iter().map(|(name, _)| name.clone()));
    }

    fn with(level: Level, parts: Widths, names: &Names, room: usize, all: &[usize]) -> Self {
        let columns = all
            .iter()
            .map(|c| {
                let name = names.fitting(*c, room).to_owned();
                let columns = level.width(parts).max(width(&name));
                (name, columns)
            })
            .collect();
        Self {
            level,
            columns,
            parts,
            stub: STUB,
            clock: false,
            groups: Vec::new(),
        }
    }

    fn total(&self, contenders: &[usize]) -> usize {
        let columns = contenders.iter().map(|c| GAP + self.columns[*c].1);
        self.stub + columns.sum::<usize>()
    }

    /// Groups that fit, the baseline in each.
    fn group(&self, columns: usize, all: &[usize]) -> Vec<Vec<usize>> {
        let mut groups = vec![vec![0]];
        for c in all.iter().skip(1) {
            let last = groups.len() - 1;
            let mut wider = groups[last].clone();
            wider.push(*c);
            if wider.len() > 2 && self.total(&wider) > columns {
                groups.push(vec![0, *c]);
            } else {
                groups[last] = wider;
            }
        }
        groups
    }

    pub fn head(&self, page: &mut Page, group: &[usize]) {
        let mut line = left("", self.stub);
        for (name, columns) in group.iter().map(|c| &self.columns[*c]) {
            line += &" ".repeat(GAP);
            line += &right(name, *columns);
        }
        let line = page.paint.bold(&line);
        page.line(&line);
        let rule = page.paint.dim(&"-".repeat(self.total(group)));
        page.line(&rule);
    }

    fn phase(&self, page: &mut Page, phase: &PhaseTable, group: &[usize]) {
        page.paragraph(&format!("{}: {}", phase.label, phase.about()), 4);
        let scale = phase.scale(self.clock);
        for line in &phase.lines {
            let texts: Vec<Option<Texts>> = group
                .iter()
                .map(|c| {
                    line.values[*c]
                        .as_ref()
                        .map(|v| Texts::of(v, scale, *c == 0))
                })
                .collect();
            for (at, row) in self.level.rows(self.parts).into_iter().enumerate() {
                let stub = match row.name() {
                    Some(name) if at > 0 => format!("    {name}"),
                    _ => format!("  {:<8} {}", line.measure.name(), scale.unit()),
                };
                let mut out = left(&stub, self.stub);
                for (c, texts) in group.iter().zip(&texts) {
                    out += &" ".repeat(GAP);
                    let columns = self.columns[*c].1;
                    out += &match texts {
                        Some(texts) => texts.row(page.paint, row, self.parts, columns),
                        None => right(row.missing(), columns),
                    };
                }
                page.line(&out);
            }
        }
    }

    fn overall(&self, page: &mut Page, comparison: &Comparison, group: &[usize]) {
        if comparison.overall.is_empty() {
            return;
        }
        page.line("");
        page.paragraph(
            &format!(
                "Geometric mean of the ratios of {} phases (to durable where they write)",
                comparison.overall_phases
            ),
            0,
        );
        let mut ratios = left("  ratio", self.stub);
        let mut intervals = left("    95 %", self.stub);
        for c in group {
            let (overall, columns) = (&comparison.overall[*c], self.columns[*c].1);
            ratios += &" ".repeat(GAP);
            ratios += &right(&format!("{}x", terms::ratio(overall.middle)), columns);
            let interval = overall
                .interval
                .filter(|_| *c > 0)
                .map_or_else(String::new, |of| {
                    format!("{}-{}x", terms::ratio(of.low), terms::ratio(of.high))
                });
            intervals += &" ".repeat(GAP);
            intervals += &right(&interval, columns);
        }
        page.line(&ratios);
        if comparison.overall.iter().any(|of| of.interval.is_some()) {
            let intervals = page.paint.dim(&intervals);
            page.line(&intervals);
        }
    }
}

/// The tiers of all phases, a line or a few each.
fn tiers(page: &mut Page, comparison: &Comparison) {
    let tiers = comparison.tiers();
    if tiers.is_empty() {
        return;
    }
    page.line("");
    page.paragraph(TIERS, 0);
    for (phase, tiers) in tiers {
        page.paragraph(&format!("  {phase}: {tiers}"), 4);
    }
}
