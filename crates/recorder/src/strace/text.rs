//! Words of a line of strace: arguments, strings, numbers and flags, results and times.

use super::names::{constant, errno};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Argument {
    Number(u64),
    /// A descriptor, and what `-y` prints of it.
    Descriptor(u64, Vec<u8>),
    Text(Vec<u8>),
    /// A structure or list, without its brackets.
    Group(Vec<u8>),
}

impl Argument {
    pub fn number(&self) -> Option<u64> {
        match self {
            Self::Number(number) | Self::Descriptor(number, _) => Some(*number),
            _ => None,
        }
    }
}

/// Up to four numbers of a structure or list, in order.
pub(super) fn group_numbers(group: Option<&Argument>) -> [Option<u64>; 4] {
    let mut numbers = [None; 4];
    let Some(Argument::Group(text)) = group else {
        return numbers;
    };
    let fields = text.split(|byte| *byte == b',').map(|field| {
        let at = memchr::memchr(b'=', field).map_or(0, |at| at + 1);
        number(field[at..].trim_ascii())
    });
    for (number, field) in numbers.iter_mut().zip(fields) {
        *number = field;
    }
    numbers
}

/// The first word, and what follows its spaces.
pub(super) fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    (!word.is_empty()).then(|| (word, rest.trim_ascii_start()))
}

pub(super) fn number_text<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Seconds with a fraction, as nanoseconds.
pub(super) fn nanoseconds(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.is_empty() || fraction.len() > 9 {
        return None;
    }
    let scale = 10_u64.pow(9 - u32::try_from(fraction.len()).ok()?);
    let seconds: u64 = seconds.parse().ok()?;
    let fraction: u64 = fraction.parse().ok()?;
    seconds
        .checked_mul(1_000_000_000)?
        .checked_add(fraction * scale)
}

/// `NAME(` and what follows.
pub(super) fn split_name(text: &[u8]) -> Option<(&str, &[u8])> {
    let end = memchr::memchr(b'(', text)?;
    let name = std::str::from_utf8(&text[..end]).ok()?;
    let plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (plain && !name.is_empty()).then(|| (name, &text[end + 1..]))
}

/// The arguments, and what follows their closing parenthesis; none if there is none.
pub(super) fn arguments(text: &[u8]) -> (Vec<Argument>, Option<&[u8]>) {
    let mut found = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(b")") {
            return (found, Some(after));
        }
        if rest.is_empty() {
            return (found, None);
        }
        let Some((argument, after)) = argument(rest) else {
            return (found, None);
        };
        found.push(argument);
        // Skips text that strace adds, such as `=> [5]` and comments.
        let end = end_of_argument(after);
        rest = &after[end..];
        if let Some(after) = rest.strip_prefix(b",") {
            rest = after;
        }
    }
}

fn argument(text: &[u8]) -> Option<(Argument, &[u8])> {
    match text[0] {
        b'"' => {
            let (string, rest) = string(&text[1..])?;
            Some((Argument::Text(string), rest))
        }
        b'{' | b'[' => {
            let end = end_of_group(text)?;
            Some((Argument::Group(text[1..end].to_vec()), &text[end + 1..]))
        }
        _ => {
            let end = end_of_argument(text);
            let (word, rest) = text.split_at(end);
            // `name=value`, as clone prints.
            let at = memchr::memchr(b'=', word).map_or(0, |at| at + 1);
            let word = word[at..].trim_ascii();
            let (value, described) = described(word).unwrap_or((word, Vec::new()));
            let value = number(value).unwrap_or(u64::MAX);
            Some(if described.is_empty() {
                (Argument::Number(value), rest)
            } else {
                (Argument::Descriptor(value, described), rest)
            })
        }
    }
}

/// A number, and what `-y` prints of it: `3</a/file>`, `AT_FDCWD</a>`, `4<socket:[9]>`. An unlinked
/// file has the suffix of procfs.
fn described(word: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    let at = memchr::memchr(b'<', word)?;
    let end = at + end_of_description(&word[at..])?;
    let mut text = [&word[at + 1..end], b"\""].concat();
    if word[end + 1..].starts_with(b"(deleted)") {
        text.splice(text.len() - 1.., *b" (deleted)\"");
    }
    Some((&word[..at], string(&text)?.0))
}

/// Position of the `>` that closes a description, with `->` in it.
fn end_of_description(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if at > 0 && text[at - 1] == b'-' => {}
            b'>' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Position of the comma or parenthesis that ends an argument.
fn end_of_argument(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b',' | b')' => return at,
            b'"' => match string(&text[at + 1..]) {
                Some((_, rest)) => at = text.len() - rest.len(),
                None => return text.len(),
            },
            b'{' | b'[' | b'(' => match end_of_group(&text[at..]) {
                Some(end) => at += end + 1,
                None => return text.len(),
            },
            // Not `1<<12`.
            b'<' if text.get(at + 1) == Some(&b'<') => at += 2,
            b'<' => match end_of_description(&text[at..]) {
                Some(end) => at += end + 1,
                None => return text.len(),
            },
            _ => at += 1,
        }
    }
    at
}

/// Position of the bracket that closes the first one.
fn end_of_group(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => {
                let (_, rest) = string(&text[at + 1..])?;
                at = text.len() - rest.len();
                continue;
            }
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// A string after its opening quote, and what follows its closing one. Escapes are those of C, with
/// octal numbers of one to three digits.
pub(super) fn string(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        match *text.get(at)? {
            b'"' => {
                let rest = &text[at + 1..];
                return Some((found, rest.strip_prefix(b"...").unwrap_or(rest)));
            }
            b'\\' => {
                at += 1;
                let escaped = *text.get(at)?;
                at += 1;
                found.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'x' => {
                        let digits = std::str::from_utf8(text.get(at..at + 2)?).ok()?;
                        at += 2;
                        u8::from_str_radix(digits, 16).ok()?
                    }
                    b'0'..=b'7' => {
                        let mut value = u32::from(escaped - b'0');
                        let mut digits = 1;
                        while let Some(digit @ b'0'..=b'7') = text.get(at)
                            && digits < 3
                        {
                            value = value * 8 + u32::from(digit - b'0');
                            digits += 1;
                            at += 1;
                        }
                        u8::try_from(value).ok()?
                    }
                    other => other,
                });
            }
            byte => {
                found.push(byte);
                at += 1;
            }
        }
    }
}

/// A number as strace prints it: decimal, negative, hexadecimal, octal, NULL; a name of a constant;
/// or flags with `|`, of which names that are not known have no meaning here.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    if text.contains('|') {
        let parts = text.split('|').map(|part| number(part.as_bytes()));
        return parts.fold(None, |all, part| match (all, part) {
            (Some(all), Some(part)) => Some(all | part),
            (all, part) => all.or(part),
        });
    }
    // A comment, as `-X verbose` prints, or a number of entries.
    let text = text.find("/*").map_or(text, |at| &text[..at]).trim();
    if text == "NULL" {
        return Some(0);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix('0').filter(|digits| !digits.is_empty()) {
        return u64::from_str_radix(digits, 8).ok();
    }
    if text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        // Requests with several names: `BTRFS_IOC_CLONE or FICLONE`.
        return text.split(" or ").find_map(constant);
    }
    match text.strip_prefix('-') {
        Some(_) => text.parse::<i64>().ok().map(i64::cast_unsigned),
        None => text.parse().ok(),
    }
}

/// ` = RESULT ...`: the return value, none for `?`; and what follows. `-y` prints the file of a new
/// descriptor.
#[allow(clippy::type_complexity, reason = "a pair of the value and the rest")]
pub(super) fn result(text: &[u8]) -> Option<(Option<i64>, &[u8])> {
    let text = text
        .trim_ascii_start()
        .strip_prefix(b"=")?
        .trim_ascii_start();
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'?');
    let end = text.iter().position(|byte| !is_part(byte));
    let (value, mut rest) = text.split_at(end.unwrap_or(text.len()));
    if rest.starts_with(b"<") {
        rest = &rest[end_of_description(rest)? + 1..];
    }
    let rest = rest.trim_ascii_start();
    if value == b"?" {
        return Some((None, rest));
    }
    let value = number(value)?.cast_signed();
    if value != -1 {
        return Some((Some(value), rest));
    }
    let (name, after) = word(rest)?;
    let name = std::str::from_utf8(name).ok()?;
    if let Some(number) = name.strip_prefix("(errno").map(|_| after) {
        let digits = number.split(|byte| *byte == b')').next()?;
        return Some((Some(number_text::<i64>(digits)?.checked_neg()?), after));
    }
    // lseek and mmap may return -1 as a value; the name of an error follows otherwise.
    Some((Some(-i64::from(errno(name)?)), after))
}

/// `<0.000012345>` at the end of a line, in ns.
pub(super) fn duration(text: &[u8]) -> Option<u64> {
    let text = text.strip_suffix(b">")?;
    let start = memchr::memrchr(b'<', text)?;
    nanoseconds(&text[start + 1..])
}
