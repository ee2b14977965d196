//! A workload as a file in TOML. Errors have their place in the text.

use super::error::WorkError;
use super::step::{Call, FORMS, Offset, Pick, Place, Step, StepReader};
use super::{End, FileSet, Group, MOST_FILES, MOST_WORKERS, Node, What, Work};
use fsdyno_model::units::{Bytes, Nanos, percent};
use fsdyno_model::{ShortOr, closest_name};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;

/// The maximum length of one system call.
const LARGEST_BLOCK: u64 = 64 << 20;
/// The alignment of direct I/O.
const SECTOR: usize = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: Option<String>,
    judge: Option<String>,
    files: Vec<Spanned<FilesTable>>,
    workers: Vec<Spanned<WorkersTable>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FilesTable {
    name: Spanned<String>,
    count: Spanned<u64>,
    size: Option<Spanned<String>>,
    present: Option<Spanned<String>>,
    width: Option<Spanned<u64>>,
    depth: Option<Spanned<u64>>,
    directories: Option<Spanned<String>>,
    prefix: Option<Spanned<String>>,
    suffix: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkersTable {
    count: Option<Spanned<u64>>,
    #[serde(default)]
    begin: Vec<Entry>,
    steps: Spanned<Vec<Entry>>,
    operations: Option<Spanned<u64>>,
    bytes: Option<Spanned<String>>,
    loops: Option<Spanned<u64>>,
    time: Option<Spanned<String>>,
}

type Entry = Spanned<ShortOr<StepTable>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepTable {
    #[serde(rename = "do")]
    line: Option<Spanned<String>>,
    steps: Option<Spanned<Vec<Entry>>>,
    weight: Option<Spanned<u64>>,
    repeat: Option<Spanned<u64>>,
    block: Option<Spanned<String>>,
    think: Option<Spanned<String>>,
    #[serde(default)]
    direct: bool,
    #[serde(default)]
    dsync: bool,
}

type Checked<T> = Result<T, WorkError>;

impl FromStr for Work {
    type Err = WorkError;

    fn from_str(text: &str) -> Checked<Self> {
        let document: Document = toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..0);
            WorkError::new(span, error.message().to_owned(), nearest(error.message()))
        })?;
        let mut sets: Vec<FileSet> = Vec::new();
        for table in &document.files {
            let set = file_set(table.get_ref())?;
            if sets.iter().any(|before| before.name == set.name) {
                let message = format!("two sets of files are named `{}`", set.name);
                let span = table.get_ref().name.span();
                return Err(WorkError::new(span, message, "give one another name"));
            }
            sets.push(set);
        }
        let names: Vec<String> = sets.iter().map(|set| set.name.clone()).collect();
        let tables = document.workers.iter();
        let groups = tables.map(|table| group(table.get_ref(), &names));
        let groups: Vec<Group> = groups.collect::<Checked<_>>()?;
        let mut work = Self {
            title: document.title,
            judge: document.judge,
            sets,
            groups,
        };
        let spans: Vec<_> = document
            .workers
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

/// A number within bounds.
fn number(value: Option<&Spanned<u64>>, usual: u64, least: u64, most: u64) -> Checked<u64> {
    let Some(value) = value else {
        return Ok(usual);
    };
    let number = *value.get_ref();
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    let help = format!("write a whole number from {least} to {most}");
    Err(WorkError::new(
        value.span(),
        format!("{number} is out of range"),
        help,
    ))
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

fn file_set(table: &FilesTable) -> Checked<FileSet> {
    let part = |value: &Option<Spanned<String>>, usual: &str, empty| match value {
        Some(value) => name(value, empty),
        None => Ok(usual.to_owned()),
    };
    let present = match &table.present {
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
        .map(|width| number(Some(width), 0, 1, MOST_FILES));
    let size = match &table.size {
        Some(size) => parsed(size)?,
        None => "0"
            .parse()
            .map_err(|error: String| WorkError::new(0..0, error, ""))?,
    };
    Ok(FileSet {
        name: name(&table.name, false)?,
        count: few(number(Some(&table.count), 0, 0, MOST_FILES)?),
        present,
        size,
        width: width.transpose()?.map(few),
        depth: few(number(table.depth.as_ref(), 1, 1, 16)?),
        own_directories,
        prefix: part(&table.prefix, "f", true)?,
        suffix: part(&table.suffix, "", true)?,
        divided: false,
    })
}

fn group(table: &WorkersTable, sets: &[String]) -> Checked<Group> {
    let mut reader = Reader {
        sets,
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
    let count = |value: &Option<Spanned<u64>>| {
        let value = value.as_ref();
        value
            .map(|value| number(Some(value), 0, 1, u64::MAX >> 16))
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
    Ok(Group {
        workers: few(number(table.count.as_ref(), 1, 1, MOST_WORKERS)?),
        descriptors: reader.descriptors,
        steps: reader.steps,
        begin,
        list,
        end,
    })
}

/// Reads the steps of a group.
struct Reader<'a> {
    sets: &'a [String],
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
        let node = match (&table.line, &table.steps) {
            (Some(line), None) => self.step(line.get_ref(), line.span(), Some(table))?,
            (None, Some(steps)) if depth < 8 => Node {
                weight: 0,
                repeat: 1,
                what: What::Nodes(self.nodes(steps.get_ref(), depth + 1)?),
            },
            _ => {
                return Err(WorkError::new(
                    span,
                    "this is neither one step nor a list of steps",
                    "write { do = \"stat FILES\" } or { steps = [...] }",
                ));
            }
        };
        let weight = table.weight.as_ref();
        Ok(Node {
            weight: few(number(weight, 0, 1, 1_000_000)?),
            repeat: few(number(table.repeat.as_ref(), 1, 1, 1_000_000)?),
            ..node
        })
    }

    fn step(&mut self, line: &str, span: Range<usize>, more: Option<&StepTable>) -> Checked<Node> {
        let mut reader = StepReader {
            sets: self.sets,
            descriptors: &mut self.descriptors,
        };
        let step = reader.read(line);
        let mut step = step.map_err(|message| WorkError::new(span, message, ""))?;
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
            (step.direct, step.dsync) = (table.direct, table.dsync);
            if step.direct {
                step.block = step.block.next_multiple_of(SECTOR);
            }
        }
        self.steps.push(step);
        Ok(Node {
            weight: 0,
            repeat: 1,
            what: What::Step(self.steps.len() - 1),
        })
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
            if group.end == End::default() && !uses_up {
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
            match &node.what {
                What::Nodes(nodes) => self.follow(nodes, open, uses)?,
                What::Step(number) => self.follow_step(*number, open, uses)?,
            }
            if node.weight > 0 || node.repeat > 1 {
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
