//! The serial console of a virtual machine, which is read and written.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How much of the end is kept, bytes.
const KEPT: usize = 16 << 10;

#[derive(Debug)]
pub(super) struct SerialConsole {
    stream: UnixStream,
    text: Arc<Mutex<Vec<u8>>>,
}

impl SerialConsole {
    /// Starts to read it.
    pub fn new(stream: UnixStream) -> std::io::Result<Self> {
        let mut reader = stream.try_clone()?;
        stream.set_write_timeout(Some(Duration::from_secs(5)))?;
        let text = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&text);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                match reader.read(&mut buffer) {
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Ok(length) if length > 0 => {
                        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                        kept.extend(&buffer[..length]);
                        let over = kept.len().saturating_sub(KEPT);
                        kept.drain(..over);
                    }
                    _ => return,
                }
            }
        });
        Ok(Self { stream, text })
    }

    /// The end of what was printed, without escape sequences: a shell may end its prompt with one.
    pub fn recent(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        without_escapes(&String::from_utf8_lossy(&text))
    }

    /// The last lines that are not empty, without control characters.
    pub fn last(&self, count: usize) -> Vec<String> {
        let text = self.recent();
        let lines = text.lines().map(|line| {
            let shown = line.chars().filter(|c| !c.is_control());
            shown.collect::<String>().trim().to_owned()
        });
        let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(count)..].to_vec()
    }

    /// Types a text. If nobody reads it, nothing changes on the screen, and the caller waits in vain.
    pub fn send(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes());
    }
}

/// A text without control sequences: ESC, `[`, parameters, and a final byte from `@` to `~`
/// (ECMA-48, 5.4).
fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, sequence)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = sequence.find(|c: char| ('@'..='~').contains(&c));
        rest = end.map_or("", |end| &sequence[end + 1..]);
    }
    plain + rest
}

#[cfg(test)]
pub(super) struct Typist(UnixStream);

#[cfg(test)]
impl SerialConsole {
    pub fn for_test() -> (Self, Typist) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        (Self::new(ours).unwrap(), Typist(theirs))
    }
}

#[cfg(test)]
impl Typist {
    pub fn prints(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    pub fn received(&mut self) -> String {
        let mut buffer = [0; 4096];
        let length = self.0.read(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    }
}
