//! The file of an atlas: a line of JSON for its head, for the tests with faulty disks, for the power cuts, for
//! each question, and for each cell of the question before it. Texts of profiles are in the head alone.

use super::{Atlas, AtlasCell, AtlasFaults, AtlasPower, Head, Question};
use fsdyno_model::{Nanos, Plan, Workload};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::{self, Display};

/// The version of the format that this program writes and reads.
pub const FORMAT: u32 = 1;

/// The largest time, count and size. Sums of them do not overflow.
const LARGEST: u64 = 1 << 50;

/// The largest numbers of a plan: judging takes time for each pair of contenders.
const CONTENDERS: usize = 64;
const WORKLOADS: usize = 16;
const PHASES: usize = 64;
const DRAWS: u32 = 1000;

/// A line of the file.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line<H, F, P, Q, C> {
    Atlas(H),
    Faults(F),
    Power(P),
    Question(Q),
    Cell(C),
}

/// A file that is no atlas, or not one of this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtlasError {
    /// The line, from 1; none if the file as a whole is wrong.
    pub line: Option<usize>,
    /// The reason.
    pub why: String,
}

impl Display for AtlasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for AtlasError {}

impl Atlas {
    /// The text of the file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut add = |line: &Line<&Head, &AtlasFaults, &AtlasPower, &Question, &AtlasCell>| {
            // These values are plain data: serialisation cannot fail.
            text += &serde_json::to_string(line).unwrap_or_default();
            text.push('\n');
        };
        let cells: usize = self.questions.iter().map(|one| one.cells.len()).sum();
        add(&Line::Atlas(&Head {
            format: FORMAT,
            cells: u32::try_from(cells).unwrap_or(u32::MAX),
            ..self.head.clone()
        }));
        if let Some(faults) = &self.faults {
            add(&Line::Faults(faults));
        }
        if let Some(power) = &self.power {
            add(&Line::Power(power));
        }
        for question in &self.questions {
            add(&Line::Question(&without_profiles(question)));
            question
                .cells
                .iter()
                .for_each(|cell| add(&Line::Cell(cell)));
        }
        text
    }

    /// Reads the text of a file. Everything that reports and commands rely on is checked here.
    pub fn read(text: &str) -> Result<Self, AtlasError> {
        let mut lines = (1..).zip(text.lines());
        let Some((_, first)) = lines.next() else {
            return Err(whole("the file is empty"));
        };
        let head = head(first).map_err(at(1))?;
        let mut atlas = Self {
            head,
            faults: None,
            power: None,
            questions: Vec::new(),
        };
        let mut names = BTreeSet::new();
        let mut cells = 0;
        for (number, line) in lines {
            let line: Line<IgnoredAny, AtlasFaults, AtlasPower, Question, AtlasCell> =
                serde_json::from_str(line).map_err(|error| at(number)(in_line(&error)))?;
            match line {
                Line::Atlas(_) => return Err(at(number)("a second head".to_owned())),
                Line::Faults(faults) => {
                    faults.check().map_err(at(number))?;
                    if atlas.faults.replace(faults).is_some() {
                        let why = "a second list of tests with faulty disks";
                        return Err(at(number)(why.to_owned()));
                    }
                }
                Line::Power(power) => {
                    power.check().map_err(at(number))?;
                    if atlas.power.replace(power).is_some() {
                        return Err(at(number)("a second list of power cuts".to_owned()));
                    }
                }
                Line::Question(mut question) => {
                    add_profiles(&mut question, &atlas.head).map_err(at(number))?;
                    check_question(&question).map_err(at(number))?;
                    if !names.insert(question.name()) {
                        let name = question.name();
                        return Err(at(number)(format!("a second question {name}")));
                    }
                    atlas.questions.push(question);
                }
                Line::Cell(cell) => {
                    let question = atlas.questions.last_mut();
                    let question = question
                        .ok_or_else(|| at(number)("a cell before any question".to_owned()))?;
                    check_cell(&cell, question).map_err(at(number))?;
                    question.cells.push(cell);
                    cells += 1;
                }
            }
        }
        if cells != atlas.head.cells {
            let planned = atlas.head.cells;
            return Err(whole(format!(
                "it has {cells} cells, and its head says {planned}: a part of the file is missing"
            )));
        }
        for question in &atlas.questions {
            check_complete(question).map_err(whole)?;
        }
        Ok(atlas)
    }
}

fn whole(why: impl Into<String>) -> AtlasError {
    let why = why.into();
    AtlasError { line: None, why }
}

fn at(line: usize) -> impl Fn(String) -> AtlasError {
    move |why| AtlasError {
        line: Some(line),
        why,
    }
}

/// An error of JSON in a line of the file, whose number is known.
fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", ", column ")
}

/// The head, by its first line. A file of a later version is known by its number.
fn head(line: &str) -> Result<Head, String> {
    #[derive(Deserialize)]
    struct Format {
        format: u32,
    }
    #[derive(Deserialize)]
    struct First {
        atlas: Format,
    }
    let first: First = serde_json::from_str(line)
        .map_err(|error| format!("no head of an atlas: {}", in_line(&error)))?;
    let format = first.atlas.format;
    if format != FORMAT {
        return Err(format!(
            "format {format} of the atlas, and this version of fsdyno reads format {FORMAT}"
        ));
    }
    match serde_json::from_str(line) {
        Ok(Line::<Head, IgnoredAny, IgnoredAny, IgnoredAny, IgnoredAny>::Atlas(head)) => Ok(head),
        Ok(_) => Err("no head of an atlas".to_owned()),
        Err(error) => Err(in_line(&error)),
    }
}

/// The question without the texts that the head has.
fn without_profiles(question: &Question) -> Question {
    let mut question = question.clone();
    if let Some(disk) = &mut question.plan.disk {
        disk.text.clear();
    }
    if let Some(cpu) = &mut question.plan.cpu {
        cpu.text.clear();
    }
    question
}

/// Adds the texts of the profiles to a plan.
fn add_profiles(question: &mut Question, head: &Head) -> Result<(), String> {
    let missing = |what: &str, name: &str| format!("the head has no profile of the {what} {name}");
    if let Some(disk) = &mut question.plan.disk {
        let text = head.disks.get(&disk.profile);
        disk.text = text.ok_or_else(|| missing("disk", &disk.profile))?.clone();
    }
    if let Some(cpu) = &mut question.plan.cpu {
        let text = head.processors.get(&cpu.profile);
        cpu.text = text
            .ok_or_else(|| missing("processor", &cpu.profile))?
            .clone();
    }
    Ok(())
}

/// Whether a text is the name of a suite or a profile: it names no file.
fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    !text.is_empty() && text.len() <= 100 && text.chars().all(is_plain)
}

fn check_question(question: &Question) -> Result<(), String> {
    let plan = &question.plan;
    for (what, name) in [("work", &question.work), ("disk", &question.disk)] {
        if !is_name(name) {
            return Err(format!("{what}: {name:?} is no name"));
        }
    }
    let disk = plan.disk.as_ref().map(|disk| &disk.profile);
    if !plan.in_virtual_time() || disk != Some(&question.disk) {
        return Err("its plan is not one in virtual time on that disk".to_owned());
    }
    if question.size == 0 || !(question.seconds >= 0.0 && question.seconds < 1e9) {
        return Err("a size or a time of cells that cannot be".to_owned());
    }
    if !(plan.scale > 0.0 && plan.scale < 1e9 && plan.margin > 0.0 && plan.margin < 1.0) {
        return Err("a scale or a margin that cannot be".to_owned());
    }
    if plan.adaptive.is_some() || plan.shard.is_some() || !plan.ends.is_empty() {
        return Err("its plan has no fixed number of draws".to_owned());
    }
    check_counts(plan)
}

/// Checks the sizes of a plan, and that its names are unique.
fn check_counts(plan: &Plan) -> Result<(), String> {
    let phases = plan.workloads.iter().map(|one| one.phases.len());
    let most_phases = phases.max().unwrap_or(0);
    let counts = [
        ("contenders", plan.contenders.len(), CONTENDERS),
        ("workloads", plan.workloads.len(), WORKLOADS),
        ("phases", most_phases, PHASES),
        ("draws", plan.repeats as usize, DRAWS as usize),
    ];
    for (what, count, most) in counts {
        if !(1..=most).contains(&count) {
            return Err(format!("{count} {what}: an atlas has 1 to {most}"));
        }
    }
    let labels = plan.contenders.iter().map(|one| one.label.as_str());
    let workloads = plan.workloads.iter().map(|one| one.name.as_str());
    let of_phases = |one: &Workload| are_unique(one.phases.iter().map(|phase| &*phase.label));
    if are_unique(labels) && are_unique(workloads) && plan.workloads.iter().all(of_phases) {
        return Ok(());
    }
    Err("two contenders, workloads or phases of one name".to_owned())
}

fn are_unique<'a>(mut names: impl Iterator<Item = &'a str>) -> bool {
    let mut seen = BTreeSet::new();
    names.all(|name| seen.insert(name))
}

fn check_cell(cell: &AtlasCell, question: &Question) -> Result<(), String> {
    let plan = &question.plan;
    if cell.of != question.name() {
        let name = question.name();
        return Err(format!("a cell of {} among those of {name}", cell.of));
    }
    let mut contenders = plan.contenders.iter();
    let workload = question.workload(&cell.workload);
    let (Some(workload), true) = (
        workload,
        contenders.any(|one| one.label == cell.contender)
            && (1..=plan.repeats).contains(&cell.draw),
    ) else {
        return Err("a cell that its plan does not have".to_owned());
    };
    let phases = &plan.workloads[workload].phases;
    let mut places = Vec::new();
    for phase in &cell.phases {
        let place = phases.iter().position(|one| one.label == phase.phase);
        places.push(place.ok_or_else(|| format!("no phase {} in its plan", phase.phase))?);
        let time = |time: Nanos| time.0;
        let work = &phase.work;
        let all = [
            time(phase.return_ns),
            phase.durable_ns.map_or(0, time),
            work.files,
            work.directories,
            work.bytes.0,
            work.calls,
            work.matches,
        ];
        if let Some(large) = all.into_iter().find(|one| *one > LARGEST) {
            return Err(format!("{large} is larger than {LARGEST}"));
        }
    }
    if !places.is_sorted_by(|a, b| a < b) {
        return Err("its phases are not in the order of the plan".to_owned());
    }
    let is_digest =
        |digest: &String| digest.len() == 16 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    if cell.ended.is_none() && !cell.digest.as_ref().is_some_and(is_digest) {
        return Err("a measured cell without digest".to_owned());
    }
    Ok(())
}

/// Refuses a question that lacks cells, or has one twice.
fn check_complete(question: &Question) -> Result<(), String> {
    let cells = question.cells.iter();
    let names: BTreeSet<_> = cells
        .map(|cell| (&cell.contender, &cell.workload, cell.draw))
        .collect();
    let planned = question.plan.cells();
    if names.len() == question.cells.len() && names.len() as u64 == planned {
        return Ok(());
    }
    Err(format!(
        "{} has {} different cells, and its plan has {planned}",
        question.name(),
        names.len()
    ))
}
