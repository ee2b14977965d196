//! Runs a phase that is a program: prepares it untimed, runs it timed, and parses its figures.

use super::{LoadError, Measured, Request, Timing};
use crate::command::{self, Ended, KEPT, StrayProcesses};
use crate::engines::{Engine, tools};
use crate::programs::{Planned, app};
use crate::tool_run::{Confined, ToolCommand, ToolRun};
use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::PhasePlan;
use fsdyno_model::units::Nanos;
use fsdyno_model::warning::{Warning, WarningKind};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The maximum parsed output, bytes: more than any of the programs prints.
const READABLE: usize = 16 << 20;
/// The maximum time until a service is ready, and until it has ended.
const SERVICE_TIMEOUT: Duration = Duration::from_secs(60);
/// The time between two looks at a service. Until it is ready, the time grows with the wait.
const SERVICE_POLL: Duration = Duration::from_millis(10);
const SERVICE_POLL_SHARE: u32 = 16;

/// The program run of a phase; none if the phase is not a program.
pub(super) fn planned(phase: &PhasePlan, work_dir: &WorkDir) -> Result<Option<Planned>, LoadError> {
    let tree = work_dir.newest().map(std::path::PathBuf::as_path);
    Planned::of(phase, &work_dir.root, tree)
}

/// Runs the preparing commands of a phase.
pub(super) fn prepare(
    planned: Planned,
    root: &Path,
    confined: Option<&Confined>,
    stop: &CancelToken,
) -> Result<Vec<ToolCommand>, LoadError> {
    if planned.directory != root {
        std::fs::create_dir(&planned.directory)
            .map_err(|source| LoadError::io("mkdir", &planned.directory, source))?;
    }
    let mut done = Vec::new();
    for mut tool in planned.commands.before {
        tool.confined = confined.cloned();
        let strays = StrayProcesses::guarded()?;
        let left = under_mark(tool, KEPT, &strays, stop)?.command;
        strays.end();
        done.push(left);
    }
    Ok(done)
}

/// Runs a program with a mark on all its processes. After a failure none of them is left running.
fn under_mark(
    mut tool: ToolRun,
    keeps: usize,
    strays: &StrayProcesses,
    stop: &CancelToken,
) -> Result<Ended, LoadError> {
    let (name, value) = strays.variable();
    tool.mark = Some((name, value.to_owned()));
    tool.keeps = keeps;
    let ended = command::run(&tool, stop);
    if ended.is_err() {
        strays.end();
    }
    ended
}

/// The service of a phase, which runs while the phase is measured. Ended when it is dropped.
#[derive(Debug)]
pub struct RunningService {
    label: String,
    /// Its program, which ends with the token.
    program: Option<JoinHandle<Result<Ended, LoadError>>>,
    token: CancelToken,
    strays: StrayProcesses,
    stop: Option<ToolRun>,
}

impl RunningService {
    /// Starts the service of a phase, and waits until it is ready; none if the phase has none.
    ///
    /// # Errors
    /// The service ends before it is ready. The error has its last lines.
    pub fn start(
        phase: &PhasePlan,
        work_dir: &WorkDir,
        confined: Option<&Confined>,
        stop: &CancelToken,
    ) -> Result<Option<Self>, LoadError> {
        let planned = planned(phase, work_dir)?;
        let Some(service) = planned.and_then(|planned| planned.commands.service) else {
            return Ok(None);
        };
        let strays = StrayProcesses::guarded()?;
        let (name, value) = strays.variable();
        let prepared = |mut tool: ToolRun| {
            tool.mark = Some((name, value.to_owned()));
            tool.keeps = KEPT;
            tool.confined = confined.cloned();
            tool
        };
        let tool = prepared(service.start);
        let ready = service.ready.map(prepared);
        let stopping = service.stop.map(prepared);
        let token = stop.child();
        let thread = {
            let token = token.clone();
            std::thread::spawn(move || command::run(&tool, &token))
        };
        let mut running = Self {
            label: phase.label.clone(),
            program: Some(thread),
            token,
            strays,
            stop: stopping,
        };
        if let Some(ready) = ready {
            running.wait_until_ready(&ready, stop)?;
        }
        Ok(Some(running))
    }

    fn wait_until_ready(&mut self, ready: &ToolRun, stop: &CancelToken) -> Result<(), LoadError> {
        let began = Instant::now();
        loop {
            stop.check()?;
            let failed = match command::run(ready, stop) {
                Err(error @ LoadError::Tool { .. }) => error,
                done => return done.map(drop),
            };
            self.check()?;
            let waited = began.elapsed();
            if waited > SERVICE_TIMEOUT {
                return Err(LoadError::NotReady {
                    label: self.label.clone(),
                    seconds: SERVICE_TIMEOUT.as_secs(),
                    reason: failed.to_string(),
                });
            }
            std::thread::sleep(SERVICE_POLL.max(waited / SERVICE_POLL_SHARE));
        }
    }

    /// Whether it has not ended. The error has its last lines.
    pub fn check(&mut self) -> Result<(), LoadError> {
        if self.program.as_ref().is_some_and(JoinHandle::is_finished) {
            let ended = self.joined()?;
            return Err(LoadError::Service {
                label: self.label.clone(),
                text: command::last_lines(&[ended.stderr, ended.stdout].concat()),
            });
        }
        Ok(())
    }

    /// The record of its program, which has ended.
    fn joined(&mut self) -> Result<ToolCommand, LoadError> {
        let joined = self.program.take().map(JoinHandle::join);
        match joined {
            Some(Ok(ended)) => Ok(ended?.command),
            _ => Err(LoadError::Worker {
                reason: format!("the service of {} ended without a record", self.label),
                errno: None,
            }),
        }
    }

    /// The processor time of all its processes, in user mode and in the kernel.
    pub fn processor_time(&self) -> (Nanos, Nanos) {
        self.strays.processor_time()
    }

    /// Stops it. Returns its commands, and a warning if it did not end.
    pub fn end(
        mut self,
        stop: &CancelToken,
    ) -> Result<(Vec<ToolCommand>, Vec<Warning>), LoadError> {
        self.check()?;
        let mut commands = Vec::new();
        let stopping = self.stop.take();
        if let Some(stopping) = &stopping {
            commands.push(command::run(stopping, stop)?.command);
            let late = Instant::now() + SERVICE_TIMEOUT;
            let runs = |program: &JoinHandle<_>| !program.is_finished();
            while self.program.as_ref().is_some_and(runs) && Instant::now() < late {
                stop.check()?;
                std::thread::sleep(SERVICE_POLL);
            }
        }
        let ended = self.program.as_ref().is_none_or(JoinHandle::is_finished);
        self.token.expire();
        if ended {
            commands.insert(0, self.joined()?);
        }
        let left = self.strays.end() + usize::from(!ended);
        let left = if stopping.is_some() { left } else { 0 };
        let warnings = (left > 0).then(|| left_running(&self.label, left));
        Ok((commands, warnings.into_iter().collect()))
    }
}

impl Drop for RunningService {
    fn drop(&mut self) {
        self.token.expire();
        if let Some(program) = self.program.take() {
            // It was ended, which is no failure.
            let _ = program.join();
        }
        self.strays.end();
    }
}

/// Runs the timed command of a phase.
pub(super) fn run<E: Engine>(
    mut planned: Planned,
    request: &mut Request<'_>,
) -> Result<Measured, LoadError> {
    let (phase, stop) = (request.phase, request.stop);
    let mut tool = std::mem::take(&mut planned.commands.timed);
    tool.confined = request.confined.cloned();
    let strays = StrayProcesses::guarded()?;
    let timed = Timing::of(&planned.program.kind, request)
        .time::<E, _>(|| under_mark(tool, READABLE, &strays, stop))?;
    let measured = timed.measured::<E>();
    let ended = timed.done;
    let left = ended.left_running + strays.end();
    let report = planned.parse(&String::from_utf8_lossy(&ended.stdout))?;
    let mut warnings = report.warnings;
    warnings.extend((left > 0).then(|| left_running(&phase.label, left)));
    warnings.extend(app::given_up(phase).into_iter().map(|what| {
        let advice = "compare it only with applications of the same settings";
        Warning::new(WarningKind::GivenUp, what, advice)
    }));
    Ok(Measured {
        user_ns: ended.user,
        system_ns: ended.system,
        method: planned.method,
        engine: tools::NAME,
        figures: [report.figures, timed.counts].concat(),
        commands: vec![ended.command],
        warnings,
        ..measured
    })
}

fn left_running(label: &str, left: usize) -> Warning {
    let processes = if left == 1 { "process" } else { "processes" };
    Warning::new(
        WarningKind::BackgroundLoad,
        format!("{label} left {left} {processes} running when it returned; they were ended"),
        "what they had still to do is in no figure: let the command wait for what it starts",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::apps;
    use fsdyno_model::CacheState;
    use std::collections::BTreeMap;

    /// A phase whose service is this table.
    fn phase(service: &str) -> PhasePlan {
        let text = format!(
            "title = \"t\"\nprograms = {{ sh = \"dash\" }}\n[service]\n{service}\n[[phases]]\n\
             name = \"use\"\nabout = \"a\"\nload = \"true\"\n"
        );
        let parameters = [(apps::NAME, "t"), (apps::PHASE, "use"), (apps::TEXT, &text)];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        PhasePlan {
            label: "use".to_owned(),
            kind: app::APP.kind.name.to_owned(),
            cache: CacheState::default(),
            pattern: None,
            parameters: BTreeMap::from(parameters),
            judge: None,
        }
    }

    fn start(root: &Path, service: &str) -> Result<RunningService, LoadError> {
        let stop = CancelToken::new();
        let started = RunningService::start(&phase(service), &WorkDir::new(root), None, &stop);
        started.map(Option::unwrap)
    }

    #[test]
    fn a_service_is_awaited_and_stopped() {
        let root = tempfile::tempdir().unwrap();
        let service = "start = \"\"\"echo begun; echo >ready; while [ ! -e end ]; do sleep 0.01; \
                       done\"\"\"\nready = \"test -e ready\"\nstop = \"touch end\"";
        let service = start(root.path(), service).unwrap();
        assert!(root.path().join("ready").exists());
        let (commands, warnings) = service.end(&CancelToken::new()).unwrap();
        assert_eq!(commands[0].stdout, "begun\n");
        assert_eq!((commands.len(), warnings.len()), (2, 0));
    }

    #[test]
    fn a_service_that_cannot_start_is_an_error_with_its_last_lines() {
        let root = tempfile::tempdir().unwrap();
        for (script, reason) in [
            ("echo no port >&2; exit 3", "status: 3: no port"),
            ("echo no port", "ended: no port"),
        ] {
            let service = format!("start = '{script}'\nready = \"false\"");
            let error = start(root.path(), &service).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn the_time_of_a_service_is_also_that_of_children_without_its_mark() {
        let root = tempfile::tempdir().unwrap();
        let service = "start = \"\"\"env -i sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; \
                       echo >done; sleep 1000'; true\"\"\"\nready = \"test -s done\"";
        let service = start(root.path(), service).unwrap();
        let (user, _) = service.processor_time();
        assert!(user.0 > 20_000_000, "{user}");
    }

    #[test]
    fn a_service_without_a_stop_is_killed() {
        let root = tempfile::tempdir().unwrap();
        let service = "start = \"echo $$ >pid; exec sleep 1000\"\nready = \"test -s pid\"";
        let service = start(root.path(), service).unwrap();
        let pid = std::fs::read_to_string(root.path().join("pid")).unwrap();
        let (_, warnings) = service.end(&CancelToken::new()).unwrap();
        assert_eq!(warnings, []);
        assert!(!Path::new("/proc").join(pid.trim()).exists());
    }
}
