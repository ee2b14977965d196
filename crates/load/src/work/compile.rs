//! The operations of each worker, drawn from a seed. They depend on nothing else: not on the time,
//! and not on what other workers do.

mod loops;

use super::layout::Layout;
use super::relation::Related;
use super::state::{Picked, SetState, space};
use super::step::{Call, Length, Offset, Pick, Place, Step};
use super::{End, FileSet, Group, Node, What, Work};
use fsdyno_crash::operation::WriteKind;
use fsdyno_crash::{Operation, Target};
use fsdyno_datasets::seed::{Seed, Spread};
use fsdyno_model::random::Random;
use loops::At;
use std::ops::Range;
use std::sync::Arc;

/// What a plan adds to a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub seed: u64,
    /// The size, in thousandths of that of the file.
    pub permille: u64,
    /// Operations of each group, instead of its end.
    pub operations: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 1,
            permille: 1000,
            operations: None,
        }
    }
}

/// The offset of a transfer at the position of its descriptor.
pub(crate) const AT_POSITION: u64 = u64::MAX;

/// Instead of a step: a transaction begins after other operations, or ends.
pub(crate) const BEGIN: u32 = u32::MAX - 1;
const END: u32 = u32::MAX;

/// One operation of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Op {
    /// Its step, in the list of its group; [`BEGIN`] or [`END`] of a transaction.
    pub step: u32,
    /// The file, or the directory that the worker made; of a file that loops have selected, the place
    /// of the values of its path.
    pub file: u32,
    /// The new name.
    pub to: u32,
    /// The first byte; of a lookup, the number of the operations after it that may be skipped.
    pub offset: u64,
    pub length: u64,
}

/// Operations, and the values of the variables in their paths.
#[derive(Debug, Default)]
pub(crate) struct Drawn {
    pub ops: Vec<Op>,
    pub values: Vec<u32>,
}

impl Drawn {
    pub fn clear(&mut self) {
        self.ops.clear();
        self.values.clear();
    }
}

/// A workload with the paths of its files and the seeds of its draws.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub work: Work,
    pub layouts: Vec<Layout>,
    seed: Seed,
    /// The seeds of the sets.
    seeds: Vec<Seed>,
    /// The relations of each set.
    related: Vec<Vec<Related>>,
    /// The sets with a choice by popularity.
    zipf: Vec<bool>,
}

impl Compiled {
    pub fn new(work: &Work, settings: &Settings) -> Self {
        let work = work.with(settings);
        let seed = Seed::new(settings.seed);
        let named = |name: &str| name.split('/').fold(seed, Seed::part);
        let seeds = work
            .sets
            .iter()
            .map(|set| named(set.seed.as_ref().unwrap_or(&set.name)));
        let seeds: Vec<Seed> = seeds.collect();
        let related = work.sets.iter().zip(&seeds).map(|(set, seed)| {
            let relations = set.relations.iter().map(|relation| {
                let usual = || seed.part(&work.variables[relation.variable]);
                let seed = relation.seed.as_deref().map_or_else(usual, named);
                Related::new(relation, set.count, seed)
            });
            relations.collect()
        });
        let related = related.collect();
        let workers = work.workers();
        let steps = || work.groups.iter().flat_map(|group| &group.steps);
        let by_popularity = |number| {
            steps().any(|step| match step.place {
                Place::Files { set, pick, .. } => set == number && pick == Pick::Zipf,
                _ => false,
            })
        };
        Self {
            layouts: (work.sets.iter())
                .map(|set| Layout::new(set, workers))
                .collect(),
            zipf: (0..work.sets.len()).map(by_popularity).collect(),
            seed,
            seeds,
            related,
            work,
        }
    }

    /// The size of a file, which depends on its number alone.
    pub fn size(&self, set: usize, file: u32) -> u64 {
        let FileSet { size, spread, .. } = &self.work.sets[set];
        let seed = self.seeds[set];
        if *spread {
            let mut spread = Spread::at(seed, file.into());
            return size.draw_from(&mut || spread.next_u64());
        }
        size.draw(&mut Random::new(seed.at(file.into()).value()))
    }

    /// Gives the variables the values that belong to a file.
    fn bind(&self, set: usize, file: u32, values: &mut [u32]) {
        let files = &self.work.sets[set];
        values[files.variable] = file;
        for (relation, related) in files.relations.iter().zip(&self.related[set]) {
            let value = related.value(file);
            values[relation.variable] = value;
            if let Some(target) = relation.target {
                self.bind(target, value, values);
            }
        }
    }

    /// All directories that exist at the start, each with a final slash.
    pub fn directories(&self) -> Vec<String> {
        let sets = self.layouts.iter().zip(&self.work.sets);
        let sets = sets.filter(|(_, set)| !set.looped);
        let mut all: Vec<String> = sets
            .flat_map(|(layout, _)| layout.directories())
            .cloned()
            .collect();
        for template in &self.work.directories {
            let mut paths = vec![Vec::new()];
            for variable in template.variables() {
                let related = self.work.relation(variable);
                let count = related.map_or(0, |(set, place)| self.related[set][place].values());
                paths = paths
                    .iter()
                    .flat_map(|before| {
                        (0..count).map(move |value| [&before[..], &[value]].concat())
                    })
                    .collect();
            }
            for values in paths {
                let mut path = Vec::new();
                template.put(&values, &mut path);
                path.push(b'/');
                all.push(String::from_utf8_lossy(&path).into_owned());
            }
        }
        all
    }

    /// The part of a share of files that exists at first. The parts of all shares add up.
    fn present(&self, set: usize, share: Range<u32>) -> Range<u32> {
        let part = self.work.sets[set].present;
        let until = |file: u32| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of a `u32`"
            )]
            let whole = (f64::from(file) * part).round() as u32;
            whole
        };
        share.start..share.start + (until(share.end) - until(share.start))
    }

    /// The files of a set that exist at first.
    pub fn first_files(&self, set: usize) -> impl Iterator<Item = u32> + '_ {
        let is_divided = self.work.sets[set].divided;
        let owners = if is_divided { self.work.workers() } else { 1 };
        (0..owners).flat_map(move |owner| self.present(set, self.share(set, owner)))
    }

    /// The files of a set that exist at first, or that loops select.
    pub fn known_files(&self, set: usize) -> Box<dyn Iterator<Item = u32> + '_> {
        let files = &self.work.sets[set];
        if files.looped {
            return Box::new(0..files.count);
        }
        Box::new(self.first_files(set))
    }

    /// The files of a worker; of a set that is not divided, all.
    fn share(&self, set: usize, worker: u32) -> Range<u32> {
        let layout = &self.layouts[set];
        if self.work.sets[set].divided {
            layout.first_of(worker)..layout.first_of(worker + 1)
        } else {
            0..self.work.sets[set].count
        }
    }

    /// The operations of all workers.
    pub fn streams(self: &Arc<Self>) -> Vec<Stream> {
        let mut first = 0;
        let mut streams = Vec::new();
        for (number, group) in self.work.groups.iter().enumerate() {
            for within in 0..group.workers {
                streams.push(Stream::new(self, number, first + within, within));
            }
            first += group.workers;
        }
        streams
    }

    /// The bytes on a device at most, of all files, with the operations of `streams`.
    pub fn space(&self, streams: &[Stream]) -> u64 {
        let mut bytes = 0;
        for (set, files) in self.work.sets.iter().enumerate() {
            if !files.divided {
                bytes += self
                    .first_files(set)
                    .map(|file| space(self.size(set, file)))
                    .sum::<u64>();
            }
        }
        let peaks = streams.iter().map(|stream| {
            let divided = stream.states.iter().flatten().map(|state| state.peak);
            divided.sum::<u64>() + stream.appended
        });
        bytes + peaks.sum::<u64>()
    }

    /// Appends the path of an operation: of its file, or of a directory.
    #[inline]
    pub fn put_path(&self, step: &Step, op: &Op, worker: u32, values: &[u32], into: &mut Vec<u8>) {
        match (step.place, step.call) {
            (Place::Named { name, directory }, _) => {
                let name = &self.work.names[name];
                let template = if directory {
                    &name.directory
                } else {
                    &name.path
                };
                template.put(&values[op.file as usize..], into);
            }
            (Place::Files { set, .. }, Call::Mkdir | Call::Rmdir) => {
                self.layouts[set].put_made(worker, op.file, into);
            }
            (Place::Files { set, directory, .. }, _) => {
                let layout = &self.layouts[set];
                if directory {
                    into.extend_from_slice(layout.directory(op.file).as_bytes());
                } else {
                    layout.put(op.file, into);
                }
            }
            _ => {}
        }
    }

    /// Appends the new name of a file.
    pub fn put_other(&self, step: &Step, op: &Op, values: &[u32], into: &mut Vec<u8>) {
        if let Some((to, _)) = step.to {
            self.layouts[to].put(op.to, into);
        } else if let Some(name) = step.to_name {
            self.work.names[name]
                .path
                .put(&values[op.to as usize..], into);
        }
    }

    /// The path of a file; if it has several names, the first.
    pub fn path(&self, set: usize, file: u32) -> String {
        let mut path = Vec::new();
        let name = self.work.names.iter().find(|name| name.set == set);
        if let Some(name) = name {
            let mut values = vec![0; self.work.variables.len()];
            self.bind(set, file, &mut values);
            let values: Vec<u32> = name.path.variables().map(|one| values[one]).collect();
            name.path.put(&values, &mut path);
        } else {
            self.layouts[set].put(file, &mut path);
        }
        String::from_utf8_lossy(&path).into_owned()
    }
}

/// An open file.
#[derive(Debug, Clone, Copy)]
struct Open {
    set: usize,
    picked: Picked,
    position: u64,
    /// Whether its position in the kernel is the one that is known here: all transfers are appends. Of
    /// a file that loops have selected, whether it is new.
    plain: bool,
    /// Whether loops have selected it; then it has the place of the values of its path.
    named: bool,
}

/// The operations of one worker, drawn pass by pass.
#[derive(Debug)]
pub(crate) struct Stream {
    compiled: Arc<Compiled>,
    pub group: usize,
    pub worker: u32,
    /// Its number among the workers of its group.
    within: u32,
    /// The values of all variables.
    values: Vec<u32>,
    /// The loops around the next step.
    loops_around: Vec<At>,
    /// Whether there were operations outside of transactions since the last one.
    outside: bool,
    /// Where a pass resumes that goes through files: the step, and the value of its loop.
    resume: (usize, usize),
    states: Vec<Option<SetState>>,
    open: Vec<Option<Open>>,
    /// The set and the file of the step before.
    last: Option<(usize, Picked)>,
    random: Random,
    /// This worker's part of the end of its group.
    end: End,
    operations: u64,
    bytes: u64,
    loops: u64,
    /// Bytes that files grow by which no worker has alone.
    appended: u64,
    pub ended: bool,
}

/// A step found no file.
struct NoFile;

impl Stream {
    fn new(compiled: &Arc<Compiled>, group: usize, worker: u32, within: u32) -> Self {
        let work = &compiled.work;
        let the_group = &work.groups[group];
        let workers = u64::from(the_group.workers);
        let share = |all: u64| {
            let until = |number: u32| {
                let part = u128::from(all) * u128::from(number) / u128::from(workers);
                u64::try_from(part).unwrap_or(u64::MAX)
            };
            until(within + 1) - until(within)
        };
        let mut random = Random::new(compiled.seed.part("worker").at(worker.into()).value());
        let states = (0..work.sets.len()).map(|set| {
            let uses = |step: &Step| {
                step.to.is_some_and(|(to, _)| to == set)
                    || matches!(step.place, Place::Files { set: of, .. } if of == set)
            };
            if !the_group.steps.iter().any(uses) {
                return None;
            }
            let divided = work.sets[set].divided;
            let mut shared = Random::new(compiled.seed.part("popularity").value());
            // Workers that share files also share which of them are popular.
            let zipf =
                compiled.zipf[set].then_some(if divided { &mut random } else { &mut shared });
            let share = compiled.share(set, worker);
            Some(SetState::new(
                worker,
                share.clone(),
                compiled.present(set, share),
                (!divided).then(|| compiled.layouts[set].first_of(worker)),
                zipf,
                &|file| compiled.size(set, file),
            ))
        });
        let states: Vec<_> = states.collect();
        Self {
            compiled: Arc::clone(compiled),
            group,
            worker,
            within,
            values: vec![0; work.variables.len()],
            loops_around: Vec::new(),
            outside: true,
            resume: (0, 0),
            states,
            open: vec![None; the_group.descriptors.len()],
            last: None,
            random,
            end: End {
                operations: the_group.end.operations.map(share),
                bytes: the_group.end.bytes.map(share),
                ..the_group.end
            },
            operations: 0,
            bytes: 0,
            loops: 0,
            appended: 0,
            ended: false,
        }
    }

    /// Draws passes until there are at least so many operations, or the worker ends.
    pub fn draw(&mut self, into: &mut Drawn, many: usize) {
        let compiled = Arc::clone(&self.compiled);
        let group = &compiled.work.groups[self.group];
        let goes_through = group
            .list
            .iter()
            .any(|node| matches!(node.what, What::Each(..)));
        while !self.ended && into.ops.len() < many {
            let before = into.ops.len();
            let begin = if self.loops == 0 && self.resume == (0, 0) {
                &group.begin[..]
            } else {
                &[]
            };
            let drawn = self.nodes(group, begin, into).and_then(|()| {
                if goes_through {
                    self.go_through(group, into, many)
                } else {
                    self.nodes(group, &group.list, into).map(|()| true)
                }
            });
            let new = &into.ops[before..];
            let counts = |op: &&Op| !group.transactions || op.step == END;
            self.operations += new.iter().filter(counts).count() as u64;
            if let Ok(false) = drawn {
                return;
            }
            self.loops += 1;
            let reached = |limit: Option<u64>, now| limit.is_some_and(|limit| now >= limit);
            self.ended = drawn.is_err()
                || new.is_empty()
                || group.once
                || reached(self.end.operations, self.operations)
                || reached(self.end.bytes, self.bytes)
                || reached(self.end.loops, self.loops);
        }
    }

    fn nodes(&mut self, group: &Group, nodes: &[Node], into: &mut Drawn) -> Result<(), NoFile> {
        let weights: u64 = nodes.iter().map(|node| u64::from(node.weight)).sum();
        if weights == 0 {
            return nodes
                .iter()
                .try_for_each(|node| self.node(group, node, into));
        }
        let mut drawn = self.random.below(weights);
        for node in nodes {
            if drawn < u64::from(node.weight) {
                return self.node(group, node, into);
            }
            drawn -= u64::from(node.weight);
        }
        Ok(())
    }

    fn node(&mut self, group: &Group, node: &Node, into: &mut Drawn) -> Result<(), NoFile> {
        if !self.is_on(node) {
            return Ok(());
        }
        for _ in 0..node.repeat {
            match &node.what {
                What::Nodes(nodes) => self.nodes(group, nodes, into)?,
                What::Each(each, nodes) => self.each(group, each, nodes, into)?,
                What::Transaction(nodes) => self.transaction(group, nodes, into)?,
                What::Branch(step, nodes) => self.branch(group, *step, nodes, into)?,
                What::Step(number) => self.one(group, *number, into)?,
            }
        }
        Ok(())
    }

    /// Draws one step.
    fn one(&mut self, group: &Group, number: usize, into: &mut Drawn) -> Result<(), NoFile> {
        let step = &group.steps[number];
        // A descriptor is closed before its name is used again.
        if let Some(slot) = step.keep
            && self.open[slot].is_some()
        {
            return Err(NoFile);
        }
        let op = match step.place {
            Place::Named { name, directory } => self.named(step, name, directory, into),
            _ => self.step(step).ok_or(NoFile)?,
        };
        self.bytes += if step.call == Call::Truncate {
            0
        } else {
            op.length
        };
        self.outside = true;
        into.ops.push(Op {
            step: u32::try_from(number).unwrap_or(u32::MAX),
            ..op
        });
        Ok(())
    }

    /// Draws one step; none if it finds no file.
    fn step(&mut self, step: &Step) -> Option<Op> {
        let (set, picked, slot) = match step.place {
            Place::Everything | Place::Named { .. } => return Some(op(0)),
            Place::Descriptor(slot) => {
                let open = self.open[slot]?;
                if open.named && step.call != Call::Close {
                    return Some(self.on_named(step, slot, open));
                }
                (open.set, open.picked, Some(slot))
            }
            Place::Files { set, pick, .. } => match self.place(step, set, pick)? {
                Ok(picked) => (set, picked, None),
                Err(directory) => return Some(op(directory)),
            },
        };
        self.last = Some((set, picked));
        let file = picked.file;
        Some(match step.call {
            Call::Create => {
                let length = picked.size;
                self.keep(step, set, picked, length);
                Op { length, ..op(file) }
            }
            Call::Open => {
                self.keep(step, set, picked, 0);
                op(file)
            }
            Call::Close => {
                self.open[slot?] = None;
                op(file)
            }
            Call::Read if step.length.is_none() => Op {
                length: picked.size,
                ..op(file)
            },
            Call::Read | Call::Write | Call::Append => self.transfer(step, set, picked, slot),
            Call::Truncate => {
                let length = self.length(step, set, file);
                self.resize(set, picked, slot, length);
                Op { length, ..op(file) }
            }
            Call::Rename | Call::Link => {
                let (to_set, pick) = step.to?;
                let to = if pick == Pick::Same {
                    file
                } else {
                    let state = self.states[to_set].as_mut()?;
                    state.new_file(&self.compiled.layouts[to_set])
                };
                if step.call == Call::Rename {
                    self.remove(set, picked.entry?);
                }
                let added = self.states[to_set].as_mut()?.add(to, picked.size);
                self.last = Some((to_set, added));
                Op { to, ..op(file) }
            }
            Call::Unlink => {
                self.remove(set, picked.entry?);
                op(file)
            }
            _ => op(file),
        })
    }

    /// The file of a step in a set, or the empty directory that it makes or removes.
    fn place(&mut self, step: &Step, set: usize, pick: Pick) -> Option<Result<Picked, u32>> {
        let compiled = Arc::clone(&self.compiled);
        let size = |file| compiled.size(set, file);
        let state = self.states[set].as_mut()?;
        Some(match (step.call, pick) {
            (Call::Mkdir, _) => Err(state.make_directory()),
            (Call::Rmdir, pick) => Err(state.remove_directory(pick, &mut self.random)?),
            (_, Pick::New) => {
                let file = state.new_file(&compiled.layouts[set]);
                let length = match &step.length {
                    None => 0,
                    Some(Length::All(factor)) => size(file) * factor,
                    Some(Length::Drawn(drawn)) => drawn.draw(&mut self.random),
                };
                Ok(state.add(file, length))
            }
            (_, Pick::Same) => {
                let (last, picked) = self.last?;
                (last == set).then_some(Ok(picked))?
            }
            (_, pick) => Ok(state.pick(pick, &mut self.random, &size)?),
        })
    }

    fn keep(&mut self, step: &Step, set: usize, picked: Picked, position: u64) {
        if let Some(slot) = step.keep {
            self.open[slot] = Some(Open {
                set,
                picked,
                position,
                plain: !step.access.positioned,
                named: false,
            });
        }
    }

    /// The same, of a file that loops have selected.
    fn keep_named(&mut self, slot: usize, set: usize, place: u32, new: bool) {
        let picked = Picked {
            file: place,
            entry: None,
            size: 0,
        };
        self.open[slot] = Some(Open {
            set,
            picked,
            position: 0,
            plain: new,
            named: true,
        });
    }

    /// A step on the descriptor of a file that loops have selected.
    fn on_named(&mut self, step: &Step, slot: usize, open: Open) -> Op {
        let file = self.values[self.compiled.work.sets[open.set].variable];
        let mut drawn = op(open.picked.file);
        match step.call {
            Call::Read | Call::Write | Call::Append => {
                let mut position = open.position;
                let range = self.range(step, open.set, file, Some(&mut position));
                (drawn.offset, drawn.length) = range;
                if step.call == Call::Append || step.call == Call::Write && open.plain {
                    self.appended += drawn.length;
                }
                if let Some(open) = &mut self.open[slot] {
                    open.position = position;
                }
            }
            Call::Truncate => drawn.length = self.length(step, open.set, file),
            _ => {}
        }
        drawn
    }

    /// A multiple of a length within a file.
    fn random_offset(&mut self, size: u64, length: u64) -> u64 {
        let unit = length.max(1);
        self.random.below((size / unit).max(1)) * unit
    }

    fn length(&mut self, step: &Step, set: usize, file: u32) -> u64 {
        let length = match &step.length {
            None => 0,
            Some(Length::All(factor)) => self.compiled.size(set, file) * factor,
            Some(Length::Drawn(drawn)) => drawn.draw(&mut self.random),
        };
        if step.direct {
            length.next_multiple_of(4096)
        } else {
            length
        }
    }

    fn transfer(&mut self, step: &Step, set: usize, picked: Picked, slot: Option<usize>) -> Op {
        let mut length = self.length(step, set, picked.file);
        let position = slot
            .and_then(|slot| self.open[slot])
            .map(|open| open.position);
        let size = picked.size;
        let is_read = step.call == Call::Read;
        let mut offset = match step.offset {
            None if step.access.appends => AT_POSITION,
            None => size,
            Some(Offset::At(offset)) => offset,
            Some(Offset::Next) => match position {
                Some(position) if position < size => position,
                _ => 0,
            },
            Some(Offset::Random) => self.random_offset(size, length),
            Some(Offset::Variable(variable)) => u64::from(self.values[variable]) * length,
        };
        if offset == AT_POSITION {
            self.appended += length;
        } else {
            if is_read {
                length = length.min(size.saturating_sub(offset));
            } else if offset + length > size {
                self.resize(set, picked, slot, offset + length);
            }
            let sequential = Some(offset) == position && !is_read;
            if let Some(open) = slot.and_then(|slot| self.open[slot].as_mut()) {
                if sequential || step.offset == Some(Offset::Next) {
                    open.position = offset + length;
                }
                if sequential && open.plain {
                    offset = AT_POSITION;
                }
            }
        }
        Op {
            offset,
            length,
            ..op(picked.file)
        }
    }

    fn resize(&mut self, set: usize, picked: Picked, slot: Option<usize>, size: u64) {
        if let Some(open) = slot.and_then(|slot| self.open[slot].as_mut()) {
            open.picked.size = size;
        }
        match (picked.entry, &mut self.states[set]) {
            (Some(entry), Some(state)) => state.resize(entry, size),
            _ => self.appended += size.saturating_sub(picked.size),
        }
        for open in self.open.iter_mut().flatten() {
            if open.set == set && open.picked.file == picked.file {
                open.picked.size = size;
            }
        }
    }

    /// Removes a file. Descriptors of it stay open.
    fn remove(&mut self, set: usize, entry: usize) {
        let moved = self.states[set]
            .as_mut()
            .and_then(|state| state.remove(entry));
        let last = self.last.as_mut().map(|(of, picked)| (*of, picked));
        let open = self.open.iter_mut().flatten();
        for (of, picked) in open.map(|open| (open.set, &mut open.picked)).chain(last) {
            if of != set {
                continue;
            }
            picked.entry = match (picked.entry, &moved) {
                (Some(place), _) if place == entry => None,
                (Some(place), Some(places)) => places.get(place).copied(),
                (place, _) => place,
            };
        }
    }

    /// An operation as lines of text: with its paths, its offset and its length.
    pub fn operations(&self, op: &Op, values: &[u32]) -> Vec<Operation> {
        let compiled = &self.compiled;
        let group = &compiled.work.groups[self.group];
        let Some(step) = group.steps.get(op.step as usize) else {
            return Vec::new();
        };
        let (mut path, mut to) = (Vec::new(), Vec::new());
        compiled.put_path(step, op, self.worker, values, &mut path);
        compiled.put_other(step, op, values, &mut to);
        let text = |path: Vec<u8>| {
            String::from_utf8_lossy(&path)
                .trim_end_matches('/')
                .to_owned()
        };
        let (path, to) = (text(path), text(to));
        let is_alone = compiled.work.workers() == 1;
        let name = |slot: usize| match &group.descriptors[slot] {
            name if is_alone => name.clone(),
            name => format!("{name}-{}", self.worker + 1),
        };
        let target = match step.place {
            Place::Descriptor(slot) => Target::Descriptor(name(slot)),
            _ => Target::Path(path.clone()),
        };
        let kind = match (step.direct, step.dsync) {
            (true, _) => WriteKind::Direct,
            (_, true) => WriteKind::DataSync,
            _ => WriteKind::Plain,
        };
        let write = |target, offset| Operation::Write {
            target,
            offset,
            length: op.length,
            kind,
        };
        vec![match step.call {
            Call::Create => {
                let mut all = vec![Operation::Create { path: path.clone() }];
                all.extend(step.keep.map(|slot| Operation::Open {
                    path,
                    descriptor: name(slot),
                }));
                if op.length > 0 {
                    let kept = step.keep.map(|slot| Target::Descriptor(name(slot)));
                    all.push(write(kept.unwrap_or(target), None));
                }
                return all;
            }
            Call::Open => Operation::Open {
                path,
                descriptor: step.keep.map_or_else(String::new, name),
            },
            Call::Close => Operation::Close {
                descriptor: match step.place {
                    Place::Descriptor(slot) => name(slot),
                    _ => String::new(),
                },
            },
            Call::Read => Operation::Read {
                target,
                range: step.offset.map(|_| (op.offset, op.length)),
            },
            Call::Append => write(target, None),
            Call::Write => write(target, Some(op.offset)),
            Call::Truncate => Operation::Truncate {
                target,
                length: op.length,
            },
            Call::Stat => Operation::Stat { target },
            // Whether the file exists depends on the steps before, and nothing changes.
            Call::Lookup => return Vec::new(),
            // Programs have no devices: an empty file takes the name.
            Call::Mknod => Operation::Create { path },
            Call::Fsync => Operation::Fsync { target },
            Call::Fdatasync => Operation::Fdatasync { target },
            Call::Rename => Operation::Rename { from: path, to },
            Call::Link => Operation::Link { from: target, to },
            Call::Unlink => Operation::Unlink { path },
            Call::Mkdir => Operation::Mkdir { path },
            Call::Rmdir => Operation::Rmdir { path },
            Call::List => Operation::List { path },
            Call::Syncfs => Operation::Syncfs,
        }]
    }
}

fn op(file: u32) -> Op {
    Op {
        step: 0,
        file,
        to: 0,
        offset: 0,
        length: 0,
    }
}

/// The first operations of each worker, as lines of text.
pub fn lines(work: &Work, settings: &Settings, first: usize) -> Vec<Vec<Operation>> {
    let compiled = Arc::new(Compiled::new(work, settings));
    let lines = compiled.streams().into_iter().map(|mut stream| {
        let mut drawn = Drawn::default();
        stream.draw(&mut drawn, first);
        let lines = drawn.ops.iter();
        let lines = lines.flat_map(|op| stream.operations(op, &drawn.values));
        lines.take(first).collect()
    });
    lines.collect()
}
