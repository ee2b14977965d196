//! The verdicts on contenders. All comparisons of a lab are one family, so that the family-wise
//! error rate is limited.

use super::user_code::UserCode;
use fsdyno_model::{FigureLine, FigureName, ResultSet};
use fsdyno_stats::{Rule, Times, Verdict, Verdicts, judge_table};
use std::collections::BTreeMap;

/// The verdicts of all compared lines.
#[derive(Debug, Clone)]
pub struct LineVerdicts {
    rule: Rule,
    lines: BTreeMap<(usize, usize, FigureName), JudgedLine>,
    /// The measured user code, by workload and phase.
    user_code: BTreeMap<(usize, usize), UserCode>,
}

/// A compared line with its verdicts.
#[derive(Debug, Clone)]
pub struct JudgedLine {
    /// The compared costs.
    pub times: Times,
    /// The verdicts. Those that do not hold also with all user code are inconclusive.
    pub verdicts: Verdicts,
    /// The costs with all user code, and the verdicts without any; `None` if there is none to add.
    pub with_user_code: Option<(Times, Verdicts)>,
}

impl LineVerdicts {
    /// Judges the contenders of a run of one lab.
    pub fn of(set: &ResultSet) -> Self {
        let (rule, lines) = (Rule::of(&set.run), set.compared_lines());
        let keys = lines
            .iter()
            .map(|l| (l.workload, l.phase, l.figure.clone()));
        let times: Vec<Times> = lines.iter().map(Times::from).collect();
        let verdicts = judge_table(&times.iter().collect::<Vec<_>>(), &rule);
        let mut user_code = BTreeMap::new();
        let mut cost = |line: &FigureLine| {
            let place = (line.workload, line.phase);
            let code = UserCode::of(set, line.workload, line.phase)?;
            let cost = code.cost(&line.figure, &line.unit, line.better);
            let is_added = cost.is_some();
            user_code.insert(place, UserCode { is_added, ..code });
            cost
        };
        let added: Vec<Option<f64>> = lines.iter().map(&mut cost).collect();
        let with_all = times.iter().zip(&added);
        let with_all: Vec<Times> = with_all
            .map(|(times, added)| times.clone().plus(added.unwrap_or_default()))
            .collect();
        let judged = |(times, verdicts)| JudgedLine {
            times,
            verdicts,
            with_user_code: None,
        };
        let mut judged: Vec<JudgedLine> = times.into_iter().zip(verdicts).map(judged).collect();
        if added.iter().any(Option::is_some) {
            let verdicts = judge_table(&with_all.iter().collect::<Vec<_>>(), &rule);
            let with_all = with_all.into_iter().zip(verdicts);
            for ((line, added), (times, verdicts)) in judged.iter_mut().zip(&added).zip(with_all) {
                if added.is_some() {
                    let both = line.verdicts.also(&verdicts);
                    let without = std::mem::replace(&mut line.verdicts, both);
                    line.with_user_code = Some((times, without));
                }
            }
        }
        Self {
            lines: keys.zip(judged).collect(),
            user_code,
            rule,
        }
    }

    /// The compared costs of one line, with their verdicts; none if it is not judged.
    pub fn line(&self, workload: usize, phase: usize, figure: &FigureName) -> Option<&JudgedLine> {
        self.lines.get(&(workload, phase, figure.clone()))
    }

    /// The user code of a phase that is judged, if it was measured.
    pub fn user_code(&self, workload: usize, phase: usize) -> Option<&UserCode> {
        self.user_code.get(&(workload, phase))
    }

    /// The verdicts of the whole time: to durable if there is one, else to return. In virtual time
    /// they are those of kernel and disk, without user code.
    pub fn whole(&self, workload: usize, phase: usize) -> Verdicts {
        let line = |figure| self.line(workload, phase, figure);
        let line = line(&FigureName::DURABLE).or_else(|| line(&FigureName::RETURN));
        let verdicts = line.map(|line| match &line.with_user_code {
            Some((_, without)) => without.clone(),
            None => line.verdicts.clone(),
        });
        verdicts.unwrap_or_default()
    }

    /// The rule of the verdicts.
    pub fn rule(&self) -> &Rule {
        &self.rule
    }
}

/// Whether a verdict separates two contenders.
pub fn differs(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
}
