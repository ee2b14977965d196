//! One figure of each contender: it is printed in brackets and grey, and no format names a fastest.

use crate::fixture;
use crate::{text, wide};
use fsdyno_model::{DiskTime, ModelDisk, ResultSet, Vary};
use fsdyno_report::{Format, Options};

/// Two phases of four contenders, once, in virtual time.
fn one_draw() -> ResultSet {
    let mut set = fixture::single();
    set.run.plan.disk = Some(ModelDisk {
        profile: "any".into(),
        text: String::new(),
        faults: None,
        time: DiskTime::Virtual,
    });
    set.run.plan.varies = Vary::ALL.to_vec();
    (set.run.plan.repeats, set.run.plan.adaptive) = (1, None);
    set
}

/// The same figures in several equal blocks.
fn equal_blocks() -> ResultSet {
    let mut set = one_draw();
    set.run.plan.varies = Vec::new();
    set.run.plan.repeats = 9;
    let first = set.cells.clone();
    let count = u32::try_from(first.len()).unwrap();
    for block in 1..9 {
        set.cells.extend(first.iter().cloned().map(|mut record| {
            record.cell.block = block;
            record.cell.index += block * count;
            record
        }));
    }
    set
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn no_format_concludes_from_one_draw() {
    for set in [one_draw(), equal_blocks()] {
        let colour = Options {
            color: true,
            ..wide(120)
        };
        let screen = text(&set, Format::Terminal, &colour);
        let markdown = text(&set, Format::Markdown, &wide(80));
        let page = text(&set, Format::Html, &wide(80));
        for text in [&screen, &markdown, &page] {
            let text = words(text);
            assert!(text.contains("One draw decides nothing"), "{text}");
            for word in [
                "is fastest",
                "equally fast",
                "Of these verdicts",
                "are not separated",
            ] {
                assert!(!text.contains(word), "{word}: {text}");
            }
        }
        // The colour and the star of the best.
        assert!(
            !screen.contains("\x1b[1;32m") && !screen.contains('*'),
            "{screen}"
        );
        assert!(screen.contains("\x1b[2m"), "{screen}");
        let of_figures = page.split_once("<body").unwrap().1;
        for class in ["verdict faster", "verdict slower", "num best", "\u{2605}"] {
            assert!(!of_figures.contains(class), "{class}: {page}");
        }
        assert!(
            !markdown.contains(") **") && !markdown.contains("| **"),
            "{markdown}"
        );
        let json = text(&set, Format::Json, &wide(80));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let results = &json["results"][0];
        let overall = &results["overall"];
        assert!(overall["fastest"].is_null(), "{overall}");
        let of_line = |line: &serde_json::Value| line["contenders"].as_array().unwrap().clone();
        let phases = results["phases"].as_array().unwrap();
        let lines = phases.iter().chain([overall]).flat_map(of_line);
        assert!(lines.clone().count() > 4);
        for contender in lines {
            assert!(contender["verdict"].is_null(), "{contender}");
        }
        assert!(phases.iter().all(|line| line["fastest"].is_null()));
    }
}

#[test]
fn one_draw_is_in_brackets_with_the_command_that_decides() {
    let set = one_draw();
    insta::assert_snapshot!("screen", text(&set, Format::Terminal, &wide(80)));
    insta::assert_snapshot!("markdown", text(&set, Format::Markdown, &wide(80)));
    let answer = words(&text(&set, Format::Terminal, &wide(80)));
    assert!(answer.contains("--repeats 6"), "{answer}");
    // More blocks of a plan that varies nothing are the same draw.
    let answer = words(&text(&equal_blocks(), Format::Terminal, &wide(80)));
    assert!(answer.contains("again without --vary none"), "{answer}");
    // In real time it is a repeat.
    let mut real = one_draw();
    (real.run.plan.disk, real.run.plan.varies) = (None, Vec::new());
    let answer = words(&text(&real, Format::Terminal, &wide(80)));
    assert!(answer.contains("One repeat decides nothing"), "{answer}");
}
