//! The connection of one rank to the monitor: a thread that sends heartbeats and receives failures.

use super::lines::{Lines, Read, line};
use super::{FromRank, HEARTBEAT, MonitorAddress, ToRank};
use crate::group::Alarm;
use crate::member::host_name;
use fsdyno_files::{ProcessStat, poll};
use fsdyno_host::signals::Signals;
use fsdyno_model::CancelToken;
use rustix::event::{PollFd, PollFlags};
use std::io::Write as _;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{fs, io};

/// How long an address of the monitor is tried.
const CONNECT: Duration = Duration::from_secs(3);
/// After a failure the rank ends itself in an orderly way within this time, or is ended.
const GRACE: Duration = Duration::from_secs(5);
/// The longest message of the monitor, bytes.
const MAX_LINE: usize = 1 << 20;

/// The thread of a connected rank.
#[derive(Debug)]
pub struct Sentinel {
    stream: Arc<Mutex<TcpStream>>,
    leaves: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sentinel {
    /// Connects this rank to the monitor.
    pub fn connect(
        contact: &MonitorAddress,
        rank: usize,
        alarm: &Alarm,
        stop: &CancelToken,
        signals: Option<Signals>,
    ) -> io::Result<Self> {
        let mut stream = reach(contact)?;
        stream.set_nodelay(true)?;
        stream.write_all(&line(&FromRank::Hello {
            token: contact.token.clone(),
            rank,
            host: host_name(),
            pid: std::process::id(),
        })?)?;
        let watcher = Watcher {
            stream: stream.try_clone()?,
            lines: Lines::new(MAX_LINE),
            alarm: alarm.clone(),
            stop: stop.clone(),
            signals,
            failed: None,
        };
        let leaves = Arc::new(AtomicBool::new(false));
        let stream = Arc::new(Mutex::new(stream));
        let (until, out) = (Arc::clone(&leaves), Arc::clone(&stream));
        let thread = std::thread::Builder::new()
            .name("monitor".to_owned())
            .spawn(move || watcher.watch(&until, &out))?;
        Ok(Self {
            stream,
            leaves,
            thread: Some(thread),
        })
    }

    /// Reports to the monitor that this rank ends as it should.
    pub fn leave(mut self) {
        self.leaves.store(true, Ordering::SeqCst);
        send(&self.stream, &FromRank::Farewell);
        if let Some(thread) = self.thread.take() {
            // It ends within a heartbeat, and a panic in it changes nothing.
            let _ = thread.join();
        }
    }
}

fn send(stream: &Mutex<TcpStream>, message: &FromRank) {
    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
    if let Ok(line) = line(message) {
        // If the monitor is gone, the watcher sees the end of the connection.
        let _ = stream.write_all(&line);
    }
}

/// Tries all addresses of the monitor.
fn reach(contact: &MonitorAddress) -> io::Result<TcpStream> {
    let here = contact.host == host_name();
    let loopback = here.then(|| "127.0.0.1".to_owned());
    let names = loopback.iter().chain(&contact.addresses);
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for name in names {
        match (name.as_str(), contact.port).to_socket_addrs() {
            Ok(addresses) => {
                for address in addresses {
                    match TcpStream::connect_timeout(&address, CONNECT) {
                        Ok(stream) => return Ok(stream),
                        Err(error) => last = error,
                    }
                }
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The thread.
struct Watcher {
    stream: TcpStream,
    lines: Lines,
    alarm: Alarm,
    stop: CancelToken,
    signals: Option<Signals>,
    /// When the alarm was raised.
    failed: Option<Instant>,
}

impl Watcher {
    fn watch(mut self, leaves: &AtomicBool, out: &Mutex<TcpStream>) {
        let mut activity = Activity::new();
        let mut interrupted = false;
        while !leaves.load(Ordering::SeqCst) {
            self.listen();
            if let Some(signal) = self.signals.as_ref().and_then(Signals::received)
                && !interrupted
            {
                interrupted = true;
                let signal = signal.to_string();
                send(out, &FromRank::Interrupted { signal });
            }
            send(
                out,
                &FromRank::Alive {
                    still_s: activity.idle_time().as_secs(),
                },
            );
            if self.failed.is_some_and(|at| at.elapsed() > GRACE) {
                // The main thread is in a system call that does not return. MPI ends the others.
                eprintln!("fsdyno-mpi: a system call does not return; this rank ends itself");
                rustix::process::kill_process(
                    rustix::process::getpid(),
                    rustix::process::Signal::KILL,
                )
                .unwrap_or_default();
            }
        }
    }

    /// Receives messages for one heartbeat.
    fn listen(&mut self) {
        let timeout = Duration::from_nanos(HEARTBEAT.subsec_nanos().into());
        let timeout = timeout.max(Duration::from_millis(200));
        let mut polled = [PollFd::new(&self.stream, PollFlags::IN)];
        if !matches!(poll(&mut polled, Some(timeout)), Ok(ready) if ready > 0) {
            return;
        }
        match self.lines.read::<ToRank>(&self.stream) {
            Ok(Read::Messages(messages)) => {
                for ToRank::Failed { message } in messages {
                    self.fail(&message);
                }
            }
            Ok(Read::End(messages)) => {
                for ToRank::Failed { message } in messages {
                    self.fail(&message);
                }
                self.fail("the monitor on the host of rank 0 ended");
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(error) => self.fail(&format!("the connection to the monitor: {error}")),
        }
    }

    fn fail(&mut self, message: &str) {
        self.failed.get_or_insert_with(Instant::now);
        self.alarm.raise(message);
        self.stop.request();
    }
}

/// Whether the main thread does anything: the context switches of its thread. A thread in a system
/// call that does not return has none; the kernel finds hung tasks in the same way.
struct Activity {
    switches: u64,
    since: Instant,
}

impl Activity {
    fn new() -> Self {
        Self {
            switches: 0,
            since: Instant::now(),
        }
    }

    fn idle_time(&mut self) -> Duration {
        let main = std::process::id();
        let status = fs::read_to_string(format!("/proc/self/task/{main}/status"));
        let stat = fs::read_to_string(format!("/proc/self/task/{main}/stat"));
        let switches = status.unwrap_or_default();
        let switches = switches.lines().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.ends_with("ctxt_switches")
                .then(|| value.trim().parse::<u64>().ok())?
        });
        // User and system time: a thread that computes may have no switch.
        let stat = ProcessStat::from(stat.unwrap_or_default());
        let times = [14, 15].into_iter().filter_map(|at| stat.ticks_ns(at));
        let now: u64 = switches.chain(times).sum();
        if now != self.switches {
            self.switches = now;
            self.since = Instant::now();
        }
        self.since.elapsed()
    }
}
