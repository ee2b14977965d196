//! Faults of a disk: what is read makes a disk that completes every request, and that leaves the
//! same after a power cut each time.

use super::disk::{SPINNING, exercise};
use crate::bytes::Input;
use fsdyno_disk::{Disk, FaultPlan, Faults, Memory};
use fsdyno_model::{Bytes, Nanos};

/// Bytes of the disk.
const SIZE: usize = 64 << 10;

pub fn check(input: &[u8]) {
    // The text, and behind a zero byte the requests.
    let mut parts = input.splitn(2, |byte| *byte == 0);
    let text = parts.next().unwrap_or_default();
    let requests = parts.next().unwrap_or_default();
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let Ok(plan) = FaultPlan::parse(text) else {
        return;
    };
    let once = || {
        let capacity = Some(Bytes(SIZE as u64));
        let faults = Faults::new(plan.clone());
        let remains = faults.remains();
        let mut disk = Disk::new(&SPINNING, capacity, Box::new(Memory::new()), faults);
        let mut requests = Input(requests);
        let power_off = Nanos(requests.u64() >> 24);
        exercise(&mut disk, &mut requests);
        let report = disk.power_cut(power_off, plan.seed, remains);
        let report = report.expect("contents are in memory");
        let mut contents = vec![0; SIZE];
        disk.read(0, &mut contents).expect("contents are in memory");
        (format!("{report:?}"), contents)
    };
    assert_eq!(once(), once());
}
