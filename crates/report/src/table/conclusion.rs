//! What the figures allow to be said, in plain words, and no more than that.

use crate::figures::{Blocked, Ratio, Summary, Verdict, ratio_paired, verdict};
use crate::words;
use fsdyno_model::ResultSet;

/// What may be said of one phase.
struct Finding {
    phase: String,
    writes: bool,
    said: Said,
}

enum Said {
    /// One contender is ahead of each other one.
    Ahead {
        leader: usize,
        next: usize,
        /// The leader's time over that of the next.
        ratio: Ratio,
    },
    /// The fastest cannot be told from these.
    Level(Vec<usize>),
    /// Too few repeats.
    Once,
}

/// Above this many phases, findings are summed up by leader.
const TOLD_ONE_BY_ONE: usize = 3;

/// The conclusion, a sentence each.
pub fn conclusion(set: &ResultSet, labels: &[String]) -> Vec<String> {
    if !set.cells.iter().any(|r| !r.samples.is_empty()) {
        return vec![if set.cells.is_empty() {
            "No cell has been recorded yet: there is nothing to compare.".to_owned()
        } else {
            "Nothing was measured; the reasons stand below.".to_owned()
        }];
    }
    let (findings, repeats) = findings(set);
    if findings.is_empty() {
        return vec!["No phase has figures of two contenders: there is nothing to compare.".into()];
    }
    if findings.iter().all(|f| matches!(f.said, Said::Once)) {
        return vec![
            "Every comparison rests on a single repeat: a lower figure is a hint, not a finding. \
             Run at least 3 repeats to learn what holds."
                .to_owned(),
        ];
    }
    let mut sentences = if findings.len() <= TOLD_ONE_BY_ONE {
        findings.iter().map(|f| one(f, labels)).collect()
    } else {
        by_leader(&findings, labels)
    };
    sentences.extend(caution(repeats));
    sentences
}

/// The findings of all phases, and the fewest repeats (of at least two) behind any of them.
fn findings(set: &ResultSet) -> (Vec<Finding>, usize) {
    let plan = &set.run.plan;
    let (mut findings, mut fewest) = (Vec::new(), usize::MAX);
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            let mut writes = false;
            let mut times: Vec<(usize, Vec<Blocked>, f64)> = Vec::new();
            for c in 0..plan.contenders.len() {
                let samples = set.samples(c, w, p);
                writes |= samples.iter().any(|(_, s)| s.durable_ns.is_some());
                let blocked: Vec<Blocked> = samples
                    .iter()
                    .map(|(block, s)| (*block, s.whole_ns().0 as f64))
                    .collect();
                let figures: Vec<f64> = blocked.iter().map(|(_, t)| *t).collect();
                if let Some(summary) = Summary::of(&figures) {
                    if summary.n > 1 {
                        fewest = fewest.min(summary.n);
                    }
                    times.push((c, blocked, summary.median));
                }
            }
            times.sort_by(|a, b| a.2.total_cmp(&b.2));
            let label = if plan.workloads.len() > 1 {
                format!("{} / {}", workload.name, phase.label)
            } else {
                phase.label.clone()
            };
            findings.extend(judge(&times).map(|said| Finding {
                phase: words::printable(&label),
                writes,
                said,
            }));
        }
    }
    (findings, fewest)
}

/// What may be said of contenders sorted by their medians.
fn judge(times: &[(usize, Vec<Blocked>, f64)]) -> Option<Said> {
    let (leader, rest) = times.split_first()?;
    let next = rest.first()?;
    let verdicts: Vec<Verdict> = rest.iter().map(|o| verdict(&leader.1, &o.1)).collect();
    if verdicts.iter().all(|v| *v == Verdict::Faster) {
        return Some(Said::Ahead {
            leader: leader.0,
            next: next.0,
            ratio: ratio_paired(&leader.1, &next.1)?,
        });
    }
    if verdicts.contains(&Verdict::Unknown) {
        return Some(Said::Once);
    }
    let level = rest
        .iter()
        .zip(&verdicts)
        .filter(|(_, v)| **v != Verdict::Faster)
        .map(|(o, _)| o.0);
    let mut level: Vec<usize> = std::iter::once(leader.0).chain(level).collect();
    level.sort_unstable();
    Some(Said::Level(level))
}

fn one(finding: &Finding, labels: &[String]) -> String {
    let phase = &finding.phase;
    let until = if finding.writes { " to durable" } else { "" };
    match &finding.said {
        Said::Ahead {
            leader,
            next,
            ratio,
        } => {
            let the_next = if labels.len() > 2 { "the next, " } else { "" };
            format!(
                "{phase}: {} {} {}{until} than {the_next}{}.",
                words::in_all_blocks(ratio.pairs),
                labels[*leader],
                advantage(ratio),
                labels[*next],
            )
        }
        Said::Level(level) => {
            let names: Vec<String> = level.iter().map(|c| labels[*c].clone()).collect();
            format!(
                "{phase}: no fastest can be named; the ranges of {} overlap.",
                words::list(&names)
            )
        }
        Said::Once => format!("{phase}: too few repeats to say anything."),
    }
}

/// `took 20-25 % less time`: from the smallest to the largest saving in any block.
fn advantage(ratio: &Ratio) -> String {
    let saved = |ratio: f64| {
        let percent = (1.0 - ratio) * 100.0;
        if (9.95..=99.0).contains(&percent) {
            format!("{percent:.0}")
        } else {
            format!("{percent:.1}")
        }
    };
    let (least, most) = (saved(ratio.max), saved(ratio.min));
    if least == most {
        format!("took {least} % less time")
    } else {
        format!("took {least}-{most} % less time")
    }
}

fn by_leader(findings: &[Finding], labels: &[String]) -> Vec<String> {
    let mut sentences = Vec::new();
    for (contender, label) in labels.iter().enumerate() {
        let led: Vec<(&str, &Ratio)> = findings
            .iter()
            .filter_map(|f| match &f.said {
                Said::Ahead { leader, ratio, .. } if *leader == contender => {
                    Some((f.phase.as_str(), ratio))
                }
                _ => None,
            })
            .collect();
        let phases: Vec<&str> = led.iter().map(|(phase, _)| *phase).collect();
        let Some(first) = led.first().map(|(_, ratio)| **ratio) else {
            continue;
        };
        let all = led.iter().fold(first, |sum, (_, r)| Ratio {
            min: sum.min.min(r.min),
            max: sum.max.max(r.max),
            ..sum
        });
        sentences.push(format!(
            "{label} was the fastest in every block of {} of {} phases ({}): it {} than the next.",
            phases.len(),
            findings.len(),
            phases.join(", "),
            advantage(&all),
        ));
    }
    let of = |wanted: fn(&Said) -> bool| -> Vec<&str> {
        findings
            .iter()
            .filter(|f| wanted(&f.said))
            .map(|f| f.phase.as_str())
            .collect()
    };
    let level = of(|said| matches!(said, Said::Level(_)));
    if !level.is_empty() {
        sentences.push(format!(
            "In {} no fastest can be named, because ranges overlap ({}).",
            words::count(level.len(), "phase"),
            level.join(", ")
        ));
    }
    let once = of(|said| matches!(said, Said::Once));
    if !once.is_empty() {
        sentences.push(format!(
            "{} too few repeats to say anything ({}).",
            if once.len() == 1 {
                "1 phase has".to_owned()
            } else {
                format!("{} phases have", once.len())
            },
            once.join(", ")
        ));
    }
    sentences
}

/// How often chance alone pulls two equal contenders apart: of the C(2n, n) equally likely ways
/// to rank n + n figures, two separate them. Not worth a sentence below 1 in 100.
fn caution(repeats: usize) -> Option<String> {
    let one_in = match repeats {
        2 => 3,
        3 => 10,
        4 => 35,
        _ => return None,
    };
    Some(format!(
        "With {repeats} repeats, chance alone sets two equal contenders apart in 1 of {one_in} \
         comparisons: repeat more before relying on a small difference."
    ))
}
