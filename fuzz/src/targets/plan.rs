//! Plan files: what is refused is refused at a place within the text.

use fsdyno_model::{Form, Given, Needs, Parameter};
use fsdyno_run::fuzz::parse_plan;
use fsdyno_run::resolve::{Catalogue, DatasetEntry, DatasetForm, KindEntry};
use std::sync::LazyLock;

static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(catalogue);

pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if let Err(error) = parse_plan(text, &CATALOGUE) {
        assert!(text.get(error.span.clone()).is_some(), "{:?}", error.span);
        assert!(error.line() <= text.matches('\n').count() + 1);
        assert!(error.column() >= 1);
    }
}

/// A kind of phase, a dataset and an engine of every form.
fn catalogue() -> Catalogue {
    let kind = |name, needs, makes_tree, parameters| KindEntry {
        name,
        needs,
        makes_tree,
        removes_tree: name == "delete",
        searches: name == "grep",
        program: name == "exec",
        parameters,
        passes_on: name == "exec",
        no_defaults_with: &[],
    };
    let dataset = |name, form| DatasetEntry { name, form };
    Catalogue {
        kinds: vec![
            kind("copy", Needs::Tree, true, &[]),
            kind("delete", Needs::Tree, false, &[]),
            kind("grep", Needs::Tree, false, &[]),
            kind("untar", Needs::Archive, true, &[]),
            kind("large", Needs::Nothing, false, LARGE),
            kind("exec", Needs::Nothing, false, COMMAND),
        ],
        engines: vec!["sync", "tools"],
        datasets: vec![
            dataset("mixed", DatasetForm::Tree),
            dataset("ports", DatasetForm::Archive),
            dataset("iso", DatasetForm::File),
            dataset("none", DatasetForm::Nothing),
        ],
        ..Catalogue::default()
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

const LARGE: &[Parameter] = &[
    parameter("size", Form::Size, Given::Scaled(1 << 30, 1 << 20)),
    parameter("jobs", Form::Number(1, 99), Given::Fixed("4")),
    parameter("part", Form::OneOf(&["a", "b"]), Given::Fixed("a")),
];

const COMMAND: &[Parameter] = &[
    parameter("command", Form::Text, Given::Required),
    parameter("file", Form::File, Given::Absent),
];
