//! Aged: filled with files of all sizes, which are then created, extended, truncated and removed
//! until the bytes written reach the requested multiple of their size.

use super::churn::{Churn, Counts, Operation};
use super::error::StateError;
use super::plain::{check_utilisation, fill_to};
use super::{Method, Work};

/// A churn of files.
pub static AGED: Method = Method {
    name: "aged",
    typed: "--age 5",
    title: "creates, deletes, appends and truncates, files of all sizes",
    applies: |state| state.age > 0 && state.fill_permille.is_some(),
    run: age,
};

/// The size of the files that fill the last gap: about the mean of the churn's.
pub(super) const CLOSING: u64 = 128 << 10;

fn age(work: &mut Work<'_>) -> Result<String, StateError> {
    let space = work.files.space()?;
    let budget = space.missing(work.permille);
    let mut ageing = Ageing {
        churn: Churn::new(work.seed.part("churn"), budget),
        // Metadata is additional.
        high: budget - budget / 32,
        refusals: 0,
    };
    let times = u64::from(work.age) + 1;
    work.files.expect(ageing.high.saturating_mul(times));
    ageing.fill(work)?;
    let filled = work.files.written;
    let held = work.files.held;
    work.files.expect(held.saturating_mul(u64::from(work.age)));
    ageing.churn(work, filled + held.saturating_mul(u64::from(work.age)))?;
    let churned = work.files.written - filled;
    let counts = ageing.churn.counts;
    close(work, &mut ageing)?;
    let Counts {
        creates,
        appends,
        truncates,
        deletes,
    } = counts;
    let times = if work.age == 1 {
        "once".to_owned()
    } else {
        format!("{} times", work.age)
    };
    Ok(format!(
        "aged: written anew {times} over ({} by {creates} creates, {deletes} deletes, {appends} \
         appends, {truncates} truncates)",
        fsdyno_model::Bytes(churned)
    ))
}

/// A churn in progress on a file system.
struct Ageing {
    churn: Churn,
    /// The maximum of stored bytes.
    high: u64,
    /// How often the file system had no space unexpectedly.
    refusals: u32,
}

impl Ageing {
    /// Creates files until it is full.
    fn fill(&mut self, work: &mut Work<'_>) -> Result<(), StateError> {
        loop {
            let operation = self.churn.next(self.high, self.high);
            self.carry_out(work, operation)?;
            if matches!(
                operation,
                Operation::Delete { .. } | Operation::Truncate { .. }
            ) {
                // The file system is full for the first time.
                return self.settle(work);
            }
        }
    }

    /// Runs the churn until this number of bytes is written.
    fn churn(&mut self, work: &mut Work<'_>, until: u64) -> Result<(), StateError> {
        let stretch = (self.high / 16).max(16 << 20);
        let mut next_settle = work.files.written + stretch;
        while work.files.written < until {
            let operation = self.churn.next(self.low(), self.high);
            self.carry_out(work, operation)?;
            if work.files.written >= next_settle {
                next_settle = work.files.written + stretch;
                self.settle(work)?;
            }
        }
        Ok(())
    }

    fn low(&self) -> u64 {
        self.high - self.high / 16
    }

    /// Lets the file system write and free deferred data. Keeps it below the requested utilisation
    /// if metadata took more than expected.
    fn settle(&mut self, work: &Work<'_>) -> Result<(), StateError> {
        let space = work.files.space()?;
        let beyond = space.beyond(work.permille);
        if beyond > 0 {
            self.high = self.high.saturating_sub(beyond + space.tolerance());
        }
        Ok(())
    }

    /// Performs an operation. After an out-of-space error it is retried once, after deferred frees.
    /// After that, the maximum is reduced.
    fn carry_out(&mut self, work: &mut Work<'_>, operation: Operation) -> Result<(), StateError> {
        const MAX_REFUSALS: u32 = 100;
        let Err(error) = act(work, operation) else {
            return Ok(());
        };
        if !error.is_full() || self.refusals >= MAX_REFUSALS {
            return Err(error);
        }
        self.refusals += 1;
        work.files.space()?;
        match act(work, operation) {
            Err(error) if error.is_full() => {
                if matches!(
                    operation,
                    Operation::Delete { .. } | Operation::Truncate { .. }
                ) {
                    return Err(error);
                }
                self.churn.undo(operation);
                self.high = self.high.min(self.churn.held);
                self.high -= self.high / 32;
                Ok(())
            }
            outcome => outcome,
        }
    }
}

fn act(work: &mut Work<'_>, operation: Operation) -> Result<(), StateError> {
    let files = &mut work.files;
    match operation {
        Operation::Create { number, size } => files.create(number, size.into()),
        Operation::Append {
            number,
            from,
            bytes,
        } => files.append(number, from.into(), bytes.into()),
        Operation::Truncate { number, from, to } => files.truncate(number, from.into(), to.into()),
        Operation::Delete { number, size } => files.remove(number, size.into()),
    }
}

/// Changes the utilisation from that of the churn to the requested one.
fn close(work: &mut Work<'_>, ageing: &mut Ageing) -> Result<(), StateError> {
    const ROUNDS: u32 = 8;
    // Once all is written, cutting a file at its end writes nothing.
    work.files.space()?;
    for (number, size) in ageing.churn.live() {
        work.files.trim(number, size)?;
    }
    for _ in 0..ROUNDS {
        let space = work.files.space()?;
        let beyond = space.beyond(work.permille);
        if beyond <= space.tolerance() {
            break;
        }
        let until = ageing.churn.held.saturating_sub(beyond);
        while ageing.churn.held > until {
            let operation = ageing.churn.next(0, 0);
            ageing.carry_out(work, operation)?;
        }
    }
    work.files.number_from(ageing.churn.made);
    let outcome = fill_to(&mut work.files, work.permille, CLOSING, &mut |_, _| {})?;
    check_utilisation(work, outcome)
}
