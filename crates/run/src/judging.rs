//! How the comparisons of a plan are judged while it runs; reports judge them alike.

use fsdyno_model::Plan;
use fsdyno_stats::{InterimAnalyses, Rule};

/// How the comparisons of a plan are judged.
pub fn rule(plan: &Plan) -> Rule {
    Rule {
        margin: plan.margin,
        looks: plan.adaptive.map(|adaptive| InterimAnalyses {
            least: plan.repeats,
            most: adaptive.most,
        }),
        certain: plan.is_certain(),
    }
}
