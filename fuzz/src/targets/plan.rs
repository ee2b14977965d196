//! Plan files: what is refused is refused at a place within the text.

use fsdyno_run::fuzz::parse_plan;
use fsdyno_run::resolve::{
    Catalogue, DatasetEntry, DatasetForm, KindEntry, Needs, ParameterEntry, ParameterForm,
    ParameterGiven,
};
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
    let parameter = |name: &str, form, given| ParameterEntry {
        name: name.to_owned(),
        form,
        given,
    };
    let kind = |name: &str, needs, makes_tree, parameters| KindEntry {
        name: name.to_owned(),
        needs,
        makes_tree,
        removes_tree: name == "delete",
        searches: name == "grep",
        program: name == "exec",
        parameters,
    };
    let dataset = |name: &str, form| DatasetEntry {
        name: name.to_owned(),
        form,
    };
    let words = || ["a", "b"].map(str::to_owned).to_vec();
    let large = vec![
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
        parameter(
            "part",
            ParameterForm::OneOf(words()),
            ParameterGiven::Fixed("a".into()),
        ),
    ];
    let command = vec![
        parameter("command", ParameterForm::Text, ParameterGiven::Required),
        parameter("file", ParameterForm::File, ParameterGiven::Absent),
    ];
    Catalogue {
        kinds: vec![
            kind("copy", Needs::Tree, true, Vec::new()),
            kind("delete", Needs::Tree, false, Vec::new()),
            kind("grep", Needs::Tree, false, Vec::new()),
            kind("untar", Needs::Archive, true, Vec::new()),
            kind("large", Needs::Nothing, false, large),
            kind("exec", Needs::Nothing, false, command),
        ],
        engines: ["sync", "tools"].map(str::to_owned).to_vec(),
        datasets: vec![
            dataset("mixed", DatasetForm::Tree),
            dataset("ports", DatasetForm::Archive),
            dataset("iso", DatasetForm::File),
            dataset("none", DatasetForm::Nothing),
        ],
        ..Catalogue::default()
    }
}
