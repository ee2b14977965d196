//! Series of crash tests, from the store alone: as `show` prints them.

use super::report::options;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_model::Series;
use fsdyno_report::{Format, render_crash_details};

/// A series: what was to be done, where, and how each file system recovered.
pub fn show(series: &Series, json: bool) -> Result<Code, CliError> {
    let format = if json { Format::Json } else { Format::Terminal };
    let bytes = render_crash_details(series, format, &options(false, false));
    output::coloured(&bytes.map_err(CliError::failure)?)?;
    Ok(Code::Ok)
}
