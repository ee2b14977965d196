//! `lose power`: cuts the power of guests that do usual work, as `crash --random` does.

use super::{DISK, LoseArgs};
use crate::commands::crash::{self, contenders, virtual_lab_for};
use crate::commands::lab::{guest_error, guest_size};
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_crash::TimedProgram;
use fsdyno_lab::{CrashTest, GuestLab};
use fsdyno_model::{CancelToken, LabChoice, Series, SeriesInfo};
use fsdyno_run::lose::activities;
use fsdyno_store::Store;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// The default number of power cuts.
const DRAWS: u32 = 20;

/// How long the work continues after the latest power cut.
const MARGIN: Duration = Duration::from_secs(2);

/// The default work until the power cut.
pub(in crate::commands) fn default_work() -> Result<TimedProgram, CliError> {
    activities::parse(activities::DEFAULT, GuestLab::LATEST + MARGIN).map_err(CliError::failure)
}

/// Cuts the power, and records the series. An error after the first power cut is returned with it.
pub(in crate::commands) fn recorded(
    (lab, program, jobs): (&GuestLab, &TimedProgram, NonZeroUsize),
    mut info: SeriesInfo,
    store: &mut Store,
) -> Result<(Series, Result<(), CliError>), CliError> {
    store.begin_series(&mut info)?;
    output::note(format_args!("series {} begins", info.id));
    let (power_cuts, ended) = crash::execute(store, &info, jobs, |one, (number, seed)| {
        let tested = CrashTest {
            contender: one,
            seed,
            disk: info.disk.as_ref(),
            program: Some(program),
        };
        lab.crash_timed(tested, number).map_err(guest_error)
    })?;
    let series = Series {
        schema: Series::SCHEMA,
        info: store.load_series(&info.id)?.info,
        power_cuts,
    };
    Ok((series, ended))
}

pub(super) fn lose(args: &LoseArgs, store: &Path, stop: &CancelToken) -> Result<Code, CliError> {
    let contenders = contenders(&args.contenders, &LabChoice::Uml)?;
    let (name, text) = match &args.activities {
        None => (String::new(), activities::DEFAULT.to_owned()),
        Some(path) => {
            let name = path.display().to_string();
            let text = fsdyno_files::input::read_text(path)
                .map_err(|error| CliError::usage(format!("--activities {name}: {error}")))?;
            (name, text)
        }
    };
    let program = activities::parse(&text, GuestLab::LATEST + MARGIN)
        .map_err(|error| CliError::usage(format!("--activities {name}: {error}")))?;
    let disk = crash::timed_disk(args.disk.as_deref().unwrap_or(Path::new(DISK)))?;
    let size = guest_size(
        &LabChoice::Uml,
        args.guest_memory,
        args.guest_kernel.as_ref(),
    );
    let work_dir = std::path::absolute(&args.work_dir)?;
    let lab = virtual_lab_for(&size, &work_dir, stop)?;
    let mut store = Store::open(store)?;
    let draws = args.draws.unwrap_or(DRAWS);
    let cuts = (args.seed, draws);
    let info = SeriesInfo {
        activities: Some(text),
        ..crash::info(cuts, contenders, (size, Some(disk)), work_dir)
    };
    let jobs = args.jobs.of_guests(args.guest_memory);
    let (series, ended) = recorded((&lab, &program, jobs), info, &mut store)?;
    if series.power_cuts.is_empty() {
        return ended.map(|()| Code::Ok);
    }
    super::print(args, &series.power_cuts, |format, options| {
        fsdyno_report::render_crash(&series, format, options)
    })?;
    ended?;
    let recoveries = series.power_cuts.iter().map(|one| &one.recovery);
    Ok(crash::code(recoveries))
}
