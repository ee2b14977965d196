//! A workload as a file in TOML. Errors have their place in the text.

use super::each::{Each, Only, Slice};
use super::error::WorkError;
use super::expression::{Values, evaluate};
use super::names::{NamedPath, Template};
use super::relation::Relation;
use super::step::{Call, FORMS, Offset, Pick, Place, Step, StepReader};
use super::{End, FileSet, Group, MOST_FILES, MOST_WORKERS, Node, What, Work};
use fsdyno_datasets::distribution::Distribution;
use fsdyno_model::units::{Bytes, Nanos, percent};
use fsdyno_model::{ShortOr, closest_name};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;
use toml::{Spanned, Value};

/// The maximum length of one system call.
const LARGEST_BLOCK: u64 = 64 << 20;
/// The alignment of direct I/O.
const SECTOR: usize = 4096;

/// A whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    pub title: Option<String>,
    judge: Option<String>,
    #[serde(default)]
    pub parameters: Vec<ParameterTable>,
    #[serde(default)]
    directories: Vec<Spanned<String>>,
    files: Vec<Spanned<FilesTable>>,
    #[serde(default)]
    pub workers: Vec<Spanned<WorkersTable>>,
    #[serde(default)]
    pub phases: Vec<PhaseTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParameterTable {
    pub name: Spanned<String>,
    pub about: String,
    /// A number, or a size as text.
    pub default: Spanned<Value>,
    /// The number of which it is a multiple at every scale; none if the scale does not change it.
    pub scaled: Option<u64>,
    pub most: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PhaseTable {
    pub name: Spanned<String>,
    pub about: String,
    /// The phases that leave its files.
    #[serde(default)]
    pub after: Vec<Spanned<String>>,
    pub workers: Vec<Spanned<WorkersTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesTable {
    name: Spanned<String>,
    count: Spanned<Value>,
    size: Option<Spanned<String>>,
    present: Option<Spanned<String>>,
    width: Option<Spanned<Value>>,
    depth: Option<Spanned<Value>>,
    directories: Option<Spanned<String>>,
    prefix: Option<Spanned<String>>,
    suffix: Option<Spanned<String>>,
    #[serde(default)]
    of: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    names: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    spread: bool,
    seed: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WorkersTable {
    count: Option<Spanned<Value>>,
    #[serde(default)]
    begin: Vec<Entry>,
    steps: Spanned<Vec<Entry>>,
    operations: Option<Spanned<Value>>,
    bytes: Option<Spanned<String>>,
    loops: Option<Spanned<Value>>,
    time: Option<Spanned<String>>,
}

type Entry = Spanned<ShortOr<StepTable>>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepTable {
    #[serde(rename = "do")]
    line: Option<Spanned<String>>,
    steps: Option<Spanned<Vec<Entry>>>,
    transaction: Option<Spanned<Vec<Entry>>>,
    each: Option<Spanned<String>>,
    on: Option<Spanned<String>>,
    found: Option<Vec<Entry>>,
    absent: Option<Vec<Entry>>,
    weight: Option<Spanned<Value>>,
    repeat: Option<Spanned<Value>>,
    block: Option<Spanned<String>>,
    think: Option<Spanned<String>>,
    every: Option<Spanned<String>>,
    #[serde(default)]
    direct: bool,
    #[serde(default)]
    dsync: bool,
}

type Checked<T> = Result<T, WorkError>;

impl FromStr for Document {
    type Err = WorkError;

    fn from_str(text: &str) -> Checked<Self> {
        parse_toml(text)
    }
}

/// Reads a file in TOML. The error has its place in the text.
pub(crate) fn parse_toml<T: DeserializeOwned>(text: &str) -> Checked<T> {
    toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        WorkError::new(span, error.message().to_owned(), nearest(error.message()))
    })
}

impl Document {
    /// The workload of these workers, with these values of the parameters.
    pub fn work(&self, workers: &[Spanned<WorkersTable>], values: &Values) -> Checked<Work> {
        let mut work = Work {
            title: self.title.clone(),
            judge: self.judge.clone(),
            directories: Vec::new(),
            variables: Vec::new(),
            sets: Vec::new(),
            names: Vec::new(),
            groups: Vec::new(),
        };
        for table in &self.files {
            work.add_set(table.get_ref(), values)?;
        }
        for (set, table) in self.files.iter().enumerate() {
            for (name, path) in &table.get_ref().names {
                let picked = work.sets.iter().filter(|set| !set.looped);
                let known = picked.map(|set| &set.name);
                let mut known = known.chain(work.names.iter().map(|one| &one.name));
                if known.any(|known| known == name) {
                    let message = format!("two files are named `{name}`");
                    return Err(WorkError::new(
                        path.span(),
                        message,
                        "give one another name",
                    ));
                }
                let path = work.template(path)?;
                work.names.push(NamedPath {
                    name: name.clone(),
                    set,
                    directory: path.directory(),
                    path,
                });
            }
        }
        for directory in &self.directories {
            let template = work.template(directory)?;
            let domain = |variable| work.relation(variable).is_none();
            if template.variables().any(domain) {
                return Err(WorkError::new(
                    directory.span(),
                    "each variable of a directory is a relation of one set",
                    "write for example of = { day = \"50 each\" } in the table of the files",
                ));
            }
            work.directories.push(template);
        }
        if workers.is_empty() {
            let help = "write [[workers]] with their steps";
            return Err(WorkError::new(0..0, "there are no workers", help));
        }
        for table in workers {
            let group = group(table.get_ref(), &mut work, values)?;
            work.groups.push(group);
        }
        let spans: Vec<_> = workers
            .iter()
            .map(|table| table.get_ref().steps.span())
            .collect();
        let uses = work.groups.iter().zip(&spans).map(|(group, span)| {
            let uses = group.descriptor_uses();
            uses.map_err(|(what, help)| WorkError::new(span.clone(), what, help))
        });
        let uses: Vec<_> = uses.collect::<Checked<_>>()?;
        work.set_access(&uses);
        work.check_ends(&spans)?;
        work.check_uses(&spans, &uses)?;
        Ok(work)
    }
}

impl Work {
    /// The number of a variable, which is new if it is not known.
    fn variable(&mut self, name: &str) -> usize {
        let known = self.variables.iter().position(|one| one == name);
        known.unwrap_or_else(|| {
            self.variables.push(name.to_owned());
            self.variables.len() - 1
        })
    }

    fn add_set(&mut self, table: &FilesTable, values: &Values) -> Checked<()> {
        let mut set = file_set(table, values)?;
        if self.sets.iter().any(|before| before.name == set.name) {
            let message = format!("two sets of files are named `{}`", set.name);
            return Err(WorkError::new(
                table.name.span(),
                message,
                "give one another name",
            ));
        }
        set.variable = self.variable(&set.name);
        for (name, text) in &table.of {
            let target = self.sets.iter().position(|before| before.name == *name);
            let variable = self.variable(name);
            let relation = Relation::read(text.get_ref(), values, variable, target);
            let relation = relation.map_err(|message| WorkError::new(text.span(), message, ""));
            set.relations.push(relation?);
        }
        self.sets.push(set);
        Ok(())
    }

    fn template(&mut self, text: &Spanned<String>) -> Checked<Template> {
        let template = Template::read(text.get_ref(), |name| self.variable(name));
        template.map_err(|message| WorkError::new(text.span(), message, ""))
    }

    /// The set and the place of the only relation with this variable.
    pub(super) fn relation(&self, variable: usize) -> Option<(usize, usize)> {
        let mut all = self.sets.iter().enumerate().filter_map(|(set, files)| {
            let mut relations = files.relations.iter();
            let place = relations.position(|relation| relation.variable == variable)?;
            Some((set, place))
        });
        all.next().filter(|_| all.next().is_none())
    }

    /// The variables that have a value while a loop is at a file of this set.
    fn bound(&self, set: usize) -> Vec<usize> {
        let FileSet {
            variable,
            relations,
            ..
        } = &self.sets[set];
        let mut bound = vec![*variable];
        for relation in relations {
            bound.push(relation.variable);
            bound.extend(relation.target.into_iter().flat_map(|set| self.bound(set)));
        }
        bound
    }
}

/// The nearest key of a message about an unknown one.
fn nearest(message: &str) -> String {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((name, known)) if message.starts_with("unknown field") => {
            let near = closest_name(name, known.iter().copied());
            near.first()
                .map_or_else(String::new, |near| format!("did you mean `{near}`?"))
        }
        _ => String::new(),
    }
}

/// A number within bounds, or an expression of parameters, which is at least 1.
fn number(
    value: Option<&Spanned<Value>>,
    values: &Values,
    usual: u64,
    bounds: RangeInclusive<u64>,
) -> Checked<u64> {
    let Some(value) = value else {
        return Ok(usual);
    };
    let number = match value.get_ref() {
        Value::Integer(number) => {
            u64::try_from(*number).map_err(|_| format!("{number} is out of range"))
        }
        Value::String(text) => evaluate(text, values).map(|number| number.max(1)),
        other => Err(format!(
            "this is a {}, and no whole number",
            other.type_str()
        )),
    };
    let number = number.and_then(|number| {
        let fits = bounds.contains(&number);
        fits.then_some(number)
            .ok_or_else(|| format!("{number} is out of range"))
    });
    number.map_err(|message| {
        let (least, most) = bounds.into_inner();
        let help = format!("write a whole number from {least} to {most}");
        WorkError::new(value.span(), message, help)
    })
}

/// A value that its type reads.
fn parsed<T: FromStr<Err: std::fmt::Display>>(value: &Spanned<String>) -> Checked<T> {
    let read = value.get_ref().parse();
    read.map_err(|error: T::Err| WorkError::new(value.span(), error.to_string(), ""))
}

fn few(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A part of a path: letters, digits and signs that every file system can store.
fn name(value: &Spanned<String>, may_be_empty: bool) -> Checked<String> {
    let text = value.get_ref();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=+".contains(c);
    let fits = text.len() <= 40 && text.chars().all(is_plain);
    if fits && (may_be_empty || !text.is_empty() && !text.starts_with('.')) {
        return Ok(text.clone());
    }
    Err(WorkError::new(
        value.span(),
        format!("`{text}` is no part of a file name"),
        "write up to 40 letters, digits and `-_.,=+`",
    ))
}

fn file_set(table: &FilesTable, values: &Values) -> Checked<FileSet> {
    let part = |value: &Option<Spanned<String>>, usual: &str, empty| match value {
        Some(value) => name(value, empty),
        None => Ok(usual.to_owned()),
    };
    let looped = !(table.names.is_empty() && table.of.is_empty());
    let present = match &table.present {
        None if looped => 0.0,
        None => 1.0,
        Some(value) => percent(value.get_ref())
            .ok()
            .filter(|part| (0.0..=1.0).contains(part))
            .ok_or_else(|| {
                let message = format!("`{}` is no part of the files", value.get_ref());
                WorkError::new(value.span(), message, "write for example \"80%\"")
            })?,
    };
    let own_directories = match &table.directories {
        None => false,
        Some(value) => match value.get_ref().as_str() {
            "shared" => false,
            "own" => true,
            other => {
                let message = format!("`{other}` is no choice of directories");
                return Err(WorkError::new(
                    value.span(),
                    message,
                    "write `shared` or `own`",
                ));
            }
        },
    };
    let width = table
        .width
        .as_ref()
        .map(|width| number(Some(width), values, 0, 1..=MOST_FILES));
    let size = match &table.size {
        Some(size) if values.contains_key(size.get_ref()) => {
            Distribution::Fixed(values[size.get_ref()])
        }
        Some(size) => parsed(size)?,
        None => "0"
            .parse()
            .map_err(|error: String| WorkError::new(0..0, error, ""))?,
    };
    Ok(FileSet {
        name: name(&table.name, false)?,
        count: few(number(Some(&table.count), values, 0, 0..=MOST_FILES)?),
        present,
        size,
        width: width.transpose()?.map(few),
        depth: few(number(table.depth.as_ref(), values, 1, 1..=16)?),
        own_directories,
        prefix: part(&table.prefix, "f", true)?,
        suffix: part(&table.suffix, "", true)?,
        divided: false,
        looped,
        variable: 0,
        relations: Vec::new(),
        spread: table.spread,
        seed: table.seed.clone(),
    })
}

fn group(table: &WorkersTable, work: &mut Work, values: &Values) -> Checked<Group> {
    let mut reader = Reader {
        work,
        values,
        bound: Vec::new(),
        transactions: 0,
        in_transaction: false,
        descriptors: Vec::new(),
        steps: Vec::new(),
    };
    let begin = reader.nodes(&table.begin, 0)?;
    let list = reader.nodes(table.steps.get_ref(), 0)?;
    if list.is_empty() {
        let help = format!("write for example \"{}\"", FORMS[0].2);
        return Err(WorkError::new(
            table.steps.span(),
            "there are no steps",
            help,
        ));
    }
    let count = |value: &Option<Spanned<Value>>| {
        let value = value.as_ref();
        value
            .map(|value| number(Some(value), values, 0, 1..=u64::MAX >> 16))
            .transpose()
    };
    let end = End {
        operations: count(&table.operations)?,
        loops: count(&table.loops)?,
        bytes: table
            .bytes
            .as_ref()
            .map(parsed::<Bytes>)
            .transpose()?
            .map(|bytes| bytes.0),
        time: table.time.as_ref().map(parsed::<Nanos>).transpose()?,
    };
    let is_loop = |node: &Node| matches!(node.what, What::Each(..));
    Ok(Group {
        once: end == End::default() && list.iter().any(is_loop),
        transactions: reader.transactions > 0,
        workers: few(number(table.count.as_ref(), values, 1, 1..=MOST_WORKERS)?),
        descriptors: reader.descriptors,
        steps: reader.steps,
        begin,
        list,
        end,
    })
}

/// Reads the steps of a group.
struct Reader<'a> {
    work: &'a mut Work,
    values: &'a Values,
    /// The variables that have a value here.
    bound: Vec<usize>,
    transactions: u32,
    in_transaction: bool,
    descriptors: Vec<String>,
    steps: Vec<Step>,
}

impl Reader<'_> {
    fn nodes(&mut self, entries: &[Entry], depth: u32) -> Checked<Vec<Node>> {
        let mut nodes = Vec::new();
        for entry in entries {
            let node = match entry.get_ref() {
                ShortOr::Short(line) => self.step(line, entry.span(), None)?,
                ShortOr::Long(table) => self.table(table, entry.span(), depth)?,
            };
            nodes.push(node);
        }
        let weighted = nodes.iter().filter(|node| node.weight > 0).count();
        if let (true, Some(entry)) = (weighted > 0 && weighted < nodes.len(), entries.first()) {
            return Err(WorkError::new(
                entry.span(),
                "some of these steps have a weight, and some have none",
                "give all a weight, and one of them is drawn; or none, and all are done in order",
            ));
        }
        Ok(nodes)
    }

    fn table(&mut self, table: &StepTable, span: Range<usize>, depth: u32) -> Checked<Node> {
        let outside = self.bound.len();
        let only = table.on.as_ref().map(|on| self.only(on)).transpose()?;
        let each = table
            .each
            .as_ref()
            .map(|each| self.each(each))
            .transpose()?;
        let what = match (&table.line, &table.steps, &table.transaction) {
            (Some(line), None, None) => self.step(line.get_ref(), line.span(), Some(table))?.what,
            (None, Some(steps), None) if depth < 8 => {
                What::Nodes(self.nodes(steps.get_ref(), depth + 1)?)
            }
            (None, None, Some(steps)) if depth < 8 && !self.in_transaction => {
                self.in_transaction = true;
                self.transactions += 1;
                let nodes = self.nodes(steps.get_ref(), depth + 1)?;
                self.in_transaction = false;
                What::Transaction(nodes)
            }
            _ => {
                return Err(WorkError::new(
                    span,
                    "this is neither one step nor a list of steps",
                    "write { do = \"stat FILES\" }, { steps = [...] } or { transaction = [...] }",
                ));
            }
        };
        let follows = match (&table.found, &table.absent) {
            (None, None) => None,
            (Some(nodes), None) => Some((true, nodes)),
            (None, Some(nodes)) => Some((false, nodes)),
            (Some(_), Some(_)) => {
                let what = "a step has both `found` and `absent`";
                return Err(WorkError::new(span, what, "write one of them"));
            }
        };
        let what = match (follows, what) {
            (None, what) => what,
            (Some((expected, nodes)), What::Step(number))
                if self.steps[number].call == Call::Lookup && depth < 8 =>
            {
                self.steps[number].expects = Some(expected);
                What::Branch(number, self.nodes(nodes, depth + 1)?)
            }
            _ => {
                let what = "only a step `lookup` finds a file";
                return Err(WorkError::new(span, what, "write do = \"lookup FILES\""));
            }
        };
        let what = match each {
            None => what,
            Some(each) => What::Each(
                each,
                vec![Node {
                    what,
                    ..Node::single(0)
                }],
            ),
        };
        self.bound.truncate(outside);
        Ok(Node {
            weight: few(number(
                table.weight.as_ref(),
                self.values,
                0,
                1..=1_000_000,
            )?),
            repeat: few(number(table.repeat.as_ref(), self.values, 1, 1..=1 << 30)?),
            only,
            what,
        })
    }

    /// A loop: `mail`, `mail[::2]`, `above in layer[:layer:-1]`.
    fn each(&mut self, text: &Spanned<String>) -> Checked<Each> {
        let wrong = |message: String, help: &str| WorkError::new(text.span(), message, help);
        let (alias, list) = match text.get_ref().split_once(" in ") {
            Some((alias, list)) => (Some(alias.trim()), list),
            None => (None, text.get_ref().as_str()),
        };
        let (name, slice) = self.slice(list, text)?;
        let variable = self.work.variables.iter().position(|one| one == name);
        let set = self
            .work
            .sets
            .iter()
            .position(|set| set.name == name && set.looped);
        let relation = variable.and_then(|variable| self.work.relation(variable));
        let (set, relation) = match (set, relation) {
            (Some(set), _) => (set, None),
            (None, Some((set, relation))) => (set, Some(relation)),
            (None, None) => {
                let sets = self.work.sets.iter().filter(|set| set.looped);
                let mut known: Vec<&str> = sets.map(|set| set.name.as_str()).collect();
                let relations = self.work.sets.iter().flat_map(|set| &set.relations);
                known.extend(relations.map(|one| self.work.variables[one.variable].as_str()));
                let message = format!("`{name}` is neither a set with names nor a relation of one");
                let help = match closest_name(name, known.iter().copied()).first() {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are {}", known.join(", ")),
                };
                return Err(wrong(message, &help));
            }
        };
        let variable = match (alias, variable) {
            (None, Some(variable)) => variable,
            (alias, _) => {
                let alias = alias.unwrap_or(name).to_owned();
                self.work.variable(&alias)
            }
        };
        if relation.is_none() && alias.is_none() {
            self.bound.extend(self.work.bound(set));
        }
        self.bound.push(variable);
        Ok(Each {
            set,
            relation,
            variable,
            slice,
        })
    }

    /// The part of a loop: `mail[3::8]`, `not mail[3::8]`.
    fn only(&mut self, text: &Spanned<String>) -> Checked<Only> {
        let whole = text.get_ref().trim();
        let (list, others) = match whole.strip_prefix("not ") {
            Some(list) => (list, true),
            None => (whole, false),
        };
        let (name, slice) = self.slice(list, text)?;
        let variable = self.work.variables.iter().position(|one| one == name);
        let variable = variable.filter(|variable| self.bound.contains(variable));
        let variable = variable.ok_or_else(|| {
            let message = format!("no loop around this step goes through `{name}`");
            WorkError::new(text.span(), message, "write it inside of each = \"...\"")
        })?;
        Ok(Only {
            variable,
            slice,
            others,
        })
    }

    /// The name and the slice of `NAME[FROM:TO:STEP]`.
    fn slice<'t>(&self, list: &'t str, text: &Spanned<String>) -> Checked<(&'t str, Slice)> {
        let variable = |name: &str| {
            let variable = self.work.variables.iter().position(|one| one == name);
            variable.filter(|variable| self.bound.contains(variable))
        };
        let slice = Slice::read(list, variable);
        slice.map_err(|message| WorkError::new(text.span(), message, ""))
    }

    /// Refuses a name whose variables have no value here.
    fn check_bound(&self, step: &Step, span: &Range<usize>) -> Checked<()> {
        let names = &self.work.names;
        let of_place = match step.place {
            Place::Named {
                name,
                directory: true,
            } => Some(&names[name].directory),
            Place::Named { name, .. } => Some(&names[name].path),
            _ => None,
        };
        let to = step.to_name.map(|name| &names[name].path);
        let offset = match step.offset {
            Some(Offset::Variable(variable)) => Some(variable),
            _ => None,
        };
        let templates = of_place.into_iter().chain(to);
        let mut variables = templates.flat_map(Template::variables).chain(offset);
        match variables.find(|variable| !self.bound.contains(variable)) {
            None => Ok(()),
            Some(variable) => {
                let name = &self.work.variables[variable];
                let message = format!("`{}`: `{name}` has no value here", step.text);
                let help = format!("write it inside of each = \"{name}\"");
                Err(WorkError::new(span.clone(), message, help))
            }
        }
    }

    fn step(&mut self, line: &str, span: Range<usize>, more: Option<&StepTable>) -> Checked<Node> {
        let mut reader = StepReader {
            sets: &self.work.sets,
            names: &self.work.names,
            variables: &self.work.variables,
            descriptors: &mut self.descriptors,
        };
        let step = reader.read(line);
        let mut step = step.map_err(|message| WorkError::new(span.clone(), message, ""))?;
        self.check_bound(&step, &span)?;
        if let Some(table) = more {
            if let Some(block) = &table.block {
                let bytes: Bytes = parsed(block)?;
                let fits = (1..=LARGEST_BLOCK).contains(&bytes.0);
                step.block = usize::try_from(bytes.0)
                    .ok()
                    .filter(|_| fits)
                    .ok_or_else(|| {
                        let message = format!("{bytes} is no length of one system call");
                        WorkError::new(block.span(), message, "write 1 to 64M")
                    })?;
            }
            if let Some(think) = &table.think {
                step.think = parsed::<Nanos>(think)?.0;
            }
            if let Some(every) = &table.every {
                step.every = parsed::<Nanos>(every)?.0;
            }
            (step.direct, step.dsync) = (table.direct, table.dsync);
            if step.direct {
                step.block = step.block.next_multiple_of(SECTOR);
            }
        }
        self.steps.push(step);
        Ok(Node::single(self.steps.len() - 1))
    }
}

impl Node {
    /// One step, once.
    fn single(step: usize) -> Self {
        Self {
            weight: 0,
            repeat: 1,
            only: None,
            what: What::Step(step),
        }
    }
}

/// What is wrong, and the remedy.
type Mistake = (String, &'static str);

impl Work {
    /// Divides the sets among the workers whose files change their names or shrink, and finds how each
    /// file is used that a step opens. `uses` are pairs of a step that opens a file, and a step that
    /// uses its descriptor, of each group.
    fn set_access(&mut self, uses: &[Vec<(usize, usize)>]) {
        let set_of = |step: &Step| match step.place {
            Place::Files { set, .. } => Some(set),
            _ => None,
        };
        for (group, uses) in self.groups.iter().zip(uses) {
            let by_descriptor = uses
                .iter()
                .map(|(opens, uses)| (&group.steps[*opens], *uses));
            let by_name = group
                .steps
                .iter()
                .enumerate()
                .map(|(number, step)| (step, number));
            for (opened, number) in by_descriptor.chain(by_name) {
                let step = &group.steps[number];
                if step.call.changes_names() {
                    let to = step.to.map(|(set, _)| set);
                    for set in set_of(opened).into_iter().chain(to) {
                        self.sets[set].divided = true;
                    }
                }
            }
        }
        for (group, uses) in self.groups.iter_mut().zip(uses) {
            let own = (0..group.steps.len()).map(|number| (number, number));
            for (opens, uses) in own.chain(uses.iter().copied()) {
                let call = group.steps[uses].call;
                let set = set_of(&group.steps[opens]);
                let shared = set.is_some_and(|set| !self.sets[set].divided);
                // Files that a worker has alone are extended at offsets that are known.
                let appends = call == Call::Append && shared;
                let access = &mut group.steps[opens].access;
                access.reads |= call == Call::Read;
                access.writes |= call.writes() && call != Call::Rename && call != Call::Link;
                access.appends |= appends;
                access.positioned |= matches!(call, Call::Read | Call::Write | Call::Truncate);
                group.steps[uses].access.appends |= appends;
            }
        }
    }

    /// Workers need an end.
    fn check_ends(&self, spans: &[Range<usize>]) -> Checked<()> {
        let makes = |set: usize| {
            let steps = self.groups.iter().flat_map(|group| &group.steps);
            steps.into_iter().any(|step| {
                let is_set = matches!(step.place, Place::Files { set: of, .. } if of == set);
                step.call == Call::Create && is_set || step.to.is_some_and(|(to, _)| to == set)
            })
        };
        for (group, span) in self.groups.iter().zip(spans) {
            let uses_up = group.list.iter().any(|node| {
                let What::Step(number) = node.what else {
                    return false;
                };
                match &group.steps[number] {
                    Step {
                        call: Call::Unlink | Call::Rename,
                        place: Place::Files { set, .. },
                        ..
                    } => node.weight == 0 && !makes(*set),
                    _ => false,
                }
            });
            if group.end == End::default() && !group.once && !uses_up {
                return Err(WorkError::new(
                    span.clone(),
                    "these workers have no end",
                    "write operations = 10000, loops = 100, bytes = \"1G\" or time = \"60s\"",
                ));
            }
        }
        Ok(())
    }

    /// Refuses steps whose files cannot be used so.
    fn check_uses(&self, spans: &[Range<usize>], uses: &[Vec<(usize, usize)>]) -> Checked<()> {
        for ((group, span), uses) in self.groups.iter().zip(spans).zip(uses) {
            let wrong = |step: &Step, what: String, help: &str| {
                let message = format!("`{}`: {what}", step.text);
                WorkError::new(span.clone(), message, help)
            };
            for (number, step) in group.steps.iter().enumerate() {
                if step.keep.is_some() && step.call == Call::Create && step.access.reads {
                    return Err(wrong(
                        step,
                        "the descriptor of a new file is for writing".to_owned(),
                        "close it, and open the file to read it",
                    ));
                }
                let writes = |(opens, uses): &&(usize, usize)| {
                    *opens == number && group.steps[*uses].call == Call::Write
                };
                if step.access.appends
                    && let Some((_, write)) = uses.iter().find(writes)
                {
                    return Err(wrong(
                        &group.steps[*write],
                        "several workers append to these files by the same descriptor".to_owned(),
                        "open the file twice: once to append, once to write",
                    ));
                }
                if let Some((to, Pick::Same)) = step.to {
                    let target = &self.sets[to];
                    let others = self.does(|other| {
                        let creates = other.call == Call::Create;
                        let into = matches!(other.place, Place::Files { set, .. } if set == to);
                        creates && into || other.to == Some((to, Pick::New))
                    });
                    if target.present > 0.0 && target.count > 0 || others {
                        return Err(wrong(
                            step,
                            format!("`{}` may have a file of that name already", target.name),
                            "give it present = \"0%\" and no other new files, or write `new`",
                        ));
                    }
                }
                let is_transfer = step.offset.is_some();
                if is_transfer && step.direct && step.offset != Some(Offset::Random) {
                    let aligned = match step.offset {
                        Some(Offset::At(at)) => at.is_multiple_of(SECTOR as u64),
                        _ => true,
                    };
                    if !aligned {
                        let what = "direct I/O needs offsets in units of 4096 bytes".to_owned();
                        return Err(wrong(step, what, "choose another offset"));
                    }
                }
            }
        }
        Ok(())
    }
}

impl Group {
    /// The steps that open files, each with a step that uses its descriptor. Descriptors must be open
    /// where they are used, and closed before their names are used again.
    fn descriptor_uses(&self) -> Result<Vec<(usize, usize)>, Mistake> {
        let mut open = BTreeMap::new();
        let mut uses = Vec::new();
        self.follow(&self.begin, &mut open, &mut uses)?;
        // In the second pass, files are open that the first one opened.
        for _ in 0..2 {
            let before: BTreeSet<usize> = open.keys().copied().collect();
            self.follow(&self.list, &mut open, &mut uses)?;
            let after: BTreeSet<usize> = open.keys().copied().collect();
            self.unchanged(before.symmetric_difference(&after).next())?;
        }
        uses.sort_unstable();
        uses.dedup();
        Ok(uses)
    }

    /// Follows the steps; `open` has the step that opened each descriptor.
    fn follow(
        &self,
        nodes: &[Node],
        open: &mut BTreeMap<usize, usize>,
        uses: &mut Vec<(usize, usize)>,
    ) -> Result<(), Mistake> {
        for node in nodes {
            let before = open.clone();
            let mut optional = node.weight > 0 || node.repeat > 1 || node.only.is_some();
            match &node.what {
                What::Nodes(nodes) | What::Transaction(nodes) => self.follow(nodes, open, uses)?,
                What::Step(number) => self.follow_step(*number, open, uses)?,
                What::Each(_, nodes) | What::Branch(_, nodes) => {
                    self.follow(nodes, open, uses)?;
                    optional = true;
                }
            }
            if optional {
                let both = before.iter().chain(&*open);
                let changed = both.filter(|(slot, by)| {
                    before.get(slot) != Some(by) || open.get(slot) != Some(by)
                });
                self.unchanged(changed.map(|(slot, _)| slot).next())?;
            }
        }
        Ok(())
    }

    fn follow_step(
        &self,
        number: usize,
        open: &mut BTreeMap<usize, usize>,
        uses: &mut Vec<(usize, usize)>,
    ) -> Result<(), Mistake> {
        let step = &self.steps[number];
        let text = &step.text;
        if let Place::Descriptor(slot) = step.place {
            let Some(opened) = open.get(&slot) else {
                let what = format!("`{text}`: `{}` is not open here", self.descriptors[slot]);
                return Err((what, "open it in a step before"));
            };
            uses.push((*opened, number));
            if step.call == Call::Close {
                open.remove(&slot);
            }
        }
        match step.keep {
            Some(slot) if open.insert(slot, number).is_some() => {
                let what = format!("`{text}`: `{}` is open already", self.descriptors[slot]);
                Err((what, "close it in a step before, or take another name"))
            }
            _ => Ok(()),
        }
    }

    /// The same descriptors are open after steps that are repeated or chosen.
    fn unchanged(&self, changed: Option<&usize>) -> Result<(), Mistake> {
        match changed {
            None => Ok(()),
            Some(slot) => {
                let name = &self.descriptors[*slot];
                let what = format!(
                    "`{name}` is opened or closed in only one of several passes through its steps"
                );
                Err((
                    what,
                    "open and close it in the same list, or open it in `begin`",
                ))
            }
        }
    }
}
