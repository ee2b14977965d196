//! A guest in virtual time: it reads its task from a file, and receives nothing while it runs.
//! Input from the host would arrive at a different moment in each run. A thread that polls the
//! clock would then give a different result. Only a disk can bring more: its requests have their
//! place in virtual time.

use super::{MessageWriter, ServeError, crash, explore, full, run};
use crate::messages::{GuestMessage, Task};
use fsdyno_files::uninterrupted;
use fsdyno_guests::inside;
use fsdyno_guests::protocol::FrameWriter;
use fsdyno_load::{allocator, stack};
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
    // Read before the kernel's /proc hides that of the host, which may be part of the path.
    let task = fs::read(task).map_err(inside::GuestInitError::at(format!(
        "read {}",
        task.display()
    )))?;
    let task: Task = serde_json::from_slice(&task).map_err(io::Error::from)?;
    let place = inside::set_up_guest()?;
    // First, so that the heap grows into what the files of the program took.
    inside::memory::copy_program()?;
    allocator::keep_memory();
    stack::touch_main();
    inside::memory::settle()?;
    if let Task::Explore { contender } = &task {
        explore::serve(contender, &place)?;
        return Err(inside::power_off().into());
    }
    let line = inside::channel()?;
    let rest = line.try_clone()?;
    let writer = MessageWriter(Arc::new(Mutex::new(FrameWriter(line))));
    writer.write(&super::ready())?;
    let word = match task {
        Task::Run { plan, cell } => run(*plan, cell, &place, &writer, None),
        Task::Write {
            contender,
            seed,
            program,
        } => {
            let operations = |operations| writer.write(&GuestMessage::Acknowledged { operations });
            GuestMessage::Refused {
                reason: crash::write(
                    &contender,
                    (seed, program.as_deref()),
                    &place,
                    true,
                    &operations,
                ),
            }
        }
        Task::Recover {
            contender,
            seed,
            acknowledged,
            performed,
        } => crash::recover_and_report(
            &contender,
            ((seed, acknowledged), performed.as_deref()),
            &place,
            true,
        ),
        Task::Fill {
            contender,
            seed,
            quota,
        } => full::fill_and_report(*contender, (seed, quota), &place),
        _ => GuestMessage::Refused {
            reason: "its task is none that can be done alone".to_owned(),
        },
    };
    writer.write(&word)?;
    // Messages that are still buffered would be lost when the guest ends.
    uninterrupted(|| tcdrain(&rest)).map_err(io::Error::from)?;
    Err(inside::power_off().into())
}
