//! A power cut in virtual time: the guest stops at a moment of its own time, and its model disks
//! lose their volatile caches. Another guest, also in virtual time, recovers the file system. The
//! same seed gives the same power cut on any machine.

use super::crash::{CrashTest, Written};
use super::line::Line;
use super::session::with_last;
use super::virtual_time::{NoRecord, TimedDisks, about, write_task};
use super::{GuestLab, GuestLabError, LAST_LINES};
use crate::disks::DiskBuilder;
use crate::messages::{GuestMessage, Task};
use fsdyno_datasets::seed::Seed;
use fsdyno_disk::Recorder;
use fsdyno_disk::transports::calendar::{
    self, CalendarDisk, CalendarError, End, Marks, Passed, Setting,
};
use fsdyno_guests::protocol::FrameReader;
use fsdyno_guests::{Guest, OneProcessor, ended};
use fsdyno_model::{Bytes, CacheLoss, CancelToken, ModelDisk, Nanos, Recovery, WorkLoss};
use std::fs;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::thread;
use std::time::{Duration, Instant};

/// How often the guest and cancellation are checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// How long processes of a guest that has ended may keep its line to the calendar open.
const LEAVE: Duration = Duration::from_secs(5);

/// The start time of the recovering guest: the next day, after all time stamps of the file system.
const NEXT_DAY: u64 = 24 * 3600 * 1_000_000_000;

/// Disks of a profile on these images.
fn timed_disks(
    model: &ModelDisk,
    place: (&[PathBuf], Bytes),
    scratch: &Path,
) -> Result<TimedDisks, GuestLabError> {
    let disk = DiskBuilder::of(model).map_err(guest_failed)?;
    TimedDisks::create(&disk, place, scratch, figures).map_err(guest_failed)
}

impl GuestLab {
    /// Lets a guest write, then ends the guest and its disks as a power cut would.
    pub(super) fn write_in_virtual_time(
        &self,
        test: CrashTest<'_>,
        model: &ModelDisk,
        scratch: &Path,
        disks: &[PathBuf],
    ) -> Result<Written, GuestLabError> {
        let _one = OneProcessor::here();
        let task = Task::Write {
            contender: Box::new(test.contender.clone()),
            seed: test.seed,
            program: test.program.cloned().map(Box::new),
        };
        write_task(scratch, &task).map_err(guest_failed)?;
        let TimedDisks {
            calendar,
            mut calendar_disks,
            kind,
            ..
        } = timed_disks(model, (disks, size(disks)?), scratch)?;
        let size = (self.size.memory, disks.len(), kind);
        let (mut guest, line) = self.start_in_virtual_time(size, None, scratch)?;
        let mut acknowledgements =
            AckReader::of(line, test.writing()).map_err(|e| guest_failed(e.to_string()))?;
        let stop = CancelToken::new();
        let passed = thread::scope(|threads| {
            let keeping = threads.spawn(|| {
                let mut end = |now| acknowledgements.end(now);
                let setting = Setting::default();
                let watch = (&mut Vec::new as Marks<'_>, &mut end as End<'_>);
                calendar::serve_until(&calendar, &mut calendar_disks, setting, watch, &stop)
            });
            self.watch(&mut guest, &stop, || keeping.is_finished());
            keeping.join().unwrap_or(Err(CalendarError::Stopped))
        });
        let status = guest.wait(Duration::ZERO).ok().flatten();
        let last = guest.end(LAST_LINES);
        if self.stop.requested() {
            return Err(GuestLabError::Stopped);
        }
        let passed = acknowledgements.check_power_cut(passed, status);
        let passed = passed.map_err(|what| guest_failed(with_last(what, &last)))?;
        let disk = power_cut(&mut calendar_disks, &passed, test.seed).map_err(guest_failed)?;
        let first = acknowledgements.first().unwrap_or(passed.time);
        let times = acknowledgements.times.iter();
        Ok(Written {
            guest: acknowledgements.guest,
            acknowledged: acknowledgements.acknowledged,
            returned: times.map(|at| Nanos(at.0 - first.0)).collect(),
            after: Nanos(passed.time.0 - first.0),
            disk: Some(disk),
        })
    }

    /// Waits until the guest's time has ended. Ends the time if the guest has exited or the user
    /// cancelled.
    fn watch(&self, guest: &mut Guest, time: &CancelToken, ended: impl Fn() -> bool) {
        let mut gone: Option<Instant> = None;
        while !ended() {
            if gone.is_none() && !matches!(guest.wait(Duration::ZERO), Ok(None)) {
                gone = Some(Instant::now());
            }
            if self.stop.requested() || gone.is_some_and(|since| since.elapsed() > LEAVE) {
                time.request();
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Lets another guest recover the file system of these images and judge it.
    pub(super) fn recover_in_virtual_time(
        &self,
        task: &Task,
        model: &ModelDisk,
        scratch: &Path,
        disks: &[PathBuf],
    ) -> Result<(Recovery, Option<Vec<WorkLoss>>), GuestLabError> {
        let mut setting = Setting::default();
        setting.time_of_day += NEXT_DAY;
        let report =
            self.report_in_virtual_time((task, setting), model, scratch, disks, &mut |word| {
                match word {
                    GuestMessage::Recovered { recovery, work } => Ok(Some((*recovery, work))),
                    other if about(&other).is_some() => Ok(None),
                    other => Err(format!("it sent {other:?}")),
                }
            })?;
        // The kernel crashed on this file system, which is the result of the recovery.
        Ok(report.unwrap_or_else(|what| {
            let recovery = Recovery {
                beyond_repair: Some(what),
                ..Recovery::default()
            };
            (recovery, None)
        }))
    }

    /// Lets a guest in virtual time perform a task on these images; returns what `take` makes of its
    /// messages, or how the guest ended before that.
    pub(super) fn report_in_virtual_time<T>(
        &self,
        (task, setting): (&Task, Setting),
        model: &ModelDisk,
        scratch: &Path,
        disks: &[PathBuf],
        take: &mut dyn FnMut(GuestMessage) -> Result<Option<T>, String>,
    ) -> Result<Result<T, String>, GuestLabError> {
        let _one = OneProcessor::here();
        write_task(scratch, task).map_err(guest_failed)?;
        let place = (disks, size(disks)?);
        let timed_disks = timed_disks(model, place, scratch)?;
        let size = (self.size.memory, disks.len(), timed_disks.kind);
        let (mut guest, line) = self.start_in_virtual_time(size, None, scratch)?;
        let (line, words) = Line::new(line).map_err(|e| guest_failed(e.to_string()))?;
        let kept = timed_disks.keep(line, setting);
        let received = self.wait_for_end(&mut guest, &words, take);
        if received.is_ok() {
            // The report is complete; the exit status does not matter.
            let _ = guest.wait(LEAVE);
        }
        let last = guest.end(LAST_LINES);
        let (passed, _) = kept.end(received.is_ok());
        let what = match (received, passed) {
            (Ok(report), _) => return Ok(Ok(report)),
            (Err(NoRecord::Stopped), _) => return Err(GuestLabError::Stopped),
            (Err(NoRecord::Refused(reason)), _) => {
                return Err(guest_failed(format!("could not begin: {reason}")));
            }
            // The guest never connected.
            (_, Err(error @ (CalendarError::Host { .. } | CalendarError::NotConnected(_)))) => {
                return Err(guest_failed(error.to_string()));
            }
            (Err(NoRecord::Gone(what)), Ok(_) | Err(CalendarError::Stopped)) => what,
            // One error causes the other.
            (Err(NoRecord::Gone(what)), Err(error)) => format!("{what}; {error}"),
        };
        Ok(Err(format!("the guest: {}", with_last(what, &last))))
    }
}

/// A recorder for a disk whose losses alone are reported.
#[expect(clippy::unnecessary_wraps, reason = "others record to files")]
fn figures(_disk: usize) -> Result<Recorder, String> {
    Ok(Recorder::figures())
}

fn guest_failed(what: String) -> GuestLabError {
    GuestLabError::Died { what }
}

/// The size of the disks in these images.
fn size(disks: &[PathBuf]) -> Result<Bytes, GuestLabError> {
    let Some(first) = disks.first() else {
        return Ok(Bytes(0));
    };
    let about =
        fs::metadata(first).map_err(|e| guest_failed(format!("{}: {e}", first.display())))?;
    Ok(Bytes(about.len()))
}

/// Cuts the power of all disks at the same moment.
fn power_cut(
    calendar_disks: &mut [CalendarDisk],
    passed: &Passed,
    seed: u64,
) -> Result<CacheLoss, String> {
    let mut all = CacheLoss {
        digest: passed.digest.clone(),
        ..CacheLoss::default()
    };
    for (number, slot) in (0..).zip(calendar_disks) {
        let seed = Seed::new(seed).part("power").at(number).value();
        let remains = slot.disk.remains();
        let lost = slot.disk.power_cut(passed.time, seed, remains);
        let lost = lost.map_err(|e| format!("cannot cut the power of {}: {e}", slot.name))?;
        all.lost += lost.lost;
        all.torn += lost.torn;
        all.landed += lost.landed;
        all.in_flight += lost.in_flight;
        all.sectors_lost += lost.sectors_lost;
    }
    Ok(all)
}

/// Reads the acknowledgements of a guest and sets the time of the power cut: a delay after the
/// first acknowledgement, in the guest's time. Before that, the guest makes its file system.
struct AckReader {
    reader: FrameReader<UnixStream, GuestMessage>,
    writing: Nanos,
    guest: String,
    acknowledged: u64,
    /// The times of the acknowledgements.
    times: Vec<Nanos>,
    /// The reason why the guest refused to write.
    refused: Option<String>,
}

impl AckReader {
    fn of(line: UnixStream, writing: Duration) -> io::Result<Self> {
        // Messages that the guest sent before it stops are readable at once.
        line.set_nonblocking(true)?;
        Ok(Self {
            reader: FrameReader::new(line),
            writing: Nanos::from(writing),
            guest: String::new(),
            acknowledged: 0,
            times: Vec::new(),
            refused: None,
        })
    }

    /// Reads the messages so far; returns the time of the power cut once it is known.
    fn end(&mut self, now: Nanos) -> Option<Nanos> {
        while self.refused.is_none() {
            match self.reader.read() {
                Ok(None) => break,
                Ok(Some(GuestMessage::Acknowledged { operations })) => {
                    self.times.push(now);
                    self.acknowledged = operations;
                }
                Ok(Some(GuestMessage::Refused { reason })) => self.refused = Some(reason),
                Ok(Some(word)) => match about(&word) {
                    Some(about) => self.guest = about,
                    None => self.refused = Some(format!("it sent {word:?}")),
                },
                Err(error) => self.refused = Some(format!("the line to the guest: {error}")),
            }
        }
        if self.refused.is_some() {
            return Some(now);
        }
        self.first().map(|first| Nanos(first.0 + self.writing.0))
    }

    /// The time of the first acknowledgement.
    fn first(&self) -> Option<Nanos> {
        self.times.first().copied()
    }

    /// The state at the power cut, or the reason why there was no power cut.
    fn check_power_cut(
        &mut self,
        passed: Result<Passed, CalendarError>,
        status: Option<ExitStatus>,
    ) -> Result<Passed, String> {
        match (&self.refused, passed) {
            (Some(reason), _) => Err(format!("could not write: {reason}")),
            (None, Ok(passed)) if passed.power_cut => Ok(passed),
            // The guest ended before its power cut.
            (None, Ok(_) | Err(CalendarError::Stopped)) => {
                Err(status.map_or("ended before its power cut".to_owned(), ended))
            }
            (None, Err(error)) => {
                let how = status.map(|status| format!("; the guest {}", ended(status)));
                Err(format!("{error}{}", how.unwrap_or_default()))
            }
        }
    }
}
