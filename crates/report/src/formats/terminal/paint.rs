//! Colour, width and wrapping of text.

use crate::document::Tone;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Colours text if colour is enabled.
#[derive(Debug, Clone, Copy)]
pub struct Paint(pub bool);

impl Paint {
    pub fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub fn good(self, text: &str) -> String {
        self.with("1;32", text)
    }

    /// A text in a tone.
    pub fn tone(self, text: &str, tone: Tone) -> String {
        match tone {
            Tone::Plain => text.to_owned(),
            Tone::Strong => self.bold(text),
            Tone::Good => self.good(text),
            Tone::Warning => self.with("33", text),
            Tone::Bad => self.with("31", text),
            Tone::Soft => self.dim(text),
        }
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.0 && !text.trim().is_empty() {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// The width of a text, columns.
pub fn width(text: &str) -> usize {
    text.width()
}

/// Right-aligns text in a column. Colour it afterwards.
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Left-aligns text in a column.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// Wraps text into lines of at most `columns`; further lines are indented by `hang`. Leading blanks
/// are kept. A word wider than a line is split.
pub fn wrap(text: &str, columns: usize, hang: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let indent = paragraph.len() - paragraph.trim_start_matches(' ').len();
        let mut line = " ".repeat(indent.min(columns / 2));
        let mut empty = true;
        for word in paragraph.split(' ').filter(|w| !w.is_empty()) {
            let mut word = word;
            if !empty && width(&line) + 1 + width(word) > columns {
                lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            // Each step looks at the part that fits only, not at the rest of a long word.
            loop {
                let (head, tail) = split_at_width(word, columns.saturating_sub(width(&line)));
                line.push_str(head);
                if tail.is_empty() {
                    break;
                }
                lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
                word = tail;
            }
            empty = false;
        }
        lines.push(line);
    }
    lines
}

/// Splits a text after the last character that fits; the first part has at least one character.
fn split_at_width(text: &str, columns: usize) -> (&str, &str) {
    let mut taken = 0;
    for (at, c) in text.char_indices() {
        taken += c.width().unwrap_or(0);
        if taken > columns && at > 0 {
            return text.split_at(at);
        }
    }
    (text, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_many_megabytes_is_wrapped() {
        let word = "x".repeat(8 << 20);
        let lines = wrap(&word, 60, 0);
        assert_eq!(lines.len(), word.len().div_ceil(60));
        assert_eq!(lines.concat(), word);
    }

    #[test]
    fn wrapped_lines_keep_all_characters_and_the_width() {
        let text =
            "  a list of words, averyveryverylongwordwithoutblanks and 日本日本日本日本日本日本";
        for columns in 12..40 {
            let lines = wrap(text, columns, 4);
            assert!(lines.iter().all(|l| width(l) <= columns), "{lines:?}");
            let letters = |s: &str| s.replace(' ', "");
            assert_eq!(letters(&lines.concat()), letters(text));
        }
    }
}
