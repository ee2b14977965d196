//! Compares the output with the UFS1 of another program on an equal disk: `makefs` of the BSD
//! systems.

use fsdyno_ufs::{MakeOptions, Version, check, newfs};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;

/// Bytes of a superblock. Its offset is 8192.
const SUPERBLOCK: usize = 1376;

fn superblock(image: &Path) -> Vec<u8> {
    let mut bytes = vec![0; 8192 + SUPERBLOCK];
    File::open(image).unwrap().read_exact(&mut bytes).unwrap();
    bytes.split_off(8192)
}

/// An image of `tree`. Without `makefs` it prints a message and returns none.
fn by_makefs(image: &Path, tree: &Path, options: &str, size: &str, test: &str) -> Option<()> {
    let made = Command::new("makefs")
        .args(["-t", "ffs", "-B", "le", "-o", options, "-s", size])
        .args([image, tree])
        .output();
    let Ok(made) = made else {
        println!("SKIP program makefs: {test}");
        return None;
    };
    let stderr = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "{stderr}");
    Some(())
}

/// Superblock fields that may differ: times, the identifier, fields of a mounted kernel, and the
/// cluster length (makefs assumes 64 KiB transfers).
fn is_free(at: usize) -> bool {
    [32..36, 88..92, 144..152, 728..856, 1072..1080, 1316..1320]
        .iter()
        .any(|places| places.contains(&at))
}

#[test]
fn the_superblock_is_that_of_makefs() {
    let test = "the_superblock_is_that_of_makefs";
    let here = tempfile::tempdir().unwrap();
    let tree = here.path().join("tree");
    fs::create_dir(&tree).unwrap();
    for (block, fragment, density, mebibytes) in [
        (16_384_u64, 2048_u64, 8192_u64, 64_u64),
        (8192, 1024, 4096, 40),
        (4096, 1024, 4096, 12),
        (32_768, 4096, 16_384, 300),
    ] {
        let theirs = here.path().join("theirs");
        let options =
            format!("version=1,bsize={block},fsize={fragment},density={density},minfree=8");
        let size = format!("{mebibytes}m");
        if by_makefs(&theirs, &tree, &options, &size, test).is_none() {
            return;
        }
        let verdict = check(&mut File::open(&theirs).unwrap()).unwrap();
        assert!(verdict.clean(), "{:?}", verdict.contradictions);
        // With an equal group size.
        let make_options = MakeOptions {
            block: Some(block),
            fragment: Some(fragment),
            density: Some(density),
            group_blocks: Some(verdict.geometry.group / verdict.geometry.parts()),
            ..MakeOptions::new(Version::Ufs1)
        };
        let ours = here.path().join("ours");
        let mut image = File::create_new(&ours).unwrap();
        image.set_len(mebibytes << 20).unwrap();
        newfs(&mut image, mebibytes << 20, &make_options).unwrap();
        let (theirs, ours) = (superblock(&theirs), superblock(&here.path().join("ours")));
        let differ = (0..SUPERBLOCK).filter(|at| theirs[*at] != ours[*at] && !is_free(*at));
        assert_eq!(differ.collect::<Vec<_>>(), [0; 0], "{options}");
        fs::remove_file(here.path().join("ours")).unwrap();
        fs::remove_file(here.path().join("theirs")).unwrap();
    }
}

#[test]
fn a_full_tree_by_makefs_agrees_with_itself() {
    let test = "a_full_tree_by_makefs_agrees_with_itself";
    let here = tempfile::tempdir().unwrap();
    let tree = here.path().join("tree");
    fs::create_dir_all(tree.join("below/it")).unwrap();
    for number in 0..300_usize {
        let file = tree.join(format!("below/{number}"));
        fs::write(file, vec![b'x'; number * 777]).unwrap();
    }
    fs::write(tree.join("large"), vec![b'y'; 9 << 20]).unwrap();
    fs::hard_link(tree.join("large"), tree.join("below/it/too")).unwrap();
    std::os::unix::fs::symlink("below", tree.join("short")).unwrap();
    std::os::unix::fs::symlink("z".repeat(200), tree.join("long")).unwrap();
    let image = here.path().join("image");
    let options = "version=1,bsize=4096,fsize=512";
    if by_makefs(&image, &tree, options, "96m", test).is_none() {
        return;
    }
    let verdict = check(&mut File::open(&image).unwrap()).unwrap();
    assert!(verdict.clean(), "{:?}", verdict.contradictions);
    assert_eq!((verdict.files, verdict.directories), (303, 3));
}
