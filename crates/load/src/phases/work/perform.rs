//! The workers of a workload: threads that perform their operations one after the other.

use super::Planned;
use crate::buffer::Buffer;
use crate::clock;
use crate::engines::listing::Listing;
use crate::engines::meta::Kind;
use crate::engines::null::Facts;
use crate::engines::{Calls, DataFile, Target};
use crate::error::LoadError;
use crate::phases::barrier::run_threads;
use crate::phases::data::{BUFFER, stamp};
use crate::phases::latency::Latencies;
use crate::phases::ready::below;
use crate::phases::timeline::TimelineRecorder;
use crate::phases::{Job, op, own_descriptors};
use crate::work::{
    AT_POSITION, Access, BEGIN, Call, Compiled, Drawn, Op, Place, Step, Stream, Work,
};
use fsdyno_model::sample::Tally;
use fsdyno_model::timeline::LatencyDistribution;
use std::ffi::CStr;
use std::sync::Arc;
use std::time::Duration;

/// The mode of files and directories.
pub(super) const MODE: u32 = 0o644;
const DIRECTORY_MODE: u32 = 0o755;
/// The operations that a worker draws at a time while the clock runs, if it ends by time.
const REFILL: usize = 1 << 14;
/// The operations that a worker draws before the clock starts, if it goes through files. With more,
/// they would take much memory.
const MOST: usize = 1 << 21;

/// A workload with its operations and buffers, made before its clock starts.
#[derive(Debug)]
pub(crate) struct WorkPhase {
    compiled: Arc<Compiled>,
    home: &'static CStr,
    workers: Vec<Worker>,
}

/// One worker.
#[derive(Debug)]
struct Worker {
    stream: Stream,
    ops: Drawn,
    /// Random bytes, from which files are filled.
    data: Buffer,
    /// The destination of reads.
    read: Buffer,
    listing: Listing,
    timeline: TimelineRecorder,
    /// The latencies of each call that it makes.
    calls: Vec<Option<Latencies>>,
    path: Vec<u8>,
    other: Vec<u8>,
}

impl Worker {
    fn new(compiled: &Compiled, mut stream: Stream) -> Self {
        let group = &compiled.work.groups[stream.group];
        let block = group.steps.iter().map(|step| step.block).max();
        let block = block.unwrap_or(BUFFER);
        let mut ops = Drawn::default();
        let many = match group.end.time {
            Some(_) => REFILL,
            None if group.once => MOST,
            None => usize::MAX,
        };
        stream.draw(&mut ops, many);
        let mut calls: Vec<Option<Latencies>> = (0..Call::COUNT).map(|_| None).collect();
        for step in group.steps.iter().filter(|_| !group.transactions) {
            calls[step.call as usize] = Some(Latencies::new());
        }
        Self {
            stream,
            ops,
            data: op::incompressible(block),
            read: Buffer::filled(0xa5, block),
            listing: Listing::default(),
            timeline: TimelineRecorder::new(),
            calls,
            path: Vec::with_capacity(512),
            other: Vec::with_capacity(512),
        }
    }
}

impl WorkPhase {
    /// Draws the operations of all workers.
    pub fn new(work: &Work, planned: &Planned) -> Self {
        let compiled = Arc::new(Compiled::new(work, &planned.settings));
        let streams = compiled.streams().into_iter();
        let workers = streams.map(|stream| Worker::new(&compiled, stream));
        Self {
            workers: workers.collect(),
            home: planned.home,
            compiled,
        }
    }

    /// The synthetic tree for the engine that accesses no file.
    pub fn facts(&self) -> Facts {
        let sets = 0..self.compiled.layouts.len();
        let sizes = sets.flat_map(|set| {
            let files = self.compiled.known_files(set);
            files.map(move |file| self.compiled.size(set, file))
        });
        let (files, bytes) = sizes.fold((0, 0), |(count, sum), size| (count + 1, sum + size));
        Facts {
            files,
            directories: 1,
            bytes,
        }
    }

    /// The combined timeline of all workers.
    pub fn timeline(&self) -> TimelineRecorder {
        TimelineRecorder::joined(self.workers.iter().map(|worker| &worker.timeline))
    }

    /// The latencies of each call, of all workers.
    pub fn latencies(&self) -> Vec<LatencyDistribution> {
        let steps = self
            .compiled
            .work
            .groups
            .iter()
            .flat_map(|group| &group.steps);
        let mut calls: Vec<Call> = steps.map(|step| step.call).collect();
        calls.sort_unstable();
        calls.dedup();
        let of_call = |call: Call| {
            let mut all = Latencies::new();
            for worker in &self.workers {
                if let Some(latencies) = &worker.calls[call as usize] {
                    all.add(latencies);
                }
            }
            all.distribution(call.name())
        };
        calls.into_iter().filter_map(of_call).collect()
    }

    /// Runs the workload.
    pub fn run<C: Calls + Send>(
        &mut self,
        calls: &mut C,
        job: &Job<'_>,
    ) -> Result<Tally, LoadError> {
        let began = clock::now();
        let compiled = &self.compiled;
        let home = below(job.root, self.home);
        let mut workers: Vec<(C, &mut Worker)> = self
            .workers
            .iter_mut()
            .map(|worker| {
                worker.timeline.begin_at(began);
                (calls.another(), worker)
            })
            .collect();
        let perform = |(calls, worker): &mut (C, &mut Worker)| {
            let root = calls.open_work_dir(&home)?;
            let mut performer = Performer {
                compiled,
                calls: &mut *calls,
                home: &root,
                open: Vec::new(),
                worker,
                due: Vec::new(),
            };
            let tally = performer.run(job, began);
            performer.end()?;
            calls.close_dir(root);
            Ok(Tally {
                calls: calls.calls(),
                ..tally?
            })
        };
        if let [worker] = &mut workers[..] {
            return perform(worker);
        }
        let done = run_threads(&mut workers, |worker| {
            own_descriptors()?;
            perform(worker)
        });
        let mut sum = Tally::default();
        for tally in done {
            let tally: Result<Tally, LoadError> = tally;
            sum.add(&tally?);
        }
        Ok(sum)
    }
}

/// One worker with its system calls and its open files.
struct Performer<'a, C: Calls> {
    compiled: &'a Compiled,
    calls: &'a mut C,
    home: &'a C::Dir,
    open: Vec<Option<C::File>>,
    worker: &'a mut Worker,
    /// When each step that has an interval starts next; empty without any.
    due: Vec<u64>,
}

impl<C: Calls> Performer<'_, C> {
    fn run(&mut self, job: &Job<'_>, began: u64) -> Result<Tally, LoadError> {
        let group = &self.compiled.work.groups[self.worker.stream.group];
        self.open.resize_with(group.descriptors.len(), || None);
        let deadline = group
            .end
            .time
            .map_or(u64::MAX, |time| began.saturating_add(time.0));
        let mut tally = Tally::default();
        let mut before = clock::now();
        if group.steps.iter().any(|step| step.every > 0) {
            self.due = vec![before; group.steps.len()];
        }
        // The bytes of the transaction in progress.
        let mut moved = 0;
        loop {
            let ops = std::mem::take(&mut self.worker.ops);
            let mut at = 0;
            while let Some(op) = ops.ops.get(at) {
                at += 1;
                let step = group.steps.get(op.step as usize);
                if let Some(step) = step {
                    if step.think > 0 {
                        std::thread::sleep(Duration::from_nanos(step.think));
                        if !group.transactions {
                            before = clock::now();
                        }
                    }
                    if let Some(due) = self.due.get_mut(op.step as usize)
                        && step.every > 0
                    {
                        // Open-loop: its latency counts from this time.
                        let start = *due;
                        *due += step.every;
                        let early = start.saturating_sub(clock::now());
                        std::thread::sleep(Duration::from_nanos(early));
                        if !group.transactions {
                            before = start;
                        }
                    }
                    let done = self.perform(step, op, &ops.values)?;
                    match step.call {
                        // The number of those that follow, unless the file is as expected.
                        Call::Lookup => at += usize::try_from(done).unwrap_or(usize::MAX),
                        Call::Mkdir | Call::Rmdir => tally.directories += 1,
                        _ => moved += done,
                    }
                    if group.transactions {
                        continue;
                    }
                } else if op.step == BEGIN {
                    before = clock::now();
                    moved = 0;
                    continue;
                }
                let now = clock::now();
                let duration = now.saturating_sub(before);
                let bytes = std::mem::take(&mut moved);
                before = now;
                tally.files += 1;
                tally.bytes.0 += bytes;
                self.worker.timeline.ended(now, duration, bytes);
                if let Some(latencies) =
                    step.and_then(|step| self.worker.calls[step.call as usize].as_mut())
                {
                    latencies.add_one(duration);
                }
                if now >= deadline {
                    return Ok(tally);
                }
                job.stop.check()?;
            }
            self.worker.ops = ops;
            self.worker.ops.clear();
            let worker = &mut *self.worker;
            worker.stream.draw(&mut worker.ops, REFILL);
            if worker.ops.ops.is_empty() {
                return Ok(tally);
            }
            before = clock::now();
        }
    }

    /// Closes the files that are open.
    fn end(self) -> Result<(), LoadError> {
        for file in self.open.into_iter().rev().flatten() {
            self.calls.close(file)?;
        }
        Ok(())
    }

    /// Performs one operation; returns the bytes that it transferred, and of a lookup the number of
    /// operations to skip.
    #[inline]
    fn perform(&mut self, step: &Step, op: &Op, values: &[u32]) -> Result<u64, LoadError> {
        match step.place {
            Place::Descriptor(slot) => self.on_descriptor(step, op, slot),
            Place::Files { directory, .. } | Place::Named { directory, .. } => {
                self.on_files(step, op, values, directory)
            }
            Place::Everything => self.calls.make_all_durable(self.home).map(|()| 0),
        }
    }

    fn on_descriptor(&mut self, step: &Step, op: &Op, slot: usize) -> Result<u64, LoadError> {
        if step.call == Call::Close {
            return match self.open[slot].take() {
                Some(file) => self.calls.close(file).map(|()| 0),
                None => Ok(0),
            };
        }
        // A file system refuses nothing here: a step before has opened it.
        let Some(mut file) = self.open[slot].take() else {
            return Ok(0);
        };
        let done = self.on_file(step, op, &mut file);
        self.open[slot] = Some(file);
        done
    }

    fn on_file(&mut self, step: &Step, op: &Op, file: &mut C::File) -> Result<u64, LoadError> {
        match step.call {
            Call::Read => self.read(step, op, file),
            Call::Write | Call::Append => self.write(step, op, file),
            Call::Truncate => self.calls.set_size(file, op.length).map(|()| 0),
            Call::Fsync => self.calls.make_durable(file).map(|()| 0),
            Call::Fdatasync => self.calls.make_data_durable(file).map(|()| 0),
            _ => self.calls.stat(&Target::File(file)).map(|_| 0),
        }
    }

    fn on_files(
        &mut self,
        step: &Step,
        op: &Op,
        values: &[u32],
        directory: bool,
    ) -> Result<u64, LoadError> {
        let worker = &mut *self.worker;
        worker.path.clear();
        let number = worker.stream.worker;
        (self.compiled).put_path(step, op, number, values, &mut worker.path);
        worker.path.push(0);
        let path = CStr::from_bytes_until_nul(&worker.path).unwrap_or_default();
        match step.call {
            Call::Stat => self.calls.stat(&Target::Entry(self.home, path)).map(|_| 0),
            Call::Lookup => {
                let found = self.calls.exists(self.home, path)?;
                let is_expected = step.expects.is_none_or(|expected| found == expected);
                Ok(if is_expected { 0 } else { op.offset })
            }
            Call::Mknod => {
                let made = self.calls.make_node(self.home, path, Kind::Character, 0, 0);
                made.map(|()| 0)
            }
            Call::Unlink => self.calls.unlink(self.home, path).map(|()| 0),
            Call::Mkdir => self
                .calls
                .make_dir(self.home, path, DIRECTORY_MODE)
                .map(|()| 0),
            Call::Rmdir => self.calls.remove_dir(self.home, path).map(|_| 0),
            Call::Rename | Call::Link => {
                worker.other.clear();
                (self.compiled).put_other(step, op, values, &mut worker.other);
                worker.other.push(0);
                let to = CStr::from_bytes_until_nul(&worker.other).unwrap_or_default();
                match step.call {
                    Call::Rename => self.calls.rename(self.home, path, to),
                    _ => self.calls.link((self.home, path), self.home, to),
                }
                .map(|()| 0)
            }
            Call::List => {
                let mut dir = self.calls.open_dir(self.home, path)?;
                worker.listing.begin(true);
                while self.calls.list(&mut dir, &mut worker.listing)? {}
                self.calls.close_dir(dir);
                Ok(0)
            }
            Call::Fsync | Call::Fdatasync if directory => {
                let dir = self.calls.open_dir(self.home, path)?;
                self.calls.make_dir_durable(&dir)?;
                self.calls.close_dir(dir);
                Ok(0)
            }
            _ => {
                let mut file = open(self.calls, self.home, path, step)?;
                let bytes = match step.call {
                    Call::Open => 0,
                    Call::Create => self.write(step, op, &mut file)?,
                    _ => self.on_file(step, op, &mut file)?,
                };
                match step.keep {
                    Some(slot) => self.open[slot] = Some(file),
                    None => self.calls.close(file)?,
                }
                Ok(bytes)
            }
        }
    }

    fn read(&mut self, step: &Step, op: &Op, file: &mut C::File) -> Result<u64, LoadError> {
        let worker = &mut *self.worker;
        let whole = step.offset.is_none();
        let mut at = op.offset;
        let end = if whole {
            u64::MAX
        } else {
            op.offset + op.length
        };
        while at < end {
            let most = usize::try_from(end - at).map_or(step.block, |left| left.min(step.block));
            let into = &mut worker.read[..most];
            // A file that was opened for this is read from its start.
            let read = match step.place {
                Place::Files { .. } | Place::Named { .. } if whole => {
                    self.calls.read(file, into)?
                }
                _ => self.calls.read_at(file, into, at)?,
            };
            if read == 0 {
                break;
            }
            at += read as u64;
        }
        Ok(at - op.offset)
    }

    fn write(&mut self, step: &Step, op: &Op, file: &mut C::File) -> Result<u64, LoadError> {
        let worker = &mut *self.worker;
        let at_position = step.call == Call::Create || op.offset == AT_POSITION;
        let offset = if at_position { 0 } else { op.offset };
        let mut done = 0;
        while done < op.length {
            let left = op.length - done;
            let length = usize::try_from(left).map_or(step.block, |left| left.min(step.block));
            let data = &mut worker.data[..length];
            stamp(data, op.file as usize, offset + done);
            if at_position {
                self.calls.write(file, data)?;
            } else {
                self.calls.write_at(file, data, offset + done)?;
            }
            done += length as u64;
        }
        Ok(done)
    }
}

/// Opens a file as its step uses it.
#[inline]
fn open<C: Calls>(
    calls: &mut C,
    home: &C::Dir,
    path: &CStr,
    step: &Step,
) -> Result<C::File, LoadError> {
    let Access {
        reads,
        writes,
        appends,
        positioned: _,
    } = step.access;
    let makes = step.call == Call::Create;
    if !(appends || step.direct || step.dsync) {
        return match (makes, reads, writes) {
            (true, ..) => calls.create(home, path, MODE),
            (false, _, false) => calls.open(home, path),
            (false, false, true) => calls.open_to_write(home, path),
            (false, true, true) => calls.open_to_change(home, path),
        };
    }
    calls.open_data(
        home,
        path,
        DataFile {
            writes,
            makes,
            direct: step.direct,
            dsync: step.dsync,
            also_reads: reads && writes,
            appends,
        },
    )
}
