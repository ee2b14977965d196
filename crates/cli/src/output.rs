//! Writing to standard output: whole texts, tables of words, JSON. A reader that goes away
//! (`| head`) is no failure.

use crate::exit::Trouble;
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes bytes.
pub fn bytes(bytes: &[u8]) -> Result<(), Trouble> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Trouble::failure(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Writes as it goes, for what is too much to be held.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Trouble> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Trouble::failure(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Writes bytes to a file, or to standard output where none is named.
pub fn to(file: Option<&Path>, text: &[u8]) -> Result<(), Trouble> {
    match file {
        None => bytes(text),
        Some(path) => whole(path, text).map_err(|error| {
            let full = error.kind() == ErrorKind::StorageFull;
            let way_out = if full {
                "; nothing of it was left: free space, or name another file"
            } else {
                ""
            };
            Trouble::failure(format!("cannot write {}: {error}{way_out}", path.display()))
        }),
    }
}

/// Writes a file whole, or leaves what was there: a page that is cut off looks like one.
fn whole(path: &Path, text: &[u8]) -> std::io::Result<()> {
    if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        // A pipe, a terminal: nothing could take its place.
        return std::fs::write(path, text);
    }
    // What is a name for another file stays one.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut beside = path.clone().into_os_string();
    beside.push(format!(".{}.part", std::process::id()));
    let written = std::fs::write(&beside, text).and_then(|()| std::fs::rename(&beside, &path));
    if written.is_err() {
        // It may not even be there.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Writes a value as JSON.
pub fn json(value: &impl Serialize) -> Result<(), Trouble> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Trouble::failure(format!("cannot write JSON: {error}")))?;
    text.push('\n');
    bytes(text.as_bytes())
}

/// Writes rows of words in columns; words too long for the terminal are folded in their column.
pub fn rows(rows: &[Vec<String>], width: usize) -> Result<(), Trouble> {
    bytes(align(rows, width).as_bytes())
}

/// Rows of words in columns, as [`rows`] writes them.
pub fn align(rows: &[Vec<String>], width: usize) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic);
    table
        .set_width(u16::try_from(width).unwrap_or(u16::MAX))
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt() + "\n"
}

/// The width to print for: that of the terminal; 80 where there is none.
pub fn width() -> usize {
    let term = console::Term::stdout();
    term.size_checked()
        .map_or(80, |(_, columns)| usize::from(columns).max(40))
}

/// Whether to use colour: on a terminal that knows colours, unless `NO_COLOR` is set.
pub fn color() -> bool {
    console::Term::stdout().is_term()
        && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_or_stays_what_it_was() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("page");
        to(Some(&file), b"one").unwrap();
        to(Some(&file), b"other").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"other");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        let trouble = to(Some(&place.path().join("no/page")), b"one").unwrap_err();
        assert!(trouble.to_string().contains("no/page"), "{trouble}");
        let trouble = to(Some(Path::new("/dev/full")), b"one").unwrap_err();
        assert!(trouble.to_string().contains("free space"), "{trouble}");
    }

    #[test]
    fn long_words_fold_in_their_column() {
        let rows = vec![
            vec![
                "a".to_owned(),
                "one two three four five six seven".to_owned(),
            ],
            vec!["bbb".to_owned(), "x".to_owned()],
        ];
        let text = align(&rows, 30);
        assert!(
            text.lines().all(|line| line.chars().count() <= 30),
            "{text}"
        );
        assert!(text.starts_with("a    one"), "{text}");
    }
}
