//! The messages between a host and a guest. Their serialised form is an input of the digests of
//! cells in virtual time, so serde attributes keep the old names.

use crate::missing::Missing;
use fsdyno_crash::TimedProgram;
use fsdyno_model::{
    Bytes, Cell, CellRecord, Contender, Event, FullDisk, Mark, Nanos, Plan, Recovery, WorkLoss,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "task")]
pub enum Task {
    /// Report what is missing for this plan.
    #[serde(rename = "look")]
    Survey { plan: Box<Plan> },
    /// Run this cell; the disks of the guest are the devices of its contender.
    Run { plan: Box<Plan>, cell: Cell },
    /// Make the file system of the contender and write with that seed, until the power cut.
    Write {
        /// The contender; the disks of the guest are its devices.
        contender: Box<Contender>,
        seed: u64,
        /// The operations; none for those of the seed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        program: Option<Box<TimedProgram>>,
    },
    /// Recover the file system of the contender and judge it.
    Recover {
        contender: Box<Contender>,
        seed: u64,
        /// How many operations were acknowledged.
        acknowledged: u64,
        /// The other operations that were performed; none for those of the seed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        performed: Option<Box<TimedWork>>,
    },
    /// Fill the file system of the contender, use it while it is full, and empty it.
    Fill {
        /// The contender; the disks of the guest are its devices.
        contender: Box<Contender>,
        seed: u64,
        /// The quota of the user; none if the disks are filled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quota: Option<Bytes>,
    },
    /// Perform programs and recover crash states of the contender, by commands over the second disk.
    Explore {
        /// The contender; the first disk of the guest is its device.
        contender: Box<Contender>,
    },
    /// The host has evicted the disks from its page cache.
    DrivenOut {
        /// The number of remaining pages, or the reason why it is unknown.
        stayed: Result<u64, String>,
    },
    /// The processor time of the guest's kernel so far.
    KernelTime {
        /// As the host counts it; or why it is unknown.
        time: Result<Nanos, String>,
    },
    /// The host has received everything: exit.
    Leave,
}

/// The operations of a timed program before a power cut.
#[derive(Debug, Serialize, Deserialize)]
pub struct TimedWork {
    pub timed: TimedProgram,
    /// When the setup and then each operation had returned, since the setup.
    pub returned: Vec<Nanos>,
    /// The time of the power cut.
    pub at: Nanos,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "word")]
pub enum GuestMessage {
    Ready {
        /// Its kernel and release, from uname(2).
        kernel: String,
        /// The version of the kernel, with its build time.
        build: String,
        processors: u64,
        /// The memory its kernel has, bytes.
        memory: u64,
    },
    /// A heartbeat.
    Beat {
        /// How long its processors and disks have been idle.
        still: Nanos,
    },
    /// The requirements of the plan that are missing.
    Missing {
        missing: Missing,
    },
    Happened {
        event: Event,
    },
    /// A phase has reached this point: all later disk requests follow this message.
    Marked {
        mark: Mark,
    },
    /// Evict the disks from the page cache of the host, and report it.
    DriveOut,
    /// Report the processor time of the guest's kernel.
    KernelTime,
    Ended {
        record: Box<CellRecord>,
    },
    /// This number of operations is durable.
    Acknowledged {
        operations: u64,
    },
    /// A file system was recovered and judged.
    Recovered {
        recovery: Box<Recovery>,
        /// The lost work of each activity of a timed program.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        work: Option<Vec<WorkLoss>>,
    },
    /// A file system was filled, used and emptied.
    Filled {
        life: Box<FullDisk>,
    },
    /// The task could not be started or continued.
    Refused {
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_guests::protocol::{FrameReader, FrameWriter};
    use fsdyno_model::{Bytes, LatencyDistribution, Progress, Slice};
    use std::io::ErrorKind;

    #[test]
    fn messages_arrive_in_order_and_a_closed_socket_is_an_error() {
        let mut line = Vec::new();
        let mut writer = FrameWriter(&mut line);
        writer.write(&Task::Leave).unwrap();
        let stayed = Err("no such file".to_owned());
        writer.write(&Task::DrivenOut { stayed }).unwrap();
        let mut reader: FrameReader<_, Task> = FrameReader::new(line.as_slice());
        assert!(matches!(reader.read(), Ok(Some(Task::Leave))));
        let second = reader.read();
        assert!(matches!(
            second,
            Ok(Some(Task::DrivenOut { stayed: Err(_) }))
        ));
        assert_eq!(reader.read().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn latencies_and_progress_of_a_phase_round_trip() {
        let (count, sum_ns) = (u64::MAX, 1 << 60);
        let mut sample = crate::recorded::tests::sample(3);
        sample.latencies.push(LatencyDistribution {
            operation: "file".into(),
            count,
            sum_ns,
            min_ns: 70,
            max_ns: 90,
            buckets: vec![(71, 1), (91, count - 1)],
        });
        let slice = Slice {
            operations: count,
            bytes: Bytes(5),
        };
        sample.progress = Some(Progress {
            slice_ns: Nanos(1 << 20),
            slices: vec![Slice::default(), slice],
        });
        let mut line = Vec::new();
        let cell = Cell {
            index: 1,
            block: 0,
            contender: 0,
            workload: 0,
        };
        let event = Event::PhaseEnded {
            cell,
            sample: Box::new(sample.clone()),
        };
        let word = GuestMessage::Happened { event };
        FrameWriter(&mut line).write(&word).unwrap();
        let mut reader: FrameReader<_, GuestMessage> = FrameReader::new(line.as_slice());
        let Ok(Some(GuestMessage::Happened { event })) = reader.read() else {
            panic!("not the message that was sent");
        };
        let Event::PhaseEnded {
            sample: received, ..
        } = event
        else {
            panic!("{event:?}");
        };
        assert_eq!(*received, sample);
    }

    #[test]
    fn an_unknown_message_is_an_error() {
        let mut line = Vec::new();
        FrameWriter(&mut line).write(&"something else").unwrap();
        let mut reader: FrameReader<_, GuestMessage> = FrameReader::new(line.as_slice());
        assert!(reader.read().is_err());
    }
}
