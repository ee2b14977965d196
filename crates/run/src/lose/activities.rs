//! A file of activities: what the programs of a machine do at the same time, each at its own
//! interval.

use fsdyno_crash::{Operation, TimedProgram, content};
use fsdyno_model::Nanos;
use serde::Deserialize;
use std::time::Duration;

/// The activities of this program.
pub const DEFAULT: &str = include_str!("../../data/activities.toml");

/// The maximum number of operations, for which the judgement takes seconds.
const MAX_OPERATIONS: usize = 20_000;

/// Why a file of activities cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ActivitiesError {
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    #[error("activity `{activity}`: {what}")]
    Activity { activity: String, what: String },
    #[error("{0}")]
    Program(#[from] fsdyno_crash::ProgramError),
    #[error("it has no activity. Name at least one: [[activity]]")]
    Empty,
    #[error(
        "offsets and lengths are multiples of 16 bytes here, and no range is collapsed or inserted"
    )]
    Units,
    #[error("it has more than {MAX_OPERATIONS} operations. Raise every_ms")]
    Long,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    activity: Vec<Activity>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Activity {
    name: String,
    every_ms: u32,
    #[serde(default)]
    setup: Vec<String>,
    #[serde(default)]
    first: Vec<String>,
    #[serde(default = "once")]
    repeat: u32,
    operations: Vec<String>,
}

fn once() -> u32 {
    1
}

/// Reads a file, and repeats its activities for this time: the operations of all of them in the order
/// of their times.
pub fn parse(text: &str, length: Duration) -> Result<TimedProgram, ActivitiesError> {
    let File { activity } = toml::from_str(text)?;
    if activity.is_empty() {
        return Err(ActivitiesError::Empty);
    }
    let mut timed = TimedProgram::default();
    let mut operations: Vec<(Nanos, usize, Operation)> = Vec::new();
    for (number, activity) in activity.iter().enumerate() {
        timed.activities.push(activity.name.clone());
        let setup = activity.expand(&activity.setup, (0, 0))?;
        timed.activity_of.extend(setup.iter().map(|_| number));
        timed.program.setup.extend(setup);
        if activity.every_ms == 0 {
            return Err(activity.error("every_ms is 0. Take at least 1".to_owned()));
        }
        let every = Duration::from_millis(activity.every_ms.into());
        let mut at = every;
        let mut n = 0;
        for time in 0.. {
            if at > length {
                break;
            }
            let mut now = activity.expand(&activity.first, (n, time))?;
            for _ in 0..activity.repeat {
                now.extend(activity.expand(&activity.operations, (n, time))?);
                n += 1;
                if now.len() + operations.len() > MAX_OPERATIONS {
                    return Err(ActivitiesError::Long);
                }
            }
            operations.extend(now.into_iter().map(|one| (Nanos::from(at), number, one)));
            at += every;
        }
    }
    // The sort is stable: operations of one activity and time keep their order.
    operations.sort_by_key(|(at, number, _)| (*at, *number));
    for (at, number, operation) in operations {
        timed.begins.push(at);
        timed.activity_of.push(number);
        timed.program.operations.push(operation);
    }
    timed.program.check()?;
    if content::divides_units(&timed.program) {
        return Err(ActivitiesError::Units);
    }
    Ok(timed)
}

impl Activity {
    fn error(&self, what: String) -> ActivitiesError {
        ActivitiesError::Activity {
            activity: self.name.clone(),
            what,
        }
    }

    /// The operations of lines with these numbers.
    fn expand(
        &self,
        lines: &[String],
        numbers: (u32, u32),
    ) -> Result<Vec<Operation>, ActivitiesError> {
        let mut operations = Vec::new();
        for line in lines {
            let expanded = expand(line, numbers);
            let Some(text) = expanded.map_err(|what| self.error(what))? else {
                continue;
            };
            let operation = text.parse::<Operation>();
            operations.push(operation.map_err(|error| self.error(error.reason))?);
        }
        Ok(operations)
    }
}

/// A line with the numbers of its repetition and time; none if one would be negative.
fn expand(line: &str, (n, t): (u32, u32)) -> Result<Option<String>, String> {
    let mut text = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('{') {
        let refused = || format!("`{line}`: write {{n}}, {{t}}, {{n%8}} or {{n-8}}");
        let (inside, after) = after.split_once('}').ok_or_else(refused)?;
        let value = match inside.split_at_checked(1) {
            Some(("n", _)) => n,
            Some(("t", _)) => t,
            _ => return Err(refused()),
        };
        let operand = |text: &str| text.parse::<u32>().map_err(|_| refused());
        let value = match inside[1..].split_at_checked(1) {
            None => value,
            Some(("%", by)) => value.checked_rem(operand(by)?).ok_or_else(refused)?,
            Some(("-", by)) => match value.checked_sub(operand(by)?) {
                Some(value) => value,
                None => return Ok(None),
            },
            Some(_) => return Err(refused()),
        };
        text += before;
        text += &value.to_string();
        rest = after;
    }
    Ok(Some(text + rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn the_activities_of_this_program_can_succeed_and_are_in_the_order_of_their_times() {
        let timed = parse(DEFAULT, MINUTE).unwrap();
        let (setup, operations) = (timed.program.setup.len(), timed.program.operations.len());
        assert_eq!(operations, timed.begins.len());
        assert_eq!(setup + operations, timed.activity_of.len());
        assert!(timed.begins.is_sorted());
        for activity in 0..timed.activities.len() {
            assert!(timed.activity_of[setup..].contains(&activity));
        }
    }

    #[test]
    fn a_line_has_the_numbers_of_its_repetition() {
        let expand = |line| expand(line, (9, 2)).unwrap();
        assert_eq!(expand("create d/{t}/{n}").unwrap(), "create d/2/9");
        assert_eq!(expand("unlink {n%4}.{n-9}").unwrap(), "unlink 1.0");
        assert_eq!(expand("unlink {n-10}"), None);
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_with_the_reason() {
        let check = |text: &str, reason: &str| {
            let error = parse(text, MINUTE).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        };
        let with = |every: &str, operation: &str| {
            format!(
                "[[activity]]\nname = \"a\"\nevery_ms = {every}\noperations = [\"{operation}\"]"
            )
        };
        check("", "no activity");
        check(&with("0", "sync"), "at least 1");
        check(&with("1", "sync"), "Raise every_ms");
        check(&with("1000", "create {x}"), "{n%8}");
        check(&with("1000", "create {n%0}"), "{n%8}");
        check(&with("1000", "leap f"), "leap");
        check(&with("1000", "create f"), "exists already");
    }
}
