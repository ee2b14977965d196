//! `published`: the published tables, and the comparison of a run with one, for `report --against`.

use super::rendering;
use crate::args::{JsonArgs, report_format};
use crate::exit::CliError;
use crate::output;
use clap::{Args, Subcommand};
use fsdyno_load::own_tables;
use fsdyno_model::{Contender, ResultSet, suggestion};
use fsdyno_recipes::{kind_of, layouts};
use fsdyno_report::own_comparison::OwnComparison;
use fsdyno_report::published::{self, Published, PublishedError, Table};
use fsdyno_report::published_comparison::PublishedComparison;
use fsdyno_report::{Format, Options};
use fsdyno_run::resolve::{Catalogue, suite};
use serde::Serialize;
use std::fmt::Display;
use std::path::Path;

#[derive(Debug, Args)]
pub struct PublishedArgs {
    #[command(subcommand)]
    pub command: PublishedCommand,
}

#[derive(Debug, Subcommand)]
pub enum PublishedCommand {
    /// List all published tables
    List(JsonArgs),
    /// Show one table in its published form, with its conclusions
    Show {
        /// Name of the table (`fsdyno published list`)
        name: String,
        /// Format: terminal, html, csv, json or markdown
        #[arg(long, value_name = "FORMAT", default_value = "terminal", value_parser = report_format)]
        format: fsdyno_report::Format,
        /// Show times as m:ss
        #[arg(long)]
        clock: bool,
    },
}

/// A table as `published list` prints it.
#[derive(Serialize)]
struct Listed {
    name: String,
    year: u32,
    title: String,
    measured: String,
    machine: String,
    suite: String,
    /// The command that measures the same today, if there is one.
    today: Option<String>,
}

pub fn published(command: &PublishedCommand) -> Result<(), CliError> {
    match command {
        PublishedCommand::List(args) => list(args.json),
        PublishedCommand::Show {
            name,
            format,
            clock,
        } => show(name, *format, *clock),
    }
}

fn list(json: bool) -> Result<(), CliError> {
    let catalogue = Catalogue::complete();
    let mut listed = Vec::new();
    for published in published::ALL {
        let table = read(published)?;
        listed.push(Listed {
            today: today(&table, &catalogue).map(|today| today.line()),
            name: table.name,
            year: table.year,
            title: table.title,
            measured: table.measured,
            machine: table.machine,
            suite: table.suite,
        });
    }
    if json {
        return output::json(&listed);
    }
    let rows: Vec<Vec<String>> = listed
        .into_iter()
        .map(|table| {
            let about = format!("{}. Measured: {}", table.title, table.measured);
            vec![table.name, table.year.to_string(), about]
        })
        .collect();
    output::rows(&rows, output::width())
}

fn show(name: &str, format: Format, clock: bool) -> Result<(), CliError> {
    let published = find(name)?;
    let options = rendering::options(clock, false);
    let bytes =
        fsdyno_report::render_published(published, format, &options).map_err(CliError::failure)?;
    output::coloured(&bytes)?;
    if format == Format::Terminal {
        let table = read(published)?;
        let printed = today(&table, &Catalogue::complete()).map_or_else(
            || format!("Today: {}", none_today(&table)),
            |command| command.in_width("Today: ", output::width()),
        );
        output::bytes(format!("\n{printed}\n").as_bytes())?;
    }
    Ok(())
}

/// Compares a run with the table of that name.
pub fn compare(
    set: &ResultSet,
    name: &str,
    format: Format,
    options: &Options,
) -> Result<Vec<u8>, CliError> {
    let table = read(find(name)?)?;
    let comparison = PublishedComparison::in_each_lab(set, &table).map_err(|error| {
        let way = today(&table, &Catalogue::complete()).map_or_else(
            || none_today(&table),
            |command| format!("a run that matches: {}", command.line()),
        );
        CliError::usage(format!("{error}; {way}"))
    })?;
    fsdyno_report::render_comparison(&comparison, format, options).map_err(CliError::failure)
}

/// Whether this is a file and no published table.
pub fn is_file(name: &str) -> bool {
    published::find(name).is_none() && (name.contains(['/', '.']) || Path::new(name).exists())
}

/// Shows a run next to the tables of these files.
pub fn compare_with_files(
    set: &ResultSet,
    files: &[String],
    format: Format,
    options: &Options,
) -> Result<Vec<u8>, CliError> {
    let mut tables = Vec::new();
    for file in files {
        if published::find(file).is_some() {
            let message = format!("--against {file}: a published table is compared alone");
            return Err(CliError::usage(message));
        }
        let wrong = |why: &dyn Display| CliError::usage(format!("--against {file}: {why}"));
        let path = Path::new(file);
        let text = fsdyno_files::input::read_text(path).map_err(|error| wrong(&error))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        tables.push(own_tables::read(&name, &text).map_err(|error| wrong(&error))?);
    }
    let comparison = OwnComparison::of(set, &tables).map_err(CliError::usage)?;
    fsdyno_report::render_own_comparison(&comparison, format, options).map_err(CliError::failure)
}

fn find(name: &str) -> Result<&'static Published, CliError> {
    published::find(name).ok_or_else(|| {
        let way = suggestion(name, published::ALL.iter().map(|table| table.name));
        CliError::usage(format!(
            "`{name}` is neither a published table ({way}) nor a file"
        ))
    })
}

fn read(published: &Published) -> Result<Table, CliError> {
    published
        .read()
        .map_err(|e: PublishedError| CliError::failure(e))
}

/// The command that repeats the measurements of a published table.
struct Today {
    suite: String,
    contenders: Vec<String>,
}

impl Today {
    fn line(&self) -> String {
        format!(
            "fsdyno run {} --fs {}",
            self.suite,
            self.contenders.join(",")
        )
    }

    /// Renders the command after a prefix. A long command continues on further lines with
    /// backslashes, so that a shell reads one command.
    fn in_width(&self, before: &str, width: usize) -> String {
        let whole = format!("{before}{}", self.line());
        if whole.chars().count() <= width {
            return whole;
        }
        let mut lines = vec![format!("{before}fsdyno run {}", self.suite)];
        let mut rest = self.contenders.iter().peekable();
        while let Some(first) = rest.next() {
            let mut line = format!("  --fs {first}");
            // The backslash takes two columns.
            while let Some(next) =
                rest.next_if(|next| line.chars().count() + next.chars().count() + 3 <= width)
            {
                line = format!("{line},{next}");
            }
            lines.push(line);
        }
        lines.join(" \\\n")
    }
}

/// The command for a table: its suite on the contenders that have recipes or substitutes. `None` if
/// there is no such suite, or if nothing of it compares with the table.
fn today(table: &Table, catalogue: &Catalogue) -> Option<Today> {
    if table.lines.is_empty() || suite::find(&table.suite)?.read(catalogue).is_err() {
        return None;
    }
    let contenders: Vec<String> = table
        .contenders
        .iter()
        .filter_map(|contender| {
            let mut forms = contender.today.iter().chain(&contender.instead);
            forms.find(|form| can_be_made(form)).cloned()
        })
        .collect();
    if contenders.is_empty() {
        return None;
    }
    Some(Today {
        suite: table.suite.clone(),
        contenders,
    })
}

/// The reason why a table has no command.
fn none_today(table: &Table) -> String {
    let suite = &table.suite;
    if table.lines.is_empty() || suite::find(suite).is_none() {
        format!("no phase of the suite {suite} is compared with this table yet")
    } else {
        format!(
            "none of its file systems is available here; to run the same workload on others: fsdyno run {suite}"
        )
    }
}

/// Whether there are a recipe and a layout for a contender in short form.
fn can_be_made(form: &str) -> bool {
    let contender = Contender::parse(form, &kind_of);
    contender.is_ok_and(|c| layouts::find(&c.layout.name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::{Bytes, FilesystemKind};
    use fsdyno_report::published::{Competitor, Today};
    use fsdyno_run::resolve::Counting;

    fn tables() -> impl Iterator<Item = Table> {
        published::ALL
            .iter()
            .map(|published| read(published).unwrap())
    }

    #[test]
    fn every_phase_compared_with_a_table_is_in_its_suite() {
        let catalogue = Catalogue::complete();
        for table in tables() {
            assert!(today(&table, &catalogue).is_some(), "{}", table.name);
            let suite = suite::find(&table.suite).unwrap_or_else(|| panic!("{}", table.suite));
            let suite = suite.read(&catalogue).unwrap();
            for line in &table.lines {
                let mut workloads = suite.workloads.iter();
                let workload = workloads
                    .find(|w| w.name == line.workload && w.dataset.to_string() == line.dataset);
                let phases = workload.unwrap().phases.iter();
                let matching = phases.filter(|phase| line.is_of(phase)).count();
                assert_eq!(matching, 1, "{}: {}", table.name, line.label);
                if let Today::ExtentsPerFile { above } = line.today {
                    assert_eq!(suite.options.fragments, Some(Counting::Above(Bytes(above))));
                }
            }
        }
    }

    #[test]
    fn every_current_contender_of_a_table_parses_to_itself() {
        for table in tables() {
            let forms = |c: &Competitor| [&c.today[..], &c.instead[..]].concat();
            for form in table.contenders.iter().flat_map(forms) {
                // File systems without a recipe are parsed too.
                let any = |_: &str| Some(FilesystemKind::Block);
                let contender = Contender::parse(&form, &any).unwrap();
                assert_eq!(contender.short_form(), form, "{}", table.name);
            }
        }
    }

    #[test]
    fn every_suite_that_repeats_a_publication_names_a_table() {
        let mut named = 0;
        for suite in suite::ALL {
            let source = suite.read(&Catalogue::complete()).unwrap().options.source;
            for name in source.iter().flat_map(|names| names.split(", ")) {
                assert!(published::find(name).is_some(), "{}: {name}", suite.name);
                named += 1;
            }
        }
        assert!(named >= 4);
    }
}
