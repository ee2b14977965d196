//! `show` for a series of crash tests. It reads only the store.

use super::report::options;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::Series;
use fsdyno_report::{Format, render_crash_details};

/// Prints a series: its settings, its machine, and the recovery of each file system.
pub fn show(series: &Series, json: bool) -> Result<Code, CliError> {
    let format = if json { Format::Json } else { Format::Terminal };
    let bytes = render_crash_details(series, format, &options(false, false));
    output::coloured(&bytes.map_err(CliError::failure)?)?;
    Ok(Code::Ok)
}
