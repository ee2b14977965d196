//! Kernels of commits, whose Makefile does in a moment what that of a kernel does.

use super::*;
use crate::kernels::building::BuildError;
use std::process::Command;
use tempfile::TempDir;

const MAKEFILE: &str = "allnoconfig:\n\tcp $(KCONFIG_ALLCONFIG) $(O)/.config\nlinux:\n\
    \t@! grep broken source.c >&2\n\
    \t@printf '#!/bin/sh\\necho 6.0-small\\n' > $(O)/linux && chmod +x $(O)/linux\n";

/// A file that a patch changes.
const PATCHED: (&str, &str) = (
    "arch/x86/um/user-offsets.c",
    "DEFINE_LONGS(HOST_FP_SIZE, 2696);\n",
);

/// A repository of small sources, and a cache.
struct WorkDir {
    root: TempDir,
}

impl WorkDir {
    fn new(test: &str) -> Option<Self> {
        let git = Command::new("git").arg("--version").output();
        let absent = git.is_err().then(|| "git".to_owned());
        let lack = tools::missing().first().map(|lack| lack.what.clone());
        if let Some(lack) = lack.or(absent) {
            println!("SKIP program {lack}: {test}");
            return None;
        }
        let new = Self {
            root: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(new.path("arch/x86/um")).unwrap();
        new.git(&["init", "-q"]);
        for (name, text) in [
            ("Makefile", MAKEFILE),
            ("Kconfig", "config HOSTFS\n"),
            ("source.c", "one\n"),
            ("other.c", "other\n"),
            // As the sources of a package have it.
            (".gitignore", "/*\n"),
            PATCHED,
        ] {
            fs::write(new.path(name), text).unwrap();
        }
        new.commit();
        Some(new)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("linux").join(name)
    }

    fn git(&self, words: &[&str]) -> String {
        let folder = self.root.path().join("linux");
        let mut command = Command::new("git");
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
            command.env_remove(name);
        }
        let output = command
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-C"])
            .arg(folder)
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn commit(&self) {
        self.git(&["add", "-A", "-f"]);
        self.git(&["commit", "-q", "-m", "a change"]);
    }

    /// A commit that writes this to a file.
    fn change(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        self.commit();
    }

    fn kernels(&self) -> Kernels {
        Kernels::in_folder(self.root.path().join("cache/tree-kernels"))
    }

    fn build(&self, source: TreeSource<'_>, must_count: bool) -> Result<Made, SetupError> {
        let order = TreeOrder {
            jobs: 1,
            must_count,
        };
        let stop = CancelToken::new();
        build(&self.kernels(), source, order, &stop, &mut |_| {})
    }

    fn build_commit(&self, revision: &str) -> Result<Made, SetupError> {
        let repository = Repository::open(&self.root.path().join("linux")).unwrap();
        self.build(TreeSource::Revision(&repository, revision), false)
    }

    /// A file of the private directory of sources.
    fn private(&self, name: &str) -> PathBuf {
        let unfinished = self.kernels().folder().join("unfinished");
        let mut entries = fs::read_dir(unfinished).unwrap().flatten();
        let folder = entries.find(|entry| entry.path().is_dir()).unwrap().path();
        folder.join("sources").join(name)
    }
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn commits_are_built_once_each_and_the_repository_is_never_written() {
    let named = "commits_are_built_once_each_and_the_repository_is_never_written";
    let Some(work_dir) = WorkDir::new(named) else {
        return;
    };
    work_dir.change("source.c", "two\n");
    // Changes that are neither staged nor committed.
    fs::write(work_dir.path("source.c"), "broken\n").unwrap();
    let state = || {
        let files = work_dir.git(&["status", "--porcelain"]);
        let index = fs::read(work_dir.path(".git/index")).unwrap();
        let objects = work_dir.git(&["count-objects", "-v"]);
        (files, index, objects)
    };
    let before = state();
    let one = work_dir.build_commit("HEAD^").unwrap();
    let (unchanged, patched) = (work_dir.private("other.c"), work_dir.private(PATCHED.0));
    let times = (modified(&unchanged), modified(&patched));
    assert!(fs::read_to_string(&patched).unwrap().contains("12288"));
    let two = work_dir.build_commit("HEAD").unwrap();
    assert!(!one.was_there && !two.was_there);
    assert_ne!(one.kernel.program, two.kernel.program);
    // Nothing is compiled again that did not change, and no file that a patch changes.
    assert_eq!((modified(&unchanged), modified(&patched)), times);
    assert_eq!(
        fs::read_to_string(work_dir.private("source.c")).unwrap(),
        "two\n"
    );
    assert!(work_dir.build_commit("HEAD^").unwrap().was_there);
    assert_eq!(state(), before);
    // None of them is the default kernel, in whichever folder they are.
    assert!(two.kernel.identity.named);
}

#[test]
fn a_file_that_a_later_commit_removes_is_not_compiled() {
    let named = "a_file_that_a_later_commit_removes_is_not_compiled";
    let Some(work_dir) = WorkDir::new(named) else {
        return;
    };
    work_dir.build_commit("HEAD").unwrap();
    fs::remove_file(work_dir.path("other.c")).unwrap();
    work_dir.commit();
    // As a killed checkout leaves them.
    fs::write(work_dir.private("stray.c"), "").unwrap();
    fs::write(work_dir.private("../index.lock"), "").unwrap();
    work_dir.build_commit("HEAD").unwrap();
    assert!(!work_dir.private("other.c").exists() && !work_dir.private("stray.c").exists());
}

#[test]
fn a_commit_that_does_not_compile_fails_with_the_last_lines_and_the_next_one_is_built() {
    let named =
        "a_commit_that_does_not_compile_fails_with_the_last_lines_and_the_next_one_is_built";
    let Some(work_dir) = WorkDir::new(named) else {
        return;
    };
    work_dir.change("source.c", "broken line\n");
    let failed = work_dir.build_commit("HEAD").unwrap_err();
    assert!(matches!(
        failed,
        SetupError::Build(BuildError::Failed { .. })
    ));
    assert!(failed.to_string().contains("broken line"), "{failed}");
    assert!(failed.is_of_sources());
    work_dir.change("source.c", "three\n");
    assert!(!work_dir.build_commit("HEAD").unwrap().was_there);
    let failed = work_dir
        .build_commit("no-such-tag")
        .unwrap_err()
        .to_string();
    assert!(failed.contains("no commit `no-such-tag`"), "{failed}");
}

#[test]
fn a_patch_that_does_not_fit_is_named_if_the_kernel_must_count() {
    let named = "a_patch_that_does_not_fit_is_named_if_the_kernel_must_count";
    let Some(work_dir) = WorkDir::new(named) else {
        return;
    };
    let repository = Repository::open(&work_dir.root.path().join("linux")).unwrap();
    let source = TreeSource::Revision(&repository, "HEAD");
    let failed = work_dir.build(source, true).unwrap_err().to_string();
    assert!(failed.contains("the patch of kernel/kcov.c"), "{failed}");
    // Also where the kernel exists.
    work_dir.build(source, false).unwrap();
    let failed = work_dir.build(source, true).unwrap_err().to_string();
    assert!(failed.contains("cannot count"), "{failed}");
}

#[test]
fn the_files_of_a_directory_are_built_as_they_are_now() {
    let named = "the_files_of_a_directory_are_built_as_they_are_now";
    let Some(work_dir) = WorkDir::new(named) else {
        return;
    };
    let folder = work_dir.root.path().join("linux");
    let build = || {
        work_dir
            .build(TreeSource::Directory(&folder), false)
            .unwrap()
    };
    let one = build();
    // The output of a build in the directory makes no other kernel.
    fs::write(work_dir.path("source.o"), "").unwrap();
    assert!(build().was_there);
    fs::write(work_dir.path("source.c"), "not committed\n").unwrap();
    let two = build();
    assert!(!two.was_there);
    assert_ne!(two.kernel.identity.source, one.kernel.identity.source);
}

#[test]
fn tags_and_ranges_are_listed_oldest_first() {
    let named = "tags_and_ranges_are_listed_oldest_first";
    let Some(work_dir) = WorkDir::new(named) else {
        return;
    };
    for number in 1..6 {
        work_dir.git(&["tag", &format!("v{number}")]);
        work_dir.change("source.c", &format!("{number}\n"));
    }
    work_dir.git(&["tag", "-a", "-m", "annotated", "v6"]);
    let repository = Repository::open(&work_dir.path("arch")).unwrap();
    let tags = repository.tags("v2", "v6").unwrap();
    let in_order: Vec<&str> = tags.iter().map(|(tag, _)| tag.as_str()).collect();
    assert_eq!(in_order, ["v2", "v3", "v4", "v5", "v6"]);
    let [first, last] = ["v2", "v6"].map(|tag| repository.commit(tag).unwrap());
    let between = repository.between(&first, &last).unwrap();
    assert_eq!(between.len(), 5);
    assert_eq!(
        (between.first(), between.last()),
        (Some(&first), Some(&last))
    );
    assert_eq!(tags[4].1, last, "of an annotated tag, the commit");
    let candidates = repository
        .candidates(&last, std::slice::from_ref(&first))
        .unwrap();
    assert_eq!(candidates.len(), 4);
    assert_eq!(candidates.last(), Some(&last));
    assert_eq!(repository.merge_base(&first, &last).unwrap(), Some(first));
    assert_eq!(repository.about(&last).unwrap().subject, "a change");
}
