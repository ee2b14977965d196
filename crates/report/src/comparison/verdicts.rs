//! The verdicts on contenders. All comparisons of a lab are one family, so that the family-wise
//! error rate is limited.

use super::Measure;
use fsdyno_model::{Metric, ResultSet};
use fsdyno_stats::{Rule, Times, Verdict, Verdicts, judge_table};
use std::collections::BTreeMap;

/// The verdicts of all lines of times.
#[derive(Debug, Clone)]
pub struct LineVerdicts {
    rule: Rule,
    lines: BTreeMap<(usize, usize, bool), (Times, Verdicts)>,
}

impl LineVerdicts {
    /// Judges the contenders of a run of one lab.
    pub fn of(set: &ResultSet) -> Self {
        let (rule, lines) = (Rule::of(&set.run), set.time_lines());
        let keys = lines
            .iter()
            .map(|l| (l.workload, l.phase, l.metric == Metric::Durable));
        let times: Vec<Times> = lines.iter().map(Times::from).collect();
        let verdicts = judge_table(&times.iter().collect::<Vec<_>>(), &rule);
        Self {
            lines: keys.zip(times.into_iter().zip(verdicts)).collect(),
            rule,
        }
    }

    /// The compared times of one line, with their verdicts.
    pub fn line(&self, workload: usize, phase: usize, measure: Measure) -> (Times, Verdicts) {
        let key = (workload, phase, measure == Measure::Durable);
        self.lines.get(&key).cloned().unwrap_or_default()
    }

    /// The verdicts of the whole time: to durable if there is one, else to return.
    pub fn whole(&self, workload: usize, phase: usize) -> Verdicts {
        let durable = self.lines.get(&(workload, phase, true)).cloned();
        let (_, verdicts) = durable.unwrap_or_else(|| self.line(workload, phase, Measure::Return));
        verdicts
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
