//! Counts extents on real file systems, compared with `filefrag`. Needs root, to mount image files.

use fsdyno_datasets::fragmentation::count;
use fsdyno_model::{Bytes, CancelToken, Fragmentation};
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const BLOCK: usize = 4096;

/// A file system on an image file, unmounted on drop.
struct Mounted {
    home: tempfile::TempDir,
}

impl Mounted {
    fn at(&self) -> PathBuf {
        self.home.path().join("mnt")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that is being started may still hold the mount, which then ends with it.
        let _ = Command::new("umount").arg("--lazy").arg(self.at()).status();
    }
}

/// Whether a program exists; prints that the test is skipped if not.
fn there(program: &str, test: &str) -> bool {
    let found = ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        .iter()
        .any(|directory| Path::new(directory).join(program).exists());
    if !found {
        println!("SKIP program {program}: {test}");
    }
    found
}

fn run(argv: &[&str]) -> String {
    let output = Command::new(argv[0]).args(&argv[1..]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{argv:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// A new file system of 512 MiB, created by these commands; none if that is not possible here.
fn mounted(mkfs: &[&str], options: &str, test: &str) -> Option<Mounted> {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP root: {test}");
        return None;
    }
    if !Path::new("/dev/loop-control").exists() {
        println!("SKIP loop devices: {test}");
        return None;
    }
    if !there("filefrag", test) || !there(mkfs[0], test) {
        return None;
    }
    // On disk, not in memory.
    let home = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = home.path().join("image");
    File::create(&image).unwrap().set_len(512 << 20).unwrap();
    run(&[mkfs, &[image.to_str().unwrap()]].concat());
    let at = home.path().join("mnt");
    fs::create_dir(&at).unwrap();
    let options = format!("loop,{options}");
    let words = [
        "mount",
        "-o",
        &options,
        image.to_str().unwrap(),
        at.to_str().unwrap(),
    ];
    run(&words);
    Some(Mounted { home })
}

/// A new file in a directory of its own.
fn file(root: &Path, name: &str) -> File {
    fs::create_dir(root.join(name)).unwrap();
    File::create(root.join(name).join("file")).unwrap()
}

fn noise(length: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Files with every kind of extent map, each in its own directory.
fn create(root: &Path) {
    let noise = noise(4 << 20);
    for name in ["one", "two"] {
        file(root, name);
    }
    // Appended alternately, each time durable: neither can be contiguous.
    for turn in 0..60 {
        for name in ["one", "two"] {
            let path = root.join(name).join("file");
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            let length = BLOCK * (1 + turn % 5);
            file.write_all(&noise[turn * BLOCK..][..length]).unwrap();
            file.sync_all().unwrap();
        }
    }
    file(root, "whole").write_all(&noise).unwrap();
    file(root, "empty");
    file(root, "tiny").write_all(b"a few bytes").unwrap();
    file(root, "hole").set_len(1 << 20).unwrap();
    let sparse = file(root, "sparse");
    for at in [100, 200, 300] {
        sparse
            .write_all_at(&noise[..BLOCK], at * BLOCK as u64)
            .unwrap();
    }
    // More extents than one call returns: every other block is a hole.
    let punched = file(root, "punched");
    punched.write_all_at(&noise, 0).unwrap();
    for at in (0..noise.len() as u64).step_by(2 * BLOCK) {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&punched, flags, at, BLOCK as u64).unwrap();
    }
    // Room without data, within the size and behind it.
    let reserved = file(root, "reserved");
    reserved.write_all_at(&noise[..BLOCK], 0).unwrap();
    let _ = fallocate(&reserved, FallocateFlags::KEEP_SIZE, 0, 1 << 20);
    // Written backwards, and in separate places.
    let backwards = file(root, "backwards");
    for at in (0..32).rev() {
        backwards
            .write_all_at(&noise[..BLOCK], at * 3 * BLOCK as u64)
            .unwrap();
        backwards.sync_all().unwrap();
    }
    file(root, "zeros").write_all(&vec![0; 1 << 20]).unwrap();
    // Shared, if the file system supports it.
    file(root, "clone");
    let (from, to) = (root.join("whole/file"), root.join("clone/file"));
    let paths = [from.to_str().unwrap(), to.to_str().unwrap()];
    run(&["cp", "--reflink=auto", paths[0], paths[1]]);
    run(&["sync", "-f", root.to_str().unwrap()]);
}

/// The number of extents that `filefrag` reports for a file.
fn filefrag(path: &Path) -> u64 {
    let output = run(&["filefrag", path.to_str().unwrap()]);
    let (_, rest) = output.rsplit_once(": ").unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

fn counted(root: &Path) -> Fragmentation {
    let found = count(root, Bytes(0), &CancelToken::new()).unwrap();
    assert_eq!(found.unavailable, None);
    assert_eq!(found.extents_by_size.iter().sum::<u64>(), found.extents);
    found
}

/// Creates the files, and compares the counted extents with `filefrag`, for each file and in total.
fn compare(mkfs: &[&str], options: &str, test: &str) {
    let Some(mounted) = mounted(mkfs, options, test) else {
        return;
    };
    let root = mounted.at().join("ground");
    fs::create_dir(&root).unwrap();
    create(&root);
    let mut sum = Fragmentation::default();
    for entry in fs::read_dir(&root).unwrap() {
        let directory = entry.unwrap().path();
        let expected = filefrag(&directory.join("file"));
        let found = counted(&directory);
        let counts = (found.files, found.extents, found.fragmented);
        assert_eq!(
            counts,
            (1, expected, u64::from(expected > 1)),
            "{mkfs:?} {options}: {}",
            directory.display()
        );
        sum.files += 1;
        sum.extents += expected;
        sum.fragmented += u64::from(expected > 1);
    }
    let all = counted(&root);
    assert_eq!(
        (all.files, all.extents, all.fragmented),
        (sum.files, sum.extents, sum.fragmented)
    );
    for name in ["one", "two"] {
        let found = counted(&root.join(name));
        assert!(found.extents > 1, "{mkfs:?}: {found:?}");
    }
    let bytes = |name: &str| counted(&root.join(name)).bytes;
    assert_eq!(bytes("whole"), Bytes(4 << 20), "{mkfs:?}");
    assert_eq!(bytes("punched"), Bytes(2 << 20), "{mkfs:?}");
    assert_eq!(bytes("hole"), Bytes(0), "{mkfs:?}");
    assert_eq!(bytes("sparse"), Bytes(3 * BLOCK as u64), "{mkfs:?}");
    let large = count(&root, Bytes((1 << 20) + 1), &CancelToken::new()).unwrap();
    assert_eq!(large.files, 4, "whole, punched, clone, sparse: {large:?}");
}

#[test]
fn extents_are_those_filefrag_counts_on_ext4_and_its_kin() {
    let test = "fragments_are_those_filefrag_counts_on_ext4_and_its_kin";
    compare(&["mkfs.ext4", "-q", "-F"], "defaults", test);
    let inline = ["mkfs.ext4", "-q", "-F", "-O", "inline_data", "-I", "256"];
    compare(&inline, "defaults", test);
    compare(&["mkfs.ext2", "-q", "-F"], "defaults", test);
}

#[test]
fn extents_are_those_filefrag_counts_on_xfs() {
    let test = "fragments_are_those_filefrag_counts_on_xfs";
    compare(&["mkfs.xfs", "-q", "-f"], "defaults", test);
}

#[test]
fn extents_are_those_filefrag_counts_on_btrfs_compressed_or_not() {
    let test = "fragments_are_those_filefrag_counts_on_btrfs_compressed_or_not";
    compare(&["mkfs.btrfs", "-q", "-f"], "defaults", test);
    compare(&["mkfs.btrfs", "-q", "-f"], "compress-force=zstd", test);
}

#[test]
fn a_file_system_that_keeps_no_map_is_not_available_and_never_zero() {
    let test = "a_file_system_that_keeps_no_map_is_not_available_and_never_zero";
    if !rustix::process::geteuid().is_root() {
        println!("SKIP root: {test}");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("mnt")).unwrap();
    let memory = Mounted { home };
    let at = memory.at();
    let words = ["mount", "-t", "tmpfs", "none", at.to_str().unwrap()];
    run(&words);
    fs::write(at.join("file"), noise(BLOCK)).unwrap();
    let found = count(&at, Bytes(0), &CancelToken::new()).unwrap();
    let reason = found.unavailable.clone().unwrap();
    assert!(reason.contains("FIEMAP"), "{reason}");
    assert_eq!(found.per_file(), None);
    assert_eq!(found.files, 0);
}

/// The number behind a word, wherever it is.
fn numbers_after(text: &str, word: &str) -> Vec<u64> {
    let rests = text.split(word).skip(1);
    rests
        .filter_map(|rest| {
            let digits = rest.trim_start().split(|c: char| !c.is_ascii_digit());
            digits.into_iter().next()?.parse().ok()
        })
        .collect()
}

#[test]
fn free_extents_are_as_many_as_the_file_system_keeps_account_of_bitmaps_included() {
    // So small a group turns into bitmaps with few holes.
    let mkfs: &[&str] = &["mkfs.btrfs", "-q", "-m", "single"];
    let test = "free_extents_are_as_many_as_the_file_system_keeps_account_of";
    let Some(mounted) = mounted(mkfs, "max_inline=0", test) else {
        return;
    };
    let at = mounted.at();
    for number in 0..4000 {
        fs::write(at.join(format!("f{number}")), [7; BLOCK]).unwrap();
    }
    rustix::fs::syncfs(File::open(&at).unwrap()).unwrap();
    for number in (0..4000).step_by(2) {
        fs::remove_file(at.join(format!("f{number}"))).unwrap();
    }
    let counts = fsdyno_datasets::free_space::free_space(&at, &CancelToken::new()).unwrap();
    run(&["umount", at.to_str().unwrap()]);
    let image = mounted.home.path().join("image");
    let program = mkfs[0].strip_prefix("mkfs.").unwrap();
    let words = ["inspect-internal", "dump-tree", "-t", "free_space_tree"];
    let dump = run(&[&[program], &words[..], &[image.to_str().unwrap()]].concat());
    assert!(dump.contains("free space bitmap"), "{dump}");
    let accounts: u64 = numbers_after(&dump, "extent count").iter().sum();
    let listed: u64 = numbers_after(&counts, "free extents:").iter().sum();
    assert!(accounts > 1900, "{accounts}");
    assert_eq!(listed, accounts, "{counts}\n{dump}");
}
