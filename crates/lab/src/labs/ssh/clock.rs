//! Time on another machine: chooses the most precise clock of its programs, and parses their
//! output.

use fsdyno_host::ssh::quoted;
use fsdyno_model::Nanos;
use fsdyno_model::step::shell_line;

/// The program that prints the time there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    /// date(1), which prints nanoseconds there; processor time from `times` of the shell.
    Date,
    /// time(1) in its POSIX form, in hundredths of a second.
    Time,
}

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
    /// Its description in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Date => "date(1)",
            Self::Time => "time(1), in steps of 10 ms",
        }
    }

    pub fn resolution(self) -> Nanos {
        match self {
            Self::Date => Nanos(1),
            Self::Time => Nanos(10_000_000),
        }
    }

    /// A script that runs a line, and then, if given, the line that makes its writes durable. It
    /// prints the times that [`Clock::read`] parses. Outputs go to `phase.out` and `phase.err` in
    /// the directory; the status stays in `S`.
    pub fn script(self, line: &str, sync: Option<&str>, directory: &str) -> String {
        let file = |name: &str| shell_line(&[format!("{directory}/{name}")]);
        let (out, err, used) = (file("phase.out"), file("phase.err"), file("phase.used"));
        match self {
            Self::Date => {
                let sync = sync.map(|line| format!("{line}\n")).unwrap_or_default();
                format!(
                    "T0=$(date +%s.%N)\n\
                     ( {line}\nS=$?; times >{used}; exit \"$S\" ) >{out} 2>{err}\n\
                     S=$?\nT1=$(date +%s.%N)\n{sync}T2=$(date +%s.%N)\n\
                     echo \"wall $T0 $T1 $T2\"; cat {used}\n"
                )
            }
            Self::Time => {
                let inner = quoted(&format!("exec 2>{err}\n{line}"));
                let synced = file("phase.sync");
                let sync = sync.map(|line| {
                    let line = quoted(line);
                    format!("( time -p sh -c {line} ) 2>{synced}\necho synced; cat {synced}\n")
                });
                let sync = sync.unwrap_or_default();
                format!("( time -p sh -c {inner} ) >{out} 2>{used}\nS=$?\ncat {used}\n{sync}")
            }
        }
    }

    /// Parses the output of the script. The error is the word that is not a time.
    pub fn read(self, printed: &str, sync: bool) -> Result<PhaseTimes, String> {
        let taken = match self {
            Self::Date => by_date(printed),
            Self::Time => by_time(printed),
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
        for broken in [
            "",
            "wall 1.N 2.N 3.N\n0m0s 0m0s\n0m0s 0m0s\n",
            "wall 1 2\n",
            "wall 1 2 3\n300000000m0s 0m0s\n300000000m0s 0m0s\n",
            "real 18446744073\nuser 0\nsys 0\nsynced\nreal 18446744073\n",
        ] {
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
