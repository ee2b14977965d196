//! Parses the members of an archive: ustar and GNU headers, as in tar(5). The parent module unpacks
//! them.

use super::fields::{check_sum, low, number, signed, text, until_nul};
use super::member::{BLOCK, BLOCK_BYTES, Broken, Member};
use super::pax::Overrides;
use super::stream::Stream;
use crate::engines::meta::{Kind, Timestamp};

/// The maximum length of names and records; no system has longer names.
const MAX_RECORD_BYTES: usize = 64 * 1024;

/// Reads one member after another.
#[derive(Debug, Default)]
pub(super) struct Members {
    global: Option<Timestamp>,
}

impl Members {
    /// Reads the headers of the next member; returns false at the end of the archive. The data of
    /// the member follow in the stream.
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
                // A volume label is not a file.
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

    #[inline]
    fn describe(&self, header: &[u8], size: u64, member: &mut Member) -> Result<(), Broken> {
        let flag = header[156];
        member.path.clear();
        // The prefix is a field of ustar; GNU's older form has other fields there.
        if &header[257..263] == b"ustar\0" && header[345] != 0 {
            member.path.extend_from_slice(until_nul(&header[345..500]));
            member.path.push(b'/');
        }
        member.path.extend_from_slice(until_nul(&header[..100]));
        member.link.clear();
        member.link.extend_from_slice(until_nul(&header[157..257]));
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
        meta.modified = Timestamp {
            seconds: signed(&header[136..148])?,
            nanos: 0,
        };
        if let Some(timestamp) = self.global {
            meta.modified = timestamp;
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

/// Completes the member after all its headers are read.
#[inline]
fn finish(member: &mut Member) -> Result<(), Broken> {
    if member.hard_link || member.meta.kind == Kind::Symlink {
        if member.link.is_empty() {
            return Err(Broken::Content(format!(
                "the link {} points nowhere",
                String::from_utf8_lossy(&member.path)
            )));
        }
        // Some writers store the size of its file in a hard link without data (POSIX pax,
        // linkdata).
        member.stored = 0;
    }
    if member.meta.kind != Kind::File {
        member.stored = 0;
    }
    // The oldest archives mark a directory by a slash at the end of its name. Only the full name
    // counts: the one in the header may be truncated.
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

/// The data of a member that is itself a header.
#[cold]
fn record(stream: &mut Stream<'_>, size: u64) -> Result<Vec<u8>, Broken> {
    let size = usize::try_from(size)
        .ok()
        .filter(|size| *size <= MAX_RECORD_BYTES)
        .ok_or_else(|| Broken::Content("has a name or record of absurd length".to_owned()))?;
    let bytes = stream.take(size.next_multiple_of(BLOCK_BYTES))?;
    Ok(bytes[..size].to_vec())
}

/// The sparse map in an old GNU header; returns whether more of it follows.
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
