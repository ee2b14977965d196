//! `guest`: the first process of a guest. fsdyno starts it; users do not.

use crate::exit::CliError;
use fsdyno_lab::serve::{ServeError, run_in_guest, serve, shell};
use std::ffi::OsString;
use std::path::Path;

pub fn guest(words: &[OsString]) -> Result<(), CliError> {
    let done = match words {
        [word, ..] if word == "shell" => shell(),
        [word, task, ..] if word == "task" => run_in_guest(Path::new(task)),
        _ => serve(),
    };
    done.map_err(|error| match error {
        ServeError::NoGuest => CliError::usage(error),
        error => CliError::failure(error),
    })
}
