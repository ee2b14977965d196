//! Tests of properties that all engines share.

mod odd;
mod phases;
mod timeline;

use fsdyno_datasets::work_dir::WorkDir;
use fsdyno_load::engines;
use fsdyno_load::kinds;
use fsdyno_load::measure::{self, LoadError, Request};
use fsdyno_load::phases::replay;
use fsdyno_model::cancel::CancelToken;
use fsdyno_model::plan::CopyMethod;
use odd::{assert_same, describe};
use phases::{phase, run, run_by};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The engines that access files.
const REAL: [&str; 4] = ["sync", "tools", "uring", "mmap"];

#[test]
fn a_copy_is_what_cp_makes_by_either_engine_and_method() {
    let (_home, mut work_dir) = odd::work_dir();
    let original = describe(&work_dir.trees[0]);
    for (engine, method) in [
        ("sync", CopyMethod::ReadWrite),
        ("sync", CopyMethod::CopyFileRange),
        ("tools", CopyMethod::ReadWrite),
        ("tools", CopyMethod::CopyFileRange),
    ] {
        let measured = run_by(&mut work_dir, engine, &phase("copy"), method).unwrap();
        let copy = describe(work_dir.newest().unwrap());
        assert_same(&original, &copy, &format!("{engine} {method}"));
        assert!(measured.durable_ns.unwrap() >= measured.return_ns);
        assert_eq!(measured.warnings, [], "{engine} {method}");
        run(&mut work_dir, "sync", &phase("delete")).unwrap();
    }
}

#[test]
fn reflink_works_or_names_the_file_system() {
    let (_home, mut work_dir) = odd::work_dir();
    let original = describe(&work_dir.trees[0]);
    for engine in REAL {
        match run_by(&mut work_dir, engine, &phase("copy"), CopyMethod::Reflink) {
            Ok(_) => assert_same(&original, &describe(work_dir.newest().unwrap()), engine),
            Err(error) if engine == "sync" => {
                assert!(error.to_string().contains("read-write"), "{error}");
                assert!(error.errno().is_some());
            }
            Err(error) => assert_eq!(error.errno(), Some(libc::EOPNOTSUPP), "{error}"),
        }
    }
}

#[test]
fn deletion_removes_exactly_the_tree() {
    for engine in REAL {
        let (home, mut work_dir) = odd::work_dir();
        fs::write(home.path().join("neighbour"), "").unwrap();
        run(&mut work_dir, engine, &phase("copy")).unwrap();
        let original = describe(&work_dir.trees[0]);
        run(&mut work_dir, engine, &phase("delete")).unwrap();
        assert_eq!(work_dir.trees.len(), 1);
        assert_same(&original, &describe(&work_dir.trees[0]), engine);
        run(&mut work_dir, engine, &phase("delete")).unwrap();
        let left: Vec<_> = fs::read_dir(home.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{engine}");
        assert!(matches!(
            run(&mut work_dir, engine, &phase("delete")),
            Err(LoadError::NoTree(_))
        ));
        assert!(Path::new("/etc/passwd").exists(), "a link was followed");
    }
}

#[test]
fn walks_count_all_entries() {
    let (_home, mut work_dir) = odd::work_dir();
    let tree = describe(&work_dir.trees[0]);
    let count = |what: &str| {
        tree.values()
            .filter(|description| description.contains(what))
            .count() as u64
    };
    let directories = count("mode 4");
    let bytes: u64 = tree
        .values()
        .filter_map(|description| {
            description
                .split(" size ")
                .nth(1)?
                .split(' ')
                .next()?
                .parse()
                .ok()
        })
        .collect::<Vec<u64>>()
        .iter()
        .sum();
    for kind in ["stat-walk", "read", "copy", "grep"] {
        let tally = run(&mut work_dir, "sync", &phase(kind)).unwrap().tally;
        assert_eq!(tally.directories, directories, "{kind}");
        assert_eq!(tally.files + directories, tree.len() as u64, "{kind}");
        assert!(tally.calls > tally.files, "{kind}");
        // Hard links are copied once; a search ends early in a binary file.
        if matches!(kind, "stat-walk" | "read") {
            assert_eq!(tally.bytes.0, bytes, "{kind}");
        }
    }
    let touched = measure::touch(&work_dir.trees[0], &CancelToken::new()).unwrap();
    assert_eq!(touched.bytes.0, bytes);
    run(&mut work_dir, "tools", &phase("stat-walk")).unwrap();
    run(&mut work_dir, "tools", &phase("read")).unwrap();
}

#[test]
fn a_search_counts_the_lines_grep_counts() {
    let (_home, mut work_dir) = odd::work_dir();
    let mut matches = Vec::new();
    for pattern in [
        None,
        Some("foo"),
        Some("^and a"),
        Some("gap$"),
        Some("x{100}"),
        Some("no such thing"),
        Some("[^a-z]tar|linked"),
    ] {
        let mut phase = phase("grep");
        phase.pattern = pattern.map(str::to_owned);
        let counts = REAL.map(|engine| run(&mut work_dir, engine, &phase).unwrap().tally.matches);
        assert_eq!(counts[0], counts[1], "{pattern:?}");
        assert_eq!(counts[0], counts[2], "{pattern:?}");
        assert_eq!(counts[0], counts[3], "{pattern:?}");
        matches.push(counts[0]);
    }
    assert_eq!(matches[0], 10_000 + 3 + 1 + 1);
    let mut phase = phase("grep");
    phase.pattern = Some("(".to_owned());
    let error = run(&mut work_dir, "sync", &phase).unwrap_err();
    assert!(matches!(error, LoadError::Pattern { .. }), "{error}");
    let error = run(&mut work_dir, "tools", &phase).unwrap_err();
    assert!(error.to_string().contains("status"), "{error}");
}

#[test]
fn an_archive_in_any_form_is_unpacked_as_tar_does() {
    let (home, mut work_dir) = odd::work_dir();
    let tree = work_dir.trees[0].clone();
    for (name, options) in [
        ("gnu", &["--format=gnu"][..]),
        ("oldgnu", &["--format=oldgnu"]),
        ("posix", &["--format=posix"]),
        ("posix 0.1", &["--format=posix", "--sparse-version=0.1"]),
        ("posix 0.0", &["--format=posix", "--sparse-version=0.0"]),
    ] {
        let archive = home.path().join(format!("{name}.tar"));
        let made = Command::new("tar")
            .args(options)
            .args(["--sparse", "-cf"])
            .args([&archive, Path::new("-C"), &tree, Path::new(".")])
            .output()
            .unwrap();
        assert!(made.status.success(), "{name}: {made:?}");
        work_dir.archive = Some(archive);
        let [ours, theirs, ..] = REAL.map(|engine| {
            run(&mut work_dir, engine, &phase("untar")).unwrap();
            describe(work_dir.newest().unwrap())
        });
        assert_same(&theirs, &ours, name);
        // More than tar itself keeps: all attributes of the original that the format stores.
        if name.starts_with("posix") {
            let mut original = describe(&tree);
            original.remove(Path::new("socket"));
            for description in original.values_mut() {
                *description = description.split(" attribute").next().unwrap().to_owned();
            }
            assert_same(&original, &ours, name);
        }
    }
}

/// Compresses bytes by each supported method.
fn packed(plain: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(plain).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(plain).unwrap();
    vec![
        ("tar", plain.to_vec()),
        ("tar.gz", gz.finish().unwrap()),
        ("tar.xz", xz.finish().unwrap()),
        ("tar.zst", zstd::encode_all(plain, 1).unwrap()),
    ]
}

/// One member of an archive, with an unchecked path.
fn member(builder: &mut tar::Builder<Vec<u8>>, kind: tar::EntryType, path: &str, link: &str) {
    let data: &[u8] = if kind.is_file() { b"data" } else { b"" };
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
    header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o755);
    header.set_mtime(1_000_000_000);
    header.set_size(data.len() as u64);
    header.set_cksum();
    builder.append(&header, data).unwrap();
}

fn archive(members: &[(tar::EntryType, &str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (kind, path, link) in members {
        member(&mut builder, *kind, path, link);
    }
    builder.into_inner().unwrap()
}

const FILE: tar::EntryType = tar::EntryType::Regular;
const DIRECTORY: tar::EntryType = tar::EntryType::Directory;
const SYMLINK: tar::EntryType = tar::EntryType::Symlink;
const HARD_LINK: tar::EntryType = tar::EntryType::Link;

#[test]
fn packed_archives_are_recognised_by_their_first_bytes() {
    let plain = archive(&[(DIRECTORY, "d/", ""), (FILE, "d/f", "")]);
    for (suffix, bytes) in packed(&plain) {
        let home = tempfile::tempdir().unwrap();
        let mut work_dir = WorkDir::new(home.path());
        let path = home.path().join("archive");
        fs::write(&path, bytes).unwrap();
        work_dir.archive = Some(path);
        let measured = run(&mut work_dir, "sync", &phase("untar")).unwrap();
        let file = work_dir.newest().unwrap().join("d/f");
        assert_eq!(fs::read(file).unwrap(), b"data", "{suffix}");
        assert_eq!((measured.tally.files, measured.tally.directories), (1, 2));
    }
}

#[test]
fn members_outside_of_the_tree_are_refused() {
    for (members, refused_by_name) in [
        (vec![(FILE, "/tmp/fsdyno-escaped", "")], true),
        (vec![(FILE, "a/../../escaped", "")], true),
        (vec![(FILE, "..", "")], true),
        (vec![(HARD_LINK, "a", "../outside")], true),
        (vec![(HARD_LINK, "a", "/etc/passwd")], true),
        (vec![(SYMLINK, "a", ".."), (FILE, "a/escaped", "")], false),
        (
            vec![(SYMLINK, "a", ".."), (HARD_LINK, "b", "a/outside")],
            false,
        ),
    ] {
        let home = tempfile::tempdir().unwrap();
        let mut work_dir = WorkDir::new(home.path());
        fs::write(home.path().join("outside"), "").unwrap();
        let path = home.path().join("archive");
        fs::write(&path, archive(&members)).unwrap();
        work_dir.archive = Some(path);
        let error = run(&mut work_dir, "sync", &phase("untar")).unwrap_err();
        assert!(!home.path().join("escaped").exists());
        assert_eq!(
            matches!(error, LoadError::Archive { .. }),
            refused_by_name,
            "{error}"
        );
        assert_eq!(work_dir.trees.len(), 0);
    }
}

#[test]
fn a_directory_keeps_its_time_after_later_members() {
    let home = tempfile::tempdir().unwrap();
    let mut work_dir = WorkDir::new(home.path());
    let path = home.path().join("archive");
    let members = [
        (DIRECTORY, "a/", ""),
        (FILE, "a/1", ""),
        (FILE, "b/implied/1", ""),
        (FILE, "a/2", ""),
        (FILE, "a/1", ""),
        (HARD_LINK, "c", "a/2"),
    ];
    fs::write(&path, archive(&members)).unwrap();
    work_dir.archive = Some(path);
    run(&mut work_dir, "sync", &phase("untar")).unwrap();
    let tree = describe(work_dir.newest().unwrap());
    assert!(tree[Path::new("a")].contains("modified 1000000000.0"));
    assert!(tree[Path::new("c")].contains("links 2"));
}

#[test]
fn a_broken_archive_is_named() {
    let whole = archive(&[(FILE, "f", "")]);
    let mut wrong = whole.clone();
    wrong[0] = b'g';
    for bytes in [&whole[..600], &wrong, &b"no archive at all".repeat(99)] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("archive");
        fs::write(&path, bytes).unwrap();
        for engine in REAL {
            let mut work_dir = WorkDir::new(home.path().join(engine));
            fs::create_dir(&work_dir.root).unwrap();
            work_dir.archive = Some(path.clone());
            let error = run(&mut work_dir, engine, &phase("untar")).unwrap_err();
            assert!(error.to_string().contains("archive"), "{engine}: {error}");
        }
    }
}

/// The kinds that work on any dataset. A replay needs that of its recording.
fn on_trees() -> impl Iterator<Item = &'static kinds::PhaseKind> {
    let works = |kind: &&kinds::PhaseKind| kind.needs != kinds::Needs::Nothing;
    kinds::all()
        .filter(works)
        .filter(|kind| kind.name != replay::KIND.name)
}

#[test]
fn the_null_engine_is_deterministic() {
    for kind in on_trees() {
        let stop = CancelToken::new();
        let measure = || {
            let mut work_dir = WorkDir::new("/nowhere");
            let measured = measure::run(Request {
                phase: &phase(kind.name),
                engine: "null",
                copy_method: CopyMethod::ReadWrite,
                work_dir: &mut work_dir,
                facts: Some((1234, 56, 7_654_321)),
                durable: true,
                handicap_permille: 0,
                each_file: true,
                confined: None,
                user_work: None,
                stop: &stop,
                share: None,
                mark: &mut |_| (),
            });
            let measured = measured.unwrap();
            let progress = measured.progress.unwrap().whole();
            let [latencies] = &measured.latencies[..] else {
                panic!("{}: {:?}", kind.name, measured.latencies);
            };
            let tally = measured.tally;
            assert_eq!(
                (progress.operations, progress.bytes, latencies.count),
                (tally.files, tally.bytes, tally.files),
                "{}",
                kind.name
            );
            tally
        };
        let tally = measure();
        assert_eq!(tally, measure(), "{}", kind.name);
        assert_eq!(
            (tally.files, tally.directories),
            (1234, 56),
            "{}",
            kind.name
        );
        let bytes = if kind.name == "delete" { 0 } else { 7_654_321 };
        assert_eq!(tally.bytes.0, bytes, "{}", kind.name);
    }
}

#[test]
fn every_engine_stops_when_cancelled() {
    let (_home, mut work_dir) = odd::work_dir();
    work_dir.archive = Some(work_dir.root.join("archive"));
    fs::write(work_dir.root.join("archive"), archive(&[(FILE, "f", "")])).unwrap();
    let stop = CancelToken::new();
    stop.request();
    for engine in engines::ALL {
        for kind in on_trees() {
            let error = measure::run(Request {
                phase: &phase(kind.name),
                engine: engine.name,
                copy_method: CopyMethod::ReadWrite,
                work_dir: &mut work_dir,
                facts: None,
                durable: true,
                handicap_permille: 0,
                each_file: true,
                confined: None,
                user_work: None,
                stop: &stop,
                share: None,
                mark: &mut |_| (),
            });
            assert!(
                matches!(error, Err(LoadError::Stopped)),
                "{} {}",
                engine.name,
                kind.name
            );
        }
    }
    assert_eq!(work_dir.trees.len(), 1);
}

#[test]
fn an_unknown_kind_or_engine_is_named() {
    let mut work_dir = WorkDir::new("/nowhere");
    let error = run(&mut work_dir, "sync", &phase("juggle")).unwrap_err();
    assert!(error.to_string().contains("juggle"));
    let error = run(&mut work_dir, "steam", &phase("copy")).unwrap_err();
    assert!(error.to_string().contains("steam"));
    work_dir.trees.push("/nowhere/tree".into());
    let error = run(&mut work_dir, "sync", &phase("read")).unwrap_err();
    assert_eq!(error.errno(), Some(libc::ENOENT));
    assert!(error.to_string().contains("/nowhere"), "{error}");
}

#[test]
fn a_directory_of_many_files_is_copied_and_deleted_whole() {
    let home = tempfile::tempdir().unwrap();
    let mut work_dir = WorkDir::new(home.path());
    let tree = home.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for number in 0..5000 {
        fs::write(tree.join(format!("a file with the number {number}")), "").unwrap();
    }
    work_dir.trees.push(tree);
    assert_eq!(
        run(&mut work_dir, "sync", &phase("copy"))
            .unwrap()
            .tally
            .files,
        5000
    );
    assert_eq!(
        run(&mut work_dir, "sync", &phase("stat-walk"))
            .unwrap()
            .tally
            .files,
        5000
    );
    assert_eq!(
        run(&mut work_dir, "sync", &phase("delete"))
            .unwrap()
            .tally
            .files,
        5000
    );
}

#[test]
fn an_unreadable_file_is_named() {
    if rustix::process::geteuid().is_root() {
        println!("SKIP not being root: an_unreadable_file_is_named");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let mut work_dir = WorkDir::new(home.path());
    let tree = home.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let secret = tree.join("secret");
    fs::write(&secret, "").unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    work_dir.trees.push(tree);
    for engine in REAL {
        let error = run(&mut work_dir, engine, &phase("copy")).unwrap_err();
        assert_eq!(error.errno(), Some(libc::EACCES), "{engine}: {error}");
        assert!(
            error.to_string().contains("tree/secret"),
            "{engine}: {error}"
        );
    }
}
