//! The source of the programs of a search: the arguments as a [`ProgramSource`].

use super::CrashArgs;
use crate::commands::left_out::note_left_out;
use crate::commands::run::plan_error;
use crate::exit::CliError;
use crate::output;
use fsdyno_crash::render_programs;
use fsdyno_datasets::recorded::Recording;
use fsdyno_load::crash::{MAX_STEPS, RecordedProgram, random_program, recorded_program};
use fsdyno_load::work::{Settings, filebench, fio, program};
use fsdyno_model::{CancelToken, ProgramSource};
use fsdyno_run::resolve::{crash_test, read_work};
use std::fmt::Display;
use std::io::Read;
use std::path::Path;

/// The first bytes of a recording.
const RECORDING: &[u8] = fsdyno_trace::MARK;

/// The operations of a random program without a number.
const STEPS: u32 = 50;

pub(super) fn source(args: &CrashArgs) -> Result<ProgramSource, CliError> {
    if let Some(app) = &args.app {
        return crash_test(app).map_err(plan_error);
    }
    match (&args.ops, &args.exec, &args.check) {
        (None, Some(command), Some(check)) => Ok(ProgramSource::Application {
            name: None,
            prepare: None,
            command: command.clone(),
            check: check.clone(),
        }),
        (None, ..) => Ok(ProgramSource::Generated {
            operations: args.generate.operations,
            sampled: args.generate.sampled,
        }),
        (Some(ops), ..) => match ops.to_str().and_then(|ops| ops.strip_prefix("random:")) {
            Some(random) => self::random(random, args.windows),
            None => from_file(ops, args.windows),
        },
    }
}

/// The long program of `SEED[:N]`.
fn random(text: &str, windows: u32) -> Result<ProgramSource, CliError> {
    let (seed, steps) = match text.split_once(':') {
        Some((seed, steps)) => (seed, steps.parse().ok()),
        None => (text, Some(STEPS)),
    };
    let (Ok(seed), Some(steps)) = (seed.parse(), steps.filter(|n| (1..=MAX_STEPS).contains(n)))
    else {
        return Err(CliError::usage(format!(
            "--ops random:{text}: it is random:SEED or random:SEED:N, with N of 1 to {MAX_STEPS}, \
             for example random:7:100"
        )));
    };
    let program = random_program(seed, steps);
    Ok(ProgramSource::Long {
        about: format!(
            "random program {seed}: {steps} durable changes in {} operations",
            program.operations.len()
        ),
        program: program.to_string(),
        windows,
    })
}

/// The programs of a text file, or the one of a recording.
fn from_file(path: &Path, windows: u32) -> Result<ProgramSource, CliError> {
    let failed =
        |error: &dyn Display| CliError::usage(format!("--ops {}: {error}", path.display()));
    let mut first = vec![0; RECORDING.len()];
    let mut file = fsdyno_files::input::open(path).map_err(|error| failed(&error))?;
    if file.read_exact(&mut first).is_ok() && first == RECORDING {
        return recorded(path, windows);
    }
    if is_workload(path) {
        return of_workload(path, windows);
    }
    let text = fsdyno_files::input::read_text(path).map_err(|error| failed(&error))?;
    let programs = fsdyno_crash::parse_programs(&text).map_err(|error| failed(&error))?;
    for program in &programs {
        program.check().map_err(|error| failed(&error))?;
    }
    Ok(ProgramSource::Given {
        programs: programs.iter().map(|one| render_programs([one])).collect(),
    })
}

/// Whether a file is named like a workload, a personality of Filebench, or a job file of fio.
fn is_workload(path: &Path) -> bool {
    let is_toml = path
        .extension()
        .is_some_and(|extension| extension == "toml");
    is_toml || filebench::is_named_so(path) || fio::is_named_so(path)
}

/// The long program of a workload: its first operations.
fn of_workload(path: &Path, windows: u32) -> Result<ProgramSource, CliError> {
    let (text, work) = read_work(path).map_err(plan_error)?;
    note_left_out(path, &text);
    let program = program(&work, &Settings::default(), MAX_STEPS as usize);
    program.check().map_err(|error| {
        let path = path.display();
        CliError::usage(format!("--ops {path}: as a program: {error}"))
    })?;
    Ok(ProgramSource::Long {
        about: format!(
            "workload: its first {} operations",
            program.operations.len()
        ),
        program: program.to_string(),
        windows,
    })
}

/// The long program of a recording. Prints the operations that it leaves out.
fn recorded(path: &Path, windows: u32) -> Result<ProgramSource, CliError> {
    let stop = CancelToken::new();
    let recording = Recording::open(path, &stop);
    let recording = recording.map_err(|error| CliError::usage(format!("--ops {error}")))?;
    let recorded = recorded_program(&recording);
    if recorded.program.operations.is_empty() {
        return Err(CliError::usage(format!(
            "--ops {}: the recording has no operation that changes files or makes them durable",
            path.display()
        )));
    }
    let mut about = about(&recorded);
    if !recording.ending.complete() {
        about += "; the recording is not complete";
    }
    output::note(format_args!("--ops {}: {about}", path.display()));
    Ok(ProgramSource::Long {
        about,
        program: recorded.program.to_string(),
        windows,
    })
}

/// Describes the part of a recording that is in its program.
fn about(recorded: &RecordedProgram) -> String {
    let RecordedProgram {
        program,
        recorded,
        represented,
        left_out,
    } = recorded;
    let mut text = format!(
        "recording: {represented} of {recorded} operations that change files or make them durable, \
         as {} operations",
        program.operations.len()
    );
    let parts: Vec<String> = left_out
        .iter()
        .map(|(why, count)| format!("{count} {why}"))
        .collect();
    if !parts.is_empty() {
        text += "; not as recorded: ";
        text += &parts.join(", ");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_program_is_named_by_its_seed_and_length() {
        let about = |text| match random(text, 9) {
            Ok(ProgramSource::Long { about, windows, .. }) => Ok((about, windows)),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        };
        let (whole, windows) = about("7").unwrap();
        assert!(
            whole.starts_with("random program 7: 50 durable changes in "),
            "{whole}"
        );
        assert_eq!(windows, 9);
        assert!(about("7:3").unwrap().0.contains(": 3 durable changes in "));
        for wrong in ["", "x", "7:", "7:0", "7:2001", "7:3:4"] {
            let error = about(wrong).unwrap_err();
            assert!(error.contains("random:SEED:N"), "{error}");
        }
    }
}
