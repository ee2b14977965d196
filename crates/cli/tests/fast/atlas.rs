//! `fsdyno atlas`: the shipped atlas as a picture and as a site.

use crate::support::{Home, documents};
use std::fs;

#[test]
fn the_picture_of_the_readme_is_that_of_the_shipped_atlas() {
    let home = Home::new();
    let words = [
        "atlas",
        "show",
        "--disk",
        "nvme,sata-2008",
        "--format",
        "svg",
    ];
    let drawn = home.fsdyno(&words);
    assert_eq!(drawn.code, Some(0), "{}", drawn.err);
    let picture = documents::root().join("docs/img/atlas.svg");
    assert!(
        fs::read_to_string(picture).unwrap() == drawn.out,
        "write it: fsdyno {} > docs/img/atlas.svg",
        words.join(" ")
    );
}

#[test]
fn advice_on_every_work_of_the_shipped_atlas_is_from_it() {
    let home = Home::new();
    // The last two are also names of applications.
    for work in ["mail", "web", "photos", "database", "build", "containers"] {
        let words = ["advise", work, "--disk", "sata-2008"];
        let advised = home.fsdyno(&words);
        assert_eq!(advised.code, Some(0), "{work}: {}", advised.err);
        let words: Vec<&str> = advised.out.split_whitespace().collect();
        let text = words.join(" ");
        assert!(text.contains("From the atlas"), "{text}");
        // What an interval tells from 1 is no chance.
        let interval = text.split_once("95 % interval ");
        let low = interval.and_then(|(_, rest)| rest.split_once(' ')?.0.parse::<f64>().ok());
        let is_chance = text.contains("which may be chance");
        assert!(!is_chance || low.is_some_and(|low| low <= 1.0), "{text}");
    }
}

#[test]
fn a_site_of_the_atlas_is_replaced_by_a_later_one_and_by_no_other_site() {
    let home = Home::new();
    let site = home.path("site").display().to_string();
    for _ in 0..2 {
        let written = home.fsdyno(&["atlas", "site", &site]);
        assert_eq!(written.code, Some(0), "{}", written.err);
        assert!(written.out.contains("site/index.html"), "{}", written.out);
    }
    assert!(home.path("site/works/mail.html").is_file());
    let other = home.path("other").display().to_string();
    fs::create_dir(&other).unwrap();
    fs::write(home.path("other/.fsdyno-site"), "").unwrap();
    let refused = home.fsdyno(&["atlas", "site", &other]);
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert!(
        refused.err.contains("no .fsdyno-atlas-site"),
        "{}",
        refused.err
    );
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    let unknown = home.fsdyno(&["atlas", "show", "--disk", "nvme,tape"]);
    assert_eq!(unknown.code, Some(2), "{}", unknown.out);
    assert!(unknown.err.contains("tape"), "{}", unknown.err);
}
