//! Charts as readers see them: drawings, pictures, values; and what would break them.

use crate::fixture::{self, many, repeated};
use fsdyno_report::charts::svg::{Look, Theme, render};
use fsdyno_report::charts::{Filter, of_run, png};

#[test]
fn draw_for_eyes() {
    let Some(dir) = std::env::var_os("CHARTS") else {
        return;
    };
    let dir = std::path::PathBuf::from(dir);
    for (name, set) in [
        ("run", fixture::run()),
        ("repeated", repeated()),
        ("many", many()),
    ] {
        for chart in of_run(&set, &Filter::default()).unwrap() {
            for (width, theme) in [(360, Theme::Light), (1000, Theme::Dark)] {
                let svg = render(&chart, Look { width, theme });
                let file = dir.join(format!("{name}-{}-{width}-{theme}.png", chart.name));
                std::fs::write(file.with_extension("svg"), &svg).unwrap();
                std::fs::write(file, png::of_svg(&svg, 1.0).unwrap()).unwrap();
            }
        }
    }
}
