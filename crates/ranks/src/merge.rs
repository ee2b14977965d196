//! Makes one sample of the reports of all ranks.

use crate::clocks::Clocks;
use crate::member::{Member, hosts};
use crate::phase::{Done, RankError, Report};
use crate::stonewall::{self, Left};
use fsdyno_load::measure::Recording;
use fsdyno_model::{
    Better, Bytes, CacheEvidence, CpuUse, Failure, Figure, Nanos, PhasePlan, Sample, Stage, Tally,
    Warning, WarningKind,
};
use std::fmt::Write as _;

/// A rank is a straggler if it takes this much longer than the median, and at least this long.
const STRAGGLES: f64 = 1.2;
const STRAGGLES_NS: u64 = 1_000_000;
/// Errors of the clocks and of the start above this share of the phase are reported.
const NOTABLE: f64 = 0.01;
/// The maximum number of ranks that a message names.
const NAMED: usize = 4;

pub struct Ranks<'a> {
    pub members: &'a [Member],
    /// The report of each rank that worked, by rank.
    pub reports: &'a [Report],
    pub clocks: Clocks<'a>,
    /// The common start by the clock of rank 0.
    pub start: u64,
}

/// The times of one rank since the common start, by the clock of rank 0.
struct Times {
    rank: usize,
    returned: u64,
    durable: Option<u64>,
}

impl Ranks<'_> {
    /// The failures of all ranks as one; none if no rank failed.
    pub fn failure(&self, phase: &PhasePlan) -> Option<(Failure, bool)> {
        let failed: Vec<(usize, &RankError)> = self
            .reports
            .iter()
            .enumerate()
            .filter_map(|(rank, report)| Some((rank, report.end.as_ref().err()?)))
            .collect();
        failure(self.members, &failed, Stage::Phase(phase.label.clone()))
    }

    /// The sample of the phase, and the times of the ranks as text. Every rank succeeded.
    pub fn sample(&self, phase: &PhasePlan, number: u32, left: &Left) -> (Sample, String) {
        let done: Vec<&Done> = self
            .reports
            .iter()
            .filter_map(|report| report.end.as_ref().ok())
            .collect();
        let mut times: Vec<Times> = self
            .reports
            .iter()
            .enumerate()
            .filter_map(|(rank, report)| {
                let done = report.end.as_ref().ok()?;
                let since = |ns: Nanos| {
                    let moment = self.clocks.at_rank_0(rank, report.began + ns.0);
                    moment.saturating_sub(self.start)
                };
                Some(Times {
                    rank,
                    returned: since(done.return_ns),
                    durable: done.durable_ns.map(since),
                })
            })
            .collect();
        times.sort_by_key(|one| one.returned);
        let returned = Nanos(times.last().map_or(0, |last| last.returned));
        let durable = times.iter().filter_map(|one| one.durable).max().map(Nanos);
        let mut tally = Tally::default();
        for done in &done {
            tally.add(&done.tally);
        }
        let sum = |of: fn(&Done) -> Nanos| Nanos(done.iter().map(|done| of(done).0).sum());
        let machine = |of: fn((Nanos, Nanos)) -> Nanos| {
            let hosts = self.reports.iter().filter_map(|report| report.machine);
            Nanos(hosts.map(|one| of(one).0).sum())
        };
        let mut sample = Sample {
            phase: number,
            label: phase.label.clone(),
            kind: phase.kind.clone(),
            engine: done
                .first()
                .map_or_else(String::new, |done| done.engine.clone()),
            method: done
                .first()
                .map_or_else(String::new, |done| done.method.clone()),
            cache: self.cache(phase),
            return_ns: returned,
            durable_ns: durable,
            tally,
            cpu: CpuUse {
                user_ns: sum(|done| done.user_ns),
                system_ns: sum(|done| done.system_ns),
                machine_busy_ns: machine(|(busy, _)| busy),
                steal_ns: machine(|(_, steal)| steal),
            },
            ..Sample::default()
        };
        self.latencies(&mut sample);
        figures_of_ranks(&times, &mut sample);
        stonewall::report(phase, self.reports, left, &mut sample);
        let own = done.iter().flat_map(|done| done.warnings.clone());
        for warning in own {
            if !sample.warnings.contains(&warning) {
                sample.warnings.push(warning);
            }
        }
        sample.warnings.extend(unproven(&sample.cache));
        sample.warnings.extend(self.stragglers(&times));
        sample.warnings.extend(self.uncertain(&times));
        let text = self.text(phase, &times);
        (sample, text)
    }

    /// Latencies and rates of all ranks, and of each host.
    fn latencies(&self, sample: &mut Sample) {
        let returned = sample.return_ns;
        let seconds = returned.0.max(1) as f64 / 1e9;
        let of = |rank: usize| self.reports[rank].end.as_ref().ok()?.recording.as_ref();
        let all = Recording::merge((0..self.reports.len()).filter_map(of), returned);
        let operations = all
            .as_ref()
            .map_or(sample.tally.files, |all| all.latencies.count);
        let rate = operations as f64 / seconds;
        sample
            .figures
            .push(Figure::new("rate", rate, "1/s", Better::Higher));
        let Bytes(bytes) = sample.tally.bytes;
        if bytes > 0 {
            let rate = bytes as f64 / 1024.0 / seconds;
            sample
                .figures
                .push(Figure::new("bytes", rate, "KiB/s", Better::Higher));
        }
        let Some(all) = all else {
            return;
        };
        sample.figures.extend(all.figures);
        sample.progress = Some(all.progress);
        sample.latencies.push(all.latencies);
        let hosts = hosts(&self.members[..self.reports.len()]);
        if hosts.len() < 2 {
            return;
        }
        for (host, ranks) in hosts {
            if let Some(mut of_host) = Recording::merge(ranks.into_iter().filter_map(of), returned)
            {
                let name = format!("rate of {host}");
                let rate = of_host.latencies.count as f64 / seconds;
                sample
                    .figures
                    .push(Figure::new(name, rate, "1/s", Better::Higher));
                let _ = write!(of_host.latencies.operation, " on {host}");
                sample.latencies.push(of_host.latencies);
            }
        }
    }

    /// The state of the caches of all hosts.
    fn cache(&self, phase: &PhasePlan) -> CacheEvidence {
        let mut hosts = self
            .reports
            .iter()
            .filter_map(|report| report.cache.as_ref());
        let first = hosts.next().cloned().unwrap_or_else(|| CacheEvidence {
            requested: phase.cache,
            ..CacheEvidence::default()
        });
        hosts.fold(first, |mut all, one| {
            all.proven &= one.proven;
            all.reason = all.reason.or_else(|| one.reason.clone());
            all
        })
    }

    fn name(&self, rank: usize) -> String {
        format!("rank {rank} ({})", self.members[rank].host)
    }

    fn stragglers(&self, times: &[Times]) -> Option<Warning> {
        let median = fsdyno_stats::median_whole(times.iter().map(|one| one.returned))?;
        let limit = (median as f64 * STRAGGLES).max((median + STRAGGLES_NS) as f64);
        let late: Vec<&Times> = times
            .iter()
            .rev()
            .filter(|one| one.returned as f64 > limit)
            .collect();
        let last = late.first()?;
        let names: Vec<String> = late
            .iter()
            .take(NAMED)
            .map(|one| self.name(one.rank))
            .collect();
        let more = late.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        Some(Warning::new(
            WarningKind::BackgroundLoad,
            format!(
                "stragglers: {}{more} returned up to {:.0} % later than the median rank",
                names.join(", "),
                (last.returned as f64 / median.max(1) as f64 - 1.0) * 100.0
            ),
            "the time of the phase is that of the last rank: look for other work on these hosts, \
             or compare the spread of the ranks",
        ))
    }

    /// The errors of the clocks and of the start, if they matter.
    fn uncertain(&self, times: &[Times]) -> Option<Warning> {
        let whole = times.last()?.returned.max(1) as f64;
        let clocks = times
            .iter()
            .map(|one| self.clocks.error_ns(one.rank))
            .max()?;
        let late = self.reports.iter().map(|report| report.late_ns).max()?;
        let worst = clocks.max(late) as f64;
        (worst > whole * NOTABLE).then(|| {
            Warning::new(
                WarningKind::TooShort,
                format!(
                    "the clocks of the ranks are known to {}, and the last rank began {} after \
                     the common start: {:.1} % of the phase",
                    Nanos(clocks),
                    Nanos(late),
                    worst / whole * 100.0
                ),
                "let the phase do more work (--set), or start no more ranks than processors",
            )
        })
    }

    /// The ends of the ranks, and their clocks.
    fn text(&self, phase: &PhasePlan, times: &[Times]) -> String {
        let mut text = format!("{}:", phase.label);
        if let (Some(first), Some(last)) = (times.first(), times.last()) {
            let _ = write!(
                text,
                " first end {} by {}, last end {} by {}",
                Nanos(first.returned),
                self.name(first.rank),
                Nanos(last.returned),
                self.name(last.rank)
            );
        }
        text.push('\n');
        for rank in 0..self.reports.len() {
            let (before, after) = (&self.clocks.before.all[rank], &self.clocks.after.all[rank]);
            let _ = writeln!(
                text,
                "  {}: clock {:+} ns (error {} ns) before, {:+} ns (error {} ns) after; began {} ns \
                 after the common start{}",
                self.name(rank),
                before.ns,
                before.error_ns,
                after.ns,
                after.error_ns,
                self.reports[rank].late_ns,
                stonewall::text(phase, &self.reports[rank])
            );
        }
        text
    }
}

/// A cold phase whose caches may have held its data.
fn unproven(cache: &CacheEvidence) -> Option<Warning> {
    let reason = cache.reason.as_ref().filter(|_| !cache.proven)?;
    Some(Warning::new(
        WarningKind::CacheUnproven,
        format!("not proven cold: {reason}"),
        "give a command that remounts DIR on a host (--remount), or request the phase as-is",
    ))
}

/// The failures of ranks as one failure, and whether the user interrupted them all.
pub fn failure(
    members: &[Member],
    failed: &[(usize, &RankError)],
    stage: Stage,
) -> Option<(Failure, bool)> {
    failed.first()?;
    let interrupted = failed.iter().all(|(_, error)| error.interrupted);
    // An interrupted rank is no cause if another failed.
    let mut causes: Vec<&(usize, &RankError)> = failed
        .iter()
        .filter(|(_, error)| interrupted || !error.interrupted)
        .collect();
    causes.sort_by_key(|(rank, _)| *rank);
    let mut message = String::new();
    for (rank, error) in causes.iter().take(NAMED) {
        let separator = if message.is_empty() { "" } else { "\n" };
        let _ = write!(message, "{separator}{}: {}", members[*rank], error.message);
    }
    let more = causes.len().saturating_sub(NAMED);
    if more > 0 {
        let _ = write!(message, "\nand {more} more ranks");
    }
    let errno = causes.iter().find_map(|(_, error)| error.errno.clone());
    Some((
        Failure {
            stage,
            message,
            errno,
        },
        interrupted,
    ))
}

/// The first end, and the spread of the ends.
fn figures_of_ranks(times: &[Times], sample: &mut Sample) {
    let median = fsdyno_stats::median_whole(times.iter().map(|one| one.returned));
    let (Some(first), Some(median), Some(last)) = (times.first(), median, times.last()) else {
        return;
    };
    for (name, value) in [
        ("first rank's end", first.returned),
        ("median rank's end", median),
        ("last rank's end", last.returned),
    ] {
        sample
            .figures
            .push(Figure::new(name, value as f64, "ns", Better::Lower));
    }
    let spread = (last.returned - first.returned) as f64 / last.returned.max(1) as f64;
    sample.figures.push(Figure::new(
        "spread of ranks",
        spread * 100.0,
        "%",
        Better::Lower,
    ));
}
