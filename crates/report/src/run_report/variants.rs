//! The comparison in variants of the model disk and the model processor: what is fastest in each, and
//! which verdicts do not hold.

use super::Lab;
use crate::document::{Block, Cell, Column, Row, Section, Table};
use crate::lists::by_key;
use crate::terms;

/// The section; `None` if no variant was measured.
pub fn section(lab: &Lab<'_>) -> Option<Section> {
    let comparison = lab.comparison;
    let robustness = comparison.robustness.as_ref()?;
    let several = comparison.workloads.len();
    let rows = robustness.variants.iter().map(|variant| {
        let names = variant.fastest.iter();
        let names: Vec<String> = names.map(|at| comparison.contenders[*at].clone()).collect();
        let fastest = (!names.is_empty()).then(|| terms::list(&names));
        let changed = variant.changed.iter().map(|one| {
            let ratio = terms::ratio(one.ratio_in_variant);
            let pair = format!("{} / {} {ratio}x", one.contender, one.compared_with);
            (terms::phase(several, &one.workload, &one.phase), pair)
        });
        let changed = by_key(changed).into_iter();
        let changed: Vec<String> = changed
            .map(|(phase, pairs)| format!("{phase}: {}", pairs.join(", ")))
            .collect();
        let changed = if changed.is_empty() {
            "none".to_owned()
        } else {
            changed.join("; ")
        };
        Row::new(
            variant.change.as_str(),
            vec![Cell::text(fastest), Cell::Text(changed)],
        )
    });
    let columns = ["fastest", "verdicts that do not hold"].map(Column::of_text);
    let table = Table::new("Variants of the model", "variant", columns, rows);
    let text = "Each variant changes one group of parameters of the model disk, or the prices of the \
                model processor, by its known error, in the first draws of the run. Ratios are those \
                of the run, times their change in these draws.";
    let section = Section::new("variants", "Variants of the model");
    Some(section.with(Block::paragraph(text)).with(table))
}
