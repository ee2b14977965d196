//! The check of an application in states that no power cut touched: before the application began, at
//! each line that it prints, and at its end. If it fails there, its failure after a power cut has no
//! meaning.

use super::{Application, ExploreError, Explorer};
use fsdyno_crash::{Data, TraceEvent};
use fsdyno_lab::GuestLabError;
use fsdyno_lab::explorer::{ApplicationCheck, Contents, RecoveryOptions};

/// The maximum number of lines of an application at which the check runs. Of more lines, a regular
/// selection with the first is checked.
const MAX_LINES: usize = 256;

impl Explorer<'_> {
    /// Runs the check where it must succeed. The error is [`ExploreError::Untouched`] if it fails
    /// there, or if the application fails.
    pub fn check_untouched(&mut self, application: &Application) -> Result<(), ExploreError> {
        let base = self.prepared.base.clone();
        let commands = application.commands();
        let performed = self.guest.execute(&base, commands, true).map_err(|error| {
            let GuestLabError::Died { what } = error else {
                return error.into();
            };
            let what = what.strip_prefix("refused: ").unwrap_or(&what);
            ExploreError::Untouched(format!(
                "{} fails on {} without a power cut: {what}",
                application.name(),
                self.subject.contender.label
            ))
        })?;
        let begin = "before the application began";
        self.succeeds(
            application,
            Contents::of(performed.base.clone()),
            &[],
            begin,
        )?;
        let lines = &performed.lines;
        let step = lines.len().div_ceil(MAX_LINES).max(1);
        let mut contents = Contents::of(performed.base.clone());
        for event in &performed.trace.events {
            match event {
                TraceEvent::Write { sector, data, .. } => put(&mut contents, *sector, data),
                TraceEvent::Returned { operation }
                    if (*operation as usize).is_multiple_of(step) =>
                {
                    let printed = &lines[..lines.len().min(*operation as usize + 1)];
                    let state = Contents::of(contents.snapshot());
                    self.succeeds(application, state, printed, &after_lines(printed))?;
                }
                _ => {}
            }
        }
        self.succeeds(application, contents, lines, "after the application ended")
    }

    /// Runs the check in a state. What the file system does wrong there, the search finds.
    fn succeeds(
        &mut self,
        application: &Application,
        state: Contents,
        lines: &[String],
        moment: &str,
    ) -> Result<(), ExploreError> {
        let check = ApplicationCheck {
            command: application.check.clone(),
            acknowledged: lines.to_vec(),
        };
        let options = RecoveryOptions {
            check: Some(check),
            ..RecoveryOptions::default()
        };
        let recovered = self.guest.recover(state, options)?;
        let failed = recovered.end.ok().and_then(|report| report.application);
        let Some(text) = failed else { return Ok(()) };
        Err(ExploreError::Untouched(format!(
            "the check of {} fails on {} in a state that no power cut touched, {moment}: {text}. A \
             check must succeed there, so that a failure means a loss",
            application.name(),
            self.subject.contender.label
        )))
    }
}

fn put(contents: &mut Contents, sector: u64, data: &Data) {
    match data {
        Data::Bytes(bytes) => contents.put(sector, bytes),
        Data::Zeros { sectors } | Data::Discarded { sectors } => {
            for sector in sector..sector + sectors {
                contents.put(sector, &[0; 512]);
            }
        }
    }
}

/// The number of acknowledged lines and the last of them, as the end of a sentence.
pub(super) fn after_lines(lines: &[String]) -> String {
    match lines {
        [] => "before the first acknowledged line".to_owned(),
        [only] => format!("after 1 acknowledged line, `{only}`"),
        [.., last] => format!(
            "after {} acknowledged lines, the last `{last}`",
            lines.len()
        ),
    }
}
