//! `none`: no files, for programs that create their own.

use crate::generated::{Generator, Shape};
use fsdyno_model::plan::DatasetChoice;

/// The empty dataset.
pub static NONE: Generator = Generator {
    name: DatasetChoice::NONE,
    title: "no files: for programs that create their own files",
    source: "No files are created.",
    shape: Shape::Nothing,
    emit: |_, _, _| Ok(()),
};
