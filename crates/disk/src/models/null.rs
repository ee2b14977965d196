//! A disk without delays, to measure the cost of everything else.

use super::{Command, Model, ModelEvent, Work};
use crate::request::{Causes, Kind};

/// Completes every request at its submission time.
#[derive(Debug, Default)]
pub struct Null {
    done: Vec<(u64, u64)>,
    work: Work,
}

impl Model for Null {
    fn submit(&mut self, now: u64, command: Command) {
        match command.kind {
            Kind::Read => self.work.medium_read += command.bytes(),
            Kind::Write | Kind::WriteZeroes => self.work.medium_written += command.bytes(),
            Kind::Discard | Kind::Flush => {}
        }
        self.done.push((now, command.order));
    }

    fn next_event(&self) -> Option<u64> {
        self.done.first().map(|(at, _)| *at)
    }

    fn advance(&mut self, _now: u64, happened: &mut Vec<ModelEvent>) {
        happened.extend(self.done.drain(..).map(|(at, order)| ModelEvent::Done {
            order,
            at,
            causes: Causes::default(),
        }));
    }

    fn work(&self) -> Work {
        self.work
    }

    fn landing(&self) -> Vec<u64> {
        Vec::new()
    }

    fn power_cycle(&mut self, _now: u64) {
        self.done.clear();
    }

    fn is_immediate(&self) -> bool {
        true
    }
}
