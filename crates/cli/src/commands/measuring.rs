//! The machine-wide lock for commands: a measurement in real time takes the lock or warns.

use crate::exit::{CliError, Code};
use crate::output;
use clap::Args;
use fsdyno_host::guard;
use fsdyno_host::measurement_lock::{Grant, LockError, MeasurementLock};
use fsdyno_model::{CancelToken, DeviceChoice, LabChoice, Nanos, Plan, Warning, WarningKind};
use std::time::Duration;

/// The default wait for the lock. It is longer than most runs, and short enough that an unattended
/// job ends.
const TIMEOUT: Duration = Duration::from_secs(3600);

/// The behaviour of a command during another measurement on this machine.
#[derive(Debug, Clone, Default, Args)]
pub struct LockArgs {
    /// Maximum wait for another measurement; 0s does not wait [default: 1h]
    #[arg(long, value_name = "TIME", conflicts_with = "no_lock")]
    pub lock_timeout: Option<Nanos>,
    /// Measure even during another measurement; reports have a warning
    #[arg(long)]
    pub no_lock: bool,
}

/// A measurement that may proceed.
#[derive(Debug, Default)]
#[must_use = "the lock is held only as long as this lives"]
pub struct Measuring {
    _lock: Option<MeasurementLock>,
    pub warning: Option<Warning>,
}

impl LockArgs {
    /// Whether the measurement that a plan must wait for uses a device of the plan. The device guard
    /// refuses it until that measurement ends.
    pub fn holder_uses(&self, plan: &Plan) -> bool {
        let DeviceChoice::Block { paths } = &plan.device else {
            return false;
        };
        let holder = MeasurementLock::holder().and_then(|holder| holder.pid);
        let waits = !self.no_lock && self.lock_timeout != Some(Nanos(0)) && measures_here(plan);
        waits && holder.is_some_and(|pid| paths.iter().any(|path| guard::is_locked_by(path, pid)))
    }

    /// Takes the lock, unless it was taken early.
    pub fn take_now(
        &self,
        early: Option<Measuring>,
        plan: &Plan,
        stop: &CancelToken,
    ) -> Result<Measuring, CliError> {
        early.map_or_else(|| self.take_for(plan, stop), Ok)
    }

    /// Takes the lock if a plan measures this machine in real time.
    pub fn take_for(&self, plan: &Plan, stop: &CancelToken) -> Result<Measuring, CliError> {
        if !measures_here(plan) {
            return Ok(Measuring::default());
        }
        let measuring = self.take(stop)?;
        if let Some(load) = fsdyno_observe::idle::busy() {
            output::note(format_args!(
                "fsdyno: this machine is busy: {load}. Figures will scatter. End other work, or add \
                 repeats."
            ));
        }
        Ok(measuring)
    }

    /// Takes the lock, or returns a warning if the measurement proceeds without it.
    pub fn take(&self, stop: &CancelToken) -> Result<Measuring, CliError> {
        if self.no_lock {
            return Ok(Measuring::unlocked(
                "the run did not take the lock of measurements (--no-lock)",
            ));
        }
        let timeout = self.lock_timeout;
        let timeout = timeout.map_or(TIMEOUT, |time| Duration::from_nanos(time.0));
        let waits = Nanos::from(timeout).clock();
        let granted = MeasurementLock::take(timeout, stop, &mut |holder| {
            output::note(format_args!(
                "fsdyno: waiting up to {waits} min for {holder}, which measures on this machine; \
                 --no-lock measures at the same time"
            ));
        });
        match granted {
            Ok(Grant::Locked(lock)) => Ok(Measuring {
                _lock: Some(lock),
                warning: None,
            }),
            Ok(Grant::PartOf(_)) => Ok(Measuring::default()),
            Ok(Grant::Overridden(holder)) => {
                let message = format!("root did not wait longer for the measurement of {holder}");
                output::note(format_args!("fsdyno: {message}"));
                Ok(Measuring::unlocked(&message))
            }
            Err(LockError::Stopped) => Err(CliError::interrupted()),
            Err(error @ LockError::Busy { .. }) => Err(CliError::new(
                Code::Busy,
                format!(
                    "cannot measure: {error}. Nothing was changed. Try again later, wait longer \
                     (--lock-timeout 12h), or measure at the same time (--no-lock)"
                ),
            )),
            Err(error @ LockError::Socket(_)) => Err(CliError::failure(format!(
                "{error}. To measure without it: --no-lock"
            ))),
        }
    }
}

/// Whether a plan measures this machine in real time. Virtual time does not depend on other load.
fn measures_here(plan: &Plan) -> bool {
    let mut labs = plan.contenders.iter().map(|contender| &contender.lab);
    !plan.in_virtual_time() && !labs.all(LabChoice::is_remote)
}

impl Measuring {
    fn unlocked(message: &str) -> Self {
        let advice = "other measurements may have dropped its caches and used processor time: \
                      measure again without --no-lock when no other measurement runs";
        Self {
            _lock: None,
            warning: Some(Warning::new(WarningKind::NotLocked, message, advice)),
        }
    }

    /// Prints the warning. For commands without a report.
    pub fn print_warning(&self) {
        if let Some(warning) = &self.warning {
            output::note(format_args!(
                "fsdyno: warning: {}; {}",
                warning.message, warning.advice
            ));
        }
    }
}
