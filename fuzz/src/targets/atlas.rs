//! The file of an atlas: what is read is written back the same, and answered and compared without
//! acting on the reader's terminal.

use fsdyno_report::atlas::{Atlas, AtlasDiff};
use fsdyno_report::charts::svg::{self, Appearance, Theme};
use fsdyno_report::{Format, Options, render_atlas, render_atlas_diff};

const PICTURE: Appearance = Appearance {
    width: 800,
    theme: Theme::Light,
};

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
    let first: Vec<_> = atlas.questions.iter().take(1).collect();
    let works: Vec<String> = first.iter().map(|one| one.work.clone()).collect();
    let disks: Vec<String> = first.iter().map(|one| one.disk.clone()).collect();
    for answers in [atlas.answers(&[], &[]), atlas.answers(&works, &disks)] {
        is_plain(svg::render(&answers.chart(), PICTURE).as_bytes());
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
