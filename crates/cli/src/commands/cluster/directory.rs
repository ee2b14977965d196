//! The directory of a distributed run. Each shard has a store of its own, so that no two machines
//! write to one file. A store is renamed when its shard is complete.

use crate::exit::CliError;
use fsdyno_files::TrustedDir;
use fsdyno_model::Shard;
use fsdyno_model::step::shell_line;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory, as an absolute path.
pub struct Directory(PathBuf);

impl Directory {
    /// The directory at this path. Its path becomes part of scripts and job options.
    pub fn at(path: &Path) -> Result<Self, CliError> {
        let path = std::path::absolute(path)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
        match path.to_str() {
            Some(text) if text.chars().all(plain) => Ok(Self(path)),
            _ => Err(CliError::usage(format!(
                "--dir {}: schedulers and shells read this path. Use letters, digits and -_./ only",
                path.display()
            ))),
        }
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Creates it with its directory of logs, which is returned. Refused if another user can change
    /// them: the jobs write there as this user.
    pub fn create(&self) -> Result<TrustedDir, CliError> {
        TrustedDir::create(&self.0.join("logs")).map_err(CliError::failure)
    }

    pub fn complete(&self, shard: Shard) -> PathBuf {
        self.0
            .join(format!("shard-{}-of-{}.db", shard.number, shard.of))
    }

    /// The store of a shard that is not complete.
    pub fn partial(&self, shard: Shard) -> PathBuf {
        self.complete(shard).with_extension("part.db")
    }

    pub fn log(&self, number: &str) -> PathBuf {
        self.0.join("logs").join(format!("shard-{number}.log"))
    }

    /// The store of the whole run.
    pub fn merged(&self) -> PathBuf {
        self.0.join("merged.db")
    }

    /// The shell line that merges all complete shards.
    pub fn merge_line(&self, program: &[String]) -> String {
        format!(
            "{} --store {} merge {}/shard-*-of-*[0-9].db",
            shell_line(program),
            self.merged().display(),
            self.0.display()
        )
    }

    /// The shards that have a store, and whether it is complete.
    pub fn shards(&self) -> io::Result<Vec<(Shard, bool)>> {
        let mut shards = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let name = entry?.file_name();
            let shard = name.to_str().and_then(|name| {
                let name = name.strip_prefix("shard-")?.strip_suffix(".db")?;
                let (name, complete) = match name.strip_suffix(".part") {
                    Some(name) => (name, false),
                    None => (name, true),
                };
                Some((name.replacen("-of-", "/", 1).parse().ok()?, complete))
            });
            shards.extend(shard);
        }
        shards.sort();
        Ok(shards)
    }
}
