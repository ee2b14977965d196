//! A Rust source file for the checks: its paths, functions and test modules. It is read as tokens, so
//! that code in macros counts too.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::path::{Path, PathBuf};

/// A part of a source file, with its line from 0.
#[derive(Clone)]
pub struct Named {
    pub line: usize,
    /// A path, a method (`.exists`) or a macro (`println!`). Paths are resolved through the `use`
    /// declarations of the file; `std::*` is a glob.
    pub name: String,
    /// Whether it belongs to a test.
    test: bool,
    /// Whether it is a call outside of `uninterrupted(...)`.
    pub bare: bool,
}

impl Named {
    fn new(token: &TokenTree, name: &str, Place { test, .. }: Place) -> Self {
        let (line, name) = (token.span().start().line - 1, name.to_owned());
        Self {
            line,
            name,
            test,
            bare: false,
        }
    }

    /// Whether this is `pattern` or an item inside it. A pattern without `::` also matches the last
    /// name of a path.
    pub fn matches(&self, pattern: &str) -> bool {
        let is_inside = |path: &str, module: &str| {
            let rest = path.strip_prefix(module);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        let glob = self.name.strip_suffix("::*");
        glob.is_some_and(|module| is_inside(pattern, module))
            || is_inside(&self.name, pattern)
            || (!pattern.contains("::") && self.name.rsplit("::").next() == Some(pattern))
    }
}

/// A source file. Its path is relative to the repository.
#[derive(Default)]
pub struct Source {
    pub path: String,
    pub functions: Vec<String>,
    /// Whether the whole file is a test, a benchmark or an example.
    pub test: bool,
    reached: Vec<Named>,
    /// Names in this file, each with the path that it refers to.
    declared: Vec<(String, Named)>,
    /// Modules of tests whose code is in files of their own.
    test_modules: Vec<String>,
}

/// Where tokens are: in a test, in `uninterrupted(...)`.
#[derive(Clone, Copy, Default)]
struct Place {
    test: bool,
    repeated: bool,
}

impl Source {
    pub fn parse(path: &str, text: &str) -> Self {
        let folders = ["/tests/", "/benches/", "/examples/", "_tests.rs"];
        let mut source = Self {
            path: path.to_owned(),
            test: folders.iter().any(|folder| path.contains(folder)),
            ..Self::default()
        };
        source.read(text.parse().expect("Rust"), Place::default());
        source.resolve();
        source
    }

    /// The crate of the file: `host` for `crates/host/src/lib.rs`, `fuzz` for `fuzz/src/lib.rs`.
    pub fn krate(&self) -> &str {
        let path = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        path.split('/').next().unwrap_or_default()
    }

    /// Paths outside tests.
    pub fn product(&self) -> impl Iterator<Item = &Named> {
        self.reached.iter().filter(|n| !n.test && !self.test)
    }

    /// Files that `#[cfg(test)] mod NAME;` declares as tests.
    pub fn test_files(&self) -> impl Iterator<Item = PathBuf> {
        let path = Path::new(&self.path);
        let own = match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("mod" | "lib" | "main") => path.with_file_name(""),
            _ => path.with_extension(""),
        };
        let modules = self.test_modules.iter().map(move |name| own.join(name));
        modules.flat_map(|module| [module.with_extension("rs"), module.join("mod.rs")])
    }

    fn read(&mut self, tokens: TokenStream, place: Place) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let name_at = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(ToString::to_string);
        let (mut at, mut test_item) = (0, false);
        while at < tokens.len() {
            let before = name_at(at.checked_sub(1)).unwrap_or_default();
            let after = name_at(Some(at + 1)).unwrap_or_default();
            let mut place = place;
            place.test |= test_item;
            let mut length = 1;
            match &tokens[at] {
                TokenTree::Group(group) => {
                    let attribute = group.stream().to_string().replace(' ', "");
                    if !attribute.starts_with("doc=") {
                        let repeated = place.repeated || before == "uninterrupted";
                        self.read(group.stream(), Place { repeated, ..place });
                    }
                    test_item &= group.delimiter() != Delimiter::Brace;
                    test_item |= before == "#" && ["test", "cfg(test)"].contains(&&*attribute);
                }
                TokenTree::Literal(_) => {}
                TokenTree::Punct(punct) => test_item &= punct.as_char() != ';',
                TokenTree::Ident(name) if before == "fn" => self.functions.push(name.to_string()),
                TokenTree::Ident(word)
                    if (word == "use" && after != "<")
                        || (word == "extern" && after == "crate") =>
                {
                    let end = tokens[at..].iter().position(|token| is(token, ';'));
                    length = end.unwrap_or(tokens.len() - at);
                    let from = at + 1 + usize::from(word == "extern");
                    self.import(&tokens[from..at + length], "", place);
                }
                TokenTree::Ident(name) => {
                    if before == "mod" && after == ";" && place.test {
                        self.test_modules.push(name.to_string());
                    }
                    length = self.path(&tokens[at..], before == ".", place);
                }
            }
            at += length;
        }
    }

    /// Reads the trees of a `use` declaration.
    fn import(&mut self, tokens: &[TokenTree], before: &str, place: Place) {
        for tree in tokens.split(|token| is(token, ',')) {
            let mut path = before.to_owned();
            let mut names = tree.iter().filter(|token| !is(token, ':')).peekable();
            while let Some(token) = names.next() {
                let name = token.to_string();
                if let TokenTree::Group(group) = token {
                    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.import(&inside, &path, place);
                    break;
                }
                path = match (&*path, &*name) {
                    ("", _) => name.clone(),
                    (_, "self" | "as") => path,
                    _ => format!("{path}::{name}"),
                };
                let alias = names.next_if(|_| name == "as").map(ToString::to_string);
                let last = path.rsplit("::").next().unwrap_or_default().to_owned();
                if names.peek().is_none() {
                    let target = Named::new(token, &path, place);
                    self.declared.push((alias.unwrap_or(last), target));
                }
            }
        }
    }

    /// Reads a path, a method or a macro that starts here. Returns its number of tokens.
    fn path(&mut self, tokens: &[TokenTree], after_dot: bool, place: Place) -> usize {
        let mut name = tokens[0].to_string();
        let mut at = 1;
        while let [a, b, TokenTree::Ident(next), ..] = &tokens[at..]
            && is(a, ':')
            && is(b, ':')
        {
            name = format!("{name}::{next}");
            at += 3;
        }
        let call = matches!(tokens.get(at), Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Parenthesis);
        if after_dot {
            name.insert(0, '.');
        } else if tokens.get(at).is_some_and(|token| is(token, '!')) {
            name.push('!');
        }
        if call || !after_dot {
            let mut named = Named::new(&tokens[0], &name, place);
            named.bare = call && !place.repeated;
            self.reached.push(named);
        }
        at
    }

    /// Resolves the first name of each path. Declarations of tests do not apply to other code.
    fn resolve(&mut self) {
        let declared = self.declared.iter().map(|(_, declared)| declared.clone());
        let mut all: Vec<Named> = declared.chain(self.reached.drain(..)).collect();
        for named in &all {
            let first = named.name.split("::").next().unwrap_or_default();
            let mut aliases: Vec<_> = self.declared.iter().filter(|(a, _)| a == first).collect();
            let own = aliases
                .iter()
                .any(|(_, declared)| declared.test && named.test);
            aliases.retain(|(_, path)| path.test == own && path.name != named.name);
            for (_, path) in aliases {
                let name = path.name.clone() + &named.name[first.len()..];
                self.reached.push(Named {
                    name,
                    ..named.clone()
                });
            }
        }
        self.reached.append(&mut all);
    }
}

fn is(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}
