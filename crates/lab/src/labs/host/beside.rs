//! Programs that run beside a phase, in a thread.

use fsdyno_host::command::{self, CommandError, Finished};
use fsdyno_model::{CancelToken, Step};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// A program, and how it ended.
type Ended = (Vec<String>, Result<Finished, CommandError>);

/// Steps that run one after the other until one of them fails.
#[derive(Debug)]
pub(super) struct Beside {
    thread: JoinHandle<Vec<Ended>>,
    /// Starts them.
    start: Option<Sender<()>>,
}

impl Beside {
    /// They run once they are started.
    pub fn new(steps: Vec<Step>, stop: CancelToken) -> Self {
        let (start, started) = channel();
        let run = move || {
            let mut all = Vec::new();
            // They are never started if the phase fails before.
            if started.recv().is_err() {
                return all;
            }
            for argv in steps.iter().map(Step::argv) {
                let ended = command::run(&argv, &stop);
                let good = ended.as_ref().is_ok_and(|one| one.status == Some(0));
                all.push((argv, ended));
                if !good {
                    break;
                }
            }
            all
        };
        Self {
            thread: thread::spawn(run),
            start: Some(start),
        }
    }

    pub fn start(&mut self) {
        if let Some(start) = self.start.take() {
            // The thread waits for it.
            let _ = start.send(());
        }
    }

    /// Waits for their end.
    pub fn end(self) -> Vec<Ended> {
        drop(self.start);
        // The thread does not panic.
        self.thread.join().unwrap_or_default()
    }
}
