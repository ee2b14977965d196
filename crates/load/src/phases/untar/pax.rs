//! The records of the pax format, which override a header (POSIX `pax`, and GNU's sparse maps).

use super::fields::low;
use super::member::{BLOCK, BLOCK_BYTES, Broken, Member};
use super::stream::Stream;
use crate::engines::meta::{Kind, Timestamp};

/// The values of pax records, which override the header.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    size: Option<u64>,
    uid: Option<u32>,
    gid: Option<u32>,
    pub modified: Option<Timestamp>,
    sparse_name: Option<Vec<u8>>,
    sparse_size: Option<u64>,
    sparse_map: Vec<u64>,
    sparse: bool,
    sparse_in_data: bool,
}

impl Overrides {
    /// Reads records of the form `27 mtime=1700000000.123\n`.
    #[cold]
    pub fn read(&mut self, mut records: &[u8]) -> Result<(), Broken> {
        let broken = || Broken::Content("has a damaged pax record".to_owned());
        while !records.is_empty() && records[0] != 0 {
            let blank = memchr::memchr(b' ', records).ok_or_else(broken)?;
            let length = decimal(&records[..blank]).ok_or_else(broken)?;
            let length = usize::try_from(length).map_err(|_| broken())?;
            if length <= blank + 1 || length > records.len() {
                return Err(broken());
            }
            let body = &records[blank + 1..length - 1];
            let equals = memchr::memchr(b'=', body).ok_or_else(broken)?;
            self.set(&body[..equals], &body[equals + 1..])
                .ok_or_else(broken)?;
            records = &records[length..];
        }
        Ok(())
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => self.size = Some(decimal(value)?),
            b"uid" => self.uid = Some(low(decimal(value)?)),
            b"gid" => self.gid = Some(low(decimal(value)?)),
            b"mtime" => self.modified = Some(timestamp(value)?),
            b"GNU.sparse.name" => self.sparse_name = Some(value.to_vec()),
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => {
                self.sparse = true;
                self.sparse_size = Some(decimal(value)?);
            }
            b"GNU.sparse.major" => self.sparse_in_data = value == b"1",
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => {
                self.sparse = true;
                self.sparse_map.push(decimal(value)?);
            }
            b"GNU.sparse.map" => {
                self.sparse = true;
                for number in value.split(|byte| *byte == b',') {
                    self.sparse_map.push(decimal(number)?);
                }
            }
            _ => {}
        }
        Some(())
    }

    #[cold]
    pub fn apply(self, stream: &mut Stream<'_>, member: &mut Member) -> Result<(), Broken> {
        let meta = &mut member.meta;
        if let Some(path) = self.sparse_name.or(self.path) {
            member.path = path;
        }
        member.link = self
            .link
            .unwrap_or_else(|| std::mem::take(&mut member.link));
        member.stored = self.size.unwrap_or(member.stored);
        meta.uid = self.uid.unwrap_or(meta.uid);
        meta.gid = self.gid.unwrap_or(meta.gid);
        meta.modified = self.modified.unwrap_or(meta.modified);
        if !self.sparse || meta.kind != Kind::File {
            return Ok(());
        }
        meta.size = self.sparse_size.unwrap_or(member.stored);
        let numbers = if self.sparse_in_data {
            map_in_data(stream, member)?
        } else {
            self.sparse_map
        };
        member.stretches = Some(numbers.chunks_exact(2).map(|c| (c[0], c[1])).collect());
        Ok(())
    }
}

/// The sparse map before the data: decimal numbers, one per line (GNU pax 1.0).
#[cold]
fn map_in_data(stream: &mut Stream<'_>, member: &mut Member) -> Result<Vec<u64>, Broken> {
    let broken = || Broken::Content("has a damaged map of holes".to_owned());
    let (mut numbers, mut digits) = (Vec::new(), Vec::new());
    let mut expected = None;
    while expected.is_none_or(|expected| numbers.len() as u64 <= expected) {
        member.stored = member.stored.checked_sub(BLOCK).ok_or_else(broken)?;
        for byte in stream.take(BLOCK_BYTES)? {
            match byte {
                b'\n' => {
                    numbers.push(decimal(&digits).ok_or_else(broken)?);
                    digits.clear();
                    expected = numbers[0].checked_mul(2);
                }
                b'0'..=b'9' => digits.push(*byte),
                _ => break,
            }
        }
        if numbers.is_empty() {
            return Err(broken());
        }
    }
    numbers.remove(0);
    Ok(numbers)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// A time in the form of pax: `1700000000.123456789`, possibly negative.
fn timestamp(value: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    let mut nanos = 0;
    for place in 0..9 {
        let digit = fraction.as_bytes().get(place).map_or(0, |digit| digit & 15);
        nanos = nanos * 10 + u32::from(digit);
    }
    if whole.starts_with('-') && nanos > 0 {
        return Some(Timestamp {
            seconds: seconds - 1,
            nanos: 1_000_000_000 - nanos,
        });
    }
    Some(Timestamp { seconds, nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_keep_their_nanoseconds_on_both_sides_of_1970() {
        for (text, seconds, nanos) in [
            ("12", 12, 0),
            ("12.5", 12, 500_000_000),
            ("12.0000000019", 12, 1),
            ("-86400.5", -86_401, 500_000_000),
            ("-0.25", -1, 750_000_000),
        ] {
            let expected = Timestamp { seconds, nanos };
            assert_eq!(timestamp(text.as_bytes()), Some(expected), "{text}");
        }
        assert_eq!(timestamp(b"noon"), None);
    }

    #[test]
    fn damaged_records_are_refused() {
        for records in ["", "6 a=b\n"] {
            assert!(Overrides::default().read(records.as_bytes()).is_ok());
        }
        for records in [
            "x",
            "99 a=b\n",
            "2 a=b\n",
            "0 a=b\n",
            "5 ab\n",
            "11 size=abc\n",
        ] {
            let read = Overrides::default().read(records.as_bytes());
            assert!(read.is_err(), "{records}");
        }
    }
}
