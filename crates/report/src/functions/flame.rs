//! A differential flame graph: the calls of both contenders, as wide as the blocks of both, and
//! coloured by which of them executes more. Also the same as lines of text for other viewers.

use super::Functions;
use super::tree::Tree;
use crate::formats::html::escape;
use crate::terms;
use fsdyno_model::profile::{PathWork, Profile};
use std::fmt::Write as _;

const WIDTH: f64 = 1200.0;
const ROW: f64 = 18.0;
const MARGIN: f64 = 10.0;
/// Narrower boxes are left out, in user units.
const MIN_WIDTH: f64 = 0.5;
/// The width of a letter.
const LETTER: f64 = 6.6;

/// What a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Blocks,
    /// Of processes.
    Sleep,
}

impl Measure {
    fn of(self, work: &PathWork) -> u64 {
        match self {
            Self::Blocks => work.blocks,
            Self::Sleep => work.slept_ns,
        }
    }

    /// Who does it.
    fn executors(self) -> &'static [&'static str] {
        match self {
            Self::Blocks => &Profile::EXECUTORS[..3],
            Self::Sleep => &Profile::EXECUTORS[..1],
        }
    }

    /// The name in the title, and the unit.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Blocks => ["functions of the kernel", "blocks"],
            Self::Sleep => ["sleep of processes in the kernel", "ns"],
        }
    }
}

/// The picture, as SVG. Every box has a title with exact counts; names are text, so that a viewer finds
/// them. None if there is nothing to show.
pub fn svg(functions: &Functions, measure: Measure) -> Option<String> {
    let tree = &functions.tree;
    let tops: Vec<usize> = tops(tree, measure.executors());
    let sum: [u64; 2] = [0, 1].map(|side| {
        let totals = tops.iter().map(|at| &tree.nodes[*at].total[side]);
        totals.map(|total| measure.of(total)).sum()
    });
    let whole = sum[0] + sum[1];
    if whole == 0 {
        return None;
    }
    let mut boxes = Vec::new();
    let mut from = 0;
    for top in tops {
        place(tree, (top, measure), (0, from), whole, &mut boxes);
        from += both(tree, (top, measure));
    }
    let [what, unit] = measure.names();
    let depth = boxes.iter().map(|one| one.level + 1).max().unwrap_or(0);
    let head = 64.0;
    let height = head + depth as f64 * ROW + MARGIN;
    let [a, b] = functions.contenders.each_ref().map(|label| escape(label));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         class=\"flame\" font-family=\"monospace\" font-size=\"11\">\n\
         <style>.flame{{color-scheme:light dark;--page:#fff;--ink:#111}}\
         @media screen and (prefers-color-scheme:dark){{.flame{{--page:#16181d;--ink:#e8e8e8}}}}\
         .flame .head{{fill:var(--ink);font-size:13px}}.flame rect{{stroke:var(--page);stroke-width:.5}}\
         .flame g text{{fill:#111;pointer-events:none}}.flame g:hover rect{{stroke:var(--ink);stroke-width:1.5}}\
         .flame .off{{opacity:.25}}</style>\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" style=\"fill:var(--page)\"/>\n\
         <text class=\"head\" x=\"{MARGIN}\" y=\"20\">{title}</text>\n\
         <text class=\"head\" x=\"{MARGIN}\" y=\"38\">{a}: {of_a} {unit}; {b}: {of_b}. A box is as wide as \
         the {unit} of both.</text>\n\
         <text class=\"head\" x=\"{MARGIN}\" y=\"56\">Red, +: more in {b}. Blue, -: more in {a}. Grey, =: \
         within 5 %.</text>\n",
        width = WIDTH + 2.0 * MARGIN,
        title = escape(&format!(
            "{} and {} in {}: {what}",
            functions.contenders[0], functions.contenders[1], functions.phase
        )),
        of_a = terms::grouped(sum[0]),
        of_b = terms::grouped(sum[1]),
    );
    for one in &boxes {
        let node = &tree.nodes[one.at];
        let [own, total] = [node.own, node.total].map(|of| of.map(|work| measure.of(&work)));
        let (colour, sign) = colour(total);
        let (x, y) = (MARGIN + one.x, head + one.level as f64 * ROW);
        let name = format!("{sign}{}", node.function);
        let shown = fitting(&name, one.width - 4.0);
        let _ = writeln!(
            svg,
            "<g><rect x=\"{x:.1}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{colour}\">\
             <title>{}: {} {} {unit} ({} its own), {} {} ({} its own)</title></rect>\
             <text x=\"{:.1}\" y=\"{}\">{}</text></g>",
            one.width,
            ROW - 1.0,
            escape(&node.function),
            a,
            terms::grouped(total[0]),
            terms::grouped(own[0]),
            b,
            terms::grouped(total[1]),
            terms::grouped(own[1]),
            x + 2.0,
            y + 12.5,
            escape(&shown),
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

/// The part of a name that fits into this width.
fn fitting(name: &str, width: f64) -> String {
    let fits = |letters: usize| letters as f64 * LETTER <= width;
    if fits(name.len()) {
        return name.to_owned();
    }
    let letters = (3..name.len()).rev().find(|letters| fits(*letters));
    letters.map_or(String::new(), |letters| {
        name.chars().take(letters - 2).chain("..".chars()).collect()
    })
}

/// One line for each call path with blocks of its own: the functions with `;` between them, and the
/// blocks of both.
pub fn folded(functions: &Functions) -> String {
    let mut lines = String::new();
    for top in tops(&functions.tree, Measure::Blocks.executors()) {
        fold(&functions.tree, top, "", &mut lines);
    }
    lines
}

fn fold(tree: &Tree, at: usize, above: &str, lines: &mut String) {
    let node = &tree.nodes[at];
    let path = match above {
        "" => node.function.replace(' ', "_"),
        above => format!("{above};{}", node.function),
    };
    let [a, b] = node.own.map(|work| work.blocks);
    if a + b > 0 {
        let _ = writeln!(lines, "{path} {a} {b}");
    }
    for callee in node.callees.values() {
        fold(tree, *callee, &path, lines);
    }
}

struct Box {
    at: usize,
    level: usize,
    x: f64,
    width: f64,
}

fn place(
    tree: &Tree,
    (at, measure): (usize, Measure),
    (level, from): (usize, u64),
    whole: u64,
    boxes: &mut Vec<Box>,
) {
    let scale = WIDTH / whole as f64;
    let width = both(tree, (at, measure)) as f64 * scale;
    if width < MIN_WIDTH {
        return;
    }
    boxes.push(Box {
        at,
        level,
        x: from as f64 * scale,
        width,
    });
    let mut from = from;
    for callee in tree.nodes[at].callees.values() {
        place(tree, (*callee, measure), (level + 1, from), whole, boxes);
        from += both(tree, (*callee, measure));
    }
}

/// The nodes of who executes.
pub(super) fn tops(tree: &Tree, executors: &[&str]) -> Vec<usize> {
    let root = tree.nodes.first();
    let tops = root.into_iter().flat_map(|root| &root.callees);
    tops.filter(|(name, _)| executors.contains(&&***name))
        .map(|(_, at)| *at)
        .collect()
}

fn both(tree: &Tree, (at, measure): (usize, Measure)) -> u64 {
    let totals = tree.nodes[at].total.iter();
    totals.map(|work| measure.of(work)).sum()
}

/// The colour of a box by the share of each, and a sign for readers who see none.
fn colour([a, b]: [u64; 2]) -> (String, &'static str) {
    let share = (b as f64 - a as f64) / (a + b).max(1) as f64;
    if share.abs() < 0.05 {
        return ("#c9c9c9".to_owned(), "=");
    }
    // From pale to full: letters stay readable on both.
    let pale = 215.0 - 95.0 * share.abs();
    if share > 0.0 {
        (format!("rgb(240,{pale:.0},{pale:.0})"), "+")
    } else {
        (format!("rgb({pale:.0},{:.0},245)", pale + 20.0), "-")
    }
}
