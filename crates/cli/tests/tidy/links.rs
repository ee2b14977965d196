//! Links and anchors of the documents refer to files and headings that exist.

use crate::{files, finding, places, read, report, root};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::collections::{BTreeMap, BTreeSet};

/// A document: its links with their lines from 0, and the anchors of its headings.
#[derive(Default)]
struct Document {
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

fn parse(text: &str) -> Document {
    let mut document = Document::default();
    let mut heading = String::new();
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = text[..range.start].matches('\n').count();
                document.links.push((line, dest_url.into_string()));
            }
            Event::Start(Tag::Heading { .. }) => heading.clear(),
            Event::Text(text) | Event::Code(text) => heading.push_str(&text),
            Event::End(TagEnd::Heading(_)) => {
                // The format of GitHub and mdBook. A repeated heading has a number appended.
                let kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
                let anchor: String = heading.to_lowercase().chars().filter(kept).collect();
                let anchor = anchor.replace(' ', "-");
                let numbered = (1..).map(|number| format!("{anchor}-{number}"));
                let mut names = [anchor.clone()].into_iter().chain(numbered);
                names.find(|name| document.anchors.insert(name.clone()));
            }
            _ => {}
        }
    }
    document
}

/// Normalises a path: `docs/a.md` and `../README.md` give `README.md`. `None` outside the
/// repository.
fn resolve(from: &str, link: &str) -> Option<String> {
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
fn broken(documents: &BTreeMap<String, Document>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, document) in documents {
        let is_ours = |link: &str| !link.contains("://") && !link.starts_with("mailto:");
        for (line, link) in document.links.iter().filter(|(_, link)| is_ours(link)) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = resolve(path, file).unwrap_or_default();
            let target = if file.is_empty() { path } else { &target };
            let what = match documents.get(target) {
                // mdBook copies only `docs`.
                _ if path.starts_with("docs/") && file.starts_with("../") => {
                    "leaves the book: name the file in a code span"
                }
                Some(to) if anchor.is_empty() || to.anchors.contains(anchor) => continue,
                Some(_) => "no such heading",
                None if !target.is_empty() && exists(target) => continue,
                None => "no such file in the repository",
            };
            findings.push(finding(path, *line, &format!("`{link}`: {what}")));
        }
    }
    findings
}

#[test]
fn every_link_of_the_documents_has_a_target() {
    let documents = files(".md")
        .into_iter()
        .map(|path| (path.clone(), parse(&read(&path))));
    let documents: BTreeMap<String, Document> = documents.collect();
    let links = documents.values().map(|document| document.links.len());
    assert!(links.sum::<usize>() > 50, "the links were not found");
    report(&broken(&documents, |path| root().join(path).exists()));
}

#[test]
fn the_check_of_links_finds_violations() {
    let a = "# A b, `c`!\n# Same\n# Same\n[1](b.md) [2](b.md#x-y) [3](#a-b-c)\n\
             [4](#same-1) [5](b.md#gone)\n![6](none.svg) [7](img.svg)\n[8](../R.md)";
    let b = "## X y\n[9](https://example.org/a#b) [10](gone.md) [11](../../b)";
    let documents = [
        ("docs/a.md", a),
        ("docs/b.md", b),
        ("R.md", "| [12](docs/a.md#same) |\n"),
    ];
    let documents = documents.map(|(path, text)| (path.to_owned(), parse(text)));
    let findings = broken(&documents.into(), |path| path == "docs/img.svg");
    let expected = [
        "docs/a.md:5",
        "docs/a.md:6",
        "docs/a.md:7",
        "docs/b.md:2",
        "docs/b.md:2",
    ];
    assert_eq!(places(&findings), expected);
}
