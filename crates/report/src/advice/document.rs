//! The advice as a report: on a terminal it is one screen.

use super::{
    Candidate, CrashTests, Departure, Dropped, Effect, Pair, PhaseTime, Recommendation, RunnerUp,
    Validation, robustness, sizes,
};
use crate::compare::RunVerdict;
use crate::document::{
    Block, Cell, Column, Document, Group, Item, Label, Row, Section, Table, Tone,
};
use crate::lists::by_key;
use crate::terms;
use fsdyno_model::Nanos;
use fsdyno_stats::ratio_paired;
use std::fmt::Write as _;

/// The numbers of rows of each table and list on a screen. The first number that fits is used.
pub const ROWS: [usize; 5] = [6, 5, 4, 3, 2];

/// The largest number of phases of which a table of contenders has the figures.
const PHASES: usize = 3;

/// The advice, with at most this number of rows in each table and list.
pub fn document(advice: &Recommendation, rows: usize) -> Document {
    let date = terms::date(advice.started_unix_ns);
    let sure = advice
        .choice
        .as_ref()
        .map(|choice| sure(advice, choice.runner_up.as_ref()));
    let parts = [sure, advice.user_code.clone(), Some(place(advice))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut blocks = vec![Block::paragraph(parts.join(" "))];
    // The comparison with a measurement takes the place of the rest on a screen.
    let is_brief = is_screen(rows) && advice.validation.is_some();
    blocks.extend(phases(advice, rows).filter(|_| !is_brief).map(Block::Table));
    blocks.extend(turn(advice).map(Block::paragraph));
    blocks.push(contenders(advice, rows).into());
    blocks.extend(left_out(advice).map(Block::paragraph));
    blocks.extend(not_recommended(advice, rows).filter(|_| !is_brief));
    blocks.extend(commands(advice));
    blocks.extend(advice.validation.as_ref().map(|one| validation(one, rows)));
    let warnings = advice.warnings.iter();
    let warnings = warnings.map(|text| format!("Warning: {text}."));
    Document {
        page_title: Some("Which file system to choose".to_owned()),
        subtitle: subtitle(advice),
        lead: warnings
            .chain(source(advice))
            .chain([lead(advice)])
            .map(Into::into)
            .collect(),
        blocks,
        footer: match advice.atlas {
            Some(_) => format!("Questions of the atlas: {}.", advice.runs.join(", ")),
            None => format!("Runs: {}.", advice.runs.join(", ")),
        },
        ..Document::new(match advice.atlas {
            Some(_) => format!("fsdyno: advice from the atlas of {date}"),
            None => format!("fsdyno: advice of {date}"),
        })
    }
}

/// That an advice was made from an atlas.
fn source(advice: &Recommendation) -> Option<String> {
    let atlas = advice.atlas.as_ref()?;
    Some(format!(
        "From the atlas, not measured here: fsdyno {} measured it in virtual time. The last commands \
         verify it and measure here.",
        terms::printable(&atlas.fsdyno)
    ))
}

/// The date, the kernels, and the work with its size.
fn subtitle(advice: &Recommendation) -> String {
    let date = terms::date(advice.started_unix_ns);
    let parts = std::iter::once(date).chain(advice.kernels.iter().cloned());
    let parts: Vec<String> = parts.chain([work(advice)]).collect();
    parts.join(" \u{b7} ")
}

/// The work with its size: `desktop (3,000 files, 1.2 GiB)`.
fn work(advice: &Recommendation) -> String {
    let amount = advice.sizes.last().map_or(&[][..], |size| &size.amount);
    match amount {
        [] => advice.work.clone(),
        amounts => format!("{} ({})", advice.work, amounts.join("; ")),
    }
}

/// Whether a number of rows is that of a screen, which is brief.
fn is_screen(rows: usize) -> bool {
    ROWS.contains(&rows)
}

/// The place of the measurement, the runs, and the work.
fn place(advice: &Recommendation) -> String {
    let runs = advice.runs.join(" and ");
    let place = match (&advice.model_disk, &advice.fit) {
        (Some(disk), Some(fit)) => format!(
            "Measured in virtual time on {disk}, the {} model of {} (error {} in {}): {runs}.",
            fit.model,
            terms::printable(&fit.device),
            terms::percent(fit.error),
            terms::count(fit.figures, "figure")
        ),
        (Some(disk), None) if advice.atlas.is_some() => {
            format!("Figures of the atlas, on the model disk {disk}: {runs}.")
        }
        (Some(disk), None) => {
            format!("Measured on the model disk {disk} in virtual time: {runs}.")
        }
        (None, _) => format!("Measured on image files in real time: {runs}."),
    };
    let kernels = match &advice.kernels[..] {
        [] => String::new(),
        kernels => format!(" With {}.", terms::joined(kernels, "and")),
    };
    format!("{place}{kernels} Work: {}.", advice.work)
}

/// The recommendation.
fn lead(advice: &Recommendation) -> String {
    let Some(choice) = &advice.choice else {
        return "No contender can be recommended: the reasons are below.".to_owned();
    };
    let best = &choice.contender;
    let mut text = match &choice.runner_up {
        None => format!("Choose {best}: no other contender is left."),
        Some(other) => {
            let label = &other.contender;
            let ratio = multiple(other);
            let open = &choice.undecided;
            match other.verdict {
                _ if open.iter().any(|one| one.contender != *label) => {
                    let labels = open.iter().map(|one| &one.contender);
                    let all: Vec<String> = std::iter::once(best).chain(labels).cloned().collect();
                    let all = terms::joined(&all, "and");
                    match other.verdict {
                        Some(RunVerdict::Equivalent) => format!(
                            "Not decided between {all}; {label} is equivalent to {best} (within {}).",
                            terms::percent(advice.margin)
                        ),
                        _ => format!("Not decided between {all}."),
                    }
                }
                Some(RunVerdict::Faster) => {
                    format!("Choose {best}: {ratio} times faster than {label}, the runner-up.")
                }
                Some(RunVerdict::Equivalent) => format!(
                    "No difference that you would notice: {best} and {label} are equivalent \
                     (within {}). Choose by features and safety; {best} {}.",
                    terms::percent(advice.margin),
                    if other.ratio >= 1.0 {
                        "is slightly faster"
                    } else {
                        "passed its crash tests"
                    }
                ),
                _ if other.depends_on_user_code => format!(
                    "Not decided: {best} leads {label} by {ratio} times, which depends on the program's own \
                     code, which virtual time does not count."
                ),
                _ => format!(
                    "Not decided between {best} and {label}: {label} takes {ratio} times as long{}.",
                    match other.interval {
                        Some(interval) if interval.low > 1.0 || interval.high < 1.0 => format!(
                            ". It is inconclusive whether that is more than the margin ({})",
                            terms::percent(advice.margin)
                        ),
                        _ => ", which may be chance".to_owned(),
                    }
                ),
            }
        }
    };
    match choice.options {
        Effect::NotMeasured => {}
        Effect::NoDifference => {
            let _ = write!(
                text,
                " Safe options of {best} make no difference that you would notice."
            );
        }
        Effect::Faster(ratio) => {
            let note = advice.options.iter();
            let mut note = note.filter(|note| terms::printable(&note.label) == *best);
            let why = note.next().map_or("", |note| &note.why);
            let _ = write!(
                text,
                " Its options make it {}{} times faster: {why}.",
                at_most(advice),
                terms::ratio(ratio)
            );
        }
    }
    let best = &advice.candidates[choice.best];
    if let Some(costs) = &best.costs {
        let _ = write!(text, " Its options give up safety: {costs}.");
    }
    if let Some(sizes) = sizes::text(advice) {
        let _ = write!(text, " {sizes}");
    }
    text += &known(advice, best);
    text += &tested(advice, best);
    if let Some(robust) = robustness::text(advice) {
        let _ = write!(text, " {robust}");
    }
    if advice.unmeasured > 0 {
        let _ = write!(
            text,
            " The time budget ended before {} could be measured: a better choice is possible.",
            terms::count(advice.unmeasured, "other contender")
        );
    }
    text
}

/// The total of the runner-up as a multiple of that of the choice: `2.5`, or `1.5 to 2.5` between none and
/// all user code.
fn multiple(other: &RunnerUp) -> String {
    let ends = other.range_with_user_code;
    let ends = ends.map(|(low, high)| [low, high].map(terms::ratio));
    match ends {
        Some([low, high]) if low != high => format!("{low} to {high}"),
        _ => terms::ratio(other.ratio),
    }
}

/// Before a ratio without user code, if there is such code.
fn at_most(advice: &Recommendation) -> &'static str {
    if advice.user_code.is_some() {
        "up to "
    } else {
        ""
    }
}

/// What power cuts, faulty disks and full disks did to the choice.
fn tested(advice: &Recommendation, best: &Candidate) -> String {
    let mut text = String::new();
    if let Some(losses) = best.power_losses {
        let _ = write!(text, " When the power fails, {}.", losses.describe());
    }
    match best.flipped_bits {
        Some(bits) => {
            let _ = write!(text, " On a faulty disk: {}.", bits.describe());
        }
        None if advice.bitrot => {
            let _ = write!(text, " {} was not tested with faulty disks.", best.label);
        }
        None => {}
    }
    match best.dead_disks {
        Some(disks) => {
            let _ = write!(text, " It {}.", disks.describe());
        }
        None if advice.dead_disk => {
            let _ = write!(text, " {} was not tested with dead disks.", best.label);
        }
        None => {}
    }
    if let Some(full) = &best.full_disks {
        let _ = write!(text, " On a full disk: {}.", full.describe());
    }
    text
}

/// What crash tests found about the choice, or that there were none.
fn known(advice: &Recommendation, best: &Candidate) -> String {
    let name = &best.filesystem;
    let Some(tests) = &best.crash_tests else {
        let with = advice.application.as_ref();
        let with = with.map_or_else(String::new, |application| format!(" with {application}"));
        return format!(" {name} was not crash tested{with} with this kernel.");
    };
    let known = tests.known().map(|known| {
        let of = if tests.same_options {
            &best.label
        } else {
            name
        };
        let kernel = advice.kernels.join(", ");
        format!(" Known of {of} with {kernel}: after a power cut {known}.")
    });
    known.unwrap_or_default()
}

/// The certainty of the recommendation.
fn sure(advice: &Recommendation, other: Option<&RunnerUp>) -> String {
    if advice.one_draw {
        let more = if advice.atlas.is_some() {
            "measure more"
        } else {
            "a longer --budget allows more draws"
        };
        return format!("How sure: each figure is one draw, which decides nothing; {more}.");
    }
    if advice.atlas.is_some() && other.is_none() {
        return "How sure: no other contender was compared.".to_owned();
    }
    let has_user_code = other.is_some_and(|other| other.range_with_user_code.is_some());
    let without = if has_user_code {
        ", without user code,"
    } else {
        ""
    };
    let what = if advice.certain { "draw" } else { "repeat" };
    let models = if advice.atlas.is_some() {
        "; the errors of the models were not varied"
    } else {
        ""
    };
    let undecided = advice.choice.as_ref().map(|choice| &choice.undecided[..]);
    let compared: Vec<&RunnerUp> = match undecided {
        Some(several @ [_, ..]) => several.iter().collect(),
        _ => other.into_iter().collect(),
    };
    let judged = { compared.into_iter() }.filter_map(|one| Some((one, one.interval?)));
    let ratios = judged.enumerate().map(|(at, (one, interval))| {
        let (contender, ratio) = (&one.contender, terms::ratio(one.ratio));
        let (low, high) = (terms::ratio(interval.low), terms::ratio(interval.high));
        if at > 0 {
            return format!("that of {contender} {ratio} ({low} to {high})");
        }
        let pairs = terms::count(one.pairs, what);
        format!(
            "the ratio of {contender} within {what}s{without} is {ratio} (95 % interval {low} to {high}, {pairs})"
        )
    });
    let ratios: Vec<String> = ratios.collect();
    if !ratios.is_empty() {
        return format!("How sure: {}{models}.", terms::joined(&ratios, "and"));
    }
    let range = other.and_then(|other| Some((other, other.range?)));
    match range.filter(|_| advice.atlas.is_some()) {
        Some((other, (low, high))) => format!(
            "How sure: the ratio of {} within draws is {}, and {} to {} in {}{models}.",
            other.contender,
            terms::ratio(other.ratio),
            terms::ratio(low),
            terms::ratio(high),
            terms::count(other.pairs, "draw")
        ),
        None => {
            "How sure: too few repeats for an interval; a longer --budget allows more.".to_owned()
        }
    }
}

/// The phases of the choice and the runner-up.
fn phases(advice: &Recommendation, shown: usize) -> Option<Table> {
    let choice = advice.choice.as_ref()?;
    let best = &advice.candidates[choice.best];
    let runner_up = choice.runner_up.as_ref()?;
    let other = &advice.candidates[runner_up.at];
    // Within blocks, as that of the totals.
    let ratio = |one: &PhaseTime, other: &PhaseTime| {
        let paired = ratio_paired(&other.costs, &one.costs).map(|paired| paired.middle);
        let ratio = paired.or_else(|| (one.cost > 0.0).then_some(other.cost / one.cost));
        ratio.map_or(Cell::Unknown, Cell::Ratio)
    };
    let mut rows: Vec<(f64, Row)> = best
        .phases
        .iter()
        .zip(&other.phases)
        .map(|(one, other)| {
            let name = match one.time_ns {
                Some(_) => one.phase.clone(),
                None => format!("{}, {}", one.phase, one.figure),
            };
            let cells = vec![figure(one), figure(other), ratio(one, other)];
            (one.cost.max(other.cost), Row::new(name, cells))
        })
        .collect();
    let all = rows.len();
    if all > shown {
        rows.sort_by(|a, b| b.0.total_cmp(&a.0));
        rows.truncate(shown);
    }
    let left_out = all - rows.len();
    let total = match left_out {
        0 => "total".to_owned(),
        n => format!("total, with {n} more"),
    };
    let (name, summary) = if let (Some(one), Some(other)) = (best.total_ns, other.total_ns) {
        let cells = vec![duration(one), duration(other), Cell::Ratio(runner_up.ratio)];
        let name = "Times, to durable where a phase writes";
        (name, vec![Row::new(total, cells)])
    } else {
        let mean = vec![Cell::Empty, Cell::Empty, Cell::Ratio(runner_up.ratio)];
        let name = "Figures that phases are judged by; a ratio above 1 is worse";
        let is_mean = best.phases.len() > 1;
        let mean = is_mean.then(|| Row::new("geometric mean", mean));
        (name, mean.into_iter().collect())
    };
    let columns = [best.label.as_str(), other.label.as_str(), "ratio"].map(Column::new);
    let rows = rows.into_iter().map(|(_, row)| row);
    Some(Table {
        summary,
        ..Table::new(name, "phase", columns, rows)
    })
}

fn duration(ns: f64) -> Cell {
    Cell::Duration(Nanos::from_seconds(ns / 1e9))
}

/// The figure that a phase is judged by.
fn figure(phase: &PhaseTime) -> Cell {
    match phase.time_ns {
        Some(ns) => duration(ns),
        None => Cell::Text(terms::amount(&phase.unit, phase.median, false)),
    }
}

/// The change of the work that would turn the decision.
fn turn(advice: &Recommendation) -> Option<String> {
    let other = advice.choice.as_ref()?.runner_up.as_ref()?;
    if other.verdict != Some(RunVerdict::Faster) {
        return None;
    }
    let label = &other.contender;
    let is_sum = advice.candidates[other.at].total_ns.is_some();
    Some(match &other.turn {
        Some(turn) => format!(
            "What would turn it: with more than {} times {} of `{}`, {label} wins.",
            terms::ratio(turn.factor),
            if is_sum { "as much" } else { "the weight" },
            turn.phase
        ),
        None => format!("What would turn it: no phase, because {label} is faster in none."),
    })
}

/// All contenders, fastest first.
fn contenders(advice: &Recommendation, rows: usize) -> Table {
    let ranking = &advice.candidates;
    let choice = advice.choice.as_ref();
    let shown = rows.min(ranking.len());
    let row = |one: &Candidate| {
        let ratio = match one.ratio {
            Some(ratio) => Cell::Ratio(ratio),
            None if choice.is_some() => Cell::Ratio(1.0),
            None => Cell::Unknown,
        };
        let label = Label::contender(one.label.as_str());
        let describe = if is_screen(rows) {
            CrashTests::brief
        } else {
            CrashTests::describe
        };
        let tests = one.crash_tests.as_ref();
        let safety = Cell::Text(tests.map_or_else(|| "not tested".to_owned(), describe));
        let figures = match one.total_ns {
            Some(total) => vec![duration(total)],
            None => one.phases.iter().take(PHASES).map(figure).collect(),
        };
        Row::new(label, [figures, vec![ratio, safety]].concat())
    };
    let figures = match ranking.first() {
        Some(first) if first.total_ns.is_none() => {
            let phases = first.phases.iter().take(PHASES);
            phases
                .map(|one| format!("{}, {}", one.phase, one.figure))
                .collect()
        }
        _ => vec!["total".to_owned()],
    };
    let columns = figures.into_iter().map(Column::new);
    let columns = columns.chain([Column::new("ratio"), Column::of_text("violations")]);
    let more = ranking.len() - shown;
    let group = Group {
        rows: ranking.iter().take(shown).map(row).collect(),
        note: (more > 0).then(|| {
            format!(
                "{} with larger totals.",
                terms::count(more, "more contender")
            )
        }),
        ..Group::default()
    };
    Table::grouped("Contenders", ["", "contender"], columns, [group])
}

/// The options that the time budget left out.
fn left_out(advice: &Recommendation) -> Option<String> {
    let all = &advice.left_out;
    (!all.is_empty()).then(|| format!("Left out, by the time budget: {}.", all.join(", ")))
}

/// Options that are faster and cost safety.
fn unsafe_options(advice: &Recommendation) -> impl Iterator<Item = (String, String)> {
    let choice = advice.choice.iter();
    let options = choice.flat_map(|choice| &choice.unsafe_options);
    options.map(|one| {
        let costs = one.costs.as_deref().unwrap_or_default();
        let gain = terms::ratio(one.gain);
        let text = format!("{}{gain} times faster, but {costs}", at_most(advice));
        (one.contender.clone(), text)
    })
}

/// The file systems and contenders that are not recommended: their names by reason, those with
/// options that cost safety first.
fn not_recommended(advice: &Recommendation, rows: usize) -> Option<Block> {
    let mut reasons: Vec<(String, String)> = unsafe_options(advice).collect();
    let own = reasons.len();
    // Those that were measured first: they have figures above.
    let is_measured = |one: &&Dropped| {
        let mut candidates = advice.candidates.iter();
        candidates.any(|candidate| candidate.label == one.name)
    };
    let (measured, others): (Vec<&Dropped>, Vec<&Dropped>) =
        advice.dropped.iter().partition(is_measured);
    let dropped = measured.into_iter().chain(others);
    let dropped = by_key(dropped.map(|one| (&one.why, one.name.as_str()))).into_iter();
    reasons.extend(dropped.map(|(why, names)| (names.join(", "), why.clone())));
    if reasons.len() > rows {
        let names: Vec<String> = reasons.drain(rows..).map(|(names, _)| names).collect();
        reasons.push((
            "with -o page.html".to_owned(),
            format!("the reasons of {}", names.join(", ")),
        ));
    }
    let items = reasons.into_iter();
    let items = items.map(|(names, why)| Item::new(names, Tone::Plain, why));
    let list = Block::List(items.collect());
    let section = Section::new("not-recommended", "Not recommended").with(list);
    (!advice.dropped.is_empty() || own > 0).then(|| section.into())
}

/// The commands that make and mount the choice.
fn commands(advice: &Recommendation) -> Option<Block> {
    let choice = advice.choice.as_ref()?;
    let best = &advice.candidates[choice.best];
    let mut lines = choice.commands.clone();
    if best.crash_tests.is_none() {
        let filesystem = &best.filesystem;
        let of = advice.application.as_ref();
        let of = of.map_or_else(String::new, |application| format!(" --app '{application}'"));
        lines.push(format!(
            "fsdyno crash{of} --fs {filesystem}   # it is not tested"
        ));
    }
    let is_untested = (advice.bitrot && best.flipped_bits.is_none())
        || (advice.dead_disk && best.dead_disks.is_none());
    if is_untested {
        let label = &best.label;
        lines.push(format!("fsdyno lose --fs '{label}'   # it is not tested"));
    }
    if let Some(atlas) = &advice.atlas {
        lines.push(format!("{}   # its cells again, here", atlas.verify));
        lines.push(atlas.measure.clone());
    }
    let title = match choice.undecided[..] {
        [] => "Commands".to_owned(),
        _ => format!("Commands for {}, which is not decided", best.label),
    };
    let section = Section::new("commands", title).with(Block::Code(lines.join("\n")));
    (!lines.is_empty()).then(|| section.into())
}

/// The predicted ratios compared with the measured ones; the pairs with the largest errors first.
fn validation(validation: &Validation, rows: usize) -> Block {
    let mut pairs: Vec<&Pair> = validation.pairs.iter().collect();
    pairs.sort_by(|a, b| b.error().total_cmp(&a.error()));
    let row = |pair: &&Pair| {
        let [one, other] = &pair.labels;
        let cells = [pair.predicted, pair.measured, pair.error()];
        Row::new(format!("{other} / {one}"), cells.map(Cell::Ratio).into())
    };
    let figure = |value: Option<f64>| value.map_or_else(|| "unknown".to_owned(), terms::ratio);
    let text = format!(
        "Run {}, in real time: rank correlation {} and median error factor {}, of {}.",
        validation.run,
        figure(validation.correlation),
        figure(validation.median_error),
        terms::count(pairs.len(), "pair")
    );
    let departures: Vec<Block> = pairs
        .iter()
        .filter_map(|pair| Some((pair, pair.departure.as_ref()?)))
        .take(if is_screen(rows) { 1 } else { usize::MAX })
        .map(|(pair, one)| departure(pair, one, is_screen(rows)))
        .collect();
    let left_out = validation
        .pairs
        .iter()
        .filter(|pair| pair.departure.is_some())
        .count()
        - departures.len();
    let more = (left_out > 0).then(|| {
        let pairs = terms::count(left_out, "more pair");
        Block::paragraph(format!("With -o page.html: the causes of {pairs}."))
    });
    let columns = ["predicted", "measured", "error"].map(Column::new);
    let name = "Predicted and measured ratios";
    let table = Table::new(name, "pair", columns, pairs.iter().take(rows).map(row));
    let mut section = Section::new("validation", "Predicted and measured")
        .with(Block::paragraph(text))
        .with(table);
    for block in departures.into_iter().chain(more) {
        section = section.with(block);
    }
    section.into()
}

/// The reason why the measurement departs from the prediction.
fn departure(pair: &Pair, departure: &Departure, is_brief: bool) -> Block {
    let [one, other] = &pair.labels;
    let Departure {
        phase,
        predicted,
        measured,
    } = departure;
    let text = format!("{other} / {one} departs in {phase}. Measured: {measured}");
    Block::paragraph(if is_brief {
        text
    } else {
        format!("{text} Predicted: {predicted}")
    })
}

/// The figures of all measured contenders: the total, and each phase.
pub fn figures(advice: &Recommendation) -> Table {
    let ranking = &advice.candidates;
    let phases = ranking.first().map_or(&[][..], |one| &one.phases);
    let row = |one: &Candidate| {
        let phases = one.phases.iter().map(|phase| phase.median);
        let figures = one.total_ns.into_iter().chain(phases);
        Row::new(one.label.as_str(), figures.map(Cell::Number).collect())
    };
    let columns = phases.iter().map(|phase| match phase.time_ns {
        Some(_) => format!("{} ns", phase.phase),
        None => format!("{} {} {}", phase.phase, phase.figure, phase.unit),
    });
    let total = ranking.first().and_then(|one| one.total_ns);
    let columns = total
        .map(|_| "total ns".to_owned())
        .into_iter()
        .chain(columns);
    let columns = columns.map(Column::new);
    Table::new("", "contender", columns, ranking.iter().map(row))
}
