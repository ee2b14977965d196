//! Rows of a store that another wrote: any value in any column, and text that was changed in place.
//! The schema has lost its constraints, as that of a hostile file may have. Runs and series are
//! read or refused, and two readers of the same rows agree.

use crate::bytes::Input;
use fsdyno_store::Store;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

/// A run and a series, in the oldest schema that this target was written for.
const SEED: &str = include_str!("../../seeds/store.sql");

/// The run of the seed.
const RUN: &str = "r";

/// The most changes of an input.
const MOST: usize = 8;

/// A table: its columns that are changed, and the key of each row.
struct Table {
    name: String,
    columns: Vec<String>,
    key: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// The store, and who changes it.
struct Bench {
    store: Store,
    writer: Connection,
    tables: Vec<Table>,
    series: String,
}

/// A value that was changed: the statement that sets it, and what it was.
type Changed = (String, Vec<Value>);

thread_local! {
    static BENCH: OnceCell<Bench> = const { OnceCell::new() };
}

pub fn check(input: &[u8]) {
    BENCH.with(|bench| {
        let bench = bench.get_or_init(|| Bench::new().expect("the seed is a store"));
        bench.check(&mut Input(input));
    });
}

impl Bench {
    fn new() -> rusqlite::Result<Self> {
        let folder = PathBuf::from(format!("/dev/shm/fsdyno-fuzz-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .expect("a folder in memory");
        let path = folder.join("store.db");
        Connection::open(&path)?.execute_batch(SEED)?;
        drop(Store::open(&path).expect("the seed is a store"));
        let store = Store::open_existing_read_only(&path).expect("the seed is a store");
        let writer = Connection::open(&path)?;
        // Without the constraints that another would leave out.
        writer.execute_batch(
            "PRAGMA journal_mode = WAL;
             PRAGMA synchronous = OFF;
             PRAGMA foreign_keys = OFF;
             PRAGMA ignore_check_constraints = ON;
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(replace(replace(replace(sql,
                 'STRICT, WITHOUT', 'WITHOUT'), ') STRICT', ')'),
                 'IS NOT NULL', 'NOTNULL'), ' NOT NULL', '');
             PRAGMA writable_schema = RESET;",
        )?;
        let series = store.series().expect("it is whole").remove(0).id;
        let bench = Self {
            tables: tables(&writer)?,
            store,
            writer,
            series,
        };
        assert!(bench.read(), "the seed cannot be read");
        // It stays open, and nothing is left behind.
        std::fs::remove_dir_all(&folder).expect("a folder in memory");
        Ok(bench)
    }

    fn check(&self, input: &mut Input<'_>) {
        let mut changed = Vec::new();
        for _ in 0..MOST {
            if input.is_empty() {
                break;
            }
            changed.extend(self.change(input));
        }
        self.read();
        for (statement, values) in changed.into_iter().rev() {
            assert_eq!(self.execute(&statement, &values), Ok(1));
        }
    }

    fn execute(&self, statement: &str, values: &[Value]) -> rusqlite::Result<usize> {
        let mut statement = self.writer.prepare_cached(statement)?;
        statement.execute(params_from_iter(values))
    }

    /// Changes a value; how to change it back. None where no such value can be stored.
    fn change(&self, input: &mut Input<'_>) -> Option<Changed> {
        let table = pick(&self.tables, input.u8())?;
        let (column, row) = (
            pick(&table.columns, input.u8())?,
            pick(&table.rows, input.u8())?,
        );
        let (name, key) = (&table.name, table.key.join(" IS ? AND "));
        let query = format!("SELECT {column} FROM {name} WHERE {key} IS ?");
        let mut query = self.writer.prepare_cached(&query).expect("a column");
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
        updated.then(|| (statement, with(before)))
    }

    /// Reads everything there is; whether all of it can be read.
    fn read(&self) -> bool {
        let store = &self.store;
        let lists = store.runs().is_ok() && store.series().is_ok();
        let (run, recorded) = (store.load(RUN), store.recorded(RUN));
        if let (Ok(run), Ok(recorded)) = (&run, &recorded) {
            let indices = run.cells.iter().map(|record| record.cell.index);
            assert_eq!(&indices.collect::<BTreeSet<_>>(), recorded);
        }
        lists && run.is_ok() && store.load_series(&self.series).is_ok()
    }
}

fn pick<T>(from: &[T], number: u8) -> Option<&T> {
    from.get(usize::from(number) % from.len().max(1))
}

/// The tables with rows. Keys are not changed, so that every row is found again.
fn tables(writer: &Connection) -> rusqlite::Result<Vec<Table>> {
    let query = "SELECT name, sql LIKE '%WITHOUT ROWID%' FROM sqlite_schema
                 WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut statement = writer.prepare(query)?;
    let named = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut tables = Vec::new();
    for named in named {
        let (name, keyed): (String, bool) = named?;
        let columns = format!("SELECT name, pk > 0 FROM pragma_table_info('{name}')");
        let mut columns = writer.prepare(&columns)?;
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
        let mut rows = writer.prepare(&format!("SELECT {} FROM {name} LIMIT 8", key.join(", ")))?;
        let rows = rows.query_map([], |row| (0..width).map(|at| row.get(at)).collect())?;
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
