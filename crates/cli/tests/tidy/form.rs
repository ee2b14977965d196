//! The form of sources: length, header, and no unfinished code.

use crate::{Finding, Source, check_sources, files, find_word, lines_found, read, report, sources};

/// Lines of code in a file without its tests. A longer file is printed for review.
const QUESTIONED_LINES: usize = 500;
/// A file with more lines fails the test.
const MAX_LINES: usize = 800;

/// Lines of a function from `fn` to its closing brace. A longer one is printed for review.
const QUESTIONED_FUNCTION_LINES: usize = 70;
/// A function with more lines fails the test.
const MAX_FUNCTION_LINES: usize = 100;

fn code_lines(source: &Source) -> usize {
    source
        .product_code()
        .filter(|(_, line)| !line.trim().is_empty())
        .count()
}

fn short_files(source: &Source) -> Vec<Finding> {
    let lines = code_lines(source);
    if lines <= MAX_LINES {
        return Vec::new();
    }
    let what = format!("{lines} lines of code, more than {MAX_LINES}: divide it");
    vec![Finding::new(&source.path, 0, what)]
}

/// The functions outside tests: line from 0, name, number of lines.
fn functions(source: &Source) -> Vec<(usize, &str, usize)> {
    let mut functions = Vec::new();
    for (start, line) in source.product_code() {
        let Some(column) = find_word(line, "fn") else {
            continue;
        };
        // `fn(u8) -> u8` is a type.
        let name = line[column + 2..].trim_start();
        if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            continue;
        }
        if let Some(end) = source.closing_line(start, line[..column].chars().count()) {
            let name = name.split(['(', '<']).next().unwrap_or_default();
            functions.push((start, name, end - start + 1));
        }
    }
    functions
}

fn short_functions(source: &Source) -> Vec<Finding> {
    let long = functions(source).into_iter();
    long.filter(|(_, _, lines)| *lines > MAX_FUNCTION_LINES)
        .map(|(start, name, lines)| {
            let what = format!("`{name}` has {lines} lines, more than {MAX_FUNCTION_LINES}");
            Finding::new(&source.path, start, what)
        })
        .collect()
}

fn begins_with_its_purpose(source: &Source) -> Vec<Finding> {
    if source.lines[0].starts_with("//! ") {
        return Vec::new();
    }
    let what = "a file begins with `//! `: what lives here, and what does not";
    vec![Finding::new(&source.path, 0, what)]
}

fn nothing_unfinished(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, line) in source.code.iter().enumerate() {
        for word in ["todo!", "unimplemented!", "dbg!"] {
            if find_word(line, word).is_some() {
                findings.push(Finding::new(
                    &source.path,
                    at,
                    format!("`{word}` stayed behind"),
                ));
            }
        }
        for word in ["TODO", "FIXME"] {
            if find_word(&source.comments[at], word).is_some() {
                findings.push(Finding::new(
                    &source.path,
                    at,
                    format!("`{word}` stayed behind"),
                ));
            }
        }
    }
    findings
}

/// Each `unsafe` needs a comment or documentation directly above it that justifies it.
fn unsafe_is_argued(source: &Source) -> Vec<Finding> {
    const ABOVE: usize = 6;
    let mut findings = Vec::new();
    for (at, line) in source.code.iter().enumerate() {
        let Some(column) = find_word(line, "unsafe") else {
            continue;
        };
        let mark = if !line[column..].starts_with("unsafe fn") {
            "SAFETY:"
        } else if line.contains("pub") {
            "# Safety"
        } else {
            continue; // its unsafe operations need blocks of their own: the compiler checks that
        };
        let near = &source.comments[at.saturating_sub(ABOVE)..=at];
        if !near.iter().any(|comment| comment.contains(mark)) {
            findings.push(Finding::new(
                &source.path,
                at,
                format!("`unsafe` without `{mark}`"),
            ));
        }
    }
    findings
}

/// Paths into a home directory, in any text of the repository.
fn home_paths(path: &str, text: &str) -> Vec<Finding> {
    // The parts are joined at run time, so that this file does not match itself.
    let homes = [
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/Us", "ers/"),
    ];
    let mut findings = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let found = homes.iter().find(|home| {
            line.match_indices(*home).any(|(at, _)| {
                let after = &line[at + home.len()..];
                // `crates/root/src` and `~/root/` are not home directories.
                !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~$}".contains(c))
                    && after.starts_with(|c: char| c.is_alphanumeric() || c == '.')
            })
        });
        if let Some(home) = found {
            findings.push(Finding::new(
                path,
                at,
                format!("a path into `{home}`: name none"),
            ));
        }
    }
    findings
}

#[test]
fn files_are_short_enough() {
    for source in sources() {
        let lines = code_lines(source);
        if lines > QUESTIONED_LINES {
            println!("LONG {}: {lines} lines of code", source.path);
        }
    }
    check_sources(short_files);
}

#[test]
fn the_check_of_files_finds_violations() {
    let lines = |n: usize| "let a = 1;\n// why\n\n".repeat(n);
    assert_eq!(
        lines_found(short_files, "crates/a/src/lib.rs", &lines(801)),
        [1]
    );
    assert!(lines_found(short_files, "crates/a/src/lib.rs", &lines(800)).is_empty());
    let test = format!("#[cfg(test)]\nmod tests {{\n{}}}", lines(801));
    assert!(lines_found(short_files, "crates/a/src/lib.rs", &test).is_empty());
}

#[test]
fn functions_are_short_enough() {
    for source in sources() {
        for (start, name, lines) in functions(source) {
            if lines > QUESTIONED_FUNCTION_LINES {
                println!("LONG {}:{}: {name}: {lines} lines", source.path, start + 1);
            }
        }
    }
    check_sources(short_functions);
}

#[test]
fn the_check_of_functions_finds_violations() {
    let function = |body: usize| {
        let body = "    let a = [0; 3];\n".repeat(body);
        format!("type F = fn(u8);\npub fn long<T>(\n    a: [u8; 2],\n) {{\n{body}}}\n")
    };
    assert_eq!(
        lines_found(short_functions, "crates/a/src/lib.rs", &function(97)),
        [2]
    );
    assert!(lines_found(short_functions, "crates/a/src/lib.rs", &function(96)).is_empty());
    let declared = format!(
        "trait T {{\n    fn short();\n{}}}",
        "    const A: u8;\n".repeat(120)
    );
    assert!(lines_found(short_functions, "crates/a/src/lib.rs", &declared).is_empty());
}

#[test]
fn every_file_begins_with_its_purpose() {
    check_sources(begins_with_its_purpose);
}

#[test]
fn the_check_of_purposes_finds_violations() {
    let path = "crates/a/src/lib.rs";
    assert_eq!(
        lines_found(begins_with_its_purpose, path, "use std::fmt;"),
        [1]
    );
    assert!(lines_found(begins_with_its_purpose, path, "//! What lives here.\n").is_empty());
}

#[test]
fn no_unfinished_code_is_left() {
    check_sources(nothing_unfinished);
}

#[test]
fn the_check_of_the_unfinished_finds_violations() {
    let bad =
        "todo!()\nlet a = \"todo!\";\ndbg!(a);\n// TODO later\nunimplemented!();\nnot_todo!()";
    assert_eq!(
        lines_found(nothing_unfinished, "crates/a/tests/b.rs", bad),
        [1, 3, 4, 5]
    );
}

#[test]
fn every_unsafe_has_a_justification() {
    check_sources(unsafe_is_argued);
}

#[test]
fn the_check_of_unsafe_finds_violations() {
    let path = "crates/a/src/lib.rs";
    assert_eq!(
        lines_found(unsafe_is_argued, path, "let a = unsafe { b() };"),
        [1]
    );
    assert_eq!(
        lines_found(unsafe_is_argued, path, "pub unsafe fn a() {}"),
        [1]
    );
    let argued = "// SAFETY: b has no conditions.\nlet a =\n    unsafe { b() };";
    assert!(lines_found(unsafe_is_argued, path, argued).is_empty());
    assert!(lines_found(unsafe_is_argued, path, "// unsafe\nlet a = \"unsafe\";").is_empty());
}

#[test]
fn no_text_names_a_path_into_a_home() {
    let mut paths = files(&[".rs", ".toml", ".md", ".sql", ".snap", ".html"]);
    paths.extend(["x", ".ci/run"].map(str::to_owned));
    report(
        &paths
            .iter()
            .flat_map(|p| home_paths(p, &read(p)))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn the_check_of_homes_finds_violations() {
    let bad = concat!(
        "a\n\"/ho",
        "me/someone/x\"\n~/ho",
        "me/a\n /ro",
        "ot/.cargo\n/ho",
        "me/ is a place"
    );
    let lines: Vec<_> = home_paths("a.md", bad)
        .into_iter()
        .map(|f| f.line)
        .collect();
    assert_eq!(lines, [2, 4]);
}
