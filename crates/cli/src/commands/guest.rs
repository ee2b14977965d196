//! `guest`: the first process of a guest. Nobody types it.

use crate::exit::{Code, Trouble};
use fsdyno_lab::serve::{ServeError, serve, shell};
use std::ffi::OsString;

pub fn guest(words: &[OsString]) -> Result<Code, Trouble> {
    let shell_wanted = words.first().is_some_and(|word| word == "shell");
    match if shell_wanted { shell() } else { serve() } {
        Ok(()) => Ok(Code::Ok),
        Err(error @ ServeError::NoGuest) => Err(Trouble::usage(error)),
        Err(error) => Err(Trouble::failure(error)),
    }
}
