//! Sentences, with marks of figures and emphasized terms.

/// One or more sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

/// A span of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Span {
    /// Plain text.
    Plain(String),
    /// An emphasized word.
    Term(String),
    /// A command.
    Code(String),
    /// A link to a section of the page, or to a page of the same site.
    Link {
        /// The link text.
        text: String,
        /// The address, relative to the page.
        to: String,
    },
    /// The mark of a figure. Each renderer draws it in its own way.
    Mark(Mark),
}

/// The meaning of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// The fastest by verdict.
    Best,
    /// Within the margin of the baseline.
    Equivalent,
    /// The verdict is inconclusive.
    Inconclusive,
    /// The verdict depends on the model.
    Sensitive,
    /// There is a warning.
    Warning,
}

impl Text {
    /// Adds plain text.
    #[must_use]
    pub fn plain(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        match self.0.last_mut() {
            Some(Span::Plain(last)) => last.push_str(&text),
            _ => self.0.push(Span::Plain(text)),
        }
        self
    }

    /// Adds an emphasized word.
    #[must_use]
    pub fn term(mut self, word: impl Into<String>) -> Self {
        self.0.push(Span::Term(word.into()));
        self
    }

    /// Adds a command.
    #[must_use]
    pub fn code(mut self, command: impl Into<String>) -> Self {
        self.0.push(Span::Code(command.into()));
        self
    }

    /// Adds a link to a section of the page.
    #[must_use]
    pub fn link(self, text: impl Into<String>, section: &str) -> Self {
        self.on_page(text, format!("#{section}"))
    }

    /// Adds a link to a page of the same site.
    #[must_use]
    pub fn on_page(mut self, text: impl Into<String>, to: impl Into<String>) -> Self {
        let (text, to) = (text.into(), to.into());
        self.0.push(Span::Link { text, to });
        self
    }

    /// Adds a mark.
    #[must_use]
    pub fn mark(mut self, mark: Mark) -> Self {
        self.0.push(Span::Mark(mark));
        self
    }

    /// Whether there is nothing to print.
    pub fn is_empty(&self) -> bool {
        self.0
            .iter()
            .all(|span| matches!(span, Span::Plain(text) if text.is_empty()))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(vec![Span::Plain(text)])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
