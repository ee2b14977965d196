//! A cell in virtual time: its guest runs on model disks, and this process keeps its time. The
//! guest reads its task from a file and sends messages; it receives none.

use super::cell_plan::plan_of_cell;
use super::line::{Line, Messages};
use super::request_log::RequestLog;
use super::session::{known_cause, with_last};
use super::{CellProfile, GuestLab, LAST_LINES, devices_of, disk, memory_for};
use crate::disks::recording::recorder;
use crate::disks::{self, DiskBuilder};
use crate::messages::{GuestMessage, Task};
use crate::notes::Notes;
use crate::procedure::CellEnd;
use crate::recorded;
use fsdyno_datasets::seed::Seed;
use fsdyno_disk::Recorder;
use fsdyno_disk::transports::calendar::{self, CalendarDisk, CalendarError, Passed, Setting};
use fsdyno_disk::transports::vhost_user::Served;
use fsdyno_guests::kernels::symbols::Symbols;
use fsdyno_guests::{DiskKind, Guest, GuestError, OneProcessor, ended, profile, time_travel};
use fsdyno_model::{
    Bytes, CancelToken, Cell, CellRecord, Effective, ModelDisk, Outcome, Plan, Stage, Vary,
};
use std::fs;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The range of the date at which a guest with other names starts. Programs of a guest get no random
/// bytes early, so `mkfs` derives UUIDs and hash seeds from the time of day (libuuid).
const MONTH_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;

/// How often cancellation is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a guest may take to end after its last message.
const LEAVE: Duration = Duration::from_secs(20);

/// How long its time may take to end after the guest ended early: the guest may never have
/// connected.
const GONE: Duration = Duration::from_secs(2);

/// The disks of a guest and the calendar that keeps their time, in its directory.
pub(super) struct TimedDisks {
    pub calendar: UnixListener,
    pub calendar_disks: Vec<CalendarDisk>,
    pub kind: DiskKind,
    /// Whether they have volatile caches that a power cut empties.
    pub volatile: bool,
}

impl TimedDisks {
    /// Creates disks on these images; a missing image is created with this size.
    pub fn create(
        disk: &DiskBuilder,
        (images, size): (&[PathBuf], Bytes),
        scratch: &Path,
        recorder: impl Fn(usize) -> Result<Recorder, String>,
    ) -> Result<Self, String> {
        let calendar = listen(scratch, time_travel::CALENDAR)?;
        let mut calendar_disks = Vec::new();
        for (number, path) in images.iter().enumerate() {
            let server = listen(scratch, &time_travel::disk_socket(number))?;
            let made = disk.make(path, (number, size), recorder(number)?)?;
            let name = format!("disk{number}");
            calendar_disks.push(CalendarDisk::new(name, made, server, disk.discards()));
        }
        Ok(Self {
            calendar,
            calendar_disks,
            kind: disk.kind(),
            volatile: !disk.keeps_writes(),
        })
    }

    /// Keeps the guest's time from now on, and reads its line.
    pub fn keep(self, mut line: Line, setting: Setting) -> Kept {
        let stop = CancelToken::new();
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let mut calendar_disks = self.calendar_disks;
            let mut marks = || line.marks();
            let passed = calendar::serve(
                &self.calendar,
                &mut calendar_disks,
                setting,
                &mut marks,
                &stopped,
            );
            // After any end, read the remaining messages.
            line.marks();
            let recorders = calendar_disks
                .iter_mut()
                .filter_map(|slot| slot.disk.take_recorder());
            (passed, recorders.collect())
        });
        Kept { thread, stop }
    }
}

/// A socket of this name in the directory of a guest.
pub(super) fn listen(scratch: &Path, name: &str) -> Result<UnixListener, String> {
    let path = scratch.join(name);
    let failed = |error| format!("cannot listen at {}: {error}", path.display());
    UnixListener::bind(&path).map_err(failed)
}

/// The time of a guest and its disks, kept in a separate thread, and the recorders of the disks.
pub(super) struct Kept {
    thread: JoinHandle<(Result<Passed, CalendarError>, Vec<Recorder>)>,
    stop: CancelToken,
}

impl Kept {
    /// The result after the guest has ended; `reported` is whether its messages were complete.
    pub fn end(self, reported: bool) -> (Result<Passed, CalendarError>, Vec<Recorder>) {
        let deadline = Instant::now() + if reported { LEAVE } else { GONE };
        while !self.thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.stop.request();
        // The calendar checks for cancellation several times a second.
        let ended = self.thread.join();
        ended.unwrap_or((Err(CalendarError::Stopped), Vec::new()))
    }
}

impl GuestLab {
    /// Creates disks and calendar, starts the guest, and reads its messages to the end.
    pub(super) fn in_virtual_time(
        &self,
        notes: &mut Notes<'_>,
        plan: &Plan,
        cell: Cell,
        model: &ModelDisk,
    ) -> Result<CellRecord, CellEnd> {
        let _one = OneProcessor::here();
        notes.enter(Stage::Device);
        let scratch = self.scratch_of(notes, cell)?;
        let contender = &plan.contenders[cell.contender as usize];
        let (alone, of_guest) = plan_of_cell(plan, cell);
        let task = Task::Run {
            plan: Box::new(alone),
            cell: of_guest,
        };
        write_task(scratch.path(), &task).map_err(|e| notes.halt(e, None))?;
        let images: Vec<PathBuf> = (0..devices_of(contender))
            .map(|number| disk(scratch.path(), number))
            .collect();
        let kernel = self.profiles.as_ref().and(self.machine.kernel());
        let log = kernel.map(|kernel| RequestLog::new(kernel, contender));
        let recorder = |disk: usize| match &log {
            Some(Ok(log)) => Ok(log.recorder(&images[disk])),
            _ => recorder(plan.disk_trace.as_ref(), cell, disk),
        };
        let place = (images.as_slice(), self.images.of(cell));
        let placement = plan.draw(Vary::Placement, cell.block);
        let timed_disks = DiskBuilder::of(model)
            .and_then(|disk| {
                let disk = disk.placed(placement);
                let disk = match &log {
                    Some(_) => disk.with_contents_at_submission(),
                    None => disk,
                };
                TimedDisks::create(&disk, place, scratch.path(), recorder)
            })
            .map_err(|e| notes.halt(e, None))?;
        let size = (memory_for(plan, contender), images.len(), timed_disks.kind);
        let names = plan.draw(Vary::Names, cell.block);
        let started = self.start_in_virtual_time(size, names, scratch.path());
        let (mut guest, line) = started.map_err(|e| notes.halt(e.to_string(), None))?;
        notes.guest(guest.argv());
        if let Some(Ok(log)) = &log {
            log.started(&guest);
        }
        let (line, words) =
            Line::new(line).map_err(|e| notes.halt(format!("the line to the guest: {e}"), None))?;
        let volatile = timed_disks.volatile;
        let mut setting = Setting::default();
        if let Some(random) = names {
            setting.time_of_day += Seed::new(random).below(MONTH_NS);
        }
        let kept = timed_disks.keep(line, setting);
        let received = self.receive(&mut guest, &words, notes);
        if received.is_ok() {
            // The guest exits by itself, or is killed by its guard.
            let _ = guest.wait(LEAVE);
        }
        let last = guest.end(LAST_LINES);
        let (passed, recorders) = kept.end(received.is_ok());
        if let Some(log) = log {
            self.read_profile(cell, scratch.path(), (log, &recorders))
                .map_err(|e| notes.halt(with(&e, &last), None))?;
        }
        recorded::found_warnings(&recorders).for_each(|warning| notes.warn(warning));
        recorded::add(notes.samples(), &recorders, volatile);
        match (received, passed) {
            (Ok(mut record), Ok(passed)) => {
                notes.effective(Effective::DISK, reported(plan, model, &passed));
                recorded::add(&mut record.samples, &recorders, volatile);
                if let Outcome::Failed(failure) = &mut record.outcome {
                    failure.message.extend(disks::remark(in_all(&passed)));
                    failure.message.extend(known_cause(&last));
                }
                Ok(record)
            }
            (Err(NoRecord::Stopped), _) => Err(CellEnd::Stopped),
            (
                Err(NoRecord::Refused(what) | NoRecord::Gone(what)),
                Ok(_) | Err(CalendarError::Stopped),
            ) => Err(notes.halt(with(&what, &last), None)),
            // One error causes the other.
            (Err(NoRecord::Gone(what)), Err(error)) => {
                Err(notes.halt(with(&format!("{what}; {error}"), &last), None))
            }
            (_, Err(error)) => Err(notes.halt(with(&error.to_string(), &last), None)),
        }
    }

    /// Hands on the profile that its kernel wrote, if one is wanted.
    fn read_profile(
        &self,
        cell: Cell,
        scratch: &Path,
        (log, recorders): (Result<RequestLog, String>, &[Recorder]),
    ) -> Result<(), String> {
        let (Some(profiles), Some(kernel)) = (&self.profiles, self.machine.kernel()) else {
            return Ok(());
        };
        let symbols = Symbols::of(kernel)
            .map_err(|e| format!("cannot read the symbols of {}: {e}", kernel.display()))?;
        let read = profile::read(&scratch.join(time_travel::PROFILE), &symbols);
        let profile = CellProfile {
            parts: read.map_err(|e| e.to_string())?,
            requests: log.and_then(|log| log.end(recorders, &symbols)),
        };
        // A panic leaves complete entries.
        let mut all = profiles.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(cell.index, profile);
        Ok(())
    }

    /// Starts a guest with this memory and this number of disks of that kind. Its calendar, disks and
    /// task are in `scratch`. Its random numbers depend on `random`.
    pub(super) fn start_in_virtual_time(
        &self,
        (memory, disks, kind): (Bytes, usize, DiskKind),
        random: Option<u64>,
        scratch: &Path,
    ) -> Result<(Guest, UnixStream), GuestError> {
        let program = Path::new(&self.init[0]);
        let size = time_travel::Setting {
            memory,
            disks,
            kind,
            random,
            profiled: self.profiles.is_some(),
            programs: &self.programs,
        };
        time_travel::start(&self.machine, size, program, scratch, &self.journal)
    }

    /// Reads the messages of the guest to the last.
    fn receive(
        &self,
        guest: &mut Guest,
        words: &Messages,
        notes: &mut Notes<'_>,
    ) -> Result<CellRecord, NoRecord> {
        self.wait_for_end(guest, words, &mut |word| {
            match word {
                GuestMessage::Happened { event } => notes.receive(event),
                GuestMessage::Ended { record } => return Ok(Some(*record)),
                other => match about(&other) {
                    Some(about) => notes.effective(Effective::GUEST, about),
                    None => return Err(format!("it sent {other:?}")),
                },
            }
            Ok(None)
        })
    }

    /// Reads messages of a guest until `take` returns a value.
    pub(super) fn wait_for_end<T>(
        &self,
        guest: &mut Guest,
        words: &Messages,
        take: &mut dyn FnMut(GuestMessage) -> Result<Option<T>, String>,
    ) -> Result<T, NoRecord> {
        let broken = |error: io::Error| NoRecord::Gone(format!("the line to the guest: {error}"));
        let mut gone = None;
        loop {
            if self.stop.requested() {
                return Err(NoRecord::Stopped);
            }
            match words.recv_timeout(POLL_INTERVAL) {
                Ok(Ok(GuestMessage::Refused { reason })) => return Err(NoRecord::Refused(reason)),
                Ok(Ok(word)) => {
                    if let Some(all) = take(word).map_err(NoRecord::Gone)? {
                        return Ok(all);
                    }
                }
                // Its last messages are in the socket and are forwarded within that time.
                Err(RecvTimeoutError::Timeout) => match &gone {
                    Some((status, since)) if Instant::now() > *since + GONE => {
                        return Err(NoRecord::Gone(format!("it {}", ended(*status))));
                    }
                    Some(_) => {}
                    None => {
                        let status = guest.wait(Duration::ZERO).map_err(broken)?;
                        gone = status.map(|status| (status, Instant::now()));
                    }
                },
                // The guest has exited, or its time has ended.
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                    let status = guest.wait(GONE).map_err(broken)?;
                    let how = status.map_or("closed its line".to_owned(), ended);
                    return Err(NoRecord::Gone(format!("it {how}")));
                }
            }
        }
    }
}

/// The reason why a guest did not complete its task.
pub(super) enum NoRecord {
    Stopped,
    Refused(String),
    /// The failure, or the unexpected message.
    Gone(String),
}

pub(super) fn about(word: &GuestMessage) -> Option<String> {
    let GuestMessage::Ready {
        kernel,
        build,
        memory,
        ..
    } = word
    else {
        return None;
    };
    let memory = Bytes(*memory);
    Some(format!(
        "{kernel} (User-mode Linux), {build}, {memory} of memory, in virtual time"
    ))
}

/// Writes the task of the guest to a file.
pub(super) fn write_task(scratch: &Path, task: &Task) -> Result<(), String> {
    let path = scratch.join(time_travel::TASK);
    let text = serde_json::to_vec(task).map_err(io::Error::from);
    let written = text.and_then(|text| fs::write(&path, text));
    written.map_err(|error| {
        format!(
            "cannot write the guest's task to {}: {error}",
            path.display()
        )
    })
}

/// The sum of the requests to its disks.
fn in_all(passed: &Passed) -> Served {
    let mut served = Served::default();
    for one in &passed.served {
        served += *one;
    }
    served
}

/// The disk, the time and the digest, for the record.
fn reported(plan: &Plan, model: &ModelDisk, passed: &Passed) -> String {
    format!(
        "{}, virtual time with {}; in all {}, {}, digest {}",
        disks::describe_disk(model),
        plan.processor(),
        passed.time,
        disks::figures(in_all(passed)),
        passed.digest
    )
}

fn with(what: &str, last: &[String]) -> String {
    with_last(format!("the guest in virtual time: {what}"), last)
}
