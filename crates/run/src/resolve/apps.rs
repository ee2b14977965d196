//! Applications as they are requested, `NAME` or `NAME[SETTING=VALUE,...]`: each is a workload, with
//! the phases of its file. The plan stores the text of the file.

use super::config_error::ConfigError;
use super::error::{PlanFileError, ResolveError};
use super::work_files::at_place;
use fsdyno_load::programs::app;
use fsdyno_load::programs::apps::{self, App};
use fsdyno_model::{
    CacheState, DatasetChoice, FigureName, PhasePlan, ProgramSource, Workload, suggestion,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Reads an application: that of a name, or of a file. The error has its place in the text.
pub fn read_app(name: &str, base: &Path) -> Result<(String, App), ResolveError> {
    if let Some(text) = apps::find(name) {
        return Ok((text.to_owned(), parse(name, text)?));
    }
    if !name.contains('/') && Path::new(name).extension().is_none() {
        let near = suggestion(name, apps::shipped().map(|(name, _)| name));
        let message = format!("`{name}` is no application: {near}");
        let error = ConfigError::wrong(message, "see fsdyno list apps, or name a file (x.toml)");
        return Err(ResolveError::argument("--app")(error));
    }
    let path = base.join(name);
    let text = fsdyno_files::input::read_text(&path);
    let text = text.map_err(|source| ResolveError::Workload { path, source })?;
    let app = parse(name, &text)?;
    Ok((text, app))
}

fn parse(name: &str, text: &str) -> Result<App, PlanFileError> {
    text.parse().map_err(|error| at_place(name, text, error))
}

/// The workloads of a list of applications.
pub(super) fn workloads(
    lists: &[String],
    base: &Path,
    dataset: &DatasetChoice,
) -> Result<Vec<Workload>, ResolveError> {
    let mut workloads: Vec<Workload> = Vec::new();
    for text in lists.iter().flat_map(|list| entries(list)) {
        let Entry {
            name,
            shown,
            mut parameters,
        } = Entry::parse(text)?;
        if workloads.iter().any(|workload| workload.name == shown) {
            return Err(wrong(format!("`{shown}` is there twice"), "leave one out"));
        }
        let (file, app) = read_app(name, base)?;
        parameters.insert(apps::NAME.to_owned(), name.to_owned());
        parameters.insert(apps::TEXT.to_owned(), file);
        let phases = app.phases().map(|(phase, _)| {
            let mut parameters = parameters.clone();
            parameters.insert(apps::PHASE.to_owned(), phase.to_owned());
            PhasePlan {
                label: phase.to_owned(),
                kind: app::APP.kind.name.to_owned(),
                cache: CacheState::default(),
                pattern: None,
                parameters,
                judge: None,
            }
        });
        workloads.push(Workload {
            name: shown,
            dataset: dataset.clone(),
            phases: phases.collect(),
        });
    }
    Ok(workloads)
}

fn wrong(message: String, help: &str) -> ResolveError {
    ResolveError::argument("--app")(ConfigError::wrong(message, help))
}

/// An entry of the list: an application with its settings.
struct Entry<'a> {
    /// Its name, or its file.
    name: &'a str,
    /// Its name in reports.
    shown: String,
    parameters: BTreeMap<String, String>,
}

impl<'a> Entry<'a> {
    fn parse(text: &'a str) -> Result<Self, ResolveError> {
        let (name, settings) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, settings)) => (name, settings),
            None => (text, ""),
        };
        let mut parameters = BTreeMap::new();
        for setting in settings.split(',').filter(|one| !one.trim().is_empty()) {
            let Some((name, value)) = setting.split_once('=') else {
                let help = "write NAME[SETTING=VALUE,...]";
                return Err(wrong(format!("`{setting}` of `{text}` sets nothing"), help));
            };
            parameters.insert(name.trim().to_owned(), value.trim().to_owned());
        }
        let stem = Path::new(name).file_stem().unwrap_or_default();
        let shown = text.replacen(name, &stem.to_string_lossy(), 1);
        Ok(Self {
            name,
            shown,
            parameters,
        })
    }
}

/// The missing programs of an application here, and the packages that contain them. An error if there is
/// no such application, or if its settings are wrong.
pub fn missing_programs(text: &str) -> Result<Option<(String, String)>, ResolveError> {
    let Entry {
        name,
        mut parameters,
        ..
    } = Entry::parse(text)?;
    let (_, app) = read_app(name, Path::new(""))?;
    let complete = app.complete(&mut parameters);
    complete.map_err(|why| wrong(format!("{name}: {why}"), SETTINGS))?;
    Ok(app.missing())
}

/// The commands that show a phase of an application to a recorder, the first if none is named, in these
/// directories: of its data and of temporary files.
pub fn recorded_commands(
    text: &str,
    phase: Option<&str>,
    directories: [&Path; 2],
) -> Result<app::RecordCommands, ResolveError> {
    let Entry {
        name, parameters, ..
    } = Entry::parse(text)?;
    let (_, app) = read_app(name, Path::new(""))?;
    let commands = app::record_commands(&app, parameters, phase, directories);
    commands.map_err(|why| wrong(format!("{name}: {why}"), SETTINGS))
}

/// The crash test of an application, `NAME`, `NAME[SETTING=VALUE,...]` or a file.
pub fn crash_test(text: &str) -> Result<ProgramSource, ResolveError> {
    let Entry {
        name,
        shown,
        parameters,
    } = Entry::parse(text)?;
    let (_, app) = read_app(name, Path::new(""))?;
    if let Some((programs, packages)) = app.missing() {
        let help = format!("apt-get install {packages}");
        return Err(wrong(format!("{name} needs `{programs}`"), &help));
    }
    let commands = app::crash_commands(&app, parameters);
    let commands = commands.map_err(|why| wrong(format!("{name}: {why}"), SETTINGS))?;
    let help = "add a table [crash] to its file (docs/applications.md)";
    let commands = commands.ok_or_else(|| wrong(format!("{name} has no crash test"), help))?;
    Ok(ProgramSource::Application {
        name: Some(shown),
        prepare: commands.prepare,
        command: commands.work,
        check: commands.check,
    })
}

const SETTINGS: &str = "fsdyno list apps --long prints the phases and settings";

/// The entries of a list with commas; those in brackets belong to an entry.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    list.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
}

/// Completes the phases of applications: their texts, their settings, and the figures that they are
/// judged by.
pub(super) fn complete(workloads: &mut [Workload], base: &Path) -> Result<(), ResolveError> {
    let phases = workloads
        .iter_mut()
        .flat_map(|workload| &mut workload.phases);
    for phase in phases.filter(|phase| app::is_one(&phase.kind)) {
        let parameters = &mut phase.parameters;
        let name = parameters.get(apps::NAME).cloned().unwrap_or_default();
        let app = if let Some(text) = parameters.get(apps::TEXT) {
            parse(&name, text)?
        } else {
            let (text, app) = read_app(&name, base)?;
            parameters.insert(apps::TEXT.to_owned(), text);
            app
        };
        let wrong = |message: String| wrong(message, SETTINGS);
        let first = app.phases().next().map_or("", |(name, _)| name);
        let chosen = parameters.entry(apps::PHASE.to_owned());
        let chosen = chosen.or_insert_with(|| first.to_owned()).clone();
        if !app.phases().any(|(name, _)| name == chosen) {
            let near = suggestion(&chosen, app.phases().map(|(name, _)| name));
            return Err(wrong(format!("{name} has no phase `{chosen}`: {near}")));
        }
        app.complete(parameters)
            .map_err(|why| wrong(format!("{name}: {why}")))?;
        let judge = app.judge(&chosen).map(FigureName::new);
        phase.judge = phase.judge.take().or(judge);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_belong_to_an_application() {
        let list: Vec<&str> = entries("git, postgresql[scale=2,fsync=off],x.toml").collect();
        assert_eq!(list, ["git", "postgresql[scale=2,fsync=off]", "x.toml"]);
    }
}
