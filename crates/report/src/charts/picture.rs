//! What `chart` draws: a chart, or a flame graph.

use super::flame::Flame;
use super::svg::{self, Appearance};
use super::{Chart, Kind};
use serde::{Serialize, Serializer};

/// A chart or a flame graph.
#[derive(Debug, Clone, PartialEq)]
pub enum Picture {
    Chart(Chart),
    Flame(Flame),
}

impl Picture {
    /// Its name, unique in its run.
    pub fn name(&self) -> &str {
        match self {
            Self::Chart(chart) => &chart.name,
            Self::Flame(flame) => &flame.name,
        }
    }

    pub(crate) fn name_mut(&mut self) -> &mut String {
        match self {
            Self::Chart(chart) => &mut chart.name,
            Self::Flame(flame) => &mut flame.name,
        }
    }

    pub fn kind(&self) -> Kind {
        match self {
            Self::Chart(chart) => chart.kind,
            Self::Flame(flame) => flame.kind,
        }
    }

    /// Its title and its contenders, which the user may have named.
    #[cfg(feature = "png")]
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let (title, contenders) = match self {
            Self::Chart(chart) => (&chart.title, &chart.contenders),
            Self::Flame(flame) => (&flame.title, &flame.contenders),
        };
        contenders.iter().chain([title])
    }

    /// The picture as SVG. The same value and look give the same bytes.
    pub fn svg(&self, appearance: Appearance) -> String {
        match self {
            Self::Chart(chart) => svg::render(chart, appearance),
            Self::Flame(flame) => svg::flame::render_with_table(flame, appearance),
        }
    }
}

/// The values that it shows.
impl Serialize for Picture {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Chart(chart) => chart.serialize(serializer),
            Self::Flame(flame) => flame.serialize(serializer),
        }
    }
}
