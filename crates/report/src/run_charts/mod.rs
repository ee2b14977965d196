//! The charts of a run, and their selection.

mod cost;
mod latency;
mod ratios;
mod repeats;
mod samples;
mod scaling;
mod throughput;

use crate::charts::flame::Flame;
use crate::charts::{Chart, Kind, Picture};
use crate::comparison::{Comparison, Comparisons, Lab, PhaseTable, labs};
use crate::functions;
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
    /// The run has no profiles.
    #[error(
        "the run {run} has no profile of the selected contenders and phases, or no process slept, or it has fewer \
         than 30 samples. fsdyno why {run} A B PHASE --functions measures and stores profiles of A and B, in \
         virtual time; on this machine fsdyno run --profile samples"
    )]
    NoProfile { run: String },
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
        let slugs: Vec<String> = parts.map(|part| terms::slug(&part)).collect();
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

/// All charts of a run, or of a part of it, and the flame graphs of its profiles.
pub fn of_run(set: &ResultSet, filter: &Filter) -> Result<Vec<Picture>, NoChart> {
    check(set, filter)?;
    let comparisons = Comparisons::of(set);
    let charts = of_labs(set, &comparisons, filter).into_iter().flatten();
    let mut pictures: Vec<Picture> = charts.map(Picture::Chart).collect();
    pictures.extend(flames(set, filter).into_iter().map(Picture::Flame));
    make_unique(
        &mut pictures
            .iter_mut()
            .map(Picture::name_mut)
            .collect::<Vec<_>>(),
    );
    if pictures.is_empty() {
        return Err(NoChart::Nothing {
            run: set.run.id.clone(),
        });
    }
    Ok(pictures)
}

fn flames(set: &ResultSet, filter: &Filter) -> Vec<Flame> {
    let takes = |label: &str| filter.takes_contender(label);
    let flames = functions::flames(set, takes, |workload, phase| filter.takes(workload, phase));
    let named = flames.into_iter().map(|(workload, phase, mut flame)| {
        let parts = [flame.kind.name(), &workload, &phase].into_iter();
        let parts = parts.chain(flame.contenders.iter().map(String::as_str));
        flame.name = parts.map(terms::slug).collect::<Vec<_>>().join("-");
        flame
    });
    named.collect()
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
    let names = charts.iter_mut().flatten().map(|chart| &mut chart.name);
    make_unique(&mut names.collect::<Vec<_>>());
    charts
}

/// The charts of one lab, from its share of the run.
fn of_lab(comparison: &Comparison, share: &ResultSet, filter: &Filter) -> Vec<Chart> {
    let labels = comparison.contenders.iter();
    let place = Place {
        comparison,
        share,
        shown: labels.map(|label| filter.takes_contender(label)).collect(),
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
pub fn choose(run: &str, charts: Vec<Picture>, names: &[String]) -> Result<Vec<Picture>, NoChart> {
    if names.is_empty() {
        return Ok(charts);
    }
    let meant =
        |chart: &Picture, name: &String| chart.name() == name || chart.kind().name() == name;
    for typed in names {
        if !charts.iter().any(|chart| meant(chart, typed)) {
            if [Kind::Flame, Kind::Sleep]
                .iter()
                .any(|kind| kind.name() == typed)
            {
                return Err(NoChart::NoProfile {
                    run: run.to_owned(),
                });
            }
            let known: Vec<String> = charts.iter().map(|one| one.name().to_owned()).collect();
            return Err(NoChart::Unknown {
                run: run.to_owned(),
                what: "chart",
                typed: typed.clone(),
                known: terms::list(&known),
            });
        }
    }
    let wanted = |chart: &Picture| names.iter().any(|name| meant(chart, name));
    Ok(charts.into_iter().filter(wanted).collect())
}

impl Filter {
    /// Whether that contender is selected.
    fn takes_contender(&self, label: &str) -> bool {
        self.contenders.is_empty() || self.contenders.iter().any(|wanted| wanted == label)
    }

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

/// Numbers the names that an earlier chart has.
fn make_unique(names: &mut [&mut String]) {
    for at in 1..names.len() {
        let (before, rest) = names.split_at_mut(at);
        let taken = |name: &String| before.iter().any(|one| *one == name);
        let name = rest[0].clone();
        let mut number = 2;
        while taken(rest[0]) {
            *rest[0] = format!("{name}-{number}");
            number += 1;
        }
    }
}
