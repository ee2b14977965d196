//! The order of a recording when several flushes and writes are in flight, and what the rules of
//! crash states call durable compared with what a model disk keeps at a power cut.

use super::Recording;
use fsdyno_crash::{Change, CrashStates, Data, Selection, Trace, TraceEvent};
use fsdyno_disk::profiles::ALL;
use fsdyno_disk::{Disk, Faults, Kind, Memory, Payloads, Profile, Recorder, Remains, Request};
use fsdyno_model::{Bytes, Nanos, StateClass};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sectors that requests change.
const SECTORS: u64 = 24;

#[derive(Debug, Clone)]
enum Step {
    Submit(Kind, bool, u64, u64),
    /// Time passes, in microseconds, and completions are taken.
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let extent = (0..SECTORS).prop_flat_map(|at| (Just(at), 1..=(SECTORS - at).min(9)));
    let kind = prop_oneof![
        8 => Just(Kind::Write),
        1 => Just(Kind::WriteZeroes),
        1 => Just(Kind::Discard),
        1 => Just(Kind::Read),
    ];
    let submit = (kind, prop::bool::weighted(0.1), extent)
        .prop_map(|(kind, fua, (at, count))| Step::Submit(kind, fua, at, count));
    let step = prop_oneof![
        6 => submit,
        3 => Just(Step::Submit(Kind::Flush, false, 0, 0)),
        2 => (0..500_u64).prop_map(Step::Wait),
        1 => (0..60_000_u64).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..60)
}

/// A disk that is recorded, and what the caller of the disk saw.
struct Watched {
    disk: Disk,
    recording: Recording,
    seen: Vec<TraceEvent>,
    /// Number in the trace of each request in flight.
    numbers: BTreeMap<u64, u64>,
    now: Nanos,
}

impl Watched {
    fn new(profile: &Profile) -> Self {
        let memory = Box::new(Memory::new());
        let mut disk = Disk::new(profile, Some(Bytes(1 << 20)), memory, Faults::none());
        let recording = Recording::new(false);
        disk.record(Recorder::to(Box::new(recording.clone()), Payloads::Kept));
        recording.start();
        Self {
            disk,
            recording,
            seen: Vec::new(),
            numbers: BTreeMap::new(),
            now: Nanos(0),
        }
    }

    fn step(&mut self, step: &Step, next: &mut u64) {
        match *step {
            Step::Wait(us) => {
                self.now.0 += us * 1000;
                while let Some(completion) = self.disk.complete(self.now).unwrap() {
                    let number = self.numbers.remove(&completion.order);
                    self.seen
                        .extend(number.map(|order| TraceEvent::Completed { order }));
                }
            }
            Step::Submit(kind, fua, sector, sectors) => {
                let order = *next;
                let fill = u8::try_from(order + 1).unwrap();
                let request = Request {
                    fua: fua && kind == Kind::Write,
                    ..Request::new(0, kind, sector, sectors)
                };
                let submitted = self.disk.submit(self.now, request, |into| into.fill(fill));
                let submitted = submitted.unwrap();
                let data = match kind {
                    Kind::Read => return,
                    Kind::Flush => None,
                    Kind::Write => {
                        let bytes = vec![fill; usize::try_from(sectors).unwrap() * 512];
                        Some(Data::Bytes(Arc::from(bytes)))
                    }
                    Kind::WriteZeroes => Some(Data::Zeros { sectors }),
                    Kind::Discard => Some(Data::Discarded { sectors }),
                };
                self.numbers.insert(submitted, order);
                *next += 1;
                self.seen.push(match data {
                    None => TraceEvent::Flush { order },
                    Some(data) => TraceEvent::Write {
                        order,
                        sector,
                        data,
                        fua: request.fua,
                    },
                });
            }
        }
    }
}

/// Checks each sector of the medium after a power cut at the end of the trace.
fn check_medium(disk: &mut Disk, trace: &Trace) {
    let states = CrashStates::new(trace).unwrap();
    let window = states
        .window(states.windows().last().unwrap().number)
        .unwrap();
    let optional = window.optional().count();
    let none = Selection::none(window.window().number, StateClass::C2, optional);
    let durable = window.overlay(&none).unwrap();
    let fill = |data: &Data| match data {
        Data::Bytes(bytes) => bytes[0],
        Data::Zeros { .. } | Data::Discarded { .. } => 0,
    };
    for sector in 0..SECTORS {
        let mut held = [0; 512];
        disk.read(sector * 512, &mut held).unwrap();
        let mut allowed = vec![durable.get(sector).map_or(0, |bytes| bytes[0])];
        // A request that is neither optional nor a discard is durable, or is overwritten by a
        // durable one.
        let is_durable = |one: &&Change| {
            let optional = window.optional().any(|other| other.order == one.order);
            one.holds(sector) && !optional && !one.is_discard()
        };
        let newest = states.changes().iter().rev().find(is_durable);
        let there = newest.map(|one| fill(&one.data));
        assert_eq!(there, durable.get(sector).map(|bytes| bytes[0]));
        let overwrites = |change: &&Change| {
            change.holds(sector) && newest.is_none_or(|newest| !change.precedes(newest))
        };
        allowed.extend(
            window
                .optional()
                .filter(overwrites)
                .map(|one| fill(&one.data)),
        );
        assert!(
            held.iter().all(|byte| *byte == held[0]) && allowed.contains(&held[0]),
            "sector {sector} holds {}, allowed are {allowed:?}",
            held[0]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_recording_has_the_order_of_the_disk_and_what_is_durable_survives(
        steps in steps(),
        which in 0..ALL.len(),
        seed: u64,
    ) {
        let profile = Profile::try_from(&ALL[which]).unwrap();
        for remains in [Remains::Destaged, Remains::Any] {
            let mut watched = Watched::new(&profile);
            let mut next = 0;
            for step in &steps {
                watched.step(step, &mut next);
            }
            let trace = watched.recording.stop();
            prop_assert_eq!(&trace.events, &watched.seen);
            watched.disk.power_cut(watched.now, seed, remains).unwrap();
            check_medium(&mut watched.disk, &trace);
        }
    }
}
