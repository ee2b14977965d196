//! The sources of a kernel: the archive of the distribution's package, installed or downloaded, or
//! an archive that the user names.

use super::identity::sha256;
use super::tools::{self, words};
use fsdyno_files::{input, programs};
use fsdyno_host::command::{self, CommandError};
use fsdyno_model::CancelToken;
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The directory of the archive of an installed package.
pub(super) const FOLDER: &str = "/usr/src";

/// The prefix of the package and of its archive.
const STEM: &str = "linux-source-";

/// The recommended version: the last that supports the whole fragment.
const BEST: &str = "6.12";

/// The largest archive that is read, bytes. The sources of a kernel are 2 GiB unpacked.
const LARGEST: u64 = 8 << 30;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sources {
    /// Their name in the identity: the package with its version, or a file with its digest.
    pub name: String,
    /// The archive, or the package that has it.
    pub from: From,
}

/// The origin of sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum From {
    Archive(PathBuf),
    Package(String),
}

#[derive(Debug, thiserror::Error)]
pub enum SourcesError {
    /// There are none, and none can be downloaded.
    #[error(
        "no sources of a kernel: no {FOLDER}/{STEM}*.tar.xz, and apt-get knows no package {STEM}{BEST}; apt-get update, or name an archive with --source"
    )]
    None,
    /// The archive cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Unread {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },
    /// The package could not be downloaded.
    #[error("cannot fetch {package}: {what}; install it by hand: apt-get install {package}")]
    Fetch { package: String, what: String },
    /// A program did not run.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Finds sources: those that the user named, otherwise the best of the distribution, installed ones
/// first.
pub(super) fn find(named: Option<&Path>, stop: &CancelToken) -> Result<Sources, SourcesError> {
    if let Some(path) = named {
        return of_file(path);
    }
    let here = archives(Path::new(FOLDER));
    let best = format!("{STEM}{BEST}");
    if let Some((_, archive)) = here.iter().find(|(package, _)| *package == best) {
        return of_package(&best, archive, stop);
    }
    if let Some(version) = candidate(&best, stop)? {
        return Ok(Sources {
            name: format!("{best} {version}"),
            from: From::Package(best),
        });
    }
    // Another version supports less and reports what.
    let newest = here.first().ok_or(SourcesError::None)?;
    of_package(&newest.0, &newest.1, stop)
}

/// The archives in a folder with the names of their packages, the newest version first.
fn archives(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let package = name.split_once(".tar.")?.0;
            let version = package.strip_prefix(STEM)?;
            version
                .starts_with(|c: char| c.is_ascii_digit())
                .then(|| (package.to_owned(), entry.path()))
        })
        .collect();
    all.sort_by_key(|(package, _)| Reverse(numbers(package)));
    all
}

/// The numbers in a version: 6.9 is older than 6.12.
pub(super) fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

fn of_file(path: &Path) -> Result<Sources, SourcesError> {
    let (name, path) = named(path)?;
    let from = From::Archive(path);
    Ok(Sources { name, from })
}

/// The name of an archive that the user names, with its digest, and its absolute path.
pub(super) fn named(path: &Path) -> Result<(String, PathBuf), SourcesError> {
    let unread = |cause| SourcesError::Unread {
        path: path.to_owned(),
        cause,
    };
    let path = std::path::absolute(path).map_err(unread)?;
    let digest = input::open_bounded(&path, LARGEST).and_then(|file| sha256(&file));
    let digest = digest.map_err(unread)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split(".tar").next().unwrap_or_default();
    Ok((format!("{stem} sha256 {digest}"), path))
}

/// An archive that a package installed; one of another origin is identified by its digest.
fn of_package(package: &str, archive: &Path, stop: &CancelToken) -> Result<Sources, SourcesError> {
    let Some(version) = installed(package, stop)? else {
        return of_file(archive);
    };
    Ok(Sources {
        name: format!("{package} {version}"),
        from: From::Archive(archive.to_owned()),
    })
}

/// The version of an installed package.
pub(super) fn installed(package: &str, stop: &CancelToken) -> Result<Option<String>, CommandError> {
    if programs::find("dpkg-query").is_none() {
        return Ok(None);
    }
    let argv = words(&["dpkg-query", "-W", "-f", "${Version}", package]);
    let reported = command::query(&argv, stop)?;
    let version = reported.stdout.trim().to_owned();
    Ok((reported.success() && !version.is_empty()).then_some(version))
}

/// The version of a package that can be downloaded.
fn candidate(package: &str, stop: &CancelToken) -> Result<Option<String>, CommandError> {
    let policy = printed(&["apt-cache", "policy", package], stop)?;
    Ok(candidate_of(&policy))
}

fn candidate_of(policy: &str) -> Option<String> {
    let mut lines = policy.lines().map(str::trim);
    let version = lines.find_map(|line| line.strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// The archive of these sources. A package is installed if this user may do so, otherwise unpacked
/// into `folder`, which must exist.
pub(super) fn archive(
    sources: &Sources,
    folder: &Path,
    stop: &CancelToken,
) -> Result<PathBuf, SourcesError> {
    let package = match &sources.from {
        From::Archive(path) => return Ok(path.clone()),
        From::Package(package) => package,
    };
    let failed = |what: String| SourcesError::Fetch {
        package: package.clone(),
        what,
    };
    let unread = |cause| SourcesError::Unread {
        path: folder.to_owned(),
        cause,
    };
    let place = if tools::installs() {
        let installed = tools::install(std::slice::from_ref(package), stop)?;
        installed.map_err(failed)?;
        PathBuf::from(FOLDER)
    } else {
        download(std::slice::from_ref(package), folder, stop)?.map_err(failed)?;
        folder.join("usr/src")
    };
    if place.starts_with(folder) {
        // The package was unpacked; a second copy of the archive is not needed.
        for entry in fs::read_dir(folder).map_err(unread)?.flatten() {
            if entry.path().extension().is_some_and(|end| end == "deb") {
                fs::remove_file(entry.path()).map_err(unread)?;
            }
        }
    }
    let archives = archives(&place);
    let ours = archives.into_iter().find(|(name, _)| name == package);
    ours.map(|(_, path)| path)
        .ok_or_else(|| failed(format!("it holds no archive in {}", place.display())))
}

/// Downloads packages as an ordinary user, and unpacks them into a directory without other packages.
/// Returns the messages if that failed.
pub(super) fn download(
    packages: &[String],
    folder: &Path,
    stop: &CancelToken,
) -> Result<Result<(), String>, CommandError> {
    // The destination is the working directory, passed as an argument and not as shell text.
    let script = "cd -- \"$1\" && shift && apt-get -q download \"$@\" && \
        for package in *.deb; do dpkg-deb -x \"$package\" . || exit; done";
    let Some(place) = folder.to_str() else {
        return Ok(Err(format!("{} is no text", folder.display())));
    };
    let mut argv = words(&["sh", "-c", script, "sh", place]);
    argv.extend(packages.iter().cloned());
    let finished = command::run(&argv, stop)?;
    Ok(if finished.success() {
        Ok(())
    } else {
        Err(finished.failure(&argv))
    })
}

/// What a query of packages prints; nothing if the program does not exist.
pub(super) fn printed(argv: &[&str], stop: &CancelToken) -> Result<String, CommandError> {
    if programs::find(argv[0]).is_none() {
        return Ok(String::new());
    }
    Ok(command::query(&words(argv), stop)?.stdout)
}

/// Unpacks an archive of sources into an empty directory, without its first directory. Returns the messages
/// if that failed.
pub(super) fn unpack(
    archive: &Path,
    to: &Path,
    stop: &CancelToken,
) -> Result<Result<(), String>, CommandError> {
    let mut argv = words(&["tar", "--strip-components=1", "--no-same-owner", "-C"]);
    for (path, word) in [(to, "-xf"), (archive, "")] {
        let Some(text) = path.to_str() else {
            let why = format!("{} is no text, as tar is given it", path.display());
            return Ok(Err(why));
        };
        argv.push(text.to_owned());
        argv.extend((!word.is_empty()).then(|| word.to_owned()));
    }
    let finished = command::run(&argv, stop)?;
    Ok(if finished.success() {
        Ok(())
    } else {
        Err(finished.failure(&argv))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_recognised_by_name_and_sorted_newest_first() {
        let work_dir = tempfile::tempdir().unwrap();
        for name in [
            "linux-source-6.1.tar.xz",
            "linux-source-6.12.tar.xz",
            "linux-source-6.9.tar.xz",
            "linux-source-6.1",
            "linux-config-6.1",
            "linux-source-mine.tar.xz",
            "gcc-12.tar.xz",
        ] {
            fs::write(work_dir.path().join(name), "").unwrap();
        }
        let found = archives(work_dir.path());
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["linux-source-6.12", "linux-source-6.9", "linux-source-6.1"]
        );
    }

    #[test]
    fn what_could_be_fetched_is_read_off_the_policy() {
        let there = "linux-source-6.12:\n  Installed: (none)\n  Candidate: 6.12.5-1~deb12u1\n";
        assert_eq!(candidate_of(there).as_deref(), Some("6.12.5-1~deb12u1"));
        assert_eq!(candidate_of("x:\n  Candidate: (none)\n"), None);
        assert_eq!(candidate_of(""), None);
    }

    #[test]
    fn a_file_that_is_named_goes_by_its_digest_and_one_that_is_not_there_is_named() {
        let work_dir = tempfile::tempdir().unwrap();
        let path = work_dir.path().join("linux-6.6.tar.xz");
        let stop = CancelToken::new();
        let error = find(Some(&path), &stop).unwrap_err().to_string();
        assert!(error.contains("linux-6.6.tar.xz"), "{error}");
        fs::write(&path, "abc").unwrap();
        let one = find(Some(&path), &stop).unwrap();
        assert!(one.name.starts_with("linux-6.6 sha256 ba78"), "{one:?}");
        fs::write(&path, "abcd").unwrap();
        assert_ne!(find(Some(&path), &stop).unwrap().name, one.name);
    }
}
