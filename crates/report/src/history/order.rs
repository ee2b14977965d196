//! The order of points: kernels by their versions, commits by the history of their repository.

use std::cmp::Ordering;

/// Compares two names with numbers in them by the values of the numbers: `6.9` is before `6.12`,
/// and a release candidate is before its release.
pub fn natural(one: &str, other: &str) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        let (a, b) = (part(&mut left), part(&mut right));
        let order = match (a, b) {
            (None, None) => return one.cmp(other),
            // 6.12-rc1 is before 6.12, as 6.12 is before 6.12.1.
            (None, Some(_)) | (Some(_), None) => {
                let rest = if a.is_none() { b } else { a };
                let longer_is_earlier = rest.is_some_and(|rest| rest.starts_with("-rc"));
                match (a.is_none(), longer_is_earlier) {
                    (true, true) | (false, false) => Ordering::Greater,
                    _ => Ordering::Less,
                }
            }
            (Some(a), Some(b)) => compare(a, b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    if let (Some(a), Some(b)) = (number(a), number(b)) {
        return a.len().cmp(&b.len()).then_with(|| a.cmp(b));
    }
    let (early, late) = (a.starts_with("-rc"), b.starts_with("-rc"));
    late.cmp(&early).then_with(|| a.cmp(b))
}

/// The digits of a number without leading zeros.
fn number(part: &str) -> Option<&str> {
    let is_number = part.starts_with(|c: char| c.is_ascii_digit());
    is_number.then(|| part.trim_start_matches('0'))
}

/// Takes the next run of digits, or of other characters.
fn part<'a>(text: &mut &'a str) -> Option<&'a str> {
    let first = text.chars().next()?.is_ascii_digit();
    let end = text.find(|c: char| c.is_ascii_digit() != first);
    let (part, rest) = text.split_at(end.unwrap_or(text.len()));
    *text = rest;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_ordered_by_version() {
        let ordered = [
            "Linux 5.10.0",
            "Linux 6.1",
            "Linux 6.1.2",
            "Linux 6.9",
            "Linux 6.12-rc2",
            "Linux 6.12-rc10",
            "Linux 6.12",
            "Linux 6.12-00012-gabc",
            "Linux 6.12.1",
            "Linux 6.100",
        ];
        for (at, one) in ordered.iter().enumerate() {
            for (place, other) in ordered.iter().enumerate() {
                let found = natural(one, other);
                assert_eq!(found, at.cmp(&place), "{one}, {other}");
            }
        }
    }
}
