//! Runs a phase between two readings of its counters, and returns its sample.
//!
//! A phase that reads a tree in memory is short and leaves everything as it was. It is repeated at
//! once, and its sample is the pass with the median time, with the counters of that pass. If the cell
//! runs together with others, such a phase works in slices ([`in_turn`]), and the sample has the mean
//! times of all passes.

use super::beside::Beside;
use super::devices::served;
use super::executor::HostExecutor;
use super::in_turn::{self, PhaseTurns};
use super::rounds::median;
use super::{fragmentation, warnings};
use crate::durability;
use crate::job::Job;
use crate::model_cpu;
use crate::procedure::CellEnd;
use fsdyno_cpu::{Prices, Work};
use fsdyno_files::uninterrupted;
use fsdyno_load::kinds::{self, Needs};
use fsdyno_load::measure::{self, Confined, LoadError, Measured, RunningService};
use fsdyno_load::phases::bonnie;
use fsdyno_load::programs::app;
use fsdyno_load::{UserWork, allocator};
use fsdyno_model::{
    Bytes, CacheEvidence, CacheState, CpuUse, DeviceUse, Effective, Figure, KernelWork, Mark,
    Nanos, Observed, PhasePlan, Point, Probe, Sample, Warning, WarningKind, guest_kernel_time,
};
use fsdyno_observe::counters::{self, BlockCounters, MachineCpu, Surroundings};
use fsdyno_observe::kernel_samples::KernelSampler;
use fsdyno_observe::kernel_work::{UserCharge, WorkCounter};
use fsdyno_observe::tracing;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, clock_gettime};
use std::io;
use std::path::Path;

/// Passes of a phase end when they have taken this long together.
const LONG_ENOUGH: Nanos = Nanos(300_000_000);

/// The largest number of passes; in turn, rounds repeat the phase too.
const MAX_PASSES: usize = 15;
const MAX_PASSES_IN_TURN: usize = 3;

/// One pass of a phase, with what was counted during it.
struct Pass {
    measured: Measured,
    machine: MachineCpu,
    device: Option<DeviceUse>,
    kernel: Vec<KernelWork>,
    observed: Option<Observed>,
}

/// Runs a phase and keeps its sample.
pub(super) fn measure(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    number: u32,
    evidence: CacheEvidence,
) -> Result<(), CellEnd> {
    let phase = &job.workload.phases[number as usize];
    let space = |root: &Path| fsdyno_host::space::used(root).unwrap_or_default();
    let space_before = space(&executor.work_dir.root);
    let turns = PhaseTurns::of(executor, job, number);
    // Others have the turn between a probe and the first slice.
    let probe = match turns {
        Some(_) => None,
        None => probe(executor, job, &evidence),
    };
    executor.sampler = sampler(executor, job)?;
    let Pass {
        measured,
        machine,
        device,
        kernel,
        observed,
    } = all_passes(executor, job, number, turns.as_ref())?;
    let profile = executor.sampler.take().map(KernelSampler::profile);
    let profile = profile.transpose();
    let profile = profile.map_err(|why| executor.notes.halt(why, None))?;
    let mut sample = Sample {
        phase: number,
        label: phase.label.clone(),
        kind: phase.kind.clone(),
        engine: measured.engine.to_owned(),
        method: measured.method,
        cache: evidence,
        return_ns: measured.return_ns,
        durable_ns: measured.durable_ns,
        tally: measured.tally,
        cpu: CpuUse {
            user_ns: measured.user_ns,
            system_ns: measured.system_ns,
            machine_busy_ns: machine.busy_ns,
            steal_ns: machine.steal_ns,
        },
        device,
        // The owner of the model disks adds them.
        disks: Vec::new(),
        space_before,
        space_after: space(&executor.work_dir.root),
        fragmentation: None,
        figures: measured.figures,
        latencies: measured.latencies,
        progress: measured.progress,
        kernel,
        observed,
        probe,
        profile,
        warnings: measured.warnings,
    };
    sample.fragmentation = fragmentation::after(executor, job, phase)?;
    let repeated = is_repeatable(executor, job, phase);
    let found_warnings = warnings::about(&sample, job, repeated);
    sample.warnings.extend(found_warnings);
    // The disks of a plan have figures of their own.
    if job.plan.disk.is_none() && !executor.virtual_time {
        durability::warn_by_counters(&mut sample, &executor.watched);
    }
    match &mut executor.rounds {
        Some(rounds) => rounds.keep(sample),
        None => executor.notes.sample(sample),
    }
    Ok(())
}

/// Samples the kernel in a phase if the plan requests it. The run was refused if it could not.
fn sampler(
    executor: &HostExecutor<'_, '_>,
    job: &Job<'_>,
) -> Result<Option<KernelSampler>, CellEnd> {
    let opened = job.plan.profile.then(KernelSampler::open).transpose();
    opened.map_err(|why| executor.notes.halt(why, None))
}

/// The speed of the machine now.
fn probe(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    evidence: &CacheEvidence,
) -> Option<Probe> {
    // A probe that panicked has ended its cell.
    let mut probes = executor.probes?.lock().ok()?;
    probes.take(job, executor.machine.released(), evidence)
}

/// Runs a phase once, or repeatedly if that changes nothing; returns the median pass.
fn all_passes(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    number: u32,
    turns: Option<&PhaseTurns>,
) -> Result<Pass, CellEnd> {
    let phase = &job.workload.phases[number as usize];
    let most = match (is_repeatable(executor, job, phase), turns) {
        (false, _) => 1,
        (true, None) => MAX_PASSES,
        (true, Some(_)) => MAX_PASSES_IN_TURN,
    };
    let mut passes: Vec<Pass> = Vec::new();
    let mut total = 0;
    loop {
        let first = turns.map(|turns| turns.begin_pass(executor, passes.len()));
        let done = turns.map_or(total, |turns| turns.shortest(passes.len()).0);
        if !passes.is_empty() && (passes.len() >= most || done >= LONG_ENOUGH.0) {
            break;
        }
        let pass = one_pass(executor, job, number, turns.zip(first))?;
        total += pass.measured.return_ns.0;
        passes.push(pass);
        if let (Some(turns), Some(pass)) = (turns, passes.last()) {
            turns.end_pass(passes.len(), pass.measured.return_ns);
        }
        if most == 1 {
            break;
        }
    }
    let in_turn = turns.is_some();
    Ok(median(passes, &phase.label, in_turn, times, executor.notes))
}

fn times(pass: &mut Pass) -> [&mut Nanos; 3] {
    let measured = &mut pass.measured;
    [
        &mut measured.return_ns,
        &mut measured.user_ns,
        &mut measured.system_ns,
    ]
}

/// Whether a second pass does the same as the first: it reads a tree that is in memory. Not in
/// virtual time, where all passes take the same time, and not if requests of model disks or
/// tracepoints are recorded for the phase.
pub(super) fn is_repeatable(
    executor: &HostExecutor<'_, '_>,
    job: &Job<'_>,
    phase: &PhasePlan,
) -> bool {
    let recorded = job.plan.trace || job.plan.disk.is_some();
    phase.cache == CacheState::Warm
        && reads_a_tree(job, phase)
        && !executor.virtual_time
        && !recorded
}

/// Whether a phase leaves a tree as it was, except for access times.
pub(super) fn reads_a_tree(job: &Job<'_>, phase: &PhasePlan) -> bool {
    let reads = |kind: &kinds::PhaseKind| kind.needs == Needs::Tree && !kind.writes;
    kinds::find(&phase.kind).is_some_and(reads) && job.touches_files()
}

fn one_pass(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    number: u32,
    turns: Option<(&PhaseTurns, u64)>,
) -> Result<Pass, CellEnd> {
    let before = read_surroundings(executor, job);
    let (mut measured, machine, device, kernel) = match turns {
        Some((turns, first)) => {
            let (timed, waited) = turns.in_slices(first, || timed(executor, job, number));
            executor.notes.exclude(waited.time);
            let (measured, machine, device, kernel) = timed?;
            (measured, machine.since(&waited.machine), device, kernel)
        }
        None => timed(executor, job, number)?,
    };
    measured.figures.extend(machine.figures());
    let mut observed = before.map(|before| observed(executor, &before));
    if let Some(observed) = observed.as_mut().filter(|_| turns.is_some()) {
        in_turn::restrict(observed);
    }
    Ok(Pass {
        measured,
        machine,
        device,
        kernel,
        observed,
    })
}

/// Reads the counters of the machine before a phase, and starts tracing if requested. In virtual
/// time there is no noise, and a reading would change the guest.
fn read_surroundings(executor: &mut HostExecutor<'_, '_>, job: &Job<'_>) -> Option<Surroundings> {
    if executor.virtual_time {
        return None;
    }
    if job.plan.trace
        && let Some(journal) = executor.machine.journal()
    {
        let tracing = match executor.tracing.take() {
            None => tracing::start(&executor.watched, journal),
            Some(begun) => begun,
        };
        let begun = tracing.and_then(|tracing| tracing.begin().map(|()| tracing));
        executor.tracing = Some(begun);
    }
    Some(counters::surroundings())
}

/// The activity of the machine since then, and the counters that could not be read.
fn observed(executor: &HostExecutor<'_, '_>, before: &Surroundings) -> Observed {
    let devices = match executor.turn {
        Some(turn) => turn.devices(&executor.watched),
        None => executor.watched.clone(),
    };
    let mut observed = counters::surroundings().since(before, &devices);
    let reported = executor.tracing.as_ref().map(|tracing| match tracing {
        Ok(tracing) => tracing.end(),
        Err(why) => Err(why.clone()),
    });
    match reported {
        Some(Ok(traced)) => observed.traced = Some(traced),
        Some(Err(why)) => observed.unobserved.push(why),
        None => observed
            .unobserved
            .push("tracepoints: not requested (--trace)".to_owned()),
    }
    observed
}

/// Whether the clock is read for every file; if not, the reason is recorded. Phases that time every
/// operation by its kind always read it.
fn times_files(executor: &mut HostExecutor<'_, '_>) -> bool {
    let why_not = if executor.virtual_time {
        // The kernel adds time to each reading of the clock, so that a busy-waiting program makes
        // progress (arch/um/kernel/time.c, timer_read).
        "files are not timed one by one: in virtual time each reading of the clock takes some of it"
    } else if !measure::clock_is_quick() {
        "files are not timed one by one: to read the clock takes too long here"
    } else {
        return true;
    };
    executor.notes.effective_once(Effective::CLOCK, why_not);
    false
}

/// Runs the phase: its result, and the counters of machine and devices.
fn timed(
    executor: &mut HostExecutor<'_, '_>,
    job: &Job<'_>,
    number: u32,
) -> Result<TimedPhase, CellEnd> {
    let phase = &job.workload.phases[number as usize];
    let each_file = times_files(executor);
    let confined = executor.confined(phase);
    let service = Serving::start(executor, phase, confined.as_ref())?;
    let (block_before, cpu_before) = counters(executor)?;
    let dataset = job.dataset();
    let dataset = dataset.map_err(|e| executor.notes.halt(e.to_string(), e.errno()))?;
    let facts = dataset.facts();
    let user_charge = user_charge(executor, job)?;
    let user_work = user_charge.as_ref().map(user_work);
    let (marks, disks) = (&mut *executor.marks, &mut executor.disks);
    let mut below = executor.below.as_deref_mut();
    let mut kernel_time_before = None;
    let mut counting = Counting::new(executor.counter.take());
    let (sampler, beside) = (&mut executor.sampler, &mut executor.beside);
    let mut mark = |point| {
        let mark = Mark {
            phase: number,
            point,
        };
        if point == Point::Begins {
            counting.prepare();
        }
        counting.pause(point);
        marks(mark);
        for disk in served(disks) {
            disk.mark(mark);
        }
        counting.resume(point);
        if let (Point::Begins, Some(below)) = (point, &mut below) {
            // If the phase has several parts, the first one.
            kernel_time_before = kernel_time_before.or_else(|| below.kernel_time().ok());
        }
        if point == Point::Begins {
            sampler.iter_mut().for_each(KernelSampler::begin);
            beside.iter_mut().for_each(Beside::start);
        }
    };
    let request = measure::Request {
        phase,
        engine: &job.plan.engine,
        copy_method: job.plan.copy_method,
        work_dir: &mut executor.work_dir,
        facts: Some((facts.files, facts.directories, facts.bytes.0)),
        durable: true,
        handicap_permille: job.contender.handicap_permille,
        each_file,
        user_work: user_work.as_ref(),
        confined: confined.as_ref(),
        stop: executor.stop,
        share: None,
        mark: &mut mark,
    };
    let mut measured = match measure::run(request) {
        Ok(measured) => measured,
        Err(error) => {
            // Nothing after the phase is charged.
            executor.counter = counting.end().0;
            let failed = service.and_then(Serving::failure);
            return Err(executor.load_failed(&failed.unwrap_or(error)));
        }
    };
    if let Some(durable) = &mut measured.durable_ns
        && job.touches_files()
    {
        durable.0 = durable.0.saturating_add(executor.make_durable()?.0);
    }
    executor.sampler.iter_mut().for_each(KernelSampler::end);
    let (counter, kernel) = counting.end();
    executor.counter = counter;
    if let Some(serving) = &service {
        serving.add_time(&mut measured);
    }
    let kernel_time = kernel_time(executor, kernel_time_before, measured.passes);
    measured.figures.extend(kernel_time);
    let kernel = kernel.map_err(|error| {
        let message = format!("cannot read or charge the kernel's work: {error}");
        executor.notes.halt(message, error.raw_os_error())
    })?;
    if let (Some(user), Some((_, prices))) = (&user_work, &user_charge) {
        charged_times(&mut measured, &kernel, user.charged(), prices);
    }
    let (_, cpu_after) = counters(executor)?;
    if measured.durable_ns.is_none() && job.touches_files() {
        // A phase that only reads may still write time stamps. They count as its traffic, but its
        // time ends with the read.
        executor.sync()?;
    }
    mark_durable(executor, number);
    let (block_after, _) = counters(executor)?;
    if let Some(serving) = service {
        serving.end(executor, &mut measured)?;
    }
    measured.warnings.extend(not_counted(executor, phase));
    take_notes(executor, &measured);
    let machine = cpu_after.since(&cpu_before);
    let device = block_after
        .zip(block_before)
        .map(|(after, before)| after.since(&before));
    Ok((measured, machine, device, kernel))
}

/// The service of a phase, with the processor time that it had used before the phase.
struct Serving {
    service: RunningService,
    before: (Nanos, Nanos),
}

impl Serving {
    /// Starts the service of a phase, if it has one.
    fn start(
        executor: &mut HostExecutor<'_, '_>,
        phase: &PhasePlan,
        confined: Option<&Confined>,
    ) -> Result<Option<Self>, CellEnd> {
        let started = RunningService::start(phase, &executor.work_dir, confined, executor.stop);
        let service = started.map_err(|error| executor.load_failed(&error))?;
        Ok(service.map(|service| Self {
            before: service.processor_time(),
            service,
        }))
    }

    /// Why it has ended, if it has: the cause of a phase that failed.
    fn failure(mut self) -> Option<LoadError> {
        self.service.check().err()
    }

    /// Adds the processor time since the start of the phase.
    fn add_time(&self, measured: &mut Measured) {
        let (user, system) = self.service.processor_time();
        measured.user_ns.0 += user.0.saturating_sub(self.before.0.0);
        measured.system_ns.0 += system.0.saturating_sub(self.before.1.0);
    }

    fn end(
        self,
        executor: &mut HostExecutor<'_, '_>,
        measured: &mut Measured,
    ) -> Result<(), CellEnd> {
        let ended = self.service.end(executor.stop);
        let (commands, warnings) = ended.map_err(|error| executor.load_failed(&error))?;
        measured.commands.extend(commands);
        measured.warnings.extend(warnings);
        Ok(())
    }
}

/// In virtual time, the code of an application is not counted.
fn not_counted(executor: &HostExecutor<'_, '_>, phase: &PhasePlan) -> Option<Warning> {
    let counts = !executor.virtual_time || !app::is_one(&phase.kind);
    (!counts).then(|| {
        Warning::new(
            WarningKind::NotCounted,
            "virtual time counts the work of the kernel and of the disk, and not the code of the \
             application itself: its figures are bounds that it does not reach",
            "the same time comes on top for each file system, so their real ratios are nearer to \
             1; measure it with --lab host",
        )
    })
}

/// Records the programs of a phase, and its records of the work.
fn take_notes(executor: &mut HostExecutor<'_, '_>, measured: &Measured) {
    for tool in &measured.commands {
        executor.notes.tool(tool);
    }
    for note in &measured.notes {
        executor.notes.effective(&note.source, note.text.clone());
    }
}

/// Marks in the block trace and on the disks that the phase is durable.
fn mark_durable(executor: &mut HostExecutor<'_, '_>, number: u32) {
    let durable = Mark {
        phase: number,
        point: Point::Durable,
    };
    (executor.marks)(durable);
    for disk in served(&mut executor.disks) {
        disk.mark(durable);
    }
}

/// The time of the guest's kernel for a pass, if the host counts it.
fn kernel_time(
    executor: &mut HostExecutor<'_, '_>,
    before: Option<Nanos>,
    passes: u64,
) -> Option<Figure> {
    let after = executor.below.as_mut()?.kernel_time().ok()?;
    let used = after.0.saturating_sub(before?.0) / passes.max(1);
    Some(guest_kernel_time::figure(Nanos(used)))
}

/// Replaces the processor times that the kernel of a guest reports, in ticks of 10 ms, by those that
/// were charged until return: all that is not work of the program is the kernel's.
fn charged_times(measured: &mut Measured, kernel: &[KernelWork], user: Nanos, prices: &Prices) {
    let Some(work) = kernel.iter().find(|work| work.until == Point::Returned) else {
        return;
    };
    let passes = measured.passes.max(1);
    let system = Work::foreground(work, Bytes(0)).time(prices);
    measured.user_ns = Nanos(user.0 / passes);
    measured.system_ns = Nanos(system.0 / passes);
    let figures = measured.figures.iter_mut();
    for share in figures.filter(|figure| figure.name == bonnie::BUSY) {
        let elapsed = measured.elapsed_ns.0.max(1);
        share.value = 100.0 * (user.0 + system.0).min(elapsed) as f64 / elapsed as f64;
    }
}

/// Charges the work of this program, at the prices of the plan's processor; none if computing is
/// free.
fn user_charge(
    executor: &HostExecutor<'_, '_>,
    job: &Job<'_>,
) -> Result<Option<(UserCharge, Prices)>, CellEnd> {
    let Some(counter) = &executor.counter else {
        return Ok(None);
    };
    let prices = model_cpu::prices(job.plan.cpu.as_ref());
    let prices = prices.map_err(|why| executor.notes.halt(why, None))?;
    let charge = counter.user_charge().map_err(|error| {
        let message = format!("cannot charge the work of fsdyno: {error}");
        executor.notes.halt(message, error.raw_os_error())
    })?;
    Ok(charge.map(|charge| (charge, prices)))
}

/// Charges the bytes that the workers search.
fn user_work((charge, prices): &(UserCharge, Prices)) -> UserWork<'_> {
    UserWork::new(|bytes| {
        let time = prices.search(bytes);
        if time.0 > 0 {
            charge.charge(time)?;
        }
        Ok(time)
    })
}

/// The result of a phase, the counters of machine and devices, and the work of the kernel.
type TimedPhase = (Measured, MachineCpu, Option<DeviceUse>, Vec<KernelWork>);

/// The count and the charge of the kernel's work during a phase. Messages to the host are not
/// charged: how they are written is not the same each time.
struct Counting<'a> {
    counter: Option<&'a mut WorkCounter>,
    work: io::Result<Vec<KernelWork>>,
}

impl<'a> Counting<'a> {
    fn new(counter: Option<&'a mut WorkCounter>) -> Self {
        Self {
            counter,
            work: Ok(Vec::new()),
        }
    }

    /// Leaves free memory for the phase, and waits until the kernel has freed what that replaced.
    fn prepare(&mut self) {
        if let Some(counter) = &self.counter {
            allocator::reserve();
            if let Err(error) = counter.lock_memory() {
                self.work = Err(error);
            }
            wait_for_tick();
        }
    }

    fn pause(&mut self, point: Point) {
        if let (Some(counter), Ok(work)) = (&self.counter, &mut self.work)
            && point != Point::Begins
        {
            match counter.pause(point) {
                Ok(one) => work.push(one),
                Err(error) => self.work = Err(error),
            }
        }
    }

    fn resume(&mut self, point: Point) {
        if let (Some(counter), Ok(_)) = (&mut self.counter, &self.work) {
            let charged = match point {
                Point::Begins => counter.begin(),
                _ => counter.charge(),
            };
            if let Err(error) = charged {
                self.work = Err(error);
            }
        }
    }

    /// Ends the charge; returns the work until return and until durable.
    fn end(mut self) -> (Option<&'a mut WorkCounter>, io::Result<Vec<KernelWork>>) {
        self.pause(Point::Durable);
        (self.counter, self.work)
    }
}

/// Waits until a millisecond after the next tick of the guest's kernel. A reading of the clock takes
/// virtual time, so that one more of them before a phase, as in another build, would begin it later
/// between two ticks.
fn wait_for_tick() {
    const TICK: i64 = 10_000_000;
    let mut time = clock_gettime(ClockId::Monotonic);
    time.tv_nsec += TICK - time.tv_nsec % TICK + TICK / 10;
    if time.tv_nsec >= 1_000_000_000 {
        time.tv_sec += 1;
        time.tv_nsec -= 1_000_000_000;
    }
    let _ = uninterrupted(|| clock_nanosleep_absolute(ClockId::Monotonic, &time));
}

/// The counters before or after a phase.
fn counters(
    executor: &HostExecutor<'_, '_>,
) -> Result<(Option<BlockCounters>, MachineCpu), CellEnd> {
    let failed = |e: std::io::Error| {
        executor
            .notes
            .halt(format!("cannot read the counters: {e}"), e.raw_os_error())
    };
    let block = if executor.watched.is_empty() {
        None
    } else {
        Some(counters::block(&executor.watched).map_err(failed)?)
    };
    Ok((block, counters::machine_cpu().map_err(failed)?))
}
