//! An inquiry beside a rerun: for a terminal, in Markdown, as JSON.

use super::{Format, markdown, terminal};
use crate::reruns::AblationSummary;
use crate::{Options, ReportError};

/// Writes an inquiry.
pub fn write(
    told: &AblationSummary,
    format: Format,
    options: &Options,
) -> Result<Vec<u8>, ReportError> {
    let trouble = |why: String| ReportError::Published {
        table: told.rerun.clone(),
        format,
        why,
    };
    match format {
        Format::Terminal => Ok(terminal::inquiry(told, options)),
        Format::Markdown => Ok(markdown::ablation::write(told)),
        Format::Json => {
            let mut bytes = serde_json::to_vec_pretty(told).map_err(|e| trouble(e.to_string()))?;
            bytes.push(b'\n');
            Ok(bytes)
        }
        Format::Html
        | Format::Csv
        | Format::BonnieCsv
        | Format::Bencher
        | Format::OpenMetrics => Err(trouble(
            "an inquiry is shown on the terminal, in Markdown and as JSON; its runs have all formats"
                .to_owned(),
        )),
    }
}
