//! The guest lab: each cell runs in a separate guest, so that a guest that hangs or panics fails
//! only its cell.

mod cell_plan;
mod crash;
pub mod explorer;
mod full;
mod line;
mod model_disk;
mod pending;
mod power_cut;
mod request_log;
mod session;
mod virtual_time;

pub use crate::disks::recording::record_place;
pub use crash::CrashTest;
pub use pending::PendingKernels;
pub(crate) use pending::PendingLab;

use crate::disks;
use crate::disks::recording::recorder;
use crate::job::Job;
use crate::labs::host::hint;
use crate::labs::limit::run_cell;
use crate::labs::{Lab, Surveyed};
use crate::messages::Task;
use crate::missing::{self, Missing};
use crate::notes::Notes;
use crate::preflight::{ImageSizes, Preflight};
use crate::procedure::CellEnd;
use cell_plan::plan_of_cell;
use fsdyno_files::Untrusted;
use fsdyno_guests::inside::memory;
use fsdyno_guests::{DiskKind, Guest, GuestError, MAX_DISKS, Machine, Setting, kernels};
use fsdyno_host::image::{Image, ImageError, Scratch};
use fsdyno_host::journal::Journal;
use fsdyno_host::place::{PlaceError, check_work_dir};
use fsdyno_model::profile::Profile;
use fsdyno_model::{
    Bytes, CancelToken, Cell, CellRecord, Contender, ContenderKernel, Effective, Event, GuestSize,
    LabChoice, Mark, Outcome, Plan, Stage, Step,
};
use model_disk::OnModelDisk;
use request_log::Requests;
use session::{GuestSession, SessionError, known_cause};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How many last lines of its console are reported for a dead guest.
const LAST_LINES: usize = 8;

/// The reason why the guest lab cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GuestLabError {
    #[error(transparent)]
    Guest(#[from] GuestError),
    /// An image or a file on the host cannot be created.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The directory of kept images cannot be used.
    #[error(transparent)]
    Kept(#[from] Untrusted),
    /// Another user could exchange what it makes.
    #[error("cannot start a guest: {0} (--work-dir)")]
    Place(#[from] PlaceError),
    /// The path of this program is unknown, so it cannot be started in a guest.
    #[error("cannot find the path of this program: {0}")]
    Program(#[source] io::Error),
    /// The first guest did not report its kernel.
    #[error("cannot survey the kernel of the guests: the first guest {what}")]
    NoSurvey {
        /// The failure, with the last lines of its console.
        what: String,
    },
    /// A guest died that should not have.
    #[error("the guest {what}")]
    Died {
        /// The failure, with the last lines of its console.
        what: String,
    },
    #[error("stopped on request")]
    Stopped,
}

/// Runs cells in guests of one kind.
#[derive(Clone)]
pub struct GuestLab {
    machine: Machine,
    size: GuestSize,
    /// The first process of a guest.
    init: [OsString; 2],
    scratch: PathBuf,
    /// The sizes of the disks of cells.
    images: ImageSizes,
    journal: Journal,
    stop: CancelToken,
    /// The description of a guest; empty before the survey.
    about: String,
    missing: Missing,
    /// The programs of its guests.
    programs: Vec<String>,
    /// Receives the profiles of its cells in virtual time, if they are wanted.
    profiles: Option<Profiles>,
}

/// The profiles of cells by their index.
pub type Profiles = Arc<Mutex<BTreeMap<u32, CellProfile>>>;

/// The profile of a cell. Without one, there are no parts.
#[derive(Debug)]
pub struct CellProfile {
    /// One for each time that its kernel counted.
    pub parts: Vec<Profile>,
    /// The requests of its phases.
    pub requests: Requests,
}

impl Default for CellProfile {
    fn default() -> Self {
        Self {
            parts: Vec::new(),
            requests: Ok(BTreeMap::new()),
        }
    }
}

impl GuestLab {
    /// A lab for one plan, with the kernel of the plan or with another one. A first guest reports
    /// which requirements of the plan its kernel lacks.
    pub fn new(
        (lab, kernel): (&LabChoice, Option<&ContenderKernel>),
        plan: &Plan,
        preflight: &Preflight,
        journal: Journal,
        stop: CancelToken,
    ) -> Result<Self, GuestLabError> {
        let images = (preflight.scratch.clone(), preflight.images.clone());
        Self::on_images((lab, kernel), plan, images, journal, stop)
    }

    /// The same with images of these sizes in that directory.
    fn on_images(
        (lab, kernel): (&LabChoice, Option<&ContenderKernel>),
        plan: &Plan,
        (scratch, images): (PathBuf, ImageSizes),
        journal: Journal,
        stop: CancelToken,
    ) -> Result<Self, GuestLabError> {
        let mut size = plan.guest.clone().unwrap_or_default();
        if let Some(kernel) = kernel {
            size.kernel = Some(kernel.program.clone());
        }
        let mut lab = Self::empty(lab, size, scratch, journal, stop)?;
        lab.images = images;
        lab.programs = missing::programs_of(plan);
        if plan.disk_in_real_time().is_some() {
            lab.machine.with_model_disks()?;
        }
        (lab.about, lab.missing) = lab.survey_plan(plan)?;
        Ok(lab)
    }

    /// The description of a guest, and what it lacks for a plan. Runs no cell.
    pub fn survey(
        lab: &LabChoice,
        plan: &Plan,
        scratch: PathBuf,
        journal: Journal,
        stop: CancelToken,
    ) -> Result<(String, Missing), GuestLabError> {
        let size = plan.guest.clone().unwrap_or_default();
        let lab = Self::empty(lab, size, scratch, journal, stop)?;
        let (about, missing) = lab.survey_plan(plan)?;
        let remark = lab.remark().map(|remark| format!("; {remark}"));
        Ok((about + &remark.unwrap_or_default(), missing))
    }

    /// The reason why the guests are limited on this machine; none if they are not.
    pub fn remark(&self) -> Option<String> {
        self.machine.remark()
    }

    fn empty(
        lab: &LabChoice,
        size: GuestSize,
        scratch: PathBuf,
        journal: Journal,
        stop: CancelToken,
    ) -> Result<Self, GuestLabError> {
        let program = std::env::current_exe().map_err(GuestLabError::Program)?;
        check_work_dir(&scratch)?;
        Ok(Self {
            machine: Machine::find(lab, size.kernel())?,
            size,
            init: [program.into_os_string(), "guest".into()],
            scratch,
            images: ImageSizes::default(),
            journal,
            stop,
            about: String::new(),
            missing: Missing::default(),
            programs: missing::programs_of_recipes(),
            profiles: None,
        })
    }

    /// Runs a shell in a guest on this terminal, with this number of empty disks of that size.
    pub fn shell(
        lab: &LabChoice,
        size: GuestSize,
        scratch: PathBuf,
        disk: Bytes,
        disks: u32,
        journal: Journal,
    ) -> Result<(), GuestLabError> {
        let lab = Self::empty(lab, size, scratch, journal, CancelToken::new())?;
        let scratch = Scratch::create(&lab.place("shell"), &lab.journal)?;
        let images = lab.empty_disks(scratch.path(), disks, disk)?;
        let [program, word] = &lab.init;
        let setting = Setting {
            memory: lab.size.memory,
            processors: lab.size.processors.unwrap_or(1),
            disks: &paths_of(&images),
            model: None,
            scratch: scratch.path(),
            init: &[program.clone(), word.clone(), "shell".into()],
        };
        // The user has left the guest; its exit status does not matter.
        fsdyno_guests::on_terminal(&lab.machine, &setting, &lab.journal)?;
        Ok(())
    }

    /// Starts a guest that reports its description and what is missing.
    fn survey_plan(&self, plan: &Plan) -> Result<(String, Missing), GuestLabError> {
        let scratch = Scratch::create(&self.unique_place("look"), &self.journal)?;
        let (guest, line) = self.start(scratch.path(), &[])?;
        let mut session = GuestSession::new(guest, line, &self.stop).map_err(|cause| {
            GuestLabError::NoSurvey {
                what: cause.to_string(),
            }
        })?;
        let reported = session.ready().and_then(|about| {
            session.send(&Task::Survey {
                plan: Box::new(plan.clone()),
            })?;
            Ok((about, session.missing()?))
        });
        match reported {
            Ok((about, missing)) => {
                session.leave(0);
                // Only the host has the list of what other kernels support.
                let remedy = |need: &_| kernels::remedy(need, self.machine.kernel());
                Ok((about, missing.with_remedies(remedy)))
            }
            Err(SessionError::Stopped) => Err(GuestLabError::Stopped),
            Err(error_of_guest) => {
                let what = session.failure_message(&error_of_guest, LAST_LINES);
                Err(GuestLabError::NoSurvey { what })
            }
        }
    }

    /// A directory of this process for one guest.
    fn place(&self, name: &str) -> PathBuf {
        let journal = self.journal.name();
        self.scratch.join(format!("fsdyno-{journal}-{name}"))
    }

    /// A directory of this process for one of several guests at a time.
    fn unique_place(&self, name: &str) -> PathBuf {
        static GUESTS: AtomicU64 = AtomicU64::new(0);
        let number = GUESTS.fetch_add(1, Ordering::Relaxed);
        self.place(&format!("{name}-{number}"))
    }

    fn start(
        &self,
        scratch: &Path,
        disks: &[PathBuf],
    ) -> Result<(Guest, std::os::unix::net::UnixStream), GuestError> {
        self.start_on(scratch, disks, None)
    }

    /// Starts a guest on image files, or on the sockets of model disks.
    fn start_on(
        &self,
        scratch: &Path,
        disks: &[PathBuf],
        model: Option<DiskKind>,
    ) -> Result<(Guest, std::os::unix::net::UnixStream), GuestError> {
        let setting = Setting {
            memory: self.size.memory,
            processors: self.size.processors.unwrap_or(1),
            disks,
            model,
            scratch,
            init: &self.init,
        };
        Guest::start(&self.machine, &setting, &self.journal)
    }

    /// Creates the disks, starts the guest, and reads its messages to the end.
    fn in_guest(
        &self,
        notes: &mut Notes<'_>,
        plan: &Plan,
        cell: Cell,
    ) -> Result<CellRecord, CellEnd> {
        notes.enter(Stage::Device);
        let scratch = self.scratch_of(notes, cell)?;
        let count = devices_of(&plan.contenders[cell.contender as usize]);
        if let Some(model) = plan.disk_in_real_time() {
            let recorder = |disk| recorder(plan.disk_trace.as_ref(), cell, disk);
            let size = (count as usize, self.images.of(cell));
            let begun = OnModelDisk::begin(model, size, scratch.path(), recorder);
            let disks = begun.map_err(|what| notes.halt(what, None))?;
            // The contents of model disks need no eviction: their times do not depend on it.
            let mark = |mark| disks.mark(mark);
            let received = self.run_in_guest(
                notes,
                plan,
                cell,
                &scratch,
                Some(disks.kind()),
                (disks.sockets(), &[], &mark),
            );
            return model_disk::record_of(notes, model, received, disks);
        }
        let size = self.images.of(cell);
        let images = self.create_images(notes, (count, size), scratch.path())?;
        let disks = paths_of(&images);
        self.run_in_guest(notes, plan, cell, &scratch, None, (&disks, &disks, &|_| ()))
    }

    /// Starts the guest on these disks, and reads its messages to the end. The page cache of this
    /// machine holds data of the disks in `kept`.
    fn run_in_guest(
        &self,
        notes: &mut Notes<'_>,
        plan: &Plan,
        cell: Cell,
        scratch: &Scratch,
        model: Option<DiskKind>,
        (disks, kept, mark): (&[PathBuf], &[PathBuf], &dyn Fn(Mark)),
    ) -> Result<CellRecord, CellEnd> {
        let (guest, line) = self
            .start_on(scratch.path(), disks, model)
            .map_err(|e| notes.halt(e.to_string(), None))?;
        notes.guest(guest.argv());
        let mut session = GuestSession::new(guest, line, &self.stop)
            .map_err(|e| notes.halt(format!("the line to the guest: {e}"), e.raw_os_error()))?;
        let reported = Self::run_in_session(&mut session, notes, plan, cell, kept, mark);
        match reported {
            Ok(mut record) => {
                let last = session.leave(LAST_LINES);
                // Checked while the images exist, because they may fill the disk.
                if let Outcome::Failed(failure) = &mut record.outcome {
                    failure.message.extend(known_cause(&last));
                    hint(failure, plan);
                }
                Ok(record)
            }
            Err(SessionError::Stopped) => Err(CellEnd::Stopped),
            Err(error_of_guest) => {
                let words = session.failure_message(&error_of_guest, LAST_LINES);
                let mut failure = notes.failure(format!("the guest {words}"), None);
                hint(&mut failure, plan);
                Err(CellEnd::Failed(failure))
            }
        }
    }

    fn run_in_session(
        session: &mut GuestSession<'_>,
        notes: &mut Notes<'_>,
        plan: &Plan,
        cell: Cell,
        disks: &[PathBuf],
        mark: &dyn Fn(Mark),
    ) -> Result<CellRecord, SessionError> {
        let about = session.ready()?;
        notes.effective(Effective::GUEST, about);
        let (plan, cell) = plan_of_cell(plan, cell);
        session.send(&Task::Run {
            plan: Box::new(plan),
            cell,
        })?;
        session.record(disks, &mut |event| notes.receive(event), mark)
    }

    /// Creates this number of empty images of that size.
    fn empty_disks(
        &self,
        scratch: &Path,
        count: u32,
        size: Bytes,
    ) -> Result<Vec<Image>, ImageError> {
        (0..count)
            .map(|number| Image::create(&disk(scratch, number), size, &self.journal))
            .collect()
    }

    fn scratch_of(&self, notes: &mut Notes<'_>, cell: Cell) -> Result<Scratch, CellEnd> {
        let path = self.place(&cell.index.to_string());
        let step = Step::MakeDirectory { path: path.clone() };
        notes.perform(&step, || Scratch::create(&path, &self.journal))
    }

    /// One image for each of so many devices.
    fn create_images(
        &self,
        notes: &mut Notes<'_>,
        (count, size): (u32, Bytes),
        scratch: &Path,
    ) -> Result<Vec<Image>, CellEnd> {
        if count as usize > MAX_DISKS {
            let message = format!("a guest has at most {MAX_DISKS} disks, not {count}");
            return Err(notes.halt(message, None));
        }
        let mut images = Vec::new();
        for number in 0..count {
            let path = disk(scratch, number);
            let step = Step::CreateImage {
                path: path.clone(),
                size,
            };
            images.push(notes.perform(&step, || Image::create(&path, size, &self.journal))?);
        }
        Ok(images)
    }
}

/// The guest of a cell, as a comment of its script.
pub(super) fn title(job: &Job<'_>) -> String {
    let size = job.plan.guest.clone().unwrap_or_default();
    let kernel = job.contender.kernel.as_ref();
    format!(
        "# in a guest ({}) with {} and the kernel {}, whose disks are image files of {}",
        job.contender.lab,
        memory_for(job.plan, job.contender),
        kernel.map_or(size.kernel(), |kernel| &kernel.program),
        job.image_bytes
    )
}

/// The memory of a guest for that contender: that of the plan, and in virtual time also that of the
/// daemon of its file system. If the kernel does the work of the daemon, it has a least memory instead. A
/// plan may scale its memory with the datasets; these parts are fixed.
fn memory_for(plan: &Plan, contender: &Contender) -> Bytes {
    let guest = plan.guest.clone().unwrap_or_default();
    let recipe = fsdyno_recipes::find(&contender.filesystem);
    let daemon = recipe
        .and_then(fsdyno_recipes::Filesystem::daemon)
        .filter(|_| plan.disk_in_virtual_time().is_some());
    let Some(daemon) = daemon else {
        return guest.memory;
    };
    let kernel = contender.kernel.as_ref().map(|kernel| &kernel.program);
    if kernels::has_option(kernel.unwrap_or(guest.kernel()), &daemon.built_in) {
        return guest.memory.max(daemon.memory_of_kernel);
    }
    Bytes(guest.memory.0 + daemon.memory.0)
}

/// The memory of this machine that the largest guest of a plan takes.
pub fn cell_memory(plan: &Plan) -> Bytes {
    let each = plan.contenders.iter();
    let each = each.map(|contender| memory_for(plan, contender));
    let largest = each.max().unwrap_or(Bytes(0));
    match plan.disk_in_virtual_time() {
        Some(_) if largest.0 > 0 => guest_memory(largest),
        _ => largest,
    }
}

/// The memory of this machine that a guest in virtual time takes whose work has this much: its kernel and
/// fsdyno need more.
pub fn guest_memory(of_work: Bytes) -> Bytes {
    Bytes(of_work.0 + memory::OWN.0)
}

fn devices_of(contender: &Contender) -> u32 {
    if fsdyno_recipes::on_blocks(contender) {
        contender.layout.devices
    } else {
        0
    }
}

fn disk(scratch: &Path, number: u32) -> PathBuf {
    scratch.join(format!("disk{number}.img"))
}

fn paths_of(images: &[Image]) -> Vec<PathBuf> {
    images.iter().map(|image| image.path().to_owned()).collect()
}

impl Surveyed for GuestLab {
    fn missing(&self) -> &Missing {
        &self.missing
    }

    fn guest(&self) -> Option<&str> {
        Some(&self.about)
    }

    fn profile(&mut self, profiles: &Profiles) {
        self.profiles = Some(Arc::clone(profiles));
    }

    fn copy(&self, plan: &Plan, stop: &CancelToken) -> Option<Box<dyn Surveyed>> {
        plan.disk_in_virtual_time()?;
        Some(Box::new(Self {
            stop: stop.clone(),
            ..self.clone()
        }))
    }
}

impl Lab for GuestLab {
    fn run_cell(
        &mut self,
        plan: &Plan,
        cell: Cell,
        emit: &mut dyn FnMut(Event),
    ) -> Option<CellRecord> {
        run_cell(plan, cell, emit, &self.missing, &self.stop, |notes| {
            disks::warn_of_faults(notes, plan.disk.as_ref());
            let record = match plan.disk_in_virtual_time() {
                Some(model) => self.in_virtual_time(notes, plan, cell, model),
                None => self.in_guest(notes, plan, cell),
            };
            Ok(notes.append_record(record?))
        })
    }
}
