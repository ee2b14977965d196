//! A report as a value: headings, paragraphs, lists, facts, tables of typed cells and charts.
//!
//! A report of any kind is built once as a [`Document`]; the renderers in `formats`
//! choose widths, symbols and units. This module knows neither result sets nor characters on a screen.

mod cell;
mod table;
mod text;

pub use cell::{Cell, Compared, Figure, Number, Outcome, RatioTo, VerdictCell};
pub use table::{Column, Group, Label, Overflow, Row, Table};
pub use text::{Mark, Span, Text};

use crate::charts::Chart;

/// A report.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its title, of one line.
    pub title: String,
    /// A title for the page, where that is another one.
    pub page_title: Option<String>,
    /// What it is about, below the title.
    pub subtitle: String,
    /// The answer first: what the figures show.
    pub lead: Vec<Text>,
    /// How much was measured.
    pub status: Text,
    /// Everything else.
    pub blocks: Vec<Block>,
    /// What a reader of the page can show and hide.
    pub filters: Vec<Filter>,
    /// The last line of the page.
    pub footer: String,
    /// The command that draws the charts for which the page has no room.
    pub chart_command: String,
}

/// A part of a report.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Paragraph(Text),
    /// How the figures are to be read.
    Legend(Text),
    /// A list.
    List(Vec<Item>),
    /// Names and texts.
    Facts(Vec<(&'static str, String)>),
    /// A table.
    Table(Table),
    /// Charts, for a renderer that can draw.
    Charts(Vec<Chart>),
    /// Text to copy: commands, options, a plan.
    Code(String),
    /// Details, which the page folds away.
    Fold(Fold),
    /// A heading with all that belongs to it.
    Section(Section),
    /// Blocks for some renderers only.
    Only(Audience, Vec<Block>),
}

/// The renderers that show a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The page alone.
    Page,
    /// The terminal and Markdown.
    Text,
    /// Markdown and the page: what is too long for a terminal.
    Long,
}

/// A renderer, by what it can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// A terminal.
    Terminal,
    /// A Markdown file.
    Markdown,
    /// A page in a browser.
    Page,
}

impl Audience {
    /// Whether a renderer belongs to it.
    pub fn includes(self, medium: Medium) -> bool {
        match self {
            Self::Page => medium == Medium::Page,
            Self::Text => medium != Medium::Page,
            Self::Long => medium != Medium::Terminal,
        }
    }
}

/// A heading with all that belongs to it.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its name on the page, unique in the document; empty for none.
    pub id: String,
    /// The heading.
    pub heading: String,
    /// Whether it holds everything of one lab.
    pub part: bool,
    /// The contender that it is about.
    pub contender: Option<String>,
    /// What belongs to it.
    pub blocks: Vec<Block>,
}

/// Details behind a summary.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    /// What it is about, in few words.
    pub name: String,
    /// The summary.
    pub summary: String,
    /// Whether it is unfolded at first.
    pub open: bool,
    /// Whether it is unfolded on paper.
    pub printed: bool,
    /// The phase that it is about.
    pub place: Option<String>,
    /// The details.
    pub blocks: Vec<Block>,
}

/// An entry of a list.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// The word it begins with, and how that looks.
    pub lead: Option<(String, Tone)>,
    /// The text.
    pub text: Text,
    /// Further lines.
    pub more: Vec<(Text, Tone)>,
    /// Lines of another program, shown as they are.
    pub output: String,
    /// The phase that it is about.
    pub place: Option<String>,
    /// The contender that it is about.
    pub contender: Option<String>,
}

/// How a word looks where there is colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// Like the text around it.
    #[default]
    Plain,
    /// Good news.
    Good,
    /// A warning.
    Warning,
    /// Bad news.
    Bad,
    /// Less important.
    Soft,
}

/// What a reader of the page can choose of one kind.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Its name in the address of the page.
    pub name: &'static str,
    /// Several of it, in words.
    pub several: &'static str,
    /// What there is to choose.
    pub items: Vec<FilterItem>,
}

/// One thing to show or hide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterItem {
    /// Its name.
    pub value: String,
    /// For a phase: its workload and the state of its caches.
    pub of: Option<(String, &'static str)>,
}

impl Document {
    /// A document with this title.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// The heading of the page.
    pub fn page_title(&self) -> &str {
        self.page_title.as_deref().unwrap_or(&self.title)
    }
}

impl Section {
    /// A section without blocks so far.
    pub fn new(id: impl Into<String>, heading: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            heading: heading.into(),
            ..Self::default()
        }
    }

    /// Adds a block.
    #[must_use]
    pub fn with(mut self, block: impl Into<Block>) -> Self {
        self.blocks.push(block.into());
        self
    }

    /// Makes the names of this section and of all within it unique by a suffix.
    pub fn add_suffix(&mut self, suffix: &str) {
        if !self.id.is_empty() {
            self.id += suffix;
        }
        add_suffix(&mut self.blocks, suffix);
    }
}

/// Makes the names of all sections unique by a suffix.
pub fn add_suffix(blocks: &mut [Block], suffix: &str) {
    for block in blocks {
        match block {
            Block::Section(section) => section.add_suffix(suffix),
            Block::Fold(fold) => add_suffix(&mut fold.blocks, suffix),
            Block::Only(_, blocks) => add_suffix(blocks, suffix),
            _ => {}
        }
    }
}

impl Block {
    /// Whether a renderer has anything to show of it.
    pub fn is_shown(&self, medium: Medium) -> bool {
        match self {
            Self::Paragraph(text) | Self::Legend(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Facts(facts) => !facts.is_empty(),
            Self::Table(table) => !table.is_empty(),
            Self::Charts(charts) => medium == Medium::Page && !charts.is_empty(),
            Self::Code(text) => !text.is_empty(),
            Self::Fold(Fold { blocks, .. }) | Self::Section(Section { blocks, .. }) => {
                blocks.iter().any(|block| block.is_shown(medium))
            }
            Self::Only(audience, blocks) => {
                audience.includes(medium) && blocks.iter().any(|block| block.is_shown(medium))
            }
        }
    }

    /// A paragraph.
    pub fn paragraph(text: impl Into<Text>) -> Self {
        Self::Paragraph(text.into())
    }

    /// A list of plain sentences.
    pub fn sentences(texts: impl IntoIterator<Item = String>) -> Self {
        let item = |text: String| Item {
            text: text.into(),
            ..Item::default()
        };
        Self::List(texts.into_iter().map(item).collect())
    }
}

impl From<Section> for Block {
    fn from(section: Section) -> Self {
        Self::Section(section)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Fold> for Block {
    fn from(fold: Fold) -> Self {
        Self::Fold(fold)
    }
}
