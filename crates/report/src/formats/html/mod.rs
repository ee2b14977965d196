//! One page that needs nothing else: no request leaves it, and without JavaScript it only loses
//! sorting, filtering and copying. The template, its style and its script lie in `data/`.

mod bars;
mod charts;
mod commands;
mod costs;
mod disks;
mod filters;
mod fragments;
mod glance;
mod notes;
mod overview;
mod part;
mod published;
mod view;
mod why;

use crate::published::{PublishedComparison, Table};
use crate::{Options, ReportError};
use fsdyno_model::ResultSet;
use minijinja::{AutoEscape, Environment, HtmlEscape, Value};
use serde::Serialize;

/// Writes the page.
pub fn render(set: &ResultSet, options: &Options) -> Result<Vec<u8>, ReportError> {
    let page = view::Page::of(set, options).and_then(|page| fill("report.html", &page));
    page.map_err(|source| ReportError::Page {
        run: set.run.id.clone(),
        source,
    })
}

/// Writes the page of a published table.
pub fn published(table: &Table, options: &Options) -> Result<Vec<u8>, minijinja::Error> {
    let page = published::Page::of_table(table, options.clock);
    fill("published.html", &page)
}

/// Writes the page of a run beside a published table.
pub fn against(
    against: &[PublishedComparison],
    options: &Options,
) -> Result<Vec<u8>, minijinja::Error> {
    let page = published::Page::of_against(against, options.clock);
    fill("published.html", &page)
}

fn fill(template: &str, page: &impl Serialize) -> Result<Vec<u8>, minijinja::Error> {
    let mut environment = Environment::new();
    // What is put into the page is escaped; style and script are included as they are.
    environment.set_auto_escape_callback(|name| match name {
        "report.css" | "report.js" => AutoEscape::None,
        _ => AutoEscape::Html,
    });
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_filter("breakable", breakable);
    environment.add_filter("short", short);
    environment.add_template("report.html", include_str!("../../../data/report.html"))?;
    environment.add_template("lab.html", include_str!("../../../data/lab.html"))?;
    let overview = include_str!("../../../data/overview.html");
    environment.add_template("overview.html", overview)?;
    let beside = include_str!("../../../data/beside.html");
    environment.add_template("beside.html", beside)?;
    let published = include_str!("../../../data/published.html");
    environment.add_template("published.html", published)?;
    environment.add_template("report.css", include_str!("../../../data/report.css"))?;
    let dark = "@media screen and (prefers-color-scheme: dark)";
    environment.add_template_owned("charts.css", crate::charts::svg::theme::of_page(dark))?;
    environment.add_template("report.js", include_str!("../../../data/report.js"))?;
    let text = environment.get_template(template)?.render(page)?;
    Ok(text.into_bytes())
}

/// A number to sort by, in six digits.
fn short(number: f64) -> String {
    let short = format!("{number:.5e}").parse().unwrap_or(number);
    let (plain, scientific) = (format!("{short}"), format!("{short:e}"));
    if plain.len() <= scientific.len() {
        plain
    } else {
        scientific
    }
}

/// A label, escaped, that may break behind its separators and nowhere else.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a filter takes its argument by value"
)]
fn breakable(label: String) -> Value {
    let mut html = String::with_capacity(label.len() + 16);
    for part in label.split_inclusive([',', ':', '@', '/', ' ']) {
        html.push_str(&HtmlEscape(part).to_string());
        html.push_str("<wbr>");
    }
    Value::from_safe_string(html)
}
