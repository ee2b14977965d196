//! Model disks of a guest in real time: each is served over a socket by a separate thread.

use super::virtual_time::listen;
use crate::disks::{self, DiskBuilder, ServedDiskReport};
use crate::notes::Notes;
use crate::procedure::CellEnd;
use fsdyno_disk::Recorder;
use fsdyno_disk::transports::real::{Real, ServerEvent};
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_guests::DiskKind;
use fsdyno_model::{Bytes, CancelToken, CellRecord, Effective, Mark, ModelDisk, Outcome};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

pub struct OnModelDisk {
    kind: DiskKind,
    sockets: Vec<PathBuf>,
    threads: Vec<JoinHandle<Result<ServedDiskReport, String>>>,
    /// Forwards the marks of the workload to each thread.
    marks: Vec<Sender<String>>,
    stop: CancelToken,
}

impl OnModelDisk {
    /// Creates this number of disks of that size in a directory. The error is a message.
    pub fn begin(
        model: &ModelDisk,
        (disks, size): (usize, Bytes),
        scratch: &Path,
        recorder: impl Fn(usize) -> Result<Recorder, String>,
    ) -> Result<Self, String> {
        let builder = DiskBuilder::of(model)?;
        let mut all = Self {
            kind: builder.kind(),
            sockets: Vec::new(),
            threads: Vec::new(),
            marks: Vec::new(),
            stop: CancelToken::new(),
        };
        for number in 0..disks {
            let name = format!("disk{number}");
            let server = listen(scratch, &name)?;
            let image = scratch.join(format!("disk{number}.img"));
            let mut disk = builder.make(&image, (number, size), recorder(number)?)?;
            let (discards, stop) = (builder.discards(), all.stop.clone());
            let socket = scratch.join(&name);
            let (marks, marked) = channel();
            all.marks.push(marks);
            all.threads.push(thread::spawn(move || {
                let mut in_all = Served::default();
                let mut on_event = |event| {
                    if let ServerEvent::Ended { served, .. } = event {
                        in_all += served;
                    }
                };
                let mut real = Real::new(&mut disk, &name, discards).with_marks(marked);
                real.serve(&server, &stop, &mut on_event)
                    .map_err(|error| error.to_string())?;
                Ok(ServedDiskReport::of(in_all, number, &mut disk))
            }));
            all.sockets.push(socket);
        }
        Ok(all)
    }

    /// What their guest knows of them.
    pub fn kind(&self) -> DiskKind {
        self.kind
    }

    pub fn sockets(&self) -> &[PathBuf] {
        &self.sockets
    }

    /// Forwards a mark of the workload, some milliseconds after the guest sent it.
    pub fn mark(&self, mark: Mark) {
        for disk in &self.marks {
            // A server that has ended is reported when the guest ends.
            let _ = disk.send(mark.to_string());
        }
    }

    /// The requests to each disk and its figures for each phase, after the guest has ended. The
    /// error is the reason why a disk was not served to the end.
    fn end(mut self) -> Result<Vec<ServedDiskReport>, String> {
        self.stop.request();
        let ended = self.threads.drain(..).map(|thread| {
            // The server checks for cancellation several times a second.
            let ended = thread.join();
            ended.unwrap_or_else(|_| Err("the thread of a disk died".to_owned()))
        });
        ended.collect()
    }
}

/// The record of a guest that has ended, with the requests to its disks.
pub fn record_of(
    notes: &mut Notes<'_>,
    model: &ModelDisk,
    received: Result<CellRecord, CellEnd>,
    disks: OnModelDisk,
) -> Result<CellRecord, CellEnd> {
    let report = match disks.end() {
        Ok(report) => report,
        // A failure in the guest is a consequence of this error.
        Err(why) if !matches!(received, Err(CellEnd::Stopped)) => {
            return Err(notes.halt(format!("a model disk is served no longer: {why}"), None));
        }
        Err(_) => return Err(CellEnd::Stopped),
    };
    let served = ServedDiskReport::total(&report);
    let received = match received {
        Ok(mut record) => {
            ServedDiskReport::add_to(&report, &mut record.samples);
            if let Outcome::Failed(failure) = &mut record.outcome {
                failure.message.extend(disks::remark(served));
            }
            let reported = disks::in_real_time(model, served);
            let about = "; figures of phases by marks that arrive some ms late";
            notes.effective(Effective::DISK, reported + about);
            Ok(record)
        }
        Err(CellEnd::Failed(mut failure)) => {
            ServedDiskReport::add_to(&report, notes.samples());
            failure.message.extend(disks::remark(served));
            Err(CellEnd::Failed(failure))
        }
        Err(CellEnd::Stopped) => Err(CellEnd::Stopped),
    };
    ServedDiskReport::warn(&report, notes);
    received
}

impl Drop for OnModelDisk {
    fn drop(&mut self) {
        self.stop.request();
    }
}
