//! `music`: a folder of compressed music.

use crate::DatasetError;
use crate::generated::{Generator, Shape, Sink, date};
use crate::kinds::{Kind, Maker, binary};
use crate::names;
use crate::seed::Seed;
use crate::sizes::scaled;

pub static MUSIC: Generator = Generator {
    name: "music",
    title: "a music folder: 60 files of 3 to 10 MB",
    source: "The published comparison of 2008 copied `a music folder` and gives no details. Our \
        model: 60 files in albums of ten, lognormal around 5 MB (four minutes at 160 kbit/s) \
        within 3 and 10 MB, incompressible.",
    shape: Shape::Tree,
    emit,
};

const TRACKS: u64 = 60;
const PER_ALBUM: u64 = 10;

static TRACK: Kind = binary(100, 5e6, 0.3, 3_000_000, 10_000_000);

fn emit(seed: Seed, scale: f64, sink: &mut dyn Sink) -> Result<(), DatasetError> {
    let tracks = scaled(TRACKS, scale, 3);
    let mut maker = Maker::new(seed, "tracks", &TRACK);
    for album in 0..tracks.div_ceil(PER_ALBUM) {
        let name = names::unique(album, seed.part("albums").value());
        sink.enter(&name, date(seed.part("album").at(album)))?;
        for track in album * PER_ALBUM..((album + 1) * PER_ALBUM).min(tracks) {
            let title = names::unique(track, seed.part("titles").value());
            sink.file(
                &format!("{:02} {title}.mp3", track % PER_ALBUM + 1),
                &maker.make(),
            )?;
        }
        sink.leave()?;
    }
    Ok(())
}
