//! Numbers of workers as an axis of a plan: workloads with workers run with each number.

use super::catalogue::Catalogue;
use super::config_error::ConfigError;
use super::parameters;
use fsdyno_model::{Workload, scaling::WORKERS};
use std::path::Path;

/// Each workload with workers, once with each number, which is part of its name. The others stay
/// unchanged.
pub fn for_each_number(
    workloads: Vec<Workload>,
    numbers: &[u32],
    catalogue: &Catalogue,
) -> Result<Vec<Workload>, ConfigError> {
    if numbers.is_empty() {
        return Ok(workloads);
    }
    for (place, number) in numbers.iter().enumerate() {
        if numbers[..place].contains(number) {
            return Err(ConfigError::wrong(
                format!("{number} workers are named twice"),
                "name each number once: a plan repeats by its repeats",
            ));
        }
    }
    let mut all = Vec::new();
    let mut any = false;
    for workload in workloads {
        let mut has = Vec::new();
        for (at, phase) in workload.phases.iter().enumerate() {
            let kind = catalogue.kind(&phase.kind)?;
            if kind.parameters.iter().any(|one| one.name == WORKERS) {
                has.push(at);
            }
        }
        if has.is_empty() {
            all.push(workload);
            continue;
        }
        any = true;
        for number in numbers {
            let mut with = workload.clone();
            let plural = if *number == 1 { "" } else { "s" };
            with.name = format!("{}, {number} worker{plural}", workload.name);
            for at in &has {
                let phase = &mut with.phases[*at];
                let text = number.to_string();
                let read = parameters::read(&phase.kind, WORKERS, &text, Path::new(""), catalogue);
                phase.parameters.insert(WORKERS.to_owned(), read?);
            }
            all.push(with);
        }
    }
    if any {
        return Ok(all);
    }
    Err(ConfigError::wrong(
        "no phase has workers",
        "choose one that has, as --phases op-create or copy, or leave the numbers out",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::KindEntry;
    use fsdyno_model::{CacheState, DatasetChoice, Form, Given, Needs, Parameter, PhasePlan};
    use std::collections::BTreeMap;

    const TAKES_WORKERS: &[Parameter] = &[Parameter {
        name: WORKERS,
        about: "",
        form: Form::Number(1, 256),
        given: Given::Fixed("1"),
    }];

    fn catalogue() -> Catalogue {
        let kind = |name, parameters| KindEntry {
            name,
            needs: Needs::Nothing,
            makes_tree: false,
            removes_tree: false,
            searches: false,
            program: false,
            parameters,
            passes_on: false,
            no_defaults_with: &[],
        };
        Catalogue {
            kinds: vec![kind("make", TAKES_WORKERS), kind("look", &[])],
            engines: Vec::new(),
            datasets: Vec::new(),
            lacking: Vec::new(),
            guests: false,
            kernel: None,
        }
    }

    fn workload(kinds: &[&str]) -> Workload {
        let phase = |kind: &&str| PhasePlan {
            label: (*kind).to_owned(),
            kind: (*kind).to_owned(),
            cache: CacheState::AsIs,
            pattern: None,
            parameters: BTreeMap::new(),
            judge: None,
        };
        Workload {
            name: kinds.join("+"),
            dataset: DatasetChoice::parse("none"),
            phases: kinds.iter().map(phase).collect(),
        }
    }

    fn spread_of(kinds: &[&str], numbers: &[u32]) -> Result<Vec<Workload>, String> {
        let all = vec![workload(kinds), workload(&["look"])];
        for_each_number(all, numbers, &catalogue())
            .map_err(|config_error| format!("{config_error:?}"))
    }

    #[test]
    fn each_number_of_workers_is_a_workload_and_others_stay_unchanged() {
        let all = spread_of(&["make", "look"], &[1, 4]).unwrap();
        let names: Vec<&str> = all.iter().map(|workload| workload.name.as_str()).collect();
        assert_eq!(
            names,
            ["make+look, 1 worker", "make+look, 4 workers", "look"]
        );
        assert_eq!(all[1].phases[0].parameters[WORKERS], "4");
        assert!(all[1].phases[1].parameters.is_empty());
        assert_eq!(spread_of(&["make"], &[]).unwrap()[0], workload(&["make"]));
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (kinds, numbers, words) in [
            (&["look"], &[1, 2][..], "no phase has workers"),
            (&["make"], &[2, 2], "2 workers are named twice"),
            (&["make"], &[257], "256"),
        ] {
            let message = spread_of(kinds, numbers).unwrap_err();
            assert!(message.contains(words), "{message}");
        }
    }
}
