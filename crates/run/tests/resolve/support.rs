//! Helpers of these tests: settings, and the parts of plans that the tests compare.

use fsdyno_model::{Form, Given, Needs, Parameter, Plan};
use fsdyno_run::RunOptions;
use fsdyno_run::resolve::{Catalogue, DatasetEntry, DatasetForm, KindEntry, resolve};
use std::path::PathBuf;

/// A catalogue with the names of the `load` crate.
pub fn catalogue() -> Catalogue {
    let kind = |name: &'static str, needs| KindEntry {
        name,
        needs,
        makes_tree: matches!(name, "copy" | "untar"),
        removes_tree: name == "delete",
        searches: name == "grep",
        program: matches!(name, "exec" | "press" | "stress" | "bonnie++"),
        passes_on: name == "stress",
        no_defaults_with: if name == "stress" { &["file"] } else { &[] },
        parameters: match name {
            "exec" => EXEC,
            "press" | "stress" => PRESS,
            "bonnie++" => PACKAGED_BONNIE,
            "bonnie-create" | "bonnie-stat" | "bonnie-delete" => BONNIE_FILES,
            name if name.starts_with("bonnie-") => BONNIE_FILE,
            name if name.starts_with("mongo-") => MONGO,
            "op-random-write" => RANDOM_WRITES,
            _ => &[],
        },
    };
    let on_trees = ["copy", "delete", "read", "stat-walk", "grep"];
    let alone = [
        "bonnie-char-write",
        "bonnie-write",
        "bonnie-rewrite",
        "bonnie-char-read",
        "bonnie-read",
        "bonnie-seeks",
        "bonnie-create",
        "bonnie-stat",
        "bonnie-delete",
        "mongo-create",
        "mongo-copy",
        "mongo-symlinks",
        "mongo-read",
        "mongo-stats",
        "mongo-rename",
        "mongo-delete",
        "mail-deliver",
        "mail-read",
        "mail-expunge",
        "web-publish",
        "web-serve",
        "photos-import",
        "photos-thumbnails",
        "photos-view",
        "photos-delete",
        "build-checkout",
        "build-compile",
        "build-link",
        "build-check",
        "build-clean",
        "database-load",
        "database-commit",
        "op-random-write",
        "containers-pull",
        "containers-start",
        "containers-remove",
        "exec",
        "press",
        "stress",
        "bonnie++",
    ];
    let datasets = [
        ("portage", DatasetForm::Tree),
        ("portage-in-use", DatasetForm::Tree),
        ("ports", DatasetForm::Archive),
        ("music", DatasetForm::Tree),
        ("iso", DatasetForm::File),
        ("avi", DatasetForm::File),
        ("avi-693", DatasetForm::File),
        ("mixed", DatasetForm::Tree),
        ("all", DatasetForm::Tree),
        ("none", DatasetForm::Nothing),
    ];
    Catalogue {
        kinds: (on_trees.map(|name| kind(name, Needs::Tree)).into_iter())
            .chain([kind("untar", Needs::Archive)])
            .chain(alone.map(|name| kind(name, Needs::Nothing)))
            .collect(),
        engines: vec!["sync", "tools", "null"],
        datasets: datasets
            .map(|(name, form)| DatasetEntry { name, form })
            .to_vec(),
        lacking: Vec::new(),
        guests: true,
        kernel: None,
    }
}

const fn parameter(name: &'static str, form: Form, given: Given) -> Parameter {
    Parameter {
        name,
        about: "",
        form,
        given,
    }
}

const EXEC: &[Parameter] = &[
    parameter("command", Form::Text, Given::Required),
    parameter("prepare", Form::Text, Given::Absent),
];

const PRESS: &[Parameter] = &[
    parameter("size", Form::Size, Given::Scaled(1 << 30, 1 << 20)),
    parameter("jobs", Form::Number(1, 99), Given::Fixed("4")),
    parameter("file", Form::File, Given::Absent),
];

const PACKAGED_BONNIE: &[Parameter] = &[
    parameter("size", Form::Size, Given::Scaled(1 << 30, 16 << 20)),
    parameter(
        "part",
        Form::OneOf(&["all", "chunks", "files"]),
        Given::Fixed("all"),
    ),
    parameter("files", Form::Number(1, 100_000), Given::Fixed("16")),
];

const MONGO: &[Parameter] = &[
    parameter("bytes", Form::Size, Given::Scaled(50 << 20, 1 << 10)),
    parameter("median", Form::SizeWithin(1, 1 << 30), Given::Fixed("100")),
    parameter("processes", Form::Number(1, 1 << 30), Given::Fixed("1")),
    parameter("rounds", Form::Number(1, 1 << 30), Given::Fixed("3")),
];

const RANDOM_WRITES: &[Parameter] = &[
    parameter("size", Form::Size, Given::Scaled(1 << 30, 1 << 20)),
    parameter(
        "operations",
        Form::Number(1, 1 << 40),
        Given::Scaled(65_536, 1),
    ),
    parameter("reads", Form::Number(0, 99), Given::Absent),
    parameter(
        "fsync",
        Form::OneOfOrNumber(&["no", "each", "end"], 1, 99),
        Given::Absent,
    ),
    parameter("dsync", Form::OneOf(&["no", "yes"]), Given::Absent),
    parameter("workers", Form::Number(1, 256), Given::Fixed("1")),
    parameter(
        "place",
        Form::OneOf(&["private", "shared"]),
        Given::Fixed("private"),
    ),
];

const DATA: Parameter = parameter(
    "data",
    Form::OneOf(&["random", "like-original"]),
    Given::Fixed("random"),
);

const BONNIE_FILE: &[Parameter] = &[
    parameter("size", Form::Size, Given::Scaled(1 << 30, 1 << 20)),
    parameter("chars", Form::Size, Given::Scaled(1 << 30, 1 << 20)),
    DATA,
];

const BONNIE_FILES: &[Parameter] = &[
    parameter("files", Form::Number(1, 1 << 24), Given::Scaled(16_384, 1)),
    parameter("max", Form::Number(0, 1 << 30), Given::Fixed("0")),
    parameter(
        "fsync",
        Form::OneOfOrNumber(&["each", "end"], 1, 99),
        Given::Absent,
    ),
    parameter("directories", Form::Number(0, 1 << 30), Given::Fixed("1")),
    parameter(
        "order",
        Form::OneOf(&["sequential", "random"]),
        Given::Fixed("sequential"),
    ),
    DATA,
];

/// The settings with a change applied to empty settings.
pub fn request(change: impl FnOnce(&mut RunOptions)) -> RunOptions {
    let mut request = RunOptions::default();
    change(&mut request);
    request
}

pub fn plan(request: &RunOptions) -> Plan {
    resolve(request, &catalogue()).unwrap_or_else(|e| panic!("{request:?}: {e}"))
}

/// The error of wrong settings.
pub fn error_of(request: &RunOptions) -> String {
    match resolve(request, &catalogue()) {
        Ok(plan) => panic!("{request:?} gave {plan:?}"),
        Err(error) => error.to_string(),
    }
}

/// The contenders in short form.
pub fn labels(plan: &Plan) -> Vec<&str> {
    plan.contenders.iter().map(|c| c.label.as_str()).collect()
}

/// The workloads as `NAME=DATASET: LABEL, LABEL`.
pub fn work(plan: &Plan) -> Vec<String> {
    plan.workloads
        .iter()
        .map(|w| {
            let labels: Vec<_> = w.phases.iter().map(|p| p.label.as_str()).collect();
            format!("{}={}: {}", w.name, w.dataset, labels.join(", "))
        })
        .collect()
}

/// Writes a plan file to a new directory.
pub fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}
