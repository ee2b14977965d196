//! The atlas: what a run decides, its cells in an atlas decide too; damaged files are refused.

use crate::advice::question;
use crate::fixture::{guest, one_phase};
use fsdyno_model::{
    DiskTime, Effective, FaultOutcome, GuestSize, LabChoice, ModelDisk, Nanos, Outcome, ResultSet,
    Vary, Warning, WarningKind,
};
use fsdyno_report::advice::{Question as Asked, Recommendation};
use fsdyno_report::atlas::{Atlas, AtlasDiff, AtlasFaults, AtlasPower, Head, Question};
use fsdyno_report::site::{File, of_atlas};
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
    let faults = Some(AtlasFaults::of(&crate::disk_faults::tests()));
    let mut series = crate::crash::power_losses();
    series.power_cuts.sort_by_key(|one| one.number);
    let power = Some(AtlasPower::of(&series));
    let atlas = Atlas {
        head,
        faults,
        power,
        questions,
    };
    // What is written is read back.
    let read = Atlas::read(&atlas.text()).unwrap();
    assert_eq!(read.questions, atlas.questions);
    assert_eq!(read.faults, atlas.faults);
    assert_eq!(read.power, atlas.power);
    read
}

fn shown(atlas: &Atlas, width: usize) -> String {
    let options = Options {
        width,
        ..Options::default()
    };
    let answers = atlas.answers(&[], &[]);
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
            smaller: &[(4.0, sets[0])],
            ..question(sets[1])
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
    let answers = atlas
        .answers(&["mail".to_owned()], &["nvme".to_owned()])
        .answers;
    let sizes = &answers[0].sizes;
    assert!(!sizes[0].fastest.contains(&"xfs".to_owned()), "{sizes:?}");
    assert_eq!(sizes[1].fastest, ["xfs"]);
    let text = shown(&atlas, 80);
    assert!(text.contains("depends on the size"), "{text}");
    assert!(
        text.contains("not measured here") && text.contains("2 of 3 questions"),
        "{text}"
    );
    assert!(text.contains("xfs 5.00 s (5.00 s)"), "{text}");
    for width in [80, 120] {
        let text = shown(&atlas, width);
        assert!(
            text.lines().all(|line| line.chars().count() <= width),
            "{text}"
        );
    }
    assert!(atlas.answers(&["web".to_owned()], &[]).answers.is_empty());
}

#[test]
fn work_that_is_not_durable_and_cells_that_failed_are_never_the_answer() {
    let mut set = run(&["ext4", "fast"], &[&[100, 101, 102], &[1, 1, 1]]);
    for record in set.cells.iter_mut().filter(|one| one.cell.contender == 1) {
        let warning = Warning::new(WarningKind::NotDurable, "nothing was flushed", "");
        record.samples[0].warnings.push(warning);
    }
    let of = atlas(&[(1, &set)]);
    let answer = &of.answers(&[], &[]).answers[0].sizes[0];
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
    let answer = &of.answers(&[], &[]).answers[0].sizes[0];
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

    // Tests with faulty disks and power cuts count too.
    let mut tested = one.clone();
    let faults = &mut tested.faults.as_mut().unwrap().tests[0].faults;
    faults[0].outcome = FaultOutcome::Hang;
    let cuts = &mut tested.power.as_mut().unwrap().power_cuts;
    cuts[0].work.as_mut().unwrap()[0].lost_ns = Some(Nanos(9_000_000_000));
    let diff = AtlasDiff::of(&one, &tested);
    assert!(!diff.is_empty());
    let found = diff.tests.iter().map(|one| (&*one.test, one.differ));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [("faults/ext4", 1), ("power/xfs", 1)]
    );
    let text = String::from_utf8(render_atlas_diff(&diff, &Options::default())).unwrap();
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(
        words.join(" ").contains("of the last 9.00 s at worst"),
        "{text}"
    );
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
fn an_order_that_is_not_decided_does_not_depend_on_the_size() {
    let near = run(&["ext4", "xfs"], &[&[100, 130, 110], &[105, 100, 130]]);
    let swapped = run(&["xfs", "ext4"], &[&[100, 130, 110], &[105, 100, 130]]);
    let text = shown(&atlas(&[(1, &near), (4, &swapped)]), 80);
    let said = "fastest is ext4 or xfs, at all 2 sizes.";
    assert!(text.contains(said), "{text}");
    let far = run(&["ext4", "xfs"], &[&[300, 310, 305], &[105, 100, 110]]);
    let text = shown(&atlas(&[(1, &near), (4, &far)]), 80);
    let said = "nothing is faster than xfs at any of 2 sizes.";
    assert!(text.contains(said), "{text}");
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
    let digest = &lines[4][lines[4].find("\"digest\":\"").unwrap() + 10..][..16];
    let cell = lines[4];
    for (damaged, message) in [
        (String::new(), "the file is empty"),
        ("{}\n".to_owned(), "line 1: no head of an atlas"),
        (text.replacen("\"format\":1", "\"format\":2", 1), "format 2"),
        (without(0), "line 1"),
        (without(3), "line 4: a cell before any question"),
        (without(4), "a part of the file is missing"),
        (
            text.replacen(digest, "x", 1),
            "line 5: a measured cell without digest",
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
        (text.replacen(cell, &cell[..cell.len() / 2], 1), "line 5"),
        (format!("{text}{}\n", lines[3]), "a second question"),
        (format!("{text}{}\n", lines[1]), "a second list of tests"),
        (
            text.replacen("\"contender\":\"btrfs\"", "\"contender\":\"jfs\"", 1),
            "line 2: its tests with faulty disks are not those of its contenders",
        ),
        (
            format!("{text}{}\n", lines[2]),
            "a second list of power cuts",
        ),
        (
            text.replacen("\"number\":2", "\"number\":3", 1),
            "line 3: its power cuts are not those of its contenders",
        ),
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
        assert!(!atlas.answers(&[], &[]).answers.is_empty());
    }
}

/// The addresses of all links and files of a page.
fn addresses(page: &str) -> Vec<String> {
    let parts = ["href=\"", "src=\""].map(|name| page.split(name).skip(1));
    let all = parts.into_iter().flatten();
    all.map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

#[test]
fn each_link_of_a_site_leads_to_a_page_and_what_is_undecided_is_not_called_fastest() {
    // The names of contenders come from a file, which may have anything.
    let labels = ["ext4", "xfs:a<b>&\"c", "btrfs"];
    let (small, large) = (run(&labels, &SMALL), run(&labels, &LARGE));
    let atlas = atlas(&[(1, &small), (4, &large)]);
    let files = of_atlas::pages(&atlas, " --atlas a.jsonl", &Options::default()).unwrap();
    let path = |file: &File| match file.directory {
        Some(directory) => format!("{directory}/{}", file.name),
        None => file.name.clone(),
    };
    let paths: Vec<String> = files.iter().map(path).collect();
    assert_eq!(paths.last().unwrap(), "index.html");
    let mut links = 0;
    for file in files.iter().filter(|file| file.directory != Some("assets")) {
        let page = String::from_utf8(file.bytes.clone()).unwrap();
        assert!(!page.contains("a<b>"), "{}", file.name);
        for address in addresses(&page) {
            let (to, section) = address.split_once('#').unwrap_or((&address, ""));
            let whole = match (to, file.directory) {
                ("", _) => path(file),
                (to, None) => to.to_owned(),
                (to, Some(directory)) => match to.strip_prefix("../") {
                    Some(to) => to.to_owned(),
                    None => format!("{directory}/{to}"),
                },
            };
            let at = paths.iter().position(|path| *path == whole);
            let at = at.unwrap_or_else(|| panic!("{address} in {}", path(file)));
            let target = String::from_utf8_lossy(&files[at].bytes);
            assert!(
                section.is_empty() || target.contains(&format!("id=\"{section}\"")),
                "{address} in {}",
                path(file)
            );
            links += 1;
        }
    }
    assert!(links > 50, "{links}");
    let page = |name: &str| {
        let at = paths.iter().position(|path| path == name).unwrap();
        String::from_utf8_lossy(&files[at].bytes).into_owned()
    };
    let question = page("questions/mail-nvme-4.html");
    assert!(
        question.contains("fsdyno atlas verify mail/nvme/4 --atlas a.jsonl"),
        "{question}"
    );
    assert!(!question.contains("--resume"), "{question}");
    // ext4 and btrfs are level at size 1, far apart from xfs.
    let ext4 = page("filesystems/ext4.html");
    assert!(!ext4.contains(": fastest in 1"), "{ext4}");
    assert!(
        ext4.contains("not decided") || ext4.contains("equivalent"),
        "{ext4}"
    );
    assert!(page("filesystems/xfs-a-b---c.html").contains(": fastest in 1"));
}

#[test]
fn the_picture_marks_what_is_not_decided() {
    let labels = ["ext4", "xfs", "btrfs"];
    let small = run(&labels, &SMALL);
    let chart = atlas(&[(1, &small)]).answers(&[], &[]).chart();
    let rows = &chart.panels[0].rows;
    let values: Vec<&str> = rows.iter().map(|row| row.value.as_str()).collect();
    // In the order of the contenders, the fastest first.
    assert_eq!(chart.contenders, ["ext4", "btrfs", "xfs"]);
    assert_eq!(values[0], "1×");
    assert!(
        values[1].starts_with("? ") || values[1].starts_with("≈ "),
        "{values:?}"
    );
    assert_eq!(values[2], "3.01×");
    assert_eq!(rows[0].group, "mail");
}
