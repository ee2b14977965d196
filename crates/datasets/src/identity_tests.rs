//! What changes a digest, what does not, and what is noticed without reading.

use super::*;
use std::fs as files;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};

fn read(choice: &DatasetChoice) -> Identity {
    Identity::read(choice, &CancelToken::new(), &mut |_, _| ())
        .unwrap()
        .unwrap()
}

type Change<'a> = &'a dyn Fn(&Path);

/// A tree with an entry of each kind that needs no privilege.
fn make(root: &Path) {
    files::create_dir_all(root.join("b/c")).unwrap();
    files::write(root.join("b/c/file"), "content").unwrap();
    files::write(root.join("a"), vec![7; 3 << 20]).unwrap();
    files::hard_link(root.join("a"), root.join("again")).unwrap();
    symlink("b/c/file", root.join("link")).unwrap();
    let mode = |mode| files::Permissions::from_mode(mode);
    files::set_permissions(root.join("a"), mode(0o644)).unwrap();
    files::set_permissions(root.join("b/c/file"), mode(0o644)).unwrap();
    for directory in ["", "b", "b/c"] {
        files::set_permissions(root.join(directory), mode(0o755)).unwrap();
    }
}

#[test]
fn a_tree_has_the_same_digest_in_another_place_and_every_change_has_another() {
    let place = tempfile::tempdir().unwrap();
    let tree = |name: &str| {
        let root = place.path().join(name);
        make(&root);
        root
    };
    let digest = |root: &Path| {
        read(&DatasetChoice::Tree(root.to_owned()))
            .content()
            .clone()
    };
    let first = digest(&tree("first"));
    assert_eq!((first.files, first.directories), (4, 2));
    assert_eq!(first.bytes.0, (3 << 20) + 7);
    assert_eq!(digest(&tree("second")), first);
    let kinds: [(&str, Change<'_>); 9] = [
        ("data", &|root| {
            files::write(root.join("b/c/file"), "cOntent").unwrap();
        }),
        ("size", &|root| {
            files::write(root.join("b/c/file"), "content\0").unwrap();
        }),
        ("name", &|root| {
            files::rename(root.join("link"), root.join("lank")).unwrap();
        }),
        ("another", &|root| {
            files::write(root.join("new"), "").unwrap();
        }),
        ("gone", &|root| {
            files::remove_file(root.join("again")).unwrap();
        }),
        ("target", &|root| {
            files::remove_file(root.join("link")).unwrap();
            symlink("b/c/none", root.join("link")).unwrap();
        }),
        ("mode", &|root| {
            let mode = files::Permissions::from_mode(0o600);
            files::set_permissions(root.join("b/c/file"), mode).unwrap();
        }),
        ("type", &|root| {
            files::remove_file(root.join("b/c/file")).unwrap();
            files::create_dir(root.join("b/c/file")).unwrap();
        }),
        ("link or copy", &|root| {
            files::remove_file(root.join("again")).unwrap();
            files::copy(root.join("a"), root.join("again")).unwrap();
        }),
    ];
    for (what, change) in kinds {
        let root = tree(what);
        let identity = read(&DatasetChoice::Tree(root.clone()));
        assert_eq!(identity.check(&CancelToken::new()), Ok(()));
        change(&root);
        assert_ne!(digest(&root).sha256, first.sha256, "{what}");
        let changed = identity.check(&CancelToken::new()).unwrap_err().to_string();
        assert!(
            changed.contains("changed during the run"),
            "{what}: {changed}"
        );
    }
}

#[test]
fn the_digest_is_that_of_the_documentation() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("f");
    let mut bytes = vec![0; 8192];
    bytes[5000] = 1;
    bytes.extend(b"end");
    files::write(&file, &bytes).unwrap();
    files::set_permissions(&file, files::Permissions::from_mode(0o640)).unwrap();
    let mut data = Sha256::new();
    data.update(4096_u64.to_le_bytes());
    data.update(&bytes[4096..8192]);
    data.update(8192_u64.to_le_bytes());
    data.update(b"end");
    let mut whole = Sha256::new();
    whole.update(b"f");
    whole.update(1_u64.to_le_bytes());
    whole.update(b"f");
    whole.update(0o640_u32.to_le_bytes());
    whole.update(0_u64.to_le_bytes());
    whole.update(8195_u64.to_le_bytes());
    whole.update(data.finalize());
    let content = read(&DatasetChoice::File(file.clone())).content().clone();
    // A system that labels files (SELinux) gives each an attribute.
    let directory = survey::open_root(place.path()).unwrap();
    if entry::xattrs(&directory, c"f").unwrap().is_empty() {
        assert_eq!(content.sha256, hexadecimal(&whole.finalize()));
    }
    // An archive has the digest that sha256sum prints.
    let archive = read(&DatasetChoice::Tar(file)).content().clone();
    assert_eq!(archive.sha256, hexadecimal(&Sha256::digest(&bytes)));
    assert_eq!((archive.files, archive.bytes.0), (1, 8195));
}

#[test]
fn a_hole_and_the_same_zeros_are_the_same_content() {
    let place = tempfile::tempdir().unwrap();
    let content = |name: &str, make: &dyn Fn(&files::File)| {
        let directory = place.path().join(name);
        files::create_dir(&directory).unwrap();
        let file = files::File::create(directory.join("f")).unwrap();
        make(&file);
        read(&DatasetChoice::Tree(directory)).content().clone()
    };
    let size: u64 = (5 << 20) + 100;
    let sparse = content("sparse", &|file| {
        file.set_len(size).unwrap();
        file.write_all_at(b"x", 10_000).unwrap();
        file.write_all_at(b"y", size - 1).unwrap();
    });
    let full = content("full", &|file| {
        let mut bytes = vec![0; usize::try_from(size).unwrap()];
        bytes[10_000] = b'x';
        *bytes.last_mut().unwrap() = b'y';
        file.write_all_at(&bytes, 0).unwrap();
    });
    assert_eq!(sparse, full);
}

#[test]
fn a_request_to_stop_ends_the_reading() {
    let place = tempfile::tempdir().unwrap();
    make(&place.path().join("tree"));
    let stop = CancelToken::new();
    stop.request();
    for choice in [
        DatasetChoice::Tree(place.path().join("tree")),
        DatasetChoice::Tar(place.path().join("tree/a")),
        DatasetChoice::File(place.path().join("tree/a")),
    ] {
        let error = Identity::read(&choice, &stop, &mut |_, _| ()).unwrap_err();
        assert!(matches!(error, DatasetError::Stopped), "{choice}");
    }
}
