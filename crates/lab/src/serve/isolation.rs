//! A guest in virtual time: its task lies in a file, and nobody is asked for anything. Whatever
//! came from the host while it runs would come at another moment each time; so would what a thread
//! does that looks at the clock again and again.

use super::{MessageWriter, ServeError, crash, run};
use crate::messages::{GuestMessage, Task};
use fsdyno_guests::inside;
use fsdyno_guests::protocol::FrameWriter;
use rustix::termios::tcdrain;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Does what a file tells, says outwards what happens, and ends the guest.
pub fn run_in_guest(task: &Path) -> Result<(), ServeError> {
    if !inside::is_first() {
        return Err(ServeError::NoGuest);
    }
    // Before the kernel's own /proc hides that of the host, by which the file may be found.
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
                reason: crash::write(&contender, seed, &place, &operations),
            }
        }
        Task::Recover {
            contender,
            seed,
            acknowledged,
        } => crash::recovered(&contender, seed, acknowledged, &place),
        _ => GuestMessage::Refused {
            reason: "its task is none that can be done alone".to_owned(),
        },
    };
    writer.write(&word)?;
    // What is still in the line would go with the guest.
    tcdrain(&rest).map_err(io::Error::from)?;
    Err(inside::power_off().into())
}
