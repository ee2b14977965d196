//! What varies between the blocks of a plan: the choice of the user, or what the plan can vary.

use super::config_error::ConfigError;
use super::settings::FromText;
use fsdyno_load::phases::work;
use fsdyno_model::{DatasetChoice, PhasePlan, Vary, Workload};

/// The value of `--vary`: `none`, `all`, or a list of properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Varying {
    /// All properties that the plan can vary.
    All,
    /// These properties.
    Only(Vec<Vary>),
}

impl FromText for Varying {
    fn from_text(text: &str) -> Result<Self, ConfigError> {
        match text.trim() {
            "all" => return Ok(Self::All),
            "none" => return Ok(Self::Only(Vec::new())),
            _ => {}
        }
        let parse = |name: &str| {
            let names = ["all", "none"].into_iter();
            let names = names.chain(Vary::ALL.into_iter().map(Vary::name));
            let name = name.trim();
            Vary::from_name(name)
                .ok_or_else(|| ConfigError::unknown("property that can vary", name, names))
        };
        let mut all = text.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
        all.sort_unstable();
        all.dedup();
        Ok(Self::Only(all))
    }
}

/// The properties that vary between blocks. By default, these are all that can vary in virtual time,
/// and none in real time, where nature varies them. The files of the user are the same in each block.
pub fn resolve(
    choice: Option<&Varying>,
    workloads: &[Workload],
    virtual_time: bool,
) -> Result<Vec<Vary>, ConfigError> {
    let fixed = |workload: &&Workload| {
        let generated = matches!(workload.dataset, DatasetChoice::Generated(_));
        let draws = |phase: &PhasePlan| work::is_one(&phase.kind);
        let draws = workload.phases.iter().any(draws);
        !draws && (!generated || workload.dataset.is_none())
    };
    let chosen = match choice {
        Some(Varying::Only(chosen)) => chosen,
        None if !virtual_time => return Ok(Vec::new()),
        None | Some(Varying::All) => {
            let has_seed = !workloads.iter().all(|workload| fixed(&workload));
            let mut all = Vary::ALL.to_vec();
            all.retain(|vary| match vary {
                Vary::Dataset => has_seed,
                vary => virtual_time || !vary.is_virtual(),
            });
            return Ok(all);
        }
    };
    if let Some(vary) = chosen
        .iter()
        .find(|vary| vary.is_virtual() && !virtual_time)
    {
        return Err(ConfigError::wrong(
            format!("`{vary}` is chosen in virtual time only; in real time nature varies it"),
            "leave it out, or measure in virtual time: --disk nvme --time virtual",
        ));
    }
    match workloads.iter().find(fixed) {
        Some(workload) if chosen.contains(&Vary::Dataset) => Err(ConfigError::wrong(
            format!(
                "workload {} works on the dataset {}, which no seed changes",
                workload.name, workload.dataset
            ),
            "choose one that is generated from a seed: --dataset portage",
        )),
        _ => Ok(chosen.clone()),
    }
}
