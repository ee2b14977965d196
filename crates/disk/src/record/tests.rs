//! The recorder: round trips, detection of corruption, and counts between marks.

use super::*;
use crate::disk::Disk;
use crate::faults::Faults;
use crate::profiles::{ALL, Profile};
use crate::store::Memory;
use fsdyno_model::random::Random;
use std::sync::{Arc, Mutex};

/// A file that stays readable after the recorder is dropped.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn drawn(random: &mut Random, order: u64) -> Record {
    let at = Nanos(random.below(1 << 50));
    match random.below(5) {
        0 => Record::Submitted {
            at,
            order,
            request: Request {
                fua: random.below(2) == 0,
                ..Request::new(
                    0,
                    Kind::ALL[usize::try_from(random.below(5)).unwrap()],
                    random.next_u64() >> random.below(64),
                    random.below(1 << 20),
                )
            },
            hash: (random.below(2) == 0).then(|| random.next_u64()),
        },
        1 => Record::Payload {
            order,
            bytes: vec![7; usize::try_from(random.below(9000)).unwrap()].into(),
        },
        2 => Record::Completed {
            at,
            order,
            result: match random.below(4) {
                0 => Err(Failure::Medium {
                    sector: random.below(1 << 40),
                }),
                _ => Ok(()),
            },
            causes: Causes {
                seek: random.below(3) * 1_000_000,
                fault: random.below(2),
                ..Causes::default()
            },
        },
        3 => Record::Mark {
            at,
            text: format!("fsync of {order}"),
        },
        _ => Record::PowerCut {
            at,
            seed: random.next_u64(),
        },
    }
}

#[test]
fn recordings_round_trip_and_corruption_is_detected() {
    let mut random = Random::new(5);
    let written: Vec<Record> = (0..2000).map(|order| drawn(&mut random, order)).collect();
    let shared = Shared::default();
    let mut writer = Writer::new(shared.clone()).unwrap();
    for record in &written {
        writer.note(record).unwrap();
    }
    writer.finish().unwrap();
    let bytes = shared.0.lock().unwrap().clone();
    let read: Result<Vec<Record>, _> = Records::new(&bytes[..]).unwrap().collect();
    assert!(read.unwrap() == written);
    assert!(matches!(
        Records::new(&b"fsdyno"[..]),
        Err(RecordError::NoRecording)
    ));
    for _ in 0..200 {
        let mut spoilt = bytes.clone();
        let at = 8 + usize::try_from(random.below(spoilt.len() as u64 - 8)).unwrap();
        let short = random.below(2) == 0;
        if short {
            spoilt.truncate(at);
        } else {
            spoilt[at] ^= 1 << random.below(8);
        }
        let mut whole = 0;
        let mut error_reported = false;
        for record in Records::new(&spoilt[..]).unwrap() {
            match record {
                Ok(record) => {
                    assert!(record == written[whole], "spoilt at {at}");
                    whole += 1;
                }
                Err(_) => error_reported = true,
            }
        }
        // A file that ends after a block is valid.
        assert!(
            error_reported || (short && whole < written.len()),
            "spoilt at {at}"
        );
    }
}

#[test]
fn requests_and_marks_share_a_sequence_and_count_by_mark() {
    let profile = Profile::try_from(&ALL[2]).unwrap();
    let mut disk = Disk::new(&profile, None, Box::new(Memory::new()), Faults::none());
    let shared = Shared::default();
    let writer = Writer::new(shared.clone()).unwrap();
    disk.record(Recorder::to(Box::new(writer), Payloads::Kept));
    let drain = |disk: &mut Disk| {
        while let Some(at) = disk.next_completion() {
            let _ = disk.complete(at).unwrap();
        }
    };
    let now = Nanos(5);
    for n in 0..4 {
        let request = Request::new(n, Kind::Write, 1000 + n * 8, 8);
        disk.submit(now, request, |bytes| bytes.fill(9)).unwrap();
    }
    drain(&mut disk);
    disk.mark(Nanos(1_000_000_000), "second").unwrap();
    let later = Nanos(1_000_000_001);
    disk.ask(later, Request::new(9, Kind::Read, 5_000_000, 16))
        .unwrap();
    disk.ask(later, Request::flush(10)).unwrap();
    drain(&mut disk);
    let recorder = disk.take_recorder().unwrap();
    assert!(recorder.write_error().is_none());
    let [first, second] = recorder.intervals() else {
        panic!("{:?}", recorder.intervals());
    };
    assert_eq!(second.label, "second");
    let (first, second) = (first.did, second.did);
    assert_eq!((first.writes.requests, first.writes.bytes), (4, 16_384));
    assert_eq!((first.seeks, first.work.medium_written), (0, 16_384));
    assert_eq!(first.write_amplification(8192), Some(2.0));
    assert_eq!((second.reads.requests, second.flushes.requests), (1, 1));
    assert_eq!(second.seek_distance.0, (5_000_000 - 1032) * 512);
    assert!(second.causes.rotation > 0 && second.work.seeks == 1);
    let waits = second.waits.unwrap();
    assert_eq!(waits.total(), second.causes.total());
    assert!(waits.reads.0 > 0 && waits.flushes.0 > 0 && waits.writes.0 == 0);
    // Two requests in flight: busy time ends with the later one and is not the sum of both.
    assert_eq!(second.busy, Some(second.slowest));
    let (all, busy) = (first.waits.unwrap().writes, first.busy.unwrap());
    assert_eq!(all.0, first.causes.total());
    assert!(first.slowest <= busy && busy < all, "{busy} of {all}");
    let bytes = shared.0.lock().unwrap().clone();
    let read: Vec<Record> = Records::new(&bytes[..])
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let word = |record: &Record| match record {
        Record::Submitted { .. } => 's',
        Record::Payload { .. } => 'p',
        Record::Completed { .. } => 'c',
        Record::Mark { .. } => 'm',
        Record::PowerCut { .. } => 'x',
    };
    let words: String = read.iter().map(word).collect();
    assert_eq!(words, "spspspspccccmsscc");
    let Record::Submitted { hash: hashed, .. } = &read[0] else {
        panic!("{:?}", read[0]);
    };
    assert_eq!(*hashed, Some(hash(&[9; 4096])));
}

#[test]
fn the_first_request_counts_in_the_first_interval() {
    let profile = Profile::try_from(&ALL[2]).unwrap();
    let mut disk = Disk::new(&profile, None, Box::new(Memory::new()), Faults::none());
    let read = |disk: &mut Disk, now: Nanos, sector| {
        disk.ask(now, Request::new(0, Kind::Read, sector, 8))
            .unwrap();
        let mut at = now;
        while let Some(next) = disk.next_completion() {
            at = next;
            let _ = disk.complete(at).unwrap();
        }
        at
    };
    let before = read(&mut disk, Nanos(0), 70_000_000);
    disk.record(Recorder::figures());
    read(&mut disk, before, 5_000_000);
    let recorder = disk.take_recorder().unwrap();
    let [only] = recorder.intervals() else {
        panic!("{:?}", recorder.intervals());
    };
    let did = only.did;
    assert_eq!((did.work.seeks, did.work.medium_read), (1, 4096));
    assert_eq!((did.reads.requests, only.from), (1, before));
}
