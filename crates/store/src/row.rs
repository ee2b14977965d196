//! Converts between the types of the model and column values.
//!
//! The lists of columns are defined here once, for writing and for reading: `record.rs` and
//! `query.rs` use their order.
//!
//! A store may come from another program. [`Fields`] checks every value once, when it is read, so
//! that no other code checks: a number is between 0 and [`LARGEST`], and so is the sum of its column
//! in a run; a text has at most [`LONGEST_TEXT`] bytes, and those of a table [`LONGEST_TEXTS`].

use crate::StoreError;
use fsdyno_model::{Bytes, Contender, Nanos, Stage, Waits};
use rusqlite::types::{FromSql, Type, ValueRef};
use rusqlite::{Connection, Params, Row, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;

pub(crate) const RUN: &str = "id, started_unix_ns, ended_unix_ns, stop, plan_hash, plan, \
    provenance, command_line, name, cells_planned";
pub(crate) const CELL: &str = "run, cell_index, block, contender, workload, started_unix_ns, \
    took_ns, outcome, skip_requirement, skip_reason, skip_remedy, failure_stage, failure_phase, \
    failure_message, failure_errno";
pub(crate) const SAMPLE: &str = "cell, place, phase, label, kind, engine, method, cache_requested, \
    cache_proven, cache_method, cache_checked_by, cache_files_checked, cache_bytes_checked, \
    cache_resident_pages, cache_unproven, return_ns, durable_ns, files, directories, data_bytes, \
    calls, matches, user_ns, system_ns, machine_busy_ns, steal_ns, device_reads, \
    device_read_bytes, device_writes, device_written_bytes, device_discards, \
    device_discarded_bytes, device_flushes, device_busy_ns, space_before_bytes, space_after_bytes, \
    device_reads_ns, device_writes_ns, device_discards_ns, device_flushes_ns, \
    probe_system_ns, probe_device_ns";
pub(crate) const FRAGMENTATION: &str = "cell, place, min_file_bytes, files, fragmented_files, \
    extents, data_bytes, extents_by_size, unavailable";
pub(crate) const REPORTED: &str = "cell, sample, place, name, value, unit, better";
pub(crate) const LATENCY: &str = "cell, sample, place, operation, operations, sum_ns, min_ns, \
    max_ns, classes";
pub(crate) const PROGRESS: &str = "cell, sample, slice_ns, slices";
pub(crate) const OBSERVED: &str = "cell, sample, over_ns, processors, least_khz, mean_khz, \
    most_khz, throttled, cpu_some_ns, io_some_ns, io_full_ns, memory_some_ns, memory_full_ns, \
    kernel_threads_ns, others_ns, other_requests, other_bytes, other_busiest, other_busiest_ns, \
    below_bytes, metadata_reads, metadata_read_bytes, metadata_writes, metadata_written_bytes, \
    forced_writes, forced_bytes, flushes_requested, unobserved";
pub(crate) const DISK_USE: &str = "cell, sample, place, disk, until, reads, read_bytes, \
    reads_failed, writes, written_bytes, writes_failed, discards, discarded_bytes, \
    discards_failed, flushes, flushed_bytes, flushes_failed, seeks, seek_distance_bytes, queue_ns, \
    overhead_ns, seek_ns, rotation_ns, transfer_ns, flush_ns, cache_ns, fault_ns, slowest_ns, \
    arm_moves, arm_cylinders, device_seek_ns, device_rotation_ns, device_transfer_ns, \
    medium_read_bytes, medium_written_bytes, erases, cache_hits, reads_ns, writes_ns, discards_ns, \
    flushes_ns, busy_ns";
pub(crate) const KERNEL_WORK: &str = "cell, sample, until, process_blocks, kthread_blocks, \
    interrupt_blocks, system_calls, copied_bytes, cleared_bytes, checksummed_bytes, \
    disk_requests, waits, charged_ns, threads";
pub(crate) const COMMAND: &str = "cell, place, stage, stage_phase, argv, by_system_call, status, \
    took_ns, stdout, stderr";
pub(crate) const EFFECTIVE: &str = "cell, place, source, text";
pub(crate) const WARNING: &str = "run, cell, sample, kind, message, advice";
pub(crate) const SERIES: &str = "id, started_unix_ns, ended_unix_ns, stop, cuts_planned, seed, \
    guest_size, work_dir, contenders, provenance, command_line, disk, shard";
pub(crate) const POWER_CUT: &str = "series, place, contender, number, seed, guest, after_ns, \
    acknowledged, recovery_ns, corrected_by, refused, beyond_repair, clean, found, lost_files, \
    judgement, before_check, images, disk";
pub(crate) const EXPLORATION: &str = "id, started_unix_ns, ended_unix_ns, stop, contenders, \
    search, programs_planned, budget_ns, shard, guest_size, disk, work_dir, provenance, \
    command_line";
pub(crate) const EXPLORED: &str = "exploration, number, contender, program, kinds, guest, failed, \
    windows, skipped_windows, classes, distinct_states, recovered, equivalent, nested, nested_checks, trees, \
    operations, took_ns, flushes, written_bytes, requested_bytes";
pub(crate) const FINDING: &str = "exploration, number, contender, place, signature, violation, \
    class, message, state, states, minimal, kernel, checker";

/// The largest number, and the largest sum of a column: 36 years of nanoseconds, 1 EiB. Sums over a
/// run, also of sixteen columns, are below 2^64.
pub(crate) const LARGEST: u64 = 1 << 60;

/// The longest text, bytes: twice the longest plan, with a profile and faults of 1 MiB each.
const LONGEST_TEXT: usize = 8 << 20;

/// The longest texts of a query together, bytes.
const LONGEST_TEXTS: usize = 256 << 20;

/// Inserts a row into a table, with a value for each of these columns.
pub(crate) fn insert(
    connection: &Connection,
    table: &str,
    columns: &str,
    values: impl Params,
) -> rusqlite::Result<()> {
    let places = vec!["?"; columns.split(',').count()].join(", ");
    let query = format!("INSERT INTO {table} ({columns}) VALUES ({places})");
    connection.prepare_cached(&query)?.execute(values)?;
    Ok(())
}

/// All rows of a query, each read from left to right.
pub(crate) fn all<T>(
    connection: &Connection,
    query: &str,
    parameters: &[&str],
    read: impl Fn(&mut Fields<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    let mut values = Vec::new();
    each(connection, query, params_from_iter(parameters), |fields| {
        values.push(read(fields)?);
        Ok(())
    })?;
    Ok(values)
}

/// Calls a function for every row of a query, each read from left to right.
pub(crate) fn each(
    connection: &Connection,
    query: &str,
    parameters: impl Params,
    mut read: impl FnMut(&mut Fields<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query(parameters)?;
    let mut totals = Totals::default();
    while let Some(row) = rows.next()? {
        let mut fields = Fields {
            totals,
            ..Fields::of(row)
        };
        read(&mut fields).map_err(|error| named(row, error))?;
        totals = fields.totals;
    }
    Ok(())
}

/// The row of a query that has at most one, read from left to right.
pub(crate) fn one<T>(
    connection: &Connection,
    query: &str,
    parameters: impl Params,
    read: impl FnOnce(&mut Fields<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Option<T>> {
    let mut statement = connection.prepare_cached(query)?;
    let mut rows = statement.query(parameters)?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    read(&mut Fields::of(row))
        .map(Some)
        .map_err(|error| named(row, error))
}

/// The error of a value, with the name of its column.
fn named(row: &Row<'_>, error: rusqlite::Error) -> rusqlite::Error {
    use rusqlite::Error as E;
    let (column, why) = match error {
        E::FromSqlConversionFailure(column, _, why) => (column, why),
        E::InvalidColumnType(column, _, kind) => (
            column,
            format!("a value of type {kind} is not expected").into(),
        ),
        E::IntegralValueOutOfRange(column, number) => {
            (column, format!("{number} is out of range").into())
        }
        other => return other,
    };
    if why.is::<Placed>() {
        return refused(column, why);
    }
    let name = row.as_ref().column_name(column).unwrap_or_default();
    refused(column, format!("{name}: {why}"))
}

/// The reason of an error with the names of its row and column.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Placed(String);

/// The error that a column holds a value that fsdyno never writes.
pub(crate) fn refused(
    column: usize,
    why: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}

/// Adds to the error of a value where its row is: `cell 3, latency`.
pub(crate) fn at(place: &str, fields: &Fields<'_>, error: rusqlite::Error) -> rusqlite::Error {
    match named(fields.row, error) {
        rusqlite::Error::FromSqlConversionFailure(column, _, why) => {
            refused(column, Placed(format!("{place}: {why}")))
        }
        other => other,
    }
}

/// The value of a row of one column.
pub(crate) fn only<T: FromSql>(fields: &mut Fields<'_>) -> rusqlite::Result<T> {
    fields.take()
}

/// An index in a list, as a column value.
pub(crate) fn place_of(place: usize) -> i64 {
    signed(place as u64)
}

/// A path as a column value. `what` names it in an error.
pub(crate) fn path_text<'p>(what: &'static str, path: &'p Path) -> Result<&'p str, StoreError> {
    path.to_str().ok_or_else(|| StoreError::Unstorable {
        what,
        why: "it is not UTF-8".to_owned(),
    })
}

/// A value of the model in JSON. `what` names it in an error.
pub(crate) fn json(what: &'static str, value: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Unstorable {
        what,
        why: error.to_string(),
    })
}

/// A value of the model in JSON; none, a null.
pub(crate) fn json_or_none(
    what: &'static str,
    value: Option<&impl Serialize>,
) -> Result<Option<String>, StoreError> {
    value.map(|value| json(what, value)).transpose()
}

/// What the rows of a query added up to so far.
#[derive(Default)]
struct Totals {
    /// The sum of each column of numbers.
    numbers: Vec<u64>,
    /// The bytes of all texts.
    texts: usize,
}

/// A row, read from left to right.
pub(crate) struct Fields<'r> {
    row: &'r Row<'r>,
    next: usize,
    totals: Totals,
}

impl<'r> Fields<'r> {
    fn of(row: &'r Row<'r>) -> Self {
        Self {
            row,
            next: 0,
            totals: Totals::default(),
        }
    }

    /// The next column, of any type.
    pub(crate) fn take<T: FromSql>(&mut self) -> rusqlite::Result<T> {
        self.next += 1;
        let column = self.next - 1;
        if let ValueRef::Text(text) | ValueRef::Blob(text) = self.row.get_ref(column)? {
            self.totals.texts = self.totals.texts.saturating_add(text.len());
            if text.len() > LONGEST_TEXT || self.totals.texts > LONGEST_TEXTS {
                let length = text.len();
                return Err(self.unexpected(
                    format!(
                        "its {length} bytes are too many: a text has at most {LONGEST_TEXT}, and \
                         those of a table have {LONGEST_TEXTS}"
                    )
                    .into(),
                ));
            }
        }
        self.row.get(column)
    }

    /// A column, out of order, for a message.
    pub(crate) fn peek<T: FromSql>(&self, column: usize) -> Option<T> {
        self.row.get(column).ok()
    }

    /// The next column as a count, a size or a duration.
    pub(crate) fn number(&mut self) -> rusqlite::Result<u64> {
        let number = self.take::<i64>()?;
        self.checked(number)
    }

    pub(crate) fn number_or_none(&mut self) -> rusqlite::Result<Option<u64>> {
        let number = self.take::<Option<i64>>()?;
        number.map(|number| self.checked(number)).transpose()
    }

    fn checked(&mut self, number: i64) -> rusqlite::Result<u64> {
        match u64::try_from(number) {
            Ok(number) if number <= LARGEST => {
                self.add([number])?;
                Ok(number)
            }
            _ => Err(self.unexpected(format!("{number} is not between 0 and {LARGEST}").into())),
        }
    }

    /// Adds numbers that were read to the sum of the last column, which has a bound.
    pub(crate) fn add(&mut self, numbers: impl IntoIterator<Item = u64>) -> rusqlite::Result<()> {
        let column = self.next.saturating_sub(1);
        if self.totals.numbers.len() < self.next {
            self.totals.numbers.resize(self.next, 0);
        }
        for number in numbers {
            let sum = self.totals.numbers[column].saturating_add(number);
            if sum > LARGEST {
                let why = format!("its values add up to more than {LARGEST}");
                return Err(self.unexpected(why.into()));
            }
            self.totals.numbers[column] = sum;
        }
        Ok(())
    }

    /// The next column as a number of which sums are not made, and so without a bound of the sum.
    pub(crate) fn distance(&mut self) -> rusqlite::Result<Bytes> {
        let number = self.take::<i64>()?;
        let number = u64::try_from(number).ok().filter(|one| *one <= LARGEST);
        let number = number
            .ok_or_else(|| self.unexpected(format!("it is not between 0 and {LARGEST}").into()))?;
        Ok(Bytes(number))
    }

    /// The next column as a seed: any number, see [`signed`].
    pub(crate) fn seed(&mut self) -> rusqlite::Result<u64> {
        Ok(self.take::<i64>()?.cast_unsigned())
    }

    /// The next column as a time: nanoseconds since 1970.
    pub(crate) fn moment(&mut self) -> rusqlite::Result<u64> {
        let time = self.take::<i64>()?;
        u64::try_from(time).map_err(|_| self.unexpected("a time before 1970".into()))
    }

    pub(crate) fn moment_or_none(&mut self) -> rusqlite::Result<Option<u64>> {
        let time = self.take::<Option<i64>>()?.map(u64::try_from).transpose();
        time.map_err(|_| self.unexpected("a time before 1970".into()))
    }

    /// The next column as a finite number.
    pub(crate) fn finite(&mut self) -> rusqlite::Result<f64> {
        let number: f64 = self.take()?;
        if number.is_finite() {
            return Ok(number);
        }
        Err(self.unexpected(format!("{number} is not finite").into()))
    }

    pub(crate) fn bytes(&mut self) -> rusqlite::Result<Bytes> {
        self.number().map(Bytes)
    }

    pub(crate) fn nanos(&mut self) -> rusqlite::Result<Nanos> {
        self.number().map(Nanos)
    }

    /// The next columns as unsigned numbers.
    pub(crate) fn numbers<const N: usize>(&mut self) -> rusqlite::Result<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.number()?;
        }
        Ok(numbers)
    }

    /// The next columns as unsigned numbers; none if one of them is null.
    pub(crate) fn numbers_or_none<const N: usize>(&mut self) -> rusqlite::Result<Option<[u64; N]>> {
        let mut numbers = [0; N];
        let mut are_known = true;
        for number in &mut numbers {
            match self.number_or_none()? {
                Some(known) => *number = known,
                None => are_known = false,
            }
        }
        Ok(are_known.then_some(numbers))
    }

    /// The next four columns as the times of requests by kind; none if one of them is unknown.
    pub(crate) fn waits(&mut self) -> rusqlite::Result<Option<Waits>> {
        Ok(self.numbers_or_none()?.map(Waits::from_parts))
    }

    /// The next column as a contender, by its index in a list. `of` names the list in an error.
    pub(crate) fn contender<'c>(
        &mut self,
        contenders: &'c [Contender],
        of: &str,
    ) -> rusqlite::Result<&'c Contender> {
        let at = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        let found = contenders.get(at);
        found.ok_or_else(|| self.unexpected(format!("its {of} has no such contender").into()))
    }

    /// The next column as a value of the model in JSON.
    pub(crate) fn json<T: DeserializeOwned>(&mut self) -> rusqlite::Result<T> {
        let text: String = self.take()?;
        self.decoded(serde_json::from_str(&text))
    }

    /// The next column as a value of the model in JSON; none if it is null.
    pub(crate) fn json_or_none<T: DeserializeOwned>(&mut self) -> rusqlite::Result<Option<T>> {
        let text: Option<String> = self.take()?;
        let value = text.map(|text| serde_json::from_str(&text));
        self.decoded(value.transpose())
    }

    /// The next column as an enum value of the model; none if it is null.
    pub(crate) fn word_or_none<T: DeserializeOwned>(&mut self) -> rusqlite::Result<Option<T>> {
        let word: Option<String> = self.take()?;
        let value = word.map(|word| serde_json::from_value(Value::String(word)));
        self.decoded(value.transpose())
    }

    /// The next column as an enum value of the model, by its serde name.
    pub(crate) fn word<T: DeserializeOwned>(&mut self) -> rusqlite::Result<T> {
        let word: String = self.take()?;
        self.decoded(serde_json::from_value(Value::String(word)))
    }

    /// The next two columns as a stage: its name, and its label if it is a phase.
    pub(crate) fn stage(&mut self) -> rusqlite::Result<Stage> {
        self.stage_or_none()?
            .ok_or_else(|| self.unexpected("no stage where one must be".into()))
    }

    pub(crate) fn stage_or_none(&mut self) -> rusqlite::Result<Option<Stage>> {
        let (name, phase): (Option<String>, Option<String>) = (self.take()?, self.take()?);
        let Some(name) = name else {
            return Ok(None);
        };
        if let (PHASE, Some(label)) = (name.as_str(), phase) {
            return Ok(Some(Stage::Phase(label)));
        }
        let plain = STAGES.iter().find(|stage| stage.to_string() == name);
        match plain {
            Some(stage) => Ok(Some(stage.clone())),
            None => Err(self.unexpected(format!("`{name}` is no stage").into())),
        }
    }

    /// The error that the last column read holds a value that fsdyno never writes.
    pub(crate) fn unexpected(
        &self,
        why: Box<dyn std::error::Error + Send + Sync>,
    ) -> rusqlite::Error {
        refused(self.next.saturating_sub(1), why)
    }

    fn decoded<T>(&self, result: serde_json::Result<T>) -> rusqlite::Result<T> {
        result.map_err(|error| self.unexpected(error.into()))
    }
}

/// The name of a stage that is a phase; its label is in a separate column.
const PHASE: &str = "phase";

/// The stages without a label.
const STAGES: [Stage; 10] = [
    Stage::Device,
    Stage::Make,
    Stage::Mount,
    Stage::Describe,
    Stage::Prepare,
    Stage::Cache,
    Stage::Verify,
    Stage::Unmount,
    Stage::Check,
    Stage::CleanUp,
];

/// The two columns of a stage.
pub(crate) fn stage_columns(stage: &Stage) -> (String, Option<&str>) {
    match stage {
        Stage::Phase(label) => (PHASE.to_owned(), Some(label)),
        plain => (plain.to_string(), None),
    }
}

/// An unsigned number as a column value. `SQLite` has only signed 64-bit integers: a seed of 2^63 or
/// more is stored as the negative number with the same bits, and is read back exactly.
pub(crate) fn signed(number: u64) -> i64 {
    number.cast_signed()
}
