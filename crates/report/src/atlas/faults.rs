//! The tests with faulty disks of an atlas.

use super::{Atlas, Head};
use fsdyno_model::{
    Bytes, Contender, DiskFault, FaultTest, FaultTests, FaultTestsInfo, GuestSize, Provenance,
    StopReason,
};
use serde::{Deserialize, Serialize};

/// The largest numbers of contenders and of faults of each.
const CONTENDERS: usize = 64;
const FAULTS: usize = 10_000;

/// Tests of contenders with faulty disks (`fsdyno lose`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtlasFaults {
    /// The seed of the places of faults.
    pub seed: u64,
    /// The largest number of faults of each kind in blocks of each role.
    pub draws: u32,
    /// The contenders.
    pub contenders: Vec<Contender>,
    /// The tests, in order of the contenders. The faults have no details.
    pub tests: Vec<FaultTest>,
}

impl AtlasFaults {
    /// Those of complete tests.
    pub fn of(tests: &FaultTests) -> Self {
        let without_details = |test: &FaultTest| {
            let mut test = test.clone();
            for fault in &mut test.faults {
                fault.detail = None;
            }
            test
        };
        Self {
            seed: tests.info.seed,
            draws: tests.info.draws,
            contenders: tests.info.contenders.clone(),
            tests: tests.tests.iter().map(without_details).collect(),
        }
    }

    /// The tests, as a store would have them.
    pub fn tests(&self, head: &Head) -> FaultTests {
        FaultTests {
            schema: FaultTests::SCHEMA,
            info: FaultTestsInfo {
                id: "atlas".to_owned(),
                started_unix_ns: head.measured_unix_ns,
                ended_unix_ns: Some(head.measured_unix_ns),
                stop: Some(StopReason::Complete),
                contenders: self.contenders.clone(),
                seed: self.seed,
                draws: self.draws,
                kinds: DiskFault::untimed(),
                filling: None,
                guest: GuestSize {
                    memory: Bytes(0),
                    kernel: None,
                    processors: None,
                    image: None,
                },
                provenance: Provenance::default(),
                command_line: Vec::new(),
            },
            tests: self.tests.clone(),
        }
    }

    /// An error if a report cannot rely on it.
    pub(super) fn check(&self) -> Result<(), String> {
        let labels = || self.contenders.iter().map(|one| &one.label);
        if self.contenders.len() > CONTENDERS
            || !labels().eq(self.tests.iter().map(|one| &one.contender))
        {
            return Err("its tests with faulty disks are not those of its contenders".to_owned());
        }
        let mut tests = self.tests.iter();
        match tests.find(|one| one.faults.len() > FAULTS || !one.full.is_empty()) {
            Some(one) => Err(format!("{} has too many faults", one.contender)),
            None => Ok(()),
        }
    }
}

impl Atlas {
    /// The tests with faulty disks; none if the atlas has none.
    pub fn fault_tests(&self) -> Option<FaultTests> {
        self.faults.as_ref().map(|faults| faults.tests(&self.head))
    }
}
