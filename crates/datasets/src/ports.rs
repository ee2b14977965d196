//! `ports`: the ports tree of `FreeBSD` as of 2004, an archive to unpack.

use crate::DatasetError;
use crate::generated::{Generator, Shape, Sink, date};
use crate::kinds::{Kind, Maker, text};
use crate::names;
use crate::seed::{Seed, Spread};
use crate::sizes::{count, scaled};
use crate::styles::{DISTINFO, MAKEFILE, PATCH, PLIST, PROSE};

/// The ports tree of 2004.
pub static PORTS: Generator = Generator {
    name: "ports",
    title: "a ports tree of 2004, as an archive: many small text files",
    source: "10,149 ports of 60,075 files, 9,568 of them distinfo, were counted by M. Linimon \
        (mailing list freebsd-ports, April 2004); about 25 MB packed by the published comparison \
        of 2004. The layout is that of a port (Makefile, distinfo, pkg-descr, pkg-plist, \
        files/patch-*). Our model: 11,500 ports, the tree having grown by then; 5.9 files each, \
        as counted; lognormal sizes, chosen to give the packed size.",
    shape: Shape::Archive("ports.tar.gz"),
    emit,
};

const PORTS_COUNT: u64 = 11_500;
const PER_CATEGORY: u64 = 185;
/// The percentage of ports with a list of checksums: 9,568 of 10,149.
const WITH_DISTINFO: u64 = 94;
const WITH_PLIST: u64 = 86;
const WITH_FILES: u64 = 52;

static RECIPE: Kind = text(&MAKEFILE, 900.0, 0.65, 250, 40_000);
static CHECKSUMS: Kind = text(&DISTINFO, 135.0, 0.5, 70, 8000);
static DESCRIPTION: Kind = text(&PROSE, 420.0, 0.6, 80, 6000);
static PACKED: Kind = text(&PLIST, 450.0, 1.5, 60, 400_000);
static PATCHES: Kind = text(&PATCH, 750.0, 1.0, 120, 200_000);
static SHARED: Kind = text(&MAKEFILE, 12_000.0, 1.2, 500, 200_000);

fn emit(seed: Seed, scale: f64, sink: &mut dyn Sink) -> Result<(), DatasetError> {
    let ports = scaled(PORTS_COUNT, scale, 3);
    let categories = (ports / PER_CATEGORY).max(1);
    sink.enter("ports", date(seed))?;
    sink.enter("Mk", date(seed.part("Mk")))?;
    let mut shared = Maker::new(seed, "Mk", &SHARED);
    for index in 0..scaled(30, scale, 1) {
        sink.file(
            &format!("bsd.{}.mk", names::unique(index, seed.value())),
            &shared.make(),
        )?;
    }
    sink.leave()?;
    let mut makers = Makers::new(seed);
    for category in 0..categories {
        sink.enter(
            &names::category(category),
            date(seed.part("category").at(category)),
        )?;
        sink.file("Makefile", &makers.recipe.make())?;
        for port in category * ports / categories..(category + 1) * ports / categories {
            makers.port(port, sink)?;
        }
        sink.leave()?;
    }
    sink.leave()
}

/// The state of the generator of ports.
struct Makers {
    seed: Seed,
    counts: Spread,
    recipe: Maker,
    checksums: Maker,
    description: Maker,
    packed: Maker,
    patches: Maker,
}

impl Makers {
    fn new(seed: Seed) -> Self {
        Self {
            seed,
            counts: Spread::new(seed.part("patches")),
            recipe: Maker::new(seed, "Makefile", &RECIPE),
            checksums: Maker::new(seed, "distinfo", &CHECKSUMS),
            description: Maker::new(seed, "pkg-descr", &DESCRIPTION),
            packed: Maker::new(seed, "pkg-plist", &PACKED),
            patches: Maker::new(seed, "files", &PATCHES),
        }
    }

    fn port(&mut self, index: u64, sink: &mut dyn Sink) -> Result<(), DatasetError> {
        let own = self.seed.part("port").at(index);
        let has = |what, percent| own.part(what).below(100) < percent;
        sink.enter(&names::package(index, self.seed.value()), date(own))?;
        sink.file("Makefile", &self.recipe.make())?;
        if has("distinfo", WITH_DISTINFO) {
            sink.file("distinfo", &self.checksums.make())?;
        }
        sink.file("pkg-descr", &self.description.make())?;
        if has("plist", WITH_PLIST) {
            sink.file("pkg-plist", &self.packed.make())?;
        }
        let patches = count(1, 4.0, &mut self.counts);
        if has("files", WITH_FILES) {
            sink.enter("files", date(own.part("files")))?;
            for patch in 0..patches {
                let what = names::unique(u64::from(patch), own.value());
                sink.file(&format!("patch-{what}"), &self.patches.make())?;
            }
            sink.leave()?;
        }
        sink.leave()
    }
}
