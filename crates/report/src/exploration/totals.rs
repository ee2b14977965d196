//! The sums of an exploration: by contender, and by contender and kind of operation.

use fsdyno_model::{
    ClassCount, Exploration, ExploredProgram, Finding, ProgramCost, Score, Signatures, StateCounts,
};
use std::collections::{BTreeMap, BTreeSet};

/// The sums of some programs of one contender.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Programs that were explored.
    pub programs: u64,
    /// Programs that could not be explored.
    pub failed: u64,
    /// The states; distinct ones are distinct within their program.
    pub states: StateCounts,
    /// The costs.
    pub cost: ProgramCost,
    /// The findings, violations first, then by number of states.
    pub found: Vec<Found>,
    /// The states that show a finding, by its score.
    states_with: BTreeMap<Score, u64>,
}

/// Findings on one contender whose least programs have the same signature.
#[derive(Debug, Clone)]
pub struct Found {
    /// The signature.
    pub signature: String,
    /// The finding that shows it best: minimised, with the fewest operations, in the first program.
    pub finding: Finding,
    /// The number of the program of that finding.
    pub number: u32,
    /// The program of that finding, in its text form.
    pub program: String,
    /// The number of checked states that show it, over all programs.
    pub states: u64,
    /// The programs that show it.
    pub programs: BTreeSet<u32>,
    /// The kinds of operations of these programs.
    pub kinds: BTreeSet<String>,
}

impl Totals {
    /// The sums of these programs. Signatures are those of the whole exploration.
    pub fn of<'a>(
        programs: impl Iterator<Item = &'a ExploredProgram>,
        signatures: &Signatures,
    ) -> Self {
        let mut totals = Self::default();
        let mut found: BTreeMap<String, Found> = BTreeMap::new();
        for program in programs {
            totals.add(program);
            for finding in &program.findings {
                let signature = signatures.of(&program.contender, &finding.signature);
                let mut finding = finding.clone();
                if !signatures.counts(program, &finding) {
                    finding.minimal = None;
                }
                let new = || Found {
                    signature: signature.to_owned(),
                    finding: finding.clone(),
                    number: program.number,
                    program: program.program.clone(),
                    states: 0,
                    programs: BTreeSet::new(),
                    kinds: BTreeSet::new(),
                };
                let one = found.entry(signature.to_owned()).or_insert_with(new);
                one.states = one.states.saturating_add(finding.count);
                // Neither the order of execution nor the split into shards decides.
                let place = |finding: &Finding, number| (operations(finding), number);
                if place(&finding, program.number) < place(&one.finding, one.number) {
                    one.finding = finding;
                    (one.number, one.program) = (program.number, program.program.clone());
                }
                one.programs.insert(program.number);
                one.kinds.extend(program.kinds.iter().cloned());
            }
        }
        totals.found = found.into_values().collect();
        totals
            .found
            .sort_by_key(|one| (one.finding.score(), std::cmp::Reverse(one.states)));
        totals
    }

    /// The sums of each contender, in the order of the exploration.
    pub fn of_contenders(exploration: &Exploration) -> Vec<Self> {
        let contenders = exploration.info.contenders.iter();
        let signatures = exploration.signatures();
        let of = |label: &str| {
            let programs = exploration.programs.iter();
            let programs = programs.filter(|program| program.contender == label);
            Self::of(programs, &signatures)
        };
        contenders.map(|contender| of(&contender.label)).collect()
    }

    fn add(&mut self, program: &ExploredProgram) {
        if program.failed.is_some() {
            self.failed += 1;
            return;
        }
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        self.programs += 1;
        let (sums, states) = (&mut self.states, &program.states);
        for (class, count) in &states.classes {
            let first = ClassCount {
                legal: Some(0),
                ..ClassCount::default()
            };
            let sum = sums.classes.entry(*class).or_insert(first);
            sum.legal = sum
                .legal
                .zip(count.legal)
                .and_then(|(a, b)| a.checked_add(b));
            add(&mut sum.checked, count.checked);
        }
        add(&mut sums.windows, states.windows);
        add(&mut sums.skipped_windows, states.skipped_windows);
        add(&mut sums.distinct, states.distinct);
        add(&mut sums.recovered, states.recovered);
        add(&mut sums.equivalent, states.equivalent);
        add(&mut sums.nested, states.nested);
        add(&mut sums.nested_checks, states.nested_checks);
        add(&mut sums.trees, states.trees);
        for score in Score::ALL {
            let states = states_of(program, score);
            add(self.states_with.entry(score).or_default(), states);
        }
        let (sums, cost) = (&mut self.cost, &program.cost);
        add(&mut sums.operations, cost.operations);
        add(&mut sums.took_ns.0, cost.took_ns.0);
        add(&mut sums.flushes, cost.flushes);
        add(&mut sums.bytes_written, cost.bytes_written);
        add(&mut sums.bytes_requested, cost.bytes_requested);
    }

    /// The findings with this score.
    pub fn scored(&self, score: Score) -> impl Iterator<Item = &Found> {
        let found = self.found.iter();
        found.filter(move |one| one.finding.score() == score)
    }

    /// The number of states that show a finding with this score.
    pub fn states_with(&self, score: Score) -> u64 {
        self.states_with.get(&score).copied().unwrap_or_default()
    }

    /// Whether all legal states of all classes and windows were checked.
    pub fn is_complete(&self) -> bool {
        self.failed == 0
            && self.states.skipped_windows == 0
            && self.states.classes.values().all(ClassCount::is_complete)
    }

    /// Acknowledged operations per virtual second.
    pub fn rate(&self) -> Option<u64> {
        let time = u128::from(self.cost.took_ns.0);
        let rate =
            (u128::from(self.cost.operations) * 1_000_000_000 + time / 2).checked_div(time)?;
        Some(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Flushes per acknowledged operation.
    pub fn flushes(&self) -> Option<f64> {
        ratio(self.cost.flushes, self.cost.operations)
    }

    /// Bytes written to the disk per byte that the programs wrote.
    pub fn amplification(&self) -> Option<f64> {
        ratio(self.cost.bytes_written, self.cost.bytes_requested)
    }
}

/// The states of a program that show a finding with this score. Records of earlier versions have only
/// the states of each finding: one that shows two counts twice.
fn states_of(program: &ExploredProgram, score: Score) -> u64 {
    let classes = || program.states.classes.values();
    if classes().any(|class| !class.found.is_empty()) {
        let states = classes().filter_map(|class| class.found.get(&score));
        return states.copied().fold(0, u64::saturating_add);
    }
    let findings = program.findings.iter();
    let of_score = findings.filter(|finding| finding.score() == score);
    of_score
        .map(|finding| finding.count)
        .fold(0, u64::saturating_add)
}

fn ratio(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// The operations of the minimal form; the most if there is none.
fn operations(finding: &Finding) -> u64 {
    let minimal = finding.minimal.as_ref();
    minimal.map_or(u64::MAX, |minimal| minimal.operations)
}
