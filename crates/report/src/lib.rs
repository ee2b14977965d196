//! A result set to bytes: terminal, HTML, CSV, JSON, Markdown.
