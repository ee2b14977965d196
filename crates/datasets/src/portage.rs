//! `portage`: the package tree of Gentoo Linux, as of 2008.

use crate::DatasetError;
use crate::generated::{Generator, Shape, Sink, date};
use crate::kinds::{Kind, Maker, text};
use crate::names;
use crate::seed::{Seed, Spread};
use crate::sizes::{count, scaled};
use crate::styles::{CACHE, CHANGELOG, EBUILD, MANIFEST, PATCH, PROSE, XML};

/// The Portage tree of 2008.
pub static PORTAGE: Generator = Generator {
    name: "portage",
    title: "a Portage tree of 2008: many small text files in many directories",
    source: "The layout (category/package with recipes, change log, manifest, metadata.xml and \
        files/, and metadata/cache with one file a recipe) is that of the Gentoo tree after its \
        digest files were dropped (GLEP 44, 2006). That files/ weigh little more than the \
        recipes, and all that goes with recipes more than twice as much, was measured by D. E. \
        Petteno (`The size of the Gentoo tree`, September 2009). The order of magnitude, some \
        10^5 files in 10^4 directories of 2 to 3 KB in the mean, is that of the published \
        comparisons. Our model: 11,900 packages, 2.2 recipes and 2.6 other files each, 45 % of \
        packages with files/, lognormal sizes.",
    shape: Shape::Tree,
    emit,
};

/// The same tree after a year of use: each round adds a thirtieth of its files.
pub static IN_USE: Generator = Generator {
    name: "portage-in-use",
    title: "the Portage tree after synchronizations: files written in 30 scattered rounds",
    source: "A Portage tree is synchronised by rsync with a server: each time some \
        files of many directories come anew, so that those of a directory are not adjacent. \
        Our model: the tree of 2008, its files in 30 rounds.",
    shape: Shape::Grown(30),
    emit,
};

const PACKAGES: u64 = 11_900;
/// The mean number of packages in a category.
const PER_CATEGORY: u64 = 80;
const ECLASSES: u64 = 200;
const LICENSES: u64 = 1000;
const PROFILES: u64 = 300;

static RECIPE: Kind = text(&EBUILD, 2000.0, 0.7, 300, 60_000);
static LOG: Kind = text(&CHANGELOG, 2600.0, 1.2, 250, 300_000);
static CHECKSUMS: Kind = text(&MANIFEST, 1600.0, 0.75, 400, 80_000);
static ABOUT: Kind = text(&XML, 330.0, 0.35, 170, 4000);
static CACHED: Kind = text(&CACHE, 650.0, 0.45, 200, 6000);
static EXTRA: Kind = text(&PATCH, 1000.0, 1.3, 60, 400_000);
static ECLASS: Kind = text(&EBUILD, 5000.0, 0.9, 500, 80_000);
static LICENSE: Kind = text(&PROSE, 3500.0, 1.1, 200, 80_000);
static PROFILE: Kind = text(&PROSE, 300.0, 1.0, 60, 200_000);

fn emit(seed: Seed, scale: f64, sink: &mut dyn Sink) -> Result<(), DatasetError> {
    let packages = scaled(PACKAGES, scale, 3);
    let categories = (packages / PER_CATEGORY).max(1);
    let mut of_categories = Categories::new(seed);
    for category in 0..categories {
        sink.enter(
            &names::category(category),
            date(seed.part("category").at(category)),
        )?;
        for package in in_category(category, categories, packages) {
            of_categories.package(package, sink)?;
        }
        sink.leave()?;
    }
    let eclasses = scaled(ECLASSES, scale, 1);
    flat(seed, "eclass", &ECLASS, ".eclass", eclasses, sink)?;
    let licenses = scaled(LICENSES, scale, 1);
    flat(seed, "licenses", &LICENSE, "", licenses, sink)?;
    sink.enter("profiles", date(seed.part("profiles")))?;
    let mut profiles = Maker::new(seed, "profiles", &PROFILE);
    for profile in 0..scaled(PROFILES, scale, 1) {
        let salt = seed.part("profile").value();
        sink.enter(
            &names::unique(profile, salt),
            date(seed.part("profile").at(profile)),
        )?;
        for name in [
            "make.defaults",
            "package.mask",
            "packages",
            "parent",
            "use.mask",
        ] {
            sink.file(name, &profiles.make())?;
        }
        sink.leave()?;
    }
    sink.leave()?;
    cache(seed, categories, packages, sink)
}

/// The packages of a category: packages are distributed in order, with equal numbers.
fn in_category(category: u64, categories: u64, packages: u64) -> std::ops::Range<u64> {
    category * packages / categories..(category + 1) * packages / categories
}

/// The number of recipes of each package, for the tree and for its cache.
fn recipes(seed: Seed) -> impl FnMut() -> u32 {
    let mut spread = Spread::new(seed.part("recipes"));
    move || count(1, 2.2, &mut spread)
}

fn version(seed: Seed, package: u64, recipe: u32) -> String {
    let at = seed.part("version").at(package);
    let revision = match at.part("revision").below(3) {
        0 => format!("-r{recipe}"),
        _ => String::new(),
    };
    format!(
        "{}.{}.{recipe}{revision}",
        at.below(6),
        at.part("minor").below(20)
    )
}

/// The state of the generator of packages.
struct Categories {
    seed: Seed,
    recipes: Box<dyn FnMut() -> u32>,
    extras: Spread,
    recipe: Maker,
    log: Maker,
    checksums: Maker,
    about: Maker,
    extra: Maker,
}

impl Categories {
    fn new(seed: Seed) -> Self {
        Self {
            seed,
            recipes: Box::new(recipes(seed)),
            extras: Spread::new(seed.part("extras")),
            recipe: Maker::new(seed, "ebuild", &RECIPE),
            log: Maker::new(seed, "ChangeLog", &LOG),
            checksums: Maker::new(seed, "Manifest", &CHECKSUMS),
            about: Maker::new(seed, "metadata.xml", &ABOUT),
            extra: Maker::new(seed, "files", &EXTRA),
        }
    }

    fn package(&mut self, index: u64, sink: &mut dyn Sink) -> Result<(), DatasetError> {
        let name = names::package(index, self.seed.value());
        let own = self.seed.part("package").at(index);
        sink.enter(&name, date(own))?;
        for recipe in 0..(self.recipes)() {
            let file = format!("{name}-{}.ebuild", version(self.seed, index, recipe));
            sink.file(&file, &self.recipe.make())?;
        }
        sink.file("ChangeLog", &self.log.make())?;
        sink.file("Manifest", &self.checksums.make())?;
        sink.file("metadata.xml", &self.about.make())?;
        // Slightly less than half of all packages have additional files.
        let draw = count(0, 2.4, &mut self.extras);
        let extras = if own.part("files").below(100) < 45 {
            draw * 2 + 1
        } else {
            0
        };
        if extras > 0 {
            sink.enter("files", date(own.part("files")))?;
            for extra in 0..extras {
                let salt = own.part("patch").value();
                let what = names::unique(u64::from(extra), salt);
                sink.file(&format!("{name}-{what}.patch"), &self.extra.make())?;
            }
            sink.leave()?;
        }
        sink.leave()
    }
}

/// One directory of files of one kind.
fn flat(
    seed: Seed,
    name: &str,
    kind: &'static Kind,
    suffix: &str,
    files: u64,
    sink: &mut dyn Sink,
) -> Result<(), DatasetError> {
    sink.enter(name, date(seed.part(name)))?;
    let mut maker = Maker::new(seed, name, kind);
    for index in 0..files {
        let stem = names::unique(index, seed.part(name).value());
        sink.file(&format!("{stem}{suffix}"), &maker.make())?;
    }
    sink.leave()
}

/// `metadata/cache`: one file for each recipe.
fn cache(
    seed: Seed,
    categories: u64,
    packages: u64,
    sink: &mut dyn Sink,
) -> Result<(), DatasetError> {
    sink.enter("metadata", date(seed.part("metadata")))?;
    sink.enter("cache", date(seed.part("cache")))?;
    let mut cached = Maker::new(seed, "cached", &CACHED);
    let mut recipes = recipes(seed);
    for category in 0..categories {
        sink.enter(
            &names::category(category),
            date(seed.part("cache").at(category)),
        )?;
        for package in in_category(category, categories, packages) {
            let name = names::package(package, seed.value());
            for recipe in 0..recipes() {
                let file = format!("{name}-{}", version(seed, package, recipe));
                sink.file(&file, &cached.make())?;
            }
        }
        sink.leave()?;
    }
    sink.leave()?;
    sink.leave()
}
