//! SVG elements and text widths. Coordinates have one decimal, which is below the visible
//! resolution.

use crate::charts::{Chart, Mark, Panel, Series};
use std::fmt::Write as _;

/// The font size of a chart, pixels.
pub(super) const LETTERS: f64 = 12.0;
/// The font size of axis figures and notes, pixels.
pub(super) const SMALL: f64 = 11.0;
/// The distance of the lines of a wrapped text, pixels.
pub(super) const LINE: f64 = 14.0;
/// The characters after which a name may be wrapped.
const SEPARATORS: [char; 5] = [' ', ',', ':', '@', '/'];

/// The SVG elements of a chart so far. Content is added from top to bottom.
#[derive(Debug)]
pub(super) struct Canvas {
    /// Its width.
    pub(super) wide: f64,
    /// The current vertical position.
    pub(super) y: f64,
    /// Its SVG elements.
    pub(super) svg: String,
    /// The number of marks outside their scale.
    pub(super) left_out: usize,
}

impl Canvas {
    pub(super) fn new(wide: f64) -> Self {
        Self {
            wide,
            y: 0.0,
            svg: String::new(),
            left_out: 0,
        }
    }

    /// Moves the vertical position down.
    pub(super) fn down(&mut self, by: f64) {
        self.y += by;
    }

    /// A text that begins at a position.
    pub(super) fn text(&mut self, at: (f64, f64), class: &str, text: &str) {
        self.anchored(at, class, "", text);
    }

    /// A text with its end (or `middle`) at a position.
    pub(super) fn anchored(&mut self, (x, y): (f64, f64), class: &str, anchor: &str, text: &str) {
        let anchor = if anchor.is_empty() {
            String::new()
        } else {
            format!(r#" text-anchor="{anchor}""#)
        };
        let class = if class.is_empty() {
            String::new()
        } else {
            format!(r#" class="{class}""#)
        };
        let (x, y, text) = (n(x), n(y), escaped(text));
        let _ = write!(
            self.svg,
            r#"<text x="{x}" y="{y}"{class}{anchor}>{text}</text>"#
        );
    }

    /// Lines of text that begin at a position, one below the other.
    pub(super) fn lines(&mut self, (x, y): (f64, f64), class: &str, lines: &[String]) {
        for (at, line) in (0_u32..).zip(lines) {
            self.text((x, y + f64::from(at) * LINE), class, line);
        }
    }

    /// Lines of text around a position, one below the other.
    pub(super) fn centred(&mut self, (x, y): (f64, f64), class: &str, lines: &[String]) {
        for (at, line) in (0_u32..).zip(lines) {
            self.anchored((x, y + f64::from(at) * LINE), class, "middle", line);
        }
    }

    /// A text that ends at a position, turned by an angle in degrees.
    pub(super) fn turned(&mut self, (x, y): (f64, f64), class: &str, angle: f64, text: &str) {
        let (x, y, text) = (n(x), n(y), escaped(text));
        let _ = write!(
            self.svg,
            r#"<text x="{x}" y="{y}" class="{class}" text-anchor="end" transform="rotate({angle} {x} {y})">{text}</text>"#
        );
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (n(x1), n(y1), n(x2), n(y2));
        let _ = write!(
            self.svg,
            r#"<path class="{class}" d="M{x1} {y1}L{x2} {y2}"/>"#
        );
    }

    /// A path without a tooltip.
    pub(super) fn path(&mut self, class: &str, path: &str) {
        let _ = write!(self.svg, r#"<path class="{class}" d="{path}"/>"#);
    }

    /// A shape with a tooltip.
    pub(super) fn shape(&mut self, class: &str, path: &str, words: &str) {
        let words = escaped(words);
        let _ = write!(
            self.svg,
            r#"<path class="{class}" d="{path}"><title>{words}</title></path>"#
        );
    }

    /// A line through points, with the dash pattern of a contender.
    pub(super) fn stroke(&mut self, path: &str, dashes: &str, words: &str) {
        let dashes = if dashes.is_empty() {
            String::new()
        } else {
            format!(r#" stroke-dasharray="{dashes}""#)
        };
        let words = escaped(words);
        let _ = write!(
            self.svg,
            r#"<path class="l" d="{path}"{dashes}><title>{words}</title></path>"#
        );
    }

    /// A rectangle with a tooltip.
    pub(super) fn rect(&mut self, class: &str, (x, y): (f64, f64), size: (f64, f64), words: &str) {
        let (x, y, wide, tall, words) = (n(x), n(y), n(size.0), n(size.1), escaped(words));
        let _ = write!(
            self.svg,
            r#"<rect class="{class}" x="{x}" y="{y}" width="{wide}" height="{tall}"><title>{words}</title></rect>"#
        );
    }

    /// A small circle with a tooltip.
    pub(super) fn dot(&mut self, (x, y): (f64, f64), words: &str) {
        let (x, y, words) = (n(x), n(y), escaped(words));
        let _ = write!(
            self.svg,
            r#"<circle class="o" cx="{x}" cy="{y}" r="2.3"><title>{words}</title></circle>"#
        );
    }

    /// Draws the marks of a panel, those of a contender as a group. The function returns `None` for
    /// a mark outside its scale.
    pub(super) fn series(
        &mut self,
        chart: &Chart,
        panel: &Panel,
        mut draw: impl FnMut(&mut Self, &Series, &Mark) -> Option<()>,
    ) {
        for one in panel.series.iter().filter(|one| !one.marks.is_empty()) {
            self.open(one.contender, &chart.contenders[one.contender]);
            for mark in &one.marks {
                if draw(self, one, mark).is_none() {
                    self.left_out += 1;
                }
            }
            self.close();
        }
    }

    /// Opens the group of a contender.
    pub(super) fn open(&mut self, style: usize, contender: &str) {
        let (style, contender) = (style % super::theme::STYLES, escaped(contender));
        let _ = write!(self.svg, r#"<g class="s{style}" data-c="{contender}">"#);
    }

    /// Closes the group.
    pub(super) fn close(&mut self) {
        self.svg.push_str("</g>");
    }
}

/// The number of panels of a chart in a line of this width, the same in each line as far as
/// possible.
pub(super) fn columns(chart: &Chart, wide: f64, least: f64, gap: f64) -> usize {
    let count = chart.panels.len().max(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small number"
    )]
    let fitting = ((wide + gap) / (least + gap)).floor().max(1.0) as usize;
    count.div_ceil(count.div_ceil(fitting.min(count)))
}

/// A coordinate with at most one decimal.
pub(super) fn n(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    // Avoids -0.
    format!("{}", rounded + 0.0)
}

/// Escapes text for an XML element or attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // XML cannot represent control characters. Labels do not contain any.
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// The estimated width of a text. Unknown fonts are estimated rather wide.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let of = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.38,
        '(' | ')' | '[' | ']' | '/' | ' ' | '-' => 0.36,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.92,
        c if c.is_ascii_uppercase() => 0.68,
        c if c.is_ascii() => 0.6,
        c => {
            0.62 * unicode_width::UnicodeWidthChar::width(c)
                .unwrap_or(1)
                .max(1) as f64
        }
    };
    text.chars().map(of).sum::<f64>() * size
}

/// Wraps prose to a width, at its spaces.
pub(super) fn wrapped(text: &str, room: f64, size: f64) -> Vec<String> {
    wrapped_after(text, &[' '], room, size)
}

/// Wraps a name to a width, after its separators. Nothing of it is cut off.
pub(super) fn wrapped_name(name: &str, room: f64, size: f64) -> Vec<String> {
    wrapped_after(name, &SEPARATORS, room, size)
}

/// Whether a name needs no line break within its parts to fit into a width.
pub(super) fn has_short_parts(name: &str, room: f64, size: f64) -> bool {
    let mut parts = name.split_inclusive(SEPARATORS);
    parts.all(|part| width(part.trim_end(), size) <= room)
}

/// Wraps a text to a width, after these characters; a part that is too long is wrapped anywhere.
fn wrapped_after(text: &str, separators: &[char], room: f64, size: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for part in text.split_inclusive(separators) {
        let whole = width(&line, size) + width(part.trim_end(), size);
        if !line.is_empty() && whole > room {
            lines.push(std::mem::take(&mut line));
        }
        for c in part.chars() {
            let too_long = width(&line, size) + width(c.encode_utf8(&mut [0; 4]), size) > room;
            if too_long && !line.is_empty() && c != ' ' {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines
}

/// The marker shape of a contender at a position.
pub(super) fn symbol(style: usize, (x, y): (f64, f64), r: f64) -> String {
    let to = |points: &[(f64, f64)]| {
        let mut path = String::new();
        for (at, (dx, dy)) in points.iter().enumerate() {
            let _ = write!(
                path,
                "{}{} {}",
                if at == 0 { "M" } else { "L" },
                n(x + dx * r),
                n(y + dy * r)
            );
        }
        path + "Z"
    };
    match style % 6 {
        0 => {
            let (left, r, wide) = (n(x - r), n(r), n(2.0 * r));
            let y = n(y);
            format!("M{left} {y}a{r} {r} 0 1 0 {wide} 0a{r} {r} 0 1 0 -{wide} 0Z")
        }
        1 => to(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
        2 => to(&[(0.0, -1.15), (1.1, 0.85), (-1.1, 0.85)]),
        3 => to(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
        4 => to(&[(0.0, 1.15), (1.1, -0.85), (-1.1, -0.85)]),
        _ => {
            let (thin, long) = (0.38, 1.2);
            let cross = [
                (-thin, -long),
                (thin, -long),
                (thin, -thin),
                (long, -thin),
                (long, thin),
                (thin, thin),
                (thin, long),
                (-thin, long),
                (-thin, thin),
                (-long, thin),
                (-long, -thin),
                (-thin, -thin),
            ];
            to(&cross)
        }
    }
}

/// The dash pattern of a contender.
pub(super) fn dashes(style: usize) -> &'static str {
    ["", "7 3", "2 3", "9 3 2 3", "4 2", "12 4", "2 2 6 2"][style % 7]
}
