//! The promises about power cuts beyond POSIX that the documentation of a file system makes.

use fsdyno_model::{Contender, DeclaredPromise, ExtraPromise};

/// A promise beyond POSIX, with the mount options that it depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Documented {
    pub promise: ExtraPromise,
    /// The document that makes it, with its version or date.
    pub source: &'static str,
    /// Mount options that it needs, all of them.
    pub with: &'static [&'static str],
    /// Mount options that revoke it, each of them.
    pub without: &'static [&'static str],
}

impl Documented {
    /// A promise that no mount option changes.
    pub const fn of(promise: ExtraPromise, source: &'static str) -> Self {
        Self {
            promise,
            source,
            with: &[],
            without: &[],
        }
    }

    /// Whether it holds with the mount options of a contender. Of contradicting options the kernel
    /// uses the last; then nothing is promised.
    pub fn holds(&self, contender: &Contender) -> bool {
        let has = |option: &&str| contender.mount.iter().any(|one| one == *option);
        self.with.iter().all(has) && !self.without.iter().any(has)
    }

    pub fn declared(&self) -> DeclaredPromise {
        DeclaredPromise {
            promise: self.promise,
            source: self.source.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use fsdyno_model::{Contender, ExtraPromise};

    fn promises(contender: &str) -> Vec<ExtraPromise> {
        let contender = Contender::parse(contender, &crate::kind_of).unwrap();
        let recipe = crate::find(&contender.filesystem).unwrap();
        let declared = recipe.extra_promises(&contender);
        assert!(
            declared
                .iter()
                .all(|one| one.source.contains(char::is_numeric))
        );
        declared.into_iter().map(|one| one.promise).collect()
    }

    #[test]
    fn promises_depend_on_mount_options() {
        use ExtraPromise::{AllLinkNames, DependentMetadata, OrderedMetadata, ReplaceByRename};
        let journal = [OrderedMetadata, AllLinkNames];
        let cases: [(&str, &[ExtraPromise]); 9] = [
            ("ext2", &[]),
            ("ext4", &[OrderedMetadata, AllLinkNames, ReplaceByRename]),
            (
                "ext3:noatime",
                &[OrderedMetadata, AllLinkNames, ReplaceByRename],
            ),
            ("ext4:noatime,noauto_da_alloc", &journal),
            ("ext4:data=writeback", &journal),
            ("xfs", &journal),
            ("btrfs", &[DependentMetadata]),
            ("f2fs", &[]),
            ("f2fs:fsync_mode=strict", &[DependentMetadata]),
        ];
        for (contender, expected) in cases {
            assert_eq!(promises(contender), expected, "{contender}");
        }
    }

    #[test]
    fn data_may_be_stale_with_options_and_file_systems_whose_documents_permit_it() {
        let stale = |contender: &str| {
            let contender = Contender::parse(contender, &crate::kind_of).unwrap();
            crate::find(&contender.filesystem)
                .unwrap()
                .shows_stale_data(&contender)
        };
        assert!(stale("ext4:data=writeback"));
        assert!(!stale("ext4") && !stale("ext4:data=journal"));
        assert!(stale("jfs") && stale("f2fs") && !stale("xfs"));
    }
}
