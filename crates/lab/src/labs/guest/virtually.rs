//! A cell in virtual time: its guest on model disks, whose time this process keeps. The guest is
//! given its task in a file and tells what happens; it is asked nothing.

use super::conversation::with_last;
use super::line::{Line, Words};
use super::recording::recorder;
use super::{GuestLab, LAST_LINES};
use crate::labs::notes::Notes;
use crate::labs::recorded;
use crate::procedure::Halt;
use crate::talk::{Task, Word};
use fsdyno_disk::fronts::calendar::{self, CalendarError, Passed, Seat, Setting};
use fsdyno_disk::{Disk, Faults, Profile, Recorder, SparseFile};
use fsdyno_host::guest::{Guest, ended, traveller};
use fsdyno_host::image::Scratch;
use fsdyno_model::{Bytes, Cell, CellRecord, Effective, ModelDisk, Plan, Stage, Step, Stop};
use std::fs;
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::mpsc::RecvTimeoutError;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a wish to stop is looked for.
const LOOK: Duration = Duration::from_millis(50);

/// How long a guest that has told all may take to end.
const LEAVE: Duration = Duration::from_secs(20);

/// The model disk of a profile: its name, or a file. An error is told in words.
pub fn model_disk(name: &Path) -> Result<ModelDisk, String> {
    let profile = Profile::named(name).map_err(|error| error.to_string())?;
    Ok(ModelDisk {
        profile: profile.name,
        text: profile.text,
    })
}

/// The disks of a guest and its calendar, waiting for it.
struct Waiting {
    calendar: UnixListener,
    seats: Vec<Seat>,
}

impl Waiting {
    /// Makes the disks and listens for the guest.
    fn begin(
        model: &ModelDisk,
        (disks, size): (usize, Bytes),
        scratch: &Path,
        recorder: impl Fn(usize) -> Result<Recorder, String>,
    ) -> Result<Self, String> {
        let profile = Profile::parse(&model.profile, &model.text).map_err(|e| e.to_string())?;
        let listen = |name: &str| {
            let path = scratch.join(name);
            let failed = |error| format!("cannot listen at {}: {error}", path.display());
            UnixListener::bind(&path).map_err(failed)
        };
        let calendar = listen(traveller::CALENDAR)?;
        let mut seats = Vec::new();
        for number in 0..disks {
            let listener = listen(&traveller::disk_socket(number))?;
            let path = scratch.join(format!("disk{number}.img"));
            let contents = SparseFile::create(&path, size.0)
                .map_err(|error| format!("cannot make {}: {error}", path.display()))?;
            let mut disk = Disk::new(&profile, Some(size), Box::new(contents), Faults::default());
            disk.record(recorder(number)?);
            let discards = profile.timing.discards();
            seats.push(Seat::new(format!("disk{number}"), disk, listener, discards));
        }
        Ok(Self { calendar, seats })
    }

    /// Keeps the guest's time from now on, and hears it meanwhile.
    fn keep(self, mut line: Line) -> Kept {
        let stop = Stop::new();
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            let mut seats = self.seats;
            let setting = Setting::default();
            let mut marks = || line.marks();
            let passed = calendar::serve(&self.calendar, &mut seats, setting, &mut marks, &stopped);
            // However that ended, what had been said is heard.
            line.marks();
            let recorders = seats
                .iter_mut()
                .filter_map(|seat| seat.disk.take_recorder());
            (passed, recorders.collect())
        });
        Kept { thread, stop }
    }
}

/// The time of a guest and its disks, kept in a thread of its own; and what the disks recorded.
struct Kept {
    thread: JoinHandle<(Result<Passed, CalendarError>, Vec<Recorder>)>,
    stop: Stop,
}

impl Kept {
    /// What has passed, once the guest has gone.
    fn end(self) -> (Result<Passed, CalendarError>, Vec<Recorder>) {
        let deadline = Instant::now() + LEAVE;
        while !self.thread.is_finished() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.stop.request();
        // It looks for the wish several times a second.
        let ended = self.thread.join();
        ended.unwrap_or((Err(CalendarError::Stopped), Vec::new()))
    }
}

impl GuestLab {
    /// Makes disks and time, starts the guest, and hears it to its end.
    pub(super) fn in_virtual_time(
        &self,
        notes: &mut Notes<'_>,
        plan: &Plan,
        cell: Cell,
        model: &ModelDisk,
    ) -> Result<CellRecord, Halt> {
        notes.enter(Stage::Device);
        let place = self.place(&cell.index.to_string());
        let step = Step::MakeDirectory {
            path: place.clone(),
        };
        let scratch = notes.by_call(&step, || Scratch::create(&place, &self.journal));
        let scratch = scratch.map_err(|e| notes.halt(e.to_string(), None))?;
        let contender = &plan.contenders[cell.contender as usize];
        let on_blocks = fsdyno_recipes::on_blocks(contender);
        let disks = if on_blocks {
            contender.layout.devices as usize
        } else {
            0
        };
        lay_task(scratch.path(), plan, cell)
            .map_err(|e| notes.halt(format!("cannot lay down the task of the guest: {e}"), None))?;
        let recorder = |disk| recorder(plan.disk_record.as_ref(), cell, disk);
        let waiting = Waiting::begin(model, (disks, self.image_bytes), scratch.path(), recorder)
            .map_err(|e| notes.halt(e, None))?;
        let size = (self.size.memory, disks);
        let program = Path::new(&self.init[0]);
        let started = traveller::start(&self.machine, size, program, scratch.path(), &self.journal);
        let (mut guest, line) = started.map_err(|e| notes.halt(e.to_string(), None))?;
        notes.guest(guest.argv());
        let (line, words) =
            Line::new(line).map_err(|e| notes.halt(format!("the line to the guest: {e}"), None))?;
        let kept = waiting.keep(line);
        let heard = self.hear(&mut guest, &words, notes);
        if heard.is_ok() {
            // It ends by itself; what does not is ended with its guard.
            let _ = guest.wait(LEAVE);
        }
        let last = guest.end(LAST_LINES);
        let (passed, recorders) = kept.end();
        recorded::doubts(&recorders).for_each(|doubt| notes.warn(doubt));
        recorded::add(notes.samples(), &recorders);
        match (heard, passed) {
            (Ok(mut record), Ok(passed)) => {
                notes.effective(Effective::DISK, told(model, &passed));
                recorded::add(&mut record.samples, &recorders);
                Ok(record)
            }
            (Err(None), _) => Err(Halt::Stopped),
            (Err(Some(what)), Ok(_)) => Err(notes.halt(with(&what, &last), None)),
            // The guest died of it.
            (_, Err(error)) => Err(notes.halt(with(&error.to_string(), &last), None)),
        }
    }

    /// What the guest tells, until it has told all. An error is what it said or did instead, or
    /// none where the user wants to stop.
    fn hear(
        &self,
        guest: &mut Guest,
        words: &Words,
        notes: &mut Notes<'_>,
    ) -> Result<CellRecord, Option<String>> {
        let broken = |error: io::Error| Some(format!("the line to the guest: {error}"));
        let mut gone = None;
        loop {
            if self.stop.requested() {
                return Err(None);
            }
            match words.recv_timeout(LOOK) {
                Ok(Ok(Word::Ready {
                    kernel,
                    build,
                    memory,
                    ..
                })) => {
                    let memory = Bytes(memory);
                    let about = format!(
                        "{kernel} (User-mode Linux), {build}, {memory} of memory, in virtual time"
                    );
                    notes.effective(Effective::GUEST, about);
                }
                Ok(Ok(Word::Happened { event })) => notes.hear(event),
                Ok(Ok(Word::Ended { record })) => return Ok(*record),
                Ok(Ok(Word::Refused { reason })) => return Err(Some(reason)),
                Ok(Ok(other)) => return Err(Some(format!("it said {other:?}"))),
                Ok(Err(error)) => {
                    let status = guest.wait(Duration::from_secs(1)).ok().flatten();
                    return Err(status.map_or_else(|| broken(error), |of| Some(ended(of))));
                }
                // Its time is kept no longer.
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Some("it ended without a word".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    // It may have ended before anybody kept its time.
                    if guest.wait(Duration::ZERO).map_err(broken)?.is_some() {
                        let since = *gone.get_or_insert_with(Instant::now);
                        if since.elapsed() > LEAVE {
                            return Err(Some("it ended without a word".to_owned()));
                        }
                    }
                }
            }
        }
    }
}

/// Writes down what the guest is to do.
fn lay_task(scratch: &Path, plan: &Plan, cell: Cell) -> io::Result<()> {
    let mut plan = plan.clone();
    // Where its disks lie on this machine is nothing to the guest.
    plan.work_dir = None;
    plan.disk_record = None;
    plan.device = fsdyno_model::DeviceChoice::None;
    let task = Task::Run {
        plan: Box::new(plan),
        cell,
    };
    fs::write(scratch.join(traveller::TASK), serde_json::to_vec(&task)?)
}

/// The disk, the time and the digest, for the record.
fn told(model: &ModelDisk, passed: &Passed) -> String {
    let reads: u64 = passed.served.iter().map(|served| served.reads).sum();
    let writes: u64 = passed.served.iter().map(|served| served.writes).sum();
    let flushes: u64 = passed.served.iter().map(|served| served.flushes).sum();
    format!(
        "{} (model), virtual time: storage time with infinitely fast processors; in all {}, {reads} \
         reads, {writes} writes, {flushes} flushes, digest {}",
        model.profile, passed.time, passed.digest
    )
}

fn with(what: &str, last: &[String]) -> String {
    with_last(format!("the guest in virtual time: {what}"), last)
}
