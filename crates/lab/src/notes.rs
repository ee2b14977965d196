//! The record of a cell while it runs.

use crate::procedure::CellEnd;
use fsdyno_host::command::{CommandError, Finished};
use fsdyno_load::measure::ToolCommand;
use fsdyno_model::{
    Bytes, Cell, CellRecord, CommandRecord, Effective, Event, Failure, Nanos, Outcome, Sample,
    Stage, Step, Warning,
};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A record in progress, and the receiver of its events.
pub(crate) struct Notes<'a> {
    cell: Cell,
    emit: &'a mut dyn FnMut(Event),
    began: Instant,
    started_unix_ns: u64,
    stage: Stage,
    stage_began: Instant,
    /// The stages that have ended, with their times.
    stages: Vec<(Stage, Nanos)>,
    samples: Vec<Sample>,
    commands: Vec<CommandRecord>,
    effective: Vec<Effective>,
    warnings: Vec<Warning>,
}

impl<'a> Notes<'a> {
    pub(crate) fn new(cell: Cell, emit: &'a mut dyn FnMut(Event)) -> Self {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Self {
            cell,
            emit,
            began: Instant::now(),
            started_unix_ns: Nanos::from(now).0,
            stage: Stage::Device,
            stage_began: Instant::now(),
            stages: Vec::new(),
            samples: Vec::new(),
            commands: Vec::new(),
            effective: Vec::new(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn enter(&mut self, stage: Stage) {
        (self.emit)(Event::StageEntered {
            cell: self.cell,
            stage: stage.clone(),
        });
        self.change_stage(stage);
    }

    /// Excludes a wait for other cells from the times of the cell and of its stage.
    pub(crate) fn exclude(&mut self, waited: Duration) {
        self.began += waited;
        self.stage_began += waited;
    }

    /// Ends the current stage. A stage that was entered again, once for each phase, has one time.
    fn change_stage(&mut self, next: Stage) {
        let time = elapsed(self.stage_began);
        let ended = std::mem::replace(&mut self.stage, next);
        match self.stages.iter_mut().find(|(stage, _)| *stage == ended) {
            Some((_, sum)) => sum.0 += time.0,
            None => self.stages.push((ended, time)),
        }
        self.stage_began = Instant::now();
    }

    /// Records the times of all stages up to now.
    pub(crate) fn record_stages(&mut self) {
        self.change_stage(self.stage.clone());
        self.effective.push(Effective::stages(&self.stages));
    }

    /// Reports the progress of the initial state; it is not recorded.
    pub(crate) fn state_progress(&mut self, done: Bytes, of: Bytes) {
        (self.emit)(Event::StateProgress {
            cell: self.cell,
            done,
            of,
        });
    }

    pub(crate) fn sample(&mut self, sample: Sample) {
        (self.emit)(Event::PhaseEnded {
            cell: self.cell,
            sample: Box::new(sample.clone()),
        });
        self.samples.push(sample);
    }

    /// Forwards an event of a cell that runs in another environment, and records it.
    pub(crate) fn receive(&mut self, mut event: Event) {
        if let Event::StageEntered { cell, .. }
        | Event::StateProgress { cell, .. }
        | Event::PhaseEnded { cell, .. } = &mut event
        {
            // The number of a cell in a guest may be another one.
            *cell = self.cell;
        }
        match &event {
            Event::StageEntered { stage, .. } => self.change_stage(stage.clone()),
            Event::PhaseEnded { sample, .. } => self.samples.push(Sample::clone(sample)),
            _ => {}
        }
        (self.emit)(event);
    }

    /// The samples measured so far.
    pub(crate) fn samples(&mut self) -> &mut [Sample] {
        &mut self.samples
    }

    /// Appends the record of the guest. Its samples are those that were received as events.
    pub(crate) fn append_record(&mut self, record: CellRecord) -> Outcome {
        self.samples = record.samples;
        self.commands.extend(record.commands);
        // This side times the stages of the guest, with its start.
        let effective = record.effective.into_iter();
        self.effective
            .extend(effective.filter(|one| one.source != Effective::STAGES));
        for warning in record.warnings {
            self.warn(warning);
        }
        record.outcome
    }

    /// Records a warning once, even if it is raised repeatedly.
    pub(crate) fn warn(&mut self, warning: Warning) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    pub(crate) fn effective(&mut self, source: &str, text: String) {
        self.effective.push(Effective {
            source: source.to_owned(),
            text,
        });
    }

    /// Records an effective setting once, even if it is reported repeatedly.
    pub(crate) fn effective_once(&mut self, source: &str, text: &str) {
        let known = self.effective.iter().any(|one| one.source == source);
        if !known {
            self.effective(source, text.to_owned());
        }
    }

    /// A command of the current stage without a result.
    fn command(&self, argv: &[String]) -> CommandRecord {
        CommandRecord {
            stage: self.stage.clone(),
            argv: argv.to_vec(),
            by_system_call: false,
            status: None,
            took_ns: Nanos(0),
            stdout: String::new(),
            stderr: String::new(),
        }
    }

    /// Records a program that ran, as part of the current stage.
    pub(crate) fn program(&mut self, argv: &[String], finished: &Finished) {
        self.commands.push(CommandRecord {
            status: finished.status,
            took_ns: finished.elapsed,
            stdout: finished.stdout.clone(),
            stderr: finished.stderr.clone(),
            ..self.command(argv)
        });
    }

    /// Records a guest that was started.
    pub(crate) fn guest(&mut self, argv: &[String]) {
        self.commands.push(self.command(argv));
    }

    /// Records a tool that a phase ran.
    pub(crate) fn tool(&mut self, tool: &ToolCommand) {
        self.commands.push(CommandRecord {
            status: tool.status,
            took_ns: tool.elapsed,
            stdout: tool.stdout.clone(),
            stderr: tool.stderr.clone(),
            ..self.command(&tool.argv)
        });
    }

    /// Performs a step by system call and records it.
    pub(crate) fn by_call<T, E: std::fmt::Display>(
        &mut self,
        step: &Step,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let start = Instant::now();
        let result = act();
        let error = result.as_ref().err();
        self.commands.push(CommandRecord {
            by_system_call: true,
            status: Some(i32::from(error.is_some())),
            took_ns: elapsed(start),
            stderr: error.map(ToString::to_string).unwrap_or_default(),
            ..self.command(&step.argv())
        });
        result
    }

    /// Performs a step by system call and records it; an error fails the stage.
    pub(crate) fn perform<T, E: std::fmt::Display>(
        &mut self,
        step: &Step,
        act: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, CellEnd> {
        self.by_call(step, act)
            .map_err(|error| self.halt(error.to_string(), None))
    }

    /// A failure of the current stage.
    pub(crate) fn halt(&self, message: impl Into<String>, errno: Option<i32>) -> CellEnd {
        CellEnd::Failed(self.failure(message, errno))
    }

    pub(crate) fn failure(&self, message: impl Into<String>, errno: Option<i32>) -> Failure {
        Failure {
            stage: self.stage.clone(),
            message: message.into(),
            errno: errno.map(|raw| fsdyno_files::errno::name_of(raw).to_owned()),
        }
    }

    /// The failure of a program that could not be run.
    pub(crate) fn not_run(&self, error: &CommandError) -> CellEnd {
        match error {
            CommandError::Stopped { .. } => CellEnd::Stopped,
            other => self.halt(other.to_string(), None),
        }
    }

    pub(crate) fn into_record(self, outcome: Outcome) -> CellRecord {
        CellRecord {
            cell: self.cell,
            outcome,
            started_unix_ns: self.started_unix_ns,
            took_ns: elapsed(self.began),
            samples: self.samples,
            commands: self.commands,
            effective: self.effective,
            warnings: self.warnings,
        }
    }
}

/// The time since that moment.
pub(crate) fn elapsed(since: Instant) -> Nanos {
    Nanos::from(since.elapsed())
}
