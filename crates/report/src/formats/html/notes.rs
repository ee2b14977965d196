//! What stands below the tables of the page: cache states, warnings, what was not measured.

use crate::terms;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Proof {
    place: String,
    asked: &'static str,
    proven: usize,
    samples: usize,
    whole: bool,
    resident: String,
    read: String,
    data: String,
}

#[derive(Debug, Serialize)]
pub struct State {
    summary: String,
    exceptions: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Doubt {
    kind: &'static str,
    count: usize,
    places: String,
    message: String,
    varies: bool,
    advice: String,
}

#[derive(Debug, Serialize)]
pub struct Unmeasured {
    contender: String,
    heading: String,
    reason: String,
    remedy: Option<String>,
}

impl Proof {
    pub fn of(proof: &crate::table::Proof, workloads: usize) -> Self {
        Self {
            place: terms::phase(workloads, &proof.workload, &proof.phase),
            asked: proof.asked.name(),
            proven: proof.proven,
            samples: proof.samples,
            whole: proof.proven == proof.samples,
            resident: proof.resident_in_words(),
            read: proof.read_in_words(),
            data: proof.data.to_string(),
        }
    }
}

impl State {
    pub fn of(state: &crate::table::State) -> Self {
        Self {
            summary: state.summary.clone(),
            exceptions: state.exceptions.clone(),
        }
    }
}

impl Doubt {
    pub fn of(doubt: &crate::table::Doubt) -> Self {
        Self {
            kind: doubt.kind.name(),
            count: doubt.count,
            places: doubt.places_in_words(),
            message: doubt.message.clone(),
            varies: doubt.varies,
            advice: doubt.advice.clone(),
        }
    }
}

impl Unmeasured {
    pub fn of(one: &crate::table::Unmeasured) -> Self {
        Self {
            contender: one.contender.clone(),
            heading: one.heading(),
            reason: one.reason.clone(),
            remedy: one.remedy.clone(),
        }
    }
}
