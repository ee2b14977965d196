//! `chart`: the charts of a run as SVG, PNG or JSON, from the store alone. The same run gives the
//! same bytes.

use super::rendering::{format_of, no_format};
use super::series::only_run;
use crate::exit::CliError;
use crate::output;
use clap::{Args, ValueEnum};
use fsdyno_files::{Existing, create_output_dir};
use fsdyno_report::Format;
use fsdyno_report::charts::svg::{Appearance, Theme};
use fsdyno_report::charts::{Picture, png};
use fsdyno_report::run_charts::{self, Filter};
use fsdyno_store::{Detail, Store};
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

const HELP: &str = "\
Without a name and without --output, the command lists the charts of the run.
A name is that of a chart or of a kind: overview, samples, repeats, latency,
throughput, cost, scaling, flame, sleep. A kind selects all charts of it.
Several go into a directory, one file each. As JSON they may go to standard
output, in one list. docs/charts.md describes each kind.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct ChartArgs {
    /// Run: a name, its first characters, or `last`
    #[arg(default_value = "last")]
    pub run: String,
    /// Charts or kinds of charts [default: all]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,
    /// Format: svg, png, or json (the values drawn)
    ///
    /// Without --format, the extension of the output file decides, else svg.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ChartFormat>,
    /// File for one chart, directory for several [default: standard output]
    #[arg(long, short, value_name = "FILE|DIR")]
    pub output: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, requires = "output")]
    pub force: bool,
    #[command(flatten)]
    pub picture: PictureArgs,
    /// Only this workload
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Only this phase
    #[arg(long, value_name = "NAME")]
    pub phase: Option<String>,
    /// Only this contender, by its label in the tables; repeatable
    ///
    /// Ratios are still those to the baseline of the run.
    #[arg(long, value_name = "LABEL")]
    pub contender: Vec<String>,
}

/// How charts are drawn.
#[derive(Debug, Args)]
pub struct PictureArgs {
    /// Theme of charts: light or dark
    #[arg(long, value_name = "THEME", default_value = "light", value_parser = theme)]
    theme: Theme,
    /// Width of charts in pixels, 280 to 4000
    #[arg(long, value_name = "PIXELS", default_value_t = 800, value_parser = clap::value_parser!(u32).range(i64::from(Appearance::NARROWEST)..=i64::from(Appearance::WIDEST)))]
    width: u32,
    /// Scale of a PNG, 1 to 4; 2 is sharp in print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=4))]
    zoom: u8,
}

impl PictureArgs {
    pub fn drawing(&self, format: ChartFormat, existing: Existing) -> Drawing {
        Drawing {
            format,
            appearance: Appearance {
                width: self.width,
                theme: self.theme,
            },
            zoom: self.zoom,
            existing,
        }
    }
}

/// The format of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ChartFormat {
    /// A vector image.
    Svg,
    /// A raster image.
    Png,
    /// The values that the chart shows.
    Json,
}

impl ChartFormat {
    fn name(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Png => "png",
            Self::Json => "json",
        }
    }

    /// The format of a file with this name.
    pub fn of_file(path: &Path) -> Option<Self> {
        Self::from_str(path.extension()?.to_str()?, true).ok()
    }
}

/// A format of reports or of charts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    Report(Format),
    Chart(ChartFormat),
}

impl OutputFormat {
    /// Reads an option.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "svg" => Ok(Self::Chart(ChartFormat::Svg)),
            "png" => Ok(Self::Chart(ChartFormat::Png)),
            text => {
                let mut reports = Format::OF_ALL_REPORTS.into_iter();
                let report = reports.find(|format| format.name() == text);
                report.map(Self::Report).ok_or_else(|| {
                    format!("use terminal, html, csv, json, markdown, svg or png, not `{text}`")
                })
            }
        }
    }

    /// The format as requested, or by the extension of the file, or of the terminal.
    pub fn of(requested: Option<Self>, output: Option<&Path>) -> Result<Self, CliError> {
        match (requested, output.and_then(ChartFormat::of_file)) {
            (Some(format), _) => Ok(format),
            (None, Some(format @ (ChartFormat::Svg | ChartFormat::Png))) => Ok(Self::Chart(format)),
            (None, _) => format_of(None, output).map(Self::Report),
        }
    }
}

/// The format of a file or of a directory of charts.
fn inferred(path: Option<&Path>) -> Result<ChartFormat, CliError> {
    match path {
        Some(path) if path.extension().is_some() && !is_directory(path) => {
            let format = ChartFormat::of_file(path);
            format.ok_or_else(|| no_format(path, ".svg, .png or .json, or a directory"))
        }
        _ => Ok(ChartFormat::Svg),
    }
}

fn theme(text: &str) -> Result<Theme, String> {
    text.parse()
}

pub fn chart(args: &ChartArgs, store: &Path) -> Result<(), CliError> {
    let store = Store::open_existing_read_only(store)?;
    let run = only_run(&store, &args.run, "times to draw")?;
    let set = store.load_with_variants(Detail::All, &run)?;
    let filter = Filter {
        workload: args.workload.clone(),
        phase: args.phase.clone(),
        contenders: args.contender.clone(),
    };
    let all = run_charts::of_run(&set, &filter).map_err(CliError::usage)?;
    let chosen = run_charts::choose(&set.run.id, all, &args.names).map_err(CliError::usage)?;
    let format = match args.format {
        Some(format) => format,
        None => inferred(args.output.as_deref())?,
    };
    if args.output.is_none() && args.names.is_empty() && format == ChartFormat::Svg {
        return list(&chosen);
    }
    let drawing = args.picture.drawing(format, output::existing(args.force));
    drawing.write(&chosen, args.output.as_deref())
}

/// Prints the names of the charts.
fn list(charts: &[Picture]) -> Result<(), CliError> {
    let row = |chart: &Picture| vec![chart.name().to_owned(), chart.kind().about().to_owned()];
    let rows: Vec<Vec<String>> = charts.iter().map(row).collect();
    output::rows(&rows, output::width())
}

/// The settings with which charts are drawn and written.
pub struct Drawing {
    pub format: ChartFormat,
    /// Width and colours.
    pub appearance: Appearance,
    /// The scale of a PNG.
    pub zoom: u8,
    /// Whether existing files are replaced.
    pub existing: Existing,
}

impl Drawing {
    /// Writes one chart to a file, several to a directory, or one to standard output.
    pub fn write(&self, charts: &[Picture], output: Option<&Path>) -> Result<(), CliError> {
        if self.format == ChartFormat::Png && !png::BUILT {
            return Err(CliError::usage(png::PngError::NotBuilt));
        }
        match (output, charts) {
            (None, charts) => self.to_standard_output(charts),
            (Some(path), [one]) if !is_directory(path) => {
                output::save(path, &self.draw(one)?, self.existing)
            }
            (Some(file), several)
                if !is_directory(file) && ChartFormat::of_file(file).is_some() =>
            {
                Err(CliError::usage(format!(
                    "-o {}: it is the name of one file, and there are {} charts. Name a directory, or \
                     select one of them: {}",
                    file.display(),
                    several.len(),
                    names(several)
                )))
            }
            (Some(directory), charts) => self.into(directory, charts),
        }
    }

    fn to_standard_output(&self, charts: &[Picture]) -> Result<(), CliError> {
        match (charts, self.format) {
            ([one], ChartFormat::Png) if std::io::stdout().is_terminal() => {
                Err(CliError::usage(format!(
                    "cannot print a PNG on a terminal. Add --output {}.png",
                    one.name()
                )))
            }
            ([one], ChartFormat::Png) => output::picture(&self.draw(one)?),
            ([one], _) => output::bytes(&self.draw(one)?),
            (_, ChartFormat::Json) => output::json(&charts),
            (several, _) => Err(CliError::usage(format!(
                "cannot print {} charts on standard output. Add --output DIR, or name one of them: \
                 {}",
                several.len(),
                names(several)
            ))),
        }
    }

    /// Writes each chart into a file of that directory, and creates a directory that is missing.
    fn into(&self, directory: &Path, charts: &[Picture]) -> Result<(), CliError> {
        create_output_dir(directory).map_err(|error| {
            let directory = directory.display();
            CliError::failure(format!("cannot write charts into {directory}: {error}"))
        })?;
        let file =
            |chart: &Picture| directory.join(format!("{}.{}", chart.name(), self.format.name()));
        for chart in charts {
            output::check(Some(&file(chart)), self.existing)?;
        }
        for chart in charts {
            let file = file(chart);
            output::save(&file, &self.draw(chart)?, self.existing)?;
            output::bytes(format!("{}\n", file.display()).as_bytes())?;
        }
        Ok(())
    }

    fn draw(&self, chart: &Picture) -> Result<Vec<u8>, CliError> {
        match self.format {
            ChartFormat::Svg => Ok(chart.svg(self.appearance).into_bytes()),
            ChartFormat::Png => {
                let lacking = png::lacking(chart);
                if !lacking.is_empty() {
                    let (name, font) = (chart.name(), png::FONT);
                    output::note(format_args!(
                        "fsdyno: {name}: {font} has no glyphs for {lacking}; SVG keeps them"
                    ));
                }
                png::of_svg(&chart.svg(self.appearance), f32::from(self.zoom))
                    .map_err(CliError::failure)
            }
            ChartFormat::Json => {
                let mut text = serde_json::to_string_pretty(chart)
                    .map_err(|error| CliError::failure(format!("cannot write JSON: {error}")))?;
                text.push('\n');
                Ok(text.into_bytes())
            }
        }
    }
}

fn names(charts: &[Picture]) -> String {
    let names: Vec<&str> = charts.iter().map(Picture::name).collect();
    names.join(", ")
}

/// Whether a path is a directory, or ends like one.
fn is_directory(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}
