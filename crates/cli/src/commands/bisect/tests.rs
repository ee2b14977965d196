//! Searches of a history whose kernels and figures are made up, with the files of a real search.

use super::bench::Machine;
use super::kept::Attempt;
use super::*;
use fsdyno_guests::kernels::About;
use fsdyno_model::FigureName;
use fsdyno_model::Nanos;
use fsdyno_run::bisect::{Counter, Figures};
use std::cell::RefCell;

/// A history without branches, in which commit 21 doubles the flushes.
#[derive(Default)]
struct Made {
    measured: RefCell<Vec<String>>,
    /// The number of measurements after which the process is killed.
    killed_after: Option<usize>,
    /// Whether each measurement differs from the one before it.
    unstable: bool,
    broken: Vec<usize>,
}

fn number(commit: &str) -> usize {
    commit.parse().unwrap()
}

impl Machine for &Made {
    fn candidates(&mut self, bad: &str, good: &[String]) -> Result<Vec<String>, CliError> {
        let first = good.iter().map(|one| number(one)).max().unwrap() + 1;
        let (last, total) = (number(bad), number(bad) + 1 - first);
        let mut all: Vec<usize> = (first..=last).collect();
        all.sort_by_key(|one| {
            let reached = one + 1 - first;
            std::cmp::Reverse(reached.min(total - reached))
        });
        Ok(all.iter().map(ToString::to_string).collect())
    }

    fn measure(&mut self, commit: &str, _: Option<&Path>) -> Result<Attempt, CliError> {
        let mut measured = self.measured.borrow_mut();
        if self.killed_after == Some(measured.len()) {
            return Err(CliError::failure("killed"));
        }
        measured.push(commit.to_owned());
        let mut value = if number(commit) < 21 { 50 } else { 100 };
        if self.unstable {
            value += measured.len() as u64;
        }
        let flushes = Counter {
            name: "flushes".to_owned(),
            value,
            is_time: false,
        };
        let result = if self.broken.contains(&number(commit)) {
            AttemptResult::Skipped {
                why: "no rule to make target".to_owned(),
            }
        } else {
            AttemptResult::Measured {
                run: format!("run-{commit}"),
                kernel: "linux".into(),
                digest: "d".to_owned(),
                figures: Figures {
                    counters: vec![flushes],
                    paired: None,
                    user_code: None,
                },
            }
        };
        Ok(Attempt {
            commit: commit.to_owned(),
            result,
            built_ns: Some(Nanos(1)),
            measured_ns: Some(Nanos(2)),
        })
    }

    fn name(&self, commit: &str) -> String {
        commit.to_owned()
    }
}

fn search() -> Search {
    Search {
        schema: Search::SCHEMA,
        version: "0".to_owned(),
        repo: "/srv/a linux".into(),
        good: "0".to_owned(),
        bad: Some("33".to_owned()),
        metric: FigureName::new("flushes"),
        threshold: 1.05,
        max_repeats: None,
        cell: CellSettings {
            fs: "xfs".to_owned(),
            phase: "copy".to_owned(),
            phases: vec!["copy".to_owned()],
            disk: Some("sata-ssd".into()),
            cpu: None,
            work: None,
            app: None,
            dataset: Some("mixed".to_owned()),
            scale: 0.02,
            set: Vec::new(),
            device: Vec::new(),
            seed: None,
            guest_memory: None,
        },
    }
}

fn find(all: &Path, made: &Made) -> Result<Found, CliError> {
    let search = search();
    let kept = Kept::begin(all, &search)?;
    let question = Question {
        good: search.good.clone(),
        bad: search.bad.clone().unwrap(),
        metric: search.metric.clone(),
        threshold: search.threshold,
    };
    question.search(&mut Recorded {
        machine: made,
        kept: &kept,
        metric: search.metric.clone(),
        steps: 0,
    })
}

fn is_found(found: &Found) -> bool {
    matches!(found, Found::Commit { commit, before, .. } if commit == "21" && before == "20")
}

#[test]
fn a_search_killed_after_any_measurement_resumes_with_the_next_one() {
    let whole = Made::default();
    let folder = tempfile::tempdir().unwrap();
    assert!(is_found(&find(folder.path(), &whole).unwrap()));
    let whole = whole.measured.into_inner();
    // The good commit is measured twice, and built once.
    assert_eq!(whole.len(), 8, "{whole:?}");
    for kills in 0..whole.len() {
        let folder = tempfile::tempdir().unwrap();
        let killed = Made {
            killed_after: Some(kills),
            ..Made::default()
        };
        assert!(find(folder.path(), &killed).is_err());
        let resumed = Made::default();
        assert!(is_found(&find(folder.path(), &resumed).unwrap()));
        let all = [killed.measured.into_inner(), resumed.measured.into_inner()].concat();
        assert_eq!(all, whole, "killed after {kills}");
    }
}

#[test]
fn a_finished_search_measures_nothing_again() {
    let folder = tempfile::tempdir().unwrap();
    find(folder.path(), &Made::default()).unwrap();
    let again = Made {
        killed_after: Some(0),
        ..Made::default()
    };
    assert!(is_found(&find(folder.path(), &again).unwrap()));
}

#[test]
fn a_commit_that_does_not_build_is_recorded_as_skipped_and_not_built_again() {
    let folder = tempfile::tempdir().unwrap();
    let made = Made {
        broken: vec![16, 17, 18],
        ..Made::default()
    };
    assert!(is_found(&find(folder.path(), &made).unwrap()));
    let built = made.measured.borrow().len();
    assert!(is_found(&find(folder.path(), &made).unwrap()));
    assert_eq!(made.measured.borrow().len(), built);
}

#[test]
fn a_measurement_that_differs_from_its_repeat_is_an_error_with_the_figure() {
    let folder = tempfile::tempdir().unwrap();
    let made = Made {
        unstable: true,
        ..Made::default()
    };
    let Found::NotExact(why) = find(folder.path(), &made).unwrap() else {
        panic!("the difference was not seen");
    };
    assert!(why.contains("flushes was 51, and then 52"), "{why}");
    assert_eq!(*made.measured.borrow(), ["0", "0"]);
    let text = undecided(&search(), &Found::NotExact(why));
    assert!(text.contains("nothing is decided"), "{text}");
}

#[test]
fn the_last_search_is_found_again_by_its_name_and_without() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Kept::find(folder.path(), "last").is_err());
    let search = search();
    Kept::begin(folder.path(), &search).unwrap();
    for name in ["last", &search.name()] {
        assert_eq!(Kept::find(folder.path(), name).unwrap(), search);
    }
    assert!(Kept::find(folder.path(), "../x").is_err());
    let mut other = search.clone();
    other.threshold = 1.01;
    assert_ne!(other.name(), search.name());
}

#[test]
fn the_result_names_commit_counters_reproducer_and_a_mail() {
    let about = |short: &str, subject: &str| About {
        commit: format!("{short}0000"),
        short: short.to_owned(),
        author: "A <a@b>".to_owned(),
        date: "today".to_owned(),
        subject: subject.to_owned(),
    };
    let figures = |flushes, time| Figures {
        counters: [("durable", time, true), ("flushes", flushes, false)]
            .map(|(name, value, is_time)| Counter {
                name: name.to_owned(),
                value,
                is_time,
            })
            .to_vec(),
        paired: None,
        user_code: None,
    };
    let guilty = Guilty {
        search: &search(),
        folder: Path::new("/var/lib/bisects/a"),
        about: &about("bbb", "flush the log\u{1b}[2J"),
        changes: " fs/x.c | 2 +-\n",
        before: &about("aaa", "before"),
        figures_before: &figures(50, 2_000_000),
        figures: &figures(5000, 3_000_000),
        functions: "  x_flush 10 900\n".to_owned(),
        runs: ["one".to_owned(), "two".to_owned()],
        builds: 8,
        user_code: None,
    };
    let text = guilty.text();
    for part in [
        "bbb0000",
        "flushes 50 -> 5000 (x 100)",
        "fs/x.c | 2 +-",
        "x_flush 10 900",
        "fsdyno compare one two",
        "locks between processors",
        "#regzbot introduced: bbb0000",
        "Subject: [REGRESSION]",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains('\u{1b}'));
    let script = guilty.reproducer();
    assert!(script.lines().count() <= 10, "{script}");
    assert!(script.contains("repo='/srv/a linux'"), "{script}");
    let mut search = search();
    search.cell.phases.clear();
    search.cell.dataset = None;
    search.cell.work = Some(OwnWork {
        name: "mail".to_owned(),
        text: "title = \"mail\"\n".to_owned(),
    });
    let guilty = Guilty {
        search: &search,
        ..guilty
    };
    let script = guilty.reproducer();
    assert!(
        script.contains("\nwork=/var/lib/bisects/a/mail.toml\n"),
        "{script}"
    );
    assert!(
        script.contains("fsdyno run --fs xfs --disk sata-ssd --scale 0.02 --work \"$work\" "),
        "{script}"
    );
    assert!(guilty.mail().contains("title = \"mail\""));
}
