//! Reports of a store that another program wrote: what can be read is rendered in every format, and
//! compared with itself. Nothing of it acts on the reader's terminal or page.

use super::changed_store::{Bench, Kinds, RUN, with_changes};
use fsdyno_report::compare::RunComparison;
use fsdyno_report::history::{Collector, Selection};
use fsdyno_report::why::Why;
use fsdyno_report::{
    Format, Options, Rendered, render, render_crash, render_crash_details, render_exploration,
    render_history, render_run_comparison, render_why,
};

pub fn check(input: &[u8]) {
    with_changes(input, |bench, kinds: Kinds| {
        if kinds.run {
            run(bench);
        }
        if kinds.series
            && let Ok(series) = bench.store.load_series(&bench.series)
        {
            each(|format, options| render_crash(&series, format, options));
            each(|format, options| render_crash_details(&series, format, options));
        }
        if kinds.exploration
            && let Ok(exploration) = bench.store.exploration(&bench.exploration)
        {
            each(|format, options| render_exploration(&exploration, format, options));
        }
    });
}

fn run(bench: &Bench) {
    let Ok(set) = bench.store.load(RUN) else {
        return;
    };
    each(|format, options| render(&set, format, options));
    let comparison = RunComparison::of(&set, &set, set.run.plan.margin, &[]);
    each(|format, options| render_run_comparison(&comparison, &[], format, options));
    let labels: Vec<&str> = set
        .run
        .plan
        .contenders
        .iter()
        .map(|one| one.label.as_str())
        .collect();
    if let [one, other, ..] = labels[..]
        && let Ok(why) = Why::of(&set, [one, other], None, &|_, _| None)
    {
        each(|format, options| render_why(&why, format, options));
    }
    let mut collector = Collector::new(Selection::default());
    collector.add(&set, &[]);
    if let Ok(history) = collector.finish() {
        each(|format, options| render_history(&history, format, options));
    }
}

/// Renders in every format, on a narrow and a wide terminal.
fn each(render: impl Fn(Format, &Options) -> Rendered) {
    let long = Options {
        long: true,
        width: 120,
        ..Options::default()
    };
    for options in [Options::default(), long] {
        for format in Format::ALL {
            // A report that does not have a format, or has nothing to show in it, says so.
            let Ok(bytes) = render(format, &options) else {
                continue;
            };
            let text = str::from_utf8(&bytes).expect("reports are UTF-8");
            let control = |one: char| one.is_control() && one != '\n';
            match format {
                Format::Json | Format::Bencher => {
                    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
                    assert!(value.is_ok(), "{format} cannot be parsed: {text}");
                }
                Format::Terminal => assert!(!text.contains(control), "{text:?}"),
                Format::Html => {
                    // Inputs of the corpus have this element in their text.
                    assert!(!text.contains("<x "), "a page has an element of a row");
                }
                _ => {}
            }
        }
    }
}
