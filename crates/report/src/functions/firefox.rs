//! The profiles of two contenders as JSON of the Firefox profiler: one track for each, and one of their
//! difference. A sample is a call path, and its weight the number of blocks that it executed itself.

use super::Calls;
use super::flame::tops;
use super::subsystems::{OTHER, subsystem};
use fsdyno_model::profile::Profile as Executors;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile,
    ReferenceTimestamp, SamplingInterval, StackHandle, ThreadHandle, Timestamp,
};
use std::collections::BTreeMap;

/// The colours of subsystems, in turn.
const COLOURS: [CategoryColor; 10] = [
    CategoryColor::Blue,
    CategoryColor::Orange,
    CategoryColor::Green,
    CategoryColor::Purple,
    CategoryColor::Yellow,
    CategoryColor::Red,
    CategoryColor::Brown,
    CategoryColor::Magenta,
    CategoryColor::LightBlue,
    CategoryColor::LightGreen,
];

/// How much the blocks of a contender count in a track.
type Weights = [i32; 2];

/// The JSON. Equal profiles have equal ones.
pub fn json(calls: &Calls) -> String {
    let [a, b] = &calls.contenders;
    let product = format!("fsdyno: {} of {}", calls.phase, calls.run);
    let epoch = ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
    // A block is a microsecond.
    let interval = SamplingInterval::from_nanos(1000);
    let mut profile = Profile::new(&product, epoch, interval);
    profile.set_symbolicated(true);
    let begin = Timestamp::from_nanos_since_reference(0);
    let tracks: [(String, Weights); 3] = [
        (a.clone(), [1, 0]),
        (b.clone(), [0, 1]),
        (format!("{b} minus {a}"), [-1, 1]),
    ];
    let mut writer = Writer {
        calls,
        profile,
        categories: BTreeMap::new(),
        blocks: 0,
    };
    for (number, (name, weights)) in (1..).zip(tracks) {
        let process = writer.profile.add_process(&name, number, begin);
        let thread = writer.profile.add_thread(process, number, begin, true);
        writer.profile.set_thread_name(thread, &name);
        writer.blocks = 0;
        for top in tops(&calls.tree, &Executors::EXECUTORS[..3]) {
            writer.add((thread, weights), top, (None, OTHER));
        }
    }
    serde_json::to_string(&writer.profile).unwrap_or_default()
}

struct Writer<'a> {
    calls: &'a Calls,
    profile: Profile,
    categories: BTreeMap<&'static str, CategoryHandle>,
    /// The blocks of the track so far: its time.
    blocks: u64,
}

impl Writer<'_> {
    /// Adds a function, called by that stack, and all that it calls.
    fn add(
        &mut self,
        track: (ThreadHandle, Weights),
        at: usize,
        (caller, of_caller): (Option<StackHandle>, &'static str),
    ) {
        let (thread, weights) = track;
        let node = &self.calls.tree.nodes[at];
        let executes = caller.is_none();
        let of_source = subsystem(&node.source).filter(|_| !executes);
        let name = of_source.unwrap_or(of_caller);
        let function = self.profile.intern_string(&node.function);
        let frame = FrameInfo {
            frame: Frame::Label(function),
            category_pair: self.category(name).into(),
            flags: FrameFlags::empty(),
        };
        let frame = self.profile.intern_frame(thread, frame);
        let stack = self.profile.intern_stack(thread, caller, frame);
        for (work, weight) in node.own.iter().zip(weights) {
            let figure = self.calls.measure.of(work);
            let mut left = if weight == 0 { 0 } else { figure };
            // The format has 32 bits for the weight of a sample.
            while left > 0 {
                let part = i32::try_from(left).unwrap_or(i32::MAX);
                left -= u64::from(part.unsigned_abs());
                let time = Timestamp::from_nanos_since_reference(self.blocks * 1000);
                self.blocks += u64::from(part.unsigned_abs());
                let weight = part * weight;
                let delta = CpuDelta::ZERO;
                self.profile
                    .add_sample(thread, time, Some(stack), delta, weight);
            }
        }
        for callee in node.callees.values() {
            self.add(track, *callee, (Some(stack), name));
        }
    }

    fn category(&mut self, subsystem: &'static str) -> CategoryHandle {
        let colour = COLOURS[self.categories.len() % COLOURS.len()];
        let profile = &mut self.profile;
        let category = self.categories.entry(subsystem);
        *category.or_insert_with(|| profile.add_category(subsystem, colour))
    }
}
