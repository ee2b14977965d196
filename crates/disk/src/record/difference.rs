//! The first entry in which two block traces differ.

use super::{Record, RecordError, Records};
use fsdyno_files::input;
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// Entries of two traces at the same place; none if a trace has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The place, from 0.
    pub place: u64,
    /// The entry of the first trace.
    pub one: Option<Record>,
    /// The entry of the second trace.
    pub other: Option<Record>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = |record: &Option<Record>| {
            let line = record.as_ref().map(|record| record.line(None));
            line.map_or_else(
                || "the end of the trace".to_owned(),
                |line| line.trim().to_owned(),
            )
        };
        let (one, other) = (line(&self.one), line(&self.other));
        write!(f, "entry {}: `{one}`, and then `{other}`", self.place)
    }
}

/// Compares the traces in two files; none if they are equal.
pub fn first_difference_of_files(
    one: &Path,
    other: &Path,
) -> Result<Option<Difference>, RecordError> {
    let open = |path: &Path| -> Result<Records<BufReader<File>>, RecordError> {
        let unreadable = |source: io::Error| RecordError::Unreadable { at: 0, source };
        Records::new(BufReader::new(input::open(path).map_err(unreadable)?))
    };
    first_difference(open(one)?, open(other)?)
}

/// Compares two traces; none if they are equal.
pub fn first_difference(
    one: impl IntoIterator<Item = Result<Record, RecordError>>,
    other: impl IntoIterator<Item = Result<Record, RecordError>>,
) -> Result<Option<Difference>, RecordError> {
    let (mut one, mut other) = (one.into_iter(), other.into_iter());
    for place in 0.. {
        let (first, second) = (one.next().transpose()?, other.next().transpose()?);
        if first != second {
            return Ok(Some(Difference {
                place,
                one: first,
                other: second,
            }));
        }
        if first.is_none() {
            break;
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fsdyno_model::Nanos;

    fn marks(times: &[u64]) -> Vec<Result<Record, RecordError>> {
        let mark = |at: &u64| {
            Ok(Record::Mark {
                at: Nanos(*at),
                text: "a mark".to_owned(),
            })
        };
        times.iter().map(mark).collect()
    }

    #[test]
    fn the_first_different_or_missing_entry_is_found() {
        let differs = |one: &[u64], other: &[u64]| {
            let found = first_difference(marks(one), marks(other)).unwrap();
            found.map(|one| (one.place, one.one.is_some(), one.other.is_some()))
        };
        assert_eq!(differs(&[1, 2, 3], &[1, 2, 3]), None);
        assert_eq!(differs(&[1, 2, 3], &[1, 5, 4]), Some((1, true, true)));
        assert_eq!(differs(&[1, 2], &[1, 2, 3]), Some((2, false, true)));
        assert_eq!(differs(&[1], &[]), Some((0, true, false)));
    }
}
