//! The page of a published table, that of a run beside one, and the same on the page of a run that
//! does such a table again: what the templates are filled with.

use crate::published::{self, Holding, PublishedComparison, Table, text};
use crate::reruns::{self, Because, Departure};
use crate::table::labs;
use fsdyno_model::ResultSet;
use serde::Serialize;

/// A page of either kind.
#[derive(Debug, Serialize)]
pub struct Page {
    title: String,
    /// Why labs stand apart, where there are several.
    why: Option<&'static str>,
    /// The level of its first headings.
    level: u32,
    /// The table; or the run beside it, lab by lab.
    parts: Vec<Part>,
}

/// A published table on the page of a run that does the same.
#[derive(Debug, Serialize)]
pub struct Then {
    name: String,
    title: String,
    year: u32,
    page: Page,
}

/// The tables that the plan of a run does again: by its suite, or as a rerun.
pub fn beside(set: &ResultSet, clock: bool) -> Vec<Then> {
    let rerun = reruns::of_plan(&set.run.plan).map(|(rerun, _)| rerun.name);
    let tables = published::ALL.iter().filter_map(|table| table.read().ok());
    let tables = tables
        .filter(|table| rerun.map_or(table.suite == set.run.plan.name, |name| table.name == name));
    let then = tables.filter_map(|table| {
        let against = PublishedComparison::in_each_lab(set, &table).ok()?;
        let mut page = Page::of_against(&against, clock);
        page.level = 3;
        for part in &mut page.parts {
            part.suffix = format!("-{}{}", table.name, part.suffix);
        }
        Some(Then {
            name: table.name,
            title: table.title,
            year: table.year,
            page,
        })
    });
    then.collect()
}

#[derive(Debug, Serialize)]
struct Part {
    lab: Option<String>,
    /// What tells its places on the page from those of the others.
    suffix: String,
    facts: Vec<(&'static str, String)>,
    heading: &'static str,
    legend: String,
    grids: Vec<Grid>,
    tally: String,
    conclusions: Vec<Conclusion>,
    /// How many figures of a rerun are of the order of then, and those that are not.
    departures: Option<(String, Vec<String>)>,
    apart: Vec<(&'static str, String)>,
}

/// One table; a star stands before what is best.
#[derive(Debug, Serialize)]
struct Grid {
    heading: String,
    of: &'static str,
    columns: Vec<String>,
    rows: Vec<(String, Vec<String>)>,
    note: Option<String>,
}

#[derive(Debug, Default, Serialize)]
struct Conclusion {
    says: String,
    verdict: &'static str,
    class: &'static str,
    now: String,
    because: Vec<String>,
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is handed over as a function from a text to a text"
)]
fn starred(text: String) -> String {
    format!("★ {text}")
}

impl Page {
    /// The page of a table.
    pub fn of_table(table: &Table, clock: bool) -> Self {
        let rows = table.rows.iter().map(|row| {
            let figure = |value: &Option<f64>| {
                value.map_or_else(
                    || "–".to_owned(),
                    |value| {
                        let text = text::printed(value, &row.unit, clock);
                        if row.is_best(value) {
                            starred(text)
                        } else {
                            text
                        }
                    },
                )
            };
            let name = format!("{}, {}", row.label(), row.unit);
            (name, row.values.iter().map(figure).collect())
        });
        let conclusions = table.conclusions.iter().map(|conclusion| Conclusion {
            says: conclusion.says.clone(),
            ..Conclusion::default()
        });
        let part = Part {
            lab: None,
            suffix: String::new(),
            facts: table.facts(),
            heading: "Figures",
            legend: "★ best of its row.".to_owned(),
            grids: vec![Grid {
                heading: String::new(),
                of: "phase",
                columns: table.contenders.iter().map(|c| c.label.clone()).collect(),
                rows: rows.collect(),
                note: None,
            }],
            tally: String::new(),
            conclusions: conclusions.collect(),
            departures: None,
            apart: Vec::new(),
        };
        Self {
            title: format!("{}: {} ({})", table.name, table.title, table.year),
            why: None,
            level: 2,
            parts: vec![part],
        }
    }

    /// The page of a run beside a table.
    pub fn of_against(against: &[PublishedComparison], clock: bool) -> Self {
        let parts = against.iter().enumerate();
        let title = match against {
            [one] => one.heading(),
            several => several
                .first()
                .map_or_else(String::new, PublishedComparison::heading_of_all),
        };
        Self {
            title,
            why: against
                .iter()
                .any(|of| of.lab.is_some())
                .then_some(labs::WHY),
            level: 2,
            parts: parts.map(|(at, of)| Part::of(at, of, clock)).collect(),
        }
    }
}

impl Part {
    fn of(at: usize, against: &PublishedComparison, clock: bool) -> Self {
        let columns = against.column_names();
        let grids = against.lines.iter().map(|line| {
            let rows = line.entries.iter().map(|entry| {
                let name = against.contenders[entry.contender].now.clone();
                (name, line.texts(entry, clock, starred, "≈"))
            });
            Grid {
                heading: line.heading(),
                of: "contender",
                columns: columns.clone(),
                rows: rows.collect(),
                note: line.correlation(),
            }
        });
        let conclusions = against.conclusions.iter().map(|told| Conclusion {
            says: told.says.clone(),
            verdict: told.holding.words(),
            class: match told.holding {
                Holding::Holds => "",
                Holding::Reversed | Holding::InPart => "bad",
                Holding::CannotBeSaid | Holding::NotTested => "soft",
            },
            now: told.today(),
            because: told.because.iter().map(Because::words).collect(),
        });
        Self {
            lab: against.lab.clone(),
            suffix: if at == 0 {
                String::new()
            } else {
                format!("-{}", at + 1)
            },
            // Why labs stand apart stands above all of them.
            facts: {
                let mut facts = against.facts();
                facts.retain(|(_, text)| text != labs::WHY);
                facts
            },
            heading: "Then and now",
            legend: against.legend("★", "≈"),
            grids: grids.collect(),
            tally: against.tally(),
            conclusions: conclusions.collect(),
            departures: against.rerun.as_ref().map(|rerun| {
                let told = rerun.departures.iter().map(Departure::words);
                (rerun.of_figures(), told.collect())
            }),
            apart: against.apart(),
        }
    }
}
