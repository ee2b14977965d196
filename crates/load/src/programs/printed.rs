//! Parses printed numbers and lines, strictly. The file of each program defines their meaning.

/// A non-negative number: digits with at most one point.
pub(super) fn decimal(text: &str) -> Option<f64> {
    let begins = text.starts_with(|c: char| c.is_ascii_digit());
    let all = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    (begins && all).then(|| text.parse().ok())?
}

pub(super) fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

/// The values of the placeholders `{}` in a pattern; none if the rest differs.
pub(super) fn places<'a>(line: &'a str, pattern: &str) -> Option<Vec<&'a str>> {
    let mut literals = pattern.split("{}");
    let mut rest = line.strip_prefix(literals.next()?)?;
    let mut found = Vec::new();
    let mut literals = literals.peekable();
    while let Some(literal) = literals.next() {
        // The last one is at the end of the line.
        let at = if literals.peek().is_none() {
            rest.strip_suffix(literal)?.len()
        } else {
            rest.find(literal)?
        };
        found.push(&rest[..at]);
        rest = &rest[at + literal.len()..];
    }
    rest.is_empty().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        for (text, number) in [
            ("0", Some(0.0)),
            ("12.50", Some(12.5)),
            ("1.2.3", None),
            (".5", None),
            ("", None),
            ("-1", None),
            ("1e3", None),
            ("nan", None),
        ] {
            assert_eq!(decimal(text), number, "{text}");
        }
        assert_eq!((whole("07"), whole("+7"), whole("")), (Some(7), None, None));
    }

    #[test]
    fn a_line_fits_its_pattern_from_end_to_end() {
        let pattern = "\t{} read ({} per second)";
        let fitting = places("\t12 read (3 per second)", pattern);
        assert_eq!(fitting, Some(vec!["12", "3"]));
        for line in [
            "\t12 read (3 per second) ",
            "12 read (3 per second)",
            "\t12 read",
        ] {
            assert_eq!(places(line, pattern), None, "{line}");
        }
        assert_eq!(places("Time:", "Time:"), Some(Vec::new()));
        assert_eq!(places("Time: 1", "Time:"), None);
    }
}
