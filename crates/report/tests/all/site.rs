//! A site: its files, its links, and names from a hostile store.

use crate::fixture;
use fsdyno_report::Options;
use fsdyno_report::site::{DIRECTORIES, File, Site};

/// A site of these runs.
fn site(sets: &[fsdyno_model::ResultSet]) -> Vec<File> {
    let mut site = Site::new(&Options::default());
    let pages = sets
        .iter()
        .map(|set| site.run(set, &["nightly".to_owned()]));
    let mut files: Vec<File> = pages.map(Result::unwrap).collect();
    files.extend(site.finish());
    files
}

fn path(file: &File) -> String {
    match file.directory {
        Some(directory) => format!("{directory}/{}", file.name),
        None => file.name.clone(),
    }
}

fn text(file: &File) -> &str {
    std::str::from_utf8(&file.bytes).unwrap()
}

/// The values of the attributes `href` and `src`.
fn links(page: &str) -> Vec<&str> {
    let parts = page
        .split(" href=\"")
        .skip(1)
        .chain(page.split(" src=\"").skip(1));
    parts.map(|part| part.split('"').next().unwrap()).collect()
}

#[test]
fn every_link_of_a_site_leads_to_one_of_its_files() {
    let mut second = fixture::run();
    second.run.id = "second".to_owned();
    let files = site(&[fixture::run(), second]);
    let paths: Vec<String> = files.iter().map(path).collect();
    assert_eq!(paths.last().unwrap(), "index.html");
    for expected in [
        "runs/second.html",
        "history/tree-copy.html",
        "assets/site.js",
    ] {
        assert!(paths.iter().any(|path| path == expected), "{paths:?}");
    }
    for file in files.iter().filter(|file| file.directory != Some("assets")) {
        for link in links(text(file)) {
            if let Some(section) = link.strip_prefix('#') {
                let id = format!("id=\"{section}\"");
                assert!(text(file).contains(&id), "{}: {link}", file.name);
                continue;
            }
            let target = match link.strip_prefix("../") {
                Some(target) => target.to_owned(),
                None if file.directory.is_none() => link.to_owned(),
                None => panic!("{}: {link}", file.name),
            };
            assert!(paths.contains(&target), "{}: {link}", file.name);
        }
    }
    // Shared parts are in no page.
    let shared = files.iter().filter(|file| file.directory == Some("assets"));
    assert!(shared.map(|file| file.bytes.len()).sum::<usize>() < 1 << 20);
    for file in files.iter().filter(|file| file.directory != Some("assets")) {
        assert!(!text(file).contains("<style>"), "{}", file.name);
        assert!(!text(file).contains("use strict"), "{}", file.name);
    }
}

#[test]
fn names_from_a_store_stay_in_their_directory_and_are_escaped() {
    let mut hostile = fixture::run();
    hostile.run.id = "../../<script>alert(1)</script>".to_owned();
    hostile.run.plan.workloads[0].name = "..".to_owned();
    let mut upper = hostile.clone();
    upper.run.id = "../../<SCRIPT>alert(1)</script>".to_owned();
    let files = site(&[hostile, upper]);
    let mut names: Vec<String> = files.iter().map(|file| path(file).to_lowercase()).collect();
    for file in &files {
        let safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        assert!(
            file.name.chars().all(safe) && !file.name.starts_with('.'),
            "{}",
            file.name
        );
        assert!(
            file.directory
                .is_none_or(|name| DIRECTORIES.contains(&name))
        );
        assert!(!text(file).contains("<script>alert"), "{}", file.name);
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn the_index_names_contenders_phases_kernels_and_tags() {
    let files = site(&[fixture::run()]);
    let index = text(files.last().unwrap());
    for expected in [
        "data-contenders=\"ext4\nxfs\nbtrfs:compress=zstd,&lt;b&gt;\"",
        "<option value=\"tree/copy\">",
        "#nightly",
        "1 failed, 3 skipped",
    ] {
        assert!(index.contains(expected), "{expected}: {index}");
    }
}
