//! The documents that are written by hand have a limit of words: a reader has to find what to do.

use crate::{files, finding, places, read, report};

/// The most words of README.md, ARCHITECTURE.md and the pages of docs together.
const MOST: usize = 20_000;

/// Whether a person writes the document for users and developers. `docs/reference` is generated.
fn is_counted(path: &str) -> bool {
    let page = path.strip_prefix("docs/");
    page.is_some_and(|name| !name.contains('/')) || ["README.md", "ARCHITECTURE.md"].contains(&path)
}

/// One finding if documents (path, text) have more than `most` words, at the longest document.
fn too_many(documents: &[(String, String)], most: usize) -> Vec<String> {
    let words = |text: &String| text.split_whitespace().count();
    let counted = documents.iter().filter(|(path, _)| is_counted(path));
    let counts = counted.map(|(path, text)| (words(text), path.as_str()));
    let mut counts: Vec<(usize, &str)> = counts.collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let all: usize = counts.iter().map(|(count, _)| count).sum();
    let longest = counts.first().filter(|_| all > most);
    let message = |(count, path): &(usize, &str)| {
        let what = format!(
            "README.md, ARCHITECTURE.md and docs/*.md have {all} words, at most {most}: link to what \
             another page has, and remove what no reader acts on; this page has {count}"
        );
        finding(path, 0, &what)
    };
    longest.map(message).into_iter().collect()
}

#[test]
fn the_documents_have_few_words() {
    let paths = files(".md").into_iter();
    let documents: Vec<(String, String)> = paths.map(|path| (path.clone(), read(&path))).collect();
    let counted = documents.iter().filter(|(path, _)| is_counted(path));
    assert!(counted.count() > 20, "the documents were not found");
    report(&too_many(&documents, MOST));
}

#[test]
fn the_check_of_words_finds_violations() {
    let documents = [
        ("README.md", "one two"),
        ("docs/a.md", "three\n\nfour  | five |\n"),
        ("docs/reference/b.md", "not counted"),
        ("crates/c/d.md", "not counted"),
    ];
    let documents = documents.map(|(path, text)| (path.to_owned(), text.to_owned()));
    assert!(too_many(&documents, 7).is_empty());
    assert_eq!(places(&too_many(&documents, 6)), ["docs/a.md:1"]);
}
