//! Checks the order of mongo phases before anything is created: one phase makes the shared trees,
//! and later phases use them.

use super::{Parameters, Phase};
use fsdyno_model::plan::PhasePlan;

struct Trees<'a> {
    made_by: &'a PhasePlan,
    copied: bool,
}

/// Checks the phases of a workload. The error is the problem and a remedy.
///
/// # Errors
/// A phase finds no trees, finds trees with other parameters, or would make trees that exist.
pub fn follow(phases: &[PhasePlan]) -> Result<(), String> {
    let mut trees: Option<Trees<'_>> = None;
    for plan in phases {
        let Some(phase) = Phase::find(&plan.kind) else {
            continue;
        };
        let label = &plan.label;
        match (phase, &mut trees) {
            (Phase::Create, None) => {
                trees = Some(Trees {
                    made_by: plan,
                    copied: false,
                });
            }
            (Phase::Create, Some(Trees { made_by, .. })) => {
                return Err(format!(
                    "`{label}` would make trees where those of `{}` stand: put `{}` before it, or \
                     leave it out",
                    made_by.label,
                    Phase::Delete.name()
                ));
            }
            (_, None) => {
                return Err(format!(
                    "`{label}` finds no trees: put `{}` before it",
                    Phase::Create.name()
                ));
            }
            (_, Some(trees)) => {
                agree(trees.made_by, plan)?;
                if phase == Phase::Copy && trees.copied {
                    return Err(format!(
                        "`{label}` would copy trees that already have a copy: leave it out, or put \
                         `{}` and `{}` before it",
                        Phase::Delete.name(),
                        Phase::Create.name()
                    ));
                }
                trees.copied |= phase == Phase::Copy;
            }
        }
        if phase == Phase::Delete {
            trees = None;
        }
    }
    Ok(())
}

/// Refuses a phase whose parameters differ from those of the existing trees.
fn agree(made_by: &PhasePlan, plan: &PhasePlan) -> Result<(), String> {
    let summary = |plan: &PhasePlan| {
        let Parameters {
            bytes,
            median,
            processes,
            rounds,
        } = Parameters::read(&plan.parameters);
        [
            ("bytes", bytes),
            ("median", median),
            ("processes", processes.into()),
            ("rounds", rounds.into()),
        ]
    };
    let differs =
        |((name, made), (_, other)): (_, (_, u64))| (made != other).then_some((name, made, other));
    let mut pairs = summary(made_by).into_iter().zip(summary(plan));
    let Some((name, made, other)) = pairs.find_map(differs) else {
        return Ok(());
    };
    Err(format!(
        "`{}` has {name} {made} and `{}` has {other}, but they work on the same trees: set it for \
         all with --set mongo.{name}={made}, or alike in the plan",
        made_by.label, plan.label
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::CacheState;

    fn phase(kind: &str, given: &[(&str, &str)]) -> PhasePlan {
        let owned = given
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
        PhasePlan {
            label: kind.to_owned(),
            kind: format!("mongo-{kind}"),
            cache: CacheState::AsIs,
            pattern: None,
            parameters: owned.collect(),
            judge: None,
        }
    }

    fn outcome(kinds: &[&str]) -> Result<(), String> {
        let phases: Vec<_> = kinds.iter().map(|kind| phase(kind, &[])).collect();
        follow(&phases)
    }

    #[test]
    fn phases_find_the_trees_of_a_creation_before_them() {
        let whole = [
            "create", "copy", "symlinks", "read", "stats", "rename", "delete",
        ];
        assert_eq!(outcome(&whole), Ok(()));
        assert_eq!(outcome(&[whole, whole].concat()), Ok(()));
        assert_eq!(outcome(&["create", "append", "modify"]), Ok(()));
        assert_eq!(outcome(&[]), Ok(()));
        for (kinds, words) in [
            (&["read"][..], "put `mongo-create` before it"),
            (
                &["create", "delete", "copy"],
                "put `mongo-create` before it",
            ),
            (&["create", "create"], "put `mongo-delete` before it"),
            (&["create", "copy", "copy"], "already have a copy"),
        ] {
            let summary = outcome(kinds).unwrap_err();
            assert!(summary.contains(words), "{summary}");
        }
    }

    #[test]
    fn phases_with_other_trees_are_refused_with_the_setting_that_helps() {
        let create = || phase("create", &[("processes", "4")]);
        let summary = follow(&[create(), phase("read", &[])]).unwrap_err();
        assert!(summary.contains("--set mongo.processes=4"), "{summary}");
        // Setting a default explicitly equals the default.
        let same = [("rounds", "3"), ("processes", "4")];
        assert_eq!(follow(&[create(), phase("read", &same)]), Ok(()));
    }
}
