//! Measures the speed of the machine just before a phase, with short operations that do not use the
//! file system under test. Nothing is written, and no cache of the file system changes.

use fsdyno_host::direct_io::{Action, DirectError, DirectFile, DirectRequest};
use fsdyno_model::Nanos;
use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

/// A file of the kernel that needs no file system.
const FILE: &str = "/proc/self/comm";

/// Size and alignment of a read from a device.
const BLOCK: u64 = 4096;

/// A probe ends after this time, but not before the minimum number of operations, which a slow disk
/// needs.
const LONG_ENOUGH: Duration = Duration::from_millis(5);

/// The minimum number of operations of a probe.
const MIN_OPERATIONS: u32 = 8;

/// The maximum number of operations of a probe of the kernel.
const MAX_OPENS: u32 = 2000;

/// The maximum number of operations of a probe of a device.
const MAX_READS: u32 = 60;

/// Operations between two readings of the clock.
const GROUP: u32 = 4;

/// The mean time of open, read and close of a file of the kernel.
pub fn system() -> io::Result<Nanos> {
    repeat(MAX_OPENS, || File::open(FILE)?.read(&mut [0; 32]).map(drop))
}

/// The mean time of a random direct read of 4 KiB from these devices or files, in turn. `random` is
/// the state of the random positions.
pub fn device(files: &mut [DirectFile], random: &mut u64) -> Result<Option<Nanos>, DirectError> {
    if files.iter().any(|file| file.size() < BLOCK) || files.is_empty() {
        return Ok(None);
    }
    let count = files.len();
    let mut in_turn = (0..count).cycle();
    let time = repeat(MAX_READS, || {
        // A linear congruential generator: D. E. Knuth, "The Art of Computer Programming", vol. 2,
        // 3rd ed. (1997), section 3.3.4, table 1, line 26.
        *random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let file = &mut files[in_turn.next().unwrap_or(0)];
        let read = DirectRequest {
            action: Action::Read,
            at: (*random >> 16) % (file.size() / BLOCK) * BLOCK,
            bytes: BLOCK,
        };
        file.run(&[read], 1).map(drop)
    })?;
    Ok(Some(time))
}

/// The mean time of an operation.
fn repeat<E>(most: u32, mut operation: impl FnMut() -> Result<(), E>) -> Result<Nanos, E> {
    // The first one loads code and inodes.
    operation()?;
    let begin = Instant::now();
    let mut done = 0;
    while done < most && (done < MIN_OPERATIONS || begin.elapsed() < LONG_ENOUGH) {
        for _ in 0..GROUP {
            operation()?;
        }
        done += GROUP;
    }
    let mean = begin.elapsed() / done;
    Ok(Nanos(u64::try_from(mean.as_nanos()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::CancelToken;
    use std::cell::Cell;

    #[test]
    fn a_probe_has_enough_operations_and_an_end() {
        let count = Cell::new(0);
        let operation = |each: Duration| {
            count.set(0);
            repeat::<()>(100, || {
                count.set(count.get() + 1);
                std::thread::sleep(each);
                Ok(())
            })
            .unwrap()
        };
        // A hard disk: the minimum number of operations, and the one before the clock starts.
        assert!(operation(Duration::from_millis(3)).0 >= 3_000_000);
        assert_eq!(count.get(), MIN_OPERATIONS + 1);
        operation(Duration::ZERO);
        assert!(count.get() <= 101);
        assert_eq!(repeat(8, || Err(7)), Err(7));
    }

    #[test]
    fn the_kernel_and_a_file_have_a_speed_and_an_empty_file_has_none() {
        assert!(system().unwrap() > Nanos(0));
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let scratch = |size| {
            let path = folder.path().join("probe");
            DirectFile::create_scratch(&path, size, &CancelToken::new()).unwrap()
        };
        let mut random = 1;
        let mut files = [scratch(1 << 20), scratch(2 << 20)];
        assert!(device(&mut files, &mut random).unwrap() > Some(Nanos(0)));
        assert_eq!(device(&mut [scratch(0)], &mut random).unwrap(), None);
        assert_eq!(device(&mut [], &mut random).unwrap(), None);
    }
}
