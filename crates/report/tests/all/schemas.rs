//! Printed JSON is valid by its schema, and a published schema stays compatible.

use crate::fixture::{self, empty, many, mixed_labs, repeated, single};
use crate::{text, wide};
use fsdyno_model::{
    CacheLoss, Contender, FormerVary, Judgement, Loss, ModelDisk, Nanos, PowerCut, Recovery,
    ResultSet, Series, SeriesInfo, Vary,
};
use fsdyno_report::compare::{Comparisons, RunComparison, check};
use fsdyno_report::why::Why;
use fsdyno_report::{Format, render_advice, render_why, schemas};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The violations of the schema of that name, including properties that it does not list.
fn violations(name: &str, value: &Value) -> Vec<String> {
    let text = schemas::find(name).unwrap().text();
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    jsonschema::meta::validate(&schema).unwrap();
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors = validator.iter_errors(value);
    let lines = errors.map(|e| format!("{name}{}: {e}", e.instance_path()));
    lines.map(|text| text.chars().take(400).collect()).collect()
}

/// Forbids properties that an open schema does not list.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.values_mut().for_each(close);
            // A described object. A list of properties may contain one with the name `type`.
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

fn to_value(printed: &impl serde::Serialize) -> Value {
    serde_json::to_value(printed).unwrap()
}

const NONE: Vec<String> = Vec::new();

#[test]
fn every_property_of_a_printed_run_is_in_its_schema() {
    let mut varied = fixture::run();
    varied.run.plan.varies = Vary::ALL.to_vec();
    varied.run.plan.vary = Some(FormerVary::DatasetSeed);
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
        assert_eq!(violations("report", &of_run(&set)), NONE);
    }
}

#[test]
fn a_damaged_run_violates_the_schema() {
    let good = of_run(&fixture::run());
    let damages: [fn(&mut Value); 5] = [
        |run| run["schema"] = json!(6),
        |run| run["run"]["id"] = json!(7),
        |run| drop(run["run"]["plan"].as_object_mut().unwrap().remove("seed")),
        |run| run["cells"][0]["outcome"]["outcome"] = json!("perhaps"),
        |run| run["cells"][0]["samples"][0]["of_another_kind"] = json!(1),
    ];
    for damage in damages {
        let mut bad = good.clone();
        damage(&mut bad);
        assert_ne!(violations("report", &bad), NONE);
    }
}

#[test]
fn why_and_compare_are_valid_by_their_schemas() {
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
    assert_eq!(violations("why", &json), NONE);
    let was = set.clone();
    set.run.id = "another".into();
    set.run.plan.seed += 1;
    let comparison = RunComparison::of(&was, &set, 0.02, &[]);
    let thresholds = ["*.return > 0.9", "*.durable > 1.5"].map(|t| t.parse().unwrap());
    let checked = check(&comparison, &thresholds).unwrap();
    let checked = checked.iter().map(Into::into).collect();
    let mut comparison = comparison.clone();
    comparison.differences = fsdyno_report::compare::differences(&was, &set);
    assert!(!comparison.differences.is_empty() && !comparison.lines.is_empty());
    assert_eq!(
        violations(
            "compare",
            &to_value(&Comparisons::of(&[(comparison, checked)]))
        ),
        NONE
    );
}

#[test]
fn crash_tests_are_valid_by_their_schemas() {
    let judgement = Judgement {
        files: 3,
        lost: [(Loss::Missing, 1)].into(),
        messages: vec!["a: missing".into()],
    };
    let power_cut = PowerCut {
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
        work: None,
        images: vec!["/somewhere".into()],
    };
    let whole = PowerCut {
        disk: None,
        recovery: Recovery::default(),
        ..power_cut.clone()
    };
    let power_cuts = vec![power_cut, whole];
    assert_eq!(violations("crash", &to_value(&power_cuts)), NONE);
    let run = fixture::run().run;
    let series = Series {
        schema: Series::SCHEMA,
        info: SeriesInfo {
            id: "cuts".into(),
            started_unix_ns: 1,
            ended_unix_ns: None,
            stop: None,
            contenders: vec![Contender::plain("ext4")],
            power_cuts_planned: 2,
            shard: None,
            seed: 1,
            guest: fsdyno_model::GuestSize::default(),
            disk: None,
            activities: None,
            work_dir: "/somewhere".into(),
            provenance: run.provenance,
            command_line: run.command_line,
        },
        power_cuts,
    };
    assert_eq!(violations("series", &to_value(&series)), NONE);
}

#[test]
fn an_exploration_is_valid_by_its_schema() {
    let exploration = crate::explored::exploration();
    assert_eq!(violations("exploration", &to_value(&exploration)), NONE);
}

#[test]
fn faults_of_disks_are_valid_by_their_schema() {
    let tests = crate::disk_faults::tests();
    assert_eq!(violations("lose", &to_value(&tests)), NONE);
}

#[test]
fn advice_is_valid_by_its_schema() {
    let advice = crate::advice::complete();
    let json = render_advice(&advice, Format::Json, &wide(80)).unwrap();
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(violations("advice", &json), NONE);
    assert!(json["validation"]["pairs"][0]["departure"].is_object());
    assert!(json["choice"]["runner_up"]["turn"].is_object());
}

/// The file with the properties of the published schema of that name.
fn published(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/all/published/{name}.txt"))
}

/// The lines of a schema: every path with its types and constants. `?` marks a property that may be
/// absent, `[]` the elements of an array, `{}` the values of a map. Type names are omitted.
fn lines(schema: &Value) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    describe("", schema, &schema["$defs"], &mut lines);
    lines
}

fn describe(place: &str, schema: &Value, types: &Value, lines: &mut BTreeSet<String>) {
    let list = |key: &str| schema[key].as_array().into_iter().flatten();
    let mut line = |text: &str| {
        lines.insert(format!("{place}: {text}"));
    };
    if schema["const"] != Value::Null {
        return line(&schema["const"].to_string());
    }
    if schema["enum"].is_array() {
        return list("enum").for_each(|value| line(&value.to_string()));
    }
    let named = [&schema["type"]].into_iter().chain(list("type"));
    for name in named.filter_map(Value::as_str) {
        if !["object", "array"].contains(&name) {
            line(name);
        }
    }
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        describe(place, &types[name], types, lines);
    }
    let required: Vec<&str> = list("required").filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let mark = if required.contains(&name.as_str()) {
            ""
        } else {
            "?"
        };
        describe(&format!("{place}.{name}{mark}"), property, types, lines);
    }
    for variant in list("oneOf").chain(list("anyOf")) {
        let properties = variant["properties"].as_object().into_iter().flatten();
        let mut tags = properties.filter_map(|(_, one)| one["const"].as_str());
        let tag = tags
            .next()
            .map(|tag| format!("({tag})"))
            .unwrap_or_default();
        describe(&format!("{place}{tag}"), variant, types, lines);
    }
    for (index, part) in list("prefixItems").enumerate() {
        describe(&format!("{place}[{index}]"), part, types, lines);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[key].is_object() {
            describe(&format!("{place}{mark}"), &schema[key], types, lines);
        }
    }
}

/// Whether a line of a later version is compatible with an earlier one. A property that could be
/// absent may become one that is always present.
fn keeps(earlier: &str, later: &str) -> bool {
    let mut rest = later.chars().peekable();
    let same = earlier
        .chars()
        .all(|c| rest.next_if_eq(&c).is_some() || c == '?');
    same && rest.next().is_none()
}

#[test]
fn published_schemas_stay_compatible() {
    let update = std::env::var_os("FSDYNO_UPDATE_SCHEMAS").is_some();
    for schema in schemas::ALL {
        let (name, path) = (schema.name, published(schema.name));
        let now = lines(&schema.value());
        let text = fs::read_to_string(&path).unwrap_or_default();
        let then: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        let is_version = |line: &&String| line.starts_with(".schema: ");
        let raised = then.iter().find(is_version) != now.iter().find(is_version);
        let kept = |line: &str| now.contains(line) || now.iter().any(|one| keeps(line, one));
        let lost: Vec<&String> = then.iter().filter(|line| !kept(line)).collect();
        assert!(
            lost.is_empty() || raised,
            "the schema `{name}` has lost what its readers rely on: {lost:#?}\n\
             Keep it (a serde rename, a field that is printed as before), or raise the number \
             SCHEMA of the printed type and name the change in CHANGELOG.md. Power cuts have no \
             number: there, delete the list and record it again"
        );
        if now != then && update {
            let text = Vec::from_iter(now).join("\n") + "\n";
            fs::write(&path, text).unwrap();
            continue;
        }
        let added: Vec<&String> = now.difference(&then).collect();
        assert!(
            now == then,
            "the schema `{name}` has new lines: {added:#?}\n\
             Record them: FSDYNO_UPDATE_SCHEMAS=1 cargo test -p fsdyno-report --test all schemas"
        );
    }
}

#[test]
fn a_run_still_has_every_property_of_version_2() {
    let now = lines(&schemas::find("report").unwrap().value());
    let then = include_str!("published/report-2.txt").lines();
    let lost = then.filter(|line| !line.starts_with(".schema: "));
    let lost: Vec<&str> = lost.filter(|line| !now.contains(*line)).collect();
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn results_have_names_next_to_the_raw_samples() {
    let json = of_run(&repeated());
    let results = &json["results"][0];
    assert_eq!(results["baseline"], "ext4");
    let answer = results["answer"].as_str().unwrap();
    assert!(
        answer.starts_with("For this work xfs is fastest"),
        "{answer}"
    );
    assert_eq!(results["overall"]["fastest"], "xfs");
    let phase = &results["phases"][1];
    assert_eq!(phase["phase"], "copy");
    assert_eq!(
        (&phase["figure"], &phase["whole"]),
        (&json!("durable"), &json!(true))
    );
    assert_eq!(phase["fastest"], "xfs");
    let xfs = &phase["contenders"][1];
    assert_eq!(
        (&xfs["contender"], &xfs["verdict"]),
        (&json!("xfs"), &json!("faster"))
    );
    let interval = |end: &str| xfs["interval"][end].as_f64().unwrap();
    let ratio = xfs["ratio"].as_f64().unwrap();
    assert!(interval("low") <= ratio && ratio <= interval("high") && ratio < 0.5);
    assert!(xfs["median"].is_f64() && !json["cells"].as_array().unwrap().is_empty());
}

#[test]
fn a_removed_property_breaks_compatibility_and_a_required_one_does_not() {
    assert!(keeps(".run.stop?: string", ".run.stop: string"));
    assert!(!keeps(".run.stop: string", ".run.stop?: string"));
    assert!(!keeps(".run.stop?: string", ".run.stop: integer"));
    assert!(!keeps(".run.stop?: string", ".run.stopped: string"));
}
