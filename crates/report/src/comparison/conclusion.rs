//! Conclusions from the figures, as sentences.

use super::phases::{Place, in_words};
use super::verdicts::Judged;
use crate::figures::{Blocked, FEWEST, INTERVALS_FROM};
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_stats::{PairedRatio, Summary, Verdict, Verdicts, ratio_paired};

/// The finding of one phase.
struct Finding {
    place: Place,
    writes: bool,
    statement: Statement,
    /// Contenders with too few repeats for a verdict.
    unjudged: Vec<usize>,
}

enum Statement {
    /// One contender is ahead of all others.
    Ahead {
        leader: usize,
        next: usize,
        /// The leader's time divided by that of the second.
        ratio: PairedRatio,
    },
    /// The fastest is not distinguishable from these.
    Level(Vec<usize>),
    /// Too few repeats.
    Once,
}

/// Above this number of phases, findings are grouped by leader.
const LISTED_SINGLY: usize = 3;

/// The conclusion, as sentences.
pub fn conclusion(set: &ResultSet, labels: &[String], judged: &Judged) -> Vec<String> {
    if !set.cells.iter().any(|r| !r.samples.is_empty()) {
        return vec![if set.cells.is_empty() {
            "No cell has been recorded yet: there is nothing to compare.".to_owned()
        } else {
            "Nothing was measured; the reasons stand below.".to_owned()
        }];
    }
    let (findings, repeats) = findings(set, judged);
    if let (true, [alone]) = (findings.is_empty(), labels) {
        return vec![format!(
            "{alone} was measured alone: there is nothing to compare it with."
        )];
    }
    if findings.is_empty() {
        return vec!["No phase has figures of two contenders: there is nothing to compare.".into()];
    }
    if findings
        .iter()
        .all(|f| matches!(f.statement, Statement::Once))
    {
        let way_out = judged.rule().analyses.map_or_else(
            || format!("Run at least {FEWEST} repeats to learn what holds."),
            |analyses| {
                format!(
                    "It ended before its figures were to be looked at, first after {} repeats: \
                     `fsdyno run --resume {}` goes on.",
                    analyses.least,
                    terms::printable(&set.run.id)
                )
            },
        );
        return vec![format!(
            "There are too few repeats to judge: a lower figure is a hint, not a finding. {way_out}"
        )];
    }
    let mut sentences = if findings.len() <= LISTED_SINGLY {
        findings.iter().map(|f| one(f, labels)).collect()
    } else {
        by_leader(&findings, labels)
    };
    if !judged.rule().certain {
        sentences.extend(caution(repeats));
    }
    sentences
}

/// The findings of all phases, and the smallest number of repeats with a verdict.
fn findings(set: &ResultSet, judged: &Judged) -> (Vec<Finding>, usize) {
    let plan = &set.run.plan;
    let (mut findings, mut fewest) = (Vec::new(), usize::MAX);
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let mut writes = false;
            let mut times: Vec<(usize, Vec<Blocked>, f64)> = Vec::new();
            for (c, samples) in set.samples_of_all(w, p).into_iter().enumerate() {
                writes |= samples.iter().any(|(_, s)| s.durable_ns.is_some());
                let blocked: Vec<Blocked> = samples
                    .iter()
                    .map(|(block, s)| (*block, s.whole_ns().0 as f64))
                    .collect();
                let figures: Vec<f64> = blocked.iter().map(|(_, t)| *t).collect();
                if let Some(summary) = Summary::of(&figures) {
                    if summary.n >= FEWEST {
                        fewest = fewest.min(summary.n);
                    }
                    times.push((c, blocked, summary.median));
                }
            }
            times.sort_by(|a, b| a.2.total_cmp(&b.2));
            let several = plan.workloads.len() > 1;
            let named = several.then(|| terms::printable(&workload.name));
            let place = Place {
                workload: named.unwrap_or_default(),
                label: terms::printable(&phase.label),
            };
            let verdicts = judged.whole(w, p);
            findings.extend(
                judge(&times, &verdicts).map(|(statement, unjudged)| Finding {
                    place: place.clone(),
                    writes,
                    statement,
                    unjudged,
                }),
            );
        }
    }
    (findings, fewest)
}

/// The finding for contenders sorted by median, and the contenders without a verdict.
fn judge(
    times: &[(usize, Vec<Blocked>, f64)],
    verdicts: &Verdicts,
) -> Option<(Statement, Vec<usize>)> {
    let (leader, rest) = times.split_first()?;
    rest.first()?;
    let (mut level, mut slower, mut unjudged) = (vec![leader.0], Vec::new(), Vec::new());
    for other in rest {
        match verdicts.of(leader.0, other.0) {
            Some(Verdict::Faster) => slower.push(other),
            Some(_) => level.push(other.0),
            None => unjudged.push(other.0),
        }
    }
    let statement = match slower.first() {
        _ if level.len() > 1 => {
            level.sort_unstable();
            Statement::Level(level)
        }
        Some(next) => Statement::Ahead {
            leader: leader.0,
            next: next.0,
            ratio: ratio_paired(&leader.1, &next.1)?,
        },
        None => return Some((Statement::Once, Vec::new())),
    };
    Some((statement, unjudged))
}

fn one(finding: &Finding, labels: &[String]) -> String {
    let phase = finding.place.name();
    let until = if finding.writes { " to durable" } else { "" };
    let names = |of: &[usize]| {
        let names: Vec<String> = of.iter().map(|c| labels[*c].clone()).collect();
        terms::list(&names)
    };
    let unjudged = if finding.unjudged.is_empty() {
        String::new()
    } else {
        format!(
            " Too few repeats of {} to judge it there.",
            names(&finding.unjudged)
        )
    };
    let statement = match &finding.statement {
        Statement::Ahead {
            leader,
            next,
            ratio,
        } => {
            let the_next = if labels.len() > 2 { "the next, " } else { "" };
            let (leader, next) = (&labels[*leader], &labels[*next]);
            let less = format!("took {}{until} than {the_next}{next}", less_time(ratio));
            let (blocks, pairs) = (terms::in_all_blocks(ratio.pairs), ratio.pairs);
            if ratio.interval.is_some() {
                format!("{phase}: {leader} {less} (a 95 % interval, of {pairs} blocks).")
            } else {
                format!("{phase}: {blocks} {leader} {less}.")
            }
        }
        Statement::Level(level) => format!(
            "{phase}: no fastest can be named; the figures of {} do not set them apart.",
            names(level)
        ),
        Statement::Once => format!("{phase}: too few repeats to say anything."),
    };
    statement + &unjudged
}

/// `20-25 % less time`: the interval of the saving if there is one, else the smallest to the
/// largest saving in any block.
fn less_time(ratio: &PairedRatio) -> String {
    let saved = |ratio: f64| {
        let percent = (1.0 - ratio) * 100.0;
        if (9.95..=99.0).contains(&percent) {
            format!("{percent:.0}")
        } else {
            format!("{percent:.1}")
        }
    };
    let (low, high) = bounds(ratio);
    let (least, most) = (saved(high), saved(low));
    if least == most {
        format!("{least} % less time")
    } else {
        format!("{least}-{most} % less time")
    }
}

/// The limits of the ratio.
fn bounds(ratio: &PairedRatio) -> (f64, f64) {
    let interval = ratio.interval.map(|of| (of.low, of.high));
    interval.unwrap_or((ratio.low, ratio.high))
}

fn by_leader(findings: &[Finding], labels: &[String]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (contender, label) in labels.iter().enumerate() {
        let led: Vec<(&Place, &PairedRatio)> = findings
            .iter()
            .filter_map(|f| match &f.statement {
                Statement::Ahead { leader, ratio, .. } if *leader == contender => {
                    Some((&f.place, ratio))
                }
                _ => None,
            })
            .collect();
        let phases: Vec<&Place> = led.iter().map(|(place, _)| *place).collect();
        let Some(first) = led.first().map(|(_, ratio)| **ratio) else {
            continue;
        };
        let all = led.iter().fold(first, |all, (_, ratio)| {
            let ((low, high), (lower, higher)) = (bounds(&all), bounds(ratio));
            PairedRatio {
                low: low.min(lower),
                high: high.max(higher),
                interval: None,
                ..all
            }
        });
        // An interval may exclude a block in which another contender was faster.
        let ranges = led.iter().all(|(_, ratio)| ratio.interval.is_none());
        let intervals = led.iter().all(|(_, ratio)| ratio.interval.is_some());
        sentences.push(format!(
            "{label} was the fastest in {}{} of {} phases ({}): it took {} than the next{}.",
            if ranges { "every block of " } else { "" },
            phases.len(),
            findings.len(),
            in_words(&phases, &all_places(findings)),
            less_time(&all),
            if intervals { ", by 95 % intervals" } else { "" },
        ));
    }
    sentences.extend(undecided(findings, labels));
    sentences
}

fn all_places(findings: &[Finding]) -> Vec<&Place> {
    findings.iter().map(|finding| &finding.place).collect()
}

/// The phases without a leader, and the contenders without verdicts.
fn undecided(findings: &[Finding], labels: &[String]) -> Vec<String> {
    let mut sentences = Vec::new();
    let of = |wanted: fn(&Statement) -> bool| -> Vec<&Place> {
        findings
            .iter()
            .filter(|f| wanted(&f.statement))
            .map(|f| &f.place)
            .collect()
    };
    let named = |these: &[&Place]| in_words(these, &all_places(findings));
    let level = of(|statement| matches!(statement, Statement::Level(_)));
    if !level.is_empty() {
        let (phases, verb) = (
            terms::count(level.len(), "phase"),
            if level.len() == 1 { "is" } else { "are" },
        );
        sentences.push(format!(
            "{phases} {verb} inconclusive: no contender is shown to be the fastest ({}).",
            named(&level)
        ));
    }
    for (contender, label) in labels.iter().enumerate() {
        let unjudged = findings.iter().filter(|f| f.unjudged.contains(&contender));
        let phases: Vec<&Place> = unjudged.map(|f| &f.place).collect();
        if !phases.is_empty() {
            sentences.push(format!(
                "{label} has too few repeats to be judged in {}.",
                named(&phases)
            ));
        }
    }
    let once = of(|statement| matches!(statement, Statement::Once));
    if !once.is_empty() {
        sentences.push(format!(
            "{} too few repeats to say anything ({}).",
            if once.len() == 1 {
                "1 phase has".to_owned()
            } else {
                format!("{} phases have", once.len())
            },
            named(&once)
        ));
    }
    sentences
}

/// The limitation of few repeats.
fn caution(repeats: usize) -> Option<String> {
    (repeats < INTERVALS_FROM).then(|| {
        format!(
            "With {repeats} repeats only differences far beyond the noise are told, and the noise \
             is taken to be normal; from {INTERVALS_FROM} on ratios have intervals that take it \
             for nothing."
        )
    })
}
