//! The findings of an exploration, each with its evidence and the command that repeats it.

use super::answer::{BRIEF, clip, counted};
use super::totals::{Found, Totals};
use super::{Screen, name};
use crate::document::{Block, Fold, Item, Section, Text, Tone};
use crate::terms::{printable, printable_lines};
use fsdyno_model::step::shell_line;
use fsdyno_model::{Contender, Exploration, ExplorationInfo, Score};

/// The largest number of findings of a section that are initially unfolded on the page.
const UNFOLDED: usize = 3;

/// The largest number of characters of a line in the brief form.
const LINE: usize = 74;

/// The ways of scoring: the id of the section, its heading, and its meaning.
const SECTIONS: [(Score, &str, &str, &str); 4] = [
    (Score::Violation, "findings", "Findings", ""),
    (
        Score::Application,
        "application",
        "Findings of the application",
        "The application acknowledged what a power cut takes back, with these commands and \
         settings. They count for no file system.",
    ),
    (
        Score::Extra,
        "extra",
        "Extra promises",
        "Some file systems promise more than POSIX requires. What lacks here is no violation.",
    ),
    (
        Score::Disk,
        "disk-faults",
        "Faults of the disk",
        "These states exist only on a disk that acknowledges flushes and does not perform them \
         (C5). They are no bugs of a file system.",
    ),
];

/// A section for each way of scoring that has findings.
pub fn sections(exploration: &Exploration, contenders: &[(&Contender, &Totals)]) -> Vec<Block> {
    let sections = SECTIONS
        .into_iter()
        .filter_map(|(score, id, heading, about)| {
            let mut section = Section::new(id, heading);
            if !about.is_empty() {
                section = section.with(Block::paragraph(about));
            }
            let count = contenders.iter().map(|(_, of)| of.scored(score).count());
            let count: usize = count.sum();
            for (at, (contender, of)) in contenders.iter().enumerate() {
                let folds = of.scored(score).enumerate().map(|(place, one)| {
                    let mut fold = fold(&exploration.info, contender, place, one);
                    fold.id = anchor(at, score, place);
                    fold.open = count <= UNFOLDED;
                    fold.into()
                });
                let of_contender = Section {
                    contender: Some(name(contender)),
                    blocks: folds.collect(),
                    ..Section::new("", name(contender))
                };
                if !of_contender.blocks.is_empty() {
                    section = section.with(of_contender);
                }
            }
            (count > 0).then_some(section.into())
        });
    sections.collect()
}

/// The most frequent findings of each contender, for a screen.
pub fn brief(
    exploration: &Exploration,
    contenders: &[(&Contender, &Totals)],
    screen: Screen,
) -> Vec<Block> {
    let sections = SECTIONS.into_iter().filter_map(|(score, _, heading, _)| {
        let items = contenders.iter().flat_map(|(contender, of)| {
            let found = of.scored(score).enumerate().take(screen.findings);
            found.map(|(place, one)| {
                let mut item = item(&exploration.info, contender, place, one);
                if !screen.has_programs {
                    item.more.clear();
                }
                item
            })
        });
        let items: Vec<Item> = items.collect();
        let list = |items| Section::new("", heading).with(Block::List(items)).into();
        (!items.is_empty()).then(|| list(items))
    });
    sections.collect()
}

/// The id of a finding on the page.
pub fn anchor(contender: usize, score: Score, place: usize) -> String {
    let kind = match score {
        Score::Violation => "finding",
        Score::Application => "application",
        Score::Extra => "extra",
        Score::Disk => "disk-fault",
    };
    format!("{kind}-{}-{}", contender + 1, place + 1)
}

/// `missing (C2), 12 states of 3 programs`.
fn summary(found: &Found) -> String {
    format!(
        "{} ({}), {} of {}",
        found.finding.violation,
        found.finding.class,
        counted(found.states, "state"),
        counted(found.programs.len() as u64, "program")
    )
}

/// A finding in at most twelve lines.
fn item(info: &ExplorationInfo, contender: &Contender, place: usize, found: &Found) -> Item {
    let finding = &found.finding;
    let minimal = finding.minimal.as_ref();
    let program = minimal.map_or(&found.program, |minimal| &minimal.program);
    let one_line = |text: &str| printable(&text.lines().collect::<Vec<_>>().join("; "));
    let mut more = vec![summary(found)];
    let kind = match &finding.minimal {
        _ if finding.score() == Score::Application => "application".to_owned(),
        Some(minimal) => counted(minimal.operations, "operation"),
        None => "program, not minimised".to_owned(),
    };
    more.push(clip(&format!("{kind}: {}", one_line(program)), BRIEF));
    if let Some(minimal) = &finding.minimal {
        let lost = minimal.requests.iter();
        let lost = lost.filter(|line| line.contains(": dropped") || line.contains(": torn"));
        let lost: Vec<&str> = lost.map(String::as_str).collect();
        let text = format!(
            "{} of {}: {}",
            lost.len(),
            counted(minimal.requests.len() as u64, "request"),
            one_line(&lost.join("\n"))
        );
        more.push(clip(&text, BRIEF));
    }
    if let Some(line) = finding.kernel.first() {
        more.push(clip(&format!("kernel: {}", printable(line)), LINE));
    }
    if let Some(line) = finding
        .checker
        .as_deref()
        .and_then(|text| text.lines().next())
    {
        more.push(clip(&format!("checker: {}", printable(line)), LINE));
    }
    more.push(again(info, contender, &finding.state));
    let script = finding.minimal.as_ref().and_then(|one| one.script.as_ref());
    more.extend(script.map(|path| format!("script: {}", printable(&path.display().to_string()))));
    let tone = match finding.score() {
        Score::Violation => Tone::Bad,
        Score::Application | Score::Extra | Score::Disk => Tone::Warning,
    };
    Item {
        lead: Some((format!("{} {}", name(contender), place + 1), tone)),
        text: clip(&printable(&finding.message), BRIEF).into(),
        more: more
            .into_iter()
            .map(|line| (Text::from(line), Tone::Plain))
            .collect(),
        contender: Some(name(contender)),
        ..Item::default()
    }
}

/// A finding with all its details.
fn fold(info: &ExplorationInfo, contender: &Contender, place: usize, found: &Found) -> Fold {
    let finding = &found.finding;
    let numbers: Vec<String> = found.programs.iter().map(ToString::to_string).collect();
    let kinds: Vec<String> = found.kinds.iter().cloned().collect();
    let mut facts = vec![
        ("scope", summary(found)),
        ("programs", clip(&numbers.join(", "), BRIEF)),
        ("operations", kinds.join(", ")),
        ("first state", finding.state.clone()),
        ("signature", found.signature.clone()),
    ];
    let message = printable(&finding.message);
    let brief = clip(&message, BRIEF);
    let mut blocks = Vec::new();
    if brief != message {
        blocks.push(Block::paragraph(message));
    }
    let mut code = Vec::new();
    if let Some(minimal) = &finding.minimal {
        facts.push(("minimal state", minimal.state.clone()));
        let path = |path: &std::path::PathBuf| path.display().to_string();
        facts.extend(minimal.image.as_ref().map(|image| ("image", path(image))));
        facts.extend(
            minimal
                .script
                .as_ref()
                .map(|script| ("script", path(script))),
        );
        code.push((
            if info.search.programs.tests_file_systems() {
                let operations = counted(minimal.operations, "operation");
                format!("Minimal program, {operations}:")
            } else {
                "The application and its check:".to_owned()
            },
            minimal.program.clone(),
        ));
        code.push((
            "Requests since the last durable moment. They prove the state legal:".to_owned(),
            minimal.requests.join("\n"),
        ));
    }
    code.push((format!("Program {}:", found.number), found.program.clone()));
    code.push(("The kernel:".to_owned(), finding.kernel.join("\n")));
    code.push((
        "The checker:".to_owned(),
        finding.checker.clone().unwrap_or_default(),
    ));
    code.push((
        "Check this state again:".to_owned(),
        again(info, contender, &finding.state),
    ));
    for (_, text) in &mut facts {
        *text = printable_lines(text);
    }
    blocks.push(Block::Facts(facts));
    for (heading, text) in code.into_iter().filter(|(_, text)| !text.trim().is_empty()) {
        blocks.push(Block::paragraph(heading));
        blocks.push(Block::Code(printable_lines(text.trim_end())));
    }
    Fold {
        name: format!("{} {}:", name(contender), place + 1),
        summary: brief,
        blocks,
        ..Fold::default()
    }
}

/// The command that checks a state again: that of the exploration, for this contender and state.
fn again(info: &ExplorationInfo, contender: &Contender, state: &str) -> String {
    const WITH_VALUE: [&str; 7] = [
        "--fs", "--shard", "--jobs", "--budget", "--resume", "--again", "--store",
    ];
    const FLAGS: [&str; 3] = ["--json", "--minimize", "--dry-run"];
    let mut words = ["fsdyno", "crash", "--fs", &contender.label]
        .map(str::to_owned)
        .to_vec();
    let mut typed = info.command_line.iter().skip(1);
    let mut named = false;
    while let Some(word) = typed.next() {
        let option = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if WITH_VALUE.contains(&option) {
            if option == word {
                typed.next();
            }
        } else if !named && word == "crash" {
            named = true;
        } else if !FLAGS.contains(&option) {
            words.push(word.clone());
        }
    }
    words.extend(["--again".to_owned(), state.to_owned()]);
    printable(&shell_line(&words))
}
