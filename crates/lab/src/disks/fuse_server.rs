//! The server process of a model disk that is a file. It creates the disk, and serves it until the
//! file is unmounted or its owner has exited.

use super::{DiskBuilder, ServedDiskReport};
use crate::disks::recording::recorder;
use fsdyno_disk::transports::fuse::{Fuse, FuseError, Owner};
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_disk::{Disk, StoreError};
use fsdyno_guests::protocol::{FrameReader, FrameWriter};
use fsdyno_host::disk_server::become_io_flusher;
use fsdyno_model::{Bytes, Cell, DiskRecord, Mark, ModelDisk, Nanos};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Timeout for its first command.
const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "order")]
pub(super) enum ServerCommand {
    Make {
        /// The profile and the faults.
        model: Box<ModelDisk>,
        /// The index of the disk among those of its contender.
        number: usize,
        size: Bytes,
        /// The file of its contents, created by the server.
        image: PathBuf,
        /// The block trace of its requests, if requested.
        record: Option<DiskRecord>,
        /// The cell to which the trace belongs.
        cell: Cell,
    },
    /// The file is mounted: start serving.
    Begin,
    /// The workload has reached this point.
    Mark { mark: Mark },
    /// Report the requests so far.
    Report,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "message")]
pub(super) enum ServerMessage {
    Made,
    /// The requests so far.
    Served {
        served: Served,
    },
    /// The disk is no longer served.
    Ended {
        /// All requests, and the figures of each phase.
        report: ServedDiskReport,
    },
    Failed {
        why: String,
    },
}

/// The reason why the server of a disk failed.
#[derive(Debug, thiserror::Error)]
pub enum FuseServerError {
    /// No order was received.
    #[error(
        "this is the process behind a model disk, and fsdyno starts it by itself: see fsdyno run \
         --disk, fsdyno disk serve"
    )]
    NoOwner,
    /// The connection to its owner failed.
    #[error("the line to the owner of a model disk: {0}")]
    Line(#[from] io::Error),
    #[error("{0}")]
    Disk(String),
    #[error(transparent)]
    Served(#[from] FuseError),
}

/// The server's end of the connection to the owner.
struct Line {
    reader: FrameReader<UnixStream, ServerCommand>,
    writer: FrameWriter<UnixStream>,
    /// The socket, for poll(2).
    stream: UnixStream,
}

impl Line {
    /// Reads the next order, within the timeout of the line.
    fn order(&mut self) -> Result<ServerCommand, FuseServerError> {
        match self.reader.read() {
            Ok(Some(order)) => Ok(order),
            Ok(None) => Err(FuseServerError::NoOwner),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Err(FuseServerError::NoOwner)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Owner for Line {
    fn line(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    fn receive(&mut self, disk: &mut Disk, served: Served, now: Nanos) -> Result<bool, StoreError> {
        loop {
            match self.reader.read() {
                Ok(Some(ServerCommand::Mark { mark })) => disk.mark(now, &mark.to_string())?,
                // If the owner has exited, the next poll reports it.
                Ok(Some(ServerCommand::Report)) => {
                    drop(self.writer.write(&ServerMessage::Served { served }));
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(true),
                Err(_) => return Ok(false),
            }
        }
    }
}

/// Serves a model disk: standard input is the line to the owner, standard output is `/dev/fuse`.
pub fn serve_by_fuse() -> Result<(), FuseServerError> {
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let device = io::stdout().as_fd().try_clone_to_owned()?;
    // Standard input is not a socket: fsdyno did not start this process.
    stream
        .set_read_timeout(Some(TIMEOUT))
        .map_err(|_| FuseServerError::NoOwner)?;
    let mut line = Line {
        reader: FrameReader::new(stream.try_clone()?),
        writer: FrameWriter(stream.try_clone()?),
        stream,
    };
    // Old kernels lack this call; it only matters if memory is short.
    let _ = become_io_flusher();
    let served = make(&mut line).and_then(|(mut disk, number, discards)| {
        line.stream.set_nonblocking(true)?;
        let served = Fuse::new(&mut disk, device, discards).serve(&mut line)?;
        Ok(ServedDiskReport::of(served, number, &mut disk))
    });
    let reported = match &served {
        Ok(report) => ServerMessage::Ended {
            report: report.clone(),
        },
        Err(error) => ServerMessage::Failed {
            why: error.to_string(),
        },
    };
    line.stream.set_nonblocking(false)?;
    // The owner may have exited.
    let _ = line.writer.write(&reported);
    served.map(drop)
}

/// Creates the disk and waits until it is mounted. Returns the disk, its index, and whether it
/// supports discard.
fn make(line: &mut Line) -> Result<(Disk, usize, bool), FuseServerError> {
    let ServerCommand::Make {
        model,
        number,
        size,
        image,
        record,
        cell,
    } = line.order()?
    else {
        return Err(FuseServerError::NoOwner);
    };
    let builder = DiskBuilder::of(&model).map_err(FuseServerError::Disk)?;
    let recorder = recorder(record.as_ref(), cell, number);
    let disk = recorder.and_then(|recorder| builder.make(&image, (number, size), recorder));
    let disk = disk.map_err(FuseServerError::Disk)?;
    line.writer.write(&ServerMessage::Made)?;
    match line.order()? {
        ServerCommand::Begin => Ok((disk, number, builder.discards())),
        _ => Err(FuseServerError::NoOwner),
    }
}
