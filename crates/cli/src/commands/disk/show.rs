//! `disk show`: the file of a profile. A user can change it and give it another name.

use super::profile;
use crate::exit::CliError;
use crate::output;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Shown<D: Serialize> {
    name: String,
    profile: D,
}

pub fn show(name: &Path, json: bool) -> Result<(), CliError> {
    let profile = profile(name)?;
    if json {
        output::json(&Shown {
            profile: profile.document(),
            name: profile.name,
        })
    } else {
        output::bytes(profile.text.as_bytes())
    }
}
