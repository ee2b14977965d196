//! A Rust source file for the checks: code, string literals and comments by line, and the test
//! lines. This is a scanner and not a parser, and contains no checks.

use crate::paths::{self, Reached};
use std::path::{Path, PathBuf};

/// A source file, split into the parts that checks read.
pub struct Source {
    /// Path within the repository.
    pub path: String,
    /// Lines without changes.
    pub lines: Vec<String>,
    /// Lines with blanked comments and literal contents.
    pub code: Vec<String>,
    /// Comments of each line.
    pub comments: Vec<String>,
    /// String literals: the line of the start (from 0), and the content.
    pub strings: Vec<(usize, String)>,
    /// Whether a line belongs to a test or an example.
    pub test: Vec<bool>,
    /// Paths in the code.
    pub reached: Vec<Reached>,
}

impl Source {
    /// Scans `text`. The path decides whether the whole file is a test or a benchmark.
    pub fn parse(path: &str, text: &str) -> Self {
        let mut scan = Scan::new(text);
        scan.all();
        let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
        let folders = ["/tests/", "/benches/", "/examples/", "_tests.rs"];
        let whole = folders.iter().any(|folder| path.contains(folder));
        let mut source = Self {
            path: path.to_owned(),
            test: vec![whole; lines.len()],
            lines,
            code: scan.code.split('\n').map(str::to_owned).collect(),
            comments: scan.comments.split('\n').map(str::to_owned).collect(),
            strings: scan.strings,
            reached: Vec::new(),
        };
        source.mark_test_items();
        source.reached = paths::reached(text, &|line| source.test[line]);
        source
    }

    /// The crate of the file: `host` for `crates/host/src/lib.rs`.
    pub fn krate(&self) -> &str {
        self.path.split('/').nth(1).unwrap_or_default()
    }

    /// Lines of code outside tests, with numbers from 0.
    pub fn product_code(&self) -> impl Iterator<Item = (usize, &str)> {
        let code = self.code.iter().map(String::as_str).enumerate();
        code.filter(|(at, _)| !self.test[*at])
    }

    /// The line of the closing brace for the first brace after `start`; `None` if a `;` comes
    /// first.
    pub fn closing_line(&self, start: usize, column: usize) -> Option<usize> {
        let (mut braces, mut brackets) = (0_u32, 0_i32);
        for (at, line) in self.code.iter().enumerate().skip(start) {
            let from = if at == start { column } else { 0 };
            for c in line.chars().skip(from) {
                match c {
                    '(' | '[' => brackets += 1,
                    ')' | ']' => brackets -= 1,
                    ';' if braces == 0 && brackets == 0 => return None,
                    '{' => braces += 1,
                    '}' => {
                        braces = braces.saturating_sub(1);
                        if braces == 0 {
                            return Some(at);
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }

    /// Files that `#[cfg(test)] mod NAME;` declares as tests.
    pub fn test_modules(&self) -> Vec<PathBuf> {
        let path = Path::new(&self.path);
        let folder = path.parent().unwrap_or(path);
        let own = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("mod" | "lib" | "main") | None => folder.to_owned(),
            Some(stem) => folder.join(stem),
        };
        let mut files = Vec::new();
        for (_, name) in self.declared_modules().filter(|(at, _)| self.test[*at]) {
            files.push(own.join(format!("{name}.rs")));
            files.push(own.join(name).join("mod.rs"));
        }
        files
    }

    /// The names that `mod NAME;` declares, with their lines from 0.
    pub fn declared_modules(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code.iter().enumerate().filter_map(|(at, line)| {
            let declared = line.trim().strip_suffix(';')?;
            let mut words = declared.split_whitespace();
            words.find(|word| *word == "mod")?;
            Some((at, words.next()?))
        })
    }

    fn mark_test_items(&mut self) {
        for start in 0..self.code.len() {
            let line = self.code[start].trim_start();
            if !(line.starts_with("#[cfg(test)]") || line.starts_with("#[test]")) {
                continue;
            }
            let column = self.code[start].find(']').map_or(0, |at| at + 1);
            let end = self.closing_line(start, column).unwrap_or_else(|| {
                let rest = self.code.iter().skip(start);
                start + rest.take_while(|line| !line.contains(';')).count()
            });
            for test in self.test.iter_mut().take(end + 1).skip(start) {
                *test = true;
            }
        }
    }
}

/// Scans a text once and classifies its characters.
struct Scan {
    text: Vec<char>,
    at: usize,
    line: usize,
    code: String,
    comments: String,
    strings: Vec<(usize, String)>,
}

impl Scan {
    fn new(text: &str) -> Self {
        Self {
            text: text.chars().collect(),
            at: 0,
            line: 0,
            code: String::new(),
            comments: String::new(),
            strings: Vec::new(),
        }
    }

    fn peek(&self, ahead: usize) -> char {
        self.text.get(self.at + ahead).copied().unwrap_or('\0')
    }

    /// Moves by one character, which is part of the code, of a comment, or of neither.
    fn step(&mut self, in_code: bool, in_comments: bool) {
        let c = self.peek(0);
        let shown = |shown: bool| if shown || c == '\n' { c } else { ' ' };
        self.code.push(shown(in_code));
        self.comments.push(shown(in_comments));
        self.line += usize::from(c == '\n');
        self.at += 1;
    }

    fn all(&mut self) {
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '/') => self.line_comment(),
                ('/', '*') => self.block_comment(),
                ('"', _) => self.string(),
                ('r', '"' | '#') if !self.within_word() => self.raw_string(),
                ('\'', _) => self.character(),
                _ => self.step(true, false),
            }
        }
    }

    /// Whether the previous character belongs to the same word; `b` and `c` are literal prefixes.
    fn within_word(&self) -> bool {
        let word = |back: usize| {
            let c = self.at.checked_sub(back).map(|at| self.text[at]);
            c.is_some_and(|c| c.is_alphanumeric() || c == '_')
        };
        let prefix = self.at > 0 && matches!(self.text[self.at - 1], 'b' | 'c') && !word(2);
        word(1) && !prefix
    }

    fn line_comment(&mut self) {
        while self.at < self.text.len() && self.peek(0) != '\n' {
            self.step(false, true);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_u32;
        while self.at < self.text.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => {
                    self.step(false, true);
                    continue;
                }
            }
            self.step(false, true);
            self.step(false, true);
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        let line = self.line;
        self.step(true, false);
        let start = self.at;
        while self.at < self.text.len() && self.peek(0) != '"' {
            if self.peek(0) == '\\' {
                self.step(false, false);
            }
            self.step(false, false);
        }
        self.keep_string(line, start);
        self.step(true, false);
    }

    fn raw_string(&mut self) {
        let line = self.line;
        let hashes = (1..=255).take_while(|n| self.peek(*n) == '#').count();
        if self.peek(hashes + 1) != '"' {
            return self.step(true, false); // `r#type`, a raw identifier
        }
        for _ in 0..hashes + 2 {
            self.step(true, false);
        }
        let start = self.at;
        let closes = |s: &Self| s.peek(0) == '"' && (1..=hashes).all(|n| s.peek(n) == '#');
        while self.at < self.text.len() && !closes(self) {
            self.step(false, false);
        }
        self.keep_string(line, start);
        for _ in 0..=hashes {
            self.step(true, false);
        }
    }

    fn keep_string(&mut self, line: usize, start: usize) {
        let end = self.at.min(self.text.len());
        let inside = self.text[start..end].iter().collect();
        self.strings.push((line, inside));
    }

    /// `'a'`, `'\''`, or the quote of a lifetime.
    fn character(&mut self) {
        let closed = self.peek(1) == '\\' || self.peek(2) == '\'';
        self.step(true, false);
        if !closed {
            return;
        }
        let mut first = true;
        while self.at < self.text.len() && (first || self.peek(0) != '\'') {
            if self.peek(0) == '\\' {
                self.step(false, false);
            }
            self.step(false, false);
            first = false;
        }
        self.step(true, false);
    }
}
