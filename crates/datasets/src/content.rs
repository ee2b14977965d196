//! The contents of generated files: binary data of a chosen compressibility, or text.
//!
//! Content is a stream that depends only on its kind, its seed and its length.

use crate::seed::Seed;
use crate::styles::Style;
use crate::text::TextStream;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io;

/// The length over which binary data has its ratio, so that file systems compress it equally in
/// small and in large pieces.
const STRETCH: usize = 4096;

/// The length of the pattern that fills the compressible part of a stretch.
const PATTERN: usize = 16;

/// Buffers for content: a multiple of `STRETCH`.
pub const BUFFER: usize = 1 << 20;

#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// Random bytes, in the proportion that compression leaves; the rest repeats a short pattern.
    Binary {
        /// Size after compression in percent of the size before; 100 is incompressible.
        percent: u8,
    },
    Text(&'static Style),
}

/// The content of one file, in pieces.
#[derive(Debug)]
pub struct Stream<'b> {
    kind: Filler,
    left: u64,
    buffer: &'b mut [u8],
    /// The unread part of the buffer.
    unread: std::ops::Range<usize>,
}

#[derive(Debug)]
enum Filler {
    Binary {
        random: Xoshiro256PlusPlus,
        kept: usize,
    },
    Text(TextStream),
}

impl<'b> Stream<'b> {
    /// The content of a file of `size` bytes. The buffer must have [`BUFFER`] bytes.
    pub fn new(content: Content, seed: Seed, size: u64, buffer: &'b mut [u8]) -> Self {
        debug_assert_eq!(buffer.len() % STRETCH, 0);
        let kind = match content {
            Content::Binary { percent } => Filler::Binary {
                random: Xoshiro256PlusPlus::seed_from_u64(seed.value()),
                // A pattern with its framing costs a compressor about 24 bytes.
                kept: match percent {
                    100.. => STRETCH,
                    _ => {
                        (STRETCH * usize::from(percent) / 100)
                            .saturating_sub(24)
                            .max(8)
                            & !7
                    }
                },
            },
            Content::Text(style) => Filler::Text(TextStream::new(style, seed)),
        };
        Self {
            kind,
            left: size,
            buffer,
            unread: 0..0,
        }
    }

    /// The next piece; none after the last.
    pub fn next_piece(&mut self) -> Option<&[u8]> {
        if self.left == 0 {
            return None;
        }
        let length = usize::try_from(self.left)
            .unwrap_or(usize::MAX)
            .min(self.buffer.len());
        let piece = &mut self.buffer[..length];
        match &mut self.kind {
            Filler::Binary { random, kept } => fill_binary(random, *kept, piece),
            Filler::Text(prose) => prose.fill(piece),
        }
        self.left -= length as u64;
        if self.left == 0 && matches!(self.kind, Filler::Text(_)) {
            piece[length - 1] = b'\n';
        }
        Some(&self.buffer[..length])
    }
}

impl io::Read for Stream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.unread.is_empty() {
            let length = self.next_piece().map_or(0, <[u8]>::len);
            self.unread = 0..length;
        }
        let length = self.unread.len().min(out.len());
        let from = self.unread.start;
        out[..length].copy_from_slice(&self.buffer[from..from + length]);
        self.unread.start += length;
        Ok(length)
    }
}

fn fill_binary(random: &mut Xoshiro256PlusPlus, kept: usize, piece: &mut [u8]) {
    for stretch in piece.chunks_mut(STRETCH) {
        let (noise, filler) = stretch.split_at_mut(kept.min(stretch.len()));
        fill_noise(random, noise);
        if filler.is_empty() {
            continue;
        }
        let mut pattern = [0; PATTERN];
        fill_noise(random, &mut pattern);
        for part in filler.chunks_mut(PATTERN) {
            part.copy_from_slice(&pattern[..part.len()]);
        }
    }
}

/// Random bytes, in little-endian order on every machine.
fn fill_noise(random: &mut Xoshiro256PlusPlus, out: &mut [u8]) {
    let (words, rest) = out.as_chunks_mut::<8>();
    for word in words {
        *word = random.next_u64().to_le_bytes();
    }
    let last = random.next_u64().to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn ratio(content: Content) -> f64 {
        let mut buffer = vec![0; BUFFER];
        let size = 3 << 20;
        let mut data = Vec::new();
        Stream::new(content, Seed::new(1), size, &mut buffer)
            .read_to_end(&mut data)
            .unwrap();
        assert_eq!(data.len() as u64, size);
        zstd::encode_all(&data[..], 3).unwrap().len() as f64 / size as f64
    }

    #[test]
    fn binary_content_compresses_as_stated() {
        for percent in [100, 97, 75, 50, 45, 25, 10] {
            let ratio = ratio(Content::Binary { percent });
            let wanted = f64::from(percent) / 100.0;
            assert!((ratio - wanted).abs() < 0.015, "{percent}: {ratio}");
        }
    }

    #[test]
    fn text_compresses_as_text_does() {
        for style in super::super::styles::STYLES {
            let ratio = ratio(Content::Text(style));
            assert!((0.15..0.62).contains(&ratio), "{}: {ratio}", style.name);
        }
    }

    #[test]
    fn pieces_and_reads_give_the_same_bytes() {
        for content in [
            Content::Binary { percent: 50 },
            Content::Text(super::super::styles::STYLES[0]),
        ] {
            let size = BUFFER as u64 + 12_345;
            let (mut one, mut two) = (vec![0; BUFFER], vec![0; BUFFER]);
            let mut pieces = Vec::new();
            let mut stream = Stream::new(content, Seed::new(9), size, &mut one);
            while let Some(piece) = stream.next_piece() {
                pieces.extend_from_slice(piece);
            }
            let mut read = Vec::new();
            let mut stream = Stream::new(content, Seed::new(9), size, &mut two);
            let mut few = [0; 1000];
            loop {
                match stream.read(&mut few).unwrap() {
                    0 => break,
                    length => read.extend_from_slice(&few[..length]),
                }
            }
            assert!(pieces == read);
        }
    }

    /// A measurement, not a test: run it by name, in release.
    #[test]
    #[ignore = "a measurement"]
    fn speed_of_content() {
        let mut buffer = vec![0; BUFFER];
        let mut kinds = vec![
            Content::Binary { percent: 100 },
            Content::Binary { percent: 50 },
        ];
        kinds.extend(
            super::super::styles::STYLES
                .iter()
                .map(|style| Content::Text(style)),
        );
        for content in kinds {
            let size = 1_u64 << 29;
            let start = std::time::Instant::now();
            let mut stream = Stream::new(content, Seed::new(1), size, &mut buffer);
            let mut sum = 0_u64;
            while let Some(piece) = stream.next_piece() {
                sum += u64::from(piece[7]);
            }
            let name = match content {
                Content::Binary { percent } => format!("binary {percent}"),
                Content::Text(style) => style.name.to_owned(),
            };
            let rate = size as f64 / start.elapsed().as_secs_f64() / 1e6;
            println!("{name}: {rate:.0} MB/s ({sum})");
        }
    }
}
