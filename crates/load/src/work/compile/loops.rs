//! The operations of loops over files. Loops around all others are divided among the workers.

use super::{BEGIN, Drawn, END, NoFile, Op, Stream, op};
use crate::work::each::Each;
use crate::work::names::Template;
use crate::work::state::space;
use crate::work::step::{Call, Offset, Step};
use crate::work::{Group, Node, What};
use std::sync::Arc;

/// A loop that is at one of its values.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    variable: usize,
    place: usize,
    length: usize,
}

impl Stream {
    /// Draws the operations of a pass that goes through files, at most about so many; then the next
    /// call resumes. Returns whether the pass is complete.
    pub(super) fn go_through(
        &mut self,
        group: &Group,
        into: &mut Drawn,
        many: usize,
    ) -> Result<bool, NoFile> {
        while let Some(node) = group.list.get(self.resume.0) {
            let What::Each(each, nodes) = &node.what else {
                self.node(group, node, into)?;
                self.resume.0 += 1;
                continue;
            };
            let values = self.through(each);
            let places = each.slice.places(values.len(), &self.values);
            for place in places.skip(self.resume.1) {
                if into.ops.len() >= many {
                    return Ok(false);
                }
                self.at_value(group, each, &values, place, nodes, into)?;
                self.resume.1 += 1;
            }
            self.resume = (self.resume.0 + 1, 0);
        }
        self.resume = (0, 0);
        Ok(true)
    }

    pub(super) fn each(
        &mut self,
        group: &Group,
        each: &Each,
        nodes: &[Node],
        into: &mut Drawn,
    ) -> Result<(), NoFile> {
        let before = self.values.clone();
        let values = self.through(each);
        for place in each.slice.places(values.len(), &before) {
            self.at_value(group, each, &values, place, nodes, into)?;
        }
        self.values = before;
        Ok(())
    }

    fn at_value(
        &mut self,
        group: &Group,
        each: &Each,
        values: &[u32],
        place: usize,
        nodes: &[Node],
        into: &mut Drawn,
    ) -> Result<(), NoFile> {
        let value = values[place];
        self.values[each.variable] = value;
        if each.relation.is_none() {
            let compiled = Arc::clone(&self.compiled);
            compiled.bind(each.set, value, &mut self.values);
        }
        self.loops_around.push(At {
            variable: each.variable,
            place,
            length: values.len(),
        });
        let done = self.nodes(group, nodes, into);
        self.loops_around.pop();
        done
    }

    /// The values of a loop: those that agree with the loops around it.
    fn through(&self, each: &Each) -> Vec<u32> {
        let compiled = &self.compiled;
        let set = &compiled.work.sets[each.set];
        let related = &compiled.related[each.set];
        let around = self.loops_around.iter().filter_map(|at| {
            let mut relations = set.relations.iter();
            let place = relations.position(|one| one.variable == at.variable)?;
            Some((&related[place], self.values[at.variable]))
        });
        let around: Vec<_> = around.collect();
        let files = around.split_first().map(|((first, value), others)| {
            let mut files = first.files(*value);
            files.retain(|file| others.iter().all(|(one, value)| one.value(*file) == *value));
            files
        });
        match (files, each.relation) {
            (Some(files), None) => files,
            (Some(files), Some(relation)) => {
                let values = files.iter().map(|file| related[relation].value(*file));
                let mut values: Vec<u32> = values.collect();
                values.sort_unstable();
                values.dedup();
                values
            }
            (None, relation) => {
                let all = relation.map_or(set.count, |relation| related[relation].values());
                if self.loops_around.is_empty() {
                    let until = |worker: u32| {
                        let workers = compiled.work.groups[self.group].workers;
                        let until = u64::from(all) * u64::from(worker) / u64::from(workers);
                        u32::try_from(until).unwrap_or(all)
                    };
                    (until(self.within)..until(self.within + 1)).collect()
                } else {
                    (0..all).collect()
                }
            }
        }
    }

    /// Whether a node is done at this place of its loop.
    pub(super) fn is_on(&self, node: &Node) -> bool {
        let Some(only) = &node.only else {
            return true;
        };
        let mut around = self.loops_around.iter().rev();
        let at = around.find(|at| at.variable == only.variable);
        at.is_none_or(|at| only.slice.contains(at.place, at.length, &self.values) != only.others)
    }

    pub(super) fn transaction(
        &mut self,
        group: &Group,
        nodes: &[Node],
        into: &mut Drawn,
    ) -> Result<(), NoFile> {
        if self.outside {
            into.ops.push(Op {
                step: BEGIN,
                ..op(0)
            });
        }
        self.nodes(group, nodes, into)?;
        into.ops.push(Op { step: END, ..op(0) });
        self.outside = false;
        Ok(())
    }

    /// A step that looks for a file, and the steps after it, which are skipped if the result is
    /// another.
    pub(super) fn branch(
        &mut self,
        group: &Group,
        step: usize,
        nodes: &[Node],
        into: &mut Drawn,
    ) -> Result<(), NoFile> {
        self.one(group, step, into)?;
        let place = into.ops.len();
        let before = self.outside;
        self.nodes(group, nodes, into)?;
        // The next transaction follows either this step or the last of these.
        self.outside |= before;
        into.ops[place - 1].offset = (into.ops.len() - place) as u64;
        Ok(())
    }

    /// Stores the values of the variables of a path; returns their place.
    fn path(&self, template: &Template, into: &mut Drawn) -> u32 {
        let place = u32::try_from(into.values.len()).unwrap_or(u32::MAX);
        into.values
            .extend(template.variables().map(|variable| self.values[variable]));
        place
    }

    /// Draws a step on a name of the files that loops have selected.
    pub(super) fn named(
        &mut self,
        step: &Step,
        name: usize,
        directory: bool,
        into: &mut Drawn,
    ) -> Op {
        let compiled = Arc::clone(&self.compiled);
        let one = &compiled.work.names[name];
        let template = if directory { &one.directory } else { &one.path };
        let mut op = op(self.path(template, into));
        if let Some(to) = step.to_name {
            op.to = self.path(&compiled.work.names[to].path, into);
        }
        let (set, file) = (one.set, self.values[compiled.work.sets[one.set].variable]);
        match step.call {
            Call::Create | Call::Truncate => op.length = self.length(step, set, file),
            Call::Read if step.length.is_none() => op.length = compiled.size(set, file),
            Call::Read | Call::Write | Call::Append => {
                (op.offset, op.length) = self.range(step, set, file, None);
            }
            _ => {}
        }
        self.appended += match step.call {
            Call::Create => space(op.length),
            Call::Append => op.length,
            Call::Mkdir => space(1),
            Call::Mknod => space(0),
            _ => 0,
        };
        if let Some(slot) = step.keep {
            self.keep_named(slot, set, op.file, step.call == Call::Create);
        }
        op
    }

    /// The offset and the length of a transfer to or from a file that loops have selected.
    pub(super) fn range(
        &mut self,
        step: &Step,
        set: usize,
        file: u32,
        position: Option<&mut u64>,
    ) -> (u64, u64) {
        let size = self.compiled.size(set, file);
        let length = self.length(step, set, file);
        let offset = match step.offset {
            None => super::AT_POSITION,
            Some(Offset::At(offset)) => offset,
            Some(Offset::Variable(variable)) => u64::from(self.values[variable]) * length,
            Some(Offset::Random) => self.random_offset(size, length),
            Some(Offset::Next) => position.map_or(0, |position| {
                let at = if *position < size { *position } else { 0 };
                *position = at + length;
                at
            }),
        };
        (offset, length)
    }
}
