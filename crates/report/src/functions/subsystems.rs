//! The subsystem of a function, by the path of its source file. What a file system does is recognised by
//! the words that file systems name their files with, not by the names of file systems.

/// The subsystem of functions whose source file is not known.
pub const UNKNOWN: &str = "source not known";

/// Code of the kernel that is in no other subsystem.
pub const OTHER: &str = "kernel, other";

/// The directory of file systems. Below that of one, words decide.
const FILE_SYSTEMS: &str = "fs/";

const OTHER_FILE_SYSTEM: &str = "file system, other";

/// Subsystems by the start of the path; the first that fits.
const PREFIXES: [(&str, &str); 36] = [
    ("fs/crypto/", "encryption"),
    ("fs/verity/", "checksums"),
    ("fs/quota/", "quota"),
    ("fs/notify/", "notification"),
    ("fs/iomap/", "page cache"),
    ("fs/buffer", "page cache"),
    ("fs/mpage", "page cache"),
    ("fs/fs-writeback", "page cache"),
    ("fs/sync", "page cache"),
    ("mm/filemap", "page cache"),
    ("mm/page-writeback", "page cache"),
    ("mm/readahead", "page cache"),
    ("mm/truncate", "page cache"),
    ("mm/swap", "page cache"),
    ("mm/folio", "page cache"),
    ("mm/vmscan", "page cache"),
    ("mm/workingset", "page cache"),
    ("mm/", "memory"),
    ("block/", "block layer"),
    ("drivers/block/", "block layer"),
    ("drivers/md/", "block layer"),
    ("drivers/virtio/", "block layer"),
    ("arch/um/drivers/", "block layer"),
    ("crypto/", "checksums"),
    ("lib/crc", "checksums"),
    ("lib/crypto/", "checksums"),
    ("lib/xxhash", "checksums"),
    ("lib/lz4/", "compression"),
    ("lib/lzo/", "compression"),
    ("lib/zlib_", "compression"),
    ("lib/zstd/", "compression"),
    ("kernel/locking/", "locks and RCU"),
    ("kernel/rcu/", "locks and RCU"),
    ("kernel/sched/", "scheduler"),
    ("kernel/workqueue", "scheduler"),
    ("kernel/time/", "timers"),
];

/// Helpers that count for their callers.
const LIBRARY: &str = "lib/";

/// Subsystems of a file system by words in the path below its directory, in lower-case letters with a space
/// on both sides; the first that fits.
const WORDS: [(&[&str], &str); 9] = [
    (&["attr ", " attr", " acl "], "attributes"),
    (
        &[
            " log ",
            " journal",
            " jbd ",
            " trans",
            " txn",
            " commit ",
            " checkpoint ",
            " recover",
            " cil ",
            " ail ",
            " defer ",
            " revoke ",
            " logmgr ",
            " fslog ",
        ],
        "journal",
    ),
    (
        &[
            " dir ",
            " dirent ",
            " directory ",
            " namei ",
            " hash ",
            " da ",
            " dtree ",
        ],
        "directories",
    ),
    (&[" checksum ", " csum "], "checksums"),
    (
        &[
            "alloc ",
            " bitmap ",
            " space ",
            " free ",
            " extfree ",
            " segment ",
            " gc ",
            " group ",
            " rsv ",
            " resv ",
            " refcount ",
            " rmap ",
            " ref ",
            " buckets ",
            " extent tree ",
            " fatent ",
            " sufile ",
            " dmap ",
            " imap ",
            " discard ",
        ],
        "allocation",
    ),
    (
        &[" buf ", " metapage ", " disk io ", " extent io "],
        "metadata buffers",
    ),
    (
        &[
            " extent",
            " bmap ",
            " iomap ",
            " indirect ",
            " map ",
            " iext ",
            " xtree ",
            " ordered ",
            " run ",
        ],
        "file mapping",
    ),
    (
        &["tree ", " node ", " btnode ", " bset ", " bkey "],
        "trees",
    ),
    (&[" inode ", " icache ", " iunlink ", " ifile "], "inodes"),
];

/// The subsystem of a function of this source file; none if it is that of its caller.
pub fn subsystem(source: &str) -> Option<&'static str> {
    if source.is_empty() {
        return Some(UNKNOWN);
    }
    let by_prefix = PREFIXES
        .iter()
        .find(|(prefix, _)| source.starts_with(prefix));
    if let Some((_, subsystem)) = by_prefix {
        return Some(subsystem);
    }
    if source.starts_with(LIBRARY) {
        return None;
    }
    let Some(below) = source.strip_prefix(FILE_SYSTEMS) else {
        return Some(OTHER);
    };
    let Some((directory, file)) = below.split_once('/') else {
        return Some("paths and descriptors");
    };
    // A directory may be that of a journal which several file systems share.
    let name: String = format!("/{directory}/{file}/")
        .chars()
        .map(|c| if c.is_ascii_alphabetic() { c } else { ' ' })
        .collect();
    let fits = |(words, _): &&(&[&str], &str)| words.iter().any(|word| name.contains(word));
    let by_word = WORDS.iter().find(fits);
    Some(by_word.map_or(OTHER_FILE_SYSTEM, |(_, subsystem)| subsystem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_file_is_of_the_subsystem_that_its_path_names() {
        for (source, expected) in [
            ("fs/ext4/mballoc", Some("allocation")),
            ("fs/ext4/ext4_jbd2", Some("journal")),
            ("fs/jbd2/commit", Some("journal")),
            ("fs/ext4/namei", Some("directories")),
            ("fs/ext4/extents", Some("file mapping")),
            ("fs/ext4/inode", Some("inodes")),
            ("fs/ext4/super", Some(OTHER_FILE_SYSTEM)),
            ("fs/xfs/libxfs/xfs_dir2_leaf", Some("directories")),
            ("fs/xfs/libxfs/xfs_bmap_btree", Some("file mapping")),
            ("fs/xfs/libxfs/xfs_btree", Some("trees")),
            ("fs/xfs/libxfs/xfs_ialloc", Some("allocation")),
            ("fs/xfs/xfs_trans_ail", Some("journal")),
            ("fs/xfs/xfs_buf", Some("metadata buffers")),
            ("fs/btrfs/extent-tree", Some("allocation")),
            ("fs/btrfs/ctree", Some("trees")),
            ("fs/btrfs/tree-log", Some("journal")),
            ("fs/btrfs/direct-io", Some(OTHER_FILE_SYSTEM)),
            ("fs/f2fs/xattr", Some("attributes")),
            ("fs/namei", Some("paths and descriptors")),
            ("mm/filemap", Some("page cache")),
            ("mm/slub", Some("memory")),
            ("block/blk-mq", Some("block layer")),
            ("lib/crc32", Some("checksums")),
            ("lib/rbtree", None),
            ("kernel/fork", Some(OTHER)),
            ("", Some(UNKNOWN)),
        ] {
            assert_eq!(subsystem(source), expected, "{source}");
        }
    }
}
