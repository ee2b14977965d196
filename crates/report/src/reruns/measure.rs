//! The figures of a sample that explain a difference from the published figures, as text.

use super::Measure;
use crate::terms;
use crate::terms::grouped;
use fsdyno_model::{Bytes, Nanos, Point, Sample};

impl Measure {
    /// The figure of a sample with its unit; `None` if it was not measured.
    pub(crate) fn words(self, sample: &Sample) -> Option<String> {
        let data = sample.tally.bytes.0 as f64;
        let device = || sample.device;
        let returned = || sample.kernel_work_until(Point::Returned);
        let each = |bytes: Bytes, requests: u64| {
            (requests > 0).then(|| {
                let each = bytes.0 as f64 / requests as f64 / 1024.0;
                format!("{} KiB a request", terms::significant(each))
            })
        };
        let by_data = |bytes: Bytes, what: &str| {
            (data > 0.0).then(|| {
                let ratio = terms::significant(bytes.0 as f64 / data);
                format!("{ratio} bytes {what} for each of file data")
            })
        };
        match self {
            Self::Flushes => Some(format!("{} flushes", device()?.flushes)),
            Self::Reads => Some(format!("{} reads", device()?.reads)),
            Self::Writes => Some(format!("{} writes", device()?.writes)),
            Self::ReadAmplification => by_data(device()?.read_bytes, "read"),
            Self::WriteAmplification => by_data(device()?.written_bytes, "written"),
            Self::ReadSize => each(device()?.read_bytes, device()?.reads),
            Self::WriteSize => each(device()?.written_bytes, device()?.writes),
            Self::FlushWait => {
                let flush = Nanos(sample.on_disks()?.causes.flush);
                Some(format!("{flush} waited for flushes"))
            }
            Self::Positioning => {
                let causes = sample.on_disks()?.causes;
                let moved = (causes.seek + causes.rotation) as f64;
                let share = 100.0 * moved / causes.total().max(1) as f64;
                Some(format!(
                    "{share:.0} % of the time of requests is seek and rotation"
                ))
            }
            Self::SeekDistance => {
                let distance = sample.on_disks()?.mean_seek_distance()?.0 as f64 / 1e6;
                Some(format!(
                    "{} MB from request to request",
                    terms::significant(distance)
                ))
            }
            Self::Return => Some(format!("{} to return", sample.return_ns)),
            Self::Durable => Some(format!("{} to durable", sample.durable_ns?)),
            Self::Processor => {
                let charged = 100.0 * returned()?.charged_ns.0 as f64;
                // A phase that may be repeated reports the share of all its passes.
                let reported = sample.figures.iter().find(|figure| figure.name == "cpu");
                let share = reported.map_or_else(
                    || charged / sample.return_ns.0.max(1) as f64,
                    |figure| figure.value,
                );
                Some(format!(
                    "{:.0} % of the time is the processor's",
                    share.min(100.0)
                ))
            }
            Self::Blocks => {
                let work = returned()?;
                let (blocks, calls) = (work.blocks(), work.system_calls);
                Some(format!(
                    "{} basic blocks in {} system calls",
                    grouped(blocks),
                    grouped(calls)
                ))
            }
            Self::Rate => (sample.return_ns.0 > 0).then(|| {
                let rate = data / 1e6 / sample.return_ns.seconds();
                format!("{} MB/s", terms::significant(rate))
            }),
        }
    }
}
