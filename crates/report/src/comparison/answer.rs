//! The answer of a run: which contender is fastest, by how much, and in how many phases; before it
//! those whose work was not durable, and one that is much slower; after it the slowest.

use super::leaders::{Leaders, complete};
use super::words::Words;
use super::{Comparison, Line};
use crate::figures::{INTERVALS_FROM, MIN_PAIRS};
use crate::lists::by_key;
use crate::resolution::RESOLUTION;
use crate::terms;
use fsdyno_model::{ResultSet, Sample, StopReason, WarningKind};
use fsdyno_stats::Verdict;
use std::fmt::Write as _;

/// The largest number of contenders that a sentence names.
const NAMED: usize = 4;

/// A contender that is so many times slower than the leader is named first.
const MUCH_SLOWER: f64 = 3.0;

/// The answer of a run of one lab.
pub fn answer(comparison: &Comparison, set: &ResultSet) -> String {
    if !set.cells.iter().any(|record| !record.samples.is_empty()) {
        return if set.cells.is_empty() {
            "No cell has been recorded yet: there is nothing to compare.".to_owned()
        } else {
            "Nothing was measured: see the cells that failed or were skipped.".to_owned()
        };
    }
    if let [alone] = &comparison.contenders[..] {
        return format!("Only {alone} was measured: there is nothing to compare it with.");
    }
    if !comparison.compares() {
        return "No phase has figures of two contenders: there is nothing to compare.".to_owned();
    }
    let figures = AnswerFigures::of(comparison);
    if figures.phases.is_empty() {
        return format!(
            "Every phase takes less than {RESOLUTION}, which is negligible: raise --scale."
        );
    }
    let durability = figures.durability();
    match figures.durable()[..] {
        [] => return durability,
        [alone] if !durability.is_empty() => {
            let name = figures.name(alone);
            return format!(
                "{durability}Only {name} is left: there is nothing to compare it with."
            );
        }
        _ => {}
    }
    if comparison.one_draw() {
        return durability + &figures.of_one_draw(set);
    }
    let judged = figures.phases.iter().any(|line| line.leaders().is_some());
    if !judged {
        return durability + &figures.too_few(set);
    }
    let (text, named) = match &figures.leaders {
        Some(leaders) if leaders.among.len() == 1 => figures.decided(leaders.among[0]),
        Some(leaders) if leaders.equivalent => (figures.equivalent(leaders), leaders.among.clone()),
        leaders => figures.inconclusive(leaders.as_ref(), set),
    };
    let slowest = figures
        .slowest()
        .filter(|slowest| !named.contains(&slowest.at));
    let text = match slowest {
        Some(slowest) if slowest.times >= MUCH_SLOWER => format!("{} {text}", slowest.text),
        Some(slowest) => format!("{text} {}", slowest.text),
        None => text,
    };
    let leaders = figures.leaders.as_ref().map_or(&[][..], |one| &one.among);
    let robustness = comparison.robustness.as_ref();
    let robustness = robustness.map_or_else(String::new, |one| one.text(comparison));
    durability + &text + &robustness + &figures.safety(leaders, set) + beside_others(set)
}

/// What holds only beside the other programs that used the machine in most phases.
fn beside_others(set: &ResultSet) -> &'static str {
    let samples = || set.cells.iter().flat_map(|record| &record.samples);
    let is_loaded = |sample: &&Sample| {
        let mut kinds = sample.warnings.iter().map(|warning| warning.kind);
        kinds.any(|kind| kind == WarningKind::BackgroundLoad)
    };
    if 2 * samples().filter(is_loaded).count() <= samples().count() {
        return "";
    }
    " Other programs used the machine in most phases: without them the answer may be another."
}

/// The options of `run` that add repeats to a run.
fn extension(set: &ResultSet) -> String {
    let plan = &set.run.plan;
    match plan.adaptive {
        // The run has not reached its number of repeats, or its maximum.
        _ if set.run.stop != Some(StopReason::Complete) => "--resume RUN".to_owned(),
        None => {
            let enough = INTERVALS_FROM.max(2 * plan.repeats as usize);
            format!("--resume RUN --repeats {enough}")
        }
        Some(adaptive) => format!("--resume RUN --max-repeats {}", 2 * adaptive.most),
    }
}

/// `6 of 8 phases`.
fn phases_of(n: usize, all: usize) -> String {
    if n == all {
        format!("all {all} phases")
    } else {
        format!("{n} of {all} phases")
    }
}

/// The slowest contender, if it is slower than the leader by a verdict.
struct Slowest {
    at: usize,
    times: f64,
    text: String,
}

/// The figures of a comparison from which its answer is built.
pub(super) struct AnswerFigures<'a> {
    comparison: &'a Comparison,
    /// The whole times of the phases with figures of two contenders that are not all negligible.
    phases: Vec<&'a Line>,
    /// The ratios to the baseline, of all phases or of the only one.
    pub ratios: Vec<Option<f64>>,
    /// The contenders that may be the fastest, over all phases or in the only one.
    pub leaders: Option<Leaders>,
    /// The lines that name the leaders.
    pub leading: Vec<&'a Line>,
    /// The contenders whose work was not durable in some of the phases that name the leaders, each
    /// with the number of these phases. They are compared with nothing.
    not_durable: Vec<(usize, usize)>,
    /// The number of the phases that name the leaders.
    leading_phases: usize,
    /// The words for what is judged.
    words: Words,
}

impl<'a> AnswerFigures<'a> {
    pub fn of(comparison: &'a Comparison) -> Self {
        let lines = comparison.whole_times().map(|(_, _, line)| line);
        let counts = |line: &&Line| {
            let values = line.values.iter().flatten();
            let above = values.clone().any(|value| !value.negligible);
            values.count() > 1 && above
        };
        let phases: Vec<&Line> = lines.filter(counts).collect();
        let overall = &comparison.overall;
        let (ratios, leaders) = if let [line] = phases[..] {
            let ratio = |at: usize| Some(line.values[at].as_ref()?.ratio?.middle);
            let all = 0..comparison.contenders.len();
            (all.map(ratio).collect(), line.leaders())
        } else {
            let ratios = overall.ratios.iter();
            let ratios = ratios.map(|ratio| Some(ratio.as_ref()?.middle));
            (ratios.collect(), overall.leaders())
        };
        let leading: Vec<&Line> = match phases[..] {
            [line] => vec![line],
            _ => comparison.whole_times().map(|(_, _, line)| line).collect(),
        };
        let lossy = |at: usize| {
            let lossy = leading.iter().filter(|line| line.is_not_durable(at));
            (lossy.count(), at)
        };
        let not_durable = (0..comparison.contenders.len()).map(lossy);
        Self {
            not_durable: not_durable.filter(|(phases, _)| *phases > 0).collect(),
            leading_phases: leading.len(),
            leading: if let [line] = phases[..] {
                vec![line]
            } else {
                let lines = comparison.whole_times().map(|(_, _, line)| line);
                complete(lines, &comparison.measured_contenders())
            },
            words: comparison.words(),
            comparison,
            phases,
            ratios,
            leaders,
        }
    }

    fn name(&self, at: usize) -> &str {
        &self.comparison.contenders[at]
    }

    /// The first names, and the number of the others.
    pub fn names(&self, these: &[usize]) -> String {
        self.joined(these, "and")
    }

    /// The first names, and the number of the others, with this word before the last.
    fn joined(&self, these: &[usize], word: &str) -> String {
        let shown = if these.len() > NAMED {
            NAMED - 1
        } else {
            these.len()
        };
        let mut names: Vec<String> = these[..shown]
            .iter()
            .map(|at| self.name(*at).into())
            .collect();
        if shown < these.len() {
            names.push(format!("{} more", these.len() - shown));
        }
        terms::joined(&names, word)
    }

    /// Whether the work of a contender was durable in all phases that name the leaders.
    fn is_durable(&self, at: usize) -> bool {
        self.not_durable.iter().all(|(_, lossy)| *lossy != at)
    }

    /// The measured contenders that can be compared.
    pub fn durable(&self) -> Vec<usize> {
        let measured = self.comparison.measured_contenders().into_iter();
        measured.filter(|at| self.is_durable(*at)).collect()
    }

    /// The durable contender with the lowest ratio, without this one.
    fn lowest_without(&self, without: Option<usize>) -> Option<usize> {
        let known = (0..self.ratios.len()).filter(|at| Some(*at) != without);
        let known = known.filter(|at| self.is_durable(*at));
        let known = known.filter_map(|at| Some((at, self.ratios[at]?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(at, _)| at)
    }

    fn ratio(&self, at: usize) -> f64 {
        self.ratios.get(at).copied().flatten().unwrap_or(f64::NAN)
    }

    /// The factor by which one is faster than another: `1.4 times`; `1.4 to 2.5 times` if user code
    /// that is not counted decides where it is.
    fn times(&self, one: usize, other: usize) -> Option<String> {
        let times = self.ratios[other]? / self.ratios[one]?;
        // 0.5 % is less than any margin in use.
        Some(times).filter(|times| *times >= 1.005)?;
        let number = |n: f64| match n {
            n if n >= 9.95 => format!("{n:.0}"),
            n if n >= 1.095 => format!("{n:.1}"),
            n => format!("{n:.2}"),
        };
        let (low, high) = self
            .range_with_user_code(other, one)
            .unwrap_or((times, times));
        let [low, high] = [number(low.min(times)), number(high.max(times))];
        Some(if low == high {
            format!("{low} times")
        } else {
            format!("{low} to {high} times")
        })
    }

    /// The ratio of two contenders between none and all user code; `None` if there is none to add.
    fn range_with_user_code(&self, one: usize, other: usize) -> Option<(f64, f64)> {
        let [line] = self.phases[..] else {
            return self.comparison.overall.range_with_user_code(one, other);
        };
        let (a, b) = (line.values[one].as_ref()?, line.values[other].as_ref()?);
        let (without, all) = (
            a.ratio_to(b)?.middle,
            line.ratio_with_user_code(one, other)?,
        );
        Some((without.min(all), without.max(all)))
    }

    /// Whether the verdict on two contenders depends on user code.
    fn depends_on_user_code(&self, one: usize, other: usize) -> bool {
        match self.phases[..] {
            [line] => line.depends_on_user_code(one, other),
            _ => self.comparison.overall.depends_on_user_code(one, other),
        }
    }

    /// ` overall`, if there are several phases.
    fn overall(&self) -> &'static str {
        if self.phases.len() > 1 {
            " overall"
        } else {
            ""
        }
    }

    /// The number of phases with this verdict on one contender compared with another.
    fn count(&self, one: usize, other: usize, verdict: Verdict) -> usize {
        let phases = self.phases.iter();
        phases
            .filter(|line| line.verdict(one, other) == Some(verdict))
            .count()
    }

    /// `6 of 8 phases`.
    fn of_all(&self, n: usize) -> String {
        phases_of(n, self.phases.len())
    }

    /// The contenders whose work was not durable, with the number of phases.
    fn durability(&self) -> String {
        let each = self.not_durable.iter().copied();
        let sentences = by_key(each).into_iter().map(|(phases, these)| {
            let of = if self.leading_phases > 1 {
                format!(" in {}", phases_of(phases, self.leading_phases))
            } else {
                String::new()
            };
            let names = self.names(&these);
            format!(
                "The work of {names} was not durable when fsync and syncfs returned{of}: no flush \
                 was sent to the disk, so {names} cannot be the answer. "
            )
        });
        sentences.collect()
    }

    /// The safety that the options of these contenders give up for their speed.
    fn safety(&self, these: &[usize], set: &ResultSet) -> String {
        let cost = |at: &usize| {
            let mut planned = set.run.plan.contenders.iter();
            let name = self.name(*at);
            let planned = planned.find(|one| terms::printable(&one.label) == name)?;
            Some((terms::printable(planned.gives_up.as_ref()?), *at))
        };
        let sentences = by_key(these.iter().filter_map(cost)).into_iter();
        let sentences = sentences.map(|(cost, these)| {
            let verb = if these.len() == 1 { "gives" } else { "give" };
            format!(
                " {} {verb} up safety for speed: {cost}.",
                self.names(&these)
            )
        });
        sentences.collect()
    }

    /// The slowest contender, if it and the leader differ by a verdict.
    fn slowest(&self) -> Option<Slowest> {
        let lead = self.leaders.as_ref()?.among.iter().copied();
        let known = lead.filter(|at| self.ratios.get(*at).copied().flatten().is_some());
        let lead = known.min_by(|a, b| self.ratio(*a).total_cmp(&self.ratio(*b)))?;
        let durable = (0..self.ratios.len()).filter(|at| self.is_durable(*at));
        let known = durable.filter_map(|at| Some((at, self.ratios[at]?)));
        let (at, ratio) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let verdict = match self.phases[..] {
            [line] => line.verdict(at, lead),
            _ => self.comparison.overall.verdict(at, lead),
        };
        let times = self
            .times(lead, at)
            .filter(|_| verdict == Some(Verdict::Slower))?;
        let (name, overall) = (self.name(at), self.overall());
        Some(Slowest {
            at,
            times: ratio / self.ratio(lead),
            text: format!(
                "{} {name}: {times} {} than {}{overall}.",
                self.words.last,
                self.words.worse,
                self.name(lead)
            ),
        })
    }

    /// The answer with a winner, and the contenders that it compares.
    fn decided(&self, winner: usize) -> (String, Vec<usize>) {
        let others = self.durable().into_iter().find(|at| *at != winner);
        let reference = if winner == 0 || !self.is_durable(0) {
            self.lowest_without(Some(winner))
                .or(others)
                .unwrap_or(winner)
        } else {
            0
        };
        let Words { leads, better, .. } = &self.words;
        let mut text = format!("For this work {} {leads}", self.name(winner));
        let (times, name) = (self.times(winner, reference), self.name(reference));
        if let Some(times) = times {
            let _ = write!(text, ": {times} {better} than {name}{}", self.overall());
        }
        if self.phases.len() > 1 {
            let faster = self.count(winner, reference, Verdict::Faster);
            let _ = write!(text, ", and {better} in {}", self.of_all(faster));
        }
        let compared_with = if winner == 0 { winner } else { reference };
        text += &self.others(&[winner, reference], compared_with);
        (text + ".", vec![winner, reference])
    }

    fn equivalent(&self, leaders: &Leaders) -> String {
        let compared_with = if self.is_durable(0) {
            0
        } else {
            leaders.among[0]
        };
        format!(
            "For this work {} {}{}, within {}{}.",
            self.names(&leaders.among),
            self.words.level,
            self.overall(),
            terms::percent(self.comparison.rule.margin),
            self.others(&leaders.among, compared_with),
        )
    }

    /// The answer without a winner, and the contenders that it compares.
    fn inconclusive(&self, leaders: Option<&Leaders>, set: &ResultSet) -> (String, Vec<usize>) {
        let all = self.durable();
        let among = leaders.map_or(&all[..], |leaders| &leaders.among);
        let ahead = self.ahead(among, &all).unwrap_or_else(|| {
            let overall = self.overall();
            format!("For this work no {} is decided{overall}: ", self.words.best)
        });
        let mut text = format!("{ahead}{} are not separated", self.names(among));
        let mut order = among.to_vec();
        order.retain(|at| leaders.is_some() && self.ratios.get(*at).is_some_and(Option::is_some));
        order.sort_by(|a, b| f64::total_cmp(&self.ratio(*a), &self.ratio(*b)));
        let (lead, next) = (order.first().copied(), order.get(1).copied());
        if let Some((lead, next)) = lead.zip(next)
            && let Some(times) = self.times(lead, next)
        {
            let (lead, next) = (self.name(lead), self.name(next));
            let _ = write!(text, " ({lead} leads by {times} before {next})");
        }
        if self.phases.len() > 1 {
            let leaders = self.phases.iter().filter_map(|line| line.leaders());
            let leaders: Vec<Leaders> = leaders.collect();
            let wins = |at: usize| {
                let winners = leaders.iter().map(Leaders::winner);
                winners.filter(|winner| *winner == Some(at)).count()
            };
            let mut wins: Vec<(usize, usize)> = all.iter().map(|at| (*at, wins(*at))).collect();
            wins.retain(|(_, wins)| *wins > 0);
            wins.sort_by_key(|(_, wins)| std::cmp::Reverse(*wins));
            let won: usize = wins.iter().map(|(_, wins)| wins).sum();
            for (place, (at, wins)) in wins.iter().take(NAMED).enumerate() {
                let wins = match place {
                    0 => self.of_all(*wins),
                    _ => wins.to_string(),
                };
                let _ = write!(
                    text,
                    "; {} is {} in {wins}",
                    self.name(*at),
                    self.words.best
                );
            }
            let equal = leaders
                .iter()
                .filter(|one| one.equivalent && one.among.len() > 1);
            let equal = equal.count();
            if equal > 0 {
                let phases = match won {
                    0 => self.of_all(equal),
                    _ => equal.to_string(),
                };
                let _ = write!(text, "; several are equivalent in {phases}");
            }
            if won == 0 && equal == 0 {
                let _ = write!(text, "; none of {} phases is decided", self.phases.len());
            }
        }
        text += ".";
        let others = order.iter().skip(1).copied();
        let depends = |at: usize| lead.is_some_and(|lead| self.depends_on_user_code(lead, at));
        let (dependent, open): (Vec<usize>, Vec<usize>) = others.partition(|at| depends(*at));
        if let Some(lead) = lead.filter(|_| !dependent.is_empty()) {
            let _ = write!(
                text,
                " Whether {} {} than {} depends on the program's own code, which virtual time does not \
                 count.",
                self.name(lead),
                self.words.is_better(),
                self.joined(&dependent, "or"),
            );
        }
        if dependent.is_empty() || !open.is_empty() {
            let _ = write!(text, " More repeats decide more ({}).", extension(set));
        }
        let rest: Vec<usize> = all
            .iter()
            .copied()
            .filter(|at| !among.contains(at))
            .collect();
        let compared = if rest.len() == 1 { &all[..] } else { among };
        (text, compared.to_vec())
    }

    /// The decided part of an answer if several may be the fastest, but not all: by how much the
    /// others are slower.
    fn ahead(&self, among: &[usize], all: &[usize]) -> Option<String> {
        let known = |at: &usize| self.ratios.get(*at).copied().flatten().is_some();
        let lowest = |these: &[usize]| {
            let known = these.iter().copied().filter(known);
            known.min_by(|a, b| f64::total_cmp(&self.ratio(*a), &self.ratio(*b)))
        };
        let rest = all.iter().copied().filter(|at| !among.contains(at));
        let rest: Vec<usize> = rest.collect();
        let lead = lowest(among)?;
        let times = self.times(lead, lowest(&rest)?)?;
        let verb = if rest.len() == 1 {
            "is"
        } else {
            "are at least"
        };
        Some(format!(
            "For this work {} {}{}: {} {verb} {times} {} than {}. ",
            self.joined(among, "or"),
            self.words.leads,
            self.overall(),
            self.names(&rest),
            self.words.worse,
            self.name(lead)
        ))
    }

    /// The other contenders compared with one, usually the baseline: `; btrfs is slower than ext4 in
    /// 5`.
    fn others(&self, except: &[usize], with: usize) -> String {
        let mut text = String::new();
        if self.phases.len() < 2 {
            return text;
        }
        let others = (0..self.comparison.contenders.len())
            .filter(|at| *at != with && !except.contains(at) && self.is_durable(*at));
        let clauses = others.filter_map(|at| {
            let baseline = self.name(with);
            let (better, worse) = (self.words.better, self.words.worse);
            let counted = [(better, Verdict::Faster), (worse, Verdict::Slower)];
            let counted = counted.map(|(word, verdict)| (word, self.count(at, with, verdict)));
            let clause = match counted {
                [(_, 0), (_, 0)] => return None,
                [(word, n), (_, 0)] | [(_, 0), (word, n)] => {
                    let all = if n == self.phases.len() { "all " } else { "" };
                    format!("{word} than {baseline} in {all}{n}")
                }
                [(_, faster), (_, slower)] => {
                    format!("{better} than {baseline} in {faster} and {worse} in {slower}")
                }
            };
            Some((clause, at))
        });
        for (clause, these) in by_key(clauses).iter().take(NAMED - 1) {
            let verb = if these.len() == 1 { "is" } else { "are" };
            let _ = write!(text, "; {} {verb} {clause}", self.names(these));
        }
        text
    }

    /// The figures of one draw, and the command that decides.
    fn of_one_draw(&self, set: &ResultSet) -> String {
        let plan = &set.run.plan;
        let all = self.comparison.measured_contenders();
        let mut known: Vec<usize> = all;
        known.retain(|at| self.ratios.get(*at).is_some_and(Option::is_some));
        known.sort_by(|a, b| f64::total_cmp(&self.ratio(*a), &self.ratio(*b)));
        let shown: Vec<String> = known
            .iter()
            .take(NAMED)
            .map(|at| match self.phases[..] {
                [line] => {
                    let median = line.values[*at].as_ref().map_or(0.0, |v| v.summary.median);
                    format!("{} {}", self.name(*at), line.shown(median))
                }
                _ => format!("{} {}", self.name(*at), terms::ratio(self.ratio(*at))),
            })
            .collect();
        let more = known.len().saturating_sub(shown.len());
        let more = match more {
            0 => String::new(),
            n => format!(", and {n} more"),
        };
        let what = match self.phases.len() {
            1 if self.phases[0].is_time() => "Times".to_owned(),
            1 => self.phases[0].label(),
            n => format!("Mean ratios to {} over {n} phases", self.name(0)),
        };
        let figures = if shown.is_empty() {
            String::new()
        } else {
            format!(" {what}: {}{more}.", shown.join(", "))
        };
        let draw = if plan.in_virtual_time() {
            "draw"
        } else {
            "repeat"
        };
        // More blocks of a plan that varies nothing are the same draw.
        let decide = if plan.in_virtual_time() && plan.variation().is_none() {
            "run the comparison again without --vary none".to_owned()
        } else {
            let id = terms::printable(&set.run.id);
            format!("fsdyno run {}", extension(set).replace("RUN", &id))
        };
        format!(
            "One {draw} decides nothing: the order may be chance.{figures} To decide: {decide}."
        )
    }

    fn too_few(&self, set: &ResultSet) -> String {
        let remedy = match set.run.plan.adaptive {
            None => format!("At least {MIN_PAIRS} are needed ({}).", extension(set)),
            Some(_) => format!(
                "The first analysis is after {} repeats: continue with `fsdyno run --resume {}`.",
                set.run.plan.repeats,
                terms::printable(&set.run.id)
            ),
        };
        let lead = self.lowest_without(None);
        let next = lead.and_then(|lead| self.lowest_without(Some(lead)));
        let hint = lead.zip(next).and_then(|(lead, next)| {
            let times = self.times(lead, next)?;
            let (lead, next) = (self.name(lead), self.name(next));
            let (overall, better) = (self.overall(), self.words.better);
            Some(format!(
                ": {lead} is {times} {better} than {next}{overall}, which may be chance"
            ))
        });
        let hint = hint.unwrap_or_default();
        format!(
            "There are too few repeats to name a {}{hint}. {remedy}",
            self.words.best
        )
    }
}
