//! What the program prints as JSON, described: a JSON Schema (draft 2020-12) each, kept as data.
//!
//! They are open: a later version may have properties more. What a property means changes only with
//! the number of the version that stands in `schema`.

/// A schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// What is typed.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them.
pub const ALL: [Schema; 5] = [
    Schema {
        name: "report",
        text: include_str!("../data/schemas/report.json"),
    },
    Schema {
        name: "series",
        text: include_str!("../data/schemas/series.json"),
    },
    Schema {
        name: "why",
        text: include_str!("../data/schemas/why.json"),
    },
    Schema {
        name: "compare",
        text: include_str!("../data/schemas/compare.json"),
    },
    Schema {
        name: "crash",
        text: include_str!("../data/schemas/crash.json"),
    },
];

/// The schema of that name, or of the name that it had in version 0.1.
pub fn find(name: &str) -> Option<Schema> {
    let name = if name == "plug" { "crash" } else { name };
    ALL.into_iter().find(|schema| schema.name == name)
}
