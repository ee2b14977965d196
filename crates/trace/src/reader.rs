//! Reads a recording as a stream, and checks each item.

use crate::blocks::{BlockReader, MAX_BLOCK};
use crate::check::{Checker, Invalid};
use crate::writer::{MAX_TEXT, WireItem};
use crate::{About, Ending, Entry, Operation, Paths, Thread, TraceError};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// An item of a recording, after [`About`].
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// An entry of the tree at the start. All entries precede threads and operations.
    Entry(Entry),
    /// A thread, before its first operation.
    Thread(Thread),
    /// An operation, in the order in which they returned.
    Operation(Operation),
    /// An entry of the tree at the end. All of them follow the operations; there are none in
    /// recordings of version 1.
    LastEntry(Entry),
    /// The end. Nothing follows.
    Ending(Ending),
}

/// A recording that is read item by item. Memory grows only with the number of different paths.
///
/// A valid recording ends with [`Item::Ending`]. Without it the file is truncated, and the last
/// result is [`TraceError::Truncated`]. After an error nothing more is read.
pub struct Reader<R> {
    blocks: BlockReader<R>,
    about: About,
    paths: Paths,
    checker: Checker,
    content: Vec<u8>,
    /// Read position in `content`.
    read: usize,
    /// Offset of the current block in the file.
    at: u64,
    items: u64,
    /// Time that the next operation is relative to.
    time_ns: u64,
    ended: bool,
}

impl<R> std::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Reader");
        shown
            .field("about", &self.about)
            .field("items", &self.items);
        shown.finish_non_exhaustive()
    }
}

impl Reader<BufReader<File>> {
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let file = fsdyno_files::input::open(path).map_err(|source| TraceError::Open {
            path: path.to_owned(),
            source,
        })?;
        Self::new(BufReader::new(file))
    }
}

impl<R: Read> Reader<R> {
    /// Starts to read a recording.
    pub fn new(from: R) -> Result<Self, TraceError> {
        let blocks = BlockReader::new(from)?;
        let mut reader = Self {
            at: blocks.at(),
            blocks,
            about: About::empty(),
            paths: Paths::default(),
            checker: Checker::default(),
            content: Vec::new(),
            read: 0,
            items: 0,
            time_ns: 0,
            ended: false,
        };
        match reader.next_wire()? {
            WireItem::About(text) => {
                let about = parse(&text).ok_or_else(|| reader.corrupt("its first item"))?;
                reader.about = about;
                Ok(reader)
            }
            _ => Err(reader.corrupt("its first item does not describe it")),
        }
    }

    pub fn about(&self) -> &About {
        &self.about
    }

    /// The paths that items so far refer to.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The paths, when all items have been read.
    pub fn into_paths(self) -> Paths {
        self.paths
    }

    /// The next item. None after [`Item::Ending`] and after an error.
    pub fn next_item(&mut self) -> Result<Option<Item>, TraceError> {
        if self.ended {
            return Ok(None);
        }
        let item = self.next_checked();
        self.ended = matches!(item, Ok(Item::Ending(_)) | Err(_));
        let item = item?;
        if self.ended && (self.read < self.content.len() || self.more()?) {
            return Err(self.corrupt("bytes follow its end"));
        }
        Ok(Some(item))
    }

    fn next_checked(&mut self) -> Result<Item, TraceError> {
        loop {
            let wire = self.next_wire()?;
            let invalid = |source| TraceError::Invalid {
                at: self.at,
                item: self.items,
                source,
            };
            return Ok(match wire {
                WireItem::About(_) => {
                    return Err(invalid(Invalid::Place("a second description")));
                }
                WireItem::Path { parent, name } => {
                    self.paths.add(parent, &name).map_err(invalid)?;
                    continue;
                }
                WireItem::Entry(entry) => {
                    self.checker.entry(&entry, &self.paths).map_err(invalid)?;
                    Item::Entry(entry)
                }
                WireItem::Thread(thread) => {
                    self.checker.thread(&thread).map_err(invalid)?;
                    Item::Thread(thread)
                }
                WireItem::Operation(wire) => {
                    let Some(operation) = wire.decode(self.time_ns) else {
                        return Err(invalid(Invalid::Backwards));
                    };
                    let checked = self.checker.operation(&operation, &self.paths);
                    checked.map_err(invalid)?;
                    self.time_ns = operation.start_ns;
                    Item::Operation(operation)
                }
                WireItem::LastEntry(entry) => {
                    let checked = self.checker.last_entry(&entry, &self.paths);
                    checked.map_err(invalid)?;
                    Item::LastEntry(entry)
                }
                WireItem::Ending(text) => {
                    let Some(ending) = parse::<Ending>(&text) else {
                        return Err(self.corrupt("its end cannot be interpreted"));
                    };
                    self.checker.ending(&ending).map_err(invalid)?;
                    Item::Ending(ending)
                }
            });
        }
    }

    fn next_wire(&mut self) -> Result<WireItem, TraceError> {
        while self.read == self.content.len() {
            if !self.more()? {
                return Err(TraceError::Truncated {
                    at: self.blocks.at(),
                });
            }
        }
        self.items += 1;
        let rest = &self.content[self.read..];
        match postcard::take_from_bytes(rest) {
            Ok((item, rest)) => {
                self.read = self.content.len() - rest.len();
                Ok(item)
            }
            Err(_) => Err(self.corrupt("an item cannot be decoded")),
        }
    }

    /// Reads the next block. Returns whether there was one.
    fn more(&mut self) -> Result<bool, TraceError> {
        self.at = self.blocks.at();
        self.read = 0;
        debug_assert!(self.content.len() <= MAX_BLOCK);
        self.content.clear();
        self.blocks.read(&mut self.content)
    }

    fn corrupt(&self, what: &'static str) -> TraceError {
        TraceError::Corrupt { at: self.at, what }
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Item, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_item().transpose()
    }
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    (text.len() <= MAX_TEXT).then_some(())?;
    serde_json::from_str(text).ok()
}
