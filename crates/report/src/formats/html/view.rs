//! What the page is filled with around the tables of its labs.

use super::filters::{self, Filter};
use super::notes::{Doubt, Unmeasured};
use super::part::Part;
use super::published::{self, Then};
use super::{charts, commands, fill, why};
use crate::Options;
use crate::table::{Comparison, Comparisons, Lab, Measure, facts, labs};
use crate::terms;
use fsdyno_model::ResultSet;
use serde::Serialize;

/// The whole page.
#[derive(Debug, Serialize)]
pub struct Page {
    title: String,
    subtitle: String,
    run: String,
    conclusions: Vec<String>,
    /// Why labs stand apart, where there are several.
    why: Option<&'static str>,
    /// What heads that which is told of all of them.
    all_labs: Option<&'static str>,
    cells: String,
    /// The tables of each lab.
    parts: Vec<String>,
    /// Charts that would make the page too large.
    charts_left_out: usize,
    /// Whether there is any table of times.
    measured: bool,
    /// Whether some phase has a time to durable.
    writes: bool,
    /// What can be chosen of all tables.
    filters: Vec<Filter>,
    /// The published tables that the run does again.
    then: Vec<Then>,
    doubts: Vec<Doubt>,
    unmeasured: Vec<Unmeasured>,
    facts: Vec<(&'static str, String)>,
    in_force: commands::Texts,
    commands: commands::Texts,
    plan: String,
    schema: u32,
}

impl Page {
    /// The page of a run.
    pub fn of(set: &ResultSet, options: &Options) -> Result<Self, minijinja::Error> {
        let comparisons = Comparisons::of(set);
        let unmeasured = !comparisons.unmeasured.is_empty();
        let mut why = why::of_all(set, &comparisons, options).into_iter();
        let (drawn, charts_left_out) = charts::of_all(set, &comparisons);
        let part = |(at, comparison): (usize, &Comparison)| {
            let why = why.next().unwrap_or_default();
            let asked = (unmeasured, options.clock);
            let part = Part::of(at, comparison, (why, &drawn[at]), asked);
            let filled = fill("lab.html", &part)?;
            Ok(String::from_utf8_lossy(&filled).into_owned())
        };
        let parts = comparisons.labs.iter().enumerate().map(part);
        let run = &set.run;
        Ok(Self {
            title: title(&comparisons),
            subtitle: subtitle(set, &comparisons),
            run: terms::printable(&run.id),
            conclusions: comparisons.conclusions(),
            why: comparisons.apart().then_some(labs::WHY),
            all_labs: comparisons.apart().then_some(labs::ALL),
            cells: comparisons.cells.in_words(),
            charts_left_out,
            parts: parts.collect::<Result<_, minijinja::Error>>()?,
            measured: comparisons.labs.iter().any(Comparison::measured),
            writes: comparisons
                .labs
                .iter()
                .flat_map(Comparison::lines)
                .any(|line| line.measure == Measure::Durable),
            filters: filters::filters(&comparisons.labs),
            then: published::beside(set, options.clock),
            doubts: comparisons.doubts.iter().map(Doubt::of).collect(),
            unmeasured: comparisons.unmeasured.iter().map(Unmeasured::of).collect(),
            facts: facts::facts(set),
            in_force: commands::in_force(set),
            commands: commands::commands(set),
            plan: serde_json::to_string_pretty(&run.plan)
                .unwrap_or_else(|e| format!("the plan has no JSON form: {e}")),
            schema: set.schema,
        })
    }
}

/// Plan, date and kernels.
fn subtitle(set: &ResultSet, comparisons: &Comparisons) -> String {
    let labs = comparisons.labs.iter().filter_map(|one| one.lab.as_ref());
    let mut kernels: Vec<String> = labs.map(Lab::heading).collect();
    if kernels.is_empty() {
        kernels.push(terms::printable(set.kernel()));
    }
    format!(
        "{} \u{b7} {} \u{b7} {}",
        terms::printable(&set.run.plan.name),
        terms::date(set.run.started_unix_ns),
        kernels.join(" \u{b7} ")
    )
}

fn title(comparisons: &Comparisons) -> String {
    // Characters of a heading of two lines at most.
    const LONGEST: usize = 80;
    let contenders = comparisons.labs.iter().flat_map(|one| &one.contenders);
    let contenders: Vec<String> = contenders.cloned().collect();
    let named = terms::list(&contenders);
    let compared = if comparisons.apart() {
        format!("compared within {} labs", comparisons.labs.len())
    } else {
        "compared".to_owned()
    };
    match contenders.len() {
        0 => "Nothing compared".to_owned(),
        1 => format!("{named}, measured"),
        _ if named.chars().count() <= LONGEST => format!("{named} {compared}"),
        n => format!("{n} file systems and settings {compared}"),
    }
}
