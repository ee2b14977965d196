//! A self-contained HTML page. It loads nothing, and without JavaScript it lacks only sorting,
//! filtering and copying. Its style sheet and its script are in `data/`.

mod bars;
mod charts;
mod filters;
mod table;

use super::cells::{Style, Symbols};
use crate::charts::svg::{Appearance, Theme, flame, theme};
use crate::document::{
    Block, Cell, Document, Fold, Item, Mark, Medium, Section, Share, ShareColour, Shares, Span,
    Table, Text, Tone, visit,
};
use crate::lists::unique;
use crate::options::{Assets, Options};
use bars::Dots;
use charts::Drawings;
use std::fmt::Write as _;

const SYMBOLS: Symbols = Symbols {
    unknown: "–",
    dash: "–",
    times: "×",
    equivalent: "≈ ",
    inconclusive: ["(", ")"],
};

/// The classes of the series colours.
const SERIES: [&str; theme::STYLES] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// The width of a flame graph, pixels.
const FLAME_WIDTH: u32 = 1220;

const STYLE: &str = include_str!("../../../data/report.css");
/// The script of reports.
pub const SCRIPT: &str = include_str!("../../../data/report.js");
/// The rules of the pages of a site.
const SITE_STYLE: &str = include_str!("../../../data/site.css");
/// The end markers of all whiskers, defined once.
const WHISKERS: &str = r#"<svg class="unseen" aria-hidden="true"><defs><marker id="cap" markerWidth="1" markerHeight="6" refX=".5" refY="3" markerUnits="userSpaceOnUse"><path class="cap-line" d="M.5 0V6"/></marker></defs></svg>
"#;

/// Renders a document.
pub fn render(document: &Document, options: &Options) -> Vec<u8> {
    let mut page = Page {
        html: String::new(),
        style: Style {
            symbols: SYMBOLS,
            clock: options.clock,
        },
        dots: Dots::of(&document.blocks),
        drawings: Drawings::of(&document.blocks),
        keys_shown: false,
        switches: 0,
    };
    page.head(document, options.assets);
    filters::form(&mut page.html, &document.filters, &document.blocks);
    page.blocks(&document.blocks, 2);
    let left_out = page.drawings.left_out();
    if left_out > 0 {
        let command = escape(&document.chart_command);
        page.paragraph(
            "soft",
            &format!(
                "{left_out} more charts would make this page too large: <code>{command}</code> \
                 draws them all."
            ),
        );
    }
    end(
        &mut page.html,
        &document.footer,
        options.assets,
        &["report.js"],
    );
    page.html.into_bytes()
}

/// The style sheet that the pages of a site share.
pub fn style() -> String {
    let dark = theme::of_page("@media screen and (prefers-color-scheme: dark)");
    format!("{STYLE}{dark}{SITE_STYLE}")
}

/// Writes the start of a page up to its first heading. The header stays open.
pub fn begin(html: &mut String, title: &str, assets: Assets) {
    let title = escape(title);
    // `'self'` does not match files in all browsers; `file:` does.
    let sources = match assets {
        Assets::Inline => "style-src 'unsafe-inline'; script-src 'unsafe-inline'",
        Assets::Shared { .. } => {
            "style-src 'self' file: 'unsafe-inline'; script-src 'self' file:; base-uri 'none'; \
             form-action 'none'"
        }
    };
    let style = match assets {
        Assets::Inline => {
            let dark = theme::of_page("@media screen and (prefers-color-scheme: dark)");
            format!("<style>\n{STYLE}{dark}</style>")
        }
        Assets::Shared { root } => {
            format!(r#"<link rel="stylesheet" href="{root}assets/report.css">"#)
        }
    };
    let brand = match assets {
        Assets::Inline | Assets::Shared { root: "" } => "fsdyno".to_owned(),
        Assets::Shared { root } => format!(r#"<a href="{root}index.html">fsdyno: all results</a>"#),
    };
    let _ = write!(
        html,
        r##"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; {sources}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="fsdyno">
<title>{title} – fsdyno</title>
{style}
</head>
<body>
<a class="skip" href="#content">Skip to the figures</a>
<header>
<p class="brand">{brand}</p>
<h1>{title}</h1>
"##
    );
}

/// Ends the header, and starts the content.
pub fn begin_content(html: &mut String) {
    let _ = write!(
        html,
        "</header>\n<main id=\"content\" tabindex=\"-1\">\n{WHISKERS}"
    );
}

/// Ends the content and the page. `scripts` are the shared ones of a page of a site.
pub fn end(html: &mut String, footer: &str, assets: Assets, scripts: &[&str]) {
    let footer = match footer {
        "" => String::new(),
        footer => format!("{} ", escape(footer)),
    };
    let _ = match assets {
        Assets::Inline => write!(
            html,
            "</main>\n<footer>{footer}Made by fsdyno; this page contains everything it shows.</footer>\n<script>\n\
             {SCRIPT}</script>\n</body>\n</html>\n"
        ),
        Assets::Shared { root } => {
            let scripts = scripts.iter();
            let scripts: Vec<String> = scripts
                .map(|name| format!("<script src=\"{root}assets/{name}\"></script>\n"))
                .collect();
            write!(
                html,
                "</main>\n<footer>{footer}Made by fsdyno.</footer>\n{}</body>\n</html>\n",
                scripts.concat()
            )
        }
    };
}

/// The page during rendering.
struct Page {
    html: String,
    style: Style,
    dots: Dots,
    drawings: Drawings,
    /// Whether the page already has a legend of its bars.
    keys_shown: bool,
    /// The number of tables with a switch for ratios.
    switches: usize,
}

impl Page {
    fn head(&mut self, document: &Document, assets: Assets) {
        begin(&mut self.html, document.page_title(), assets);
        if !document.subtitle.is_empty() {
            self.paragraph("sub", &escape(&document.subtitle));
        }
        for text in &document.lead {
            self.paragraph("lead", &inline(text));
        }
        for shares in &document.winners {
            self.shares(shares);
        }
        if !document.status.is_empty() {
            self.paragraph("sub", &inline(&document.status));
        }
        begin_content(&mut self.html);
    }

    fn paragraph(&mut self, class: &str, html: &str) {
        let _ = writeln!(self.html, r#"<p class="{class}">{html}</p>"#);
    }

    fn blocks(&mut self, blocks: &[Block], level: usize) {
        for block in blocks.iter().filter(|block| block.is_shown(Medium::Page)) {
            self.block(block, level);
        }
    }

    fn block(&mut self, block: &Block, level: usize) {
        match block {
            Block::Paragraph(text) => {
                let _ = writeln!(self.html, "<p>{}</p>", inline(text));
            }
            Block::Legend(text) => self.paragraph("legend", &inline(text)),
            Block::List(items) => {
                self.html += "<ul class=\"plain\">\n";
                for item in items {
                    self.item(item);
                }
                self.html += "</ul>\n";
            }
            Block::Facts(facts) => {
                self.html += "<table class=\"facts\">\n<tbody>\n";
                for (name, text) in facts {
                    let text = escape(text);
                    let _ = writeln!(
                        self.html,
                        r#"<tr><th scope="row">{name}</th><td>{text}</td></tr>"#
                    );
                }
                self.html += "</tbody>\n</table>\n";
            }
            Block::Table(table) => self.table(table),
            Block::Charts(charts) => {
                for chart in charts {
                    self.drawings.write(&mut self.html, chart);
                }
            }
            Block::Flame(flame) => {
                let appearance = Appearance {
                    width: FLAME_WIDTH,
                    theme: Theme::Page,
                };
                let svg = flame::render(flame, appearance);
                let _ = writeln!(self.html, "<figure class=\"functions\">\n{svg}</figure>");
            }
            Block::Code(text) => {
                let _ = writeln!(self.html, r#"<pre class="copy">{}</pre>"#, escape(text));
            }
            Block::Fold(fold) => self.fold(fold, level),
            Block::Section(section) => self.section(section, level),
            Block::Only(_, blocks) => self.blocks(blocks, level),
        }
    }

    fn section(&mut self, section: &Section, level: usize) {
        if section.part {
            let _ = writeln!(
                self.html,
                r#"<h2 class="lab">{}</h2>"#,
                escape(&section.heading)
            );
            return self.blocks(&section.blocks, level);
        }
        let id = attribute("id", Some(&section.id).filter(|id| !id.is_empty()));
        let contender = attribute("data-c", section.contender.as_ref());
        let class = if level > 2 && section.contender.is_none() {
            r#" class="workload""#
        } else {
            ""
        };
        let heading = escape(&section.heading);
        let level = level.min(6);
        let _ = writeln!(self.html, "<section{id}{class}{contender}>");
        if !heading.is_empty() {
            let _ = writeln!(self.html, "<h{level}>{heading}</h{level}>");
        }
        self.blocks(&section.blocks, level + 1);
        self.html += "</section>\n";
    }

    fn fold(&mut self, fold: &Fold, level: usize) {
        let is_text = matches!(fold.blocks[..], [Block::Code(_)]);
        let class = if is_text { "text" } else { "why" };
        let id = attribute("id", Some(&fold.id).filter(|id| !id.is_empty()));
        let place = attribute("data-p", fold.place.as_ref());
        let open = if fold.open { " open" } else { "" };
        let (name, summary) = (escape(&fold.name), escape(&fold.summary));
        let name = if fold.summary.is_empty() {
            name
        } else {
            format!("<b>{name}</b> ")
        };
        let _ = writeln!(
            self.html,
            r#"<details{id} class="{class}"{place}{open}><summary>{name}{summary}</summary>"#
        );
        self.blocks(&fold.blocks, level);
        self.html += "</details>\n";
    }

    fn item(&mut self, item: &Item) {
        let place = attribute("data-p", item.place.as_ref());
        let contender = attribute("data-c", item.contender.as_ref());
        let text = inline(&item.text);
        let lead = item.lead.as_ref().map_or_else(String::new, |(lead, tone)| {
            let colon = if text.is_empty() { "" } else { ": " };
            format!("<b class=\"{}\">{}</b>{colon}", class(*tone), escape(lead))
        });
        let _ = write!(self.html, "<li{place}{contender}>{lead}{text}");
        if !item.output.is_empty() {
            let _ = write!(self.html, "<pre>{}</pre>", escape(&item.output));
        }
        for (text, tone) in &item.more {
            let text = inline(text);
            let _ = write!(
                self.html,
                r#"<br><span class="{}">{text}</span>"#,
                class(*tone)
            );
        }
        self.html += "</li>\n";
    }

    /// A bar of the parts of a whole, with its legend.
    fn shares(&mut self, shares: &Shares) {
        let colour = |part: &Share| match part.colour {
            ShareColour::Contender(at) => SERIES[at % SERIES.len()],
            ShareColour::Shared => "shared",
            ShareColour::Undecided => "undecided",
        };
        let _ = write!(
            self.html,
            r#"<div class="winners graph"><p class="bar" aria-hidden="true">"#
        );
        for part in &shares.parts {
            let (class, count) = (colour(part), part.count);
            let _ = write!(
                self.html,
                r#"<span class="{class}" style="flex-grow:{count}"></span>"#
            );
        }
        let _ = write!(self.html, "</p>\n<p>{}:", escape(&shares.name));
        for part in &shares.parts {
            let (class, label) = (colour(part), escape(&part.label));
            let _ = write!(
                self.html,
                r#" <span class="part"><span class="{class}"></span>{label} in <b>{}</b></span>"#,
                part.count
            );
        }
        self.html += "</p></div>\n";
    }

    /// The legend of bars and dots, before the first of them.
    fn keys(&mut self, table: &Table) {
        if std::mem::replace(&mut self.keys_shown, true) {
            return;
        }
        let has_range = |cell: &Cell| matches!(cell, Cell::Figure(one) if one.spread.is_some());
        let repeated = table.rows().any(|row| row.cells.iter().any(has_range));
        let medians = if repeated {
            "medians"
        } else {
            "single figures"
        };
        let dots = match self.dots {
            _ if !repeated => ".".to_owned(),
            Dots::Each => ", dots single samples, whiskers the range.".to_owned(),
            Dots::Bins(_) => ", whiskers the range. There are too many samples for a dot each: a \
                              dot represents all in its part of the scale, the larger the more."
                .to_owned(),
            Dots::None => ", whiskers the range. There are too many samples for a dot each: \
                           <code>fsdyno chart</code> draws them."
                .to_owned(),
        };
        let keys = unique(table.rows().map(|row| &row.label.full)).into_iter();
        let keys: Vec<String> = keys
            .map(|key| format!(r#" <span class="key {key}"></span> <b>{key}</b>"#))
            .collect();
        let _ = writeln!(
            self.html,
            "<p>Bars are {medians} on a scale from zero, unless a phase states a log scale{dots}{}</p>",
            keys.concat()
        );
    }
}

/// The tables whose figures are drawn as bars.
fn bar_tables(blocks: &[Block]) -> Vec<&Table> {
    let mut tables = Vec::new();
    visit(blocks, Medium::Page, &mut |block| match block {
        Block::Table(table) if table.bars => tables.push(table),
        _ => {}
    });
    tables
}

/// The CSS class of a tone.
fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "plain",
        Tone::Strong => "strong",
        Tone::Good => "good",
        Tone::Warning => "warning",
        Tone::Bad => "bad",
        Tone::Soft => "advice",
    }
}

/// ` name="value"`, or an empty string.
fn attribute(name: &str, value: Option<&String>) -> String {
    value.map_or_else(String::new, |value| {
        format!(" {name}=\"{}\"", escape(value))
    })
}

/// A text as HTML.
fn inline(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Plain(text) => escape(text),
        Span::Term(word) => format!("<b>{}</b>", escape(word)),
        Span::Code(command) => format!("<code>{}</code>", escape(command)),
        Span::Link { text, to } => {
            format!(r#"<a href="{}">{}</a>"#, escape(to), escape(text))
        }
        Span::Mark(Mark::Best) => r#"<span class="mark">★</span>"#.to_owned(),
        Span::Mark(Mark::Equivalent) => "≈".to_owned(),
        Span::Mark(Mark::Inconclusive) => "(…)".to_owned(),
        Span::Mark(Mark::Sensitive) => r#"<b class="mark">^</b>"#.to_owned(),
        Span::Mark(Mark::Warning) => r#"<b class="mark">!</b>"#.to_owned(),
    };
    text.0.iter().map(span).collect()
}

/// Escapes text for HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}

/// A label, escaped, with line breaks allowed only after its separators.
fn breakable(label: &str) -> String {
    let parts = label.split_inclusive([',', ':', '@', '/', ' ']);
    let parts = parts.map(|part| escape(part) + "<wbr>");
    parts.collect()
}
