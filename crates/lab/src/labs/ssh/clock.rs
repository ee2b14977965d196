//! Time on another machine: chooses the most precise clock of its programs, and parses their
//! output.

use fsdyno_host::ssh::quoted;
use fsdyno_model::Nanos;
use fsdyno_model::step::shell_line;

/// The program that prints the time there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Clock {
    /// date(1), which prints nanoseconds there; processor time from `times` of the shell.
    Date,
    /// perl with its module `Time::HiRes`, in the same way.
    Perl,
    /// The time counter of a FreeBSD kernel, timecounters(4): sysctl(8) prints its value. It wraps
    /// around; how often, time(1) tells, from which processor time is, too.
    Counter {
        name: String,
        hertz: u64,
        /// The number of its values.
        span: u64,
    },
    /// time(1) in its POSIX form, in hundredths of a second.
    Time,
}

/// Prints the time in microseconds.
pub(super) const PERL: &str = "perl -MTime::HiRes=time -e 'printf \"%.6f\", time'";

/// Prints the name of the time counter, its frequency and the mask of its values.
pub(super) const COUNTER: &str = "t=$(sysctl -n kern.timecounter.hardware 2>/dev/null) && \
    echo \"counter=$t $(sysctl -n \"kern.timecounter.tc.$t.frequency\") \
    $(sysctl -n \"kern.timecounter.tc.$t.mask\")\"\n";

/// The step of time(1).
const STEP: Nanos = Nanos(10_000_000);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PhaseTimes {
    /// Until the work returned.
    pub wall: Nanos,
    /// Until `sync` returned, if there was one.
    pub durable: Option<Nanos>,
    pub user: Nanos,
    pub system: Nanos,
}

impl Clock {
    /// The time counter that [`COUNTER`] describes. One that wraps within steps of time(1) is no
    /// clock.
    pub fn counter(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (name, hertz, mask) = (words.next()?, words.next()?, words.next()?);
        let (hertz, span) = (
            hertz.parse().ok()?,
            mask.parse::<u64>().ok()?.checked_add(1)?,
        );
        // A name of the kernel's, which is part of scripts.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        let sound = name.chars().all(plain) && hertz >= 10_000 && span / hertz >= 1;
        (sound && words.next().is_none()).then(|| Self::Counter {
            name: name.to_owned(),
            hertz,
            span,
        })
    }

    /// Its description in reports.
    pub fn name(&self) -> String {
        match self {
            Self::Date => "date(1)".to_owned(),
            Self::Perl => "perl, in microseconds".to_owned(),
            Self::Counter { name, hertz, .. } => {
                format!("the time counter {name} of its kernel ({hertz} Hz)")
            }
            Self::Time => "time(1), in steps of 10 ms".to_owned(),
        }
    }

    pub fn resolution(&self) -> Nanos {
        match self {
            Self::Date => Nanos(1),
            Self::Perl => Nanos(1000),
            Self::Counter { hertz, .. } => Nanos(1_000_000_000_u64.div_ceil(*hertz)),
            Self::Time => STEP,
        }
    }

    /// A script that runs a line, and then, if given, the line that makes its writes durable. It
    /// prints the times that [`Clock::read`] parses. Outputs go to `phase.out` and `phase.err` in
    /// the directory; the status stays in `S`.
    pub fn script(&self, line: &str, sync: Option<&str>, directory: &str) -> String {
        let file = |name: &str| shell_line(&[format!("{directory}/{name}")]);
        let (out, err, used) = (file("phase.out"), file("phase.err"), file("phase.used"));
        match self {
            Self::Date | Self::Perl => {
                let sync = sync.map(|line| format!("{line}\n")).unwrap_or_default();
                let now = match self {
                    Self::Perl => PERL,
                    _ => "date +%s.%N",
                };
                format!(
                    "T0=$({now})\n\
                     ( {line}\nS=$?; times >{used}; exit \"$S\" ) >{out} 2>{err}\n\
                     S=$?\nT1=$({now})\n{sync}T2=$({now})\n\
                     echo \"wall $T0 $T1 $T2\"; cat {used}\n"
                )
            }
            Self::Time | Self::Counter { .. } => {
                let (count, printed) = match self {
                    Self::Counter { name, .. } => (
                        format!("$(sysctl -n kern.timecounter.tc.{name}.counter)"),
                        "echo \"counter $T0 $T1 $T2\"\n",
                    ),
                    _ => (String::new(), ""),
                };
                let inner = quoted(&format!("exec 2>{err}\n{line}"));
                let synced = file("phase.sync");
                let sync = sync.map(|line| {
                    let line = quoted(line);
                    format!("( time -p sh -c {line} ) 2>{synced}\n")
                });
                let [shown, sync] = match sync {
                    Some(sync) => [format!("echo synced; cat {synced}\n"), sync],
                    None => [String::new(), String::new()],
                };
                let read = |name: &str| match self {
                    Self::Counter { .. } => format!("{name}={count}\n"),
                    _ => String::new(),
                };
                let [begin, end, durable] = ["T0", "T1", "T2"].map(read);
                format!(
                    "{begin}( time -p sh -c {inner} ) >{out} 2>{used}\nS=$?\n{end}{sync}{durable}\
                     {printed}cat {used}\n{shown}"
                )
            }
        }
    }

    /// Parses the output of the script. The error is the word that is not a time.
    pub fn read(&self, printed: &str, sync: bool) -> Result<PhaseTimes, String> {
        let taken = match self {
            Self::Date | Self::Perl => by_date(printed),
            Self::Time => by_time(printed),
            Self::Counter { hertz, span, .. } => by_counter(printed, *hertz, *span),
        };
        let mut taken = taken.ok_or_else(|| printed.trim().replace('\n', "; "))?;
        if !sync {
            taken.durable = None;
        }
        Ok(taken)
    }
}

fn by_date(printed: &str) -> Option<PhaseTimes> {
    let mut lines = printed.lines();
    let wall = lines.find_map(|line| line.strip_prefix("wall "))?;
    let moments: Vec<Nanos> = wall.split(' ').filter_map(seconds).collect();
    let [begin, end, durable] = moments[..] else {
        return None;
    };
    // First of the shell, then of its reaped children (times(1p)).
    let mut taken = PhaseTimes {
        wall: Nanos(end.0.checked_sub(begin.0)?),
        durable: Some(Nanos(durable.0.checked_sub(begin.0)?)),
        ..PhaseTimes::default()
    };
    for line in lines.take(2) {
        let mut words = line.split_whitespace();
        taken.user = sum(taken.user, minutes(words.next()?)?)?;
        taken.system = sum(taken.system, minutes(words.next()?)?)?;
    }
    Some(taken)
}

fn by_time(printed: &str) -> Option<PhaseTimes> {
    let (work, sync) = printed.split_once("synced\n").unwrap_or((printed, ""));
    let of = |text: &str, name: &str| {
        let mut lines = text.lines();
        seconds(lines.find_map(|line| line.strip_prefix(name))?.trim())
    };
    let wall = of(work, "real")?;
    let durable = match of(sync, "real") {
        Some(more) => Some(sum(wall, more)?),
        None => None,
    };
    Some(PhaseTimes {
        wall,
        durable,
        user: of(work, "user")?,
        system: of(work, "sys")?,
    })
}

/// The times of time(1), made precise by the counter before the work, after it, and after the sync.
fn by_counter(printed: &str, hertz: u64, span: u64) -> Option<PhaseTimes> {
    let mut taken = by_time(printed)?;
    let mut lines = printed.lines();
    let values = lines.find_map(|line| line.strip_prefix("counter "))?;
    let values: Option<Vec<u64>> = values.split(' ').map(|word| word.parse().ok()).collect();
    let [begin, end, synced] = values?[..] else {
        return None;
    };
    let coarse = taken.wall;
    taken.wall = precise(begin, end, coarse, (hertz, span))?;
    if let Some(durable) = taken.durable {
        let sync = Nanos(durable.0.checked_sub(coarse.0)?);
        let sync = precise(end, synced, sync, (hertz, span))?;
        taken.durable = Some(sum(taken.wall, sync)?);
    }
    Some(taken)
}

/// The time between two values of a counter. It contains what time(1) measured, so it is the least
/// one that is not shorter than that by more than a step.
fn precise(begin: u64, end: u64, coarse: Nanos, (hertz, span): (u64, u64)) -> Option<Nanos> {
    const SECOND: u128 = 1_000_000_000;
    if begin >= span || end >= span {
        return None;
    }
    let (hertz, span) = (u128::from(hertz), u128::from(span));
    let part = (span + u128::from(end) - u128::from(begin)) % span;
    let least = u128::from(coarse.0.saturating_sub(STEP.0)) * hertz / SECOND;
    let rounds = least.saturating_sub(part).div_ceil(span);
    let nanos = (part + rounds * span) * SECOND / hertz;
    u64::try_from(nanos).ok().map(Nanos)
}

/// Another machine may print any number, so the sum may overflow.
fn sum(one: Nanos, other: Nanos) -> Option<Nanos> {
    one.0.checked_add(other.0).map(Nanos)
}

/// `1700000000.123456789`, or `1.25`; some locales and shells write a comma.
fn seconds(text: &str) -> Option<Nanos> {
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, ""));
    if part.len() > 9 || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    Some(Nanos(whole.checked_mul(1_000_000_000)?.checked_add(part)?))
}

/// `0m1.250000s`.
fn minutes(text: &str) -> Option<Nanos> {
    let (minutes, rest) = text.split_once('m')?;
    let minutes: u64 = minutes.parse().ok()?;
    let rest = seconds(rest.strip_suffix('s')?)?;
    Some(Nanos(
        minutes.checked_mul(60_000_000_000)?.checked_add(rest.0)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_shells_and_time_programs_is_parsed() {
        let dash = "wall 1700000000.000000001 1700000001.500000001 1700000002.000000001\n\
            0m0.010000s 0m0.000000s\n1m0.250000s 0m0.500000s\n";
        let taken = Clock::Date.read(dash, true).unwrap();
        assert_eq!(taken.wall, Nanos(1_500_000_000));
        assert_eq!(taken.durable, Some(Nanos(2_000_000_000)));
        assert_eq!(taken.user, Nanos(60_260_000_000));
        assert_eq!(taken.system, Nanos(500_000_000));
        assert_eq!(Clock::Date.read(dash, false).unwrap().durable, None);
        // FreeBSD's time(1) pads with blanks only in its own form; `-p` gives the POSIX form.
        let posix = "real 1.25\nuser 0.10\nsys 0.02\nsynced\nreal 0.75\nuser 0.00\nsys 0.00\n";
        let taken = Clock::Time.read(posix, true).unwrap();
        assert_eq!(taken.wall, Nanos(1_250_000_000));
        assert_eq!(taken.durable, Some(Nanos(2_000_000_000)));
        let counter = Clock::counter("HPET 100000000 4294967295").unwrap();
        let coarse = "real 43.00\nuser 0.10\nsys 0.02\nsynced\nreal 0.75\nuser 0.00\nsys 0.00\n";
        // It wrapped once in the work: 43.0051 s and 0.7512 s in ticks of 10 ns.
        let ticks = (4_300_510_000_u64 % (1 << 32), 4_375_630_000_u64 % (1 << 32));
        let printed = format!("counter 0 {} {}\n{coarse}", ticks.0, ticks.1);
        let taken = counter.read(&printed, true).unwrap();
        assert_eq!(taken.wall, Nanos(43_005_100_000));
        assert_eq!(taken.durable, Some(Nanos(43_756_300_000)));
        assert_eq!(taken.user, Nanos(100_000_000));
        for none in [
            "",
            "i8254 1193182 65535",
            "a'b 100000000 4294967295",
            "TSC x 1",
            "TSC 0 1",
        ] {
            assert_eq!(Clock::counter(none), None, "{none}");
        }
        for broken in [
            "",
            "wall 1.N 2.N 3.N\n0m0s 0m0s\n0m0s 0m0s\n",
            "wall 1 2\n",
            "wall 1 2 3\n300000000m0s 0m0s\n300000000m0s 0m0s\n",
            "real 18446744073\nuser 0\nsys 0\nsynced\nreal 18446744073\n",
        ] {
            assert!(counter.read(broken, true).is_err(), "{broken}");
            assert!(Clock::Date.read(broken, true).is_err(), "{broken}");
            assert!(Clock::Time.read(broken, true).is_err(), "{broken}");
        }
    }

    #[test]
    fn the_output_of_the_scripts_parses_on_this_machine() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().display().to_string();
        let script =
            Clock::Date.script("echo out; echo err >&2; (exit 3)", Some("sync"), &directory);
        let ran = std::process::Command::new("sh")
            .args(["-c", &format!("{script}exit \"$S\"")])
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(3));
        let printed = String::from_utf8_lossy(&ran.stdout).into_owned();
        let taken = Clock::Date.read(&printed, true).unwrap();
        assert!(taken.durable.unwrap() >= taken.wall);
        let kept = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
        assert_eq!(
            (kept("phase.out").as_str(), kept("phase.err").as_str()),
            ("out\n", "err\n")
        );
    }
}
