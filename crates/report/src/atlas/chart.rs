//! The answers as a picture: for each work the contenders with their totals as multiples of the least,
//! one panel for each disk.

use super::answers::{Answer, AnswerAtSize, AtlasAnswers, Contended};
use crate::charts::{Axis, Chart, Kind, Mark, Panel, Row, Scale, Series, Unit};
use crate::compare::RunVerdict;
use crate::lists::unique;
use crate::terms;

impl AtlasAnswers {
    /// The answers at the largest size.
    pub fn chart(&self) -> Chart {
        let largest = |one: &Answer| one.sizes.last().cloned();
        let all = self.answers.iter().filter_map(largest);
        let contenders = unique(all.flat_map(|one| {
            let contenders = one.contenders.into_iter();
            contenders.map(|one| one.contender)
        }));
        let disks = unique(self.answers.iter().map(|one| one.disk.clone()));
        let panels = disks.iter().map(|disk| {
            let answers = self.answers.iter().filter(|one| one.disk == *disk);
            let answers = answers.filter_map(|one| Some((one.work.as_str(), one.sizes.last()?)));
            panel(disk, &contenders, answers)
        });
        let mut chart = Chart {
            schema: Chart::SCHEMA,
            name: "atlas".to_owned(),
            kind: Kind::Overview,
            lab: None,
            workload: None,
            phase: None,
            title: self.title.clone(),
            about: "Sums of the times of all phases as multiples of the least.".to_owned(),
            notes: vec![
                format!(
                    "Time of all phases, to durable where a phase writes, divided by the least of the \
                     work. Line: the smallest and the largest ratio of a draw. In virtual time with {}, \
                     on fresh file systems.",
                    self.kernel
                ),
                "≈ equivalent to the least. ? not decided.".to_owned(),
            ],
            panels: panels.collect(),
            contenders,
        };
        chart.describe(|mark| matches!(mark, Mark::Middle { .. }));
        chart
    }
}

/// The panel of a disk, with a group of rows for each work.
fn panel<'a>(
    disk: &str,
    contenders: &[String],
    answers: impl Iterator<Item = (&'a str, &'a AnswerAtSize)>,
) -> Panel {
    let mut axis = Axis::of("time ÷ least", Unit::Ratio, Scale::Log);
    axis.reference = Some(1.0);
    let mut panel = Panel {
        title: disk.to_owned(),
        x: axis,
        y: None,
        rows: Vec::new(),
        series: Vec::new(),
    };
    let mut marks = vec![Vec::new(); contenders.len()];
    for (work, answer) in answers {
        for (at, label) in contenders.iter().enumerate() {
            let mut all = answer.contenders.iter();
            let one = all.find(|one| one.contender == *label);
            let row = u32::try_from(panel.rows.len()).unwrap_or(u32::MAX);
            panel.rows.push(Row {
                group: work.to_owned(),
                contender: at,
                value: one.map_or_else(|| "–".to_owned(), |one| value(answer, one)),
            });
            if let Some(one) = one {
                marks[at].extend(marks_of(work, answer, one, f64::from(row) + 0.5));
            }
        }
    }
    let series = marks.into_iter().enumerate();
    panel.series = series
        .map(|(contender, marks)| Series { contender, marks })
        .collect();
    panel
}

/// Whether a contender is the one to which the ratios refer.
fn is_first(answer: &AnswerAtSize, one: &Contended) -> bool {
    answer.fastest.first() == Some(&one.contender)
}

/// The ratio of a contender, with the mark of its verdict.
fn value(answer: &AnswerAtSize, one: &Contended) -> String {
    let mark = match one.verdict {
        _ if !one.durable => return "not durable".to_owned(),
        Some(RunVerdict::Equivalent) => "≈ ",
        Some(RunVerdict::Slower | RunVerdict::Faster) => "",
        None if is_first(answer, one) => return "1×".to_owned(),
        Some(_) | None => "? ",
    };
    let ratio = one.ratio.map_or_else(|| "–".to_owned(), terms::ratio);
    format!("{mark}{ratio}×")
}

fn marks_of(work: &str, answer: &AnswerAtSize, one: &Contended, y: f64) -> Vec<Mark> {
    if !one.durable {
        return Vec::new();
    }
    let label = format!("{work}: {} {}", one.contender, value(answer, one));
    let mut marks = Vec::new();
    if let Some((low, high)) = one.range {
        marks.push(Mark::Range {
            low,
            high,
            y,
            label: format!(
                "{label}, in draws {} to {}",
                terms::ratio(low),
                terms::ratio(high)
            ),
        });
    }
    let x = match one.ratio {
        Some(ratio) => Some(ratio),
        None => is_first(answer, one).then_some(1.0),
    };
    marks.extend(x.map(|x| Mark::Middle { x, y, label }));
    marks
}
