//! `list`: everything that a plan can name, and whether it works here.

use crate::exit::CliError;
use crate::output;
use clap::{Args, ValueEnum};
use fsdyno_host::probe::probe;
use fsdyno_load::programs;
use fsdyno_load::programs::apps::{self, App};
use fsdyno_model::{Availability, Need, Parameter, Requirement};
use fsdyno_run::resolve::Catalogue;
use fsdyno_run::resolve::suite::{self, Suite};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Group to list [default: all]
    #[arg(value_enum)]
    pub what: Option<Listed>,
    /// Print sources, parameters and layouts too, and why something is missing
    #[arg(long)]
    pub long: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// File systems that can be contenders
    Filesystems,
    /// Ready-made comparisons
    Suites,
    /// Kinds of phases and their parameters
    Phases,
    /// Applications, their phases and settings
    Apps,
    /// Files that workloads use
    Datasets,
    /// Arrangements of devices under a contender
    Layouts,
    /// Ways to pass operations to the kernel
    Engines,
}

#[derive(Serialize)]
struct Item {
    name: String,
    about: String,
    source: Option<String>,
    availability: Availability,
    #[serde(skip)]
    requirements: Vec<Requirement>,
}

impl Item {
    fn new(name: &str, about: impl Into<String>, requirements: Vec<Requirement>) -> Self {
        Self {
            name: name.to_owned(),
            about: about.into(),
            source: None,
            availability: Availability::Available,
            requirements,
        }
    }

    /// The item with its availability on this machine.
    fn probed(mut self) -> Self {
        let mut states = self.requirements.iter().map(|one| probe(&one.need));
        if let Some(missing) = states.find(|state| *state != Availability::Available) {
            self.availability = missing;
        }
        self
    }

    fn from(mut self, source: impl Into<String>) -> Self {
        self.source = Some(source.into());
        self
    }
}

pub fn list(args: &ListArgs) -> Result<(), CliError> {
    if let Some(what) = args.what {
        let items = items(what)?;
        if args.json {
            output::json(&items)?;
        } else {
            output::rows(&rows(&items, args.long), output::width())?;
        }
        return Ok(());
    }
    let mut all = Vec::new();
    for what in Listed::value_variants() {
        all.push((what.name(), items(*what)?));
    }
    if args.json {
        let all: BTreeMap<&String, &Vec<Item>> = all.iter().map(|(name, of)| (name, of)).collect();
        return output::json(&all);
    }
    let parts = all.iter().map(|(name, items)| {
        let mut rows = rows(items, args.long);
        for row in &mut rows {
            row[0].insert_str(0, "  ");
        }
        format!("{name}\n{}", output::align(&rows, output::width()))
    });
    output::bytes(parts.collect::<Vec<_>>().join("\n").as_bytes())
}

impl Listed {
    /// The name of the group on the command line.
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

fn rows(items: &[Item], long: bool) -> Vec<Vec<String>> {
    let row = |item: &Item| {
        let (state, help) = match &item.availability {
            Availability::Available => ("ok", String::new()),
            Availability::Missing { reason, remedy } if long => {
                ("missing", format!(" ({reason}; {remedy})"))
            }
            Availability::Missing { remedy, .. } => ("missing", format!(" ({remedy})")),
        };
        let source = item.source.as_ref().filter(|_| long);
        let source = source.map(|text| format!(". {text}")).unwrap_or_default();
        let about = format!("{}{help}{source}", item.about);
        vec![item.name.clone(), state.to_owned(), about]
    };
    items.iter().map(row).collect()
}

/// The names of a group, each with its title.
pub fn titles(what: Listed) -> Result<Vec<(String, String)>, CliError> {
    let items = entries(what)?.into_iter();
    Ok(items.map(|item| (item.name, item.about)).collect())
}

fn items(what: Listed) -> Result<Vec<Item>, CliError> {
    Ok(entries(what)?.into_iter().map(Item::probed).collect())
}

fn entries(what: Listed) -> Result<Vec<Item>, CliError> {
    Ok(match what {
        Listed::Filesystems => fsdyno_recipes::fs::ALL
            .iter()
            .map(|recipe| {
                let layouts = fsdyno_recipes::layouts::of(*recipe).map(|one| one.name);
                let layouts = layouts.collect::<Vec<_>>().join(", ");
                let item = Item::new(recipe.name(), recipe.title(), recipe.requirements());
                if layouts.is_empty() {
                    item
                } else {
                    item.from(format!("Layouts: {layouts}."))
                }
            })
            .collect(),
        Listed::Layouts => fsdyno_recipes::layouts::ALL
            .iter()
            .map(|layout| Item::new(layout.name, layout.title, layout.requirements()))
            .collect(),
        Listed::Engines => fsdyno_load::engines::ALL
            .iter()
            .map(|engine| Item::new(engine.name, engine.title, engine.requirements()))
            .collect(),
        Listed::Phases => fsdyno_load::kinds::all()
            .map(|kind| {
                let item = Item::new(kind.name, kind.title, Vec::new());
                match kind.parameters {
                    [] => item,
                    takes => item.from(render_parameters(takes)),
                }
            })
            .chain(programs::ALL.iter().map(|program| of_program(program)))
            .collect(),
        Listed::Apps => return applications(),
        Listed::Datasets => datasets(),
        Listed::Suites => return suites(),
    })
}

fn of_program(program: &programs::Program) -> Item {
    let requirements = program.requirement().into_iter().collect();
    Item::new(program.kind.name, program.kind.title, requirements)
        .from(render_parameters(program.kind.parameters))
}

fn render_parameters(parameters: &[Parameter]) -> String {
    let parameters = parameters.iter();
    let takes: Vec<String> = parameters
        .map(|one| format!("{}: {}", one.name, one.about))
        .collect();
    format!("Parameters: {}.", takes.join("; "))
}

fn suites() -> Result<Vec<Item>, CliError> {
    let catalogue = Catalogue::complete();
    let item = |suite: &Suite| {
        let file = suite.read(&catalogue).map_err(CliError::failure)?;
        Ok(Item::new(
            suite.name,
            file.options.title.unwrap_or_default(),
            Vec::new(),
        )
        .from(file.options.about.unwrap_or_default()))
    };
    suite::ALL.iter().map(item).collect()
}

fn applications() -> Result<Vec<Item>, CliError> {
    let item = |(name, text): (&str, &str)| {
        let app: App = text.parse().map_err(CliError::failure)?;
        let missing = app.missing().map(|(name, package)| {
            Requirement::new(Need::Program { name, package }, app.title.clone())
        });
        let phases: Vec<String> = app
            .phases()
            .map(|(name, about)| format!("{name}: {about}"))
            .collect();
        let source = format!(
            "Phases: {}. Settings: {}.",
            phases.join("; "),
            app.describe_settings()
        );
        let item = Item::new(name, app.title.as_str(), missing.into_iter().collect());
        Ok(item.from(source))
    };
    apps::shipped().map(item).collect()
}

fn datasets() -> Vec<Item> {
    let generated = fsdyno_datasets::ALL
        .iter()
        .map(|set| Item::new(set.name, set.title, Vec::new()).from(set.source));
    let own = [
        ("tree:DIR", "your directory, copied as `cp -a` copies it"),
        (
            "tar:FILE",
            "your tar archive, plain or compressed with gz, xz or zst",
        ),
        ("file:FILE", "your file"),
        (
            "trace:FILE",
            "the tree of your recording of `fsdyno record`, for the phase replay",
        ),
    ];
    generated
        .chain(own.map(|(name, about)| Item::new(name, about, Vec::new())))
        .collect()
}
