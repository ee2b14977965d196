//! Hard disk: latencies compared with a slow, separate implementation of the formulas; cache and
//! queue behaviour.

use super::*;
use fsdyno_model::Bytes;

/// A small disk with simple parameters: 10 ms per revolution, 3 heads, four zones.
pub fn spec() -> HddSpec {
    HddSpec {
        rpm: 6000.0,
        heads: 3,
        zones: 4,
        sectors_per_track: [200, 100],
        seek: SeekSpec::ThreePoint(ThreePoint {
            minimum_ms: 1.0,
            mean_ms: 8.0,
            full_ms: 16.0,
        }),
        head_switch_ms: 0.5,
        write_settle_ms: 0.25,
        track_skew_ms: None,
        cylinder_skew_ms: None,
        command_overhead_ms: 0.3,
        bus_mb_s: 100.0,
        cache: Bytes(2 << 20),
        segments: 4,
        write_cache: true,
        write_room: None,
        destage: Destage::CLook,
        destage_after_ms: 20.0,
    }
}

pub const SECTORS: u64 = 1_000_000;

pub fn command(order: u64, kind: Kind, sector: u64, sectors: u64, at: u64) -> Command {
    Command {
        order,
        kind,
        fua: false,
        hollow: false,
        sector,
        sectors,
        submitted: at,
    }
}

/// Runs a model to its end. Returns completions and destaged writes with their times.
fn settle(model: &mut dyn Model) -> Vec<(u64, ModelEvent)> {
    let mut all = Vec::new();
    while let Some(at) = model.next_event() {
        let mut happened = Vec::new();
        model.advance(at, &mut happened);
        all.extend(happened.into_iter().map(|one| (at, one)));
    }
    all
}

/// Completion time of a command and its breakdown.
fn done(all: &[(u64, ModelEvent)], wanted: u64) -> (u64, Causes) {
    let found = all.iter().find_map(|(_, one)| match one {
        ModelEvent::Done { order, at, causes } if *order == wanted => Some((*at, *causes)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{wanted} is not done in {all:?}"))
}

/// Time at which a command's write was on the medium.
fn landed(all: &[(u64, ModelEvent)], wanted: u64) -> u64 {
    let order = wanted;
    let found = all.iter().find(|(_, h)| *h == ModelEvent::Landed { order });
    found.unwrap_or_else(|| panic!("{wanted} has not landed")).0
}

#[test]
fn the_cache_acknowledges_a_write_and_destages_it_after_idle_time() {
    let mut disk = Hdd::new(&spec(), SECTORS);
    disk.submit(0, command(0, Kind::Write, 5000, 8, 0));
    let all = settle(&mut disk);
    let (at, causes) = done(&all, 0);
    assert_eq!(at, 300_000 + 40_960);
    assert_eq!((causes.overhead, causes.transfer), (300_000, 40_960));
    assert!(landed(&all, 0) > at + 20_000_000);
}

#[test]
fn a_flush_waits_for_cached_writes_and_fua_for_its_own_write() {
    let mut disk = Hdd::new(&spec(), SECTORS);
    disk.submit(0, command(0, Kind::Write, 900_000, 8, 0));
    disk.submit(0, command(1, Kind::Flush, 0, 0, 0));
    let through = Command {
        fua: true,
        ..command(2, Kind::Write, 10, 8, 0)
    };
    disk.submit(0, through);
    let all = settle(&mut disk);
    let (flushed, causes) = done(&all, 1);
    assert_eq!(flushed, landed(&all, 0));
    assert!(causes.flush > 0);
    let (written, causes) = done(&all, 2);
    assert_eq!(written, landed(&all, 2));
    assert!(written > flushed && causes.seek > 0, "{causes:?}");
    // A flush of a clean cache costs only the command overhead.
    let now = written + 1;
    disk.submit(now, command(3, Kind::Flush, 0, 0, now));
    assert_eq!(done(&settle(&mut disk), 3).0, now + 300_000);
}

#[test]
fn sequential_reads_wait_for_the_medium_without_rotational_latency() {
    let mut disk = Hdd::new(&spec(), SECTORS);
    let mut now = 0;
    for order in 0..100 {
        disk.submit(now, command(order, Kind::Read, order * 64, 64, now));
        let all = settle(&mut disk);
        let (at, causes) = done(&all, order);
        assert!(order == 0 || causes.rotation == 0, "{order}: {causes:?}");
        now = at;
    }
    // 6,400 sectors on 32 tracks: 10 ms each and about 0.7 ms per track switch.
    let tracks = 6400 / 200;
    let least = (tracks - 1) * 10_500_000;
    assert!((least..least + 30_000_000).contains(&now), "{now}");
    // The cache still contains the data.
    disk.submit(now, command(100, Kind::Read, 6400 - 64, 64, now));
    let (at, _) = done(&settle(&mut disk), 100);
    assert_eq!(at, now + 300_000 + 327_680);
}

#[test]
fn a_pause_longer_than_read_ahead_costs_a_revolution() {
    let mut disk = Hdd::new(&spec(), SECTORS);
    disk.submit(0, command(0, Kind::Read, 0, 64, 0));
    let (now, _) = done(&settle(&mut disk), 0);
    let later = now + 1_000_000_000;
    // A quarter of the read half of 2 MiB: 512 sectors.
    disk.submit(later, command(1, Kind::Read, 64, 512, later));
    let (at, _) = done(&settle(&mut disk), 1);
    assert_eq!(at, later + 300_000 + bytes_to_ns(512 * 512, 100.0));
    disk.submit(at, command(2, Kind::Read, 576, 8, at));
    let (_, causes) = done(&settle(&mut disk), 2);
    assert!(causes.rotation > 0, "{causes:?}");
}

#[test]
fn a_full_write_cache_delays_writes() {
    let mut disk = Hdd::new(&spec(), SECTORS);
    let room = 1 << 20;
    let (mut now, mut waited) = (0, 0);
    for order in 0..40_u64 {
        let sector = (order * 7919 * 128) % (SECTORS - 128);
        disk.submit(now, command(order, Kind::Write, sector, 128, now));
        let mut all = Vec::new();
        while !all
            .iter()
            .any(|h| matches!(h, ModelEvent::Done { order: o, .. } if *o == order))
        {
            now = disk.next_event().unwrap();
            disk.advance(now, &mut all);
        }
        waited += all
            .iter()
            .filter(|h| matches!(h, ModelEvent::Done { causes, .. } if causes.cache > 0))
            .count();
        assert!(disk.dirty.sectors() * SECTOR <= room);
    }
    assert!(waited > 10, "{waited}");
}

#[test]
fn a_write_larger_than_the_cache_streams_to_the_medium() {
    let small = HddSpec {
        cache: Bytes(128 << 10),
        ..spec()
    };
    let mut disk = Hdd::new(&small, SECTORS);
    disk.submit(0, command(0, Kind::Write, 0, 2000, 0));
    disk.submit(0, command(1, Kind::Flush, 0, 0, 0));
    let all = settle(&mut disk);
    let (written, causes) = done(&all, 0);
    let (flushed, _) = done(&all, 1);
    assert_eq!(landed(&all, 0), flushed);
    assert_eq!(causes.total(), written);
    // Ten tracks of 10.5 ms. The last 64 KiB, 128 sectors, are in the cache only.
    assert!((90_000_000..115_000_000).contains(&written), "{written}");
    assert!(flushed > written && flushed < written + 10_000_000);
    let landings = |h: &&(u64, ModelEvent)| matches!(h.1, ModelEvent::Landed { .. });
    assert_eq!(all.iter().filter(landings).count(), 1);
}

#[test]
fn queued_commands_are_served_by_positioning_time() {
    let order_of = |sectors: &[u64]| {
        let mut disk = Hdd::new(&spec(), SECTORS);
        for (order, sector) in (0..).zip(sectors) {
            disk.submit(0, command(order, Kind::Read, *sector, 8, 0));
        }
        let all = settle(&mut disk);
        let last = (0..sectors.len() as u64).map(|order| done(&all, order).0);
        last.max().unwrap()
    };
    let scattered: Vec<u64> = (0..16).map(|n| (n * 611_953) % SECTORS).collect();
    let mut one_by_one = 0;
    let mut disk = Hdd::new(&spec(), SECTORS);
    for (order, sector) in (0..).zip(&scattered) {
        disk.submit(
            one_by_one,
            command(order, Kind::Read, *sector, 8, one_by_one),
        );
        one_by_one = done(&settle(&mut disk), order).0;
    }
    assert!(order_of(&scattered) * 10 < one_by_one * 8);
}

#[test]
fn nearest_first_beats_the_sweep_for_random_writes() {
    let drained = |destage| {
        let mut disk = Hdd::new(&HddSpec { destage, ..spec() }, SECTORS);
        for order in 0..64 {
            disk.submit(
                0,
                command(order, Kind::Write, order * 611_953 % SECTORS, 8, 0),
            );
        }
        disk.submit(0, command(64, Kind::Flush, 0, 0, 0));
        done(&settle(&mut disk), 64).0
    };
    let (sweep, near) = (
        drained(Destage::CLook),
        drained(Destage::ShortestPositioning),
    );
    assert!(near < sweep, "{near} {sweep}");
}

#[test]
fn a_power_cut_empties_the_cache() {
    let mut disk = Hdd::new(&spec(), SECTORS);
    disk.submit(0, command(0, Kind::Write, 5000, 8, 0));
    disk.submit(0, command(1, Kind::Flush, 0, 0, 0));
    let at = disk.next_event().unwrap();
    disk.advance(at, &mut Vec::new());
    disk.power_cycle(at);
    assert_eq!((disk.next_event(), disk.landing().len()), (None, 0));
}
