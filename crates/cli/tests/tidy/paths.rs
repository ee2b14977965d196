//! The paths in a source file, resolved through its `use` declarations. After
//! `use std::fs as files`, the path `files::read` is `std::fs::read`. It reads tokens, and so
//! covers macros too.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::HashMap;
use syn::UseTree;

/// A path, a method (`.exists`) or a macro (`println!`), with its line from 0. `std::*` is a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    pub line: usize,
    pub path: String,
}

impl Reached {
    /// Whether this names `pattern` or an item inside it. A pattern without `::` also matches the
    /// last name of a path.
    pub fn names(&self, pattern: &str) -> bool {
        if let Some(module) = self.path.strip_suffix("::*")
            && (module.is_empty() || inside(pattern, module))
        {
            return true;
        }
        let last = self.path.rsplit("::").next();
        inside(&self.path, pattern) || (!pattern.contains("::") && last == Some(pattern))
    }
}

/// Whether `path` is `module` or inside of it.
fn inside(path: &str, module: &str) -> bool {
    let rest = path.strip_prefix(module);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// All paths in `text`. `is_test` marks test lines; their `use` declarations do not apply to other
/// lines. A snippet of statements is parsed as the body of a function.
pub fn reached(text: &str, is_test: &dyn Fn(usize) -> bool) -> Vec<Reached> {
    let Ok(tokens) = text.parse::<TokenStream>() else {
        return Vec::new();
    };
    let mut names = Names::default();
    names.collect(tokens);
    let mut aliases: HashMap<(bool, &str), Vec<&str>> = HashMap::new();
    for (alias, declared) in &names.declared {
        let key = (is_test(declared.line), alias.as_str());
        aliases.entry(key).or_default().push(&declared.path);
    }
    let declared = names.declared.iter().map(|(_, declared)| declared);
    declared
        .chain(&names.used)
        .flat_map(|named| {
            let resolved = named.path.split_once("::").and_then(|(first, rest)| {
                let find = |in_tests| aliases.get(&(in_tests, first));
                let own = is_test(named.line).then(|| find(true)).flatten();
                let modules = own.or_else(|| find(false))?.iter();
                let modules = modules.filter(|module| **module != named.path);
                Some(modules.map(|m| format!("{m}::{rest}")).collect())
            });
            let mut paths: Vec<String> = resolved.unwrap_or_default();
            paths.push(named.path.clone());
            let line = named.line;
            paths.into_iter().map(move |path| Reached { line, path })
        })
        .collect()
}

/// The paths before aliases are resolved.
#[derive(Default)]
struct Names {
    /// A name in this file, and the path it refers to.
    declared: Vec<(String, Reached)>,
    used: Vec<Reached>,
}

impl Names {
    fn collect(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.collect(group.stream()),
                TokenTree::Ident(word) if word == "use" || word == "extern" => {
                    let length = self.declaration(&tokens[at..]);
                    at += length.max(1);
                    continue;
                }
                TokenTree::Ident(_) => {
                    at += self.path(&tokens[at..], at > 0 && is_punct(&tokens[at - 1], '.'));
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    /// Reads a `use` declaration or `extern crate`. Returns its number of tokens, or 0.
    fn declaration(&mut self, tokens: &[TokenTree]) -> usize {
        let Some(end) = tokens.iter().position(|token| is_punct(token, ';')) else {
            return 0;
        };
        let line = line_of(&tokens[0]);
        let stream = || tokens[..=end].iter().cloned().collect::<TokenStream>();
        if let Ok(declaration) = syn::parse2::<syn::ItemUse>(stream()) {
            self.tree(&declaration.tree, "", line);
            return end + 1;
        }
        if let Ok(declaration) = syn::parse2::<syn::ItemExternCrate>(stream()) {
            let path = declaration.ident.to_string();
            let alias = declaration
                .rename
                .map_or(path.clone(), |(_, name)| name.to_string());
            self.declared.push((alias, Reached { line, path }));
            return end + 1;
        }
        0
    }

    fn tree(&mut self, tree: &UseTree, before: &str, line: usize) {
        let join = |name: &dyn ToString| match (before, name.to_string()) {
            ("", name) => name,
            (before, name) if name == "self" => before.to_owned(),
            (before, name) => format!("{before}::{name}"),
        };
        let mut declare = |alias: String, path: String, line| {
            self.declared.push((alias, Reached { line, path }));
        };
        match tree {
            UseTree::Path(path) => self.tree(&path.tree, &join(&path.ident), line),
            UseTree::Name(name) => {
                let path = join(&name.ident);
                let alias = path.rsplit("::").next().unwrap_or_default().to_owned();
                declare(alias, path, name.ident.span().start().line - 1);
            }
            UseTree::Rename(name) => {
                let line = name.ident.span().start().line - 1;
                declare(name.rename.to_string(), join(&name.ident), line);
            }
            UseTree::Glob(_) => declare("*".to_owned(), join(&"*"), line),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.tree(tree, before, line);
                }
            }
        }
    }

    /// Reads a path, a method or a macro that starts here. Returns its number of tokens.
    fn path(&mut self, tokens: &[TokenTree], after_dot: bool) -> usize {
        let line = line_of(&tokens[0]);
        let mut path = tokens[0].to_string();
        let mut at = 1;
        while let [a, b, TokenTree::Ident(next), ..] = &tokens[at..]
            && is_punct(a, ':')
            && is_punct(b, ':')
        {
            path = format!("{path}::{next}");
            at += 3;
        }
        let call = matches!(tokens.get(at), Some(TokenTree::Group(group))
            if group.delimiter() == Delimiter::Parenthesis);
        if after_dot && call {
            path = format!(".{path}");
        } else if tokens.get(at).is_some_and(|token| is_punct(token, '!')) {
            path.push('!');
        } else if after_dot {
            return at; // a field
        }
        self.used.push(Reached { line, path });
        at
    }
}

fn is_punct(token: &TokenTree, c: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == c)
}

/// The line of a token, from 0.
fn line_of(token: &TokenTree) -> usize {
    token.span().start().line - 1
}

#[test]
fn paths_are_resolved_through_any_use() {
    let paths = |text: &str| -> Vec<String> {
        let found = reached(text, &|_| false);
        found.into_iter().map(|reached| reached.path).collect()
    };
    let has = |text: &str, path: &str| {
        let found = paths(text);
        assert!(found.iter().any(|p| p == path), "{text}: {found:?}");
    };
    has("use std::fs as files;", "std::fs");
    has("use std::{io, fs::{self as f, read}};", "std::fs::read");
    has("use std as s;\nfn a() { s::fs::read(b) }", "std::fs::read");
    has(
        "use std::os;\nvec![os::unix::net::UnixStream::pair()]",
        "std::os::unix::net::UnixStream::pair",
    );
    has("extern crate libc as c;\nlet a = c::fork();", "libc::fork");
    has("let a = || ::std::process::id();", "std::process::id");
    has("println!(\"{}\", path.exists())", "println!");
    has("println!(\"{}\", path.exists())", ".exists");
    let glob = Reached {
        line: 0,
        path: "std::*".to_owned(),
    };
    assert!(glob.names("std::fs") && !glob.names("rustix::fs"));
    let test = "use crate::fs;\nuse std::fs;\nfs::a();\nfs::b();";
    let found = reached(test, &|line| line == 1 || line == 3);
    let of = |line: usize| {
        found
            .iter()
            .filter(|r| r.line == line)
            .map(|r| &*r.path)
            .collect::<Vec<_>>()
    };
    assert_eq!(of(2), ["crate::fs::a", "fs::a"]);
    assert_eq!(of(3), ["std::fs::b", "fs::b"]);
}
