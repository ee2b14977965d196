//! The first process inside a guest: it performs the tasks of the host and exits.
//!
//! A guest runs one cell on the host lab of its own kernel; its disks are the devices. In a crash
//! test it writes until the power cut, and another guest recovers the file system (`crash`). In
//! virtual time its task is in a file (`isolation`). A guest that explores crash states receives
//! commands over a disk (`explore`). Another one fills its file system (`full`).

mod crash;
mod explore;
mod full;
mod isolation;

pub use crash::promises_of;
pub use isolation::run_in_guest;

use crate::Lab;
use crate::labs::LowerLayer;
use crate::labs::host::HostLab;
use crate::messages::{GuestMessage, Task};
use crate::missing::Missing;
use crate::model_cpu;
use crate::preflight::Preflight;
use fsdyno_guests::inside;
use fsdyno_guests::protocol::{FrameReader, FrameWriter};
use fsdyno_host::guard::{self, Consent, Released};
use fsdyno_host::journal::Journal;
use fsdyno_model::{Bytes, CancelToken, Cell, CellRecord, Contender, DeviceChoice, Nanos, Plan};
use fsdyno_observe::counters::machine_cpu;
use fsdyno_observe::kernel_work::WorkCounter;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

const BEAT: Duration = Duration::from_secs(2);

/// Processor time between two heartbeats: less than this is the heartbeat itself.
const RESTING: u128 = 20;

/// The reason why a guest failed.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "this is the first process of a guest, and fsdyno starts it there by itself: see fsdyno run --lab"
    )]
    NoGuest,
    /// The initialisation of the guest failed.
    #[error(transparent)]
    GuestInitError(#[from] inside::GuestInitError),
    /// The connection to the host failed.
    #[error("the line to the host: {0}")]
    Line(#[from] io::Error),
}

type HostMessages = FrameReader<File, Task>;

/// Writes the messages of the guest, from any thread.
#[derive(Clone)]
struct MessageWriter(Arc<Mutex<FrameWriter<File>>>);

impl MessageWriter {
    fn write(&self, word: &GuestMessage) -> io::Result<()> {
        let mut writer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write(word)
    }
}

/// Runs a shell on the terminal of the guest, then ends it.
pub fn shell() -> Result<(), ServeError> {
    if !inside::is_first() {
        return Err(ServeError::NoGuest);
    }
    inside::set_up_guest()?;
    inside::shell()?;
    Err(inside::power_off().into())
}

/// Performs the tasks of the host until it sends `Leave`; then ends the guest.
pub fn serve() -> Result<(), ServeError> {
    if !inside::is_first() {
        return Err(ServeError::NoGuest);
    }
    let place = inside::set_up_guest()?;
    let line = inside::channel()?;
    let mut reader = FrameReader::new(line.try_clone()?);
    let writer = MessageWriter(Arc::new(Mutex::new(FrameWriter(line))));
    writer.write(&ready())?;
    let beating = writer.clone();
    // The thread ends with the guest.
    thread::spawn(move || send_heartbeats(&beating));
    let reader = loop {
        match reader.read()? {
            Some(Task::Survey { plan }) => {
                let missing = Missing::here(&plan);
                writer.write(&GuestMessage::Missing { missing })?;
            }
            Some(Task::Run { plan, cell }) => {
                let shared = Arc::new(Mutex::new(reader));
                let host = host(&writer, &shared);
                writer.write(&run(*plan, cell, &place, &writer, Some(host)))?;
                break shared;
            }
            Some(Task::Write {
                contender,
                seed,
                program,
            }) => {
                let operations =
                    |operations| writer.write(&GuestMessage::Acknowledged { operations });
                let reason = crash::write(
                    &contender,
                    (seed, program.as_deref()),
                    &place,
                    false,
                    &operations,
                );
                writer.write(&GuestMessage::Refused { reason })?;
            }
            Some(Task::Recover {
                contender,
                seed,
                acknowledged,
                performed,
            }) => writer.write(&crash::recover_and_report(
                &contender,
                ((seed, acknowledged), performed.as_deref()),
                &place,
                false,
            ))?,
            Some(Task::Leave) => return Err(inside::power_off().into()),
            Some(Task::Explore { .. } | Task::Fill { .. }) => {
                writer.write(&GuestMessage::Refused {
                    reason: "it does this only in virtual time".to_owned(),
                })?;
            }
            Some(Task::DrivenOut { .. } | Task::KernelTime { .. }) | None => {}
        }
    };
    let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
    // Waits until the host has received everything; other tasks no longer matter.
    while !matches!(reader.read()?, Some(Task::Leave)) {}
    Err(inside::power_off().into())
}

/// The first message to the host.
fn ready() -> GuestMessage {
    let name = rustix::system::uname();
    let of_kernel = [name.sysname(), name.release()];
    let kernel = of_kernel.map(|part| part.to_string_lossy()).join(" ");
    let build = name.version().to_string_lossy().into_owned();
    let about = rustix::system::sysinfo();
    let memory = about.totalram as u64;
    GuestMessage::Ready {
        kernel,
        build,
        processors: thread::available_parallelism().map_or(1, |n| n.get() as u64),
        memory: memory.saturating_mul(u64::from(about.mem_unit)),
    }
}

/// Sends heartbeats, with the time since processors or disks were last active.
fn send_heartbeats(writer: &MessageWriter) {
    let disks = || fs::read_to_string("/proc/diskstats").unwrap_or_default();
    let busy = || machine_cpu().map(|cpu| cpu.busy_ns).unwrap_or_default();
    let (mut at, mut seen, mut spent) = (Instant::now(), disks(), busy());
    loop {
        thread::sleep(BEAT);
        let (now, used) = (disks(), busy());
        let worked = u128::from(used.0.saturating_sub(spent.0)) * RESTING > BEAT.as_nanos();
        if worked || now != seen {
            at = Instant::now();
        }
        (seen, spent) = (now, used);
        let beat = GuestMessage::Beat {
            still: at.elapsed().into(),
        };
        // The guest ends if the host is gone.
        if writer.write(&beat).is_err() {
            return;
        }
    }
}

/// Runs a cell; returns the message for the host.
fn run(
    plan: Plan,
    cell: Cell,
    place: &Path,
    writer: &MessageWriter,
    below: Option<Box<dyn LowerLayer + Send>>,
) -> GuestMessage {
    match record(plan, cell, place, writer, below) {
        Ok(record) => GuestMessage::Ended {
            record: Box::new(record),
        },
        Err(reason) => GuestMessage::Refused { reason },
    }
}

/// Runs a cell; returns its record. The error is that the guest cannot start the cell.
fn record(
    mut plan: Plan,
    cell: Cell,
    place: &Path,
    writer: &MessageWriter,
    below: Option<Box<dyn LowerLayer + Send>>,
) -> Result<CellRecord, String> {
    let contender = plan
        .contenders
        .get(cell.contender as usize)
        .ok_or("the plan has no such contender")?;
    let paths = disks(contender);
    // Inside the guest, model disks are ordinary disks.
    let virtual_time = plan.in_virtual_time();
    let model_disk = plan.disk.take().is_some();
    plan.device = if paths.is_empty() {
        DeviceChoice::None
    } else {
        DeviceChoice::Block {
            paths: paths.clone(),
        }
    };
    let mut preflight = Preflight::of(&plan, &CancelToken::new()).map_err(|e| e.to_string())?;
    place.clone_into(&mut preflight.scratch);
    let need = preflight.smallest_device(&plan);
    let released = release(&paths, need)?;
    let journal = Journal::open(&place.join("journal")).map_err(|e| e.to_string())?;
    let mut lab = HostLab::new(&plan, preflight, journal, released, CancelToken::new());
    if let Some(below) = below {
        lab = lab.above(below);
    }
    if model_disk {
        let writer = writer.clone();
        // Without a host nothing records the events.
        lab = lab.marking(move |mark| drop(writer.write(&GuestMessage::Marked { mark })));
    }
    if virtual_time {
        let prices = model_cpu::prices(plan.cpu.as_ref())?;
        let counter = WorkCounter::open(&prices.of_kernel());
        lab = lab.in_virtual_time(counter.map_err(|e| format!("the kernel's work: {e}"))?);
    }
    let record = lab.run_cell(&plan, cell, &mut |event| {
        // If the host is gone, the record does not arrive either, and the cell is repeated.
        let _ = writer.write(&GuestMessage::Happened { event });
    });
    record.ok_or_else(|| "the cell was interrupted".to_owned())
}

/// The disks of the guest that are the devices of a contender.
fn disks(contender: &Contender) -> Vec<PathBuf> {
    if !fsdyno_recipes::on_blocks(contender) {
        return Vec::new();
    }
    (0..contender.layout.devices as usize).map(disk).collect()
}

/// The path of a disk of this guest: a model disk, if the guest has them.
fn disk(number: usize) -> PathBuf {
    let own = inside::disk(number);
    let model = own.display().to_string().replace("ubd", "vd");
    let model = PathBuf::from(model);
    if model.exists() { model } else { own }
}

/// The guard releases disks of the guest: image files that were created for this guest alone.
fn release(paths: &[PathBuf], need: Bytes) -> Result<Vec<Released>, String> {
    // A model disk has its own device name.
    let consent = |path: &PathBuf| {
        let description = guard::examine(path).map_err(|e| e.to_string())?;
        let identity = description.identity.name_to_type().to_owned();
        Ok(Consent {
            identity,
            signatures: Vec::new(),
            // The root directory and its fstab may be those of the host, which has other devices.
            configured: true,
        })
    };
    let consents = paths.iter().map(consent);
    let consents = consents.collect::<Result<Vec<_>, String>>()?;
    guard::release(paths, &consents, need).map_err(|e| e.to_string())
}

/// The host, which caches the disks in its memory.
struct Host {
    writer: MessageWriter,
    reader: Arc<Mutex<HostMessages>>,
}

fn host(writer: &MessageWriter, reader: &Arc<Mutex<HostMessages>>) -> Box<dyn LowerLayer + Send> {
    Box::new(Host {
        writer: writer.clone(),
        reader: Arc::clone(reader),
    })
}

impl Host {
    /// Sends a message, and waits for its answer.
    fn request(&self, question: &GuestMessage) -> Result<Task, String> {
        self.writer
            .write(question)
            .map_err(|error| error.to_string())?;
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = reader.read().map_err(|error| error.to_string())?;
        answer.ok_or_else(unexpected)
    }
}

fn unexpected() -> String {
    io::Error::from(ErrorKind::InvalidData).to_string()
}

impl LowerLayer for Host {
    fn name(&self) -> &'static str {
        "the memory of the host"
    }

    fn evict_devices(&mut self) -> Result<u64, String> {
        match self.request(&GuestMessage::DriveOut)? {
            Task::DrivenOut { stayed } => stayed,
            _ => Err(unexpected()),
        }
    }

    fn kernel_time(&mut self) -> Result<Nanos, String> {
        match self.request(&GuestMessage::KernelTime)? {
            Task::KernelTime { time } => time,
            _ => Err(unexpected()),
        }
    }
}
