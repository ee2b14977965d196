//! The text of the progress view: progress of the run, current step, and standings. Lines are
//! truncated and never wrapped. Their number leaves room for the lines above the view.

use super::standings::{OpenOne, StandingsSummary};
use console::{Alignment, pad_str, style, truncate_str};
use fsdyno_model::printable;
use fsdyno_model::{Nanos, RunInfo};
use std::time::{Duration, Instant};

/// Terminal rows that stay free above the view.
const ROWS_ABOVE: usize = 8;
/// The maximum number of inconclusive comparisons, for a terminal of any height.
const MAX_INCONCLUSIVE: usize = 16;
/// Below this number of columns there is no bar, and the cell has its own line.
const NARROW: usize = 60;
/// Maximum width of the bar.
const BAR: usize = 24;

#[derive(Debug, Clone, Default)]
pub struct View {
    /// Cells that are recorded or not needed.
    pub done: usize,
    cells: usize,
    blocks: u32,
    /// The time left, if there is an estimate.
    pub left: Option<Nanos>,
    /// The prefix of a time left that is an upper bound.
    at_most: &'static str,
    /// The start of the run and its time limit.
    budget: Option<(Instant, Nanos)>,
    /// The current step.
    pub now: Now,
    pub standings: StandingsSummary,
}

#[derive(Debug, Clone)]
pub struct Now {
    /// The cell, by its index.
    pub cell: Option<u32>,
    /// The number of other cells that run at the same time.
    pub others: usize,
    pub block: u32,
    pub contender: String,
    pub workload: String,
    /// The stage, or its subject.
    pub stage: String,
    pub since: Instant,
    /// Whether it is a timed phase.
    pub timed: bool,
    /// The last time of such a phase.
    pub usual: Option<Nanos>,
}

impl Now {
    /// The state before the first step.
    pub fn begin() -> Self {
        Self {
            cell: None,
            others: 0,
            block: 0,
            contender: String::new(),
            workload: String::new(),
            stage: String::new(),
            since: Instant::now(),
            timed: false,
            usual: None,
        }
    }
}

impl Default for Now {
    fn default() -> Self {
        Self::begin()
    }
}

/// The prefix of a time left that is an upper bound.
pub fn at_most(run: &RunInfo) -> &'static str {
    if run.plan.adaptive.is_some() {
        "at most "
    } else {
        ""
    }
}

impl View {
    /// The state of a run that starts or resumes now.
    pub fn new(run: &RunInfo, cells: usize, now: Instant) -> Self {
        Self {
            cells,
            blocks: run.plan.most_repeats(),
            at_most: at_most(run),
            budget: run.plan.budget.map(|budget| (now, budget)),
            ..Self::default()
        }
    }

    /// Renders all lines for a terminal of this size.
    pub fn text(&self, now: Instant, (columns, rows): (usize, usize), color: bool) -> String {
        // The last column stays free: some terminals wrap a line that fills it.
        let width = columns.saturating_sub(1).max(20);
        let mut lines = vec![self.progress(now, width, color)];
        lines.extend(self.current_cell(now, width, color));
        let room = rows.saturating_sub(ROWS_ABOVE + lines.len() + 2);
        lines.extend(self.comparisons(width, room.min(MAX_INCONCLUSIVE), color));
        let fitting = lines.iter().map(|line| truncate_str(line, width, "..."));
        fitting.collect::<Vec<_>>().join("\n")
    }

    /// Renders the bar and the times.
    fn progress(&self, now: Instant, width: usize, color: bool) -> String {
        let cells = self.cells.max(1);
        let bar = BAR.min(width / 4);
        let full = (self.done.min(cells) * bar) / cells;
        let bar = format!("[{}{}]", "=".repeat(full), " ".repeat(bar - full));
        let of = format!("{}/{} cells", self.done, self.cells);
        let mut parts = vec![if width < NARROW {
            of
        } else {
            format!("{} {of}", painted(&bar, color, console::Style::cyan))
        }];
        let of_budget = self.budget.map(|(began, budget)| {
            let budget = Duration::from_nanos(budget.0);
            budget.saturating_sub(now.saturating_duration_since(began))
        });
        parts.extend(self.left.map(|left| {
            format!(
                "{}{} left",
                self.at_most,
                clock(Duration::from_nanos(left.0))
            )
        }));
        parts.extend(of_budget.map(|left| format!("budget {} left", clock(left))));
        parts.join(", ")
    }

    /// Renders the cell and its current step.
    fn current_cell(&self, now: Instant, width: usize, color: bool) -> Vec<String> {
        let at = &self.now;
        if at.contender.is_empty() {
            return vec!["checking the machine".to_owned()];
        }
        let time = if at.timed {
            // The view is not redrawn until the phase ends.
            let last = at
                .usual
                .map(|usual| format!(", took {} last", usual.clock()));
            format!("timed{}", last.unwrap_or_default())
        } else {
            clock(now.saturating_duration_since(at.since))
        };
        let others = match at.others {
            0 => String::new(),
            1 => " (and another cell)".to_owned(),
            more => format!(" (and {more} other cells)"),
        };
        let time = time + &others;
        let block = format!("block {} of {}", at.block + 1, self.blocks);
        let contender = painted(&at.contender, color, console::Style::bold);
        let (workload, stage) = (&at.workload, &at.stage);
        if width < NARROW {
            return vec![
                format!("{contender} {workload}"),
                format!("{stage}, {time}; {block}"),
            ];
        }
        vec![format!("{block}: {contender} {workload}: {stage}, {time}")]
    }

    /// Renders the standings in this number of lines plus the heading.
    fn comparisons(&self, width: usize, room: usize, color: bool) -> Vec<String> {
        let StandingsSummary { open, decided } = &self.standings;
        let known: usize = decided.iter().sum();
        let all = known + open.len();
        if all == 0 {
            return Vec::new();
        }
        let [faster, slower, equivalent] = decided;
        let mut lines = vec![format!(
            "{} of {all} comparisons inconclusive; {faster} faster, {slower} slower, {equivalent} equivalent",
            open.len()
        )];
        let shown = if open.len() > room {
            room.saturating_sub(1)
        } else {
            open.len()
        };
        lines.extend(rows(&open[..shown], width, color));
        if shown < open.len() && room > 0 {
            lines.push(format!(
                "  and {} more that are inconclusive",
                open.len() - shown
            ));
        }
        lines
    }
}

/// Renders inconclusive comparisons as columns. Names are truncated so that the figures fit.
fn rows(open: &[OpenOne], width: usize, color: bool) -> Vec<String> {
    let figures: Vec<(String, String)> = open.iter().map(figures).collect();
    let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let ratio = widest(&mut figures.iter().map(|(ratio, _)| ratio.len()));
    let ends = widest(&mut figures.iter().map(|(_, ends)| ends.len()));
    let names = width.saturating_sub(2 + 2 + ratio + 2 + ends);
    let who: Vec<String> = open
        .iter()
        .map(|one| format!("{} : {}", one.contender, one.baseline))
        .collect();
    let phase = widest(
        &mut open
            .iter()
            .map(|one| console::measure_text_width(&one.phase)),
    );
    let who_wide = widest(&mut who.iter().map(|text| console::measure_text_width(text)));
    let phase = phase.min((names * 2 / 5).max(names.saturating_sub(who_wide + 2)));
    let who_wide = who_wide.min(names.saturating_sub(phase + 2));
    let each = open.iter().zip(&who).zip(&figures);
    each.map(|((one, who), (text, of))| {
        let column =
            |text: &str, width| pad_str(text, width, Alignment::Left, Some("...")).into_owned();
        let of = if one.interval {
            of.clone()
        } else {
            painted(of, color, console::Style::dim)
        };
        format!(
            "  {}  {}  {text:>ratio$}  {of}",
            column(&one.phase, phase),
            column(who, who_wide),
        )
    })
    .collect()
}

/// `1.08x` and `0.97-1.21`.
fn figures(one: &OpenOne) -> (String, String) {
    one.ratio.map_or_else(
        || ("-".to_owned(), String::new()),
        |(low, middle, high)| (format!("{middle:.2}x"), format!("{low:.2}-{high:.2}")),
    )
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

fn painted(text: &str, color: bool, how: impl Fn(console::Style) -> console::Style) -> String {
    if color {
        how(console::Style::new())
            .force_styling(true)
            .apply_to(printable(text))
            .to_string()
    } else {
        style(text).force_styling(false).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(open: usize, began: Instant) -> View {
        let one = |at: usize| OpenOne {
            phase: format!("portage/copy-{at}"),
            contender: format!("a-long-name:noatime,commit={at}"),
            baseline: "the-first".to_owned(),
            ratio: (at > 0).then_some((0.97, 1.08, 1.21)),
            interval: at > 1,
        };
        View {
            done: 12,
            cells: 30,
            blocks: 5,
            left: Some(Nanos(252_000_000_000)),
            at_most: "at most ",
            budget: Some((began, Nanos(1_200_000_000_000))),
            now: Now {
                cell: Some(7),
                others: 0,
                block: 2,
                contender: "a-long-name:noatime".to_owned(),
                workload: "portage".to_owned(),
                stage: "prepare".to_owned(),
                since: began,
                timed: false,
                usual: None,
            },
            standings: StandingsSummary {
                open: (0..open).map(one).collect(),
                decided: [3, 3, 1],
            },
        }
    }

    #[test]
    fn the_view_shows_progress_time_left_and_inconclusive_comparisons() {
        let began = Instant::now();
        let now = began + Duration::from_secs(64);
        let text = view(2, began).text(now, (90, 24), false);
        let expected = [
            "[========              ] 12/30 cells, at most 4:12 left, budget 18:56 left",
            "block 3 of 5: a-long-name:noatime portage: prepare, 1:04",
            "2 of 9 comparisons inconclusive; 3 faster, 3 slower, 1 equivalent",
            "  portage/copy-0  a-long-name:noatime,commit=0 : the-first      -  ",
            "  portage/copy-1  a-long-name:noatime,commit=1 : the-first  1.08x  0.97-1.21",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        let mut parallel = view(0, began);
        parallel.now.others = 3;
        let text = parallel.text(now, (90, 24), false);
        assert!(text.contains("prepare, 1:04 (and 3 other cells)"), "{text}");
        // A timed phase shows no elapsed time, because the view is not redrawn. It shows the last
        // time.
        let mut timed = view(0, began);
        timed.now.stage = "phase copy".to_owned();
        timed.now.timed = true;
        timed.now.usual = Some(Nanos(12_340_000_000));
        let text = timed.text(now, (90, 24), false);
        assert!(
            text.contains("portage: phase copy, timed, took 0:12.3 last"),
            "{text}"
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_rows_above_the_view_stay_free() {
        let began = Instant::now();
        for columns in [1, 20, 40, 80, 132, 250] {
            for rows in [1, 10, 24, 60] {
                for color in [false, true] {
                    let text = view(40, began).text(began, (columns, rows), color);
                    let widths = text.lines().map(console::measure_text_width);
                    let widest = widths.max().unwrap_or(0);
                    assert!(widest < columns.max(21), "{columns}: {text}");
                    let lines = text.lines().count();
                    assert!(lines <= rows.saturating_sub(8).max(4), "{rows}: {text}");
                    assert_eq!(text.contains('\u{1b}'), color, "{text:?}");
                }
            }
        }
        let narrow = view(3, began).text(began, (40, 24), false);
        assert!(
            narrow.contains("1.08x") && narrow.contains("0.97-1.21"),
            "{narrow}"
        );
        assert!(
            view(40, began)
                .text(began, (80, 24), false)
                .contains("and 29 more")
        );
    }
}
