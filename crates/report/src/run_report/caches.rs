//! Whether phases started in the requested cache state, and how this was verified.

use super::Lab;
use crate::document::{Audience, Block, Cell, Column, Item, Row, Section, Table, Tone};
use crate::lists::{by_key, unique};
use crate::terms;
use fsdyno_model::{Bytes, CacheState, ResultSet, Sample};

/// The section; `None` if no phase requested a cache state.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let comparison = lab.comparison;
    let proofs = proofs(lab.set);
    let states = states(&proofs, comparison.contenders.len());
    if states.is_empty() {
        return None;
    }
    let items = states.into_iter().map(|state| {
        let exceptions = state.exceptions.into_iter();
        Item {
            more: exceptions
                .map(|text| (text.into(), Tone::Warning))
                .collect(),
            ..Item::new(state.requested.to_string(), Tone::Plain, state.summary)
        }
    });
    let rows = proofs.iter().map(|proof| Row {
        place: Some(proof.place.clone()),
        ..Row::new(proof.place.as_str(), proof.cells())
    });
    let columns = [
        Column::of_text("requested"),
        Column::new("proven"),
        Column::new("resident pages"),
        Column::new("read at the device"),
        Column::new("data"),
    ];
    let table = Table::new("Cache states", "phase", columns, rows);
    Some(
        Section::new("caches", "Cache states")
            .with(Block::List(items.collect()))
            .with(Block::Only(
                Audience::Long,
                vec![
                    Block::Legend(
                        "Resident pages: of the dataset in memory just before the phase.".into(),
                    ),
                    table.into(),
                ],
            )),
    )
}

/// The state of the caches in one phase, over all contenders and repeats.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Proof {
    /// The name of the phase.
    place: String,
    /// The requested state.
    requested: CacheState,
    /// The number of samples in which it is proven.
    proven: usize,
    /// The number of samples.
    samples: usize,
    /// The largest number of resident pages of the dataset in a sample, if they were counted.
    resident_pages: Option<u64>,
    /// The methods that established and checked it. If it is proven for some samples, the methods
    /// of these.
    how: Vec<String>,
    /// The minimum and the maximum of bytes read from the devices, if they are observable.
    read_at_device: Option<(Bytes, Bytes)>,
    /// Bytes of file data handled.
    data: Bytes,
    /// The contender with the fewest bytes read from the devices, if a cold read-only phase read
    /// less than its data.
    read_less: Option<(String, Bytes)>,
    /// Contenders without proof, each with the reason of its first such sample.
    unproven: Vec<(String, String)>,
}

/// The proofs of all phases that requested a cache state.
fn proofs(set: &ResultSet) -> Vec<Proof> {
    let workloads = &set.run.plan.workloads;
    let mut proofs = Vec::new();
    for (w, workload) in workloads.iter().enumerate() {
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
            let place = terms::phase(workloads.len(), &workload.name, &phase.label);
            proofs.push(proof(set, &place, phase.cache, &samples));
        }
    }
    proofs
}

fn proof(
    set: &ResultSet,
    place: &str,
    requested: CacheState,
    samples: &[(usize, &Sample)],
) -> Proof {
    let any_proven = samples.iter().any(|(_, s)| s.cache.proven);
    let mut hows = Vec::new();
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
        hows.extend(Some(how).filter(|how| counts && !how.is_empty()));
        let label = terms::printable(&set.run.plan.contenders[*contender].label);
        if !evidence.proven && !unproven.iter().any(|(known, _)| *known == label) {
            let reason = evidence
                .reason
                .as_deref()
                .unwrap_or("no reason was recorded");
            unproven.push((label, terms::printable(reason)));
        }
    }
    let read = samples
        .iter()
        .filter_map(|(_, s)| s.device.map(|d| d.read_bytes));
    let reading = samples.iter().all(|(_, s)| s.durable_ns.is_none());
    let read_less = samples
        .iter()
        .filter(|(_, s)| reading && s.cache.requested == CacheState::Cold)
        .filter_map(|(c, s)| Some((c, s.device?.read_bytes, s.tally.bytes)))
        .filter(|(_, read, data)| read < data)
        .min_by_key(|(_, read, _)| *read)
        .map(|(c, read, _)| (terms::printable(&set.run.plan.contenders[*c].label), read));
    Proof {
        place: terms::printable(place),
        requested,
        proven: samples.iter().filter(|(_, s)| s.cache.proven).count(),
        samples: samples.len(),
        resident_pages: samples
            .iter()
            .filter_map(|(_, s)| s.cache.resident_pages)
            .max(),
        how: unique(hows),
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
    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::Text(self.requested.to_string()),
            Cell::Text(format!("{} of {}", self.proven, self.samples)),
            Cell::Text(self.resident_text()),
            Cell::Text(self.read_text()),
            Cell::Size(self.data),
        ]
    }

    /// The bytes read from the devices, as text; a range if samples differ.
    fn read_text(&self) -> String {
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

    /// The number of resident pages, as text.
    fn resident_text(&self) -> String {
        match self.resident_pages {
            None => "not counted".to_owned(),
            Some(0) => "none".to_owned(),
            Some(pages) => format!("up to {pages}"),
        }
    }
}

/// A cache state, over all phases that requested it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    /// The state.
    requested: CacheState,
    /// The number of samples with proof, and the methods, as text.
    summary: String,
    /// Phases without proof, and phases that read too little, one sentence each.
    exceptions: Vec<String>,
}

/// The requested states.
fn states(proofs: &[Proof], contenders: usize) -> Vec<State> {
    [CacheState::Cold, CacheState::Warm]
        .into_iter()
        .filter_map(|requested| {
            let of_state: Vec<&Proof> =
                proofs.iter().filter(|p| p.requested == requested).collect();
            let mut exceptions = unproven(&of_state, contenders);
            exceptions.extend(read_too_little(&of_state));
            (!of_state.is_empty()).then(|| State {
                requested,
                summary: summary(requested, &of_state),
                exceptions,
            })
        })
        .collect()
}

fn summary(requested: CacheState, proofs: &[&Proof]) -> String {
    let proven: usize = proofs.iter().map(|p| p.proven).sum();
    let samples: usize = proofs.iter().map(|p| p.samples).sum();
    let of = if proven == samples {
        format!("proven in all {samples} samples")
    } else {
        format!("proven in {proven} of {}", terms::count(samples, "sample"))
    };
    let resident = proofs.iter().filter_map(|p| p.resident_pages).max();
    let resident = match resident {
        Some(0) if requested == CacheState::Cold => ", no page of the data in memory",
        _ => "",
    };
    let hows = unique(proofs.iter().flat_map(|p| &p.how).map(String::as_str));
    let by = if hows.is_empty() { "" } else { "; by " };
    format!("{of}{resident}{by}{}", hows.join(", or by "))
}

/// Contenders and phases without proof, grouped by reason.
fn unproven(proofs: &[&Proof], contenders: usize) -> Vec<String> {
    let each = by_key(proofs.iter().flat_map(|proof| {
        let unproven = proof.unproven.iter();
        unproven.map(|both| (both, proof.place.clone()))
    }));
    let each = each.into_iter();
    let grouped =
        by_key(each.map(|((contender, reason), places)| ((reason, places), contender.clone())));
    let sentence = |((reason, places), who): ((&String, Vec<String>), Vec<String>)| {
        let who = if who.len() == contenders && contenders > 1 {
            format!("all {contenders} contenders")
        } else {
            terms::list(&who)
        };
        let at = if places.len() == proofs.len() && places.len() > 1 {
            format!("all {} phases", places.len())
        } else {
            terms::list(&places)
        };
        format!("not proven for {who} at {at}: {reason}")
    };
    grouped.into_iter().map(sentence).collect()
}

/// Cold read-only phases that read less than their data from the devices.
fn read_too_little(proofs: &[&Proof]) -> Vec<String> {
    proofs
        .iter()
        .filter_map(|proof| {
            let (contender, least) = proof.read_less.as_ref()?;
            let Proof { place, data, .. } = proof;
            Some(format!(
                "{contender} at {place}: only {least} of {data} were read at the device: \
                 compressed, shared, or held in a cache below"
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(phase: &str, unproven: &[(&str, &str)]) -> Proof {
        let owned = |(who, why): &(&str, &str)| ((*who).to_owned(), (*why).to_owned());
        Proof {
            place: phase.into(),
            requested: CacheState::Cold,
            proven: 6 - 3 * unproven.len(),
            samples: 6,
            resident_pages: Some(0),
            how: vec!["remount".into()],
            read_at_device: Some((Bytes(4096), Bytes(8192))),
            data: Bytes(4096),
            read_less: None,
            unproven: unproven.iter().map(owned).collect(),
        }
    }

    fn check(proofs: &[Proof], summary: &str, exceptions: &[&str]) {
        let states = states(proofs, 2);
        assert_eq!(states.len(), 1);
        assert_eq!(states[0].summary, summary);
        assert_eq!(states[0].exceptions, exceptions);
    }

    #[test]
    fn a_proven_cache_state_has_one_sentence() {
        check(
            &[proof("read", &[]), proof("grep", &[])],
            "proven in all 12 samples, no page of the data in memory; by remount",
            &[],
        );
    }

    #[test]
    fn contenders_with_the_same_reason_share_a_sentence() {
        let memory = ("tmpfs", "it lives in memory");
        let other = ("ext4", "17 pages stayed");
        check(
            &[proof("read", &[memory]), proof("grep", &[memory, other])],
            "proven in 3 of 12 samples, no page of the data in memory; by remount",
            &[
                "not proven for tmpfs at all 2 phases: it lives in memory",
                "not proven for ext4 at grep: 17 pages stayed",
            ],
        );
    }

    #[test]
    fn proven_cache_states_are_not_listed_as_unproven() {
        let why = "17 pages stayed";
        check(
            &[
                proof("read", &[("ext4", why)]),
                proof("grep", &[("xfs", why)]),
            ],
            "proven in 6 of 12 samples, no page of the data in memory; by remount",
            &[
                "not proven for ext4 at read: 17 pages stayed",
                "not proven for xfs at grep: 17 pages stayed",
            ],
        );
    }

    #[test]
    fn a_cold_phase_that_read_too_little_is_reported() {
        let mut proof = proof("read", &[]);
        proof.data = Bytes(1 << 20);
        proof.read_less = Some(("xfs".into(), Bytes(4096)));
        check(
            &[proof],
            "proven in all 6 samples, no page of the data in memory; by remount",
            &[
                "xfs at read: only 4.00 KiB of 1.00 MiB were read at the device: compressed, \
                 shared, or held in a cache below",
            ],
        );
    }
}
