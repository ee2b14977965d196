//! Error rates of verdicts and coverage of intervals, from thousands of simulated experiments with
//! known truth: equal contenders under the stopping rule with noise of many shapes, and detection
//! of real differences.

use fsdyno_model::{ErrorRate, Nanos, Probe};
use fsdyno_stats::{
    InterimAnalyses, PairedRatio, Rule, Spending, Timed, Times, Verdict, Verdicts, best_set,
    judge_table, open_in, proportion_interval, ratio_paired,
};
use std::f64::consts::TAU;

/// A random number generator with a fixed seed (xorshift64*, S. Vigna, "An experimental exploration
/// of Marsaglia's xorshift generators, scrambled", ACM Transactions on Mathematical Software 42
/// (2016)).
struct Chance(u64);

impl Chance {
    /// A uniform number from 0 to 1.
    fn even(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normal number. G. E. P. Box and M. E. Muller, "A Note on the Generation of Random Normal
    /// Deviates", The Annals of Mathematical Statistics 29 (1958), 610-611.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.even()).ln()).sqrt();
        radius * (TAU * self.even()).cos()
    }
}

/// A shape of noise: the factor on the time of the next cell, by its position in the order of the
/// run.
struct Shape {
    name: &'static str,
    next: fn(&mut Chance, place: f64, memory: &mut f64) -> f64,
}

const SHAPES: [Shape; 5] = [
    Shape {
        name: "normal",
        next: |chance, _, _| 1.0 + 0.05 * chance.normal(),
    },
    Shape {
        name: "log-normal",
        next: |chance, _, _| 0.8 + 0.1 * chance.normal().exp(),
    },
    Shape {
        name: "bimodal",
        next: |chance, _, _| {
            let mode = if chance.even() < 1.0 / 3.0 { 1.3 } else { 1.0 };
            mode * (1.0 + 0.02 * chance.normal())
        },
    },
    Shape {
        name: "drifting",
        next: |chance, place, _| (1.0 + 0.01 * place) * (1.0 + 0.04 * chance.normal()),
    },
    Shape {
        name: "autocorrelated",
        next: |chance, _, memory| {
            *memory = 0.8 * *memory + 0.03 * chance.normal();
            memory.exp()
        },
    },
];

/// The probes before a phase: a noise that correlates with that of the time by `r`, and one that
/// does not.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times in nanoseconds"
)]
fn probes(r: f64, noise: f64, others: [f64; 2]) -> Probe {
    let ns = |log: f64| Nanos((1e9 * log.exp()) as u64);
    Probe {
        system_ns: ns(r * noise.ln() + (1.0 - r * r).sqrt() * others[0].ln()),
        device_ns: Some(ns(others[1].ln())),
    }
}

/// An experiment: contenders with these relative times, measured in several phases, in blocks of
/// random order.
struct Experiment<'a> {
    chance: &'a mut Chance,
    shape: &'a Shape,
    truth: &'a [f64],
    /// The correlation of the probes with the times, if there are probes.
    probes: Option<f64>,
    /// The times by phase and contender.
    times: Vec<Vec<Vec<Timed>>>,
    /// The state of the noise of each phase: that of its times, and those of its probes.
    memory: Vec<[f64; 3]>,
    place: f64,
    cells: usize,
}

impl<'a> Experiment<'a> {
    fn new(chance: &'a mut Chance, shape: &'a Shape, truth: &'a [f64], phases: usize) -> Self {
        Self {
            chance,
            shape,
            truth,
            probes: None,
            times: vec![vec![Vec::new(); truth.len()]; phases],
            memory: vec![[0.0; 3]; phases],
            place: 0.0,
            cells: 0,
        }
    }

    fn with_probes(self, probes: Option<f64>) -> Self {
        Self { probes, ..self }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among a few"
    )]
    fn block(&mut self, block: u32, takes_part: &[bool]) {
        let mut order: Vec<usize> = (0..self.truth.len()).filter(|c| takes_part[*c]).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, (self.chance.even() * (last + 1) as f64) as usize);
        }
        for contender in order {
            for (phase, memory) in self.times.iter_mut().zip(&mut self.memory) {
                let [of_time, others @ ..] = memory;
                let noise = (self.shape.next)(self.chance, self.place, of_time);
                let probe = self.probes.map(|r| {
                    let [a, b] = others;
                    let others = [a, b].map(|of| (self.shape.next)(self.chance, self.place, of));
                    probes(r, noise, others)
                });
                phase[contender].push(Timed {
                    block,
                    time: self.truth[contender] * noise,
                    probe,
                });
            }
            self.place += 1.0;
            self.cells += 1;
        }
    }

    /// Repeats until the comparisons with the baseline are settled, as the conductor does.
    fn run(&mut self, rule: &Rule, precision: f64) {
        let analyses = rule.analyses.clone().unwrap();
        let mut takes_part = vec![true; self.truth.len()];
        for block in 0..analyses.most {
            self.block(block, &takes_part);
            if !analyses.places().contains(&(block + 1)) {
                continue;
            }
            takes_part.fill(false);
            for line in open_in(&refs(&self.lines()), rule, precision, false) {
                takes_part
                    .iter_mut()
                    .zip(line)
                    .for_each(|(part, open)| *part |= open);
            }
            if !takes_part[0] {
                break;
            }
        }
    }

    fn lines(&self) -> Vec<Times> {
        self.times.iter().cloned().map(Times::of).collect()
    }

    /// The ratio of the second contender to the first in the first phase.
    fn ratio(&self) -> PairedRatio {
        let figures = Times::of(self.times[0].clone()).figures();
        ratio_paired(&figures[1], &figures[0]).unwrap()
    }

    /// The verdicts of all contenders, each compared with all before it.
    fn verdicts(&self, rule: &Rule) -> Vec<Option<Verdict>> {
        let table = judge_table(&refs(&self.lines()), rule);
        let n = self.truth.len();
        let pairs = (0..n).flat_map(|other| (other + 1..n).map(move |one| (one, other)));
        let of_line = |line: &Verdicts| pairs.clone().map(|(a, b)| line.of(a, b)).collect();
        table
            .iter()
            .flat_map(|line| -> Vec<_> { of_line(line) })
            .collect()
    }
}

fn refs(lines: &[Times]) -> Vec<&Times> {
    lines.iter().collect()
}

const ADAPTIVE: InterimAnalyses = InterimAnalyses {
    least: 3,
    most: 60,
    spending: Spending::Proportional,
};
const PRECISION: f64 = 0.005;

/// The number of experiments in which a verdict of the table separates equal contenders.
fn wrong(shape: &Shape, rule: &Rule, experiments: u64, seed: u64) -> u64 {
    let mut chance = Chance(seed);
    let mut wrong = 0;
    for _ in 0..experiments {
        let mut one = Experiment::new(&mut chance, shape, &[1.0; 3], 1);
        one.run(rule, PRECISION);
        let verdicts = one.verdicts(rule).into_iter().flatten();
        let mut differing = verdicts.filter(|v| matches!(v, Verdict::Faster | Verdict::Slower));
        wrong += u64::from(differing.next().is_some());
    }
    wrong
}

#[test]
fn equal_contenders_are_separated_in_less_than_1_of_20_tables_with_interim_analyses() {
    const EXPERIMENTS: u64 = 1000;
    for (shape, seed) in SHAPES.iter().zip(20_081_122..) {
        // Without a margin, which would hide most wrong verdicts.
        let rule = Rule {
            margin: 0.0,
            analyses: Some(ADAPTIVE),
            ..Rule::default()
        };
        let wrong = wrong(shape, &rule, EXPERIMENTS, seed);
        let interval = proportion_interval(wrong, EXPERIMENTS);
        println!(
            "{}: {wrong} of {EXPERIMENTS} tables wrong, {:.1}-{:.1} %",
            shape.name,
            100.0 * interval.low,
            100.0 * interval.high
        );
        assert!(wrong * 20 <= EXPERIMENTS, "{}: {wrong}", shape.name);
        assert!(interval.high <= 0.06, "{}: {interval:?}", shape.name);
    }
}

#[test]
fn repeated_analyses_at_the_full_level_separate_equal_contenders() {
    // The same analyses, each at the full level.
    let mut chance = Chance(1946);
    let mut wrong = 0;
    for _ in 0..200 {
        let mut one = Experiment::new(&mut chance, &SHAPES[0], &[1.0; 3], 2);
        let rule = Rule {
            margin: 0.0,
            ..Rule::default()
        };
        let separated = (0..60).any(|block| {
            one.block(block, &[true; 3]);
            let looked = ADAPTIVE.places().contains(&(block + 1));
            let verdicts = looked.then(|| one.verdicts(&rule)).into_iter().flatten();
            let mut verdicts = verdicts.flatten();
            verdicts.any(|v| matches!(v, Verdict::Faster | Verdict::Slower))
        });
        wrong += u32::from(separated);
    }
    assert!(wrong > 20, "{wrong} of 200");
}

#[test]
fn intervals_cover_the_truth_in_93_to_97_of_100_experiments() {
    for (shape, seed) in SHAPES.iter().zip(1955..) {
        for repeats in [6, 10, 25] {
            let (mut chance, mut held) = (Chance(seed), 0);
            for _ in 0..2000 {
                let mut one = Experiment::new(&mut chance, shape, &[1.0, 1.1], 1);
                (0..repeats).for_each(|block| one.block(block, &[true; 2]));
                let interval = one.ratio().interval.unwrap();
                held += u32::from(interval.low <= 1.1 && 1.1 <= interval.high);
            }
            let share = f64::from(held) / 2000.0;
            println!("{}, {repeats} repeats: {share:.3}", shape.name);
            // With 6 pairs the coverage is 96.9 % or none; 0.005 is one standard deviation of
            // 2,000.
            let most = if repeats == 6 { 0.98 } else { 0.97 };
            assert!((0.93..=most).contains(&share), "{}: {share}", shape.name);
        }
    }
}

#[test]
fn intervals_cover_the_truth_under_the_stopping_rule() {
    for (shape, seed) in SHAPES.iter().zip(1970..) {
        let (mut chance, mut held, mut all) = (Chance(seed), 0, 0);
        let rule = Rule {
            analyses: Some(ADAPTIVE),
            ..Rule::default()
        };
        // One standard deviation is 0.0025. With 1,000 experiments, chance alone exceeds the
        // bounds.
        for _ in 0..8000 {
            let mut one = Experiment::new(&mut chance, shape, &[1.0, 1.1], 1);
            one.run(&rule, PRECISION);
            let Some(interval) = one.ratio().interval else {
                continue;
            };
            all += 1;
            held += u32::from(interval.low <= 1.1 && 1.1 <= interval.high);
        }
        let share = f64::from(held) / f64::from(all);
        println!("{}, stopped by rule: {share:.3} of {all}", shape.name);
        assert!((0.93..=0.97).contains(&share), "{}: {share}", shape.name);
    }
}

#[test]
fn differences_of_five_percent_are_found_and_of_one_percent_are_never_faster() {
    // Low noise: 1.5 % of each time.
    let quiet = Shape {
        name: "quiet",
        next: |chance, _, _| 1.0 + 0.015 * chance.normal(),
    };
    let rule = Rule {
        analyses: Some(ADAPTIVE),
        ..Rule::default()
    };
    let mut chance = Chance(1812);
    let mut of = |truth: f64| {
        let (mut verdicts, truth) = (Vec::new(), [1.0, truth]);
        for _ in 0..300 {
            let mut one = Experiment::new(&mut chance, &quiet, &truth, 1);
            one.run(&rule, PRECISION);
            verdicts.extend(one.verdicts(&rule));
        }
        move |wanted| verdicts.iter().filter(|v| **v == Some(wanted)).count()
    };
    let five = of(1.05);
    println!("5 %: {} of 300 slower", five(Verdict::Slower));
    assert!(five(Verdict::Slower) >= 270 && five(Verdict::Faster) == 0);
    let one = of(1.01);
    println!(
        "1 %: {} of 300 equivalent, {} inconclusive",
        one(Verdict::Equivalent),
        one(Verdict::Inconclusive)
    );
    assert!(one(Verdict::Slower) <= 3 && one(Verdict::Faster) == 0);
    assert!(one(Verdict::Equivalent) >= 150);
}

#[test]
fn adaptive_repeats_take_less_time_than_fixed_repeats_of_the_same_precision() {
    // A mixed plan: one contender far away, one near, one equal.
    let quiet = Shape {
        name: "quiet",
        next: |chance, _, _| 1.0 + 0.02 * chance.normal(),
    };
    let rule = Rule {
        analyses: Some(ADAPTIVE),
        ..Rule::default()
    };
    let mut chance = Chance(1945);
    let truth = [1.0, 2.0, 1.3, 0.8, 1.0];
    let (mut cells, mut blocks, mut right) = (0, 0, 0);
    for _ in 0..100 {
        let mut one = Experiment::new(&mut chance, &quiet, &truth, 1);
        one.run(&rule, PRECISION);
        cells += one.cells;
        blocks += one.times[0][0].len();
        let with_baseline = one.verdicts(&rule);
        let expected = [
            Verdict::Slower,
            Verdict::Slower,
            Verdict::Faster,
            Verdict::Equivalent,
        ]
        .map(Some);
        right += usize::from(with_baseline[..4] == expected);
    }
    let fixed = blocks * truth.len();
    println!("{cells} cells, {fixed} where all continue to the end; {right} of 100 tables right");
    assert!(right >= 90);
    assert!(cells * 10 <= fixed * 6, "{cells} of {fixed}");
}

/// The noise of a run of `quick` on an idle machine: the logarithm of the ratio of two contenders
/// in a block has a standard deviation of 0.11 to 0.38, by phase.
const MEASURED_NOISE: [f64; 8] = [0.11, 0.15, 0.19, 0.23, 0.26, 0.30, 0.34, 0.38];

/// The ratios of two further contenders to the first in each phase of the gain in power.
const MEASURED_RATIOS: [[f64; 2]; 8] = [
    [1.15, 1.30],
    [1.40, 1.10],
    [0.80, 1.20],
    [1.30, 1.60],
    [1.00, 1.40],
    [1.40, 2.00],
    [0.70, 1.00],
    [1.50, 1.20],
];

/// A rule of a default run: at least 6 blocks, and an end by the time limit if `ended`.
fn default_rule(errors: ErrorRate, ended: bool) -> Rule {
    Rule {
        analyses: Some(InterimAnalyses {
            least: 6,
            most: 60,
            spending: Spending::Remaining {
                ends: Vec::new(),
                ended,
            },
        }),
        errors,
        ..Rule::default()
    }
}

/// A run by the default rule: its figures decide when it stops, at the latest after this number of
/// blocks. Returns whether it reached them.
fn run_by_default(one: &mut Experiment<'_>, errors: ErrorRate, margin: f64, limit: u32) -> bool {
    let rule = Rule {
        margin,
        ..default_rule(errors, false)
    };
    let places = rule.analyses.as_ref().unwrap().places();
    let mut takes_part = vec![true; one.truth.len()];
    for block in 0..limit {
        one.block(block, &takes_part);
        if places.contains(&(block + 1)) {
            takes_part.fill(false);
            for line in open_in(&refs(&one.lines()), &rule, PRECISION, true) {
                let both = takes_part.iter_mut().zip(line);
                both.for_each(|(part, open)| *part |= open);
            }
            if !takes_part.contains(&true) {
                return false;
            }
        }
    }
    true
}

/// Of this number of experiments: the share with any wrong verdict, and the mean share of wrong
/// verdicts among those given. A verdict is wrong if it separates contenders of equal truth, or has
/// the wrong direction.
fn error_rates(
    shape: &Shape,
    truth: &[f64],
    errors: ErrorRate,
    probes: Option<f64>,
    experiments: u32,
    seed: u64,
) -> (f64, f64) {
    let mut chance = Chance(seed);
    let (mut any, mut part) = (0.0, 0.0);
    for at in 0..experiments {
        let mut one = Experiment::new(&mut chance, shape, truth, 8).with_probes(probes);
        // Machines of all speeds: the time limit ends runs after 6 to 20 blocks.
        let ended = run_by_default(&mut one, errors, 0.0, 6 + at % 15);
        let rule = Rule {
            margin: 0.0,
            ..default_rule(errors, ended)
        };
        let (mut given, mut wrong) = (0.0, 0.0);
        for line in judge_table(&refs(&one.lines()), &rule) {
            for a in 0..truth.len() {
                for b in 0..a {
                    let right = match line.of(a, b) {
                        Some(Verdict::Faster) => truth[a] < truth[b],
                        Some(Verdict::Slower) => truth[a] > truth[b],
                        _ => continue,
                    };
                    given += 1.0;
                    wrong += f64::from(u8::from(!right));
                }
            }
        }
        any += f64::from(u8::from(wrong > 0.0));
        part += if given > 0.0 { wrong / given } else { 0.0 };
    }
    (any / f64::from(experiments), part / f64::from(experiments))
}

fn check_error_rates(all: &[ErrorRate], probes: Option<f64>, experiments: u32) {
    // One standard deviation at 5 %.
    let deviation = (0.05 * 0.95 / f64::from(experiments)).sqrt();
    let most = 0.05 + 2.0 * deviation;
    for (shape, seed) in SHAPES.iter().zip(1995..) {
        for errors in all.iter().copied() {
            // If all are equal, both rates are the probability of any verdict.
            let (any, _) = error_rates(shape, &[1.0; 3], errors, probes, experiments, seed);
            // Two are equal, and a third differs by much.
            let truth = [1.0, 1.0, 1.3];
            let (family, share) =
                error_rates(shape, &truth, errors, probes, experiments, seed + 10);
            println!(
                "{}, {}, probes {probes:?}: all equal: {:.1} % of tables wrong; two equal: {:.1} % \
                 of tables, {:.1} % of verdicts wrong",
                shape.name,
                errors.name(),
                100.0 * any,
                100.0 * family,
                100.0 * share
            );
            assert!(any <= most, "{}: {any}", shape.name);
            assert!(share <= most, "{}: {share}", shape.name);
            if errors == ErrorRate::Fwer {
                assert!(family <= most, "{}: {family}", shape.name);
            }
        }
    }
}

#[test]
fn default_runs_hold_the_error_rate_that_they_name() {
    check_error_rates(&ErrorRate::ALL, None, 300);
}

#[test]
fn stalls_of_ten_times_do_not_set_equal_contenders_far_apart() {
    let stalls = Shape {
        name: "stalls",
        next: |chance, _, _| {
            let stall = if chance.even() < 0.05 { 10.0 } else { 1.0 };
            stall * (1.0 + 0.02 * chance.normal())
        },
    };
    let (any, _) = error_rates(&stalls, &[1.0; 3], ErrorRate::Fdr, None, 400, 2007);
    println!("stalls: {:.1} % of tables wrong", 100.0 * any);
    assert!(any <= 0.05, "{any}");
}

#[test]
#[ignore = "minutes; the figures in docs/statistics.md"]
fn default_runs_hold_the_error_rate_that_they_name_in_many_experiments() {
    check_error_rates(&ErrorRate::ALL, None, 3000);
}

/// Correlations of a probe with the time.
const CORRELATIONS: [f64; 3] = [0.0, 0.5, 0.7];

#[test]
fn runs_with_probes_hold_the_error_rate_that_they_name() {
    for r in CORRELATIONS {
        check_error_rates(&[ErrorRate::Fdr], Some(r), 200);
    }
}

#[test]
#[ignore = "minutes; the figures in docs/statistics.md"]
fn runs_with_probes_hold_the_error_rate_that_they_name_in_many_experiments() {
    for r in CORRELATIONS {
        check_error_rates(&[ErrorRate::Fdr], Some(r), 3000);
    }
}

#[test]
fn adjusted_intervals_cover_the_truth_in_93_to_98_of_100_experiments() {
    for (shape, seed) in SHAPES.iter().zip(1932..) {
        for (r, repeats) in [(0.0, 10), (0.7, 10), (0.7, 25)] {
            let (mut chance, mut held) = (Chance(seed), 0);
            for _ in 0..2000 {
                let truth = [1.0, 1.1, 1.2];
                let mut one = Experiment::new(&mut chance, shape, &truth, 1).with_probes(Some(r));
                (0..repeats).for_each(|block| one.block(block, &[true; 3]));
                let interval = one.ratio().interval.unwrap();
                held += u32::from(interval.low <= 1.1 && 1.1 <= interval.high);
            }
            let share = f64::from(held) / 2000.0;
            println!("{}, probes {r}, {repeats} repeats: {share:.3}", shape.name);
            assert!((0.93..=0.98).contains(&share), "{}: {share}", shape.name);
        }
    }
}

#[test]
fn the_confidence_set_holds_the_fastest_in_95_of_100_runs_with_stopping() {
    for (shape, seed) in SHAPES.iter().zip(1984..) {
        for truth in [[1.0; 4], [1.0, 1.01, 1.03, 1.3]] {
            let (mut chance, mut held) = (Chance(seed), 0);
            for at in 0..1000 {
                let mut one = Experiment::new(&mut chance, shape, &truth, 1);
                let ended = run_by_default(&mut one, ErrorRate::Fdr, 0.02, 6 + at % 15);
                let rule = default_rule(ErrorRate::Fdr, ended);
                held += u32::from(best_set(&one.lines()[0], &rule)[0]);
            }
            println!("{}, {truth:?}: in {held} of 1000 sets", shape.name);
            assert!(held >= 940, "{}: {held}", shape.name);
        }
    }
}

#[test]
fn a_run_that_is_extended_twice_holds_its_error_rate() {
    // A fixed number of repeats, and an adaptive run that ended twice by its time limit.
    for (least, most, ends) in [(24, 24, [6, 12]), (6, 60, [8, 13])] {
        let (mut chance, mut wrong) = (Chance(1977), 0);
        for _ in 0..1000 {
            let mut one = Experiment::new(&mut chance, &SHAPES[2], &[1.0; 3], 2);
            (0..24).for_each(|block| one.block(block, &[true; 3]));
            // Extended because nothing was decided. The last rule repeats the earlier ends.
            let rule = Rule {
                margin: 0.0,
                analyses: Some(InterimAnalyses {
                    least,
                    most,
                    spending: Spending::Remaining {
                        ends: ends.to_vec(),
                        ended: true,
                    },
                }),
                errors: ErrorRate::Fdr,
                ..Rule::default()
            };
            let verdicts = one.verdicts(&rule).into_iter().flatten();
            let mut differing = verdicts.filter(|v| matches!(v, Verdict::Faster | Verdict::Slower));
            wrong += u32::from(differing.next().is_some());
        }
        println!("extended after {ends:?}, up to {most}: {wrong} of 1000 tables wrong");
        assert!(wrong <= 60, "{wrong}");
    }
}

/// The verdicts of a default run of 7 phases on each pair of 4 contenders.
fn verdicts_of_draws(
    chance: &mut Chance,
    shape: &Shape,
    truth: &[f64],
    limit: u32,
) -> Vec<Option<Verdict>> {
    const MARGIN: f64 = 0.02;
    let mut one = Experiment::new(chance, shape, truth, 7);
    let ended = run_by_default(&mut one, ErrorRate::Fdr, MARGIN, limit);
    let rule = Rule {
        margin: MARGIN,
        ..default_rule(ErrorRate::Fdr, ended)
    };
    one.verdicts(&rule)
}

#[test]
fn verdicts_of_other_draws_contradict_at_most_1_of_20() {
    // Draws that scatter by 5 to 15 %, as those of small workloads on hard disks do.
    let truth: [[f64; 4]; 5] = [
        [1.0, 1.0, 1.01, 1.3],
        [1.0, 0.97, 1.05, 1.1],
        [1.0, 1.02, 1.04, 1.06],
        [1.0, 1.0, 1.0, 1.0],
        [1.0, 0.7, 1.03, 20.0],
    ];
    let (mut chance, mut pairs, mut decided, mut contradicted) = (Chance(36), 0, 0, 0);
    for round in 0..4 {
        for (at, truth) in (0..).zip(&truth) {
            // All shapes of independent draws.
            let shape = &SHAPES[(at + round) % 3];
            let limit = 6 + u32::try_from((at * 3 + round * 5) % 15).unwrap();
            let of = |chance: &mut Chance| verdicts_of_draws(chance, shape, truth, limit);
            let (one, other) = (of(&mut chance), of(&mut chance));
            pairs += one.len();
            let is_decided =
                |verdict: &Option<Verdict>| !matches!(verdict, None | Some(Verdict::Inconclusive));
            for (one, other) in one.iter().zip(&other).filter(|(one, _)| is_decided(one)) {
                decided += 1;
                contradicted += usize::from(is_decided(other) && one != other);
            }
        }
    }
    println!("{pairs} pairs, {decided} decided, {contradicted} contradicted by other draws");
    assert!(pairs >= 600 && decided >= 200, "{pairs} {decided}");
    assert!(contradicted * 20 <= decided, "{contradicted} of {decided}");
    // A verdict from the single draw of each contradicts itself often.
    let sides = |chance: &mut Chance| {
        let factor = |of: &mut Chance| (SHAPES[1].next)(of, 0.0, &mut 0.0);
        factor(chance) < factor(chance)
    };
    let opposite = (0..1000).filter(|_| sides(&mut chance) != sides(&mut chance));
    assert!(opposite.count() > 400);
}

/// The one of three contenders that is faster than each other one.
fn fastest(verdicts: &Verdicts) -> Option<usize> {
    let faster = |one, other| one == other || verdicts.of(one, other) == Some(Verdict::Faster);
    (0..3).find(|one| (0..3).all(|other| faster(*one, other)))
}

/// The mean number of phases of which the fastest is named, of verdicts that separate contenders,
/// and the share of experiments in which the fastest overall is named, after this number of blocks
/// with these probes.
fn power(rule: &Rule, overall: &Rule, blocks: u32, correlation: Option<f64>) -> [f64; 3] {
    const EXPERIMENTS: u32 = 300;
    let mut chance = Chance(2008);
    let mut found = [0.0; 3];
    for _ in 0..EXPERIMENTS {
        let mut times = vec![vec![Vec::new(); 3]; 8];
        for block in 0..blocks {
            for ((phase, noise), ratios) in
                times.iter_mut().zip(MEASURED_NOISE).zip(MEASURED_RATIOS)
            {
                let truth = [1.0, ratios[0], ratios[1]];
                for (of_one, truth) in phase.iter_mut().zip(truth) {
                    // The ratio of two has the noise of both.
                    let mut next = || (noise / std::f64::consts::SQRT_2 * chance.normal()).exp();
                    let noise = next();
                    of_one.push(Timed {
                        block,
                        time: truth * noise,
                        probe: correlation.map(|r| probes(r, noise, [next(), next()])),
                    });
                }
            }
        }
        let lines: Vec<Times> = times.into_iter().map(Times::of).collect();
        let table = judge_table(&refs(&lines), rule);
        for line in &table {
            found[0] += f64::from(u8::from(fastest(line).is_some()));
            for (a, b) in [(1, 0), (2, 0), (2, 1)] {
                let differs = matches!(line.of(a, b), Some(Verdict::Faster | Verdict::Slower));
                found[1] += f64::from(u8::from(differs));
            }
        }
        let named = fastest(&judge_table(&[&Times::mean(&lines)], overall)[0]);
        found[2] += f64::from(u8::from(named == Some(0)));
    }
    found.map(|of| of / f64::from(EXPERIMENTS))
}

#[test]
fn the_false_discovery_rate_names_more_than_twice_as_many_fastest_contenders() {
    let of = |errors, spending| Rule {
        errors,
        ..Rule {
            analyses: Some(InterimAnalyses {
                least: 6,
                most: 60,
                spending,
            }),
            ..Rule::default()
        }
    };
    let ended = || Spending::Remaining {
        ends: Vec::new(),
        ended: true,
    };
    let old = of(ErrorRate::Fwer, Spending::Proportional);
    let family = of(ErrorRate::Fwer, ended());
    let discovery = of(ErrorRate::Fdr, ended());
    let mut shown = Vec::new();
    for (name, rule) in [
        ("family-wise, in proportion", &old),
        ("family-wise", &family),
        ("false discoveries", &discovery),
    ] {
        let overall = rule.clone().family_wise();
        let found = power(rule, &overall, 15, None);
        println!(
            "{name}: fastest named in {:.1} of 8 phases, {:.1} of 24 verdicts, overall {:.0} %",
            found[0],
            found[1],
            100.0 * found[2]
        );
        shown.push(found);
    }
    assert!(shown[1][0] >= shown[0][0] && shown[2][0] > 2.0 * shown[0][0]);
    assert!(shown[2][1] > 1.5 * shown[0][1] && shown[2][2] >= shown[0][2]);
}

#[test]
fn probes_that_correlate_with_the_times_name_more_contenders() {
    let rule = default_rule(ErrorRate::Fdr, true);
    let overall = rule.clone().family_wise();
    for blocks in [7, 15] {
        let of = |correlation| {
            let found = power(&rule, &overall, blocks, correlation);
            println!(
                "{blocks} blocks, probes {correlation:?}: fastest named in {:.1} of 8 phases, {:.1} \
                 of 24 verdicts, overall {:.0} %",
                found[0],
                found[1],
                100.0 * found[2]
            );
            found
        };
        let [none, useless, half, much] = [None, Some(0.0), Some(0.5), Some(0.7)].map(of);
        // Probes that measure nothing cost little.
        assert!(useless[0] >= none[0] - 0.2 && useless[1] >= none[1] - 0.4);
        assert!(half[0] > none[0] && half[1] > none[1]);
        assert!(much[0] > half[0] && much[1] > half[1]);
    }
}
