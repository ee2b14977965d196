//! A report as a value: headings, paragraphs, lists, facts, tables of typed cells and charts.
//!
//! A report of any kind is built once as a [`Document`]. The renderers in `formats` choose widths,
//! symbols and units. This module depends neither on result sets nor on screen layout.

mod cell;
mod table;
mod text;

pub use cell::{Cell, CheckedStates, Compared, Figure, Number, Outcome, RatioTo, VerdictCell};
pub use table::{Column, Group, Label, Overflow, Quantity, Row, Table};
pub use text::{Mark, Span, Text};

use crate::charts::Chart;
use crate::charts::flame::Flame;
use crate::lists::unique;

/// A report.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// Its title, of one line.
    pub title: String,
    /// A title for the page, if it differs.
    pub page_title: Option<String>,
    /// Its subject, below the title.
    pub subtitle: String,
    /// The conclusions.
    pub lead: Vec<Text>,
    /// The phases by their fastest contender, for the page.
    pub winners: Vec<Shares>,
    /// The number of measured cells and of warnings.
    pub status: Text,
    /// The other blocks.
    pub blocks: Vec<Block>,
    /// The filters of the page.
    pub filters: Vec<Filter>,
    /// The last line of the page.
    pub footer: String,
    /// The command that draws the charts that do not fit into the page.
    pub chart_command: String,
}

/// A whole divided into parts.
#[derive(Debug, Clone, Default)]
pub struct Shares {
    /// The subject, short.
    pub name: String,
    /// The parts that are not empty.
    pub parts: Vec<Share>,
}

/// A part of a whole.
#[derive(Debug, Clone)]
pub struct Share {
    /// Its name.
    pub label: String,
    /// Its size.
    pub count: usize,
    /// The colour.
    pub colour: ShareColour,
}

/// The colour of a part of a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareColour {
    /// The colour of a contender in the charts, by index.
    Contender(usize),
    /// The colour of a decided part without contender.
    Shared,
    /// The colour of an undecided part.
    Undecided,
}

/// A part of a report.
#[derive(Debug, Clone)]
pub enum Block {
    /// A paragraph.
    Paragraph(Text),
    /// The legend of the figures.
    Legend(Text),
    /// A list.
    List(Vec<Item>),
    /// Names with their values.
    Facts(Vec<(&'static str, String)>),
    /// A table.
    Table(Table),
    /// Charts, for a renderer that can draw.
    Charts(Vec<Chart>),
    /// A flame graph, for a page.
    Flame(Flame),
    /// Text to copy: commands, options, a plan.
    Code(String),
    /// Details, folded on the page.
    Fold(Fold),
    /// A heading with its blocks.
    Section(Section),
    /// Blocks for some renderers only.
    Only(Audience, Vec<Block>),
}

/// The renderers that show a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// The page only.
    Page,
    /// The terminal and Markdown.
    Text,
    /// Markdown and the page: content that is too long for a terminal.
    Long,
}

/// A kind of renderer.
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
    /// Whether this audience includes a renderer.
    pub fn includes(self, medium: Medium) -> bool {
        match self {
            Self::Page => medium == Medium::Page,
            Self::Text => medium != Medium::Page,
            Self::Long => medium != Medium::Terminal,
        }
    }
}

/// A heading with its blocks.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its id on the page, unique in the document; empty for none.
    pub id: String,
    /// The heading.
    pub heading: String,
    /// Whether it contains a whole lab.
    pub part: bool,
    /// Its contender.
    pub contender: Option<String>,
    /// Its blocks.
    pub blocks: Vec<Block>,
}

/// Details behind a summary.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    /// Its id on the page, unique in the document; empty for none.
    pub id: String,
    /// Its subject, short.
    pub name: String,
    /// The summary.
    pub summary: String,
    /// Whether it is initially unfolded.
    pub open: bool,
    /// Its phase.
    pub place: Option<String>,
    /// The details.
    pub blocks: Vec<Block>,
}

/// An entry of a list.
#[derive(Debug, Clone, Default)]
pub struct Item {
    /// Its first word, with the tone.
    pub lead: Option<(String, Tone)>,
    /// The text.
    pub text: Text,
    /// Further lines.
    pub more: Vec<(Text, Tone)>,
    /// Output of another program, unchanged.
    pub output: String,
    /// Its phase.
    pub place: Option<String>,
    /// Its contender.
    pub contender: Option<String>,
}

/// The colour of a word, if colour is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tone {
    /// The colour of the surrounding text.
    #[default]
    Plain,
    /// The answer.
    Strong,
    /// A good result.
    Good,
    /// A warning.
    Warning,
    /// A bad result.
    Bad,
    /// Less important.
    Soft,
}

/// A filter of the page.
#[derive(Debug, Clone)]
pub struct Filter {
    /// Its name in the URL of the page.
    pub name: &'static str,
    /// Its plural, for messages.
    pub several: &'static str,
    /// The items to choose from.
    pub items: Vec<FilterItem>,
}

/// An item that can be shown or hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterItem {
    /// Its name.
    pub value: String,
    /// The workload and the state of the caches of a phase.
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

    /// The title of the page.
    pub fn page_title(&self) -> &str {
        self.page_title.as_deref().unwrap_or(&self.title)
    }
}

impl Item {
    /// An entry with its first word.
    pub fn new(lead: impl Into<String>, tone: Tone, text: impl Into<Text>) -> Self {
        Self {
            lead: Some((lead.into(), tone)),
            text: text.into(),
            ..Self::default()
        }
    }
}

impl Filter {
    /// The filter of contenders; none if there is no choice.
    pub fn of_contenders(names: impl IntoIterator<Item = String>) -> Vec<Self> {
        let item = |value| FilterItem { value, of: None };
        let filter = Self {
            name: "contender",
            several: "contenders",
            items: unique(names).into_iter().map(item).collect(),
        };
        let has_choice = filter.items.len() > 1;
        has_choice.then_some(filter).into_iter().collect()
    }
}

impl Section {
    /// An empty section.
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

    /// Makes the ids of this section and its subsections unique by a suffix.
    pub fn add_suffix(&mut self, suffix: &str) {
        if !self.id.is_empty() {
            self.id += suffix;
        }
        add_suffix(&mut self.blocks, suffix);
    }
}

/// Calls a function with each block that a renderer shows, those within other blocks included.
pub fn visit<'a>(blocks: &'a [Block], medium: Medium, to: &mut impl FnMut(&'a Block)) {
    for block in blocks {
        to(block);
        match block {
            Block::Section(Section { blocks, .. }) | Block::Fold(Fold { blocks, .. }) => {
                visit(blocks, medium, to);
            }
            Block::Only(audience, blocks) if audience.includes(medium) => {
                visit(blocks, medium, to);
            }
            _ => {}
        }
    }
}

/// Makes the ids of all sections unique by a suffix.
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
    /// Whether a renderer shows some of the block.
    pub fn is_shown(&self, medium: Medium) -> bool {
        match self {
            Self::Paragraph(text) | Self::Legend(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Facts(facts) => !facts.is_empty(),
            Self::Table(table) => !table.is_empty(),
            Self::Charts(charts) => medium == Medium::Page && !charts.is_empty(),
            Self::Flame(_) => medium == Medium::Page,
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

    /// A list of warnings.
    pub fn warnings(texts: &[String]) -> Self {
        let item = |text: &String| Item::new("warning", Tone::Warning, text.as_str());
        Self::List(texts.iter().map(item).collect())
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
