//! The parameters of phase kinds: their names, their syntax, and their defaults.

use super::catalogue::{Catalogue, KindEntry};
use super::config_error::ConfigError;
use super::error::ResolveError;
use super::names::absolute;
use fsdyno_load::programs;
use fsdyno_model::closest_name;
use fsdyno_model::{Bytes, Form, Given, Needs, Parameter, Workload};
use std::collections::BTreeMap;
use std::path::Path;

/// Checks that a kind has a parameter of that name.
pub(super) fn known(name: &str, kind: Result<&KindEntry, ConfigError>) -> Result<(), ConfigError> {
    let kind = kind?;
    let names = kind.parameters.iter().map(|one| one.name);
    if kind.passes_on || names.clone().any(|known| known == name) {
        return Ok(());
    }
    let keys = ["kind", "cache", "label", "pattern", "judge"];
    let all: Vec<&str> = keys.into_iter().chain(names).collect();
    let near = closest_name(name, all.iter().copied());
    let listed: Vec<String> = all.iter().map(|key| format!("`{key}`")).collect();
    Err(ConfigError::Wrong {
        message: format!(
            "unknown field `{name}` of `{}`, expected one of {}",
            kind.name,
            listed.join(", ")
        ),
        help: (!near.is_empty()).then(|| format!("did you mean {}?", near.join(", "))),
    })
}

/// A value of a plan file as text.
pub(super) fn text_of(value: &toml::Value) -> Result<String, ConfigError> {
    match value {
        toml::Value::String(text) => Ok(text.clone()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        toml::Value::Boolean(truth) => Ok(truth.to_string()),
        toml::Value::Array(values) => {
            let lines: Result<Vec<String>, _> = values.iter().map(text_of).collect();
            Ok(lines?.join("\n"))
        }
        other => Err(ConfigError::wrong(
            format!("a parameter is no {}", other.type_str()),
            "write a text or a number",
        )),
    }
}

/// Parses one parameter and returns the text that the plan keeps.
pub(super) fn read(
    kind: &str,
    name: &str,
    text: &str,
    base: &Path,
    catalogue: &Catalogue,
) -> Result<String, ConfigError> {
    let entry = catalogue.kind(kind)?;
    if let Some(error) = only_others_take(name, entry, catalogue) {
        return Err(error);
    }
    known(name, Ok(entry))?;
    let Some(parameter) = entry.parameters.iter().find(|one| one.name == name) else {
        return Ok(text.to_owned());
    };
    match &parameter.form {
        Form::Text | Form::File if text.trim().is_empty() || text.contains('\0') => {
            Err(ConfigError::wrong(
                format!("{name} of `{kind}` is empty, or holds a zero byte"),
                "write it, or leave it out",
            ))
        }
        Form::Text => Ok(text.to_owned()),
        Form::Size => {
            let size: Bytes = text.parse()?;
            if size.0 == 0 {
                let message = format!("{name} of `{kind}` is nothing");
                return Err(ConfigError::wrong(message, "write a size such as 64M"));
            }
            Ok(size.0.to_string())
        }
        Form::SizeWithin(least, most) => {
            let Bytes(size) = text.parse()?;
            if !(*least..=*most).contains(&size) {
                let (least, most) = (Bytes(*least), Bytes(*most));
                return Err(ConfigError::wrong(
                    format!("`{text}` cannot be {name} of `{kind}`"),
                    format!("write a size from {least} to {most}, such as 4096 or 16K"),
                ));
            }
            Ok(size.to_string())
        }
        Form::Number(least, most) => number(text, *least, *most).ok_or_else(|| {
            ConfigError::wrong(
                format!("`{text}` cannot be {name} of `{kind}`"),
                format!("write a whole number from {least} to {most}"),
            )
        }),
        Form::OneOfOrNumber(words, ..) if words.contains(&text) => Ok(text.to_owned()),
        Form::OneOfOrNumber(words, least, most) => number(text, *least, *most).ok_or_else(|| {
            ConfigError::wrong(
                format!("`{text}` cannot be {name} of `{kind}`"),
                format!(
                    "write {}, or a whole number from {least} to {most}",
                    words.join(", ")
                ),
            )
        }),
        Form::OneOf(words) if words.contains(&text) => Ok(text.to_owned()),
        Form::OneOf(words) => Err(ConfigError::unknown(
            "value of it",
            text,
            words.iter().copied(),
        )),
        Form::File => {
            let path = absolute(base, Path::new(text));
            // The plan stores parameters as text, and both parts of the path come from text.
            Ok(path.to_string_lossy().into_owned())
        }
    }
}

/// A whole number within these bounds, as the plan writes it.
fn number(text: &str, least: u64, most: u64) -> Option<String> {
    let number: u64 = text.parse().ok()?;
    (least..=most).contains(&number).then(|| number.to_string())
}

/// The error for a parameter that only other kinds of the same family have, as `fsync` of `op-read`.
fn only_others_take(name: &str, kind: &KindEntry, catalogue: &Catalogue) -> Option<ConfigError> {
    let (family, _) = kind.name.split_once('-')?;
    let has = |one: &KindEntry| one.parameters.iter().any(|own| own.name == name);
    let is_related = |one: &&KindEntry| {
        let rest = one.name.strip_prefix(family);
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    let related = catalogue.kinds.iter().filter(is_related);
    let others: Vec<&str> = related.filter(|one| has(one)).map(|one| one.name).collect();
    (!has(kind) && !others.is_empty()).then(|| {
        ConfigError::wrong(
            format!("phase `{}` takes no `{name}`", kind.name),
            format!("leave it out; phases that take it: {}", others.join(", ")),
        )
    })
}

/// Checks that all required parameters are set.
pub(super) fn complete(
    kind: &KindEntry,
    given: &BTreeMap<String, String>,
) -> Result<(), ConfigError> {
    let missing = kind
        .parameters
        .iter()
        .find(|one| one.given == Given::Required && !given.contains_key(one.name));
    match missing {
        None => Ok(()),
        Some(Parameter { name, .. }) => Err(ConfigError::wrong(
            format!("phase `{0}` needs a {name}", kind.name),
            format!(
                "in a plan: {{ kind = \"{0}\", {name} = \"...\" }}; to be typed: --{0} '...'",
                kind.name
            ),
        )),
    }
}

/// The input of a phase: that of its kind, or the tree that its parameters refer to.
pub(super) fn needs(kind: &KindEntry, given: &BTreeMap<String, String>) -> Needs {
    if kind.needs == Needs::Nothing && given.values().any(|text| text.contains("{tree}")) {
        return Needs::Tree;
    }
    kind.needs
}

/// Adds the defaults, because a plan must be complete. Parameters that grow with the scale are
/// given for scale 1, by the kind as well as by a plan file. `later` are the settings that follow.
pub(super) fn set_defaults(
    workloads: &mut [Workload],
    scale: f64,
    later: &[String],
    catalogue: &Catalogue,
) -> Result<(), ConfigError> {
    for phase in workloads.iter_mut().flat_map(|w| &mut w.phases) {
        let kind = catalogue.kind(&phase.kind)?;
        let replaces = |name: &&str| {
            let typed = format!("{}.{name}=", kind.name);
            phase.parameters.contains_key(*name) || later.iter().any(|one| one.starts_with(&typed))
        };
        if kind.no_defaults_with.iter().any(replaces) {
            continue;
        }
        for one in kind.parameters {
            let explicit = phase.parameters.get(one.name).cloned();
            let value = match (&one.given, explicit) {
                (Given::Fixed(text), None) => (*text).to_owned(),
                (Given::Scaled(full, step), None) => scaled(*full, *step, scale).to_string(),
                (Given::Scaled(_, step), Some(explicit)) => match explicit.parse() {
                    // At scale 1 the size keeps its exact bytes.
                    Ok(full) if scale.total_cmp(&1.0).is_ne() => {
                        scaled(full, *step, scale).to_string()
                    }
                    _ => continue,
                },
                (Given::Required | Given::Absent, None) | (_, Some(_)) => {
                    continue;
                }
            };
            phase.parameters.insert(one.name.to_owned(), value);
        }
    }
    Ok(())
}

fn scaled(full: u64, step: u64, scale: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, and a scale is above zero"
    )]
    let steps = (full as f64 * scale / step as f64).round() as u64;
    steps.max(1).saturating_mul(step)
}

/// Completes the parameters of programs with files and variables of the user.
pub(super) fn complete_programs(workloads: &mut [Workload]) -> Result<(), ConfigError> {
    for phase in workloads.iter_mut().flat_map(|w| &mut w.phases) {
        programs::complete(&phase.kind, &mut phase.parameters).map_err(|message| {
            let message = format!("phase `{}`: {message}", phase.label);
            ConfigError::Wrong {
                message,
                help: None,
            }
        })?;
    }
    Ok(())
}

/// The parameters of a phase without a plan, from `NAME=VALUE`.
pub fn parameters_of(
    kind: &str,
    typed: &[String],
    catalogue: &Catalogue,
) -> Result<BTreeMap<String, String>, ResolveError> {
    let read_one = |one: &String| {
        let (name, value) = one.split_once('=').ok_or_else(|| {
            ConfigError::wrong(
                format!("`{one}` sets nothing"),
                "write NAME=VALUE, for example size=64M",
            )
        })?;
        let value = read(kind, name, value, Path::new(""), catalogue)?;
        Ok((name.to_owned(), value))
    };
    let given = typed.iter().map(read_one);
    given
        .collect::<Result<_, ConfigError>>()
        .map_err(ResolveError::argument("--set"))
}

/// The engine of a phase without a plan, if the name exists.
pub fn engine_of(name: &str, catalogue: &Catalogue) -> Result<String, ResolveError> {
    let known = catalogue.engine(name);
    known.map_err(ResolveError::argument("--engine"))
}

/// The kinds that a setting refers to: the kind of that name, or all kinds that start with the name
/// and a hyphen and have the parameter. `mongo` refers to `mongo-create`, `mongo-copy` and so on.
fn kinds_of<'a>(
    word: &'a str,
    name: &str,
    catalogue: &'a Catalogue,
) -> Result<Vec<&'a str>, ConfigError> {
    let own = catalogue.kind(word);
    if let Ok(kind) = own {
        return Ok(vec![kind.name]);
    }
    let begins = |kind: &&KindEntry| {
        let rest = kind.name.strip_prefix(word);
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    let family: Vec<&KindEntry> = catalogue.kinds.iter().filter(begins).collect();
    let takes = |kind: &&&KindEntry| kind.parameters.iter().any(|one| one.name == name);
    let those = family.iter().filter(takes);
    let those: Vec<&str> = those.map(|kind| kind.name).collect();
    match family.first() {
        Some(first) if those.is_empty() => known(name, Ok(first)).map(|()| those),
        Some(_) => Ok(those),
        None => own.map(|_| those),
    }
}

/// Applies a `KIND.NAME=VALUE` of the command line to all phases of that kind, or of the kinds that
/// start with that word.
pub(super) fn set(
    workloads: &mut [Workload],
    typed: &str,
    base: &Path,
    catalogue: &Catalogue,
) -> Result<(), ConfigError> {
    let parts = typed
        .split_once('=')
        .and_then(|(place, value)| Some((place.split_once('.')?, value)));
    let Some(((kind, name), value)) = parts else {
        return Err(ConfigError::wrong(
            format!("`{typed}` sets nothing"),
            "write KIND.NAME=VALUE, for example fio.size=64M",
        ));
    };
    let kinds = kinds_of(kind, name, catalogue)?;
    let mut set = false;
    for phase in workloads.iter_mut().flat_map(|w| &mut w.phases) {
        if kinds.contains(&phase.kind.as_str()) {
            let value = read(&phase.kind, name, value, base, catalogue)?;
            phase.parameters.insert(name.to_owned(), value);
            set = true;
        }
    }
    if set {
        return Ok(());
    }
    Err(ConfigError::wrong(
        format!("no phase is of the kind `{kind}`"),
        format!("add one with --phases {}", kinds.first().unwrap_or(&kind)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_scale_in_whole_steps_and_never_to_nothing() {
        let mib = 1 << 20;
        assert_eq!(scaled(1 << 30, mib, 0.1), 102 * mib);
        assert_eq!(scaled(1 << 30, mib, 1e-9), mib);
        assert_eq!(scaled(1 << 30, mib, 2.0), 2 << 30);
        assert_eq!(scaled(10 * mib, mib, 1.0), 10 * mib);
    }
}
