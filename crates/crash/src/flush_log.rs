//! The requests since the last durable moment, each kept, dropped or torn, with the reason why the
//! rules permit it.

use crate::state_id::{SectorSet, Selection};
use crate::states::{IllegalState, WindowStates};
use crate::trace::Data;
use crate::windows::{Change, Flush};

impl WindowStates<'_> {
    /// The lines of the proof, in the order of submission. Events are those of the trace.
    pub fn requests(&self, selection: &Selection) -> Result<Vec<String>, IllegalState> {
        let context = self.check(selection)?;
        let moment = self.moment(selection);
        let mut lines: Vec<(u64, String)> = Vec::new();
        for (place, change) in (0_u32..).zip(&context.optional) {
            let change = self.states.change(*change);
            if change.submitted < moment {
                let outcome = describe_change(selection, place, change);
                let reason = self.reason(selection, change, moment);
                let name = describe(change);
                lines.push((change.order, format!("{name}: {outcome}; {reason}")));
            }
        }
        let first = lines.first().map_or(u64::MAX, |line| line.0);
        let flushes = self.completed(moment);
        let honoured = flushes.len().saturating_sub(selection.ignored as usize);
        let covering = flushes[..honoured]
            .iter()
            .max_by_key(|flush| flush.submitted);
        for flush in self
            .states
            .flushes()
            .iter()
            .filter(|flush| flush.submitted < moment)
        {
            let ignored = flushes[honoured..]
                .iter()
                .any(|one| one.order == flush.order);
            let covers = covering.is_some_and(|one| one.order == flush.order);
            if flush.order > first || covers || ignored {
                let line = describe_flush(flush, moment, ignored);
                lines.push((flush.order, line));
            }
        }
        lines.sort_by_key(|line| line.0);
        let mut all: Vec<String> = lines.into_iter().map(|line| line.1).collect();
        for (last, first) in &selection.reordered {
            all.push(format!(
                "request {last} landed after request {first}: both were in flight"
            ));
        }
        for (sector, order) in &selection.held {
            all.push(format!(
                "request {order} landed last on sector {sector}: all that landed there later were \
                 in flight with it"
            ));
        }
        if let Some(sector) = selection.unreadable {
            all.push(format!(
                "sector {sector} cannot be read: a write to it was in flight"
            ));
        }
        all.push(format!("the power was cut after event {moment}"));
        Ok(all)
    }

    /// The flushes that had completed by a moment, in the order of completion.
    fn completed(&self, moment: usize) -> Vec<Flush> {
        let all = self.states.flushes().iter().copied();
        let mut done: Vec<Flush> = all
            .filter(|flush| flush.completed.is_some_and(|at| at < moment))
            .collect();
        done.sort_by_key(|flush| flush.completed);
        done
    }

    /// The reason why a request may be on the medium or not.
    fn reason(&self, selection: &Selection, change: &Change, moment: usize) -> String {
        let Some(completed) = change.completed.filter(|at| *at < moment) else {
            return "in flight".to_owned();
        };
        if change.is_discard() {
            return "what a discard leaves is not certain".to_owned();
        }
        let flushes = self.completed(moment);
        let honoured = flushes.len().saturating_sub(selection.ignored as usize);
        let covered = |flush: &&Flush| flush.submitted > completed;
        if let Some(flush) = flushes[honoured..].iter().find(covered) {
            return format!(
                "only covered by ignored flushes, the first is {}",
                flush.order
            );
        }
        let running = |flush: &&Flush| {
            flush.submitted < completed && flush.completed.is_some_and(|at| at > completed)
        };
        match flushes.iter().find(running) {
            Some(flush) => format!(
                "completed at event {completed} while flush {} ran, which does not cover it",
                flush.order
            ),
            None => format!("completed at event {completed}; no flush after that has completed"),
        }
    }
}

fn describe(change: &Change) -> String {
    let kind = match (&change.data, change.fua) {
        (Data::Bytes(_), false) => "write",
        (Data::Bytes(_), true) => "durable write",
        (Data::Zeros { .. }, _) => "write of zeros",
        (Data::Discarded { .. }, _) => "discard",
    };
    let (order, sector, sectors) = (change.order, change.sector, change.sectors);
    format!("request {order}, {kind}, {sectors} sectors at {sector}")
}

fn describe_change(selection: &Selection, place: u32, change: &Change) -> String {
    if !selection.landed.get(place as usize) {
        return "dropped".to_owned();
    }
    let size = change.sectors;
    let part = |sectors: &SectorSet| format!("sectors {sectors} of 0-{}", size - 1);
    let kept = match selection.torn.get(&place) {
        Some(sectors) => format!("torn, kept {}", part(sectors)),
        None => "kept".to_owned(),
    };
    match selection.garbage.get(&place) {
        None => kept,
        Some(None) => format!("{kept}, garbage"),
        Some(Some(sectors)) => format!("{kept}, garbage in {}", part(sectors)),
    }
}

fn describe_flush(flush: &Flush, moment: usize, ignored: bool) -> String {
    let (order, submitted) = (flush.order, flush.submitted);
    match flush.completed.filter(|at| *at < moment) {
        None => format!("request {order}, flush: submitted at event {submitted}, in flight"),
        Some(completed) if ignored => {
            format!("request {order}, flush: completed at event {completed}; it did nothing")
        }
        Some(completed) => format!(
            "request {order}, flush: completed at event {completed}; what completed before event \
             {submitted} is durable"
        ),
    }
}

#[cfg(test)]
mod tests {
    use crate::{CrashStates, Data, Trace, TraceEvent};

    #[test]
    fn each_request_has_its_fate_and_the_flush_that_permits_it() {
        let write = |order, fua| TraceEvent::Write {
            order,
            sector: order * 8,
            data: Data::Bytes(vec![7; 4096].into()),
            fua,
        };
        let done = |order| TraceEvent::Completed { order };
        let events = vec![
            write(0, false),
            write(1, false),
            done(0),
            TraceEvent::Flush { order: 2 },
            done(1),
            done(2),
            write(3, false),
            done(3),
            write(4, true),
        ];
        let states = CrashStates::new(&Trace { events }).unwrap();
        let requests = |id: &str| {
            let selection = id.parse().unwrap();
            let window = states.window_of(&selection).unwrap();
            window.requests(&selection).unwrap()
        };
        assert_eq!(
            requests("1/c3/a/t0.0-3"),
            [
                "request 1, write, 8 sectors at 8: torn, kept sectors 0-3 of 0-7; completed at \
                 event 4 while flush 2 ran, which does not cover it",
                "request 2, flush: completed at event 5; what completed before event 3 is durable",
                "request 3, write, 8 sectors at 24: dropped; completed at event 7; no flush after \
                 that has completed",
                "request 4, durable write, 8 sectors at 32: kept; in flight",
                "the power was cut after event 9",
            ]
        );
        assert_eq!(
            requests("1/c5/7/f1")[0],
            "request 0, write, 8 sectors at 0: dropped; only covered by ignored flushes, the \
             first is 2"
        );
        assert_eq!(
            requests("1/c4/c/u32").last().unwrap(),
            "the power was cut after event 9"
        );
    }
}
