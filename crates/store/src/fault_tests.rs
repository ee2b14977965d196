//! Tests with faulty or full disks: recorded contender by contender, and read back whole.

use crate::error::fault;
use crate::kept::Kept as _;
use crate::row::all;
use crate::{Store, StoreError};
use fsdyno_model::{FaultTest, FaultTests, FaultTestsInfo, StopReason};

/// Tests with faulty or full disks without their results.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct FaultTestsSummary {
    pub id: String,
    /// When they began: nanoseconds since 1970 (UTC).
    pub started_unix_ns: u64,
    /// When they ended; none if they have not.
    pub ended_unix_ns: Option<u64>,
    /// The reason why they ended; none if they have not.
    pub stop: Option<StopReason>,
    /// The labels of the contenders to test.
    pub contenders: Vec<String>,
    /// Tested contenders.
    pub tested: u64,
    /// Faults of all tested contenders.
    pub faults: u64,
    /// Lives on full disks, or at quotas, of all tested contenders.
    pub full: u64,
    /// Whether they are at quotas.
    pub of_quotas: bool,
}

impl Store {
    /// Gives tests an unused id, and records that they begin.
    pub fn begin_fault_tests(&mut self, info: &mut FaultTestsInfo) -> Result<(), StoreError> {
        let mut whole = FaultTests::whole(info.clone(), Vec::new());
        info.id = self.begin_as(&mut whole, FaultTests::NAME)?;
        Ok(())
    }

    /// Records the test of a contender. It is recorded only once.
    pub fn record_fault_test(&mut self, id: &str, test: &FaultTest) -> Result<(), StoreError> {
        self.record_part::<FaultTests>(id, test)
    }

    /// Records the end of tests: its time and reason.
    pub fn end_fault_tests(
        &mut self,
        id: &str,
        reason: StopReason,
        at_unix_ns: u64,
    ) -> Result<(), StoreError> {
        self.set_end::<FaultTests>(id, Some((reason, at_unix_ns)))
    }

    /// All tests with faulty or full disks, newest first.
    pub fn fault_tests(&self) -> Result<Vec<FaultTestsSummary>, StoreError> {
        const QUERY: &str = "
            SELECT id, started_unix_ns, ended_unix_ns, stop,
                (SELECT json_group_array(value ->> '$.label')
                    FROM json_each(record.document, '$.contenders')),
                count(part.key), coalesce(sum(json_array_length(part.document, '$.faults')), 0),
                coalesce(sum(json_array_length(part.document, '$.full')), 0),
                record.document ->> '$.filling.quota' IS NOT NULL
            FROM record LEFT JOIN part ON part.record = id
            WHERE kind = 'fault-tests'
            GROUP BY id
            ORDER BY started_unix_ns DESC, record.rowid DESC";
        all(&self.connection, QUERY, [], |fields| {
            Ok(FaultTestsSummary {
                id: fields.take()?,
                started_unix_ns: fields.moment()?,
                ended_unix_ns: fields.moment_or_none()?,
                stop: fields.word_or_none()?,
                contenders: fields.json()?,
                tested: fields.number()?,
                faults: fields.number()?,
                full: fields.number()?,
                of_quotas: fields.take()?,
            })
        })
        .map_err(fault(
            &self.path,
            "listing the tests with faulty or full disks",
        ))
    }

    /// Whole tests with faulty or full disks, read in one transaction.
    pub fn load_fault_tests(&self, id: &str) -> Result<FaultTests, StoreError> {
        self.read_whole(id)
    }
}
