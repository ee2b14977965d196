//! Real time: serves a disk over a socket and delays completions until the clock reaches them. Each
//! disk has one thread.

use super::stream;
use super::vhost_user::{Connection, ConnectionError, Offer, Served};
use crate::disk::Disk;
use crate::store::StoreError;
use fsdyno_model::{CancelToken, Nanos};
use rustix::event::{PollFd, PollFlags};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Interval between checks for cancellation.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The reason why the server stopped.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// The socket does not accept connections.
    #[error("cannot wait for guests: {0}")]
    Listen(#[from] std::io::Error),
    /// An I/O error of the disk's contents on this machine.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Debug)]
pub enum ServerEvent {
    Connected,
    /// A guest's connection ended, with its counters and, if the guest did not close it, the
    /// reason.
    Ended {
        /// Request counters of the connection.
        served: Served,
        /// The reason, if it was an error.
        why: Option<ConnectionError>,
    },
}

/// A disk that is served in real time.
pub struct Real<'a> {
    disk: &'a mut Disk,
    offer: Offer,
    name: &'a str,
    /// Start of the disk's time.
    epoch: Instant,
    generation: u32,
    /// Marks of the workload in order of arrival.
    marks: Option<Receiver<String>>,
}

impl<'a> Real<'a> {
    /// Creates a server of a disk. `name` is the disk's serial.
    pub fn new(disk: &'a mut Disk, name: &'a str, discards: bool) -> Self {
        let offer = Offer {
            sectors: disk.sectors(),
            cache: disk.is_volatile(),
            discards,
            in_band: false,
        };
        Self {
            disk,
            offer,
            name,
            epoch: Instant::now(),
            generation: 0,
            marks: None,
        }
    }

    /// Inserts workload marks into the sequence of requests by arrival time. The order of marks and
    /// requests that arrive at the same time is undefined.
    #[must_use]
    pub fn with_marks(mut self, marks: Receiver<String>) -> Self {
        self.marks = Some(marks);
        self
    }

    fn mark(&mut self) -> Result<(), StoreError> {
        while let Some(Ok(text)) = self.marks.as_ref().map(Receiver::try_recv) {
            let now = self.now();
            self.disk.mark(now, &text)?;
        }
        Ok(())
    }

    fn now(&self) -> Nanos {
        Nanos::from(self.epoch.elapsed())
    }

    /// Serves one guest after the other until cancellation.
    pub fn serve(
        &mut self,
        listener: &UnixListener,
        stop: &CancelToken,
        on_event: &mut dyn FnMut(ServerEvent),
    ) -> Result<(), RealError> {
        listener.set_nonblocking(true)?;
        // The default timer slack of 50 us is as long as many accesses.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !stop.requested() {
            let mut lines = [PollFd::new(listener, PollFlags::IN)];
            let came = stream::wait(&mut lines, Some(Instant::now() + POLL_INTERVAL));
            if !came.map_err(|error| std::io::Error::other(error.to_string()))? {
                continue;
            }
            let line = match listener.accept() {
                Ok((line, _)) => line,
                // The connection closed again.
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error.into()),
            };
            line.set_nonblocking(true)?;
            self.generation = self.generation.wrapping_add(1);
            on_event(ServerEvent::Connected);
            let connection = Connection::new(line, self.offer, self.name, self.generation);
            let (served, why) = match connection {
                Ok(mut connection) => {
                    let why = self.serve_connection(&mut connection, stop).err();
                    (connection.served(), why)
                }
                Err(why) => (Served::default(), Some(why)),
            };
            on_event(ServerEvent::Ended { served, why });
            self.mark()?;
            // Requests in flight of the previous connection have no owner.
            let now = self.now();
            while self.disk.complete(now)?.is_some() {}
        }
        Ok(())
    }

    /// Serves a connection until it ends.
    fn serve_connection(
        &mut self,
        connection: &mut Connection,
        stop: &CancelToken,
    ) -> Result<(), ConnectionError> {
        while !stop.requested() {
            self.complete(connection)?;
            let (spoken, kicked) = self.wait(connection)?;
            self.mark()
                .map_err(|error| ConnectionError::Ring(error.into()))?;
            if kicked {
                connection.clear_kicks()?;
                self.take(connection)?;
            }
            if spoken {
                let Some(message) = connection.receive()? else {
                    return Ok(());
                };
                let carried = connection.carry_out(message)?;
                if carried.kicked {
                    self.take(connection)?;
                }
                connection.reply(carried, self.disk)?;
            }
        }
        Ok(())
    }

    /// Processes requests and completions while there is progress without a wait.
    fn take(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        while connection.take(self.disk, self.now())? > 0 {
            self.complete(connection)?;
        }
        Ok(())
    }

    fn complete(&mut self, connection: &mut Connection) -> Result<(), ConnectionError> {
        let now = self.now();
        let due = self.disk.next_completion().is_some_and(|next| next <= now);
        if due || connection.has_answered() {
            let (_, call) = connection.complete(self.disk, now)?;
            if call {
                connection.call()?;
            }
        }
        Ok(())
    }

    /// Waits for input or for a due completion. Returns whether a message and a kick arrived.
    fn wait(&self, connection: &Connection) -> Result<(bool, bool), ConnectionError> {
        let next_poll = Instant::now() + POLL_INTERVAL;
        let due = self.disk.next_completion();
        let due = due.map(|next| self.epoch + Duration::from_nanos(next.0));
        let until = due.map_or(next_poll, |due| due.min(next_poll));
        let line = connection.line();
        let mut lines = vec![PollFd::from_borrowed_fd(line.as_fd(), PollFlags::IN)];
        lines.extend(
            connection
                .kicks()
                .map(|kicks| PollFd::from_borrowed_fd(kicks, PollFlags::IN)),
        );
        stream::wait(&mut lines, Some(until))?;
        let ready = |line: Option<&PollFd<'_>>| line.is_some_and(|line| !line.revents().is_empty());
        Ok((ready(lines.first()), ready(lines.get(1))))
    }
}
