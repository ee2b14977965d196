//! Model disks of a guest in real time: each is served over a socket, against the clock, in a thread
//! of its own.

use crate::disks::{self, Making};
use crate::labs::notes::Notes;
use crate::procedure::Halt;
use fsdyno_disk::fronts::real::{Happening, Real};
use fsdyno_disk::fronts::vhost::Served;
use fsdyno_model::{Bytes, CellRecord, Effective, ModelDisk, Outcome, Stop};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

/// The disks of one guest.
pub struct Modelled {
    sockets: Vec<PathBuf>,
    threads: Vec<JoinHandle<Result<Served, String>>>,
    stop: Stop,
}

impl Modelled {
    /// Makes so many, of that size, in a directory of ours. An error is told in words.
    pub fn begin(
        model: &ModelDisk,
        (disks, size): (usize, Bytes),
        scratch: &Path,
    ) -> Result<Self, String> {
        let making = Making::of(model)?;
        let mut all = Self {
            sockets: Vec::new(),
            threads: Vec::new(),
            stop: Stop::new(),
        };
        for number in 0..disks {
            let socket = scratch.join(format!("disk{number}"));
            let listener = UnixListener::bind(&socket)
                .map_err(|error| format!("cannot listen at {}: {error}", socket.display()))?;
            let image = scratch.join(format!("disk{number}.img"));
            let mut disk = making.make(&image, number, size)?;
            let (discards, stop) = (making.discards(), all.stop.clone());
            let name = format!("disk{number}");
            all.threads.push(thread::spawn(move || {
                let mut in_all = Served::default();
                let mut hear = |happening| {
                    if let Happening::Ended { served, .. } = happening {
                        in_all += served;
                    }
                };
                let mut real = Real::new(&mut disk, &name, discards);
                real.serve(&listener, &stop, &mut hear)
                    .map_err(|error| error.to_string())?;
                Ok(in_all)
            }));
            all.sockets.push(socket);
        }
        Ok(all)
    }

    /// Where they are reached.
    pub fn sockets(&self) -> &[PathBuf] {
        &self.sockets
    }

    /// What they were asked for, once the guest has gone. An error is why one was served no longer.
    pub fn end(mut self) -> Result<Served, String> {
        self.stop.request();
        let mut in_all = Served::default();
        for thread in self.threads.drain(..) {
            // It looks for the wish several times a second.
            let served = thread.join();
            in_all += served.unwrap_or_else(|_| Err("the thread of a disk died".to_owned()))?;
        }
        Ok(in_all)
    }
}

/// The record of a guest that has gone, with what its disks were asked for.
pub fn tell(
    notes: &mut Notes<'_>,
    model: &ModelDisk,
    heard: Result<CellRecord, Halt>,
    disks: Modelled,
) -> Result<CellRecord, Halt> {
    let served = disks.end();
    match (heard, served) {
        (Err(Halt::Stopped), _) => Err(Halt::Stopped),
        (Ok(mut record), Ok(served)) => {
            if let Outcome::Failed(failure) = &mut record.outcome {
                failure.message.extend(disks::remark(served));
            }
            notes.effective(Effective::DISK, disks::in_real_time(model, served));
            Ok(record)
        }
        (Err(Halt::Failed(mut failure)), Ok(served)) => {
            failure.message.extend(disks::remark(served));
            Err(Halt::Failed(failure))
        }
        // Whatever failed in the guest failed for that.
        (_, Err(why)) => Err(notes.halt(format!("a model disk is served no longer: {why}"), None)),
    }
}

impl Drop for Modelled {
    fn drop(&mut self) {
        self.stop.request();
    }
}
