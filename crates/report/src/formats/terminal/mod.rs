//! Text for a terminal. No line is wider than the terminal, and colour is never the only sign.

mod layout;
mod paint;
mod table;

use super::cells::{Style, Symbols};
use crate::document::{
    Block, Document, Fold, Item, Mark, Medium, Section, Span, Table, Text, Tone, visit,
};
use crate::options::Options;
use paint::Paint;
pub use paint::{left, width, wrap};
use std::collections::BTreeSet;

/// The smallest supported width, columns.
const NARROWEST: usize = 60;

const SYMBOLS: Symbols = Symbols {
    unknown: "-",
    dash: "-",
    times: "x",
    equivalent: "~",
    inconclusive: ["(", ")"],
};

/// Renders a document.
pub fn render(document: &Document, options: &Options) -> Vec<u8> {
    let mut screen = Screen {
        paint: Paint(options.color),
        width: options.width.max(NARROWEST),
        style: Style {
            symbols: SYMBOLS,
            clock: options.clock,
        },
        text: String::new(),
        below_heading: false,
        explained: BTreeSet::new(),
        depth: 0,
        peers: Vec::new(),
        text_columns: Vec::new(),
    };
    if !document.title.is_empty() {
        screen.heading(&document.title, 1);
    }
    for text in &document.lead {
        if !screen.text.is_empty() {
            screen.line("");
        }
        screen.wrapped(&plain(text), 0, Tone::Strong);
    }
    if !document.status.is_empty() {
        screen.line("");
        screen.paragraph(&document.status, 0);
    }
    screen.below_heading = false;
    screen.blocks(&document.blocks, 2);
    screen.text.into_bytes()
}

/// Whether a table does not fit into the width, so that its columns are split.
pub fn splits_a_table(document: &Document, options: &Options) -> bool {
    let style = Style {
        symbols: SYMBOLS,
        clock: options.clock,
    };
    let width = options.width.max(NARROWEST);
    let splits = |table: &Table| layout::Layout::of(&[table], width, style).runs.len() > 1;
    tables_in(&document.blocks).into_iter().any(splits)
}

/// The report during rendering.
struct Screen<'a> {
    paint: Paint,
    width: usize,
    style: Style,
    text: String,
    /// Whether the last line is a heading, which no empty line follows.
    below_heading: bool,
    /// The short names with a legend in this section.
    explained: BTreeSet<String>,
    /// The depth of nested sections.
    depth: usize,
    /// The tables of the section.
    peers: Vec<&'a Table>,
    /// The text columns of the table.
    text_columns: Vec<usize>,
}

impl<'a> Screen<'a> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line before a block, except after a heading.
    fn gap(&mut self) {
        if !std::mem::take(&mut self.below_heading) {
            self.line("");
        }
    }

    fn heading(&mut self, heading: &str, level: usize) {
        for line in wrap(heading, self.width, 0) {
            let line = if level > 3 {
                line
            } else {
                self.paint.bold(&line)
            };
            self.line(&line);
        }
        self.below_heading = true;
    }

    fn blocks(&mut self, blocks: &'a [Block], level: usize) {
        for block in blocks
            .iter()
            .filter(|block| block.is_shown(Medium::Terminal))
        {
            self.block(block, level);
        }
    }

    fn block(&mut self, block: &'a Block, level: usize) {
        match block {
            Block::Paragraph(text) | Block::Legend(text) => {
                self.gap();
                self.paragraph(text, 0);
            }
            Block::List(items) => {
                self.gap();
                for item in items {
                    self.item(item);
                }
            }
            Block::Facts(facts) => {
                self.gap();
                self.facts(facts);
            }
            Block::Table(table) => self.table(table),
            Block::Code(text) => {
                self.gap();
                // Text to copy is not wrapped.
                text.lines().for_each(|line| self.line(line));
            }
            Block::Fold(fold) => self.fold(fold, level),
            Block::Section(section) => self.section(section, level),
            Block::Only(_, blocks) => self.blocks(blocks, level),
            Block::Charts(_) | Block::Flame(_) => {}
        }
    }

    fn section(&mut self, section: &'a Section, level: usize) {
        if !section.part && self.depth == 0 {
            self.explained.clear();
            self.peers = tables_in(&section.blocks);
        }
        self.line("");
        if section.part {
            self.line("");
            self.heading(&section.heading, level);
            let rule = self.paint.dim(&"=".repeat(self.width));
            self.line(&rule);
            // Sections of a part have an empty line before them.
            self.below_heading = false;
        } else {
            self.heading(&section.heading, level);
        }
        self.depth += usize::from(!section.part);
        self.blocks(&section.blocks, level + 1);
        self.depth -= usize::from(!section.part);
        self.below_heading = false;
    }

    fn fold(&mut self, fold: &'a Fold, level: usize) {
        self.gap();
        let heading = [fold.name.as_str(), fold.summary.as_str()];
        self.heading(heading.join(" ").trim(), level);
        self.blocks(&fold.blocks, level + 1);
    }

    /// Wraps text to the width; further lines are indented by `hang` columns.
    fn wrapped(&mut self, text: &str, hang: usize, tone: Tone) {
        for line in wrap(text, self.width, hang) {
            let line = self.paint.tone(&line, tone);
            self.line(&line);
        }
    }

    fn paragraph(&mut self, text: &Text, hang: usize) {
        self.wrapped(&plain(text), hang, Tone::Plain);
    }

    /// An entry with its own mark, or with a dash.
    fn item(&mut self, item: &Item) {
        let text = plain(&item.text);
        match &item.lead {
            Some((lead, tone)) => {
                let whole = format!("{lead}: {text}");
                let whole = whole.trim_end_matches(' ').trim_end_matches(':');
                for (at, line) in wrap(whole, self.width, 2).iter().enumerate() {
                    let line = match line.strip_prefix(lead.as_str()).filter(|_| at == 0) {
                        Some(rest) => self.paint.tone(lead, *tone) + rest,
                        None => line.clone(),
                    };
                    self.line(&line);
                }
            }
            None => self.wrapped(&format!("- {text}"), 2, Tone::Plain),
        }
        for line in item.output.lines() {
            self.wrapped(&format!("  {line}"), 4, Tone::Plain);
        }
        for (text, tone) in &item.more {
            self.wrapped(&format!("  {}", plain(text)), 4, *tone);
        }
    }

    /// Names at the left, values at the right.
    fn facts(&mut self, facts: &[(&'static str, String)]) {
        let stub = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + 2;
        for (name, text) in facts {
            let room = self.width - stub;
            let lines = text.lines().flat_map(|line| wrap(line, room, 2));
            for (at, line) in lines.enumerate() {
                let name = self.paint.dim(&left(if at == 0 { name } else { "" }, stub));
                self.line(&format!("{name}{line}"));
            }
        }
    }
}

/// The tables in these blocks that a terminal shows.
fn tables_in(blocks: &[Block]) -> Vec<&Table> {
    let mut tables = Vec::new();
    visit(blocks, Medium::Terminal, &mut |block| match block {
        Block::Table(table) if !table.is_empty() => tables.push(table),
        _ => {}
    });
    tables
}

/// Renders a text with the symbols of a terminal.
fn plain(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Plain(text) | Span::Link { text, .. } => text.clone(),
        Span::Term(word) => format!("\"{word}\""),
        Span::Code(command) => format!("`{command}`"),
        Span::Mark(Mark::Best) => "*".to_owned(),
        Span::Mark(Mark::Equivalent) => "~".to_owned(),
        Span::Mark(Mark::Inconclusive) => "(...)".to_owned(),
        Span::Mark(Mark::Sensitive) => "^".to_owned(),
        Span::Mark(Mark::Warning) => "!".to_owned(),
    };
    text.0.iter().map(span).collect()
}
