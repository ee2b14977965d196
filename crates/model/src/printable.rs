//! Makes untrusted text safe to print: control and direction characters become visible escapes.
//!
//! This module has the only list of such characters, and does not handle colours.

use std::fmt::Write as _;

/// Whether a character can control a terminal, hide, or reorder adjacent text: C0, DEL and C1
/// controls (ECMA-48); zero-width and bidirectional format characters (Unicode UAX #9, TR #36);
/// line separators; tags.
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// The text as one safe line: every such character is an escape, as `\n` or `\u{1b}`.
pub fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for c in text.chars() {
        if is_steering(c) {
            let _ = write!(clean, "{}", c.escape_default());
        } else {
            clean.push(c);
        }
    }
    clean
}

/// The same for several lines: line breaks are kept.
pub fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrusted_text_cannot_control_a_terminal() {
        assert_eq!(printable("a\x1b[2Jb\u{202e}c"), r"a\u{1b}[2Jb\u{202e}c");
        assert_eq!(printable("\u{9b}2J\u{7f}"), r"\u{9b}2J\u{7f}");
        assert_eq!(printable("Grün 日本"), "Grün 日本");
        assert_eq!(printable_lines("a\nb\r"), "a\nb\\r");
    }
}
