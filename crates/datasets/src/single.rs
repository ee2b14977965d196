//! `iso`, `avi` and `avi-693`: one large file each.

use crate::DatasetError;
use crate::content::Content;
use crate::generated::{File, Generator, Shape, Sink};
use crate::seed::Seed;
use crate::sizes::scaled;

/// The image of a compact disc.
pub static ISO: Generator = Generator {
    name: "iso",
    title: "one file of 600 MB: a disc image",
    source: "The published comparison of 2008 copied a file of nearly 600 MB. Our model: \
        600 * 10^6 bytes; a compressor leaves 97 % of an installation disc.",
    shape: Shape::File,
    emit: |seed, scale, sink| one("disc.iso", 600_000_000, 97, seed, scale, sink),
};

/// The large film of 2008.
pub static AVI: Generator = Generator {
    name: "avi",
    title: "one file of 2.7 GB: a film",
    source: "The size is that of the published comparison of 2008. Our model: 2.7 * 10^9 bytes, \
        incompressible.",
    shape: Shape::File,
    emit: |seed, scale, sink| one("film.avi", 2_700_000_000, 100, seed, scale, sink),
};

/// The large file of 2004.
pub static AVI_693: Generator = Generator {
    name: "avi-693",
    title: "one file of 693 MB: a film",
    source: "The size is that of the published comparison of 2004. Our model: 693 * 10^6 bytes, \
        incompressible.",
    shape: Shape::File,
    emit: |seed, scale, sink| one("film.avi", 693_000_000, 100, seed, scale, sink),
};

fn one(
    name: &str,
    size: u64,
    percent: u8,
    seed: Seed,
    scale: f64,
    sink: &mut dyn Sink,
) -> Result<(), DatasetError> {
    let (size, content) = (scaled(size, scale, 4096), Content::Binary { percent });
    sink.file(name, &File::new(size, content, seed.part("content")))
}
