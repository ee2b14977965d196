//! The members of an archive: ustar, pax and GNU headers, as tar(5) and POSIX `pax` describe them.
//! Where a member is put is not decided here.

use super::stream::Stream;
use crate::engines::meta::{Kind, Meta, Moment};
use std::io;

/// The unit of an archive.
pub(super) const BLOCK: u64 = 512;
const BLOCK_BYTES: usize = 512;
/// Longer names and records are refused: no system has such names.
const LONGEST_RECORD: usize = 64 * 1024;

/// Why an archive cannot be read on.
#[derive(Debug)]
pub(super) enum Broken {
    Read(io::Error),
    Content(String),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            return Self::Content("ends in the middle of a member".to_owned());
        }
        Self::Read(error)
    }
}

/// One member. It is used again and again: names keep their room.
#[derive(Debug)]
pub(super) struct Member {
    pub path: Vec<u8>,
    /// What a link points to.
    pub link: Vec<u8>,
    pub hard_link: bool,
    /// Kind, mode, owner, times, the real size.
    pub meta: Meta,
    /// Bytes that follow in the archive, without padding.
    pub stored: u64,
    /// Where the bytes that follow belong, where there are holes: offset and length.
    pub stretches: Option<Vec<(u64, u64)>>,
}

/// What pax records say; it overrides the header.
#[derive(Debug, Default)]
struct Overrides {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    uid: Option<u32>,
    gid: Option<u32>,
    modified: Option<Moment>,
    sparse_name: Option<Vec<u8>>,
    sparse_size: Option<u64>,
    sparse_map: Vec<u64>,
    sparse: bool,
    sparse_in_data: bool,
}

/// Reads member after member.
#[derive(Debug, Default)]
pub(super) struct Members {
    global: Option<Moment>,
}

impl Member {
    pub fn new() -> Self {
        let moment = Moment::default();
        Self {
            path: Vec::with_capacity(BLOCK_BYTES),
            link: Vec::with_capacity(BLOCK_BYTES),
            hard_link: false,
            meta: Meta {
                kind: Kind::File,
                mode: 0,
                uid: 0,
                gid: 0,
                dev: 0,
                ino: 0,
                links: 1,
                rdev: 0,
                size: 0,
                space: 0,
                accessed: Moment::OMIT,
                modified: moment,
            },
            stored: 0,
            stretches: None,
        }
    }
}

impl Members {
    /// Reads the headers of the next member; false at the end of the archive. What is stored of
    /// the member follows in the stream.
    pub fn next(&mut self, stream: &mut Stream<'_>, member: &mut Member) -> Result<bool, Broken> {
        let mut over: Option<Box<Overrides>> = None;
        loop {
            if stream.at_end()? {
                return Ok(false);
            }
            let header = stream.take(BLOCK_BYTES)?;
            if header[0] == 0 && header.iter().all(|byte| *byte == 0) {
                return Ok(false);
            }
            check_sum(header)?;
            let size = number(&header[124..136])?;
            match header[156] {
                b'L' => {
                    over.get_or_insert_default().path = Some(text(record(stream, size)?));
                }
                b'K' => {
                    over.get_or_insert_default().link = Some(text(record(stream, size)?));
                }
                b'x' => over.get_or_insert_default().read(&record(stream, size)?)?,
                b'g' => {
                    let mut global = Overrides::default();
                    global.read(&record(stream, size)?)?;
                    self.global = global.modified.or(self.global);
                }
                // A volume's label is no file.
                b'V' => stream.skip(size.next_multiple_of(BLOCK))?,
                b'M' => return Err(Broken::Content("is one volume of several".to_owned())),
                _ => {
                    self.describe(header, size, member)?;
                    let flag = header[156];
                    if flag == b'S' && old_sparse(header, member)? {
                        more_old_sparse(stream, member)?;
                    }
                    if flag == b'D' {
                        // An incremental dump's list of names.
                        stream.skip(size.next_multiple_of(BLOCK))?;
                    }
                    if let Some(over) = over {
                        over.apply(stream, member)?;
                    }
                    return finish(member).map(|()| true);
                }
            }
        }
    }

    /// What the header itself says.
    #[inline]
    fn describe(&self, header: &[u8], size: u64, member: &mut Member) -> Result<(), Broken> {
        let flag = header[156];
        member.path.clear();
        // The prefix is ustar's; GNU's older form keeps other things there.
        if &header[257..263] == b"ustar\0" && header[345] != 0 {
            member.path.extend_from_slice(cut(&header[345..500]));
            member.path.push(b'/');
        }
        member.path.extend_from_slice(cut(&header[..100]));
        member.link.clear();
        member.link.extend_from_slice(cut(&header[157..257]));
        member.hard_link = flag == b'1';
        member.stretches = None;
        let meta = &mut member.meta;
        meta.kind = match flag {
            b'2' => Kind::Symlink,
            b'3' => Kind::Character,
            b'4' => Kind::Block,
            b'5' | b'D' => Kind::Directory,
            b'6' => Kind::Fifo,
            _ => Kind::File,
        };
        meta.mode = low(number(&header[100..108])?) & 0o7777;
        meta.uid = low(number(&header[108..116])?);
        meta.gid = low(number(&header[116..124])?);
        meta.modified = Moment {
            seconds: signed(&header[136..148])?,
            nanos: 0,
        };
        if let Some(moment) = self.global {
            meta.modified = moment;
        }
        meta.rdev = 0;
        if matches!(meta.kind, Kind::Character | Kind::Block) {
            let (major, minor) = (number(&header[329..337])?, number(&header[337..345])?);
            meta.rdev = rustix::fs::makedev(low(major), low(minor));
        }
        meta.size = size;
        member.stored = size;
        Ok(())
    }
}

/// What holds for the member as a whole, when all its headers were read.
#[inline]
fn finish(member: &mut Member) -> Result<(), Broken> {
    if member.hard_link || member.meta.kind == Kind::Symlink {
        if member.link.is_empty() {
            return Err(Broken::Content(format!(
                "the link {} points nowhere",
                String::from_utf8_lossy(&member.path)
            )));
        }
        // Some writers give a hard link the size of its file, without data (POSIX pax, linkdata).
        member.stored = 0;
    }
    if member.meta.kind != Kind::File {
        member.stored = 0;
    }
    // The oldest archives mark a directory by the end of its name. Only the whole name counts: the
    // one in the header may be cut off anywhere.
    let plain = member.meta.kind == Kind::File && !member.hard_link;
    if plain && member.stretches.is_none() && member.path.last() == Some(&b'/') {
        member.meta.kind = Kind::Directory;
    }
    if member.stretches.is_none() && member.meta.kind == Kind::File {
        member.meta.size = member.stored;
    }
    member.meta.space = member.stored;
    Ok(())
}

/// The checksum of a header: the sum of its bytes, its own field taken as blanks.
#[inline]
fn check_sum(header: &[u8]) -> Result<(), Broken> {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    let total = sum(&header[..148]) + 8 * u32::from(b' ') + sum(&header[156..512]);
    if number(&header[148..156])? == u64::from(total) {
        return Ok(());
    }
    Err(Broken::Content(
        "is no tar archive, or a damaged one: the checksum of a header is wrong".to_owned(),
    ))
}

/// A number: octal digits, or GNU's base 256 where the first bit is set.
#[inline]
fn number(field: &[u8]) -> Result<u64, Broken> {
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

/// A number that may be negative: the moment of a file older than 1970.
fn signed(field: &[u8]) -> Result<i64, Broken> {
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

/// Identities and modes have 32 bits; more is cut off, as tar does.
#[expect(clippy::cast_possible_truncation, reason = "meant")]
fn low(number: u64) -> u32 {
    number as u32
}

/// A field up to its first zero byte.
#[inline]
fn cut(field: &[u8]) -> &[u8] {
    &field[..memchr::memchr(0, field).unwrap_or(field.len())]
}

/// The data of a member that is a header itself.
#[cold]
fn record(stream: &mut Stream<'_>, size: u64) -> Result<Vec<u8>, Broken> {
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size <= LONGEST_RECORD)
        .ok_or_else(|| Broken::Content("has a name or record of absurd length".to_owned()))?;
    let bytes = stream.take(size.next_multiple_of(BLOCK_BYTES))?;
    Ok(bytes[..size].to_vec())
}

fn text(mut record: Vec<u8>) -> Vec<u8> {
    record.truncate(cut(&record).len());
    record
}

/// The map of holes in an old GNU header; whether more of it follows.
#[cold]
fn old_sparse(header: &[u8], member: &mut Member) -> Result<bool, Broken> {
    member.meta.kind = Kind::File;
    member.meta.size = number(&header[483..495])?;
    member.stretches = Some(Vec::new());
    add_stretches(&header[386..482], member)?;
    Ok(header[482] != 0)
}

#[cold]
fn more_old_sparse(stream: &mut Stream<'_>, member: &mut Member) -> Result<(), Broken> {
    loop {
        let block = stream.take(BLOCK_BYTES)?;
        add_stretches(&block[..504], member)?;
        if block[504] == 0 {
            return Ok(());
        }
    }
}

fn add_stretches(entries: &[u8], member: &mut Member) -> Result<(), Broken> {
    for entry in entries.chunks_exact(24).filter(|entry| entry[0] != 0) {
        let stretch = (number(&entry[..12])?, number(&entry[12..])?);
        member.stretches.get_or_insert_default().push(stretch);
    }
    Ok(())
}

impl Overrides {
    /// Reads records of the form `27 mtime=1700000000.123\n`.
    #[cold]
    fn read(&mut self, mut records: &[u8]) -> Result<(), Broken> {
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
            b"mtime" => self.modified = Some(moment(value)?),
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
    fn apply(self, stream: &mut Stream<'_>, member: &mut Member) -> Result<(), Broken> {
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

/// The map of holes where it stands before the data: decimal numbers, a line each (GNU pax 1.0).
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

/// A moment as pax writes it: `1700000000.123456789`, perhaps negative.
fn moment(value: &[u8]) -> Option<Moment> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i64 = whole.parse().ok()?;
    let mut nanos = 0;
    for place in 0..9 {
        let digit = fraction.as_bytes().get(place).map_or(0, |digit| digit & 15);
        nanos = nanos * 10 + u32::from(digit);
    }
    if whole.starts_with('-') && nanos > 0 {
        return Some(Moment {
            seconds: seconds - 1,
            nanos: 1_000_000_000 - nanos,
        });
    }
    Some(Moment { seconds, nanos })
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

    #[test]
    fn moments_keep_their_nanoseconds_on_both_sides_of_1970() {
        for (text, seconds, nanos) in [
            ("12", 12, 0),
            ("12.5", 12, 500_000_000),
            ("12.0000000019", 12, 1),
            ("-86400.5", -86_401, 500_000_000),
            ("-0.25", -1, 750_000_000),
        ] {
            let expected = Moment { seconds, nanos };
            assert_eq!(moment(text.as_bytes()), Some(expected), "{text}");
        }
        assert_eq!(moment(b"noon"), None);
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
