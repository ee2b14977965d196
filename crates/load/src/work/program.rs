//! A workload as a program of a crash test.

use super::Work;
use super::compile::{Compiled, Drawn, Settings};
use fsdyno_crash::operation::WriteKind;
use fsdyno_crash::{Operation, Program, Target};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The first operations of all workers in turn, at most so many. The setup makes the files that exist
/// at first.
pub fn program(work: &Work, settings: &Settings, most: usize) -> Program {
    let compiled = Arc::new(Compiled::new(work, settings));
    let mut workers: Vec<VecDeque<Vec<Operation>>> = compiled
        .streams()
        .into_iter()
        .map(|mut stream| {
            let mut drawn = Drawn::default();
            stream.draw(&mut drawn, most);
            let ops = drawn.ops.iter().take(most);
            let lines = ops.map(|op| stream.operations(op, &drawn.values));
            lines.filter(|lines| !lines.is_empty()).collect()
        })
        .collect();
    let mut operations = Vec::new();
    while operations.len() < most && workers.iter().any(|ops| !ops.is_empty()) {
        for ops in &mut workers {
            operations.extend(ops.pop_front().into_iter().flatten());
        }
    }
    operations.truncate(most);
    Program {
        setup: setup(&compiled),
        operations,
    }
}

fn setup(compiled: &Compiled) -> Vec<Operation> {
    let mut setup = Vec::new();
    let mut made = BTreeSet::new();
    for directory in compiled.directories() {
        for (end, _) in directory.match_indices('/') {
            let path = directory[..end].to_owned();
            if made.insert(path.clone()) {
                setup.push(Operation::Mkdir { path });
            }
        }
    }
    for set in 0..compiled.layouts.len() {
        for file in compiled.first_files(set) {
            let path = compiled.path(set, file);
            setup.push(Operation::Create { path: path.clone() });
            let length = compiled.size(set, file);
            if length > 0 {
                setup.push(Operation::Write {
                    target: Target::Path(path),
                    offset: None,
                    length,
                    kind: WriteKind::Plain,
                });
            }
        }
    }
    setup
}
