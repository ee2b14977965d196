//! Contenders on another machine, where only its own programs can run phases.

use super::config_error::ConfigError;
use fsdyno_model::Contender;

/// The engine on another machine: its own programs.
const PROGRAMS: &str = "tools";

/// The engine of a plan. If a lab requires an engine, any other one is refused.
pub fn engine(
    contenders: &[Contender],
    requested: Option<&str>,
    resolved: String,
) -> Result<String, ConfigError> {
    let Some(far) = contenders.iter().find(|c| c.lab.is_remote()) else {
        return Ok(resolved);
    };
    match requested {
        Some(engine) if engine != PROGRAMS => Err(ConfigError::wrong(
            format!(
                "on {} only its own programs work, and not the engine {engine}",
                far.lab
            ),
            format!("leave the engine out, or ask for {PROGRAMS}"),
        )),
        _ => Ok(PROGRAMS.to_owned()),
    }
}
