//! The difference between two contenders, as a document.

use super::{PhaseWhy, Why};
use crate::document::{
    Block, Cell, Column, Document, Group, Item, Label, Row, Section, Table, Tone,
};
use crate::terms;
use fsdyno_model::Nanos;
use fsdyno_model::step::shell_line;

/// The part of the differences on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The largest number of phases.
    phases: usize,
    /// The figures of each phase.
    figures: Figures,
    /// The largest number of warnings.
    warnings: usize,
}

/// The figures of a phase on a screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Figures {
    All,
    /// The time and its parts.
    Times,
    None,
}

const fn phases(phases: usize, figures: Figures, warnings: usize) -> Screen {
    Screen {
        phases,
        figures,
        warnings,
    }
}

/// The parts on a screen. The first that fits is used.
pub const SCREENS: [Screen; 8] = [
    phases(usize::MAX, Figures::All, usize::MAX),
    phases(usize::MAX, Figures::Times, usize::MAX),
    phases(usize::MAX, Figures::None, usize::MAX),
    phases(8, Figures::None, 3),
    phases(5, Figures::None, 3),
    phases(3, Figures::None, 3),
    phases(2, Figures::None, 1),
    phases(1, Figures::None, 1),
];

/// The answer, and the explanations of the phases with the largest differences, for a screen.
pub fn screen(why: &Why, screen: Screen) -> Document {
    let warnings = &why.warnings[..screen.warnings.min(why.warnings.len())];
    let mut blocks = vec![Block::warnings(warnings)];
    for phase in why.phases.iter().take(screen.phases) {
        let mut section = Section::new("", phase.phase.as_str());
        let is_time = |name: &str| name == "time" || phase.part_names.contains(&name);
        let figures = match screen.figures {
            Figures::All => Some(table(phase, &why.contenders)),
            Figures::Times => {
                let mut times = phase.clone();
                times.rows.retain(|row| is_time(&row.name));
                Some(table(&times, &why.contenders))
            }
            Figures::None => None,
        };
        if let Some(figures) = figures {
            section = section.with(figures);
        }
        blocks.push(
            section
                .with(Block::paragraph(phase.sentence.as_str()))
                .into(),
        );
    }
    let left_out = [
        (why.phases.len().saturating_sub(screen.phases), "more phase"),
        (why.warnings.len() - warnings.len(), "more warning"),
    ];
    let left_out = left_out.into_iter().filter(|(number, _)| *number > 0);
    let left_out = left_out.map(|(number, what)| terms::count(number, what));
    let parts: Vec<String> = left_out.chain(["figures and sources".to_owned()]).collect();
    let [a, b] = &why.contenders;
    let command = shell_line(&["fsdyno", "why", &why.run, a, b, "--long"].map(str::to_owned));
    let more = format!("{command} ({})", parts.join(", "));
    blocks.push(Block::List(vec![Item::new("More", Tone::Soft, more)]));
    Document {
        lead: vec![answer(why).into()],
        blocks,
        ..Document::default()
    }
}

/// The largest difference that has a cause, in one sentence.
fn answer(why: &Why) -> String {
    let [a, b] = &why.contenders;
    let known = why
        .phases
        .iter()
        .filter_map(|phase| Some((phase, phase.cause?)));
    let Some((phase, cause)) = known.clone().next() else {
        let phases = match &why.phases[..] {
            [one] => one.phase.clone(),
            several => terms::count(several.len(), "phase"),
        };
        return format!("No cause of a difference between {a} and {b} is known in {phases}.");
    };
    let (slower, names) = match phase.difference_ns {
        ..0 => (0, [a, b]),
        _ => (1, [b, a]),
    };
    let [long, short] = [slower, 1 - slower].map(|at| phase.anatomies[at].whole_ns);
    let others = match why.phases.len() {
        1 => String::new(),
        all => format!("; a cause is known in {} of {all} phases", known.count()),
    };
    format!(
        "{} took {} times as long as {} in {} ({} against {}), mostly because of {}{others}.",
        names[0],
        terms::ratio(long as f64 / short.max(1) as f64),
        names[1],
        phase.phase,
        Nanos(long),
        Nanos(short),
        cause.words(),
    )
}

/// The answer, and the phases, each with its figures and its explanation.
pub fn document(why: &Why) -> Document {
    let [a, b] = &why.contenders;
    let mut document = Document::new(format!("{a} and {b}, run {}", why.run));
    document.lead = vec![answer(why).into()];
    document.blocks.push(Block::warnings(&why.warnings));
    for phase in &why.phases {
        let section = Section::new("", phase.phase.as_str())
            .with(table(phase, &why.contenders))
            .with(Block::paragraph(phase.sentence.as_str()));
        document.blocks.push(section.into());
    }
    for (heading, texts) in [("Sources", &why.sources), ("Not known", &why.missing)] {
        let texts = Block::sentences(texts.iter().cloned());
        document
            .blocks
            .push(Section::new("", heading).with(texts).into());
    }
    document
}

/// The figures of all phases.
pub fn figures(why: &Why) -> Table {
    let groups = why.phases.iter().map(|phase| Group {
        heading: phase.phase.clone(),
        ..group(phase)
    });
    with_groups("", &why.contenders, groups.collect())
}

/// The figures of a phase.
pub fn table(phase: &PhaseWhy, contenders: &[String; 2]) -> Table {
    with_groups(&phase.phase, contenders, vec![group(phase)])
}

fn group(phase: &PhaseWhy) -> Group {
    let rows = phase.rows.iter().map(|row| {
        let cells = row.texts.iter().cloned().map(Cell::text);
        Row::new(row.name.as_ref(), cells.collect())
    });
    Group {
        rows: rows.collect(),
        ..Group::default()
    }
}

fn with_groups(name: &str, contenders: &[String; 2], groups: Vec<Group>) -> Table {
    let column = |(label, letter): (&String, &str)| {
        let name = label.split(|c: char| !c.is_alphanumeric()).next();
        let short = format!("{} [{letter}]", name.unwrap_or_default());
        Column::new(Label::contender(label.as_str()).with_short(short))
    };
    let columns = contenders.iter().zip(["a", "b"]).map(column);
    Table::grouped(name, ["phase", "figure"], columns, groups)
}
