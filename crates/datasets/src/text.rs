//! Text: lines of words from a vocabulary with Zipf frequencies, in the styles of files of a
//! package tree.
//!
//! One file in [`MARKED_ONE_IN`] contains the word [`KNOWN_WORD`], in its first line and again
//! every few lines; the others do not contain it. So a search finds a known share of all text
//! files.

use crate::seed::Seed;
use crate::styles::{Piece, Style};
use crate::vocabulary::{SLOT_BITS, Vocabulary, WORD};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The word that a known share of text files contains.
pub const KNOWN_WORD: &str = "libtool";

/// One text file in this many contains [`KNOWN_WORD`].
pub const MARKED_ONE_IN: u64 = 8;

/// The number of lines between two occurrences of the known word in a marked file.
const MARKED_LINES: u32 = 40;

/// Space for the longest line of any style.
const MAX_LINE: usize = 512;

/// The text of one file: an endless stream of lines.
#[derive(Debug)]
pub struct TextStream {
    comment: &'static str,
    lines: &'static [Vec<Piece>],
    words: &'static Vocabulary,
    random: Xoshiro256PlusPlus,
    /// The name of this file in its first line.
    identity: u64,
    /// Lines until the next occurrence of the known word, in a marked file.
    until_mark: Option<u32>,
    begun: bool,
    /// The line that did not fit into the last piece, and the length already returned.
    spilled: Box<[u8; MAX_LINE]>,
    rest: std::ops::Range<usize>,
}

impl TextStream {
    pub fn new(style: &'static Style, seed: Seed) -> Self {
        let marked = seed.part("mark").value().is_multiple_of(MARKED_ONE_IN);
        Self {
            comment: style.comment,
            lines: style.lines(),
            words: Vocabulary::get(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed.value()),
            identity: seed.value(),
            until_mark: marked.then_some(0),
            begun: false,
            spilled: Box::new([0; MAX_LINE]),
            rest: 0..0,
        }
    }

    /// Continues the text until `out` is full.
    pub fn fill(&mut self, out: &mut [u8]) {
        let mut at = self.rest.len().min(out.len());
        let from = self.rest.start;
        out[..at].copy_from_slice(&self.spilled[from..from + at]);
        self.rest.start += at;
        while out.len() - at >= MAX_LINE {
            at += self.line(&mut out[at..]);
        }
        while at < out.len() {
            let mut spilled = std::mem::replace(&mut self.spilled, Box::new([0; MAX_LINE]));
            let length = self.line(&mut spilled[..]);
            let taken = length.min(out.len() - at);
            out[at..at + taken].copy_from_slice(&spilled[..taken]);
            at += taken;
            self.rest = taken..length;
            self.spilled = spilled;
        }
    }

    /// Writes one line; `out` has space for the longest.
    fn line(&mut self, out: &mut [u8]) -> usize {
        let mut at = 0;
        let choice = self.random.next_u64();
        if self.begun {
            let index = ((choice >> 32) * self.lines.len() as u64) >> 32;
            let lines = self.lines;
            // Below the number of lines, for any width of a pointer.
            for piece in &lines[usize::try_from(index).unwrap_or(0)] {
                at = self.put_piece(*piece, out, at, choice);
            }
        } else {
            self.begun = true;
            at = put(out, at, self.comment.as_bytes());
            at = put_hex(out, at, self.identity, 16);
            out[at] = b' ';
            at = self.put_words(out, at + 1, 2);
        }
        match &mut self.until_mark {
            Some(0) => {
                self.until_mark = Some(MARKED_LINES);
                at = put(out, at, b" ");
                at = put(out, at, KNOWN_WORD.as_bytes());
            }
            Some(lines) => *lines -= 1,
            None => {}
        }
        out[at] = b'\n';
        at + 1
    }

    fn put_piece(&mut self, piece: Piece, out: &mut [u8], at: usize, choice: u64) -> usize {
        match piece {
            Piece::Literal(text) => put(out, at, text.as_bytes()),
            Piece::Words(least, most) => {
                let more = ((choice & 0xFFFF) * u64::from(most - least + 1)) >> 16;
                self.put_words(out, at, u64::from(least) + more)
            }
            Piece::Hex(digits) => {
                let (mut at, mut left) = (at, usize::from(digits));
                while left > 0 {
                    let now = left.min(16);
                    at = put_hex(out, at, self.random.next_u64(), now);
                    left -= now;
                }
                at
            }
        }
    }

    fn put_words(&mut self, out: &mut [u8], mut at: usize, count: u64) -> usize {
        const PER_DRAW: u64 = 64 / SLOT_BITS as u64;
        let mut bits = 0;
        for number in 0..count {
            if number.is_multiple_of(PER_DRAW) {
                bits = self.random.next_u64();
            }
            let (letters, length) = self.words.word(bits);
            bits >>= SLOT_BITS;
            // The whole slot is copied for any length of the word: a copy of constant
            // length is one instruction.
            out[at..at + WORD].copy_from_slice(letters);
            at += length;
            out[at] = b' ';
            at += 1;
        }
        at - usize::from(count > 0)
    }
}

fn put(out: &mut [u8], at: usize, text: &[u8]) -> usize {
    out[at..at + text.len()].copy_from_slice(text);
    at + text.len()
}

/// The highest `digits` hexadecimal digits of `number`.
fn put_hex(out: &mut [u8], at: usize, mut number: u64, digits: usize) -> usize {
    for digit in &mut out[at..at + digits] {
        *digit = b"0123456789abcdef"[usize::from((number >> 60) as u8)];
        number <<= 4;
    }
    at + digits
}

#[cfg(test)]
mod tests {
    use super::super::styles::{PROSE, SOURCE, STYLES};
    use super::*;

    fn text(style: &'static Style, seed: u64, size: usize) -> String {
        let mut out = vec![0; size];
        TextStream::new(style, Seed::new(seed)).fill(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_known_word_is_in_one_file_of_eight() {
        let holds = |seed| text(&PROSE, seed, 4000).contains(KNOWN_WORD);
        let marked = (0..4000).filter(|seed| holds(*seed)).count();
        assert!((440..560).contains(&marked), "{marked}");
    }

    #[test]
    fn the_known_word_is_in_the_first_line_and_again() {
        let seed = (0..100)
            .find(|seed| text(&SOURCE, *seed, 60).contains(KNOWN_WORD))
            .unwrap();
        let long = text(&SOURCE, seed, 20_000);
        assert!(long.matches(KNOWN_WORD).count() > 5);
    }

    #[test]
    fn lines_are_ascii_of_moderate_length() {
        for style in STYLES {
            let text = text(style, 3, 100_000);
            assert!(text.is_ascii());
            let mean = text.len() / text.lines().count();
            assert!((10..240).contains(&mean), "{}: {mean}", style.name);
            assert!(text.lines().all(|line| line.len() < MAX_LINE));
        }
    }
}
