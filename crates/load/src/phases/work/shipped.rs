//! The workload files of this program, and their kinds of phases.

use super::{HOME, is_one};
use crate::phase_kind::PhaseKind;
use crate::work::{Family, ParameterTable};
use fsdyno_model::Parameter;
use std::ffi::CStr;
use std::sync::{Arc, LazyLock};

/// The files, each with the directory of its files below the work directory.
const FILES: [(&CStr, &str); 6] = [
    (c"mail", include_str!("../../../data/mail.toml")),
    (c"web", include_str!("../../../data/web.toml")),
    (c"photos", include_str!("../../../data/photos.toml")),
    (c"build", include_str!("../../../data/build.toml")),
    (c"database", include_str!("../../../data/database.toml")),
    (c"containers", include_str!("../../../data/containers.toml")),
];

/// The largest value of a number without its own: names have seven digits.
const MOST: u64 = 9_999_999;

/// A workload file of this program.
pub(super) struct Shipped {
    pub home: &'static CStr,
    pub family: Arc<Family>,
    kinds: Vec<PhaseKind>,
}

static SHIPPED: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
    let shipped = FILES.iter().map(|(home, text)| {
        let family: Family = text
            .parse()
            .unwrap_or_else(|error| unreachable!("{home:?}, which tests read: {error}"));
        let parameters: Vec<Parameter> = family.parameters().iter().map(parameter).collect();
        let parameters = &*parameters.leak();
        let kinds = family.phases().map(|(name, about)| {
            let work = family.work(Some(name), &family.values(1000));
            PhaseKind {
                writes: work.is_ok_and(|work| work.writes()),
                ..PhaseKind::standalone(leaked(name), leaked(about), parameters)
            }
        });
        Shipped {
            home,
            kinds: kinds.collect(),
            family: Arc::new(family),
        }
    });
    shipped.collect()
});

/// A text of this program that lives as long as it does.
fn leaked(text: &str) -> &'static str {
    text.to_owned().leak()
}

fn parameter(table: &ParameterTable) -> Parameter {
    let (name, about) = (leaked(table.name.get_ref()), leaked(&table.about));
    let usual = table.value().unwrap_or(0);
    let parameter = if table.default.get_ref().is_str() {
        Parameter::size(name, about)
    } else {
        Parameter::number(name, about, 1..=table.most.unwrap_or(MOST))
    };
    match table.scaled {
        Some(unit) => parameter.scaled(usual, unit),
        None => parameter.fixed(leaked(&usual.to_string())),
    }
}

/// The kinds of phases of all files.
pub(crate) fn kinds() -> impl Iterator<Item = &'static PhaseKind> + Clone {
    SHIPPED.iter().flat_map(|shipped| &shipped.kinds)
}

/// The file that has a phase of this kind.
pub(super) fn find(kind: &str) -> Option<&'static Shipped> {
    SHIPPED
        .iter()
        .find(|shipped| shipped.kinds.iter().any(|one| one.name == kind))
}

/// The directory of the files of a phase of this kind, below the work directory; none if no workload
/// file describes it.
pub fn works_in(kind: &str) -> Option<&'static CStr> {
    let own = is_one(kind).then_some(HOME);
    own.or_else(|| find(kind).map(|shipped| shipped.home))
}
