//! A model whose clock can run slower than that of its host: all that it does takes so many times as
//! long, also background work and the rotation of platters.

use super::{Command, Model, ModelEvent, Work};

/// The model, and a moment on both clocks since which its clock has this pace.
pub(crate) struct Paced {
    model: Box<dyn Model>,
    /// How many nanoseconds of the host one of the model is.
    times: u64,
    host: u64,
    own: u64,
    /// When the last command was submitted, on the clock of the host.
    submitted: u64,
}

impl Paced {
    pub fn new(model: Box<dyn Model>) -> Self {
        Self {
            model,
            times: 1,
            host: 0,
            own: 0,
            submitted: 0,
        }
    }

    /// From `now` on, everything takes so many times as long as in the model.
    pub fn slow_down(&mut self, now: u64, times: u64) {
        if times == self.times {
            return;
        }
        (self.own, self.host) = (self.own_time(now), now);
        self.times = times.max(1);
    }

    fn own_time(&self, host: u64) -> u64 {
        match host.checked_sub(self.host) {
            Some(since) => self.own + since / self.times,
            None => self.own.saturating_sub(self.host - host),
        }
    }

    fn host_time(&self, own: u64) -> u64 {
        let since = own.saturating_sub(self.own);
        let host = self.host.saturating_add(since.saturating_mul(self.times));
        // Its clock rounds down.
        host.max(self.submitted)
    }
}

impl Model for Paced {
    fn submit(&mut self, now: u64, command: Command) {
        let command = Command {
            submitted: self.own_time(command.submitted),
            ..command
        };
        self.submitted = now;
        self.model.submit(self.own_time(now), command);
    }

    fn next_event(&self) -> Option<u64> {
        self.model.next_event().map(|at| self.host_time(at))
    }

    fn advance(&mut self, now: u64, happened: &mut Vec<ModelEvent>) {
        let before = happened.len();
        self.model.advance(self.own_time(now), happened);
        for event in &mut happened[before..] {
            if let ModelEvent::Done { at, .. } = event {
                *at = self.host_time(*at);
            }
        }
    }

    /// Its times are those of the model's clock.
    fn work(&self) -> Work {
        self.model.work()
    }

    fn landing(&self) -> Vec<u64> {
        self.model.landing()
    }

    fn power_cycle(&mut self, now: u64) {
        self.model.power_cycle(self.own_time(now));
    }

    fn turn(&mut self, share: u32) {
        self.model.turn(share);
    }

    fn is_immediate(&self) -> bool {
        self.model.is_immediate()
    }
}
