//! `lose disk` injects faults of disks, and reports which file systems notice or repair them. `lose
//! full` fills the disks, and `lose quota` a quota: they report what a user can still do.

use super::{DISK, LoseArgs, Question};
use crate::commands::crash::{contenders, in_order, provenance_of, timed_disk, virtual_lab_for};
use crate::commands::lab::{guest_error, guest_size};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_lab::GuestLab;
use fsdyno_model::{
    Bytes, CancelToken, Contender, DiskFault, FaultTest, FaultTests, FaultTestsInfo, Filling,
    FullDisk, GuestSize, LabChoice, ModelDisk, StopReason,
};
use fsdyno_run::conductor::unix_now;
use fsdyno_run::lose::{self, LoseError};
use fsdyno_store::Store;
use std::num::NonZeroUsize;
use std::path::Path;

/// The default of the most faults of a kind in blocks of a role, and that of lives on full disks.
const DRAWS: u32 = 10;
const FULL: u32 = 3;

/// The default seed.
pub const SEED: u64 = 1;

/// The default size of a disk to fill, and the smallest that holds the files of its user.
const SIZE: Bytes = Bytes(1 << 30);
const SMALLEST: Bytes = Bytes(64 << 20);

/// A quota is the size of a disk by this.
const QUOTA_PART: u64 = 4;

pub(super) fn lose(args: &LoseArgs, store: &Path, stop: &CancelToken) -> Result<Code, CliError> {
    let contenders = contenders(&args.contenders, &LabChoice::Uml)?;
    let jobs = args.jobs.of_guests(args.guest_memory);
    let disk = timed_disk(args.disk.as_deref().unwrap_or(Path::new(DISK)))?;
    let (default, filling) = match args.question {
        Question::Full | Question::Quota => {
            let size = args.size.unwrap_or(SIZE);
            let filling = Filling {
                size,
                disk: disk.clone(),
                quota: (args.question == Question::Quota).then_some(Bytes(size.0 / QUOTA_PART)),
            };
            let of_contender = |one: &Contender| can_be_filled(one, &filling);
            contenders.iter().try_for_each(of_contender)?;
            has_room(&args.work_dir, &contenders, filling.size, jobs)?;
            (FULL, Some(filling))
        }
        _ => (DRAWS, None),
    };
    let draws = args.draws.unwrap_or(default);
    let size = guest_size(
        &LabChoice::Uml,
        args.guest_memory,
        args.guest_kernel.as_ref(),
    );
    let work = std::path::absolute(&args.work_dir)?;
    let lab = virtual_lab_for(&size, &work, stop)?;
    let mut store = Store::open(store)?;
    let info = FaultTestsInfo {
        seed: args.seed,
        kinds: kinds(args),
        filling,
        ..info(contenders, draws, size, &work)
    };
    let (tests, ended) = recorded((&lab, &disk, jobs), info, &mut store)?;
    if tests.tests.is_empty() {
        return ended.map(|()| Code::Ok);
    }
    super::print(args, &tests, |format, options| {
        fsdyno_report::render_disk_faults(&tests, format, options)
    })?;
    ended?;
    let mut faults = tests.faults();
    let mut lives = tests.tests.iter().flat_map(|test| &test.full);
    Ok(Code::ok_if(
        !faults.any(|(_, one)| one.outcome.is_loss()) && !lives.any(FullDisk::is_loss),
    ))
}

/// The kinds of faults, in their order.
fn kinds(args: &LoseArgs) -> Vec<DiskFault> {
    match args.question {
        Question::Disk => DiskFault::all()
            .filter(|one| args.kinds.is_empty() || args.kinds.contains(one))
            .collect(),
        _ => DiskFault::untimed(),
    }
}

/// The settings of tests with faulty disks: of those that need no time.
pub fn info(
    contenders: Vec<Contender>,
    draws: u32,
    guest: GuestSize,
    work: &Path,
) -> FaultTestsInfo {
    FaultTestsInfo {
        id: String::new(),
        started_unix_ns: unix_now(),
        ended_unix_ns: None,
        stop: None,
        provenance: provenance_of(&contenders, work),
        contenders,
        seed: SEED,
        draws,
        kinds: DiskFault::untimed(),
        filling: None,
        guest,
        command_line: crate::args::command_line(),
    }
}

/// Does tests, and records their outcomes. Also returns how they ended.
pub fn recorded(
    (lab, disk, jobs): (&GuestLab, &ModelDisk, NonZeroUsize),
    mut info: FaultTestsInfo,
    store: &mut Store,
) -> Result<(FaultTests, Result<(), CliError>), CliError> {
    store.begin_fault_tests(&mut info)?;
    let id = &info.id;
    let _claim = store.claim(id)?;
    output::note(format_args!("tests {id} begin"));
    let places = (info.seed, info.draws);
    let test = |contender: &_| {
        if let Some(filling) = &info.filling {
            return fill(lab, contender, places, filling);
        }
        let tested = lose::test(lab, contender, disk, places, &info.kinds);
        tested
            .map(|(test, error)| (test, error.map(not_tested)))
            .map_err(not_tested)
    };
    let mut failed = None;
    let ended = in_order(&info.contenders, jobs, test, |_, (test, error)| {
        store.record_fault_test(id, &test)?;
        match error {
            None => output::note(format_args!("{} is tested", test.contender)),
            Some(error) => failed = failed.take().or(Some(error)),
        }
        Ok(())
    });
    let ended = ended.and(failed.map_or(Ok(()), Err));
    let reason = match &ended {
        Ok(()) => Some(StopReason::Complete),
        Err(error) if error.code == Code::Interrupted => Some(StopReason::Interrupted),
        Err(_) => None,
    };
    if let Some(reason) = reason {
        store.end_fault_tests(id, reason, unix_now())?;
    }
    Ok((store.load_fault_tests(id)?, ended))
}

fn not_tested(error: LoseError) -> CliError {
    match error {
        LoseError::Guest(error) => guest_error(error),
        error @ LoseError::Healthy { .. } => CliError::failure(error),
    }
}

/// Refuses a file system on which an ordinary user cannot live, that never frees space here, or that
/// does not fit.
fn can_be_filled(contender: &Contender, filling: &Filling) -> Result<(), CliError> {
    let Some(recipe) = fsdyno_recipes::find(&contender.filesystem) else {
        return Ok(());
    };
    let facts = recipe.facts();
    let (capabilities, size) = (facts.capabilities, filling.size);
    let of_quota = if filling.quota.is_some() {
        QUOTA_PART
    } else {
        1
    };
    let least = recipe.smallest_bytes().max(Bytes(SMALLEST.0 * of_quota));
    let label = &contender.label;
    let why = match capabilities.cleaner {
        Some(cleaner) => format!("{cleaner} frees its space, and is not run here"),
        None if !capabilities.owners => {
            "its files have no owners, and those of this test are of an ordinary user".to_owned()
        }
        None if filling.quota.is_some() && facts.quota.is_none() => {
            "it has no quotas of users that survive a power cut in these guests".to_owned()
        }
        None if size < least => {
            let text = format!("{label}: --size {size} is too small. At least {least} are needed");
            return Err(CliError::usage(text));
        }
        None => return Ok(()),
    };
    Err(CliError::usage(format!("{label}: {why}. Leave it out")))
}

/// Refuses disks that would fill the disk of this machine.
fn has_room(
    work_dir: &Path,
    contenders: &[Contender],
    size: Bytes,
    jobs: NonZeroUsize,
) -> Result<(), CliError> {
    let place = work_dir.display();
    let free = fsdyno_host::space::free(work_dir)
        .map_err(|error| CliError::usage(format!("--work-dir {place}: {error}")))?;
    let mut disks: Vec<u32> = contenders.iter().map(|one| one.layout.devices).collect();
    disks.sort_unstable();
    let disks: u64 = disks
        .into_iter()
        .rev()
        .take(jobs.get())
        .map(u64::from)
        .sum();
    let need = Bytes(size.0.saturating_mul(disks));
    if need <= free {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--size {size}: full disks need up to {need} in {place}, which has {free} free. Name a \
         smaller size, fewer --jobs, or another --work-dir"
    )))
}

/// Fills the disks of a contender once for each seed. An error that ends it leaves the lives before.
fn fill(
    lab: &GuestLab,
    contender: &Contender,
    (seed, draws): (u64, u32),
    filling: &Filling,
) -> Result<(FaultTest, Option<CliError>), CliError> {
    let mut test = FaultTest {
        contender: contender.label.clone(),
        guest: String::new(),
        faults: Vec::new(),
        full: Vec::new(),
    };
    for draw in 0..draws {
        let seed = seed.wrapping_add(draw.into());
        match lab.fill_disks(contender, seed, filling) {
            Ok((life, guest)) => {
                test.guest = guest;
                test.full.push(life);
                let lives = test.full.len();
                output::note(format_args!("{}: {lives} of {draws} lives", test.contender));
            }
            Err(error) if test.full.is_empty() => return Err(guest_error(error)),
            Err(error) => return Ok((test, Some(guest_error(error)))),
        }
    }
    Ok((test, None))
}
