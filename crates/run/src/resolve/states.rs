//! Initial states as an axis of a plan: every contender in every state.

use super::config_error::ConfigError;
use fsdyno_model::{Contender, ContenderSpec, FilesystemKind, Fill, InitialState};
use fsdyno_recipes as recipes;

pub fn state(fill: Option<Fill>, age: u32) -> Result<InitialState, ConfigError> {
    InitialState::of(fill, age).map_err(|(message, remedy)| ConfigError::wrong(message, remedy))
}

/// Each contender in each state, with the state in its label. Contenders with a state of their own
/// stay unchanged.
pub fn for_each_state(
    contenders: Vec<ContenderSpec>,
    fills: &[Fill],
    ages: &[u32],
) -> Result<Vec<ContenderSpec>, ConfigError> {
    if fills.is_empty() && ages.is_empty() {
        return Ok(contenders);
    }
    let fills = match fills {
        [] => vec![None],
        fills => fills.iter().map(|fill| Some(*fill)).collect(),
    };
    let ages = if ages.is_empty() { &[0] } else { ages };
    let mut states = Vec::new();
    for fill in fills {
        for age in ages {
            states.push(state(fill, *age)?);
        }
    }
    let mut all = Vec::new();
    for typed in contenders {
        if !typed.contender.state.is_fresh() {
            all.push(typed);
            continue;
        }
        for state in &states {
            let contender = in_state(typed.contender.clone(), state.clone())?;
            let lab = typed.lab.clone();
            all.push(ContenderSpec { contender, lab });
        }
    }
    Ok(all)
}

/// The contender in that state, if its file system supports it.
pub fn in_state(mut contender: Contender, state: InitialState) -> Result<Contender, ConfigError> {
    if state.is_fresh() {
        return Ok(contender);
    }
    contender.label += &state.suffix();
    match recipes::kind_of(&contender.filesystem) {
        Some(FilesystemKind::Directory) => {
            let message = format!(
                "`{}` is a directory that exists: filling it would fill its file system",
                contender.label
            );
            let remedy = "leave the fill and the age out, or compare file systems that are made";
            return Err(ConfigError::wrong(message, remedy));
        }
        Some(FilesystemKind::Memory) if !has_size(&contender) => {
            let message = format!(
                "`{}` has no size of its own: filling it would fill half of the memory",
                contender.label
            );
            let remedy = format!("give it one: {}:size=512M", contender.filesystem);
            return Err(ConfigError::wrong(message, remedy));
        }
        _ => {}
    }
    contender.state = state;
    Ok(contender)
}

/// Whether a file system in memory has a size option.
fn has_size(contender: &Contender) -> bool {
    let mut options = contender.mount.iter();
    options.any(|option| option.starts_with("size=") || option.starts_with("nr_blocks="))
}
