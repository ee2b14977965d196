//! The cause of a difference and its explanation. A cause is one part of the time with at least
//! half of the difference. A closer cause also needs agreeing counters.

use super::Advice;
use super::parts::{Anatomy, Part};
use super::rows::{DeviceRequests, extents_per_file};
use crate::terms;
use crate::terms::grouped;
use fsdyno_model::{Bytes, Contender, Nanos, Plan, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write as _;

/// A part is the cause from this share of the difference on.
const CARRIES: f64 = 0.5;

/// One count is larger than another from this ratio on.
const MORE: f64 = 1.25;

/// From this share of all processors on, the load of other programs may hide the cause.
const LOADED: f64 = 0.05;

/// A cause of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Workers compute in their own code.
    User,
    /// The kernel computes for the workers.
    Kernel,
    /// Kernel threads compute, and the workers wait. On a model processor: kernel threads compute.
    KernelThreads,
    /// The devices serve reads.
    Reads,
    /// The devices serve reads: the same bytes in more requests, because files have more extents.
    #[serde(rename = "fragments")]
    Extents,
    /// The devices serve writes.
    Writes,
    /// The devices serve discards.
    Discards,
    /// The devices serve flushes.
    Flushes,
}

impl Cause {
    /// The cause after "mostly because of".
    pub const fn words(self) -> &'static str {
        match self {
            Self::User => "processor time in user mode",
            Self::Kernel => "processor time in the kernel",
            Self::KernelThreads => "kernel threads",
            Self::Reads => "reads",
            Self::Extents => "reads of files in more extents",
            Self::Writes => "writes",
            Self::Discards => "discards",
            Self::Flushes => "flushes",
        }
    }
}

/// A cause with its share of the difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    /// The part of the time.
    pub cause: Cause,
    /// Its share, from 0; above 1 if other parts of the slower contender are shorter.
    pub share: f64,
}

/// The cause of the difference, or the reason why there is none.
pub(super) fn find(slower: &Anatomy, faster: &Anatomy) -> Result<Found, String> {
    let (Some(long), Some(short)) = (slower.parts_ns, faster.parts_ns) else {
        let why = "workers ran on several processors at once, so that time cannot be divided \
                   between processors and devices";
        return Err(format!("what carries the difference is not known: {why}"));
    };
    let whole = (slower.whole_ns - faster.whole_ns) as f64;
    let share = |part: Part| {
        let more = long[part.place()].cast_signed() - short[part.place()].cast_signed();
        (part, more as f64 / whole)
    };
    let shares = Part::ALL.map(share);
    // If other parts save as much, this part is not the cause.
    let (part, most) = shares
        .into_iter()
        .fold((Part::Rest, f64::MIN), |best, one| {
            if one.1 > best.1 { one } else { best }
        });
    let not_known = |why: &str| Err(format!("what carries the difference is not known: {why}"));
    let percent = self::share(most);
    if most < CARRIES {
        return not_known(&format!(
            "the largest part of it, {}, is {percent}",
            part.name()
        ));
    }
    let cause = match part {
        Part::User => Cause::User,
        Part::Kernel | Part::Charged => Cause::Kernel,
        Part::KernelThreads => Cause::KernelThreads,
        Part::Reads => Cause::Reads,
        Part::Writes => Cause::Writes,
        Part::Discards => Cause::Discards,
        Part::Flushes => Cause::Flushes,
        Part::Device => {
            return not_known(&format!(
                "{percent} of it is time of the device, and the kinds of its requests were not counted"
            ));
        }
        Part::Either => {
            return not_known(&format!(
                "for {percent} of it the device was busy while workers may have been computing; a model \
                 disk in virtual time (run --disk) separates the two"
            ));
        }
        Part::Rest if slower.busy_ns.is_none() => {
            return not_known(&format!(
                "{percent} of it is not processor time of the workers, and devices were not observed"
            ));
        }
        Part::Rest => return in_the_rest(slower, faster, most),
    };
    let certain = match cause {
        Cause::User | Cause::Kernel | Cause::KernelThreads => most,
        _ => (slower.least(part) as f64 - short[part.place()] as f64) / whole,
    };
    if certain < CARRIES {
        return not_known(&format!(
            "by what its requests waited, {percent} of it is {}, but those of other kinds were \
             in flight at the same time",
            part.name()
        ));
    }
    Ok(Found { cause, share: most })
}

/// The cause of time in which neither workers nor devices were busy.
fn in_the_rest(slower: &Anatomy, faster: &Anatomy, most: f64) -> Result<Found, String> {
    let whole = (slower.whole_ns - faster.whole_ns) as f64;
    let short = faster.kernel_threads_ns.unwrap_or(0);
    let short = faster.part(Part::Rest).unwrap_or(0).min(short);
    let certain = (slower.least_of_kernel_threads() as f64 - short as f64) / whole;
    if certain >= CARRIES {
        return Ok(Found {
            cause: Cause::KernelThreads,
            share: certain,
        });
    }
    let why = format!(
        "what carries the difference is not known: for {} of it the workers did not run and the \
         device had nothing to do",
        share(most)
    );
    let load = slower.load_of_others().filter(|load| *load > LOADED);
    let threads = slower.kernel_threads_ns.zip(faster.kernel_threads_ns);
    let more = threads.filter(|(long, short)| *long as f64 >= MORE * *short as f64);
    let meanwhile = match (load, more) {
        (Some(load), _) => format!(
            "; other programs had {:.0} % of the processors meanwhile: measure again where nothing \
             else runs",
            100.0 * load
        ),
        (None, Some((long, short))) => {
            let [long, short] = [long, short].map(Nanos);
            format!("; kernel threads ran {long} against {short} meanwhile")
        }
        (None, None) => String::new(),
    };
    Err(why + &meanwhile)
}

/// The input of an explanation.
pub(super) struct Explanation<'a> {
    pub contenders: [&'a Contender; 2],
    pub samples: [&'a Sample; 2],
    pub anatomies: &'a [Anatomy; 2],
    pub slower: usize,
    pub plan: &'a Plan,
}

impl Explanation<'_> {
    /// The closer cause, if the counters support it: reads of files in more extents.
    pub fn closer(&self, cause: Cause) -> Cause {
        if cause == Cause::Reads && self.fragmented() {
            Cause::Extents
        } else {
            cause
        }
    }

    /// About the same bytes in more requests, or with more seeks, of files in more extents.
    fn fragmented(&self) -> bool {
        let [slow, fast] = self.both(|at| DeviceRequests::of(self.samples[at]));
        let [long, short] = self.both(|at| extents_per_file(self.samples[at]));
        let (Some(slow), Some(fast), Some(long), Some(short)) = (slow, fast, long, short) else {
            return false;
        };
        let more = |a: u64, b: u64| a as f64 >= MORE * b as f64;
        let seeks = slow.seeks.zip(fast.seeks).is_some_and(|(a, b)| more(a, b));
        let requests = more(slow.reads, fast.reads);
        long >= MORE * short && !more(slow.read_bytes, fast.read_bytes) && (requests || seeks)
    }

    /// A value of the slower and of the faster contender.
    fn both<T>(&self, of: impl Fn(usize) -> T) -> [T; 2] {
        [of(self.slower), of(1 - self.slower)]
    }

    /// The explanation of a phase.
    pub fn sentence(&self, found: Result<Found, String>, advice: Advice<'_>) -> String {
        let [slow, fast] = self.both(|at| terms::printable(&self.contenders[at].label));
        let [long, short] = self.both(|at| self.anatomies[at].whole_ns);
        let times = |ns| Nanos(ns).to_string();
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                return format!(
                    "{slow} took {}, {fast} {}: {why}.",
                    times(long),
                    times(short)
                );
            }
        };
        let cause = self.closer(found.cause);
        let ratio = terms::ratio(long as f64 / short.max(1) as f64);
        let mut text = format!(
            "{slow} took {} and {fast} {} ({ratio}x); {} of the difference is {}",
            times(long),
            times(short),
            share(found.share),
            self.carried(cause, &slow, &fast)
        );
        if let Some(advice) = advice(self.both(|at| self.contenders[at]), cause) {
            text += "; to try: ";
            text += &terms::printable(&advice);
        }
        if self.plan.in_virtual_time() {
            let _ = write!(text, "; in virtual time, with {}", self.plan.processor());
        }
        text + "."
    }

    /// The share of time that one contender waits for flushes, and their number.
    fn flushes(&self, at: usize) -> String {
        let anatomy = &self.anatomies[at];
        let requests = DeviceRequests::of(self.samples[at]).unwrap_or_default();
        let each = requests.each(Part::Flushes);
        let (Some(part), Some(each)) = (anatomy.part(Part::Flushes), each) else {
            return "for none".to_owned();
        };
        let flushes = match requests.flushes {
            1 => "1 flush".to_owned(),
            n => format!("{} flushes", grouped(n)),
        };
        format!(
            "{:.0} % of its time for {} of {}",
            100.0 * part as f64 / anatomy.whole_ns.max(1) as f64,
            flushes,
            Nanos(each)
        )
    }

    /// The cost of a flush from which on the faster contender is faster, if both sent the same
    /// requests and the rest of their time was the same.
    fn threshold(&self, fast: &str) -> Option<String> {
        let [rest, other_rest] = self.both(|at| {
            let anatomy = &self.anatomies[at];
            let flushes = anatomy.part(Part::Flushes)?;
            Some(anatomy.whole_ns.saturating_sub(flushes))
        });
        let [many, few] = self.both(|at| {
            let requests = DeviceRequests::of(self.samples[at]);
            requests.map_or(0, |requests| requests.flushes)
        });
        let more = many.checked_sub(few).filter(|more| *more > 0)?;
        let gained = other_rest?.saturating_sub(rest?);
        Some(match gained / more {
            0 => format!("; {fast} is faster whatever a flush costs"),
            least => format!(
                "; {fast} is faster only while flushes cost at least {}",
                Nanos(least)
            ),
        })
    }

    /// The share of metadata in the written bytes, if both have it.
    fn metadata(&self) -> String {
        let [a, b] = self.both(|at| self.anatomies[at].traced);
        a.zip(b).map_or_else(String::new, |(a, b)| {
            let (a, b) = (a.metadata_written_bytes, b.metadata_written_bytes);
            format!("; {a} of it is metadata against {b}")
        })
    }

    /// The cause with its counts.
    fn carried(&self, cause: Cause, slow: &str, fast: &str) -> String {
        let [long, short] = self.both(|at| {
            let [user, kernel] = self.anatomies[at].workers_ns.unwrap_or_default();
            let ns = if cause == Cause::User { user } else { kernel };
            Nanos(ns).to_string()
        });
        let on =
            |what: &str| format!("processor time of the workers {what}: {long} against {short}");
        let requests = self.both(|at| DeviceRequests::of(self.samples[at]).unwrap_or_default());
        let [a, b] = requests;
        let each = |n: u64, bytes: u64, of: &DeviceRequests, kind| {
            let size = bytes.checked_div(n).map(|each| Bytes(each).to_string());
            let time = of.each(kind).map(|ns| Nanos(ns).to_string());
            let each: Vec<String> = [size, time].into_iter().flatten().collect();
            match &each[..] {
                [] => grouped(n),
                each => format!("{} of {}", grouped(n), terms::list(each)),
            }
        };
        let reads = |of: &DeviceRequests| each(of.reads, of.read_bytes, of, Part::Reads);
        let writes = |of: &DeviceRequests| each(of.writes, of.written_bytes, of, Part::Writes);
        let charges = self.both(|at| self.anatomies[at].charge);
        if let ([Some(long), Some(short)], Cause::Kernel | Cause::KernelThreads) = (charges, cause)
        {
            let (of, [long, short]) = if cause == Cause::Kernel {
                ("the workload", [long, short].map(|of| of.workload_ns))
            } else {
                (
                    "kernel threads",
                    [long, short].map(|of| of.kernel_threads_ns),
                )
            };
            let [long, short] = [long, short].map(Nanos);
            return format!("processor time of {of}: {long} against {short}");
        }
        match cause {
            Cause::User => on("in their own code"),
            Cause::Kernel => on("in the kernel"),
            Cause::KernelThreads => {
                let [long, short] = self.both(|at| {
                    let ns = self.anatomies[at].kernel_threads_ns;
                    ns.map_or_else(|| "an unknown time".to_owned(), |ns| Nanos(ns).to_string())
                });
                format!(
                    "at the least time in which only kernel threads ran while the workers waited: they \
                     computed for {long} against {short}"
                )
            }
            Cause::Reads => format!(
                "time in which the device served reads, {} against {}{}",
                reads(&a),
                reads(&b),
                seeks(&requests)
            ),
            Cause::Extents => {
                let [more, fewer] = self.both(|at| {
                    extents_per_file(self.samples[at]).map_or_else(String::new, terms::ratio)
                });
                format!(
                    "time in which the device served reads, {} against {}{}, with {more} extents per file \
                     against {fewer}",
                    reads(&a),
                    reads(&b),
                    seeks(&requests)
                )
            }
            Cause::Writes => format!(
                "time in which the device served writes, {} against {}{}{}",
                writes(&a),
                writes(&b),
                seeks(&requests),
                self.metadata()
            ),
            Cause::Discards => "time in which the device served discards".to_owned(),
            Cause::Flushes => {
                let times_text = self.both(|at| self.flushes(at));
                format!(
                    "time in which the device served flushes: {slow} waits {}, {fast} {}{}",
                    times_text[0],
                    times_text[1],
                    self.threshold(fast).unwrap_or_default()
                )
            }
        }
    }
}

/// A share of the difference; above 100 % if other parts of the slower contender are shorter.
fn share(share: f64) -> String {
    if share > 1.005 {
        return "more than all".to_owned();
    }
    format!("{:.0} %", 100.0 * share)
}

fn seeks([a, b]: &[DeviceRequests; 2]) -> String {
    a.seeks.zip(b.seeks).map_or_else(String::new, |(a, b)| {
        format!(" ({} seeks against {})", grouped(a), grouped(b))
    })
}
