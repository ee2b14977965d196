//! Searches in histories of which every figure is known.

use super::*;
use std::collections::BTreeMap;
use std::convert::Infallible;

/// A history without branches: commit `n` follows commit `n - 1`. The figure of each is known.
struct History {
    flushes: Vec<Option<u64>>,
    unequal: Option<&'static str>,
    measured: Vec<String>,
    steps: Vec<(String, Judged)>,
}

fn figures(flushes: u64) -> Figures {
    Figures {
        counters: vec![Counter {
            name: "flushes".to_owned(),
            value: flushes,
            is_time: false,
        }],
        paired: None,
        user_code: None,
    }
}

impl Bench for History {
    type Error = Infallible;

    fn candidates(&mut self, bad: &str, good: &[String]) -> Result<Vec<String>, Infallible> {
        let number = |commit: &str| commit.parse::<usize>().unwrap();
        let first = good.iter().map(|one| number(one)).max().unwrap() + 1;
        let last = number(bad);
        let total = last + 1 - first;
        // As `git rev-list --bisect-all`: sorted by how evenly a commit divides the rest, best
        // first.
        let mut all: Vec<usize> = (first..=last).collect();
        all.sort_by_key(|one| {
            let reached = one + 1 - first;
            (std::cmp::Reverse(reached.min(total - reached)), *one)
        });
        Ok(all.iter().map(ToString::to_string).collect())
    }

    fn measure(&mut self, commit: &str, _: Role) -> Result<Tried, Infallible> {
        self.measured.push(commit.to_owned());
        let figure = self.flushes[commit.parse::<usize>().unwrap()];
        Ok(figure.map_or_else(
            || Tried::Skipped("it does not compile".to_owned()),
            |flushes| Tried::Measured(figures(flushes)),
        ))
    }

    fn repeat(&mut self, _: &str) -> Result<Option<String>, Infallible> {
        Ok(self.unequal.map(str::to_owned))
    }

    fn report(&mut self, step: &Step) {
        self.steps.push((step.commit.clone(), step.judged));
    }
}

fn history(flushes: impl IntoIterator<Item = Option<u64>>) -> History {
    History {
        flushes: flushes.into_iter().collect(),
        unequal: None,
        measured: Vec::new(),
        steps: Vec::new(),
    }
}

fn search(history: &mut History) -> Found {
    let question = Question {
        good: "0".to_owned(),
        bad: (history.flushes.len() - 1).to_string(),
        metric: FigureName::new("flushes"),
        threshold: 1.05,
    };
    let Ok(found) = question.search(history);
    found
}

#[test]
fn each_of_33_commits_is_found_in_8_measurements_at_most() {
    for changed in 1..=33 {
        let mut history = history((0..=33).map(|one| Some(if one < changed { 100 } else { 200 })));
        let found = search(&mut history);
        assert_eq!(
            found,
            Found::Commit {
                commit: changed.to_string(),
                before: (changed - 1).to_string(),
                figures_before: figures(100),
                figures: figures(200),
            }
        );
        assert!(history.measured.len() <= 8, "{:?}", history.measured);
    }
}

#[test]
fn a_figure_that_falls_or_was_zero_is_a_change() {
    for (before, after) in [(200, 100), (0, 1)] {
        let figures = (0..9).map(|one| Some(if one < 4 { before } else { after }));
        let found = search(&mut history(figures));
        assert!(matches!(found, Found::Commit { commit, .. } if commit == "4"));
    }
}

#[test]
fn a_change_below_the_threshold_is_no_change() {
    let slow = |one: u64| Some(100 + one / 2);
    let found = search(&mut history((0..8).map(slow)));
    let expected = Found::NoDifference {
        good: 100,
        bad: 103,
    };
    assert_eq!(found, expected);
}

#[test]
fn ends_that_are_equal_end_the_search_before_any_probe() {
    let mut history = history([Some(5), Some(7), Some(5)]);
    let expected = Found::NoDifference { good: 5, bad: 5 };
    assert_eq!(search(&mut history), expected);
    assert_eq!(history.measured, ["0", "2"]);
}

#[test]
fn a_cell_that_differs_from_its_repeat_ends_the_search() {
    let mut history = history([Some(5), Some(9)]);
    history.unequal = Some("request 7");
    assert_eq!(
        search(&mut history),
        Found::NotExact("request 7".to_owned())
    );
    assert_eq!(history.measured, ["0"]);
}

#[test]
fn an_end_that_cannot_be_built_ends_the_search() {
    let found = search(&mut history([Some(5), None]));
    let expected = Found::NoEnd {
        role: Role::Bad,
        why: "it does not compile".to_owned(),
    };
    assert_eq!(found, expected);
}

#[test]
fn commits_that_fail_to_build_are_skipped() {
    // Of 17 commits, 8 to 10 do not compile, and 12 has the change.
    let figure = |one: u64| match one {
        8..=10 => None,
        0..=11 => Some(1),
        _ => Some(2),
    };
    let mut history = history((0..18).map(figure));
    let found = search(&mut history);
    assert!(matches!(found, Found::Commit { commit, .. } if commit == "12"));
    let skipped = history.steps.iter().filter(|one| one.1 == Judged::Skipped);
    assert!(skipped.count() >= 1);
}

#[test]
fn skipped_commits_before_the_change_are_all_named() {
    let mut history = history([Some(1), Some(1), None, None, Some(2), Some(2)]);
    let Found::Among(mut commits) = search(&mut history) else {
        panic!("{:?}", history.steps);
    };
    assert_eq!(commits.pop().as_deref(), Some("4"));
    commits.sort();
    assert_eq!(commits, ["2", "3"]);
}

#[test]
fn a_search_that_is_repeated_with_its_results_makes_the_same_steps() {
    let figure = |one: u64| if one == 5 { None } else { Some(1 + one / 7) };
    let mut first = history((0..12).map(figure));
    let found = search(&mut first);
    let mut again = history((0..12).map(figure));
    assert_eq!(search(&mut again), found);
    assert_eq!(again.steps, first.steps);
    let distinct: BTreeMap<_, _> = first.steps.iter().cloned().collect();
    assert_eq!(
        distinct.len(),
        first.steps.len(),
        "no commit is tried twice"
    );
}

#[test]
fn a_comparison_with_noise_decides_by_its_verdict_and_skips_what_is_inconclusive() {
    let question = Question {
        good: "0".to_owned(),
        bad: "9".to_owned(),
        metric: FigureName::CPU,
        threshold: 1.05,
    };
    let paired = |change| Figures {
        paired: Some(Paired {
            change,
            ratio: 1.07,
            interval: Some((1.01, 1.13)),
            blocks: 60,
        }),
        ..Figures::default()
    };
    let good = Figures::default();
    let judged = |change, direction| {
        let tried = Tried::Measured(paired(change));
        question.judge(&good, tried, direction)
    };
    for (change, expected) in [
        (Change::Rises, Judged::Bad),
        (Change::None, Judged::Good),
        (Change::Falls, Judged::Good),
    ] {
        assert_eq!(judged(change, Change::Rises).0, expected, "{change:?}");
    }
    assert_eq!(judged(Change::Falls, Change::Falls).0, Judged::Bad);
    let (open, tried) = judged(Change::Undecided, Change::Rises);
    let why = "inconclusive: ratio 1.070 (1.010 to 1.130), 60 blocks";
    assert_eq!(
        (open, tried),
        (Judged::Skipped, Tried::Skipped(why.to_owned()))
    );
}

#[test]
fn a_change_holds_with_none_and_with_all_user_code() {
    let question = Question {
        good: "0".to_owned(),
        bad: "9".to_owned(),
        metric: FigureName::new("flushes"),
        threshold: 1.05,
    };
    let with = |user_code| Figures {
        user_code: Some(user_code),
        ..figures(100)
    };
    for (user_code, change) in [
        (0, Change::Rises),
        (90, Change::Rises),
        (200, Change::Undecided),
    ] {
        let good = with(user_code);
        assert_eq!(question.change(&good, &figures(110)), Some(change));
        assert_eq!(question.change(&good, &figures(101)), Some(Change::None));
    }
    let (good, bad) = (with(200), figures(110));
    assert_eq!(
        question.no_change(question.change(&good, &bad), &good, &bad),
        Found::DependsOnUserCode {
            good: 100,
            bad: 110,
            user_code: 200
        }
    );
    let (judged, tried) = question.judge(&good, Tried::Measured(bad), Change::Rises);
    assert_eq!(judged, Judged::Skipped);
    assert_eq!(
        tried,
        Tried::Skipped("inconclusive: it depends on user code".to_owned())
    );
}

#[test]
fn counters_that_moved_are_listed_with_both_values() {
    let mut now = figures(3);
    let mut before = figures(3);
    now.counters.push(Counter {
        name: "blocks of xfsaild".to_owned(),
        value: 7,
        is_time: false,
    });
    before.counters.push(Counter {
        name: "blocks of jbd2".to_owned(),
        value: 9,
        is_time: false,
    });
    let moved: Vec<_> = before
        .moved(&now)
        .into_iter()
        .map(|(one, a, b)| (one.name.as_str(), a, b))
        .collect();
    assert_eq!(
        moved,
        [("blocks of xfsaild", 0, 7), ("blocks of jbd2", 9, 0)]
    );
}
