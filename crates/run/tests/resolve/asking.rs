//! Asking for a plan, and reading the answer.

use fsdyno_model::Plan;
use fsdyno_run::resolve::{
    Catalogue, DatasetEntry, DatasetForm, KindEntry, Needs, ParameterEntry, ParameterForm,
    ParameterGiven, Request, resolve,
};
use std::path::PathBuf;

/// The names of the load.
pub fn catalogue() -> Catalogue {
    let kind = |name: &str, needs, makes_tree, removes_tree| KindEntry {
        name: name.to_owned(),
        needs,
        makes_tree,
        removes_tree,
        searches: name == "grep",
        program: needs == Needs::Nothing
            && !name.starts_with("bonnie-")
            && !name.starts_with("mongo-"),
        parameters: match name {
            "exec" => vec![
                parameter("command", ParameterForm::Text, ParameterGiven::Required),
                parameter("prepare", ParameterForm::Text, ParameterGiven::Absent),
            ],
            "press" => vec![
                parameter(
                    "size",
                    ParameterForm::Size,
                    ParameterGiven::Scaled(1 << 30, 1 << 20),
                ),
                parameter(
                    "jobs",
                    ParameterForm::Number(1, 99),
                    ParameterGiven::Fixed("4".into()),
                ),
                parameter("file", ParameterForm::File, ParameterGiven::Absent),
            ],
            "bonnie++" => of_the_packaged_bonnie(),
            "bonnie-create" | "bonnie-stat" | "bonnie-delete" => of_many_files(),
            name if name.starts_with("bonnie-") => of_one_file(),
            name if name.starts_with("mongo-") => of_trees(),
            _ => Vec::new(),
        },
    };
    let dataset = |name: &str, form| DatasetEntry {
        name: name.to_owned(),
        form,
    };
    Catalogue {
        kinds: vec![
            kind("copy", Needs::Tree, true, false),
            kind("delete", Needs::Tree, false, true),
            kind("untar", Needs::Archive, true, false),
            kind("read", Needs::Tree, false, false),
            kind("stat-walk", Needs::Tree, false, false),
            kind("grep", Needs::Tree, false, false),
            kind("bonnie-char-write", Needs::Nothing, false, false),
            kind("bonnie-write", Needs::Nothing, false, false),
            kind("bonnie-rewrite", Needs::Nothing, false, false),
            kind("bonnie-char-read", Needs::Nothing, false, false),
            kind("bonnie-read", Needs::Nothing, false, false),
            kind("bonnie-seeks", Needs::Nothing, false, false),
            kind("bonnie-create", Needs::Nothing, false, false),
            kind("bonnie-stat", Needs::Nothing, false, false),
            kind("bonnie-delete", Needs::Nothing, false, false),
            kind("mongo-create", Needs::Nothing, false, false),
            kind("mongo-copy", Needs::Nothing, false, false),
            kind("mongo-symlinks", Needs::Nothing, false, false),
            kind("mongo-read", Needs::Nothing, false, false),
            kind("mongo-stats", Needs::Nothing, false, false),
            kind("mongo-rename", Needs::Nothing, false, false),
            kind("mongo-delete", Needs::Nothing, false, false),
            kind("exec", Needs::Nothing, false, false),
            kind("press", Needs::Nothing, false, false),
            kind("bonnie++", Needs::Nothing, false, false),
        ],
        engines: ["sync", "tools", "null"].map(str::to_owned).to_vec(),
        datasets: vec![
            dataset("portage", DatasetForm::Tree),
            dataset("portage-in-use", DatasetForm::Tree),
            dataset("ports", DatasetForm::Archive),
            dataset("music", DatasetForm::Tree),
            dataset("iso", DatasetForm::File),
            dataset("avi", DatasetForm::File),
            dataset("avi-693", DatasetForm::File),
            dataset("mixed", DatasetForm::Tree),
            dataset("all", DatasetForm::Tree),
            dataset("none", DatasetForm::Nothing),
        ],
        lacking: Vec::new(),
        guests: true,
        kernel: None,
    }
}

/// What the program bonnie++ takes.
fn of_the_packaged_bonnie() -> Vec<ParameterEntry> {
    let parts = ["all", "chunks", "files"].map(str::to_owned).to_vec();
    vec![
        parameter(
            "size",
            ParameterForm::Size,
            ParameterGiven::Scaled(1 << 30, 16 << 20),
        ),
        parameter(
            "part",
            ParameterForm::OneOf(parts),
            ParameterGiven::Fixed("all".into()),
        ),
        parameter(
            "files",
            ParameterForm::Number(1, 100_000),
            ParameterGiven::Fixed("16".into()),
        ),
    ]
}

/// What the phases of mongo take.
fn of_trees() -> Vec<ParameterEntry> {
    let number = |name: &str, default: &str| {
        let form = ParameterForm::Number(1, 1 << 30);
        parameter(name, form, ParameterGiven::Fixed(default.into()))
    };
    vec![
        parameter(
            "bytes",
            ParameterForm::Size,
            ParameterGiven::Scaled(50 << 20, 1 << 10),
        ),
        number("median", "100"),
        number("processes", "1"),
        number("rounds", "3"),
    ]
}

fn parameter(name: &str, form: ParameterForm, given: ParameterGiven) -> ParameterEntry {
    ParameterEntry {
        name: name.to_owned(),
        form,
        given,
    }
}

/// A request changed from the empty one.
pub fn request(change: impl FnOnce(&mut Request)) -> Request {
    let mut request = Request::default();
    change(&mut request);
    request
}

pub fn plan(request: &Request) -> Plan {
    resolve(request, &catalogue()).unwrap_or_else(|e| panic!("{request:?}: {e}"))
}

/// What is said of a request that is wrong.
pub fn told(request: &Request) -> String {
    match resolve(request, &catalogue()) {
        Ok(plan) => panic!("{request:?} gave {plan:?}"),
        Err(error) => error.to_string(),
    }
}

/// The contenders, in short form.
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

/// A plan file in a directory of its own.
pub fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    (directory, path)
}

fn words(words: &[&str]) -> ParameterForm {
    ParameterForm::OneOf(words.iter().map(|word| (*word).to_owned()).collect())
}

fn of_one_file() -> Vec<ParameterEntry> {
    let scaled = ParameterGiven::Scaled(1 << 30, 1 << 20);
    vec![
        parameter("size", ParameterForm::Size, scaled.clone()),
        parameter("chars", ParameterForm::Size, scaled),
        parameter(
            "data",
            words(&["random", "like-original"]),
            ParameterGiven::Fixed("random".into()),
        ),
    ]
}

fn of_many_files() -> Vec<ParameterEntry> {
    let number = |name, default: &str| {
        let given = ParameterGiven::Fixed(default.to_owned());
        parameter(name, ParameterForm::Number(0, 1 << 30), given)
    };
    let text = |name, known: &[&str]| {
        let given = ParameterGiven::Fixed(known[0].to_owned());
        parameter(name, words(known), given)
    };
    vec![
        parameter(
            "files",
            ParameterForm::Number(1, 1 << 24),
            ParameterGiven::Scaled(16_384, 1),
        ),
        number("max", "0"),
        number("directories", "1"),
        text("order", &["sequential", "random"]),
        text("data", &["random", "like-original"]),
    ]
}
