//! Counts the states that the rules of a class permit in a window, and enumerates them.
//!
//! Distinct selections are counted, not distinct images: two selections may give one image, for
//! example where a landed request hides another.
//!
//! - C0: the prefixes. C1: the subsets of epochs.
//! - C2: the subsets of the optional requests; each landed discard counts twice (zeros, garbage),
//!   and each possible order of landed requests that were in flight at the same time on a common
//!   sector counts.
//! - C3: for each sector the contents that it can hold, multiplied.
//! - C4: for each sector of a write that was in flight, the states of C2 at the last such moment.
//! - C5: for each number of ignored flushes, the states of C2 in which something is missing that the
//!   first of these flushes covered.

use crate::context::{Context, Touched, is_acyclic, landed_pairs};
use crate::recording::CrashStates;
use crate::state_id::{Bits, SectorSet, Selection};
use crate::states::WindowStates;
use fsdyno_model::exploration::StateClass;
use std::collections::{BTreeMap, BTreeSet};

/// The largest count that is returned.
const MAX_COUNT: u128 = 1 << 63;
/// The maximum number of pairs of requests in flight whose orders are counted.
const MAX_PAIRS: usize = 16;

/// The content of a sector in a state of class C3: the index of a candidate, and whether it is
/// garbage; none for the content of the base.
pub(crate) type Holding = Option<(usize, bool)>;

impl WindowStates<'_> {
    /// The number of legal states of a class. None if there are more than 2^63, or if so many
    /// overlapping requests are in flight at the same time that their orders are not counted.
    pub fn count(&self, class: StateClass) -> Option<u64> {
        let context = &self.context;
        let all = context.optional.len();
        let count = match class {
            StateClass::C0 => Some((all - context.before_durable + 1) as u128),
            StateClass::C1 => power_of_two(context.epochs(self.states).len()),
            StateClass::C2 => subsets(self.states, context, all, &|_| false),
            StateClass::C3 => {
                let holdings = context
                    .touched
                    .iter()
                    .map(|one| holdings(self.states, one).len());
                product(holdings.map(|count| count as u128))
            }
            StateClass::C4 => {
                let mut moments: BTreeMap<usize, u128> = BTreeMap::new();
                for until in self.vulnerable().values().copied() {
                    *moments.entry(until).or_default() += 1;
                }
                moments.into_iter().try_fold(0, |sum, (until, sectors)| {
                    let usable = self.submitted_before(until);
                    let subsets = subsets(self.states, context, usable, &|_| false)?;
                    within(sum + sectors * subsets)
                })
            }
            StateClass::C5 => (1..=self.completed_flushes()).try_fold(0, |sum, ignored| {
                let context = self.context(ignored);
                let all = context.optional.len();
                let total = subsets(self.states, &context, all, &|_| false)?;
                let forced = |place: usize| context.uncovered[place];
                let whole = subsets(self.states, &context, all, &forced)?;
                within(sum + total - whole)
            }),
        };
        count.and_then(|count| u64::try_from(count).ok())
    }

    /// The number of optional requests that were submitted before a number of events.
    pub(crate) fn submitted_before(&self, events: usize) -> usize {
        let before = |place: &u32| self.states.change(*place).submitted < events;
        self.context.optional.partition_point(before)
    }

    /// Calls `visit` for all states of a class until it returns false.
    pub(crate) fn visit_all(&self, class: StateClass, visit: &mut dyn FnMut(Selection) -> bool) {
        let context = &self.context;
        let all = context.optional.len();
        let empty = |class| Selection::none(self.window.number, class, all);
        match class {
            StateClass::C0 => {
                for count in context.before_durable..=all {
                    let landed = Bits::of(all, 0..count);
                    if !visit(Selection {
                        landed,
                        ..empty(class)
                    }) {
                        return;
                    }
                }
            }
            StateClass::C1 => {
                let epochs = context.epochs(self.states);
                each_odometer(&vec![2; epochs.len()], &mut |digits| {
                    let there = epochs.iter().zip(digits).filter(|(_, digit)| **digit == 1);
                    let landed = Bits::of(all, there.flat_map(|(epoch, _)| epoch.iter().copied()));
                    visit(Selection {
                        landed,
                        ..empty(class)
                    })
                });
            }
            StateClass::C2 => {
                visit_subsets(self.states, context, &empty(class), all, visit);
            }
            StateClass::C3 => {
                let holdings = context.touched.iter().map(|one| holdings(self.states, one));
                let holdings: Vec<Vec<Holding>> = holdings.collect();
                let sizes: Vec<usize> = holdings.iter().map(Vec::len).collect();
                each_odometer(&sizes, &mut |digits| {
                    let chosen = holdings.iter().zip(digits).map(|(all, digit)| all[*digit]);
                    visit(self.selection_of(&chosen.collect::<Vec<_>>()))
                });
            }
            StateClass::C4 => {
                for (sector, until) in self.vulnerable() {
                    let unreadable = Some(*sector);
                    let template = Selection {
                        unreadable,
                        ..empty(class)
                    };
                    let usable = self.submitted_before(*until);
                    if !visit_subsets(self.states, context, &template, usable, visit) {
                        return;
                    }
                }
            }
            StateClass::C5 => {
                for ignored in 1..=self.completed_flushes() {
                    let context = self.context(ignored);
                    let all = context.optional.len();
                    let empty = Selection::none(self.window.number, class, all);
                    let template = Selection { ignored, ..empty };
                    let mut shown = |one: Selection| !context.shows_ignored(&one) || visit(one);
                    if !visit_subsets(self.states, &context, &template, all, &mut shown) {
                        return;
                    }
                }
            }
        }
    }

    /// The state of class C3 in which each touched sector holds this. Equal contents give equal
    /// selections.
    pub(crate) fn selection_of(&self, chosen: &[Holding]) -> Selection {
        let context = &self.context;
        let count = context.optional.len();
        let mut selection = Selection::none(self.window.number, StateClass::C3, count);
        // For each request, the sectors on which it must not be visible.
        let mut missing: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); count];
        let mut visible: Vec<BTreeSet<u64>> = vec![BTreeSet::new(); count];
        let mut garbage: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for (touched, held) in context.touched.iter().zip(chosen) {
            let winner = held.map_or(0, |(at, _)| at + 1);
            for (at, one) in touched.candidates.iter().enumerate() {
                let Some(place) = one.place else {
                    if let (true, Some((winner, _))) = (at + 1 > winner, held) {
                        let winner = touched.candidates[*winner].change;
                        let order = self.states.change(winner).order;
                        selection.held.insert(touched.sector, order);
                    }
                    continue;
                };
                let sector = touched.sector - self.states.change(one.change).sector;
                if at + 1 > winner {
                    missing[place as usize].insert(sector);
                } else if at + 1 == winner {
                    visible[place as usize].insert(sector);
                    if held.is_some_and(|(_, garbage)| garbage) {
                        garbage.entry(place).or_default().insert(sector);
                    }
                }
            }
        }
        for (place, change) in (0_u32..).zip(&context.optional) {
            let (missing, visible) = (&missing[place as usize], &visible[place as usize]);
            if !missing.is_empty() && visible.is_empty() {
                continue;
            }
            let sectors = self.states.change(*change).sectors;
            selection.landed.set(place as usize, true);
            if !missing.is_empty() {
                let there = (0..sectors).filter(|sector| !missing.contains(sector));
                selection.torn.insert(place, SectorSet::of(there));
            }
            if let Some(garbage) = garbage.remove(&place) {
                let whole = garbage.len() as u64 == sectors - missing.len() as u64;
                let part = (!whole).then(|| SectorSet::of(garbage));
                selection.garbage.insert(place, part);
            }
        }
        selection
    }

    /// The content of each touched sector in a state.
    pub(crate) fn holdings_of(&self, selection: &Selection) -> Vec<Holding> {
        let held = |touched: &Touched| {
            let (one, garbage) = touched.visible(self.states, selection)?;
            let mut candidates = touched.candidates.iter();
            let at = candidates.position(|other| other.change == one.change)?;
            Some((at, garbage))
        };
        self.context.touched.iter().map(held).collect()
    }
}

/// All possible contents of a sector.
fn holdings(states: &CrashStates, touched: &Touched) -> Vec<Holding> {
    let mut all = Vec::new();
    if touched.durable().is_none() {
        all.push(None);
    }
    for (at, one) in touched.candidates.iter().enumerate() {
        all.push(Some((at, false)));
        if states.change(one.change).is_discard() {
            all.push(Some((at, true)));
        }
    }
    all
}

fn within(count: u128) -> Option<u128> {
    (count <= MAX_COUNT).then_some(count)
}

fn product(mut factors: impl Iterator<Item = u128>) -> Option<u128> {
    factors.try_fold(1, |product: u128, factor| within(product * factor))
}

fn power_of_two(exponent: usize) -> Option<u128> {
    product(std::iter::repeat_n(2, exponent))
}

/// The number of variants of a landed request.
fn variants(states: &CrashStates, change: u32) -> u128 {
    if states.change(change).is_discard() {
        2
    } else {
        1
    }
}

/// The number of states of class C2 with subsets of the first `usable` optional requests in which
/// the forced ones are on the medium.
fn subsets(
    states: &CrashStates,
    context: &Context,
    usable: usize,
    forced: &dyn Fn(usize) -> bool,
) -> Option<u128> {
    let pairs = usable_pairs(context, usable);
    let paired: BTreeSet<u32> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
    let free = (0..usable).filter(|place| !paired.contains(&context.optional[*place]));
    let factor =
        |place: usize| variants(states, context.optional[place]) + u128::from(!forced(place));
    let mut count = product(free.map(factor))?;
    // Orders of one group do not restrict those of another: a request that lands against the order
    // of submission was in flight with its partner, and no chain of such pairs leads back over a
    // request that had completed before.
    for group in groups(&pairs) {
        if group.len() > MAX_PAIRS {
            return None;
        }
        let members: BTreeSet<u32> = group.iter().flat_map(|pair| [pair.0, pair.1]).collect();
        let choices = |change: &u32| match context.optional.binary_search(change) {
            Ok(place) if !forced(place) => 2,
            _ => 1,
        };
        let sizes: Vec<usize> = members.iter().map(choices).collect();
        let mut sum = 0;
        each_odometer(&sizes, &mut |digits| {
            let landed = members.iter().zip(&sizes).zip(digits);
            let landed = landed.filter(|((_, size), digit)| **size == 1 || **digit == 1);
            let landed: BTreeSet<u32> = landed.map(|((change, _), _)| *change).collect();
            let there = group
                .iter()
                .filter(|p| landed.contains(&p.0) && landed.contains(&p.1));
            let there: Vec<(u32, u32)> = there.copied().collect();
            let factor: u128 = landed
                .iter()
                .map(|change| variants(states, *change))
                .product();
            sum += factor * orders(states, &there).len() as u128;
            true
        });
        count = within(count * sum)?;
    }
    Some(count)
}

/// The pairs whose optional requests are among the first `usable` ones.
fn usable_pairs(context: &Context, usable: usize) -> Vec<(u32, u32)> {
    let may = |change: u32| {
        context
            .optional
            .binary_search(&change)
            .is_ok_and(|at| at < usable)
    };
    let durable = |change: u32| context.optional.binary_search(&change).is_err();
    let all = context.pairs.iter().copied();
    all.filter(|pair| {
        [pair.0, pair.1]
            .into_iter()
            .all(|one| may(one) || durable(one))
    })
    .collect()
}

/// The pairs, by what they have in common.
fn groups(pairs: &[(u32, u32)]) -> Vec<Vec<(u32, u32)>> {
    let mut groups: Vec<Vec<(u32, u32)>> = Vec::new();
    for pair in pairs {
        let common = |group: &Vec<(u32, u32)>| {
            let mut all = group.iter();
            all.any(|one| {
                [one.0, one.1]
                    .iter()
                    .any(|end| *end == pair.0 || *end == pair.1)
            })
        };
        let (near, far): (Vec<_>, Vec<_>) = groups.into_iter().partition(common);
        groups = far;
        groups.push(near.into_iter().flatten().chain([*pair]).collect());
    }
    groups
}

/// All orders of landing of these pairs: whether each is reversed. At most [`MAX_PAIRS`] pairs.
pub(crate) fn orders(states: &CrashStates, pairs: &[(u32, u32)]) -> Vec<Vec<bool>> {
    let mut all = Vec::new();
    each_odometer(&vec![2; pairs.len().min(MAX_PAIRS)], &mut |digits| {
        let mut reversed: Vec<bool> = digits.iter().map(|digit| *digit == 1).collect();
        reversed.resize(pairs.len(), false);
        if is_acyclic(states, pairs, &reversed) {
            all.push(reversed);
        }
        true
    });
    all
}

/// Calls `visit` for all states of class C2 with subsets of the first `usable` optional requests
/// until it returns false. Returns whether it did not.
fn visit_subsets(
    states: &CrashStates,
    context: &Context,
    template: &Selection,
    usable: usize,
    visit: &mut dyn FnMut(Selection) -> bool,
) -> bool {
    let size = |change: &u32| {
        if states.change(*change).is_discard() {
            3
        } else {
            2
        }
    };
    let sizes: Vec<usize> = context.optional[..usable].iter().map(size).collect();
    each_odometer(&sizes, &mut |digits| {
        let mut selection = template.clone();
        for (place, digit) in digits.iter().enumerate() {
            selection.landed.set(place, *digit > 0);
            if *digit == 2 {
                selection
                    .garbage
                    .insert(u32::try_from(place).unwrap_or(u32::MAX), None);
            }
        }
        let landed = landed_pairs(context, &selection);
        if landed.is_empty() {
            return visit(selection);
        }
        orders(states, &landed).into_iter().all(|reversed| {
            let reordered = reordered(states, &landed, &reversed);
            visit(Selection {
                reordered,
                ..selection.clone()
            })
        })
    })
}

/// The reversed pairs, by their orders.
pub(crate) fn reordered(
    states: &CrashStates,
    pairs: &[(u32, u32)],
    reversed: &[bool],
) -> BTreeSet<(u64, u64)> {
    let all = pairs
        .iter()
        .zip(reversed)
        .filter(|(_, reversed)| **reversed);
    all.map(|(pair, _)| (states.change(pair.0).order, states.change(pair.1).order))
        .collect()
}

/// Calls `visit` with all digits below these sizes, the first digit fastest, until it returns false.
/// Returns whether it did not.
fn each_odometer(sizes: &[usize], visit: &mut dyn FnMut(&[usize]) -> bool) -> bool {
    let mut digits = vec![0; sizes.len()];
    loop {
        if !visit(&digits) {
            return false;
        }
        let Some(at) = digits
            .iter()
            .zip(sizes)
            .position(|(digit, size)| digit + 1 < *size)
        else {
            return true;
        };
        digits[..at].fill(0);
        digits[at] += 1;
    }
}
