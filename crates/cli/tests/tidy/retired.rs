//! Words that the project no longer uses, in names, comments, literals and documents. The list and
//! its format are in `retired.txt`.

use crate::{Finding, Source, files, read, report, sources};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// The list and this file, which contain the words.
const LIST: &str = "crates/cli/tests/tidy/retired.txt";
const ITSELF: &str = "crates/cli/tests/tidy/retired.rs";

/// The comment that exempts a line.
const KEPT: &str = "retired word kept:";

/// The scope of a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Text,
    All,
    Exact,
    Code,
}

/// One row of the list.
struct Row {
    kind: Kind,
    /// The text of the row in the list.
    written: String,
    words: Vec<String>,
    instead: String,
    unless: Vec<String>,
    except: Vec<String>,
}

/// The list: its rows.
struct List {
    rows: Vec<Row>,
}

impl List {
    fn parse(text: &str) -> Self {
        let mut list = Self { rows: Vec::new() };
        for line in text.lines() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let kind = match cells[0] {
                "name" => Kind::Name,
                "text" => Kind::Text,
                "all" => Kind::All,
                "exact" => Kind::Exact,
                "code" => Kind::Code,
                other => panic!("{LIST}: unknown kind `{other}` in `{line}`"),
            };
            let option = |key: &str| -> Vec<String> {
                let cell = cells.iter().find_map(|cell| cell.strip_prefix(key));
                let words = cell.unwrap_or_default().split(',').map(str::trim);
                words
                    .filter(|word| !word.is_empty())
                    .map(str::to_owned)
                    .collect()
            };
            list.rows.push(Row {
                kind,
                written: cells[1].to_owned(),
                words: cells[1]
                    .to_lowercase()
                    .split(' ')
                    .map(str::to_owned)
                    .collect(),
                instead: cells[2].to_owned(),
                unless: option("unless:"),
                except: option("except:"),
            });
        }
        list
    }

    /// The rows that apply in an area, to names or to text.
    fn rows(&self, area: &str, kinds: [Kind; 2]) -> Vec<&Row> {
        let rows = self.rows.iter();
        rows.filter(|row| kinds.contains(&row.kind) && !row.except.iter().any(|a| a == area))
            .collect()
    }
}

/// A word with its line from 0. An empty word ends a sentence.
type Word = (usize, String);

/// The words of an identifier or of a file name: `CellExecutor` and `cell_executor` have the same
/// words.
fn words_of_name(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = '_';
    for c in name.chars() {
        let starts = !c.is_alphanumeric() || (c.is_uppercase() && previous.is_lowercase());
        if starts && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().unwrap().extend(c.to_lowercase());
        }
        previous = c;
    }
    words
}

/// Adds the words of a text that starts at `line`.
fn words_of_text(line: usize, text: &str, words: &mut Vec<Word>) {
    for (at, text) in text.lines().enumerate() {
        let mut word = String::new();
        let mut chars = text.chars().chain([' ']).peekable();
        while let Some(c) = chars.next() {
            if c.is_alphanumeric() || (c == '\'' && !word.is_empty()) {
                word.extend(c.to_lowercase());
                continue;
            }
            if !word.is_empty() {
                words.push((line + at, std::mem::take(&mut word)));
            }
            let ends = chars.peek().is_none_or(|next| next.is_whitespace());
            if ".;:!?|".contains(c) && ends {
                words.push((line + at, String::new()));
            }
        }
    }
}

/// The positions of the first word of each match of a row.
fn matches<'a>(row: &'a Row, words: &'a [&str]) -> impl Iterator<Item = usize> + 'a {
    let windows = words.windows(row.words.len()).enumerate();
    windows.filter_map(|(at, window)| {
        let excused = at > 0 && row.unless.iter().any(|word| word == words[at - 1]);
        (!excused && window.iter().eq(&row.words)).then_some(at)
    })
}

/// The identifiers of a line of code.
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
}

fn has_ending(path: &str, ending: &str) -> bool {
    Path::new(path).extension().is_some_and(|e| e == ending)
}

fn is_rust(path: &str) -> bool {
    has_ending(path, "rs")
}

/// The area that a path belongs to.
fn area(path: &str) -> &str {
    let mut folders = path.split('/');
    match folders.next() {
        Some("crates") => folders.next().unwrap_or("crates"),
        Some("fuzz") => "fuzz",
        _ if has_ending(path, "md") => "docs",
        _ => "scripts",
    }
}

fn finding(path: &str, line: usize, row: &Row) -> Finding {
    let what = format!("`{}` is retired: {}", row.written, row.instead);
    Finding::new(path, line, what)
}

/// Retired words in the name of a file.
fn in_path(list: &List, path: &str) -> Vec<Finding> {
    let words = words_of_name(path);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rows = list.rows(area(path), [Kind::Name, Kind::All]);
    let found = rows
        .iter()
        .filter(|row| matches(row, &words).next().is_some());
    found.map(|row| finding(path, 0, row)).collect()
}

/// Retired words in a text. Sentences may continue on the next line.
fn in_text(list: &List, path: &str, words: &[Word]) -> Vec<Finding> {
    let plain: Vec<&str> = words.iter().map(|(_, word)| word.as_str()).collect();
    let rows = list.rows(area(path), [Kind::Text, Kind::All]);
    rows.iter()
        .flat_map(|row| matches(row, &plain).map(|at| finding(path, words[at].0, row)))
        .collect()
}

/// Retired words in a Rust source: its identifiers, comments and literals.
fn in_source(list: &List, source: &Source) -> Vec<Finding> {
    let area = area(&source.path);
    let mut findings = Vec::new();
    let names = list.rows(area, [Kind::Name, Kind::All]);
    let exact = list.rows(area, [Kind::Exact, Kind::Code]);
    for (at, line) in source.code.iter().enumerate() {
        for name in identifiers(line) {
            let words = words_of_name(name);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let found = names
                .iter()
                .find(|row| matches(row, &words).next().is_some());
            findings.extend(found.map(|row| {
                let what = format!("`{name}` has `{}`: {}", row.written, row.instead);
                Finding::new(&source.path, at, what)
            }));
        }
        let found = exact.iter().filter(|row| match row.kind {
            Kind::Exact => identifiers(line).any(|name| name == row.written),
            _ => line.contains(&row.written),
        });
        findings.extend(found.map(|row| finding(&source.path, at, row)));
    }
    let mut words = Vec::new();
    for (at, comment) in source.comments.iter().enumerate() {
        words_of_text(at, comment, &mut words);
        if comment.trim().is_empty() {
            words.push((at, String::new()));
        }
    }
    for (at, literal) in &source.strings {
        let code = &source.code[*at];
        if !code.contains("alias") && !code.contains("rename") {
            words_of_text(*at, literal, &mut words);
            words.push((*at, String::new()));
        }
    }
    findings.extend(in_text(list, &source.path, &words));
    findings.retain(|finding| {
        let line = finding.line - 1;
        let near = &source.comments[line.saturating_sub(2)..=line];
        !near.iter().any(|comment| comment.contains(KEPT))
    });
    findings
}

/// Retired words in a document, a script, a stylesheet or a data file.
fn in_document(list: &List, path: &str, text: &str) -> Vec<Finding> {
    let mut words = Vec::new();
    for (at, line) in text.lines().enumerate() {
        // Code spans of the changelog may contain earlier names.
        let line = if path == "CHANGELOG.md" {
            line.split('`').step_by(2).collect::<Vec<_>>().join(" x ")
        } else {
            line.to_owned()
        };
        words_of_text(at, &line, &mut words);
        if line.trim().is_empty() {
            words.push((at, String::new()));
        }
    }
    let mut findings = in_text(list, path, &words);
    let lines: Vec<&str> = text.lines().collect();
    findings.retain(|finding| {
        let near = &lines[finding.line.saturating_sub(3)..finding.line];
        !near.iter().any(|line| line.contains(KEPT))
    });
    findings
}

/// All findings in the repository.
fn in_repository(list: &List) -> Vec<Finding> {
    let mut paths = files(&[
        ".rs",
        ".md",
        ".sql",
        ".html",
        ".js",
        ".css",
        ".toml",
        ".schema.json",
    ]);
    paths.extend(["x", ".ci/run", ".ci/left"].map(str::to_owned));
    paths.retain(|path| path != ITSELF && !path.starts_with("fuzz/corpus"));
    let mut findings = Vec::new();
    for path in paths {
        findings.extend(in_path(list, &path));
        // Migrations that ran on users' stores must not change.
        let migration = path.starts_with("crates/store/") && has_ending(&path, "sql");
        if !is_rust(&path) && !migration {
            findings.extend(in_document(list, &path, &read(&path)));
        }
    }
    let sources = sources().iter().filter(|source| source.path != ITSELF);
    findings.extend(sources.flat_map(|source| in_source(list, source)));
    findings
}

/// Prints counts by area if this check is selected by name, and all findings of one area.
fn show(findings: &[Finding]) {
    if !std::env::args().any(|argument| argument.contains("retired")) {
        return;
    }
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for finding in findings {
        let word = finding.what.split('`').rev().nth(1).unwrap_or_default();
        let of_area = counts.entry(area(&finding.path)).or_default();
        *of_area.entry(word).or_default() += 1;
    }
    let mut text = String::from("\nretired words by area (FSDYNO_RETIRED=AREA lists each)\n");
    for (area, words) in counts {
        let sum: usize = words.values().sum();
        let mut words: Vec<_> = words.into_iter().collect();
        words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let most: Vec<String> = words
            .iter()
            .take(8)
            .map(|(w, n)| format!("{w} {n}"))
            .collect();
        let _ = writeln!(text, "{area:8} {sum:6} {}", most.join(", "));
    }
    let chosen = std::env::var("FSDYNO_RETIRED").unwrap_or_default();
    for finding in findings.iter().filter(|f| area(&f.path) == chosen) {
        let _ = writeln!(text, "{finding}");
    }
    let _ = std::io::stderr().write_all(text.as_bytes());
}

#[test]
fn retired_words_are_not_used() {
    let list = List::parse(&read(LIST));
    let findings = in_repository(&list);
    show(&findings);
    report(&findings);
}

#[test]
fn the_check_of_retired_words_finds_violations() {
    let list = List::parse(
        "all | told | reported\nname | ear | FrameReader\ntext | goes on | resumes\n\
         name | cut | crash | unless: power\nexact | Stop | CancelToken\n\
         all | fragments | extents | except: ufs\nall | course | timeline | unless: of\n\
         code | Verdict::Open | Inconclusive",
    );
    let lines = |path: &str, text: &str| -> Vec<usize> {
        let mut lines: Vec<usize> = if is_rust(path) {
            in_source(&list, &Source::parse(path, text))
        } else {
            in_document(&list, path, text)
        }
        .into_iter()
        .map(|finding| finding.line)
        .collect();
        lines.sort_unstable();
        lines
    };
    let rust = "crates/a/src/lib.rs";
    assert_eq!(
        lines(rust, "fn told() {}\nstruct ToldAll;\nlet toldest = 1;"),
        [1, 2]
    );
    assert_eq!(
        lines(rust, "fn ear() {}\nfn year() {}\nlet cut_at = power_cut;"),
        [1, 3]
    );
    assert_eq!(
        lines(
            rust,
            "// the run goes\n// on\n// it goes. On and\nlet a = \"goes on\";"
        ),
        [1, 4]
    );
    assert_eq!(
        lines(
            rust,
            "use Stop;\nuse StopRule;\n// Stop\nif v == Verdict::Open {}"
        ),
        [1, 4]
    );
    assert_eq!(lines(rust, "/// Of course.\n/// A course.\n// ear"), [2]);
    assert_eq!(lines(rust, "#[serde(alias = \"told\")]\nb: \"told\""), [2]);
    assert!(
        lines(
            rust,
            "// retired word kept: a stored key\nlet a = \"told\";"
        )
        .is_empty()
    );
    assert_eq!(lines("docs/a.md", "It was\ntold. He goes\non."), [2, 2]);
    assert_eq!(lines("docs/a.md", "all fragments"), [1]);
    assert!(lines("crates/ufs/src/lib.rs", "// all fragments").is_empty());
    assert_eq!(
        lines("CHANGELOG.md", "`told` is now reported\nwhat was told"),
        [2]
    );
    assert_eq!(in_path(&list, "crates/a/src/told.rs").len(), 1);
    assert!(in_path(&list, "crates/a/src/toldest.rs").is_empty());
}
