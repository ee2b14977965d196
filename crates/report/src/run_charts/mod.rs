//! The charts of a run, and their selection.

mod cost;
mod latency;
mod ratios;
mod repeats;
mod samples;
mod scaling;
mod throughput;

use crate::charts::{Chart, Kind};
use crate::comparison::{Comparison, Comparisons, Lab, PhaseTable, labs};
use crate::terms;
use fsdyno_model::ResultSet;

/// The selection of charts; by default everything.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this workload.
    pub workload: Option<String>,
    /// Only this phase.
    pub phase: Option<String>,
    /// Only these contenders; ratios still refer to the baseline.
    pub contenders: Vec<String>,
}

/// A requested chart does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum NoChart {
    /// The run has nothing with this name.
    #[error("the run {run} has no {what} `{typed}`; it has {known}")]
    Unknown {
        run: String,
        /// The kind of the requested item.
        what: &'static str,
        typed: String,
        known: String,
    },
    /// The selection has no figures.
    #[error("there is nothing to draw of the run {run}: no requested cell was measured")]
    Nothing { run: String },
}

/// The context of a chart: its lab, and its contenders.
struct Place<'a> {
    comparison: &'a Comparison,
    /// The share of the run in that lab.
    share: &'a ResultSet,
    /// Whether each contender is drawn, by index.
    shown: Vec<bool>,
    lab: Option<String>,
}

impl Place<'_> {
    /// The contenders drawn.
    fn contenders(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shown.len()).filter(|at| self.shown[*at])
    }

    /// A chart without panels.
    fn chart(&self, kind: Kind, of: Option<(&str, &PhaseTable)>) -> Chart {
        let (workload, phase) = of.map_or((None, None), |(workload, phase)| {
            (Some(workload.to_owned()), Some(phase.label.clone()))
        });
        let parts = [
            Some(kind.name().to_owned()),
            workload.clone(),
            phase.clone(),
        ];
        let parts = parts.into_iter().chain([self.lab.clone()]).flatten();
        let slugs: Vec<String> = parts.map(|part| slug(&part)).collect();
        Chart {
            schema: Chart::SCHEMA,
            name: slugs.join("-"),
            kind,
            lab: self.lab.clone(),
            title: String::new(),
            about: String::new(),
            notes: Vec::new(),
            contenders: self.comparison.contenders.clone(),
            panels: Vec::new(),
            workload,
            phase,
        }
    }

    /// The name of a phase in titles.
    fn name(&self, workload: &str, phase: &str) -> String {
        terms::phase(self.comparison.workloads.len(), workload, phase)
    }
}

/// All charts of a run, or of a part of it.
pub fn of_run(set: &ResultSet, filter: &Filter) -> Result<Vec<Chart>, NoChart> {
    check(set, filter)?;
    let comparisons = Comparisons::of(set);
    let charts = of_labs(set, &comparisons, filter).into_iter().flatten();
    let charts: Vec<Chart> = charts.collect();
    if charts.is_empty() {
        return Err(NoChart::Nothing {
            run: set.run.id.clone(),
        });
    }
    Ok(charts)
}

/// All charts of each lab of a run.
pub fn by_lab(set: &ResultSet, comparisons: &Comparisons) -> Vec<Vec<Chart>> {
    of_labs(set, comparisons, &Filter::default())
}

fn of_labs(set: &ResultSet, comparisons: &Comparisons, filter: &Filter) -> Vec<Vec<Chart>> {
    let shares = labs::shares(set);
    let both = comparisons.labs.iter().zip(&shares);
    let mut charts: Vec<Vec<Chart>> = both
        .map(|(comparison, (_, share))| of_lab(comparison, share, filter))
        .collect();
    make_unique(&mut charts.iter_mut().flatten().collect::<Vec<_>>());
    charts
}

/// The charts of one lab, from its share of the run.
fn of_lab(comparison: &Comparison, share: &ResultSet, filter: &Filter) -> Vec<Chart> {
    let labels = comparison.contenders.iter();
    let wanted = &filter.contenders;
    let place = Place {
        comparison,
        share,
        shown: labels
            .map(|label| wanted.is_empty() || wanted.contains(label))
            .collect(),
        lab: comparison.lab.as_ref().map(Lab::heading),
    };
    let mut charts = Vec::new();
    charts.extend(ratios::chart(&place, filter));
    for (at, workload) in comparison.workloads.iter().enumerate() {
        for (number, phase) in workload.phases.iter().enumerate() {
            if !filter.takes(&workload.name, &phase.label) {
                continue;
            }
            let of = (workload.name.as_str(), phase);
            charts.extend(samples::chart(&place, of));
            charts.extend(repeats::chart(&place, of));
            charts.extend(latency::chart(&place, of, (at, number)));
            charts.extend(throughput::chart(&place, of, (at, number)));
            charts.extend(cost::chart(&place, of));
        }
    }
    charts.extend(scaling::charts(&place, filter));
    charts.retain(|chart| !chart.is_empty());
    charts
}

/// The charts with these names: the name of a chart, or of a kind, which selects all of it.
pub fn choose(run: &str, charts: Vec<Chart>, names: &[String]) -> Result<Vec<Chart>, NoChart> {
    if names.is_empty() {
        return Ok(charts);
    }
    let meant = |chart: &Chart, name: &String| chart.name == *name || chart.kind.name() == name;
    for typed in names {
        if !charts.iter().any(|chart| meant(chart, typed)) {
            let known: Vec<String> = charts.iter().map(|chart| chart.name.clone()).collect();
            return Err(NoChart::Unknown {
                run: run.to_owned(),
                what: "chart",
                typed: typed.clone(),
                known: terms::list(&known),
            });
        }
    }
    let wanted = |chart: &Chart| names.iter().any(|name| meant(chart, name));
    Ok(charts.into_iter().filter(wanted).collect())
}

impl Filter {
    /// Whether that phase is selected.
    fn takes(&self, workload: &str, phase: &str) -> bool {
        let is = |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|w| w == name);
        is(&self.workload, workload) && is(&self.phase, phase)
    }
}

/// Rejects names that the run does not have, with the existing ones.
fn check(set: &ResultSet, filter: &Filter) -> Result<(), NoChart> {
    let plan = &set.run.plan;
    let labels: Vec<_> = plan.contenders.iter().map(|one| &one.label).collect();
    let workloads: Vec<_> = plan.workloads.iter().map(|one| &one.name).collect();
    let phases = plan.workloads.iter().flat_map(|one| &one.phases);
    let phases: Vec<_> = phases.map(|phase| &phase.label).collect();
    let requested = [
        ("workload", filter.workload.iter().collect(), workloads),
        ("phase", filter.phase.iter().collect(), phases),
        (
            "contender",
            filter.contenders.iter().collect::<Vec<_>>(),
            labels,
        ),
    ];
    for (what, typed, known) in requested {
        let mut known: Vec<String> = known
            .into_iter()
            .map(|name| terms::printable(name))
            .collect();
        known.dedup();
        if let Some(typed) = typed.into_iter().find(|name| !known.contains(name)) {
            return Err(NoChart::Unknown {
                run: set.run.id.clone(),
                what,
                typed: typed.clone(),
                known: terms::list(&known),
            });
        }
    }
    Ok(())
}

/// Letters, digits and single dashes: valid in a file name and as the id of an element.
fn slug(text: &str) -> String {
    let mut slug = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

/// Numbers charts with a name that an earlier chart has.
fn make_unique(charts: &mut [&mut Chart]) {
    for at in 1..charts.len() {
        let (before, rest) = charts.split_at_mut(at);
        let taken = |name: &str| before.iter().any(|chart| chart.name == name);
        let name = rest[0].name.clone();
        let mut number = 2;
        while taken(&rest[0].name) {
            rest[0].name = format!("{name}-{number}");
            number += 1;
        }
    }
}
