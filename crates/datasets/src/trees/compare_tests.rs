//! Differences that a comparison must report.

use super::*;
use std::fs as files;
use std::os::unix::fs::{PermissionsExt, symlink};

/// A tree, and a copy of it by `cp -a`, in one place.
fn pair() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let (a, b) = (place.path().join("a"), place.path().join("b"));
    files::create_dir_all(a.join("d/e")).unwrap();
    files::write(a.join("d/one"), "one").unwrap();
    files::write(a.join("d/two"), vec![7; 600_000]).unwrap();
    files::set_permissions(a.join("d/two"), files::Permissions::from_mode(0o644)).unwrap();
    files::hard_link(a.join("d/one"), a.join("d/e/again")).unwrap();
    symlink("one", a.join("d/link")).unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(&a)
        .arg(&b)
        .status()
        .unwrap();
    assert!(copied.success());
    (place, a, b)
}

/// Compares after a change to the copy, and gives all differences.
fn differences(change: impl FnOnce(&Path)) -> Vec<String> {
    let (_place, a, b) = pair();
    change(&b);
    let found = compare_with(
        &a,
        &b,
        Options {
            directory_times: false,
            ..Options::default()
        },
        &CancelToken::new(),
    )
    .unwrap();
    assert_eq!(found.total, found.differences.len() as u64);
    found.differences.iter().map(ToString::to_string).collect()
}

/// Changes a file and puts its date back.
fn keep_date(path: &Path, change: impl FnOnce(&Path)) {
    let date = path.metadata().unwrap().modified().unwrap();
    change(path);
    files::File::options()
        .write(true)
        .open(path)
        .unwrap()
        .set_modified(date)
        .unwrap();
}

#[test]
fn a_copy_compares_equal() {
    let (_place, a, b) = pair();
    let found = compare(&a, &b, &CancelToken::new()).unwrap();
    assert!(found.equal(), "{:?}", found.differences);
    assert_eq!(
        (found.files, found.directories, found.bytes.0),
        (4, 2, 600_003)
    );
}

#[test]
fn what_differs_is_named() {
    let one = |found: Vec<String>, wanted: &str| {
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(wanted), "{found:?} is not {wanted}");
    };
    one(
        differences(|b| files::remove_file(b.join("d/two")).unwrap()),
        "d/two: only in the first",
    );
    one(
        differences(|b| files::write(b.join("d/x"), "").unwrap()),
        "d/x: only in the second",
    );
    let content = |b: &Path| {
        keep_date(&b.join("d/two"), |path| {
            let mut data = files::read(path).unwrap();
            data[500_000] = 8;
            files::write(path, data).unwrap();
        });
    };
    one(
        differences(content),
        "d/two: content differs from byte 500000",
    );
    let size = |b: &Path| keep_date(&b.join("d/two"), |path| files::write(path, "").unwrap());
    one(differences(size), "d/two: 600000 bytes against 0");
    let mode = |b: &Path| {
        files::set_permissions(b.join("d/two"), files::Permissions::from_mode(0o4711)).unwrap();
    };
    one(differences(mode), "d/two: mode 0644 against 4711");
    let date = |b: &Path| {
        let file = files::File::options()
            .write(true)
            .open(b.join("d/two"))
            .unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_nanos(5))
            .unwrap();
    };
    one(differences(date), "d/two: changed at ");
    let kind = |b: &Path| {
        files::remove_file(b.join("d/two")).unwrap();
        files::create_dir(b.join("d/two")).unwrap();
    };
    one(differences(kind), "d/two: a file against a directory");
}

#[test]
fn links_are_compared() {
    let target = differences(|b| {
        files::remove_file(b.join("d/link")).unwrap();
        symlink("two", b.join("d/link")).unwrap();
    });
    assert!(
        target.iter().any(|what| what.contains("different targets")),
        "{target:?}"
    );
    let broken = differences(|b| {
        let date = b.join("d/one").metadata().unwrap().modified().unwrap();
        files::remove_file(b.join("d/e/again")).unwrap();
        files::write(b.join("d/e/again"), "one").unwrap();
        let file = files::File::options()
            .write(true)
            .open(b.join("d/e/again"))
            .unwrap();
        file.set_modified(date).unwrap();
    });
    assert!(
        broken.iter().any(|what| what.contains("hard link")),
        "{broken:?}"
    );
}

#[test]
fn times_of_directories_are_compared_unless_disabled() {
    let (_place, a, b) = pair();
    files::write(b.join("d/new"), "").unwrap();
    files::remove_file(b.join("d/new")).unwrap();
    let whole = compare(&a, &b, &CancelToken::new()).unwrap();
    assert_eq!(whole.total, 1, "{:?}", whole.differences);
    let options = Options {
        directory_times: false,
        ..Options::default()
    };
    assert!(
        compare_with(&a, &b, options, &CancelToken::new())
            .unwrap()
            .equal()
    );
}

#[test]
fn only_the_first_differences_are_kept_and_all_are_counted() {
    let (_place, a, b) = pair();
    for number in 0..50 {
        files::write(b.join(format!("d/{number}")), "").unwrap();
    }
    let options = Options {
        directory_times: false,
        ..Options::default()
    };
    let found = compare_with(&a, &b, options, &CancelToken::new()).unwrap();
    assert_eq!((found.total, found.differences.len()), (50, 20));
}
