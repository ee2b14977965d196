//! `guest`: the first process of a guest. Nobody types it.

use crate::exit::{Code, Trouble};
use fsdyno_lab::serve::{ServeError, serve};

pub fn guest() -> Result<Code, Trouble> {
    match serve() {
        Ok(()) => Ok(Code::Ok),
        Err(error @ ServeError::NoGuest) => Err(Trouble::usage(error)),
        Err(error) => Err(Trouble::failure(error)),
    }
}
