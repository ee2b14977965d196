//! Which call paths of a guest's kernel submit which requests to its model disks. A disk gets a request
//! while the guest waits for its answer, so the place of the kernel at that time is the one that submitted
//! it.

use fsdyno_disk::record::{Record, Sink};
use fsdyno_disk::{Kind, Payloads, Recorder, Request, SECTOR};
use fsdyno_guests::Guest;
use fsdyno_guests::kernels::symbols::Symbols;
use fsdyno_guests::profile::{self, KernelPlace, PlaceTables};
use fsdyno_model::profile::{Content, Operation, Profile, RequestSum};
use fsdyno_model::{Contender, Mark, Point};
use fsdyno_recipes::{Roles, layouts};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The bytes of a request that tell what it has: the first block.
const BLOCK: usize = 4096;

/// The profiles of a cell with nothing but requests, by phase; or why there are none.
pub type Requests = Result<BTreeMap<u32, Profile>, String>;

/// The requests to all disks of a guest.
#[derive(Debug)]
pub(super) struct RequestLog(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    tables: PlaceTables,
    contender: Contender,
    /// The memory of the guest.
    memory: OnceLock<File>,
    process: OnceLock<i32>,
    counted: Mutex<Counted>,
}

#[derive(Default)]
struct Counted {
    phases: BTreeMap<u32, HashMap<Key, RequestSum>>,
    /// The roles that the first disk names, for disks without such structures.
    roles: Option<Roles>,
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counted").finish_non_exhaustive()
    }
}

type Key = (Option<KernelPlace>, Operation, Option<Content>);

impl RequestLog {
    /// The log of a cell of this contender; an error if its kernel has no tables of places.
    pub fn new(kernel: &Path, contender: &Contender) -> Result<Self, String> {
        let tables = PlaceTables::of(kernel)
            .map_err(|error| format!("cannot read {}: {error}", kernel.display()))?;
        let tables = tables.ok_or_else(|| {
            format!(
                "the kernel {} does not keep where it is: an earlier version of fsdyno built it",
                kernel.display()
            )
        })?;
        Ok(Self(Arc::new(Shared {
            tables,
            contender: contender.clone(),
            memory: OnceLock::new(),
            process: OnceLock::new(),
            counted: Mutex::default(),
        })))
    }

    /// The recorder of a disk whose contents are in this file.
    pub fn recorder(&self, image: &Path) -> Recorder {
        let sink = DiskLog {
            shared: Arc::clone(&self.0),
            image: image.to_owned(),
            contents: None,
            roles: None,
            phase: None,
            ended_at: None,
            write: None,
        };
        Recorder::to(Box::new(sink), Payloads::Kept)
    }

    /// Names the process of the guest.
    pub fn started(&self, guest: &Guest) {
        let _ = self.0.process.set(guest.process().as_raw_nonzero().get());
    }

    /// What the recorders counted; an error if one ended early.
    pub fn end(&self, recorders: &[Recorder], symbols: &Symbols) -> Requests {
        if let Some(error) = recorders.iter().find_map(Recorder::write_error) {
            return Err(format!(
                "cannot read where the kernel of the guest is: {error}"
            ));
        }
        let counted = std::mem::take(&mut *self.0.counted());
        let phases = counted.phases.into_iter();
        Ok(phases
            .map(|(phase, sums)| {
                let sums = sums.into_iter();
                let sums = sums
                    .map(|((place, operation, content), sum)| (place, (operation, content, sum)));
                (phase, profile::of_requests(sums, symbols))
            })
            .collect())
    }
}

impl Shared {
    fn counted(&self) -> MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn place(&self) -> io::Result<Option<KernelPlace>> {
        let memory = if let Some(memory) = self.memory.get() {
            memory
        } else {
            let process = self.process.get().ok_or(io::ErrorKind::NotFound)?;
            let file = File::open(format!("/proc/{process}/mem"))?;
            self.memory.get_or_init(|| file)
        };
        self.tables.place(memory)
    }
}

/// Counts the requests to one disk.
struct DiskLog {
    shared: Arc<Shared>,
    image: PathBuf,
    contents: Option<File>,
    roles: Option<Roles>,
    phase: Option<u32>,
    /// Where the last request ended.
    ended_at: Option<u64>,
    /// A write whose bytes come next.
    write: Option<(Option<KernelPlace>, Request, u64)>,
}

impl DiskLog {
    fn marked(&mut self, mark: Mark) -> io::Result<()> {
        match mark.point {
            Point::Begins => self.phase = Some(mark.phase),
            Point::Durable => self.phase = None,
            Point::Returned => {}
        }
        if self.contents.is_none() {
            self.contents = Some(File::open(&self.image)?);
        }
        if self.roles.is_none() {
            let contents = self.contents.as_ref();
            let mut read = |at, into: &mut [u8]| {
                into.fill(0);
                if let Some(contents) = contents {
                    // What cannot be read is zeros.
                    let _ = contents.read_exact_at(into, at);
                }
            };
            let own = layouts::roles(&self.shared.contender, &mut read);
            let first = &mut self.shared.counted().roles;
            self.roles = own.or_else(|| first.clone());
            if first.is_none() {
                first.clone_from(&self.roles);
            }
        }
        Ok(())
    }

    fn submitted(&mut self, request: Request) -> io::Result<()> {
        let moves = request.kind.moves();
        let before = if moves {
            self.ended_at.replace(request.sector + request.sectors)
        } else {
            None
        };
        if self.phase.is_none() {
            return Ok(());
        }
        let seeks = u64::from(before.is_some_and(|before| before != request.sector));
        let place = self.shared.place()?;
        match request.kind {
            Kind::Write => self.write = Some((place, request, seeks)),
            Kind::Read => {
                let bytes = request.bytes().min(BLOCK as u64);
                let mut block = vec![0; usize::try_from(bytes).unwrap_or(BLOCK)];
                if let (Some(contents), Some(_)) = (&self.contents, &self.roles) {
                    let _ = contents.read_exact_at(&mut block, request.sector * SECTOR);
                }
                self.count((place, request, seeks), Some(&block));
            }
            Kind::WriteZeroes => self.count((place, request, seeks), Some(&[0; BLOCK])),
            Kind::Discard | Kind::Flush => self.count((place, request, seeks), None),
        }
        Ok(())
    }

    fn count(
        &self,
        (place, request, seeks): (Option<KernelPlace>, Request, u64),
        block: Option<&[u8]>,
    ) {
        let Some(phase) = self.phase else {
            return;
        };
        let operation = match request.kind {
            Kind::Read => Operation::Read,
            Kind::Write | Kind::WriteZeroes => Operation::Write,
            Kind::Discard => Operation::Discard,
            Kind::Flush => Operation::Flush,
        };
        let content = self.roles.as_ref().zip(block);
        let content = content.map(|(roles, block)| {
            layouts::content(&self.shared.contender, roles, request.sector, block)
        });
        let mut counted = self.shared.counted();
        let phase = counted.phases.entry(phase).or_default();
        *phase.entry((place, operation, content)).or_default() += RequestSum {
            requests: 1,
            bytes: request.bytes(),
            seeks,
        };
    }
}

impl Sink for DiskLog {
    fn note(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Submitted { request, .. } => self.submitted(*request)?,
            Record::Payload { bytes, .. } => {
                if let Some(write) = self.write.take() {
                    self.count(write, Some(&bytes[..bytes.len().min(BLOCK)]));
                }
            }
            Record::Mark { text, .. } => {
                if let Some(mark) = Mark::parse(text) {
                    self.marked(mark)?;
                }
            }
            Record::Completed { .. } | Record::PowerCut { .. } => {}
        }
        Ok(())
    }

    fn takes_payloads(&self) -> bool {
        self.phase.is_some()
    }
}
