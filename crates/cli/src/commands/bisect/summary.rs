//! The texts at the end of a search: the commit, its counters, a reproducer, and a report to mail.

use super::kept::Search;
use crate::places::IN_MEMORY;
use fsdyno_guests::kernels::About;
use fsdyno_model::figures::NANOSECONDS;
use fsdyno_model::step::shell_line;
use fsdyno_model::units::three_digits;
use fsdyno_model::{FigureName, Nanos, printable};
use fsdyno_report::functions::{Function, Functions};
use fsdyno_run::bisect::{Figures, is_paired};
use std::fmt::Write as _;
use std::path::Path;

/// The maximum number of listed counters.
const COUNTERS: usize = 16;

const LIMITS: &str = "The guest has one processor: waiting for locks between processors, and the \
    sharing of cache lines, stay invisible. Figures are exact for this model of the disk and the \
    processor.";

const LIMITS_IN_REAL_TIME: &str = "Both kernels ran in real time, in guests with one processor and \
    disks in memory: waiting for locks between processors, the sharing of cache lines and the time \
    of disks stay invisible.";

pub fn limits(metric: &FigureName) -> &'static str {
    if is_paired(metric) {
        LIMITS_IN_REAL_TIME
    } else {
        LIMITS
    }
}

pub fn figure(figures: &Figures, metric: &FigureName) -> String {
    let value = figures.of(metric).unwrap_or_default();
    let value = shown(value, is_in_nanoseconds(metric));
    let paired = figures.paired.as_ref();
    let paired = paired.map_or_else(String::new, |paired| format!(", {paired}"));
    format!("{metric} {value}{paired}")
}

fn is_in_nanoseconds(metric: &FigureName) -> bool {
    let definition = metric.definition();
    definition.is_some_and(|one| one.unit == NANOSECONDS)
}

fn shown(value: u64, is_time: bool) -> String {
    if is_time {
        Nanos(value).to_string()
    } else {
        value.to_string()
    }
}

fn ratio(before: f64, after: f64) -> String {
    if before > 0.0 {
        format!("x {}", precise(after / before))
    } else {
        "new".to_owned()
    }
}

/// A ratio near 1 needs more digits.
fn precise(ratio: f64) -> String {
    if (0.9..1.1).contains(&ratio) {
        format!("{ratio:.4}")
    } else {
        three_digits(ratio)
    }
}

/// Where the difference is, and the functions whose own blocks changed, the largest change first.
pub fn functions_text(functions: &Functions) -> String {
    let changed = |one: &&Function| one.own[0] != one.own[1];
    let all: Vec<&Function> = functions.functions.iter().filter(changed).collect();
    let mut text = functions.sentences().join("\n");
    if all.is_empty() {
        return text + "\n";
    }
    text += "\n\nKernel blocks of functions before and after, without callees:\n";
    for one in all.iter().take(COUNTERS) {
        let [before, after] = one.own;
        let change = match one.total {
            [_, 0] => "gone".to_owned(),
            _ => ratio(before as f64, after as f64),
        };
        let name = printable(&one.function);
        let _ = writeln!(text, "  {name:<36} {before:>12} {after:>12}  {change}");
    }
    match all.len().saturating_sub(COUNTERS) {
        0 => text,
        left_out => text + &format!("  and {left_out} that changed less\n"),
    }
}

pub struct Guilty<'a> {
    pub search: &'a Search,
    /// The directory of the search.
    pub folder: &'a Path,
    pub about: &'a About,
    pub changes: &'a str,
    /// The last commit before it that was measured.
    pub before: &'a About,
    pub figures_before: &'a Figures,
    pub figures: &'a Figures,
    /// The functions whose counts changed, as text; empty if nothing is known of them.
    pub functions: String,
    /// The runs of both in the store.
    pub runs: [String; 2],
    /// The release of the kernel.
    pub builds: usize,
    /// The time of user code that virtual time does not count, ns.
    pub user_code: Option<u64>,
}

impl Guilty<'_> {
    pub fn text(&self) -> String {
        let About {
            commit,
            author,
            date,
            subject,
            ..
        } = self.about;
        let mut text = format!(
            "The first commit with the change is\n\n  {commit}\n  {}\n  {}, {date}\n\n",
            printable(subject),
            printable(author)
        );
        let _ = writeln!(
            text,
            "{}\n\n{}\n{}",
            self.change(),
            self.counters(),
            self.functions
        );
        for line in self.changes.lines() {
            let _ = writeln!(text, "  {}", printable(line.trim()));
        }
        let [before, after] = &self.runs;
        let _ = write!(
            text,
            "\n{}\n{} commits were measured. Runs in the store: {before} (before), {after}. \
             All figures: {}\n\nReproducer:\n\n{}\n\nReport to mail:\n\n{}",
            limits(&self.search.metric),
            self.builds,
            self.command_of_figures(),
            self.reproducer(),
            self.mail()
        );
        text
    }

    /// The figure that decides, before and after.
    fn change(&self) -> String {
        let metric = &self.search.metric;
        let value = |figures: &Figures| figures.of(metric).unwrap_or_default();
        let (before, after) = (value(self.figures_before), value(self.figures));
        let is_time = is_in_nanoseconds(metric);
        if let Some(paired) = &self.figures.paired {
            return format!(
                "{} of {}: {} {}, compared with the good commit {}",
                self.search.cell.phase, self.search.cell.fs, metric, paired, self.search.good
            );
        }
        let code = self.user_code.map_or_else(String::new, |code| {
            let ratio = ratio((before + code) as f64, (after + code) as f64);
            format!(
                "; {ratio} with all user code, {} on the host",
                shown(code, true)
            )
        });
        format!(
            "{} of {}: {} {} -> {} ({}{code})",
            self.search.cell.phase,
            self.search.cell.fs,
            metric,
            shown(before, is_time),
            shown(after, is_time),
            ratio(before as f64, after as f64)
        )
    }

    /// The changed counters, the largest change first.
    fn counters(&self) -> String {
        let mut moved = self.figures_before.moved(self.figures);
        let size = |before: u64, after: u64| {
            let (least, most) = (before.min(after), before.max(after));
            most as f64 / (least as f64).max(0.5)
        };
        // The counter that decides comes first.
        let decides = |name: &str| name == self.search.metric.as_str();
        moved.sort_by(|a, b| {
            let first = decides(&b.0.name).cmp(&decides(&a.0.name));
            first.then(size(b.1, b.2).total_cmp(&size(a.1, a.2)))
        });
        let mut text = String::from("Counters before and after:\n");
        let left_out = moved.len().saturating_sub(COUNTERS);
        for (counter, before, after) in moved.into_iter().take(COUNTERS) {
            let _ = writeln!(
                text,
                "  {:<28} {:>16} {:>16}  {}",
                printable(&counter.name),
                shown(before, counter.is_time),
                shown(after, counter.is_time),
                ratio(before as f64, after as f64)
            );
        }
        if left_out > 0 {
            let _ = writeln!(text, "  and {left_out} that moved less");
        }
        text
    }

    /// The command that prints all figures of the runs before and after.
    fn command_of_figures(&self) -> String {
        let [before, after] = &self.runs;
        if is_paired(&self.search.metric) {
            format!("fsdyno report {after}")
        } else {
            format!("fsdyno compare {before} {after}")
        }
    }

    /// A script that shows the change, of at most ten lines.
    pub fn reproducer(&self) -> String {
        let cell = &self.search.cell;
        let repo = self.search.repo.to_string_lossy();
        let mut words = vec!["fsdyno".to_owned(), "run".to_owned()];
        let mut add = |name: &str, value: &str| {
            words.extend([name.to_owned(), value.to_owned()]);
        };
        add("--fs", &cell.fs);
        if !cell.phases.is_empty() {
            add("--phases", &cell.phases.join(","));
        }
        if let Some(disk) = &cell.disk {
            add("--disk", &disk.to_string_lossy());
        }
        if let Some(dataset) = &cell.dataset {
            add("--dataset", dataset);
        }
        add("--scale", &cell.scale.to_string());
        let mut paths = format!("repo={}", shell_line(&[repo.into_owned()]));
        let mut work = "";
        if let Some(own) = &cell.work {
            let path = own.path(self.folder).to_string_lossy().into_owned();
            let _ = write!(paths, "\nwork={}", shell_line(&[path]));
            work = " --work \"$work\"";
        }
        for (name, value) in [
            ("--app", cell.app.clone()),
            (
                "--cpu",
                cell.cpu.as_ref().map(|cpu| cpu.display().to_string()),
            ),
            ("--seed", cell.seed.map(|seed| seed.to_string())),
            ("--guest-memory", cell.guest_memory.clone()),
        ] {
            if let Some(value) = value {
                add(name, &value);
            }
        }
        cell.set.iter().for_each(|setting| add("--set", setting));
        cell.device.iter().for_each(|device| add("--on", device));
        if is_paired(&self.search.metric) {
            let (before, commit) = (&self.before.short, &self.about.short);
            return format!(
                "#!/bin/sh -e\n{paths}\n{}{work} --work-dir {IN_MEMORY} --margin {:.3}% --no-check --lab uml --long \
                 --kernel \"git:$repo#{before},git:$repo#{commit}\"\n",
                shell_line(&words),
                (self.search.threshold - 1.0) * 100.0,
            );
        }
        format!(
            "#!/bin/sh -e\n{paths}\nfor commit in {} {}; do\n  kernel=$(fsdyno lab build \
             \"git:$repo#$commit\")\n  {}{work} --repeats 1 --no-check --lab uml --long --guest-kernel \
             \"$kernel\"\ndone\n",
            self.before.short,
            self.about.short,
            shell_line(&words)
        )
    }

    /// A report as `Documentation/admin-guide/reporting-regressions.rst` of the kernel requests it.
    pub fn mail(&self) -> String {
        let About {
            commit,
            short,
            author,
            subject,
            ..
        } = self.about;
        let cell = &self.search.cell;
        format!(
            "To: {}\nCc: regressions@lists.linux.dev\nSubject: [REGRESSION] {}: {} changed by {short} \
             (\"{}\")\n\nSince commit {short} (\"{}\"), {}.\n\nThe commit before it that was measured \
             is {} (\"{}\").\nBoth kernels ran as User-mode Linux{}. {}\n\n{}\nTo reproduce with fsdyno \
             {}:\n\n{}\n{}#regzbot introduced: {commit}\n",
            printable(author),
            cell.fs,
            self.search.metric,
            printable(subject),
            printable(subject),
            self.change(),
            self.before.short,
            printable(&self.before.subject),
            cell.disk.as_ref().map_or_else(String::new, |disk| format!(
                " on a model of the disk {} in virtual time. The figures are the same in every run",
                disk.display()
            )),
            limits(&self.search.metric),
            self.counters() + &self.functions,
            self.search.version,
            self.reproducer(),
            cell.work.as_ref().map_or_else(String::new, |work| format!(
                "The workload file $work:\n\n{}\n",
                work.text
            )),
        )
    }
}
