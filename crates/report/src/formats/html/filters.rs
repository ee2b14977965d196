//! The filters of the page: contenders, workloads, cache states and phases, for all tables and
//! charts at once. Elements have the name of their contender (`data-c`) or their phase (`data-p`).
//! The script hides the elements that are not selected.

use super::escape;
use crate::document::{Block, Filter, FilterItem};
use std::fmt::Write as _;

/// Writes the filter form; nothing if there is no choice.
pub fn form(html: &mut String, filters: &[Filter], blocks: &[Block]) {
    if filters.is_empty() {
        return;
    }
    *html += "<form class=\"controls\" id=\"filters\" hidden>\n<details>\n\
              <summary>Choose what is shown</summary>\n";
    for filter in filters.iter().filter(|filter| filter.items.len() > 1) {
        fieldset(html, filter);
    }
    if writes(blocks) {
        *html += "<fieldset><legend>Times</legend>\n";
        for (show, checked) in [("both", " checked"), ("return", ""), ("durable", "")] {
            let _ = writeln!(
                html,
                r#"<label><input type="radio" name="show" value="{show}"{checked}> {show}</label>"#
            );
        }
        *html += "</fieldset>\n";
    }
    *html += "</details>\n<p class=\"hidden-count\" role=\"status\"><span></span> \
              <button type=\"button\" class=\"take\" id=\"show-all\" hidden>Show all</button></p>\n\
              </form>\n";
}

fn fieldset(html: &mut String, filter: &Filter) {
    let Filter { name, several, .. } = filter;
    let mut legend = (*several).to_owned();
    legend[..1].make_ascii_uppercase();
    let _ = writeln!(
        html,
        r#"<fieldset data-kind="{name}" data-several="{several}"><legend>{legend}</legend>"#
    );
    for FilterItem { value, of } in &filter.items {
        let value = escape(value);
        let of = of.as_ref().map_or_else(String::new, |(workload, cache)| {
            format!(
                r#" data-workload="{}" data-cache="{cache}""#,
                escape(workload)
            )
        });
        let _ = writeln!(
            html,
            r#"<label><input type="checkbox" name="{name}" value="{value}"{of} checked> {value}</label>"#
        );
    }
    *html += "</fieldset>\n";
}

/// Whether some phase has a time to durable.
fn writes(blocks: &[Block]) -> bool {
    let tables = super::bar_tables(blocks);
    let mut groups = tables.iter().flat_map(|table| &table.groups);
    groups.any(|group| group.rows.len() > 1)
}
