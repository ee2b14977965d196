//! `app`: an application that a file describes. Its commands are those of `exec`, with the settings
//! of the application as variables.

use super::apps::{self, App, PhaseTable, ServiceTable};
use super::{Commands, FigureSpec, Program, ProgramReport, Service, Task, shell};
use crate::error::LoadError;
use crate::phase_kind::PhaseKind;
use crate::tool_run::{ToolRun, User};
use fsdyno_files::programs;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::requirement::{Need, Requirement};
use fsdyno_model::{Form, Given, Parameter, suggestion};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::Path;

/// The kind of phase.
const KIND: &str = "app";

/// An application.
pub static APP: Program = Program {
    kind: PhaseKind {
        passes_on: true,
        ..PhaseKind::standalone(
            KIND,
            "an application (fsdyno list apps); further parameters are its settings",
            &[
                Parameter {
                    given: Given::Required,
                    ..Parameter::new(apps::NAME, "its name, or its file", Form::Text)
                },
                Parameter::new(
                    apps::PHASE,
                    "the phase of its file [default: the first]",
                    Form::Text,
                ),
                Parameter::new(apps::TEXT, "the text of its file", Form::Text),
            ],
        )
    },
    executable: None,
    version: &[],
    complete: None,
    commands,
    read: |_| Ok(ProgramReport::default()),
    describe: |task| {
        let name = task.value(apps::NAME);
        format!("{name}, its phase {}", task.value(apps::PHASE))
    },
    data: |_| None,
    judged: |_| None,
    figures: |_| Ok(Vec::new()),
};

/// Whether a phase of that kind is one of an application.
pub fn is_one(kind: &str) -> bool {
    kind == KIND
}

/// The application of a phase, if it is one.
fn of(phase: &PhasePlan) -> Option<App> {
    let text = phase.parameters.get(apps::TEXT);
    text.filter(|_| is_one(&phase.kind))?.parse().ok()
}

/// The requirement of the programs that a phase of an application lacks here.
pub(super) fn requirement(phase: &PhasePlan) -> Option<Requirement> {
    let (name, package) = of(phase)?.missing()?;
    let of = format!("the application {}", phase.parameters[apps::NAME]);
    Some(Requirement::new(Need::Program { name, package }, of))
}

/// The paths of the installed programs of a phase of an application.
pub fn installed(phase: &PhasePlan) -> Vec<String> {
    of(phase).map_or_else(Vec::new, |app| app.installed())
}

/// The setting that is the size of the data of a phase of an application, and its value.
pub fn size(phase: &PhasePlan) -> Option<(String, u64)> {
    let app = of(phase)?;
    let name = app.size()?;
    let value = phase.parameters.get(name)?.parse().ok()?;
    Some((name.to_owned(), value))
}

/// Makes the data of a phase of an application so many times larger. Phases without a size stay as they
/// are.
pub fn enlarge(phase: &mut PhasePlan, times: u64) {
    if let Some((name, value)) = size(phase) {
        let larger = value.saturating_mul(times);
        phase.parameters.insert(name, larger.to_string());
    }
}

/// The settings of a phase of an application that are not the defaults, without the size of its data.
pub fn chosen(phase: &PhasePlan) -> BTreeMap<String, String> {
    of(phase).map_or_else(BTreeMap::new, |app| app.chosen(&phase.parameters))
}

/// The figures of a phase of an application.
pub(super) fn figures(phase: &PhasePlan) -> Result<Vec<FigureSpec>, String> {
    let app = of(phase);
    let name = phase.parameters.get(apps::PHASE);
    let found = app
        .as_ref()
        .zip(name)
        .and_then(|(app, name)| app.phase(name));
    found.map_or(Ok(Vec::new()), |found| {
        FigureSpec::parse_all(&found.figures())
    })
}

/// What the settings of a phase of an application give up.
pub(crate) fn given_up(phase: &PhasePlan) -> Vec<String> {
    of(phase).map_or_else(Vec::new, |app| app.given_up(&phase.parameters))
}

/// The user that runs the application of a phase, if it names one: that of the password database
/// (passwd(5)).
pub(super) fn user(phase: &PhasePlan) -> Result<Option<User>, LoadError> {
    let app = of(phase);
    app.as_ref().map_or(Ok(None), user_of)
}

fn user_of(app: &App) -> Result<Option<User>, LoadError> {
    const DATABASE: &str = "/etc/passwd";
    let Some(name) = &app.user else {
        return Ok(None);
    };
    let name = name.get_ref();
    let text = std::fs::read_to_string(DATABASE);
    let text = text.map_err(|source| LoadError::io("read", DATABASE, source))?;
    let mut entries = text.lines().map(|line| line.split(':'));
    let entry = entries.find(|entry| entry.clone().next() == Some(name));
    let user = entry.and_then(|mut entry| {
        let uid = entry.nth(2)?.parse().ok()?;
        let gid = entry.next()?.parse().ok()?;
        Some(User { uid, gid })
    });
    user.map(Some).ok_or_else(|| LoadError::Unexpected {
        path: DATABASE.into(),
        what: format!("it has no user `{name}`, who is to run the application"),
    })
}

fn commands(task: &Task<'_>) -> Result<Commands, LoadError> {
    let wrong = |reason: String| LoadError::Parameters { kind: KIND, reason };
    let text = task.get(apps::TEXT).unwrap_or_default();
    let app: App = text
        .parse()
        .map_err(|error: crate::work::WorkError| wrong(error.to_string()))?;
    let name = task.value(apps::PHASE);
    let phase = app.phase(name);
    let PhaseTable { prepare, load, .. } =
        phase.ok_or_else(|| wrong(format!("it has no phase `{name}`")))?;
    let home = task.directory.as_os_str();
    let environment = environment(&app, task.parameters, home);
    let shell = |what: &str, command: &str| {
        let mut run = ToolRun::new("", ["sh", "-euc"]).arg(command);
        run.environment.clone_from(&environment);
        run.name = Some(format!("{what} of {}", task.value(apps::NAME)));
        run
    };
    let service = app.service.as_ref().map(|service| Service {
        start: shell("the service", &service.start),
        ready: service.ready.as_deref().map(|text| shell("`ready`", text)),
        stop: service.stop.as_deref().map(|text| shell("`stop`", text)),
    });
    Ok(Commands {
        before: prepare
            .iter()
            .map(|text| shell("`prepare`", text))
            .collect(),
        service,
        timed: shell("`load`", load),
    })
}

/// Its variables: where its programs and its home are, and its settings.
fn environment(
    app: &App,
    parameters: &BTreeMap<String, String>,
    home: &OsStr,
) -> Vec<(String, OsString)> {
    let mut path = OsString::new();
    for directory in app.directories() {
        path.push(directory);
        path.push(":");
    }
    path.push(programs::path_variable());
    let own = [
        ("PATH".to_owned(), path),
        ("HOME".to_owned(), home.to_owned()),
    ];
    let settings = app.values(parameters);
    let settings = settings.map(|(name, value)| (name.to_owned(), OsString::from(value)));
    own.into_iter().chain(settings).collect()
}

/// The shell commands of a crash test of an application. They run as root of the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrashCommands {
    /// Its result is durable before the work begins.
    pub prepare: Option<String>,
    /// Each line that it prints acknowledges the work before it.
    pub work: String,
    /// Fails if something acknowledged is lost.
    pub check: String,
}

/// The commands of a crash test of an application with these settings; none if its file has no crash
/// test. The error says what is wrong with the settings, or that its user is missing.
pub fn crash_commands(
    app: &App,
    mut settings: BTreeMap<String, String>,
) -> Result<Option<CrashCommands>, String> {
    app.complete_for_crash(&mut settings)?;
    let Some(crash) = &app.crash else {
        return Ok(None);
    };
    let user = user_of(app).map_err(|error| error.to_string())?;
    let environment = environment(app, &settings, OsStr::new(PLACE));
    let command = |text: &str| in_namespace(text, &environment, user);
    let service = app.service.as_ref();
    Ok(Some(CrashCommands {
        prepare: crash.prepare.as_deref().map(command),
        work: command(&with_service(service, &crash.work, true, TEMPORARY)),
        check: command(&with_service(service, &crash.check, false, TEMPORARY)),
    }))
}

/// Where the commands of a crash test find the file system: any user can pass the path.
const PLACE: &str = "/mnt";

/// Their directory of temporary files, which is their own.
const TEMPORARY: &str = "/tmp";

/// The shell commands that show a phase of an application to a recorder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordCommands {
    /// The phase.
    pub phase: String,
    /// The phases before it, and its `prepare`.
    pub before: String,
    /// Its load, with its service.
    pub timed: String,
    /// The owner of the directories, uid and gid; none if it runs as the user of fsdyno.
    pub owner: Option<(u32, u32)>,
}

/// The commands of a phase of an application, the first if none is named, with these settings: in a
/// directory, with another one for temporary files. The error says what is wrong.
pub fn record_commands(
    app: &App,
    mut settings: BTreeMap<String, String>,
    phase: Option<&str>,
    [directory, temporary]: [&Path; 2],
) -> Result<RecordCommands, String> {
    app.complete(&mut settings)?;
    let mut names = app.phases().map(|(name, _)| name);
    let last = match phase {
        Some(name) => names
            .clone()
            .find(|one| *one == name)
            .ok_or_else(|| format!("no phase `{name}`: {}", suggestion(name, names.clone())))?,
        None => names.next().unwrap_or_default(),
    };
    let user = user_of(app).map_err(|error| error.to_string())?;
    let user = user.filter(|_| rustix::process::geteuid().is_root());
    let mut environment = environment(app, &settings, directory.as_os_str());
    environment.push(("TMPDIR".to_owned(), temporary.as_os_str().to_owned()));
    let place = temporary.to_string_lossy();
    let command = |text: &str| {
        let home = shell::quoted(directory.as_os_str());
        let text = format!("cd {}\n{text}", home.to_string_lossy());
        let text = shell::quoted(OsStr::new(&text));
        let (variables, user) = (exported(&environment), as_user(user));
        format!("{variables}exec {user}sh -euc {}", text.to_string_lossy())
    };
    let mut before = String::new();
    for (name, _) in app.phases() {
        let Some(PhaseTable { prepare, load, .. }) = app.phase(name) else {
            continue;
        };
        if let Some(text) = prepare {
            let _ = writeln!(before, "({})", command(text));
        }
        let load = command(&with_service(app.service.as_ref(), load, true, &place));
        if name == last {
            return Ok(RecordCommands {
                phase: last.to_owned(),
                before,
                timed: load,
                owner: user.map(|User { uid, gid }| (uid, gid)),
            });
        }
        let _ = writeln!(before, "({load})\nrm -f {place}/service.ended");
    }
    Err("it has no phases".to_owned())
}

/// The lines that export these variables.
fn exported(environment: &[(String, OsString)]) -> String {
    let lines = environment.iter().map(|(name, value)| {
        let value = shell::quoted(value);
        format!("export {name}={}\n", value.to_string_lossy())
    });
    lines.collect()
}

/// The command that makes the next one run as this user; empty if there is none.
fn as_user(user: Option<User>) -> String {
    user.map_or_else(String::new, |User { uid, gid }| {
        format!("setpriv --reuid={uid} --regid={gid} --clear-groups ")
    })
}

/// A command with a private `/tmp`, `/run` and `/dev/shm`, with these variables, of this user.
fn in_namespace(text: &str, environment: &[(String, OsString)], user: Option<User>) -> String {
    let mut outer = format!(
        "mount --bind . {PLACE}\n\
         cd {PLACE}\n\
         mkdir -p /dev/shm\n\
         for place in /tmp /run /dev/shm; do mount -t tmpfs -o mode=1777 tmpfs $place; done\n"
    );
    outer += &exported(environment);
    if let Some(User { uid, gid }) = user {
        let _ = writeln!(outer, "chown {uid}:{gid} .");
    }
    let _ = write!(outer, "exec {}sh -euc \"$1\"", as_user(user));
    let [outer, text] = [&outer, text].map(|text| shell::quoted(OsStr::new(text)));
    format!(
        "exec unshare --mount sh -euc {} sh {}",
        outer.to_string_lossy(),
        text.to_string_lossy()
    )
}

/// A command that runs when the service is ready, and with `stops` before it is stopped. The service logs
/// to a directory of temporary files.
fn with_service(service: Option<&ServiceTable>, text: &str, stops: bool, place: &str) -> String {
    let Some(ServiceTable { start, ready, stop }) = service else {
        return text.to_owned();
    };
    let ready = ready.as_deref().unwrap_or("true");
    let mut script = format!(
        "{{ (\n{start}\n) || :; : >{place}/service.ended; }} </dev/null >{place}/service.log 2>&1 &\n\
         tries=0\n\
         until (\n{ready}\n) </dev/null >/dev/null 2>&1; do\n\
         tries=$((tries + 1))\n\
         if [ -e {place}/service.ended ] || [ $tries -gt 600 ]; then\n\
         echo \"the service does not start: $(tail -n 3 {place}/service.log | tr '\\n' ' ')\" >&2\n\
         exit 1\n\
         fi\n\
         sleep 0.1\n\
         done\n\
         {text}"
    );
    if let Some(stop) = stop.as_deref().filter(|_| stops) {
        let _ = write!(
            script,
            "\n(\n{stop}\n) </dev/null >/dev/null 2>&1\n\
             for try in $(seq 600); do\n\
             [ ! -e {place}/service.ended ] || exit 0\n\
             sleep 0.1\n\
             done\n\
             echo 'the service does not stop' >&2\n\
             exit 1"
        );
    }
    script
}
