//! The phases on many files: create, stat and delete. Create and delete end when the file system
//! reports that all is durable; the time to return is reported as well.
//!
//! A workload file ([`crate::work`]) cannot describe them: all directories are open from the start,
//! names and sizes are drawn from one sequence, and the sequential order is that in which a directory
//! lists its files.

use super::names::{Name, Order};
use super::parameters::{FileParameters, Made};
use super::source::Source;
use super::{Job, Pass, SEED, open_home};
use crate::buffer::Buffer;
use crate::clock;
use crate::engines::listing::Listing;
use crate::engines::meta::Kind;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use crate::phases::timeline::TimelineRecorder;
use fsdyno_model::random::{below, shuffle};
use fsdyno_model::sample::Tally;
use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ffi::{CStr, CString};
use std::io;

const MODE: u32 = 0o600;
/// The maximum number of hard links of one file: some file systems allow 32,000 or 65,000.
const NAMES: u64 = 30_000;

/// The buffers of the phases on many files, allocated before the clock starts.
#[derive(Debug)]
pub(super) struct Files {
    pub parameters: FileParameters,
    pub timeline: TimelineRecorder,
    places: Places,
    /// The targets of symbolic links, relative to one of the directories.
    targets: Vec<CString>,
    all: Vec<File>,
    /// The order of access if it is not that of the directory.
    shuffled: Vec<usize>,
    source: Source,
    buffer: Buffer,
    listing: Listing,
}

/// The names of the entries that exist before the first file is created.
#[derive(Debug)]
pub(super) struct Places {
    /// The directory of all files, named by the order.
    pub base: CString,
    pub directories: Vec<CString>,
    /// The targets of hard and symbolic links.
    pub originals: Vec<CString>,
}

impl Places {
    /// The names for a phase.
    pub fn of(parameters: &FileParameters) -> Self {
        let originals = match parameters.made {
            Made::Files => 0,
            Made::HardLinks | Made::Symlinks => parameters.files.div_ceil(NAMES),
        };
        Self {
            base: name(parameters.order.name().to_owned()),
            directories: (0..parameters.directories)
                .map(|number| name(format!("{number:05}")))
                .collect(),
            originals: (0..originals)
                .map(|number| name(format!("original-{number}")))
                .collect(),
        }
    }
}

#[derive(Debug)]
struct File {
    name: Name,
    directory: usize,
    size: u64,
}

/// A name that consists of digits and letters.
fn name(text: String) -> CString {
    CString::new(text).unwrap_or_default()
}

impl Files {
    /// Generates names, sizes and order; equal parameters give equal results.
    pub fn new(parameters: FileParameters) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a chunk is a buffer in memory, and files are counted there"
        )]
        let (chunk, count) = (parameters.chunk as usize, parameters.files as usize);
        let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let directory = |number: usize| {
            let place = number as u64 * parameters.directories / parameters.files;
            usize::try_from(place).unwrap_or(0)
        };
        let spread = parameters.most - parameters.least + 1;
        let all = (0..count).map(|number| File {
            name: Name::draw(number, parameters.order, &mut random),
            directory: directory(number),
            size: parameters.least + below(random.next_u64(), spread),
        });
        let all = all.collect();
        let mut shuffled: Vec<usize> = (0..count).collect();
        if parameters.order == Order::Random {
            shuffle(&mut shuffled, || random.next_u64());
        }
        let places = Places::of(&parameters);
        let originals = places.originals.iter();
        Self {
            timeline: TimelineRecorder::new(),
            targets: originals
                .map(|original| name(format!("../{}", original.to_string_lossy())))
                .collect(),
            places,
            all,
            shuffled,
            source: Source::new(parameters.fill, chunk),
            buffer: Buffer::filled(0xa5, chunk),
            listing: Listing::default(),
            parameters,
        }
    }

    /// The sum of all file sizes, bytes.
    pub fn bytes(&self) -> u64 {
        match self.parameters.made {
            Made::Files => self.all.iter().map(|file| file.size).sum(),
            Made::HardLinks | Made::Symlinks => 0,
        }
    }
}

/// Opens the base directory and its subdirectories.
fn open_all<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    files: &Files,
) -> Result<(E::Dir, Vec<E::Dir>), LoadError> {
    let top = open_home(engine, job)?;
    let base = engine.open_dir(&top, &files.places.base)?;
    engine.close_dir(top);
    let directories = files.places.directories.iter();
    let directories: Result<_, _> = directories.map(|n| engine.open_dir(&base, n)).collect();
    Ok((base, directories?))
}

fn close_all<E: Calls>(engine: &mut E, base: E::Dir, directories: Vec<E::Dir>) {
    for dir in directories {
        engine.close_dir(dir);
    }
    engine.close_dir(base);
}

/// Creates all files, in the order of their numbers.
pub(super) fn create<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    buffers: &mut Files,
) -> Result<Pass, LoadError> {
    let (base, directories) = open_all(engine, job, buffers)?;
    let mut tally = Tally::default();
    let began = buffers.timeline.begin();
    buffers.timeline.resume();
    for (number, file) in (0..).zip(&buffers.all) {
        let (dir, name) = (&directories[file.directory], file.name.as_c());
        let original = number / usize::try_from(NAMES).unwrap_or(usize::MAX);
        match buffers.parameters.made {
            Made::Files => {
                tally.bytes.0 += file.size;
                let mut made = engine.create(dir, name, MODE)?;
                let mut left = usize::try_from(file.size).unwrap_or(usize::MAX);
                while left > 0 {
                    let stretch = buffers.source.take(left);
                    engine.write(&mut made, stretch)?;
                    left -= stretch.len();
                }
                engine.close(made)?;
            }
            Made::HardLinks => {
                engine.link((&base, &buffers.places.originals[original]), dir, name)?;
            }
            Made::Symlinks => engine.symlink(&buffers.targets[original], dir, name)?,
        }
        tally.files += 1;
        buffers.timeline.follow(&tally);
        job.stop.check()?;
    }
    let returned = clock::now() - began;
    engine.make_all_durable(&base)?;
    let pass = Pass::durable(began, returned, tally).of_files();
    close_all(engine, base, directories);
    Ok(pass)
}

/// Reads the metadata of all files, and the data of files that are not empty.
pub(super) fn stat<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    buffers: &mut Files,
) -> Result<Pass, LoadError> {
    let (base, mut directories) = open_all(engine, job, buffers)?;
    let mut tally = Tally::default();
    let (buffer, timeline) = (&mut buffers.buffer, &mut buffers.timeline);
    let began = timeline.begin();
    timeline.resume();
    match buffers.parameters.order {
        Order::Sequential => {
            for dir in &mut directories {
                buffers.listing.begin(true);
                while engine.list(dir, &mut buffers.listing)? {
                    while let Some(entry) = buffers.listing.take() {
                        inspect(engine, dir, entry.name, buffer, &mut tally)?;
                        timeline.follow(&tally);
                        job.stop.check()?;
                    }
                }
            }
        }
        Order::Random => {
            for number in &buffers.shuffled {
                let file = &buffers.all[*number];
                let dir = &directories[file.directory];
                inspect(engine, dir, file.name.as_c(), buffer, &mut tally)?;
                timeline.follow(&tally);
                job.stop.check()?;
            }
        }
    }
    let pass = Pass::done(began, tally).of_files();
    close_all(engine, base, directories);
    Ok(pass)
}

fn inspect<E: Calls>(
    engine: &mut E,
    dir: &E::Dir,
    name: &CStr,
    buffer: &mut [u8],
    tally: &mut Tally,
) -> Result<(), LoadError> {
    let meta = engine.stat(&Target::Entry(dir, name))?;
    tally.files += 1;
    if meta.kind != Kind::File || meta.size == 0 {
        return Ok(());
    }
    let mut file = engine.open(dir, name)?;
    let mut left = meta.size;
    while left > 0 {
        let bytes = engine.read(&mut file, buffer)? as u64;
        if bytes == 0 {
            break;
        }
        left = left.saturating_sub(bytes);
        tally.bytes.0 += bytes;
    }
    engine.close(file)
}

/// Deletes all files and their directories.
pub(super) fn delete<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    buffers: &mut Files,
) -> Result<Pass, LoadError> {
    let (base, directories) = open_all(engine, job, buffers)?;
    let mut tally = Tally::default();
    let began = buffers.timeline.begin();
    buffers.timeline.resume();
    match buffers.parameters.order {
        Order::Sequential => {
            let (listing, timeline) = (&mut buffers.listing, &mut buffers.timeline);
            for (mut dir, name) in directories.into_iter().zip(&buffers.places.directories) {
                loop {
                    let removed = empty(engine, job, &mut dir, listing, timeline)?;
                    tally.files += removed;
                    // Closed first: an open directory that is removed becomes an orphan.
                    engine.close_dir(dir);
                    if engine.remove_dir(&base, name)? {
                        break;
                    }
                    if removed == 0 {
                        return Err(not_empty(name));
                    }
                    // Some file systems skip entries while others are being removed.
                    dir = engine.open_dir(&base, name)?;
                }
                tally.directories += 1;
            }
        }
        Order::Random => {
            for number in &buffers.shuffled {
                let file = &buffers.all[*number];
                engine.unlink(&directories[file.directory], file.name.as_c())?;
                tally.files += 1;
                buffers.timeline.follow(&tally);
                job.stop.check()?;
            }
            for dir in directories {
                engine.close_dir(dir);
            }
            for name in &buffers.places.directories {
                if !engine.remove_dir(&base, name)? {
                    return Err(not_empty(name));
                }
                tally.directories += 1;
            }
        }
    }
    let returned = clock::now() - began;
    engine.make_all_durable(&base)?;
    let pass = Pass::durable(began, returned, tally).of_files();
    engine.close_dir(base);
    Ok(pass)
}

/// Removes the listed entries of a directory; returns how many there were.
fn empty<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    dir: &mut E::Dir,
    listing: &mut Listing,
    timeline: &mut TimelineRecorder,
) -> Result<u64, LoadError> {
    let mut removed = 0;
    listing.begin(true);
    while engine.list(dir, listing)? {
        while let Some(entry) = listing.take() {
            engine.unlink(dir, entry.name)?;
            removed += 1;
            timeline.next(0);
            job.stop.check()?;
        }
    }
    Ok(removed)
}

fn not_empty(name: &CStr) -> LoadError {
    let source = io::Error::from_raw_os_error(libc::ENOTEMPTY);
    LoadError::io("rmdir", name.to_string_lossy().into_owned(), source)
}
