//! The processor time of a guest's kernel in a phase, kernel threads included, as its host counts it.
//! The clock of the guest also counts the time in which its host runs other programs; this time does
//! not.

use crate::sample::{Better, Figure, Sample};
use crate::units::Nanos;

/// The name of the figure of a sample.
const NAME: &str = "guest kernel time";

/// A time as a figure of a sample.
pub fn figure(time: Nanos) -> Figure {
    Figure::new(NAME, time.0 as f64, "ns", Better::Lower)
}

/// Whether a figure is this time, and not of a program.
pub(crate) fn is_it(figure: &Figure) -> bool {
    figure.name == NAME
}

/// The time of a sample, until durable; none if its host did not measure it.
pub fn of(sample: &Sample) -> Option<Nanos> {
    let figure = sample.figures.iter().find(|figure| is_it(figure))?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "nanoseconds below 2^53; a float saturates"
    )]
    Some(Nanos(figure.value as u64))
}
