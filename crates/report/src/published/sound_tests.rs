//! Tests that every built-in table is complete and consistent with its own figures.

use super::{ALL, Table, Today, find, same_unit};
use fsdyno_model::Better;

fn tables() -> Vec<Table> {
    let read = |published: &super::Published| published.read().unwrap_or_else(|e| panic!("{e}"));
    ALL.iter().map(read).collect()
}

#[test]
fn every_figure_has_a_known_unit_and_a_direction_that_fits_it() {
    for table in tables() {
        assert!(!table.rows.is_empty());
        for row in &table.rows {
            let better = match row.unit.as_str() {
                "s" | "%cpu" | "fragments/file" => Some(Better::Lower),
                "KB/s" | "1/s" | "files/s" => Some(Better::Higher),
                "files" | "dirs" => None,
                other => panic!("{}: unit {other}", table.name),
            };
            assert_eq!(row.better, better, "{}: {}", table.name, row.label());
            for value in row.values.iter().flatten() {
                assert!(value.is_finite() && *value >= 0.0, "{}", row.label());
            }
        }
    }
}

#[test]
fn every_printed_figure_is_in_its_table_once() {
    for (published, table) in ALL.iter().zip(tables()) {
        assert_eq!(find(&table.name), Some(published));
        let printed = published.figures.lines().count() - 1;
        let read = table
            .rows
            .iter()
            .flat_map(|row| row.values.iter().flatten());
        assert_eq!(read.count(), printed, "{}", table.name);
        for (at, contender) in table.contenders.iter().enumerate() {
            assert!(table.rows.iter().any(|row| row.values[at].is_some()));
            assert!(!contender.kernels.is_empty());
            let matching = table
                .contenders
                .iter()
                .filter(|c| c.label == contender.label);
            assert_eq!(matching.count(), 1, "{}: {}", table.name, contender.label);
        }
    }
    // One figure checked by hand: the table in which btrfs copied 2.7 GB in 1:25.
    let table = find("btrfs-2008").unwrap().read().unwrap();
    let row = table.rows.iter().find(|r| r.label() == "avi copy").unwrap();
    assert_eq!(row.values[0], Some(85.0));
    assert!(!row.is_best(85.0) && row.is_best(72.0));
}

#[test]
fn every_conclusion_holds_on_the_figures_it_was_drawn_from() {
    for table in tables() {
        assert!(!table.conclusions.is_empty());
        for conclusion in &table.conclusions {
            assert!(conclusion.text.ends_with('.'));
            assert!(!conclusion.ahead.is_empty() && !conclusion.trailing.is_empty());
            for row in conclusion.rows.iter().map(|row| &table.rows[*row]) {
                for (ahead, trailing) in conclusion
                    .ahead
                    .iter()
                    .flat_map(|a| conclusion.trailing.iter().map(move |b| (*a, *b)))
                {
                    let figure = |at: usize| {
                        row.values[at].unwrap_or_else(|| {
                            panic!("{}: no figure of {} at {}", table.name, at, row.label())
                        })
                    };
                    let so = match row.better.unwrap() {
                        Better::Lower => figure(ahead) < figure(trailing),
                        Better::Higher => figure(ahead) > figure(trailing),
                        Better::Neither => false,
                    };
                    assert!(so, "{}: {} at {}", table.name, conclusion.text, row.label());
                }
            }
        }
    }
}

#[test]
fn every_comparable_published_row_has_a_line() {
    for name in ["bonnie-2001", "mongo-2001"] {
        let table = find(name).unwrap().read().unwrap();
        for (at, row) in table.rows.iter().enumerate() {
            let lines = table.lines.iter().filter(|line| line.rows.contains(&at));
            let expected = usize::from(row.better.is_some());
            assert_eq!(lines.count(), expected, "{name}: {}", row.label());
        }
    }
}

#[test]
fn current_figures_have_the_published_unit() {
    for table in tables() {
        for line in &table.lines {
            let printed = table.rows[line.rows[0]].unit.as_str();
            let now = match &line.today {
                Today::Return | Today::User | Today::System => "s",
                Today::ExtentsPerFile { .. } => "fragments/file",
                Today::Figure(name) => match (name.as_str(), line.kind.as_str()) {
                    ("cpu", _) => "%",
                    (
                        "rate",
                        "bonnie-seeks" | "bonnie-create" | "bonnie-stat" | "bonnie-delete",
                    ) => "1/s",
                    ("rate", _) => "KiB/s",
                    other => panic!("{}: {other:?}", table.name),
                },
            };
            assert!(same_unit(printed, now), "{}: {}", table.name, line.label);
        }
    }
}

#[test]
fn a_line_of_several_rows_is_their_mean() {
    let table = find("atime-2007").unwrap().read().unwrap();
    let line = &table.lines[0];
    assert_eq!(line.label, "grep cold real");
    let atime = line.published(&table, 2).unwrap();
    assert!((atime - f64::midpoint(634.207, 651.976)).abs() < 1e-9);
}

#[test]
fn an_invalid_table_is_rejected_with_the_reason() {
    let good = find("atime-2007").unwrap();
    let header = |from: &str, to: &str| {
        let text = good.header.replacen(from, to, 1);
        assert_ne!(text, good.header, "{from}");
        let header = Box::leak(text.into_boxed_str());
        let broken = super::Published { header, ..*good };
        broken.read().unwrap_err().to_string()
    };
    for (from, to, words) in [
        ("title", "tilte", "unknown field `tilte`"),
        (
            "variant = \"noatime\"",
            "variant = \"sync\"",
            "no contender is reiserfs noatime",
        ),
        (
            "cold-cache-run1/real",
            "cold-cache-run3/real",
            "no row grep-cold-cache-run3/real",
        ),
        (
            "ahead = [\"ext3 noatime\"]",
            "ahead = [\"ext5\"]",
            "no contender is called ext5",
        ),
        ("year = 2007", "year = 2008", "a row of atime-2007 of 2007"),
    ] {
        let error = header(from, to);
        assert!(error.contains(words), "{error}");
    }
    let figures = good.figures.replacen("312.021", "312,021", 1);
    let figures = Box::leak(figures.into_boxed_str());
    let broken = super::Published { figures, ..*good };
    let error = broken.read().unwrap_err().to_string();
    assert!(
        error.starts_with("the figures of the published table atime-2007"),
        "{error}"
    );
}
