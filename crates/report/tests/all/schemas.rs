//! What is printed as JSON, held against the schemas that are published for it.

use crate::fixture::{self, empty, many, mixed_labs, repeated, single};
use crate::{text, wide};
use fsdyno_model::{
    CacheLoss, Contender, Judgement, Loss, ModelDisk, Nanos, PowerCut, Recovery, ResultSet, Series,
    SeriesInfo, Vary,
};
use fsdyno_report::compare::{RunComparison, check};
use fsdyno_report::formats::compare;
use fsdyno_report::why::Why;
use fsdyno_report::{Format, render_why, schemas};
use serde_json::{Value, json};

/// What is wrong with a value, as the schema of that name says; each of its properties must stand
/// there as well.
fn wrong(name: &str, value: &Value) -> Vec<String> {
    let text = schemas::find(name).unwrap().text;
    let mut schema: Value = serde_json::from_str(text).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(value);
    let told = errors.map(|e| format!("{name}{}: {e}", e.instance_path()));
    told.map(|text| text.chars().take(400).collect()).collect()
}

/// Published schemas are open; a property that is missing in one is seen by closing it.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(close);
            // An object that is described, and no list of properties that has one called `type`.
            if map.get("type") == Some(&json!("object")) && map.contains_key("properties") {
                map.insert("additionalProperties".to_owned(), json!(false));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(close),
        _ => {}
    }
}

fn of_run(set: &ResultSet) -> Value {
    serde_json::from_str(&text(set, Format::Json, &wide(80))).unwrap()
}

const NOTHING: Vec<String> = Vec::new();

#[test]
fn every_run_is_what_its_schema_says_to_the_last_property() {
    let mut varied = fixture::run();
    varied.run.plan.vary = Some(Vary::DatasetSeed);
    varied.run.plan.cell_budget = Some(Nanos(1));
    let content = fsdyno_model::DatasetContent {
        files: 1,
        directories: 0,
        bytes: fsdyno_model::Bytes(10),
        sha256: "0".repeat(64),
    };
    varied.run.plan.skipped = vec![fixture::skipped_delete()];
    let contents = &mut varied.run.plan.contents;
    contents.insert("tar:/a".into(), content);
    varied.run.plan.disk = Some(ModelDisk {
        profile: "any".into(),
        text: String::new(),
        faults: Some(String::new()),
        time: fsdyno_model::DiskTime::Real,
    });
    for set in [
        fixture::run(),
        many(),
        repeated(),
        single(),
        empty(),
        mixed_labs(),
        varied,
    ] {
        assert_eq!(wrong("report", &of_run(&set)), NOTHING);
    }
}

#[test]
fn what_is_no_run_is_seen() {
    let good = of_run(&fixture::run());
    let damages: [fn(&mut Value); 5] = [
        |run| run["schema"] = json!(1),
        |run| run["run"]["id"] = json!(7),
        |run| drop(run["run"]["plan"].as_object_mut().unwrap().remove("seed")),
        |run| run["cells"][0]["outcome"]["outcome"] = json!("perhaps"),
        |run| run["cells"][0]["samples"][0]["of_another_kind"] = json!(1),
    ];
    for damage in damages {
        let mut bad = good.clone();
        damage(&mut bad);
        assert_ne!(wrong("report", &bad), NOTHING);
    }
}

#[test]
fn why_and_compare_print_what_their_schemas_say() {
    let mut set = fixture::run();
    let labels: Vec<String> = set
        .run
        .plan
        .contenders
        .iter()
        .map(|c| c.label.clone())
        .collect();
    let why = Why::of(&set, [&labels[0], &labels[1]], None, &|_, _| None).unwrap();
    let json = render_why(&why, Format::Json, &wide(80)).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(wrong("why", &json), NOTHING);
    let was = set.clone();
    set.run.id = "another".into();
    set.run.plan.seed += 1;
    let beside = RunComparison::of(&was, &set, 0.02);
    let thresholds = ["*.return > 0.9", "*.durable > 1.5"].map(|t| t.parse().unwrap());
    let checked = check(&beside, &thresholds).unwrap();
    let told = checked.iter().map(compare::threshold).collect();
    let mut beside = beside.clone();
    beside.differences = fsdyno_report::compare::differences(&was, &set);
    assert!(!beside.differences.is_empty() && !beside.lines.is_empty());
    assert_eq!(wrong("compare", &compare::json(&[(beside, told)])), NOTHING);
}

#[test]
fn cuts_are_what_their_schemas_say() {
    let judgement = Judgement {
        files: 3,
        lost: [(Loss::Missing, 1)].into(),
        messages: vec!["a: missing".into()],
    };
    let cut = PowerCut {
        contender: "ext4".into(),
        number: 1,
        seed: 1,
        guest: "Linux".into(),
        after_ns: Nanos(1),
        acknowledged: 2,
        disk: Some(CacheLoss::default()),
        recovery: Recovery {
            judgement: Some(judgement),
            clean: Some(false),
            ..Recovery::default()
        },
        images: vec!["/somewhere".into()],
    };
    let whole = PowerCut {
        disk: None,
        recovery: Recovery::default(),
        ..cut.clone()
    };
    let cuts = vec![cut, whole];
    assert_eq!(
        wrong("crash", &serde_json::to_value(&cuts).unwrap()),
        NOTHING
    );
    let run = fixture::run().run;
    let series = Series {
        schema: Series::SCHEMA,
        info: SeriesInfo {
            id: "cuts".into(),
            started_unix_ns: 1,
            ended_unix_ns: None,
            stop: None,
            contenders: vec![Contender::plain("ext4")],
            cuts_planned: 2,
            seed: 1,
            guest: fsdyno_model::GuestSize::default(),
            disk: None,
            work_dir: "/somewhere".into(),
            provenance: run.provenance,
            command_line: run.command_line,
        },
        cuts,
    };
    assert_eq!(
        wrong("series", &serde_json::to_value(&series).unwrap()),
        NOTHING
    );
}
