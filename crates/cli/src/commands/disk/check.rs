//! `disk check`: compares a profile with its data sheet, and fitted seek curves with a measured
//! one.

use super::args::CheckArgs;
use super::profile;
use crate::exit::{CliError, Code};
use crate::output;
use fsdyno_disk::check::curve::{CurveError, Fit, Measured};
use fsdyno_disk::check::{self, Check, Figure, TOLERANCE};
use fsdyno_model::units::three_digits;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;

#[derive(Serialize)]
struct Checked {
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<Check>,
    #[serde(skip_serializing_if = "Option::is_none")]
    curve: Option<Curve>,
}

/// A measured seek curve and the curves fitted to it.
#[derive(Serialize)]
struct Curve {
    points: usize,
    /// Distances whose seek times deviate far from those of their neighbours.
    outlying: Vec<u32>,
    fits: Vec<Fit>,
}

pub fn check(args: &CheckArgs) -> Result<Code, CliError> {
    let check = match &args.profile {
        Some(name) => Some(check::check(&profile(name)?).map_err(CliError::failure)?),
        None => None,
    };
    let curve = args.seek_curve.as_deref().map(curve).transpose()?;
    let agrees = check.as_ref().is_none_or(|check| check.agrees);
    let checked = Checked { check, curve };
    if args.json {
        output::json(&checked)?;
    } else {
        print(&checked)?;
    }
    Ok(Code::ok_if(agrees))
}

fn curve(path: &Path) -> Result<Curve, CliError> {
    let measured = Measured::read(path).map_err(|error| match error {
        CurveError::Unreadable { .. } => CliError::failure(error),
        CurveError::TooFew(_) => CliError::usage(error),
    })?;
    Ok(Curve {
        points: measured.len(),
        outlying: measured.outlying(),
        fits: measured.fits(),
    })
}

fn print(checked: &Checked) -> Result<(), CliError> {
    if let Some(check) = &checked.check {
        output::rows(&figures(check), output::width())?;
        output::bytes(reads(check).as_bytes())?;
        if !check.seeks.is_empty() {
            output::rows(&seeks(check), output::width())?;
        }
        output::bytes(verdict(check).as_bytes())?;
    }
    if let Some(curve) = &checked.curve {
        let mut text = format!("measured seek curve of {} points", curve.points);
        let outlying: Vec<String> = curve.outlying.iter().map(u32::to_string).collect();
        if !outlying.is_empty() {
            let _ = write!(
                text,
                "; out of line with their neighbours, and left out: at {} cylinders",
                outlying.join(", ")
            );
        }
        text.push('\n');
        for fit in &curve.fits {
            describe(fit, &mut text);
        }
        output::bytes(text.as_bytes())?;
    }
    Ok(())
}

fn percent(part: f64) -> String {
    format!("{:+.1} %", part * 100.0)
}

fn figures(check: &Check) -> Vec<Vec<String>> {
    let heading = output::words(["", "sheet", "model", "off", ""]);
    let row = |figure: &Figure| {
        let mut notes = Vec::new();
        if figure.estimated {
            notes.push("the sheet's is an estimate");
        }
        if figure.off.abs() > TOLERANCE {
            notes.push("beyond 3 %");
        }
        vec![
            figure.name.to_owned(),
            three_digits(figure.sheet),
            three_digits(figure.model),
            percent(figure.off),
            notes.join("; "),
        ]
    };
    let rows = check.figures.iter().map(row);
    std::iter::once(heading).chain(rows).collect()
}

fn reads(check: &Check) -> String {
    let Some(reads) = &check.reads else {
        return String::new();
    };
    let ms = |us: f64| three_digits(us / 1e3);
    let mut text = format!(
        "\nrandom reads of 4 KiB, one at a time: mean {} ms; {} to {}, half below {}, 99 % below {}\n",
        ms(reads.mean_us),
        ms(reads.least_us),
        ms(reads.most_us),
        ms(reads.p50_us),
        ms(reads.p99_us),
    );
    if let Some(demerit) = reads.demerit {
        let _ = writeln!(
            text,
            "demerit: {:.1} % of the mean, from the distribution that the sheet leads to",
            demerit * 100.0
        );
    }
    text + "\n"
}

fn seeks(check: &Check) -> Vec<Vec<String>> {
    let heading = output::words(["seek over cylinders", "model ms", "sheet ms"]);
    let rows = check.seeks.iter().map(|point| {
        let sheet = point.sheet_ms.map(three_digits);
        vec![
            point.cylinders.to_string(),
            three_digits(point.model_ms),
            sheet.unwrap_or_default(),
        ]
    });
    std::iter::once(heading).chain(rows).collect()
}

fn verdict(check: &Check) -> String {
    let beyond: Vec<&str> = check
        .figures
        .iter()
        .filter(|figure| figure.off.abs() > TOLERANCE)
        .map(|figure| figure.name)
        .collect();
    let name = &check.profile;
    if check.figures.is_empty() {
        format!("\n{name} has no data sheet to compare with\n")
    } else if beyond.is_empty() {
        format!("\n{name} is within 3 % of its data sheet\n")
    } else {
        format!(
            "\n{name} deviates from its data sheet by more than 3 %: {}\n",
            beyond.join(", ")
        )
    }
}

fn describe(fit: &Fit, text: &mut String) {
    let (errors, all) = (&fit.errors, &fit.errors_of_all);
    let points = fit.points.map(|distance| distance.to_string());
    let part = |part: f64| format!("{:.1} %", part * 100.0);
    let _ = writeln!(
        text,
        "\n{} through the points at {} cylinders, at the other {}:\n  \
         root mean square {}, mean {}, over random seeks {}\n  \
         {} beyond 10 %; the most {} at {} cylinders\n  \
         with all points: root mean square {}, {} of {} beyond 10 %",
        fit.form,
        points.join(", "),
        errors.count,
        part(errors.rms),
        part(errors.mean),
        part(errors.weighted),
        errors.beyond,
        part(errors.most),
        errors.most_at,
        part(all.rms),
        all.beyond,
        all.count,
    );
    let keys = fit.keys.iter();
    let keys: Vec<String> = keys
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    let _ = writeln!(
        text,
        "  seek = {{ {} = {{ {} }} }}",
        fit.form,
        keys.join(", ")
    );
}
