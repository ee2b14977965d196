//! Archives: valid ones are unpacked, invalid ones are refused before anything is created.

use super::*;
use crate::packed;
use crate::trees::{Options, compare, compare_archive, compare_archive_with};
use fsdyno_model::{Capabilities, NameRule};
use std::os::unix::fs::symlink;
use std::process::Command;
use tar::{Builder, EntryType, Header};

/// An archive with these members; a path may be malicious.
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
    let opened = Archive::open(&path, None, &CancelToken::new());
    (place, opened)
}

#[test]
fn members_outside_of_the_target_are_refused_by_name() {
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
fn unpacking_never_leaves_the_target() {
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
        // Skips the check at opening: the second line of defence must be sufficient.
        let _ = unpack(&archive, &to, &root, Capabilities::ALL, &CancelToken::new());
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
        let message = error.to_string();
        assert!(!message.contains(char::is_control), "{why}: {message:?}");
    }
}

/// A tree with all kinds of entries of archives.
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
fn archives_of_every_compression_round_trip() {
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
        // The name does not determine the compression.
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
        let root = place.path().join(format!("ground-{number}"));
        std::fs::create_dir(&root).unwrap();
        let dataset = Archive::open(&archive, None, &CancelToken::new()).unwrap();
        assert_eq!((dataset.facts().files, dataset.facts().directories), (8, 2));
        let mut work_dir = WorkDir::new(&root);
        dataset
            .create(&mut work_dir, Form::Tree, &CancelToken::new())
            .unwrap();
        let created = work_dir.newest().unwrap();
        let found =
            compare_archive_with(&archive, created, Options::default(), &CancelToken::new())
                .unwrap();
        assert!(found.equal(), "{arguments:?}: {:?}", found.differences);
        assert_eq!((found.files, found.directories), (8, 2));
        if arguments.contains(&"--format=pax") {
            // Only this format stores fractions of seconds.
            let found = compare(&packed_from, created, &CancelToken::new()).unwrap();
            assert!(found.equal(), "{:?}", found.differences);
        }
        dataset
            .create(&mut work_dir, Form::Archive, &CancelToken::new())
            .unwrap();
        let copy = work_dir.archive.unwrap();
        assert_eq!(
            std::fs::read(copy).unwrap(),
            std::fs::read(&archive).unwrap()
        );
    }
}

#[test]
fn the_tar_of_the_system_gives_what_the_comparison_expects() {
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
    let found = compare_archive(&archive, &to, Capabilities::ALL, &CancelToken::new()).unwrap();
    assert!(found.equal(), "{:?}", found.differences);

    std::fs::write(to.join("d/extra"), "").unwrap();
    std::fs::remove_file(to.join("d/e/again")).unwrap();
    std::fs::write(to.join("new\nline"), "n").unwrap();
    let found = compare_archive(&archive, &to, Capabilities::ALL, &CancelToken::new()).unwrap();
    let differences: Vec<_> = found.differences.iter().map(ToString::to_string).collect();
    for wanted in [
        "d/extra: in the tree, but not in the archive",
        "d/e/again: in the archive, but not in the tree",
        "new\\nline: content differs from byte 0",
    ] {
        assert!(
            differences.iter().any(|what| what == wanted),
            "{wanted} is not in {differences:?}"
        );
    }
}

#[test]
fn a_path_that_is_not_a_file_is_refused() {
    let error = Archive::open(Path::new("/tmp"), None, &CancelToken::new()).unwrap_err();
    assert!(error.to_string().contains("tree:DIR"), "{error}");
    let error =
        Archive::open(Path::new("/no/such/archive.tar"), None, &CancelToken::new()).unwrap_err();
    assert_eq!(error.errno(), Some(2));
}

/// A header with those bytes in its size field.
fn header(kind: EntryType, name: &str, size: &[u8; 12]) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    let raw = header.as_mut_bytes();
    raw[..name.len()].copy_from_slice(name.as_bytes());
    raw[124..136].copy_from_slice(size);
    header.set_cksum();
    header
}

/// A member of a long name, as GNU tar writes it, or with pax records before it.
fn extended(kind: EntryType, extension: &[u8], member: &Header) -> Vec<u8> {
    let size = format!("{:011o}\0", extension.len());
    let size = size.as_bytes().try_into().unwrap();
    let mut bytes = header(kind, "././@LongLink", size).as_bytes().to_vec();
    bytes.extend_from_slice(extension);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes.extend_from_slice(member.as_bytes());
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

#[test]
fn hostile_headers_are_refused_with_one_clear_message() {
    use EntryType::{GNULongLink, GNULongName, GNUSparse, Regular, Symlink, XHeader};
    let empty = b"00000000000\0";
    let file = header(Regular, "x", empty);
    let long = |kind: EntryType, text: Vec<u8>| extended(kind, &text, &file);
    let mut negative = [0xff; 12];
    negative[11] = 0;
    let mut huge = [0; 12];
    (huge[0], huge[4]) = (0x80, 0x7f);
    let mut sparse = header(GNUSparse, "sparse", empty);
    // Its map holds one extent of one byte that is not stored; its size is another.
    let raw = sparse.as_mut_bytes();
    raw[386..398].copy_from_slice(b"77777777777\0");
    raw[398..410].copy_from_slice(b"77777777777\0");
    sparse.set_cksum();
    for (what, bytes, message) in [
        (
            "a deep path",
            long(GNULongName, b"d/".repeat(1_000_000)),
            "300 levels",
        ),
        (
            "a long path",
            long(GNULongName, b"abcdefg/".repeat(290).repeat(2)),
            "300 levels",
        ),
        (
            "a long name",
            long(GNULongName, vec![b'n'; 5_000]),
            "4095 bytes",
        ),
        (
            "a huge name",
            long(GNULongName, vec![b'n'; 9 << 20]),
            "8 MiB",
        ),
        (
            "huge pax records",
            long(XHeader, vec![b'n'; 9 << 20]),
            "8 MiB",
        ),
        (
            "a long link",
            extended(GNULongLink, &[b'n'; 5_000], &header(Symlink, "s", empty)),
            "4095 bytes",
        ),
        (
            "a pax size that overflows",
            long(XHeader, b"29 size=18446744073709551615\n".to_vec()),
            "",
        ),
        (
            "a pax size that is larger than a file",
            long(XHeader, b"28 size=9999999999999999999\n".to_vec()),
            "longer than a file",
        ),
        (
            "a negative size",
            header(Regular, "x", &negative).as_bytes().to_vec(),
            "",
        ),
        (
            "a huge size",
            header(Regular, "x", &huge).as_bytes().to_vec(),
            "",
        ),
        (
            "a sparse map of more than is stored",
            sparse.as_bytes().to_vec(),
            "sparse",
        ),
    ] {
        let (_place, opened) = open(&bytes);
        let error = opened.map(|archive| archive.facts).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(message), "{what}: {error}");
        assert!(error.len() < 600, "{what}: {} bytes", error.len());
    }
}

#[test]
fn an_archive_that_needs_more_than_the_room_is_refused_before_it_is_expanded() {
    // 180 GiB of zeros in one member: the beginning of the stream is enough.
    let member = header(EntryType::Regular, "bomb", b"\x80\0\0\0\0\0\0\x2d\0\0\0\0");
    let mut bytes = member.as_bytes().to_vec();
    bytes.resize(1 << 20, 0);
    // A directory that comes again and again needs no room, but time.
    let again = header(EntryType::Directory, "d/", b"00000000000\0");
    let many = again.as_bytes().repeat(20_000);
    // So do records for all members, which are skipped.
    let global = header(EntryType::XGlobalHeader, "g", b"00000010000\0");
    let mut global = global.as_bytes().to_vec();
    global.resize(512 + 4096, 0);
    let global = global.repeat(2_000);
    for (what, stream) in [
        ("member bomb", bytes),
        ("four times", many),
        ("four times", global),
    ] {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("x.tar.zst");
        std::fs::write(&path, zstd::encode_all(&stream[..], 1).unwrap()).unwrap();
        let room = Some(Bytes(1 << 20));
        let error = Archive::open(&path, room, &CancelToken::new()).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
    }
}

#[test]
fn decoders_refuse_to_take_more_memory_than_is_sensible() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x");
    // Frame header of zstd (RFC 8878 3.1.1.1): no single segment, a window of 2 GiB.
    let zstd = [&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3][..], &[1, 0, 0]].concat();
    let mut options = liblzma::stream::LzmaOptions::new_preset(0).unwrap();
    // The header alone states how large the dictionary is; an encoder would take many times that.
    options.dict_size(1 << 12);
    let mut small = liblzma::stream::Filters::new();
    small.lzma2(&options);
    let check = liblzma::stream::Check::Crc32;
    let encoder = liblzma::stream::Stream::new_stream_encoder(&small, check).unwrap();
    let mut xz = Vec::new();
    liblzma::bufread::XzEncoder::new_stream(&b"text"[..], encoder)
        .read_to_end(&mut xz)
        .unwrap();
    // The block header: its size, flags, filter 0x21, one byte of properties: the dictionary.
    assert_eq!(xz[12 + 2..12 + 4], [0x21, 1]);
    xz[12 + 4] = 36;
    let mut crc = flate2::Crc::new();
    crc.update(&xz[12..12 + 8]);
    xz[20..24].copy_from_slice(&crc.sum().to_le_bytes());
    for (what, bytes) in [("zstd", zstd), ("xz", xz)] {
        std::fs::write(&path, bytes).unwrap();
        let error = Archive::open(&path, None, &CancelToken::new())
            .unwrap_err()
            .to_string();
        assert!(error.contains("memory"), "{what}: {error}");
    }
}

#[test]
fn a_stop_is_noticed_while_an_archive_is_read() {
    let stop = CancelToken::new();
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.tar");
    let members: Vec<_> = (0..100)
        .map(|_| (EntryType::Regular, "f", "text"))
        .collect();
    std::fs::write(&path, archive_of(&members)).unwrap();
    let mut seen = 0;
    let read = packed::each_member(&path, u64::MAX, &stop, |_, _| {
        seen += 1;
        stop.request();
        Ok::<_, DatasetError>(())
    });
    assert!(matches!(read, Err(DatasetError::Stopped)), "{read:?}");
    assert!(seen < 100, "{seen}");
    // Members that a decoder skips without returning a byte are noticed as well.
    let frames = [0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0].repeat(100_000);
    let first = [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0][..], &frames].concat();
    std::fs::write(&path, first).unwrap();
    let opened = Archive::open(&path, None, &stop).unwrap_err();
    assert!(matches!(opened, DatasetError::Stopped), "{opened}");
}

#[test]
fn members_that_a_file_system_cannot_store_are_left_out_and_counted() {
    use EntryType::{Link, Regular, Symlink};
    let place = tempfile::tempdir().unwrap();
    let archive = place.path().join("a.tar");
    let members = [
        (Regular, "file", "data"),
        (Symlink, "link", "file"),
        (Link, "hard", "file"),
        (Regular, "a:b/below", "data"),
    ];
    std::fs::write(&archive, archive_of(&members)).unwrap();
    let dataset = Archive::open(&archive, None, &CancelToken::new()).unwrap();
    let mut work_dir = WorkDir::new(place.path());
    work_dir.stores = Capabilities {
        hard_links: false,
        symlinks: false,
        names: NameRule::WINDOWS,
        ..Capabilities::ALL
    };
    let stop = CancelToken::new();
    let warnings = dataset.create(&mut work_dir, Form::Tree, &stop).unwrap();
    assert!(
        warnings[0].message.starts_with("3 entries were left out"),
        "{warnings:?}"
    );
    assert!(
        warnings[0].message.ends_with("link, a symbolic link"),
        "{warnings:?}"
    );
    let tree = work_dir.newest().unwrap();
    let names: Vec<_> = std::fs::read_dir(tree).unwrap().flatten().collect();
    assert_eq!(
        (names.len(), names[0].file_name().to_str()),
        (1, Some("file"))
    );
    let on = |stores| compare_archive(&archive, tree, stores, &stop).unwrap();
    assert!(
        on(work_dir.stores).equal(),
        "{:?}",
        on(work_dir.stores).differences
    );
    assert_eq!(on(Capabilities::ALL).total, 3);
}
