//! Tables of the page: figures with marks, verdicts with colours, and the times of each phase as
//! bars.

use super::super::cells::Parts;
use super::{Page, attribute, bars, breakable, escape};
use crate::document::{
    Cell, CheckedStates, Column, Compared, Group, Label, Outcome, RatioTo, Row, Table, VerdictCell,
};
use crate::terms::{Scale, grouped};
use std::fmt::Write as _;

/// From this number of columns on, ratios are below their figures.
const MANY: usize = 5;

/// The kind of a table, by its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Quantities,
    Figures,
    Verdicts,
}

impl Kind {
    fn of(table: &Table) -> Self {
        let mut cells = table.rows().flat_map(|row| &row.cells);
        let kind = cells.find_map(|cell| match cell {
            Cell::Figure(_) => Some(Self::Figures),
            Cell::Verdict(_) => Some(Self::Verdicts),
            _ => None,
        });
        kind.unwrap_or(Self::Quantities)
    }
}

impl Page {
    pub(super) fn table(&mut self, table: &Table) {
        if table.bars {
            self.keys(table);
            for group in &table.groups {
                self.phase(table, group);
            }
            return;
        }
        let kind = Kind::of(table);
        let is_switched = kind == Kind::Verdicts
            && table
                .rows()
                .flat_map(|row| &row.cells)
                .any(|cell| matches!(cell, Cell::Verdict(cell) if cell.to_base.is_some()));
        if is_switched {
            self.switch(table);
        }
        let class = match kind {
            Kind::Quantities => "costs sortable",
            Kind::Figures if table.columns.len() > MANY => "glance many",
            Kind::Figures => "glance",
            Kind::Verdicts => "overview sortable",
        };
        let name = escape(&table.name);
        let _ = writeln!(
            self.html,
            "<div class=\"scroll\" role=\"region\" aria-label=\"{name}\" tabindex=\"0\">\n\
             <table class=\"{class}\">"
        );
        self.columns(table, kind);
        for group in &table.groups {
            self.group(table, group, kind);
        }
        if !table.summary.is_empty() {
            self.html += "<tfoot>\n";
            for row in &table.summary {
                self.row(table, None, row, kind);
            }
            self.html += "</tfoot>\n";
        }
        self.html += "</table>\n</div>\n";
        if is_switched {
            self.html += "</div>\n";
        }
    }

    /// Adds the switch for the reference of ratios; it belongs to the table.
    fn switch(&mut self, table: &Table) {
        self.switches += 1;
        let name = format!("to-{}", self.switches);
        let baseline = table.columns.first();
        let baseline = escape(baseline.map_or("", |column| &column.label.full));
        let _ = writeln!(
            self.html,
            r#"<div class="switched">
<div class="switch" role="group" aria-label="What ratios are to">
<span class="soft">Ratios to</span>
<label><input type="radio" name="{name}" value="base" checked> {baseline}</label>
<label><input type="radio" name="{name}" value="best"> the lowest of each phase</label>
</div>"#
        );
    }

    fn columns(&mut self, table: &Table, kind: Kind) {
        let sort = if kind == Kind::Figures {
            ""
        } else {
            " data-sort"
        };
        let corner = table.rows_are;
        let _ = write!(self.html, r#"<thead><tr><th scope="col">{corner}</th>"#);
        for column in &table.columns {
            let class = if column.is_text {
                ""
            } else {
                r#" class="num""#
            };
            let contender = contender(&column.label);
            let label = name(&column.label);
            let _ = write!(
                self.html,
                r#"<th scope="col"{class}{contender}{sort}>{label}</th>"#
            );
        }
        self.html += "</tr></thead>\n";
    }

    fn group(&mut self, table: &Table, group: &Group, kind: Kind) {
        let place = attribute("data-p", group.place.as_ref());
        let _ = writeln!(self.html, "<tbody{place}>");
        let columns = table.columns.len() + 1;
        if !group.heading.is_empty() {
            let heading = escape(&group.heading);
            let unit = group.scale_as(self.style.clock);
            let unit = unit.map_or_else(String::new, |scale| format!(", {}", scale.unit()));
            let about = if group.about.is_empty() {
                unit
            } else {
                format!("{unit} {}", escape(&group.about))
            };
            let _ = writeln!(
                self.html,
                r#"<tr class="group"><th scope="rowgroup" colspan="{columns}">{heading}<span class="soft">{about}</span></th></tr>"#
            );
        }
        for row in &group.rows {
            self.row(table, Some(group), row, kind);
        }
        if let Some(note) = &group.note {
            let note = escape(note);
            let _ = writeln!(
                self.html,
                r#"<tr class="group"><td class="soft" colspan="{columns}">{note}</td></tr>"#
            );
        }
        self.html += "</tbody>\n";
    }

    fn row(&mut self, table: &Table, group: Option<&Group>, row: &Row, kind: Kind) {
        let more = if row.detail.is_some() {
            r#" class="more""#
        } else {
            ""
        };
        let place = attribute("data-p", row.place.as_ref());
        let contender = contender(&row.label);
        let label = name(&row.label);
        let label = match &row.detail {
            Some(detail) if row.label.is_contender => {
                format!(r#"{label} <span class="soft">{}</span>"#, escape(detail))
            }
            Some(detail) => format!(
                r#"<span class="unseen">{label}</span> <span class="soft">{}</span>"#,
                escape(detail)
            ),
            None => label,
        };
        let _ = write!(
            self.html,
            r#"<tr{more}{place}{contender}><th scope="row">{label}</th>"#
        );
        if let Some(reason) = &row.instead {
            let columns = table.columns.len();
            let _ = write!(
                self.html,
                r#"<td colspan="{columns}">{}</td>"#,
                escape(reason)
            );
        }
        let parts = self.style.row(group, row);
        for ((cell, parts), column) in row.cells.iter().zip(&parts).zip(&table.columns) {
            self.cell(cell, parts, column, kind);
        }
        self.html += "</tr>\n";
    }

    fn cell(&mut self, cell: &Cell, parts: &Parts, column: &Column, kind: Kind) {
        let contender = contender(&column.label);
        match cell {
            Cell::Verdict(verdict) => self.verdict(verdict, &contender),
            Cell::States(states) => self.states(states, &contender),
            Cell::Figure(figure) => {
                let best = emphasis(parts);
                let marks = marks(parts);
                let spread = in_brackets(&parts.spread, "spread", [" (", ")"]);
                let interval = in_brackets(&parts.interval, "interval", [" [", "]"]);
                let ratio = if parts.ratio.is_empty() && interval.is_empty() {
                    String::new()
                } else {
                    format!(r#" <span class="ratio">{}{interval}</span>"#, parts.ratio)
                };
                let value = sort_value(Some(figure.value));
                let _ = write!(
                    self.html,
                    r#"<td class="num{best}"{contender}{value}><span class="median">{marks}{}</span>{spread}{ratio}</td>"#,
                    parts.value
                );
            }
            cell => {
                let class = match (kind, cell) {
                    (Kind::Verdicts, Cell::Unknown) => r#" class="soft""#,
                    (_, Cell::Unknown) => r#" class="num soft""#,
                    (
                        Kind::Quantities,
                        Cell::Outcome(Outcome::Slower | Outcome::More | Outcome::Loss),
                    ) => r#" class="bad""#,
                    _ if column.is_text => r#" class="text""#,
                    (Kind::Figures, _) => r#" class="num soft""#,
                    _ => "",
                };
                let text = match (kind, cell) {
                    (Kind::Verdicts, Cell::Unknown) => "not measured".to_owned(),
                    _ => escape(&parts.value),
                };
                let value = sort_value(cell.sort_value());
                let _ = write!(self.html, "<td{class}{contender}{value}>{text}</td>");
            }
        }
    }

    /// Checked crash states; a number of violations is a link to the first finding.
    fn states(&mut self, cell: &CheckedStates, contender: &str) {
        let class = if cell.violations > 0 { "bad" } else { "good" };
        let violations = grouped(cell.violations);
        let violations = match &cell.finding {
            Some(id) => format!("<a href=\"#{}\">{violations}</a>", escape(id)),
            None => violations,
        };
        let value = sort_value(Some(cell.violations as f64));
        let _ = write!(
            self.html,
            r#"<td class="num states {class}"{contender}{value}><b>{violations}</b> <span class="soft">/ {} / {}</span></td>"#,
            grouped(cell.states),
            grouped(cell.trees)
        );
    }

    fn verdict(&mut self, cell: &VerdictCell, contender: &str) {
        let number = |of: Option<Compared>| of.and_then(|to| to.ratio);
        let base = sort_value(number(cell.to_base.or(Some(cell.to_best))));
        let best = number(Some(cell.to_best)).map_or_else(String::new, short);
        let _ = write!(self.html, r#"<td{contender}{base} data-best="{best}">"#);
        let mut name = String::new();
        if let Some(contender) = &cell.contender {
            name = format!("<b>{}</b><br>", breakable(contender));
            if let Some(time) = cell.time_ns {
                let scale = Scale::of_times(std::iter::once(time));
                let _ = write!(name, "{} {}<br>", scale.show(time), scale.unit());
            }
        }
        if let Some(to_base) = cell.to_base {
            let text = self.compared(to_base, "baseline");
            let _ = write!(
                self.html,
                r#"<div class="to-base {}">{text}</div>"#,
                class(to_base)
            );
        }
        let hides = attribute("data-c", cell.contender.as_ref());
        let text = self.compared(cell.to_best, "lowest");
        let _ = write!(
            self.html,
            r#"<div class="to-best {}"{hides}>{name}{text}</div>"#,
            class(cell.to_best)
        );
        self.html += "</td>";
    }

    fn compared(&self, compared: Compared, itself: &str) -> String {
        let ratio = match (compared.ratio, compared.outcome) {
            (Some(ratio), Some(outcome)) if outcome != Outcome::Equivalent => {
                self.style.judged(ratio, Some(outcome))
            }
            (Some(ratio), _) => self.style.ratio(ratio),
            (None, Some(Outcome::Itself)) => self.style.ratio(1.0),
            (None, _) => "–".to_owned(),
        };
        let interval = compared.interval.map_or_else(String::new, |(low, high)| {
            let range = self.style.range(low, high);
            format!(r#"<span class="interval">{range}</span>"#)
        });
        let sign = match compared.outcome {
            Some(Outcome::Faster | Outcome::Fewer | Outcome::Loss) => "▼",
            Some(Outcome::Slower | Outcome::More | Outcome::Gain) => "▲",
            Some(Outcome::Equivalent) => "≈",
            Some(
                Outcome::Inconclusive
                | Outcome::TooFew
                | Outcome::OneDraw
                | Outcome::Itself
                | Outcome::Negligible,
            )
            | None => "",
        };
        let sign = if sign.is_empty() {
            String::new()
        } else {
            format!(r#"<span aria-hidden="true">{sign}</span> "#)
        };
        // An inconclusive ratio has brackets, which the legend explains once.
        let is_decided = |outcome: &Outcome| {
            use Outcome::{Inconclusive, OneDraw, TooFew};
            !matches!(outcome, Inconclusive | TooFew | OneDraw)
        };
        let decided = compared.outcome.filter(is_decided);
        let label = decided.map_or_else(String::new, |outcome| {
            let word = match outcome {
                Outcome::Itself => itself,
                outcome => outcome.word(),
            };
            format!(
                r#"<span class="verdict {}">{sign}{word}</span>"#,
                class(compared)
            )
        });
        format!(r#"<span class="ratio">{ratio}</span>{label}{interval}"#)
    }

    /// The times of a phase: a row for each contender, with bars.
    fn phase(&mut self, table: &Table, group: &Group) {
        let Some(scale) = group.scale_as(self.style.clock) else {
            return;
        };
        let figures = || {
            group
                .rows
                .iter()
                .flat_map(|row| row.cells.iter().filter_map(Cell::figure))
        };
        let repeated = figures().any(|figure| figure.spread.is_some());
        let compares = figures().any(|figure| figure.ratio != RatioTo::None);
        let writes = if group.rows.len() > 1 { " writes" } else { "" };
        let place = attribute("data-p", group.place.as_ref());
        let unit = scale.unit();
        let bar_scale = bars::BarScale::of(group);
        let axis = bar_scale.axis();
        let (name, about) = (escape(&group.heading), escape(&group.about));
        let about = match bar_scale.about() {
            Some(scale) if about.is_empty() => scale,
            Some(scale) => format!("{about}; {scale}"),
            None => about,
        };
        let region = escape(group.place.as_ref().unwrap_or(&group.heading));
        let _ = write!(
            self.html,
            r#"<div class="phase{writes}"{place}>
<div class="scroll" role="region" aria-label="{region}" tabindex="0">
<table class="times sortable" role="table" style="--unit: ' {unit}'">
<caption><span class="cap"><b>{name}</b> <span class="soft">{about}</span></span></caption>
<thead role="rowgroup"><tr role="row"><th scope="col" role="columnheader" class="who">contender</th><th scope="col" role="columnheader" class="chart"><span class="unseen">bars</span>{axis}</th>"#
        );
        for row in &group.rows {
            let measure = &row.label.full;
            let head = |class: &str, sort: &str, text: &str| {
                format!(
                    r#"<th scope="col" role="columnheader" class="num {measure}{class}"{sort}>{text}</th>"#
                )
            };
            self.html += &head("", " data-sort", &format!("{measure}, {unit}"));
            if repeated {
                self.html += &head("", "", "min–max");
            }
            if compares {
                self.html += &head("", " data-sort", "ratio");
            }
        }
        self.html += "</tr></thead>\n<tbody role=\"rowgroup\">\n";
        for (at, column) in table.columns.iter().enumerate() {
            let (hides, label) = (contender(&column.label), breakable(&column.label.full));
            let bars = bars::bars(group, at, bar_scale, scale, self.dots);
            let bars = if bars.is_empty() {
                r#"<span class="soft">not measured</span>"#.to_owned()
            } else {
                bars
            };
            let _ = write!(
                self.html,
                r#"<tr role="row"{hides}><th scope="row" role="rowheader" class="who">{label}</th><td role="cell" class="chart">{bars}</td>"#
            );
            for row in &group.rows {
                let cell = &row.cells[at];
                let parts = self.style.parts(cell, Some(scale));
                self.time(row, cell, &parts, (repeated, compares));
            }
            self.html += "</tr>\n";
        }
        self.html += "</tbody>\n</table>\n</div>\n";
        if self.drawings.any(&group.charts) {
            let _ = writeln!(
                self.html,
                "<details class=\"unfold\"><summary>Charts of {name}</summary>\n<div class=\"charts\">"
            );
            for chart in &group.charts {
                self.drawings.write(&mut self.html, chart);
            }
            self.html += "</div>\n</details>\n";
        }
        self.html += "</div>\n";
    }

    /// One time of one contender, in up to three cells.
    fn time(&mut self, row: &Row, cell: &Cell, parts: &Parts, (repeated, compares): (bool, bool)) {
        let measure = &row.label.full;
        let best = emphasis(parts);
        let value = sort_value(cell.sort_value());
        let marks = marks(parts);
        let _ = write!(
            self.html,
            r#"<td role="cell" class="num median {measure}{best}"{value}>{marks}{}</td>"#,
            parts.value
        );
        if repeated {
            let _ = write!(
                self.html,
                r#"<td role="cell" class="num spread {measure}">{}</td>"#,
                parts.spread
            );
        }
        if compares {
            let grey = if parts.one_draw { " soft" } else { "" };
            let ratio = match cell.figure().map(|figure| figure.ratio) {
                Some(RatioTo::Of { middle, .. }) => Some(middle),
                Some(RatioTo::Baseline) => Some(1.0),
                _ => None,
            };
            let (ratio, interval) = (
                sort_value(ratio),
                in_brackets(&parts.interval, "interval", ["", ""]),
            );
            let interval = if interval.is_empty() {
                interval
            } else {
                format!("<br>{interval}")
            };
            let _ = write!(
                self.html,
                r#"<td role="cell" class="num ratio {measure}{grey}"{ratio}>{}{interval}</td>"#,
                parts.ratio
            );
        }
    }
}

/// The CSS class of the fastest, or of one draw.
fn emphasis(parts: &Parts) -> &'static str {
    match parts {
        Parts { best: true, .. } => " best",
        Parts { one_draw: true, .. } => " soft",
        _ => "",
    }
}

fn marks(parts: &Parts) -> String {
    let mut marks = String::new();
    if parts.warned {
        marks += r##"<a class="mark" href="#warnings" title="see Warnings">!</a>"##;
    }
    if parts.sensitive {
        marks += r##"<a class="mark" href="#variants" title="see Variants of the model">^</a>"##;
    }
    if parts.best {
        marks += r#"<span class="mark">★</span>"#;
    }
    marks
}

fn in_brackets(text: &str, class: &str, [open, close]: [&str; 2]) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!(r#"<span class="{class}">{open}{text}{close}</span>"#)
}

/// A label. The name of a contender may break after its separators.
fn name(label: &Label) -> String {
    let name = if label.is_contender {
        breakable(&label.full)
    } else {
        escape(&label.full)
    };
    match &label.page {
        Some(page) => format!(r#"<a href="{}">{name}</a>"#, escape(page)),
        None => name,
    }
}

/// The contender, for the filter script.
fn contender(label: &Label) -> String {
    attribute("data-c", Some(&label.full).filter(|_| label.is_contender))
}

/// The CSS class of a verdict.
fn class(compared: Compared) -> &'static str {
    match compared.outcome {
        Some(Outcome::Itself) => "itself",
        Some(outcome) if outcome.is_better() == Some(true) => "faster",
        Some(outcome) if outcome.is_better() == Some(false) => "slower",
        Some(Outcome::Equivalent | Outcome::Negligible) => "equivalent",
        Some(Outcome::Inconclusive | Outcome::TooFew | Outcome::OneDraw) => "undecided",
        _ => "plain",
    }
}

fn sort_value(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| format!(" data-v=\"{}\"", short(value)))
}

/// A sort key with six digits.
fn short(number: f64) -> String {
    let short = format!("{number:.5e}").parse().unwrap_or(number);
    let (plain, scientific) = (format!("{short}"), format!("{short:e}"));
    if plain.len() <= scientific.len() {
        plain
    } else {
        scientific
    }
}
