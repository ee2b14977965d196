//! Fits prices to measured times by the distance d = |log(predicted / measured)|, so that a stat of
//! 1 us counts as much as a write of 1 ms, and half the time is as wrong as twice the time. The sum
//! of log(1 + (d / 0.2)^2) is least (Cauchy's loss): an operation that the model cannot describe, or
//! that was disturbed, does not move the prices of the others.

use crate::{Prices, Work};
use fsdyno_stats::{median, rank_correlation};

/// An operation on a file system: what it takes, and how long that took on the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The operation and the file system.
    pub name: String,
    /// The counts of the guest's kernel.
    pub work: Work,
    /// The processor time that it took on the machine, in nanoseconds.
    pub measured_ns: f64,
}

/// The reason why prices cannot be fitted.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum FitError {
    #[error("{cells} cells do not determine {} prices; at least {} are needed", Prices::COUNT, 2 * Prices::COUNT)]
    TooFew {
        /// How many there are.
        cells: usize,
    },
}

/// How well prices predict.
#[derive(Debug, Clone, PartialEq)]
pub struct Accuracy {
    /// For each cell, predicted over measured time.
    pub ratios: Vec<f64>,
    /// The median of the relative errors: 0.15 is 15 %.
    pub median_error: f64,
    /// The share of cells within a factor of 1.5.
    pub within_half: f64,
    /// Spearman's rank correlation of predicted and measured times.
    pub rank_correlation: f64,
}

impl Accuracy {
    /// The factor within which a prediction is close.
    pub const CLOSE: f64 = 1.5;

    /// Whether the ratio of predicted to measured time is close.
    pub fn is_close(ratio: f64) -> bool {
        (1.0 / Self::CLOSE..=Self::CLOSE).contains(&ratio)
    }
}

/// Steps of the reweighting. The prices of 130 measured cells settle within 40.
const STEPS: usize = 60;

/// The distance from which on an operation counts less: that of an error of 20 %.
const SCALE: f64 = 0.2;

/// A weighted equation: its counts, and its target.
type Row = ([f64; Prices::COUNT], f64);

/// The prices that fit best to this price of a byte searched.
///
/// It is measured separately, by the difference of a search and a read of the same files: it is less
/// than the errors of both.
pub fn fit(cells: &[Cell], search_ns: f64) -> Result<Prices, FitError> {
    let searched = Prices {
        search_ns,
        ..Prices::default()
    };
    let of_kernel = |cell: &Cell| {
        let mut cell = cell.clone();
        cell.measured_ns -= cell.work.at(&searched);
        cell.work.0[Prices::COUNT - 1] = 0.0;
        cell
    };
    let cells: Vec<Cell> = cells.iter().map(of_kernel).collect();
    let usable: Vec<&Cell> = cells.iter().filter(|cell| cell.measured_ns > 0.0).collect();
    if usable.len() < 2 * Prices::COUNT {
        return Err(FitError::TooFew {
            cells: usable.len(),
        });
    }
    // Least squares on the relative error is a start; then each equation has the weight that turns
    // its square into the loss.
    let relative = usable.iter().map(|cell| row(cell, 1.0 / cell.measured_ns));
    let mut prices = least_squares(&relative.collect::<Vec<_>>(), [0.0; Prices::COUNT]);
    for _ in 0..STEPS {
        let rows: Vec<Row> = usable
            .iter()
            .map(|cell| {
                let predicted = cell.work.at(&Prices::of(prices));
                let predicted = predicted.max(cell.measured_ns * 1e-3);
                let distance = (predicted / cell.measured_ns).ln();
                let loss = SCALE * SCALE + distance * distance;
                row(cell, 1.0 / (cell.measured_ns * predicted * loss).sqrt())
            })
            .collect();
        prices = least_squares(&rows, prices);
    }
    Ok(Prices {
        search_ns,
        ..Prices::of(prices)
    })
}

fn row(cell: &Cell, weight: f64) -> Row {
    let counts = cell.work.0.map(|count| count * weight);
    (counts, cell.measured_ns * weight)
}

/// Non-negative least squares by cyclic coordinate descent: the problem is convex, and each step
/// has a closed form.
fn least_squares(rows: &[Row], mut prices: [f64; Prices::COUNT]) -> [f64; Prices::COUNT] {
    let predicted = |row: &Row, prices: &[f64]| -> f64 {
        row.0
            .iter()
            .zip(prices)
            .map(|(count, price)| count * price)
            .sum()
    };
    let mut rest: Vec<f64> = rows
        .iter()
        .map(|row| row.1 - predicted(row, &prices))
        .collect();
    for _ in 0..3000 {
        let mut moved = 0.0_f64;
        for (at, price) in prices.iter_mut().enumerate() {
            let square: f64 = rows.iter().map(|row| row.0[at] * row.0[at]).sum();
            if square == 0.0 {
                continue;
            }
            let slope: f64 = rows
                .iter()
                .zip(&rest)
                .map(|(row, rest)| row.0[at] * rest)
                .sum();
            let next = (*price + slope / square).max(0.0);
            let step = next - *price;
            for (row, rest) in rows.iter().zip(&mut rest) {
                *rest -= row.0[at] * step;
            }
            // In units of the target.
            moved = moved.max(step.abs() * square.sqrt());
            *price = next;
        }
        if moved < 1e-9 {
            break;
        }
    }
    prices
}

/// How well prices predict the cells.
pub fn accuracy(cells: &[Cell], prices: &Prices) -> Accuracy {
    let predicted: Vec<f64> = cells.iter().map(|cell| cell.work.at(prices)).collect();
    judged(cells, &predicted)
}

/// The accuracy of prices from one half of the cells on the other half, for both halves. Every
/// second cell is in the first half.
pub fn cross_validated(cells: &[Cell], search_ns: f64) -> Result<Accuracy, FitError> {
    let half = |odd: usize| {
        let chosen = cells.iter().skip(odd).step_by(2);
        fit(&chosen.cloned().collect::<Vec<_>>(), search_ns)
    };
    let [even, odd] = [half(0)?, half(1)?];
    let predicted: Vec<f64> = cells
        .iter()
        .enumerate()
        .map(|(at, cell)| cell.work.at(if at % 2 == 0 { &odd } else { &even }))
        .collect();
    Ok(judged(cells, &predicted))
}

fn judged(cells: &[Cell], predicted: &[f64]) -> Accuracy {
    let pairs = predicted.iter().zip(cells);
    let pairs: Vec<(f64, f64)> = pairs.map(|(of, cell)| (*of, cell.measured_ns)).collect();
    let ratios: Vec<f64> = pairs.iter().map(|(of, measured)| of / measured).collect();
    let errors: Vec<f64> = ratios.iter().map(|ratio| (ratio - 1.0).abs()).collect();
    let close = ratios.iter().filter(|ratio| Accuracy::is_close(**ratio));
    Accuracy {
        median_error: median(&errors).unwrap_or(f64::NAN),
        within_half: close.count() as f64 / ratios.len().max(1) as f64,
        rank_correlation: rank_correlation(&pairs).unwrap_or(f64::NAN),
        ratios,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cells(works: &[[f64; Prices::COUNT]], prices: &Prices) -> Vec<Cell> {
        let cell = |(number, work): (usize, &[f64; Prices::COUNT])| Cell {
            name: number.to_string(),
            work: Work(*work),
            measured_ns: Work(*work).at(prices),
        };
        works.iter().enumerate().map(cell).collect()
    }

    proptest! {
        #[test]
        fn exact_times_give_the_prices_back(
            works in prop::collection::vec(prop::array::uniform8(1.0_f64..1e4), 32..52),
            prices in prop::array::uniform8(0.0_f64..10.0),
        ) {
            let prices = Prices::of(prices);
            let cells = cells(&works, &prices);
            prop_assume!(cells.iter().all(|cell| cell.measured_ns > 1.0));
            let found = fit(&cells, prices.search_ns).unwrap();
            let accuracy = accuracy(&cells, &found);
            prop_assert!(accuracy.median_error < 1e-3, "{accuracy:?}");
            prop_assert!(found.all().iter().all(|price| *price >= 0.0));
        }
    }

    #[test]
    fn accuracy_has_the_values_computed_by_hand() {
        let prices = Prices {
            block_ns: 1.0,
            ..Prices::default()
        };
        let cell = |blocks: f64, measured_ns| Cell {
            name: String::new(),
            work: Work([blocks, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            measured_ns,
        };
        let cells = [
            cell(1.0, 1.0),
            cell(2.0, 4.0),
            cell(3.0, 3.0),
            cell(12.0, 10.0),
        ];
        let accuracy = accuracy(&cells, &prices);
        assert_eq!(accuracy.ratios, [1.0, 0.5, 1.0, 1.2]);
        assert!((accuracy.median_error - 0.1).abs() < 1e-12);
        assert!((accuracy.within_half - 0.75).abs() < 1e-12);
        // Ranks 1 2 3 4 against 1 3 2 4.
        assert!((accuracy.rank_correlation - 0.8).abs() < 1e-12);
    }

    #[test]
    fn too_few_cells_are_an_error() {
        let error = fit(&[], 0.0).unwrap_err().to_string();
        assert!(error.contains("at least 16"), "{error}");
    }
}
