//! The summary of the first power cuts that need one, and the progress of a series.

use crate::output;
use fsdyno_model::{Contender, PowerCut, Recovery, SeriesInfo};
use fsdyno_report::crash::{lost_by_disk, repeat_command};
use indicatif::ProgressBar;

/// The maximum number of power cuts that are printed.
const MAX_PRINTED: usize = 2;

/// The maximum number of lines about the lost files of a power cut.
const MAX_LOSSES: usize = 3;

pub struct Summaries<'a> {
    info: &'a SeriesInfo,
    bar: ProgressBar,
    done: u64,
    printed: usize,
    left_out: u64,
}

impl<'a> Summaries<'a> {
    /// No power was cut yet.
    pub fn new(info: &'a SeriesInfo) -> Self {
        Self {
            info,
            bar: ProgressBar::new_spinner(),
            done: 0,
            printed: 0,
            left_out: 0,
        }
    }

    /// Adds a power cut. One that lost something, or whose images are kept, is printed, if it is one
    /// of the first.
    pub fn add(&mut self, contender: &Contender, power_cut: &PowerCut) {
        self.done += 1;
        let (done, all) = (self.done, self.info.power_cuts());
        self.bar.set_message(format!("{done} of {all} power cuts"));
        self.bar.tick();
        if power_cut.recovery.is_whole() && power_cut.images.is_empty() {
            return;
        }
        // Of a series of activities, each power cut loses something.
        if self.info.activities.is_some() {
            return;
        }
        if self.printed < MAX_PRINTED {
            self.printed += 1;
            self.bar.suspend(|| print(self.info, contender, power_cut));
        } else {
            self.left_out += 1;
        }
    }

    /// Ends the progress, and names the command that shows the power cuts that were left out.
    pub fn end(self) {
        self.bar.finish_and_clear();
        if self.left_out > 0 {
            output::note(format_args!(
                "{} more power cuts lost something or have kept images: fsdyno show {}",
                self.left_out, self.info.id
            ));
        }
    }
}

/// Prints the outcome of a power cut. If its images are kept, also prints the command that checks
/// them again.
fn print(info: &SeriesInfo, contender: &Contender, power_cut: &PowerCut) {
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
    let messages = judgement.iter().flat_map(|judgement| &judgement.messages);
    for text in messages.take(MAX_LOSSES) {
        output::note(format_args!("  {text}"));
    }
    if let Some(lost) = lost_by_disk(power_cut).filter(|_| !power_cut.recovery.is_whole()) {
        output::note(format_args!("  {lost}"));
    }
    if let Some(command) = repeat_command(contender, power_cut, info) {
        output::note(format_args!("  {command}"));
    }
}
