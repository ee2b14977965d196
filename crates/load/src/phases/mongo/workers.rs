//! Rounds and workers: assigns trees to workers, runs them in parallel, and times each.

use super::parameters::Parameters;
use super::shape::TreeShape;
use crate::buffer::Buffer;
use crate::clock;
use crate::engines::Calls;
use crate::engines::null::Facts;
use crate::error::LoadError;
use crate::phases::barrier::run_threads;
use crate::phases::own_descriptors;
use crate::phases::timeline::TimelineRecorder;
use crate::phases::walk::WalkState;
use crate::phases::{Job, data};
use fsdyno_model::sample::Tally;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::ffi::{CStr, CString};

/// The size of the original's reads and writes, bytes.
pub(super) const CHUNK: usize = 4096;

/// The buffers of a mongo phase, allocated before its clock starts.
#[derive(Debug)]
pub(crate) struct Mongo {
    parameters: Parameters,
    pub(super) shape: TreeShape,
    /// Random bytes from which files are filled.
    pub(super) content: Buffer,
    buffers: Vec<WorkerBuffers>,
}

#[derive(Debug)]
pub(super) struct WorkerBuffers {
    pub data: Buffer,
    pub walk: WalkState,
    /// The time of its work in all rounds so far, nanoseconds.
    elapsed: u64,
}

/// One worker in one round.
pub(super) struct Worker<'a> {
    pub mongo: &'a Shared<'a>,
    pub buffers: &'a mut WorkerBuffers,
    /// Its tree and its copy of the tree.
    pub trees: [CString; 2],
    /// The number of this worker and round, which makes contents unique.
    pub number: usize,
}

/// The shared data of all workers.
pub(super) struct Shared<'a> {
    pub job: &'a Job<'a>,
    pub shape: &'a TreeShape,
    pub content: &'a [u8],
}

impl Mongo {
    /// Generates the tree and fills the buffers.
    pub fn new(parameters: Parameters) -> Self {
        let mut content = Buffer::filled(0, 1 << 20);
        Xoshiro256PlusPlus::seed_from_u64(parameters.median).fill_bytes(&mut content);
        let buffers = || WorkerBuffers {
            data: Buffer::filled(0xa5, data::BUFFER),
            walk: WalkState::default(),
            elapsed: 0,
        };
        Self {
            shape: TreeShape::of(parameters.bytes, parameters.median),
            content,
            buffers: (0..parameters.processes).map(|_| buffers()).collect(),
            parameters,
        }
    }

    /// The facts of one tree, for the null engine.
    pub fn facts(&self) -> Facts {
        Facts {
            files: self.shape.sizes.len() as u64,
            directories: self.shape.directories.len() as u64,
            bytes: self.shape.bytes(),
        }
    }

    /// The time of each worker in all rounds, nanoseconds.
    pub fn elapsed(&self) -> impl Iterator<Item = u64> {
        self.buffers.iter().map(|buffers| buffers.elapsed)
    }

    /// The combined timeline of all workers.
    pub fn timeline(&self) -> TimelineRecorder {
        TimelineRecorder::joined(self.buffers.iter().map(|buffers| &buffers.walk.timeline))
    }

    /// Runs all rounds; `work` is the work of one worker in one round.
    pub(super) fn run<E: Calls + Send>(
        &mut self,
        engine: &mut E,
        job: &Job<'_>,
        work: fn(&mut E, &mut Worker<'_>) -> Result<Tally, LoadError>,
    ) -> Result<Tally, LoadError> {
        let shared = Shared {
            job,
            shape: &self.shape,
            content: &self.content,
        };
        let mut tally = Tally::default();
        if job.each_file {
            let began = clock::now();
            let buffers = self.buffers.iter_mut();
            buffers.for_each(|buffers| buffers.walk.timeline.begin_at(began));
        }
        for round in 0..self.parameters.rounds {
            let mut jobs: Vec<(E, Worker<'_>)> = (0..)
                .zip(&mut self.buffers)
                .map(|(number, buffers)| (engine.another(), shared.worker(buffers, round, number)))
                .collect();
            if let [(engine, worker)] = &mut jobs[..] {
                tally.add(&timed(engine, worker, work)?);
                continue;
            }
            let done = run_threads(&mut jobs, |(engine, worker)| {
                own_descriptors()?;
                timed(engine, worker, work)
            });
            for one in done {
                tally.add(&one?);
            }
        }
        Ok(tally)
    }
}

impl Shared<'_> {
    fn worker<'w>(&'w self, buffers: &'w mut WorkerBuffers, round: u32, number: u32) -> Worker<'w> {
        let tree = |which: u32| name(&format!("{TREE}{which}-{round}-{number}"));
        Worker {
            mongo: self,
            buffers,
            trees: [tree(1), tree(2)],
            number: (round as usize) << 16 | number as usize,
        }
    }
}

/// The prefix of the names of all trees.
const TREE: &str = "testdir";

/// Whether a name is that of a tree: the prefix and two numbers.
pub(crate) fn is_tree(name: &str) -> bool {
    let numbers = name.strip_prefix(TREE).map(|rest| rest.split('-'));
    numbers.is_some_and(|numbers| {
        let parsed: Vec<_> = numbers.map(str::parse::<u32>).collect();
        parsed.len() == 3 && parsed.iter().all(Result::is_ok)
    })
}

/// Does the work of one worker, and adds its time.
fn timed<E: Calls>(
    engine: &mut E,
    worker: &mut Worker<'_>,
    work: fn(&mut E, &mut Worker<'_>) -> Result<Tally, LoadError>,
) -> Result<Tally, LoadError> {
    let start = clock::now();
    worker.buffers.walk.timeline.begin_round();
    let tally = work(engine, worker)?;
    worker.buffers.elapsed += clock::now() - start;
    Ok(Tally {
        calls: engine.calls(),
        ..tally
    })
}

/// A name that consists of digits and letters.
fn name(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// The name of a file or directory, made without allocation: an optional letter and a number.
#[derive(Debug)]
pub(super) struct Numbered {
    bytes: [u8; 24],
}

impl Numbered {
    /// `letter` may be empty.
    pub fn new() -> Self {
        Self { bytes: [0; 24] }
    }

    /// The name with this number: `7`, or `d7`.
    pub fn name(&mut self, letter: Option<u8>, number: usize) -> &CStr {
        let mut at = self.bytes.len() - 1;
        let mut left = number;
        loop {
            at -= 1;
            #[expect(clippy::cast_possible_truncation, reason = "a digit")]
            let digit = (left % 10) as u8;
            self.bytes[at] = b'0' + digit;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if let Some(letter) = letter {
            at -= 1;
            self.bytes[at] = letter;
        }
        CStr::from_bytes_until_nul(&self.bytes[at..]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_names() {
        let mut numbered = Numbered::new();
        assert_eq!(numbered.name(None, 0), c"0");
        assert_eq!(numbered.name(Some(b'd'), 1234), c"d1234");
        assert_eq!(numbered.name(None, 1), c"1");
        let most = usize::MAX.to_string();
        assert_eq!(
            numbered.name(Some(b'd'), usize::MAX).to_bytes()[1..],
            *most.as_bytes()
        );
    }
}
