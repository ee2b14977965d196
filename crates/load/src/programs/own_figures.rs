//! Figures that a command of the user prints: how they are found in its output, and their units.
//!
//! A specification is `NAME=REGEX`, or `NAME[UNIT,DIRECTION]=REGEX`; the first group of the regular
//! expression is the number. Without `=REGEX` the command prints a line `FIGURE NAME NUMBER UNIT`.

use super::ProgramReport;
use fsdyno_model::FigureName;
use fsdyno_model::figure_unit::normalised;
use fsdyno_model::figures::NANOSECONDS;
use fsdyno_model::sample::{Better, Figure};
use regex::Regex;

/// The number of lines of output in a message.
const LINES: usize = 5;

/// The begin of a line that states a figure.
const FIGURE: &str = "FIGURE";

#[derive(Debug)]
pub(crate) struct FigureSpec {
    pub name: String,
    unit: String,
    /// Which of two values is better, if it is specified.
    pub better: Option<Better>,
    /// Where it is in the output; none if a line of the output states it.
    pattern: Option<Regex>,
}

impl FigureSpec {
    /// Parses specifications, one a line. The error says what to write.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        let mut specs: Vec<Self> = Vec::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let spec = Self::parse(line)?;
            if specs.iter().any(|other| other.name == spec.name) {
                return Err(format!("the figure `{}` is specified twice", spec.name));
            }
            specs.push(spec);
        }
        Ok(specs)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let end = text.find(['[', '=']).unwrap_or(text.len());
        let (name, mut rest) = (text[..end].trim(), &text[end..]);
        let is_plain = |c: char| c.is_alphanumeric() || "._-/%".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!(
                "`{text}` names no figure: write NAME=REGEX, as 'tps=tps = ([0-9.]+)'"
            ));
        }
        if FigureName::new(name).definition().is_some() {
            return Err(format!(
                "`{name}` is a figure of fsdyno itself: choose another name"
            ));
        }
        let (mut unit, mut better) = (String::new(), None);
        if let Some(inner) = rest.strip_prefix('[') {
            let (inside, after) = inner
                .split_once(']')
                .ok_or_else(|| format!("`{text}` has no `]`"))?;
            rest = after;
            for word in inside.split(',').map(str::trim) {
                match direction(word) {
                    Some(direction) => better = Some(direction),
                    None => word.clone_into(&mut unit),
                }
            }
        }
        let pattern = match rest.trim_start().strip_prefix('=') {
            Some(pattern) => Some(compiled(name, pattern)?),
            None if rest.trim().is_empty() => None,
            None => return Err(format!("`{text}`: write = before the regular expression")),
        };
        let (_, normal) = normalised(1.0, &unit);
        better = better.or_else(|| usual_direction(name, &normal));
        // A line of the output may state it.
        if better.is_none() && pattern.is_some() {
            return Err(format!(
                "it is not known whether a higher or a lower `{name}` is better: write \
                 `{name}[higher]=REGEX`, `{name}[lower]=REGEX` or, not to judge by it, \
                 `{name}[none]=REGEX`"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            unit,
            better,
            pattern,
        })
    }

    fn found(&self, output: &str) -> Result<Figure, String> {
        let Some(pattern) = &self.pattern else {
            let mut lines = stated(output);
            let line = lines.rfind(|line| line.name == self.name);
            let missing = || format!("it has no line `{FIGURE} {} NUMBER UNIT`", self.name);
            let line = line.ok_or_else(missing)?;
            return self.figure(line.number, line.unit, line.better);
        };
        // Programs print their progress first, and the result last.
        let found = pattern.captures_iter(output).last().and_then(|groups| {
            let unit = groups.get(2).map_or("", |unit| unit.as_str());
            Some((groups.get(1)?.as_str(), unit))
        });
        let (number, unit) = found.ok_or_else(|| {
            format!(
                "nothing in it matches `{pattern}`, the figure {}",
                self.name
            )
        })?;
        self.figure(number, unit, None)
    }

    /// A figure from its number, which may have a unit behind it, or in a text of its own.
    fn figure(&self, text: &str, unit: &str, stated: Option<Better>) -> Result<Figure, String> {
        let wrong = || format!("`{text}` is no number for the figure {}", self.name);
        let (number, behind) = number(text).ok_or_else(wrong)?;
        let printed = if unit.is_empty() { behind } else { unit };
        let (value, unit) = match (normalised(number, printed), normalised(1.0, &self.unit)) {
            ((value, found), _) if self.unit.is_empty() => (value, found),
            ((value, found), (_, wanted)) if found == wanted => (value, wanted),
            // A prefix of the unit, or no unit.
            ((value, found), (factor, wanted)) if found.is_empty() => (value * factor, wanted),
            _ => {
                let (name, wanted) = (&self.name, &self.unit);
                return Err(format!(
                    "the figure {name} is in `{printed}`, not in `{wanted}`"
                ));
            }
        };
        let usual = || usual_direction(&self.name, &unit);
        let better = self.better.or(stated).or_else(usual);
        let better = better.ok_or_else(|| {
            format!(
                "the line of the figure {} has no `higher` or `lower`",
                self.name
            )
        })?;
        Ok(Figure::new(self.name.as_str(), value, &unit, better))
    }
}

fn compiled(name: &str, pattern: &str) -> Result<Regex, String> {
    let regex = regex::RegexBuilder::new(pattern)
        .multi_line(true)
        .build()
        .map_err(|error| format!("the regular expression of `{name}` is invalid: {error}"))?;
    if regex.captures_len() < 2 {
        return Err(format!(
            "the regular expression of `{name}` has no group: put the number in brackets, as \
             'tps = ([0-9.]+)'"
        ));
    }
    Ok(regex)
}

/// The figures of an output: those that are specified, and others that it states by lines. The error
/// names the first one that is missing, with the last lines of the output.
pub(super) fn read(specs: &[FigureSpec], output: &str) -> Result<ProgramReport, String> {
    let mut report = ProgramReport::default();
    for spec in specs {
        let figure = spec.found(output);
        let figure = figure.map_err(|missing| format!("{missing}; {}", last_lines(output)))?;
        report.figures.push(figure);
    }
    for line in stated(output) {
        let is_defined = FigureName::new(line.name).definition().is_some();
        if is_defined || report.figures.iter().any(|one| one.name == line.name) {
            continue;
        }
        let spec = FigureSpec {
            name: line.name.to_owned(),
            unit: String::new(),
            better: None,
            pattern: None,
        };
        report.figures.push(spec.found(output)?);
    }
    Ok(report)
}

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    match &lines[lines.len().saturating_sub(LINES)..] {
        [] => "it printed nothing on standard output".to_owned(),
        last => format!("its last lines are: {}", last.join(" / ")),
    }
}

/// A line that states a figure: `FIGURE tps 1234.5 1/s higher`.
struct Stated<'a> {
    name: &'a str,
    number: &'a str,
    unit: &'a str,
    better: Option<Better>,
}

fn stated(output: &str) -> impl DoubleEndedIterator<Item = Stated<'_>> {
    output.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [FIGURE, name, number, rest @ ..] = &words[..] else {
            return None;
        };
        let better = rest.last().and_then(|word| direction(word));
        let unit = rest.first().filter(|word| direction(word).is_none());
        Some(Stated {
            name,
            number,
            unit: unit.copied().unwrap_or_default(),
            better,
        })
    })
}

fn direction(word: &str) -> Option<Better> {
    match word {
        "higher" => Some(Better::Higher),
        "lower" => Some(Better::Lower),
        "none" => Some(Better::Neither),
        _ => None,
    }
}

fn usual_direction(name: &str, unit: &str) -> Option<Better> {
    const HIGHER: [&str; 11] = [
        "tps",
        "qps",
        "iops",
        "ops",
        "rate",
        "throughput",
        "bandwidth",
        "bw",
        "speed",
        "score",
        "transactions",
    ];
    const LOWER: [&str; 7] = [
        "latency", "lat", "time", "duration", "delay", "elapsed", "wait",
    ];
    if unit == NANOSECONDS {
        return Some(Better::Lower);
    }
    if unit.ends_with("/s") {
        return Some(Better::Higher);
    }
    let name = name.to_lowercase();
    let has = |words: &[&str]| {
        let mut parts = name.split(|c: char| !c.is_alphanumeric());
        parts.any(|part| words.contains(&part))
    };
    match (has(&HIGHER), has(&LOWER)) {
        (true, false) => Some(Better::Higher),
        (false, true) => Some(Better::Lower),
        _ => None,
    }
}

/// A number with optional thousands separators and exponent, and the text behind it.
fn number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let mut end = usize::from(text.starts_with(['-', '+']));
    let digits = |from: usize, also: &[u8]| {
        let is_part = |byte: &u8| byte.is_ascii_digit() || also.contains(byte);
        from + bytes[from..]
            .iter()
            .take_while(|byte| is_part(byte))
            .count()
    };
    end = digits(end, b".,");
    if let Some(b'e' | b'E') = bytes.get(end) {
        let sign = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
        let exponent = digits(sign, b"");
        if exponent > sign {
            end = exponent;
        }
    }
    let value: f64 = text[..end].replace(',', "").parse().ok()?;
    value.is_finite().then(|| (value, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PGBENCH: &str = "\
pgbench (15.14 (Debian 15.14-0+deb12u1))
progress: 5.0 s, 3301.2 tps, lat 0.302 ms stddev 0.101
transaction type: <builtin: TPC-B (sort of)>
number of transactions actually processed: 33623
latency average = 0.297 ms
initial connection time = 3.514 ms
tps = 3362.248672 (without initial connection time)
";
    const FS_MARK: &str = "\
#  ./fs_mark  -d  /mnt  -s  10240  -n  1000
FSUse%        Count         Size    Files/sec     App Overhead
     5         1000        10240       1234.5            12345
     5         2000        10240       1301.7            12001
";
    const FILEBENCH: &str = "\
60.001: Per-Operation Breakdown
60.001: IO Summary: 12345 ops 205.741 ops/s 10/20 rd/wr   1.2mb/s 24.3ms/op
";

    fn figure(spec: &str, output: &str) -> Figure {
        let specs = FigureSpec::parse_all(spec).unwrap();
        read(&specs, output).unwrap().figures.remove(0)
    }

    #[test]
    fn real_outputs_give_their_last_number_with_unit_and_direction() {
        for (spec, output, expected) in [
            (
                "tps=tps = ([0-9.]+)",
                PGBENCH,
                Figure::new("tps", 3_362.248_672, "", Better::Higher),
            ),
            (
                "tps[1/s,higher]=tps = ([0-9.]+)",
                PGBENCH,
                Figure::new("tps", 3_362.248_672, "1/s", Better::Higher),
            ),
            (
                r"lat=latency average = ([0-9.]+) (\w+)",
                PGBENCH,
                Figure::new("lat", 297_000.0, "ns", Better::Lower),
            ),
            (
                r"files[files/s]=^ +\d+ +\d+ +\d+ +([0-9.]+)",
                FS_MARK,
                Figure::new("files", 1301.7, "files/s", Better::Higher),
            ),
            (
                r"ops=([0-9.]+ ops/s)",
                FILEBENCH,
                Figure::new("ops", 205.741, "ops/s", Better::Higher),
            ),
        ] {
            let found = figure(spec, output);
            let near = (found.value - expected.value).abs() < 1e-6 * expected.value;
            assert!(near, "{spec}: {found:?}");
            let value = expected.value;
            assert_eq!(Figure { value, ..found }, expected, "{spec}");
        }
    }

    #[test]
    fn figures_of_repeats_in_different_units_compare() {
        let read = |text: &str| {
            let found = figure("x[higher]=x ([0-9.,]+ ?[A-Za-z/]*)", &format!("x {text}"));
            (found.value, found.unit)
        };
        assert_eq!(read("1.5 MiB/s"), read("1536 KiB/s"));
        assert_eq!(read("2 s"), read("2,000ms"));
        assert_eq!(read("3.5k"), (3500.0, String::new()));
        assert_eq!(read("4 kB"), (4000.0, "B".to_owned()));
        assert_eq!(read("7 apples"), (7.0, "apples".to_owned()));
        let declared = |unit: &str, text: &str| {
            let specs = FigureSpec::parse_all(&format!("x[{unit},lower]=x (.*)")).unwrap();
            super::read(&specs, &format!("x {text}")).map(|report| report.figures[0].value)
        };
        assert_eq!(declared("ms", "1.5"), Ok(1.5e6));
        assert_eq!(declared("ms", "2 s"), Ok(2e9));
        assert_eq!(declared("1/s", "2k"), Ok(2000.0));
        assert!(declared("ms", "2 MiB").unwrap_err().contains("not in `ms`"));
    }

    #[test]
    fn a_program_states_figures_by_lines() {
        let output = "noise\nFIGURE tps 1234.5 1/s\nFIGURE stall 12 ms lower\nFIGURE x 5 higher\n";
        let report = read(&FigureSpec::parse_all("tps").unwrap(), output).unwrap();
        let expected = [
            Figure::new("tps", 1234.5, "1/s", Better::Higher),
            Figure::new("stall", 12e6, "ns", Better::Lower),
            Figure::new("x", 5.0, "", Better::Higher),
        ];
        assert_eq!(report.figures, expected);
    }

    #[test]
    fn a_missing_number_is_an_error_with_the_last_lines() {
        let specs = FigureSpec::parse_all("tps=tps = ([0-9.]+)").unwrap();
        let error = read(&specs, "pgbench: error\nconnection refused\n").unwrap_err();
        assert!(error.contains("`tps = ([0-9.]+)`"), "{error}");
        assert!(
            error.ends_with("pgbench: error / connection refused"),
            "{error}"
        );
        let error = read(&specs, "").unwrap_err();
        assert!(error.contains("printed nothing"), "{error}");
        let error = read(&FigureSpec::parse_all("tps").unwrap(), "tps 5").unwrap_err();
        assert!(error.contains("no line `FIGURE tps"), "{error}");
        let specs = FigureSpec::parse_all("tps=tps = (.*)").unwrap();
        assert!(
            read(&specs, "tps = nan\n")
                .unwrap_err()
                .contains("no number")
        );
    }

    #[test]
    fn invalid_specifications_are_refused_with_what_to_write() {
        for (spec, part) in [
            ("=x", "write NAME=REGEX"),
            ("a b=(x)", "write NAME=REGEX"),
            ("tps=tps = [0-9.]+", "brackets"),
            ("tps=(", "invalid"),
            ("tps[1/s=(x)", "no `]`"),
            ("durable=(x)", "figure of fsdyno"),
            ("a_rate=(x)\na_rate=(y)", "twice"),
            ("x=(x)", "write `x[higher]=REGEX`"),
        ] {
            let error = FigureSpec::parse_all(spec).unwrap_err();
            assert!(error.contains(part), "{spec}: {error}");
        }
    }

    #[test]
    fn the_direction_is_given_or_implied_by_unit_or_name() {
        let better = |spec: &str| FigureSpec::parse_all(spec).unwrap()[0].better;
        assert_eq!(better("tps=(x)"), Some(Better::Higher));
        assert_eq!(better("x[MiB/s]=(x)"), Some(Better::Higher));
        assert_eq!(better("p99_latency=(x)"), Some(Better::Lower));
        assert_eq!(better("x[ms]=(x)"), Some(Better::Lower));
        assert_eq!(better("x[lower]=(x)"), Some(Better::Lower));
        assert_eq!(better("x"), None);
    }
}
