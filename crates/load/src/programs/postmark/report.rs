//! Parses the final report of postmark line by line.
//!
//! It counts whole seconds, and prints 1 for 0. So rates are recomputed from the count and its
//! seconds, and omitted if there are too few seconds.

use crate::programs::ProgramReport;
use crate::programs::printed::{decimal, places, whole};
use fsdyno_model::sample::{Better, Figure};
use fsdyno_model::warning::{Warning, WarningKind};

/// The names of its figures.
pub(super) const NAMES: [&str; 11] = [
    "transactions",
    "created",
    "created alone",
    "created in transactions",
    "read",
    "appended",
    "deleted",
    "deleted alone",
    "deleted in transactions",
    "data read",
    "data written",
];

/// The minimum time of a rate. With fewer seconds, a rate may be wrong by more than 25 %: it is
/// omitted.
const MIN_SECONDS: u64 = 5;
/// With fewer seconds, a warning has the possible error of a rate.
const EXACT_SECONDS: u64 = 20;

/// The report, line by line, from the line `Time:` on.
struct Report<'a> {
    lines: std::str::Split<'a, char>,
}

impl<'a> Report<'a> {
    /// The values of the placeholders in a pattern that the next line must match.
    fn places(&mut self, pattern: &str) -> Result<Vec<&'a str>, String> {
        let wanted = || pattern.trim().replace("{}", "..");
        let line = self.lines.next();
        let line = line.ok_or_else(|| format!("it ends before `{}`", wanted()))?;
        places(line, pattern).ok_or_else(|| format!("`{}` is not `{}`", line.trim(), wanted()))
    }

    fn wholes<const N: usize>(&mut self, pattern: &str) -> Result<[u64; N], String> {
        let found = self.places(pattern)?;
        let numbers: Option<Vec<u64>> = found.iter().map(|text| whole(text)).collect();
        numbers
            .and_then(|numbers| numbers.try_into().ok())
            .ok_or_else(|| format!("no numbers are in {found:?}"))
    }

    /// A count, and the seconds from its rate.
    fn counted(&mut self, what: &str) -> Result<(u64, Option<u64>), String> {
        let [count, rate] = self.wholes(&format!("\t{what} ({{}} per second)"))?;
        Ok((count, seconds(count, rate)))
    }

    /// Bytes: `164.37 megabytes read (1.34 megabytes per second)`.
    fn bytes(&mut self, verb: &str) -> Result<f64, String> {
        let found = self.places(&format!("\t{{}} {{}} {verb} ({{}} {{}} per second)"))?;
        let bytes = match found[..] {
            [number, unit, rate, unit_of_rate] => decimal(rate)
                .and_then(|_| factor(unit_of_rate))
                .and_then(|_| Some(decimal(number)? * factor(unit)?)),
            _ => None,
        };
        bytes.ok_or_else(|| format!("`{}` are no bytes", found.join(" ")))
    }
}

fn factor(unit: &str) -> Option<f64> {
    match unit {
        "bytes" => Some(1.0),
        "kilobytes" => Some(1024.0),
        "megabytes" => Some(1_048_576.0),
        "gigabytes" => Some(1_073_741_824.0),
        "terabytes" => Some(1_099_511_627_776.0),
        _ => None,
    }
}

/// The whole seconds that give a truncated rate; none if several would.
fn seconds(count: u64, rate: u64) -> Option<u64> {
    let most = count.checked_div(rate)?;
    let fits = |seconds: u64| seconds > 0 && count / seconds == rate;
    (fits(most) && !fits(most - 1)).then_some(most)
}

/// The reported and the omitted rates.
#[derive(Default)]
struct Rates {
    report: ProgramReport,
    short: Vec<&'static str>,
    /// The reported rates with a warning, and the minimum of their seconds.
    rough: Option<u64>,
}

impl Rates {
    /// Adds a rate; nothing for a count of zero.
    fn add(&mut self, name: &'static str, unit: &str, amount: f64, seconds: Option<u64>) {
        if amount <= 0.0 {
            return;
        }
        match seconds.filter(|seconds| *seconds >= MIN_SECONDS) {
            None => self.short.push(name),
            Some(seconds) => {
                if seconds < EXACT_SECONDS {
                    self.rough = Some(self.rough.unwrap_or(seconds).min(seconds));
                }
                #[expect(clippy::cast_precision_loss, reason = "2^53 seconds are ages")]
                let rate = amount / seconds as f64;
                self.report
                    .figures
                    .push(Figure::new(name, rate, unit, Better::Higher));
            }
        }
    }

    fn into_report(mut self) -> ProgramReport {
        let advice = "raise number and transactions";
        if !self.short.is_empty() {
            self.report.warnings.push(Warning::new(
                WarningKind::TooShort,
                format!(
                    "postmark counts whole seconds, and there were fewer than {MIN_SECONDS} for {}",
                    self.short.join(", ")
                ),
                format!("no figures are reported of these: {advice}"),
            ));
        }
        if let Some(seconds) = self.rough {
            self.report.warnings.push(Warning::new(
                WarningKind::Imprecise,
                format!("postmark counts whole seconds: {seconds} of them may be one more or less"),
                format!(
                    "its figures are wrong by up to {} %: {advice}",
                    100 / (seconds - 1)
                ),
            ));
        }
        self.report
    }
}

pub(super) fn read(text: &str) -> Result<ProgramReport, String> {
    let at = text.find("\nTime:\n").ok_or("there is no report in it")?;
    let mut report = Report {
        lines: text[at + 1..].split('\n'),
    };
    report.places("Time:")?;
    let [total] = report.wholes("\t{} seconds total")?;
    let pattern = "\t{} seconds of transactions ({} per second)";
    let [transacting, rate] = report.wholes(pattern)?;
    report.places("")?;
    report.places("Files:")?;
    let created = report.counted("{} created")?;
    let created_alone = report.counted("\tCreation alone: {} files")?;
    let created_mixed = report.counted("\tMixed with transactions: {} files")?;
    let read = report.counted("{} read")?;
    let appended = report.counted("{} appended")?;
    let deleted = report.counted("{} deleted")?;
    let deleted_alone = report.counted("\tDeletion alone: {} files")?;
    let deleted_mixed = report.counted("\tMixed with transactions: {} files")?;
    report.places("")?;
    report.places("Data:")?;
    let (bytes_read, bytes_written) = (report.bytes("read")?, report.bytes("written")?);
    report.places("pm>")?;
    for (all, alone, mixed) in [
        (created, created_alone, created_mixed),
        (deleted, deleted_alone, deleted_mixed),
    ] {
        if alone.0.checked_add(mixed.0) != Some(all.0) {
            return Err(format!(
                "{} and {} files are not {}",
                alone.0, mixed.0, all.0
            ));
        }
    }
    if total < transacting || created.0 == 0 {
        return Err("its report contradicts itself".to_owned());
    }
    #[expect(clippy::cast_precision_loss, reason = "2^53 files take ages")]
    let amount = |count: u64| count as f64;
    let (all, within) = (Some(total), Some(transacting));
    let mut rates = Rates::default();
    rates.add(
        "transactions",
        "1/s",
        // Truncated once, by less than one per second.
        amount(rate) * amount(transacting),
        within,
    );
    for (name, count, seconds) in [
        ("created", created.0, all),
        ("created alone", created_alone.0, created_alone.1),
        ("created in transactions", created_mixed.0, within),
        ("read", read.0, within),
        ("appended", appended.0, within),
        ("deleted", deleted.0, all),
        ("deleted alone", deleted_alone.0, deleted_alone.1),
        ("deleted in transactions", deleted_mixed.0, within),
    ] {
        rates.add(name, "files/s", amount(count), seconds);
    }
    rates.add("data read", "KiB/s", bytes_read / 1024.0, all);
    rates.add("data written", "KiB/s", bytes_written / 1024.0, all);
    Ok(rates.into_report())
}

#[cfg(test)]
mod tests {
    use super::super::POSTMARK;
    use super::*;
    use crate::programs::outputs::{self, seen};

    const REAL: &str = include_str!("../../../tests/outputs/postmark.txt");
    const SHORT: &str = include_str!("../../../tests/outputs/postmark-too-short.txt");
    /// An output that shows the settings first.
    const SHOWN: &str = include_str!("../../../tests/outputs/postmark-subdirectories.txt");

    #[test]
    fn a_real_output_gives_rates_over_its_seconds() {
        let report = read(REAL).unwrap();
        assert_eq!(seen(&report, "transactions"), Some(2608.0));
        assert_eq!(seen(&report, "created"), Some(70_018.0 / 123.0));
        assert_eq!(seen(&report, "deleted alone"), Some(40_036.0 / 96.0));
        assert_eq!(seen(&report, "read"), Some(29_919.0 / 23.0));
        assert_eq!(seen(&report, "data written"), Some(399.90 * 1024.0 / 123.0));
        // 40,000 files in 4 seconds.
        assert_eq!(seen(&report, "created alone"), None);
        assert!(report.warnings[0].message.ends_with("for created alone"));
        assert_eq!((report.figures.len(), report.warnings.len()), (10, 1));
    }

    #[test]
    fn rates_over_zero_seconds_are_omitted_with_a_warning() {
        let report = read(SHORT).unwrap();
        assert!(report.figures.is_empty());
        let message = &report.warnings[0].message;
        assert!(message.contains("transactions, created,"), "{message}");
        // Nothing was appended, which is not too short.
        assert!(!message.contains("appended"), "{message}");
    }

    #[test]
    fn a_phase_of_few_seconds_is_a_warning() {
        // The same work, done in 6 seconds instead of 23.
        let text = REAL
            .replace(
                "\t23 seconds of transactions (2608 ",
                "\t6 seconds of transactions (10000 ",
            )
            .replace("1305 per", "5003 per")
            .replace("1303 per", "4997 per");
        let report = read(&text).unwrap();
        assert_eq!(seen(&report, "transactions"), Some(10_000.0));
        let rough = &report.warnings[1];
        assert_eq!(rough.kind, WarningKind::Imprecise);
        assert!(rough.advice.contains("up to 20 %"), "{}", rough.advice);
    }

    #[test]
    fn seconds_are_derived_from_a_count_and_its_rate() {
        for (count, rate, found) in [
            (40_036, 417, Some(96)),
            (500, 500, Some(1)),
            (10, 2, None),
            (5, 0, None),
            (0, 0, None),
            (7, 8, None),
        ] {
            assert_eq!(seconds(count, rate), found, "{count} at {rate}");
        }
    }

    #[test]
    fn truncated_or_broken_outputs_give_no_figure() {
        for text in [REAL, SHORT, SHOWN] {
            outputs::truncated_output_gives_an_error(&POSTMARK, text, text.len());
            outputs::broken_it_gives_no_other_figure(&POSTMARK, text);
        }
        let wrong = REAL.replace("alone: 40000 files", "alone: 40001 files");
        assert!(read(&wrong).unwrap_err().contains("are not 70018"));
    }
}
