//! `mixed`: a model of a home directory of 830 MB.

use crate::DatasetError;
use crate::generated::{Generator, Shape, Sink, date};
use crate::kinds::{Kind, Maker, binary, text};
use crate::names;
use crate::seed::Seed;
use crate::sizes::scaled;
use crate::styles::{PROSE, SOURCE};

/// 830 MB of all kinds.
pub static MIXED: Generator = Generator {
    name: "mixed",
    title: "830 MB of files of all types and sizes",
    source: "The published comparison of 2004 copied and deleted 830 MB of mixed data and gives \
        no details. Our model: source code, notes, mail, documents, pictures, music, programs and \
        packed archives, each lognormal with a median of its own (2 KB to 1.5 MB), as surveys of \
        file systems found (Douceur and Bolosky 1999, Agrawal and others 2007).",
    shape: Shape::Tree,
    emit,
};

/// A folder of the home directory.
struct Folder {
    name: &'static str,
    suffix: &'static str,
    files: u64,
    /// Files in one directory below it.
    files_per_directory: u64,
    kind: Kind,
}

/// Files times mean size: 30 + 8 + 42 + 50 + 160 + 220 + 120 + 200 MB.
static FOLDERS: &[Folder] = &[
    Folder {
        name: "src",
        suffix: ".c",
        files: 5000,
        files_per_directory: 25,
        kind: text(&SOURCE, 3000.0, 1.17, 100, 500_000),
    },
    Folder {
        name: "notes",
        suffix: ".txt",
        files: 1500,
        files_per_directory: 60,
        kind: text(&PROSE, 2500.0, 1.2, 80, 300_000),
    },
    Folder {
        name: "mail",
        suffix: ".eml",
        files: 4000,
        files_per_directory: 400,
        kind: text(&PROSE, 3500.0, 1.63, 500, 3_000_000),
    },
    Folder {
        name: "documents",
        suffix: ".doc",
        files: 500,
        files_per_directory: 40,
        kind: binary(35, 60_000.0, 0.98, 8000, 3_000_000),
    },
    Folder {
        name: "pictures",
        suffix: ".jpg",
        files: 800,
        files_per_directory: 80,
        kind: binary(99, 160_000.0, 0.66, 9000, 2_000_000),
    },
    Folder {
        name: "music",
        suffix: ".mp3",
        files: 44,
        files_per_directory: 11,
        kind: binary(100, 4.8e6, 0.3, 2_000_000, 9_000_000),
    },
    Folder {
        name: "programs",
        suffix: ".so",
        files: 600,
        files_per_directory: 100,
        kind: binary(45, 65_000.0, 1.53, 5000, 8_000_000),
    },
    Folder {
        name: "archives",
        suffix: ".tar.gz",
        files: 60,
        files_per_directory: 30,
        kind: binary(100, 1.5e6, 1.24, 20_000, 30_000_000),
    },
];

fn emit(seed: Seed, scale: f64, sink: &mut dyn Sink) -> Result<(), DatasetError> {
    for folder in FOLDERS {
        let own = seed.part(folder.name);
        let files = scaled(folder.files, scale, 1);
        let mut maker = Maker::new(seed, folder.name, &folder.kind);
        sink.enter(folder.name, date(own))?;
        for group in 0..files.div_ceil(folder.files_per_directory) {
            let groups = own.part("groups");
            sink.enter(
                &names::unique(group, groups.value()),
                date(groups.at(group)),
            )?;
            let end = ((group + 1) * folder.files_per_directory).min(files);
            for index in group * folder.files_per_directory..end {
                let stem = names::unique(index, own.value());
                sink.file(&format!("{stem}{}", folder.suffix), &maker.make())?;
            }
            sink.leave()?;
        }
        sink.leave()?;
    }
    Ok(())
}
