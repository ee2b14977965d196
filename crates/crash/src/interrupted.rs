//! Power cuts during a recovery: while a program checks or repairs the file system, and while the
//! kernel recovers it.

use crate::overlay::{ImageKey, Overlay};
use crate::recording::CrashStates;
use crate::select::RoleOf;
use crate::state_id::Selection;
use crate::states::{IllegalState, WindowStates};
use crate::trace::{Trace, TraceEvent};
use fsdyno_model::exploration::StateClass;
use std::collections::BTreeSet;

/// The maximum number of states of power cuts during one recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterruptionLimits {
    /// While a program checks or repairs the file system.
    pub checker: usize,
    /// Afterwards, while the kernel recovers it.
    pub kernel: usize,
}

/// A state of a power cut during a recovery.
#[derive(Debug, Clone)]
pub struct Interruption {
    /// Whether writes of the checker were not yet durable.
    pub in_checker: bool,
    /// Its name among the states of the recovery.
    pub selection: Selection,
    /// The image, relative to the state that was recovered.
    pub overlay: Overlay,
}

/// Selects states of power cuts during a recovery, of class C2 and none twice: of each window the
/// first, then the second of each, until there are as many. In the trace the marks of operation 0
/// enclose what the checker does; without them there is no checker. `states` are those of the trace.
pub fn interruptions(
    states: &CrashStates,
    trace: &Trace,
    most: InterruptionLimits,
    role: RoleOf<'_>,
) -> Result<Vec<Interruption>, IllegalState> {
    let checked = end_of_checker(trace);
    let windows = states.windows().iter();
    let windows = windows.filter_map(|window| states.window(window.number));
    let (of_checker, of_kernel): (Vec<_>, Vec<_>) =
        windows.partition(|window| has_write_before(window, checked));
    // The state that was recovered is known.
    let mut seen = BTreeSet::from([ImageKey::default()]);
    let mut interruptions = Vec::new();
    for (in_checker, windows, most) in [
        (true, of_checker, most.checker),
        (false, of_kernel, most.kernel),
    ] {
        let all = in_turn(&windows, most, role)?;
        let new = all.filter(|(_, overlay)| seen.insert(overlay.key()));
        interruptions.extend(new.take(most).map(|(selection, overlay)| Interruption {
            in_checker,
            selection,
            overlay,
        }));
    }
    Ok(interruptions)
}

/// How many events had happened when the checker ended; 0 without one.
pub fn end_of_checker(trace: &Trace) -> usize {
    let mark = |mark: TraceEvent| trace.events.iter().position(|event| *event == mark);
    let ended = mark(TraceEvent::Returned { operation: 0 });
    match mark(TraceEvent::Began { operation: 0 }) {
        None => 0,
        Some(_) => ended.unwrap_or(trace.events.len()),
    }
}

/// Whether a write that is not durable in a window was submitted before this moment.
pub fn has_write_before(window: &WindowStates<'_>, events: usize) -> bool {
    window.optional().any(|change| change.submitted < events)
}

/// The first state of each window, then the second of each.
fn in_turn(
    windows: &[WindowStates<'_>],
    most: usize,
    role: RoleOf<'_>,
) -> Result<impl Iterator<Item = (Selection, Overlay)> + use<>, IllegalState> {
    let mut all = Vec::new();
    for (place, window) in windows.iter().enumerate() {
        // One may be the state that was recovered.
        let selected = window.select(StateClass::C2, most as u64 + 1, 1, role);
        for (turn, selection) in selected.into_iter().enumerate() {
            let overlay = window.overlay(&selection)?;
            all.push((turn, place, selection, overlay));
        }
    }
    all.sort_by_key(|(turn, place, ..)| (*turn, *place));
    Ok(all
        .into_iter()
        .map(|(.., selection, overlay)| (selection, overlay)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Data, Role};

    /// A checker that writes and flushes twice, then a mount that writes and flushes.
    fn recovery(marked: bool) -> Trace {
        let mut events = Vec::new();
        let mut order = 0;
        let mut writes = |events: &mut Vec<TraceEvent>, sectors: std::ops::Range<u64>| {
            for sector in sectors {
                let data = Data::Bytes(vec![7; 512].into());
                let fua = false;
                events.push(TraceEvent::Write {
                    order,
                    sector,
                    data,
                    fua,
                });
                events.push(TraceEvent::Completed { order });
                order += 1;
            }
            events.push(TraceEvent::Flush { order });
            events.push(TraceEvent::Completed { order });
            order += 1;
        };
        if marked {
            events.push(TraceEvent::Began { operation: 0 });
        }
        writes(&mut events, 0..10);
        writes(&mut events, 10..12);
        if marked {
            events.push(TraceEvent::Returned { operation: 0 });
        }
        writes(&mut events, 20..30);
        Trace { events }
    }

    fn interruption(trace: &Trace, checker: usize, kernel: usize) -> Vec<Interruption> {
        let states = CrashStates::with_base(trace, |_, into: &mut [u8]| into.fill(0)).unwrap();
        let most = InterruptionLimits { checker, kernel };
        interruptions(&states, trace, most, &|_, _| Role::Unknown).unwrap()
    }

    #[test]
    fn the_writes_of_a_checker_are_interrupted_within_their_own_bound() {
        let all = interruption(&recovery(true), 6, 3);
        let (checker, kernel): (Vec<_>, Vec<_>) =
            all.iter().partition(|interruption| interruption.in_checker);
        assert_eq!((checker.len(), kernel.len()), (6, 3));
        // The checker has written nothing beyond its sectors, and both its windows are there.
        let written = |interruption: &&Interruption| {
            interruption.overlay.iter().map(|(sector, _)| sector).last()
        };
        assert!(
            checker
                .iter()
                .all(|interruption| written(interruption) < Some(12))
        );
        assert!(
            checker
                .iter()
                .any(|interruption| written(interruption) >= Some(10))
        );
        assert!(
            checker
                .iter()
                .any(|interruption| written(interruption) < Some(10))
        );
        // Data that the checker made durable stays on the medium when the recovery of the kernel is
        // interrupted.
        for interruption in kernel {
            assert!((0..12).all(|sector| interruption.overlay.get(sector).is_some()));
        }
    }

    #[test]
    fn a_recovery_without_a_checker_is_that_of_the_kernel() {
        let all = interruption(&recovery(false), 6, 5);
        assert_eq!(all.len(), 5);
        assert!(all.iter().all(|interruption| !interruption.in_checker));
    }

    #[test]
    fn no_state_is_selected_twice_nor_the_one_that_was_recovered() {
        let all = interruption(&recovery(true), 1000, 2000);
        let keys: BTreeSet<ImageKey> = all
            .iter()
            .map(|interruption| interruption.overlay.key())
            .collect();
        assert_eq!(keys.len(), all.len());
        let names: BTreeSet<&Selection> = all.iter().map(|one| &one.selection).collect();
        assert_eq!(names.len(), all.len());
        assert!(!keys.contains(&ImageKey::default()));
    }

    #[test]
    fn all_writes_are_those_of_a_checker_that_did_not_end() {
        let mut trace = recovery(true);
        trace.events.truncate(15);
        let all = interruption(&trace, 4, 4);
        assert_eq!(all.len(), 4);
        assert!(all.iter().all(|interruption| interruption.in_checker));
    }
}
