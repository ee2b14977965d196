//! The atlas: what a run decides, its cells in an atlas decide too; damaged files are refused.

use crate::advice::question;
use crate::fixture::{guest, one_phase};
use fsdyno_model::{
    DiskTime, Effective, GuestSize, LabChoice, ModelDisk, Outcome, ResultSet, Vary, Warning,
    WarningKind,
};
use fsdyno_report::advice::{Question as Asked, Recommendation};
use fsdyno_report::atlas::{Atlas, AtlasDiff, Head, Question};
use fsdyno_report::{Format, Options, render_atlas, render_atlas_diff};

/// A run in virtual time; `times` are milliseconds by contender and draw.
fn run(labels: &[&str], times: &[&[u64]]) -> ResultSet {
    let mut set = one_phase(labels, times);
    let plan = &mut set.run.plan;
    plan.varies = Vary::ALL.to_vec();
    plan.budget = None;
    plan.guest = Some(GuestSize::default());
    plan.disk = Some(ModelDisk {
        profile: "nvme".to_owned(),
        text: "title = \"a disk\"".to_owned(),
        faults: None,
        time: DiskTime::default(),
    });
    for contender in &mut plan.contenders {
        contender.lab = LabChoice::Uml;
        contender.filesystem.clone_from(&contender.label);
    }
    for record in &mut set.cells {
        let digest = Effective {
            source: Effective::DISK.to_owned(),
            text: format!(
                "digest {} {:?}",
                record.cell.index, record.samples[0].durable_ns
            ),
        };
        record.effective = vec![guest(), digest];
    }
    set
}

fn atlas(runs: &[(u32, &ResultSet)]) -> Atlas {
    let mut head = Head {
        title: "a test".to_owned(),
        planned: 3,
        ..Head::default()
    };
    let mut questions = Vec::new();
    for (size, set) in runs {
        head.add(set).unwrap();
        questions.push(Question::of("mail", "nvme", *size, set));
    }
    let atlas = Atlas { head, questions };
    // What is written is read back.
    let read = Atlas::read(&atlas.text()).unwrap();
    assert_eq!(read.questions, atlas.questions);
    read
}

fn shown(atlas: &Atlas, width: usize) -> String {
    let options = Options {
        width,
        ..Options::default()
    };
    let answers = atlas.answers(None, None);
    String::from_utf8(render_atlas(&answers, Format::Terminal, &options).unwrap()).unwrap()
}

const SMALL: [&[u64]; 3] = [&[100, 101, 102], &[300, 310, 305], &[101, 102, 100]];
const LARGE: [&[u64]; 3] = [&[900, 910, 905], &[500, 510, 505], &[950, 940, 945]];

#[test]
fn an_atlas_decides_as_the_runs_that_it_was_made_of() {
    let labels = ["ext4", "xfs", "btrfs"];
    let (small, large) = (run(&labels, &SMALL), run(&labels, &LARGE));
    let atlas = atlas(&[(1, &small), (4, &large)]);
    let again: Vec<ResultSet> = atlas
        .questions
        .iter()
        .map(|one| one.run(&atlas.head))
        .collect();
    let advice = |sets: [&ResultSet; 2]| {
        let advice = Recommendation::of(&Asked {
            sizes: &[(4.0, sets[1])],
            ..question(sets[0])
        });
        let mut value = serde_json::to_value(advice).unwrap();
        value.as_object_mut().unwrap().remove("runs");
        for size in value["sizes"].as_array_mut().unwrap() {
            size["run"].take();
        }
        value["started_unix_ns"].take();
        value
    };
    assert_eq!(advice([&again[0], &again[1]]), advice([&small, &large]));
    let answers = atlas.answers(Some("mail"), Some("nvme")).answers;
    let sizes = &answers[0].sizes;
    assert!(!sizes[0].fastest.contains(&"xfs".to_owned()), "{sizes:?}");
    assert_eq!(sizes[1].fastest, ["xfs"]);
    let text = shown(&atlas, 80);
    assert!(text.contains("depends on the size"), "{text}");
    assert!(
        text.contains("not measured here") && text.contains("2 of 3 questions"),
        "{text}"
    );
    for width in [80, 120] {
        let text = shown(&atlas, width);
        assert!(
            text.lines().all(|line| line.chars().count() <= width),
            "{text}"
        );
    }
    assert!(atlas.answers(Some("web"), None).answers.is_empty());
}

#[test]
fn work_that_is_not_durable_and_cells_that_failed_are_never_the_answer() {
    let mut set = run(&["ext4", "fast"], &[&[100, 101, 102], &[1, 1, 1]]);
    for record in set.cells.iter_mut().filter(|one| one.cell.contender == 1) {
        let warning = Warning::new(WarningKind::NotDurable, "nothing was flushed", "");
        record.samples[0].warnings.push(warning);
    }
    let of = atlas(&[(1, &set)]);
    let answer = &of.answers(None, None).answers[0].sizes[0];
    assert_eq!(answer.fastest, ["ext4"]);
    let text = shown(&of, 80);
    assert!(text.contains("not durable"), "{text}");
    let failed = fsdyno_model::Failure {
        stage: fsdyno_model::Stage::Mount,
        message: "mount: unknown".to_owned(),
        errno: None,
    };
    for record in set.cells.iter_mut().filter(|one| one.cell.contender == 0) {
        record.outcome = Outcome::Failed(failed.clone());
        record.samples.clear();
    }
    let of = atlas(&[(1, &set)]);
    let answer = &of.answers(None, None).answers[0].sizes[0];
    assert!(answer.fastest.is_empty(), "{answer:?}");
    assert!(shown(&of, 80).contains("mount: unknown"));
}

#[test]
fn a_changed_figure_is_found_and_two_atlases_are_compared_by_verdicts() {
    let labels = ["ext4", "xfs", "btrfs"];
    let (before, after) = (run(&labels, &SMALL), run(&labels, &LARGE));
    let (one, other) = (atlas(&[(1, &before)]), atlas(&[(1, &after), (4, &after)]));
    let cells = &one.questions[0].cells;
    assert!(cells[0].differences(&cells[0]).is_empty());
    let mut falsified = cells[0].clone();
    falsified.phases[0].durable_ns.as_mut().unwrap().0 -= 1;
    let found = falsified.differences(&cells[0]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("durable: 99999999 ns in the atlas, 100000000 ns here"));
    let diff = AtlasDiff::of(&one, &other);
    assert_eq!((diff.equal, diff.answers.len()), ((0, 9), 1));
    assert_eq!(diff.only, [vec![], vec!["mail/nvme/4".to_owned()]]);
    assert!(
        diff.figures
            .iter()
            .any(|one| one.contender == "ext4" && one.ratio > 8.0)
    );
    let text = String::from_utf8(render_atlas_diff(&diff, &Options::default())).unwrap();
    assert!(text.contains("0 of 9 common cells"), "{text}");
    let none = AtlasDiff::of(&one, &one);
    assert!(none.is_empty() && none.figures.is_empty() && none.answers.is_empty());
}

#[test]
fn figures_of_two_kernels_are_not_one_atlas() {
    let mut head = Head::default();
    let mut set = run(&["ext4", "xfs"], &SMALL[..2]);
    head.add(&set).unwrap();
    for record in &mut set.cells {
        record.effective[0].text = "Linux 6.2.0 (User-mode Linux), #2, 484 MiB".to_owned();
    }
    let error = head.add(&set).unwrap_err();
    assert!(error.contains("another kernel"), "{error}");
}

#[test]
fn a_damaged_file_gets_one_clear_message() {
    let set = run(&["ext4", "xfs"], &SMALL[..2]);
    let text = atlas(&[(1, &set)]).text();
    let lines: Vec<&str> = text.lines().collect();
    let without = |at: usize| {
        let kept = lines.iter().enumerate().filter(|(place, _)| *place != at);
        let kept: Vec<&str> = kept.map(|(_, line)| *line).collect();
        kept.join("\n")
    };
    let digest = &lines[2][lines[2].find("\"digest\":\"").unwrap() + 10..][..16];
    let cell = lines[2];
    for (damaged, message) in [
        (String::new(), "the file is empty"),
        ("{}\n".to_owned(), "line 1: no head of an atlas"),
        (text.replacen("\"format\":1", "\"format\":2", 1), "format 2"),
        (without(0), "line 1"),
        (without(1), "line 2: a cell before any question"),
        (without(2), "a part of the file is missing"),
        (
            text.replacen(digest, "x", 1),
            "line 3: a measured cell without digest",
        ),
        (
            text.replacen("\"draw\":1", "\"draw\":9", 1),
            "that its plan does not have",
        ),
        (
            text.replacen("\"draw\":1", "\"draw\":2", 1),
            "5 different cells",
        ),
        (
            text.replacen("\"of\":\"mail", "\"of\":\"web", 1),
            "a cell of web/nvme/1",
        ),
        (
            text.replacen("\"return_ns\":", "\"return_ns\":9999999999", 1),
            "is larger than",
        ),
        (
            text.replacen("\"disk\":\"nvme\"", "\"disk\":\"/etc\"", 1),
            "is no name",
        ),
        (
            text.replacen("\"repeats\":3", "\"repeats\":4000000000", 1),
            "draws: an atlas has 1 to",
        ),
        (
            text.replacen("\"nvme\":\"title", "\"hdd\":\"title", 1),
            "no profile of the disk nvme",
        ),
        (text.replacen(cell, &cell[..cell.len() / 2], 1), "line 3"),
        (format!("{text}{}\n", lines[1]), "a second question"),
        (format!("{text}{}\n", lines[0]), "a second head"),
    ] {
        let error = Atlas::read(&damaged).unwrap_err().to_string();
        assert!(error.contains(message), "{message}: {error}");
        assert!(error.lines().count() == 1, "{error}");
    }
}

#[test]
fn the_shipped_atlas_can_be_read() {
    let shipped = Atlas::shipped().unwrap();
    if let Some(atlas) = shipped {
        assert_eq!(atlas.questions.len(), atlas.head.planned as usize);
        assert!(!atlas.answers(None, None).answers.is_empty());
    }
}
