//! Tests of every parser on real outputs: truncated outputs are errors, and an invalid byte never
//! changes a figure. Only tests use it.

use super::{Program, ProgramReport, fits};
use fsdyno_model::sample::Figure;
use std::collections::BTreeMap;

/// The value of one figure.
pub(super) fn seen(report: &ProgramReport, name: &str) -> Option<f64> {
    let figure = report.figures.iter().find(|figure| figure.name == name)?;
    Some(figure.value)
}

/// Truncates an output at every byte, up to its complete length.
pub(super) fn truncated_output_gives_an_error(program: &Program, text: &str, complete: usize) {
    assert!(program.parse(&text[..complete]).is_ok());
    for end in places(&text[..complete]) {
        let error = program.parse(&text[..end]).expect_err(&text[..end]);
        assert_eq!(error.program, executable(program));
    }
}

/// Corrupts an output at every byte: the result is equal or an error.
pub(super) fn broken_it_gives_no_other_figure(program: &Program, text: &str) {
    let whole = program.parse(text).unwrap();
    announces(program, &BTreeMap::new(), &whole);
    for same in read_if_broken(program, text) {
        assert_eq!(same, whole);
    }
}

/// The program names each figure of a report before it runs, so that it can be judged.
pub(super) fn announces(
    program: &Program,
    parameters: &BTreeMap<String, String>,
    report: &ProgramReport,
) {
    let names = (program.figures)(parameters).unwrap();
    for Figure { name, .. } in &report.figures {
        assert!(
            names.iter().any(|form| fits(form, name)),
            "{name}: {names:?}"
        );
    }
}

/// Corrupts an output at every byte: what is read although it is broken.
pub(super) fn read_if_broken(program: &Program, text: &str) -> impl Iterator<Item = ProgramReport> {
    places(text).filter_map(move |place| {
        let broken = [&text[..place], "?", &text[place + 1..]].concat();
        let read = program.parse(&broken);
        read.inspect_err(|error| assert_eq!(error.program, executable(program)))
            .ok()
    })
}

/// The tested offsets of an output: every byte of a short one, a sample of a long one and its end.
fn places(text: &str) -> impl Iterator<Item = usize> {
    const END: usize = 1024;
    assert!(text.is_ascii());
    let step = 1 + text.len() / 512;
    let end = text.len().saturating_sub(END);
    (0..end).step_by(step).chain(end..text.len())
}

fn executable(program: &Program) -> &'static str {
    program.executable.unwrap().0
}
