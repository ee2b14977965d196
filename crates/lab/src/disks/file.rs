//! The owner's side of a model disk that is a file of this machine.

use super::ServedDiskReport;
use super::fuse_server::{ServerCommand, ServerMessage};
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_guests::protocol::{FrameReader, FrameWriter};
use fsdyno_host::disk_server::ServedDisk;
use fsdyno_host::image::Scratch;
use fsdyno_host::journal::Journal;
use fsdyno_host::place::HeldFile;
use fsdyno_model::{Bytes, Cell, DiskRecord, Mark, ModelDisk};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the server may take to respond.
const TIMEOUT: Duration = Duration::from_secs(20);

/// How often the line is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A model disk that is a file.
pub(crate) struct DiskFile {
    // Dropped before the connection is closed: the server sends its report last.
    disk: ServedDisk,
    reader: FrameReader<UnixStream, ServerMessage>,
    writer: FrameWriter<UnixStream>,
    served: Served,
}

impl DiskFile {
    /// Creates the disk of this number in `scratch`, with its contents in a file. The error is a
    /// message.
    pub(crate) fn make(
        model: &ModelDisk,
        (number, size): (usize, Bytes),
        (record, cell): (Option<&DiskRecord>, Cell),
        scratch: &Path,
        journal: &Journal,
    ) -> Result<Self, String> {
        let broken = |error: io::Error| format!("the line to the server of a model disk: {error}");
        let program = std::env::current_exe()
            .map_err(|error| format!("cannot find the path of this program: {error}"))?;
        let file = scratch.join(format!("disk{number}"));
        let (disk, line) =
            ServedDisk::start(&program, &file, journal).map_err(|error| error.to_string())?;
        line.set_read_timeout(Some(POLL_INTERVAL)).map_err(broken)?;
        let mut made = Self {
            disk,
            reader: FrameReader::new(line.try_clone().map_err(broken)?),
            writer: FrameWriter(line),
            served: Served::default(),
        };
        let order = ServerCommand::Make {
            model: Box::new(model.clone()),
            number,
            size,
            image: scratch.join(format!("disk{number}.img")),
            record: record.cloned(),
            cell,
        };
        made.writer.write(&order).map_err(broken)?;
        match made.next(TIMEOUT)? {
            ServerMessage::Made => {}
            ServerMessage::Failed { why } => return Err(why),
            ServerMessage::Served { .. } | ServerMessage::Ended { .. } => {
                return Err("the server of a model disk served none".to_owned());
            }
        }
        made.disk
            .mount(journal)
            .map_err(|error| error.to_string())?;
        made.writer.write(&ServerCommand::Begin).map_err(broken)?;
        Ok(made)
    }

    /// The file that is the disk.
    pub(crate) fn path(&self) -> &Path {
        self.disk.file()
    }

    /// The very file, for a loop device.
    pub(crate) fn held(&self) -> io::Result<HeldFile> {
        self.disk.held()
    }

    /// The number of requests so far. The error is the reason why the disk is no longer served.
    pub(crate) fn query(&mut self) -> Result<Served, String> {
        // The read below reports a server that has exited.
        let _ = self.writer.write(&ServerCommand::Report);
        self.receive(TIMEOUT)
    }

    /// Records the position of the workload.
    pub(crate) fn mark(&mut self, mark: Mark) {
        // Without a server the figures of the phase are missing.
        let _ = self.writer.write(&ServerCommand::Mark { mark });
    }

    /// Ends the server; returns all requests of the disk, and its figures for each phase.
    pub(crate) fn end(self) -> Result<ServedDiskReport, String> {
        let Self {
            disk,
            mut reader,
            writer: _held,
            served,
        } = self;
        let mut last = ServedDiskReport {
            served,
            ..ServedDiskReport::default()
        };
        disk.end().map_err(|error| error.to_string())?;
        // The last message is still in the socket.
        while let Ok(Some(reported)) = reader.read() {
            if let ServerMessage::Ended { report } = reported {
                last = report;
            }
        }
        Ok(last)
    }

    /// The reason why its server no longer runs, if it does not.
    fn died(&mut self) -> Option<String> {
        self.disk.died()
    }

    fn receive(&mut self, timeout: Duration) -> Result<Served, String> {
        match self.next(timeout)? {
            ServerMessage::Served { served } => {
                self.served = served;
                Ok(served)
            }
            ServerMessage::Ended { report } => Ok(report.served),
            ServerMessage::Failed { why } => {
                Err(format!("the server of the model disk gave up: {why}"))
            }
            ServerMessage::Made => Ok(self.served),
        }
    }

    fn next(&mut self, timeout: Duration) -> Result<ServerMessage, String> {
        let deadline = Instant::now() + timeout;
        loop {
            let received = match self.reader.read() {
                Ok(Some(reported)) => return Ok(reported),
                Ok(None) if Instant::now() < deadline => continue,
                Ok(None) => format!("has not answered for {} s", timeout.as_secs()),
                // The exit status is available a moment later.
                Err(error) => {
                    std::thread::sleep(POLL_INTERVAL);
                    let died = self.disk.died();
                    died.unwrap_or_else(|| format!("closed its line: {error}"))
                }
            };
            return Err(format!("the server of the model disk {received}"));
        }
    }
}

/// A model disk as a file in a directory of its own, without a run.
pub struct FileDisk {
    // Dropped before the directory.
    disk: DiskFile,
    directory: Scratch,
}

impl FileDisk {
    /// Creates the directory and serves the disk in it, in real time. The error is a message.
    pub fn make(
        model: &ModelDisk,
        size: Bytes,
        directory: &Path,
        journal: &Journal,
    ) -> Result<Self, String> {
        let path = std::path::absolute(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        let directory = Scratch::create(&path, journal).map_err(|error| error.to_string())?;
        let cell = Cell {
            index: 0,
            block: 0,
            contender: 0,
            workload: 0,
        };
        let disk = DiskFile::make(model, (0, size), (None, cell), directory.path(), journal)?;
        Ok(Self { disk, directory })
    }

    /// The file that is the disk.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Returns an error with the reason if the disk is no longer served.
    pub fn check(&mut self) -> Result<(), String> {
        match self.disk.died() {
            None => Ok(()),
            Some(how) => Err(format!("the server of the model disk {how}")),
        }
    }

    /// Ends the service, removes the directory, and returns the requests. The error is a message.
    pub fn end(self) -> Result<Served, String> {
        let Self { disk, directory } = self;
        let report = disk.end()?;
        drop(directory);
        Ok(report.served)
    }
}
