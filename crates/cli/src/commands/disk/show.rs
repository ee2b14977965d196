//! `disk show`: a profile as its file has it, ready to be changed and named as one's own.

use super::profile;
use crate::exit::{CliError, Code};
use crate::output;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Shown<D: Serialize> {
    name: String,
    profile: D,
}

pub fn show(name: &Path, json: bool) -> Result<Code, CliError> {
    let profile = profile(name)?;
    if json {
        output::json(&Shown {
            profile: profile.document(),
            name: profile.name,
        })?;
    } else {
        output::bytes(profile.text.as_bytes())?;
    }
    Ok(Code::Ok)
}
