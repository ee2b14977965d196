//! JSON Schemas (draft 2020-12) of the printed JSON, generated from its Rust types.
//!
//! Schemas are open: a later version of the program may add properties. The number in `schema`
//! is raised when a property is removed, or changes its type or its meaning.

use crate::advice::Recommendation;
use crate::atlas::AtlasAnswers;
use crate::compare::Comparisons;
use crate::functions::Functions;
use crate::functions::sampled::SampledFunctions;
use crate::history::History;
use crate::price::Prices;
use crate::run_json::RunReport;
use crate::why::Why;
use fsdyno_model::{Exploration, FaultTests, PowerCut, Series};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use std::fmt;

/// The conventions of all schemas.
const CONVENTIONS: &str = "Times are nanoseconds and sizes are bytes, as whole numbers. Later \
    versions may add properties; the number of the version is raised when one is removed, or \
    changes its type or meaning.";

/// The schema of one kind of output.
#[derive(Clone, Copy)]
pub struct Schema {
    /// The name on the command line.
    pub name: &'static str,
    title: &'static str,
    printed_by: &'static str,
    generate: fn(SchemaGenerator) -> schemars::Schema,
}

/// All schemas.
pub const ALL: [Schema; 13] = [
    Schema {
        name: "report",
        title: "A run",
        printed_by: "`fsdyno report --format json` and `fsdyno run --json`",
        generate: SchemaGenerator::into_root_schema_for::<RunReport<'static>>,
    },
    Schema {
        name: "series",
        title: "A series of crash tests",
        printed_by: "`fsdyno report --format json` of a series",
        generate: SchemaGenerator::into_root_schema_for::<Series>,
    },
    Schema {
        name: "exploration",
        title: "An exploration of crash states",
        printed_by: "`fsdyno report --format json` of an exploration",
        generate: SchemaGenerator::into_root_schema_for::<Exploration>,
    },
    Schema {
        name: "why",
        title: "The difference between two contenders",
        printed_by: "`fsdyno why --json`",
        generate: SchemaGenerator::into_root_schema_for::<Why>,
    },
    Schema {
        name: "functions",
        title: "The functions of the kernel that carry a difference",
        printed_by: "`fsdyno why --functions --json`",
        generate: SchemaGenerator::into_root_schema_for::<Functions>,
    },
    Schema {
        name: "sampled-functions",
        title: "The functions of two sampled profiles",
        printed_by: "`fsdyno why --functions --json` of a run with `--profile`",
        generate: SchemaGenerator::into_root_schema_for::<SampledFunctions>,
    },
    Schema {
        name: "compare",
        title: "Runs compared with the first of them",
        printed_by: "`fsdyno compare --json`",
        generate: SchemaGenerator::into_root_schema_for::<Comparisons>,
    },
    Schema {
        name: "history",
        title: "Figures over kernels, dates or commits",
        printed_by: "`fsdyno history --format json`",
        generate: SchemaGenerator::into_root_schema_for::<History>,
    },
    Schema {
        name: "advice",
        title: "Which file system to choose for some work",
        printed_by: "`fsdyno advise --format json`",
        generate: SchemaGenerator::into_root_schema_for::<Recommendation>,
    },
    Schema {
        name: "price",
        title: "What protection costs",
        printed_by: "`fsdyno price --format json`",
        generate: SchemaGenerator::into_root_schema_for::<Prices>,
    },
    Schema {
        name: "atlas",
        title: "Answers of an atlas",
        printed_by: "`fsdyno atlas show --format json`",
        generate: SchemaGenerator::into_root_schema_for::<AtlasAnswers>,
    },
    Schema {
        name: "crash",
        title: "Power cuts in the order they were made",
        printed_by: "`fsdyno crash --json` and `fsdyno lose power --json`",
        generate: SchemaGenerator::into_root_schema_for::<Vec<PowerCut>>,
    },
    Schema {
        name: "lose",
        title: "Faults of disks, and what came of them",
        printed_by: "`fsdyno lose --json`",
        generate: SchemaGenerator::into_root_schema_for::<FaultTests>,
    },
];

/// The schema of that name.
pub fn find(name: &str) -> Option<Schema> {
    ALL.into_iter().find(|schema| schema.name == name)
}

impl Schema {
    /// The schema as a value.
    pub fn value(&self) -> serde_json::Value {
        // A field that is always printed is required, even if it has a default when read.
        let settings = SchemaSettings::draft2020_12().for_serialize();
        let mut schema = (self.generate)(settings.into_generator());
        schema.insert("title".to_owned(), self.title.into());
        let description = format!("The output of {}. {CONVENTIONS}", self.printed_by);
        schema.insert("description".to_owned(), description.into());
        schema.into()
    }

    /// The schema as JSON text, indented, with a newline at its end.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.value())
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.name).finish()
    }
}
