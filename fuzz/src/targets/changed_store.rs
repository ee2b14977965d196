//! A store that another program wrote, for the targets that read one: any value in any column, and
//! text that is changed in place. The schema has no constraints, as that of a hostile file may have
//! none.

use crate::bytes::Input;
use fsdyno_model::{CellRecord, Outcome};
use fsdyno_store::{Store, fuzz};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use specimen::{
    bare, cells, exploration, explored_in_vain, explored_with_findings, measured,
    power_cut_with_losses, power_cut_without_losses, run, series,
};
use std::cell::OnceCell;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

#[path = "../../../crates/store/src/tests/specimen.rs"]
#[expect(dead_code, reason = "the tests of the store use all of it")]
mod specimen;

/// The id of the run.
pub const RUN: &str = "r";

/// The most changes of an input.
const MOST: usize = 8;

/// The longest output of a recorded command, bytes: reading it back checks no more than this does.
const MAX_OUTPUT: usize = 64;

/// A table: its columns that are changed, and the key of each row.
struct Table {
    name: String,
    columns: Vec<String>,
    key: Vec<String>,
    rows: Vec<Row>,
}

/// A row: the kind of its record, and its key.
type Row = (String, Vec<Value>);

/// A store in memory whose rows are changed.
pub struct Bench {
    pub store: Store,
    tables: Vec<Table>,
    pub series: String,
    pub exploration: String,
}

/// The kinds of rows that an input changed. No row of one kind is read with another kind.
#[derive(Clone, Copy)]
pub struct Kinds {
    pub run: bool,
    pub series: bool,
    pub exploration: bool,
}

/// A value that was changed: the kind of its record, and the statement that restores it with its
/// parameters.
type Changed = (String, String, Vec<Value>);

/// Columns that decide of which kind and of which record a row is.
const LINKS: [&str; 3] = ["id", "kind", "record"];

thread_local! {
    static BENCH: OnceCell<Bench> = const { OnceCell::new() };
}

/// Changes the rows as the input says, looks at the store, and restores the rows.
pub fn with_changes(input: &[u8], look: impl FnOnce(&Bench, Kinds)) {
    BENCH.with(|bench| {
        let bench = bench.get_or_init(|| Bench::new().expect("a store of known rows"));
        bench.with_changes(&mut Input(input), look);
    });
}

/// A cell of each outcome, the first with rows in every table.
fn records() -> Vec<CellRecord> {
    let mut measured = measured(0);
    for command in &mut measured.commands {
        let text = &command.stdout;
        let most = MAX_OUTPUT.min(text.len());
        let end = (0..=most)
            .rfind(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        command.stdout.truncate(end);
    }
    measured.commands.truncate(3);
    let skipped = |record: &CellRecord| matches!(record.outcome, Outcome::Skipped { .. });
    let others = cells().into_iter();
    let skipped = others.clone().find(skipped);
    let failed = others
        .rev()
        .find(|one| matches!(one.outcome, Outcome::Failed(_)));
    let outcomes = skipped.into_iter().chain(failed);
    let others = (1..)
        .zip(outcomes)
        .map(|(index, one)| bare(index, one.outcome));
    std::iter::once(measured).chain(others).collect()
}

/// Records a run, a series and an exploration in a new store; the ids of the last two.
fn fill(path: &Path) -> Result<(String, String), fsdyno_store::StoreError> {
    let mut store = Store::open(path)?;
    store.begin(&run(RUN, 1))?;
    for record in records() {
        store.record(RUN, &record)?;
    }
    let mut begun = series(2);
    begun.disk = run(RUN, 1).plan.disk;
    store.begin_series(&mut begun)?;
    let label = begun.contenders[0].label.clone();
    store.record_power_cut(&begun.id, &power_cut_with_losses(&label, 1))?;
    store.record_power_cut(&begun.id, &power_cut_without_losses(&label, 2))?;
    let mut explored = exploration(3);
    store.begin_exploration(&mut explored)?;
    store.record_program(&explored.id, &explored_with_findings(&label, 0))?;
    store.record_program(&explored.id, &explored_in_vain(&label, 1))?;
    Ok((begun.id, explored.id))
}

impl Bench {
    fn new() -> rusqlite::Result<Self> {
        let folder = PathBuf::from(format!("/dev/shm/fsdyno-fuzz-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .expect("a folder in memory");
        let path = folder.join("store.db");
        let (series, exploration) = fill(&path).expect("known rows are stored");
        remove_constraints(&Connection::open(&path)?)?;
        let bytes = std::fs::read(&path).expect("a file in memory");
        std::fs::remove_dir_all(&folder).expect("a folder in memory");
        let store = fuzz::store_in_memory(&bytes)?;
        let connection = fuzz::connection(&store);
        // Changes break the constraints that a hostile file does not have.
        connection.execute_batch(
            "PRAGMA journal_mode = MEMORY;
             PRAGMA foreign_keys = OFF;
             PRAGMA ignore_check_constraints = ON;",
        )?;
        Ok(Self {
            tables: tables(connection)?,
            store,
            series,
            exploration,
        })
    }

    fn with_changes(&self, input: &mut Input<'_>, look: impl FnOnce(&Self, Kinds)) {
        let mut changed = Vec::new();
        for _ in 0..MOST {
            if input.is_empty() {
                break;
            }
            changed.extend(self.change(input));
        }
        let is = |kind: &str| {
            let any = |of: &str| changed.iter().any(|(changed, ..): &Changed| changed == of);
            any(kind) || any("") || changed.is_empty()
        };
        let kinds = Kinds {
            run: is("run"),
            series: is("series"),
            exploration: is("exploration"),
        };
        look(self, kinds);
        for (_, statement, values) in changed.into_iter().rev() {
            assert_eq!(self.execute(&statement, &values), Ok(1));
        }
    }

    fn execute(&self, statement: &str, values: &[Value]) -> rusqlite::Result<usize> {
        let mut statement = fuzz::connection(&self.store).prepare(statement)?;
        statement.execute(params_from_iter(values))
    }

    /// Changes a value; how to change it back. None if no such value can be stored.
    fn change(&self, input: &mut Input<'_>) -> Option<Changed> {
        let table = pick(&self.tables, input.u8())?;
        let (column, (kind, row)) = (
            pick(&table.columns, input.u8())?,
            pick(&table.rows, input.u8())?,
        );
        let kind = if LINKS.contains(&column.as_str()) {
            ""
        } else {
            kind
        };
        let (name, key) = (&table.name, table.key.join(" IS ? AND "));
        let query = format!("SELECT {column} FROM {name} WHERE {key} IS ?");
        let connection = fuzz::connection(&self.store);
        let mut query = connection.prepare(&query).expect("a column");
        let before: Value = query
            .query_row(params_from_iter(row), |row| row.get(0))
            .ok()?;
        let value = match (input.u8() % 6, &before) {
            (0, _) => Value::Null,
            (1, _) => Value::Integer(input.u64().cast_signed()),
            (2, _) => Value::Real(f64::from_bits(input.u64())),
            (3, _) => Value::Blob(input.part().to_vec()),
            (4, Value::Text(text)) => {
                let mut bytes = text.clone().into_bytes();
                let from = usize::from(input.u16()) % (bytes.len() + 1);
                let end = (from + usize::from(input.u8())).min(bytes.len());
                bytes.splice(from..end, input.part().iter().copied());
                Value::Text(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => Value::Text(String::from_utf8_lossy(input.part()).into_owned()),
        };
        let statement = format!("UPDATE {name} SET {column} = ? WHERE {key} IS ?");
        let with = |value| std::iter::once(value).chain(row.iter().cloned()).collect();
        let values: Vec<Value> = with(value);
        let updated = self.execute(&statement, &values) == Ok(1);
        updated.then(|| (kind.to_owned(), statement, with(before)))
    }
}

/// Takes the types, the checks and the sources of all columns out of a schema, and leaves no log of
/// transactions.
fn remove_constraints(connection: &Connection) -> rusqlite::Result<()> {
    let mut query = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL")?;
    let tables = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let tables: Vec<(String, String)> = tables.collect::<rusqlite::Result<_>>()?;
    drop(query);
    connection.execute_batch("PRAGMA journal_mode = DELETE; PRAGMA writable_schema = ON;")?;
    for (name, mut sql) in tables {
        while let Some(from) = sql.find(" AS (") {
            let length = sql[from..].find(") STORED").expect("a stored column");
            sql.replace_range(from..from + length + ") STORED".len(), "");
        }
        let sql = sql.replace("STRICT, WITHOUT", "WITHOUT");
        let sql = sql.replace(") STRICT", ")").replace(" NOT NULL", "");
        let update = "UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1";
        connection.execute(update, [name, sql])?;
    }
    connection.execute_batch("PRAGMA writable_schema = OFF;")
}

fn pick<T>(from: &[T], number: u8) -> Option<&T> {
    from.get(usize::from(number) % from.len().max(1))
}

/// The tables with rows. Keys are not changed, so that every row is found again.
fn tables(connection: &Connection) -> rusqlite::Result<Vec<Table>> {
    let query = "SELECT name, sql LIKE '%WITHOUT ROWID%' FROM sqlite_schema
                 WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(query)?;
    let named = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut tables = Vec::new();
    for named in named {
        let (name, keyed): (String, bool) = named?;
        let columns = format!("SELECT name, pk > 0 FROM pragma_table_info('{name}')");
        let mut columns = connection.prepare(&columns)?;
        let columns = columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let columns: Vec<(String, bool)> = columns.collect::<rusqlite::Result<_>>()?;
        let of = |key: bool| columns.iter().filter(move |column| column.1 == key);
        let names = |key| of(key).map(|column| column.0.clone()).collect();
        let key: Vec<String> = if keyed {
            names(true)
        } else {
            vec!["rowid".to_owned()]
        };
        let width = key.len();
        let kind = match name.as_str() {
            "record" => "kind",
            "part" => "(SELECT kind FROM record WHERE id = part.record)",
            _ => "'run'",
        };
        let rows = format!("SELECT {}, {kind} FROM {name} LIMIT 8", key.join(", "));
        let mut rows = connection.prepare(&rows)?;
        let rows = rows.query_map([], |row| {
            let key = (0..width).map(|at| row.get(at));
            Ok((row.get(width)?, key.collect::<rusqlite::Result<_>>()?))
        })?;
        tables.push(Table {
            columns: names(false),
            rows: rows.collect::<rusqlite::Result<_>>()?,
            name,
            key,
        });
    }
    tables.retain(|table| !table.rows.is_empty() && !table.columns.is_empty());
    Ok(tables)
}
