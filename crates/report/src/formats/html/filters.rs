//! What a reader can choose to see: contenders, workloads, cache states and phases, of all tables
//! and charts of the page at once. Elements of the page bear the name of their contender (`data-c`)
//! or their phase (`data-p`); the script hides those that were not chosen.

use crate::table::Comparison;
use crate::terms;
use serde::Serialize;

/// What can be chosen of one kind.
#[derive(Debug, Serialize)]
pub struct Filter {
    /// Its name in the address of the page.
    name: &'static str,
    /// One and several of it, in words.
    one: &'static str,
    several: &'static str,
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Item {
    value: String,
    /// Of a phase: its workload and the state of its caches.
    of: Option<(String, &'static str)>,
}

/// All kinds; without those of which there is no choice.
pub fn filters(labs: &[Comparison]) -> Vec<Filter> {
    let plain = |value: &str| Item {
        value: value.to_owned(),
        of: None,
    };
    let (mut contenders, mut workloads) = (Vec::new(), Vec::new());
    let (mut caches, mut phases) = (Vec::new(), Vec::new());
    for lab in labs.iter().filter(|lab| lab.measured()) {
        contenders.extend(lab.contenders.iter().map(|label| plain(label)));
        for workload in lab.workloads.iter().filter(|workload| workload.measured()) {
            insert(&mut workloads, plain(&workload.name));
            for phase in workload
                .phases
                .iter()
                .filter(|phase| !phase.lines.is_empty())
            {
                insert(&mut caches, plain(phase.cache));
                let place = terms::phase(lab.workloads.len(), &workload.name, &phase.label);
                let item = Item {
                    value: place,
                    of: Some((workload.name.clone(), phase.cache)),
                };
                insert(&mut phases, item);
            }
        }
    }
    let kinds = [
        ("contender", "contender", "contenders", contenders),
        ("workload", "workload", "workloads", workloads),
        ("cache", "cache state", "cache states", caches),
        ("phase", "phase", "phases", phases),
    ];
    let kinds = kinds.into_iter().map(|(name, one, several, items)| Filter {
        name,
        one,
        several,
        items,
    });
    // A single phase is kept: the others are counted by it.
    kinds
        .filter(|kind| kind.items.len() > 1 || kind.name == "phase" && !kind.items.is_empty())
        .collect()
}

fn insert(items: &mut Vec<Item>, item: Item) {
    if !items.contains(&item) {
        items.push(item);
    }
}
