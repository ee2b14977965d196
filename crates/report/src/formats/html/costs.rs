//! The columns of the tables of costs.

use super::part::times;
use crate::table::Cost;
use crate::table::costs::grouped;
use fsdyno_model::DeviceUse;
use serde::Serialize;

/// A cost in words, and what it sorts by.
#[derive(Debug, Serialize)]
pub struct Cell {
    text: String,
    value: f64,
}

/// A heading, and a cost under it.
pub type CostColumn = (&'static str, fn(&Cost) -> (String, f64));

/// The kinds of cost: heading, text and what it sorts by.
pub const COSTS: [CostColumn; 13] = [
    ("user", |c| (c.user.to_string(), c.user.0 as f64)),
    ("sys", |c| (c.system.to_string(), c.system.0 as f64)),
    ("machine", |c| {
        (c.machine_busy.to_string(), c.machine_busy.0 as f64)
    }),
    ("steal", |c| (c.steal.to_string(), c.steal.0 as f64)),
    ("read", |c| bytes(c, |d| d.read_bytes.0)),
    ("written", |c| bytes(c, |d| d.written_bytes.0)),
    ("written / data", |c| {
        let ratio = c.written_per_data;
        let text = ratio.map_or_else(|| "\u{2013}".to_owned(), times);
        (text, ratio.unwrap_or(0.0))
    }),
    ("reads", |c| number(c, |d| d.reads)),
    ("writes", |c| number(c, |d| d.writes)),
    ("flushes", |c| number(c, |d| d.flushes)),
    ("discarded", |c| bytes(c, |d| d.discarded_bytes.0)),
    ("space", |c| (c.space_in_words(), c.space as f64)),
    ("space / data", |c| {
        let ratio = c.space_per_data;
        let text = ratio.map_or_else(|| "\u{2013}".to_owned(), times);
        (text, ratio.unwrap_or(0.0))
    }),
];

fn bytes(cost: &Cost, of: fn(&DeviceUse) -> u64) -> (String, f64) {
    on_device(cost, of, |n| fsdyno_model::Bytes(n).to_string())
}

fn number(cost: &Cost, of: fn(&DeviceUse) -> u64) -> (String, f64) {
    on_device(cost, of, grouped)
}

fn on_device(cost: &Cost, of: fn(&DeviceUse) -> u64, show: fn(u64) -> String) -> (String, f64) {
    let value = cost.device.as_ref().map(of);
    value.map_or_else(|| ("\u{2013}".to_owned(), -1.0), |n| (show(n), n as f64))
}

impl From<(String, f64)> for Cell {
    fn from((text, value): (String, f64)) -> Self {
        Self { text, value }
    }
}
