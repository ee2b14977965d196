//! A model disk and requests to it, for the targets that need one.

use crate::bytes::Input;
use fsdyno_disk::profiles::ALL;
use fsdyno_disk::{Disk, Kind, Profile, Request, SECTOR, SubmitError};
use fsdyno_model::Nanos;
use std::path::Path;
use std::sync::LazyLock;

/// The most requests of an input.
const MOST: usize = 24;

/// The most sectors of a request.
const LONGEST: u64 = 64;

/// A disk with mechanics.
pub static SPINNING: LazyLock<Profile> = LazyLock::new(|| shipped(ALL[0].name));

/// A disk without times.
pub static NULL: LazyLock<Profile> = LazyLock::new(|| shipped("null"));

fn shipped(name: &str) -> Profile {
    Profile::named(Path::new(name)).expect("it comes with fsdyno")
}

/// Submits requests that the input chooses, and takes all completions: each is that of one
/// request, none ends before it began, and its parts add up to its time.
pub fn exercise(disk: &mut Disk, input: &mut Input<'_>) {
    let mut submitted = 0_u64;
    for _ in 0..MOST {
        if input.is_empty() {
            break;
        }
        let kind = Kind::ALL[usize::from(input.u8()) % Kind::ALL.len()];
        let mut request = match kind {
            Kind::Flush => Request::flush(submitted),
            kind => Request::new(submitted, kind, input.u64(), input.u64() % LONGEST),
        };
        // Half of the requests are within the disk.
        if input.u8().is_multiple_of(2) && kind != Kind::Flush {
            request.sector %= disk.sectors();
        }
        let now = Nanos(u64::from(input.u16()) << (input.u8() % 32));
        match disk.submit(now, request, |bytes| bytes.fill(7)) {
            Ok(_) => submitted += 1,
            Err(SubmitError::BeyondTheEnd { .. } | SubmitError::Nothing(_)) => {}
            Err(SubmitError::Store(error)) => panic!("{error}"),
        }
    }
    let mut completed = 0;
    // A model needs a bounded number of events for a request.
    for _ in 0..100_000 {
        let Some(next) = disk.next_completion() else {
            break;
        };
        while let Some(done) = disk.complete(next).expect("contents are in memory") {
            completed += 1;
            assert!(done.completed >= done.submitted);
            let parts: u64 = done.causes.parts().iter().sum();
            assert_eq!(parts, done.latency().0, "{done:?}");
        }
    }
    assert_eq!((completed, disk.in_flight()), (submitted, 0));
    let mut bytes = [0; 512];
    let last = (disk.sectors() - 1) * SECTOR;
    disk.read(last, &mut bytes).expect("contents are in memory");
}
