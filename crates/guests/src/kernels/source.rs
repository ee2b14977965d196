//! The source of kernels as a user names it: a directory, a revision, or a range of a repository.

use super::git::{GitError, Repository};
use super::trees::TreeSource;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Sources of one kernel, or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelSource {
    /// `tree:DIR`: the files of a directory.
    Tree(PathBuf),
    /// `git:DIR#REV`, or a range.
    Git {
        repository: PathBuf,
        commits: Commits,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commits {
    One(String),
    /// Every tag from the first revision to the second.
    Tags(String, String),
    /// Every n-th commit from the first revision on, and the second revision.
    Every(String, String, usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSource {
    /// Its name in reports: a tag, a short commit, or the name of a directory.
    pub name: String,
    files: Files,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Files {
    Directory(PathBuf),
    Commit(Repository, String),
}

impl NamedSource {
    /// The source as a [`KernelSource`] reads it, independent of the current directory and of later
    /// commits.
    pub fn lasting(&self) -> std::io::Result<KernelSource> {
        Ok(match &self.files {
            Files::Directory(path) => KernelSource::Tree(path.canonicalize()?),
            Files::Commit(repository, commit) => KernelSource::Git {
                repository: repository.git_dir().to_owned(),
                commits: Commits::One(commit.clone()),
            },
        })
    }

    pub fn source(&self) -> TreeSource<'_> {
        match &self.files {
            Files::Directory(path) => TreeSource::Directory(path),
            Files::Commit(repository, commit) => TreeSource::Revision(repository, commit),
        }
    }
}

impl KernelSource {
    /// The sources of each kernel, oldest first.
    pub fn all(&self) -> Result<Vec<NamedSource>, GitError> {
        let (path, commits) = match self {
            Self::Tree(path) => {
                let path = path.as_path();
                let named = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                let name = named.file_name().unwrap_or_default().to_string_lossy();
                return Ok(vec![NamedSource {
                    name: name.into_owned(),
                    files: Files::Directory(path.to_owned()),
                }]);
            }
            Self::Git {
                repository,
                commits,
            } => (repository, commits),
        };
        let repository = Repository::open(path)?;
        let of = |name: String, commit: String| NamedSource {
            name,
            files: Files::Commit(repository.clone(), commit),
        };
        let by_short_name = |commit: String| -> Result<NamedSource, GitError> {
            Ok(of(repository.about(&commit)?.short, commit))
        };
        match commits {
            Commits::One(revision) => Ok(vec![of(revision.clone(), repository.commit(revision)?)]),
            Commits::Tags(first, last) => {
                let (first, last) = (repository.commit(first)?, repository.commit(last)?);
                let tags = repository.tags(&first, &last)?;
                Ok(tags
                    .into_iter()
                    .map(|(tag, commit)| of(tag, commit))
                    .collect())
            }
            Commits::Every(first, last, step) => {
                let (first, last) = (repository.commit(first)?, repository.commit(last)?);
                let mut all = repository.between(&first, &last)?;
                let end = all.pop();
                let chosen = all.into_iter().step_by(*step).chain(end);
                chosen.map(by_short_name).collect()
            }
        }
    }
}

/// A text that names no sources.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no kernel sources: write tree:DIR, git:DIR#REV, git:DIR#A..B or git:DIR#A..B:N"
)]
pub struct NoSource(String);

impl FromStr for KernelSource {
    type Err = NoSource;

    fn from_str(text: &str) -> Result<Self, NoSource> {
        let wrong = || NoSource(text.to_owned());
        if let Some(path) = text.strip_prefix("tree:").filter(|path| !path.is_empty()) {
            return Ok(Self::Tree(path.into()));
        }
        let rest = text.strip_prefix("git:").ok_or_else(wrong)?;
        let (path, revisions) = rest.rsplit_once('#').ok_or_else(wrong)?;
        if path.is_empty() || revisions.is_empty() {
            return Err(wrong());
        }
        let commits = match revisions.split_once("..") {
            None => Commits::One(revisions.to_owned()),
            Some((first, rest)) => {
                // A revision holds no colon (`git-check-ref-format(1)`).
                let (last, step) = match rest.split_once(':') {
                    None => (rest, None),
                    Some((last, step)) => {
                        let step = step.parse().ok().filter(|step| *step > 0);
                        (last, Some(step.ok_or_else(wrong)?))
                    }
                };
                if first.is_empty() || last.is_empty() {
                    return Err(wrong());
                }
                let (first, last) = (first.to_owned(), last.to_owned());
                match step {
                    None => Commits::Tags(first, last),
                    Some(step) => Commits::Every(first, last, step),
                }
            }
        };
        Ok(Self::Git {
            repository: path.into(),
            commits,
        })
    }
}

impl fmt::Display for KernelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(path) => write!(f, "tree:{}", path.display()),
            Self::Git {
                repository,
                commits,
            } => {
                write!(f, "git:{}#", Path::display(repository))?;
                match commits {
                    Commits::One(revision) => f.write_str(revision),
                    Commits::Tags(first, last) => write!(f, "{first}..{last}"),
                    Commits::Every(first, last, step) => write!(f, "{first}..{last}:{step}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_and_printed_in_the_same_form() {
        for text in [
            "tree:/usr/src/linux",
            "git:/srv/linux#v6.12",
            "git:linux#HEAD~3",
            "git:linux#v6.6..v6.12",
            "git:linux#v6.6..v6.12:100",
        ] {
            let source: KernelSource = text.parse().unwrap();
            assert_eq!(source.to_string(), text);
        }
        for text in [
            "tree:",
            "linux",
            "git:linux",
            "git:linux#",
            "git:#v6",
            "git:linux#v6..",
            "git:linux#a..b:0",
            "git:linux#a..b:x",
        ] {
            let error = text.parse::<KernelSource>().unwrap_err().to_string();
            assert!(
                error.contains(text) && error.contains("git:DIR#REV"),
                "{error}"
            );
        }
    }
}
