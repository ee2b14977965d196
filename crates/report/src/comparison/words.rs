//! The words of a comparison: *faster* for times, *higher* or *lower* for another figure, and *better*
//! if phases are judged by different figures.

use super::{Comparison, Line};
use fsdyno_model::Better;

/// The words for what is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The best one, after an article: `fastest`.
    pub best: &'static str,
    /// The verb of the best one, with its object: `is fastest`, `has the highest tps`.
    pub leads: String,
    /// The same of several equal ones: `are equally fast`, `have equal tps`.
    pub level: String,
    /// The comparative of the better one: `faster`, `higher`.
    pub better: &'static str,
    /// The comparative of the worse one: `slower`, `lower`.
    pub worse: &'static str,
    /// The begin of a sentence about the worst one: `The slowest is`.
    pub last: String,
}

impl Comparison {
    /// The words for what the phases are judged by.
    pub fn words(&self) -> Words {
        let mut lines = self.whole_times().map(|(_, _, line)| line);
        if lines.clone().all(Line::is_time) {
            return Words::of_times();
        }
        match lines.next() {
            Some(first) if lines.all(|line| line.figure == first.figure) => Words::of_figure(first),
            _ => Words::of_several(),
        }
    }
}

impl Words {
    /// The verb and the comparative of the better one: `is faster`, `has a higher tps`.
    pub fn is_better(&self) -> String {
        match self.leads.strip_prefix("has the ") {
            Some(top) => {
                let figure = top.split_once(' ').map_or("", |(_, figure)| figure);
                format!("has a {} {figure}", self.better)
            }
            None => format!("is {}", self.better),
        }
    }

    fn of_times() -> Self {
        Self {
            best: "fastest",
            leads: "is fastest".to_owned(),
            level: "are equally fast".to_owned(),
            better: "faster",
            worse: "slower",
            last: "The slowest is".to_owned(),
        }
    }

    fn of_figure(line: &Line) -> Self {
        let (top, better, bottom, worse) = match line.better {
            Better::Higher => ("highest", "higher", "lowest", "lower"),
            Better::Lower | Better::Neither => ("lowest", "lower", "highest", "higher"),
        };
        let name = line.label();
        Self {
            best: "best",
            leads: format!("has the {top} {name}"),
            level: format!("have equal {name}"),
            better,
            worse,
            last: format!("The {bottom} {name} is that of"),
        }
    }

    fn of_several() -> Self {
        Self {
            best: "best",
            leads: "is best".to_owned(),
            level: "are equally good".to_owned(),
            better: "better",
            worse: "worse",
            last: "The worst is".to_owned(),
        }
    }
}
