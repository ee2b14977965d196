//! Units of figures, as programs and users write them.

use crate::figures::{BYTES, BYTES_A_SECOND, NANOSECONDS};

/// A value in the unit in which equal quantities compare: times in nanoseconds, data in bytes, and no
/// prefix. An unknown unit is kept.
pub fn normalised(value: f64, unit: &str) -> (f64, String) {
    let unit = unit.trim();
    let rate = ["/s", "/sec", "/second", "ps"].into_iter();
    let base = rate.filter(|end| *end != "ps" || unit.ends_with("Bps"));
    let base = base.into_iter().find_map(|end| unit.strip_suffix(end));
    let is_rate = base.is_some();
    let base = base.unwrap_or(unit);
    let time = match base {
        "ns" | "nsec" => Some(1.0),
        "us" | "usec" | "\u{b5}s" | "\u{3bc}s" => Some(1e3),
        "ms" | "msec" => Some(1e6),
        "s" | "sec" | "secs" | "second" | "seconds" => Some(1e9),
        "min" => Some(60e9),
        "h" => Some(3600e9),
        _ => None,
    };
    if let (Some(factor), false) = (time, is_rate) {
        return (value * factor, NANOSECONDS.to_owned());
    }
    let of_data = ["bytes", "byte", "B"].into_iter();
    if let Some(factor) = of_data
        .filter_map(|end| base.strip_suffix(end))
        .find_map(prefix)
    {
        let unit = if is_rate { BYTES_A_SECOND } else { BYTES };
        return (value * factor, unit.to_owned());
    }
    match prefix(base.strip_prefix('1').unwrap_or(base)) {
        Some(factor) if is_rate => (value * factor, "1/s".to_owned()),
        Some(factor) => (value * factor, String::new()),
        None if is_rate => (value, format!("{base}/s")),
        None => (value, base.to_owned()),
    }
}

fn prefix(text: &str) -> Option<f64> {
    let (letter, base) = match text.strip_suffix('i') {
        Some(letter) => (letter, 1024.0_f64),
        None => (text, 1000.0),
    };
    let power = match letter {
        "" if text.is_empty() => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        _ => return None,
    };
    Some(base.powi(power))
}
