//! Flash: latencies by formula; behaviour of the write buffer, the SLC cache, flushes and garbage
//! collection.

use super::*;
use crate::models::hdd::tests::command;
use fsdyno_model::Bytes;

/// Simple parameters: 4 units on 2 channels, 40 us to read, 200 us to program 16 KiB.
fn spec() -> FlashSpec {
    FlashSpec {
        channels: 2,
        units_per_channel: 2,
        program_unit: Bytes(16 << 10),
        block_programs: 16,
        read_us: 40.0,
        program_us: 200.0,
        erase_us: 2000.0,
        read_firmware_us: 10.0,
        write_firmware_us: 5.0,
        flush_firmware_us: 50.0,
        channel_mb_s: 1000.0,
        link_mb_s: [2000.0, 2000.0],
        buffer: Bytes(256 << 10),
        partial_after_ms: 5.0,
        fast_cache: Bytes(0),
        fast_program_us: 50.0,
        fold_after_ms: 100.0,
        fold_mb_s: 100.0,
        spare: 0.1,
    }
}

const SECTORS: u64 = 64 << 11;

fn settle(model: &mut Flash) -> Vec<(u64, ModelEvent)> {
    let mut all = Vec::new();
    while let Some(at) = model.next_event() {
        let mut happened = Vec::new();
        model.advance(at, &mut happened);
        all.extend(happened.into_iter().map(|one| (at, one)));
    }
    all
}

fn done(all: &[(u64, ModelEvent)], wanted: u64) -> (u64, Causes) {
    let found = all.iter().find_map(|(_, one)| match one {
        ModelEvent::Done { order, at, causes } if *order == wanted => Some((*at, *causes)),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("{wanted} is not done in {all:?}"))
}

#[test]
fn a_single_read_takes_the_time_of_the_formula() {
    let mut disk = Flash::new(&spec(), SECTORS);
    disk.submit(1000, command(0, Kind::Read, 80, 8, 1000));
    let (at, causes) = done(&settle(&mut disk), 0);
    // Firmware, flash, and 4096 bytes over the channel and over the link.
    assert_eq!(at - 1000, 10_000 + 40_000 + 4096 + 2048);
    assert_eq!(
        (causes.overhead, causes.transfer, causes.queue),
        (10_000, 46_144, 0)
    );
}

#[test]
fn reads_are_serial_within_a_unit_and_parallel_between_units() {
    let last = |sectors: [u64; 4]| {
        let mut disk = Flash::new(&spec(), SECTORS);
        for (order, sector) in (0..).zip(sectors) {
            disk.submit(0, command(order, Kind::Read, sector, 8, 0));
        }
        let all = settle(&mut disk);
        (0..4).map(|order| done(&all, order).0).max().unwrap()
    };
    // A program unit has 32 sectors. Every fourth one is on the same unit.
    assert!(last([0, 128, 256, 384]) > 160_000);
    assert!(last([0, 32, 64, 96]) < 70_000);
    // A long read uses all units.
    let mut disk = Flash::new(&spec(), SECTORS);
    disk.submit(0, command(0, Kind::Read, 0, 128, 0));
    let (at, _) = done(&settle(&mut disk), 0);
    assert!(at < 10_000 + 40_000 + 2 * 16_384 + 32_768 + 10_000, "{at}");
}

#[test]
fn the_buffer_acknowledges_a_write_and_a_flush_waits_for_programming() {
    let mut disk = Flash::new(&spec(), SECTORS);
    disk.submit(0, command(0, Kind::Write, 800, 8, 0));
    disk.submit(10_000, command(1, Kind::Read, 800, 8, 10_000));
    disk.submit(20_000, command(2, Kind::Flush, 0, 0, 20_000));
    let all = settle(&mut disk);
    assert_eq!(done(&all, 0).0, 5000 + 2048);
    // Data in the buffer needs no flash read.
    assert_eq!(done(&all, 1).0, 10_000 + 10_000 + 2048);
    let (flushed, causes) = done(&all, 2);
    assert_eq!(flushed, 20_000 + 16_384 + 200_000 + 50_000);
    assert_eq!(causes.flush, 216_384);
    let order = 0;
    let landed = all.iter().find(|(_, h)| *h == ModelEvent::Landed { order });
    assert_eq!(landed.unwrap().0, flushed - 50_000);
    // A quarter of the programmed bytes came from the host.
    assert_eq!(disk.work().medium_written, 16 << 10);
}

#[test]
fn a_partial_program_unit_is_programmed_after_idle_time() {
    let mut disk = Flash::new(&spec(), SECTORS);
    disk.submit(0, command(0, Kind::Write, 0, 8, 0));
    let all = settle(&mut disk);
    let order = 0;
    let landed = all.iter().find(|(_, h)| *h == ModelEvent::Landed { order });
    assert_eq!(landed.unwrap().0, 7048 + 5_000_000 + 16_384 + 200_000);
}

/// Writes 64 KiB this many times in sequence. Returns the completion time of the last write.
fn written(disk: &mut Flash, from: u64, count: u64, now: u64) -> u64 {
    let mut at = now;
    for order in from..from + count {
        let sector = (order * 128) % SECTORS;
        disk.submit(at, command(order, Kind::Write, sector, 128, at));
        let all = settle(disk);
        at = done(&all, order).0;
    }
    at
}

#[test]
fn the_slc_cache_is_fast_until_full_and_again_after_idle_time() {
    let fast = FlashSpec {
        fast_cache: Bytes(4 << 20),
        program_us: 800.0,
        buffer: Bytes(64 << 10),
        ..spec()
    };
    let mut disk = Flash::new(&fast, SECTORS);
    let first = written(&mut disk, 0, 60, 0);
    let then = written(&mut disk, 60, 60, first) - first;
    assert!(then > 4 * first, "{first} {then}");
    // 100 MB/s for 100 ms after the idle threshold of 100 ms.
    let rested = first + then + 200_000_000;
    let again = written(&mut disk, 120, 60, rested) - rested;
    assert!(again < then / 2, "{again}");
}

#[test]
fn a_full_buffer_delays_writes() {
    let mut disk = Flash::new(&spec(), SECTORS);
    // 64 KiB per 200 us of four units is 328 MB/s. The buffer contains the rest at the end.
    let at = written(&mut disk, 0, 400, 0);
    let rate = 400.0 * 65.536 * 1e6 / at as f64;
    assert!((300.0..335.0).contains(&rate), "{rate}");
}

#[test]
fn garbage_collection_starts_after_the_disk_is_full() {
    let mut disk = Flash::new(&spec(), SECTORS);
    let first = written(&mut disk, 0, 1024, 0);
    assert_eq!(disk.work().erases, 0);
    let mut at = first;
    for order in 1024..9024_u64 {
        let sector = (order * 611_953 % (SECTORS / 8)) * 8;
        disk.submit(at, command(order, Kind::Write, sector, 8, at));
        at = done(&settle(&mut disk), order).0;
    }
    let work = disk.work();
    assert!(work.erases > 0);
    assert!(work.medium_written > (1024 << 16) + 8000 * 4096);
}
