//! The scripts of another machine for each kind of phase. They use the programs of the engine
//! `tools`, with options that all systems support.

use super::clock::PhaseTimes;
use super::executor::SshExecutor;
use super::guest::used;
use crate::durability;
use crate::job::Job;
use crate::notes::Notes;
use crate::procedure::CellEnd;
use crate::remote_limits::is_command;
use fsdyno_host::ssh::How;
use fsdyno_load::engines::tools::NAME;
use fsdyno_load::kinds;
use fsdyno_load::phases::{copy, delete, grep, read, stat_walk, untar};
use fsdyno_load::programs;
use fsdyno_model::step::shell_line;
use fsdyno_model::{
    Bytes, CacheEvidence, CopyMethod, CpuUse, Nanos, PhasePlan, Sample, Tally, Warning, WarningKind,
};
use std::path::Path;

/// Below this time, scheduler slices and program start-up distort a figure too much.
const SHORT: Nanos = Nanos(20_000_000);
/// The minimum time of a phase, as a multiple of the overhead or the resolution of its clock.
const LONG_ENOUGH: u64 = 50;

/// The output of a command follows this line.
const OUTPUT: &str = "output:";

/// The script of a phase.
struct Work {
    /// Run before the clock starts, and after it stops.
    before: String,
    after: String,
    line: String,
    method: String,
}

impl Work {
    fn plain(method: &str, words: &[&str]) -> Self {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Self {
            before: String::new(),
            after: String::new(),
            line: shell_line(&words),
            method: method.to_owned(),
        }
    }
}

/// The path of the tree that a phase makes; none if it makes none.
fn tree_path(executor: &mut SshExecutor<'_, '_>, phase: &PhasePlan) -> Option<std::path::PathBuf> {
    let kind = kinds::find(&phase.kind).filter(|kind| kind.makes_tree)?;
    Some(executor.work_dir.next_tree(kind.name))
}

fn work(
    executor: &SshExecutor<'_, '_>,
    job: &Job<'_>,
    phase: &PhasePlan,
    made: Option<&Path>,
) -> Result<Work, String> {
    let text = |path: Option<&Path>| path.map(|p| p.display().to_string()).unwrap_or_default();
    let source = text(executor.work_dir.newest().map(AsRef::as_ref));
    let target = text(made);
    if is_command(&phase.kind) {
        let lines = programs::lines(
            phase,
            &executor.work_dir.root,
            executor.work_dir.newest().map(AsRef::as_ref),
        );
        let (_, line) = lines.map_err(|e| e.to_string())?.unwrap_or_default();
        let out = shell_line(&[format!("{}/phase.out", executor.directory)]);
        return Ok(Work {
            after: format!("echo {OUTPUT}; tail -c 60000 {out}"),
            method: format!(
                "sh -c {}",
                phase.parameters.get("command").map_or("", |c| c)
            ),
            ..Work::plain("", &[]).of(line)
        });
    }
    Ok(match phase.kind.as_str() {
        kind if kind == copy::KIND.name => {
            let words: &[&str] = match (job.plan.copy_method, executor.machine.shares) {
                (CopyMethod::ReadWrite, true) => &["cp", "-RPp", "--reflink=never"],
                (CopyMethod::Reflink, true) => &["cp", "-RPp", "--reflink=always"],
                (CopyMethod::Reflink, false) => {
                    return Err(
                        "its cp has no option to share blocks: choose another --copy-method"
                            .to_owned(),
                    );
                }
                _ => &["cp", "-RPp"],
            };
            let method = if words.len() == 2 {
                "cp -RPp (moves data as it likes)".to_owned()
            } else {
                words.join(" ")
            };
            Work::plain(&method, &[words, &["--", &source, &target]].concat())
        }
        kind if kind == delete::KIND.name => Work::plain("rm -rf", &["rm", "-rf", "--", &source]),
        kind if kind == untar::KIND.name => {
            let archive = text(executor.work_dir.archive.as_deref());
            Work {
                before: shell_line(&["mkdir".to_owned(), target.clone()]),
                ..Work::plain(
                    &format!("tar {}", unpacking(&archive)),
                    &["tar", unpacking(&archive), &archive, "-C", &target],
                )
            }
        }
        kind if kind == read::KIND.name => Work::plain(
            "find -type f -exec cat {} +",
            &["find", &source, "-type", "f", "-exec", "cat", "{}", "+"],
        ),
        kind if kind == stat_walk::KIND.name => Work::plain(
            "find -links 0 (stats everything, prints nothing)",
            &["find", &source, "-links", "0"],
        ),
        _ => searching(executor, phase, &source),
    })
}

/// The options that unpack an archive. Not every tar detects the compression.
pub(super) fn unpacking(archive: &str) -> &'static str {
    let ends = |endings: &[&str]| endings.iter().any(|ending| archive.ends_with(ending));
    if ends(&[".gz", ".tgz"]) {
        "-xzpf"
    } else if ends(&[".xz", ".txz"]) {
        "-xJpf"
    } else {
        "-xpf"
    }
}

impl Work {
    fn of(self, line: String) -> Self {
        Self { line, ..self }
    }
}

/// Counts the matching lines through a pipe: grep stops at the first match if its output is
/// /dev/null.
fn searching(executor: &SshExecutor<'_, '_>, phase: &PhasePlan, source: &str) -> Work {
    let pattern = phase.pattern.as_deref().unwrap_or(grep::DEFAULT_PATTERN);
    let Work { line, .. } = Work::plain("", &["grep", "-rhE", "-e", pattern, source]);
    let file = |name: &str| shell_line(&[format!("{}/{name}", executor.directory)]);
    let (status, lines, err) = (file("phase.status"), file("phase.lines"), file("phase.err"));
    Work {
        before: String::new(),
        line: format!("{{ {line}; echo \"$?\" >{status}; }} | wc -l >{lines}"),
        // Status 1 means no match. Some greps report binary files on standard error.
        after: format!(
            "S=$(cat {status}); [ \"$S\" -gt 1 ] || S=0\n\
             echo \"matches $(($(cat {lines}) + $(grep -c 'binary file matches' {err})))\""
        ),
        method: "grep -rhE".to_owned(),
    }
}

/// Runs a phase and keeps its sample.
pub(super) fn measure(
    executor: &mut SshExecutor<'_, '_>,
    job: &Job<'_>,
    number: u32,
    evidence: CacheEvidence,
) -> Result<(), CellEnd> {
    let phase = &job.workload.phases[number as usize];
    let Some(kind) = kinds::find(&phase.kind) else {
        return Ok(());
    };
    let target = tree_path(executor, phase);
    let work = work(executor, job, phase, target.as_deref());
    let work = work.map_err(|message| executor.notes.halt(message, None))?;
    if !work.before.is_empty() {
        executor.script(How::Here, &work.before)?;
    }
    let space_before = executor.space()?;
    let before = executor.counters(job);
    let reported = timed(executor, &work, kind.writes)?;
    let device = used(before, executor.counters(job));
    if kind.removes_tree {
        executor.work_dir.trees.pop();
    }
    executor.work_dir.trees.extend(target);
    let Some((taken, reported)) = reported else {
        return Ok(());
    };
    let dataset = job.dataset();
    let dataset = dataset.map_err(|e| executor.notes.halt(e.to_string(), e.errno()))?;
    let facts = dataset.facts();
    let command = is_command(&phase.kind);
    let mut sample = Sample {
        phase: number,
        label: phase.label.clone(),
        kind: phase.kind.clone(),
        engine: NAME.to_owned(),
        method: work.method,
        cache: evidence,
        return_ns: taken.wall,
        durable_ns: taken.durable,
        tally: Tally {
            files: if command { 0 } else { facts.files },
            directories: if command { 0 } else { facts.directories },
            bytes: if command { Bytes(0) } else { facts.bytes },
            calls: 0,
            matches: matches(&reported),
        },
        cpu: CpuUse {
            user_ns: taken.user,
            system_ns: taken.system,
            machine_busy_ns: machine_busy(&reported).unwrap_or_default(),
            steal_ns: Nanos(0),
        },
        device,
        space_before,
        space_after: executor.space()?,
        ..Sample::default()
    };
    sample.warnings.extend(too_short(executor, job, &sample));
    // The disk says that it has a volatile cache, as all disks of the virtual machine.
    durability::warn_by_counted(&mut sample, "sync(1)");
    if executor.guest.is_none() {
        unobserved(executor.notes, machine_busy(&reported).is_some());
    }
    executor.notes.sample(sample);
    Ok(())
}

/// Runs the work between two readings of the clock: its time and its output; none in a dry run.
fn timed(
    executor: &mut SshExecutor<'_, '_>,
    work: &Work,
    writes: bool,
) -> Result<Option<(PhaseTimes, String)>, CellEnd> {
    let clock = &executor.machine.clock;
    let busy = executor.machine.dialect.and_then(|dialect| dialect.busy);
    let busy = busy.map_or(String::new(), |line| format!("{line}\n"));
    let err = shell_line(&[format!("{}/phase.err", executor.directory)]);
    let after = if work.after.is_empty() {
        String::new()
    } else {
        format!("{}\n", work.after)
    };
    let sync = writes.then(|| executor.durable_line());
    let script = format!(
        "{busy}{}{busy}{after}tail -n 1000 {err} >&2\nexit \"$S\"",
        clock.script(&work.line, sync.as_deref(), &executor.directory),
    );
    let output = executor.run_remote(How::Job, &script)?;
    executor.note(&work.line, &output);
    if executor.remote.is_dry_run() {
        return Ok(None);
    }
    if output.status != 0 {
        return Err(executor.failed(&work.line, &output));
    }
    // The output of a command is not parsed as times.
    let reported = output.stdout.split(OUTPUT).next().unwrap_or_default();
    let taken = executor
        .machine
        .clock
        .read(reported, writes)
        .map_err(|printed| {
            let message = format!("the clock program there printed `{printed}`, which is no time");
            executor.notes.halt(message, None)
        })?;
    Ok(Some((taken, reported.to_owned())))
}

/// The lines that a search found, as the script printed them.
pub(super) fn matches(printed: &str) -> u64 {
    let mut lines = printed.lines();
    let reported = lines.find_map(|line| line.strip_prefix("matches "));
    reported.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// The busy time of all processors between two lines `busy TICKS HZ`.
pub(super) fn machine_busy(printed: &str) -> Option<Nanos> {
    let lines = printed.lines().filter_map(|line| {
        let (ticks, hertz) = line.strip_prefix("busy ")?.split_once(' ')?;
        Some((ticks.parse::<u64>().ok()?, hertz.parse::<u64>().ok()?))
    });
    let [(before, hertz), (after, _)] = lines.collect::<Vec<_>>()[..] else {
        return None;
    };
    let ticks = u128::from(after.checked_sub(before)?);
    let nanos = (ticks * 1_000_000_000).checked_div(u128::from(hertz))?;
    Some(Nanos(u64::try_from(nanos).ok()?))
}

fn too_short(executor: &SshExecutor<'_, '_>, job: &Job<'_>, sample: &Sample) -> Option<Warning> {
    let floor = executor.machine.floor;
    let limit = SHORT.max(Nanos(floor.0.saturating_mul(LONG_ENOUGH)));
    (sample.whole_ns() < limit).then(|| {
        Warning::new(
            WarningKind::TooShort,
            format!(
                "{}: the clock there is {}, and an empty phase takes {floor}: below {limit} that \
                 weighs too much",
                sample.label,
                executor.machine.clock.name(),
            ),
            job.workload.dataset.larger(),
        )
    })
}

fn unobserved(notes: &mut Notes<'_>, machine: bool) {
    let busy = if machine {
        ""
    } else {
        ", and the processor time of the whole machine is not known either"
    };
    notes.warn(Warning::new(
        WarningKind::Unobserved,
        format!("bytes and requests at the devices of another machine are not counted{busy}"),
        "compare times, processor time and space",
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_phase_is_separated_from_its_times() {
        let printed = "busy 100 100\nwall 1 2 3\nbusy 350 100\nmatches 42\n";
        assert_eq!(matches(printed), 42);
        assert_eq!(machine_busy(printed), Some(Nanos(2_500_000_000)));
        assert_eq!(machine_busy("busy 1 100\n"), None);
        assert_eq!(machine_busy("busy 1 0\nbusy 2 0\n"), None);
    }
}
