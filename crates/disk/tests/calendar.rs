//! Virtual time with a scripted guest. The same script gives equal times and an equal digest. Disks
//! have separate arms. A misbehaving guest gives a specific error.

#[path = "support/frontend.rs"]
#[expect(dead_code, reason = "each test uses a part of it")]
mod frontend;

use frontend::{FLUSH, Frontend, READ, WRITE, halves, receive, send, words};
use fsdyno_disk::record::{Record, Records, Writer};
use fsdyno_disk::transports::calendar::{
    CalendarDisk, CalendarError, End, Passed, Setting, serve_until,
};
use fsdyno_disk::{Disk, Faults, Memory, Payloads, PowerCutReport, Profile, Recorder, Remains};
use fsdyno_model::{Bytes, CancelToken, Nanos};
use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use vm_memory::{Bytes as _, FileOffset, MmapRegion, VolatileMemory};

const CALENDAR: &str = "calendar";

/// Operations of the time-travel protocol.
const START: u32 = 1;
const REQUEST: u32 = 2;
const WAIT: u32 = 3;
const GET: u32 = 4;
const UPDATE: u32 = 5;
const RUN: u32 = 6;
const TIME_OF_DAY: u32 = 8;

/// The protocol side of a kernel in time-travel mode.
struct Kernel {
    line: UnixStream,
    number: u32,
    now: u64,
    /// The shared page, if used.
    page: Option<MmapRegion<()>>,
    disks: Vec<Frontend>,
}

impl Kernel {
    fn boot(folder: &Path, disks: usize, shares: bool) -> io::Result<Self> {
        let line = UnixStream::connect(folder.join(CALENDAR))?;
        let mut kernel = Self {
            line,
            number: 0,
            now: 0,
            page: None,
            disks: Vec::new(),
        };
        kernel.send(START, 0)?;
        let mut ack = [0; 16];
        let descriptors = receive(&kernel.line, &mut ack)?;
        assert_eq!(descriptors.len(), 2, "a page and a log");
        if shares {
            let file = std::fs::File::from(descriptors.into_iter().next().unwrap());
            let page = MmapRegion::from_file(FileOffset::new(file, 0), 8192).unwrap();
            let slice = page.as_volatile_slice();
            assert_eq!(slice.read_obj::<u32>(0).unwrap(), 2);
            slice.write_obj(1_u32, 4096 + 128).unwrap();
            kernel.page = Some(page);
        }
        assert!(kernel.ask(TIME_OF_DAY, 0)? >= Setting::default().time_of_day);
        for disk in 0..disks {
            let socket = folder.join(format!("disk{disk}"));
            kernel.disks.push(Frontend::connect(&socket, true)?);
        }
        Ok(kernel)
    }

    fn send(&mut self, word: u32, time: u64) -> io::Result<()> {
        self.number += 1;
        let mut bytes = halves(&[word, self.number]);
        bytes.extend(words(&[time]));
        send(&self.line, &bytes, &[])
    }

    fn receive(&mut self) -> io::Result<(u32, u64)> {
        let mut bytes = [0; 16];
        self.line.read_exact(&mut bytes)?;
        let word = u32::from_ne_bytes(bytes[..4].try_into().unwrap());
        Ok((word, u64::from_ne_bytes(bytes[8..].try_into().unwrap())))
    }

    fn ask(&mut self, word: u32, time: u64) -> io::Result<u64> {
        self.send(word, time)?;
        let (ack, time) = self.receive()?;
        assert_eq!(ack, 0);
        Ok(time)
    }

    /// Submits the new requests of a disk's ring at the current time.
    fn kick(&mut self, disk: usize) -> io::Result<()> {
        match &self.page {
            Some(page) => page.as_volatile_slice().write_obj(self.now, 16).unwrap(),
            None => drop(self.ask(UPDATE, self.now)?),
        }
        self.disks[disk].kick()
    }

    fn request(&mut self, then: u64) -> io::Result<()> {
        match &self.page {
            Some(page) => {
                let slice = page.as_volatile_slice();
                slice.write_obj(then, 4096 + 128 + 8).unwrap();
                slice.write_obj(1_u32, 4096 + 128 + 4).unwrap();
                Ok(())
            }
            None => self.ask(REQUEST, then).map(drop),
        }
    }

    /// Sleeps until a time or until a disk's completion. Returns the disk.
    fn sleep(&mut self, then: u64) -> io::Result<Option<usize>> {
        self.request(then)?;
        self.send(WAIT, 0)?;
        if self.page.is_none() {
            assert_eq!(self.receive()?.0, 0);
        }
        let mut woken = None;
        for disk in 0..self.disks.len() {
            let back = self.disks[disk].back.as_ref().unwrap();
            back.set_nonblocking(true)?;
        }
        self.line.set_nonblocking(true)?;
        let run = loop {
            for disk in 0..self.disks.len() {
                if self.called(disk)? {
                    woken = woken.or(Some(disk));
                    self.line.set_nonblocking(false)?;
                    self.now = match &self.page {
                        Some(page) => page.as_volatile_slice().read_obj(16).unwrap(),
                        None => self.ask(GET, 0)?,
                    };
                    self.request(self.now)?;
                    self.line.set_nonblocking(true)?;
                    // Like the kernel: record the interrupt, then acknowledge it.
                    let mut reply = halves(&[4, 1 | 4, 8]);
                    reply.extend(words(&[0]));
                    self.disks[disk].back.as_mut().unwrap().write_all(&reply)?;
                }
            }
            match self.receive() {
                Ok(received) => break received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                Err(error) => return Err(error),
            }
        };
        self.line.set_nonblocking(false)?;
        assert_eq!(run.0, RUN);
        self.now = run.1;
        match &self.page {
            Some(page) => page
                .as_volatile_slice()
                .write_obj(0_u32, 4096 + 128 + 4)
                .unwrap(),
            None => self.acknowledge()?,
        }
        Ok(woken)
    }

    fn acknowledge(&mut self) -> io::Result<()> {
        let mut bytes = halves(&[0, 0]);
        bytes.extend(words(&[0]));
        send(&self.line, &bytes, &[])
    }

    fn called(&mut self, disk: usize) -> io::Result<bool> {
        let mut call = [0; 20];
        let back = self.disks[disk].back.as_mut().unwrap();
        match back.read_exact(&mut call) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Runs the calendar of disks of a profile while `guest` runs.
fn kept<T: Send>(
    disks: usize,
    setting: Setting,
    guest: impl FnOnce(&Path) -> T + Send,
) -> (Result<Passed, CalendarError>, T) {
    let (passed, result, ..) = recorded(disks, setting, &Mutex::default(), guest);
    (passed, result)
}

/// The same with the guest's marks and the recording of its disks.
fn recorded<T: Send>(
    disks: usize,
    setting: Setting,
    step_log: &Mutex<Vec<String>>,
    guest: impl FnOnce(&Path) -> T + Send,
) -> (Result<Passed, CalendarError>, T, Vec<Vec<Record>>) {
    let (passed, result, records, _) = kept_until(disks, setting, step_log, &mut |_| None, guest);
    (passed, result, records)
}

/// All results of a run: the calendar's result, the guest's result, the disks' recordings, and the
/// losses of a final power cut.
type Known<T> = (
    Result<Passed, CalendarError>,
    T,
    Vec<Vec<Record>>,
    Vec<PowerCutReport>,
);

/// The same up to an end time, with a power cut of each disk at that time.
fn kept_until<T: Send>(
    disks: usize,
    setting: Setting,
    step_log: &Mutex<Vec<String>>,
    end: End<'_>,
    guest: impl FnOnce(&Path) -> T + Send,
) -> Known<T> {
    let folder = tempfile::tempdir().unwrap();
    let profile = Profile::named(Path::new("laptop-4200-2004")).unwrap();
    let calendar = UnixListener::bind(folder.path().join(CALENDAR)).unwrap();
    let of = |number| {
        let listener = UnixListener::bind(folder.path().join(format!("disk{number}"))).unwrap();
        let contents = Box::new(Memory::new());
        let mut disk = Disk::new(&profile, Some(Bytes(1 << 30)), contents, Faults::default());
        let file = std::fs::File::create(folder.path().join(format!("record{number}"))).unwrap();
        let writer = Box::new(Writer::new(file).unwrap());
        disk.record(Recorder::to(writer, Payloads::Hashes));
        CalendarDisk::new(format!("disk{number}"), disk, listener, false)
    };
    let mut calendar_disks: Vec<CalendarDisk> = (0..disks).map(of).collect();
    thread::scope(|threads| {
        let guest = threads.spawn(|| guest(folder.path()));
        let mut marks = || std::mem::take(&mut *step_log.lock().unwrap());
        let passed = serve_until(
            &calendar,
            &mut calendar_disks,
            setting,
            (&mut marks, end),
            &CancelToken::new(),
        );
        for calendar_disk in &mut calendar_disks {
            assert!(
                calendar_disk
                    .disk
                    .take_recorder()
                    .unwrap()
                    .write_error()
                    .is_none()
            );
        }
        let time = passed.as_ref().map_or(Nanos(0), |passed| passed.time);
        let power_off = |calendar_disk: &mut CalendarDisk| {
            calendar_disk
                .disk
                .power_cut(time, 1, Remains::Destaged)
                .unwrap()
        };
        let lost = calendar_disks.iter_mut().map(power_off).collect();
        // A guest that waits receives the end of its connection.
        drop((calendar, calendar_disks));
        let records = (0..disks).map(|number| {
            let file = std::fs::File::open(folder.path().join(format!("record{number}")));
            let records = Records::new(file.unwrap()).unwrap();
            records.collect::<Result<_, _>>().unwrap()
        });
        let records = records.collect();
        (passed, guest.join().unwrap(), records, lost)
    })
}

/// Reads, writes and flushes on two disks. Returns the time and the disk of each wake-up.
fn script(folder: &Path, shares: bool) -> Vec<(u64, Option<usize>)> {
    marked_script(folder, shares, |_| ())
}

/// The same with a mark before each step.
fn marked_script(
    folder: &Path,
    shares: bool,
    mut mark: impl FnMut(u64),
) -> Vec<(u64, Option<usize>)> {
    let mut kernel = Kernel::boot(folder, 2, shares).unwrap();
    let mut wakes = Vec::new();
    let mut drawn = 12345_u64;
    let mut open = 0;
    for step in 0..60_u64 {
        mark(step);
        for disk in 0..2 {
            drawn = drawn
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let sector = (drawn >> 33) % 2_000_000;
            let put = match step % 5 {
                0 => kernel.disks[disk].put(FLUSH, 0, &[], 0),
                1 | 2 => kernel.disks[disk].put(WRITE, sector, &[1; 4096], 0),
                _ => kernel.disks[disk].put(READ, sector, &[], 4096),
            };
            assert!(put.is_some());
            kernel.kick(disk).unwrap();
            open += 1;
        }
        let then = kernel.now + 7_000_000;
        let woken = kernel.sleep(then).unwrap();
        wakes.push((kernel.now, woken));
        open -= answered(&mut kernel);
    }
    while open > 0 {
        let woken = kernel.sleep(1 << 40).unwrap();
        wakes.push((kernel.now, woken));
        open -= answered(&mut kernel);
    }
    wakes
}

/// Number of successful requests.
fn answered(kernel: &mut Kernel) -> usize {
    let mut answered = 0;
    for disk in &mut kernel.disks {
        for (_, status, _) in disk.completed(0) {
            assert_eq!(status, 0);
            answered += 1;
        }
    }
    answered
}
#[test]
fn equal_guests_have_equal_times_and_digests() {
    let runs: Vec<_> = [true, true, false]
        .map(|shares| kept(2, Setting::default(), move |folder| script(folder, shares)))
        .into_iter()
        .map(|(passed, wakes)| (passed.unwrap(), wakes))
        .collect();
    let (passed, wakes) = &runs[0];
    assert!(passed.time > Nanos(100_000_000), "{passed:?}");
    assert!(wakes.iter().any(|(_, woken)| *woken == Some(1)));
    assert!(passed.served.iter().all(|served| served.flushes == 12));
    // The page and the messages give equal results.
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0], runs[2]);
}

#[test]
fn marks_keep_their_place_and_do_not_change_times() {
    let unmarked = kept(2, Setting::default(), |folder| script(folder, true));
    let unmarked = (unmarked.0.unwrap(), unmarked.1);
    let runs: Vec<_> = [true, true, false]
        .map(|shares| {
            let step_log: Mutex<Vec<String>> = Mutex::default();
            let log_step = |step: u64| step_log.lock().unwrap().push(format!("step {step}"));
            let guest = |folder: &Path| marked_script(folder, shares, log_step);
            let (passed, wakes, records) = recorded(2, Setting::default(), &step_log, guest);
            assert_eq!((passed.unwrap(), wakes), unmarked);
            records
        })
        .into();
    assert!(runs[0] == runs[1] && runs[0] == runs[2]);
    for records in &runs[0] {
        let marks = |record: &&[Record]| matches!(record[0], Record::Mark { .. });
        let steps = records.chunk_by(|_, next| !matches!(next, Record::Mark { .. }));
        let steps: Vec<&[Record]> = steps.filter(marks).collect();
        assert_eq!(steps.len(), 60);
        for (number, step) in steps.iter().enumerate() {
            let Record::Mark { text, .. } = &step[0] else {
                panic!("{step:?}");
            };
            assert_eq!(*text, format!("step {number}"));
            // Each step sends one request to each disk, directly after its mark.
            let submitted = |one: &&Record| matches!(one, Record::Submitted { .. });
            assert_eq!(step.iter().filter(submitted).count(), 1, "{step:?}");
            assert!(submitted(&&step[1]), "{step:?}");
        }
    }
}

#[test]
fn two_disks_have_separate_arms() {
    let far = |disks: usize| {
        let (_, moment) = kept(disks, Setting::default(), move |folder| {
            let mut kernel = Kernel::boot(folder, disks, true).unwrap();
            for sector in [0, 1_900_000] {
                let disk = usize::from(sector > 0) % disks;
                kernel.disks[disk].put(READ, sector, &[], 4096).unwrap();
                kernel.kick(disk).unwrap();
            }
            let mut done = 0;
            while done < 2 {
                kernel.sleep(1 << 40).unwrap();
                let completed = |disk: &mut Frontend| disk.completed(0).len();
                done += kernel.disks.iter_mut().map(completed).sum::<usize>();
            }
            kernel.now
        });
        moment
    };
    assert!(far(2) < far(1));
}

#[test]
fn a_guest_that_hangs_sleeps_forever_or_never_connects_is_an_error() {
    let short = Setting {
        timeout: Duration::from_millis(300),
        start: Duration::from_millis(300),
        ..Setting::default()
    };
    let (passed, ()) = kept(1, short, |folder| {
        let mut kernel = Kernel::boot(folder, 1, true).unwrap();
        // It runs and sends nothing.
        assert!(kernel.receive().is_err());
    });
    assert!(
        matches!(passed, Err(CalendarError::Hangs { .. })),
        "{passed:?}"
    );
    let (passed, ()) = kept(1, short, |folder| {
        let mut kernel = Kernel::boot(folder, 1, true).unwrap();
        assert!(kernel.sleep(i64::MAX as u64).is_err());
    });
    assert!(
        matches!(passed, Err(CalendarError::Sleeps { .. })),
        "{passed:?}"
    );
    let (passed, ()) = kept(1, short, |_| ());
    assert!(
        matches!(passed, Err(CalendarError::NotConnected(_))),
        "{passed:?}"
    );
}

#[test]
fn a_guest_exit_ends_the_run_and_a_malformed_message_is_an_error() {
    let (passed, ()) = kept(1, Setting::default(), |folder| {
        let mut kernel = Kernel::boot(folder, 1, false).unwrap();
        kernel.disks[0].put(READ, 0, &[], 512).unwrap();
        kernel.kick(0).unwrap();
    });
    assert_eq!(passed.unwrap().served[0].reads, 0);
    let (passed, ()) = kept(1, Setting::default(), |folder| {
        let mut line = UnixStream::connect(folder.join(CALENDAR)).unwrap();
        line.write_all(&[0xff; 16]).unwrap();
    });
    assert!(matches!(passed, Err(CalendarError::Line(_))), "{passed:?}");
    let (passed, ()) = kept(1, Setting::default(), |folder| {
        let mut kernel = Kernel::boot(folder, 1, true).unwrap();
        kernel.disks[0].offer(9999);
        let _ = kernel.kick(0);
    });
    assert!(
        matches!(passed, Err(CalendarError::Disk { .. })),
        "{passed:?}"
    );
}

#[test]
fn virtual_time_stops_at_its_end_and_the_disk_loses_volatile_writes() {
    let moment = 40_000_000;
    // The guest's completion is due after the end, before it, or never.
    for then in [moment * 10, moment / 10, i64::MAX as u64] {
        let mut end_checks = Vec::new();
        let mut end = |now: Nanos| {
            end_checks.push(now.0);
            // The end becomes known at some time.
            (now.0 > 0).then_some(Nanos(moment))
        };
        let step_log = Mutex::default();
        let (passed, acknowledged, _, lost) =
            kept_until(1, Setting::default(), &step_log, &mut end, move |folder| {
                let mut kernel = Kernel::boot(folder, 1, true).unwrap();
                let mut acknowledged = 0;
                for write in 0_u64.. {
                    let far = (write * 1_234_567) % 2_000_000;
                    kernel.disks[0].put(WRITE, far, &[1; 4096], 0).unwrap();
                    kernel.kick(0).unwrap();
                    if kernel.sleep(kernel.now + then.min(1 << 50)).is_err() {
                        break;
                    }
                    acknowledged += answered(&mut kernel);
                }
                (acknowledged, kernel.now)
            });
        let passed = passed.unwrap();
        assert!(
            passed.power_cut && passed.time == Nanos(moment),
            "{passed:?}"
        );
        assert!(end_checks.is_sorted() && end_checks.last().unwrap() <= &moment);
        let (acknowledged, stood) = acknowledged;
        assert!(stood <= moment && acknowledged > 1, "{stood}");
        // The cache acknowledges a write, so that volatile data are lost.
        let lost = lost[0];
        assert!(
            lost.lost > 0 && lost.lost <= acknowledged as u64,
            "{lost:?}"
        );
    }
    let (passed, ()) = kept(1, Setting::default(), |folder| {
        let mut kernel = Kernel::boot(folder, 1, true).unwrap();
        kernel.sleep(moment).unwrap();
    });
    assert!(!passed.unwrap().power_cut, "nobody ended it");
}
