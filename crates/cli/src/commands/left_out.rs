//! What the translation of a foreign workload leaves out, printed before the workload is used.

use crate::output;
use fsdyno_load::work::left_out;
use fsdyno_model::printable;
use fsdyno_run::resolve::read_work;
use std::path::{Path, PathBuf};

/// Prints what the translation of a file leaves out.
pub fn note_left_out(file: &Path, text: &str) {
    for line in left_out(text) {
        let (file, line) = (file.display(), printable(line));
        output::note(format_args!("fsdyno: {file}: left out: {line}"));
    }
}

/// The same of several files, which are valid.
pub fn note_all_left_out(files: &[PathBuf]) {
    for file in files {
        if let Ok((text, _)) = read_work(file) {
            note_left_out(file, &text);
        }
    }
}
