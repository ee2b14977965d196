//! Selects the states of a window to explore: all if they are few, otherwise regular ones first,
//! then a sample.

use crate::context::landed_pairs;
use crate::count::{orders, reordered};
use crate::state_id::{Bits, SectorSet, Selection};
use crate::states::WindowStates;
use crate::trace::Data;
pub use fsdyno_model::BlockRole as Role;
use fsdyno_model::exploration::StateClass;
use fsdyno_model::random::Random;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The role of a request, by its first sector and its bytes; a write of zeros or a discard has none.
pub type RoleOf<'a> = &'a dyn Fn(u64, &[u8]) -> Role;

/// Requests without a known role are of one group if their addresses differ by fewer sectors.
const NEAR: u64 = 2048;

/// States that were selected so far.
struct Selected<'a> {
    window: &'a WindowStates<'a>,
    most: usize,
    seen: HashSet<Selection>,
    list: Vec<Selection>,
}

impl WindowStates<'_> {
    /// States of a class: all if there are at most `most`, otherwise at most that many. The regular
    /// ones come first: no request landed, all, the first requests, all but one, only one, groups
    /// of one role, pairs of two roles, torn requests. A sample by `seed` follows. Equal arguments
    /// select equal states, and none twice.
    pub fn select(
        &self,
        class: StateClass,
        most: u64,
        seed: u64,
        role: RoleOf<'_>,
    ) -> Vec<Selection> {
        let limit = usize::try_from(most).unwrap_or(usize::MAX);
        let mut selected = Selected {
            window: self,
            most: limit,
            seen: HashSet::new(),
            list: Vec::new(),
        };
        let complete = self.count(class).is_some_and(|count| count <= most);
        if class == StateClass::C5 {
            let flushes = self.completed_flushes();
            for ignored in 1..=flushes {
                // Half of the rest for each further flush: the last ones matter most.
                let left = limit - selected.list.len();
                let share = if ignored == flushes {
                    left
                } else {
                    left.div_ceil(2)
                };
                selected.most = selected.list.len() + share;
                selected.representatives(class, ignored, role);
                if !complete {
                    selected.sample(class, ignored, seed);
                }
            }
            selected.most = limit;
        } else {
            selected.representatives(class, 0, role);
            if !complete {
                selected.sample(class, 0, seed);
            }
        }
        if complete {
            self.visit_all(class, &mut |selection| selected.add(selection));
        }
        selected.list
    }

    /// The group of each optional request: by its role, or by near addresses.
    fn groups(&self, places: &[u32], role: RoleOf<'_>) -> Vec<usize> {
        let role_of = |change: &crate::windows::Change| match &change.data {
            Data::Bytes(bytes) => role(change.sector, bytes),
            Data::Zeros { .. } | Data::Discarded { .. } => role(change.sector, &[]),
        };
        let changes: Vec<_> = places
            .iter()
            .map(|place| self.states.change(*place))
            .collect();
        let roles: Vec<Role> = changes.iter().map(|change| role_of(change)).collect();
        let mut unknown: Vec<u64> = changes.iter().map(|change| change.sector).collect();
        unknown.sort_unstable();
        unknown.dedup();
        let starts: Vec<u64> = unknown
            .chunk_by(|one, next| next - one < NEAR)
            .map(|cluster| cluster[0])
            .collect();
        let known = Role::Unknown as usize;
        let group = |(role, change): (&Role, &&crate::windows::Change)| match role {
            Role::Unknown => known + starts.partition_point(|start| *start <= change.sector),
            role => *role as usize,
        };
        roles.iter().zip(&changes).map(group).collect()
    }
}

/// For each unit, whether it is on the medium.
type Units = Vec<bool>;

impl Selected<'_> {
    fn is_full(&self) -> bool {
        self.list.len() >= self.most
    }

    /// Adds a legal state that is not there. Returns whether there is room for another.
    fn add(&mut self, selection: Selection) -> bool {
        if self.is_full() {
            return false;
        }
        let selection = match selection.class {
            StateClass::C3 => {
                let held = self.window.holdings_of(&selection);
                self.window.selection_of(&held)
            }
            _ => selection,
        };
        if !self.seen.contains(&selection) && self.window.check(&selection).is_ok() {
            self.seen.insert(selection.clone());
            self.list.push(selection);
        }
        !self.is_full()
    }

    fn representatives(&mut self, class: StateClass, ignored: u32, role: RoleOf<'_>) {
        let context = self.window.context(ignored);
        let count = context.optional.len();
        // The units: epochs in class C1, otherwise single requests.
        let units: Vec<Vec<usize>> = match class {
            StateClass::C1 => context.epochs(self.window.states),
            _ => (0..count).map(|place| vec![place]).collect(),
        };
        let firsts: Vec<u32> = units.iter().map(|unit| context.optional[unit[0]]).collect();
        let groups = self.window.groups(&firsts, role);
        let empty = Selection::none(self.window.window.number, class, count);
        let template = Selection { ignored, ..empty };
        let of = |there: &Units| {
            let there = units.iter().zip(there).filter(|(_, there)| **there);
            let landed = Bits::of(count, there.flat_map(|(unit, _)| unit.iter().copied()));
            Selection {
                landed,
                ..template.clone()
            }
        };
        let subsets: Vec<Box<dyn Iterator<Item = Units>>> = match class {
            StateClass::C0 => vec![Box::new(extremes(units.len())), Box::new(prefixes(&groups))],
            _ => families(&groups),
        };
        if class == StateClass::C4 {
            self.unreadable(&of, count, &groups);
            return;
        }
        let whole = subsets.into_iter().map(|family| {
            let family: Box<dyn Iterator<Item = Selection>> = Box::new(family.map(|one| of(&one)));
            family
        });
        let mut all: Vec<_> = whole.collect();
        if class == StateClass::C3 {
            all.insert(1, Box::new(self.torn_selections(&of, count)));
        }
        if class >= StateClass::C2 && class != StateClass::C3 {
            all.insert(
                1,
                Box::new(self.variants(&of(&vec![true; count])).into_iter()),
            );
        }
        self.round_robin(all);
    }

    /// Adds the first family whole, then one state of each further family in turn.
    fn round_robin(&mut self, mut all: Vec<Box<dyn Iterator<Item = Selection> + '_>>) {
        let first = all.remove(0);
        for selection in first {
            self.add(selection);
        }
        while !all.is_empty() && !self.is_full() {
            all.retain_mut(|family| {
                let next = family.next();
                next.is_some_and(|selection| {
                    self.add(selection);
                    true
                })
            });
        }
    }

    /// The write in flight cannot be read in its first or another sector, and those before it, all
    /// or none landed.
    fn unreadable(&mut self, of: &dyn Fn(&Units) -> Selection, count: usize, groups: &[usize]) {
        let vulnerable = self.window.vulnerable();
        let changes: Vec<_> = self.window.optional().cloned().collect();
        for place in rare_first(groups) {
            let change = &changes[place];
            for sector in [change.sector, change.sector + change.sectors / 2] {
                let Some(until) = vulnerable.get(&sector) else {
                    continue;
                };
                let usable = self.window.submitted_before(*until);
                for landed in [place, usable, 0, place + 1] {
                    let there: Units = (0..count).map(|at| at < landed.min(usable)).collect();
                    let unreadable = Some(sector);
                    if !self.add(Selection {
                        unreadable,
                        ..of(&there)
                    }) {
                        return;
                    }
                }
            }
        }
    }

    /// Torn requests: of each its first or last half, its first sector, or all others, when those
    /// before it landed, or all others.
    fn torn_selections<'s>(
        &self,
        of: &'s dyn Fn(&Units) -> Selection,
        count: usize,
    ) -> impl Iterator<Item = Selection> + 's {
        let sizes: Vec<u64> = self
            .window
            .optional()
            .map(|change| change.sectors)
            .collect();
        let several = sizes.iter().any(|size| *size > 1);
        let kinds = (0..8).filter(move |_| several);
        kinds.flat_map(move |kind| {
            let (part, all_others) = (kind / 2, kind % 2 == 1);
            let sizes = sizes.clone();
            spread(count).filter_map(move |place| {
                let size = sizes[place];
                let sectors = match part {
                    _ if size < 2 => return None,
                    0 => SectorSet::of(0..size / 2),
                    1 => SectorSet::of(size / 2..size),
                    2 => SectorSet::of(0..1),
                    _ => SectorSet::of(1..size),
                };
                let there: Units = (0..count).map(|at| all_others || at <= place).collect();
                let mut selection = of(&there);
                let place = u32::try_from(place).unwrap_or(u32::MAX);
                selection.torn.insert(place, sectors);
                Some(selection)
            })
        })
    }

    /// All requests landed: one discard left garbage, or one pair landed in the other order.
    fn variants(&self, whole: &Selection) -> Vec<Selection> {
        let states = self.window.states;
        let context = self.window.context(whole.ignored);
        let discards = (0_u32..).zip(&context.optional);
        let discards = discards.filter(|(_, change)| states.change(**change).is_discard());
        let mut all: Vec<Selection> = discards
            .map(|(place, _)| {
                let garbage = BTreeMap::from([(place, None)]);
                Selection {
                    garbage,
                    ..whole.clone()
                }
            })
            .collect();
        for pair in &context.pairs {
            let reordered = reordered(states, &[*pair], &[true]);
            all.push(Selection {
                reordered,
                ..whole.clone()
            });
        }
        all
    }

    /// Adds states at random: most requests landed in some, few in others.
    fn sample(&mut self, class: StateClass, ignored: u32, seed: u64) {
        let states = self.window.states;
        let context = self.window.context(ignored);
        let count = context.optional.len();
        let window = u64::from(self.window.window.number);
        let mut random =
            Random::new(seed ^ (window << 32) ^ (class as u64) << 8 ^ u64::from(ignored));
        let vulnerable: Vec<(u64, usize)> = self
            .window
            .vulnerable()
            .iter()
            .map(|(s, m)| (*s, *m))
            .collect();
        let epochs = context.epochs(states);
        // If few states remain, most draws repeat an earlier one.
        let mut attempts = (self.most - self.list.len()).saturating_mul(8);
        while !self.is_full() && attempts > 0 {
            attempts -= 1;
            let density = [128, 192, 64, 240, 16][random.index(5)];
            let mut selection = Selection::none(self.window.window.number, class, count);
            selection.ignored = ignored;
            let mut usable = count;
            match class {
                StateClass::C0 => {
                    selection.landed = Bits::of(count, 0..random.index(count + 1));
                    usable = 0;
                }
                StateClass::C1 => {
                    let there = epochs.iter().filter(|_| random.index(256) < density);
                    selection.landed = Bits::of(count, there.flatten().copied());
                    usable = 0;
                }
                StateClass::C4 => {
                    if vulnerable.is_empty() {
                        return;
                    }
                    let (sector, until) = vulnerable[random.index(vulnerable.len())];
                    selection.unreadable = Some(sector);
                    usable = self.window.submitted_before(until);
                }
                StateClass::C2 | StateClass::C3 | StateClass::C5 => {}
            }
            for (place, change) in (0_u32..).zip(&context.optional[..usable]) {
                if random.index(256) >= density {
                    continue;
                }
                selection.landed.set(place as usize, true);
                let change = states.change(*change);
                if change.is_discard() && random.index(4) == 0 {
                    selection.garbage.insert(place, None);
                }
                if class == StateClass::C3 && change.sectors > 1 && random.index(2) == 0 {
                    let part = part(&mut random, change.sectors);
                    selection.torn.insert(place, part);
                }
            }
            if !context.pairs.is_empty() && matches!(class, StateClass::C2 | StateClass::C5) {
                let landed = landed_pairs(&context, &selection);
                let orders = orders(states, &landed);
                if !orders.is_empty() {
                    let order = &orders[random.index(orders.len())];
                    selection.reordered = reordered(states, &landed, order);
                }
            }
            self.add(selection);
        }
    }
}

/// The indices of the explored windows of a recording with `count` windows: all if there are at
/// most `most`, otherwise the last and others at random. The last is always explored because the
/// most promises hold there. Equal arguments give equal indices.
pub fn sample_windows(count: usize, most: usize, seed: u64) -> BTreeSet<usize> {
    if count <= most {
        return (0..count).collect();
    }
    let mut random = Random::new(seed);
    let mut chosen = BTreeSet::from([count - 1]);
    while chosen.len() < most {
        chosen.insert(random.index(count));
    }
    chosen
}

/// A part of a request: of a small one any sectors, of a large one a range.
fn part(random: &mut Random, sectors: u64) -> SectorSet {
    let size = usize::try_from(sectors).unwrap_or(usize::MAX);
    let any = size <= 16 && random.index(2) == 0;
    let part = if any {
        let kept: Vec<u64> = (0..sectors).filter(|_| random.index(2) == 0).collect();
        SectorSet::of(kept)
    } else {
        let (one, other) = (random.index(size) as u64, random.index(size) as u64);
        SectorSet::of(one.min(other)..one.max(other))
    };
    if part.count() == 0 {
        SectorSet::of(0..1)
    } else {
        part
    }
}

/// All numbers below `count`: first the middle one, then those of the halves, and so on. A part of
/// them is spread over the whole.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    let bits = usize::BITS - count.saturating_sub(1).leading_zeros();
    let all = (0_usize..1 << bits).map(move |n| {
        if bits == 0 {
            n
        } else {
            n.reverse_bits() >> (usize::BITS - bits)
        }
    });
    all.filter(move |n| *n < count)
}

/// The units, those of the smallest groups first.
fn rare_first(groups: &[usize]) -> Vec<usize> {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for group in groups {
        *sizes.entry(*group).or_default() += 1;
    }
    let mut order: Vec<usize> = spread(groups.len()).collect();
    order.sort_by_key(|unit| sizes[&groups[*unit]]);
    order
}

/// The state without any unit, and the state with all units.
fn extremes(count: usize) -> impl Iterator<Item = Units> {
    [vec![false; count], vec![true; count]].into_iter()
}

/// Prefixes of the units: first those that end where the group changes, then the others.
fn prefixes(groups: &[usize]) -> impl Iterator<Item = Units> + use<> {
    let count = groups.len();
    let mut lengths: Vec<usize> = spread(count).filter(|length| *length > 0).collect();
    lengths.sort_by_key(|length| groups[length - 1] == groups[*length]);
    let of = move |length: usize| (0..count).map(|at| at < length).collect();
    lengths.into_iter().map(of)
}

/// The families of regular subsets, the most important first.
fn families(groups: &[usize]) -> Vec<Box<dyn Iterator<Item = Units>>> {
    let count = groups.len();
    let order = rare_first(groups);
    let mut names: Vec<usize> = groups.to_vec();
    names.sort_unstable();
    names.dedup();
    let all = groups.to_vec();
    let by_group = names.into_iter().flat_map(move |name| {
        let only: Units = all.iter().map(|group| *group == name).collect();
        let others: Units = only.iter().map(|there| !there).collect();
        [others, only]
    });
    let all = groups.to_vec();
    let seconds = order.clone();
    let pairs = order
        .clone()
        .into_iter()
        .enumerate()
        .flat_map(move |(at, one)| {
            let rest = seconds[at + 1..].to_vec();
            let all = all.clone();
            let other_role = rest
                .into_iter()
                .filter(move |other| all[one] != all[*other]);
            other_role.flat_map(move |other| {
                let only = |unit: usize| unit == one || unit == other;
                [
                    (0..count).map(|unit| !only(unit)).collect::<Units>(),
                    (0..count).map(only).collect(),
                ]
            })
        });
    let dropped = order.clone().into_iter();
    let dropped = dropped.map(move |one| (0..count).map(|unit| unit != one).collect());
    let kept = order.into_iter();
    let kept = kept.map(move |one| (0..count).map(|unit| unit == one).collect());
    vec![
        Box::new(extremes(count)),
        Box::new(prefixes(groups)),
        Box::new(dropped),
        Box::new(by_group),
        Box::new(kept),
        Box::new(pairs),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CrashStates, Trace, TraceEvent};

    #[test]
    fn a_sample_of_windows_has_the_last_one_and_depends_on_the_seed_only() {
        assert_eq!(sample_windows(3, 5, 1), BTreeSet::from([0, 1, 2]));
        assert!(sample_windows(0, 5, 1).is_empty());
        let some = sample_windows(1000, 40, 7);
        assert!(some.len() == 40 && some.contains(&999));
        assert_eq!(some, sample_windows(1000, 40, 7));
        assert_ne!(some, sample_windows(1000, 40, 8));
        let early = some.iter().filter(|place| **place < 500).count();
        assert!((8..32).contains(&early), "{early}");
    }

    /// A journal of two blocks and its commit block, then data blocks far away.
    fn trace(writes: u64) -> Trace {
        let write = |order| TraceEvent::Write {
            order,
            sector: if order < 3 {
                order * 8
            } else {
                100_000 + order * 8
            },
            data: Data::Bytes(vec![u8::try_from(order % 250 + 1).unwrap(); 4096].into()),
            fua: false,
        };
        Trace {
            events: (0..writes).map(write).collect(),
        }
    }

    fn role(sector: u64, bytes: &[u8]) -> Role {
        assert_eq!(bytes.len(), 4096);
        match sector {
            0 | 8 => Role::Journal,
            16 => Role::Commit,
            _ => Role::Unknown,
        }
    }

    #[test]
    fn the_most_telling_states_come_first_and_all_are_legal_and_distinct() {
        let states = CrashStates::new(&trace(40)).unwrap();
        let window = states.window(0).unwrap();
        for class in StateClass::ALL {
            for most in [0, 1, 7, 90, 700] {
                let all = window.select(class, most, 3, &role);
                assert_eq!(all, window.select(class, most, 3, &role), "deterministic");
                let distinct: HashSet<&Selection> = all.iter().collect();
                assert_eq!(distinct.len(), all.len());
                assert!(all.iter().all(|one| one.class == class));
                assert!(all.iter().all(|one| window.check(one).is_ok()));
                let legal = window.count(class).unwrap_or(u64::MAX);
                assert_eq!(all.len() as u64, legal.min(most), "{class:?} {most}");
            }
        }
        let first = |class: StateClass, most| -> Vec<String> {
            let all = window.select(class, most, 3, &role);
            all.iter().map(Selection::to_string).collect()
        };
        let c2 = first(StateClass::C2, 60);
        assert_eq!(c2[..2], ["0/c2/0000000000", "0/c2/ffffffffff"].map(expand));
        // The commit block without the rest, the rest without it, and the journal without it.
        for id in ["0/c2/2000000000", "0/c2/dfffffffff", "0/c2/c000000000"] {
            assert!(c2.contains(&expand(id)), "{id}");
        }
        assert!(first(StateClass::C3, 20).iter().any(|id| id.contains("/t")));
    }

    /// The usual form of an id.
    fn expand(id: &str) -> String {
        let (front, digits) = id.rsplit_once('/').unwrap();
        let bits: String = digits.to_owned();
        let bits: Bits = bits.parse().unwrap();
        format!("{front}/{bits}")
    }

    #[test]
    fn samples_differ_by_seed_and_unknown_roles_are_grouped_by_address() {
        let states = CrashStates::new(&trace(40)).unwrap();
        let window = states.window(0).unwrap();
        let with = |seed| window.select(StateClass::C2, 5000, seed, &role);
        assert_ne!(with(1), with(2));
        let places: Vec<u32> = (0..40).collect();
        let groups = window.groups(&places, &|_, _| Role::Unknown);
        assert_eq!(groups[..3], [groups[0]; 3]);
        assert!(
            groups[3..]
                .iter()
                .all(|group| *group == groups[3] && *group != groups[0])
        );
    }

    #[test]
    fn spread_numbers_are_all_numbers_once() {
        for count in [0, 1, 2, 3, 7, 8, 100] {
            let mut all: Vec<usize> = spread(count).collect();
            all.sort_unstable();
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
