//! Programs that run beside a phase, in a thread.

use fsdyno_host::command::{self, CommandError, Finished};
use fsdyno_model::{CancelToken, Step};
use std::thread::{self, JoinHandle};

/// A program, and how it ended.
type Ended = (Vec<String>, Result<Finished, CommandError>);

/// Steps that run one after the other until one of them fails.
#[derive(Debug)]
pub(super) struct Beside(JoinHandle<Vec<Ended>>);

impl Beside {
    pub fn begin(steps: Vec<Step>, stop: CancelToken) -> Self {
        Self(thread::spawn(move || {
            let mut all = Vec::new();
            for argv in steps.iter().map(Step::argv) {
                let ended = command::run(&argv, &stop);
                let good = ended.as_ref().is_ok_and(|one| one.status == Some(0));
                all.push((argv, ended));
                if !good {
                    break;
                }
            }
            all
        }))
    }

    /// Waits for their end.
    pub fn end(self) -> Vec<Ended> {
        // The thread does not panic.
        self.0.join().unwrap_or_default()
    }
}
