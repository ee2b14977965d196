//! The file of an atlas: what is read is written back the same, and answered and compared without
//! acting on the reader's terminal.

use fsdyno_report::atlas::{Atlas, AtlasDiff};
use fsdyno_report::{Format, Options, render_atlas, render_atlas_diff};

pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else {
        return;
    };
    let Ok(atlas) = Atlas::read(text) else {
        return;
    };
    let again = Atlas::read(&atlas.text()).expect("what was written is read");
    assert_eq!(again.text(), atlas.text());
    let options = Options::default();
    let questions = atlas.questions.first();
    let only = questions.map(|one| (one.work.as_str(), one.disk.as_str()));
    for answers in [
        atlas.answers(None, None),
        atlas.answers(only.map(|one| one.0), only.map(|one| one.1)),
    ] {
        let bytes = render_atlas(&answers, Format::Terminal, &options).expect("it can be shown");
        is_plain(&bytes);
    }
    let diff = AtlasDiff::of(&atlas, &again);
    assert!(diff.is_empty() && diff.answers.is_empty() && diff.figures.is_empty());
    is_plain(&render_atlas_diff(&diff, &options));
}

fn is_plain(bytes: &[u8]) {
    let text = str::from_utf8(bytes).expect("reports are UTF-8");
    let control = |one: char| one.is_control() && one != '\n';
    assert!(!text.contains(control), "{text:?}");
}
