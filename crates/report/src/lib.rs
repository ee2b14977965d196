//! Reports: the contents of a store become a [`document`], which is rendered as text, page or
//! table.
//!
//! Each kind of report builds a document: a run ([`run_report`]), runs compared with each other
//! ([`compare`]), a run compared with a published table ([`published_comparison`]) or shown next to
//! tables of the user ([`own_comparison`]), the causes of a difference ([`why`]), the history of a store ([`history`]), a series of crash tests ([`crash`]),
//! an exploration of crash states ([`exploration`]), faults of a disk ([`disk_faults`]), advice on a
//! choice ([`advice`]), the price of protection ([`price`]), answers that are shipped ([`atlas`]). The renderers are in [`formats`]. A [`site`] is made of the pages of a
//! store. This crate has no SQL, no clock and no terminal detection: the same input gives the same
//! bytes.

pub mod advice;
pub mod atlas;
pub mod charts;
pub mod compare;
pub mod comparison;
pub mod crash;
pub mod disk_faults;
pub mod document;
pub mod exploration;
mod figures;
mod format;
pub mod formats;
pub mod full_disks;
pub mod functions;
pub mod history;
mod lists;
mod options;
pub mod own_comparison;
pub mod power_losses;
pub mod price;
pub mod processor;
pub mod published;
pub mod published_comparison;
pub mod reruns;
mod resolution;
pub mod run_charts;
pub mod run_json;
pub mod run_report;
pub mod schemas;
pub mod site;
mod terms;
pub mod why;

pub use format::{Format, ReportError};
pub use options::{Advice, Assets, LINES, Options};

use advice::Recommendation;
use atlas::{AtlasAnswers, AtlasDiff};
use document::Document;
use formats::{Report, bencher, bonnie, json, openmetrics, terminal};
use fsdyno_model::{Exploration, FaultTests, ResultSet, Series};
use functions::Functions;
use functions::sampled::SampledFunctions;
use history::History;
use own_comparison::OwnComparison;
use price::Prices;
use published::Published;
use published_comparison::PublishedComparison;
use reruns::AblationSummary;
use run_json::RunReport;
use run_report::first_screen::{self, Rows, WARNINGS};
use why::Why;

/// A report in a format, or the reason why it cannot be written.
pub type Rendered = Result<Vec<u8>, ReportError>;

/// Renders the report of a run.
pub fn render(set: &ResultSet, format: Format, options: &Options) -> Rendered {
    match format {
        Format::BonnieCsv => bonnie::render(set),
        Format::Bencher => bencher::render(set),
        Format::OpenMetrics => Ok(openmetrics::render(set)),
        Format::Json => json::render(&RunReport::of(set)).map_err(|source| ReportError::Json {
            what: format!("run {}", set.run.id),
            source,
        }),
        Format::Terminal if !options.long => Ok(first_screen(set, options)),
        format => {
            let report = Report {
                what: &format!("run {}", set.run.id),
                document: &|| run_report::document(set, options),
                figures: &|| run_report::figures(set),
            };
            formats::render(&report, set, format, options)
        }
    }
}

/// Renders the first screen of a run with the most detailed table that fits, and as many warnings
/// as fit with that.
fn first_screen(set: &ResultSet, options: &Options) -> Vec<u8> {
    let forms = Rows::ALL.into_iter();
    let forms = forms.flat_map(|rows| (1..=WARNINGS).rev().map(move |warnings| (rows, warnings)));
    let screens = forms.map(|form| first_screen::document(set, options, form));
    let fits = |screen: &Document| !terminal::splits_a_table(screen, options);
    first_that_fits(screens, options, fits)
}

/// Renders the first of these screens that has at most the lines of the options and fits otherwise,
/// or else the last one.
fn first_that_fits(
    screens: impl Iterator<Item = Document>,
    options: &Options,
    fits: impl Fn(&Document) -> bool,
) -> Vec<u8> {
    let mut text = Vec::new();
    for screen in screens {
        text = terminal::render(&screen, options);
        if lines(&text) <= options.lines && fits(&screen) {
            break;
        }
    }
    text
}

fn lines(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').count() - 1
}

/// Renders runs in virtual time below the report of the measured run that they belong to: a row for
/// each, with its label. With the first screen they have at most the lines of the options: without
/// room for the table, only the names of the runs are left, or nothing.
pub fn render_model_disks(
    measured: &ResultSet,
    sets: &[(String, ResultSet)],
    options: &Options,
) -> Vec<u8> {
    let used = lines(&first_screen(measured, options));
    let documents = first_screen::model_disks(sets, options).into_iter();
    let mut texts = documents.map(|document| terminal::render(&document, options));
    let fits = |text: &Vec<u8>| options.long || used + lines(text) <= options.lines;
    texts.find(fits).unwrap_or_default()
}

/// Renders a published table. CSV has the figures as they were published.
pub fn render_published(published: &Published, format: Format, options: &Options) -> Rendered {
    if format == Format::Csv {
        return Ok(published.figures.as_bytes().to_vec());
    }
    let table = published.read().map_err(|error| ReportError::Published {
        table: published.name.to_owned(),
        why: error.to_string(),
    })?;
    let report = Report {
        what: &format!("the published table {}", published.name),
        document: &|| published::document(&table),
        figures: &|| published::figures(&table),
    };
    formats::render(&report, &table, format, options)
}

/// Renders a run compared with a published table, one comparison for each lab; on a terminal on one
/// screen. With several labs, JSON is an array.
pub fn render_comparison(
    comparisons: &[PublishedComparison],
    format: Format,
    options: &Options,
) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = published_comparison::SCREENS.into_iter();
        let screens = screens.map(|screen| published_comparison::screen(comparisons, screen));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let table = comparisons.first().map_or("", |one| &one.table);
    let report = Report {
        what: &format!("the comparison with the published table {table}"),
        document: &|| published_comparison::document(comparisons),
        figures: &|| published_comparison::figures(comparisons),
    };
    match comparisons {
        [one] => formats::render(&report, one, format, options),
        several => formats::render(&report, &several, format, options),
    }
}

/// Renders a run next to tables of the user.
pub fn render_own_comparison(
    comparison: &OwnComparison,
    format: Format,
    options: &Options,
) -> Rendered {
    let report = Report {
        what: &format!(
            "run {} next to {}",
            comparison.run,
            comparison.tables.join(", ")
        ),
        document: &|| own_comparison::document(comparison),
        figures: &|| own_comparison::figures(comparison),
    };
    formats::render(&report, comparison, format, options)
}

/// Renders an ablation, on a terminal on one screen.
pub fn render_ablation(ablation: &AblationSummary, format: Format, options: &Options) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = reruns::SCREENS.into_iter();
        let screens = screens.map(|(findings, figures)| ablation.screen(findings, figures));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let report = Report {
        what: &format!("the ablation of {}", ablation.rerun),
        document: &|| ablation.document(),
        figures: &|| ablation.figures(),
    };
    formats::render(&report, ablation, format, options)
}

/// Renders the causes of the difference between two contenders, on a terminal on one screen.
pub fn render_why(why: &Why, format: Format, options: &Options) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = why::document::SCREENS.into_iter();
        let screens = screens.map(|screen| why::document::screen(why, screen));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let report = Report {
        what: &format!("the difference between two contenders of {}", why.run),
        document: &|| why::document::document(why),
        figures: &|| why::document::figures(why),
    };
    formats::render(&report, why, format, options)
}

/// Renders the functions that carry a difference, on a terminal on one screen.
pub fn render_functions(functions: &Functions, format: Format, options: &Options) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = functions::document::ROWS.into_iter();
        let screens = screens.map(|rows| functions::document::document(functions, rows));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let report = Report {
        what: "the functions of a difference",
        document: &|| functions::document::document(functions, functions::document::rows(format)),
        figures: &|| functions::document::functions_table(functions, usize::MAX),
    };
    formats::render(&report, functions, format, options)
}

/// Renders the functions of two sampled profiles, on a terminal on one screen.
pub fn render_sampled(functions: &SampledFunctions, format: Format, options: &Options) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = functions::document::ROWS.into_iter();
        let screens = screens.map(|rows| functions::sampled::document(functions, rows));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let rows = functions::document::rows(format);
    let report = Report {
        what: "the functions of a difference",
        document: &|| functions::sampled::document(functions, rows),
        figures: &|| functions::sampled::table(functions, false, usize::MAX),
    };
    formats::render(&report, functions, format, options)
}

/// Renders a comparison of runs with the first of them, and the results of the thresholds.
pub fn render_run_comparison(
    comparison: &compare::RunComparison,
    checked: &[compare::Checked<'_>],
    format: Format,
    options: &Options,
) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = compare::ROWS.into_iter();
        let screens = screens.map(|rows| compare::document(comparison, checked, rows));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let thresholds = checked.iter().map(Into::into).collect();
    let value = compare::Comparisons::of(&[(comparison.clone(), thresholds)]);
    let report = Report {
        what: &format!(
            "the comparison of {} with {}",
            comparison.run, comparison.base
        ),
        document: &|| compare::document(comparison, checked, usize::MAX),
        figures: &|| compare::figures(comparison),
    };
    formats::render(&report, &value, format, options)
}

/// Renders a history.
pub fn render_history(history: &History, format: Format, options: &Options) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = history::SCREENS.into_iter();
        let screens = screens.map(|screen| history::document(history, screen));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let report = Report {
        what: "the history",
        document: &|| history::document(history, history::Screen::ALL),
        figures: &|| history::figures(history),
    };
    formats::render(&report, history, format, options)
}

/// Renders a series of crash tests, on a terminal on one screen.
pub fn render_crash(series: &Series, format: Format, options: &Options) -> Rendered {
    if series.info.activities.is_some() {
        return render_power_losses(series, format, options);
    }
    if format == Format::Terminal && !options.long {
        let screens = crash::ROWS.into_iter();
        let screens = screens.map(|rows| crash::screen(series, rows));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let report = Report {
        what: &format!("the series {}", series.info.id),
        document: &|| crash::document(series),
        figures: &|| crash::figures(&series.info, &series.power_cuts),
    };
    formats::render(&report, series, format, options)
}

/// Renders what power cuts during activities took, on a terminal on one screen.
fn render_power_losses(series: &Series, format: Format, options: &Options) -> Rendered {
    let is_screen = format == Format::Terminal && !options.long;
    let report = Report {
        what: &format!("the series {}", series.info.id),
        document: &|| {
            if is_screen {
                power_losses::screen(series)
            } else {
                power_losses::document(series)
            }
        },
        figures: &|| power_losses::figures(series),
    };
    formats::render(&report, series, format, options)
}

/// Renders a series of crash tests with every power cut and its environment.
pub fn render_crash_details(series: &Series, format: Format, options: &Options) -> Rendered {
    let has_activities = series.info.activities.is_some();
    let report = Report {
        what: &format!("the series {}", series.info.id),
        document: &|| {
            if has_activities {
                power_losses::details(series)
            } else {
                crash::details(series)
            }
        },
        figures: &|| {
            if has_activities {
                power_losses::figures(series)
            } else {
                crash::each(&series.info, &series.power_cuts)
            }
        },
    };
    formats::render(&report, series, format, options)
}

/// Renders an exploration of crash states, on a terminal on one screen.
pub fn render_exploration(
    exploration: &Exploration,
    format: Format,
    options: &Options,
) -> Rendered {
    if format == Format::Terminal && !options.long {
        let screens = exploration::SCREENS.into_iter();
        let screens = screens.map(|screen| exploration::screen(exploration, screen));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let report = Report {
        what: &format!("the exploration {}", exploration.info.id),
        document: &|| exploration::document(exploration),
        figures: &|| exploration::figures(exploration),
    };
    formats::render(&report, exploration, format, options)
}

/// Renders what came of faulty or full disks, on a terminal on one screen.
pub fn render_disk_faults(tests: &FaultTests, format: Format, options: &Options) -> Rendered {
    let report = match &tests.info.filling {
        None => Report {
            what: "the faults of a disk",
            document: &|| disk_faults::document(tests, options.long),
            figures: &|| disk_faults::figures(tests),
        },
        Some(filling) => Report {
            what: "the full disks",
            document: &move || full_disks::document(tests, filling),
            figures: &|| full_disks::figures(tests, filling),
        },
    };
    formats::render(&report, tests, format, options)
}

/// Renders advice, on a terminal on one screen.
pub fn render_advice(advice: &Recommendation, format: Format, options: &Options) -> Rendered {
    if format == Format::Terminal {
        let screens = advice::ROWS.into_iter();
        let screens = screens.map(|rows| advice::document(advice, rows));
        return Ok(first_that_fits(screens, options, |_| true));
    }
    let report = Report {
        what: "the advice",
        document: &|| advice::document(advice, usize::MAX),
        figures: &|| advice::figures(advice),
    };
    formats::render(&report, advice, format, options)
}

/// Renders the prices of protections.
pub fn render_prices(prices: &Prices, format: Format, options: &Options) -> Rendered {
    let report = Report {
        what: "the price of protection",
        document: &|| price::document(prices),
        figures: &|| price::figures(prices),
    };
    formats::render(&report, prices, format, options)
}

/// Renders answers of an atlas.
pub fn render_atlas(answers: &AtlasAnswers, format: Format, options: &Options) -> Rendered {
    let report = Report {
        what: "the atlas",
        document: &|| answers.document(),
        figures: &|| answers.figures(),
    };
    formats::render(&report, answers, format, options)
}

/// Renders the differences between two atlases for a terminal, on one screen unless it is long.
pub fn render_atlas_diff(diff: &AtlasDiff, options: &Options) -> Vec<u8> {
    let rows = if options.long { usize::MAX } else { 12 };
    terminal::render(&diff.document(rows), options)
}
