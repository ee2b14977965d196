//! `fsdyno bcachefs make` and `fsdyno bcachefs check` on files.

use crate::support::Home;
use std::fs::{self, File};

#[test]
fn files_with_content_are_overwritten_only_with_consent() {
    let home = Home::new();
    let paths = ["a", "b", "c"].map(|name| home.path(name));
    for path in &paths {
        File::create_new(path).unwrap().set_len(32 << 20).unwrap();
    }
    let [a, b, c] = paths.each_ref().map(|path| path.to_str().unwrap());
    let make = ["bcachefs", "make", "--replicas=2", a];
    let first = home.fsdyno(&[&make[..], &[c]].concat());
    assert_eq!(first.code, Some(0), "{}", first.err);
    assert!(first.out.contains("512 buckets"), "{}", first.out);
    assert_eq!(
        fs::read(c).unwrap()[8 * 512 + 24..][..4],
        [0xc6, 0x85, 0x73, 0xf6]
    );

    for path in [a, b] {
        fs::write(path, vec![b'x'; 32 << 20]).unwrap();
    }
    let held = |path| fs::read(path).unwrap().iter().all(|byte| *byte == b'x');
    let erase_a = &["--erase", "a"][..];
    for (words, reason) in [
        (&[b][..], "--erase 'a'"),
        (&[&[b], erase_a].concat(), "no --erase names it"),
        (&[&[a], erase_a].concat(), "it is named twice"),
    ] {
        let refused = home.fsdyno(&[&make[..], words].concat());
        assert_eq!(refused.code, Some(3), "{}", refused.err);
        assert!(refused.err.contains(reason), "{}", refused.err);
        assert!(held(a) && held(b), "{words:?}");
    }
    let again = home.fsdyno(&[&make[..], &[b, "--erase", "b"], erase_a].concat());
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(!held(a) && !held(b));
}

#[test]
fn impossible_options_are_refused_before_any_write() {
    let home = Home::new();
    let path = home.path("image");
    File::create_new(&path).unwrap().set_len(32 << 20).unwrap();
    let path = path.to_str().unwrap();
    for (option, words) in [
        ("--replicas=2", "each copy is on another device"),
        ("--block_size=8K", "possible: 512"),
        ("--compression=lz5", "none, lz4, gzip, zstd"),
        ("--data_checksum=md5", "none, crc32c, crc64, xxhash"),
    ] {
        let refused = home.fsdyno(&["bcachefs", "make", option, path]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    assert!(fs::read(path).unwrap().iter().all(|byte| *byte == 0));
    let checked = home.fsdyno(&["bcachefs", "check", path]);
    assert_eq!(checked.code, Some(2), "{}", checked.err);
    assert!(checked.err.contains("losetup"), "{}", checked.err);
}
