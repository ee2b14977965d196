//! The first entry in which two block traces differ.

use super::{Record, RecordError};

/// Entries of two traces at the same place; none where a trace has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The place, from 0.
    pub place: u64,
    /// The entry of the first trace.
    pub one: Option<Record>,
    /// The entry of the second trace.
    pub other: Option<Record>,
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
