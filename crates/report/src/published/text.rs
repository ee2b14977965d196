//! How a table, and a run beside it, are put into words: the same in every format.

use super::{Beside, Entry, PublishedComparison, Table, same_unit};
use crate::reruns::{Departure, RerunSummary};
use crate::table::labs;
use crate::terms;
use fsdyno_model::Nanos;
use fsdyno_stats::chance_of_order;
use std::fmt::Write as _;

/// A published figure as it was printed (with at most three decimals), or as `m:ss` where that is wished and it is a time.
pub fn printed(value: f64, unit: &str, clock: bool) -> String {
    if clock && unit == "s" {
        Nanos::from_seconds(value).clock()
    } else {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// A figure of today with three digits, or as `m:ss`.
pub fn measured(value: f64, unit: &str, clock: bool) -> String {
    if clock && unit == "s" {
        Nanos::from_seconds(value).clock()
    } else {
        terms::significant(value)
    }
}

impl Table {
    /// Where the figures come from, by name.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("source", self.source.clone()),
            ("machine", self.machine.clone()),
            ("measured", self.measured.clone()),
        ];
        facts.extend(self.doubt.clone().map(|doubt| ("doubt", doubt)));
        facts
    }
}

impl PublishedComparison {
    /// What it is, in a line.
    pub fn heading(&self) -> String {
        let lab = self.lab.as_ref();
        let lab = lab.map_or_else(String::new, |lab| format!("; {lab}"));
        format!("{}{lab}", self.heading_of_all())
    }

    /// The same, of all labs of the run.
    pub fn heading_of_all(&self) -> String {
        let date = terms::date(self.started_unix_ns);
        format!("{} of {date} beside {}", self.plan, self.table)
    }

    /// What then and now are.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![
            ("then", format!("{} ({})", self.title, self.year)),
            ("", format!("{}; {}", self.machine, self.measured)),
            (
                "now",
                format!(
                    "run {}, {}, engine {}, datasets of {} of full size",
                    self.run, self.kernel, self.engine, self.scale
                ),
            ),
        ];
        facts.extend(self.lab.as_ref().map(|_| ("labs", labs::WHY.to_owned())));
        if let Some(rerun) = &self.rerun {
            facts.extend(rerun.facts());
        }
        if self.virtual_time {
            let text = "virtual: what disks take, with infinitely fast processors. A figure is the \
                        same each time, so that one repeat is judged. Processor time is not told, \
                        and what is in memory takes none: such figures are called `memory`";
            facts.push(("time", text.to_owned()));
        }
        facts.extend(self.doubt.clone().map(|doubt| ("doubt", doubt)));
        let others = self.contenders.iter().filter(|pair| pair.instead);
        let others: Vec<String> = others
            .map(|pair| format!("{} for {}", pair.now, pair.then))
            .collect();
        if !others.is_empty() {
            let text = format!(
                "{}: not the same, but another file system in its place; what was concluded is \
                 asked of it",
                terms::list(&others)
            );
            facts.push(("instead", text));
        }
        facts
    }

    /// How the figures are to be read; `best` and `level` are the marks of the format.
    pub fn legend(&self, best: &str, level: &str) -> String {
        let mut text = "Then: as published, of several runs the mean. Now: medians".to_owned();
        if self.lines.iter().any(|line| line.unit_now == "s") {
            text += "; a wall time is the time to return, which is what `time cp` showed then";
        }
        if self.lines.iter().any(|line| line.unit_now.ends_with("/s")) {
            text += "; rates, and the processor time beside them, are what the phases tell of \
                     themselves";
        }
        text += ".";
        text += self.how_to_compare();
        if self.compares() {
            let base = &self.contenders[0].now;
            let _ = write!(
                text,
                " Ratios are to {base}; {best}: best, now also what is not to be told from the \
                 best; {level}: not to be told from {base}. Ranks go by figures and medians alone, \
                 the best first."
            );
        }
        if self.doubted() {
            let _ = write!(
                text,
                " !: a warning stands behind it (`fsdyno report {}`).",
                self.run
            );
        }
        if self.too_few() {
            text += " There are too few repeats to judge: 3 are needed.";
        }
        if let Some(most) = self.most_ranked() {
            let orders = 1.0 / chance_of_order(most);
            let _ = write!(
                text,
                " Rank correlation (Spearman): 1 where the order is the same, -1 where it is \
                 reversed. Of so few it says little: chance alone puts {most} into the same order \
                 once in {orders:.0}."
            );
        }
        text
    }

    /// What of the figures may be held against each other.
    fn how_to_compare(&self) -> &'static str {
        let full = (self.scale - 1.0).abs() < 1e-9;
        match (&self.rerun, full) {
            (Some(_), true) => {
                " The disk is that of then, the kernel is not. now/then: the figure of today by that \
                 of then."
            }
            (Some(_), false) => {
                " The disk is that of then, the kernel is not. now/then: the figure of today by that \
                 of then, a time brought to full size by the scale."
            }
            (None, true) => " The machines lie years apart: compare ratios and ranks, not figures.",
            (None, false) => {
                " The machines lie years apart and the datasets differ in size: compare ratios and \
                 ranks, not figures."
            }
        }
    }

    /// The columns of figures, each in two words.
    pub fn columns(&self) -> Vec<[&'static str; 2]> {
        let mut columns = vec![
            ["", "then"],
            ["figure", "now"],
            ["", "then"],
            ["ratio", "now"],
            ["", "then"],
            ["rank", "now"],
        ];
        if self.rerun.is_some() {
            columns.push(["now", "/then"]);
        }
        columns
    }

    /// The same, each in one name.
    pub fn column_names(&self) -> Vec<String> {
        let names = [
            "then",
            "now",
            "ratio then",
            "ratio now",
            "rank then",
            "rank now",
        ];
        let more = self.rerun.as_ref().map(|_| "now/then");
        names.into_iter().chain(more).map(str::to_owned).collect()
    }

    /// How many conclusions fared how: `2 hold, 1 is reversed ...`.
    pub fn tally(&self) -> String {
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for told in &self.conclusions {
            let words = told.holding.words();
            match counts.iter_mut().find(|(known, _)| *known == words) {
                Some((_, n)) => *n += 1,
                None => counts.push((words, 1)),
            }
        }
        let parts: Vec<String> = counts
            .iter()
            .map(|(words, n)| format!("{words}: {n}"))
            .collect();
        parts.join(", ")
    }

    /// What one side alone has, a paragraph each.
    pub fn apart(&self) -> Vec<(&'static str, String)> {
        let sides = [("only then", &self.only_then), ("only now", &self.only_now)];
        let mut told = Vec::new();
        for (name, side) in sides {
            let parts = [("contenders", &side.contenders), ("phases", &side.phases)];
            let parts = parts.iter().filter(|(_, names)| !names.is_empty());
            let text: Vec<String> = parts
                .map(|(what, names)| format!("{what}: {}", names.join(", ")))
                .collect();
            if !text.is_empty() {
                told.push((name, text.join("; ")));
            }
        }
        told
    }
}

impl RerunSummary {
    /// What a rerun ran on, and what is not as it was.
    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("disk", self.disk.clone()), ("memory", self.memory.clone())];
        facts.extend(self.differs.iter().map(|text| ("differs", text.clone())));
        let not_run = self.not_run.iter();
        facts.extend(not_run.map(|one| ("not rerun", format!("{}: {}", one.contender, one.why))));
        facts
    }

    /// What heads the departures.
    pub fn of_figures(&self) -> String {
        let (same, all) = self.of_the_same_order;
        format!("Figures of another order ({same} of {all} are of that of then)")
    }
}

impl Departure {
    /// Which figures, and what is known of them.
    pub fn words(&self) -> String {
        let known = match &self.because {
            Some(because) => because.words(),
            None => "nothing is known of the reason".to_owned(),
        };
        format!("{}: {known}", self.figures.join(", "))
    }
}

impl Beside {
    /// What it is called, with its units.
    pub fn heading(&self) -> String {
        if same_unit(&self.unit_then, &self.unit_now) {
            format!("{} ({})", self.label, self.unit_then)
        } else {
            let units = (&self.unit_then, &self.unit_now);
            format!("{} ({} then, {} now)", self.label, units.0, units.1)
        }
    }

    /// The rank correlation in words; none where there is none.
    pub fn correlation(&self) -> Option<String> {
        let rho = self.rank_correlation?;
        Some(format!(
            "rank correlation {rho:.2} of {}",
            self.entries.len()
        ))
    }

    /// The figures of an entry: then and now, the ratios, the ranks, and of a rerun now by then.
    /// `best` marks a text, `level` stands before a ratio. Of a contender that is alone, only the
    /// figures are told.
    pub fn texts(
        &self,
        entry: &Entry,
        clock: bool,
        best: impl Fn(String) -> String,
        level: &str,
    ) -> Vec<String> {
        let alone = self.entries.len() < 2;
        let marked = |text: String, mark: bool| if mark && !alone { best(text) } else { text };
        let doubt = if entry.doubted { "!" } else { "" };
        let level = if entry.level_with_baseline { level } else { "" };
        let ratio = |ratio: Option<f64>, level: &str| match ratio {
            Some(_) if entry.contender == 0 && !alone => "base".to_owned(),
            Some(ratio) if !alone => format!("{level}{}x", terms::ratio(ratio)),
            _ => "-".to_owned(),
        };
        // `1`, or `1.5` where two share the place.
        let rank = |rank: f64| {
            if alone {
                "-".to_owned()
            } else {
                rank.to_string()
            }
        };
        let then = printed(entry.then, &self.unit_then, clock);
        let now = if entry.idle {
            "memory".to_owned()
        } else {
            format!("{doubt}{}", measured(entry.now, &self.unit_now, clock))
        };
        let mut texts = vec![
            marked(then, entry.best_then),
            marked(now, entry.best_now),
            ratio(entry.ratio_then, ""),
            ratio(entry.ratio_now, level),
            rank(entry.rank_then),
            rank(entry.rank_now),
        ];
        if self.of_a_rerun {
            let by_then = entry
                .by_then
                .map(|ratio| format!("{}x", terms::ratio(ratio)));
            texts.push(by_then.unwrap_or_else(|| "-".to_owned()));
        }
        texts
    }
}
