//! A run with variants of its model: reports state whether the answer and the verdicts hold in all.

use crate::fixture;
use crate::{text, wide};
use fsdyno_model::{DiskTime, ModelDisk, Nanos, ResultSet, VariantOf, Vary};
use fsdyno_report::{Format, Options};

const DRAWS: usize = 8;

/// A run in virtual time: ext4 takes 100 ms and xfs 140, with the scatter of the draws.
fn run(times: [u64; 2], draws: usize) -> ResultSet {
    let draw = |middle: u64| -> Vec<u64> {
        (0..draws as u64)
            .map(|n| middle * (1000 + 7 * n) / 100)
            .collect()
    };
    let [one, other] = times.map(draw);
    let mut set = fixture::one_phase(&["ext4", "xfs"], &[&one, &other]);
    set.run.plan.disk = Some(ModelDisk {
        profile: "any".into(),
        text: String::new(),
        faults: None,
        time: DiskTime::Virtual,
    });
    set.run.plan.varies = Vary::ALL.to_vec();
    set.run.plan.robust = true;
    set
}

/// The run with variants, each with its change and the times in it. A variant has three draws.
fn varied(variants: &[(&str, [u64; 2])], all: u32) -> ResultSet {
    let mut set = run([100, 140], DRAWS);
    for (change, times) in variants {
        let mut variant = run(*times, 3);
        variant.run.id = format!("variant-{change}").replace(' ', "-");
        variant.run.plan.robust = false;
        variant.run.plan.variant = Some(VariantOf {
            run: set.run.id.clone(),
            change: (*change).to_owned(),
            all,
        });
        set.variants.push(variant);
    }
    set
}

fn words(set: &ResultSet, format: Format) -> String {
    let text = text(set, format, &wide(100));
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first_screen(set: &ResultSet) -> String {
    let text = text(set, Format::Terminal, &Options::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_answer_that_holds_in_all_variants_is_said_to_hold() {
    let set = varied(
        &[
            ("seeks 20 % slower", [120, 150]),
            ("seeks 20 % faster", [80, 130]),
        ],
        2,
    );
    let screen = first_screen(&set);
    assert!(
        screen.contains("The answer holds in all 2 variants of the model disk and processor."),
        "{screen}"
    );
    assert!(!screen.contains('^'), "{screen}");
    // Only one of four is measured.
    let set = varied(&[("seeks 20 % slower", [120, 150])], 4);
    let screen = first_screen(&set);
    assert!(
        screen.contains("holds in the 1 measured of 4 variants"),
        "{screen}"
    );
}

#[test]
fn a_verdict_that_a_variant_contradicts_is_named_and_marked_in_every_format() {
    let set = varied(
        &[
            ("flushes 2.5 times slower", [300, 150]),
            ("flushes 4 times faster", [90, 139]),
            ("processor 15 % slower", [141, 140]),
        ],
        3,
    );
    let screen = first_screen(&set);
    for expected in [
        "The answer depends on the model: xfs is fastest with flushes 2.5 times slower; ext4 and xfs \
         are equally fast with processor 15 % slower.",
        "^ depends on the model",
    ] {
        assert!(screen.contains(expected), "{screen}");
    }
    for format in [Format::Html, Format::Markdown, Format::Terminal] {
        let all = words(&set, format);
        assert!(all.contains("depends on the model"), "{all}");
        assert!(all.contains("Variants of the model"), "{all}");
        assert!(all.contains("flushes 4 times faster"), "{all}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&text(&set, Format::Json, &wide(80))).unwrap();
    let robustness = &json["results"][0]["robustness"];
    assert_eq!(robustness["answer_holds"], false);
    let [slower, faster, ..] = robustness["variants"].as_array().unwrap().as_slice() else {
        panic!("{robustness}");
    };
    assert_eq!(slower["fastest"][0], "xfs");
    assert_eq!(slower["changed"][0]["contender"], "xfs");
    assert_eq!(slower["changed"][0]["compared_with"], "ext4");
    assert_eq!(faster["changed"].as_array().unwrap().len(), 0);
}

#[test]
fn the_change_is_that_of_the_common_draws_and_not_their_scatter() {
    // In the first three draws ext4 is slower by chance, in the variant as in the run.
    let mut set = varied(&[("seeks 20 % slower", [100, 140])], 1);
    let chance = |set: &mut ResultSet| {
        for record in &mut set.cells {
            if record.cell.block < 3 && record.cell.contender == 0 {
                let sample = &mut record.samples[0];
                sample.durable_ns = sample.durable_ns.map(|time| Nanos(2 * time.0));
            }
        }
    };
    let mut variants = std::mem::take(&mut set.variants);
    chance(&mut set);
    variants.iter_mut().for_each(chance);
    set.variants = variants;
    let robustness = words(&set, Format::Json);
    assert!(robustness.contains("\"changed\": []"), "{robustness}");
}

#[test]
fn the_report_of_a_variant_begins_with_its_run() {
    let set = varied(&[("seeks 20 % slower", [120, 150])], 1);
    let screen = first_screen(&set.variants[0]);
    let first = format!(
        "This run varies {} by the known error of its model: seeks 20 % slower.",
        set.run.id
    );
    assert!(screen.contains(&first), "{screen}");
}
