//! The summary of each power cut.

use crate::output;
use fsdyno_model::{Contender, PowerCut, Recovery, SeriesInfo};
use fsdyno_report::crash::{lost_by_disk, repeat_command};

/// Prints the outcome of a power cut. If its images are kept, also prints the command that checks
/// them again.
pub fn print(info: &SeriesInfo, contender: &Contender, power_cut: &PowerCut) {
    let head = format!(
        "power cut {} of {}: {} after {} and {} operations",
        power_cut.number,
        info.power_cuts_planned,
        power_cut.contender,
        power_cut.after_ns,
        power_cut.acknowledged
    );
    let Recovery {
        corrected_by,
        refused,
        beyond_repair,
        judgement,
        found,
        ..
    } = &power_cut.recovery;
    let corrected = corrected_by.as_ref();
    let corrected = corrected.map(|by| format!("corrected by `{by}` before it was mounted"));
    if power_cut.recovery.is_whole() {
        let how = corrected.as_ref().map(|corrected| format!(", {corrected}"));
        output::note(format_args!("{head}: whole{}", how.unwrap_or_default()));
    } else {
        output::note(format_args!("{head}:"));
    }
    let corrected = corrected.filter(|_| !power_cut.recovery.is_whole());
    for text in corrected
        .iter()
        .chain(refused)
        .chain(beyond_repair)
        .chain(found)
    {
        output::note(format_args!("  {text}"));
    }
    for text in judgement.iter().flat_map(|judgement| &judgement.messages) {
        output::note(format_args!("  {text}"));
    }
    if let Some(lost) = lost_by_disk(power_cut).filter(|_| !power_cut.recovery.is_whole()) {
        output::note(format_args!("  {lost}"));
    }
    if let Some(command) = repeat_command(contender, power_cut, info) {
        output::note(format_args!("  {command}"));
    }
}
