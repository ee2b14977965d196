//! Collects the figures of runs, and divides them into series of comparable ones.

use super::json::{History, SeriesHistory};
use super::observation::{Collected, Observation, RunFacts};
use super::{By, Selection, order, steps};
use crate::compare::differences;
use crate::comparison::user_code::UserCode;
use crate::comparison::warnings::about_work_of_run;
use crate::lists::unique;
use crate::terms;
use fsdyno_model::{Better, Contender, ContenderKernel, FigureName, Outcome, Plan, ResultSet};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The reason why there is no history.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the message describes the fields")]
pub enum NoHistory {
    /// No run has a contender of that name.
    #[error("no run has a contender `{typed}`; there are {known}")]
    NoContender { typed: String, known: String },
    /// No run has a phase of that name.
    #[error("no run has a phase `{typed}`; there are {known}")]
    NoPhase { typed: String, known: String },
    /// The selected cells have no figure.
    #[error(
        "the selected runs have no figure of `{metric}`. Choose another --metric, or measure it: \
         docs/history.md"
    )]
    NoFigures { metric: FigureName },
    /// The selected cells have no profile.
    #[error(
        "the selected runs have no profile: fsdyno why RUN A B PHASE --functions, or fsdyno compare RUN RUN \
         --functions PHASE, measures and stores them, in virtual time; on this machine fsdyno run --profile \
         samples, and a profile needs 30 samples"
    )]
    NoProfiles,
    /// No profile has the function.
    #[error(
        "no profile of the selected runs has the function `{function}`: fsdyno why RUN A B PHASE \
         --functions --long lists all"
    )]
    NoFunction { function: String },
    /// No run has a commit.
    #[error(
        "no selected run has a commit. Add it with: fsdyno runs tag RUN commit-HASH, or use --by \
         kernel"
    )]
    NoCommits,
}

/// Collects the figures of runs.
#[derive(Debug)]
pub struct Collector {
    selection: Selection,
    /// The unit of the followed figure, and its direction.
    unit: (String, Better),
    series: Vec<Collected>,
    labels: BTreeSet<String>,
    phases: BTreeSet<String>,
    without_commit: BTreeSet<String>,
    /// Runs whose profiles are sampled, where the first one is exact, or the other way.
    other_profiles: BTreeSet<String>,
    /// Warnings about work that is not what the runs should measure.
    warnings: Vec<String>,
}

impl Collector {
    /// Starts a collection.
    pub fn new(selection: Selection) -> Self {
        Self {
            selection,
            unit: (String::new(), Better::Neither),
            series: Vec::new(),
            labels: BTreeSet::new(),
            phases: BTreeSet::new(),
            without_commit: BTreeSet::new(),
            other_profiles: BTreeSet::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds a run. Its tag `commit-HASH` names its commit.
    pub fn add(&mut self, set: &ResultSet, tags: &[String]) {
        let plan = &on_the_axis(&set.run.plan, self.selection.by);
        let tagged = tags.iter().find_map(|tag| tag.strip_prefix("commit-"));
        let run = Rc::new(RunFacts {
            id: set.run.id.clone(),
            started_unix_ns: set.run.started_unix_ns,
            provenance: set.run.provenance.clone(),
            commit: tagged.map(str::to_owned),
        });
        self.warnings.extend(about_work_of_run(set));
        let chosen: Vec<bool> = plan
            .contenders
            .iter()
            .map(|contender| {
                self.labels.insert(contender.label.clone());
                let names = &self.selection.contenders;
                names.is_empty() || names.iter().any(|name| may_be(name, contender))
            })
            .collect();
        let mut found: BTreeMap<(usize, usize, u32), BTreeMap<FigureName, Vec<f64>>> =
            BTreeMap::new();
        let measured = set.cells.iter();
        for record in measured.filter(|record| record.outcome == Outcome::Measured) {
            let at = record.cell.contender as usize;
            let workload = record.cell.workload as usize;
            let Some(planned) = plan.workloads.get(workload) else {
                continue;
            };
            for sample in &record.samples {
                let phase = &sample.label;
                self.phases.insert(format!("{}/{phase}", planned.name));
                let is_it = |typed: &String| is_phase(typed, &planned.name, phase);
                let typed = &self.selection.phases;
                if !chosen[at] || !(typed.is_empty() || typed.iter().any(is_it)) {
                    continue;
                }
                let figures = found.entry((at, workload, sample.phase)).or_default();
                let metric = self.selection.metric();
                let mut followed = metric.definition().is_none().then(|| metric.clone());
                if let Some(reading) = metric.read(sample) {
                    let unit = (reading.unit.to_owned(), reading.better);
                    // Blocks of exact profiles and times of sampled ones are not one series.
                    let is_first = self.unit.1 == Better::Neither;
                    if metric.function().is_some() && !is_first && self.unit != unit {
                        self.other_profiles.insert(run.id.clone());
                        followed = None;
                    } else {
                        self.unit = unit;
                    }
                }
                for name in FigureName::all().chain(followed) {
                    if let Some(figure) = name.value(sample) {
                        figures.entry(name).or_default().push(figure);
                    }
                }
            }
        }
        for ((at, workload, phase), figures) in found {
            if !figures.contains_key(self.selection.metric()) {
                continue;
            }
            let code = UserCode::of(set, workload, phase as usize);
            let (unit, better) = &self.unit;
            let code = code.and_then(|code| code.cost(self.selection.metric(), unit, *better));
            let observation = Observation {
                user_code: code,
                ..observation(&run, set, at, figures)
            };
            if self.selection.by == By::Commit && observation.commit.is_none() {
                self.without_commit.insert(run.id.clone());
                continue;
            }
            let name = plan.workloads[workload].phases.get(phase as usize);
            let Some(name) = name.map(|phase| phase.label.clone()) else {
                continue;
            };
            let reduced = reduced(plan, at, workload);
            self.insert(reduced, name, observation);
        }
    }

    /// Adds an observation to the series of comparable ones.
    fn insert(&mut self, plan: Plan, phase: String, one: Observation) {
        let (contender, workload) = (plan.contenders[0].clone(), plan.workloads[0].name.clone());
        // Without a processor, virtual time is the same whether the kernel counts or not.
        let counted = plan.cpu.is_none() || one.figures.contains_key(&FigureName::BLOCKS);
        let known = self.series.iter_mut().find(|series| {
            series.contender.label == contender.label
                && series.workload == workload
                && series.phase == phase
                && series.counted == counted
                && are_comparable(&series.plan, &plan)
        });
        match known {
            Some(series) => series.observations.push(one),
            None => self.series.push(Collected {
                contender,
                workload,
                phase,
                plan,
                counted,
                observations: vec![one],
            }),
        }
    }

    /// The history of the added runs.
    pub fn finish(mut self) -> Result<History, NoHistory> {
        self.check_names()?;
        // A label selects only this contender. Otherwise a name of a file system selects all of it.
        let names = &self.selection.contenders;
        let labels = &self.labels;
        self.series.retain(|series| {
            let takes = |name: &String| {
                is_label(name, &series.contender.label)
                    || (*name == series.contender.filesystem && !labels.contains(name))
            };
            names.is_empty() || names.iter().any(takes)
        });
        if self.series.is_empty() {
            if self.without_commit.is_empty() {
                let metric = self.selection.metric().clone();
                return Err(match metric.function() {
                    Some(_) => NoHistory::NoProfiles,
                    None => NoHistory::NoFigures { metric },
                });
            }
            return Err(NoHistory::NoCommits);
        }
        self.check_function()?;
        let places: Vec<(String, String)> = unique(
            self.series
                .iter()
                .map(|one| (one.workload.clone(), one.phase.clone())),
        );
        let place = |one: &Collected| {
            let mut places = places.iter();
            places.position(|(workload, phase)| (workload, phase) == (&one.workload, &one.phase))
        };
        self.series.sort_by_key(place);
        let axis = self.place_observations();
        let mut warnings = std::mem::take(&mut self.warnings);
        let series: Vec<SeriesHistory> = self
            .series
            .iter()
            .map(|one| {
                let conditions = self.conditions(one);
                let followed = (&self.selection, self.unit.1);
                steps::series(one, conditions, &axis, followed, &mut warnings)
            })
            .collect();
        if !self.without_commit.is_empty() {
            let names: Vec<String> = self.without_commit.iter().cloned().collect();
            warnings.push(format!(
                "{} left out, because the commit is unknown: {}",
                terms::count(names.len(), "run"),
                names.join(", ")
            ));
        }
        if !self.other_profiles.is_empty() {
            let names: Vec<String> = self.other_profiles.iter().cloned().collect();
            warnings.push(format!(
                "{} left out, because profiles that are sampled are not compared with exact ones: {}",
                terms::count(names.len(), "run"),
                names.join(", ")
            ));
        }
        let runs = self.series.iter().flat_map(|one| &one.observations);
        let runs: BTreeSet<&str> = runs.map(|one| one.run.id.as_str()).collect();
        Ok(History {
            schema: History::SCHEMA,
            by: self.selection.by,
            metric: self.selection.metric().clone(),
            unit: self.unit.0,
            better: self.unit.1,
            runs: runs.len(),
            axis,
            series,
            warnings,
        })
    }

    /// Gives each observation its place on the axis, which all series share, and sorts them.
    /// Returns the names of the places.
    fn place_observations(&mut self) -> Vec<String> {
        let by = self.selection.by;
        let observations = self.series.iter().flat_map(|one| &one.observations);
        let mut all: Vec<&Observation> = observations.collect();
        all.sort_by_key(|one| one.run.started_unix_ns);
        let commits = commit_order(&all, &self.selection.commits);
        let commit = |one: &Observation| {
            let commit = one.commit.as_deref().unwrap_or_default();
            commits
                .iter()
                .position(|other| is_same_commit(other, commit))
        };
        let key = |one: &Observation| match by {
            By::Kernel => [one.kernel.clone(), one.build.clone()],
            By::Date => [one.run.id.clone(), String::new()],
            By::Commit => [
                commit(one).map_or_else(String::new, |at| commits[at].clone()),
                String::new(),
            ],
        };
        let mut places: Vec<([String; 2], &Observation)> = Vec::new();
        for one in all {
            let key = key(one);
            if !places.iter().any(|(known, _)| *known == key) {
                places.push((key, one));
            }
        }
        // The sort is stable: builds of one kernel stay in the order of their first runs.
        match by {
            By::Kernel => places.sort_by(|(one, _), (other, _)| order::natural(&one[0], &other[0])),
            By::Date => {}
            By::Commit => places.sort_by_key(|(_, one)| commit(one)),
        }
        let labels = labels(&places, by);
        let keys: Vec<[String; 2]> = places.iter().map(|(key, _)| key.clone()).collect();
        let place = |one: &Observation| keys.iter().position(|known| *known == key(one));
        let found: Vec<Vec<usize>> = self
            .series
            .iter()
            .map(|series| {
                let observations = series.observations.iter();
                observations.map(|one| place(one).unwrap_or(0)).collect()
            })
            .collect();
        for (series, places) in self.series.iter_mut().zip(found) {
            for (one, place) in series.observations.iter_mut().zip(places) {
                one.place = place;
            }
            series
                .observations
                .sort_by_key(|one| (one.place, one.run.started_unix_ns));
        }
        labels
    }

    fn check_names(&self) -> Result<(), NoHistory> {
        let list = |names: &BTreeSet<String>| {
            let names: Vec<String> = names.iter().map(|name| terms::printable(name)).collect();
            if names.is_empty() {
                "none".to_owned()
            } else {
                terms::list(&names)
            }
        };
        for typed in &self.selection.contenders {
            let is_known = self.labels.iter().any(|label| is_label(typed, label));
            let mut series = self.series.iter();
            if !is_known && !series.any(|one| one.contender.filesystem == *typed) {
                return Err(NoHistory::NoContender {
                    typed: typed.clone(),
                    known: list(&self.labels),
                });
            }
        }
        for typed in &self.selection.phases {
            let is_known = |known: &String| {
                let (workload, phase) = known.split_once('/').unwrap_or(("", known));
                is_phase(typed, workload, phase)
            };
            if !self.phases.iter().any(is_known) {
                return Err(NoHistory::NoPhase {
                    typed: typed.clone(),
                    known: list(&self.phases),
                });
            }
        }
        Ok(())
    }

    /// Rejects a function that no profile has. One that some have counts as zero in the others.
    fn check_function(&self) -> Result<(), NoHistory> {
        let metric = self.selection.metric();
        let Some((function, _)) = metric.function() else {
            return Ok(());
        };
        let all = self.series.iter().flat_map(|one| &one.observations);
        let mut figures = all.filter_map(|one| one.figures.get(metric)).flatten();
        if figures.any(|blocks| *blocks > 0.0) {
            return Ok(());
        }
        Err(NoHistory::NoFunction {
            function: terms::printable(function),
        })
    }

    /// The conditions that distinguish a series from others of the same contender and phase.
    fn conditions(&self, one: &Collected) -> Vec<String> {
        let same = |other: &&Collected| {
            !std::ptr::eq(*other, one)
                && other.contender.label == one.contender.label
                && (&other.workload, &other.phase) == (&one.workload, &one.phase)
        };
        let others = self.series.iter().filter(same);
        unique(others.flat_map(|other| distinctions(one, other)))
    }
}

/// Whether a name may select a contender.
fn may_be(name: &str, contender: &Contender) -> bool {
    is_label(name, &contender.label) || name == contender.filesystem
}

fn is_label(name: &str, label: &str) -> bool {
    name == label || matches(name, label)
}

fn is_phase(name: &str, workload: &str, phase: &str) -> bool {
    matches(name, phase) || matches(name, &format!("{workload}/{phase}"))
}

/// Whether a pattern matches a text; `*` is any number of characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(text) = text.strip_prefix(first) else {
        return false;
    };
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    ends.any(|at| matches(rest, &text[at..]))
}

/// The plan without the kernels of its contenders, if these are the axis of the history.
fn on_the_axis(plan: &Plan, by: By) -> Plan {
    let mut plan = plan.clone();
    if by != By::Date {
        let contenders = plan.contenders.into_iter();
        plan.contenders = contenders.map(Contender::on_any_kernel).collect();
    }
    plan
}

/// The plan with only one contender and one workload, without the skipped phases.
fn reduced(plan: &Plan, contender: usize, workload: usize) -> Plan {
    Plan {
        contenders: vec![plan.contenders[contender].clone()],
        workloads: vec![plan.workloads[workload].clone()],
        skipped: Vec::new(),
        ..plan.clone()
    }
}

fn are_comparable(one: &Plan, other: &Plan) -> bool {
    one.processor() == other.processor()
        && !differences::of_plans(one, other)
            .iter()
            .any(|difference| difference.forbids)
}

/// The conditions of a series that another one does not have, as text.
fn distinctions(collected: &Collected, other: &Collected) -> Vec<String> {
    let (one, other_plan) = (&collected.plan, &other.plan);
    let all = differences::of_plans(one, other_plan).into_iter();
    let all = all.filter(|difference| difference.forbids);
    let mut words: Vec<String> = all
        .map(|difference| format!("{} {}", difference.what, difference.base))
        .collect();
    if one.processor() != other_plan.processor() {
        words.push(format!("processor {}", one.processor()));
    }
    if !collected.counted && other.counted {
        words.push("kernel work not counted".to_owned());
    }
    words
}

fn observation(
    run: &Rc<RunFacts>,
    set: &ResultSet,
    contender: usize,
    figures: BTreeMap<FigureName, Vec<f64>>,
) -> Observation {
    let plan = &set.run.plan;
    let kernel = set.kernel_of(contender).unwrap_or("unknown").to_owned();
    let own = plan.contenders[contender].kernel.as_ref();
    let commit = own.and_then(ContenderKernel::commit).map(str::to_owned);
    let build = match set.guest_of(contender) {
        Some(guest) => guest.split(',').nth(1).unwrap_or_default().trim(),
        None => &run.provenance.kernel_build,
    };
    let commit = commit.or_else(|| run.commit.clone());
    Observation {
        commit: commit.or_else(|| commit_in(&kernel)),
        run: Rc::clone(run),
        build: build.to_owned(),
        kernel,
        // Runs of a fixed number of draws have the same draws.
        exact: plan.in_virtual_time() && plan.adaptive.is_none(),
        margin: plan.margin,
        user_code: None,
        figures,
        place: 0,
    }
}

/// The commit in the release of a kernel that was built in a git repository:
/// `6.12.0-00012-gabcdef0` (`CONFIG_LOCALVERSION_AUTO`, scripts/setlocalversion of Linux 6.12).
fn commit_in(kernel: &str) -> Option<String> {
    let mut parts = kernel.split(['-', ' ', '+']);
    parts.find_map(|part| {
        let hash = part.strip_prefix('g')?;
        let is_hash = hash.len() >= 7 && hash.chars().all(|c| c.is_ascii_hexdigit());
        is_hash.then(|| hash.to_owned())
    })
}

/// The names of places. Equal ones get a number.
fn labels(places: &[([String; 2], &Observation)], by: By) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for (key, one) in places {
        let plain = match by {
            By::Kernel => short_kernel(&key[0]),
            By::Date => terms::date(one.run.started_unix_ns).replace(" UTC", ""),
            By::Commit => key[0].chars().take(12).collect(),
        };
        let plain = terms::printable(&plain);
        let word = if by == By::Kernel { " build" } else { "" };
        let mut label = plain.clone();
        let mut number = 2;
        while labels.contains(&label) {
            label = format!("{plain}{word} {number}");
            number += 1;
        }
        labels.push(label);
    }
    labels
}

/// The version in the name of a kernel: `6.12.38` of `Linux 6.12.38-fsdyno (User-mode Linux)`.
fn short_kernel(kernel: &str) -> String {
    let text = kernel.strip_prefix("Linux ").unwrap_or(kernel);
    let text = text.split(" (").next().unwrap_or(text);
    let text = text.trim_end_matches(" x86_64").trim();
    text.strip_suffix("-fsdyno").unwrap_or(text).to_owned()
}

/// The commits of observations: those of known order first, then the others by their first run.
fn commit_order(observations: &[&Observation], known: &[String]) -> Vec<String> {
    let others = unique(observations.iter().filter_map(|one| one.commit.as_ref()));
    let is_used = |one: &&String| others.iter().any(|other| is_same_commit(one, other));
    let mut order: Vec<String> = known.iter().filter(is_used).cloned().collect();
    for commit in others {
        if !order.iter().any(|other| is_same_commit(other, commit)) {
            order.push(commit.clone());
        }
    }
    order
}

/// Whether one commit is an abbreviation of the other.
fn is_same_commit(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text, expected) in [
            ("ext4", "ext4", true),
            ("ext4", "ext4:noatime", false),
            ("ext4*", "ext4:noatime", true),
            ("*", "", true),
            ("*time", "ext4:noatime", true),
            ("e*4*", "ext4", true),
            ("*x", "ext4", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
        assert!(is_phase("tree/copy", "tree", "copy") && is_phase("copy", "tree", "copy"));
        assert!(!is_phase("other/copy", "tree", "copy"));
    }

    #[test]
    fn a_release_of_a_repository_contains_its_commit() {
        let commit = |text: &str| commit_in(text);
        let found = commit("Linux 6.12.0-00012-gabcdef012345 (User-mode Linux)");
        assert_eq!(found.as_deref(), Some("abcdef012345"));
        assert_eq!(commit("Linux 6.1.0-28-amd64 x86_64"), None);
        assert_eq!(commit("Linux 6.12.0-generic"), None);
    }
}
