//! Groups contenders by lab and kernel: only contenders of one group are compared. Comparisons
//! receive one share of a run and cannot access the others. No other module separates labs.

use super::{CellCounts, Comparison, Unmeasured, WarningSummary, series, surroundings, warnings};
use crate::terms;
use fsdyno_model::{LabShare, ResultSet};
use std::borrow::Cow;

/// The reason why figures of several labs are separate.
pub const WHY: &str = "Figures of another kernel are not compared, because its system calls cost \
                       differently: each lab is separate, with a baseline of its own.";

/// The reason why contenders on several kernels are separate.
const ON_KERNELS: &str = "Each contender is compared with itself on the first kernel.";

/// The first sentence about a run on disks with configured faults.
const FAULTY: &str = "The disks of this run had configured faults: choose nothing by its figures.";

/// Whether the disks of a run have configured faults.
pub fn has_faults(set: &ResultSet) -> bool {
    let disk = set.run.plan.disk.as_ref();
    disk.is_some_and(|disk| disk.faults.is_some())
}

/// The comparison of a run, lab by lab.
#[derive(Debug, Clone)]
pub struct Comparisons {
    /// The comparisons of the labs, in the order of the plan.
    pub labs: Vec<Comparison>,
    /// The warnings of the whole run, deduplicated.
    pub warning_summaries: Vec<WarningSummary>,
    /// The cells that were not measured, deduplicated.
    pub unmeasured: Vec<Unmeasured>,
    /// Whether the disks have configured faults. The figures are then no basis for a choice.
    pub faulty: bool,
    /// The cells of the plan by outcome.
    pub cells: CellCounts,
    /// The sentence about a run that varies another.
    pub variant: Option<String>,
}

/// A lab of a run that has several, or a contender of a run on several kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lab {
    /// The name of the lab or the contender, escaped for printing.
    pub name: String,
    /// Its kernels and the memory of its guests; empty if unknown.
    pub about: String,
    /// Whether it is one contender on several kernels.
    pub compares_kernels: bool,
}

impl Lab {
    fn of(share: &LabShare, set: &ResultSet) -> Self {
        let memory = set.run.plan.guest.as_ref().filter(|_| share.lab.is_guest());
        let memory = memory.map(|guest| guest.memory.to_string());
        let about: Vec<String> = share.kernels.iter().cloned().chain(memory).collect();
        let name = match &share.kernels_of {
            Some(contender) => contender.clone(),
            None => share.lab.to_string(),
        };
        Self {
            name: terms::printable(&name),
            about: terms::printable(&about.join(", ")),
            compares_kernels: share.kernels_of.is_some(),
        }
    }

    /// Its name and description: `uml: Linux 6.1.0, 512 MiB`.
    pub fn heading(&self) -> String {
        if self.about.is_empty() {
            return self.name.clone();
        }
        format!("{}: {}", self.name, self.about)
    }
}

/// The shares of a run, each as a run; with the lab if there are several.
pub fn shares(set: &ResultSet) -> Vec<(Option<Lab>, Cow<'_, ResultSet>)> {
    let shares = set.labs();
    if shares.len() < 2 {
        return vec![(None, Cow::Borrowed(set))];
    }
    let share = |share: &LabShare| {
        let lab = Lab::of(share, set);
        (Some(lab), Cow::Owned(set.only(&share.contenders)))
    };
    shares.iter().map(share).collect()
}

impl Comparisons {
    /// Compares the contenders of each lab of a run.
    pub fn of(set: &ResultSet) -> Self {
        let labs: Vec<Comparison> = shares(set)
            .into_iter()
            .map(|(lab, share)| Comparison {
                lab,
                ..Comparison::of(&share)
            })
            .collect();
        let mut warning_summaries = warnings::warning_summaries(set);
        for one in &labs {
            warning_summaries.extend(series::warning_summaries(one));
        }
        warning_summaries.extend(surroundings::warning_summaries(set, &warning_summaries));
        Self {
            labs,
            warning_summaries,
            unmeasured: warnings::unmeasured(set),
            faulty: has_faults(set),
            variant: set.run.plan.variant.as_ref().map(|of| {
                let text = if set.run.plan.measures_user_code() {
                    format!(
                        "This run measures the user code of {}, on the host.",
                        of.run
                    )
                } else {
                    let change = &of.change;
                    format!(
                        "This run varies {} by the known error of its model: {change}.",
                        of.run
                    )
                };
                terms::printable(&text)
            }),
            cells: CellCounts::of(set),
        }
    }

    /// Whether there are several labs, whose figures are separate.
    pub fn has_several(&self) -> bool {
        self.labs.len() > 1
    }

    /// Whether contenders are compared with themselves on several kernels.
    pub fn compares_kernels(&self) -> bool {
        let mut labs = self.labs.iter().filter_map(|one| one.lab.as_ref());
        labs.any(|lab| lab.compares_kernels)
    }

    /// The reason why there are several comparisons.
    pub fn why_separate(&self) -> &'static str {
        if self.compares_kernels() {
            ON_KERNELS
        } else {
            WHY
        }
    }

    /// The heading of content about all of them.
    pub fn heading_of_all(&self) -> &'static str {
        if self.compares_kernels() {
            "All contenders"
        } else {
            "All labs"
        }
    }

    /// The answers, a sentence for each lab. On disks with faults, they begin with the note that
    /// the figures are no basis for a choice.
    pub fn answers(&self) -> Vec<String> {
        let has_same_name = |lab: &Lab| {
            let labs = self.labs.iter().filter_map(|one| one.lab.as_ref());
            labs.filter(|other| other.name == lab.name).count() > 1
        };
        let text = |one: &Comparison| {
            let text = &one.answer;
            match &one.lab {
                Some(lab) if has_same_name(lab) => format!("{}: {text}", lab.heading()),
                Some(lab) => format!("{}: {text}", lab.name),
                None => text.clone(),
            }
        };
        let faulty = self.faulty.then(|| FAULTY.to_owned());
        faulty
            .into_iter()
            .chain(self.variant.clone())
            .chain(self.labs.iter().map(text))
            .collect()
    }
}
