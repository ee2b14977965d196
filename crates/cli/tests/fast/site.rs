//! `fsdyno site`: the directories to which it writes, and the files that it does not change.

use crate::support::{Home, Printed};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

/// A run of the null engine on one directory.
fn run(home: &Home) {
    let on = format!("dir:{}", home.work().display());
    let line = "--dataset mixed --scale 0.002 --engine null --phases copy --repeats 1";
    let words = ["run", "--on", &on];
    let words: Vec<&str> = words.into_iter().chain(line.split(' ')).collect();
    let printed = home.fsdyno(&words);
    assert_eq!(printed.code, Some(0), "{}{}", printed.out, printed.err);
}

fn site(home: &Home, name: &str) -> Printed {
    home.fsdyno(&["site", &home.path(name).display().to_string()])
}

#[test]
fn a_site_is_written_again_and_pages_of_deleted_runs_are_removed() {
    let home = Home::new();
    run(&home);
    run(&home);
    let printed = site(&home, "site");
    assert_eq!(printed.code, Some(0), "{}", printed.err);
    let index = home.path("site/index.html");
    let answer = "The site has 2 runs and 0 crash tests. Open this page:";
    assert_eq!(printed.out, format!("{answer}\n{}\n", index.display()));
    let pages = || fs::read_dir(home.path("site/runs")).unwrap().count();
    assert_eq!(pages(), 2);
    for name in [
        "assets/report.css",
        "history/mixed-copy.html",
        ".fsdyno-site",
    ] {
        assert!(home.path("site").join(name).is_file(), "{name}");
    }
    let last = home.result("last")["run"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(home.fsdyno(&["runs", "rm", &last]).code, Some(0));
    // The user's own files stay.
    fs::write(home.path("site/CNAME"), "example.org").unwrap();
    fs::write(home.path("site/runs/notes.txt"), "mine").unwrap();
    assert_eq!(site(&home, "site").code, Some(0));
    assert_eq!(pages(), 2, "a page and notes.txt");
    assert!(!fs::read_to_string(&index).unwrap().contains(&last));
    assert_eq!(
        fs::read_to_string(home.path("site/CNAME")).unwrap(),
        "example.org"
    );
}

#[test]
fn a_directory_that_is_not_a_site_is_left_alone() {
    let home = Home::new();
    run(&home);
    let other = home.path("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("index.html"), "precious").unwrap();
    let printed = site(&home, "other");
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    assert!(printed.err.contains("no .fsdyno-site"), "{}", printed.err);
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    assert_eq!(
        fs::read_to_string(other.join("index.html")).unwrap(),
        "precious"
    );
    // An empty directory is used; a part of the site that is a symbolic link is not.
    fs::create_dir(home.path("site")).unwrap();
    assert_eq!(site(&home, "site").code, Some(0));
    fs::remove_dir_all(home.path("site/runs")).unwrap();
    symlink(&other, home.path("site/runs")).unwrap();
    let printed = site(&home, "site");
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    assert_eq!(fs::read_dir(&other).unwrap().count(), 1);
    // Others could plant files in a shared directory.
    let shared = home.path("shared");
    fs::create_dir(&shared).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    let printed = site(&home, "shared");
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    assert_eq!(fs::read_dir(&shared).unwrap().count(), 0);
}

#[test]
fn a_link_of_another_user_is_not_followed() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP root: a_link_of_another_user_is_not_followed");
        return;
    }
    let home = Home::new();
    run(&home);
    fs::create_dir(home.path("target")).unwrap();
    let link = home.path("link");
    symlink(home.path("target"), &link).unwrap();
    // One's own link is followed.
    assert_eq!(site(&home, "link").code, Some(0));
    std::os::unix::fs::lchown(&link, Some(65_534), None).unwrap();
    let printed = site(&home, "link");
    assert_eq!(printed.code, Some(2), "{}", printed.err);
    assert!(
        printed.err.contains("symbolic link of uid 65534"),
        "{}",
        printed.err
    );
}
