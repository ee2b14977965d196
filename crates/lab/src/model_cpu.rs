//! The model processor of a plan, and its prices.

use fsdyno_cpu::{Prices, Profile};
use fsdyno_model::ModelCpu;
use std::path::Path;

/// The model processor of a profile: its name, or a file. The error is a message.
pub fn model_cpu(name: &Path) -> Result<ModelCpu, String> {
    let profile = Profile::named(name).map_err(|error| error.to_string())?;
    Ok(ModelCpu {
        profile: profile.name,
        text: profile.text,
    })
}

/// The prices of a plan's processor; zeros if computing is free. The error is a message.
pub(crate) fn prices(cpu: Option<&ModelCpu>) -> Result<Prices, String> {
    let Some(cpu) = cpu else {
        return Ok(Prices::default());
    };
    let profile = Profile::parse(&cpu.profile, &cpu.text).map_err(|error| error.to_string())?;
    Ok(profile.prices)
}
