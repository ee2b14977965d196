//! Creates, untimed, the input of a phase of bonnie. A phase without preceding phases, or after
//! phases with other parameters, gets the files that its predecessors would have left.

use super::data::{self, Data, FILE, Unit};
use super::files::{self, Files, Places};
use super::parameters::{DataParameters, FileParameters};
use super::{HOME, Job, Phase};
use crate::engines::sync::SystemCalls;
use crate::error::LoadError;
use crate::phases::ready::{below, unless_absent, with_path};
use std::fs;
use std::path::{Path, PathBuf};

fn home(job: &Job<'_>) -> Result<PathBuf, LoadError> {
    let home = below(job.root, HOME);
    with_path("mkdir", &home, fs::create_dir_all(&home))?;
    Ok(home)
}

/// Removes the file before it is created; otherwise creates one of the right size.
pub(super) fn data(
    phase: Phase,
    parameters: DataParameters,
    job: &Job<'_>,
) -> Result<(), LoadError> {
    let file = below(&home(job)?, FILE);
    let size = fs::metadata(&file).ok().map(|meta| meta.len());
    let complete = match phase {
        Phase::CharWrite | Phase::Write => false,
        Phase::CharRead => size >= Some(parameters.chars.min(parameters.size)),
        _ => size == Some(parameters.size),
    };
    if complete {
        return Ok(());
    }
    with_path("unlink", &file, unless_absent(fs::remove_file(&file)))?;
    if !matches!(phase, Phase::CharWrite | Phase::Write) {
        let mut buffers = Data::new(parameters, 1, 0);
        data::fill(&mut SystemCalls::default(), job, &mut buffers, Unit::Chunk)?;
    }
    Ok(())
}

/// Creates empty directories before files are created; otherwise all the files.
pub(super) fn files(
    phase: Phase,
    parameters: FileParameters,
    job: &Job<'_>,
) -> Result<(), LoadError> {
    let home = home(job)?;
    // The phases on the large file are complete, as in the original.
    let large = below(&home, FILE);
    with_path("unlink", &large, unless_absent(fs::remove_file(&large)))?;
    let places = Places::of(&parameters);
    let base = below(&home, &places.base);
    if phase != Phase::Create && count(&base, &places) == parameters.files {
        return Ok(());
    }
    with_path("unlink", &base, unless_absent(fs::remove_dir_all(&base)))?;
    with_path("mkdir", &base, fs::create_dir(&base))?;
    for name in &places.directories {
        let path = below(&base, name);
        with_path("mkdir", &path, fs::create_dir(&path))?;
    }
    let size = usize::try_from(parameters.least).unwrap_or(0);
    for name in &places.originals {
        let path = below(&base, name);
        with_path("write", &path, fs::write(&path, vec![0; size]))?;
    }
    if phase != Phase::Create {
        files::create(
            &mut SystemCalls::default(),
            job,
            &mut Files::new(parameters),
        )?;
    }
    Ok(())
}

/// The number of files in the directories.
fn count(base: &Path, places: &Places) -> u64 {
    let directories = places.directories.iter();
    let entries =
        directories.map(|name| fs::read_dir(below(base, name)).map_or(0, Iterator::count));
    entries.sum::<usize>() as u64
}
