//! How many crash states one guest recovers in an hour, on one processor: each is mounted and its
//! files are read. `cargo bench --bench explorer -- KERNEL SECONDS [FILE SYSTEM ...]`.

use fsdyno_crash::{Data, Operation, Program, Target, TraceEvent, WriteKind};
use fsdyno_host::journal::Journal;
use fsdyno_lab::GuestLab;
use fsdyno_lab::explorer::{
    Checker, Contents, ExplorerGuest, Performed, RecoveryOptions, disk_size,
};
use fsdyno_model::{Bytes, CancelToken, Contender, GuestSize, KernelChoice, LabChoice};
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    let usage = "usage: explorer KERNEL SECONDS [FILE SYSTEM ...]";
    let (kernel, seconds) = (words.next().ok_or(usage)?, words.next().ok_or(usage)?);
    let time = Duration::from_secs(seconds.parse()?);
    let mut names: Vec<String> = words.collect();
    if names.is_empty() {
        names = ["ext4", "xfs", "btrfs"].map(str::to_owned).into(); // example
    }
    let directory = tempfile::tempdir()?;
    let journal = Journal::open(&directory.path().join("journal"))?;
    let size = GuestSize {
        memory: Bytes(256 << 20),
        kernel: Some(KernelChoice::File(kernel.into())),
        ..GuestSize::default()
    };
    let (scratch, stop) = (directory.path().to_owned(), CancelToken::new());
    let lab = GuestLab::for_crash_tests(&LabChoice::Uml, size, scratch, journal, stop)?;
    let lab = lab.with_program(Path::new(env!("CARGO_BIN_EXE_fsdyno")));
    println!(
        "{:<10} {:>12} {:>10} {:>10} {:>10}",
        "", "states/h", "ms each", "thorough", "check"
    );
    for name in names {
        measure(&lab, &Contender::plain(&name), time)?;
    }
    Ok(())
}

fn measure(lab: &GuestLab, contender: &Contender, time: Duration) -> Result<(), Box<dyn Error>> {
    let model = fsdyno_lab::model_disk(Path::new("sata-2008"))?;
    let size = disk_size(contender);
    let mut guest = ExplorerGuest::start(lab, contender, &model, size)?;
    let prepared = guest.prepare()?;
    let performed = guest.perform(&prepared.base, &program())?;
    let writes = writes(&performed);
    let began = Instant::now();
    let mut states = 0_u64;
    while began.elapsed() < time {
        let state = state(&performed, &writes, states);
        let recovered = guest.recover(state, RecoveryOptions::default())?;
        std::hint::black_box(recovered);
        states += 1;
    }
    let each = began.elapsed().as_secs_f64() / states as f64;
    let began = Instant::now();
    let thorough = RecoveryOptions {
        thorough: true,
        recorded: false,
        check: None,
    };
    let mut changes = Vec::new();
    for number in 0..20 {
        let recovered = guest.recover(state(&performed, &writes, number), thorough.clone())?;
        changes.push(recovered.changes);
    }
    let thorough = began.elapsed().as_secs_f64() / 20.0;
    let mut check = 0.0;
    if let Some(mut checker) = Checker::new(lab, contender, &performed.base)? {
        let began = Instant::now();
        for changes in &changes {
            checker.check(&performed.base, changes)?;
        }
        check = began.elapsed().as_secs_f64() / 20.0;
    }
    println!(
        "{:<10} {:>12.0} {:>10.2} {:>10.2} {:>10.2}",
        contender.label,
        3600.0 / each,
        each * 1e3,
        thorough * 1e3,
        check * 1e3
    );
    Ok(())
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
