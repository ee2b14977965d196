//! The verdicts on contenders. All comparisons of a lab are one family, so that the family-wise
//! error rate is limited.

use fsdyno_model::{FigureName, ResultSet};
use fsdyno_stats::{Rule, Times, Verdict, Verdicts, judge_table};
use std::collections::BTreeMap;

/// The verdicts of all compared lines.
#[derive(Debug, Clone)]
pub struct LineVerdicts {
    rule: Rule,
    lines: BTreeMap<(usize, usize, FigureName), (Times, Verdicts)>,
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
        Self {
            lines: keys.zip(times.into_iter().zip(verdicts)).collect(),
            rule,
        }
    }

    /// The compared costs of one line, with their verdicts; none if it is not judged.
    pub fn line(
        &self,
        workload: usize,
        phase: usize,
        figure: &FigureName,
    ) -> Option<&(Times, Verdicts)> {
        self.lines.get(&(workload, phase, figure.clone()))
    }

    /// The verdicts of the whole time: to durable if there is one, else to return.
    pub fn whole(&self, workload: usize, phase: usize) -> Verdicts {
        let line = |figure| self.line(workload, phase, figure);
        let line = line(&FigureName::DURABLE).or_else(|| line(&FigureName::RETURN));
        line.map(|(_, verdicts)| verdicts.clone())
            .unwrap_or_default()
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
