//! Archives: good ones unpacked, bad ones refused before anything is made.

use super::*;
use crate::trees::{Options, compare, compare_archive, compare_archive_with};
use std::os::unix::fs::symlink;
use std::process::Command;
use tar::{Builder, EntryType, Header};

/// An archive with these members; a path may be one that no honest program writes.
fn archive_of(members: &[(EntryType, &str, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (kind, path, text) in members {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(if *kind == EntryType::Directory {
            0o755
        } else {
            0o640
        });
        header.set_mtime(1_200_000_000);
        header.set_uid(rustix::process::getuid().as_raw().into());
        header.set_gid(rustix::process::getgid().as_raw().into());
        let data = if *kind == EntryType::Regular {
            text.as_bytes()
        } else {
            b""
        };
        header.set_size(data.len() as u64);
        let raw = header.as_mut_bytes();
        raw[..path.len()].copy_from_slice(path.as_bytes());
        if matches!(kind, EntryType::Symlink | EntryType::Link) {
            raw[157..157 + text.len()].copy_from_slice(text.as_bytes());
        }
        header.set_cksum();
        builder.append(&header, data).unwrap();
    }
    builder.into_inner().unwrap()
}

fn open(bytes: &[u8]) -> (tempfile::TempDir, Result<Archive, DatasetError>) {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.tar");
    std::fs::write(&path, bytes).unwrap();
    let opened = Archive::open(&path);
    (place, opened)
}

#[test]
fn members_that_would_leave_their_place_are_refused_by_name() {
    use EntryType::{Link, Regular, Symlink};
    for (members, named) in [
        (&[(Regular, "/etc/x", "")][..], "/etc/x"),
        (&[(Regular, "a/../../x", "")], "a/../../x"),
        (
            &[(Symlink, "s", "/etc"), (Regular, "s/passwd", "")],
            "s/passwd",
        ),
        (
            &[(Symlink, "d/s", "../.."), (Regular, "d/s/e/f", "")],
            "d/s/e/f",
        ),
        (
            &[(Symlink, "s", "/etc/passwd"), (Regular, "s", "")],
            "member s ",
        ),
        (&[(Link, "h", "/etc/passwd")], "member h "),
        (&[(Link, "h", "../passwd")], "member h "),
        (
            &[(Symlink, "s", "/etc"), (Link, "h", "s/passwd")],
            "member h ",
        ),
    ] {
        let (_place, opened) = open(&archive_of(members));
        let error = opened.unwrap_err();
        assert!(
            matches!(error, DatasetError::Member { .. }),
            "{members:?}: {error}"
        );
        assert!(error.to_string().contains(named), "{members:?}: {error}");
    }
}

#[test]
fn unpacking_alone_never_leaves_its_place() {
    use EntryType::{Link, Regular, Symlink};
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("secret"), "untouched").unwrap();
    for (number, members) in [
        &[(Symlink, "s", ".."), (Regular, "s/secret", "overwritten")][..],
        &[(Symlink, "s", "../secret"), (Regular, "s", "overwritten")],
        &[(Symlink, "s", ".."), (Link, "h", "s/secret")],
    ]
    .iter()
    .enumerate()
    {
        let archive = place.path().join(format!("{number}.tar"));
        std::fs::write(&archive, archive_of(members)).unwrap();
        let to = place.path().join(number.to_string());
        let root = make_root(&to).unwrap();
        // The check at opening is left out: the second line of defence must hold alone.
        let _ = unpack(&archive, &to, &root, &Stop::new());
        let secret = std::fs::read_to_string(place.path().join("secret")).unwrap();
        assert_eq!(secret, "untouched");
        assert!(!to.join("h").exists());
    }
}

#[test]
fn damaged_archives_are_refused() {
    let good = archive_of(&[
        (EntryType::Regular, "one", "text"),
        (EntryType::Regular, "two", &"longer ".repeat(5000)),
    ]);
    let packed = {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(&good).unwrap();
        packer.finish().unwrap()
    };
    let mut flipped = packed.clone();
    let end = flipped.len() - 6;
    flipped[end] ^= 1;
    for (bytes, why) in [
        (good[..20_000].to_vec(), "truncated"),
        (
            packed[..packed.len() - 200].to_vec(),
            "truncated and packed",
        ),
        (flipped, "of another checksum"),
        (
            b"this is no archive, but a text of some length\n".repeat(50),
            "no archive",
        ),
        ([0x1b, 0xff, 0x07, b'[', b'2', b'J'].repeat(300), "garbage"),
        (Vec::new(), "empty"),
        (b"BZh91AY&SY".to_vec(), "bzip2"),
    ] {
        let (place, opened) = open(&bytes);
        let error = opened
            .err()
            .unwrap_or_else(|| panic!("an archive that is {why}"));
        assert!(
            matches!(error, DatasetError::Archive { .. }),
            "{why}: {error}"
        );
        let path = place.path().join("x.tar");
        assert!(
            error.to_string().contains(&*path.to_string_lossy()),
            "{why}: {error}"
        );
        let said = error.to_string();
        assert!(!said.contains(char::is_control), "{why}: {said:?}");
    }
}

/// A tree with what archives can hold.
fn tree(at: &Path) {
    std::fs::create_dir_all(at.join("d/e")).unwrap();
    std::fs::write(at.join("d/file"), "content\n".repeat(3000)).unwrap();
    std::fs::write(at.join(format!("d/{}", "long".repeat(40))), "x").unwrap();
    std::fs::write(at.join("new\nline"), "y").unwrap();
    std::fs::hard_link(at.join("d/file"), at.join("d/e/again")).unwrap();
    symlink("../../d/file", at.join("d/e/link")).unwrap();
    symlink("/outside", at.join("out")).unwrap();
    let sparse = std::fs::File::create(at.join("sparse")).unwrap();
    sparse.set_len(5_000_000).unwrap();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at.join("fifo"),
        fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
}

#[test]
fn archives_of_every_packing_unpack_to_what_was_packed() {
    let place = tempfile::tempdir().unwrap();
    let packed_from = place.path().join("tree");
    tree(&packed_from);
    for (number, arguments) in [
        &["-c"][..],
        &["-cz"],
        &["-cJ"],
        &["-c", "--zstd"],
        &["-cS", "--format=gnu"],
        &["-c", "--format=pax"],
    ]
    .iter()
    .enumerate()
    {
        // The name tells nothing of the packing.
        let archive = place.path().join(format!("archive-{number}"));
        let status = Command::new("tar")
            .args(*arguments)
            .arg("-f")
            .arg(&archive)
            .arg("-C")
            .arg(&packed_from)
            .arg(".")
            .status()
            .unwrap();
        if !status.success() {
            println!("SKIP tar {arguments:?}: archives_of_every_packing");
            continue;
        }
        let ground_at = place.path().join(format!("ground-{number}"));
        std::fs::create_dir(&ground_at).unwrap();
        let dataset = Archive::open(&archive).unwrap();
        assert_eq!((dataset.facts().files, dataset.facts().directories), (8, 2));
        let mut ground = Ground::new(&ground_at);
        dataset.lay(&mut ground, Form::Tree, &Stop::new()).unwrap();
        let laid = ground.newest().unwrap();
        let found = compare_archive_with(&archive, laid, Options::default(), &Stop::new()).unwrap();
        assert!(found.equal(), "{arguments:?}: {:?}", found.differences);
        assert_eq!((found.files, found.directories), (8, 2));
        if arguments.contains(&"--format=pax") {
            // Only this form keeps parts of seconds.
            let found = compare(&packed_from, laid, &Stop::new()).unwrap();
            assert!(found.equal(), "{:?}", found.differences);
        }
        dataset
            .lay(&mut ground, Form::Archive, &Stop::new())
            .unwrap();
        let copy = ground.archive.unwrap();
        assert_eq!(
            std::fs::read(copy).unwrap(),
            std::fs::read(&archive).unwrap()
        );
    }
}

#[test]
fn the_tar_of_the_system_gives_what_the_comparison_wants() {
    let place = tempfile::tempdir().unwrap();
    let (from, to) = (place.path().join("tree"), place.path().join("to"));
    tree(&from);
    std::fs::create_dir(&to).unwrap();
    let archive = place.path().join("x.tar.gz");
    let tar = |arguments: &[&str], at: &Path| {
        let status = Command::new("tar")
            .args(arguments)
            .arg(&archive)
            .arg("-C")
            .arg(at)
            .args(if arguments[0] == "-czf" {
                &["."][..]
            } else {
                &[]
            })
            .status()
            .unwrap();
        assert!(status.success());
    };
    tar(&["-czf"], &from);
    tar(&["-xf"], &to);
    let found = compare_archive(&archive, &to, &Stop::new()).unwrap();
    assert!(found.equal(), "{:?}", found.differences);

    std::fs::write(to.join("d/extra"), "").unwrap();
    std::fs::remove_file(to.join("d/e/again")).unwrap();
    std::fs::write(to.join("new\nline"), "n").unwrap();
    let found = compare_archive(&archive, &to, &Stop::new()).unwrap();
    let told: Vec<_> = found.differences.iter().map(ToString::to_string).collect();
    for wanted in [
        "d/extra: in the tree, but not in the archive",
        "d/e/again: in the archive, but not in the tree",
        "new\\nline: content differs from byte 0",
    ] {
        assert!(
            told.iter().any(|what| what == wanted),
            "{wanted} is not in {told:?}"
        );
    }
}

#[test]
fn what_is_no_file_is_refused() {
    let error = Archive::open(Path::new("/tmp")).unwrap_err();
    assert!(error.to_string().contains("tree:DIR"), "{error}");
    let error = Archive::open(Path::new("/no/such/archive.tar")).unwrap_err();
    assert_eq!(error.errno(), Some(2));
}
