//! The proofs of all phases summed up by the cache state they asked for: how it was brought about
//! stands once, and what is not as it should be stands alone.

use super::Proof;
use crate::terms;
use fsdyno_model::CacheState;

/// One cache state, all phases that asked for it together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Which state.
    pub asked: CacheState,
    /// In how many samples it was proven, how it was brought about and checked, in words.
    pub summary: String,
    /// Where it is not proven, and what was read too little for it, a sentence each.
    pub exceptions: Vec<String>,
}

/// The states that were asked for.
pub(super) fn states(proofs: &[Proof], workloads: usize, contenders: usize) -> Vec<State> {
    [CacheState::Cold, CacheState::Warm]
        .into_iter()
        .filter_map(|asked| {
            let of_state: Vec<&Proof> = proofs.iter().filter(|p| p.asked == asked).collect();
            let mut exceptions = unproven(&of_state, workloads, contenders);
            exceptions.extend(read_too_little(&of_state, workloads));
            (!of_state.is_empty()).then(|| State {
                asked,
                summary: summary(asked, &of_state),
                exceptions,
            })
        })
        .collect()
}

fn summary(asked: CacheState, proofs: &[&Proof]) -> String {
    let proven: usize = proofs.iter().map(|p| p.proven).sum();
    let samples: usize = proofs.iter().map(|p| p.samples).sum();
    let of = if proven == samples {
        format!("proven in all {samples} samples")
    } else {
        format!("proven in {proven} of {}", terms::count(samples, "sample"))
    };
    let resident = proofs.iter().filter_map(|p| p.resident_pages).max();
    let resident = match resident {
        Some(0) if asked == CacheState::Cold => ", no page of the data in memory",
        _ => "",
    };
    let mut hows: Vec<&str> = Vec::new();
    for how in proofs.iter().flat_map(|p| &p.how) {
        if !hows.contains(&how.as_str()) {
            hows.push(how);
        }
    }
    let by = if hows.is_empty() { "" } else { "; by " };
    format!("{asked}: {of}{resident}{by}{}", hows.join(", or by "))
}

/// Who is not proven where, told once for all with one reason at the same places.
fn unproven(proofs: &[&Proof], workloads: usize, contenders: usize) -> Vec<String> {
    let mut each: Vec<(&str, &str, Vec<String>)> = Vec::new();
    for proof in proofs {
        let phase = terms::phase(workloads, &proof.workload, &proof.phase);
        for (contender, reason) in &proof.unproven {
            let mut known = each.iter_mut();
            match known.find(|(why, who, _)| why == reason && who == contender) {
                Some((_, _, places)) => places.push(phase.clone()),
                None => each.push((reason, contender, vec![phase.clone()])),
            }
        }
    }
    let mut told: Vec<(&str, Vec<String>, Vec<String>)> = Vec::new();
    for (reason, contender, places) in each {
        let mut known = told.iter_mut();
        match known.find(|(why, _, at)| *why == reason && *at == places) {
            Some((_, who, _)) => who.push(contender.to_owned()),
            None => told.push((reason, vec![contender.to_owned()], places)),
        }
    }
    let sentence = |(reason, who, places): (&str, Vec<String>, Vec<String>)| {
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
    told.into_iter().map(sentence).collect()
}

/// Cold phases that only read, and read less than their data at the devices.
fn read_too_little(proofs: &[&Proof], workloads: usize) -> Vec<String> {
    proofs
        .iter()
        .filter_map(|proof| {
            let (contender, least) = proof.read_less.as_ref()?;
            let phase = terms::phase(workloads, &proof.workload, &proof.phase);
            let data = proof.data;
            Some(format!(
                "{contender} at {phase}: only {least} of {data} were read at the device: \
                 compressed, shared, or held in a cache below"
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Bytes;

    fn proof(phase: &str, unproven: &[(&str, &str)]) -> Proof {
        let owned = |(who, why): &(&str, &str)| ((*who).to_owned(), (*why).to_owned());
        Proof {
            workload: "tree".into(),
            phase: phase.into(),
            asked: CacheState::Cold,
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
        let states = states(proofs, 1, 2);
        assert_eq!(states.len(), 1);
        assert_eq!(states[0].summary, summary);
        assert_eq!(states[0].exceptions, exceptions);
    }

    #[test]
    fn the_method_is_told_once_and_what_is_as_asked_needs_no_more() {
        check(
            &[proof("read", &[]), proof("grep", &[])],
            "cold: proven in all 12 samples, no page of the data in memory; by remount",
            &[],
        );
    }

    #[test]
    fn one_reason_is_told_once_with_all_it_holds_for() {
        let memory = ("tmpfs", "it lives in memory");
        let other = ("ext4", "17 pages stayed");
        check(
            &[proof("read", &[memory]), proof("grep", &[memory, other])],
            "cold: proven in 3 of 12 samples, no page of the data in memory; by remount",
            &[
                "not proven for tmpfs at all 2 phases: it lives in memory",
                "not proven for ext4 at grep: 17 pages stayed",
            ],
        );
    }

    #[test]
    fn nobody_is_told_to_be_unproven_where_it_was_proven() {
        let why = "17 pages stayed";
        check(
            &[
                proof("read", &[("ext4", why)]),
                proof("grep", &[("xfs", why)]),
            ],
            "cold: proven in 6 of 12 samples, no page of the data in memory; by remount",
            &[
                "not proven for ext4 at read: 17 pages stayed",
                "not proven for xfs at grep: 17 pages stayed",
            ],
        );
    }

    #[test]
    fn a_cold_phase_that_read_too_little_stands_out() {
        let mut proof = proof("read", &[]);
        proof.data = Bytes(1 << 20);
        proof.read_less = Some(("xfs".into(), Bytes(4096)));
        check(
            &[proof],
            "cold: proven in all 6 samples, no page of the data in memory; by remount",
            &[
                "xfs at read: only 4.00 KiB of 1.00 MiB were read at the device: compressed, \
                 shared, or held in a cache below",
            ],
        );
    }
}
