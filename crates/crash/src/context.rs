//! The data that determine the states of a window: its optional requests, the sectors that they can
//! change, and the orders in which they can land.

use crate::overlay::ImageKey;
use crate::recording::{CrashStates, Version};
use crate::state_id::{SectorSet, Selection};
use crate::windows::Window;
use fsdyno_model::exploration::StateClass;
use std::collections::{BTreeMap, BTreeSet};

/// The rules of a window, or of a window whose last flushes did nothing.
#[derive(Debug)]
pub(crate) struct Context {
    /// What completed before this number of events is durable.
    flushed: usize,
    end: usize,
    /// The optional changes, in the order of submission.
    pub optional: Vec<u32>,
    /// The number of these that were submitted before the last durable change.
    pub before_durable: usize,
    /// For each of these, whether it would be durable if one flush less had been ignored.
    pub uncovered: Vec<bool>,
    /// Sectors whose content is not certain.
    pub touched: Vec<Touched>,
    /// Pairs of changes whose order of landing is not certain and shows; the first was submitted
    /// first.
    pub pairs: Vec<(u32, u32)>,
}

/// A sector whose content is not certain.
#[derive(Debug)]
pub(crate) struct Touched {
    pub sector: u64,
    /// What it can hold, in the order of submission. Durable ones are among them, and then it
    /// cannot hold the content of the base.
    pub candidates: Vec<Candidate>,
}

/// A content that a sector can hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub change: u32,
    pub key: u128,
    pub garbage: u128,
    /// Its place among the optional requests; none if it is durable.
    pub place: Option<u32>,
}

impl Context {
    pub fn new(states: &CrashStates, window: &Window, ignored: u32) -> Self {
        let mut context = Self {
            flushed: flushed(states, window, ignored),
            end: window.end,
            optional: Vec::new(),
            before_durable: 0,
            uncovered: Vec::new(),
            touched: Vec::new(),
            pairs: Vec::new(),
        };
        context.find_optional(states, window);
        context.find_touched(states);
        if let Some(less) = ignored.checked_sub(1) {
            let covered = flushed(states, window, less);
            let covers = |place: &u32| states.change(*place).is_durable(covered, window.end);
            context.uncovered = context.optional.iter().map(covers).collect();
        }
        context
    }

    fn is_durable(&self, states: &CrashStates, change: u32) -> bool {
        states.change(change).is_durable(self.flushed, self.end)
    }

    /// The durable version of a sector that was submitted last.
    pub fn durable(&self, states: &CrashStates, versions: &[Version]) -> Option<Version> {
        let there = |version: &&Version| states.change(version.change).submitted < self.end;
        let until = versions.partition_point(|version| there(&version));
        let mut newest_first = versions[..until].iter().rev();
        newest_first
            .find(|version| self.is_durable(states, version.change))
            .copied()
    }

    fn find_optional(&mut self, states: &CrashStates, window: &Window) {
        let mut last_durable = None;
        for (place, change) in (0..).zip(&states.all.changes[..window.changes]) {
            if self.is_durable(states, place) {
                last_durable = Some(place);
                continue;
            }
            let open = |sector| {
                let durable = self.durable(states, &states.sectors[&sector]);
                durable.is_none_or(|one| !change.precedes(states.change(one.change)))
            };
            if (change.sector..change.sector + change.sectors).any(open) {
                self.optional.push(place);
            }
        }
        let before = |place: &u32| last_durable.is_some_and(|last| *place < last);
        self.before_durable = self.optional.partition_point(before);
    }

    fn find_touched(&mut self, states: &CrashStates) {
        let mut sectors: BTreeSet<u64> = BTreeSet::new();
        for place in &self.optional {
            let change = states.change(*place);
            sectors.extend(change.sector..change.sector + change.sectors);
        }
        for (one, other) in &states.concurrent {
            let (one, other) = (states.change(*one), states.change(*other));
            if other.submitted < self.end {
                let end = (one.sector + one.sectors).min(other.sector + other.sectors);
                sectors.extend(one.sector.max(other.sector)..end);
            }
        }
        let places: BTreeMap<u32, u32> = self.optional.iter().copied().zip(0..).collect();
        let mut pairs = BTreeSet::new();
        for sector in sectors {
            let versions = &states.sectors[&sector];
            let newest = self.durable(states, versions);
            let mut candidates: Vec<Candidate> = Vec::new();
            for version in versions {
                let change = states.change(version.change);
                let buried = newest.is_some_and(|one| change.precedes(states.change(one.change)));
                if change.submitted >= self.end || buried {
                    continue;
                }
                for before in &candidates {
                    if !states.change(before.change).precedes(change) {
                        pairs.insert((before.change, version.change));
                    }
                }
                candidates.push(Candidate {
                    change: version.change,
                    key: version.key,
                    garbage: version.garbage,
                    place: places.get(&version.change).copied(),
                });
            }
            // A sector with one durable content is certain.
            if candidates.len() > 1 || candidates.iter().any(|one| one.place.is_some()) {
                self.touched.push(Touched { sector, candidates });
            }
        }
        self.pairs = pairs.into_iter().collect();
    }

    /// The name of the durable image.
    pub fn durable_key(&self, states: &CrashStates) -> ImageKey {
        let newest = |versions: &Vec<Version>| self.durable(states, versions);
        let keys = states.sectors.values().filter_map(newest);
        keys.fold(ImageKey::default(), |sum, one| sum.replaced(0, one.key))
    }

    /// Checks the classes whose requests land in the order of submission.
    pub fn check_order(&self, states: &CrashStates, selection: &Selection) -> Result<(), String> {
        if !(selection.garbage.is_empty() && selection.reordered.is_empty()) {
            return Err("classes C0 and C1 have neither garbage nor another order".to_owned());
        }
        let bits = &selection.landed;
        if selection.class == StateClass::C0 {
            let count = bits.count();
            if bits.places().any(|place| place >= count) {
                return Err("the landed requests are not the first ones".to_owned());
            }
            if count < self.before_durable {
                let least = self.before_durable;
                return Err(format!(
                    "a durable write follows the first {least} optional requests: they are there"
                ));
            }
            return Ok(());
        }
        for epoch in self.epochs(states) {
            if epoch
                .iter()
                .any(|place| bits.get(*place) != bits.get(epoch[0]))
            {
                return Err("the requests of an epoch are there in part".to_owned());
            }
        }
        Ok(())
    }

    /// The optional requests, by the epoch of their submission.
    pub fn epochs(&self, states: &CrashStates) -> Vec<Vec<usize>> {
        let epoch = |place: &usize| states.change(self.optional[*place]).epoch;
        let all: Vec<usize> = (0..self.optional.len()).collect();
        let runs = all.chunk_by(|one, other| epoch(one) == epoch(other));
        runs.map(<[usize]>::to_vec).collect()
    }

    /// Whether an optional request is a discard and on the medium.
    pub fn is_landed_discard(
        &self,
        states: &CrashStates,
        selection: &Selection,
        place: u32,
    ) -> bool {
        let change = self.optional.get(place as usize);
        change.is_some_and(|one| states.change(*one).is_discard())
            && selection.landed.get(place as usize)
    }

    /// Checks the parts of requests in class C3.
    pub fn check_torn(&self, states: &CrashStates, selection: &Selection) -> Result<(), String> {
        if !selection.reordered.is_empty() {
            return Err("class C3 names the order of landing by sector".to_owned());
        }
        for (place, sectors) in &selection.torn {
            let change = self.optional.get(*place as usize);
            let size = change.map_or(0, |one| states.change(*one).sectors);
            let within = sectors.last().is_some_and(|last| last < size);
            if !within || sectors.count() == size || !selection.landed.get(*place as usize) {
                return Err(format!(
                    "request {place} does not land in a part of its sectors"
                ));
            }
        }
        for (place, sectors) in &selection.garbage {
            let landed = |sector| selection.torn.get(place).is_none_or(|t| t.contains(sector));
            let size = self.optional.get(*place as usize);
            let size = size.map_or(0, |one| states.change(*one).sectors);
            let all = sectors.iter().flat_map(SectorSet::sectors);
            if !self.is_landed_discard(states, selection, *place)
                || all
                    .into_iter()
                    .any(|sector| sector >= size || !landed(sector))
            {
                return Err(format!(
                    "request {place} is not a discard that landed there"
                ));
            }
        }
        for (sector, order) in &selection.held {
            let touched = self.touched.iter().find(|one| one.sector == *sector);
            let landed = touched.iter().flat_map(|one| one.landed(states, selection));
            let landed: Vec<&Candidate> = landed.collect();
            let winner = landed.iter().map(|one| states.change(one.change));
            let winner = winner.into_iter().find(|one| one.order == *order);
            let winner = winner.ok_or(format!("request {order} is not on sector {sector}"))?;
            if landed
                .iter()
                .any(|one| winner.precedes(states.change(one.change)))
            {
                return Err(format!(
                    "sector {sector}: request {order} completed before a landed one was submitted"
                ));
            }
        }
        Ok(())
    }

    /// Whether something is missing that the first of the ignored flushes covered.
    pub fn shows_ignored(&self, selection: &Selection) -> bool {
        let mut all = self.uncovered.iter().enumerate();
        all.any(|(place, uncovered)| *uncovered && !selection.landed.get(place))
    }
}

/// What completed before this number of events is durable at the end of a window whose last
/// `ignored` flushes did nothing.
fn flushed(states: &CrashStates, window: &Window, ignored: u32) -> usize {
    if ignored == 0 {
        return window.flushed;
    }
    let all = states.all.flushes.iter();
    let done = |flush: &crate::windows::Flush| {
        let completed = flush.completed.filter(|at| *at < window.end)?;
        Some((completed, flush.submitted))
    };
    let mut done: Vec<(usize, usize)> = all.filter_map(done).collect();
    done.sort_unstable();
    done.truncate(done.len().saturating_sub(ignored as usize));
    let honoured = done.into_iter().map(|(_, submitted)| submitted);
    honoured.max().unwrap_or_default()
}

impl Touched {
    /// The durable content that was submitted last.
    pub fn durable(&self) -> Option<Candidate> {
        let mut newest_first = self.candidates.iter().rev();
        newest_first.find(|one| one.place.is_none()).copied()
    }

    /// The candidates that a state has on the medium.
    pub fn landed<'a>(
        &'a self,
        states: &'a CrashStates,
        selection: &'a Selection,
    ) -> impl Iterator<Item = &'a Candidate> {
        self.candidates.iter().filter(move |one| {
            let Some(place) = one.place else { return true };
            let at = || self.sector - states.change(one.change).sector;
            selection.landed.get(place as usize)
                && selection
                    .torn
                    .get(&place)
                    .is_none_or(|torn| torn.contains(at()))
        })
    }

    /// What the sector holds in a state, and whether it is garbage; none if that of the base.
    pub fn visible(
        &self,
        states: &CrashStates,
        selection: &Selection,
    ) -> Option<(Candidate, bool)> {
        let order = |one: &Candidate| states.change(one.change).order;
        let mut last: Option<&Candidate> = None;
        for one in self.landed(states, selection) {
            let stays = |before: &Candidate| {
                let pair = (order(before), order(one));
                !selection.reordered.is_empty() && selection.reordered.contains(&pair)
            };
            if !last.is_some_and(stays) {
                last = Some(one);
            }
        }
        if let Some(held) = selection.held.get(&self.sector) {
            let named = self.candidates.iter().find(|one| order(one) == *held);
            last = named.or(last);
        }
        let last = *last?;
        let garbage = last.place.and_then(|place| selection.garbage.get(&place));
        let at = self.sector - states.change(last.change).sector;
        let garbage = garbage.is_some_and(|all| all.as_ref().is_none_or(|set| set.contains(at)));
        Some((last, garbage))
    }
}

/// The pairs of which both are on the medium.
pub(crate) fn landed_pairs(context: &Context, selection: &Selection) -> Vec<(u32, u32)> {
    let landed = |change: u32| match context.optional.binary_search(&change) {
        Ok(at) => selection.landed.get(at),
        Err(_) => true,
    };
    let all = context.pairs.iter().copied();
    all.filter(|pair| landed(pair.0) && landed(pair.1))
        .collect()
}

/// Checks the pairs that land in another order than that of submission.
pub(crate) fn orders_are_possible(
    states: &CrashStates,
    context: &Context,
    selection: &Selection,
) -> Result<(), String> {
    if selection.reordered.is_empty() {
        return Ok(());
    }
    let order = |place: u32| states.change(place).order;
    let landed = landed_pairs(context, selection);
    for (last, first) in &selection.reordered {
        if !landed
            .iter()
            .any(|pair| (order(pair.0), order(pair.1)) == (*last, *first))
        {
            return Err(format!(
                "requests {last} and {first} did not both land on one sector while in flight"
            ));
        }
    }
    let reversed = |pair: &(u32, u32)| {
        selection
            .reordered
            .contains(&(order(pair.0), order(pair.1)))
    };
    let flags: Vec<bool> = landed.iter().map(reversed).collect();
    if is_acyclic(states, &landed, &flags) {
        Ok(())
    } else {
        Err("no order of landing has all these pairs".to_owned())
    }
}

/// Whether requests can land in an order in which the reversed pairs land against the order of
/// submission, the other pairs in it, and no request after one that was submitted after its
/// completion.
pub(crate) fn is_acyclic(states: &CrashStates, pairs: &[(u32, u32)], reversed: &[bool]) -> bool {
    let chosen = pairs.iter().zip(reversed);
    let chosen: BTreeSet<(u32, u32)> = chosen
        .map(|((one, other), reversed)| {
            if *reversed {
                (*other, *one)
            } else {
                (*one, *other)
            }
        })
        .collect();
    let mut left: BTreeSet<u32> = pairs.iter().flat_map(|pair| [pair.0, pair.1]).collect();
    while !left.is_empty() {
        let follows = |one: u32, other: u32| {
            chosen.contains(&(other, one)) || states.change(other).precedes(states.change(one))
        };
        let mut all = left.iter().copied();
        let Some(first) = all.find(|one| !left.iter().any(|other| follows(*one, *other))) else {
            return false;
        };
        left.remove(&first);
    }
    true
}
