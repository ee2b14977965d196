//! A git repository with kernel sources, read only: revisions, ranges, and the files of a commit in a
//! private directory.
//!
//! The index and the work tree of the repository are never used. A checkout has its own index, so
//! that the next one writes only the files that differ.

use fsdyno_files::programs;
use fsdyno_host::command::{self, CommandError, Limits, last_lines};
use fsdyno_host::signals;
use fsdyno_model::CancelToken;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment variables with which a calling git (`git bisect run`) would redirect this git.
const REDIRECTING: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
];

/// Settings of a repository that would change its files, start programs, or leave files out.
const SETTINGS: [&str; 6] = [
    "core.autocrlf=false",
    "core.fsmonitor=false",
    "core.sparseCheckout=false",
    "core.untrackedCache=false",
    "core.hooksPath=/dev/null",
    "advice.detachedHead=false",
];

/// How many last lines explain an error of git.
const LAST_LINES: usize = 5;

/// The error of a repository that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("`git {act}` failed in {}: {what}", folder.display())]
    Failed {
        folder: PathBuf,
        act: String,
        what: String,
    },
    #[error("cannot run git: {0}; apt-get install git")]
    Run(#[source] io::Error),
    #[error("{} has no commit `{revision}`", folder.display())]
    NoRevision { folder: PathBuf, revision: String },
    /// git was ended, or not found.
    #[error(transparent)]
    Command(#[from] CommandError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    git_dir: PathBuf,
}

impl Repository {
    /// The repository of this directory, which is its work tree, a part of it, or bare.
    pub fn open(folder: &Path) -> Result<Self, GitError> {
        let mut command = plain()?;
        let words = ["rev-parse", "--absolute-git-dir"];
        command.arg("-C").arg(folder).args(words);
        let text = finish(command, folder, "rev-parse --absolute-git-dir")?;
        Ok(Self {
            git_dir: text.trim_end_matches('\n').into(),
        })
    }

    /// The directory of its objects and references.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    pub fn commit(&self, revision: &str) -> Result<String, GitError> {
        self.object(revision, "commit")
    }

    /// The name of the tree of a revision: the content of all its files.
    pub fn tree(&self, revision: &str) -> Result<String, GitError> {
        self.object(revision, "tree")
    }

    fn object(&self, revision: &str, kind: &str) -> Result<String, GitError> {
        let named = format!("{revision}^{{{kind}}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let mut command = self.command()?;
        command.args(words).arg(&named);
        match finish(command, &self.git_dir, "rev-parse") {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(GitError::Failed { folder, what, .. }) if what.is_empty() => {
                Err(GitError::NoRevision {
                    folder,
                    revision: revision.to_owned(),
                })
            }
            Err(error) => Err(error),
        }
    }

    pub fn has_file(&self, commit: &str, path: &str) -> Result<bool, GitError> {
        let mut command = self.command()?;
        command
            .args(["cat-file", "-e"])
            .arg(format!("{commit}:{path}"));
        match finish(command, &self.git_dir, "cat-file") {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The common ancestor of two commits, if there is one.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        match self.read(&["merge-base", one, other]) {
            Ok(text) => Ok(text.lines().next().map(str::to_owned)),
            Err(GitError::Failed { what, .. }) if what.is_empty() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The commits that may be the first bad one, those that halve the rest first (`git-rev-list(1)`,
    /// `--bisect-all`).
    pub fn candidates(&self, bad: &str, good: &[String]) -> Result<Vec<String>, GitError> {
        let mut words = vec!["rev-list", "--bisect-all", bad, "--not"];
        words.extend(good.iter().map(String::as_str));
        let text = self.read(&words)?;
        let commits = text.lines().filter_map(|line| line.split(' ').next());
        Ok(commits.map(str::to_owned).collect())
    }

    /// The commits from `first` to `last` that have a tag, both included if they have one, oldest
    /// first, each with its tag.
    pub fn tags(&self, first: &str, last: &str) -> Result<Vec<(String, String)>, GitError> {
        let format = "--format=%(refname:strip=2) %(objectname) %(*objectname)";
        let merged = format!("--merged={last}");
        let contains = format!("--contains={first}");
        let text = self.read(&["for-each-ref", format, &merged, &contains, "refs/tags"])?;
        let mut tags: Vec<(String, String)> = text
            .lines()
            .filter_map(|line| {
                // An annotated tag has an object of its own, before that of its commit.
                let mut words = line.split_whitespace();
                let (tag, object) = (words.next()?, words.next()?);
                Some((tag.to_owned(), words.next().unwrap_or(object).to_owned()))
            })
            .collect();
        let order = self.between(first, last)?;
        let place = |commit: &str| order.iter().position(|one| one == commit);
        tags.sort_by_key(|(tag, commit)| (place(commit), tag.clone()));
        Ok(tags)
    }

    /// The commits from `first` to `last`, both included, oldest first, by first parents.
    pub fn between(&self, first: &str, last: &str) -> Result<Vec<String>, GitError> {
        let excluded = format!("^{first}");
        let words = ["rev-list", "--reverse", "--first-parent", last, &excluded];
        let text = self.read(&words)?;
        let mut all = vec![first.to_owned()];
        all.extend(text.lines().map(str::to_owned));
        Ok(all)
    }

    /// All commits of branches, tags and the current revision: each after its parents.
    pub fn parents_first(&self) -> Result<Vec<String>, GitError> {
        let words = ["rev-list", "--reverse", "--topo-order", "--all", "HEAD"];
        Ok(self.read(&words)?.lines().map(str::to_owned).collect())
    }

    /// The commit as `git log` shows it.
    pub fn about(&self, commit: &str) -> Result<About, GitError> {
        let format = "--format=%h%n%an <%ae>%n%ad%n%s";
        let text = self.read(&["log", "-1", "--no-show-signature", format, commit, "--"])?;
        let mut lines = text.lines().map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        Ok(About {
            commit: commit.to_owned(),
            short: next(),
            author: next(),
            date: next(),
            subject: next(),
        })
    }

    /// The files that a commit changes, with the numbers of lines (`--stat`).
    pub fn changes(&self, commit: &str) -> Result<String, GitError> {
        let words = [
            "show",
            "--no-show-signature",
            "--no-ext-diff",
            "--no-textconv",
            "--stat=72",
            "--format=",
            commit,
            "--",
        ];
        self.read(&words)
    }

    /// The first parent of a commit; none for a root.
    pub fn parent(&self, commit: &str) -> Result<Option<String>, GitError> {
        match self.commit(&format!("{commit}^1")) {
            Ok(parent) => Ok(Some(parent)),
            Err(GitError::NoRevision { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the files of a tree to `sources`, with the index of an earlier call for this
    /// directory. Only files that differ are written. Files that are not in the tree are removed.
    pub(super) fn check_out(
        &self,
        tree: &str,
        sources: &Path,
        index: &Path,
        stop: &CancelToken,
    ) -> Result<(), GitError> {
        for words in [
            &["read-tree", "--reset", "-u", tree][..],
            &["clean", "-ffdxq"],
        ] {
            self.run_on(sources, index, words, stop)?;
        }
        Ok(())
    }

    /// Creates an empty repository, in which files of directories are stored as trees.
    pub(super) fn create(git_dir: &Path, stop: &CancelToken) -> Result<Self, GitError> {
        if !git_dir.join("HEAD").exists() {
            let path = git_dir.as_os_str();
            run(
                &[OsStr::new("init"), "-q".as_ref(), "--bare".as_ref(), path],
                &[],
                stop,
            )?;
        }
        Ok(Self {
            git_dir: git_dir.to_owned(),
        })
    }

    /// Stores the files of a directory in this repository and returns the name of the tree. Output of
    /// an earlier build in the directory is left out.
    pub(super) fn store_tree(
        &self,
        folder: &Path,
        index: &Path,
        stop: &CancelToken,
    ) -> Result<String, GitError> {
        // The sources of a package may ignore all their files. Built files are no sources.
        let mut words = vec!["add", "-A", "-f", "--", "."];
        words.extend(BUILT);
        self.run_on(folder, index, &words, stop)?;
        let mut command = self.command()?;
        command.env("GIT_INDEX_FILE", index).arg("write-tree");
        let text = finish(command, folder, "write-tree")?;
        Ok(text.trim().to_owned())
    }

    /// Runs git on a directory with an index of its own.
    fn run_on(
        &self,
        folder: &Path,
        index: &Path,
        words: &[&str],
        stop: &CancelToken,
    ) -> Result<(), GitError> {
        let mut all = vec![
            OsStr::new("-C"),
            folder.as_os_str(),
            OsStr::new("--git-dir"),
            self.git_dir.as_os_str(),
            OsStr::new("--work-tree"),
            folder.as_os_str(),
        ];
        all.extend(words.iter().map(OsStr::new));
        run(&all, &[("GIT_INDEX_FILE", index)], stop)
    }

    fn read(&self, words: &[&str]) -> Result<String, GitError> {
        let mut command = self.command()?;
        command.args(words);
        finish(command, &self.git_dir, &words.join(" "))
    }

    fn command(&self) -> Result<Command, GitError> {
        let mut command = plain()?;
        command.arg("--git-dir").arg(&self.git_dir);
        Ok(command)
    }
}

/// Files of a build in the source tree. If they exist, make refuses to build in another directory.
const BUILT: [&str; 9] = [
    ":(exclude,glob)**/*.o",
    ":(exclude,glob)**/*.a",
    ":(exclude,glob)**/*.ko",
    ":(exclude,glob)**/.*.cmd",
    ":(exclude).config",
    ":(exclude)include/config",
    ":(exclude)include/generated",
    ":(exclude,glob)arch/*/include/generated",
    ":(exclude,glob)**/.git",
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    pub commit: String,
    pub short: String,
    pub author: String,
    pub date: String,
    /// The first line of its message.
    pub subject: String,
}

/// A git command without redirecting variables, and without programs that the repository
/// configures.
fn plain() -> Result<Command, GitError> {
    let mut command = programs::command("git").map_err(GitError::Run)?;
    for name in REDIRECTING {
        command.env_remove(name);
    }
    for setting in SETTINGS {
        command.arg("-c").arg(setting);
    }
    command.env("LC_ALL", "C").env("GIT_OPTIONAL_LOCKS", "0");
    Ok(command)
}

/// Runs a command that only reads, and returns its output.
fn finish(command: Command, folder: &Path, act: &str) -> Result<String, GitError> {
    let line = format!("git {act}");
    let ended = command::query_command(command, line, Limits::LONG, &signals::of_process())?;
    if !ended.success() {
        return Err(GitError::Failed {
            folder: folder.to_owned(),
            act: act.to_owned(),
            what: last_lines(&ended.stderr, LAST_LINES),
        });
    }
    Ok(ended.stdout)
}

/// Runs a long command, which can be cancelled.
fn run(words: &[&OsStr], variables: &[(&str, &Path)], stop: &CancelToken) -> Result<(), GitError> {
    let mut argv = vec!["env".to_owned()];
    for name in REDIRECTING {
        argv.extend(["-u".to_owned(), name.to_owned()]);
    }
    for (name, path) in variables {
        argv.push(format!("{name}={}", path.display()));
    }
    argv.push("git".to_owned());
    for setting in SETTINGS {
        argv.extend(["-c".to_owned(), setting.to_owned()]);
    }
    argv.extend(words.iter().map(|word| word.to_string_lossy().into_owned()));
    let finished = command::run(&argv, stop)?;
    if finished.success() {
        return Ok(());
    }
    let what = match finished.stderr.trim() {
        "" => finished.failure(&argv),
        text => last_lines(text, LAST_LINES),
    };
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    Err(GitError::Failed {
        folder: std::env::current_dir().unwrap_or_default(),
        act: words.join(" "),
        what,
    })
}
