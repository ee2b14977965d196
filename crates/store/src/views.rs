//! The views of a store for people who use SQL. Their columns, with the meaning of each for the
//! reference of the store, come from the types of the documents.

use fsdyno_model::{
    CellRecord, CommandRecord, DiskUse, Effective, ExplorationInfo, ExploredProgram,
    FaultTestsInfo, Figure, Finding, Fragmentation, FullDisk, InjectedFault, KernelWork,
    LatencyDistribution, Observed, PowerCut, Progress, RunInfo, Sample, SeriesInfo, Warning,
    WorkLoss,
};
use schemars::{Schema, schema_for};
use serde_json::{Map, Value};
use std::sync::OnceLock;

/// A view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    pub name: &'static str,
    /// The meaning of a row, in Markdown.
    pub about: &'static str,
    /// Its columns, in their order.
    pub columns: Vec<Column>,
    /// The statement that makes it.
    pub(crate) sql: String,
}

/// A column of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// The type of its values: `integer`, `real`, `text`, `json`.
    pub kind: &'static str,
    /// Whether it can be NULL.
    pub nullable: bool,
    /// Its content, in Markdown.
    pub meaning: String,
    /// The SQL of its value.
    sql: String,
}

/// The rows of a view.
#[derive(Clone, Copy)]
enum Rows {
    /// The records of a kind.
    Records(&'static str),
    /// The parts of the records of a kind.
    Parts(&'static str),
    /// The elements of a list of the parts of a kind.
    OfParts(&'static str, &'static str),
    /// The samples of all cells.
    Samples,
    /// A part of a sample, where it has one.
    InSamples(&'static str),
    /// The elements of a list of samples.
    OfSamples(&'static str),
    /// Rows of this SQL, whose documents are `one.value`.
    Sql(&'static str),
}

/// A column that is not from the document: name, type, SQL and meaning.
type Key = (&'static str, &'static str, &'static str, &'static str);

/// A view of documents of one type.
struct Source {
    name: &'static str,
    about: &'static str,
    rows: Rows,
    keys: &'static [Key],
    schema: fn() -> Schema,
    /// Fields that have a view of their own.
    left_out: &'static [&'static str],
    /// Columns with another name than their path: how the path begins, and what is there instead.
    names: &'static [(&'static str, &'static str)],
}

/// Fields with fields of their own that are one column of JSON.
const WHOLE: [&str; 10] = [
    "profile",
    "plan",
    "provenance",
    "guest",
    "shard",
    "search",
    "minimal",
    "disk",
    "recovery.judgement",
    "recovery.before_check",
];

const CELL: Key = ("cell", "integer", "part.key", "`cell.id`");
const SAMPLE: Key = ("sample", "integer", "sample.key", "`sample.place`");
const PLACE: Key = ("place", "integer", "one.key", "its position, from 0");
const RUN: Key = ("run", "text", "part.record", "`run.id`");
const SERIES: Key = ("series", "text", "part.record", "`series.id`");
const EXPLORATION: Key = ("exploration", "text", "part.record", "`exploration.id`");

const fn source(
    name: &'static str,
    about: &'static str,
    rows: Rows,
    keys: &'static [Key],
    schema: fn() -> Schema,
) -> Source {
    Source {
        name,
        about,
        rows,
        keys,
        schema,
        left_out: &[],
        names: &[],
    }
}

static SOURCES: [Source; 22] = [
    source(
        "run",
        "One execution of a plan.",
        Rows::Records("run"),
        &[
            (
                "name",
                "text",
                "record.document ->> '$.plan.name'",
                "the suite the plan came from, or the user's name for it",
            ),
            (
                "cells_planned",
                "integer",
                "record.planned",
                "contenders x workloads x repeats: the maximum",
            ),
        ],
        || schema_for!(RunInfo),
    ),
    Source {
        left_out: &["samples", "commands", "effective", "warnings"],
        names: &[
            ("cell.index", "cell_index"),
            ("cell.", ""),
            ("outcome.outcome", "outcome"),
            ("outcome.requirement", "skip_requirement"),
            ("outcome.reason", "skip_reason"),
            ("outcome.remedy", "skip_remedy"),
            ("outcome.stage.stage", "failure_stage"),
            ("outcome.stage.", "failure_"),
            ("outcome.", "failure_"),
        ],
        ..source(
            "cell",
            "One contender, one workload, one repeat. It is written in one transaction when it has \
             ended.",
            Rows::Parts("run"),
            &[("id", "integer", "part.key", "key of the row"), RUN],
            || schema_for!(CellRecord),
        )
    },
    Source {
        left_out: &[
            "disks",
            "fragmentation",
            "figures",
            "latencies",
            "progress",
            "kernel",
            "observed",
            "warnings",
        ],
        names: &[
            ("cache.reason", "cache_unproven"),
            ("tally.bytes", "data_bytes"),
            ("tally.", ""),
            ("cpu.", ""),
            ("device.waits.", "device_"),
            ("space_before", "space_before_bytes"),
            ("space_after", "space_after_bytes"),
        ],
        ..source(
            "sample",
            "The figures of one phase of one cell. A cell that failed keeps the samples taken \
             before.",
            Rows::Samples,
            &[
                CELL,
                ("place", "integer", "sample.key", "its position, from 0"),
            ],
            || schema_for!(Sample),
        )
    },
    Source {
        names: &[
            ("floor", "min_file_bytes"),
            ("fragmented", "fragmented_files"),
            ("bytes", "data_bytes"),
        ],
        ..source(
            "fragmentation",
            "Fragmentation of the regular files after a sample, counted untimed. No row if it was \
             not requested.",
            Rows::InSamples("fragmentation"),
            &[CELL, ("place", "integer", "sample.key", "`sample.place`")],
            || schema_for!(Fragmentation),
        )
    },
    Source {
        names: &[
            ("reads.requests", "reads"),
            ("reads.bytes", "read_bytes"),
            ("writes.requests", "writes"),
            ("writes.bytes", "written_bytes"),
            ("discards.requests", "discards"),
            ("discards.bytes", "discarded_bytes"),
            ("flushes.requests", "flushes"),
            ("flushes.bytes", "flushed_bytes"),
            ("causes.", ""),
            ("waits.", ""),
            ("work.seeks", "arm_moves"),
            ("work.cylinders", "arm_cylinders"),
            ("work.medium_read_bytes", "medium_read_bytes"),
            ("work.medium_written_bytes", "medium_written_bytes"),
            ("work.erases", "erases"),
            ("work.cache_hits", "cache_hits"),
            ("work.", "device_"),
        ],
        ..source(
            "disk_use",
            "The requests to a model disk in a sample: two rows for each disk, one to return and \
             one from return to durable. Requests between two phases are in no row. Requests are \
             counted when they complete, seeks when they are submitted.",
            Rows::Sql(
                "part, json_each(part.document, '$.samples') AS sample,
                 json_each(sample.value, '$.disks') AS disk, json_each(disk.value) AS one
                 WHERE part.outcome IS NOT NULL AND one.key LIKE 'to_%'",
            ),
            &[
                CELL,
                SAMPLE,
                ("place", "integer", "disk.key", "its position, from 0"),
                (
                    "disk",
                    "integer",
                    "disk.value ->> '$.disk'",
                    "the disk, by its place among the devices of the contender",
                ),
                (
                    "until",
                    "text",
                    "substr(one.key, 4)",
                    "`return`: from the start of the clock until the work returned; `durable`: \
                     from then until all of it was durable",
                ),
            ],
            || schema_for!(DiskUse),
        )
    },
    source(
        "reported",
        "Figures that a program reported of itself in a sample, and counts of the processors.",
        Rows::OfSamples("figures"),
        &[CELL, SAMPLE, PLACE],
        || schema_for!(Figure),
    ),
    Source {
        names: &[("count", "operations"), ("buckets", "classes")],
        ..source(
            "latency",
            "Latency histogram of a sample, by kind of operation. No row if the engine does not \
             record latencies.",
            Rows::OfSamples("latencies"),
            &[CELL, SAMPLE, PLACE],
            || schema_for!(LatencyDistribution),
        )
    },
    source(
        "progress",
        "Timeline of a sample. No row if the work has no separate operations.",
        Rows::InSamples("progress"),
        &[CELL, SAMPLE],
        || schema_for!(Progress),
    ),
    Source {
        names: &[
            ("copied", "copied_bytes"),
            ("cleared", "cleared_bytes"),
            ("checksummed", "checksummed_bytes"),
        ],
        ..source(
            "kernel_work",
            "The work of a guest's kernel from the start of a sample to return, and to durable. \
             Only the lab kernel in virtual time counts its work.",
            Rows::OfSamples("kernel"),
            &[CELL, SAMPLE],
            || schema_for!(KernelWork),
        )
    },
    Source {
        names: &[
            ("frequency.", ""),
            ("pressure.", ""),
            ("other_io.below_bytes", "below_bytes"),
            ("other_io.", "other_"),
            ("traced.flushes", "flushes_requested"),
            ("traced.", ""),
        ],
        ..source(
            "observed",
            "The rest of the machine's activity, from just before a sample until just after it was \
             durable. There is no row in virtual time. `unobserved` explains NULL.",
            Rows::InSamples("observed"),
            &[CELL, SAMPLE],
            || schema_for!(Observed),
        )
    },
    source(
        "command",
        "All commands executed outside the load, in order.",
        Rows::OfParts("run", "commands"),
        &[CELL, PLACE],
        || schema_for!(CommandRecord),
    ),
    source(
        "effective",
        "The options in force, as they were read back. The source `state` has the fill and age \
         that were reached. The source `disk` has the model disk in virtual time, the elapsed \
         virtual time, and the digest of all requests.",
        Rows::OfParts("run", "effective"),
        &[CELL, PLACE],
        || schema_for!(Effective),
    ),
    source(
        "warning",
        "Warnings about figures.",
        Rows::Sql(
            "(SELECT part.key AS cell, part.record, NULL AS sample, one.key, one.value
                FROM part, json_each(part.document, '$.warnings') AS one
              UNION ALL SELECT part.key, part.record, sample.key, one.key, one.value
                FROM part, json_each(part.document, '$.samples') AS sample,
                json_each(sample.value, '$.warnings') AS one) AS one",
        ),
        &[
            ("run", "text", "one.record", "`run.id`"),
            ("cell", "integer", "one.cell", "`cell.id`"),
            (
                "sample",
                "integer",
                "one.sample",
                "`sample.place`; NULL if the warning is about the whole cell",
            ),
            PLACE,
            (
                "scope",
                "text",
                "iif(one.sample IS NULL, 'cell', 'sample')",
                "`cell` or `sample`: what the warning is about",
            ),
        ],
        || schema_for!(Warning),
    ),
    Source {
        names: &[("guest", "guest_size")],
        ..source(
            "series",
            "A crash series (`fsdyno crash`, `fsdyno lose power`): power cuts on some contenders, one of each, then the \
             next of each.",
            Rows::Records("series"),
            &[],
            || schema_for!(SeriesInfo),
        )
    },
    Source {
        left_out: &["work"],
        names: &[("recovery.took_ns", "recovery_ns"), ("recovery.", "")],
        ..source(
            "cut",
            "One power cut and its result. It is written in one transaction after the check.",
            Rows::Parts("series"),
            &[
                SERIES,
                (
                    "place",
                    "integer",
                    "part.place",
                    "its position in the order of execution",
                ),
                (
                    "lost_files",
                    "integer",
                    "iif(part.document ->> '$.recovery.judgement' IS NULL, NULL, (SELECT \
                     coalesce(sum(value), 0) FROM \
                     json_each(part.document, '$.recovery.judgement.lost')))",
                    "files with a lost acknowledged operation; NULL if it could not be mounted",
                ),
            ],
            || schema_for!(PowerCut),
        )
    },
    source(
        "work_loss",
        "The work of one activity that a power cut undid (`fsdyno lose power`).",
        Rows::OfParts("series", "work"),
        &[
            SERIES,
            (
                "number",
                "integer",
                "part.document ->> '$.number'",
                "`cut.number`",
            ),
            (
                "contender",
                "text",
                "part.document ->> '$.contender'",
                "`cut.contender`",
            ),
            PLACE,
        ],
        || schema_for!(WorkLoss),
    ),
    Source {
        names: &[("budget", "budget_ns"), ("guest", "guest_size")],
        ..source(
            "exploration",
            "An exploration of crash states (`fsdyno crash`): programs of operations on some \
             contenders, each with the states that a power cut can leave.",
            Rows::Records("exploration"),
            &[],
            || schema_for!(ExplorationInfo),
        )
    },
    Source {
        left_out: &["findings"],
        names: &[
            ("states.distinct", "distinct_states"),
            ("states.", ""),
            ("cost.bytes_written", "written_bytes"),
            ("cost.bytes_requested", "requested_bytes"),
            ("cost.", ""),
        ],
        ..source(
            "explored",
            "One program on one contender. It is written in one transaction after its states are \
             checked.",
            Rows::Parts("exploration"),
            &[EXPLORATION],
            || schema_for!(ExploredProgram),
        )
    },
    Source {
        names: &[("count", "states")],
        ..source(
            "finding",
            "Violations of one program on one contender that have the same signature.",
            Rows::OfParts("exploration", "findings"),
            &[
                EXPLORATION,
                (
                    "number",
                    "integer",
                    "part.document ->> '$.number'",
                    "`explored.number`",
                ),
                (
                    "contender",
                    "text",
                    "part.document ->> '$.contender'",
                    "`explored.contender`",
                ),
                PLACE,
            ],
            || schema_for!(Finding),
        )
    },
    Source {
        names: &[("guest", "guest_size")],
        ..source(
            "fault_tests",
            "Tests of some contenders with faulty or full disks (`fsdyno lose`).",
            Rows::Records("fault-tests"),
            &[],
            || schema_for!(FaultTestsInfo),
        )
    },
    source(
        "fault",
        "A fault of one disk below one contender, and what came of it.",
        Rows::OfParts("fault-tests", "faults"),
        &OF_TESTS,
        || schema_for!(InjectedFault),
    ),
    source(
        "full_disk",
        "The life of one contender on full disks, or at a quota.",
        Rows::OfParts("fault-tests", "full"),
        &OF_TESTS,
        || schema_for!(FullDisk),
    ),
];

/// The columns that name a result of tests with faulty or full disks.
const OF_TESTS: [Key; 3] = [
    ("tests", "text", "part.record", "`fault_tests.id`"),
    (
        "contender",
        "text",
        "part.document ->> '$.contender'",
        "the label of the contender",
    ),
    PLACE,
];

/// The columns of `figure` that `sample` does not have.
const NAMES: [Key; 7] = [
    ("run", "text", "cell.run", "`run.id`"),
    (
        "contender",
        "text",
        "record.document ->> ('$.plan.contenders[' || cell.contender || '].label')",
        "the label of the contender; figures of two labs are not comparable",
    ),
    (
        "workload",
        "text",
        "record.document ->> ('$.plan.workloads[' || cell.workload || '].name')",
        "the name of the workload",
    ),
    ("block", "integer", "cell.block", "`cell.block`"),
    ("phase", "text", "sample.label", "`sample.label`"),
    (
        "whole_ns",
        "integer",
        "coalesce(sample.durable_ns, sample.return_ns)",
        "the time that is compared: `durable_ns` if there is one, else `return_ns`",
    ),
    ("outcome", "text", "cell.outcome", "`cell.outcome`"),
];

/// All views.
pub fn all() -> &'static [View] {
    static ALL: OnceLock<Vec<View>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut views: Vec<View> = SOURCES.iter().map(view).collect();
        let mut columns: Vec<Column> = NAMES.iter().map(key).collect();
        let sample = views.iter().find(|view| view.name == "sample");
        for column in sample.iter().flat_map(|view| &view.columns) {
            if column.name != "phase" {
                columns.push(Column {
                    sql: format!("sample.{}", column.name),
                    meaning: format!("`sample.{}`", column.name),
                    ..column.clone()
                });
            }
        }
        views.push(with_columns(
            "figure",
            "All samples, with names instead of positions. Failed cells show what was measured \
             before the failure: check `outcome`.",
            columns,
            "sample JOIN cell ON cell.id = sample.cell JOIN record ON record.id = cell.run",
        ));
        views
    })
}

fn view(source: &Source) -> View {
    let (document, prefix, from) = rows(source.rows);
    let mut columns: Vec<Column> = source.keys.iter().map(key).collect();
    let root = (source.schema)().to_value();
    let mut fields = Fields {
        source,
        root: &root,
        document: format!("{document} ->> '$.{prefix}"),
        columns: &mut columns,
    };
    fields.add_all(&root, "", "", false);
    with_columns(source.name, source.about, columns, &from)
}

fn with_columns(name: &'static str, about: &'static str, columns: Vec<Column>, from: &str) -> View {
    let selected: Vec<String> = columns
        .iter()
        .map(|column| format!("    {} AS {}", column.sql, column.name))
        .collect();
    let selected = selected.join(",\n");
    View {
        name,
        about,
        sql: format!("CREATE VIEW {name} AS SELECT\n{selected}\nFROM {from}"),
        columns,
    }
}

fn key((name, kind, sql, meaning): &Key) -> Column {
    Column {
        name: (*name).to_owned(),
        kind,
        nullable: meaning.contains("NULL"),
        meaning: (*meaning).to_owned(),
        sql: (*sql).to_owned(),
    }
}

/// The SQL of the document of a row, the beginning of its paths, and the SQL of the rows.
fn rows(rows: Rows) -> (&'static str, String, String) {
    let samples = "part, json_each(part.document, '$.samples') AS sample";
    let of = |kind| format!("part JOIN record ON record.id = part.record AND kind = '{kind}'");
    match rows {
        Rows::Records(kind) => {
            let from = format!("record WHERE kind = '{kind}'");
            ("record.document", String::new(), from)
        }
        Rows::Parts(kind) => ("part.document", String::new(), of(kind)),
        Rows::OfParts(kind, list) => {
            let from = format!("{}, json_each(part.document, '$.{list}') AS one", of(kind));
            ("one.value", String::new(), from)
        }
        Rows::Samples => {
            let from = format!("{samples} WHERE part.outcome IS NOT NULL");
            ("sample.value", String::new(), from)
        }
        Rows::InSamples(field) => {
            let from = format!("{samples} WHERE sample.value ->> '$.{field}' IS NOT NULL");
            ("sample.value", format!("{field}."), from)
        }
        Rows::OfSamples(list) => {
            let from = format!("{samples}, json_each(sample.value, '$.{list}') AS one");
            ("one.value", String::new(), from)
        }
        Rows::Sql(from) => ("one.value", String::new(), from.to_owned()),
    }
}

/// Adds the fields of a type to the columns of a view.
struct Fields<'a> {
    source: &'a Source,
    root: &'a Value,
    document: String,
    columns: &'a mut Vec<Column>,
}

impl Fields<'_> {
    /// Adds the fields of an object, or of all variants of an enum of objects.
    fn add_all(&mut self, schema: &Value, path: &str, about: &str, nullable: bool) {
        if let Some(variants) = schema["oneOf"].as_array() {
            for variant in variants {
                self.add_all(variant, path, about, true);
            }
            return;
        }
        let no_fields = Map::new();
        let fields = schema["properties"].as_object().unwrap_or(&no_fields);
        let required: Vec<&str> = schema["required"]
            .as_array()
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        // The required ones are listed in the order of the type.
        let others = fields
            .keys()
            .filter(|name| !required.contains(&name.as_str()));
        for name in required.iter().copied().chain(others.map(String::as_str)) {
            let optional = !required.contains(&name) || nullable;
            self.add(&fields[name], &format!("{path}{name}"), about, optional);
        }
    }

    fn add(&mut self, schema: &Value, path: &str, parent: &str, optional: bool) {
        let Source {
            left_out, names, ..
        } = self.source;
        if left_out.contains(&path) {
            return;
        }
        let mut nullable = optional;
        let mut kind = schema;
        if let Some(either) = kind["anyOf"].as_array() {
            nullable = true;
            kind = either.first().unwrap_or(kind);
        }
        if let Some(name) = kind["$ref"].as_str() {
            let name = name.trim_start_matches('#');
            kind = self.root.pointer(name).unwrap_or(kind);
        }
        let about = schema["description"]
            .as_str()
            .or(kind["description"].as_str());
        let about = about.unwrap_or_default().replace('\n', " ");
        let has_fields = |one: &Value| one["properties"].is_object();
        let mut variants = kind["oneOf"].as_array().into_iter().flatten();
        if !WHOLE.contains(&path) && (has_fields(kind) || variants.any(has_fields)) {
            self.add_all(kind, &format!("{path}."), &about, nullable);
            return;
        }
        let renamed = names.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from)?;
            (rest.is_empty() || from.ends_with('.')).then(|| format!("{to}{rest}"))
        });
        let is_renamed = renamed.is_some();
        let mut name = renamed.unwrap_or_else(|| path.to_owned()).replace('.', "_");
        // `stage.stage`: the tag of an enum.
        if let Some((field, tag)) = path.rsplit_once('.')
            && field == tag
            && !is_renamed
        {
            tag.clone_into(&mut name);
        }
        if self.columns.iter().any(|column| column.name == name) {
            return;
        }
        let types = |name: &str| match &kind["type"] {
            Value::Array(types) => types.iter().any(|one| one == name),
            one => one == name,
        };
        let kind = if types("integer") || types("boolean") {
            "integer"
        } else if types("number") {
            "real"
        } else if types("string") || kind["oneOf"].is_array() {
            "text"
        } else {
            "json"
        };
        let part = parent.trim_end_matches('.');
        self.columns.push(Column {
            sql: format!("{}{path}'", self.document),
            name,
            kind,
            nullable: nullable || schema["type"].is_array(),
            meaning: match (part, about) {
                ("", about) => about,
                // The tag of an enum.
                (part, about) if about.is_empty() => part.to_owned(),
                (part, about) => format!("{part}: {about}"),
            },
        });
    }
}
