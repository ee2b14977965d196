//! The least part of a list, or of what a state lacks, that still shows a failure.
//!
//! Delta debugging (A. Zeller, R. Hildebrandt, "Simplifying and isolating failure-inducing input",
//! IEEE Transactions on Software Engineering 28, 2002): the algorithm `ddmin`.

use crate::state_id::{SectorSet, Selection};
use crate::states::WindowStates;
use fsdyno_model::exploration::StateClass;

/// A part of `items`, which fail, that fails too, and that does not fail without any single one of
/// its items. `fails` must give equal answers to equal lists. Its errors end the search.
pub fn minimise<T: Clone, E>(
    items: &[T],
    mut fails: impl FnMut(&[T]) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    if items.is_empty() || fails(&[])? {
        return Ok(Vec::new());
    }
    let mut left = items.to_vec();
    let mut parts = 2;
    'smaller: while left.len() > 1 {
        let size = left.len().div_ceil(parts);
        for from in (0..left.len()).step_by(size) {
            let part = &left[from..left.len().min(from + size)];
            if fails(part)? {
                left = part.to_vec();
                parts = 2;
                continue 'smaller;
            }
        }
        // With two parts, the complement of one is the other.
        for from in (0..left.len()).step_by(size).take_while(|_| parts > 2) {
            let until = left.len().min(from + size);
            let rest = [&left[..from], &left[until..]].concat();
            if fails(&rest)? {
                left = rest;
                parts = (parts - 1).max(2);
                continue 'smaller;
            }
        }
        if parts >= left.len() {
            break;
        }
        parts = (2 * parts).min(left.len());
    }
    Ok(left)
}

/// A difference between a state and the one in which all requests landed in order.
#[derive(Debug, Clone)]
enum Defect {
    Missing(usize),
    Torn(u32, SectorSet),
    Garbage(u32, Option<SectorSet>),
    Reordered((u64, u64)),
    Held(u64, u64),
}

impl WindowStates<'_> {
    /// A legal state of the same class that fails as this one does, with the fewest dropped and torn
    /// requests: each that lands in addition ends the failure, or is not legal. `fails` recovers a
    /// state and judges it.
    pub fn minimise<E>(
        &self,
        selection: &Selection,
        mut fails: impl FnMut(&Selection) -> Result<bool, E>,
    ) -> Result<Selection, E> {
        let mut failing =
            |selection: &Selection| Ok(self.check(selection).is_ok() && fails(selection)?);
        let Ok(context) = self.check(selection) else {
            return Ok(selection.clone());
        };
        let usable = match selection.class {
            StateClass::C4 => self.submitted_before(self.moment(selection)),
            _ => context.optional.len(),
        };
        let build = |defects: &[Defect]| with_defects(selection, usable, defects);
        let defects = defects(selection, usable);
        let defects = minimise(&defects, |some| failing(&build(some)))?;
        let mut least = build(&defects);
        for place in least.torn.clone().into_keys() {
            let change = self.states.change(context.optional[place as usize]);
            let there = least.torn[&place].clone();
            let missing = (0..change.sectors).filter(|sector| !there.contains(*sector));
            let missing: Vec<u64> = missing.collect();
            let without = |some: &[u64]| {
                let mut one = least.clone();
                let there = (0..change.sectors).filter(|sector| !some.contains(sector));
                one.torn.remove(&place);
                if !some.is_empty() {
                    one.torn.insert(place, SectorSet::of(there));
                }
                one
            };
            let missing = minimise(&missing, |some| failing(&without(some)))?;
            least = without(&missing);
        }
        Ok(least)
    }
}

/// The state with these defects and no others.
fn with_defects(state: &Selection, usable: usize, defects: &[Defect]) -> Selection {
    let mut made = Selection {
        unreadable: state.unreadable,
        ignored: state.ignored,
        ..Selection::none(state.window, state.class, state.landed.room())
    };
    for place in 0..usable {
        made.landed.set(place, true);
    }
    for defect in defects.iter().cloned() {
        match defect {
            Defect::Missing(place) => made.landed.set(place, false),
            Defect::Torn(place, sectors) => {
                made.torn.insert(place, sectors);
            }
            Defect::Garbage(place, sectors) => {
                made.garbage.insert(place, sectors);
            }
            Defect::Reordered(pair) => {
                made.reordered.insert(pair);
            }
            Defect::Held(sector, order) => {
                made.held.insert(sector, order);
            }
        }
    }
    made
}

fn defects(selection: &Selection, usable: usize) -> Vec<Defect> {
    let missing = (0..usable).filter(|place| !selection.landed.get(*place));
    let mut all: Vec<Defect> = missing.map(Defect::Missing).collect();
    let torn = selection.torn.iter();
    all.extend(torn.map(|(place, sectors)| Defect::Torn(*place, sectors.clone())));
    let garbage = selection.garbage.iter();
    all.extend(garbage.map(|(place, sectors)| Defect::Garbage(*place, sectors.clone())));
    all.extend(selection.reordered.iter().copied().map(Defect::Reordered));
    all.extend(
        selection
            .held
            .iter()
            .map(|(sector, order)| Defect::Held(*sector, *order)),
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CrashStates, Data, Role, Trace, TraceEvent};
    use proptest::prelude::*;
    use std::collections::BTreeSet;
    use std::convert::Infallible;

    proptest! {
        #[test]
        fn a_minimised_list_fails_and_no_item_can_be_left_out(
            length in 1..40_u32,
            causes in prop::collection::vec(prop::collection::btree_set(0..40_u32, 1..4), 1..4),
        ) {
            // It fails if any of the causes is there whole.
            let items: Vec<u32> = (0..length).collect();
            let fails = |some: &[u32]| {
                let some: BTreeSet<u32> = some.iter().copied().collect();
                causes.iter().any(|cause| cause.is_subset(&some))
            };
            prop_assume!(fails(&items));
            let least = minimise(&items, |some| Ok::<_, Infallible>(fails(some))).unwrap();
            prop_assert!(fails(&least));
            prop_assert!(least.is_sorted());
            for at in 0..least.len() {
                let rest = [&least[..at], &least[at + 1..]].concat();
                prop_assert!(!fails(&rest), "{least:?} without {at}");
            }
        }
    }

    #[test]
    fn an_error_ends_the_search() {
        let mut calls = 0;
        let result = minimise(&[1, 2, 3, 4], |_| {
            calls += 1;
            if calls == 3 {
                Err("the guest is gone")
            } else {
                Ok(false)
            }
        });
        assert_eq!((result, calls), (Err("the guest is gone"), 3));
    }

    #[test]
    fn a_state_is_minimised_to_the_writes_and_sectors_whose_loss_matters() {
        let write = |order| TraceEvent::Write {
            order,
            sector: order * 8,
            data: Data::Bytes(vec![7; 4096].into()),
            fua: false,
        };
        let events = (0..12).map(write).collect();
        let states = CrashStates::new(&Trace { events }).unwrap();
        let window = states.window(0).unwrap();
        // It fails if write 5 is there while the last sector of write 2 is not.
        let fails = |one: &Selection| {
            let overlay = window.overlay(one).unwrap();
            Ok::<_, Infallible>(overlay.get(40).is_some() && overlay.get(23).is_none())
        };
        let least = |id: &str| {
            let selection: Selection = id.parse().unwrap();
            assert!(fails(&selection).unwrap());
            window.minimise(&selection, fails).unwrap().to_string()
        };
        assert_eq!(least("0/c2/040"), "0/c2/dff");
        assert_eq!(least("0/c3/345/t2.1-5/t9.1"), "0/c3/fff/t2.0-6");
        assert_eq!(
            window
                .select(StateClass::C0, 99, 1, &|_, _| Role::Unknown)
                .len(),
            13
        );
    }
}
