//! `why --functions`: compares the profiles of two cells of a run.

use super::WhyArgs;
use crate::commands::profiling::{self, Compared};
use crate::commands::rendering::options;
use crate::exit::CliError;
use crate::output;
use fsdyno_host::signals;
use fsdyno_model::ResultSet;
use fsdyno_report::charts::svg::{self, Appearance, Theme};
use fsdyno_report::functions::flame::Measure;
use fsdyno_report::functions::{firefox, flame, repeated};
use fsdyno_report::{Format, Options};
use std::path::Path;

/// The width of a flame graph, pixels.
const WIDTH: u32 = 1220;

/// What a file of the functions holds.
type Picture = fn(&Compared) -> Result<Vec<u8>, CliError>;

/// The files by the ends of their names.
const PICTURES: [(&str, Picture); 5] = [
    (".sleep.svg", |functions| {
        flame_graph(functions, Measure::Sleep)
    }),
    (".svg", |functions| {
        flame_graph(functions, functions.calls().measure)
    }),
    (".html", page),
    (".folded", |functions| {
        Ok(flame::folded(functions.calls()).into_bytes())
    }),
    (".profile.json", |functions| {
        Ok(firefox::json(functions.calls()).into_bytes())
    }),
];

pub fn functions(args: &WhyArgs, set: &ResultSet, store: &Path) -> Result<(), CliError> {
    let file = args.output.as_deref();
    let file = file.map(|path| Ok::<_, CliError>((path, picture(path)?)));
    let file = file.transpose()?;
    let existing = output::existing(args.force);
    output::check(args.output.as_deref(), existing)?;
    let labels = [args.one.as_str(), args.other.as_str()];
    let pair = repeated(set, labels, args.phase.as_deref()).map_err(CliError::usage)?;
    let stop = signals::cancel_token()?;
    let pair = pair.each_ref().map(|one| (set, one));
    let functions = profiling::compare(&set.run.id, pair, store, &stop)?;
    if let Some((path, picture)) = file {
        output::save(path, &picture(&functions)?, existing)?;
    }
    let format = if args.json { Format::Json } else { args.format };
    let options = Options {
        long: args.long,
        ..options(false, false)
    };
    output::coloured(&functions.render(format, &options)?)
}

fn picture(path: &Path) -> Result<Picture, CliError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let found = PICTURES.iter().find(|(end, _)| name.ends_with(end));
    found.map(|(_, picture)| *picture).ok_or_else(|| {
        CliError::usage(format!(
            "cannot write {}: name a file that ends in .svg (a flame graph), .sleep.svg (one of \
             sleep), .html (a page with both), .folded (call paths) or .profile.json (for the Firefox profiler)",
            path.display()
        ))
    })
}

fn flame_graph(functions: &Compared, measure: Measure) -> Result<Vec<u8>, CliError> {
    let flame = flame::flame(functions.calls(), measure);
    let flame = flame.ok_or_else(|| {
        CliError::failure(
            "there is nothing to draw: no process slept, or no sleep is known (--profile samples none)",
        )
    })?;
    let appearance = Appearance {
        width: WIDTH,
        theme: Theme::Page,
    };
    Ok(svg::flame::render_with_table(&flame, appearance).into_bytes())
}

fn page(functions: &Compared) -> Result<Vec<u8>, CliError> {
    functions.render(Format::Html, &options(false, false))
}
