//! `untar`: unpacks the archive into a new tree, as `tar -xpf` does as root. Modes, owners,
//! modification times, links, holes and special files are kept. Absolute paths and `..` are
//! refused, and no symbolic link is followed on the path of a member.

mod fields;
mod member;
mod members;
mod pax;
mod place;
mod stream;

use super::{Job, Needs, PhaseKind, Scratch, ToolRun, TreePhase, tally};
use crate::engines::meta::Kind;
use crate::engines::sync::SystemCalls;
use crate::engines::{Calls, Target};
use crate::error::LoadError;
use fsdyno_model::capability::EntryKind;
use fsdyno_model::sample::Tally;
use member::{BLOCK, Broken, Member};
use members::Members;
use place::Place;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use stream::Stream;

/// The maximum size of arguments that exclude members: half of the limit of Linux (`ARG_MAX`).
const MAX_EXCLUDED_BYTES: usize = 1 << 20;

pub static KIND: PhaseKind = PhaseKind {
    needs: Needs::Archive,
    makes_tree: true,
    ..PhaseKind::standalone("untar", "unpacks the archive into a new tree", &[])
};

pub(super) fn phase<C: Calls + Send>() -> TreePhase<C> {
    TreePhase {
        kind: &KIND,
        run,
        tool,
        method: |_| "read, write".to_owned(),
    }
}

fn tool(job: &Job<'_>) -> Result<ToolRun, LoadError> {
    // Owners by number: a name may have a different number on another machine.
    let mut run = ToolRun::new("tar --numeric-owner -xpf", ["tar", "--numeric-owner"]);
    if !job.stores.owners {
        run = run.arg("--no-same-owner");
    }
    if job.stores.is_limited() {
        run = run.args(["--anchored", "--no-wildcards"]);
        exclude(job, &mut run)?;
    }
    run.makes = Some(job.target_path());
    Ok(run
        .arg("-xpf")
        .arg(job.archive)
        .arg("-C")
        .arg(job.target_path()))
}

/// Excludes the members that the file system cannot store.
fn exclude(job: &Job<'_>, run: &mut ToolRun) -> Result<(), LoadError> {
    let mut data = vec![0; MAX_EXCLUDED_BYTES];
    let source = SystemCalls::default().archive(job.archive, job.stop)?;
    let mut stream = Stream::new(source, &mut data);
    let (mut members, mut member) = (Members::default(), Member::new());
    let refused = |broken| broken_archive(job, broken);
    let mut length = 0;
    while members.next(&mut stream, &mut member).map_err(refused)? {
        if let Err(what) = job.stores.stores(entry_kind(&member), &member.path) {
            let path = || String::from_utf8_lossy(&member.path).into_owned();
            run.left_out.add(path, what);
            let word = [b"--exclude=".as_slice(), &member.path].concat();
            length += word.len();
            if length > MAX_EXCLUDED_BYTES {
                let reason = "has more entries that the file system cannot store than fit on the \
                              command line of tar: choose the engine sync";
                return Err(refused(Broken::Content(reason.to_owned())));
            }
            run.argv.push(OsString::from_vec(word));
        }
        let data = member.stored.next_multiple_of(BLOCK);
        stream.skip(data).map_err(|error| refused(error.into()))?;
    }
    Ok(())
}

#[cold]
fn broken_archive(job: &Job<'_>, broken: Broken) -> LoadError {
    let archive = job.archive;
    match broken {
        // The reader of an archive fails after a cancellation.
        Broken::Read(_) if job.stop.requested() => LoadError::Stopped,
        Broken::Read(source) => LoadError::io("read", archive, source),
        Broken::Content(reason) => LoadError::Archive {
            path: archive.to_owned(),
            reason,
        },
    }
}

fn run<E: Calls>(engine: &mut E, job: &Job<'_>, rooms: &mut [Scratch]) -> Result<Tally, LoadError> {
    // An archive is read sequentially, by one worker.
    let scratch = &mut rooms[0];
    let base = engine.open_work_dir(job.root)?;
    let source = engine.archive(job.archive, job.stop)?;
    let mut stream = Stream::new(source, &mut scratch.data);
    let (mut members, mut member) = (Members::default(), Member::new());
    engine.make_dir(&base, &job.target, 0o777)?;
    let root = engine.open_dir(&base, &job.target)?;
    scratch.attribute_writer.observe(engine, &root)?;
    let mut place = Place::new(root, &mut scratch.attribute_writer);
    let mut done = Tally {
        directories: 1,
        ..Tally::default()
    };
    let refused = |broken| broken_archive(job, broken);
    let timeline = &mut scratch.walk.timeline;
    while members.next(&mut stream, &mut member).map_err(refused)? {
        job.stop.check()?;
        let stored = member.stored;
        if let Err(what) = job.stores.stores(entry_kind(&member), &member.path) {
            let path = || String::from_utf8_lossy(&member.path).into_owned();
            scratch.left_out.add(path, what);
            let data = stored.next_multiple_of(BLOCK);
            stream.skip(data).map_err(|error| refused(error.into()))?;
            continue;
        }
        let Some(name) = place.go_to_parent(engine, job.archive, &member.path)? else {
            place.root_is(member.meta);
            timeline.resume();
            continue;
        };
        match member.meta.kind {
            Kind::Directory => {
                done.directories += u64::from(place.directory(engine, &name, member.meta)?);
                timeline.resume();
            }
            _ if member.hard_link => {
                place.hard_link(engine, job.archive, &name, &member)?;
                done.files += 1;
            }
            Kind::File => {
                file(engine, job, &mut stream, &mut place, &name, &member)?;
                done.files += 1;
                done.bytes.0 += member.meta.size;
            }
            _ => {
                place.odd(engine, &name, &member)?;
                done.files += 1;
            }
        }
        place.reuse_buffer(name);
        // `stored` is 0 for kinds without data.
        let padding = stored.next_multiple_of(BLOCK) - stored;
        stream
            .skip(padding)
            .map_err(|error| refused(error.into()))?;
        timeline.follow(&done);
    }
    place.finish(engine)?;
    engine.close_dir(base);
    Ok(tally(engine, done))
}

/// The capability that a member requires.
fn entry_kind(member: &Member) -> EntryKind {
    match member.meta.kind {
        Kind::Directory => EntryKind::Directory,
        _ if member.hard_link => EntryKind::HardLink,
        Kind::File => EntryKind::File(member.meta.size),
        Kind::Symlink => EntryKind::Symlink,
        _ => EntryKind::Special,
    }
}

fn file<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    stream: &mut Stream<'_>,
    place: &mut Place<'_, E>,
    name: &CString,
    member: &Member,
) -> Result<(), LoadError> {
    let meta = place.attribute_writer.without_foreign_owner(member.meta);
    let creation = place.attribute_writer.creation(&meta, 0);
    let mut file = place.create(engine, name, creation.mode)?;
    match &member.stretches {
        None => pour(engine, job, stream, &mut file, member.stored)?,
        Some(stretches) => {
            let mut left = member.stored;
            for &(offset, length) in stretches {
                let Some(rest) = left.checked_sub(length) else {
                    let reason = "has a map of holes that does not fit its data".to_owned();
                    return Err(broken_archive(job, Broken::Content(reason)));
                };
                left = rest;
                engine.seek(&mut file, offset)?;
                pour(engine, job, stream, &mut file, length)?;
            }
            engine.set_size(&mut file, member.meta.size)?;
            stream
                .skip(left)
                .map_err(|error| broken_archive(job, error.into()))?;
        }
    }
    let made = Target::File(&file);
    place
        .attribute_writer
        .finish(engine, None, &made, &meta, creation)?;
    engine.close(file)
}

/// Writes the next data of the archive: a small file with one call.
#[inline]
fn pour<E: Calls>(
    engine: &mut E,
    job: &Job<'_>,
    stream: &mut Stream<'_>,
    file: &mut E::File,
    mut length: u64,
) -> Result<(), LoadError> {
    while length > 0 {
        let piece = usize::try_from(length).map_or(stream.room(), |left| left.min(stream.room()));
        let data = stream
            .take(piece)
            .map_err(|error| broken_archive(job, error.into()))?;
        engine.write(file, data)?;
        length -= piece as u64;
        if length > 0 && job.stop.requested() {
            return Err(LoadError::Stopped);
        }
    }
    Ok(())
}
