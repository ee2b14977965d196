//! GitHub's Markdown. External text is escaped: it can neither break a table nor add markup.

use super::cells::{Parts, Style, Symbols};
use crate::document::{
    Block, Cell, Document, Item, Mark, Medium, RatioTo, Section, Span, Table, Text,
};
use crate::options::Options;
use std::fmt::Write as _;

const SYMBOLS: Symbols = Symbols {
    unknown: "-",
    dash: "-",
    times: "x",
    equivalent: "≈",
    inconclusive: ["(", ")"],
};

/// Renders a document.
pub fn render(document: &Document, options: &Options) -> Vec<u8> {
    let mut page = Page {
        text: format!("# {}\n", escape(&document.title)),
        style: Style {
            symbols: SYMBOLS,
            clock: options.clock,
        },
    };
    for text in &document.lead {
        page.paragraph(text);
    }
    if !document.status.is_empty() {
        page.paragraph(&document.status);
    }
    page.blocks(&document.blocks, 2);
    page.text.into_bytes()
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn blocks(&mut self, blocks: &[Block], level: usize) {
        for block in blocks
            .iter()
            .filter(|block| block.is_shown(Medium::Markdown))
        {
            self.block(block, level);
        }
    }

    fn block(&mut self, block: &Block, level: usize) {
        match block {
            Block::Paragraph(text) | Block::Legend(text) => self.paragraph(text),
            Block::List(items) => {
                self.text.push('\n');
                for item in items {
                    self.item(item);
                }
            }
            Block::Facts(facts) => {
                self.text.push('\n');
                self.head(&["what".to_owned(), "value".to_owned()], 2);
                for (name, text) in facts {
                    for line in text.lines() {
                        self.row(&[escape(name), escape(line)]);
                    }
                }
            }
            Block::Table(table) => self.table(table),
            Block::Code(text) => {
                let _ = write!(self.text, "\n```\n{}\n```\n", text.trim_end());
            }
            Block::Fold(fold) => {
                self.heading(&format!("{} {}", fold.name, fold.summary), level);
                self.blocks(&fold.blocks, level + 1);
            }
            Block::Section(Section {
                heading, blocks, ..
            }) => {
                self.heading(heading, level);
                self.blocks(blocks, level + 1);
            }
            Block::Only(_, blocks) => self.blocks(blocks, level),
            Block::Charts(_) | Block::Flame(_) => {}
        }
    }

    fn heading(&mut self, heading: &str, level: usize) {
        let marks = "#".repeat(level.min(6));
        let _ = write!(self.text, "\n{marks} {}\n", escape(heading.trim()));
    }

    fn paragraph(&mut self, text: &Text) {
        let _ = write!(self.text, "\n{}\n", inline(text));
    }

    fn item(&mut self, item: &Item) {
        let text = inline(&item.text);
        let lead = item.lead.as_ref();
        let lead = lead.map(|(lead, _)| format!("**{}**", escape(lead)));
        let parts = [lead.unwrap_or_default(), text];
        let parts = parts.iter().filter(|part| !part.is_empty());
        let mut line = parts.map(String::as_str).collect::<Vec<_>>().join(": ");
        if !item.output.is_empty() {
            let _ = write!(line, ": {}", escape(&item.output));
        }
        let _ = writeln!(self.text, "- {line}");
        for (text, _) in &item.more {
            let _ = writeln!(self.text, "  - {}", inline(text));
        }
    }

    /// A table, with the meanings of its groups above and their notes below.
    fn table(&mut self, table: &Table) {
        let described = table.groups.iter().filter(|group| !group.about.is_empty());
        let described: Vec<_> = described.collect();
        if !described.is_empty() {
            self.text.push('\n');
        }
        for group in described {
            let (heading, about) = (escape(&group.heading), escape(&group.about));
            let _ = writeln!(self.text, "- {heading}: {about}");
        }
        self.text.push('\n');
        let names = table.names();
        let mut cells: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let words = table.columns.iter().take_while(|column| column.is_text);
        let words = cells.len() + words.count();
        let columns = table.columns.iter();
        cells.extend(columns.map(|column| escape(&column.label.full)));
        self.head(&cells, words);
        for (group, row) in table.grouped_rows() {
            let mut cells = Vec::new();
            if table.is_grouped() {
                let heading = group.map(|group| group.heading_with_unit(self.style.clock));
                cells.push(escape(&heading.unwrap_or_default()));
            }
            if names.len() > cells.len() {
                cells.push(escape(&row.name()));
            }
            if let Some(reason) = &row.instead {
                cells.push(escape(reason));
                cells.resize(names.len() + table.columns.len(), "-".to_owned());
            } else {
                let parts = self.style.row(group, row);
                let both = row.cells.iter().zip(&parts);
                cells.extend(both.map(|(cell, parts)| Self::cell(cell, parts)));
            }
            self.row(&cells);
        }
        let noted = table.groups.iter();
        let noted = noted.filter_map(|group| Some((&group.heading, group.note.as_ref()?)));
        for (at, (heading, note)) in noted.enumerate() {
            let gap = if at == 0 { "\n" } else { "" };
            let _ = writeln!(self.text, "{gap}- {}: {}", escape(heading), escape(note));
        }
    }

    /// `**1.04** (1.00-1.08) ≈0.99x [0.98-1.01] (!)`.
    fn cell(cell: &Cell, parts: &Parts) -> String {
        let mut text = escape(&parts.value);
        if parts.best {
            text = format!("**{text}**");
        }
        if !parts.spread.is_empty() {
            let _ = write!(text, " ({})", parts.spread);
        }
        let is_baseline = matches!(cell, Cell::Figure(figure) if figure.ratio == RatioTo::Baseline);
        if !parts.ratio.is_empty() && !is_baseline {
            let _ = write!(text, " {}", parts.ratio);
        }
        if !parts.interval.is_empty() {
            let _ = write!(text, " \\[{}\\]", parts.interval);
        }
        if parts.sensitive {
            text += " (^)";
        }
        if parts.warned {
            text += " (!)";
        }
        text
    }

    /// The header row: this number of text columns, then right-aligned figures.
    fn head(&mut self, cells: &[String], words: usize) {
        self.row(cells);
        self.text += &"| --- ".repeat(words);
        self.text += &"| ---: ".repeat(cells.len().saturating_sub(words));
        self.text += "|\n";
    }

    fn row(&mut self, cells: &[String]) {
        let _ = writeln!(self.text, "| {} |", cells.join(" | "));
    }
}

/// A text as Markdown.
fn inline(text: &Text) -> String {
    let span = |span: &Span| match span {
        Span::Plain(text) | Span::Link { text, .. } => escape(text),
        Span::Term(word) => format!("*{}*", escape(word)),
        Span::Code(command) => format!("`{}`", command.replace('`', "")),
        Span::Mark(Mark::Best) => "**bold**".to_owned(),
        Span::Mark(Mark::Equivalent) => "≈".to_owned(),
        Span::Mark(Mark::Inconclusive) => "(...)".to_owned(),
        Span::Mark(Mark::Sensitive) => "(^)".to_owned(),
        Span::Mark(Mark::Warning) => "(!)".to_owned(),
    };
    text.0.iter().map(span).collect()
}

/// Escapes text for Markdown and HTML, on one line.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' => out.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '$' | '!' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn text_cannot_break_a_table_or_add_markup() {
        assert_eq!(escape("a|b\nc"), r"a\|b c");
        assert_eq!(escape("<b>*x*</b>"), r"&lt;b&gt;\*x\*&lt;/b&gt;");
        assert_eq!(escape("[t](javascript:1)"), r"\[t\](javascript:1)");
    }
}
