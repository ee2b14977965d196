//! The number of crash states that the search checks in an hour on one processor: those that differ
//! in their image, each mounted, read and judged, or found equal to a mounted one. Also, the time
//! of a recovery alone. `./x bench crash [--seconds N] [--kernel PATH] [FILE SYSTEM ...]`.

use fsdyno_crash::{Data, Operation, Program, Target, TraceEvent, WriteKind};
use fsdyno_host::journal::Journal;
use fsdyno_lab::GuestLab;
use fsdyno_lab::explorer::{Contents, ExplorerGuest, Performed, RecoveryOptions, disk_size};
use fsdyno_model::{
    Bytes, CancelToken, Contender, GuestSize, KernelChoice, LabChoice, ProgramSource, Search,
    StateClass, StateCounts,
};
use fsdyno_run::explore::{Programs, Subject};
use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The number of recoveries of a guest that are timed alone.
const RECOVERIES: u64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let (mut seconds, mut kernel, mut names) = (60, KernelChoice::Lab, Vec::new());
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seconds" => seconds = value()?.parse()?,
            "--kernel" => kernel = KernelChoice::File(value()?.into()),
            _ => names.push(word),
        }
    }
    if names.is_empty() {
        names = ["ext4", "xfs", "btrfs"].map(str::to_owned).into();
    }
    let directory = tempfile::tempdir()?;
    let journal = Journal::open(&directory.path().join("journal"))?;
    let size = GuestSize {
        memory: Bytes(512 << 20),
        kernel: Some(kernel),
        ..GuestSize::default()
    };
    let (scratch, stop) = (directory.path().to_owned(), CancelToken::new());
    let lab = GuestLab::for_crash_tests(&LabChoice::Uml, size, scratch, journal, stop)?;
    let lab = lab.with_program(Path::new(env!("CARGO_BIN_EXE_fsdyno")));
    let jobs = thread::available_parallelism()?.get();
    println!(
        "A search on {jobs} processors, {seconds} s for each file system; states per processor and \
         hour\n\n{:<10} {:>9} {:>9} {:>9} {:>11} {:>11} {:>12}",
        "", "programs", "states", "mounted", "states/h", "mounted/h", "recovery, ms"
    );
    for name in names {
        let contender = Contender::plain(&name);
        let recovery = recovery(&lab, &contender)?;
        let (programs, counts, elapsed) =
            search(&lab, &contender, jobs, Duration::from_secs(seconds))?;
        let rate = |count: u64| count as f64 * 3600.0 / elapsed.as_secs_f64() / jobs as f64;
        println!(
            "{:<10} {programs:>9} {:>9} {:>9} {:>11.0} {:>11.0} {recovery:>12.2}",
            contender.label,
            counts.distinct,
            counts.recovered + counts.nested,
            rate(counts.distinct),
            rate(counts.recovered + counts.nested),
        );
    }
    Ok(())
}

/// Explores the first generated programs, as `fsdyno crash` does without minimising; returns how
/// many, and their states.
fn search(
    lab: &GuestLab,
    contender: &Contender,
    jobs: usize,
    time: Duration,
) -> Result<(u64, StateCounts, Duration), Box<dyn Error>> {
    let search = Search {
        programs: ProgramSource::Generated {
            operations: 2,
            sampled: 0,
        },
        class: StateClass::C2,
        states: 32,
        nested: true,
        seed: 1,
        extra: fsdyno_run::explore::extra_promises(std::slice::from_ref(contender)),
    };
    let programs = Programs::of(&search)?;
    let model = fsdyno_lab::model_disk(Path::new("sata-2008"))?;
    let subject = Subject::new(lab, contender, &model, &search);
    let (next, began) = (AtomicU32::new(0), Instant::now());
    let work = || -> Result<(u64, StateCounts), String> {
        let failed = |error: fsdyno_run::explore::ExploreError| error.to_string();
        let mut guest = subject.explorer().map_err(failed)?;
        let (mut explored, mut counts) = (0, StateCounts::default());
        while began.elapsed() < time {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(case) = programs.get(number) else {
                break;
            };
            let program = guest.explore(number, &case, &search).map_err(failed)?;
            explored += 1;
            counts.distinct += program.states.distinct;
            counts.recovered += program.states.recovered;
            counts.nested += program.states.nested + program.states.nested_checks;
        }
        Ok((explored, counts))
    };
    let all = thread::scope(|threads| {
        let workers: Vec<_> = (0..jobs).map(|_| threads.spawn(work)).collect();
        let joined = workers.into_iter().map(|worker| {
            let result = worker.join();
            result.unwrap_or_else(|_| Err("a worker failed".to_owned()))
        });
        joined.collect::<Result<Vec<_>, _>>()
    })?;
    let elapsed = began.elapsed();
    let (mut explored, mut counts) = (0, StateCounts::default());
    for (programs, of) in all {
        explored += programs;
        counts.distinct += of.distinct;
        counts.recovered += of.recovered;
        counts.nested += of.nested;
    }
    Ok((explored, counts, elapsed))
}

/// Returns the time of one recovery: mount, read all files, unmount; milliseconds.
fn recovery(lab: &GuestLab, contender: &Contender) -> Result<f64, Box<dyn Error>> {
    let model = fsdyno_lab::model_disk(Path::new("sata-2008"))?;
    let mut guest = ExplorerGuest::start(lab, contender, &model, disk_size(contender))?;
    let prepared = guest.prepare()?;
    let performed = guest.perform(&prepared.base, &program())?;
    let writes = writes(&performed);
    let began = Instant::now();
    for number in 0..RECOVERIES {
        guest.recover(
            state(&performed, &writes, number),
            RecoveryOptions::default(),
        )?;
    }
    Ok(began.elapsed().as_secs_f64() * 1e3 / RECOVERIES as f64)
}

/// Files that are written, linked and renamed, with fsync.
fn program() -> Program {
    let target = |path: &str| Target::Path(path.to_owned());
    let write = |path: &str| Operation::Write {
        target: target(path),
        offset: None,
        length: 8192,
        kind: WriteKind::Plain,
    };
    let create = |path: &str| Operation::Create { path: path.into() };
    let fsync = |path: &str| Operation::Fsync {
        target: target(path),
    };
    Program {
        setup: vec![
            Operation::Mkdir { path: "A".into() },
            create("A/old"),
            write("A/old"),
        ],
        operations: vec![
            create("A/foo"),
            write("A/foo"),
            fsync("A/foo"),
            Operation::Link {
                from: target("A/foo"),
                to: "bar".into(),
            },
            Operation::Rename {
                from: "A/foo".into(),
                to: "A/old".into(),
            },
            fsync("A"),
        ],
    }
}

/// The recorded writes: sector and content.
fn writes(performed: &Performed) -> Vec<(u64, Vec<u8>)> {
    let events = performed.trace.events.iter();
    let writes = events.filter_map(|event| match event {
        TraceEvent::Write {
            sector,
            data: Data::Bytes(bytes),
            ..
        } => Some((*sector, bytes.to_vec())),
        _ => None,
    });
    writes.collect()
}

/// A different prefix of the writes for each number, without one of the last.
fn state(performed: &Performed, writes: &[(u64, Vec<u8>)], number: u64) -> Contents {
    let number = usize::try_from(number).unwrap_or_default();
    let kept = 1 + number % writes.len();
    let dropped = kept - 1 - (number / writes.len()) % 4 % kept;
    let mut contents = Contents::of(performed.base.clone());
    for (place, (sector, bytes)) in writes[..kept].iter().enumerate() {
        if place != dropped {
            contents.put(*sector, bytes);
        }
    }
    contents
}
