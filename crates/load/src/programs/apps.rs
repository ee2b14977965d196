//! Applications as data: the programs that one needs, its settings, its server, and its timed loads
//! with their figures, read from a file. `programs::app` runs them as phases.

use super::own_figures::FigureSpec;
use crate::work::{WorkError, parse_toml};
use fsdyno_files::programs;
use fsdyno_model::sample::Better;
use fsdyno_model::suggestion;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use toml::{Spanned, Value};

/// The parameters of a phase that are no settings of its application.
pub const NAME: &str = "app";
pub const PHASE: &str = "phase";
pub const TEXT: &str = "text";

/// Names that a setting cannot have: they have a meaning for phases, or for a shell.
const RESERVED: [&str; 13] = [
    NAME,
    PHASE,
    TEXT,
    "kind",
    "cache",
    "label",
    "pattern",
    "judge",
    "everywhere",
    "figure",
    "workers",
    "path",
    "home",
];

/// The files of this program, by name.
const SHIPPED: [(&str, &str); 16] = [
    ("apt", include_str!("../../data/apps/apt.toml")),
    ("borg", include_str!("../../data/apps/borg.toml")),
    ("build", include_str!("../../data/apps/build.toml")),
    ("ccache", include_str!("../../data/apps/ccache.toml")),
    (
        "containers",
        include_str!("../../data/apps/containers.toml"),
    ),
    ("dovecot", include_str!("../../data/apps/dovecot.toml")),
    ("dpkg", include_str!("../../data/apps/dpkg.toml")),
    ("git", include_str!("../../data/apps/git.toml")),
    ("mariadb", include_str!("../../data/apps/mariadb.toml")),
    ("nginx", include_str!("../../data/apps/nginx.toml")),
    (
        "postgresql",
        include_str!("../../data/apps/postgresql.toml"),
    ),
    ("redis", include_str!("../../data/apps/redis.toml")),
    ("rocksdb", include_str!("../../data/apps/rocksdb.toml")),
    ("rsync", include_str!("../../data/apps/rsync.toml")),
    ("sqlite", include_str!("../../data/apps/sqlite.toml")),
    ("vm-image", include_str!("../../data/apps/vm-image.toml")),
];

/// The names of the applications of this program, each with its file.
pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> + Clone {
    SHIPPED.into_iter()
}

/// The file of an application of this program.
pub fn find(name: &str) -> Option<&'static str> {
    let mut all = SHIPPED.iter();
    all.find(|(shipped, _)| *shipped == name)
        .map(|(_, text)| *text)
}

/// An application.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// What it is, in one line.
    pub title: String,
    /// The user that runs it, if fsdyno runs as root.
    pub(crate) user: Option<Spanned<String>>,
    /// Directories of its programs besides the usual ones; `*` is the rest of a name.
    #[serde(default)]
    pub(crate) path: Vec<Spanned<String>>,
    /// The programs that it needs, each with the Debian package that contains it.
    programs: BTreeMap<String, String>,
    #[serde(default)]
    settings: Vec<Setting>,
    /// The setting that is the size of its data.
    size: Option<Spanned<String>>,
    pub(crate) service: Option<ServiceTable>,
    phases: Spanned<Vec<PhaseTable>>,
    pub(crate) crash: Option<CrashTable>,
}

/// A program that runs while a phase is timed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceTable {
    pub start: String,
    /// A command that succeeds when it is ready.
    pub ready: Option<String>,
    /// A command that makes it end; without one it is killed.
    pub stop: Option<String>,
}

/// A crash test of the application.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CrashTable {
    /// Settings that have other defaults in a crash test, which repeats its commands very often.
    #[serde(default)]
    settings: BTreeMap<Spanned<String>, Value>,
    /// A command whose result is durable before the work begins.
    pub prepare: Option<String>,
    /// Each line that it prints acknowledges the work before it.
    pub work: String,
    /// Fails if something acknowledged is lost. It reads the acknowledged lines.
    pub check: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Setting {
    name: Spanned<String>,
    about: String,
    default: Spanned<Value>,
    /// The values that it can have; any if there are none.
    #[serde(default)]
    values: Vec<String>,
    /// What a value gives up.
    #[serde(default)]
    gives_up: BTreeMap<Spanned<String>, String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PhaseTable {
    name: Spanned<String>,
    about: String,
    /// An untimed command before its caches are set.
    pub prepare: Option<String>,
    /// The timed command.
    pub load: String,
    #[serde(default)]
    figures: Vec<Spanned<FigureTable>>,
    /// The figure that contenders are judged by.
    judge: Option<Spanned<String>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FigureTable {
    name: String,
    expression: String,
    unit: Option<String>,
    direction: Better,
}

impl FigureTable {
    /// The figure as `--figure` takes it.
    fn line(&self) -> String {
        let unit = self.unit.as_deref().unwrap_or_default();
        let direction = self.direction.name();
        format!("{}[{unit},{direction}]={}", self.name, self.expression)
    }
}

impl FromStr for App {
    type Err = WorkError;

    fn from_str(text: &str) -> Result<Self, WorkError> {
        let app: Self = parse_toml(text)?;
        if app.phases.get_ref().is_empty() {
            let help = "write [[phases]] with a name and a load";
            return Err(WorkError::new(
                app.phases.span(),
                "there are no phases",
                help,
            ));
        }
        let mut names: Vec<&Spanned<String>> = Vec::new();
        for setting in &app.settings {
            setting.check()?;
            only_once(&mut names, &setting.name)?;
        }
        if let Some(size) = &app.size {
            let is_number = |one: &Setting| one.default.get_ref().is_integer();
            let found = app.setting(size.get_ref());
            if !found.is_some_and(is_number) {
                let message = format!("`{}` is no setting with a number", size.get_ref());
                let help = "name the setting that is the size of the data";
                return Err(WorkError::new(size.span(), message, help));
            }
        }
        names.clear();
        for phase in app.phases.get_ref() {
            phase.check()?;
            only_once(&mut names, &phase.name)?;
        }
        let crash = app.crash.iter().flat_map(|crash| &crash.settings);
        for (name, value) in crash {
            let wrong = |message| WorkError::new(name.span(), message, "");
            let value = text_of(value).ok_or_else(|| wrong(NO_VALUE.to_owned()))?;
            let checked = app.check_setting(name.get_ref(), &value);
            checked.map_err(wrong)?;
        }
        for pattern in &app.path {
            if !pattern.get_ref().starts_with('/') || pattern.get_ref().matches('*').count() > 1 {
                let message = format!("`{}` is no directory of programs", pattern.get_ref());
                let help = "write an absolute path with one `*` at most";
                return Err(WorkError::new(pattern.span(), message, help));
            }
        }
        Ok(app)
    }
}

/// Refuses a name that was there before.
fn only_once<'n>(
    before: &mut Vec<&'n Spanned<String>>,
    name: &'n Spanned<String>,
) -> Result<(), WorkError> {
    if before.iter().any(|other| other.get_ref() == name.get_ref()) {
        let message = format!("`{}` is there twice", name.get_ref());
        return Err(WorkError::new(
            name.span(),
            message,
            "give one another name",
        ));
    }
    before.push(name);
    Ok(())
}

const NO_VALUE: &str = "write a whole number or a text";

/// A value of a setting; none if it is neither a text nor a whole number.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

impl Setting {
    fn check(&self) -> Result<(), WorkError> {
        let name = self.name.get_ref();
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_name =
            name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_word);
        if !is_name || RESERVED.contains(&name.as_str()) {
            let message = format!("`{name}` cannot be the name of a setting");
            let help = "write lower-case letters, digits and `_`; commands read it as a variable";
            return Err(WorkError::new(self.name.span(), message, help));
        }
        let default = self.default_text();
        let at = |message| WorkError::new(self.default.span(), message, "");
        let default = default.ok_or_else(|| at(NO_VALUE.to_owned()))?;
        self.accepts(&default).map_err(at)?;
        for value in self.gives_up.keys() {
            let wrong = |message| WorkError::new(value.span(), message, "");
            self.accepts(value.get_ref()).map_err(wrong)?;
        }
        Ok(())
    }

    fn default_text(&self) -> Option<String> {
        text_of(self.default.get_ref())
    }

    /// Whether it can have a value. The error says which.
    fn accepts(&self, value: &str) -> Result<(), String> {
        let name = self.name.get_ref();
        if !self.values.is_empty() && !self.values.iter().any(|one| one == value) {
            let near = suggestion(value, self.values.iter().map(String::as_str));
            return Err(format!("`{value}` is no value of {name}: {near}"));
        }
        let is_number = value.parse::<u64>().is_ok_and(|number| number > 0);
        if self.default.get_ref().is_integer() && !is_number {
            return Err(format!(
                "`{value}` is no value of {name}: write a whole number from 1"
            ));
        }
        if value.is_empty() || value.contains(char::is_control) {
            return Err(format!(
                "the value of {name} is empty or holds control characters"
            ));
        }
        Ok(())
    }
}

impl PhaseTable {
    fn check(&self) -> Result<(), WorkError> {
        let mut lines: Vec<String> = Vec::new();
        let mut specs = Vec::new();
        for figure in &self.figures {
            lines.push(figure.get_ref().line());
            let read = FigureSpec::parse_all(&lines.join("\n"));
            specs = read.map_err(|message| WorkError::new(figure.span(), message, ""))?;
        }
        let Some(judge) = &self.judge else {
            return Ok(());
        };
        if specs.iter().any(|spec| spec.name == *judge.get_ref()) {
            return Ok(());
        }
        let names = specs.iter().map(|spec| spec.name.as_str());
        let near = suggestion(judge.get_ref(), names);
        let message = format!("the phase has no figure `{}`", judge.get_ref());
        Err(WorkError::new(judge.span(), message, near))
    }

    pub fn name(&self) -> &str {
        self.name.get_ref()
    }

    /// Its figures, one a line, as `--figure` takes them.
    pub fn figures(&self) -> String {
        let lines = self.figures.iter().map(|figure| figure.get_ref().line());
        lines.collect::<Vec<_>>().join("\n")
    }

    pub fn judge(&self) -> Option<&str> {
        self.judge.as_ref().map(|judge| judge.get_ref().as_str())
    }
}

impl App {
    /// The phases in order: their names and what they do.
    pub fn phases(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        let phases = self.phases.get_ref().iter();
        phases.map(|phase| (phase.name(), phase.about.as_str()))
    }

    /// The figure that a phase is judged by, if the file names one.
    pub fn judge(&self, phase: &str) -> Option<&str> {
        self.phase(phase)?.judge()
    }

    pub(crate) fn phase(&self, name: &str) -> Option<&PhaseTable> {
        let mut phases = self.phases.get_ref().iter();
        phases.find(|phase| phase.name() == name)
    }

    /// What its settings are: name, meaning, default and values.
    pub fn describe_settings(&self) -> String {
        let settings = self.settings.iter().map(|setting| {
            let default = setting.default_text().unwrap_or_default();
            let values = match &setting.values[..] {
                [] => format!("default {default}"),
                values => format!("{}; default {default}", values.join(", ")),
            };
            format!("{}: {} ({values})", setting.name.get_ref(), setting.about)
        });
        settings.collect::<Vec<_>>().join("; ")
    }

    /// Checks the settings among the parameters of a phase, and adds those that are not set.
    pub fn complete(&self, parameters: &mut BTreeMap<String, String>) -> Result<(), String> {
        for (name, value) in parameters.iter() {
            if [NAME, PHASE, TEXT].contains(&name.as_str()) {
                continue;
            }
            self.check_setting(name, value)?;
        }
        for setting in &self.settings {
            let default = setting.default_text().unwrap_or_default();
            let name = setting.name.get_ref().clone();
            parameters.entry(name).or_insert(default);
        }
        Ok(())
    }

    fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|one| one.name.get_ref() == name)
    }

    /// The setting that is the size of its data, if there is one.
    pub(crate) fn size(&self) -> Option<&str> {
        self.size.as_ref().map(|size| size.get_ref().as_str())
    }

    /// Of these settings those that are not the defaults, without the size of the data.
    pub(crate) fn chosen(&self, parameters: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let values = self.values(parameters).filter(|(name, value)| {
            let default = self.setting(name).and_then(Setting::default_text);
            Some(*name) != self.size() && default.as_deref() != Some(*value)
        });
        let owned = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
        owned.collect()
    }

    /// Whether it has a setting, which can have this value. The error says what to write.
    fn check_setting(&self, name: &str, value: &str) -> Result<(), String> {
        let names = self.settings.iter().map(|one| one.name.get_ref().as_str());
        let setting = self.setting(name);
        let unknown = || format!("unknown setting `{name}`: {}", suggestion(name, names));
        setting.ok_or_else(unknown)?.accepts(value)
    }

    /// As [`Self::complete`], with the settings of a crash test.
    pub(crate) fn complete_for_crash(
        &self,
        parameters: &mut BTreeMap<String, String>,
    ) -> Result<(), String> {
        for (name, value) in self.crash.iter().flat_map(|crash| &crash.settings) {
            let value = text_of(value).unwrap_or_default();
            parameters.entry(name.get_ref().clone()).or_insert(value);
        }
        self.complete(parameters)
    }

    /// The values of its settings in the order of the file.
    pub(crate) fn values<'a>(
        &'a self,
        parameters: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.settings.iter().filter_map(|setting| {
            let name = setting.name.get_ref().as_str();
            Some((name, parameters.get(name)?.as_str()))
        })
    }

    /// What these settings give up, each with the setting.
    pub(crate) fn given_up(&self, parameters: &BTreeMap<String, String>) -> Vec<String> {
        let given_up = self.settings.iter().filter_map(|setting| {
            let value = parameters.get(setting.name.get_ref())?;
            let mut all = setting.gives_up.iter();
            let (_, what) = all.find(|(of, _)| of.get_ref() == value)?;
            Some(format!("{} = {value}: {what}", setting.name.get_ref()))
        });
        given_up.collect()
    }

    /// The directories of its programs, those that come first in its path first.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let all = self.path.iter().flat_map(|one| matching(one.get_ref()));
        all.collect()
    }

    /// The missing programs of this machine, and the packages that contain them.
    pub fn missing(&self) -> Option<(String, String)> {
        let directories = self.directories();
        let is_here = |name: &str| located(name, &directories).is_some();
        let missing = self.programs.iter().filter(|(name, _)| !is_here(name));
        let (names, mut packages): (Vec<&str>, Vec<&str>) = missing
            .map(|(name, package)| (name.as_str(), package.as_str()))
            .unzip();
        packages.sort_unstable();
        packages.dedup();
        (!names.is_empty()).then(|| (names.join("`, `"), packages.join(" ")))
    }

    /// The paths of its programs that are installed.
    pub fn installed(&self) -> Vec<String> {
        let directories = self.directories();
        let names = self.programs.keys();
        let paths = names.filter_map(|name| located(name, &directories));
        paths
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }
}

/// A program of an application: in the search path, or else in these directories.
fn located(name: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    let inside = || {
        directories
            .iter()
            .find_map(|one| programs::find(one.join(name)))
    };
    programs::find(name).or_else(inside)
}

/// The directories of a pattern with `*` for the rest of a name, the last by name first.
fn matching(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else {
        return vec![PathBuf::from(pattern)];
    };
    let (parent, start) = before.rsplit_once('/').unwrap_or(("", before));
    let after = after.trim_start_matches('/');
    let entries = std::fs::read_dir(Path::new("/").join(parent));
    let entries = entries.into_iter().flatten().flatten();
    let fits = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(start);
    let found = entries.filter(fits).map(|entry| entry.path().join(after));
    let mut found: Vec<PathBuf> = found.collect();
    found.sort_unstable_by(|a, b| b.cmp(a));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = r#"
title = "a log"
path = ["/opt/log/*/bin"]
programs = { dd = "coreutils", fsdyno-no-such-program = "nothing" }
settings = [
  { name = "lines", about = "lines", default = 10 },
  { name = "sync", about = "how writes wait", default = "dsync", values = ["dsync", "none"], gives_up = { none = "lines" } },
]
[[phases]]
name = "append"
about = "appends"
load = "true"
judge = "speed"
figures = [{ name = "speed", expression = "([0-9]+)", unit = "B/s", direction = "higher" }]
"#;

    fn parameters(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        settings.iter().map(owned).collect()
    }

    #[test]
    fn the_applications_of_this_program_are_valid() {
        for (name, text) in shipped() {
            let app: App = text
                .parse()
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert!(app.phases().count() > 0, "{name}");
        }
    }

    #[test]
    fn the_application_in_the_documentation_is_valid() {
        let page = include_str!("../../../../docs/applications.md");
        let (_, text) = page.split_once("```toml\n").unwrap();
        let (text, _) = text.split_once("```").unwrap();
        text.parse::<App>().unwrap();
    }

    #[test]
    fn a_mistake_in_a_file_has_its_place() {
        for (from, to, place, message) in [
            ("title", "titel", "titel", "unknown field"),
            (
                "\"lines\", about",
                "\"Lines\", about",
                "\"Lines\"",
                "cannot be the name",
            ),
            (
                "\"lines\", about",
                "\"phase\", about",
                "\"phase\"",
                "cannot be the name",
            ),
            (
                "\"lines\", about",
                "\"sync\", about",
                "\"sync\", about = \"how",
                "twice",
            ),
            (
                "\"dsync\", values",
                "\"dsnc\", values",
                "\"dsnc\"",
                "did you mean dsync",
            ),
            ("{ none =", "{ non =", "non =", "did you mean"),
            ("default = 10", "default = 0", "0", "whole number"),
            (
                "judge = \"speed\"",
                "judge = \"sped\"",
                "\"sped\"",
                "no figure",
            ),
            ("([0-9]+)", "[0-9]+", "{ name = \"speed\"", "has no group"),
            ("\"higher\"", "\"up\"", "\"up\"", "unknown variant"),
            ("\"/opt/log/*/bin\"", "\"bin\"", "\"bin\"", "no directory"),
        ] {
            let text = VALID.replacen(from, to, 1);
            let error = text.parse::<App>().expect_err(&text);
            let at = &text[error.span.clone()];
            assert!(error.to_string().contains(message), "{to}: {error}");
            assert!(
                text[error.span.start..].starts_with(place),
                "{to}: {at}: {error}"
            );
        }
    }

    #[test]
    fn settings_are_checked_and_completed() {
        let app: App = VALID.parse().unwrap();
        let mut set = parameters(&[(NAME, "log"), ("sync", "none")]);
        app.complete(&mut set).unwrap();
        assert_eq!(set["lines"], "10");
        assert_eq!(app.given_up(&set), ["sync = none: lines"]);
        assert_eq!(app.given_up(&parameters(&[("sync", "dsync")])), [""; 0]);
        for (name, value, message) in [
            ("lins", "3", "did you mean lines"),
            ("lines", "many", "whole number"),
            ("sync", "fsync", "no value of sync"),
        ] {
            let error = app.complete(&mut parameters(&[(name, value)])).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn missing_programs_are_named_with_their_packages() {
        let app: App = VALID.parse().unwrap();
        let missing = ("fsdyno-no-such-program".to_owned(), "nothing".to_owned());
        assert_eq!(app.missing(), Some(missing));
    }

    #[test]
    fn the_size_of_an_application_is_one_of_its_settings_with_a_number() {
        let with =
            |size: &str| VALID.replacen("[[phases]]", &format!("size = \"{size}\"\n[[phases]]"), 1);
        let app: App = with("lines").parse().unwrap();
        assert_eq!(app.size(), Some("lines"));
        for wrong in ["sync", "rows"] {
            let error = with(wrong).parse::<App>().unwrap_err().to_string();
            assert!(error.contains("is no setting with a number"), "{error}");
        }
        let settings = parameters(&[("lines", "40"), ("sync", "none")]);
        let chosen = app.chosen(&settings);
        assert_eq!(chosen, parameters(&[("sync", "none")]));
        for (name, text) in shipped() {
            assert!(text.parse::<App>().unwrap().size().is_some(), "{name}");
        }
    }

    #[test]
    fn directories_of_programs_are_those_of_the_newest_version_first() {
        let place = tempfile::tempdir().unwrap();
        for name in ["v1/bin", "v2/bin", "other"] {
            std::fs::create_dir_all(place.path().join(name)).unwrap();
        }
        let pattern = place.path().join("v*/bin").display().to_string();
        let found = ["v2/bin", "v1/bin"].map(|name| place.path().join(name));
        assert_eq!(matching(&pattern), found);
    }
}
