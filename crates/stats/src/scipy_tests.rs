//! Compares every test and interval with scipy, on fixed samples (`data/scipy.csv`).

use crate::{
    benjamini_hochberg, holm, normal, proportion_interval, rank_sum, signed_rank, student,
};

const FIGURES: &str = include_str!("../data/scipy.csv");

/// Splits `limit, length, a, b` into its parts.
fn samples(arguments: &[f64]) -> (f64, &[f64], &[f64]) {
    let length = arguments[1] as usize;
    let (a, b) = arguments[2..].split_at(length);
    (arguments[0], a, b)
}

fn ours(what: &str, x: &[f64]) -> Vec<f64> {
    let two = |p: Option<(f64, f64)>| p.map(|p| vec![p.0, p.1]).unwrap();
    match what {
        "student_above" => vec![student::above(x[0], x[1] as u32)],
        "normal_below" => vec![normal::below(x[0])],
        "normal_quantile" => vec![normal::quantile(x[0])],
        "signed_rank" | "signed_rank_ties" => two(signed_rank::beyond(&x[1..], x[0])),
        "student" => two(student::beyond(&x[1..], x[0], 0)),
        "signed_rank_interval" => {
            let interval = signed_rank::interval(x, 0.95).unwrap();
            vec![signed_rank::middle(x).unwrap(), interval.low, interval.high]
        }
        "rank_sum" => {
            let (limit, a, b) = samples(x);
            two(rank_sum::beyond(a, b, limit))
        }
        "rank_sum_interval" => {
            let (a, b) = x[1..].split_at(x[0] as usize);
            let interval = rank_sum::interval(a, b, 0.95).unwrap();
            vec![rank_sum::shift(a, b).unwrap(), interval.low, interval.high]
        }
        "welch" => {
            let (limit, a, b) = samples(x);
            two(student::unpaired(a, b, limit))
        }
        "proportion" => {
            let interval = proportion_interval(x[0] as u64, x[1] as u64);
            vec![interval.low, interval.high]
        }
        "holm" => holm(x),
        "benjamini_hochberg" => benjamini_hochberg(x),
        other => panic!("nothing of ours is called {other}"),
    }
}

#[test]
fn tests_and_intervals_agree_with_scipy() {
    let mut seen = std::collections::BTreeMap::new();
    for line in FIGURES.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split(',').collect();
        let numbers = |text: &str| -> Vec<f64> {
            text.split(' ').map(|word| word.parse().unwrap()).collect()
        };
        let (ours, theirs) = (ours(parts[0], &numbers(parts[1])), numbers(parts[2]));
        for (our, their) in ours.iter().zip(&theirs) {
            let near = (our - their).abs() <= 1e-9 * their.abs().max(1e-3);
            assert!(near, "{line}: {ours:?}");
        }
        assert_eq!(ours.len(), theirs.len(), "{line}");
        *seen.entry(parts[0]).or_insert(0) += 1;
    }
    assert_eq!(seen.len(), 13, "{seen:?}");
}

#[test]
fn normal_approximations_are_close_to_exact_p_values() {
    let values = |n: i32| -> Vec<f64> {
        let each = (0..n).map(|k| f64::from(k * 37 % n) / f64::from(n) - 0.4);
        each.collect()
    };
    // scipy.stats.wilcoxon(x - 0.07, alternative="greater", mode="exact") of 101 values.
    let p = signed_rank::beyond(&values(101), 0.07).unwrap().0;
    assert!((p - 0.180_068_939_810_166_8).abs() < 0.002, "{p}");
    let of = |n: i32| signed_rank::interval(&values(n), 0.95).unwrap();
    assert!((of(100).low - of(101).low).abs() < 0.01);
    assert!((of(100).high - of(101).high).abs() < 0.01);
    // scipy.stats.mannwhitneyu(a + 0.02, b, alternative="greater", method="exact"), 41 and 40.
    let p = rank_sum::beyond(&values(41), &values(40), -0.02).unwrap().0;
    assert!((p - 0.380_053_200_053_603_4).abs() < 0.005, "{p}");
}
