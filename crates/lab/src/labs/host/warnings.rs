//! Warnings about a single sample.

use crate::job::Job;
use fsdyno_load::{kinds, phases, programs};
use fsdyno_model::{Bytes, CacheState, CopyMethod, Nanos, Sample, Warning, WarningKind};
use fsdyno_observe::noise;

/// Below this time, scheduler slices and program start-up distort a figure too much.
const SHORT: Nanos = Nanos(20_000_000);

/// All warnings about a sample; `repeated` if it is one of several passes.
pub(super) fn about(sample: &Sample, job: &Job<'_>, repeated: bool) -> Vec<Warning> {
    [
        too_short(sample, job).filter(|_| !repeated),
        not_from_device(sample, job),
        free_copy(sample, job),
        fits_memory(sample, job),
    ]
    .into_iter()
    .flatten()
    .chain(noise::about(sample))
    .collect()
}

fn too_short(sample: &Sample, job: &Job<'_>) -> Option<Warning> {
    // Such a phase was repeated until it was long enough, or has its own warning.
    let judged = phases::bonnie::is_one(&sample.kind);
    (sample.whole_ns() < SHORT && sample.engine != "null" && !judged).then(|| {
        Warning::new(
            WarningKind::TooShort,
            format!("{} took less than {SHORT}", sample.label),
            format!(
                "chance weighs too much in it: {}",
                job.workload.dataset.larger()
            ),
        )
    })
}

/// A cold phase must read its data from the device. Compression may save half of it or more, and a
/// copy that shares blocks reads no data.
fn not_from_device(sample: &Sample, job: &Job<'_>) -> Option<Warning> {
    let device = sample.device?;
    let kind = kinds::find(&sample.kind)?;
    let shared = kind.makes_tree && job.plan.copy_method != CopyMethod::ReadWrite;
    let cold = sample.cache.requested == CacheState::Cold && sample.cache.proven;
    if !cold || !kind.reads_data || shared || job.recipe.compresses(job.contender) {
        return None;
    }
    let bytes = sample.tally.bytes.0;
    (device.read_bytes.0 < bytes - bytes / 10).then(|| {
        Warning::new(
            WarningKind::NotFromDevice,
            format!(
                "{}: only {} of {} came from the device",
                sample.label, device.read_bytes, sample.tally.bytes
            ),
            "a cache below the page cache, or sparse files",
        )
    })
}

fn free_copy(sample: &Sample, job: &Job<'_>) -> Option<Warning> {
    let device = sample.device?;
    let makes = kinds::find(&sample.kind).is_some_and(|kind| kind.makes_tree);
    let half = Bytes(sample.tally.bytes.0 / 2);
    let expected = makes && !job.recipe.compresses(job.contender);
    (expected && sample.durable_ns.is_some() && device.written_bytes < half).then(|| {
        Warning::new(
            WarningKind::FreeCopy,
            format!(
                "{}: {} of data made only {} of writes",
                sample.label, sample.tally.bytes, device.written_bytes
            ),
            "blocks were shared (reflink), compressed, or found to be zeros: this is not the time \
             of moving data",
        )
    })
}

/// A program may read data from memory that it has just written.
fn fits_memory(sample: &Sample, job: &Job<'_>) -> Option<Warning> {
    let phase = job.workload.phases.get(sample.phase as usize)?;
    let data = programs::data_bytes(phase)?;
    let system = rustix::system::sysinfo();
    let memory = system
        .totalram
        .saturating_mul(u64::from(system.mem_unit.max(1)));
    let past_it = phase
        .parameters
        .get("direct")
        .is_some_and(|direct| direct == "1");
    (data.0 < memory && !past_it).then(|| {
        Warning::new(
            WarningKind::SmallerThanCache,
            format!(
                "{}: its {data} of data fit into the {} of memory",
                sample.label,
                Bytes(memory)
            ),
            "what it reads may come from the page cache: give it a size well above memory",
        )
    })
}
