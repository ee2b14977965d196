//! The views have the columns that people query, each with a meaning.

use super::{WorkDir, specimen};
use crate::views;
use std::fmt::Write as _;

#[test]
fn every_view_and_column_has_a_meaning() {
    let views = views::all();
    assert!(views.len() > 10);
    for view in views {
        assert!(!view.about.is_empty(), "{} is not described", view.name);
        for column in &view.columns {
            let name = format!("{}.{}", view.name, column.name);
            assert!(!column.meaning.is_empty(), "{name} is not described");
        }
    }
}

/// The columns of version 0.2 are those of today: queries of users stay valid.
#[test]
fn the_views_of_a_store_have_these_columns() {
    let mut text = String::new();
    for view in views::all() {
        let names: Vec<&str> = view.columns.iter().map(|one| one.name.as_str()).collect();
        let _ = writeln!(text, "{}: {}", view.name, names.join(" "));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn every_value_of_a_cell_is_in_a_view() {
    let work_dir = WorkDir::new();
    let mut store = work_dir.open();
    store.begin(&specimen::run("r", 1)).unwrap();
    store.record("r", &specimen::measured(0)).unwrap();
    let mut info = specimen::series(2);
    store.begin_series(&mut info).unwrap();
    let cut = specimen::power_cut_with_losses("xfs", 1);
    store.record_power_cut(&info.id, &cut).unwrap();
    let mut info = specimen::exploration(3);
    store.begin_exploration(&mut info).unwrap();
    let program = specimen::explored_with_findings("xfs", 1);
    store.record_program(&info.id, &program).unwrap();
    let mut empty = Vec::new();
    for view in views::all() {
        for column in &view.columns {
            let query = format!("SELECT count({}) FROM {}", column.name, view.name);
            let count: i64 = store
                .connection
                .query_row(&query, [], |row| row.get(0))
                .unwrap();
            if count == 0 {
                empty.push(format!("{}.{}", view.name, column.name));
            }
        }
    }
    insta::assert_snapshot!(empty.join("\n"));
}
