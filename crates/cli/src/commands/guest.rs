//! `guest`: the first process of a guest. Nobody types it.

use crate::exit::{Code, Trouble};
use fsdyno_lab::serve::{ServeError, alone, serve, shell};
use std::ffi::OsString;
use std::path::Path;

pub fn guest(words: &[OsString]) -> Result<Code, Trouble> {
    let done = match words {
        [word, ..] if word == "shell" => shell(),
        [word, task, ..] if word == "task" => alone(Path::new(task)),
        _ => serve(),
    };
    match done {
        Ok(()) => Ok(Code::Ok),
        Err(error @ ServeError::NoGuest) => Err(Trouble::usage(error)),
        Err(error) => Err(Trouble::failure(error)),
    }
}
