//! The options that are measured: each alone, and then joins of those that help.

use super::{count, labels};
use crate::output;
use fsdyno_model::{Contender, ResultSet};
use fsdyno_recipes as recipes;
use fsdyno_report::advice::{VariantNote, helpful};
use fsdyno_run::advise::{Feature, FeatureTable, Variant};

/// A contender with options.
#[derive(Debug, Clone)]
pub struct Selection<'a> {
    pub contender: Contender,
    /// The label of the best contender that it belongs to.
    pub of: String,
    /// Its options, in the order in which they were added.
    variants: Vec<&'a Variant>,
    /// The label of the contender without the last of them.
    base: String,
}

/// The contenders with options of one run.
#[derive(Debug, Default)]
pub struct Selected<'a> {
    /// New contenders, the most promising first.
    pub all: Vec<Selection<'a>>,
    /// The contenders of an earlier run, with which the new ones are compared.
    pub earlier: Vec<Selection<'a>>,
}

impl Selection<'_> {
    fn note(&self) -> VariantNote {
        let joined = |of: &dyn Fn(&Variant) -> &str| {
            let all: Vec<&str> = self.variants.iter().map(|one| of(one)).collect();
            all.join("; ")
        };
        VariantNote {
            label: self.contender.label.clone(),
            base: self.base.clone(),
            why: joined(&|one| &one.why),
            costs: recipes::gives_up(&self.contender),
            source: joined(&|one| &one.source),
        }
    }
}

impl<'a> Selected<'a> {
    /// Each option of the best contenders. Those that cost no safety are first.
    pub fn singles(table: &'a FeatureTable, best: &[Contender], needs: &[Feature]) -> Self {
        let mut all = Vec::new();
        for base in best {
            for (contender, variant) in table.variants(base, needs) {
                all.push(Selection {
                    contender,
                    of: base.label.clone(),
                    variants: vec![variant],
                    base: base.label.clone(),
                });
            }
        }
        all.sort_by_key(|one| recipes::gives_up(&one.contender).is_some());
        let earlier = Vec::new();
        Self { all, earlier }
    }

    /// Joins of the options that help alone and cost no safety: the best one with each other one, and
    /// with the next best ones, one after the other. Options that cost safety and help are measured
    /// again.
    pub fn joins(
        table: &'a FeatureTable,
        best: &[Contender],
        needs: &[Feature],
        singles: &Self,
        run: &ResultSet,
    ) -> Self {
        let notes = singles.notes();
        let (safe, costly) = helpful(run, &notes);
        let of_note = |note: &VariantNote| {
            let mut all = singles.all.iter();
            all.find(|one| one.contender.label == note.label).cloned()
        };
        let mut joins = Self::default();
        for base in best {
            let of_base = safe.iter().filter(|note| note.base == base.label);
            let singles: Vec<Selection<'a>> = of_base.filter_map(|note| of_note(note)).collect();
            let Some((first, others)) = singles.split_first() else {
                continue;
            };
            joins.earlier.push(first.clone());
            let mut chain = first.clone();
            for (at, other) in others.iter().enumerate() {
                if at > 0 {
                    joins.all.extend(first.joined(table, needs, other));
                }
                let longer = chain.joined(table, needs, other);
                joins.all.extend(longer.clone());
                chain = longer.unwrap_or(chain);
            }
        }
        joins.earlier.extend(costly.into_iter().filter_map(of_note));
        joins
    }

    /// Keeps the variants that fit into this number of slots, of which `used` are taken by others.
    /// Returns the labels of the rest.
    pub fn keep(&mut self, slots: usize, used: usize) -> Vec<String> {
        let fits = slots.saturating_sub(used);
        let rest = self.all.split_off(fits.min(self.all.len()));
        if !rest.is_empty() {
            output::note(format_args!(
                "fsdyno: {} left out by the time budget",
                count(rest.len(), "variant")
            ));
        }
        rest.into_iter().map(|one| one.contender.label).collect()
    }

    /// Prints the measured variants.
    pub fn announce(&self, what: &str, best: &[Contender]) {
        output::note(format_args!(
            "fsdyno: {} of {}",
            count(self.all.len(), what),
            labels(best)
        ));
    }

    /// The contenders of the run: the best ones, each followed by its options.
    pub fn contenders(&self, best: &[Contender]) -> Vec<Contender> {
        let mut all = Vec::new();
        for base in best {
            all.push(base.clone());
            let own = self.earlier.iter().chain(&self.all);
            let own = own.filter(|one| one.of == base.label);
            all.extend(own.map(|one| one.contender.clone()));
        }
        all
    }

    /// The known facts of the options.
    pub fn notes(&self) -> Vec<VariantNote> {
        self.all.iter().map(Selection::note).collect()
    }
}

impl<'a> Selection<'a> {
    /// Both options together; `None` if a contender cannot have both.
    fn joined(&self, table: &'a FeatureTable, needs: &[Feature], other: &Self) -> Option<Self> {
        let added = *other.variants.last()?;
        let all = table.variants(&self.contender, needs);
        let (contender, _) = all.into_iter().find(|(_, variant)| *variant == added)?;
        Some(Self {
            contender,
            of: self.of.clone(),
            variants: self.variants.iter().copied().chain([added]).collect(),
            base: self.contender.label.clone(),
        })
    }
}
