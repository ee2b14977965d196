//! Whether phases began in the cache state asked for, summed up per phase.

use crate::terms;
use fsdyno_model::{Bytes, CacheState, ResultSet, Sample};

/// What is known of the caches at one phase, all contenders and repeats together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The workload.
    pub workload: String,
    /// The phase.
    pub phase: String,
    /// The state asked for.
    pub asked: CacheState,
    /// Samples in which it is proven.
    pub proven: usize,
    /// Samples in all.
    pub samples: usize,
    /// Most pages of the dataset found in memory in any sample, where they were counted.
    pub resident_pages: Option<u64>,
    /// How it was brought about and checked, in the ways met; where it is proven for some, in
    /// the ways in which it is.
    pub how: Vec<String>,
    /// Least and most bytes read at the devices, where they can be watched.
    pub read_at_device: Option<(Bytes, Bytes)>,
    /// Bytes of file data handled.
    pub data: Bytes,
    /// Whoever read the fewest bytes at the devices, where a cold phase that only reads read fewer
    /// than its data.
    pub read_less: Option<(String, Bytes)>,
    /// Contenders in which it is not proven, each with the reason of its first such sample.
    pub unproven: Vec<(String, String)>,
}

/// The proofs of all phases that asked for a cache state.
pub(super) fn proofs(set: &ResultSet) -> Vec<Proof> {
    let mut proofs = Vec::new();
    for (w, workload) in set.run.plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            if phase.cache == CacheState::AsIs {
                continue;
            }
            let samples = set.samples_of_all(w, p).into_iter().enumerate();
            let samples: Vec<(usize, &Sample)> = samples
                .flat_map(|(c, of)| of.into_iter().map(move |(_, s)| (c, s)))
                .collect();
            if samples.is_empty() {
                continue;
            }
            proofs.push(proof(
                set,
                (&workload.name, &phase.label),
                phase.cache,
                &samples,
            ));
        }
    }
    proofs
}

fn proof(
    set: &ResultSet,
    (workload, phase): (&str, &str),
    asked: CacheState,
    samples: &[(usize, &Sample)],
) -> Proof {
    let any_proven = samples.iter().any(|(_, s)| s.cache.proven);
    let mut hows: Vec<String> = Vec::new();
    let mut unproven: Vec<(String, String)> = Vec::new();
    for (contender, sample) in samples {
        let evidence = &sample.cache;
        let mut how = terms::printable(&evidence.method);
        if !evidence.checked_by.is_empty() {
            how = format!(
                "{how}; checked by {}",
                terms::printable(&evidence.checked_by)
            );
        }
        let counts = evidence.proven || !any_proven;
        if counts && !how.is_empty() && !hows.contains(&how) {
            hows.push(how);
        }
        let label = terms::printable(&set.run.plan.contenders[*contender].label);
        if !evidence.proven && !unproven.iter().any(|(known, _)| *known == label) {
            let doubt = evidence
                .doubt
                .as_deref()
                .unwrap_or("no reason was recorded");
            unproven.push((label, terms::printable(doubt)));
        }
    }
    let read = samples
        .iter()
        .filter_map(|(_, s)| s.device.map(|d| d.read_bytes));
    let reading = samples.iter().all(|(_, s)| s.durable_ns.is_none());
    let read_less = samples
        .iter()
        .filter(|(_, s)| reading && s.cache.asked == CacheState::Cold)
        .filter_map(|(c, s)| Some((c, s.device?.read_bytes, s.tally.bytes)))
        .filter(|(_, read, data)| read < data)
        .min_by_key(|(_, read, _)| *read)
        .map(|(c, read, _)| (terms::printable(&set.run.plan.contenders[*c].label), read));
    Proof {
        workload: terms::printable(workload),
        phase: terms::printable(phase),
        asked,
        proven: samples.iter().filter(|(_, s)| s.cache.proven).count(),
        samples: samples.len(),
        resident_pages: samples
            .iter()
            .filter_map(|(_, s)| s.cache.resident_pages)
            .max(),
        how: hows,
        read_at_device: read.clone().min().zip(read.max()),
        data: samples
            .iter()
            .map(|(_, s)| s.tally.bytes)
            .max()
            .unwrap_or_default(),
        read_less,
        unproven,
    }
}

impl Proof {
    /// What was read at the devices, in words: a span where samples differ.
    pub fn read_in_words(&self) -> String {
        let Some((least, most)) = self.read_at_device else {
            return "not watched".to_owned();
        };
        let mut text = if least.to_string() == most.to_string() {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        if self.read_less.is_some() {
            text += " (less than the data)";
        }
        text
    }

    /// How many pages were found in memory, in words.
    pub fn resident_in_words(&self) -> String {
        match self.resident_pages {
            None => "not counted".to_owned(),
            Some(0) => "none".to_owned(),
            Some(pages) => format!("up to {pages}"),
        }
    }
}
