//! Relations of the files of a set: the number of a directory, of a group, or of a file of another
//! set that belongs to each.

use super::MOST_FILES;
use super::expression::{Values, evaluate};
use super::state::Popularity;
use fsdyno_datasets::seed::Seed;
use fsdyno_model::random;

/// What belongs to each file of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Relation {
    pub variable: usize,
    pub form: Form,
    /// The set whose files it selects.
    pub target: Option<usize>,
    /// The seed of its draws, if they are those of another name.
    pub seed: Option<String>,
}

/// How the number that belongs to a file follows from the number of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// So many files in turn have the same.
    Each(u32),
    /// So many numbers divide the files in turn.
    Over(u32),
    /// One of so many, each as likely.
    Random(u32),
    /// One of so many, by popularity.
    Zipf(u32),
}

/// The relation of all files of a set.
#[derive(Debug)]
pub(super) struct Related {
    form: Form,
    files: u32,
    /// The drawn numbers, and the files sorted by them.
    drawn: Vec<u32>,
    sorted: Vec<u32>,
}

impl Relation {
    /// Reads `100 each`, `over 6`, `random(20)` or `zipf(files)`, with `seed TEXT` behind it.
    pub fn read(
        text: &str,
        values: &Values,
        variable: usize,
        target: Option<usize>,
    ) -> Result<Self, String> {
        let (form, seed) = text
            .split_once(" seed ")
            .map_or((text, None), |(form, seed)| (form, Some(seed)));
        let form = form.trim();
        let inside = |name: &str| {
            let rest = form.strip_prefix(name)?;
            rest.strip_prefix('(')?.strip_suffix(')')
        };
        let number = |text: &str| {
            let number = evaluate(text, values)?.max(1);
            let few = u32::try_from(number.min(MOST_FILES + 1)).unwrap_or(u32::MAX);
            let fits = number <= MOST_FILES;
            fits.then_some(few)
                .ok_or_else(|| format!("{number} is more than {MOST_FILES}"))
        };
        let form = if let Some(many) = form.strip_suffix(" each") {
            Form::Each(number(many)?)
        } else if let Some(many) = form.strip_prefix("over ") {
            Form::Over(number(many)?)
        } else if let Some(many) = inside("random") {
            Form::Random(number(many)?)
        } else if let Some(many) = inside("zipf") {
            Form::Zipf(number(many)?)
        } else {
            return Err(format!(
                "`{text}` is no relation: write `N each`, `over N`, `random(N)` or `zipf(N)`"
            ));
        };
        Ok(Self {
            variable,
            form,
            target,
            seed: seed.map(|seed| seed.trim().to_owned()),
        })
    }
}

impl Related {
    pub fn new(relation: &Relation, files: u32, seed: Seed) -> Self {
        let at = |number: u32| seed.at(number.into());
        let drawn: Vec<u32> = match relation.form {
            Form::Each(_) | Form::Over(_) => Vec::new(),
            Form::Random(many) => {
                let draw = |number| at(number).below(many.into());
                (0..files)
                    .map(|number| u32::try_from(draw(number)).unwrap_or(0))
                    .collect()
            }
            Form::Zipf(many) => {
                let (ranks, mut place) = (seed.part("ranks"), u64::from(many));
                let law = Popularity::new(many as usize, || {
                    place -= 1;
                    ranks.at(place).value()
                });
                let draw = |number| law.draw(random::unit(at(number).value()));
                (0..files)
                    .map(|number| u32::try_from(draw(number)).unwrap_or(0))
                    .collect()
            }
        };
        let mut sorted: Vec<u32> = (0..).take(drawn.len()).collect();
        sorted.sort_by_key(|file| drawn[*file as usize]);
        Self {
            form: relation.form,
            files,
            drawn,
            sorted,
        }
    }

    /// The number of a file.
    pub fn value(&self, file: u32) -> u32 {
        match self.form {
            Form::Each(many) => file / many,
            Form::Over(many) => {
                let value = u64::from(file) * u64::from(many) / u64::from(self.files.max(1));
                u32::try_from(value).unwrap_or(0)
            }
            Form::Random(_) | Form::Zipf(_) => self.drawn[file as usize],
        }
    }

    /// The number of possible values.
    pub fn values(&self) -> u32 {
        match self.form {
            Form::Each(many) => self.files.div_ceil(many),
            Form::Over(many) | Form::Random(many) | Form::Zipf(many) => many,
        }
    }

    /// The files that have this number, in order.
    pub fn files(&self, value: u32) -> Vec<u32> {
        match self.form {
            Form::Each(many) => {
                let first = value.saturating_mul(many).min(self.files);
                (first..first.saturating_add(many).min(self.files)).collect()
            }
            Form::Over(many) => {
                let until = |value: u32| {
                    let first = (u64::from(value) * u64::from(self.files)).div_ceil(many.into());
                    u32::try_from(first).unwrap_or(self.files).min(self.files)
                };
                (until(value)..until(value.saturating_add(1))).collect()
            }
            Form::Random(_) | Form::Zipf(_) => {
                let of = |file: &u32| self.drawn[*file as usize];
                let first = self.sorted.partition_point(|file| of(file) < value);
                let end = self.sorted.partition_point(|file| of(file) <= value);
                self.sorted[first..end].to_vec()
            }
        }
    }
}
