//! A flame graph as SVG. Frames that differ between two contenders have a colour, a sign and a hatch,
//! so that they are readable without colour.

mod table;

use super::canvas::{LINE, SMALL, escaped, n, width, wrapped, wrapped_name};
use super::{Appearance, MARGIN, Theme, theme};
use crate::charts::flame::{Flame, Frame};
use crate::terms;
use std::fmt::Write as _;

/// The distance of the levels, pixels.
const ROW: f64 = 18.0;
/// Narrower frames are left out, pixels.
const MIN_WIDTH: f64 = 0.5;
/// The rows of a table of functions.
const ROWS: usize = 25;
/// Frames below this part of difference count as equal.
const EQUAL: f64 = 0.05;

/// The rules of a page, in both themes.
const OF_PAGE: &str = "\
.flame{color-scheme:light dark;--page:#fff;--ink:#111;--soft:#555}\
@media screen and (prefers-color-scheme:dark){.flame{--page:#16181d;--ink:#e8e8e8;--soft:#9aa3ad}}";

/// The rules that do not depend on the theme.
const SHAPES: &str = "\
.flame text{font:11px system-ui,\"Segoe UI\",Roboto,\"DejaVu Sans\",sans-serif;fill:var(--ink)}\
.flame .r{text-anchor:end}.flame .t{font-size:13px;font-weight:650}.flame .k{fill:var(--soft)}.flame .paper{fill:var(--page)}\
.flame g rect{stroke:var(--page);stroke-width:.5}.flame g .hatch{pointer-events:none}\
.flame g text{fill:#111;pointer-events:none}\
.flame g:hover rect{stroke:var(--ink);stroke-width:1.5}.flame .off{opacity:.25}";

/// Renders a flame graph. Every frame has a title with exact counts; names are text, so that a viewer finds
/// them.
pub fn render(flame: &Flame, appearance: Appearance) -> String {
    drawn(flame, appearance, 0)
}

/// The same with a table of functions below it, for a picture that stands alone.
pub fn render_with_table(flame: &Flame, appearance: Appearance) -> String {
    drawn(flame, appearance, ROWS)
}

fn drawn(flame: &Flame, appearance: Appearance, rows: usize) -> String {
    let wide = appearance.wide();
    let inner = wide - 2.0 * MARGIN;
    let mut body = String::new();
    let mut y = MARGIN;
    let line = |class: &str, text: &str, y: &mut f64, body: &mut String| {
        *y += LINE + 1.0;
        let (x, at, text) = (n(MARGIN), n(*y - 3.0), escaped(text));
        let _ = write!(
            body,
            "<text class=\"{class}\" x=\"{x}\" y=\"{at}\">{text}</text>"
        );
    };
    for text in wrapped_name(&flame.title, inner, 13.0) {
        line("t", &text, &mut y, &mut body);
    }
    let whole = flame.total.iter().sum::<u64>().max(1) as f64;
    let scale = inner / whole;
    let is_drawn = |frame: &&Frame| frame.width() as f64 * scale >= MIN_WIDTH;
    let drawn: Vec<&Frame> = flame.frames.iter().filter(is_drawn).collect();
    for text in notes(flame, flame.frames.len() - drawn.len()) {
        for text in wrapped(&text, inner, SMALL) {
            line("k", &text, &mut y, &mut body);
        }
    }
    y += 6.0;
    let depth = drawn.iter().map(|frame| frame.level + 1).max().unwrap_or(0);
    for frame in drawn {
        let (x, wide) = (frame.from as f64 * scale, frame.width() as f64 * scale);
        let place = (MARGIN + x, y + frame.level as f64 * ROW);
        draw(&mut body, flame, frame, place, wide);
    }
    y += depth as f64 * ROW;
    if rows > 0 {
        y = table::draw(flame, rows, (wide, y), &mut body);
    }
    let tall = (y + MARGIN).ceil();
    framed(flame, appearance.theme, &body, (wide, tall))
}

/// The lines below the title.
fn notes(flame: &Flame, left_out: usize) -> Vec<String> {
    let unit = flame.unit;
    let figures = flame.contenders.iter().zip(&flame.total);
    let figures: Vec<String> = figures
        .map(|(contender, total)| format!("{contender}: {} {unit}", terms::grouped(*total)))
        .collect();
    let mut notes = vec![format!("{}.", figures.join("; "))];
    if let [a, b] = &flame.contenders[..] {
        notes.push(format!(
            "A box is as wide as the {unit} of both. Red, + and rising lines: more in {b}. Blue, - and falling \
             lines: more in {a}. Grey and =: within 5 %."
        ));
    }
    if left_out > 0 {
        notes.push(format!(
            "{} too narrow to draw.",
            terms::count(left_out, "call path")
        ));
    }
    notes
}

fn draw(body: &mut String, graph: &Flame, frame: &Frame, (x, y): (f64, f64), wide: f64) {
    let look = Look::of(frame);
    let name = format!("{}{}", look.sign, frame.function);
    let each = graph
        .contenders
        .iter()
        .zip(frame.total.iter().zip(&frame.own));
    let each = each.enumerate().map(|(at, (contender, (total, own)))| {
        let unit = if at == 0 {
            format!(" {}", graph.unit)
        } else {
            String::new()
        };
        let (total, own) = (terms::grouped(*total), terms::grouped(*own));
        format!("{contender} {total}{unit} ({own} its own)")
    });
    let each: Vec<String> = each.collect();
    let title = escaped(&format!("{}: {}", frame.function, each.join(", ")));
    let (left, top, across, down) = (n(x), n(y), n(wide), n(ROW - 1.0));
    let place = format!("x=\"{left}\" y=\"{top}\" width=\"{across}\" height=\"{down}\"");
    let fill = look.fill;
    let _ = write!(
        body,
        "<g><rect {place} fill=\"{fill}\"><title>{title}</title></rect>"
    );
    if let Some(hatch) = look.hatch {
        let graph = &graph.name;
        let _ = write!(
            body,
            "<rect {place} class=\"hatch\" fill=\"url(#{graph}-{hatch})\"/>"
        );
    }
    let shown = fitting(&name, wide - 4.0);
    if !shown.is_empty() {
        let (left, base, shown) = (n(x + 2.0), n(y + 12.5), escaped(&shown));
        let _ = write!(body, "<text x=\"{left}\" y=\"{base}\">{shown}</text>");
    }
    body.push_str("</g>\n");
}

/// How a frame looks, by the share of each contender.
struct Look {
    fill: String,
    sign: &'static str,
    hatch: Option<&'static str>,
}

impl Look {
    fn of(frame: &Frame) -> Self {
        let [a, b] = frame.total[..] else {
            // Callers and callees are told apart where both are as wide.
            let fill = ["#f6d9a8", "#efc98a"][frame.level % 2].to_owned();
            let (sign, hatch) = ("", None);
            return Self { fill, sign, hatch };
        };
        let share = (b as f64 - a as f64) / (a + b).max(1) as f64;
        // From pale to full: letters stay readable on both.
        let pale = 225.0 - 95.0 * share.abs();
        let (fill, sign, hatch) = match share {
            _ if share.abs() < EQUAL => ("#cfcfcf".to_owned(), "=", None),
            share if share > 0.0 => (format!("rgb(243,{pale:.0},{pale:.0})"), "+", Some("more")),
            _ => {
                let fill = format!("rgb({pale:.0},{:.0},248)", pale + 20.0);
                (fill, "-", Some("less"))
            }
        };
        Self { fill, sign, hatch }
    }
}

/// The part of a name that fits into this width; nothing if too little fits.
fn fitting(name: &str, room: f64) -> String {
    let fits = |text: &str| width(text, SMALL) <= room;
    if fits(name) {
        return name.to_owned();
    }
    let cuts = name.char_indices().map(|(at, _)| at).rev();
    let cut = cuts
        .filter(|at| *at > 2)
        .map(|at| format!("{}..", &name[..at]));
    cut.into_iter().find(|text| fits(text)).unwrap_or_default()
}

/// Wraps the elements in an `svg` element, with the patterns of the hatches.
fn framed(flame: &Flame, theme: Theme, body: &str, (wide, tall): (f64, f64)) -> String {
    let (name, title) = (&flame.name, escaped(&flame.title));
    let size = match theme {
        Theme::Page => String::new(),
        _ => format!(" width=\"{wide}\" height=\"{tall}\""),
    };
    let style = match theme::of_flame(theme) {
        None => format!("{OF_PAGE}{SHAPES}"),
        Some([page, ink, soft]) => SHAPES
            .replace("var(--page)", page)
            .replace("var(--ink)", ink)
            .replace("var(--soft)", soft),
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\"{size} viewBox=\"0 0 {wide} {tall}\" role=\"img\" \
         class=\"flame\" aria-labelledby=\"{name}-t\">\n<title id=\"{name}-t\">{title}</title>\n\
         <style>{style}</style>\n<defs>"
    );
    if flame.contenders.len() > 1 {
        for (hatch, path) in [
            ("more", "M-1 7L7 -1M5 7L7 5M-1 1L1 -1"),
            ("less", "M-1 -1L7 7M5 -1L7 1M-1 5L1 7"),
        ] {
            let _ = write!(
                svg,
                "<pattern id=\"{name}-{hatch}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
                 <path d=\"{path}\" stroke=\"#111\" stroke-opacity=\".3\" stroke-width=\".8\"/></pattern>"
            );
        }
    }
    let _ = write!(
        svg,
        "</defs>\n<rect class=\"paper\" width=\"{wide}\" height=\"{tall}\"/>\n{body}</svg>\n"
    );
    svg
}
