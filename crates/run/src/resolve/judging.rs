//! The figures that phases are judged by.

use super::config_error::ConfigError;
use fsdyno_load::programs;
use fsdyno_model::{FigureName, PhasePlan, Workload};

/// Sets the figure that each phase is judged by: that of the plan, that of the argument where the phase
/// has it, or the one of a program whose duration is fixed. `overrides`: the argument is before the
/// plan. The error names a figure that no phase has.
pub(super) fn set(
    workloads: &mut [Workload],
    given: Option<&str>,
    overrides: bool,
) -> Result<(), ConfigError> {
    let given = given.map(FigureName::new);
    let mut refused = None;
    let mut used = false;
    for phase in workloads
        .iter_mut()
        .flat_map(|workload| &mut workload.phases)
    {
        programs::check_figures(phase).map_err(wrong)?;
        if let Some(planned) = &phase.judge {
            programs::refuse_judged(phase, planned).map_err(wrong)?;
        }
        let of_argument = given.as_ref().filter(|figure| {
            let result = programs::refuse_judged(phase, figure);
            used |= result.is_ok();
            result.map_err(|why| refused = Some(why)).is_ok()
        });
        let explicit = match (phase.judge.clone(), of_argument.cloned()) {
            (planned, Some(given)) if overrides || planned.is_none() => Some(given),
            (planned, _) => planned,
        };
        phase.judge = judged(phase, explicit);
    }
    match refused {
        Some(why) if !used => Err(wrong(why)),
        _ => Ok(()),
    }
}

/// The figure of a phase. The time until durable is judged without being named.
fn judged(phase: &PhasePlan, explicit: Option<FigureName>) -> Option<FigureName> {
    let judged = explicit.or_else(|| Some(FigureName::new(&programs::judged(phase)?)));
    judged.filter(|figure| *figure != FigureName::DURABLE)
}

fn wrong(why: String) -> ConfigError {
    ConfigError::wrong(why, "the figures are in docs/reference/figures.md")
}
