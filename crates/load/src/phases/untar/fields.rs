//! The fields of a header: numbers, texts, its checksum.

use super::member::Broken;

/// The checksum of a header: the sum of its bytes, with blanks in its own field.
#[inline]
pub(super) fn check_sum(header: &[u8]) -> Result<(), Broken> {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let total = sum(&header[..148]) + 8 * u32::from(b' ') + sum(&header[156..512]);
    if number(&header[148..156])? == u64::from(total) {
        return Ok(());
    }
    Err(Broken::Content(
        "is no tar archive, or a damaged one: the checksum of a header is wrong".to_owned(),
    ))
}

/// A number: octal digits, or GNU's base 256 if the first bit is set.
#[inline]
pub(super) fn number(field: &[u8]) -> Result<u64, Broken> {
    if field[0] & 0x80 != 0 {
        return u64::try_from(signed(field)?).map_err(|_| bad_number());
    }
    let mut value: u64 = 0;
    for byte in field {
        match byte {
            b'0'..=b'7' => value = value << 3 | u64::from(byte - b'0'),
            b' ' if value == 0 => {}
            b' ' | 0 => break,
            _ => return Err(bad_number()),
        }
    }
    Ok(value)
}

/// A number that may be negative: the time of a file older than 1970.
pub(super) fn signed(field: &[u8]) -> Result<i64, Broken> {
    if field[0] & 0x80 == 0 {
        return i64::try_from(number(field)?).map_err(|_| bad_number());
    }
    // Two's complement without the mark: bit 6 of the first byte is the sign.
    let first = i128::from(field[0] & 0x3f) - i128::from(field[0] & 0x40);
    let value = field[1..]
        .iter()
        .fold(first, |value, byte| value << 8 | i128::from(*byte));
    i64::try_from(value).map_err(|_| bad_number())
}

#[cold]
fn bad_number() -> Broken {
    Broken::Content("has a number in a header that is none".to_owned())
}

/// Identities and modes have 32 bits; higher bits are dropped, as in tar.
#[expect(clippy::cast_possible_truncation, reason = "meant")]
pub(super) fn low(number: u64) -> u32 {
    number as u32
}

/// A field up to its first zero byte.
#[inline]
pub(super) fn until_nul(field: &[u8]) -> &[u8] {
    &field[..memchr::memchr(0, field).unwrap_or(field.len())]
}

pub(super) fn text(mut record: Vec<u8>) -> Vec<u8> {
    record.truncate(until_nul(&record).len());
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_all_their_forms() {
        for (field, value) in [
            (&b"0000644\0"[..], 0o644),
            (b"   644 \0", 0o644),
            (b"644     ", 0o644),
            (b"\0\0\0\0\0\0\0\0", 0),
            (b"\x80\0\0\0\0\0\x01\x02", 258),
            (b"\xff\xff\xff\xff\xff\xff\xff\xfe", -2),
        ] {
            assert_eq!(signed(field).ok(), Some(value), "{field:?}");
        }
        assert!(number(b"12x45678").is_err());
        assert!(number(b"\xff\xff\xff\xff\xff\xff\xff\xff").is_err());
    }
}
