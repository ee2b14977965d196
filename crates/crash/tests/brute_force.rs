//! Compares the explorer with the definition: for tiny traces, every crash time, every subset of the
//! requests and every order in which they can reach the medium.

use fsdyno_crash::content::fill_free;
use fsdyno_crash::{CrashStates, Data, Overlay, Role, Selection, StateId, Trace, TraceEvent};
use fsdyno_model::exploration::StateClass;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Sectors of the disk.
const SECTORS: u64 = 5;
/// Contents of a sector that no write has: the base, zeros, garbage.
const BASE: u8 = 255;
const ZEROS: u8 = 0;
const GARBAGE: u8 = 254;
/// A sector that cannot be read.
const UNREADABLE: u8 = 253;

type Image = Vec<u8>;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Bytes,
    Zeros,
    Discard,
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Write {
        kind: Kind,
        sector: u64,
        sectors: u64,
        fua: bool,
    },
    Flush,
    /// One of the requests in flight completes.
    Complete(usize),
}

fn steps(length: usize, complete: u32) -> impl Strategy<Value = Vec<Step>> {
    let kind =
        prop_oneof![8 => Just(Kind::Bytes), 1 => Just(Kind::Zeros), 1 => Just(Kind::Discard)];
    let extent = (0..SECTORS).prop_flat_map(|at| (Just(at), 1..=(SECTORS - at).min(3)));
    let write =
        (kind, extent, prop::bool::weighted(0.12)).prop_map(|(kind, (sector, sectors), fua)| {
            Step::Write {
                kind,
                sector,
                sectors,
                fua,
            }
        });
    let step = prop_oneof![
        8 => write,
        2 => Just(Step::Flush),
        complete => (0..4_usize).prop_map(Step::Complete),
    ];
    prop::collection::vec(step, 1..length)
}

/// The trace of these steps with at most `depth` requests in flight.
fn trace(steps: &[Step], depth: usize) -> Trace {
    let mut events = Vec::new();
    let mut in_flight: Vec<u64> = Vec::new();
    let mut next = 0;
    for (number, step) in (0_u32..).zip(steps) {
        if let Step::Complete(which) = step {
            if !in_flight.is_empty() {
                let order = in_flight.remove(which % in_flight.len());
                events.push(TraceEvent::Completed { order });
            }
            continue;
        }
        if in_flight.len() >= depth {
            let order = in_flight.remove(usize::try_from(next).unwrap() % in_flight.len());
            events.push(TraceEvent::Completed { order });
        }
        events.push(TraceEvent::Began { operation: number });
        let order = next;
        events.push(match *step {
            Step::Write {
                kind,
                sector,
                sectors,
                fua,
            } => TraceEvent::Write {
                order,
                sector,
                data: match kind {
                    Kind::Bytes => {
                        let fill = u8::try_from(order + 1).unwrap();
                        let bytes = vec![fill; usize::try_from(sectors).unwrap() * 512];
                        Data::Bytes(bytes.into())
                    }
                    Kind::Zeros => Data::Zeros { sectors },
                    Kind::Discard => Data::Discarded { sectors },
                },
                fua,
            },
            _ => TraceEvent::Flush { order },
        });
        in_flight.push(order);
        next += 1;
    }
    Trace { events }
}

/// A write of the definition. Times are places among the events.
#[derive(Debug, Clone)]
struct Write {
    kind: Kind,
    fill: u8,
    sectors: BTreeSet<u64>,
    fua: bool,
    submitted: usize,
    completed: usize,
    flushes_before: usize,
}

/// The definition, without any of the explorer's structures.
struct Definition {
    writes: Vec<Write>,
    /// Submission and completion.
    flushes: Vec<(usize, usize)>,
    events: usize,
}

impl Definition {
    fn new(trace: &Trace) -> Self {
        let completion = |order: u64| {
            let is = |event: &TraceEvent| *event == TraceEvent::Completed { order };
            trace.events.iter().position(is).unwrap_or(usize::MAX)
        };
        let (mut writes, mut flushes) = (Vec::new(), Vec::new());
        for (submitted, event) in trace.events.iter().enumerate() {
            match event {
                TraceEvent::Write {
                    order,
                    sector,
                    data,
                    fua,
                } => {
                    let (kind, fill, sectors) = match data {
                        Data::Bytes(bytes) => (Kind::Bytes, bytes[0], bytes.len() as u64 / 512),
                        Data::Zeros { sectors } => (Kind::Zeros, ZEROS, *sectors),
                        Data::Discarded { sectors } => (Kind::Discard, ZEROS, *sectors),
                    };
                    writes.push(Write {
                        kind,
                        fill,
                        sectors: (*sector..sector + sectors).collect(),
                        fua: *fua,
                        submitted,
                        completed: completion(*order),
                        flushes_before: flushes.len(),
                    });
                }
                TraceEvent::Flush { order } => flushes.push((submitted, completion(*order))),
                _ => {}
            }
        }
        Self {
            writes,
            flushes,
            events: trace.events.len(),
        }
    }

    /// D(t): the writes that are durable after `t` events.
    fn durable(&self, t: usize) -> BTreeSet<usize> {
        let is = |write: &Write| {
            let flushed = |flush: &(usize, usize)| flush.1 < t && write.completed < flush.0;
            write.kind != Kind::Discard
                && (write.fua && write.completed < t || self.flushes.iter().any(flushed))
        };
        let all = 0..self.writes.len();
        all.filter(|at| is(&self.writes[*at])).collect()
    }

    fn submitted(&self, t: usize) -> Vec<usize> {
        let all = 0..self.writes.len();
        all.filter(|at| self.writes[*at].submitted < t).collect()
    }

    /// What a landed write leaves: one or, for a discard, two contents.
    fn fills(&self, write: usize) -> Vec<u8> {
        match self.writes[write].kind {
            Kind::Discard => vec![ZEROS, GARBAGE],
            _ => vec![self.writes[write].fill],
        }
    }

    /// All images after any of these writes landed, in any order that respects completions, on these
    /// sectors. Durable ones land.
    fn any(&self, t: usize, sectors: &BTreeSet<u64>, durable: &BTreeSet<usize>) -> BTreeSet<Image> {
        let all: Vec<usize> = self.submitted(t);
        let all: Vec<usize> = all
            .into_iter()
            .filter(|at| !self.writes[*at].sectors.is_disjoint(sectors))
            .collect();
        let count = usize::try_from(SECTORS).unwrap();
        let mut level: HashSet<(u64, Image)> = HashSet::from([(0, vec![BASE; count])]);
        for _ in 0..all.len() {
            let mut next = HashSet::new();
            for (done, image) in level {
                for (bit, write) in all.iter().enumerate() {
                    let is_done = |bit: usize| done >> bit & 1 == 1;
                    let waits = |(other, before): (usize, &usize)| {
                        let first = &self.writes[*before];
                        !is_done(other) && first.completed < self.writes[*write].submitted
                    };
                    if is_done(bit) || all.iter().enumerate().any(waits) {
                        continue;
                    }
                    let done = done | 1 << bit;
                    if !durable.contains(write) {
                        next.insert((done, image.clone()));
                    }
                    for fill in self.fills(*write) {
                        let mut image = image.clone();
                        for sector in self.writes[*write].sectors.intersection(sectors) {
                            image[usize::try_from(*sector).unwrap()] = fill;
                        }
                        next.insert((done, image));
                    }
                }
            }
            level = next;
        }
        level.into_iter().map(|(_, image)| image).collect()
    }

    fn in_order(&self, landed: impl Iterator<Item = usize>) -> Image {
        let mut image = vec![BASE; usize::try_from(SECTORS).unwrap()];
        for write in landed {
            for sector in &self.writes[write].sectors {
                image[usize::try_from(*sector).unwrap()] = self.writes[write].fill;
            }
        }
        image
    }

    fn images(&self, class: StateClass, t: usize) -> BTreeSet<Image> {
        let (durable, submitted) = (self.durable(t), self.submitted(t));
        let whole: BTreeSet<u64> = (0..SECTORS).collect();
        match class {
            StateClass::C0 => (0..=submitted.len())
                .map(|length| &submitted[..length])
                .filter(|first| durable.iter().all(|one| first.contains(one)))
                .map(|first| self.in_order(first.iter().copied()))
                .collect(),
            StateClass::C1 => {
                let epochs = self.flushes.len() + 1;
                (0..1_u32 << epochs)
                    .map(|set| {
                        let there = |at: &usize| {
                            let epoch = self.writes[*at].flushes_before;
                            durable.contains(at) || set >> epoch & 1 == 1
                        };
                        self.in_order(submitted.iter().copied().filter(there))
                    })
                    .collect()
            }
            StateClass::C2 => self.any(t, &whole, &durable),
            StateClass::C4 => {
                let mut images = BTreeSet::new();
                for write in submitted.iter().map(|at| &self.writes[*at]) {
                    if write.completed < t || write.kind != Kind::Bytes {
                        continue;
                    }
                    for sector in &write.sectors {
                        for mut image in self.any(t, &whole, &durable) {
                            image[usize::try_from(*sector).unwrap()] = UNREADABLE;
                            images.insert(image);
                        }
                    }
                }
                images
            }
            // Those of C2 among them: no flush did anything.
            StateClass::C5 => {
                let fua = |at: &usize| self.writes[*at].fua && self.writes[*at].completed < t;
                let certain = durable.iter().copied().filter(fua).collect();
                self.any(t, &whole, &certain)
            }
            StateClass::C3 => {
                let mut images = BTreeSet::from([Vec::new()]);
                for sector in 0..SECTORS {
                    let of_sector = self.any(t, &BTreeSet::from([sector]), &durable);
                    let at = usize::try_from(sector).unwrap();
                    let held: BTreeSet<u8> = of_sector.iter().map(|image| image[at]).collect();
                    let longer = images.iter().flat_map(|image: &Image| {
                        held.iter().map(|one| [image.as_slice(), &[*one]].concat())
                    });
                    images = longer.collect();
                }
                images
            }
        }
    }
}

/// The image of a state as the definition writes it.
fn image(overlay: &Overlay) -> Image {
    let fill = |sector: u64| {
        if overlay.unreadable() == Some(sector) {
            return UNREADABLE;
        }
        let Some(bytes) = overlay.get(sector) else {
            return BASE;
        };
        let mut garbage = [0; 512];
        fill_free(sector * 512, &mut garbage);
        if bytes == garbage { GARBAGE } else { bytes[0] }
    };
    (0..SECTORS).map(fill).collect()
}

fn every(states: &CrashStates, window: u32, class: StateClass) -> Option<Vec<Selection>> {
    let window = states.window(window).unwrap();
    let count = window.count(class)?;
    if count > 20_000 {
        return None;
    }
    let all = window.select(class, count, 1, &|_, _| Role::Unknown);
    assert_eq!(all.len() as u64, count, "{class:?}");
    Some(all)
}

fn check(steps: &[Step], depth: usize, classes: &[StateClass]) {
    let trace = trace(steps, depth);
    let definition = Definition::new(&trace);
    let states = CrashStates::new(&trace).unwrap();
    for window in states.windows() {
        let durable = definition.durable(window.end);
        for t in window.start..=window.end {
            assert_eq!(
                definition.durable(t),
                durable,
                "window {} at {t}",
                window.number
            );
        }
        if window.start > 0 {
            assert_ne!(definition.durable(window.start - 1), durable);
        }
        for class in classes {
            let Some(all) = every(&states, window.number, *class) else {
                continue;
            };
            let ids: BTreeSet<String> = all.iter().map(Selection::to_string).collect();
            assert_eq!(ids.len(), all.len());
            let mut images = BTreeSet::new();
            let mut keys = BTreeMap::new();
            for selection in &all {
                let overlay = states.overlay(selection).unwrap();
                let image = image(&overlay);
                let named: StateId = selection.to_string().parse().unwrap();
                assert_eq!(&named.first, selection);
                let key = states
                    .window(window.number)
                    .unwrap()
                    .key(selection)
                    .unwrap();
                assert_eq!(key, overlay.key());
                // Equal images have equal keys, and others do not.
                assert_eq!(keys.entry(key).or_insert_with(|| image.clone()), &image);
                images.insert(image);
            }
            assert_eq!(keys.len(), images.len());
            if *class == StateClass::C5 {
                images.extend(definition.images(StateClass::C2, window.end));
            }
            let mut expected = BTreeSet::new();
            // At its end alone an epoch is whole, and it is known which flushes were the last.
            let whole = matches!(class, StateClass::C1 | StateClass::C5);
            let first = if whole { window.end } else { window.start };
            for t in first..=window.end {
                expected.extend(definition.images(*class, t));
            }
            assert_eq!(images, expected, "window {} class {class:?}", window.number);
        }
    }
    assert_eq!(states.windows().last().unwrap().end, definition.events);
}

/// The usual number of random cases, or as many times more as `FSDYNO_CASES` says.
fn cases(usual: u32) -> u32 {
    let times = std::env::var("FSDYNO_CASES").ok();
    usual * times.and_then(|times| times.parse().ok()).unwrap_or(1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(96), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_explorer_finds_exactly_the_states_of_the_definition(
        steps in steps(16, 7),
        depth in 1..5_usize,
    ) {
        check(&steps, depth, &StateClass::ALL);
    }

    #[test]
    fn concurrent_requests_reach_the_medium_in_every_order(steps in steps(9, 2)) {
        check(&steps, 6, &StateClass::ALL);
    }
}

#[test]
fn sixteen_optional_writes_have_all_their_subsets() {
    // Four writes to each of four sectors, one after the other.
    let write = |sector| Step::Write {
        kind: Kind::Bytes,
        sector,
        sectors: 1 + sector % 2,
        fua: false,
    };
    let mut steps = Vec::new();
    for number in 0..16 {
        steps.extend([write(number % 4), Step::Complete(0)]);
    }
    let trace = trace(&steps, 2);
    let states = CrashStates::new(&trace).unwrap();
    let [only] = states.windows() else {
        panic!("{:?}", states.windows())
    };
    let window = states.window(only.number).unwrap();
    assert_eq!(window.count(StateClass::C2), Some(1 << 16));
    let all = window.select(StateClass::C2, 1 << 16, 1, &|_, _| Role::Unknown);
    assert_eq!(all.len(), 1 << 16);
    let images = all.iter().map(|one| image(&window.overlay(one).unwrap()));
    let images: BTreeSet<Image> = images.collect();
    assert_eq!(
        images,
        Definition::new(&trace).images(StateClass::C2, only.end)
    );
}
