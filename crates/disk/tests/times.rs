//! Compares the times of the models with slow, separate implementations of their formulas: sector
//! by sector, in floating point, without the optimizations of the models.

use fsdyno_disk::models::hdd::SeekSpec;
use fsdyno_disk::profiles::{ALL, Timing};
use fsdyno_disk::{
    Base, Completion, Contents, Disk, Faults, Image, Kind, Memory, Profile, Request,
};
use fsdyno_model::random::Random;
use fsdyno_model::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::path::Path;

/// Maximum rounding error of a sum of some hundred terms, in nanoseconds.
const ROUNDING: f64 = 300.0;

fn profile(name: &str) -> Profile {
    Profile::named(Path::new(name)).unwrap()
}

fn disk(profile: &Profile) -> Disk {
    Disk::new(profile, None, Box::new(Memory::new()), Faults::none())
}

/// Runs one request alone.
fn run(disk: &mut Disk, at: u64, request: Request) -> Completion {
    disk.submit(Nanos(at), request, |_| {}).unwrap();
    loop {
        let next = disk.next_completion().unwrap();
        if let Some(done) = disk.complete(next).unwrap() {
            return done;
        }
    }
}

/// A reference hard disk. It finds the position of a sector by a walk over all tracks before it.
struct SlowArm {
    turn: f64,
    heads: u64,
    /// Cylinders and sectors per track of each zone.
    zones: Vec<(u64, u64)>,
    seek: [f64; 3],
    switch: f64,
    settle: f64,
    skews: [f64; 2],
    cylinder: u64,
    head: u64,
}

impl SlowArm {
    fn new(profile: &Profile) -> Self {
        let Timing::Hdd(spec) = &profile.timing else {
            panic!("{} has no arm", profile.name);
        };
        let SeekSpec::ThreePoint(points) = &spec.seek else {
            panic!("{} is not of three points", profile.name);
        };
        let zones = u64::from(spec.zones);
        let [outer, inner] = spec.sectors_per_track;
        let tracks = |zone: u64| {
            let fallen = (outer - inner) as f64 * zone as f64 / (zones - 1) as f64;
            let nearest = |held: &u64| ((outer - held) as f64 - fallen).abs();
            let closer = |a: &u64, b: &u64| nearest(a).total_cmp(&nearest(b)).then(a.cmp(b));
            (inner..=outer).min_by(closer).unwrap()
        };
        let heads = u64::from(spec.heads);
        let all: u64 = (0..zones).map(tracks).sum();
        let cylinders = (profile.capacity.0 / 512).div_ceil(all * heads);
        Self {
            turn: (60e9 / spec.rpm).round(),
            heads,
            zones: (0..zones).map(|zone| (cylinders, tracks(zone))).collect(),
            seek: [points.minimum_ms, points.mean_ms, points.full_ms],
            switch: spec.head_switch_ms * 1e6,
            settle: spec.write_settle_ms * 1e6,
            skews: [
                spec.track_skew_ms.unwrap() * 1e6,
                spec.cylinder_skew_ms.unwrap() * 1e6,
            ],
            cylinder: 0,
            head: 0,
        }
    }

    /// Cylinder, head, start angle and length of a sector. Angle and length are fractions of a
    /// revolution.
    fn place(&self, sector: u64) -> (u64, u64, f64, f64) {
        let (mut cylinder, mut left) = (0, sector);
        for (cylinders, of_track) in &self.zones {
            let of_zone = cylinders * self.heads * of_track;
            if left >= of_zone {
                left -= of_zone;
                cylinder += cylinders;
                continue;
            }
            let track = left / of_track;
            let (sector, head) = (left % of_track, track % self.heads);
            cylinder += track / self.heads;
            let switches = (cylinder * (self.heads - 1) + head) as f64;
            let skew = switches * self.skews[0] + cylinder as f64 * self.skews[1];
            let each = self.turn / *of_track as f64;
            let begins = (skew + sector as f64 * each) % self.turn;
            return (cylinder, head, begins, each);
        }
        panic!("{sector} is beyond the end");
    }

    fn seek_ns(&self, distance: u64) -> f64 {
        if distance == 0 {
            return 0.0;
        }
        let cylinders: u64 = self.zones.iter().map(|(cylinders, _)| cylinders).sum();
        let x = distance as f64 / cylinders as f64;
        let [m, a, full] = self.seek;
        let root = (15.0 * a - 10.0 * m - 5.0 * full) / 3.0;
        let line = (7.0 * m - 15.0 * a + 8.0 * full) / 3.0;
        (m + root * x.sqrt() + line * x) * 1e6
    }

    /// Transfers sectors from `at` on. Returns the end time.
    fn pass(&mut self, mut at: f64, sector: u64, sectors: u64, write: bool) -> f64 {
        for one in sector..sector + sectors {
            let (cylinder, head, begins, each) = self.place(one);
            let mut moves = self.seek_ns(cylinder.abs_diff(self.cylinder));
            if head != self.head {
                moves = moves.max(self.switch);
            }
            if write && one == sector && moves > 0.0 {
                moves += self.settle;
            }
            at += moves;
            let mut waits = (begins - at % self.turn + self.turn) % self.turn;
            // A sector that starts now, within the rounding error, is not missed.
            if self.turn - waits < ROUNDING {
                waits = 0.0;
            }
            at += waits + each;
            (self.cylinder, self.head) = (cylinder, head);
        }
        at
    }

    /// Reads ahead from a sector that was reached at `begun`, until `until` or for a number of
    /// sectors. Returns the arm's position.
    fn read_ahead(&mut self, begun: f64, sector: u64, most: u64, until: f64) {
        let mut at = begun;
        for one in sector..sector + most {
            let before = (self.cylinder, self.head);
            let begins = at;
            at = self.pass(at, one, 1, false);
            // The arm moves as soon as a track has ended.
            if begins >= until {
                (self.cylinder, self.head) = before;
                return;
            }
        }
    }
}

/// Deviation of a time. A whole revolution counts as zero if rounding caused it.
fn off(model: u64, slow: f64, turn: f64) -> f64 {
    let off = (model as f64 - slow).abs();
    off.min((off - turn).abs())
}

#[test]
fn write_through_times_match_the_formulas() {
    for name in [
        "ide-2gb-1997",
        "ata-40gb-2001",
        "laptop-4200-2004",
        "sata-2008",
    ] {
        let profile = profile(name);
        let Timing::Hdd(spec) = &profile.timing else {
            continue;
        };
        let (mut disk, mut slow) = (disk(&profile), SlowArm::new(&profile));
        let mut random = Random::new(11);
        let (mut at, mut turns_off) = (0, 0);
        for n in 0..600 {
            let sectors = 1 + random.below(if n % 10 == 0 { 2500 } else { 64 });
            let sector = random.below(profile.capacity.0 / 512 - sectors);
            let request = Request::new(0, Kind::Write, sector, sectors).with_fua();
            let done = run(&mut disk, at, request);
            let bus = (sectors * 512) as f64 * 1e3 / spec.bus_mb_s;
            let begins = at as f64 + spec.command_overhead_ms * 1e6 + bus.ceil();
            let expected = slow.pass(begins, sector, sectors, true);
            let model = done.completed.0;
            assert!(
                off(model, expected, slow.turn) < ROUNDING,
                "{name} {n}: {model} {expected}"
            );
            turns_off += u32::from((model as f64 - expected).abs() > ROUNDING);
            at = model + random.below(30_000_000);
        }
        assert!(turns_off < 6, "{name}: {turns_off} turns off");
    }
}

#[test]
fn read_times_match_the_formulas_after_read_ahead() {
    for name in [
        "ide-2gb-1997",
        "ata-40gb-2001",
        "laptop-4200-2004",
        "sata-2008",
    ] {
        let profile = profile(name);
        let Timing::Hdd(spec) = &profile.timing else {
            continue;
        };
        let (mut disk, mut slow) = (disk(&profile), SlowArm::new(&profile));
        let for_readers = spec.cache.0 - spec.write_room();
        let segment = for_readers / 512 / u64::from(spec.segments);
        let mut random = Random::new(12);
        let (mut at, mut turns_off) = (0, 0);
        for n in 0..400 {
            let sectors = 1 + random.below(64);
            let sector = random.below(profile.capacity.0 / 512 - sectors - 10_000);
            let done = run(&mut disk, at, Request::new(0, Kind::Read, sector, sectors));
            let begins = at as f64 + spec.command_overhead_ms * 1e6;
            let passed = slow.pass(begins, sector, sectors, false);
            // If the bus is slower than the medium, it determines the end.
            let bus = ((sectors * 512) as f64 * 1e3 / spec.bus_mb_s).ceil();
            let (.., each) = slow.place(sector);
            let expected = passed.max(passed - each * sectors as f64 + bus);
            let model = done.completed.0;
            // A track switch lengthens the transfer and shortens the wait for the bus.
            let crosses = slow.place(sector).1 != slow.place(sector + sectors - 1).1;
            let slack = if crosses { bus } else { 0.0 };
            assert!(
                off(model, expected, slow.turn) < ROUNDING + slack,
                "{name} {n}: {model} {expected}"
            );
            turns_off += u32::from((model as f64 - expected).abs() > ROUNDING + slack);
            at = model + random.below(30_000_000);
            let next = at as f64 + spec.command_overhead_ms * 1e6;
            slow.read_ahead(passed, sector + sectors, segment, next);
        }
        assert!(turns_off < 6, "{name}: {turns_off} turns off");
    }
}

/// 4 KiB reads of flash in order of arrival: a unit, a channel and the link do one operation at a
/// time.
#[test]
fn flash_read_times_match_the_formulas() {
    for name in ["sata-ssd", "nvme"] {
        let profile = profile(name);
        let Timing::Flash(spec) = &profile.timing else {
            panic!("{name}");
        };
        let mut disk = disk(&profile);
        let mut random = Random::new(13);
        let mut free: BTreeMap<(&str, u64), f64> = BTreeMap::new();
        let mut expected = BTreeMap::new();
        let mut at = 0;
        let pages = profile.capacity.0 / 4096;
        let depth = u64::from(profile.queue_depth);
        for order in 0..depth.min(500) {
            let page = random.below(pages);
            let request = Request::new(0, Kind::Read, page * 8, 8);
            disk.submit(Nanos(at), request, |_| {}).unwrap();
            let unit = page / (spec.program_unit.0 / 4096)
                % u64::from(spec.channels * spec.units_per_channel);
            let mut step = |what: (&'static str, u64), from: f64, takes: f64| {
                let begins = free.get(&what).map_or(from, |free| free.max(from));
                free.insert(what, begins + takes);
                begins + takes
            };
            let ready = at as f64 + spec.read_firmware_us * 1e3;
            let sensed = step(("unit", unit), ready, spec.read_us * 1e3);
            let channel = ("channel", unit % u64::from(spec.channels));
            let moved = step(channel, sensed, (4096e3 / spec.channel_mb_s).ceil());
            let done = step(("link", 0), moved, (4096e3 / spec.link_mb_s[0]).ceil());
            expected.insert(order, done);
            at += random.below(4000);
        }
        while let Some(next) = disk.next_completion() {
            while let Some(done) = disk.complete(next).unwrap() {
                let slow = expected.remove(&done.order).unwrap();
                let model = done.completed.0 as f64;
                assert!((model - slow).abs() < ROUNDING, "{name}: {model} {slow}");
            }
        }
        assert!(expected.is_empty());
    }
}

/// A volume limits requests by two token buckets, which the test counts directly.
#[test]
fn volume_throughput_matches_its_token_buckets() {
    let profile = profile("gp3");
    let Timing::Volume(spec) = &profile.timing else {
        panic!("no volume");
    };
    let mut disk = disk(&profile);
    let mut random = Random::new(14);
    let rates = [spec.iops / 1e9, spec.mib_s * 1_048_576.0 / 1e9];
    let depths = [f64::from(spec.burst), spec.burst_bytes.0 as f64];
    let (mut held, mut filled_at) = (depths, 0.0_f64);
    let mut expected = BTreeMap::new();
    let mut at = 0;
    for order in 0..100 {
        let sectors = 8 + random.below(1000);
        let request = Request::new(0, Kind::Read, 0, sectors);
        disk.submit(Nanos(at), request, |_| {}).unwrap();
        let bytes = (sectors * 512) as f64;
        let wanted = [(bytes / spec.counted.0 as f64).ceil(), bytes];
        // Request tokens first, then byte tokens. Both buckets fill in the meantime.
        let mut now = filled_at.max(at as f64);
        for which in 0..2 {
            let there = held[which] + (now - filled_at) * rates[which];
            let missing = wanted[which] - there.min(depths[which]);
            now += (missing / rates[which]).max(0.0);
        }
        for which in 0..2 {
            let there = held[which] + (now - filled_at) * rates[which];
            held[which] = there.min(depths[which]) - wanted[which];
        }
        filled_at = now;
        expected.insert(order, now - at as f64);
        at += random.below(400_000);
    }
    while let Some(next) = disk.next_completion() {
        while let Some(done) = disk.complete(next).unwrap() {
            let slow = expected.remove(&done.order).unwrap();
            let model = done.causes.cache as f64;
            assert!(
                (model - slow).abs() < 20_000.0,
                "{}: {model} {slow}",
                done.order
            );
            assert_eq!(done.causes.total(), done.latency().0);
        }
    }
    assert!(expected.is_empty());
}

#[test]
fn all_times_of_a_slow_disk_are_multiples_of_those_of_its_profile() {
    const TIMES: u64 = 20;
    for built_in in &ALL {
        let profile = Profile::try_from(built_in).unwrap();
        let name = &profile.name;
        let disk_of = |times: u64| {
            let empty = || Base::unwritten(64 << 20, |_, bytes| bytes.fill(0));
            let mut contents = Contents::of(empty());
            contents.slow_after(0, times);
            let image = Image::new(empty());
            image.replace(contents);
            Disk::new(
                &profile,
                Some(Bytes(64 << 20)),
                Box::new(image),
                Faults::none(),
            )
        };
        let completions = |times: u64| {
            let (mut disk, mut random, mut at) = (disk_of(times), Random::new(7), 0);
            for _ in 0..300 {
                let kinds = [Kind::Write, Kind::Write, Kind::Read, Kind::Flush];
                let kind = kinds[usize::try_from(random.below(4)).unwrap()];
                let request = Request::new(0, kind, 8 * random.below(16_000), 8);
                disk.submit(Nanos(at * times), request, |_| {}).unwrap();
                at += random.below(4_000_000);
            }
            let mut done = Vec::new();
            while let Some(next) = disk.next_completion() {
                while let Some(one) = disk.complete(next).unwrap() {
                    assert_eq!(one.causes.total(), one.latency().0, "{name}");
                    done.push((one.order, one.completed.0));
                }
            }
            done
        };
        let usual = completions(1).into_iter();
        let expected: Vec<(u64, u64)> = usual.map(|(order, at)| (order, at * TIMES)).collect();
        assert_eq!(completions(TIMES), expected, "{name}");
    }
}
