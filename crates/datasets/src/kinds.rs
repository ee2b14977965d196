//! Kinds of files: their contents and sizes. A maker generates files of a kind one after another,
//! each with its own seed.

use crate::content::Content;
use crate::generated::File;
use crate::seed::{Seed, Spread};
use crate::sizes::LogNormal;
use crate::styles::Style;

#[derive(Debug)]
pub struct Kind {
    content: Content,
    sizes: LogNormal,
}

/// Text files of that median size, spread and bounds, in bytes.
pub const fn text(style: &'static Style, median: f64, sigma: f64, min: u64, max: u64) -> Kind {
    Kind {
        content: Content::Text(style),
        sizes: LogNormal::new(median, sigma, min, max),
    }
}

/// Binary files that a compressor reduces to `percent` of their size.
pub const fn binary(percent: u8, median: f64, sigma: f64, min: u64, max: u64) -> Kind {
    Kind {
        content: Content::Binary { percent },
        sizes: LogNormal::new(median, sigma, min, max),
    }
}

/// Makes files of a kind.
#[derive(Debug)]
pub struct Maker {
    seed: Seed,
    spread: Spread,
    made: u64,
    kind: &'static Kind,
}

impl Maker {
    /// The maker of the part `name` of a dataset.
    pub fn new(seed: Seed, name: &str, kind: &'static Kind) -> Self {
        let seed = seed.part(name);
        Self {
            seed,
            spread: Spread::new(seed),
            made: 0,
            kind,
        }
    }

    /// The next file.
    pub fn make(&mut self) -> File {
        let seed = self.seed.at(self.made);
        self.made += 1;
        File::new(
            self.kind.sizes.draw(&mut self.spread),
            self.kind.content,
            seed,
        )
    }
}
