//! The answer of an exploration in a few lines: the broken promises and the extent of the check.

use super::name;
use super::totals::Totals;
use crate::document::{Block, Item, Text, Tone};
use crate::lists;
use crate::terms::{self, grouped};
use fsdyno_model::{
    ClassCount, Contender, Exploration, ProgramSource, Score, Search, StateClass, StopReason,
};
use std::collections::BTreeSet;

/// The largest number of characters of a text in the brief form: two lines.
pub const BRIEF: usize = 140;

/// The file systems that broke a promise, and those on which the check of an application fails. A
/// list has at most this number of names.
pub fn lead(exploration: &Exploration, totals: &[Totals], most: usize) -> String {
    let contenders = exploration.info.contenders.iter().map(name).zip(totals);
    let explored: Vec<_> = contenders.filter(|(_, of)| of.programs > 0).collect();
    if explored.is_empty() {
        return "No program was explored.".to_owned();
    }
    let (broken, kept): (Vec<_>, Vec<_>) = explored
        .iter()
        .partition(|(_, of)| of.scored(Score::Violation).next().is_some());
    let broken = broken.into_iter();
    let broken: Vec<String> = broken
        .map(|(name, of)| format!("{name} broke promises ({})", findings(of, Score::Violation)))
        .collect();
    let names: Vec<String> = kept.iter().map(|(name, _)| name.clone()).collect();
    let complete = kept.iter().all(|(_, of)| of.is_complete());
    let kept = match (&names[..], complete) {
        ([], _) => String::new(),
        (names, true) => format!(
            "{} broke none in all legal states of the explored programs",
            some(names, most)
        ),
        (names, false) => format!("{} broke none in the checked states", some(names, most)),
    };
    let sentence = match (broken.is_empty(), kept.is_empty()) {
        (true, _) => kept.replacen("broke none", "broke no promise", 1),
        (false, true) => some(&broken, most),
        (false, false) => format!("{}; {kept}", some(&broken, most)),
    };
    let failed = explored.iter();
    let failed = failed.filter(|(_, of)| of.scored(Score::Application).next().is_some());
    let failed: Vec<String> = failed
        .map(|(name, of)| format!("{name} ({})", findings(of, Score::Application)))
        .collect();
    let ProgramSource::Application {
        name: application, ..
    } = &exploration.info.search.programs
    else {
        return format!("{sentence}.");
    };
    let application = application.as_deref().map(terms::printable);
    let application = application.as_deref().unwrap_or("The application");
    if failed.is_empty() {
        return format!("{application} loses nothing in the checked states. {sentence}.");
    }
    format!(
        "{application} loses data on {}. {sentence}.",
        some(&failed, most)
    )
}

/// `a, b and 3 others`: at most this number of items.
fn some(items: &[String], most: usize) -> String {
    match items.split_at_checked(most) {
        Some((first, rest @ [_, ..])) => {
            let others = [counted(rest.len() as u64, "other")];
            terms::list(&[first, &others].concat())
        }
        _ => terms::list(items),
    }
}

/// `2 findings`.
fn findings(of: &Totals, score: Score) -> String {
    counted(of.scored(score).count() as u64, "finding")
}

/// The progress of the exploration.
pub fn status(exploration: &Exploration) -> String {
    let info = &exploration.info;
    let ended = match info.stop {
        Some(StopReason::Complete) => "",
        Some(StopReason::Budget) => ", stopped by the budget",
        Some(StopReason::Interrupted) => ", interrupted",
        None => ", not ended",
    };
    let kernels = exploration.programs.iter();
    let kernels = kernels.filter_map(|one| one.guest.split(',').next());
    let kernels: BTreeSet<String> = kernels
        .filter(|kernel| !kernel.is_empty())
        .map(terms::printable)
        .collect();
    let kernels: Vec<String> = kernels.into_iter().collect();
    let shard = info
        .shard
        .map_or_else(String::new, |shard| format!(", shard {shard}"));
    let mut text = format!(
        "Explored: {} of {} ({} on {}{shard}){ended}. Disk {} (model), virtual time.",
        grouped(exploration.programs.len() as u64),
        grouped(info.programs()),
        match info.search.programs {
            ProgramSource::Application { .. } => {
                let parts = counted(info.programs_planned.into(), "part");
                format!("1 application in {parts}")
            }
            ProgramSource::Long { .. } => {
                let parts = counted(info.programs_planned.into(), "part");
                format!("1 long program in {parts}")
            }
            _ => counted(info.programs_planned.into(), "program"),
        },
        terms::count(info.contenders.len(), "contender"),
        terms::printable(&info.disk.profile),
    );
    if !kernels.is_empty() {
        text = format!("{text} {}.", kernels.join(" and "));
    }
    text
}

/// Violations, states and cost of each contender, with or without the share of the legal states by
/// class.
pub fn by_contender(
    exploration: &Exploration,
    contenders: &[(&Contender, &Totals)],
    has_classes: bool,
) -> Block {
    let items = contenders.iter().map(|(contender, of)| {
        let name = name(contender);
        let tone = match () {
            () if of.scored(Score::Violation).next().is_some() => Tone::Bad,
            () if of.scored(Score::Application).next().is_some() => Tone::Warning,
            () if of.programs > 0 => Tone::Good,
            () => Tone::Warning,
        };
        let classes = of.states.classes.iter();
        let classes = classes.map(|(class, count)| Text::from(share(*class, count)));
        let windows = windows(of).map(Text::from).into_iter().chain(classes);
        let lines = windows.chain(nested(of).map(Text::from));
        let lines = lines.filter(|_| has_classes);
        let mut more: Vec<(Text, Tone)> = lines.map(|text| (text, Tone::Soft)).collect();
        if of.failed > 0 {
            let failed = exploration.programs.iter();
            let mut failed = failed.filter(|one| one.contender == contender.label);
            let why = failed.find_map(|one| one.failed.as_deref());
            let text = format!(
                "{} could not be explored: {}",
                counted(of.failed, "program"),
                clip(&terms::printable(why.unwrap_or_default()), BRIEF)
            );
            more.push((text.into(), Tone::Warning));
        }
        Item {
            lead: Some((name.clone(), tone)),
            text: outcome(of).into(),
            more,
            contender: Some(name),
            ..Item::default()
        }
    });
    Block::List(items.collect())
}

/// `0 violations in 212,000 states of 900 programs; 3.1 flushes per operation, ...`.
fn outcome(of: &Totals) -> String {
    if of.programs == 0 {
        return "no program explored".to_owned();
    }
    let mut text = format!(
        "{} in {} of {}",
        counted(of.states_with(Score::Violation), "violation"),
        counted(of.states.distinct, "state"),
        counted(of.programs, "program"),
    );
    for (score, what) in [
        (
            Score::Application,
            "in which the check of the application fails",
        ),
        (Score::Extra, "without an extra promise"),
        (Score::Disk, "with a fault of the disk only (C5)"),
    ] {
        let states = of.states_with(score);
        if states > 0 {
            text = format!("{text}, {} {what}", grouped(states));
        }
    }
    if let (Some(flushes), Some(rate)) = (of.flushes(), of.rate()) {
        text = format!(
            "{text}; {} flushes per operation, {} operations/s",
            terms::significant(flushes),
            grouped(rate)
        );
    }
    text
}

/// `power cut again: 14 states during the recovery, 15 during a checker or a repair`; none if no
/// checker was interrupted.
fn nested(of: &Totals) -> Option<String> {
    let states = &of.states;
    (states.nested_checks > 0).then(|| {
        format!(
            "power cut again: {} during the recovery, {} during a checker or a repair",
            counted(states.nested, "state"),
            grouped(states.nested_checks)
        )
    })
}

/// `explored 512 of 3,201 windows, and of these`; none if all were explored.
fn windows(of: &Totals) -> Option<String> {
    let (explored, skipped) = (of.states.windows, of.states.skipped_windows);
    (skipped > 0).then(|| {
        format!(
            "explored {} of {} windows, and of these",
            grouped(explored),
            grouped(explored.saturating_add(skipped))
        )
    })
}

/// `C2: checked 120 of 340 legal states (35.3 %)`.
fn share(class: StateClass, count: &ClassCount) -> String {
    let checked = grouped(count.checked);
    match count.legal {
        _ if count.is_complete() => {
            format!("{class}: checked {checked} of {checked} legal states (complete)")
        }
        Some(legal) => {
            let share = count.checked as f64 / legal.max(1) as f64 * 100.0;
            let share = if share < 0.05 {
                "less than 0.1 %".to_owned()
            } else {
                // Rounding never makes it complete.
                format!("{:.1} %", share.min(99.9))
            };
            let legal = grouped(legal);
            format!("{class}: checked {checked} of {legal} legal states ({share})")
        }
        None => format!("{class}: checked {checked} of more than 2^63 legal states"),
    }
}

/// The meaning of the counts, and the choice of states.
pub fn legend(exploration: &Exploration, totals: &[Totals]) -> Block {
    let Search {
        programs,
        states,
        seed,
        nested,
        ..
    } = &exploration.info.search;
    let any = |applies: fn(&Totals) -> bool| totals.iter().any(applies);
    let counted_classes = totals.iter().flat_map(|of| of.states.classes.keys());
    let classes: BTreeSet<StateClass> = counted_classes.copied().collect();
    let limit = format!(
        "Of a window at most {} states are checked: all if there are no more, else \
         representatives by the role of their blocks, then a random sample (seed {seed}).",
        grouped(*states)
    );
    let windows =
        format!("The explored windows of a long program are its last, and a sample (seed {seed}).");
    let classes: Vec<String> = classes
        .iter()
        .map(|class| format!("{class}: {}.", meaning(*class)))
        .collect();
    let classes = classes.join(" ");
    let parts: [(bool, &str); 10] = [
        (
            true,
            "Violation: a state after whose recovery a promise of POSIX or of the file system's \
             documents is broken. Extra: one that lacks a promise beyond POSIX that its documents \
             make.",
        ),
        (
            !programs.tests_file_systems(),
            "A state in which the check of the application fails is one of the application with \
             these settings, and counts for no file system.",
        ),
        (
            true,
            "Each state counts once. A state of a class is also one of the stronger classes, so \
             that their numbers do not add up.",
        ),
        (
            any(|of| of.scored(Score::Disk).next().is_some()),
            "C5: the disk ignored a flush, which no file system survives; not a violation.",
        ),
        (any(|of| !of.is_complete()), &limit),
        (any(|of| of.states.skipped_windows > 0), &windows),
        (!classes.is_empty(), &classes),
        (
            true,
            "Mounted: recovered, the tree read and judged. Equivalent: equal to a mounted state in \
             all sectors that its recovery reads. Trees: distinct recovered trees of each program; \
             the checker ran on each.",
        ),
        (
            *nested,
            "Nested: the power is also cut during the recovery.",
        ),
        (
            any(|of| of.states.nested_checks > 0),
            "In checker: during a checker or a repair program that writes.",
        ),
    ];
    Block::Legend(lists::applicable(parts).join(" ").into())
}

fn meaning(class: StateClass) -> &'static str {
    match class {
        StateClass::C0 => "a prefix of the submitted writes",
        StateClass::C1 => "whole epochs between flushes",
        StateClass::C2 => "any subset of the writes that no flush made durable",
        StateClass::C3 => "any subset of their sectors",
        StateClass::C4 => "one sector in flight cannot be read",
        StateClass::C5 => "a flush was acknowledged and not performed",
    }
}

pub fn cost_legend(exploration: &Exploration) -> Text {
    format!(
        "Of the recorded programs, without power cuts: acknowledged operations in virtual time on \
         {}, with infinitely fast processors; flushes include writes with FUA.",
        terms::printable(&exploration.info.disk.profile)
    )
    .into()
}

/// `1 state`, `2,000 states`.
pub fn counted(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(n))
}

/// A text, truncated to this number of characters.
pub fn clip(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let text: String = text.chars().take(most - 3).collect();
    format!("{}...", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::clip;

    #[test]
    fn a_clipped_text_has_at_most_its_length() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("ab cdefg", 6), "ab...");
    }
}
