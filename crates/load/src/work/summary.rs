//! What a workload will do: its operations and bytes, counted before it runs.

use super::Work;
use super::compile::{Compiled, Drawn, Settings};
use super::step::Call;
use fsdyno_model::units::{Bytes, Nanos};
use std::sync::Arc;

/// Operations that are drawn for workers that end by time.
const SAMPLE: usize = 20_000;
/// Operations that are drawn at a time.
const PIECE: usize = 1 << 16;

/// The numbers of a workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub workers: u32,
    /// Files that exist before the clock starts, by the names of their sets, with their bytes.
    pub files: Vec<(String, u64, Bytes)>,
    /// The steps of each group.
    pub groups: Vec<Vec<StepCount>>,
    /// The time after which some workers end, if any do. Their steps are those of a sample.
    pub time: Option<Nanos>,
    /// The bytes on a device at most; of a sample if workers end by time.
    pub space: Bytes,
}

/// How often a step is done.
#[derive(Debug, Clone, PartialEq)]
pub struct StepCount {
    pub text: String,
    pub operations: u64,
    /// The bytes that it reads or writes.
    pub bytes: Bytes,
}

impl Summary {
    /// Draws all operations of a workload and counts them.
    pub fn of(work: &Work, settings: &Settings) -> Self {
        let compiled = Arc::new(Compiled::new(work, settings));
        let files = compiled.work.sets.iter().enumerate().map(|(number, set)| {
            let sizes = compiled
                .first_files(number)
                .map(|file| compiled.size(number, file));
            let (count, bytes) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
            (set.name.clone(), count, Bytes(bytes))
        });
        let files = files.collect();
        let counts = compiled.work.groups.iter().map(|group| {
            let steps = group.steps.iter().map(|step| StepCount {
                text: step.text.clone(),
                operations: 0,
                bytes: Bytes(0),
            });
            steps.collect()
        });
        let mut groups: Vec<Vec<StepCount>> = counts.collect();
        let mut streams = compiled.streams();
        let mut ops = Drawn::default();
        for stream in &mut streams {
            let group = &compiled.work.groups[stream.group];
            let most = if group.end.time.is_some() {
                SAMPLE
            } else {
                usize::MAX
            };
            let mut drawn = 0;
            while !stream.ended && drawn < most {
                ops.clear();
                stream.draw(&mut ops, PIECE.min(most));
                drawn += ops.ops.len();
                for op in &ops.ops {
                    let number = op.step as usize;
                    if let Some(step) = group.steps.get(number) {
                        let count = &mut groups[stream.group][number];
                        count.operations += 1;
                        if step.call != Call::Truncate {
                            count.bytes.0 += op.length;
                        }
                    }
                }
            }
        }
        Self {
            workers: compiled.work.workers(),
            files,
            groups,
            time: compiled
                .work
                .groups
                .iter()
                .filter_map(|group| group.end.time)
                .max(),
            space: Bytes(compiled.space(&streams)),
        }
    }

    /// All operations.
    pub fn operations(&self) -> u64 {
        self.groups
            .iter()
            .flatten()
            .map(|step| step.operations)
            .sum()
    }

    /// All bytes that are read or written.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.groups.iter().flatten().map(|step| step.bytes.0).sum())
    }
}
