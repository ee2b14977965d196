//! `all`: all data that the comparison of 2008 copied, in one tree.

use crate::DatasetError;
use crate::generated::{Generator, Shape, Sink, date};
use crate::seed::Seed;
use crate::{music, portage, single};

/// Music, a Portage tree, a film and the image of a disc.
pub static ALL: Generator = Generator {
    name: "all",
    title: "music, portage, avi and iso in one tree",
    source: "The published comparison of 2008 copied its folders one by one, and all at once. \
        Each part is as the dataset of its name.",
    shape: Shape::Tree,
    emit,
};

fn emit(seed: Seed, scale: f64, sink: &mut dyn Sink) -> Result<(), DatasetError> {
    for part in [&music::MUSIC, &portage::PORTAGE, &single::AVI, &single::ISO] {
        let own = seed.part(part.name);
        sink.enter(part.name, date(own))?;
        (part.emit)(own, scale, sink)?;
        sink.leave()?;
    }
    Ok(())
}
