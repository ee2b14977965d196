//! `atlas`: builds a file of answers from many runs in virtual time, shows it, measures cells of it
//! again, and compares two of them.

mod build;
mod site;
mod tester;
mod verify;

use crate::commands::chart::{OutputFormat, PictureArgs};
use crate::commands::jobs::JobsArgs;
use crate::commands::rendering;
use crate::exit::{CliError, Code};
use crate::output;
use clap::{Args, Subcommand};
use fsdyno_files::input;
use fsdyno_model::{KernelChoice, Nanos, Shard, printable};
use fsdyno_report::atlas::{Atlas, AtlasDiff};
use fsdyno_report::charts::Picture;
use fsdyno_report::{Options, render_atlas, render_atlas_diff};
use fsdyno_run::atlas::AtlasQuestion;
use fsdyno_run::options::{self, RunOptions};
use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use verify::Sample;

/// The name of the atlas of this version, instead of a file.
pub const SHIPPED: &str = "shipped";

/// The longest file that is read, bytes.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, Args)]
pub struct AtlasArgs {
    #[command(subcommand)]
    pub command: AtlasCommand,
}

#[derive(Debug, Subcommand)]
pub enum AtlasCommand {
    /// Show the fastest file systems by work and disk
    Show(ShowArgs),
    /// Measure cells of the atlas again, and compare them to the nanosecond
    ///
    /// The exit code is 1 if a figure or a digest of disk requests differs.
    Verify(VerifyArgs),
    /// Measure the runs of a plan, and write the file; the same command continues
    Build(BuildArgs),
    /// Compare two atlases: what changed beyond doubt
    Diff(DiffArgs),
    /// Write a static site of the answers
    ///
    /// It has pages by work, file system and disk, and the report of each question.
    Site(SiteArgs),
}

#[derive(Debug, Args)]
pub struct AtlasFile {
    /// File of the atlas
    #[arg(long = "atlas", value_name = "FILE", default_value = SHIPPED)]
    file: PathBuf,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Only these works: suites
    #[arg(long = "work", value_name = "LIST", value_delimiter = ',')]
    works: Vec<String>,
    /// Only these disks: profiles
    #[arg(long = "disk", value_name = "LIST", value_delimiter = ',')]
    disks: Vec<String>,
    #[command(flatten)]
    atlas: AtlasFile,
    /// Format: terminal, html, csv, json, markdown, svg or png
    ///
    /// Without --format, the extension of the output file decides. A picture has the ratios at the
    /// largest size.
    #[arg(long, value_name = "FORMAT", value_parser = OutputFormat::parse)]
    format: Option<OutputFormat>,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    picture: PictureArgs,
}

#[derive(Debug, Args)]
pub struct SiteArgs {
    /// Directory of the site: new, empty, or an earlier site of an atlas
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    #[command(flatten)]
    atlas: AtlasFile,
}

/// Where the cells are measured.
#[derive(Debug, Args)]
pub struct PlaceArgs {
    /// Kernel of the guests instead of the lab kernel: packaged, or its path
    #[arg(long, value_name = "KERNEL", value_parser = options::kernel())]
    guest_kernel: Option<KernelChoice>,
    /// Directory of image files and mount points [default: /var/tmp]
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    #[command(flatten)]
    jobs: JobsArgs,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Cells, or the first words of their names: mail/nvme, faults/ext4, power
    #[arg(value_name = "CELL")]
    cells: Vec<String>,
    /// Random sample of these cells: a number or a percentage [default: 1%]
    ///
    /// With cells, the default is all of them.
    #[arg(long, value_name = "N|PERCENT")]
    sample: Option<Sample>,
    /// Seed of the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    atlas: AtlasFile,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Args)]
pub struct BuildArgs {
    /// Plan file, or `default` for the shipped one
    #[arg(value_name = "PLAN", default_value = fsdyno_run::atlas::DEFAULT)]
    plan: PathBuf,
    /// Measure only this part of the questions: 2/4 is the second of four
    ///
    /// `fsdyno merge` copies the runs of other machines into this store. Then the command without
    /// --shard writes the file.
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Start no run after this time: 90s, 8h; the same command continues
    #[arg(long, value_name = "TIME")]
    budget: Option<Nanos>,
    /// File to write, with all questions that are measured
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace a file that exists
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Args)]
pub struct DiffArgs {
    /// File of the first atlas, or `shipped`
    #[arg(value_name = "FILE")]
    first: PathBuf,
    /// File of the second atlas, or `shipped`
    #[arg(value_name = "FILE")]
    second: PathBuf,
    /// Print all differences, not only one screen
    #[arg(long)]
    long: bool,
}

pub fn atlas(command: &AtlasCommand, store: &Path) -> Result<Code, CliError> {
    match command {
        AtlasCommand::Show(args) => show(args),
        AtlasCommand::Verify(args) => verify::verify(args),
        AtlasCommand::Build(args) => build::build(args, store),
        AtlasCommand::Diff(args) => diff(args),
        AtlasCommand::Site(args) => site::write(args),
    }
}

fn show(args: &ShowArgs) -> Result<Code, CliError> {
    let format = OutputFormat::of(args.format, args.output.as_deref())?;
    let file = &args.atlas.file;
    let atlas = read(file)?;
    let questions = || atlas.questions.iter();
    known("work", &args.works, questions().map(|one| &one.work))?;
    known("disk", &args.disks, questions().map(|one| &one.disk))?;
    let mut answers = atlas.answers(&args.works, &args.disks);
    if file != Path::new(SHIPPED) {
        answers.option = format!(" --atlas {}", file.display());
    }
    let existing = output::existing(args.force);
    let found = Code::ok_if(!answers.answers.is_empty());
    match format {
        OutputFormat::Report(format) => {
            let options = rendering::options(false, args.output.is_some());
            let bytes = render_atlas(&answers, format, &options).map_err(CliError::failure)?;
            output::to(args.output.as_deref(), &bytes, existing)?;
        }
        OutputFormat::Chart(format) => {
            let drawing = args.picture.drawing(format, existing);
            drawing.write(&[Picture::Chart(answers.chart())], args.output.as_deref())?;
        }
    }
    Ok(found)
}

/// An error for a name that the atlas does not have.
fn known<'a>(
    what: &str,
    wanted: &[String],
    all: impl Iterator<Item = &'a String>,
) -> Result<(), CliError> {
    let all: BTreeSet<&String> = all.collect();
    let Some(unknown) = wanted.iter().find(|one| !all.contains(one)) else {
        return Ok(());
    };
    let all: Vec<String> = all.into_iter().map(|one| printable(one)).collect();
    Err(CliError::usage(format!(
        "the atlas has no {what} {unknown}; it has {}. Measure it: fsdyno advise SUITE --disk PROFILE \
         --measure",
        all.join(", ")
    )))
}

fn diff(args: &DiffArgs) -> Result<Code, CliError> {
    let diff = AtlasDiff::of(&read(&args.first)?, &read(&args.second)?);
    let options = Options {
        long: args.long,
        ..rendering::options(false, false)
    };
    output::coloured(&render_atlas_diff(&diff, &options))?;
    Ok(Code::ok_if(diff.is_empty()))
}

/// The atlas of this version, if it ships one.
pub fn shipped() -> Result<Option<Atlas>, CliError> {
    Atlas::shipped().map_err(|error| CliError::failure(format!("the shipped atlas: {error}")))
}

/// Reads the file of an atlas, or the shipped one.
pub fn read(path: &Path) -> Result<Atlas, CliError> {
    if path == Path::new(SHIPPED) {
        return shipped()?.ok_or_else(|| {
            CliError::new(
                Code::Missing,
                "this version of fsdyno ships no atlas. Build one: fsdyno atlas build -o FILE, and name \
                 it with --atlas",
            )
        });
    }
    let failed = |why: String| {
        let path = path.display();
        CliError::usage(format!("cannot read the atlas {path}: {why}"))
    };
    let mut text = String::new();
    let file = input::open_bounded(path, LONGEST).map_err(|error| failed(error.to_string()))?;
    let read = file.take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| failed(error.to_string()))?;
    Atlas::read(&text).map_err(|error| failed(error.to_string()))
}

impl PlaceArgs {
    /// The settings of the run of a question at this place.
    fn options(&self, question: &AtlasQuestion) -> RunOptions {
        RunOptions {
            guest_kernel: self.guest_kernel.clone(),
            work_dir: self.work_dir.clone(),
            ..question.options()
        }
    }
}
