//! Workload files of phases: read, checked, and stored in the plan with their text.

use super::config_error::ConfigError;
use super::error::{PlanFileError, ResolveError};
use fsdyno_load::phases::work;
use fsdyno_load::work::{Work, WorkError, filebench, fio};
use fsdyno_model::{FigureName, PhasePlan, Workload};
use std::path::Path;

/// What judges workers that end by time: the operations of a second.
const BY_TIME: &str = "file-rate";

/// Reads a workload from a file, a personality of Filebench, or a job file of fio. The error has its
/// place in the text.
pub fn read_work(path: &Path) -> Result<(String, Work), ResolveError> {
    let text = fsdyno_files::input::read_text(path).map_err(|source| ResolveError::Workload {
        path: path.to_owned(),
        source,
    })?;
    let mut shown = path.display().to_string();
    let mut text = text;
    if fio::is_named_so(path) {
        let mut read = |name: &str| {
            let file = path.with_file_name("").join(name);
            fsdyno_files::input::read_text(&file).map_err(|error| error.to_string())
        };
        let whole = fio::with_includes(&text, &mut read);
        let whole = whole.map_err(|error| at_place(&shown, &text, error))?;
        if whole != text {
            shown.push_str(" with its includes");
        }
        text = whole;
    }
    let translated = if filebench::is_named_so(path) {
        Some(filebench::translate(&text))
    } else if fio::is_named_so(path) {
        Some(fio::translate(&text))
    } else {
        None
    };
    let text = match translated {
        Some(translated) => translated.map_err(|error| at_place(&shown, &text, error))?,
        None => text,
    };
    let work = parse(&shown, &text)?;
    Ok((text, work))
}

fn parse(path: &str, text: &str) -> Result<Work, PlanFileError> {
    text.parse().map_err(|error| at_place(path, text, error))
}

pub(super) fn at_place(path: &str, text: &str, error: WorkError) -> PlanFileError {
    PlanFileError {
        path: path.to_owned(),
        text: text.to_owned(),
        span: error.span,
        message: error.message,
        help: error.help,
    }
}

/// Stores the text of the workload file in a phase, if it has one.
pub fn store_work(phase: &mut PhasePlan) -> Result<Option<Work>, ResolveError> {
    if !work::is_one(&phase.kind) {
        return Ok(None);
    }
    let parameters = &mut phase.parameters;
    match (parameters.get(work::FILE), parameters.get(work::TEXT)) {
        (Some(file), _) => {
            let (text, read) = read_work(Path::new(file))?;
            parameters.insert(work::TEXT.to_owned(), text);
            Ok(Some(read))
        }
        (None, Some(text)) => {
            let path = format!("text of phase {}", phase.label);
            Ok(Some(parse(&path, text)?))
        }
        (None, None) => {
            let error = ConfigError::wrong(
                format!("phase `{}` has no workload", phase.label),
                "name a file with --work FILE, or with the parameter `file`",
            );
            Err(ResolveError::argument("--phases")(error))
        }
    }
}

/// Stores the texts of all workload files in a plan, with the figures that they are judged by.
pub(super) fn complete(workloads: &mut [Workload], virtual_time: bool) -> Result<(), ResolveError> {
    for phase in workloads
        .iter_mut()
        .flat_map(|workload| &mut workload.phases)
    {
        let Some(work) = store_work(phase)? else {
            continue;
        };
        let has_end = phase.parameters.contains_key("operations");
        let by_time = work.ends_by_time() && !has_end;
        if by_time && virtual_time {
            let error = ConfigError::wrong(
                format!(
                    "workers of phase `{}` end by time, and virtual time passes only while a disk \
                     works",
                    phase.label
                ),
                "set a number of operations: --set work.operations=100000",
            );
            return Err(ResolveError::argument("--work")(error));
        }
        let usual = if by_time { Some(BY_TIME) } else { None };
        let judge = work.judge.as_deref().or(usual).map(FigureName::new);
        phase.judge = phase.judge.take().or(judge);
    }
    Ok(())
}
