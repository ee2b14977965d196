//! The states that a power cut at the end of a window can leave, and the image of each.
//!
//! | class | what may be on the medium, in addition to the durable writes |
//! |---|---|
//! | C0 | the first writes in the order of submission; all durable ones are among them |
//! | C1 | any of the epochs between two submissions of flushes, each as far as it was submitted |
//! | C2 | any of the optional requests |
//! | C3 | any sectors of the optional requests |
//! | C4 | as C2; one sector of a write that is in flight cannot be read |
//! | C5 | as C2, if the last flushes did nothing; at least one write that they covered is missing |
//!
//! A request is optional if it was submitted, is not durable, and has a sector that was not
//! overwritten by a durable write submitted after its completion. A request *lands* when it reaches
//! the medium. Requests land in the order of submission, except that from C2 on requests that were
//! in flight at the same time land in any order. A discard is never certain. In C0 and C1 a landed
//! discard reads as zeros; from C2 on as zeros or as garbage.

use crate::context::{Context, orders_are_possible};
use crate::overlay::{Block, ImageKey, Overlay};
use crate::recording::CrashStates;
use crate::state_id::Selection;
use crate::trace::Data;
use crate::windows::{Change, Flush, Marks, Window};
use fsdyno_model::exploration::StateClass;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A state that the rules of its class do not permit, or that is of another trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("crash state {state} is not possible in this trace: {reason}")]
pub struct IllegalState {
    state: String,
    reason: String,
}

impl CrashStates {
    /// The states of a window; none if there is no such window.
    pub fn window(&self, number: u32) -> Option<WindowStates<'_>> {
        let window = self.all.windows.get(number as usize)?;
        Some(WindowStates {
            states: self,
            window,
            context: Arc::new(Context::new(self, window, 0)),
            ignoring: Mutex::default(),
            durable: OnceLock::new(),
            vulnerable: OnceLock::new(),
        })
    }

    /// The image of a state.
    pub fn overlay(&self, selection: &Selection) -> Result<Overlay, IllegalState> {
        self.window_of(selection)?.overlay(selection)
    }

    /// The operations that had begun and returned when the power was cut.
    pub fn marks(&self, selection: &Selection) -> Result<Marks, IllegalState> {
        self.window_of(selection)?.marks(selection)
    }

    /// The window of a state.
    pub fn window_of(&self, selection: &Selection) -> Result<WindowStates<'_>, IllegalState> {
        self.window(selection.window).ok_or_else(|| {
            let windows = self.all.windows.len();
            illegal(selection, format!("the trace has {windows} windows"))
        })
    }
}

pub(crate) fn illegal(selection: &Selection, reason: impl Into<String>) -> IllegalState {
    IllegalState {
        state: selection.to_string(),
        reason: reason.into(),
    }
}

/// The crash states of one window.
#[derive(Debug)]
pub struct WindowStates<'a> {
    pub(crate) states: &'a CrashStates,
    pub(crate) window: &'a Window,
    pub(crate) context: Arc<Context>,
    /// Contexts in which the last flushes did nothing, by their number.
    ignoring: Mutex<BTreeMap<u32, Arc<Context>>>,
    durable: OnceLock<Arc<BTreeMap<u64, Block>>>,
    vulnerable: OnceLock<BTreeMap<u64, usize>>,
}

impl WindowStates<'_> {
    /// The window.
    pub fn window(&self) -> &Window {
        self.window
    }

    /// The optional requests, in the order of submission: the bits of a state are theirs.
    pub fn optional(&self) -> impl Iterator<Item = &Change> {
        self.context
            .optional
            .iter()
            .map(|place| self.states.change(*place))
    }

    /// The context of states in which the last `ignored` flushes did nothing.
    pub(crate) fn context(&self, ignored: u32) -> Arc<Context> {
        if ignored == 0 {
            return Arc::clone(&self.context);
        }
        let mut all = self.ignoring.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(Context::new(self.states, self.window, ignored));
        Arc::clone(all.entry(ignored).or_insert_with(made))
    }

    /// The number of flushes that had completed at the end of the window.
    pub(crate) fn completed_flushes(&self) -> u32 {
        let done = |flush: &&Flush| flush.completed.is_some_and(|at| at < self.window.end);
        u32::try_from(self.states.all.flushes.iter().filter(done).count()).unwrap_or(u32::MAX)
    }

    /// Sectors of writes that were in flight in the window, each with the end of that time. A
    /// sector can be unreadable only while its write is in flight.
    pub(crate) fn vulnerable(&self) -> &BTreeMap<u64, usize> {
        self.vulnerable.get_or_init(|| self.find_vulnerable())
    }

    fn find_vulnerable(&self) -> BTreeMap<u64, usize> {
        let mut sectors: BTreeMap<u64, usize> = BTreeMap::new();
        for change in self.optional() {
            let until = change.completed.unwrap_or(usize::MAX).min(self.window.end);
            if until >= self.window.start && matches!(change.data, Data::Bytes(_)) {
                for sector in change.sector..change.sector + change.sectors {
                    let last = sectors.entry(sector).or_default();
                    *last = until.max(*last);
                }
            }
        }
        sectors
    }

    /// The number of events before the power cut: the end of the window, or, with an unreadable
    /// sector, the end of its write.
    pub(crate) fn moment(&self, selection: &Selection) -> usize {
        let unreadable = selection.unreadable;
        let at = unreadable.and_then(|sector| self.vulnerable().get(&sector).copied());
        at.unwrap_or(self.window.end)
    }

    /// The operations that had begun and returned when the power was cut.
    pub fn marks(&self, selection: &Selection) -> Result<Marks, IllegalState> {
        self.check(selection)?;
        Ok(self.states.all.marks(self.moment(selection)))
    }

    /// The name of the image of a state.
    pub fn key(&self, selection: &Selection) -> Result<ImageKey, IllegalState> {
        let context = self.check(selection)?;
        Ok(self.image(&context, selection, |_, _, _| ()))
    }

    /// The image of a state.
    pub fn overlay(&self, selection: &Selection) -> Result<Overlay, IllegalState> {
        let context = self.check(selection)?;
        let mut top = BTreeMap::new();
        let key = self.image(&context, selection, |sector, place, garbage| {
            top.extend(
                self.states
                    .block(sector, place, garbage)
                    .map(|b| (sector, b)),
            );
        });
        let durable = if selection.ignored == 0 {
            let image = self
                .durable
                .get_or_init(|| self.states.durable(self.window));
            Arc::clone(image)
        } else {
            let all = self.states.sectors.iter();
            let held = all.filter_map(|(sector, versions)| {
                let newest = context.durable(self.states, versions)?;
                let block = self.states.block(*sector, newest.change, false)?;
                Some((*sector, block))
            });
            Arc::new(held.collect())
        };
        Ok(Overlay::new(durable, top, selection.unreadable, key))
    }

    /// Calls `differs` for each sector that holds something else than the durable image: the sector,
    /// the change, and whether a discard left garbage. Returns the name of the image.
    fn image(
        &self,
        context: &Context,
        selection: &Selection,
        mut differs: impl FnMut(u64, u32, bool),
    ) -> ImageKey {
        let mut key = match selection.ignored {
            0 => self.keys(),
            _ => context.durable_key(self.states),
        };
        let mut unreadable = None;
        for touched in &context.touched {
            let durable = touched.durable();
            let visible = touched.visible(self.states, selection);
            let old = durable.map_or(0, |one| one.key);
            let mut new = old;
            if let Some((one, garbage)) = visible
                && durable.is_none_or(|durable| durable.change != one.change)
            {
                new = if garbage { one.garbage } else { one.key };
                key = key.replaced(old, new);
                differs(touched.sector, one.change, garbage);
            }
            if selection.unreadable == Some(touched.sector) {
                unreadable = Some((touched.sector, new));
            }
        }
        match unreadable {
            Some((sector, held)) => key.with_unreadable(sector, held),
            None => key,
        }
    }

    fn keys(&self) -> ImageKey {
        self.states.keys[self.window.number as usize]
    }

    /// Whether the rules permit a state.
    pub(crate) fn check(&self, selection: &Selection) -> Result<Arc<Context>, IllegalState> {
        self.legal(selection)
            .map_err(|reason| illegal(selection, reason))
    }

    fn legal(&self, selection: &Selection) -> Result<Arc<Context>, String> {
        let class = selection.class;
        if selection.window != self.window.number {
            return Err(format!("this is window {}", self.window.number));
        }
        let flushes = self.completed_flushes();
        match (class == StateClass::C5, selection.ignored) {
            (false, 0) => {}
            (true, n) if (1..=flushes).contains(&n) => {}
            (true, _) => {
                return Err(format!(
                    "{flushes} flushes had completed, of which it ignores none"
                ));
            }
            (false, _) => return Err("only states of class C5 ignore flushes".to_owned()),
        }
        let context = self.context(selection.ignored);
        let optional = context.optional.len();
        let bits = &selection.landed;
        if bits.room() != optional.max(1).next_multiple_of(4)
            || bits.places().any(|place| place >= optional)
        {
            return Err(format!("{optional} requests are optional in its window"));
        }
        match class {
            StateClass::C0 | StateClass::C1 => context.check_order(self.states, selection)?,
            StateClass::C3 => context.check_torn(self.states, selection)?,
            StateClass::C2 | StateClass::C4 | StateClass::C5 => {}
        }
        if class != StateClass::C3 && !(selection.torn.is_empty() && selection.held.is_empty()) {
            return Err("only states of class C3 have torn requests".to_owned());
        }
        if class != StateClass::C3 {
            for (place, sectors) in &selection.garbage {
                if !context.is_landed_discard(self.states, selection, *place) || sectors.is_some() {
                    return Err(format!("request {place} is not a discard that landed"));
                }
            }
            orders_are_possible(self.states, &context, selection)?;
        }
        match (class == StateClass::C4, selection.unreadable) {
            (false, None) => {}
            (true, Some(sector)) => {
                let until = self.vulnerable().get(&sector).copied();
                let until = until.ok_or(format!("no write to sector {sector} is in flight"))?;
                let later =
                    |place: usize| self.states.change(context.optional[place]).submitted >= until;
                if bits.places().any(later) {
                    return Err(format!(
                        "a request landed that was submitted after the write to sector {sector} \
                         had completed"
                    ));
                }
            }
            _ => return Err("states of class C4, and no others, have an unreadable sector".into()),
        }
        if class == StateClass::C5 && !context.shows_ignored(selection) {
            let n = selection.ignored;
            return Err(format!("all that the last {n} flushes covered is there"));
        }
        Ok(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Role, Trace, TraceEvent};

    fn write(order: u64, sector: u64, bytes: &[u8], fua: bool) -> TraceEvent {
        TraceEvent::Write {
            order,
            sector,
            data: Data::Bytes(bytes.into()),
            fua,
        }
    }

    fn done(order: u64) -> TraceEvent {
        TraceEvent::Completed { order }
    }

    /// A flushed write, one that the flush does not cover, and one in flight; two operations.
    fn trace() -> Trace {
        let events = vec![
            TraceEvent::Began { operation: 4 },
            write(0, 0, &[1; 1024], false),
            done(0),
            TraceEvent::Flush { order: 1 },
            write(2, 8, &[2; 1024], false),
            done(1),
            TraceEvent::Returned { operation: 4 },
            TraceEvent::Began { operation: 5 },
            done(2),
            TraceEvent::Returned { operation: 5 },
            write(3, 16, &[3; 1024], false),
        ];
        Trace { events }
    }

    #[test]
    fn states_that_the_rules_do_not_permit_are_refused_with_a_reason() {
        let states = CrashStates::new(&trace()).unwrap();
        for (id, reason) in [
            ("2/c2/0", "the trace has 2 windows"),
            ("1/c2/00", "2 requests are optional"),
            ("1/c2/2", "2 requests are optional"),
            ("1/c0/4", "the landed requests are not the first ones"),
            ("1/c1/4", "an epoch are there in part"),
            ("1/c2/8/t0.0", "only states of class C3"),
            ("1/c3/8/t0.0-1", "does not land in a part"),
            ("1/c3/8/t1.0", "does not land in a part"),
            ("1/c2/8/g0", "not a discard"),
            ("1/c2/c/o2-3", "did not both land on one sector"),
            ("1/c3/c/w8-3", "request 3 is not on sector 8"),
            ("1/c4/8", "states of class C4"),
            ("1/c2/8/u8", "states of class C4"),
            ("1/c4/8/u0", "no write to sector 0"),
            (
                "1/c4/4/u8",
                "submitted after the write to sector 8 had completed",
            ),
            ("1/c5/0", "1 flushes had completed"),
            ("1/c5/0/f2", "1 flushes had completed"),
            ("1/c2/0/f1", "only states of class C5"),
            ("1/c5/8/f1", "all that the last 1 flushes covered is there"),
        ] {
            let error = states
                .overlay(&id.parse().unwrap())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(id) && error.contains(reason),
                "{id}: {error}"
            );
        }
    }

    #[test]
    fn texts_that_are_no_states_are_refused() {
        for text in [
            "",
            "1",
            "1/c2",
            "x/c2/0",
            "1/c6/0",
            "1/C2/0",
            "1/c2/g",
            "1/c2/0/",
            "1/c2/0/x1",
            "1/c2/0/u8/t0.1",
            "1/c2/0_9",
            "1/c2/00000000",
            "1/c2/0/t0.3-1",
            "1/c2/0/t0.0,1",
            "01/c2/0",
            "1/c2/0/f0",
            "1/c2/0+",
            "1/c2/0_99999999999_",
            "1/c2/ä",
        ] {
            let error = text.parse::<crate::StateId>().unwrap_err().to_string();
            assert!(error.contains("is not a crash state"), "{error}");
        }
        let nested = "1/c2/8/g0.0-1,3/o3-2/u9/f2+0/c3/f_12_/t2.0-3/w8-2";
        let id: crate::StateId = nested.parse().unwrap();
        assert_eq!((id.to_string().as_str(), id.nested.len()), (nested, 1));
    }

    #[test]
    fn marks_are_those_of_the_moment_of_the_power_cut() {
        let states = CrashStates::new(&trace()).unwrap();
        let marks = |id: &str| {
            let marks = states.marks(&id.parse().unwrap()).unwrap();
            (marks.began.len(), marks.returned.len())
        };
        assert_eq!(marks("0/c2/c"), (1, 0));
        assert_eq!(marks("1/c2/0"), (2, 2));
        // While the write to sector 8 was in flight, operation 5 had not returned.
        assert_eq!(marks("1/c4/0/u8"), (2, 1));
        assert_eq!(marks("1/c4/0/u16"), (2, 2));
    }

    #[test]
    fn a_lying_flush_loses_what_it_covered_and_an_unreadable_sector_is_part_of_the_image() {
        let states = CrashStates::new(&trace()).unwrap();
        let window = states.window(1).unwrap();
        let overlay = |id: &str| states.overlay(&id.parse().unwrap()).unwrap();
        let lost = overlay("1/c5/6/f1");
        assert!(lost.get(0).is_none() && lost.get(8).is_some());
        assert_eq!(lost.iter().count(), 4);
        assert_eq!(window.count(StateClass::C5), Some(4));
        // Four sectors of writes in flight; of those of the first write, only it may have landed.
        assert_eq!(window.count(StateClass::C4), Some(2 * 2 + 2 * 4));
        let all = |class| window.select(class, 99, 1, &|_, _| Role::Unknown);
        assert_eq!(
            (all(StateClass::C4).len(), all(StateClass::C5).len()),
            (12, 4)
        );
        let unreadable = overlay("1/c4/8/u9");
        assert_eq!(unreadable.unreadable(), Some(9));
        assert_ne!(unreadable.key(), overlay("1/c2/8").key());
        assert_ne!(unreadable.content(9), unreadable.content(8));
        // The content of the unreadable sector is not part of the image, that of others is.
        assert_ne!(unreadable.key(), overlay("1/c4/0/u9").key());
        let one_sector = Trace {
            events: vec![write(0, 5, &[1; 512], false)],
        };
        let states = CrashStates::new(&one_sector).unwrap();
        let key = |id: &str| states.overlay(&id.parse().unwrap()).unwrap().key();
        assert_eq!(key("0/c4/8/u5"), key("0/c4/0/u5"));
    }

    #[test]
    fn only_the_ignored_flushes_lose_what_they_covered() {
        let events = vec![
            write(0, 0, &[1; 512], false),
            done(0),
            TraceEvent::Flush { order: 1 },
            done(1),
            write(2, 1, &[2; 512], false),
            done(2),
            TraceEvent::Flush { order: 3 },
            done(3),
        ];
        let states = CrashStates::new(&Trace { events }).unwrap();
        let there = |id: &str| {
            let overlay = states.overlay(&id.parse().unwrap()).unwrap();
            [0, 1].map(|sector| overlay.get(sector).is_some())
        };
        assert_eq!(there("2/c2/0"), [true, true]);
        assert_eq!(there("2/c5/0/f1"), [true, false]);
        assert_eq!(there("2/c5/0/f2"), [false, false]);
        assert_eq!(there("2/c5/4/f2"), [false, true]);
        // With write 0 there, one ignored flush explains the state.
        assert!(states.overlay(&"2/c5/8/f2".parse().unwrap()).is_err());
    }

    #[test]
    fn a_write_of_what_the_base_holds_leaves_the_image_as_it_is() {
        let events = vec![
            write(0, 0, &[1; 512], false),
            done(0),
            write(1, 0, &[9; 512], false),
            done(1),
        ];
        let trace = Trace { events };
        let base = |_: u64, into: &mut [u8]| into.fill(9);
        let states = CrashStates::with_base(&trace, base).unwrap();
        let key = |id: &str| states.overlay(&id.parse().unwrap()).unwrap().key();
        assert_eq!(key("0/c2/0"), key("0/c2/c"));
        assert_ne!(key("0/c2/0"), key("0/c2/8"));
    }

    #[test]
    fn a_long_trace_has_the_durable_image_of_each_window() {
        // As many writes as a long random program has, a flush after every 50.
        let mut events = Vec::new();
        for order in 0..20_000 {
            if order % 50 == 49 {
                events.push(TraceEvent::Flush { order });
            } else {
                let fill = u8::try_from(order % 251).unwrap();
                events.push(write(order, order * 7919 % 9000 * 8, &[fill; 4096], false));
            }
            events.push(done(order));
        }
        let states = CrashStates::new(&Trace { events }).unwrap();
        assert_eq!(states.windows().len(), 401);
        let mut durable: BTreeMap<u64, u8> = BTreeMap::new();
        let newest = states.changes().iter().map(|one| (one.sector, &one.data));
        for (number, writes) in newest.collect::<Vec<_>>().chunks(49).enumerate() {
            let number = u32::try_from(number).unwrap();
            if number % 40 == 3 {
                let window = states.window(number).unwrap();
                assert_eq!(window.optional().count(), 49);
                let none = Selection::none(number, StateClass::C2, 49);
                let overlay = window.overlay(&none).unwrap();
                let held = overlay
                    .iter()
                    .step_by(8)
                    .map(|(sector, bytes)| (sector, bytes[0]));
                assert!(held.eq(durable.iter().map(|(sector, fill)| (*sector, *fill))));
                assert_eq!(overlay.landed(), 0);
                let all = window.select(StateClass::C2, 200, 1, &|_, _| Role::Data);
                assert!(
                    all.iter()
                        .all(|one| window.overlay(one).unwrap().landed() <= 49 * 8)
                );
            }
            for (sector, data) in writes {
                if let Data::Bytes(bytes) = data {
                    durable.insert(*sector, bytes[0]);
                }
            }
        }
    }
}
