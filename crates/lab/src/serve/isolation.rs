//! A guest in virtual time: its task is in a file, and it receives nothing while it runs. Any input
//! from the host would arrive at a different moment each time, and so would the result of a thread
//! that polls the clock.

use super::{MessageWriter, ServeError, crash, run};
use crate::messages::{GuestMessage, Task};
use fsdyno_guests::inside;
use fsdyno_guests::protocol::FrameWriter;
use rustix::termios::tcdrain;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Performs the task of a file, sends messages about it, and ends the guest.
pub fn run_in_guest(task: &Path) -> Result<(), ServeError> {
    if !inside::is_first() {
        return Err(ServeError::NoGuest);
    }
    // Before the kernel's /proc hides that of the host, through which the file may be reached.
    let task = fs::read(task).map_err(inside::GuestInitError::at(format!(
        "read {}",
        task.display()
    )))?;
    let task: Task = serde_json::from_slice(&task).map_err(io::Error::from)?;
    let place = inside::set_up_guest()?;
    inside::set_dirty_limits()?;
    let line = inside::channel()?;
    let rest = line.try_clone()?;
    let writer = MessageWriter(Arc::new(Mutex::new(FrameWriter(line))));
    writer.write(&super::ready())?;
    let word = match task {
        Task::Run { plan, cell } => match run(*plan, cell, &place, &writer, None) {
            Ok(record) => GuestMessage::Ended {
                record: Box::new(record),
            },
            Err(reason) => GuestMessage::Refused { reason },
        },
        Task::Write { contender, seed } => {
            let operations = |operations| writer.write(&GuestMessage::Acknowledged { operations });
            GuestMessage::Refused {
                reason: crash::write(&contender, seed, (&place, true), &operations),
            }
        }
        Task::Recover {
            contender,
            seed,
            acknowledged,
        } => crash::recovered(&contender, seed, acknowledged, (&place, true)),
        _ => GuestMessage::Refused {
            reason: "its task is none that can be done alone".to_owned(),
        },
    };
    writer.write(&word)?;
    // Messages still in the line would be lost with the guest.
    tcdrain(&rest).map_err(io::Error::from)?;
    Err(inside::power_off().into())
}
