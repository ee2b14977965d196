//! The names that a plan may use, as the load tells them.

use fsdyno_load::{datasets, engines, workloads};
use fsdyno_run::resolve::{Catalogue, DatasetEntry, DatasetForm, KindEntry, Needs};

/// All kinds of phases, engines and generated datasets.
pub fn catalogue() -> Catalogue {
    Catalogue {
        kinds: workloads::ALL.iter().map(|kind| entry(kind)).collect(),
        engines: engines::ALL
            .iter()
            .map(|engine| engine.name.to_owned())
            .collect(),
        datasets: datasets::ALL.iter().map(|set| dataset(set)).collect(),
    }
}

fn entry(kind: &workloads::PhaseKind) -> KindEntry {
    KindEntry {
        name: kind.name.to_owned(),
        needs: match kind.needs {
            workloads::Needs::Tree => Needs::Tree,
            workloads::Needs::Archive => Needs::Archive,
        },
        makes_tree: kind.makes_tree,
        removes_tree: kind.removes_tree,
        searches: kind.searches,
    }
}

fn dataset(set: &datasets::Generator) -> DatasetEntry {
    DatasetEntry {
        name: set.name.to_owned(),
        form: match set.shape {
            datasets::Shape::Tree => DatasetForm::Tree,
            datasets::Shape::Archive(_) => DatasetForm::Archive,
            datasets::Shape::File => DatasetForm::File,
        },
    }
}
