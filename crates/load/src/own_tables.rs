//! Tables of the user for `report --against`: CSV, and the results of fio, bonnie++ and hyperfine. The
//! content decides which of them a file is.

use crate::programs;
use fsdyno_model::figure_unit::normalised;
use fsdyno_model::figures::NANOSECONDS;
use fsdyno_model::{OwnFigure, OwnPhase, OwnTable};
use serde_json::Value;
use std::collections::BTreeMap;

/// The columns of a table in CSV; the last two may be missing.
const COLUMNS: [&str; 5] = ["contender", "figure", "value", "phase", "unit"];

const FORMS: &str = "write CSV with the columns contender,phase,figure,value,unit, or name the JSON of fio \
                     or hyperfine, or the CSV of bonnie++";

/// Reads a table of a file with this name, without its extension the contender of results that name
/// none. The error begins with the line, if one is wrong.
pub fn read(name: &str, text: &str) -> Result<OwnTable, String> {
    let contender = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // Programs may print messages before their JSON.
    let is_json = text.lines().any(|line| line.starts_with('{'));
    let figures = if is_json {
        of_json(contender, text)?
    } else if text.lines().any(is_of_bonnie) {
        of_bonnie(contender, text)?
    } else {
        of_csv(text)?
    };
    if figures.is_empty() {
        return Err(format!("it has no figures: {FORMS}"));
    }
    Ok(OwnTable {
        name: name.to_owned(),
        figures,
    })
}

fn of_json(contender: &str, text: &str) -> Result<Vec<OwnFigure>, String> {
    let start = text.find('{').unwrap_or(0);
    let document: Value = serde_json::from_str(text[start..].trim_end()).map_err(|error| {
        let before = text[..start].matches('\n').count();
        format!("line {}: {error}", before + error.line())
    })?;
    if document["jobs"].is_array() {
        return of_program("fio", contender, text);
    }
    match document["results"].as_array() {
        Some(results) => of_hyperfine(contender, results),
        None => Err(format!(
            "it has neither `jobs` (fio) nor `results` (hyperfine): {FORMS}"
        )),
    }
}

/// The figures that a program has printed.
fn of_program(program: &str, contender: &str, text: &str) -> Result<Vec<OwnFigure>, String> {
    let known = programs::find(program).ok_or_else(|| format!("{program} is not known"))?;
    let report = known.parse(text).map_err(|error| error.to_string())?;
    let figures = report.figures.into_iter().map(|figure| {
        let (value, unit) = normalised(figure.value, &figure.unit);
        OwnFigure {
            contender: contender.to_owned(),
            phase: OwnPhase::Reporting,
            name: figure.name,
            value,
            unit,
        }
    });
    Ok(figures.collect())
}

/// Whether a line has the form of bonnie++: two versions come first.
fn is_of_bonnie(line: &str) -> bool {
    let mut fields = line.split(',');
    let is_version = |field: Option<&str>| {
        let mut parts = field.unwrap_or_default().splitn(2, '.');
        let (major, minor) = (parts.next(), parts.next());
        major.is_some_and(|part| part.parse::<u8>().is_ok())
            && minor.is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()))
    };
    is_version(fields.next()) && is_version(fields.next()) && fields.count() > 10
}

fn of_bonnie(contender: &str, text: &str) -> Result<Vec<OwnFigure>, String> {
    let lines = || {
        text.lines()
            .enumerate()
            .filter(|(_, line)| is_of_bonnie(line))
    };
    let several = lines().count() > 1;
    let mut figures = Vec::new();
    for (number, line) in lines() {
        // With several lines, the name of the machine is that of the contender.
        let machine = line.split(',').nth(2).filter(|_| several);
        let read = of_program(
            "bonnie++",
            machine.unwrap_or(contender),
            &format!("{line}\n"),
        );
        figures.extend(read.map_err(|error| format!("line {}: {error}", number + 1))?);
    }
    Ok(figures)
}

fn of_hyperfine(contender: &str, results: &[Value]) -> Result<Vec<OwnFigure>, String> {
    let mut figures = Vec::new();
    for (number, result) in results.iter().enumerate() {
        let command = result["command"].as_str();
        let command = command.ok_or_else(|| format!("result {number} has no `command`"))?;
        for (key, name) in [("median", "return"), ("user", "user"), ("system", "system")] {
            let seconds = result[key].as_f64().filter(|seconds| *seconds >= 0.0);
            let Some(seconds) = seconds else {
                return Err(format!("result {number} (`{command}`) has no `{key}`"));
            };
            figures.push(OwnFigure {
                contender: contender.to_owned(),
                phase: OwnPhase::Command(command.to_owned()),
                name: name.to_owned(),
                value: seconds * 1e9,
                unit: NANOSECONDS.to_owned(),
            });
        }
    }
    Ok(figures)
}

fn of_csv(text: &str) -> Result<Vec<OwnFigure>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .comment(Some(b'#'))
        .from_reader(text.as_bytes());
    let at = |error: csv::Error| match (error.position(), error.kind()) {
        (
            Some(position),
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            },
        ) => format!(
            "line {}: it has {len} fields, and the first line {expected_len}",
            position.line()
        ),
        (Some(position), _) => format!("line {}: {error}", position.line()),
        (None, _) => error.to_string(),
    };
    let header = reader.headers().map_err(at)?.clone();
    let mut places = BTreeMap::new();
    for (place, name) in header.iter().enumerate() {
        let known = COLUMNS.contains(&name) && places.insert(name, place).is_none();
        if !known {
            return Err(format!(
                "line 1: `{name}` is no column, or is there twice: {FORMS}"
            ));
        }
    }
    if let Some(missing) = COLUMNS[..3].iter().find(|name| !places.contains_key(*name)) {
        return Err(format!("line 1: there is no column `{missing}`: {FORMS}"));
    }
    let mut figures = Vec::new();
    for record in reader.records() {
        let record = record.map_err(at)?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |name: &str| {
            let place = places.get(name);
            place
                .and_then(|place| record.get(*place))
                .unwrap_or_default()
        };
        if let Some(empty) = COLUMNS[..3].iter().find(|name| field(name).is_empty()) {
            return Err(format!("line {line}: `{empty}` is empty"));
        }
        let value = field("value").parse().ok();
        let read = value.map(|value: f64| normalised(value, field("unit")));
        let read = read.filter(|(value, _)| value.is_finite());
        let (value, unit) = read.ok_or_else(|| {
            format!(
                "line {line}: `{}` is no number; its unit has a column of its own",
                field("value")
            )
        })?;
        figures.push(OwnFigure {
            contender: field("contender").to_owned(),
            phase: match field("phase") {
                "" => OwnPhase::Reporting,
                phase => OwnPhase::Named(phase.to_owned()),
            },
            name: field("figure").to_owned(),
            value,
            unit,
        });
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contender, phase, figure, value and unit of each figure.
    fn lines(name: &str, text: &str) -> Vec<String> {
        let figures = read(name, text).unwrap().figures.into_iter();
        let lines = figures.map(|one| {
            let phase = match one.phase {
                OwnPhase::Named(phase) => phase,
                OwnPhase::Reporting => "*".to_owned(),
                OwnPhase::Command(command) => format!("${command}"),
            };
            let value = (one.value * 1000.0).round() / 1000.0;
            format!(
                "{} {phase} {} {value} {}",
                one.contender, one.name, one.unit
            )
        });
        lines.collect()
    }

    #[test]
    fn a_table_in_csv_has_its_columns_in_any_order() {
        let text = "# my server\nphase, contender,figure,value,unit\ncopy,ext4,durable,1.5,s\n\
                    ,xfs,\"randread, read\",20,MiB/s\nread,ext4,flushes,7,\n";
        let expected = [
            "ext4 copy durable 1500000000 ns",
            "xfs * randread, read 20971520 B/s",
            "ext4 read flushes 7 ",
        ];
        assert_eq!(lines("x.csv", text), expected);
    }

    #[test]
    fn results_of_programs_are_read_and_belong_to_the_contender_of_the_file_name() {
        let fio = lines(
            "ext4.json",
            include_str!("../tests/outputs/fio-sections.json"),
        );
        assert!(fio[0].starts_with("ext4 * "), "{fio:?}");
        let bonnie = include_str!("../tests/outputs/bonnie-short.csv");
        let of_bonnie = lines("xfs.csv", bonnie);
        assert_eq!(of_bonnie[0], "xfs * char write 579584 B/s");
        let both = bonnie.replace(",fsdyno,", ",one,") + &bonnie.replace(",fsdyno,", ",two,");
        let of_both = lines("xfs.csv", &both);
        assert_eq!(of_both.len(), 2 * of_bonnie.len());
        assert!(of_both[0].starts_with("one ") && of_both[of_bonnie.len()].starts_with("two "));
        let hyperfine = "{\"results\": [{\"command\": \"make -j2\", \"mean\": 1, \"median\": 1.25, \
                         \"user\": 0.5, \"system\": 0.25, \"times\": [1.25]}]}";
        let expected = [
            "btrfs $make -j2 return 1250000000 ns",
            "btrfs $make -j2 user 500000000 ns",
            "btrfs $make -j2 system 250000000 ns",
        ];
        assert_eq!(lines("btrfs.json", hyperfine), expected);
    }

    #[test]
    fn a_mistake_is_named_with_its_line() {
        let broken =
            include_str!("../tests/outputs/bonnie-short.csv").replacen(",566,", ",5x6,", 1);
        for (text, message) in [
            ("", "there is no column `contender`"),
            ("contender,figure,value\n", "it has no figures"),
            (
                "contender,figure,value,speed\n",
                "line 1: `speed` is no column",
            ),
            ("contender,figure,figure\n", "is there twice"),
            (
                "contender,figure,value\next4,durable\n",
                "line 2: it has 2 fields",
            ),
            (
                "contender,figure,value\na,b,1\next4,,3\n",
                "line 3: `figure` is empty",
            ),
            (
                "contender,figure,value\next4,durable,3 s\n",
                "line 2: `3 s` is no number",
            ),
            (
                "contender,figure,value\next4,durable,nan\n",
                "line 2: `nan` is no number",
            ),
            ("{\n\"jobs\": [\n}", "line 3: expected value"),
            ("{\"jobs\": []}", "jobs"),
            ("{\"rows\": []}", "neither `jobs` (fio)"),
            ("{\"results\": [{\"command\": \"x\"}]}", "has no `median`"),
            (&broken, "line 1: "),
        ] {
            let error = read("x", text).expect_err(text);
            assert!(error.contains(message), "{text}: {error}");
        }
    }
}
