//! The points of a series, the steps between them, and the counters that moved with each step.

use super::json::{Moved, Point, SeriesHistory, Step};
use super::observation::{Collected, Observation};
use super::{EXACT_MARGIN, LEVEL, Selection};
use crate::compare::differences;
use crate::resolution::both_negligible;
use crate::terms;
use fsdyno_model::figures::{BYTES, COUNT};
use fsdyno_model::{Better, FigureDefinition, FigureName, Source};
use fsdyno_stats::{ChangePoint, Detection, change_points, cost, median};

/// The fewest runs in which a step can be significant: the best split of 10 has a chance of
/// 2 / C(10, 5) = 0.8 %.
pub(super) const MIN_NOISY_RUNS: usize = 10;

/// Builds a series, whose observations are in the order of their places on the axis.
pub(super) fn series(
    collected: &Collected,
    conditions: Vec<String>,
    axis: &[String],
    (selection, better): (&Selection, Better),
    warnings: &mut Vec<String>,
) -> SeriesHistory {
    let metric = selection.metric();
    let observations = &collected.observations;
    let exact = observations.iter().all(|one| one.exact) && metric.is_exact_in_virtual_time();
    let last = observations
        .iter()
        .max_by_key(|one| one.run.started_unix_ns);
    let margin = selection.margin.unwrap_or(match last {
        Some(last) if !exact => last.margin,
        _ => EXACT_MARGIN,
    });
    let groups = observations.chunk_by(|one, other| one.place == other.place);
    let groups: Vec<&[Observation]> = groups.collect();
    let points: Vec<Point> = groups
        .iter()
        .filter_map(|group| point(group, axis[group[0].place].clone(), metric, exact))
        .collect();
    if exact {
        let name = format!("{}, {}", collected.contender.label, collected.phase);
        warnings.extend(
            groups
                .iter()
                .zip(&points)
                .filter_map(|(group, point)| contradiction(group, point, metric, &name)),
        );
    }
    let context = Context {
        metric,
        margin,
        groups: &groups,
        points: &points,
    };
    let mut steps = if exact {
        context.exact_steps()
    } else {
        context.noisy_steps(observations)
    };
    if metric.is_time() {
        steps.retain(|step| !both_negligible(step.before, step.after));
    }
    let all = steps.len();
    let code = observations.iter().filter_map(|one| one.user_code);
    if let Some(code) = code.max_by(f64::total_cmp) {
        steps.retain(|step| {
            let [before, after] = [step.before, step.after].map(|one| cost(better, one) + code);
            (after - before).abs() > margin * before
        });
    }
    let dependent = all - steps.len();
    let is_few = !exact && observations.len() < MIN_NOISY_RUNS;
    let few = is_few.then(|| {
        format!(
            "{} with noise: steps need {MIN_NOISY_RUNS} or more.",
            terms::count(observations.len(), "run")
        )
    });
    let left_out = (dependent > 0).then(|| {
        format!(
            "{} left out, which would not hold with the user code that virtual time does not count.",
            terms::count(dependent, "step")
        )
    });
    let note = few.or(left_out);
    // Without noise, points are compared.
    let has_enough_runs = if exact { points.len() > 1 } else { !is_few };
    SeriesHistory {
        contender: collected.contender.label.clone(),
        workload: collected.workload.clone(),
        phase: collected.phase.clone(),
        conditions,
        exact,
        margin,
        points,
        steps,
        note,
        has_enough_runs,
    }
}

/// The median of the samples of one run.
fn of_run(one: &Observation, counter: &FigureName) -> Option<f64> {
    median(one.figures.get(counter)?)
}

/// The figure of several runs. Exact figures are equal; if they are not, the last run counts.
fn of_group(group: &[Observation], counter: &FigureName, exact: bool) -> Option<f64> {
    let medians: Vec<f64> = group
        .iter()
        .filter_map(|one| of_run(one, counter))
        .collect();
    if exact {
        return medians.last().copied();
    }
    median(&medians)
}

fn point(group: &[Observation], label: String, metric: &FigureName, exact: bool) -> Option<Point> {
    let samples = group.iter().filter_map(|one| one.figures.get(metric));
    let samples: Vec<f64> = samples.flatten().copied().collect();
    let first = &group[0];
    let mut runs: Vec<String> = group.iter().map(|one| one.run.id.clone()).collect();
    runs.dedup();
    Some(Point {
        label,
        kernel: first.kernel.clone(),
        commit: first.commit.clone(),
        runs,
        started_unix_ns: first.run.started_unix_ns,
        figure: of_group(group, metric, exact)?,
        low: samples.iter().copied().fold(f64::INFINITY, f64::min),
        high: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        samples: samples.len(),
    })
}

/// A message if figures without noise differ between repeats of one program.
fn contradiction(
    group: &[Observation],
    point: &Point,
    metric: &FigureName,
    name: &str,
) -> Option<String> {
    let last = group.last()?;
    let same = |one: &&Observation| one.run.provenance.fsdyno == last.run.provenance.fsdyno;
    let figures = group.iter().filter(same).filter_map(|one| {
        let figures = one.figures.get(metric)?;
        Some((&one.run.id, figures))
    });
    // Each draw is compared with the same draw of the first run.
    let mut all = figures;
    let (first_run, first) = all.next()?;
    let (run, (one, other)) = all.find_map(|(run, figures)| {
        let mut draws = first.iter().zip(figures);
        let differ = draws.find(|(one, other)| (*one - *other).abs() > 0.0)?;
        Some((run, differ))
    })?;
    Some(format!(
        "{name}, {}: {first_run} and {run} differ in {metric}: {one} and {other}. In virtual time this is an \
         error of fsdyno, or its two builds differ. Compare block traces: fsdyno disk trace.",
        point.label
    ))
}

/// The input from which steps are computed.
struct Context<'a> {
    metric: &'a FigureName,
    margin: f64,
    groups: &'a [&'a [Observation]],
    points: &'a [Point],
}

impl Context<'_> {
    fn exact_steps(&self) -> Vec<Step> {
        let figures: Vec<f64> = self.points.iter().map(|point| point.figure).collect();
        let margin = self.margin;
        let found = change_points(&figures, Detection::Exact { margin });
        let steps = found.iter().map(|change| {
            let sides = [self.groups[change.at - 1], self.groups[change.at]];
            self.step(change, change.at, sides, true)
        });
        steps.collect()
    }

    /// The observations are the medians of runs: repeats within a run are not independent of each
    /// other, because the machine is the same.
    fn noisy_steps(&self, observations: &[Observation]) -> Vec<Step> {
        let medians = observations.iter().map(|one| of_run(one, self.metric));
        let Some(medians) = medians.collect::<Option<Vec<f64>>>() else {
            return Vec::new();
        };
        let detection = Detection::Noisy {
            margin: self.margin,
            level: LEVEL,
        };
        let found = change_points(&medians, detection);
        let starts = std::iter::once(0).chain(found.iter().map(|change| change.at));
        let starts: Vec<usize> = starts.collect();
        let steps = found.iter().enumerate().map(|(number, change)| {
            let next = found.get(number + 1);
            let end = next.map_or(observations.len(), |next| next.at);
            let sides = [
                &observations[starts[number]..change.at],
                &observations[change.at..end],
            ];
            let mut place = 0;
            let mut point = 0;
            for (at, group) in self.groups.iter().enumerate() {
                if place <= change.at {
                    point = at;
                }
                place += group.len();
            }
            self.step(change, point, sides, false)
        });
        steps.collect()
    }

    /// A step between the observations of both sides.
    fn step(
        &self,
        change: &ChangePoint,
        point: usize,
        [old, new]: [&[Observation]; 2],
        exact: bool,
    ) -> Step {
        let (last, first) = (&old[old.len() - 1], &new[0]);
        let label = |run: &str| {
            let mut points = self.points.iter();
            let point = points.rfind(|point| point.runs.iter().any(|id| id == run));
            point.map(|point| point.label.clone())
        };
        let (from, to) = if exact {
            let label = |at: usize| self.points[at].label.clone();
            (label(point - 1), label(point))
        } else {
            let of = |one: &Observation| label(&one.run.id).unwrap_or_default();
            (of(last), of(first))
        };
        let moved = moved(self.margin, |counter| {
            let figure = |group| of_group(group, counter, exact);
            (*counter != *self.metric).then_some([figure(old)?, figure(new)?])
        });
        let changed = differences::of_machines(&last.run.provenance, &first.run.provenance);
        Step {
            point,
            from,
            to,
            run_before: last.run.id.clone(),
            run_after: first.run.id.clone(),
            before: change.before,
            after: change.after,
            ratio: ratio(change.before, change.after),
            p: change.p,
            moved,
            // The machine has no effect on virtual time; programs have.
            changed: changed
                .into_iter()
                .filter(|one| !exact || ["fsdyno", "program"].contains(&one.what))
                .collect(),
        }
    }
}

/// The counters that changed by more than the margin, the largest change first. `of` returns both
/// figures of a counter; none if it was not measured.
pub(crate) fn moved(margin: f64, of: impl Fn(&FigureName) -> Option<[f64; 2]>) -> Vec<Moved> {
    let figures = FigureName::all().filter(is_counter).filter_map(|metric| {
        let [before, after] = of(&metric)?;
        Some(Moved {
            metric,
            before,
            after,
            ratio: ratio(before, after),
        })
    });
    let mut moved: Vec<Moved> = figures
        .filter(|moved| (moved.after - moved.before).abs() > margin * moved.before)
        .collect();
    let size = |moved: &Moved| moved.ratio.map_or(f64::INFINITY, |ratio| ratio.ln().abs());
    moved.sort_by(|one, other| size(other).total_cmp(&size(one)));
    moved
}

/// Whether a change of it may explain a step: times, and counts of work. Ratios follow from these.
fn is_counter(figure: &FigureName) -> bool {
    let counted = |one: &FigureDefinition| {
        [Source::Counted, Source::Modelled].contains(&one.source)
            && [COUNT, BYTES].contains(&one.unit)
    };
    figure.definition().is_some_and(counted)
        || figure.is_time()
        || [FigureName::CPU, FigureName::INSTRUCTIONS].contains(figure)
}

fn ratio(before: f64, after: f64) -> Option<f64> {
    (before > 0.0).then(|| after / before)
}
