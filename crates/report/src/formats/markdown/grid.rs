//! The characters of Markdown: rows of tables, and text that cannot break them.

use std::fmt::Write as _;

/// The head of a table: names to the left, figures to the right.
pub fn header(page: &mut String, names: &[&str], figures: &[String]) {
    let mut cells: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    cells.extend(figures.iter().map(|label| escape(label)));
    row(page, &cells);
    *page += &"| --- ".repeat(names.len());
    // A single column of figures is a column of texts.
    let rule = if figures.len() == 1 {
        "| --- "
    } else {
        "| ---: "
    };
    *page += &rule.repeat(figures.len());
    *page += "|\n";
}

/// One row.
pub fn row(page: &mut String, cells: &[String]) {
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

/// Text with everything escaped that Markdown or HTML would act upon; one line.
pub fn escape(text: &str) -> String {
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
    fn text_cannot_break_a_table_or_bring_in_markup() {
        assert_eq!(escape("a|b\nc"), r"a\|b c");
        assert_eq!(escape("<b>*x*</b>"), r"&lt;b&gt;\*x\*&lt;/b&gt;");
        assert_eq!(escape("[t](javascript:1)"), r"\[t\](javascript:1)");
    }
}
