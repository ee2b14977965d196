//! All output of fsdyno: texts, tables, JSON and pictures on standard output, messages on standard
//! error. A reader that closes the pipe (`| head`) is no error.
//!
//! Nothing else in the program prints (clippy denies it), so that no foreign text reaches the
//! terminal unfiltered. Terminal escapes are filtered twice. Reports and tables replace them in the
//! data with `printable` before they add colour, so that a name in a hostile store cannot set
//! colours. [`visible`] then filters the whole output, for messages and for data that a format did
//! not filter. It passes the colour sequences of [`COLOURS`], and only in text that fsdyno coloured
//! for a terminal. If a format misses a field, that field can change colours. It cannot move the
//! cursor, set a title, or write to the clipboard.

use crate::exit::CliError;
use clap::ColorChoice;
use fsdyno_files::{Existing, Output};
use fsdyno_model::printable::is_steering;
use fsdyno_model::printable_lines;
use fsdyno_report::formats::terminal::{left, width as text_width, wrap};
use serde::Serialize;
use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::OnceLock;

/// The parameters of every SGR sequence (ECMA-48 8.3.117) that reports and the progress view use.
const COLOURS: [&str; 7] = ["0", "1", "2", "31", "33", "36", "1;32"];

/// Replaces control, direction and zero-width characters of a text with visible escapes. Newlines
/// and tabs stay, and so does CR before LF, which CSV has (RFC 4180). Colours stay if `coloured`.
///
/// The escape is that of JSON (`\u001b`), so that filtered JSON keeps its meaning.
pub fn visible(text: &str, coloured: bool) -> Cow<'_, str> {
    if !text.contains(|c| is_steering(c) && c != '\n') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let line_end = c == '\r' && rest.as_str().starts_with('\n');
        if !is_steering(c) || matches!(c, '\n' | '\t') || line_end {
            clean.push(c);
        } else if let Some(colour) = colour(c, rest.as_str()).filter(|_| coloured) {
            let _ = write!(clean, "\x1b[{colour}m");
            rest = rest.as_str()[colour.len() + 2..].chars();
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(clean, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(clean)
}

/// The parameter of a colour sequence that starts with `c`, if it is one of fsdyno's.
fn colour(c: char, rest: &str) -> Option<&'static str> {
    let rest = rest.strip_prefix('[').filter(|_| c == '\x1b')?;
    COLOURS.into_iter().find(|colour| {
        let after = rest.strip_prefix(colour);
        after.is_some_and(|after| after.starts_with('m'))
    })
}

/// The amount of output besides the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verbosity {
    /// Errors only.
    Quiet,
    /// Progress and notes too.
    Normal,
    /// Every stage too.
    Verbose,
}

static VERBOSITY: OnceLock<Verbosity> = OnceLock::new();
static COLORS: OnceLock<ColorChoice> = OnceLock::new();

/// Sets how much is printed; once, before anything is printed.
pub fn set_verbosity(verbosity: Verbosity) {
    let _ = VERBOSITY.set(verbosity);
}

/// Returns the amount of output besides the result.
pub fn verbosity() -> Verbosity {
    *VERBOSITY.get().unwrap_or(&Verbosity::Normal)
}

/// Sets whether output has colours; once, before anything is printed.
pub fn set_colors(choice: ColorChoice) {
    let _ = COLORS.set(choice);
    match choice {
        ColorChoice::Auto => {}
        ColorChoice::Always => console::set_colors_enabled_stderr(true),
        ColorChoice::Never => console::set_colors_enabled_stderr(false),
    }
}

/// Prints a note on standard error, unless only errors are printed.
pub fn note(message: impl fmt::Display) {
    if verbosity() != Verbosity::Quiet {
        error(message);
    }
}

/// Prints an error on standard error, on lines of its own.
pub fn error(message: impl fmt::Display) {
    let line = format!("{}\n", visible(&message.to_string(), false));
    // If standard error is closed, there is no other place to report an error.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Prints panics with [`error`], because they may contain data.
pub fn filter_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let thread = std::thread::current();
        let trace = std::backtrace::Backtrace::capture();
        error(format_args!(
            "thread '{}' {panic}",
            thread.name().unwrap_or("unnamed")
        ));
        if trace.status() == std::backtrace::BacktraceStatus::Captured {
            error(trace);
        }
    }));
}

/// Prints text without colours.
pub fn bytes(text: &[u8]) -> Result<(), CliError> {
    picture(visible(&String::from_utf8_lossy(text), false).as_bytes())
}

/// Prints text that fsdyno coloured if [`color`] allows it.
pub fn coloured(text: &[u8]) -> Result<(), CliError> {
    picture(visible(&String::from_utf8_lossy(text), color()).as_bytes())
}

/// Writes bytes unfiltered. For binary data only.
pub fn picture(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Prints text while it is generated, for output that is too large for memory.
pub fn stream(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), CliError> {
    let mut out = std::io::BufWriter::new(Visible(std::io::stdout().lock()));
    written(write(&mut out).and_then(|()| out.flush()))
}

fn written(result: std::io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CliError::failure(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// A text stream that passes through [`visible`]. A character that is split over two writes is
/// replaced.
struct Visible<W>(W);

impl<W: Write> Write for Visible<W> {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        let shown = visible(&String::from_utf8_lossy(text), false).into_owned();
        self.0.write_all(shown.as_bytes())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Writes text to a file, or to standard output if none is named. Only there it may have colours.
pub fn to(file: Option<&Path>, text: &[u8], existing: Existing) -> Result<(), CliError> {
    match file {
        None => coloured(text),
        Some(path) => save(
            path,
            visible(&String::from_utf8_lossy(text), false).as_bytes(),
            existing,
        ),
    }
}

/// Writes bytes to a file unchanged and atomically.
pub fn save(path: &Path, bytes: &[u8], existing: Existing) -> Result<(), CliError> {
    fsdyno_files::replace(path, bytes, 0o666, existing).map_err(|error| not_saved(path, &error))
}

/// The same for text that is too large for memory: writes it while it is generated, to a file or to
/// standard output.
pub fn stream_to(
    file: Option<&Path>,
    existing: Existing,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), CliError> {
    let Some(path) = file else {
        return stream(write);
    };
    let saved = || {
        let mut output = Output::create(path, 0o666, existing)?;
        let mut out = std::io::BufWriter::new(Visible(&mut output));
        write(&mut out)?;
        out.flush()?;
        drop(out);
        output.commit()
    };
    saved().map_err(|error| not_saved(path, &error))
}

fn not_saved(path: &Path, error: &std::io::Error) -> CliError {
    match error.kind() {
        ErrorKind::AlreadyExists => taken(path),
        ErrorKind::StorageFull => CliError::failure(format!(
            "cannot write {}: {error}; no partial file remains. Free space, or name another file.",
            path.display()
        )),
        _ => CliError::failure(format!("cannot write {}: {error}", path.display())),
    }
}

/// Refuses a file that [`save`] would refuse, before work is done for it.
pub fn check(file: Option<&Path>, existing: Existing) -> Result<(), CliError> {
    let Some(path) = file else {
        return Ok(());
    };
    let directory = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let why = match directory {
        _ if path.is_dir() => "it is a directory. Name a file in it.".to_owned(),
        Some(missing) if !missing.is_dir() => {
            format!(
                "there is no directory {}. Create it first.",
                missing.display()
            )
        }
        _ => String::new(),
    };
    if !why.is_empty() {
        return Err(CliError::usage(format!(
            "cannot write {}: {why}",
            path.display()
        )));
    }
    // A path that exists and is no regular file may be a terminal or a pipe.
    let is_file = || {
        path.metadata()
            .map_or(path.is_symlink(), |about| about.is_file())
    };
    if existing == Existing::Keep && is_file() {
        return Err(taken(path));
    }
    Ok(())
}

/// The treatment of an existing file with and without `--force`.
pub fn existing(force: bool) -> Existing {
    if force {
        Existing::Replace
    } else {
        Existing::Keep
    }
}

fn taken(path: &Path) -> CliError {
    let path = path.display();
    CliError::usage(format!(
        "cannot write {path}: it exists. Add --force to replace it, or name another file."
    ))
}

pub fn json(value: &impl Serialize) -> Result<(), CliError> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| CliError::failure(format!("cannot write JSON: {error}")))?;
    text.push('\n');
    bytes(text.as_bytes())
}

/// Words of up to this number of columns are not broken over lines.
const UNBROKEN: usize = 14;

/// Blank columns between two columns of a table.
const GAP: usize = 2;

/// A row of words.
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}

/// Prints rows as columns. Cells that are too wide for the terminal wrap within their column.
pub fn rows(rows: &[Vec<String>], width: usize) -> Result<(), CliError> {
    bytes(align(rows, width).as_bytes())
}

/// Formats rows as columns, as [`rows`] prints them.
pub fn align(rows: &[Vec<String>], width: usize) -> String {
    let printable = |row: &Vec<String>| row.iter().map(|cell| printable_lines(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(printable).collect();
    let widths = column_widths(&rows, width);
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<Vec<String>> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| {
                let lines = cell.lines().map(|line| lines_of(line, *width));
                lines.flatten().collect()
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for at in 0..height {
            let mut line = String::new();
            for (cell, width) in cells.iter().zip(&widths) {
                line += &left(cell.get(at).map_or("", String::as_str), width + GAP);
            }
            text += line.trim_end();
            text.push('\n');
        }
    }
    text
}

/// A line, wrapped if it is wider than its column.
fn lines_of(line: &str, width: usize) -> Vec<String> {
    if text_width(line) <= width {
        return vec![line.to_owned()];
    }
    wrap(line, width, 0)
}

/// The widths of columns. Those of a table that is too wide are reduced, the widest first, but not
/// below their words. The first column has names, which stay whole, so that they can be copied.
fn column_widths(rows: &[Vec<String>], width: usize) -> Vec<usize> {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let column = |at: usize| rows.iter().filter_map(move |row| row.get(at));
    let widest = |at| {
        column(at)
            .flat_map(|cell| cell.lines())
            .map(text_width)
            .max()
    };
    let limit = |at| if at == 0 { usize::MAX } else { width };
    let widths = (0..count).map(|at| widest(at).unwrap_or(0).min(limit(at)));
    let mut widths: Vec<usize> = widths.collect();
    let word = |at| {
        let words = column(at).flat_map(|cell| cell.split_whitespace());
        let words = words.map(text_width).filter(|width| *width <= UNBROKEN);
        words.max().unwrap_or(1)
    };
    let least: Vec<usize> = (0..count).map(word).collect();
    while widths.iter().sum::<usize>() + GAP * count.saturating_sub(1) > width {
        let reducible = (1..count).filter(|at| widths[*at] > least[*at]);
        let Some(at) = reducible.max_by_key(|at| widths[*at]) else {
            break;
        };
        widths[at] -= 1;
    }
    widths
}

/// The width of the terminal, or 80.
pub fn width() -> usize {
    let term = console::Term::stdout();
    term.size_checked()
        .map_or(80, |(_, columns)| usize::from(columns).max(40))
}

/// Whether to use colour. `--color` decides; otherwise a terminal with colour support has colour
/// unless `NO_COLOR` is set.
pub fn color() -> bool {
    match COLORS.get() {
        Some(ColorChoice::Always) => return true,
        Some(ColorChoice::Never) => return false,
        Some(ColorChoice::Auto) | None => {}
    }
    console::Term::stdout().is_term()
        && std::env::var_os("TERM").is_none_or(|name| name != "dumb")
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_atomically() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("page");
        to(Some(&file), b"one", Existing::Keep).unwrap();
        for error in [
            to(Some(&file), b"other", Existing::Keep),
            check(Some(&file), Existing::Keep),
        ] {
            let error = error.unwrap_err().to_string();
            assert!(error.contains("--force"), "{error}");
        }
        assert_eq!(std::fs::read(&file).unwrap(), b"one");
        check(Some(&file), Existing::Replace).unwrap();
        to(Some(&file), b"other", Existing::Replace).unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"other");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
        let missing = place.path().join("no/page");
        for existing in [Existing::Keep, Existing::Replace] {
            let error = check(Some(&missing), existing).unwrap_err();
            assert!(
                error.to_string().contains("there is no directory"),
                "{error}"
            );
            let error = check(Some(place.path()), existing).unwrap_err();
            assert!(error.to_string().contains("it is a directory"), "{error}");
        }
        check(Some(Path::new("page")), Existing::Keep).unwrap();
        let error = to(Some(&missing), b"one", Existing::Keep).unwrap_err();
        assert!(error.to_string().contains("no/page"), "{error}");
        let error = to(Some(Path::new("/dev/full")), b"one", Existing::Keep).unwrap_err();
        assert!(error.to_string().contains("Free space"), "{error}");
    }

    #[test]
    fn only_the_colours_of_fsdyno_pass_and_only_in_coloured_text() {
        let hostile =
            "\x1b]0;title\x07 \x1b[2J \u{9b}31m \u{7f} \u{202e} \u{e0041} \r \x1b[38;5;1m";
        let shown = r"\u001b]0;title\u0007 \u001b[2J \u009b31m \u007f \u202e \udb40\udc41 \u000d \u001b[38;5;1m";
        for coloured in [false, true] {
            assert_eq!(visible(hostile, coloured), shown);
            assert_eq!(
                visible("a\tb\nGrün 日本 \\", coloured),
                "a\tb\nGrün 日本 \\"
            );
        }
        let green = "\x1b[1;32m1.0\x1b[0m\n";
        assert_eq!(visible(green, true), green);
        assert_eq!(visible(green, false), "\\u001b[1;32m1.0\\u001b[0m\n");
        assert_eq!(visible("\x1b[1;\x1b[0", true), r"\u001b[1;\u001b[0");
        let json = serde_json::to_string("\u{9b}\u{202e}").unwrap();
        let read: String = serde_json::from_str(&visible(&json, false)).unwrap();
        assert_eq!(read, "\u{9b}\u{202e}");
    }

    #[test]
    fn long_words_wrap_within_their_column() {
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

    #[test]
    fn a_name_in_the_first_column_is_never_broken() {
        let name = "20261122-2247-mongo-2001-with-a-long-name";
        let rows = vec![vec![
            name.to_owned(),
            "one two three four".to_owned(),
            "five six".to_owned(),
        ]];
        for width in [40, 60, 80] {
            let text = align(&rows, width);
            assert!(text.starts_with(name), "{width}: {text}");
        }
    }
}
