//! Lines of JSON from a descriptor that may deliver them in parts.

use fsdyno_files::uninterrupted;
use rustix::io::Errno;
use serde::de::DeserializeOwned;
use std::io;
use std::os::fd::AsFd;

/// Incomplete lines so far.
#[derive(Debug)]
pub struct Lines {
    bytes: Vec<u8>,
    /// The longest accepted line, bytes.
    longest: usize,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Read<T> {
    /// These messages; perhaps none.
    Messages(Vec<T>),
    /// These messages, and then the end.
    End(Vec<T>),
}

impl Lines {
    /// Lines up to this length.
    pub fn new(longest: usize) -> Self {
        Self {
            bytes: Vec::new(),
            longest,
        }
    }

    /// Reads once; an error if a line is no such message, or too long.
    pub fn read<T: DeserializeOwned>(&mut self, from: impl AsFd) -> io::Result<Read<T>> {
        let mut part = [0; 8 * 1024];
        let count = match uninterrupted(|| rustix::io::read(&from, &mut part)) {
            Ok(count) => count,
            Err(Errno::AGAIN) => return Ok(Read::Messages(Vec::new())),
            // The process at the other end died.
            Err(Errno::CONNRESET | Errno::PIPE | Errno::TIMEDOUT) => 0,
            Err(error) => return Err(error.into()),
        };
        let messages = self.add(&part[..count])?;
        Ok(if count == 0 {
            Read::End(messages)
        } else {
            Read::Messages(messages)
        })
    }

    fn add<T: DeserializeOwned>(&mut self, part: &[u8]) -> io::Result<Vec<T>> {
        let refused = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        self.bytes.extend_from_slice(part);
        let mut messages = Vec::new();
        let mut begin = 0;
        while let Some(end) = self.bytes[begin..].iter().position(|byte| *byte == b'\n') {
            let line = &self.bytes[begin..begin + end];
            let message = serde_json::from_slice(line).map_err(|e| refused(e.to_string()))?;
            messages.push(message);
            begin += end + 1;
        }
        self.bytes.drain(..begin);
        if self.bytes.len() > self.longest {
            return Err(refused(format!(
                "a line has more than {} bytes",
                self.longest
            )));
        }
        Ok(messages)
    }
}

/// One message as a line.
pub fn line<T: serde::Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn lines_arrive_in_parts_and_bad_ones_are_refused() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut lines = Lines::new(10);
        writer.write_all(b"1\n2\n3").unwrap();
        assert_eq!(lines.read(&reader).unwrap(), Read::Messages(vec![1, 2]));
        writer.write_all(b"4\n").unwrap();
        assert_eq!(lines.read(&reader).unwrap(), Read::Messages(vec![34]));
        writer.write_all(b"5555555555555").unwrap();
        assert!(lines.read::<u64>(&reader).is_err());
        let mut lines = Lines::new(10);
        writer.write_all(b"x\n").unwrap();
        assert!(lines.read::<u64>(&reader).is_err());
        drop(writer);
        let mut lines = Lines::new(10);
        assert_eq!(lines.read::<u64>(&reader).unwrap(), Read::End(vec![]));
    }
}
