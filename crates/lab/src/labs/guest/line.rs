//! Reads the messages of a guest in virtual time, in the thread that keeps its time. All messages
//! of the guest are in the socket before its time continues. So marks, including stages of the
//! cell, get their place among the disk requests. All other messages are forwarded.

use crate::messages::GuestMessage;
use fsdyno_guests::protocol::FrameReader;
use fsdyno_model::Event;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The messages of the guest, in order. After an error there are no more.
pub(super) type Messages = Receiver<io::Result<GuestMessage>>;

/// The reading end of the line.
pub(super) struct Line {
    reader: FrameReader<UnixStream, GuestMessage>,
    /// Receives the forwarded messages; none once the line has ended.
    words: Option<Sender<io::Result<GuestMessage>>>,
}

impl Line {
    /// Wraps a line; its messages arrive at the receiver.
    pub fn new(line: UnixStream) -> io::Result<(Self, Messages)> {
        line.set_nonblocking(true)?;
        let (sender, words) = channel();
        let line = Self {
            reader: FrameReader::new(line),
            words: Some(sender),
        };
        Ok((line, words))
    }

    /// Forwards the new messages; returns the marks among them.
    pub fn marks(&mut self) -> Vec<String> {
        let mut marks = Vec::new();
        while let Some(words) = &self.words {
            let received = match self.reader.read() {
                Ok(None) => break,
                Ok(Some(GuestMessage::Marked { mark })) => {
                    marks.push(mark.to_string());
                    continue;
                }
                Ok(Some(word)) => {
                    if let GuestMessage::Happened {
                        event: Event::StageEntered { stage, .. },
                    } = &word
                    {
                        marks.push(format!("enters {stage}"));
                    }
                    Ok(word)
                }
                Err(error) => Err(error),
            };
            let ended = received.is_err();
            // The receiver is dropped when the guest is ended.
            if words.send(received).is_err() || ended {
                self.words = None;
            }
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_guests::protocol::FrameWriter;
    use fsdyno_model::{Mark, Point};

    #[test]
    fn marks_are_removed_in_order_and_other_messages_are_kept() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (mut line, words) = Line::new(ours).unwrap();
        assert!(line.marks().is_empty());
        let mut guest = FrameWriter(theirs);
        let mark = |phase| Mark {
            phase,
            point: Point::Begins,
        };
        for phase in 0..3 {
            let mark = mark(phase);
            guest.write(&GuestMessage::Marked { mark }).unwrap();
            guest
                .write(&GuestMessage::Acknowledged { operations: 7 })
                .unwrap();
        }
        let all: Vec<String> = (0..3).map(|phase| mark(phase).to_string()).collect();
        assert_eq!(line.marks(), all);
        assert_eq!(line.marks(), Vec::<String>::new());
        guest.write(&GuestMessage::DriveOut).unwrap();
        drop(guest);
        assert_eq!(line.marks(), Vec::<String>::new());
        drop(line);
        let received: Vec<_> = words.iter().collect();
        assert_eq!(received.len(), 5);
        assert!(matches!(received[3], Ok(GuestMessage::DriveOut)));
        assert!(received[4].is_err());
    }
}
