//! The identity of a lab kernel, recorded in its directory. The same sources, options and compiler
//! give the same program.

use super::patches;
use fsdyno_files::{Access, TrustedDir, Untrusted};
use fsdyno_model::names::{hexadecimal, short_hash};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write as _};
use std::path::Path;

/// The file in the folder of a kernel.
pub(super) const FILE: &str = "identity.json";

/// The inputs of the build of a kernel, and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version of this file.
    pub schema: u32,
    /// The sources: the package with its version, or the file with its digest.
    pub source: String,
    /// The sources of `OpenZFS` that are part of it: a package with its version, or a file with its
    /// digest. Such a kernel must not be distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zfs: Option<String>,
    /// The hash of the config fragment.
    pub fragment: String,
    /// The first line of the compiler's version output.
    pub compiler: String,
    /// The release that the kernel prints.
    pub release: String,
    /// The SHA-256 of the program.
    pub sha256: String,
    /// Additions of the fragment that these sources do not have.
    pub lacks: Vec<String>,
    /// Whether the user named the sources. The default kernel is that of the distribution's sources.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
}

impl Identity {
    const SCHEMA: u32 = 1;

    /// The identity of a kernel that is not built yet.
    pub(super) fn of(source: &str, fragment: &str, compiler: &str) -> Self {
        Self {
            schema: Self::SCHEMA,
            source: source.to_owned(),
            zfs: None,
            fragment: of_fragment(fragment),
            compiler: compiler.to_owned(),
            release: String::new(),
            sha256: String::new(),
            lacks: Vec::new(),
            named: false,
        }
    }

    /// Adds `OpenZFS` to the sources, with the hash of the fragment for it.
    #[must_use]
    pub(super) fn with_zfs(mut self, name: &str, fragment: String) -> Self {
        self.zfs = Some(name.to_owned());
        self.fragment = fragment;
        self
    }

    /// Sets whether the user named the sources.
    #[must_use]
    pub(super) fn named(mut self, named: bool) -> Self {
        self.named = named;
        self
    }

    /// Adds the result of the build.
    #[must_use]
    pub(super) fn built(mut self, release: &str, sha256: &str, lacks: &[String]) -> Self {
        release.clone_into(&mut self.release);
        sha256.clone_into(&mut self.sha256);
        lacks.clone_into(&mut self.lacks);
        self
    }

    /// A name that no kernel of other sources, options or compiler has.
    pub fn name(&self) -> String {
        let Self {
            source,
            zfs,
            fragment,
            compiler,
            ..
        } = self;
        let mut text = format!("{source}\n{fragment}\n{compiler}");
        if let Some(zfs) = zfs {
            text = format!("{text}\n{zfs}");
        }
        let hash = short_hash(&text);
        let stem = source.split_whitespace().next().unwrap_or_default();
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        let stem: String = stem.chars().filter(|c| plain(*c)).collect();
        format!("{stem}-{hash}")
    }

    /// The identity of the kernel in a directory; none if it is missing or has an unknown format.
    pub(super) fn read(folder: &TrustedDir) -> Result<Option<Self>, Untrusted> {
        let mut file = match folder.file(OsStr::new(FILE), Access::ReadSystem) {
            Err(error) if error.is_missing() => return Ok(None),
            file => file?,
        };
        let mut bytes = Vec::new();
        if file.read_to_end(&mut bytes).is_err() {
            return Ok(None);
        }
        let identity: Option<Self> = serde_json::from_slice(&bytes).ok();
        Ok(identity.filter(|identity| identity.schema == Self::SCHEMA))
    }

    /// Writes it into a folder, durably.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let mut file = File::create(folder.join(FILE))?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.sync_all()
    }
}

/// The hash of a fragment: its options without comments, and the patches of the sources.
pub(super) fn of_fragment(text: &str) -> String {
    let is_option = |line: &&str| {
        let remark = line.starts_with('#') && !line.ends_with(" is not set");
        !line.is_empty() && !remark
    };
    let mut lines: Vec<&str> = text.lines().filter(is_option).collect();
    let amended = patches::reported();
    lines.push(&amended);
    short_hash(&lines.join("\n"))
}

/// The SHA-256 of an open file, from its beginning.
pub(super) fn sha256(mut file: &File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            length => digest.update(&buffer[..length]),
        }
    }
    Ok(hexadecimal(&digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sources_options_or_compilers_make_another_kernel() {
        let one = Identity::of("linux-source-6.12 6.12.1-1", "CONFIG_A=y\n", "cc 12");
        let same = "# a remark\n\nCONFIG_A=y\n";
        assert_eq!(
            one.name(),
            Identity::of(&one.source, same, "cc 12").name(),
            "a remark makes no other kernel"
        );
        let others = [
            Identity::of("linux-source-6.12 6.12.2-1", "CONFIG_A=y\n", "cc 12"),
            Identity::of(&one.source, "# CONFIG_A is not set\n", "cc 12"),
            Identity::of(&one.source, "CONFIG_A=y\n", "cc 13"),
        ];
        for other in others {
            assert_ne!(one.name(), other.name());
        }
        let with = |zfs: &str| Identity {
            zfs: Some(zfs.to_owned()),
            ..one.clone()
        };
        assert_ne!(one.name(), with("zfs-dkms 2.3.2-2").name());
        assert_ne!(
            with("zfs-dkms 2.3.9-1").name(),
            with("zfs-dkms 2.3.2-2").name()
        );
        assert!(
            one.name().starts_with("linux-source-6.12-"),
            "{}",
            one.name()
        );
        let odd = Identity::of("../a b", "", "");
        assert!(!odd.name().contains('/'), "{}", odd.name());
    }

    #[test]
    fn an_identity_comes_back_as_it_was_written() {
        let work_dir = tempfile::tempdir().unwrap();
        let folder = TrustedDir::open(work_dir.path()).unwrap();
        let read = || Identity::read(&folder).unwrap();
        assert_eq!(read(), None);
        let lacks = ["old".to_owned()];
        let one = Identity::of("s", "f", "c").built("6.12", "00ff", &lacks);
        one.write(work_dir.path()).unwrap();
        assert_eq!(read(), Some(one));
        std::fs::write(work_dir.path().join(FILE), "{}").unwrap();
        assert_eq!(read(), None);
        std::fs::write(work_dir.path().join(FILE), "abc").unwrap();
        let digest = sha256(&File::open(work_dir.path().join(FILE)).unwrap()).unwrap();
        assert!(
            digest.starts_with("ba7816bf8f01cfea") && digest.len() == 64,
            "{digest}"
        );
    }
}
