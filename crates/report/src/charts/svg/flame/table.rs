//! The functions of a flame graph as a table below it: the exact figures of all their call paths.

use super::fitting;
use crate::charts::flame::Flame;
use crate::charts::svg::MARGIN;
use crate::charts::svg::canvas::{LINE, escaped, n};
use crate::terms;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The widths of a column of figures and of the narrowest one of names, pixels.
const FIGURE: f64 = 118.0;
const NAME: f64 = 110.0;

/// A function by all call paths.
#[derive(Debug, Clone)]
struct Row {
    own: Vec<u64>,
    /// With all that it calls.
    total: Vec<u64>,
}

/// Draws the functions with the largest differences of their own figures, or the largest ones of a single
/// contender. Returns where it ends.
pub(super) fn draw(flame: &Flame, rows: usize, (wide, top): (f64, f64), body: &mut String) -> f64 {
    let mut all: Vec<(&str, Row)> = functions(flame).into_iter().collect();
    let key = |row: &Row| match row.own[..] {
        [a, b] => a.abs_diff(b),
        _ => row.own.iter().sum(),
    };
    // Stable: equal ones stay in the order of the alphabet.
    all.sort_by_key(|(_, row)| Reverse(key(row)));
    all.retain(|(_, row)| key(row) > 0);
    let columns = headings(flame);
    let inner = wide - 2.0 * MARGIN;
    let fits = |count: &usize| *count as f64 * FIGURE + NAME <= inner;
    let least = flame.contenders.len();
    let shown = (least..=columns.len()).rev().find(fits).unwrap_or(least);
    let figure_width = FIGURE.min((inner - NAME).max(0.0) / shown.max(1) as f64);
    let names = inner - shown as f64 * figure_width;
    let mut y = top + LINE;
    let mut line = |class: &str, name: &str, figures: &[String]| {
        y += LINE + 2.0;
        let (x, at) = (n(MARGIN), n(y));
        let name = escaped(&fitting(name, names - 6.0));
        let _ = write!(
            body,
            "<text class=\"{class}\" x=\"{x}\" y=\"{at}\">{name}</text>"
        );
        for (column, figure) in (1..).zip(&figures[..shown]) {
            let x = n(MARGIN + names + f64::from(column) * figure_width);
            let figure = escaped(&fitting(figure, figure_width - 6.0));
            let _ = write!(
                body,
                "<text class=\"{class} r\" x=\"{x}\" y=\"{at}\">{figure}</text>"
            );
        }
        body.push('\n');
    };
    let about = format!("function, its own {}", flame.unit);
    line("k", &about, &columns);
    for (name, row) in all.iter().take(rows) {
        line("", name, &figures(row));
    }
    if let Some(left) = all.len().checked_sub(rows).filter(|left| *left > 0) {
        let more = format!("{} more", terms::count(left, "function"));
        line("k", &more, &vec![String::new(); columns.len()]);
    }
    y
}

/// The headings of all columns, those that give way last.
fn headings(flame: &Flame) -> Vec<String> {
    let own = flame.contenders.iter().cloned();
    let difference = (flame.contenders.len() == 2).then(|| "difference".to_owned());
    let total = flame.contenders.iter();
    let total = total.map(|contender| format!("{contender}, with callees"));
    own.chain(difference).chain(total).collect()
}

fn figures(row: &Row) -> Vec<String> {
    let difference = match row.own[..] {
        [a, b] => {
            let sign = if b < a { "-" } else { "+" };
            Some(format!("{sign}{}", terms::grouped(a.abs_diff(b))))
        }
        _ => None,
    };
    let grouped = |figures: &[u64]| figures.iter().map(|one| terms::grouped(*one)).collect();
    let (own, total): (Vec<String>, Vec<String>) = (grouped(&row.own), grouped(&row.total));
    own.into_iter().chain(difference).chain(total).collect()
}

/// The sums by function. Of a function that calls itself, the outermost call has the total.
fn functions(flame: &Flame) -> BTreeMap<&str, Row> {
    let mut all: BTreeMap<&str, Row> = BTreeMap::new();
    let mut callers: Vec<&str> = Vec::new();
    let nothing = vec![0; flame.contenders.len()];
    for frame in &flame.frames {
        callers.truncate(frame.level);
        let name = frame.function.as_str();
        let row = all.entry(name).or_insert_with(|| Row {
            own: nothing.clone(),
            total: nothing.clone(),
        });
        let add = |sums: &mut Vec<u64>, figures: &[u64]| {
            for (sum, figure) in sums.iter_mut().zip(figures) {
                *sum += figure;
            }
        };
        add(&mut row.own, &frame.own);
        if !callers.contains(&name) {
            add(&mut row.total, &frame.total);
        }
        callers.push(name);
    }
    all
}
