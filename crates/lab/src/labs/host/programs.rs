//! File systems that other programs mount: pools, their daemon, and the step that makes data
//! durable which `syncfs` does not reach.

use super::executor::HostExecutor;
use super::machine::Held;
use crate::procedure::CellEnd;
use fsdyno_host::daemons::Running;
use fsdyno_host::pools::HeldPool;
use fsdyno_model::{Daemon, Nanos, Pool, Step};

impl HostExecutor<'_, '_> {
    /// Starts a daemon unless it responds already.
    pub(super) fn start_daemon(&mut self, daemon: &Daemon) -> Result<(), CellEnd> {
        let step = Step::StartDaemon {
            daemon: daemon.clone(),
        };
        let token = self.stop;
        let resource = self.perform(&step, |journal| Running::ensure(daemon, journal, token))?;
        let release = Step::StopDaemon {
            daemon: daemon.clone(),
        };
        self.daemon = Some(Held { resource, release });
        Ok(())
    }

    /// Stops the daemon if no other run uses it.
    pub(super) fn end_daemon(&mut self) -> Result<(), CellEnd> {
        let Some(daemon) = self.daemon.take() else {
            return Ok(());
        };
        self.release_resource(daemon, Running::end).map(drop)
    }

    /// Performs a step that runs a program.
    pub(super) fn carry_out(&mut self, step: &Step) -> Result<(), CellEnd> {
        match step {
            Step::TakePool { argv, pool } => self.take_pool(argv, pool),
            Step::ReleasePool { .. } => self.release_pool(),
            other => self.program(&other.argv(), &[0]).map(drop),
        }
    }

    fn take_pool(&mut self, argv: &[String], pool: &Pool) -> Result<(), CellEnd> {
        let resource = self.declare(|journal| HeldPool::declare(pool, journal))?;
        let release = Step::ReleasePool { pool: pool.clone() };
        self.pool = Some(Held { resource, release });
        self.program(argv, &[0]).map(drop)
    }

    pub(super) fn release_pool(&mut self) -> Result<(), CellEnd> {
        let Some(Held { resource, release }) = self.pool.take() else {
            return Ok(());
        };
        let Some(pool) = resource else {
            self.prints(|| release.shell());
            return Ok(());
        };
        let argv = release.argv();
        let finished = pool
            .release()
            .map_err(|e| self.notes.halt(e.to_string(), None))?;
        if let Some(finished) = finished {
            self.notes.program(&argv, &finished);
        }
        Ok(())
    }

    /// Performs the step that must follow a `syncfs`; returns its time.
    pub(super) fn make_durable(&mut self) -> Result<Nanos, CellEnd> {
        let Some(step) = self.durable.clone() else {
            return Ok(Nanos::default());
        };
        let finished = self.program(&step.argv(), &[0])?;
        Ok(finished.elapsed)
    }
}
