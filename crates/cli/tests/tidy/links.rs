//! Links and anchors of the documents refer to files and headings that exist.

use crate::{Finding, files, read, report, root};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A document: its links with their lines from 0, and the anchors of its headings.
#[derive(Default)]
struct Document {
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

impl Document {
    fn parse(text: &str) -> Self {
        let mut document = Self::default();
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = text[..range.start].matches('\n').count();
                    document.links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    let anchor = anchor(&heading.take().unwrap_or_default());
                    // The anchor of a repeated heading has a number appended.
                    let mut numbered = anchor.clone();
                    let mut number = 0;
                    while !document.anchors.insert(numbered) {
                        number += 1;
                        numbered = format!("{anchor}-{number}");
                    }
                }
                _ => {}
            }
        }
        document
    }
}

/// The anchor of a heading, in the format of GitHub and mdBook.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.flat_map(char::to_lowercase).collect()
}

/// Normalises a path: `docs/a.md` and `../README.md` give `README.md`. `None` outside the
/// repository.
pub fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Broken links. `exists` checks files that are not documents.
fn broken(documents: &BTreeMap<String, Document>, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, document) in documents {
        for (line, link) in &document.links {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match file {
                "" => Some(path.clone()),
                file => resolve(path, file),
            };
            let what = match target {
                None => Some(format!("`{link}` leaves the repository")),
                Some(target) => match documents.get(&target) {
                    Some(to) if anchor.is_empty() || to.anchors.contains(anchor) => None,
                    Some(_) => Some(format!("`{link}`: no such heading in {target}")),
                    None if exists(&target) => None,
                    None => Some(format!("`{link}`: no such file")),
                },
            };
            findings.extend(what.map(|what| Finding::new(path, *line, what)));
            // mdBook copies only `docs`.
            if path.starts_with("docs/") && file.starts_with("../") {
                let what = format!("`{link}` leaves the book: name the file in a code span");
                findings.push(Finding::new(path, *line, what));
            }
        }
    }
    findings
}

#[test]
fn every_link_of_the_documents_has_a_target() {
    let paths = files(&[".md"]);
    let documents = paths
        .iter()
        .map(|path| (path.clone(), Document::parse(&read(path))));
    let documents: BTreeMap<String, Document> = documents.collect();
    let links: usize = documents
        .values()
        .map(|document| document.links.len())
        .sum();
    assert!(links > 50, "the links were not found");
    report(&broken(&documents, |path| {
        Path::new(&root()).join(path).exists()
    }));
}

#[test]
fn the_check_of_links_finds_violations() {
    let documents = [
        (
            "docs/a.md",
            "# A b, `c`!\n# Same\n# Same\n[1](b.md) [2](b.md#x-y) [3](#a-b-c)\n\
                       [4](#same-1) [5](b.md#gone)\n![6](none.svg) [7](img.svg)\n[8](../R.md)",
        ),
        (
            "docs/b.md",
            "## X y\n[9](https://example.org/a#b) [10](gone.md) [11](../../b)",
        ),
        ("R.md", "| [12](docs/a.md#same) |\n"),
    ];
    let documents: BTreeMap<String, Document> = documents
        .into_iter()
        .map(|(path, text)| (path.to_owned(), Document::parse(text)))
        .collect();
    let findings = broken(&documents, |path| path == "docs/img.svg");
    let mut found: Vec<(&str, usize)> = findings.iter().map(|f| (&*f.path, f.line)).collect();
    found.dedup();
    let expected = [
        ("docs/a.md", 5),
        ("docs/a.md", 6),
        ("docs/a.md", 7),
        ("docs/b.md", 2),
    ];
    assert_eq!(found, expected);
}
