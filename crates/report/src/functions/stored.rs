//! The flame graphs of the profiles that are stored with a run.

use super::tree::joined;
use super::{PhasePlace, flame};
use crate::charts::flame::Flame;
use crate::terms;
use fsdyno_model::ResultSet;
use fsdyno_model::profile::Profile;

/// The flame graphs of a run, of these contenders and phases, each with its workload and its phase. Their
/// names are only their kinds.
pub fn flames(
    set: &ResultSet,
    takes_contender: impl Fn(&str) -> bool,
    takes_phase: impl Fn(&str, &str) -> bool,
) -> Vec<(String, String, Flame)> {
    let plan = &set.run.plan;
    let mut flames = Vec::new();
    for (w, workload) in plan.workloads.iter().enumerate() {
        for (p, phase) in workload.phases.iter().enumerate() {
            if !takes_phase(&workload.name, &phase.label) {
                continue;
            }
            let heading = terms::phase(plan.workloads.len(), &workload.name, &phase.label);
            let place = PhasePlace {
                workload: w,
                phase: p,
                heading: terms::printable(&heading),
            };
            let contenders = plan.contenders.iter().enumerate();
            let chosen = contenders.filter(|(_, contender)| takes_contender(&contender.label));
            let profiled = chosen.filter_map(|(at, _)| {
                let one = place.median_cell(set, at)?;
                if one.sampled.is_empty() {
                    return Some((one.label, one.record.samples[one.at].profile.clone()?));
                }
                let whole = joined(one.sampled);
                let enough = whole.samples() >= Profile::MIN_SAMPLES;
                enough.then_some((one.label, whole))
            });
            let profiled: Vec<(String, Profile)> = profiled.collect();
            let profiled: Vec<(String, &Profile)> = profiled
                .iter()
                .map(|(label, profile)| (label.clone(), profile))
                .collect();
            for flame in flame::of_phase(&place.heading, &profiled) {
                flames.push((workload.name.clone(), phase.label.clone(), flame));
            }
        }
    }
    flames
}
