//! The monitor: a process that records the events of rank 0 in the store and watches all ranks.
//!
//! After a failure it records the current cell as failed, with the name of the rank, and ends the
//! run in the store; then all connected ranks get the message.

use super::lines::{Lines, Read, line};
use super::{Answer, FromRank, Order, ToRank};
use fsdyno_files::uninterrupted;
use fsdyno_model::{Cell, CellRecord, Event, Failure, Nanos, Outcome, Sample, Stage, StopReason};
use fsdyno_run::conductor::unix_now;
use fsdyno_store::{Claim, Store};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// The longest line of rank 0, bytes: a cell with all its samples.
const MAX_EVENT_LINE: usize = 1 << 30;
/// The longest line of other ranks, bytes.
const MAX_LINE: usize = 4096;
/// How often limits are checked.
const POLL_INTERVAL: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};
/// How long ranks may take to leave after the end of the run or a failure.
const LEAVE: Duration = Duration::from_secs(15);

const STDIN: u64 = 0;
const LISTENER: u64 = 1;
const FIRST_RANK: u64 = 2;

/// Serves one run; returns the exit status.
pub fn serve() -> i32 {
    // Its own session: a launcher that kills the group of rank 0 does not reach it. It fails if
    // this process leads a group, which has the same effect.
    let _ = rustix::process::setsid();
    match Monitor::start().and_then(Monitor::run) {
        Ok(failed) => i32::from(failed),
        Err(error) => {
            let message = format!("fsdyno-mpi: the monitor failed: {error}");
            eprintln!("{message}");
            answer(&Answer::Refused { message });
            1
        }
    }
}

/// Answers rank 0, which may have died.
fn answer(answer: &Answer) {
    if let Ok(line) = line(answer) {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
    }
}

/// A connection.
struct Peer {
    stream: TcpStream,
    lines: Lines,
    last_message: Instant,
    /// Which rank it is, known after its first message.
    who: Option<RankInfo>,
}

#[derive(Clone)]
struct RankInfo {
    rank: usize,
    host: String,
    pid: u32,
}

impl std::fmt::Display for RankInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "rank {} ({}, PID {})", self.rank, self.host, self.pid)
    }
}

/// The cell in progress.
struct Current {
    cell: Cell,
    stage: Stage,
    started_unix_ns: u64,
    began: Instant,
    samples: Vec<Sample>,
}

struct Monitor {
    order: Order,
    store: Store,
    epoll: OwnedFd,
    listener: TcpListener,
    events: Lines,
    peers: BTreeMap<u64, Peer>,
    next: u64,
    run: Option<(String, Claim)>,
    current: Option<Current>,
    ended: Option<Instant>,
    failed: bool,
    /// The first signal that a rank reported.
    interrupted: Option<String>,
    rank_0_gone: bool,
}

impl Monitor {
    fn start() -> io::Result<Self> {
        let mut events = Lines::new(MAX_EVENT_LINE);
        // Only the order arrives before the answer.
        let order: Order = loop {
            match events.read(io::stdin())? {
                Read::Messages(mut orders) => {
                    if let Some(order) = orders.pop() {
                        break order;
                    }
                }
                Read::End(_) => return Err(io::Error::other("rank 0 ended")),
            }
        };
        let store = Store::open(&order.store).map_err(io::Error::other)?;
        let listener = TcpListener::bind("[::]:0").or_else(|_| TcpListener::bind("0.0.0.0:0"))?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        // The kernel returns events in the order in which they became ready: the first end of a
        // connection is that of the rank that died first.
        epoll::add(
            &epoll,
            io::stdin(),
            EventData::new_u64(STDIN),
            EventFlags::IN,
        )?;
        epoll::add(
            &epoll,
            &listener,
            EventData::new_u64(LISTENER),
            EventFlags::IN,
        )?;
        let port = listener.local_addr()?.port();
        answer(&Answer::Listening { port });
        Ok(Self {
            order,
            store,
            epoll,
            listener,
            events,
            peers: BTreeMap::new(),
            next: FIRST_RANK,
            run: None,
            current: None,
            ended: None,
            failed: false,
            interrupted: None,
            rank_0_gone: false,
        })
    }

    /// Works until all have left; returns whether the run failed.
    fn run(mut self) -> io::Result<bool> {
        let mut ready: Vec<epoll::Event> = Vec::with_capacity(64);
        loop {
            ready.clear();
            uninterrupted(|| {
                let space = spare_capacity(&mut ready);
                epoll::wait(&self.epoll, space, Some(&POLL_INTERVAL))
            })?;
            for event in ready.drain(..) {
                let data = event.data;
                match data.u64() {
                    STDIN => self.read_events()?,
                    LISTENER => self.accept()?,
                    id => self.read_peer(id)?,
                }
            }
            self.check_heartbeats()?;
            let left = self.rank_0_gone && self.peers.is_empty();
            if self.ended.is_some_and(|at| left || at.elapsed() > LEAVE) {
                return Ok(self.failed);
            }
        }
    }

    fn read_events(&mut self) -> io::Result<()> {
        let (events, end) = match self.events.read::<Event>(io::stdin())? {
            Read::Messages(events) => (events, false),
            Read::End(events) => (events, true),
        };
        for event in events {
            if !self.failed {
                self.record(event)?;
            }
        }
        if end {
            epoll::delete(&self.epoll, io::stdin())?;
            self.rank_0_gone = true;
            if self.ended.is_none() {
                let who = self.peers.values().find_map(|peer| {
                    let who = peer.who.as_ref()?;
                    (who.rank == 0).then(|| who.to_string())
                });
                let who = who.unwrap_or_else(|| "rank 0".to_owned());
                self.fail(
                    &format!("{who} ended without a report"),
                    StopReason::Interrupted,
                )?;
            }
        }
        Ok(())
    }

    fn record(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::RunStarted { mut run, .. } => {
                self.store.begin_named(&mut run).map_err(io::Error::other)?;
                let claim = self.store.claim(&run.id).map_err(io::Error::other)?;
                answer(&Answer::Begun {
                    run: run.id.clone(),
                });
                self.run = Some((run.id.clone(), claim));
            }
            Event::CellStarted { cell } => {
                self.current = Some(Current {
                    cell,
                    stage: Stage::Prepare,
                    started_unix_ns: unix_now(),
                    began: Instant::now(),
                    samples: Vec::new(),
                });
            }
            Event::StageEntered { stage, .. } => {
                if let Some(current) = &mut self.current {
                    current.stage = stage;
                }
            }
            Event::PhaseEnded { sample, .. } => {
                if let Some(current) = &mut self.current {
                    current.samples.push(*sample);
                }
            }
            Event::CellEnded { record } => {
                self.current = None;
                self.store_cell(&record)?;
            }
            Event::RunEnded { reason, at_unix_ns } => {
                self.end(reason, at_unix_ns)?;
                answer(&Answer::Ended);
            }
            Event::StateProgress { .. } | Event::Looked { .. } => {}
        }
        Ok(())
    }

    fn store_cell(&mut self, record: &CellRecord) -> io::Result<()> {
        let Some((run, _)) = &self.run else {
            return Ok(());
        };
        self.store.record(run, record).map_err(io::Error::other)
    }

    fn end(&mut self, reason: StopReason, at: u64) -> io::Result<()> {
        self.ended = Some(Instant::now());
        let Some((run, _)) = &self.run else {
            return Ok(());
        };
        self.store.end(run, reason, at).map_err(io::Error::other)
    }

    fn accept(&mut self) -> io::Result<()> {
        while let Ok((stream, _)) = self.listener.accept() {
            stream.set_nonblocking(true)?;
            // A host that disappears does not close its connections.
            epoll::add(
                &self.epoll,
                &stream,
                EventData::new_u64(self.next),
                EventFlags::IN,
            )?;
            let peer = Peer {
                stream,
                lines: Lines::new(MAX_LINE),
                last_message: Instant::now(),
                who: None,
            };
            self.peers.insert(self.next, peer);
            self.next += 1;
        }
        Ok(())
    }

    fn read_peer(&mut self, id: u64) -> io::Result<()> {
        let Some(peer) = self.peers.get_mut(&id) else {
            return Ok(());
        };
        let (messages, end) = match peer.lines.read::<FromRank>(&peer.stream) {
            Ok(Read::Messages(messages)) => (messages, false),
            Ok(Read::End(messages)) => (messages, true),
            // Not a rank.
            Err(_) if peer.who.is_none() => (Vec::new(), true),
            Err(error) => return Err(error),
        };
        peer.last_message = Instant::now();
        let mut interrupted = None;
        let mut farewell = false;
        let mut still = Duration::ZERO;
        for message in messages {
            match message {
                FromRank::Hello {
                    token,
                    rank,
                    host,
                    pid,
                } if token == self.order.token && rank < self.order.ranks => {
                    peer.who = Some(RankInfo { rank, host, pid });
                }
                _ if peer.who.is_none() => {
                    self.forget(id);
                    return Ok(());
                }
                FromRank::Hello { .. } => {}
                FromRank::Alive { still_s } => still = Duration::from_secs(still_s),
                FromRank::Interrupted { signal } => interrupted = Some(signal),
                FromRank::Farewell => farewell = true,
            }
        }
        let who = peer.who.clone();
        if farewell || end {
            self.forget(id);
        }
        let (Some(who), false) = (who, self.ended.is_some()) else {
            return Ok(());
        };
        if let Some(signal) = interrupted {
            // Rank 0 ends the run in an orderly way, unless its launcher kills it before.
            self.interrupted.get_or_insert(signal);
        }
        if end && !farewell {
            let message = match &self.interrupted {
                Some(signal) => format!("interrupted ({signal})"),
                None => format!("{who} died"),
            };
            return self.fail(&message, StopReason::Interrupted);
        }
        if still > self.order.phase_timeout {
            let message = format!(
                "{who} hangs: it has been in one system call for {} s",
                still.as_secs()
            );
            return self.fail(&message, StopReason::Interrupted);
        }
        Ok(())
    }

    fn forget(&mut self, id: u64) {
        if let Some(peer) = self.peers.remove(&id) {
            // Closing the stream removes it, too.
            let _ = epoll::delete(&self.epoll, &peer.stream);
        }
    }

    fn check_heartbeats(&mut self) -> io::Result<()> {
        if self.ended.is_some() {
            return Ok(());
        }
        let limit = self.order.heartbeat_timeout;
        let silent = self.peers.values().find_map(|peer| {
            let who = peer.who.as_ref()?;
            (peer.last_message.elapsed() > limit).then(|| who.clone())
        });
        let Some(who) = silent else {
            return Ok(());
        };
        let message = format!("{who} has sent no sign of life for {} s", limit.as_secs());
        self.fail(&message, StopReason::Interrupted)
    }

    /// Records that the run failed, and sends the reason to all ranks.
    fn fail(&mut self, what: &str, reason: StopReason) -> io::Result<()> {
        self.failed = true;
        let during = self
            .current
            .as_ref()
            .map_or_else(String::new, |current| format!(" during {}", current.stage));
        let message = format!("{what}{during}");
        eprintln!("fsdyno-mpi: {message}");
        if let Some(current) = self.current.take() {
            let failure = Failure {
                stage: current.stage,
                message: message.clone(),
                errno: None,
            };
            self.store_cell(&CellRecord {
                cell: current.cell,
                outcome: Outcome::Failed(failure),
                started_unix_ns: current.started_unix_ns,
                took_ns: Nanos::from(current.began.elapsed()),
                samples: current.samples,
                commands: Vec::new(),
                effective: Vec::new(),
                warnings: Vec::new(),
            })?;
        }
        self.end(reason, unix_now())?;
        if let Some((run, _)) = &self.run {
            eprintln!(
                "fsdyno-mpi: what was measured before is in run {run} ({}). Remove the directories \
                 fsdyno-mpi-* that this run left in DIR",
                self.store.path().display()
            );
        }
        let line = line(&ToRank::Failed { message })?;
        for peer in self.peers.values_mut() {
            // A rank that died gets nothing.
            let _ = peer.stream.write_all(&line);
        }
        Ok(())
    }
}
